//! Parses the line of quick add, a task in one line: `Buy filter !high due:fri @hvac`. Callers pass the current day.
//! Must not know how names are looked up.

use hearth_contract::check::Fields;
use hearth_contract::formats::format_date;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use hearth_contract::typed_text;
use time::Date;

use crate::parse::{dates, filter};
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
    /// The name of the first `+name` that no person has. The part stays in the title.
    pub unknown_person: Option<String>,
    /// A sentence for each part that does not parse.
    pub faults: Vec<String>,
    /// The parts that do not parse, as typed, in the order of `faults`.
    pub unread: Vec<String>,
}

/// An example line for people.
pub const EXAMPLE: &str = "Buy filter !high due:fri @furnace +Ana cost:20 every:month";

/// The persons that a line may name.
#[derive(Debug, Clone, Default)]
pub struct People {
    /// The names of persons who have tasks.
    pub known: Vec<String>,
    /// A name that the user has confirmed although no person has the name.
    pub confirmed: Option<String>,
}

impl People {
    /// The person with this name, or the only person with this name among several names: `Ana` is `Ana Maria`.
    fn find(&self, name: &str) -> Option<&str> {
        let name = name.to_lowercase();
        let is_whole = |known: &&String| known.to_lowercase() == name;
        let has = |known: &&String| known.to_lowercase().split_whitespace().any(|part| part == name);
        let mut with_part = self.known.iter().filter(has);
        let only = with_part.next().filter(|_| with_part.next().is_none());
        let whole = self.known.iter().chain(&self.confirmed).find(is_whole);
        whole.or(only).map(String::as_str)
    }
}

/// Parses a line: `!priority`, `due:day`, `@part of a name`, `+person`, `cost:sum`, `every:period`. All other parts
/// form the title, as does a `+name` that is no person: `+49 170`, `+VAT`.
pub fn parse_line(text: &str, today: Date, people: &People) -> Quick {
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
        } else if let Some(name) = field("+").map(|name| name.replace('_', " ")) {
            match people.find(&name) {
                Some(person) => quick.set("assignee", person.to_owned(), part),
                None => {
                    title.push(part);
                    // `+49` is the beginning of a number.
                    let is_name = name.starts_with(char::is_alphabetic);
                    quick.unknown_person = quick.unknown_person.or(is_name.then_some(name));
                }
            }
        } else if let Some(sum) = field("cost:") {
            match typed_text::parse_money(sum) {
                Some(sum) => quick.set("estimated_cost", sum, part),
                None => quick.add_fault(part, format!("{sum} is no sum: try {MONEY_EXAMPLES}")),
            }
        } else if let Some(word) = field("every:") {
            quick.set_recurrence(part, word);
        } else {
            title.push(part);
        }
    }
    quick.fields.insert("title".into(), title.join(" ").into());
    // A task has one assignee.
    quick.unknown_person.take_if(|_| quick.fields.contains_key("assignee"));
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

    /// Parses a line on 21 November 2026, in a home with these persons.
    fn parsed(line: &str) -> Quick {
        let known = ["Ana", "Ana Maria", "Bob", "Mateo Ruiz"].map(str::to_owned).to_vec();
        parse_line(line, parse_date("2026-11-21").unwrap(), &People { known, confirmed: Some("Zoe".to_owned()) })
    }

    #[test]
    fn plus_names_a_known_person_only() {
        for (line, title, assignee, unknown_person) in [
            ("Call +49 170 1234567", "Call +49 170 1234567", None, None),
            ("Pay invoice +VAT", "Pay invoice +VAT", None, Some("VAT")),
            ("Buy 2 +1 free", "Buy 2 +1 free", None, None),
            ("Sweep +ana", "Sweep", Some("Ana"), None),
            ("Sweep +Ana_Maria", "Sweep", Some("Ana Maria"), None),
            ("Sweep +\"ana maria\"", "Sweep", Some("Ana Maria"), None),
            ("Sweep +mateo", "Sweep", Some("Mateo Ruiz"), None),
            ("Sweep +zoe", "Sweep", Some("Zoe"), None),
            ("Sweep +Zo", "Sweep +Zo", None, Some("Zo")),
            ("Sweep +Max +Bob", "Sweep +Max", Some("Bob"), None),
            ("1 + 1", "1 + 1", None, None),
        ] {
            let quick = parsed(line);
            assert_eq!(quick.fields["title"], title, "{line}");
            assert_eq!(quick.fields.get("assignee").and_then(Value::as_str), assignee, "{line}");
            assert_eq!((quick.unknown_person.as_deref(), quick.faults.len()), (unknown_person, 0), "{line}");
        }
    }

    #[test]
    fn ambiguous_cost_is_a_fault_while_typed() {
        let quick = parsed("Buy filter cost:1.299");
        assert_eq!(quick.faults, ["1.299 is no sum: try 1299, 1,299.50 or 1299,50"]);
        assert_eq!((quick.unread, quick.fields.get("estimated_cost")), (vec!["cost:1.299".to_owned()], None));
        assert_eq!(parsed("Buy filter cost:1.299,50").fields["estimated_cost"], "1299.50");
    }

    #[test]
    fn line_parses_into_task_fields() {
        let quick = parsed("Buy filter !high due:fri @hvac +Ana cost:$29.95 every:month");
        assert_eq!(
            Value::Object(quick.fields),
            json!({
                "priority": "high", "due_on": "2026-11-27", "assignee": "Ana", "estimated_cost": "29.95",
                "recurrence": "monthly", "title": "Buy filter"
            })
        );
        assert_eq!((quick.about.as_deref(), quick.faults.len()), (Some("hvac"), 0));
        let quick = parsed("Read \"Moby  Dick\" due:dec 24 @\"living room\" aloud +Ana_Maria");
        assert_eq!(
            (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
            (Some("Read \"Moby  Dick\" aloud"), Some("2026-12-24"))
        );
        assert_eq!(
            (quick.about.as_deref(), quick.fields["assignee"].as_str()),
            (Some("living room"), Some("Ana Maria"))
        );
        let quick = parsed("Hang \"Home sweet home due:fri");
        assert_eq!(quick.fields["due_on"], "2026-11-27", "a mark that is never closed holds nothing");
        for day in ["due:1 dec", "due:1_dec", "due:\"1 dec\"", "due:1.12."] {
            let quick = parsed(&format!("Saw 5\" pipe {day}"));
            assert_eq!(
                (quick.fields["title"].as_str(), quick.fields["due_on"].as_str()),
                (Some("Saw 5\" pipe"), Some("2026-12-01"))
            );
        }
        for (line, title) in [
            ("Pay rent due:1.12.2026 @garage +Ana !high", "Pay rent"),
            ("Pay due:1.12.2026 to landlord @garage +Ana !high", "Pay to landlord"),
        ] {
            let quick = parsed(line);
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            assert_eq!(["title", "due_on", "assignee", "priority"].map(of), [title, "2026-12-01", "Ana", "high"]);
            assert_eq!(quick.about.as_deref(), Some("garage"));
        }
        assert_eq!(parsed("Sweep every:Day").fields["recurrence"], "daily");
        let quick = parsed("Call back! due:never");
        assert_eq!((quick.fields["title"].as_str(), quick.faults.len()), (Some("Call back!"), 1));
    }

    #[test]
    fn second_value_of_a_field_is_a_fault() {
        for (second, fault) in [
            ("!high", "a task has one priority: remove !high"),
            ("due:1 dec", "a task has one day: remove due:1 dec"),
            ("@attic", "a task has one subject: remove @attic"),
            ("+Ana", "a task has one person: remove +Ana"),
            ("cost:30", "a task has one cost: remove cost:30"),
            ("every:year", "a task has one period: remove every:year"),
        ] {
            let line = format!("Sweep !low due:fri @hall +Bob cost:20 every:month {second}");
            let quick = parsed(&line);
            assert_eq!((quick.faults, quick.unread), (vec![fault.to_owned()], vec![second.to_owned()]));
            let of = |name: &str| quick.fields[name].as_str().unwrap();
            let first = ["title", "priority", "due_on", "assignee", "estimated_cost", "recurrence"].map(of);
            assert_eq!(first, ["Sweep", "low", "2026-11-27", "Bob", "20", "monthly"]);
            assert_eq!(quick.about.as_deref(), Some("hall"));
        }
    }
}
