//! A conflict as its state: each field that was changed here and there, and what a person chose for it. Must not know how it
//! is drawn or carried out.

use std::collections::BTreeMap;

use hearth_contract::check::{Intent, check_field};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, is_subject};
use hearth_replica::{Choice, Conflict, Resolution};
use serde_json::Value;
use time::Date;

use crate::editor::Editor;
use crate::faults;
use crate::input::Line;
use crate::words::{Names, choice, choice_meant, field_label, plain};

/// The conflict of one edit.
#[derive(Debug)]
pub struct ConflictScreen {
    /// The edit that waits.
    pub edit: i64,
    /// Whether the edit deletes the record.
    pub deletes: bool,
    /// Whether the edit makes the record.
    pub creates: bool,
    /// Its fields, and what was chosen for each.
    pub fields: Vec<(Conflict, Option<Choice>)>,
    /// Names of what their values point at.
    pub names: Names,
    /// Which of them is under the cursor.
    pub selected: usize,
    /// A value that is being typed for it.
    pub typing: Option<Line>,
    /// Why that value cannot be taken, or the conflict not be settled.
    pub fault: Option<String>,
    /// Whether it has been read.
    pub loaded: bool,
}

impl ConflictScreen {
    /// The conflict of an edit, still to be read.
    pub fn of(edit: i64, method: &str) -> ConflictScreen {
        let (deletes, creates) = (method == "delete", method == "create");
        let (fields, names) = (Vec::new(), Names::new());
        ConflictScreen { edit, deletes, creates, fields, names, selected: 0, typing: None, fault: None, loaded: false }
    }

    /// Whether there is one choice for all of it: a record is there or it is not, whatever its fields are.
    pub fn is_whole(&self) -> bool {
        self.deletes || self.creates || self.fields.iter().any(|(conflict, _)| conflict.theirs_at.is_none())
    }

    /// Takes what was read; what was chosen stays chosen unless the server has another value by now.
    pub fn take(&mut self, all: Vec<Conflict>) {
        let mut before: BTreeMap<String, (Conflict, Option<Choice>)> =
            self.fields.drain(..).map(|field| (field.0.field.clone(), field)).collect();
        let ours = all.into_iter().filter(|conflict| conflict.edit_id == self.edit);
        self.fields = ours
            .map(|conflict| {
                let chosen = before.remove(&conflict.field).filter(|(was, _)| was.theirs == conflict.theirs);
                (conflict, chosen.and_then(|(_, choice)| choice))
            })
            .collect();
        self.selected = self.selected.min(self.fields.len().saturating_sub(1));
        self.loaded = true;
    }

    /// Chooses for the field under the cursor and goes on to the next that waits; for all where there is one choice.
    pub fn choose(&mut self, choice: Choice) {
        self.fault = None;
        if self.is_whole() {
            return self.choose_all(&choice);
        }
        // A subject is one thing in two fields: half of each side would name something nobody meant.
        let about = self.fields.get(self.selected).is_some_and(|(conflict, _)| is_subject(&conflict.field));
        for (index, (conflict, chosen)) in self.fields.iter_mut().enumerate() {
            if index == self.selected || (about && is_subject(&conflict.field)) {
                *chosen = Some(choice.clone());
            }
        }
        let number = self.fields.len();
        let next = (1..number).map(|step| (self.selected + step) % number).find(|at| self.fields[*at].1.is_none());
        self.selected = next.unwrap_or(self.selected);
    }

    /// Chooses the same for every field.
    pub fn choose_all(&mut self, choice: &Choice) {
        self.fault = None;
        for (_, chosen) in &mut self.fields {
            *chosen = Some(choice.clone());
        }
    }

    /// Whether a value can be typed for the field under the cursor. What points at a record is an id, which nobody types.
    pub fn can_type(&self) -> bool {
        let is_typed =
            |field: &Field| !is_subject(field.name) && !matches!(field.format, Format::Reference(_) | Format::Subject);
        !self.is_whole() && self.field().is_some_and(is_typed)
    }

    fn field(&self) -> Option<&'static Field> {
        let (conflict, _) = self.fields.get(self.selected)?;
        resource(conflict.kind).field(&conflict.field)
    }

    /// Begins to type a value: as it is shown, so that it is taken as it is read.
    pub fn type_value(&mut self) {
        let Some((conflict, _)) = self.fields.get(self.selected) else { return };
        if self.can_type() {
            let text = plain(&conflict.mine);
            let is_choice = self.field().is_some_and(|field| matches!(field.format, Format::Choice(_)));
            self.typing = Some(Line::holding(&if is_choice { choice(&text) } else { text }));
        } else if self.deletes {
            self.fault = Some("A deletion is kept or given up; there is no third value.".into());
        } else if self.is_whole() {
            self.fault = Some("The change is kept or given up as a whole; there is no third value.".into());
        } else {
            let label = field_label(conflict.kind, &conflict.field);
            self.fault =
                Some(format!("{label} names a record: take one of the two, and change it in a form after that."));
        }
    }

    /// Takes the typed value, or says why not.
    pub fn take_value(&mut self, today: Date) {
        let (Some(line), Some((conflict, _)), Some(field)) =
            (&self.typing, self.fields.get(self.selected), self.field())
        else {
            return;
        };
        let meant = match field.format {
            Format::Choice(words) if !line.text().trim().is_empty() => choice_meant(words, line.text().trim()),
            _ => None,
        };
        let value = meant.map_or_else(|| Editor::Line(line.clone()).value(field, today), Value::from);
        match check_field(field, Intent::Patch, &value) {
            Ok(value) => {
                self.typing = None;
                self.choose(Choice::Value(value));
            }
            Err(fault) => self.fault = Some(faults::said(conflict.kind, &fault, Some(&value))),
        }
    }

    /// Whether a value was typed, or is being typed, that leaving would lose; what is only chosen is chosen again with a key.
    pub fn has_typed(&self) -> bool {
        self.typing.is_some() || self.fields.iter().any(|(_, choice)| matches!(choice, Some(Choice::Value(_))))
    }

    /// How it ends; None, with the reason, while something is not chosen. Where nothing differs any more, the change goes to
    /// the server as it is.
    pub fn resolution(&mut self) -> Option<Resolution> {
        if self.fields.is_empty() {
            return self.loaded.then(Resolution::mine);
        }
        let waiting: Vec<String> = self
            .fields
            .iter()
            .filter(|(_, choice)| choice.is_none())
            .map(|(conflict, _)| field_label(conflict.kind, &conflict.field))
            .collect();
        if !waiting.is_empty() {
            // The names of fields would read as if each were decided about.
            let waiting = match (self.deletes, self.is_whole()) {
                (true, _) => "the deletion, or the record as the server has it".to_owned(),
                (false, true) => "your change as a whole, or what the server has".to_owned(),
                (false, false) => waiting.join(", "),
            };
            self.fault = Some(format!("Choose first: {waiting}."));
            return None;
        }
        if self.is_whole() {
            return Some(Resolution { rest: self.fields[0].1.clone(), ..Resolution::default() });
        }
        let fields =
            self.fields.iter().filter_map(|(conflict, choice)| Some((conflict.field.clone(), choice.clone()?)));
        Some(Resolution { fields: fields.collect(), rest: None })
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.fields.len().saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::parse_date;
    use hearth_contract::schema::Kind;
    use serde_json::json;

    use super::*;

    fn conflict(field: &str, theirs: &str) -> Conflict {
        Conflict {
            edit_id: 4,
            kind: Kind::Task,
            record_id: "a".into(),
            field: field.into(),
            base: json!("2026-11-18"),
            mine: json!("2026-11-20"),
            theirs: json!(theirs),
            theirs_at: Some("2026-11-21T13:02:00.000Z".into()),
            title: "Clean gutters".into(),
        }
    }

    #[test]
    fn each_field_is_mine_theirs_or_typed_and_all_must_be_chosen() {
        let today = parse_date("2026-11-21").unwrap();
        let mut screen = ConflictScreen::of(4, "update");
        let other = Conflict { edit_id: 9, ..conflict("title", "x") };
        screen.take(vec![conflict("due_on", "2026-11-25"), conflict("assignee", "Ana"), other]);
        assert_eq!(screen.fields.len(), 2);
        assert!(screen.resolution().is_none());
        screen.choose(Choice::Mine);
        assert!(!screen.has_typed());
        (screen.selected, screen.fields[0].1) = (0, None);
        screen.type_value();
        screen.typing = Some(Line::holding("someday"));
        screen.take_value(today);
        assert!(screen.fault.as_deref().unwrap().contains("someday is no day"));
        screen.typing = Some(Line::holding("tomorrow"));
        screen.take_value(today);
        assert_eq!(screen.selected, 1, "the next that waits");
        assert!(screen.has_typed());
        screen.choose(Choice::Theirs);
        let resolution = screen.resolution().unwrap();
        assert_eq!(resolution.fields["due_on"], Choice::Value(json!("2026-11-22")));
        assert_eq!(resolution.fields["assignee"], Choice::Theirs);
        screen.take(Vec::new());
        assert_eq!(screen.resolution(), Some(Resolution::mine()), "nothing stands against it any more");
        // The server has moved on: the choice was about another value.
        screen.take(vec![conflict("due_on", "2026-12-01"), conflict("assignee", "Ana")]);
        assert!(screen.resolution().is_none());
    }
    #[test]
    fn a_record_that_is_there_or_not_is_one_choice() {
        let gone = |field| Conflict { theirs: Value::Null, theirs_at: None, ..conflict(field, "") };
        let there = ["due_on", "title"].map(|field| conflict(field, "2026-11-25"));
        let cases = [("update", ["due_on", "title"].map(gone)), ("create", there.clone()), ("delete", there)];
        for (method, fields) in cases {
            for (choice, expected) in [(Choice::Mine, Resolution::mine()), (Choice::Theirs, Resolution::theirs())] {
                let mut screen = ConflictScreen::of(4, method);
                screen.take(fields.to_vec());
                assert!(screen.resolution().is_none());
                let asked = screen.fault.take().unwrap_or_default();
                assert!(asked.ends_with("the server has.") || asked.ends_with("the server has it."), "{asked}");
                screen.type_value();
                assert!(screen.typing.is_none() && screen.fault.is_some(), "{method}: there is no third value");
                screen.choose(choice);
                assert_eq!(screen.resolution(), Some(expected), "{method}");
            }
        }
    }

    #[test]
    fn both_halves_of_a_subject_are_one_choice() {
        let mut screen = ConflictScreen::of(4, "update");
        screen.take(vec![conflict("title", "x"), conflict("subject_type", "room"), conflict("subject_id", "r")]);
        screen.selected = 2;
        screen.choose(Choice::Theirs);
        assert_eq!(screen.selected, 0, "only the title waits");
        screen.choose(Choice::Mine);
        screen.selected = 1;
        screen.choose(Choice::Mine);
        let resolution = screen.resolution().unwrap();
        let of = |field: &str| &resolution.fields[field];
        assert_eq!((of("subject_type"), of("subject_id")), (&Choice::Mine, &Choice::Mine));
    }

    #[test]
    fn a_choice_is_typed_as_it_is_read_and_a_record_not_at_all() {
        let today = parse_date("2026-11-21").unwrap();
        let mut screen = ConflictScreen::of(4, "update");
        let status = Conflict { mine: json!("in_progress"), theirs: json!("done"), ..conflict("status", "") };
        screen.take(vec![status, conflict("subject_type", "room"), conflict("subject_id", "r")]);
        screen.type_value();
        assert_eq!(screen.typing.as_ref().unwrap().text(), "doing", "as it is on the screen");
        screen.take_value(today);
        assert_eq!(screen.fields[0].1, Some(Choice::Value(json!("in_progress"))));
        for half in [1, 2] {
            (screen.selected, screen.fault) = (half, None);
            screen.type_value();
            assert!(screen.typing.is_none() && screen.fault.as_deref().unwrap().contains("names a record"));
        }
    }
}
