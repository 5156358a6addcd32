//! A dated version of the API: dates, news, and the change to the next version. Pure: the time is an argument. Must not
//! know which versions exist.

use hearth_contract::formats::{Timestamp, format_date};
use serde_json::{Value, json};
use time::macros::format_description;
use time::{Date, Duration, Month};

/// A dated version.
#[derive(Debug)]
pub struct Version {
    /// The date as YYYY-MM-DD, the value of `Service-API-Version`.
    pub name: &'static str,
    /// The day of the release.
    pub released_on: Date,
    /// The changes for the changelog. Code stands in backticks.
    pub news: &'static [&'static str],
    /// The end of the version. None: the version is current.
    pub past: Option<Past>,
}

/// The end of a version that is not current.
#[derive(Debug)]
pub struct Past {
    /// The day of the next version.
    pub deprecated_on: Date,
    /// The first day on which the version is refused.
    pub sunset_on: Date,
    /// The change to the next version.
    pub change: Change,
}

/// The difference between a version and the next one. Each function changes its value in place.
#[derive(Debug)]
pub struct Change {
    /// Upgrades a query parameter, given by name and value.
    pub parameter: fn(name: &str, value: &mut String),
    /// Upgrades the body of a request.
    pub body: fn(&mut Value),
    /// Downgrades a response with its envelope, or one event.
    pub answer: fn(&mut Value),
}

/// Months before the sunset with deprecation headers.
const WARNING_MONTHS: u8 = 6;

impl Version {
    /// Whether the version is current, so nothing is converted.
    pub fn is_current(&self) -> bool {
        self.past.is_none()
    }

    /// The status for discovery: `current` or `deprecated`.
    pub fn status(&self) -> &'static str {
        if self.is_current() { "current" } else { "deprecated" }
    }

    /// The headers `deprecation`, `sunset` and `link`, in the last six months of a version (RFC 9745, RFC 8594). Empty
    /// before.
    pub fn deprecation_headers(&self, now: Timestamp, base_url: &str) -> Vec<(&'static str, String)> {
        let Some(past) = &self.past else { return Vec::new() };
        if now < midnight(months_before(past.sunset_on, WARNING_MONTHS)) {
            return Vec::new();
        }
        let day = format_description!("[weekday repr:short], [day] [month repr:short] [year] 00:00:00 GMT");
        vec![
            ("deprecation", format!("@{}", midnight(past.deprecated_on).seconds())),
            ("sunset", past.sunset_on.format(day).unwrap_or_default()),
            ("link", format!("<{base_url}/docs/changelog>; rel=\"deprecation\"; type=\"text/html\"")),
        ]
    }

    /// The version as JSON for `GET /v1/_meta`.
    pub fn to_value(&self) -> Value {
        let past = self.past.as_ref();
        json!({
            "version": self.name,
            "status": self.status(),
            "released_on": format_date(self.released_on),
            "deprecated_on": past.map(|past| format_date(past.deprecated_on)),
            "sunset_on": past.map(|past| format_date(past.sunset_on)),
        })
    }
}

pub(super) fn midnight(day: Date) -> Timestamp {
    Timestamp::from_millis(day.midnight().assume_utc().unix_timestamp() * 1000)
}

/// The day some months earlier. The day is reduced to the last day of a shorter month.
pub(super) fn months_before(day: Date, months: u8) -> Date {
    let mut first = day.replace_day(1).unwrap_or(day);
    for _ in 0..months {
        first = (first - Duration::DAY).replace_day(1).unwrap_or(first);
    }
    let last = Month::length(first.month(), first.year());
    first.replace_day(day.day().min(last)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use time::macros::date;

    use super::*;

    #[test]
    fn months_before_clamps_to_month_end() {
        for (day, months, expected) in [
            (date!(2027 - 06 - 01), 6, date!(2026 - 12 - 01)),
            (date!(2027 - 08 - 31), 6, date!(2027 - 02 - 28)),
            (date!(2028 - 08 - 31), 6, date!(2028 - 02 - 29)),
        ] {
            assert_eq!(months_before(day, months), expected);
        }
    }
}
