//! Keys on records: change, delete, finish, copy, for one record or for all marked ones. Must not know how a write is
//! carried out.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::Row;
use time::Date;

use super::model::{App, Layer};
use crate::keys::{Action, Context, CopyTarget};
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::parse::dates;
use crate::record_text;
use crate::state::confirm::{Confirm, Then};
use crate::state::detail::{Detail, DetailLine};
use crate::state::form::Form;
use crate::state::home::Entry;
use crate::state::list::List;
use crate::state::palette::Cursor;
use crate::words;
use crate::words::glyphs::Tone;

/// The most titles in a question.
const NAMED_MAX: usize = 3;

impl App {
    /// The topmost layer under the list of actions.
    pub(super) fn top_layer(&self) -> Option<&Layer> {
        self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_)))
    }

    /// The record of an action: the one in full view, or the one under the cursor.
    pub(super) fn current_record(&self) -> Option<&Row> {
        match self.top_layer() {
            Some(Layer::Detail(detail)) => detail.row(),
            Some(_) => None,
            None if self.tab == Kind::Property => match self.home.current(self.today)? {
                Entry::Task(row) => Some(row),
                Entry::Expiring(_) => None,
            },
            None => self.list(self.tab)?.current(),
        }
    }

    /// The kind of the current record.
    pub fn shown_kind(&self) -> Option<Kind> {
        self.current_record().map(|row| row.kind)
    }

    /// The record and the edit under the cursor.
    pub(super) fn cursor(&self) -> Cursor {
        let record = match self.top_layer() {
            // On the home screen the entry may be an expiry date, too.
            None if self.tab == Kind::Property => {
                self.home.current(self.today).map(|entry| entry.record().1.to_owned())
            }
            _ => self.current_record().map(|row| row.id.clone()),
        };
        Cursor { record, edit: self.selected_edit().map(|edit| edit.id) }
    }

    /// Whether an action in a context affects the item under the cursor alone, not the marked records.
    pub(super) fn is_about_cursor(&self, context: Context, action: Action) -> bool {
        match action {
            Action::Edit | Action::Delete | Action::Done => self.marked().is_none(),
            Action::Open => context != Context::Filter,
            Action::Undo => context == Context::Edits,
            Action::Duplicate
            | Action::Mark
            | Action::PaletteCopy
            | Action::Copy(_)
            | Action::OpenFile
            | Action::Attach
            | Action::Retry
            | Action::Discard => true,
            _ => false,
        }
    }

    /// Whether the home profile is in front and has never been saved.
    pub(super) fn is_profile_unset(&self) -> bool {
        matches!(self.top_layer(), Some(Layer::Detail(Detail { kind: Kind::Property, is_missing: true, .. })))
    }

    /// The marked records of the visible list, ids and titles; None: no marks, or a layer hides the list.
    fn marked(&self) -> Option<Vec<(String, String)>> {
        let list = self.list(self.tab).filter(|list| self.layers.is_empty() && !list.marks.is_empty())?;
        Some(list.marks.iter().map(|(id, title)| (id.clone(), title.clone())).collect())
    }

    /// The number of marked records that are not visible: hidden by a filter or on another page.
    fn hidden_marks(&self) -> usize {
        self.list(self.tab).map_or(0, List::marks_out_of_sight)
    }

    pub(super) fn edit(&mut self) -> Vec<Effect> {
        let form = if let Some(records) = self.marked() {
            Some(Form::bulk(self.tab, records, self.hidden_marks(), self.today))
        } else if let Some(row) = self.current_record() {
            Some(Form::edit(row, self.today))
        } else if self.is_profile_unset() {
            Some(Form::profile(self.today))
        } else {
            None
        };
        match form {
            Some(form) => self.push_layer(Layer::Form(Box::new(form))),
            None => Vec::new(),
        }
    }

    /// Opens a form for a new record with the values of the current one.
    pub(super) fn duplicate(&mut self) -> Vec<Effect> {
        let row = self.current_record().filter(|row| row.kind != Kind::Property);
        match row.map(|row| Form::duplicate(row, self.today)) {
            Some(form) => self.push_layer(Layer::Form(Box::new(form))),
            None => Vec::new(),
        }
    }

    pub(super) fn delete(&mut self) -> Vec<Effect> {
        let question = match self.marked() {
            Some(records) => Some(bulk_deletion_question(self.tab, records, self.hidden_marks())),
            None => self.current_record().filter(|row| row.kind != Kind::Property).map(deletion_question),
        };
        match question {
            Some(question) => self.push_layer(Layer::Confirm(question)),
            None => Vec::new(),
        }
    }

    pub(super) fn done(&mut self, context: Context) -> Vec<Effect> {
        if self.tab == Kind::Task
            && let Some(records) = self.marked()
        {
            return match self.hidden_marks() {
                0 => vec![Effect::Write(bulk_done(records))],
                hidden => self.push_layer(Layer::Confirm(bulk_done_question(records, hidden))),
            };
        }
        let today = self.now.today();
        let Some(write) = self.current_record().and_then(|row| toggled_status(row, today)) else { return Vec::new() };
        // A finished task moves down; the cursor stays on its line, on the next task.
        if context == Context::List {
            self.list_mut().into_iter().for_each(List::release_selection);
        }
        vec![Effect::Write(write)]
    }

    /// The line under the cursor in the full view.
    fn detail_line(&self) -> Option<DetailLine> {
        match self.top_layer() {
            Some(Layer::Detail(detail)) => detail.lines(self.page()).into_iter().nth(detail.selected),
            _ => None,
        }
    }

    /// The record that the line under the cursor links to.
    pub(super) fn link_target(&self) -> Option<(Kind, String)> {
        self.detail_line()?.target
    }

    pub(super) fn copy(&mut self, now: Now, what: CopyTarget) -> Vec<Effect> {
        let line = self.detail_line();
        let copied = self
            .current_record()
            .and_then(|row| record_text::copied_text(what, row, line.as_ref(), self.status.as_ref()));
        match copied {
            Some((text, _)) if text.is_empty() => {
                self.notify(now, Tone::Notice, "There is nothing to copy here.".into());
                Vec::new()
            }
            Some((text, name)) => {
                // The terminal does not confirm the copy.
                self.notify(now, Tone::Good, format!("Sent {name} to the terminal's clipboard."));
                vec![Effect::Copy(text)]
            }
            None => {
                self.notify(now, Tone::Notice, "This record has no such value to copy.".into());
                Vec::new()
            }
        }
    }
}

/// The question before a record is deleted.
fn deletion_question(row: &Row) -> Confirm {
    Confirm {
        question: format!("Delete the {} “{}”?", words::singular(row.kind), row.title),
        consequence: consequence(row.kind).into(),
        then: Then::Write(Box::new(Write::Delete { kind: row.kind, id: row.id.clone(), title: row.title.clone() })),
    }
}

/// The question before several records are deleted, with the first titles and the number of invisible records.
fn bulk_deletion_question(kind: Kind, records: Vec<(String, String)>, hidden: usize) -> Confirm {
    let number = records.len();
    let consequence = match (kind, number) {
        (_, 1) => consequence(kind),
        (Kind::Room, _) => {
            "Items in them lose their room; tasks about them become general. Undo recreates them, empty."
        }
        (Kind::Inventory | Kind::Vehicle, _) => {
            "Their documents and tasks stay and become general. Undo recreates them, without those links."
        }
        _ => "Undo recreates them.",
    };
    Confirm {
        question: format!(
            "Delete {}{}? {}",
            words::counted(kind, number),
            out_of_sight(number, hidden),
            first_titles(&records)
        ),
        consequence: consequence.into(),
        then: Then::Write(Box::new(Write::Many { kind, records, change: None })),
    }
}

/// The change that marks many tasks as done.
fn bulk_done(records: Vec<(String, String)>) -> Write {
    let change = Some(Fields::from_iter([("status".to_owned(), "done".into())]));
    Write::Many { kind: Kind::Task, records, change }
}

/// The question before invisible tasks are marked as done.
fn bulk_done_question(records: Vec<(String, String)>, hidden: usize) -> Confirm {
    let number = records.len();
    let counted = words::counted(Kind::Task, number);
    Confirm {
        question: format!("Mark {counted} as done{}? {}", out_of_sight(number, hidden), first_titles(&records)),
        consequence: "Undo opens them again.".into(),
        then: Then::Write(Box::new(bulk_done(records))),
    }
}

/// A phrase for the number of invisible records among `number`; empty when all are visible.
fn out_of_sight(number: usize, hidden: usize) -> String {
    match hidden {
        0 => String::new(),
        hidden if hidden == number => ", none of them visible".to_owned(),
        hidden => format!(", {} of them not visible", words::figure(hidden)),
    }
}

/// The first titles, and how many more.
fn first_titles(records: &[(String, String)]) -> String {
    let named: Vec<String> = records.iter().take(NAMED_MAX).map(|(_, title)| format!("“{title}”")).collect();
    let more = records.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {} more", words::figure(more)) } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// The consequence of a deletion.
const fn consequence(kind: Kind) -> &'static str {
    match kind {
        Kind::Room => "Items in it lose their room; tasks about it become general. Undo recreates it, empty.",
        Kind::Inventory | Kind::Vehicle => {
            "Its documents and tasks stay and become general. Undo recreates it, without those links."
        }
        _ => "Undo brings it back.",
    }
}

/// The write that marks an open task as done, or opens a finished task again. None: the row is no task.
fn toggled_status(row: &Row, today: Date) -> Option<Write> {
    if row.kind != Kind::Task {
        return None;
    }
    let status = if words::text_field(&row.fields, "status") == Some("done") { "open" } else { "done" };
    let fields = Fields::from_iter([("status".to_owned(), status.into())]);
    let mut whole = row.fields.clone();
    whole.extend(fields.clone());
    let (kind, id, title) = (row.kind, row.id.clone(), row.title.clone());
    let again = dates::next_due(kind, &whole, today);
    // The write does not depend on the status that the user saw.
    Some(Write::Update { kind, id, fields, seen: Fields::new(), title, again })
}
