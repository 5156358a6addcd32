//! Parses the line of quick add, a task in one line: `Buy filter !high due:fri @hvac`. Callers pass the current day.
//! Must not know how names are looked up.

use hearth_contract::check::Fields;
use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use time::Date;

use crate::parse::{dates, filter, numbers};
use crate::words::MONEY_EXAMPLES;
use crate::words::direction::Direction;

/// A parsed line of quick add.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Quick {
    /// The fields of the new task, without the subject.
    pub fields: Fields,
    /// Part of the name of the task's subject.
    pub about: Option<String>,
    /// The part of the line that names the subject, as typed: `@hvac`.
    pub about_part: Option<String>,
    /// A sentence for each part that does not parse.
    pub faults: Vec<String>,
    /// The parts that do not parse, as typed, in the order of `faults`.
    pub unread: Vec<String>,
}

/// An example line for people.
pub const EXAMPLE: &str = "Buy filter !high due:fri @furnace +Ana cost:20 every:month";

/// Parses a line: `!priority`, `due:day`, `@part of a name`, `+person`, `cost:sum`, `every:period`. All other parts
/// form the title.
pub fn parse_line(text: &str, today: Date) -> Quick {
    let mut quick = Quick::default();
    let mut title: Vec<&str> = Vec::new();
    let parts = filter::split_parts(text);
    let mut rest = parts.as_slice();
    while let Some((part, after)) = rest.split_first() {
        let part = *part;
        rest = after;
        // Quotation marks or underscores make several words one value.
        let field =
            |mark: &str| part.strip_prefix(mark).map(|rest| rest.trim_matches('"')).filter(|rest| !rest.is_empty());
        if let Some(word) = field("!") {
            match choice("priority", word) {
                Some(priority) => quick.set("priority", priority.to_owned(), part),
                // A word such as `!now` belongs to the title.
                None => title.push(part),
            }
        } else if let Some(day) = field("due:") {
            rest = &after[quick.set_due(part, &day.replace('_', " "), after, today)..];
        } else if let Some(name) = field("@") {
            if quick.about.is_some() {
                quick.add_fault(part, duplicate("one subject", part));
            } else {
                (quick.about, quick.about_part) = (Some(name.replace('_', " ")), Some(part.to_owned()));
            }
        } else if let Some(name) = field("+") {
            quick.set("assignee", name.replace('_', " "), part);
        } else if let Some(sum) = field("cost:") {
            quick.set("estimated_cost", numbers::normalize_money(sum), part);
        } else if let Some(word) = field("every:") {
            quick.set_recurrence(part, word);
        } else {
            title.push(part);
        }
    }
    quick.fields.insert("title".into(), title.join(" ").into());
    quick
}

impl Quick {
    /// Sets the due day. Returns how many of the following words belong to the day (`due:1 dec`).
    fn set_due(&mut self, part: &str, day: &str, after: &[&str], today: Date) -> usize {
        let words: Vec<&str> = std::iter::once(day).chain(after.iter().copied()).collect();
        let Some((date, taken)) = dates::parse_leading_day(&words, today, Direction::Future) else {
            self.add_fault(part, format!("{day} is no day: try {}", Direction::Future.examples()));
            return 0;
        };
        self.set("due_on", format_date(date), &join_parts(part, &after[..taken - 1]));
        taken - 1
    }

    fn set_recurrence(&mut self, part: &str, word: &str) {
        let period = match word.to_lowercase().as_str() {
            "day" => "daily",
            "week" => "weekly",
            "month" => "monthly",
            "quarter" => "quarterly",
            "year" => "yearly",
            _ => word,
        };
        match choice("recurrence", period) {
            Some(period) => self.set("recurrence", period.to_owned(), part),
            None => self.add_fault(part, format!("every: takes day, week, month, quarter or year, not {word}")),
        }
    }

    /// Sets a field. A second value for the same field is a fault.
    fn set(&mut self, field: &str, value: String, part: &str) {
        if self.fields.contains_key(field) {
            let what = match field {
                "due_on" => "one day",
                "assignee" => "one person",
                "estimated_cost" => "one cost",
                "recurrence" => "one period",
                _ => "one priority",
            };
            return self.add_fault(part, duplicate(what, part));
        }
        self.fields.insert(field.to_owned(), value.into());
    }

    fn add_fault(&mut self, part: &str, sentence: String) {
        self.faults.push(sentence);
        self.unread.push(part.to_owned());
    }
}

fn duplicate(what: &str, part: &str) -> String {
    format!("a task has {what}: remove {part}")
}

/// A part and the words that belong to it, as typed.
fn join_parts(part: &str, more: &[&str]) -> String {
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
    fn line_parses_into_task_fields() {
        let today = parse_date("2026-11-21").unwrap();
        let quick = parse_line("Buy filter !high due:fri @hvac +Ana cost:$29.95 every:month", today);
        assert_eq!(
            Value::Object(quick.fields),
            json!({
                "priority": "high", "due_on": "2026-11-27", "assignee": "Ana", "estimated_cost": "29.95",
                "recurrence": "monthly", "title": "Buy filter"
            })
        );
        assert_eq!((quick.about.as_deref(), quick.faults.len()), (Some("hvac"), 0));
        let quick = parse_line("Read \"Moby  Dick\" due:dec 24 @\"living room\" aloud +Ana_Maria", today);
        assert_eq!(
            (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
            (Some("Read \"Moby  Dick\" aloud"), Some("2026-12-24"))
        );
        assert_eq!(
            (quick.about.as_deref(), quick.fields["assignee"].as_str()),
            (Some("living room"), Some("Ana Maria"))
        );
        let quick = parse_line("Hang \"Home sweet home due:fri", today);
        assert_eq!(quick.fields["due_on"], "2026-11-27", "a mark that is never closed holds nothing");
        for day in ["due:1 dec", "due:1_dec", "due:\"1 dec\"", "due:1.12."] {
            let quick = parse_line(&format!("Saw 5\" pipe {day}"), today);
            assert_eq!(
                (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
                (Some("Saw 5\" pipe"), Some("2026-12-01"))
            );
        }
        for (line, title) in [
            ("Pay rent due:1.12.2026 @garage +Ana !high", "Pay rent"),
            ("Pay due:1.12.2026 to landlord @garage +Ana !high", "Pay to landlord"),
        ] {
            let quick = parse_line(line, today);
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            assert_eq!(["title", "due_on", "assignee", "priority"].map(of), [title, "2026-12-01", "Ana", "high"]);
            assert_eq!(quick.about.as_deref(), Some("garage"));
        }
        assert_eq!(parse_line("Sweep every:Day", today).fields["recurrence"], "daily");
        let quick = parse_line("Call back! due:never", today);
        assert_eq!((quick.fields["title"].as_str(), quick.faults.len()), (Some("Call back!"), 1));
    }

    #[test]
    fn second_value_of_a_field_is_a_fault() {
        let today = parse_date("2026-11-21").unwrap();
        for (second, fault) in [
            ("!high", "a task has one priority: remove !high"),
            ("due:1 dec", "a task has one day: remove due:1 dec"),
            ("@attic", "a task has one subject: remove @attic"),
            ("+Ann", "a task has one person: remove +Ann"),
            ("cost:30", "a task has one cost: remove cost:30"),
            ("every:year", "a task has one period: remove every:year"),
        ] {
            let line = format!("Sweep !low due:fri @hall +Bob cost:20 every:month {second}");
            let quick = parse_line(&line, today);
            assert_eq!((quick.faults, quick.unread), (vec![fault.to_owned()], vec![second.to_owned()]));
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            let first = ["title", "priority", "due_on", "assignee", "estimated_cost", "recurrence"].map(of);
            assert_eq!(first, ["Sweep", "low", "2026-11-27", "Bob", "20", "monthly"]);
            assert_eq!(quick.about.as_deref(), Some("hall"));
        }
    }
}
