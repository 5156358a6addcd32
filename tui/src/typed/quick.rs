//! Quick add: a task in one line, `Buy filter !high due:fri @hvac`. Told what day it is; must not know how names are found.

use hearth_contract::check::Fields;
use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use time::Date;

use crate::typed::{dates, filter, numbers};

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
                Some(priority) => quick.set("priority", priority.to_owned(), part),
                // An exclamation is no priority.
                None => title.push(part),
            }
        } else if let Some(day) = field("due:") {
            let day = day.replace('_', " ");
            let words: Vec<&str> = std::iter::once(day.as_str()).chain(after.iter().copied()).collect();
            match dates::leading(&words, today) {
                Some((date, taken)) => {
                    rest = &after[taken - 1..];
                    quick.set("due_on", format_date(date), &parts_of(part, &after[..taken - 1]));
                }
                None => quick.fault(part, format!("{day} is no day: try {}", dates::HOW)),
            }
        } else if let Some(name) = field("@") {
            if quick.about.is_some() {
                quick.fault(part, twice("one thing it is about", part));
            } else {
                (quick.about, quick.about_part) = (Some(name.replace('_', " ")), Some(part.to_owned()));
            }
        } else if let Some(name) = field("+") {
            quick.set("assignee", name.replace('_', " "), part);
        } else if let Some(sum) = field("cost:") {
            quick.set("estimated_cost", numbers::money(sum), part);
        } else if let Some(word) = field("every:") {
            let period = match word.to_lowercase().as_str() {
                "day" => "daily",
                "week" => "weekly",
                "month" => "monthly",
                "quarter" => "quarterly",
                "year" => "yearly",
                _ => word,
            };
            match choice("recurrence", period) {
                Some(period) => quick.set("recurrence", period.to_owned(), part),
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
    /// Takes a value that a task has once; a second one is not left out unseen.
    fn set(&mut self, field: &str, value: String, part: &str) {
        if self.fields.contains_key(field) {
            let what = match field {
                "due_on" => "one day",
                "assignee" => "one person",
                "estimated_cost" => "one cost",
                "recurrence" => "one period",
                _ => "one priority",
            };
            return self.fault(part, twice(what, part));
        }
        self.fields.insert(field.to_owned(), value.into());
    }

    fn fault(&mut self, part: &str, sentence: String) {
        self.faults.push(sentence);
        self.unread.push(part.to_owned());
    }
}

fn twice(what: &str, part: &str) -> String {
    format!("a task has {what}: take {part} out")
}

/// A part and the words that belong to it, as they were typed.
fn parts_of(part: &str, more: &[&str]) -> String {
    std::iter::once(part).chain(more.iter().copied()).collect::<Vec<_>>().join(" ")
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
        for (line, title) in [
            ("Pay rent due:1.12.2026 @garage +Ana !high", "Pay rent"),
            ("Pay due:1.12.2026 to landlord @garage +Ana !high", "Pay to landlord"),
        ] {
            let quick = understand(line, today);
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            assert_eq!(["title", "due_on", "assignee", "priority"].map(of), [title, "2026-12-01", "Ana", "high"]);
            assert_eq!(quick.about.as_deref(), Some("garage"));
        }
        assert_eq!(understand("Sweep every:Day", today).fields["recurrence"], "daily");
        let quick = understand("Call back! due:never", today);
        assert_eq!((quick.fields["title"].as_str(), quick.faults.len()), (Some("Call back!"), 1));
    }

    #[test]
    fn what_a_task_has_once_is_not_taken_twice_and_nothing_of_it_is_left_out_unseen() {
        let today = parse_date("2026-11-21").unwrap();
        for (second, fault) in [
            ("!high", "a task has one priority: take !high out"),
            ("due:1 dec", "a task has one day: take due:1 dec out"),
            ("@attic", "a task has one thing it is about: take @attic out"),
            ("+Ann", "a task has one person: take +Ann out"),
            ("cost:30", "a task has one cost: take cost:30 out"),
            ("every:year", "a task has one period: take every:year out"),
        ] {
            let line = format!("Sweep !low due:fri @hall +Bob cost:20 every:month {second}");
            let quick = understand(&line, today);
            assert_eq!((quick.faults, quick.unread), (vec![fault.to_owned()], vec![second.to_owned()]));
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            let first = ["title", "priority", "due_on", "assignee", "estimated_cost", "recurrence"].map(of);
            assert_eq!(first, ["Sweep", "low", "2026-11-27", "Bob", "20", "monthly"]);
            assert_eq!(quick.about.as_deref(), Some("hall"));
        }
    }
}
