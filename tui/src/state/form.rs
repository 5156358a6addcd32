//! A form made from the resource table: one editor per field, the faults of `check` under them. It only moves the focus
//! and hands keys on; editors know theirs. `saving` has what is sent,
//! `draft` what is kept of a form that was not saved. Must not know the database or the screen.

mod draft;
mod saving;

use crossterm::event::KeyEvent;
use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, SUBJECT_ID, SUBJECT_TYPE};
use hearth_replica::{Edit, Row};
use serde_json::Value;
use time::Date;

use crate::keys::{Action, Context};
use crate::message::Write;
use crate::state::editor::{Editor, Picker, Reference};
use crate::words::{self, Names};

/// A form for a new record or an existing one.
#[derive(Debug)]
pub struct Form {
    /// Of this kind.
    pub kind: Kind,
    /// Which record; None for a new one.
    pub id: Option<String>,
    /// What the record was called when the form was opened.
    pub title: String,
    /// The waiting edit that is changed; None: the record itself is.
    pub edit: Option<i64>,
    /// The records that are changed together, ids and titles; empty unless they are many.
    pub many: Vec<(String, String)>,
    /// The fields a person may set, in the contract's order.
    pub entries: Vec<Entry>,
    /// Which of them has the keyboard.
    pub focus: usize,
    /// Why the record was not saved, when that is no fault of one field.
    pub refusal: Option<String>,
    /// What was sent to save it, as long as its answer is awaited.
    pub saving: Option<Write>,
    /// The newest request for names; older answers are dropped.
    pub ticket: u64,
    /// The whole record as it was.
    before: Fields,
    /// The day on which it was opened.
    pub today: Date,
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
    /// What somebody else has set it to since the form was opened, in words; empty if they cleared it.
    pub meanwhile: Option<String>,
    /// What the editor held at first.
    initial: Value,
}

/// What a form asks for after a key.
#[derive(Debug, PartialEq)]
pub enum Wish {
    /// Nothing.
    Nothing,
    /// Names of some kinds that have these words.
    Titles(Vec<Kind>, String),
    /// To save.
    Save(Write),
    /// The notes in the person's own editor.
    Editor(String),
    /// To be closed.
    Close,
}

impl Form {
    /// A form for a new record.
    pub fn create(kind: Kind, today: Date) -> Form {
        let presets = check(kind, Intent::Create, &Value::Object(Fields::new())).fields;
        Form::holding(kind, None, String::new(), presets, today, |_| None)
    }

    /// A form for a record.
    pub fn edit(row: &Row, today: Date) -> Form {
        let name = |field: &str| row.names.get(field).cloned();
        Form::holding(row.kind, Some(row.id.clone()), row.title.clone(), row.fields.clone(), today, name)
    }

    /// A form for the home's profile while there is none yet.
    pub fn profile(today: Date) -> Form {
        Form::holding(Kind::Property, Some(String::new()), String::new(), Fields::new(), today, |_| None)
    }

    /// A form that changes several records alike: what is filled in is set for all of them, also for
    /// those that are not in sight.
    pub fn bulk(kind: Kind, many: Vec<(String, String)>, hidden: usize, today: Date) -> Form {
        let hidden = if hidden > 0 { format!(" ({} not in sight)", words::figure(hidden)) } else { String::new() };
        let title = format!("{}{hidden}", words::counted(kind, many.len()));
        let mut form = Form::holding(kind, Some(String::new()), title, Fields::new(), today, |_| None);
        form.leave_choices_open();
        Form { many, ..form }
    }

    /// A form for what a waiting edit writes; what the server has against it stands under its fields, the first of them under
    /// the keyboard. Names are of what its values point at.
    pub fn of_edit(edit: &Edit, names: &Names, today: Date) -> Form {
        let mut fields = edit.base.clone();
        fields.extend(edit.patch.clone());
        if edit.method == "create" {
            // What it leaves out the record does not have.
            for field in resource(edit.kind).fields {
                fields.entry(field.name).or_insert(Value::Null);
            }
        }
        let values = fields.clone();
        let name = |field: &str| {
            let id = words::text_field(&values, field)?;
            Some(names.get(id).map_or(words::NOT_HERE, String::as_str).to_owned())
        };
        let mut form = Form::holding(edit.kind, Some(edit.record_id.clone()), edit.title.clone(), fields, today, name);
        form.leave_choices_open();
        let faults = edit.problem.as_ref().and_then(|problem| problem.pointer("/details/fields")?.as_array());
        for fault in faults.into_iter().flatten() {
            let said = |member: &str| fault.get(member).and_then(Value::as_str);
            let entry = form.entries.iter_mut().find(|entry| said("field") == Some(entry.field.name));
            if let (Some(entry), Some(message)) = (entry, said("message")) {
                entry.fault = Some(words::capital(&words::with_labels(edit.kind, message)));
            }
        }
        form.focus = form.entries.iter().position(|entry| entry.fault.is_some()).unwrap_or(0);
        Form { edit: Some(edit.id), ..form }
    }

    fn holding(
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
            Entry { field, initial: editor.value(field, today), editor, fault: None, meanwhile: None }
        };
        let entries = resource(kind).fields.iter().filter(|field| field.is_writable()).map(entry).collect();
        let many = Vec::new();
        let edit = None;
        Form { kind, id, title, edit, many, entries, focus: 0, refusal: None, saving: None, ticket: 0, before, today }
    }

    /// What is not set in a form for a part of a record can be left unset again, also where the record must have it.
    fn leave_choices_open(&mut self) {
        for entry in &mut self.entries {
            if let Editor::Choice { chosen: None, optional, .. } = &mut entry.editor {
                *optional = true;
            }
        }
    }

    /// Whether what it holds at first is a part of a record, or of none: what stands empty stays as it is.
    fn is_of_a_part(&self) -> bool {
        self.edit.is_some() || !self.many.is_empty()
    }

    /// Whether a field is left as it is unless something is filled in, whatever that may be.
    pub fn is_open(&self, entry: &Entry) -> bool {
        self.is_of_a_part() && !self.before.contains_key(entry.field.name)
    }

    /// Whether something was typed that closing would lose.
    pub fn is_changed(&self) -> bool {
        self.entries.iter().any(|entry| entry.is_changed(self.today))
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
            Action::Take => drop(self.take()),
            Action::Save => return self.save(),
            Action::Editor => {
                if let Editor::Notes(area) = &self.entries[self.focus].editor {
                    return Wish::Editor(area.lines().join("\n"));
                }
            }
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
        if self.is_reference() && self.targets().is_empty() {
            return Wish::Nothing;
        }
        let today = self.today;
        let before = self.entries[self.focus].editor.value(self.entries[self.focus].field, today);
        let changed = edit(&mut self.entries[self.focus].editor);
        let entry = &mut self.entries[self.focus];
        if matches!(entry.editor, Editor::Reference(_)) {
            entry.fault = None;
        }
        if entry.editor.value(entry.field, today) != before {
            self.touched();
        }
        if changed { self.wanted_titles() } else { Wish::Nothing }
    }

    /// Goes over to another day. What was typed before means the day it meant then.
    pub fn turn(&mut self, today: Date) {
        let entry = &mut self.entries[self.focus];
        entry.editor.settle(entry.field, self.today);
        self.today = today;
    }

    /// Fits what is seen of its notes to another window.
    pub fn resized(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.editor.resized());
    }

    /// Takes notes that were written elsewhere.
    pub fn edited(&mut self, text: &str) {
        self.edit_focused(|editor| editor.replace(text));
    }

    /// Takes the names that were asked for.
    pub fn found(&mut self, options: Vec<(Kind, String, String)>) {
        self.in_picker(|picker| picker.found(options));
    }

    /// Takes the reason why it was not saved.
    pub fn refused(&mut self, sentence: String) {
        self.saving = None;
        self.refusal = Some(sentence);
    }

    /// The kinds of records that the focused field can point at; none where there is nothing to point at. Until a type of subject
    /// is chosen it is any, and the one that is taken brings its type along.
    pub fn targets(&self) -> Vec<Kind> {
        match self.entries[self.focus].field.format {
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

    fn is_reference(&self) -> bool {
        matches!(self.entries[self.focus].editor, Editor::Reference(_))
    }

    fn focus_on(&mut self, index: usize) {
        let today = self.today;
        let entry = &mut self.entries[self.focus];
        entry.editor.settle(entry.field, today);
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
        if self.entries[self.focus].field.name == SUBJECT_TYPE
            && let Some(subject) = self.entries.iter_mut().find(|entry| entry.field.name == SUBJECT_ID)
        {
            subject.editor.clear();
            subject.fault = None;
        }
    }

    fn in_picker(&mut self, act: impl FnOnce(&mut Picker)) {
        if let Editor::Reference(Reference { picker: Some(picker), .. }) = &mut self.entries[self.focus].editor {
            act(picker);
        }
    }

    fn open_picker(&mut self) -> Wish {
        if self.targets().is_empty() {
            return Wish::Nothing;
        }
        if let Editor::Reference(reference) = &mut self.entries[self.focus].editor {
            reference.picker = Some(Picker::default());
        }
        self.wanted_titles()
    }

    fn wanted_titles(&self) -> Wish {
        match &self.entries[self.focus].editor {
            Editor::Reference(Reference { picker: Some(picker), .. }) => {
                Wish::Titles(self.targets(), picker.words.text().to_owned())
            }
            _ => Wish::Nothing,
        }
    }

    /// Takes the suggestion under the cursor. False, with the reason under the field, where nothing has the letters that were
    /// typed: then they stay, and the record they were meant for is not left out unseen. False, too, while the suggestions are
    /// those for older letters.
    pub(super) fn take(&mut self) -> bool {
        let nobody = match self.targets().as_slice() {
            [kind] => format!("No {}", words::singular(*kind)),
            _ => "Nothing".to_owned(),
        };
        let entry = &mut self.entries[self.focus];
        let Editor::Reference(reference) = &mut entry.editor else { return true };
        let Some(picker) = &mut reference.picker else { return true };
        let typed = picker.words.text().trim().to_owned();
        if !picker.answered && !picker.options.is_empty() {
            return false;
        }
        if picker.selected < picker.options.len() {
            let (kind, id, title) = picker.options.swap_remove(picker.selected);
            *reference = Reference { id: Some(id), title, picker: None };
            let is_subject = entry.field.format == Format::Subject;
            self.touched();
            let subject_type = self.entries.iter_mut().find(|entry| is_subject && entry.field.name == SUBJECT_TYPE);
            if let Some(entry) = subject_type {
                entry.editor = Editor::new(entry.field, &kind.as_str().into(), None);
                entry.fault = None;
            }
        } else if typed.is_empty() {
            reference.picker = None;
        } else {
            entry.fault = picker.answered.then(|| format!("{nobody} has the letters “{typed}” in its name."));
            return false;
        }
        true
    }
}

impl Entry {
    fn is_changed(&self, today: Date) -> bool {
        self.editor.value(self.field, today) != self.initial
    }
}
