//! The table of all versions, and the conversion between a version and the current one. Pure: the time is an argument.
//! Must not know routes.

use hearth_contract::formats::Timestamp;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::Value;
use time::macros::date;

use super::v2026_03_01;
use super::version::{Change, Version, midnight};

/// Every version, oldest first.
pub static VERSIONS: [Version; 2] = [v2026_03_01::VERSION, CURRENT];

/// The version of handlers, payloads and schemas.
const CURRENT: Version = Version {
    name: CURRENT_VERSION,
    released_on: date!(2026 - 06 - 01),
    news: &[
        "Words for kinds are singular everywhere: in `resource_type`, `subject_type`, the `type` of search results and every `types`.",
        "Errors carry `fix`: what to do next.",
    ],
    past: None,
};

impl Version {
    /// The version that handlers use.
    pub fn current() -> &'static Version {
        &VERSIONS[VERSIONS.len() - 1]
    }

    /// The version with a name, if that version is in service at `now`.
    pub fn find(name: &str, now: Timestamp) -> Option<&'static Version> {
        supported(now).find(|version| version.name == name)
    }

    /// The version for a key's pin: the pinned version, or the oldest in service once the pinned version has ended.
    pub fn from_pin(pin: &str, now: Timestamp) -> &'static Version {
        Version::find(pin, now).or_else(|| supported(now).next()).unwrap_or_else(Version::current)
    }

    /// Upgrades the value of a query parameter to the current version.
    pub fn upgrade_parameter(&self, name: &str, value: &mut String) {
        self.changes().for_each(|change| (change.parameter)(name, value));
    }

    /// Upgrades a body to the current version.
    pub fn upgrade_body(&self, body: &mut Value) {
        self.changes().for_each(|change| (change.body)(body));
    }

    /// Downgrades a JSON text from the current version. A current text is returned unchanged.
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

    /// The changes from this version to the current one, oldest first.
    fn changes(&self) -> impl Iterator<Item = &'static Change> {
        let from = self.released_on;
        VERSIONS
            .iter()
            .filter(move |version| version.released_on >= from)
            .filter_map(|version| version.past.as_ref().map(|past| &past.change))
    }
}

/// The versions in service at a time, oldest first.
pub fn supported(now: Timestamp) -> impl Iterator<Item = &'static Version> {
    VERSIONS.iter().filter(move |version| version.past.as_ref().is_none_or(|past| now < midnight(past.sunset_on)))
}

/// The refusal of a name that no version in service has. Error: `unsupported_version`.
pub fn unsupported(name: &str, now: Timestamp) -> Problem {
    let names: Vec<&str> = supported(now).map(|version| version.name).collect();
    let ended = VERSIONS.iter().any(|version| version.name == name);
    let message = if ended { format!("Version {name} has ended.") } else { format!("There is no version `{name}`.") };
    Problem::new(ProblemType::UnsupportedVersion, message).with("supported", names)
}

/// Sets the version name in events.
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

#[cfg(test)]
mod tests {
    use hearth_contract::formats::format_date;

    use super::*;
    use crate::versions::version::months_before;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn versions_are_ordered_and_last_is_current() {
        assert!(VERSIONS.is_sorted_by_key(|version| version.released_on));
        for pair in VERSIONS.windows(2) {
            let past = pair[0].past.as_ref().unwrap();
            assert_eq!(past.deprecated_on, pair[1].released_on);
            assert!(months_before(past.sunset_on, 12) >= past.deprecated_on, "twelve months at least");
        }
        for version in &VERSIONS {
            assert_eq!(version.name, format_date(version.released_on));
        }
        assert!(Version::current().is_current() && Version::current().name == CURRENT_VERSION);
    }

    #[test]
    fn version_warns_before_sunset_then_ends() {
        let old = &VERSIONS[0];
        assert!(old.deprecation_headers(at("2026-11-30T23:59:59Z"), "http://h").is_empty());
        let warnings = old.deprecation_headers(at("2026-12-01"), "http://h");
        assert_eq!(warnings[0], ("deprecation", "@1780272000".to_owned()));
        assert_eq!(warnings[1], ("sunset", "Tue, 01 Jun 2027 00:00:00 GMT".to_owned()));
        let (before, after) = (at("2027-05-31T23:59:59Z"), at("2027-06-01"));
        assert!(Version::find(old.name, before).is_some() && Version::find(old.name, after).is_none());
        assert_eq!(Version::from_pin(old.name, after).name, CURRENT_VERSION);
    }
}
