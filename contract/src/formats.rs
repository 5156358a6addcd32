//! The formats of the API (contract 2): timestamps, dates, ids, money, VINs, urls, text. Pure functions of a text. Must
//! not know fields or the clock.

use std::fmt;

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, UtcOffset};
use uuid::Uuid;

/// A moment in UTC with millisecond precision, as milliseconds since 1970-01-01T00:00:00Z. The text form has a fixed
/// width (`YYYY-MM-DDTHH:MM:SS.mmmZ`), which makes the order of texts the order of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A moment, from milliseconds since 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis)
    }

    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Whole seconds since 1970-01-01T00:00:00Z.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// This moment moved by so many milliseconds.
    pub const fn plus_millis(self, millis: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(millis))
    }

    /// The calendar day of the moment in UTC.
    pub fn date(self) -> Date {
        self.date_time().date()
    }

    /// Parses `YYYY-MM-DD` (midnight UTC) or an RFC 3339 date-time with `Z` or offset; `t` and `z` count too. Drops digits below a millisecond.
    /// None for another form.
    pub fn parse(text: &str) -> Option<Timestamp> {
        let nanos = nanos(text)?;
        i64::try_from(nanos.div_euclid(1_000_000)).ok().map(Timestamp)
    }

    /// Parses the forms of [`Timestamp::parse`] and rounds up to the next millisecond: no earlier record passes the filter
    /// "at or after this moment" (contract 5).
    pub fn parse_rounded_up(text: &str) -> Option<Timestamp> {
        let nanos = nanos(text)?;
        let millis = i64::try_from(-(-nanos).div_euclid(1_000_000)).ok()?;
        Some(Timestamp(millis.min(LAST)))
    }

    /// The moment without its milliseconds.
    fn date_time(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp(self.seconds()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

/// The last moment of year 9999, in milliseconds since 1970: the text form has four digits for the year.
const LAST: i64 = 253_402_300_799_999;

/// Nanoseconds since 1970 of a date or a date-time. None for another form.
fn nanos(text: &str) -> Option<i128> {
    if let Some(date) = parse_date(text) {
        return Some(date.midnight().assume_utc().unix_timestamp_nanos());
    }
    // RFC 3339 allows a space between date and time; ISO 8601 and the contract do not.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't')) {
        return None;
    }
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?.checked_to_offset(UtcOffset::UTC)?;
    // An offset can move the moment out of the years 0000 to 9999.
    (0..=9999).contains(&moment.year()).then(|| moment.unix_timestamp_nanos())
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = self.date_time();
        let mut text = *b"0000-00-00T00:00:00.000Z";
        // Digits are written right to left: every record has timestamps, and `write!` of seven numbers is slower.
        let mut put = |mut value: u32, end: usize, digits: usize| {
            for place in text[end - digits..end].iter_mut().rev() {
                *place = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(moment.year().unsigned_abs(), 4, 4);
        put(u8::from(moment.month()).into(), 7, 2);
        put(moment.day().into(), 10, 2);
        put(moment.hour().into(), 13, 2);
        put(moment.minute().into(), 16, 2);
        put(moment.second().into(), 19, 2);
        put(self.0.rem_euclid(1_000) as u32, 23, 3);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl serde::Serialize for Timestamp {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Timestamp {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| serde::de::Error::custom("not a timestamp"))
    }
}

/// Parses a real calendar date in the form `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Option<Date> {
    if text.len() != 10
        || !text.bytes().enumerate().all(|(i, b)| if i == 4 || i == 7 { b == b'-' } else { b.is_ascii_digit() })
    {
        return None;
    }
    Date::parse(text, format_description!("[year]-[month]-[day]")).ok()
}

/// Writes a date as `YYYY-MM-DD`.
pub fn format_date(date: Date) -> String {
    format!("{:04}-{:02}-{:02}", date.year(), u8::from(date.month()), date.day())
}

/// Parses an id: a UUID with hyphens, upper or lower case. None for braces, URNs and bare hex digits.
pub fn parse_id(text: &str) -> Option<Uuid> {
    if text.len() == 36 { Uuid::try_parse(text).ok() } else { None }
}

/// Parses a money text and writes the normal form: no leading zeros, two decimals. None: the text breaks the rule.
pub fn normalize_money(text: &str) -> Option<String> {
    let (whole, cents) = text.split_once('.').unwrap_or((text, "00"));
    let digits = |part: &str, max: usize| (1..=max).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole, 12) || !digits(cents, 2) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    Some(format!("{}.{cents:0<2}", if whole.is_empty() { "0" } else { whole }))
}

/// Parses a vehicle identification number and upper-cases the letters. None: the text breaks the rule.
pub fn normalize_vin(text: &str) -> Option<String> {
    let vin = text.to_ascii_uppercase();
    let fits = (11..=17).contains(&vin.len())
        && vin.bytes().all(|b| b.is_ascii_digit() || (b.is_ascii_uppercase() && !matches!(b, b'I' | b'O' | b'Q')));
    fits.then_some(vin)
}

/// Parses a SHA-256 of 64 hex digits and lower-cases the letters. None: the text breaks the rule.
pub fn normalize_sha256(text: &str) -> Option<String> {
    (text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| text.to_ascii_lowercase())
}

/// Whether a text is an absolute http or https address with a host, without white space and control characters.
pub fn is_url(text: &str) -> bool {
    let rest = ["http://", "https://"].into_iter().find_map(|scheme| {
        text.get(..scheme.len()).filter(|head| head.eq_ignore_ascii_case(scheme)).map(|_| &text[scheme.len()..])
    });
    let Some(rest) = rest else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or("");
    let host = host.rsplit('@').next().unwrap_or("");
    !host.is_empty() && !host.starts_with(':') && !rest.chars().any(|c| c.is_whitespace() || c.is_control())
}

/// Whether a one-line text may hold a character: all but control characters (C0, DEL, C1).
pub fn is_line_char(c: char) -> bool {
    !c.is_control()
}

/// Whether a multi-line text may hold a character: line characters, `\n` and `\t`.
pub fn is_text_char(c: char) -> bool {
    is_line_char(c) || c == '\n' || c == '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_text_sorts_by_time() {
        assert_eq!(Timestamp::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_millis(1_780_272_000_500).to_string(), "2026-06-01T00:00:00.500Z");
        // Every month, hour and number of digits, and the last moment of year 9999.
        for millis in (0..4_000).map(|step| step * 31_556_952_707 / 12).chain([LAST]) {
            let moment = Timestamp::from_millis(millis);
            assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
        }
    }

    #[test]
    fn timestamp_parses_date_or_rfc3339() {
        for (text, expected) in [
            ("2026-06-01", Some("2026-06-01T00:00:00.000Z")),
            ("2026-06-01T12:00:00Z", Some("2026-06-01T12:00:00.000Z")),
            ("2026-06-01t12:00:00z", Some("2026-06-01T12:00:00.000Z")),
            ("2026-06-01t12:00:00.5+02:00", Some("2026-06-01T10:00:00.500Z")),
            ("2026-06-01T12:00:00.1234+02:00", Some("2026-06-01T10:00:00.123Z")),
            ("2026-06-01 12:00:00Z", None),
            ("2026-06-01T12:00:00", None),
            ("2026-02-30", None),
            ("26-02-03", None),
            ("", None),
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn money_has_one_normal_form() {
        for (text, expected) in [
            ("1299", Some("1299.00")),
            ("007.5", Some("7.50")),
            ("0.05", Some("0.05")),
            ("000", Some("0.00")),
            ("999999999999.99", Some("999999999999.99")),
            ("1000000000000", None),
            ("1.", None),
            (".5", None),
            ("-1", None),
            ("1.234", None),
            ("1,00", None),
            ("", None),
        ] {
            assert_eq!(normalize_money(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn ids_need_hyphens() {
        let id = "0190a3b0-0000-7000-8000-00000000ABCD";
        assert_eq!(parse_id(id).unwrap().to_string(), id.to_lowercase());
        for text in [
            "{0190a3b0-0000-7000-8000-00000000abcd}",
            "0190a3b000007000800000000000abcd",
            "urn:uuid:0190a3b0-0000-7000-8000-00000000abcd",
            "",
        ] {
            assert_eq!(parse_id(text), None, "{text}");
        }
    }

    #[test]
    fn timestamp_rounds_up_below_millisecond() {
        for (text, first) in [
            ("2026-06-01T12:00:00.1230Z", "2026-06-01T12:00:00.123Z"),
            ("2026-06-01T12:00:00.1239Z", "2026-06-01T12:00:00.124Z"),
            ("1969-12-31T23:59:59.9991Z", "1970-01-01T00:00:00.000Z"),
            ("2026-06-01", "2026-06-01T00:00:00.000Z"),
            ("9999-12-31T23:59:59.9999Z", "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(
                Timestamp::parse_rounded_up(text).map(|moment| moment.to_string()).as_deref(),
                Some(first),
                "{text}"
            );
        }
        assert_eq!(Timestamp::parse_rounded_up("yesterday"), None);
    }

    #[test]
    fn urls_must_be_absolute() {
        for (text, expected) in [
            ("https://example.com/a?b#c", true),
            ("HTTP://example.com", true),
            ("https://", false),
            ("https:///path", false),
            ("ftp://example.com", false),
            ("/relative", false),
            ("https://exa mple.com", false),
            ("https://üni.example", true),
        ] {
            assert_eq!(is_url(text), expected, "{text}");
        }
    }

    #[test]
    fn hashes_are_lower_cased() {
        assert_eq!(normalize_sha256(&"aB".repeat(32)), Some("ab".repeat(32)));
        for text in ["", "ab", &"ag".repeat(32), &"a".repeat(65), &"é".repeat(32)] {
            assert_eq!(normalize_sha256(text), None, "{text}");
        }
    }

    #[test]
    fn vins_are_upper_cased() {
        assert_eq!(normalize_vin("1hgcm82633a004352").as_deref(), Some("1HGCM82633A004352"));
        assert_eq!(normalize_vin("SHORT"), None);
        assert_eq!(normalize_vin("1HGCM82633A00435O"), None);
    }
}
