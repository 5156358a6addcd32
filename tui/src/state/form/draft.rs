//! The draft of an unsaved form, and a form made from a draft. Must not know where a draft is stored.

use std::collections::BTreeMap;

use hearth_contract::schema::Kind;
use serde_json::Value;
use time::Date;

use super::Form;
use crate::state::editor::Editor;
use crate::state::session::Draft;

impl Form {
    /// The typed values that neither a crash nor the end of the program may lose. None: nothing was typed.
    pub fn draft(&self) -> Option<Draft> {
        if !self.is_changed() {
            return None;
        }
        let changed = || self.entries.iter().filter(|entry| entry.is_changed(self.today));
        let typed = changed().map(|entry| (entry.field.name.to_owned(), entry.editor.value(entry.field, self.today)));
        let names = self.entries.iter().filter_map(|entry| match &entry.editor {
            Editor::Reference(reference) => Some((entry.field.name.to_owned(), reference.title.clone())),
            _ => None,
        });
        Some(Draft {
            kind: self.kind.as_str().to_owned(),
            id: self.id.clone(),
            title: self.title.clone(),
            before: self.before.clone(),
            typed: typed.collect(),
            names: names.collect::<BTreeMap<_, _>>(),
            edit: self.edit,
            many: self.many.clone(),
        })
    }

    /// The form of a draft. None: this version does not know the kind.
    pub fn of_draft(draft: &Draft, today: Date) -> Option<Form> {
        let kind = Kind::parse(&draft.kind)?;
        let mut form =
            Form::with_fields(kind, draft.id.clone(), draft.title.clone(), draft.before.clone(), today, |name| {
                draft.names.get(name).cloned()
            });
        (form.edit, form.many) = (draft.edit, draft.many.clone());
        if form.is_partial() {
            form.make_choices_optional();
        }
        for entry in &mut form.entries {
            if let Some(value) = draft.typed.get(entry.field.name) {
                let name = draft.names.get(entry.field.name).map(String::as_str);
                // An incomplete number is text.
                let value = if value.is_number() { Value::from(value.to_string()) } else { value.clone() };
                entry.editor = Editor::new(entry.field, &value, name);
            }
        }
        Some(form)
    }
}
