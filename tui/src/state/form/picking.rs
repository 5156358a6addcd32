//! The choice of a referenced record in a form: by the letters of its name, or as a new record with the typed name. Must
//! not know how records are found or made.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};

use super::{Entry, Form, FormRequest};
use crate::message::Write;
use crate::state::editor::Editor;
use crate::state::picker::{Picker, Reference};
use crate::words;

impl Form {
    /// The kinds that the focused field may refer to; empty: the field is no reference. A subject without a type may be
    /// of any kind; the chosen record then sets the type.
    pub fn targets(&self) -> Vec<Kind> {
        self.targets_of(&self.entries[self.focus])
    }

    fn targets_of(&self, entry: &Entry) -> Vec<Kind> {
        match entry.field.format {
            Format::Reference(kind) => vec![kind],
            Format::Subject => match self.entries.iter().find(|entry| entry.field.name == SUBJECT_TYPE) {
                Some(Entry { editor: Editor::Choice { words, chosen, .. }, .. }) => {
                    let from = chosen.map_or(*words, |index| &words[index..=index]);
                    from.iter().filter_map(|word| Kind::parse(word)).collect()
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    pub(super) fn is_reference(&self) -> bool {
        matches!(self.entries[self.focus].editor, Editor::Reference(_))
    }

    /// Takes the suggestions that were requested.
    pub fn set_options(&mut self, options: Vec<(Kind, String, String)>) {
        let kind = if let [kind] = self.targets()[..] { Some(kind) } else { None };
        self.in_picker(|picker| picker.set_options(options, kind));
    }

    pub(super) fn in_picker(&mut self, act: impl FnOnce(&mut Picker)) {
        if let Editor::Reference(Reference { picker: Some(picker), .. }) = &mut self.entries[self.focus].editor {
            act(picker);
        }
    }

    fn picker(&self) -> Option<&Picker> {
        match &self.entries[self.focus].editor {
            Editor::Reference(reference) => reference.picker.as_ref(),
            _ => None,
        }
    }

    pub(super) fn open_picker(&mut self) -> FormRequest {
        if self.targets().is_empty() {
            return FormRequest::Nothing;
        }
        if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
            reference.picker = Some(Picker::default());
        }
        self.titles_request()
    }

    pub(super) fn titles_request(&self) -> FormRequest {
        match self.picker() {
            Some(picker) => FormRequest::Titles(self.targets(), picker.words.text().to_owned()),
            None => FormRequest::Nothing,
        }
    }

    /// Takes the suggestion under the cursor, or asks for the new record that is offered there.
    pub(super) fn take(&mut self) -> FormRequest {
        // The record is being made; a second request would make another of that name.
        if self.making.is_some() {
            return FormRequest::Nothing;
        }
        let offer = self.picker().and_then(|picker| Some((picker.offered()?, picker.name().to_owned())));
        let Some((kind, name)) = offer else {
            self.take_suggestion();
            return FormRequest::Nothing;
        };
        let write = Write::Create { kind, fields: Fields::from_iter([(resource(kind).title.to_owned(), name.into())]) };
        self.making = Some((write.clone(), self.entries[self.focus].field.name));
        FormRequest::Make(write)
    }

    /// Whether the focused field can be left. A typed name takes its suggestion; without a suggestion the name stays in
    /// the field. False: the suggestions are for older letters.
    pub(super) fn is_ready_to_leave(&mut self) -> bool {
        let Some(picker) = self.picker() else { return true };
        if picker.name().is_empty() && picker.selected == 0 {
            if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
                reference.picker = None;
            }
            return true;
        }
        picker.is_answered && (picker.selected == picker.options.len() || self.take_suggestion())
    }

    /// Takes the suggestion under the cursor. False: there is none for the typed letters, or the suggestions are for
    /// older letters. The letters then stay; in the first case the field shows a fault.
    pub(super) fn take_suggestion(&mut self) -> bool {
        let unknown = self.unknown_name(&self.entries[self.focus]);
        let before = self.focused_value();
        let entry = &mut self.entries[self.focus];
        let Editor::Reference(reference) = &mut entry.editor else { return true };
        let Some(picker) = &mut reference.picker else { return true };
        if !picker.is_answered && !picker.options.is_empty() {
            return false;
        }
        if picker.selected < picker.options.len() {
            let (kind, id, title) = picker.options.swap_remove(picker.selected);
            self.refer_to(self.focus, kind, id, title);
            self.field_changed(before);
        } else if picker.name().is_empty() {
            reference.picker = None;
        } else {
            entry.fault = unknown;
            return false;
        }
        true
    }

    /// Lets a field refer to a record. A subject also sets its type.
    fn refer_to(&mut self, index: usize, kind: Kind, id: String, title: String) {
        let entry = &mut self.entries[index];
        entry.editor = Editor::Reference(Reference { id: Some(id), title, picker: None });
        entry.fault = None;
        let is_subject = entry.field.format == Format::Subject;
        let subject_type = self.entries.iter_mut().find(|entry| is_subject && entry.field.name == SUBJECT_TYPE);
        if let Some(entry) = subject_type {
            entry.editor = Editor::new(entry.field, &kind.as_str().into(), None);
            entry.fault = None;
        }
    }

    /// The fault of a field whose typed name leads to no record. None: the field has no such name, or the suggestions
    /// have not arrived.
    pub(super) fn unknown_name(&self, entry: &Entry) -> Option<String> {
        let Editor::Reference(Reference { picker: Some(picker), .. }) = &entry.editor else { return None };
        let name = Some(picker.name()).filter(|name| !name.is_empty() && picker.is_answered)?;
        Some(match (picker.new, self.targets_of(entry).as_slice()) {
            (Some(kind), _) => format!("No {} is called “{name}” yet: enter makes it.", words::singular(kind)),
            (None, [kind]) => format!("No {} has the letters “{name}” in its name.", words::singular(*kind)),
            (None, _) => format!("Nothing has the letters “{name}” in its name."),
        })
    }

    /// Takes the new record that was made for a field.
    pub fn take_made(&mut self, id: String) {
        let Some((Write::Create { kind, fields }, name)) = self.making.take() else { return };
        let title = words::text_field(&fields, resource(kind).title).unwrap_or_default().to_owned();
        if let Some(index) = self.entries.iter().position(|entry| entry.field.name == name) {
            self.refer_to(index, kind, id, title);
        }
    }

    /// Takes the reason why the new record for a field was not made.
    pub fn refuse_made(&mut self, sentence: String) {
        let Some((_, name)) = self.making.take() else { return };
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.field.name == name) {
            entry.fault = Some(sentence);
        }
    }
}
