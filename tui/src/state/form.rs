//! A form made from the resource table: one editor per field, with the faults of `check` below. The form moves the
//! focus and passes keys to the editors. `picking` chooses referenced records, `saving` makes the write, `draft` the
//! draft of an unsaved form, `copies` the form for another record like one. Must not know the database or the screen.

mod copies;
mod draft;
mod picking;
mod saving;

use crossterm::event::KeyEvent;
use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::formats::Timestamp;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_contract::units::Units;
use hearth_replica::{Edit, Method, Row};
use serde_json::Value;
use time::Date;

use crate::keys::{Action, Context};
use crate::message::Write;
use crate::state::editor::Editor;
use crate::state::picker::Reference;
use crate::words::{self, Names};

/// A form for a new record, an existing record, several records, or an edit.
#[derive(Debug)]
pub struct Form {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record; None for a new record.
    pub id: Option<String>,
    /// The title of the record when the form was opened.
    pub title: String,
    /// The edit that the form changes; None: the form changes the record.
    pub edit: Option<i64>,
    /// Ids and titles of the records of a bulk change; else empty.
    pub many: Vec<(String, String)>,
    /// The writable fields, in the contract's order.
    pub entries: Vec<Entry>,
    /// The number of the field with the keyboard.
    pub focus: usize,
    /// Why the record was not saved, except for faults of a single field.
    pub refusal: Option<String>,
    /// The write of the form, while its answer is missing.
    pub saving: Option<Write>,
    /// The write of a new record for a reference, and the name of the field, while the answer is missing.
    pub making: Option<(Write, &'static str)>,
    /// The subject and its type before the type was changed, in case that the same type is chosen again.
    other_subject: Option<(Value, Reference)>,
    /// Whether a form for the next new record follows the write.
    pub has_next: bool,
    /// The ticket of the newest request for names; older answers are dropped.
    pub ticket: u64,
    /// All fields of the record before the change.
    before: Fields,
    /// The current date, for dates such as `tomorrow`.
    pub today: Date,
    /// The units in which the home reads sums and areas.
    pub units: Units,
}

/// A field of a form.
#[derive(Debug)]
pub struct Entry {
    /// The field of the resource table.
    pub field: &'static Field,
    /// The editor of the value.
    pub editor: Editor,
    /// The fault of the value, as a sentence.
    pub fault: Option<String>,
    /// The value set by another person or program since the form was opened, for display; empty: cleared.
    pub their_value: Option<String>,
    /// The value of the editor before the user typed.
    initial: Value,
}

/// What the application must do after a key in a form.
#[derive(Debug, PartialEq)]
pub enum FormRequest {
    /// Nothing.
    Nothing,
    /// Find names of these kinds by these letters.
    Titles(Vec<Kind>, String),
    /// Carry out the write of the form.
    Save(Write),
    /// Carry out the write of a new record that the focused field refers to.
    Make(Write),
    /// Open these notes in the user's own editor.
    Editor(String),
    /// Close the form.
    Close,
}

impl Form {
    /// A form for a new record.
    pub fn create(kind: Kind, today: Date) -> Form {
        let presets = check(kind, Intent::Create, &Value::Object(Fields::new())).fields;
        Form::with_fields(kind, None, String::new(), presets, today, |_| None)
    }

    /// A form for a record.
    pub fn edit(row: &Row, today: Date) -> Form {
        let name = |field: &str| row.names.get(field).cloned();
        Form::with_fields(row.kind, Some(row.id.clone()), row.title.clone(), row.fields.clone(), today, name)
    }

    /// A form for the home profile, before its first save.
    pub fn profile(today: Date) -> Form {
        Form::with_fields(Kind::Property, Some(String::new()), String::new(), Fields::new(), today, |_| None)
    }

    /// A form for several records: a filled field is set in all of them, `hidden` of which are not visible.
    pub fn bulk(kind: Kind, many: Vec<(String, String)>, hidden: usize, today: Date) -> Form {
        let hidden = if hidden > 0 { format!(" ({} not visible)", words::figure(hidden)) } else { String::new() };
        let title = format!("{}{hidden}", words::counted(kind, many.len()));
        let mut form = Form::with_fields(kind, Some(String::new()), title, Fields::new(), today, |_| None);
        form.make_choices_optional();
        Form { many, ..form }
    }

    /// A form for the values of an edit, with the server's faults below the fields. `names` has the names of records in
    /// the values, by id. The first faulty field has the keyboard.
    pub fn of_edit(edit: &Edit, names: &Names, today: Date) -> Form {
        let mut fields = edit.base.clone();
        fields.extend(edit.patch.clone());
        if edit.method == Method::Create {
            // A new record does not have the omitted fields.
            for field in resource(edit.kind).fields {
                fields.entry(field.name).or_insert(Value::Null);
            }
        }
        let values = fields.clone();
        let name = |field: &str| {
            let id = words::text_field(&values, field)?;
            Some(names.get(id).map_or(words::NOT_HERE, String::as_str).to_owned())
        };
        let mut form =
            Form::with_fields(edit.kind, Some(edit.record_id.clone()), edit.title.clone(), fields, today, name);
        form.make_choices_optional();
        let faults = edit.problem.as_ref().and_then(|problem| problem.pointer("/details/fields")?.as_array());
        for fault in faults.into_iter().flatten() {
            let text_of = |member: &str| fault.get(member).and_then(Value::as_str);
            let entry = form.entries.iter_mut().find(|entry| text_of("field") == Some(entry.field.name));
            if let (Some(entry), Some(message)) = (entry, text_of("message")) {
                entry.fault = Some(words::capital(&words::with_labels(edit.kind, message)));
            }
        }
        form.focus = form.entries.iter().position(|entry| entry.fault.is_some()).unwrap_or(0);
        Form { edit: Some(edit.id), ..form }
    }

    fn with_fields(
        kind: Kind,
        id: Option<String>,
        title: String,
        before: Fields,
        today: Date,
        name: impl Fn(&str) -> Option<String>,
    ) -> Form {
        let entry = |field: &'static Field| {
            let value = before.get(field.name).unwrap_or(&Value::Null);
            let editor = Editor::new(field, value, name(field.name).as_deref());
            Entry { field, initial: editor.value(field, today), editor, fault: None, their_value: None }
        };
        let entries = resource(kind).fields.iter().filter(|field| field.is_writable()).map(entry).collect();
        Form {
            kind,
            id,
            title,
            edit: None,
            many: Vec::new(),
            entries,
            focus: 0,
            refusal: None,
            saving: None,
            making: None,
            other_subject: None,
            has_next: false,
            ticket: 0,
            before,
            today,
            units: Units::default(),
        }
    }

    /// Shows the areas of the form in the units of the home.
    pub fn set_units(&mut self, units: Units) {
        self.units = units;
        self.entries.iter_mut().for_each(|entry| entry.editor.set_area_unit(units.area));
    }

    /// In a form for part of a record, an unset choice may stay unset, even where the field is required.
    fn make_choices_optional(&mut self) {
        for entry in &mut self.entries {
            if let Editor::Choice { chosen: None, optional, .. } = &mut entry.editor {
                *optional = true;
            }
        }
    }

    /// Whether the form shows part of a record, or none: empty fields then stay unchanged.
    fn is_partial(&self) -> bool {
        self.edit.is_some() || !self.many.is_empty()
    }

    /// Whether a field stays unchanged unless the user fills it in.
    pub fn is_open(&self, entry: &Entry) -> bool {
        self.is_partial() && !self.before.contains_key(entry.field.name)
    }

    /// Whether the form makes a new record.
    pub fn is_new(&self) -> bool {
        self.id.is_none()
    }

    /// Whether closing would lose typed values.
    pub fn is_changed(&self) -> bool {
        self.entries.iter().any(|entry| entry.is_changed(self.today))
    }

    /// The context of the keyboard focus.
    pub fn context(&self) -> Context {
        match &self.entries[self.focus].editor {
            Editor::Line(_) | Editor::Area(..) => Context::Form,
            Editor::Notes(_) => Context::Notes,
            Editor::Reference(reference) if reference.picker.is_some() => Context::Options,
            Editor::Choice { .. } | Editor::Reference(_) => Context::Choice,
        }
    }

    /// Carries out an action.
    pub fn act(&mut self, action: Action) -> FormRequest {
        let last = self.entries.len() - 1;
        match action {
            // Suggestions for older letters must not be taken.
            Action::NextField | Action::PreviousField if !self.is_ready_to_leave() => {}
            Action::NextField => self.focus_on(if self.focus == last { 0 } else { self.focus + 1 }),
            Action::PreviousField => self.focus_on(self.focus.checked_sub(1).unwrap_or(last)),
            Action::PageDown => self.focus_on((self.focus + 5).min(last)),
            Action::PageUp => self.focus_on(self.focus.saturating_sub(5)),
            Action::NextChoice if self.is_reference() => return self.open_picker(),
            Action::NextChoice => self.edit_focused(|editor| editor.cycle(true)),
            Action::PreviousChoice => self.edit_focused(|editor| editor.cycle(false)),
            Action::ClearField => self.edit_focused(Editor::clear),
            Action::Down => self.in_picker(|picker| picker.step(1)),
            Action::Up => self.in_picker(|picker| picker.step(-1)),
            Action::Take => return self.take(),
            Action::Save => return self.save(),
            Action::SaveAndNext if self.is_new() => return self.save_and_next(),
            Action::Editor => {
                if let Editor::Notes(area) = &self.entries[self.focus].editor {
                    return FormRequest::Editor(area.lines().join("\n"));
                }
            }
            Action::Back => match &mut self.entries[self.focus].editor {
                Editor::Reference(reference) if reference.picker.is_some() => reference.picker = None,
                _ => return FormRequest::Close,
            },
            _ => {}
        }
        FormRequest::Nothing
    }

    /// Whether the key continues a word in a field of choices, although the key has an action there.
    pub fn spells(&self, moment: Timestamp, key: KeyEvent) -> bool {
        self.entries[self.focus].editor.spells(moment, key)
    }

    /// Passes a key without an action to the focused editor. `moment`: when the key was typed.
    pub fn key(&mut self, moment: Timestamp, key: KeyEvent) -> FormRequest {
        self.type_into(|editor| editor.key(moment, key))
    }

    /// Pastes a text into the focused editor.
    pub fn paste(&mut self, text: &str) -> FormRequest {
        self.type_into(|editor| editor.paste(text))
    }

    fn type_into(&mut self, edit: impl FnOnce(&mut Editor) -> bool) -> FormRequest {
        if self.is_reference() && self.targets().is_empty() {
            return FormRequest::Nothing;
        }
        let before = self.focused_value();
        let changed = edit(&mut self.entries[self.focus].editor);
        if self.focused_value() != before {
            self.field_changed(before);
        }
        let entry = &mut self.entries[self.focus];
        match &entry.editor {
            Editor::Reference(_) => entry.fault = None,
            Editor::Choice { .. } if changed => {
                entry.fault = entry.editor.unknown_choice().map(|typed| format!("No choice begins with “{typed}”."));
            }
            _ => {}
        }
        if changed { self.titles_request() } else { FormRequest::Nothing }
    }

    /// Changes the current date. A date typed on the old day keeps its meaning.
    pub fn change_day(&mut self, today: Date) {
        let entry = &mut self.entries[self.focus];
        entry.editor.settle(entry.field, self.today);
        self.today = today;
    }

    /// Scrolls the notes to fit another window size.
    pub fn resized(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.editor.resized());
    }

    /// Takes the notes from an external editor.
    pub fn set_notes(&mut self, text: &str) {
        self.edit_focused(|editor| editor.replace(text));
    }

    /// Takes the reason why the form was not saved.
    pub fn refuse(&mut self, sentence: String) {
        (self.saving, self.has_next) = (None, false);
        self.refusal = Some(sentence);
    }

    fn focus_on(&mut self, index: usize) {
        let today = self.today;
        let entry = &mut self.entries[self.focus];
        // The field has the value from before the unknown word.
        entry.fault.take_if(|_| entry.editor.unknown_choice().is_some());
        entry.editor.settle(entry.field, today);
        // A fault appears when the field is left, not while the user types.
        let leaving = self.entries[self.focus].field.name;
        let faults = self.fields_and_faults().1;
        if let Some((_, sentence)) = faults.into_iter().find(|(name, _)| name == leaving) {
            self.entries[self.focus].fault = Some(sentence);
        }
        self.focus = index;
    }

    fn edit_focused(&mut self, edit: impl FnOnce(&mut Editor)) {
        let before = self.focused_value();
        edit(&mut self.entries[self.focus].editor);
        self.field_changed(before);
    }

    fn focused_value(&self) -> Value {
        let entry = &self.entries[self.focus];
        entry.editor.value(entry.field, self.today)
    }

    /// Clears the faults of the focused field, whose value was `before`. Another type of subject also clears the subject,
    /// and the same type brings the subject back.
    fn field_changed(&mut self, before: Value) {
        self.refusal = None;
        self.entries[self.focus].fault = None;
        let chosen = self.focused_value();
        if self.entries[self.focus].field.name != SUBJECT_TYPE || chosen == before {
            return;
        }
        let subject = self.entries.iter_mut().find(|entry| entry.field.name == SUBJECT_ID);
        let Some(Entry { editor: Editor::Reference(reference), fault, .. }) = subject else { return };
        *fault = None;
        let subject = std::mem::take(reference);
        match self.other_subject.take_if(|(of, _)| *of == chosen) {
            Some((_, same)) => *reference = same,
            None if subject.id.is_some() => self.other_subject = Some((before, subject)),
            None => {}
        }
    }
}

impl Entry {
    fn is_changed(&self, today: Date) -> bool {
        self.editor.value(self.field, today) != self.initial
    }
}
