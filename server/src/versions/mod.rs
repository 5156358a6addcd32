//! The dated versions of the API (contract 13). Handlers speak the current one; a request in an older one is rewritten
//! upward, change by change, and what answers it downward. Pure: the moment is an argument. Must not know routes.
//!
//! To add a version: move `CURRENT_VERSION` of the contract on, write one file that says when the version before it
//! ends and how it differs, and give that file a line in [`VERSIONS`].

mod v2026_03_01;

use hearth_contract::formats::{Timestamp, date_text};
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Value, json};
use time::macros::{date, format_description};
use time::{Date, Duration, Month};

/// How firm the interface is (contract 14).
pub const STABILITY: &str = "public_preview";

/// Every version, oldest first.
pub static VERSIONS: [Version; 2] = [v2026_03_01::VERSION, CURRENT];

/// The version in which handlers, payloads and schemas are written.
const CURRENT: Version = Version {
    name: CURRENT_VERSION,
    released_on: date!(2026 - 06 - 01),
    news: &[
        "Words for kinds are singular everywhere: in `resource_type`, `subject_type`, the `type` of search results and every `types`.",
        "Errors carry `fix`: what to do next.",
    ],
    past: None,
};

/// One dated version.
#[derive(Debug)]
pub struct Version {
    /// The value of `Service-API-Version`.
    pub name: &'static str,
    /// The day it came.
    pub released_on: Date,
    /// What it brought, for the changelog; code stands in backticks.
    pub news: &'static [&'static str],
    /// Its end and how it differs, once another came.
    pub past: Option<Past>,
}

/// What a version has that is no longer current.
#[derive(Debug)]
pub struct Past {
    /// The day the next version came.
    pub deprecated_on: Date,
    /// The day from which it is refused.
    pub sunset_on: Date,
    /// How it differs from the next version.
    pub change: Change,
}

/// The difference between a version and the next one. Each function rewrites in place.
#[derive(Debug)]
pub struct Change {
    /// A query parameter's name and value, upward.
    pub parameter: fn(name: &str, value: &mut String),
    /// A request's body, upward.
    pub body: fn(&mut Value),
    /// An answer with its envelope, or one event, downward.
    pub answer: fn(&mut Value),
}

/// Length of the time before its sunset in which a version warns, in months.
const WARNING_MONTHS: u8 = 6;

impl Version {
    /// The version that handlers speak.
    pub fn current() -> &'static Version {
        &VERSIONS[VERSIONS.len() - 1]
    }

    /// The version of a name that is in service at a moment.
    pub fn find(name: &str, now: Timestamp) -> Option<&'static Version> {
        supported(now).find(|version| version.name == name)
    }

    /// The version that a key's pin stands for: itself, or the oldest in service once it has ended.
    pub fn from_pin(pin: &str, now: Timestamp) -> &'static Version {
        Version::find(pin, now).or_else(|| supported(now).next()).unwrap_or_else(Version::current)
    }

    /// Whether handlers speak it: nothing is rewritten then.
    pub fn is_current(&self) -> bool {
        self.past.is_none()
    }

    /// `current` or `deprecated`.
    pub fn status(&self) -> &'static str {
        if self.is_current() { "current" } else { "deprecated" }
    }

    /// A parameter's value as the current version writes it.
    pub fn upgrade_parameter(&self, name: &str, value: &mut String) {
        self.changes().for_each(|change| (change.parameter)(name, value));
    }

    /// A body as the current version writes it.
    pub fn upgrade_body(&self, body: &mut Value) {
        self.changes().for_each(|change| (change.body)(body));
    }

    /// A finished text as this version writes it. The current version's is handed through untouched.
    pub fn downgrade(&self, text: String) -> String {
        if self.is_current() {
            return text;
        }
        let Ok(mut value) = serde_json::from_str(&text) else { return text };
        let changes: Vec<&Change> = self.changes().collect();
        changes.into_iter().rev().for_each(|change| (change.answer)(&mut value));
        rename_api_version(&mut value, self.name);
        value.to_string()
    }

    /// The headers that announce its end: in the last six months before it (RFC 9745, RFC 8594).
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

    /// What discovery tells of it.
    pub fn to_value(&self) -> Value {
        let past = self.past.as_ref();
        json!({
            "version": self.name,
            "status": self.status(),
            "released_on": date_text(self.released_on),
            "deprecated_on": past.map(|past| date_text(past.deprecated_on)),
            "sunset_on": past.map(|past| date_text(past.sunset_on)),
        })
    }

    /// The changes between this version and the current one, in the order of time.
    fn changes(&self) -> impl Iterator<Item = &'static Change> {
        let from = self.released_on;
        VERSIONS
            .iter()
            .filter(move |version| version.released_on >= from)
            .filter_map(|version| version.past.as_ref().map(|past| &past.change))
    }
}

/// The versions in service at a moment, oldest first.
pub fn supported(now: Timestamp) -> impl Iterator<Item = &'static Version> {
    VERSIONS.iter().filter(move |version| version.past.as_ref().is_none_or(|past| now < midnight(past.sunset_on)))
}

/// The refusal of a name that no version in service has.
pub fn unsupported(name: &str, now: Timestamp) -> Problem {
    let names: Vec<&str> = supported(now).map(|version| version.name).collect();
    let ended = VERSIONS.iter().any(|version| version.name == name);
    let message = if ended { format!("Version {name} has ended.") } else { format!("There is no version `{name}`.") };
    Problem::new(ProblemType::UnsupportedVersion, message).with("supported", names)
}

/// Events say in which version they are written.
fn rename_api_version(value: &mut Value, name: &str) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| rename_api_version(item, name)),
        Value::Object(members) => {
            for (member, value) in members {
                if member == "api_version" && value.as_str() == Some(CURRENT_VERSION) {
                    *value = name.into();
                } else if value.is_array() {
                    rename_api_version(value, name);
                }
            }
        }
        _ => (),
    }
}

fn midnight(day: Date) -> Timestamp {
    Timestamp::from_millis(day.midnight().assume_utc().unix_timestamp() * 1000)
}

/// The same day so many months earlier, month ends clamped.
fn months_before(day: Date, months: u8) -> Date {
    let mut first = day.replace_day(1).unwrap_or(day);
    for _ in 0..months {
        first = (first - Duration::DAY).replace_day(1).unwrap_or(first);
    }
    let last = Month::length(first.month(), first.year());
    first.replace_day(day.day().min(last)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn versions_are_in_order_and_each_but_the_last_is_past() {
        assert!(VERSIONS.is_sorted_by_key(|version| version.released_on));
        for pair in VERSIONS.windows(2) {
            let past = pair[0].past.as_ref().unwrap();
            assert_eq!(past.deprecated_on, pair[1].released_on);
            assert!(months_before(past.sunset_on, 12) >= past.deprecated_on, "twelve months at least");
        }
        for version in &VERSIONS {
            assert_eq!(version.name, date_text(version.released_on));
        }
        assert!(Version::current().is_current() && Version::current().name == CURRENT_VERSION);
    }

    #[test]
    fn a_version_warns_before_its_end_and_then_is_gone() {
        let old = &VERSIONS[0];
        assert!(old.deprecation_headers(at("2026-11-30T23:59:59Z"), "http://h").is_empty());
        let warnings = old.deprecation_headers(at("2026-12-01"), "http://h");
        assert_eq!(warnings[0], ("deprecation", "@1780272000".to_owned()));
        assert_eq!(warnings[1], ("sunset", "Tue, 01 Jun 2027 00:00:00 GMT".to_owned()));
        let (before, after) = (at("2027-05-31T23:59:59Z"), at("2027-06-01"));
        assert!(Version::find(old.name, before).is_some() && Version::find(old.name, after).is_none());
        assert_eq!(Version::from_pin(old.name, after).name, CURRENT_VERSION);
    }

    #[test]
    fn months_are_counted_by_the_calendar() {
        for (day, months, expected) in [
            (date!(2027 - 06 - 01), 6, date!(2026 - 12 - 01)),
            (date!(2027 - 08 - 31), 6, date!(2027 - 02 - 28)),
            (date!(2028 - 08 - 31), 6, date!(2028 - 02 - 29)),
        ] {
            assert_eq!(months_before(day, months), expected);
        }
    }
}
