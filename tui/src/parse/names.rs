//! Time zones and currencies by typed letters: `berlin` is `Europe/Berlin`, `eur` is `EUR`. The names belong to the contract.
//! Must not know forms.

use hearth_contract::schema::Format;
use hearth_contract::{currency, time_zone};

/// The most names that are offered for typed letters.
const OFFERED_MAX: usize = 6;

/// How a name has the typed letters, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    Whole,
    /// The city of a time zone.
    LastPart,
    BeginsPart,
    Inside,
}

/// The name that a text means: the only name among the best matches. None: no name, several, or a format without names.
pub fn meant_name(format: Format, typed: &str) -> Option<&'static str> {
    match matches(format, typed)[..] {
        [(_, name)] => Some(name),
        [(best, name), (second, _), ..] if best < second => Some(name),
        _ => None,
    }
}

/// The names with the typed letters, the best matches first. Empty for a format without names.
pub fn offered_names(format: Format, typed: &str) -> Vec<&'static str> {
    matches(format, typed).into_iter().map(|(_, name)| name).take(OFFERED_MAX).collect()
}

fn matches(format: Format, typed: &str) -> Vec<(Match, &'static str)> {
    let typed = typed.trim().to_lowercase().replace(' ', "_");
    if typed.is_empty() {
        return Vec::new();
    }
    let with_match = |name: &'static str| Some((match_of(&name.to_lowercase(), &typed)?, name));
    let mut found: Vec<(Match, &'static str)> = match format {
        Format::TimeZone => time_zone::names().filter_map(with_match).collect(),
        Format::Currency => currency::codes().filter_map(with_match).collect(),
        _ => Vec::new(),
    };
    found.sort_unstable();
    found
}

fn match_of(name: &str, typed: &str) -> Option<Match> {
    if name == typed {
        Some(Match::Whole)
    } else if name.rsplit('/').next() == Some(typed) {
        Some(Match::LastPart)
    } else if name.split('/').any(|part| part.starts_with(typed)) {
        Some(Match::BeginsPart)
    } else {
        name.contains(typed).then_some(Match::Inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_mean_one_name() {
        for (format, typed, expected) in [
            (Format::TimeZone, "berlin", Some("Europe/Berlin")),
            (Format::TimeZone, "new york", Some("America/New_York")),
            (Format::TimeZone, " europe/berlin ", Some("Europe/Berlin")),
            (Format::TimeZone, "UTC", Some("UTC")),
            (Format::TimeZone, "Europe", None),
            (Format::TimeZone, "Atlantis", None),
            (Format::Currency, "eu", Some("EUR")),
            (Format::Currency, "usd", Some("USD")),
            (Format::Currency, "e", None),
            (Format::Currency, "euro", None),
            (Format::Currency, "", None),
            (Format::Date, "berlin", None),
        ] {
            assert_eq!(meant_name(format, typed), expected, "{typed}");
        }
    }

    #[test]
    fn best_names_are_offered_first() {
        assert_eq!(offered_names(Format::Currency, "e")[..4], ["EGP", "ERN", "ETB", "EUR"]);
        assert_eq!(offered_names(Format::TimeZone, "istanbul"), ["Asia/Istanbul", "Europe/Istanbul"]);
        assert_eq!(offered_names(Format::TimeZone, "europe").len(), OFFERED_MAX);
    }
}
