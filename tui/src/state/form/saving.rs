//! The write of a form, its faults by the rules of the contract, and its reaction to changes of the record. Must not
//! know keys.

use hearth_contract::check::{Fields, Intent, check, check_subject};
use hearth_contract::problem::FieldFault;
use hearth_contract::schema::{SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::Row;
use serde_json::Value;
use time::Date;

use super::{Entry, Form, FormRequest};
use crate::message::{Decision, Write};
use crate::now::Now;
use crate::parse::dates;
use crate::state::editor::Editor;
use crate::state::picker::{Picker, Reference};
use crate::words::{self, faults};

impl Form {
    pub(super) fn save(&mut self) -> FormRequest {
        if self.saving.is_some() {
            return FormRequest::Nothing;
        }
        // A typed name is taken as if enter had been pressed. Without letters, the open suggestions are ignored.
        let is_typed = |picker: &Picker| !picker.words.text().trim().is_empty();
        let editor = &self.entries[self.focus].editor;
        if matches!(editor, Editor::Reference(Reference { picker: Some(picker), .. }) if is_typed(picker))
            && !self.take_suggestion()
        {
            return FormRequest::Nothing;
        }
        let (fields, faults) = self.fields_and_faults();
        if !faults.is_empty() {
            self.show_faults(faults);
            return FormRequest::Nothing;
        }
        if self.id.is_some() && fields.is_empty() {
            return FormRequest::Close;
        }
        let write = self.write(fields);
        self.saving = Some(write.clone());
        FormRequest::Save(write)
    }

    /// The write that saves these fields.
    fn write(&self, fields: Fields) -> Write {
        let kind = self.kind;
        if !self.many.is_empty() {
            return Write::Many { kind, records: self.many.clone(), change: Some(fields) };
        }
        if let Some(edit) = self.edit {
            return Write::Decide(edit, Decision::Change(fields));
        }
        match &self.id {
            Some(id) => {
                let (id, title) = (id.clone(), self.title.clone());
                Write::Update {
                    kind,
                    id,
                    seen: self.values_seen(&fields),
                    again: self.next_due(&fields),
                    fields,
                    title,
                }
            }
            None => Write::Create { kind, fields },
        }
    }

    /// When the task is due that follows a recurring task which the form marks as done.
    fn next_due(&self, sent: &Fields) -> Option<Date> {
        let mut whole = self.before.clone();
        whole.extend(sent.clone());
        sent.contains_key("status").then(|| dates::next_due(self.kind, &whole, self.today))?
    }

    /// The values before the change of the sent fields. A subject has two fields, which belong together.
    fn values_seen(&self, sent: &Fields) -> Fields {
        let subject = sent.keys().any(|name| is_subject(name));
        let fields = self.entries.iter().map(|entry| entry.field.name);
        let names = fields.filter(|name| sent.contains_key(*name) || (subject && is_subject(name)));
        names.map(|name| (name.to_owned(), self.before.get(name).cloned().unwrap_or_default())).collect()
    }

    /// Takes the current record after the write was refused. Typed values stay; each conflicting field shows the
    /// current value as well. A second save overwrites the current values.
    pub fn record_changed(&mut self, now: Now, row: &Row) {
        let before = std::mem::replace(&mut self.before, row.fields.clone());
        let today = self.today;
        let about_subject = self.entries.iter().any(|entry| is_subject(entry.field.name) && entry.is_changed(today));
        for entry in &mut self.entries {
            let name = entry.field.name;
            let typed = entry.is_changed(today) || (about_subject && is_subject(name));
            let value = row.fields.get(name).unwrap_or(&Value::Null);
            let mut editor = Editor::new(entry.field, value, row.names.get(name).map(String::as_str));
            editor.set_area_unit(self.units.area);
            entry.initial = editor.value(entry.field, today);
            if !typed {
                entry.editor = editor;
            } else if before.get(name).unwrap_or(&Value::Null) != value && entry.is_changed(today) {
                // In the unit of the label beside the value.
                let row = Row { units: self.units, ..row.clone() };
                entry.their_value = Some(words::field_value(now, entry.field, &row));
            }
        }
        let was_edit = self.edit.take().is_some();
        let names: Vec<String> = self.entries.iter().filter(|entry| entry.their_value.is_some()).map(label).collect();
        if let Some(first) = self.entries.iter().position(|entry| entry.their_value.is_some()) {
            self.focus = first;
        }
        self.refuse(if was_edit && names.is_empty() {
            let what = words::singular(self.kind);
            format!(
                "Not saved: the waiting change was settled in the meantime. Save again to change the {what} itself."
            )
        } else {
            let what = if names.is_empty() { "the record".to_owned() } else { names.join(", ") };
            format!("Not saved: {what} was changed by someone else. Save again to keep your value.")
        });
    }

    /// Takes the deletion of the record after the write was refused. All values stay, and a second save creates a new
    /// record.
    pub fn record_deleted(&mut self) {
        (self.id, self.edit) = (None, None);
        self.title.clear();
        self.before.clear();
        for entry in &mut self.entries {
            entry.their_value = None;
            // From now on closing would lose every value, not only the typed ones.
            entry.initial = Value::Null;
        }
        let what = words::singular(self.kind);
        self.refuse(format!("Not saved: the {what} was deleted by someone else. Save again to create it again."));
    }

    fn show_faults(&mut self, faults: Vec<(String, String)>) {
        for entry in &mut self.entries {
            entry.fault = None;
        }
        for (name, sentence) in faults {
            match self.entries.iter_mut().find(|entry| entry.field.name == name) {
                Some(entry) => entry.fault = Some(sentence),
                None => self.refusal = Some(sentence),
            }
        }
        if let Some(first) = self.entries.iter().position(|entry| entry.fault.is_some()) {
            self.focus = first;
        }
    }

    /// The fields to send, in the API's format, and the faults: field and sentence.
    pub(super) fn fields_and_faults(&self) -> (Fields, Vec<(String, String)>) {
        let intent = if self.id.is_some() { Intent::Patch } else { Intent::Create };
        let mut body = Fields::new();
        for entry in &self.entries {
            let value = entry.editor.value(entry.field, self.today);
            // A new record has the filled fields, a changed record the changed fields.
            if if intent == Intent::Create { !value.is_null() } else { entry.is_changed(self.today) } {
                body.insert(entry.field.name.to_owned(), value);
            }
        }
        // Each of several records has its own subject: another type clears the subject.
        if !self.many.is_empty() && body.contains_key(SUBJECT_TYPE) {
            body.entry(SUBJECT_ID).or_insert(Value::Null);
        }
        let mut checked = check(self.kind, intent, &Value::Object(body.clone()));
        // An edit has part of its record; the replica checks the subject.
        if intent == Intent::Patch && self.edit.is_none() {
            let mut whole = self.before.clone();
            whole.extend(body.clone());
            check_subject(self.kind, &whole, &mut checked.faults);
        }
        let sentence = |fault: FieldFault| {
            (fault.field.clone(), faults::fault_sentence(self.kind, &fault, body.get(&fault.field)))
        };
        let mut faults: Vec<(String, String)> = checked.faults.into_iter().map(sentence).collect();
        let unknown = |entry: &Entry| Some((entry.field.name.to_owned(), self.unknown_name(entry)?));
        faults.extend(self.entries.iter().filter_map(unknown));
        let fields = checked.fields.into_iter().filter(|(name, _)| body.contains_key(name)).collect();
        (fields, faults)
    }
}

fn is_subject(name: &str) -> bool {
    name == SUBJECT_TYPE || name == SUBJECT_ID
}

fn label(entry: &Entry) -> String {
    words::field_word(entry.field).to_lowercase()
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;
    use hearth_contract::schema::Kind;
    use hearth_contract::units::Units;
    use serde_json::json;

    use super::*;
    use crate::fixtures::{now, record};
    use crate::keys::Action;
    use crate::state::input::Line;

    #[test]
    fn metric_home_types_square_metres() {
        let metric = Units::new(Some("EUR"), Some("metric"));
        let hall = record(Kind::Room, "1", json!({ "name": "Hall", "area_sq_ft": 214 }));
        let typed = |text: &str| {
            let mut form = Form::edit(&hall, now().today());
            form.set_units(metric);
            form.focus = form.entries.iter().position(|entry| entry.field.name == "area_sq_ft").unwrap();
            let Editor::Area(line, _) = &mut form.entries[form.focus].editor else { panic!("no area") };
            assert_eq!(line.text(), "19.9");
            *line = Line::with_text(text);
            let wish = form.act(Action::Save);
            (wish, form.entries[form.focus].fault.clone())
        };
        assert_eq!(typed("19.9").0, FormRequest::Close, "nothing has changed");
        for (text, area) in [("20", 215), ("20,5", 221), ("215 sq ft", 215)] {
            let (FormRequest::Save(Write::Update { fields, .. }), None) = typed(text) else { panic!("{text}") };
            assert_eq!(Value::Object(fields), json!({ "area_sq_ft": area }), "{text}");
        }
        let fault = "wide is no area: try 215 sq ft or 19.9 m2".to_owned();
        assert_eq!(typed("wide"), (FormRequest::Nothing, Some(fault)));
    }

    #[test]
    fn units_of_an_open_form_may_change() {
        let mut form = Form::create(Kind::Room, now().today());
        let place = form.entries.iter().position(|entry| entry.field.name == "area_sq_ft").unwrap();
        form.focus = place;
        form.paste("215");
        let shown = |form: &Form| match &form.entries[place].editor {
            Editor::Area(line, _) => line.text().to_owned(),
            other => panic!("{other:?}"),
        };
        form.set_units(Units::new(None, Some("metric")));
        assert_eq!(shown(&form), "20");
        let draft = form.draft().unwrap();
        form.set_units(Units::default());
        assert_eq!(shown(&form), "215");
        let mut restored = Form::of_draft(&draft, now().today()).unwrap();
        restored.set_units(Units::new(None, Some("metric")));
        assert_eq!(shown(&restored), "20");
    }

    #[test]
    fn time_zone_and_currency_take_letters() {
        let mut form = Form::profile(now().today());
        for (field, typed) in [("time_zone", "berlin"), ("currency", "eu")] {
            form.focus = form.entries.iter().position(|entry| entry.field.name == field).unwrap();
            form.paste(typed);
        }
        let FormRequest::Save(Write::Update { fields, .. }) = form.act(Action::Save) else { panic!("not saved") };
        assert_eq!(Value::Object(fields), json!({ "time_zone": "Europe/Berlin", "currency": "EUR" }));
        form.focus = form.entries.iter().position(|entry| entry.field.name == "time_zone").unwrap();
        form.entries[form.focus].editor = Editor::Line(Line::with_text("Europe/Berln"));
        form.saving = None;
        assert_eq!(form.act(Action::Save), FormRequest::Nothing);
        let fault = form.entries[form.focus].fault.clone().unwrap();
        assert!(fault.ends_with("did you mean Europe/Berlin?"), "{fault}");
    }

    #[test]
    fn bulk_subject_type_clears_subjects() {
        let many = vec![("a".to_owned(), "Sweep".to_owned()), ("b".to_owned(), "Mow".to_owned())];
        let saved = |letter: char| {
            let mut form = Form::bulk(Kind::Task, many.clone(), 0, now().today());
            form.focus = form.entries.iter().position(|entry| entry.field.name == SUBJECT_TYPE).unwrap();
            form.key(now().moment, KeyCode::Char(letter).into());
            let wish = form.act(Action::Save);
            (wish, form.entries.iter().find_map(|entry| entry.fault.clone()))
        };
        let (FormRequest::Save(Write::Many { change: Some(fields), .. }), None) = saved('h') else {
            panic!("not saved")
        };
        assert_eq!(Value::Object(fields), json!({ "subject_type": "home", "subject_id": null }));
        assert_eq!(saved('r'), (FormRequest::Nothing, Some("Choose what it is about.".to_owned())));
    }
}
