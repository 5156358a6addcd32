//! A form made from the resource table: one editor per field, the faults of `check` under them. It only moves the focus
//! and decides what is sent; editors know their keys. Must not know the database or the screen.

use crossterm::event::KeyEvent;
use hearth_contract::check::{Fields, Intent, check, check_subject};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::Row;
use serde_json::Value;

use crate::editor::{Editor, Picker};
use crate::keys::{Action, Context};
use crate::message::Write;

/// A form for a new record or an existing one.
#[derive(Debug)]
pub struct Form {
    /// Of this kind.
    pub kind: Kind,
    /// Which record; None for a new one.
    pub id: Option<String>,
    /// What the record was called when the form was opened.
    pub title: String,
    /// The fields a person may set, in the contract's order.
    pub entries: Vec<Entry>,
    /// Which of them has the keyboard.
    pub focus: usize,
    /// Why the record was not saved, when that is no fault of one field.
    pub refusal: Option<String>,
    /// Whether an answer to saving is awaited.
    pub saving: bool,
    /// The newest request for names; older answers are dropped.
    pub ticket: u64,
    /// The whole record as it was.
    before: Fields,
}

/// One field of a form.
#[derive(Debug)]
pub struct Entry {
    /// The field.
    pub field: &'static Field,
    /// Its editor.
    pub editor: Editor,
    /// What is wrong with it.
    pub fault: Option<String>,
    /// What the editor held at first.
    initial: Value,
}

/// What a form asks for after a key.
#[derive(Debug, PartialEq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// Names of a kind that have these words.
    Titles(Kind, String),
    /// To save.
    Save(Write),
    /// To be closed.
    Close,
}

impl Form {
    /// A form for a new record.
    pub fn create(kind: Kind) -> Form {
        let presets = check(kind, Intent::Create, &Value::Object(Fields::new())).fields;
        Form::holding(kind, None, String::new(), presets, |_| None)
    }

    /// A form for a record.
    pub fn edit(row: &Row) -> Form {
        let name = |field: &str| row.names.get(field).cloned();
        Form::holding(row.kind, Some(row.id.clone()), row.title.clone(), row.fields.clone(), name)
    }

    /// A form for the home's profile while there is none yet.
    pub fn profile() -> Form {
        Form::holding(Kind::Property, Some(String::new()), String::new(), Fields::new(), |_| None)
    }

    fn holding(
        kind: Kind,
        id: Option<String>,
        title: String,
        before: Fields,
        name: impl Fn(&str) -> Option<String>,
    ) -> Form {
        let entry = |field: &'static Field| {
            let value = before.get(field.name).unwrap_or(&Value::Null);
            let editor = Editor::new(field, value, name(field.name).as_deref());
            Entry { field, initial: editor.value(field), editor, fault: None }
        };
        let entries = resource(kind).fields.iter().filter(|field| field.is_writable()).map(entry).collect();
        Form { kind, id, title, entries, focus: 0, refusal: None, saving: false, ticket: 0, before }
    }

    /// Whether something was typed that closing would lose.
    pub fn is_changed(&self) -> bool {
        self.entries.iter().any(Entry::is_changed)
    }

    /// Where the keyboard is.
    pub fn context(&self) -> Context {
        match &self.entries[self.focus].editor {
            Editor::Line(_) => Context::Form,
            Editor::Notes(_) => Context::Notes,
            Editor::Reference(reference) if reference.picker.is_some() => Context::Options,
            Editor::Choice { .. } | Editor::Reference(_) => Context::Choice,
        }
    }

    /// Carries out an action of one of the form's contexts.
    pub fn act(&mut self, action: Action) -> Wish {
        let last = self.entries.len() - 1;
        match action {
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
            Action::Take => self.take(),
            Action::Save => return self.save(),
            Action::Back => match &mut self.entries[self.focus].editor {
                Editor::Reference(reference) if reference.picker.is_some() => reference.picker = None,
                _ => return Wish::Close,
            },
            _ => {}
        }
        Wish::Nothing
    }

    /// Hands a key that is no action to the field under the keyboard.
    pub fn key(&mut self, key: KeyEvent) -> Wish {
        self.typed(|editor| editor.key(key))
    }

    /// Types a text into the field under the keyboard.
    pub fn paste(&mut self, text: &str) -> Wish {
        self.typed(|editor| editor.paste(text))
    }

    fn typed(&mut self, edit: impl FnOnce(&mut Editor) -> bool) -> Wish {
        if self.is_reference() && self.target().is_none() {
            return Wish::Nothing;
        }
        let before = self.entries[self.focus].editor.value(self.entries[self.focus].field);
        let changed = edit(&mut self.entries[self.focus].editor);
        let entry = &self.entries[self.focus];
        if entry.editor.value(entry.field) != before {
            self.touched();
        }
        if changed { self.wanted_titles() } else { Wish::Nothing }
    }

    /// Takes the names that were asked for.
    pub fn found(&mut self, options: Vec<(String, String)>) {
        self.in_picker(|picker| picker.found(options));
    }

    /// Takes the reason why it was not saved.
    pub fn refused(&mut self, sentence: String) {
        self.saving = false;
        self.refusal = Some(sentence);
    }

    /// The kind of record that the focused field points at; None where it can point at nothing.
    pub fn target(&self) -> Option<Kind> {
        match self.entries[self.focus].field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => {
                let entry = self.entries.iter().find(|entry| entry.field.name == SUBJECT_TYPE)?;
                entry.editor.value(entry.field).as_str().and_then(Kind::from_word)
            }
            _ => None,
        }
    }

    fn is_reference(&self) -> bool {
        matches!(self.entries[self.focus].editor, Editor::Reference(_))
    }

    fn focus_on(&mut self, index: usize) {
        // The faults of a field are shown when it is left, not while it is typed.
        let leaving = self.entries[self.focus].field.name;
        let faults = self.faults().1;
        if let Some((_, sentence)) = faults.into_iter().find(|(name, _)| name == leaving) {
            self.entries[self.focus].fault = Some(sentence);
        }
        self.focus = index;
    }

    fn edit_focused(&mut self, edit: impl FnOnce(&mut Editor)) {
        edit(&mut self.entries[self.focus].editor);
        self.touched();
    }

    /// What was wrong may be right now; and another type of subject means another subject.
    fn touched(&mut self) {
        self.refusal = None;
        self.entries[self.focus].fault = None;
        if self.entries[self.focus].field.name == SUBJECT_TYPE {
            if let Some(subject) = self.entries.iter_mut().find(|entry| entry.field.name == SUBJECT_ID) {
                subject.editor.clear();
                subject.fault = None;
            }
        }
    }

    fn in_picker(&mut self, act: impl FnOnce(&mut Picker)) {
        if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
            if let Some(picker) = &mut reference.picker {
                act(picker);
            }
        }
    }

    fn open_picker(&mut self) -> Wish {
        if self.target().is_none() {
            return Wish::Nothing;
        }
        if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
            reference.picker = Some(Picker::default());
        }
        self.wanted_titles()
    }

    fn wanted_titles(&self) -> Wish {
        match (&self.entries[self.focus].editor, self.target()) {
            (Editor::Reference(reference), Some(kind)) => match &reference.picker {
                Some(picker) => Wish::Titles(kind, picker.words.text().to_owned()),
                None => Wish::Nothing,
            },
            _ => Wish::Nothing,
        }
    }

    fn take(&mut self) {
        if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
            if let Some(picker) = reference.picker.take() {
                if let Some((id, title)) = picker.options.into_iter().nth(picker.selected) {
                    (reference.id, reference.title) = (Some(id), title);
                    self.touched();
                }
            }
        }
    }

    fn save(&mut self) -> Wish {
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
    fn faults(&self) -> (Fields, Vec<(String, String)>) {
        let intent = if self.id.is_some() { Intent::Patch } else { Intent::Create };
        let mut body = Fields::new();
        for entry in &self.entries {
            let value = entry.editor.value(entry.field);
            // A new record holds what was filled in; a changed one what is different.
            if if intent == Intent::Create { !value.is_null() } else { entry.is_changed() } {
                body.insert(entry.field.name.to_owned(), value);
            }
        }
        let mut checked = check(self.kind, intent, &Value::Object(body.clone()));
        if intent == Intent::Patch {
            let mut whole = self.before.clone();
            whole.extend(body.clone());
            check_subject(self.kind, &whole, &mut checked.faults);
        }
        let faults = checked.faults.into_iter().map(|fault| (fault.field, fault.message)).collect();
        let fields = checked.fields.into_iter().filter(|(name, _)| body.contains_key(name)).collect();
        (fields, faults)
    }
}

impl Entry {
    fn is_changed(&self) -> bool {
        self.editor.value(self.field) != self.initial
    }
}
