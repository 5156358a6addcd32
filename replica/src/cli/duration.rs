//! Parses durations on the command line. Must not measure time.

use std::time::Duration;

/// The longest duration: one year.
const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a number with the unit `ms`, `s`, `m` or `h`. A number without unit is in seconds.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| "write it as 30s, 500ms, 5m or 1h".to_owned())?;
    let time = match &text[digits..] {
        "ms" => Some(Duration::from_millis(number)),
        "s" | "" => Some(Duration::from_secs(number)),
        "m" => number.checked_mul(60).map(Duration::from_secs),
        "h" => number.checked_mul(3600).map(Duration::from_secs),
        unit => return Err(format!("{unit} is not a unit; write it as 30s, 500ms, 5m or 1h")),
    };
    // A longer time is as good as no limit, and can overflow the clock.
    time.filter(|time| *time <= TIME_MAX).ok_or_else(|| "at most 8760h, which is a year".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_parses_units() {
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("5m"), Ok(Duration::from_secs(300)));
        assert!(parse("soon").is_err());
        assert!(parse("3 days").is_err());
        assert_eq!(parse("8760h"), Ok(Duration::from_secs(8760 * 3600)));
        for endless in ["8761h", "9999999999999999h", "18446744073709551615ms", "18446744073709551615m"] {
            assert!(parse(endless).is_err_and(|why| why.contains("at most")), "{endless}");
        }
    }
}
