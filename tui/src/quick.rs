//! Quick add: a task in one line, `Buy filter !high due:fri @hvac`. Told what day it is; must not know how names are found.

use hearth_contract::check::Fields;
use hearth_contract::formats::date_text;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use time::Date;

use crate::{dates, filter, numbers};

/// What the line says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quick {
    /// The fields of the new task, without what it is about.
    pub fields: Fields,
    /// Part of the name of what it is about.
    pub about: Option<String>,
    /// The same as it was typed.
    pub about_part: Option<String>,
    /// Why something could not be understood.
    pub faults: Vec<String>,
    /// What could not be understood, as it was typed.
    pub unread: Vec<String>,
}

/// How the line is written, for people.
pub const HOW: &str = "Buy filter !high due:fri @furnace +Ana cost:20 every:month";

/// Understands a line. `!priority`, `due:day`, `@part of a name`, `+person`, `cost:sum`, `every:period`, the rest is the title.
pub fn understand(text: &str, today: Date) -> Quick {
    let mut quick = Quick::default();
    let mut title: Vec<&str> = Vec::new();
    let parts = filter::parts(text);
    let mut rest = parts.as_slice();
    while let Some((part, after)) = rest.split_first() {
        let part = *part;
        rest = after;
        // Several words are one value between quotation marks, or with low lines.
        let field =
            |mark: &str| part.strip_prefix(mark).map(|rest| rest.trim_matches('"')).filter(|rest| !rest.is_empty());
        if let Some(word) = field("!") {
            match choice("priority", word) {
                Some(priority) => drop(quick.fields.insert("priority".into(), priority.into())),
                // An exclamation is no priority.
                None => title.push(part),
            }
        } else if let Some(day) = field("due:") {
            let day = day.replace('_', " ");
            let words: Vec<&str> = std::iter::once(day.as_str()).chain(after.iter().copied()).collect();
            match dates::leading(&words, today) {
                Some((date, taken)) => {
                    quick.fields.insert("due_on".into(), date_text(date).into());
                    rest = &after[taken - 1..];
                }
                None => quick.fault(part, format!("{day} is no day: try {}", dates::HOW)),
            }
        } else if let Some(name) = field("@") {
            (quick.about, quick.about_part) = (Some(name.replace('_', " ")), Some(part.to_owned()));
        } else if let Some(name) = field("+") {
            drop(quick.fields.insert("assignee".into(), name.replace('_', " ").into()));
        } else if let Some(sum) = field("cost:") {
            drop(quick.fields.insert("estimated_cost".into(), numbers::money(sum).into()));
        } else if let Some(word) = field("every:") {
            let period = match word {
                "day" => "daily",
                "week" => "weekly",
                "month" => "monthly",
                "quarter" => "quarterly",
                "year" => "yearly",
                other => other,
            };
            match choice("recurrence", period) {
                Some(period) => drop(quick.fields.insert("recurrence".into(), period.into())),
                None => {
                    quick.fault(part, format!("every: takes day, week, month, quarter or year, not {word}"));
                }
            }
        } else {
            title.push(part);
        }
    }
    quick.fields.insert("title".into(), title.join(" ").into());
    quick
}

impl Quick {
    fn fault(&mut self, part: &str, sentence: String) {
        self.faults.push(sentence);
        self.unread.push(part.to_owned());
    }
}

fn choice(field: &str, word: &str) -> Option<&'static str> {
    match resource(Kind::Task).field(field)?.format {
        Format::Choice(words) => words.iter().copied().find(|known| known.starts_with(&word.to_lowercase())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn one_line_is_a_task() {
        let today = parse_date("2026-11-21").unwrap();
        let quick = understand("Buy filter !high due:fri @hvac +Ana cost:$29.95 every:month", today);
        assert_eq!(
            Value::Object(quick.fields),
            json!({
                "priority": "high", "due_on": "2026-11-27", "assignee": "Ana", "estimated_cost": "29.95",
                "recurrence": "monthly", "title": "Buy filter"
            })
        );
        assert_eq!((quick.about.as_deref(), quick.faults.len()), (Some("hvac"), 0));
        let quick = understand("Read \"Moby  Dick\" due:dec 24 @\"living room\" aloud +Ana_Maria", today);
        assert_eq!(
            (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
            (Some("Read \"Moby  Dick\" aloud"), Some("2026-12-24"))
        );
        assert_eq!(
            (quick.about.as_deref(), quick.fields["assignee"].as_str()),
            (Some("living room"), Some("Ana Maria"))
        );
        let quick = understand("Hang \"Home sweet home due:fri", today);
        assert_eq!(quick.fields["due_on"], "2026-11-27", "a mark that is never closed holds nothing");
        for day in ["due:1 dec", "due:1_dec", "due:\"1 dec\"", "due:1.12."] {
            let quick = understand(&format!("Saw 5\" pipe {day}"), today);
            assert_eq!(
                (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
                (Some("Saw 5\" pipe"), Some("2026-12-01"))
            );
        }
        let quick = understand("Call back! due:never", today);
        assert_eq!((quick.fields["title"].as_str(), quick.faults.len()), (Some("Call back!"), 1));
    }
}
