//! What a form sends, and what is wrong with it by the rules of the contract. Must not know keys.

use hearth_contract::check::{Fields, Intent, check, check_subject};
use serde_json::Value;

use super::{Form, Wish};
use crate::message::{Decision, Write};

impl Form {
    pub(super) fn save(&mut self) -> Wish {
        if self.saving {
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
        self.saving = true;
        let kind = self.kind;
        if !self.many.is_empty() {
            return Wish::Save(Write::Many { kind, records: self.many.clone(), change: Some(fields) });
        }
        if let Some(edit) = self.edit {
            return Wish::Save(Write::Decide(edit, Decision::Change(fields)));
        }
        Wish::Save(match &self.id {
            Some(id) => Write::Update { kind, id: id.clone(), fields, title: self.title.clone() },
            None => Write::Create { kind, fields },
        })
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
        let mut checked = check(self.kind, intent, &Value::Object(body.clone()));
        // Of many records each has a subject of its own, and an edit knows a part of its record; the writing checks it.
        if intent == Intent::Patch && self.many.is_empty() && self.edit.is_none() {
            let mut whole = self.before.clone();
            whole.extend(body.clone());
            check_subject(self.kind, &whole, &mut checked.faults);
        }
        let faults = checked.faults.into_iter().map(|fault| (fault.field, fault.message)).collect();
        let fields = checked.fields.into_iter().filter(|(name, _)| body.contains_key(name)).collect();
        (fields, faults)
    }
}
