//! A conflict as its state: each field that was changed here and there, and what a person chose for it. Must not know how it
//! is drawn or carried out.

use std::collections::BTreeMap;

use hearth_contract::check::{Intent, check_field};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, is_subject};
use hearth_replica::{Choice, Conflict, Resolution};
use serde_json::Value;
use time::Date;

use crate::message::Write;
use crate::state::editor::Editor;
use crate::state::input::Line;
use crate::words::faults;
use crate::words::{Names, choice, choice_meant, field_label, json_text};

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
    /// What was typed for fields, whatever is chosen by now: typing goes on from there.
    pub drafts: BTreeMap<String, Value>,
    /// Why no value can be taken for it any more: the server has moved on while it was typed. The line stays until it is left,
    /// so that none of its letters is taken for a key.
    pub in_vain: Option<String>,
    /// Why that value cannot be taken, or the conflict not be settled.
    pub fault: Option<String>,
    /// Whether it has been read.
    pub loaded: bool,
    /// What was sent to settle it, as long as its answer is awaited.
    pub saving: Option<Write>,
}

impl ConflictScreen {
    /// The conflict of an edit, still to be read.
    pub fn of(edit: i64, method: &str) -> ConflictScreen {
        let (deletes, creates) = (method == "delete", method == "create");
        ConflictScreen {
            edit,
            deletes,
            creates,
            fields: Vec::new(),
            names: Names::new(),
            selected: 0,
            typing: None,
            drafts: BTreeMap::new(),
            in_vain: None,
            fault: None,
            loaded: false,
            saving: None,
        }
    }

    /// Whether there is one choice for all of it: a record is there or it is not, whatever its fields are.
    pub fn is_whole(&self) -> bool {
        self.deletes || self.creates || self.fields.iter().any(|(conflict, _)| conflict.theirs_at.is_none())
    }

    /// Takes what was read; what was chosen stays chosen unless the server has another value by now, or has deleted the record.
    /// What was typed is kept in any case. The cursor stays on its field.
    pub fn take(&mut self, all: Vec<Conflict>) {
        let under = self.fields.get(self.selected).map(|(conflict, _)| (conflict.kind, conflict.field.clone()));
        let mut before: BTreeMap<String, (Conflict, Option<Choice>)> =
            self.fields.drain(..).map(|field| (field.0.field.clone(), field)).collect();
        let mut unsettled = None;
        let ours = all.into_iter().filter(|conflict| conflict.edit_id == self.edit);
        self.fields = ours
            .map(|conflict| {
                let (was, choice) = before.remove(&conflict.field).unzip();
                let choice = choice.flatten();
                let stays = was.is_some_and(|was| {
                    was.theirs == conflict.theirs && was.theirs_at.is_none() == conflict.theirs_at.is_none()
                });
                if !stays && matches!(choice, Some(Choice::Value(_))) {
                    unsettled = Some(field_label(conflict.kind, &conflict.field));
                }
                (conflict, choice.filter(|_| stays))
            })
            .collect();
        let found = self
            .fields
            .iter()
            .position(|(conflict, _)| under.as_ref().is_some_and(|(_, field)| *field == conflict.field));
        self.selected = found.unwrap_or(self.selected).min(self.fields.len().saturating_sub(1));
        self.loaded = true;
        let gone = match (under, found) {
            (Some((kind, field)), None) => {
                Some(format!("Nothing stands against {} any more: leave the line.", field_label(kind, &field)))
            }
            (Some(_), Some(_)) if !self.can_type() => {
                Some("The server has deleted the record meanwhile: leave the line, then choose.".to_owned())
            }
            _ => None,
        };
        if let Some(gone) = gone.filter(|_| self.typing.is_some()) {
            self.in_vain.get_or_insert(gone);
            self.typed();
        } else if let Some(label) = unsettled.filter(|_| self.typing.is_none()) {
            self.fault = Some(format!("{label} was changed on the server again: choose anew; what you typed is kept."));
        }
    }

    /// After what is being typed has changed: what was wrong with it is said no more, unless it is in vain.
    pub fn typed(&mut self) {
        self.fault = self.in_vain.clone();
    }

    /// Leaves the line without its value.
    pub fn drop_value(&mut self) {
        (self.typing, self.in_vain, self.fault) = (None, None, None);
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
            let text = json_text(self.drafts.get(&conflict.field).unwrap_or(&conflict.mine));
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
        if self.in_vain.is_some() {
            return self.drop_value();
        }
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
                self.drafts.insert(conflict.field.clone(), value.clone());
                self.choose(Choice::Value(value));
            }
            Err(fault) => self.fault = Some(faults::fault_sentence(conflict.kind, &fault, Some(&value))),
        }
    }

    /// Whether a value was typed, or is being typed, that leaving would lose; what is only chosen is chosen again with a key.
    pub fn has_typed(&self) -> bool {
        self.typing.is_some() || !self.drafts.is_empty()
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
    use serde_json::json;

    use super::*;
    use crate::fixtures::conflict;

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
    fn the_cursor_stays_on_its_field_whatever_the_server_has_by_now() {
        let today = parse_date("2026-11-21").unwrap();
        let all = ["title", "notes", "due_on"].map(|field| conflict(field, "2026-11-25"));
        let mut screen = ConflictScreen::of(4, "update");
        screen.take(all.to_vec());
        screen.selected = 1;
        screen.type_value();
        screen.fault = Some("the fault of what is typed".to_owned());
        screen.take(all[1..].to_vec());
        assert!(screen.fault.is_some());
        screen.typing = Some(Line::holding("Ring twice"));
        screen.take_value(today);
        assert_eq!(screen.fields[0].1, Some(Choice::Value(json!("Ring twice"))), "the notes, which are first by now");
        assert_eq!(screen.fields[1].1, None);
    }

    #[test]
    fn what_is_typed_for_a_field_that_has_gone_is_taken_for_no_other() {
        let today = parse_date("2026-11-21").unwrap();
        let all = ["title", "notes", "due_on"].map(|field| conflict(field, "2026-11-25"));
        let deleted = all.clone().map(|it| Conflict { theirs: Value::Null, theirs_at: None, ..it });
        for (by_now, said) in [
            (&all[1..], "Nothing stands against Title any more: leave the line."),
            (&deleted[..], "The server has deleted the record meanwhile: leave the line, then choose."),
        ] {
            let mut screen = ConflictScreen::of(4, "update");
            screen.take(all.to_vec());
            screen.type_value();
            screen.take(by_now.to_vec());
            // The next letter is none of the keys that decide.
            screen.typed();
            assert_eq!((screen.typing.is_some(), screen.fault.as_deref()), (true, Some(said)));
            screen.take_value(today);
            assert_eq!((screen.typing.is_some(), &screen.fault), (false, &None));
            assert!(screen.fields.iter().all(|(_, choice)| choice.is_none()));
        }
    }

    #[test]
    fn a_value_that_was_typed_is_no_choice_once_the_record_is_deleted() {
        let mut screen = ConflictScreen::of(4, "update");
        let cleared = Conflict { theirs: Value::Null, ..conflict("due_on", "") };
        screen.take(vec![cleared.clone()]);
        screen.choose(Choice::Value(json!("2026-12-01")));
        screen.take(vec![Conflict { theirs_at: None, ..cleared }]);
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
