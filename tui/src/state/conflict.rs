//! The state of a conflict screen: the fields in conflict and the user's choice for each. Must not know how the screen
//! is drawn or a resolution carried out.

use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, is_subject};
use hearth_contract::units::AreaUnit;
use hearth_replica::{Choice, Conflict, Method, Resolution};
use serde_json::Value;
use time::Date;

use crate::message::Write;
use crate::state::input::Line;
use crate::state::typed_value;
use crate::words::{Names, field_label};

/// The conflict of one edit.
#[derive(Debug)]
pub struct ConflictScreen {
    /// The number of the edit.
    pub edit: i64,
    /// Whether the edit deletes the record.
    pub deletes: bool,
    /// Whether the edit creates the record.
    pub creates: bool,
    /// The fields in conflict, each with the user's choice.
    pub fields: Vec<(Conflict, Option<Choice>)>,
    /// Names of the records in the values, by id.
    pub names: Names,
    /// The unit in which areas are typed.
    pub area_unit: AreaUnit,
    /// The number of the field under the cursor.
    pub selected: usize,
    /// The value that is being typed for this field.
    pub typing: Option<Line>,
    /// Typed values by field, kept whatever is chosen: typing continues from them.
    pub drafts: BTreeMap<String, Value>,
    /// Why the typed value can no longer be taken, as a sentence: the server changed the record. The line stays open
    /// until the user leaves it; else further letters would be commands.
    pub typing_blocked: Option<String>,
    /// Why the value cannot be taken, or the conflict cannot be resolved.
    pub fault: Option<String>,
    /// Whether the fields have been read.
    pub is_loaded: bool,
    /// The write that resolves the conflict, while its answer is missing.
    pub saving: Option<Write>,
}

impl ConflictScreen {
    /// The conflict of an edit, without fields until they are read.
    pub fn of(edit: i64, method: Method) -> ConflictScreen {
        let (deletes, creates) = (method == Method::Delete, method == Method::Create);
        ConflictScreen {
            edit,
            deletes,
            creates,
            fields: Vec::new(),
            names: Names::new(),
            area_unit: AreaUnit::default(),
            selected: 0,
            typing: None,
            drafts: BTreeMap::new(),
            typing_blocked: None,
            fault: None,
            is_loaded: false,
            saving: None,
        }
    }

    /// Whether one choice covers all fields: the edit creates or deletes the record, or the server deleted it.
    pub fn is_whole(&self) -> bool {
        self.deletes || self.creates || self.fields.iter().any(|(conflict, _)| conflict.theirs_at.is_none())
    }

    /// Takes the fields that were read. A choice stays unless the server's value changed or the record was deleted.
    /// Typed values always stay. The cursor stays on its field.
    pub fn set_conflicts(&mut self, all: Vec<Conflict>) {
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
        self.is_loaded = true;
        let gone = match (under, found) {
            (Some((kind, field)), None) => {
                Some(format!("{} has no conflict any more: leave the line.", field_label(kind, &field)))
            }
            (Some(_), Some(_)) if !self.can_type() => {
                Some("The record was deleted on the server: leave the line, then choose.".to_owned())
            }
            _ => None,
        };
        if let Some(gone) = gone.filter(|_| self.typing.is_some()) {
            self.typing_blocked.get_or_insert(gone);
            self.after_typing();
        } else if let Some(label) = unsettled.filter(|_| self.typing.is_none()) {
            self.fault =
                Some(format!("{label} was changed on the server again: choose again; your typed value is kept."));
        }
    }

    /// Removes the fault of the typed value, unless the value can no longer be taken.
    pub fn after_typing(&mut self) {
        self.fault = self.typing_blocked.clone();
    }

    /// Closes the line without taking the value.
    pub fn drop_value(&mut self) {
        (self.typing, self.typing_blocked, self.fault) = (None, None, None);
    }

    /// Chooses for the field under the cursor, or for every field where one choice covers all. The cursor moves to the
    /// next field without a choice.
    pub fn choose(&mut self, choice: Choice) {
        self.fault = None;
        if self.is_whole() {
            return self.choose_all(&choice);
        }
        // A subject has two fields, type and id: a mix of both sides would name a wrong record.
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

    /// Whether a value can be typed for the field under the cursor. References hold ids, which are not typed.
    pub fn can_type(&self) -> bool {
        !self.is_whole() && self.field().is_some_and(typed_value::is_typed)
    }

    fn field(&self) -> Option<&'static Field> {
        let (conflict, _) = self.fields.get(self.selected)?;
        resource(conflict.kind).field(&conflict.field)
    }

    /// Opens the line with the value as the screen shows it.
    pub fn type_value(&mut self) {
        let Some((conflict, _)) = self.fields.get(self.selected) else { return };
        if let Some(field) = self.field().filter(|_| self.can_type()) {
            let value = self.drafts.get(&conflict.field).unwrap_or(&conflict.mine);
            self.typing = Some(typed_value::line_of(field, value, self.area_unit));
        } else if self.deletes {
            self.fault = Some("Keep the deletion or discard it; no other value is possible.".into());
        } else if self.is_whole() {
            self.fault = Some("Keep the whole change or discard it; no other value is possible.".into());
        } else {
            let label = field_label(conflict.kind, &conflict.field);
            self.fault = Some(format!(
                "{label} refers to a record: choose one of the two values, and change the field in a form afterwards."
            ));
        }
    }

    /// Takes the typed value, or shows its fault.
    pub fn take_value(&mut self, today: Date) {
        if self.typing_blocked.is_some() {
            return self.drop_value();
        }
        let (Some(line), Some((conflict, _)), Some(field)) =
            (&self.typing, self.fields.get(self.selected), self.field())
        else {
            return;
        };
        match typed_value::value_of(conflict.kind, field, line, self.area_unit, today) {
            Ok(value) => {
                self.typing = None;
                self.drafts.insert(conflict.field.clone(), value.clone());
                self.choose(Choice::Value(value));
            }
            Err(sentence) => self.fault = Some(sentence),
        }
    }

    /// Whether leaving would lose a typed value. Mere choices are not counted: one key repeats a choice.
    pub fn has_typed(&self) -> bool {
        self.typing.is_some() || !self.drafts.is_empty()
    }

    /// The resolution. None: a field has no choice; the fault names the field. Without any field left, the edit is sent
    /// as it is.
    pub fn resolution(&mut self) -> Option<Resolution> {
        if self.fields.is_empty() {
            return self.is_loaded.then(Resolution::mine);
        }
        let waiting: Vec<String> = self
            .fields
            .iter()
            .filter(|(_, choice)| choice.is_none())
            .map(|(conflict, _)| field_label(conflict.kind, &conflict.field))
            .collect();
        if !waiting.is_empty() {
            // Field names would suggest one choice per field.
            let waiting = match (self.deletes, self.is_whole()) {
                (true, _) => "the deletion, or the server's record".to_owned(),
                (false, true) => "your whole change, or the server's record".to_owned(),
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
    fn resolution_needs_choice_for_every_field() {
        let today = parse_date("2026-11-21").unwrap();
        let mut screen = ConflictScreen::of(4, Method::Update);
        let other = Conflict { edit_id: 9, ..conflict("title", "x") };
        screen.set_conflicts(vec![conflict("due_on", "2026-11-25"), conflict("assignee", "Ana"), other]);
        assert_eq!(screen.fields.len(), 2);
        assert!(screen.resolution().is_none());
        screen.choose(Choice::Mine);
        assert!(!screen.has_typed());
        (screen.selected, screen.fields[0].1) = (0, None);
        screen.type_value();
        screen.typing = Some(Line::with_text("someday"));
        screen.take_value(today);
        assert!(screen.fault.as_deref().unwrap().contains("someday is no day"));
        screen.typing = Some(Line::with_text("tomorrow"));
        screen.take_value(today);
        assert_eq!(screen.selected, 1, "the next that waits");
        assert!(screen.has_typed());
        screen.choose(Choice::Theirs);
        let resolution = screen.resolution().unwrap();
        assert_eq!(resolution.fields["due_on"], Choice::Value(json!("2026-11-22")));
        assert_eq!(resolution.fields["assignee"], Choice::Theirs);
        screen.set_conflicts(Vec::new());
        assert_eq!(screen.resolution(), Some(Resolution::mine()), "nothing stands against it any more");
        // The server's value changed again, so the choice is dropped.
        screen.set_conflicts(vec![conflict("due_on", "2026-12-01"), conflict("assignee", "Ana")]);
        assert!(screen.resolution().is_none());
    }

    #[test]
    fn cursor_stays_on_field_after_reload() {
        let today = parse_date("2026-11-21").unwrap();
        let all = ["title", "notes", "due_on"].map(|field| conflict(field, "2026-11-25"));
        let mut screen = ConflictScreen::of(4, Method::Update);
        screen.set_conflicts(all.to_vec());
        screen.selected = 1;
        screen.type_value();
        screen.fault = Some("the fault of what is typed".to_owned());
        screen.set_conflicts(all[1..].to_vec());
        assert!(screen.fault.is_some());
        screen.typing = Some(Line::with_text("Ring twice"));
        screen.take_value(today);
        assert_eq!(screen.fields[0].1, Some(Choice::Value(json!("Ring twice"))), "the notes, which are first by now");
        assert_eq!(screen.fields[1].1, None);
    }

    #[test]
    fn typed_value_of_gone_field_is_not_taken() {
        let today = parse_date("2026-11-21").unwrap();
        let all = ["title", "notes", "due_on"].map(|field| conflict(field, "2026-11-25"));
        let deleted = all.clone().map(|it| Conflict { theirs: Value::Null, theirs_at: None, ..it });
        for (by_now, sentence) in [
            (&all[1..], "Title has no conflict any more: leave the line."),
            (&deleted[..], "The record was deleted on the server: leave the line, then choose."),
        ] {
            let mut screen = ConflictScreen::of(4, Method::Update);
            screen.set_conflicts(all.to_vec());
            screen.type_value();
            screen.set_conflicts(by_now.to_vec());
            // The next letter must not act as a command.
            screen.after_typing();
            assert_eq!((screen.typing.is_some(), screen.fault.as_deref()), (true, Some(sentence)));
            screen.take_value(today);
            assert_eq!((screen.typing.is_some(), &screen.fault), (false, &None));
            assert!(screen.fields.iter().all(|(_, choice)| choice.is_none()));
        }
    }

    #[test]
    fn deleted_record_drops_typed_choice() {
        let mut screen = ConflictScreen::of(4, Method::Update);
        let cleared = Conflict { theirs: Value::Null, ..conflict("due_on", "") };
        screen.set_conflicts(vec![cleared.clone()]);
        screen.choose(Choice::Value(json!("2026-12-01")));
        screen.set_conflicts(vec![Conflict { theirs_at: None, ..cleared }]);
        assert!(screen.resolution().is_none());
    }

    #[test]
    fn whole_record_conflict_has_one_choice() {
        let gone = |field| Conflict { theirs: Value::Null, theirs_at: None, ..conflict(field, "") };
        let there = ["due_on", "title"].map(|field| conflict(field, "2026-11-25"));
        let cases =
            [(Method::Update, ["due_on", "title"].map(gone)), (Method::Create, there.clone()), (Method::Delete, there)];
        for (method, fields) in cases {
            for (choice, expected) in [(Choice::Mine, Resolution::mine()), (Choice::Theirs, Resolution::theirs())] {
                let mut screen = ConflictScreen::of(4, method);
                screen.set_conflicts(fields.to_vec());
                assert!(screen.resolution().is_none());
                let asked = screen.fault.take().unwrap_or_default();
                assert!(asked.ends_with("the server's record."), "{asked}");
                screen.type_value();
                assert!(screen.typing.is_none() && screen.fault.is_some(), "{method}: there is no third value");
                screen.choose(choice);
                assert_eq!(screen.resolution(), Some(expected), "{method}");
            }
        }
    }

    #[test]
    fn subject_fields_share_one_choice() {
        let mut screen = ConflictScreen::of(4, Method::Update);
        screen.set_conflicts(vec![
            conflict("title", "x"),
            conflict("subject_type", "room"),
            conflict("subject_id", "r"),
        ]);
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
    fn displayed_choice_word_can_be_typed() {
        let today = parse_date("2026-11-21").unwrap();
        let mut screen = ConflictScreen::of(4, Method::Update);
        let status = Conflict { mine: json!("in_progress"), theirs: json!("done"), ..conflict("status", "") };
        screen.set_conflicts(vec![status, conflict("subject_type", "room"), conflict("subject_id", "r")]);
        screen.type_value();
        assert_eq!(screen.typing.as_ref().unwrap().text(), "doing", "as it is on the screen");
        screen.take_value(today);
        assert_eq!(screen.fields[0].1, Some(Choice::Value(json!("in_progress"))));
        for half in [1, 2] {
            (screen.selected, screen.fault) = (half, None);
            screen.type_value();
            assert!(screen.typing.is_none() && screen.fault.as_deref().unwrap().contains("refers to a record"));
        }
    }
}
