//! Forms for another record like one: a duplicate, and the next new record after a save. Must not write.

use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use hearth_replica::Row;
use serde_json::Value;
use time::Date;

use super::{Form, FormRequest};
use crate::state::editor::Editor;

/// Fields that belong to one record: a second record has other values.
const OWN_FIELDS: [&str; 5] = ["serial_number", "vin", "license_plate", "import_ref", "status"];

impl Form {
    /// A form for a new record with the values of another. What belongs to the one record alone is left out, and a task
    /// starts open.
    pub fn duplicate(row: &Row, today: Date) -> Form {
        let mut fields = usual_values(row.kind);
        let own = |name: &str| OWN_FIELDS.contains(&name);
        fields.extend(
            row.fields.iter().filter(|(name, _)| !own(name)).map(|(name, value)| (name.clone(), value.clone())),
        );
        let name = |field: &str| row.names.get(field).cloned();
        Form::with_fields(row.kind, None, String::new(), fields, today, name)
    }

    pub(super) fn save_and_next(&mut self) -> FormRequest {
        let request = self.save();
        // A second press while the write is in progress keeps the request.
        self.has_next |= matches!(request, FormRequest::Save(_));
        request
    }

    /// The form for the next new record: it keeps the room and the subject.
    pub fn next(&self) -> Form {
        let mut fields = usual_values(self.kind);
        for entry in &self.entries {
            let is_kept = matches!(entry.field.format, Format::Reference(_) | Format::Subject)
                || entry.field.name == SUBJECT_TYPE;
            if is_kept {
                fields.insert(entry.field.name.to_owned(), entry.editor.value(entry.field, self.today));
            }
        }
        let name = |field: &str| {
            self.entries.iter().find(|entry| entry.field.name == field).and_then(|entry| match &entry.editor {
                Editor::Reference(reference) => Some(reference.title.clone()),
                _ => None,
            })
        };
        let mut form = Form::with_fields(self.kind, None, String::new(), fields, self.today, name);
        form.set_units(self.units);
        form
    }
}

/// The values of a new record that the contract sets.
fn usual_values(kind: Kind) -> Fields {
    check(kind, Intent::Create, &Value::Object(Fields::new())).fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::{now, record};
    use crate::keys::Action;
    use crate::message::Write;

    fn typed(form: &mut Form, field: &str, text: &str) {
        form.focus = form.entries.iter().position(|entry| entry.field.name == field).unwrap();
        form.paste(text);
    }

    fn created(request: FormRequest) -> Value {
        let FormRequest::Save(Write::Create { fields, .. }) = request else { panic!("{request:?}") };
        Value::Object(fields)
    }

    #[test]
    fn duplicate_leaves_out_what_is_unique() {
        let fields = json!({ "name": "Drill", "room_id": ROOM, "serial_number": "X1", "quantity": 2, "make": "Bosch" });
        let mut drill = record(Kind::Inventory, "1", fields);
        drill.names.insert("room_id", "Garage".into());
        let mut form = Form::duplicate(&drill, now().today());
        assert!(form.is_new() && !form.is_changed());
        let expected = json!({ "name": "Drill", "room_id": ROOM, "quantity": 2, "make": "Bosch" });
        assert_eq!(created(form.act(Action::Save)), expected);
        let done = record(Kind::Task, "2", json!({ "title": "Sweep", "status": "done", "due_on": "2026-11-18" }));
        let copy = created(Form::duplicate(&done, now().today()).act(Action::Save));
        assert_eq!((&copy["status"], &copy["due_on"]), (&json!("open"), &json!("2026-11-18")));
    }

    #[test]
    fn next_form_keeps_the_room() {
        let mut lamp = record(Kind::Inventory, "1", json!({ "name": "Lamp", "room_id": ROOM, "make": "Ikea" }));
        lamp.names.insert("room_id", "Garage".into());
        let mut form = Form::duplicate(&lamp, now().today());
        assert!(matches!(form.act(Action::SaveAndNext), FormRequest::Save(_)) && form.has_next);
        let mut next = form.next();
        typed(&mut next, "name", "Rug");
        assert_eq!(created(next.act(Action::Save)), json!({ "name": "Rug", "room_id": ROOM, "quantity": 1 }));
        let is_room =
            next.entries.iter().any(|entry| matches!(&entry.editor, Editor::Reference(r) if r.title == "Garage"));
        assert!(is_room);
    }

    #[test]
    fn next_form_keeps_the_subject() {
        let paper = json!({ "title": "Manual", "subject_type": "vehicle", "subject_id": ROOM, "category": "manual" });
        let mut manual = record(Kind::Document, "1", paper);
        manual.names.insert("subject_id", "Car".into());
        let mut next = Form::duplicate(&manual, now().today()).next();
        typed(&mut next, "title", "Receipt");
        let expected = json!({ "title": "Receipt", "subject_type": "vehicle", "subject_id": ROOM });
        assert_eq!(created(next.act(Action::Save)), expected);
    }

    #[test]
    fn refused_save_opens_no_next_form() {
        let mut form = Form::create(Kind::Room, now().today());
        assert_eq!(form.act(Action::SaveAndNext), FormRequest::Nothing);
        assert!(!form.has_next, "the name is missing");
        let mut change = Form::edit(&record(Kind::Room, "1", json!({ "name": "Hall" })), now().today());
        assert_eq!(change.act(Action::SaveAndNext), FormRequest::Nothing);
    }

    const ROOM: &str = "0190a3b0-0000-7000-8000-000000000001";
}
