//! Moments and spans of time as people read them. Must not know pages.

use hearth_contract::formats::Timestamp;

/// A moment to the minute, in UTC: `2026-06-01 14:05`.
pub(super) fn moment(at: Timestamp) -> String {
    part(at, 16)
}

/// A moment to the second, in UTC: `2026-06-01 14:05:09`.
pub(super) fn moment_to_second(at: Timestamp) -> String {
    part(at, 19)
}

/// A day, in UTC: `2026-06-01`.
pub(super) fn day(at: Timestamp) -> String {
    at.to_string().get(..10).unwrap_or_default().to_owned()
}

/// A moment, or `never`.
pub(super) fn moment_or_never(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".to_owned(), moment)
}

/// The time from one moment to a later one, in the largest unit that fits once, rounded down: `6 days`, `1 hour`. Below one
/// second, and backwards, `0 seconds`.
pub(super) fn span_until(from: Timestamp, to: Timestamp) -> String {
    let seconds = (to.millis() - from.millis()).max(0) / 1000;
    let units = [(24 * 3600, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let (length, unit) = units.into_iter().find(|(length, _)| seconds >= *length).unwrap_or((1, "second"));
    let count = seconds / length;
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

fn part(at: Timestamp, end: usize) -> String {
    let text = at.to_string();
    format!("{} {}", text.get(..10).unwrap_or_default(), text.get(11..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_one_unit() {
        let span = |seconds: i64| span_until(Timestamp::from_millis(0), Timestamp::from_millis(seconds * 1000));
        for (seconds, text) in
            [(-5, "0 seconds"), (1, "1 second"), (119, "1 minute"), (7200, "2 hours"), (6 * 86400 + 5, "6 days")]
        {
            assert_eq!(span(seconds), text);
        }
    }

    #[test]
    fn moments_are_cut_at_minute_and_second() {
        let at = Timestamp::parse("2026-06-01T14:05:09.123Z").unwrap();
        assert_eq!(
            (moment(at), moment_to_second(at), day(at)),
            ("2026-06-01 14:05".to_owned(), "2026-06-01 14:05:09".to_owned(), "2026-06-01".to_owned())
        );
    }
}
