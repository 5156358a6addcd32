//! What a form sends, what is wrong with it by the rules of the contract, and what became of the record meanwhile. Must not
//! know keys.

use hearth_contract::check::{Fields, Intent, check, check_subject};
use hearth_contract::problem::FieldFault;
use hearth_contract::schema::{SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::Row;
use serde_json::Value;

use super::{Entry, Form, Wish};
use crate::message::{Decision, Write};
use crate::now::Now;
use crate::parse::dates::{self, NextDue};
use crate::state::editor::{Editor, Picker, Reference};
use crate::words::{self, faults};

impl Form {
    pub(super) fn save(&mut self) -> Wish {
        if self.saving.is_some() {
            return Wish::Nothing;
        }
        // A name that was typed and not taken yet is meant; without letters the suggestions were only looked at.
        let is_typed = |picker: &Picker| !picker.words.text().trim().is_empty();
        let editor = &self.entries[self.focus].editor;
        if matches!(editor, Editor::Reference(Reference { picker: Some(picker), .. }) if is_typed(picker))
            && !self.take()
        {
            return Wish::Nothing;
        }
        let (fields, faults) = self.faults();
        if !faults.is_empty() {
            self.show(faults);
            return Wish::Nothing;
        }
        if self.id.is_some() && fields.is_empty() {
            return Wish::Close;
        }
        let write = self.write(fields);
        self.saving = Some(write.clone());
        Wish::Save(write)
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
                Write::Update { kind, id, seen: self.seen(&fields), again: self.again(&fields), fields, title }
            }
            None => Write::Create { kind, fields },
        }
    }

    /// The next one, if what is sent has the task done and it comes again.
    fn again(&self, sent: &Fields) -> Option<NextDue> {
        let mut whole = self.before.clone();
        whole.extend(sent.clone());
        sent.contains_key("status").then(|| dates::next_due(self.kind, &whole))?
    }

    /// What stood where something else is sent. A subject is one thing in two fields.
    fn seen(&self, sent: &Fields) -> Fields {
        let subject = sent.keys().any(|name| is_subject(name));
        let fields = self.entries.iter().map(|entry| entry.field.name);
        let names = fields.filter(|name| sent.contains_key(*name) || (subject && is_subject(name)));
        names.map(|name| (name.to_owned(), self.before.get(name).cloned().unwrap_or_default())).collect()
    }

    /// Takes the record as it is by now, because somebody else has changed it and nothing was saved: what was typed stays, and
    /// beside it stands what it would be written over. Saving again does so.
    pub fn overtaken(&mut self, now: Now, row: &Row) {
        let before = std::mem::replace(&mut self.before, row.fields.clone());
        let today = self.today;
        let about_subject = self.entries.iter().any(|entry| is_subject(entry.field.name) && entry.is_changed(today));
        for entry in &mut self.entries {
            let name = entry.field.name;
            let typed = entry.is_changed(today) || (about_subject && is_subject(name));
            let value = row.fields.get(name).unwrap_or(&Value::Null);
            let editor = Editor::new(entry.field, value, row.names.get(name).map(String::as_str));
            entry.initial = editor.value(entry.field, today);
            if !typed {
                entry.editor = editor;
            } else if before.get(name).unwrap_or(&Value::Null) != value && entry.is_changed(today) {
                entry.meanwhile = Some(words::field_value(now, entry.field, row));
            }
        }
        let was_edit = self.edit.take().is_some();
        let names: Vec<String> = self.entries.iter().filter(|entry| entry.meanwhile.is_some()).map(label).collect();
        if let Some(first) = self.entries.iter().position(|entry| entry.meanwhile.is_some()) {
            self.focus = first;
        }
        self.refused(if was_edit && names.is_empty() {
            let what = words::singular(self.kind);
            format!("Not saved: the change that was waiting is settled by now. Save again to write this to the {what}.")
        } else {
            let what = if names.is_empty() { "it".to_owned() } else { names.join(", ") };
            format!("Not saved: {what} was changed meanwhile. Save again to keep yours.")
        });
    }

    /// Takes that somebody else has deleted the record, and nothing was saved: what the form holds stays, and saving again makes a
    /// new record of it.
    pub fn gone(&mut self) {
        (self.id, self.edit) = (None, None);
        self.title.clear();
        self.before.clear();
        for entry in &mut self.entries {
            entry.meanwhile = None;
            // From here on all of it would be lost, not only what was typed.
            entry.initial = Value::Null;
        }
        let what = words::singular(self.kind);
        self.refused(format!("Not saved: the {what} was deleted meanwhile. Save again to make it anew."));
    }

    fn show(&mut self, faults: Vec<(String, String)>) {
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

    /// What would be sent, in the server's spelling, and everything that is wrong with it: field and sentence.
    pub(super) fn faults(&self) -> (Fields, Vec<(String, String)>) {
        let intent = if self.id.is_some() { Intent::Patch } else { Intent::Create };
        let mut body = Fields::new();
        for entry in &self.entries {
            let value = entry.editor.value(entry.field, self.today);
            // A new record holds what was filled in; a changed one what is different.
            if if intent == Intent::Create { !value.is_null() } else { entry.is_changed(self.today) } {
                body.insert(entry.field.name.to_owned(), value);
            }
        }
        // Of many records each has a subject of its own: with another type goes another record, or none.
        if !self.many.is_empty() && body.contains_key(SUBJECT_TYPE) {
            body.entry(SUBJECT_ID).or_insert(Value::Null);
        }
        let mut checked = check(self.kind, intent, &Value::Object(body.clone()));
        // An edit knows a part of its record; the writing checks it.
        if intent == Intent::Patch && self.edit.is_none() {
            let mut whole = self.before.clone();
            whole.extend(body.clone());
            check_subject(self.kind, &whole, &mut checked.faults);
        }
        let said = |fault: FieldFault| {
            (fault.field.clone(), faults::fault_sentence(self.kind, &fault, body.get(&fault.field)))
        };
        let faults = checked.faults.into_iter().map(said).collect();
        let fields = checked.fields.into_iter().filter(|(name, _)| body.contains_key(name)).collect();
        (fields, faults)
    }
}

fn is_subject(name: &str) -> bool {
    name == SUBJECT_TYPE || name == SUBJECT_ID
}

fn label(entry: &Entry) -> String {
    words::label(entry.field).to_lowercase()
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyCode;
    use hearth_contract::schema::Kind;
    use serde_json::json;

    use super::*;
    use crate::fixtures::now;
    use crate::keys::Action;

    #[test]
    fn another_type_of_subject_takes_the_old_subject_of_many_along() {
        let many = vec![("a".to_owned(), "Sweep".to_owned()), ("b".to_owned(), "Mow".to_owned())];
        let saved = |letter: char| {
            let mut form = Form::bulk(Kind::Task, many.clone(), 0, now().today());
            form.focus = form.entries.iter().position(|entry| entry.field.name == SUBJECT_TYPE).unwrap();
            form.key(KeyCode::Char(letter).into());
            let wish = form.act(Action::Save);
            (wish, form.entries.iter().find_map(|entry| entry.fault.clone()))
        };
        let (Wish::Save(Write::Many { change: Some(fields), .. }), None) = saved('h') else { panic!("not saved") };
        assert_eq!(Value::Object(fields), json!({ "subject_type": "home", "subject_id": null }));
        assert_eq!(saved('r'), (Wish::Nothing, Some("Choose what it is about.".to_owned())));
    }
}
