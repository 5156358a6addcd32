//! What keys do to records: change, delete, finish, copy, and all of that to many at once. Pure; must not know how it is written.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::Row;

use super::{App, Confirm, Layer, Then};
use crate::keys::{Action, Context, What};
use crate::message::{Effect, Write};
use crate::now::Now;
use crate::parse::dates;
use crate::record_text;
use crate::state::detail::{Detail, DetailLine};
use crate::state::form::Form;
use crate::state::home::Entry;
use crate::state::list::List;
use crate::state::palette::Cursor;
use crate::words;
use crate::words::glyphs::Tone;

/// A question names no more records than this.
const NAMED_MAX: usize = 3;

impl App {
    /// The record that an action is about: the one in full, or the selected one.
    pub(super) fn shown(&self) -> Option<&Row> {
        let top = self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_)));
        match top {
            Some(Layer::Detail(detail)) => detail.row(),
            Some(_) => None,
            None if self.tab == Kind::Property => match self.home.current(self.today)? {
                Entry::Task(row) => Some(row),
                Entry::Expiring(_) => None,
            },
            None => self.list(self.tab)?.current(),
        }
    }

    /// The kind of that record.
    pub fn shown_kind(&self) -> Option<Kind> {
        self.shown().map(|row| row.kind)
    }

    /// What the cursor is on.
    pub(super) fn cursor(&self) -> Cursor {
        let top = self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_)));
        let record = match top {
            // There it can be on what runs out, too.
            None if self.tab == Kind::Property => {
                self.home.current(self.today).map(|entry| entry.record().1.to_owned())
            }
            _ => self.shown().map(|row| row.id.clone()),
        };
        Cursor { record, edit: self.selected_edit().map(|edit| edit.id) }
    }

    /// Whether an action in a context is done to what the cursor is on, and to nothing that is marked.
    pub(super) fn is_about_cursor(&self, context: Context, action: Action) -> bool {
        match action {
            Action::Edit | Action::Delete | Action::Done => self.marked().is_none(),
            Action::Open => context != Context::Filter,
            Action::Undo => context == Context::Edits,
            Action::Mark | Action::PaletteCopy | Action::Copy(_) | Action::Retry | Action::Discard => true,
            _ => false,
        }
    }

    /// Whether the home's profile is in front and was never written.
    pub(super) fn is_profile_unset(&self) -> bool {
        let top = self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_)));
        matches!(top, Some(Layer::Detail(Detail { kind: Kind::Property, gone: true, .. })))
    }

    /// The marked records of the list in front, where there are some and no layer hides them.
    fn marked(&self) -> Option<Vec<(String, String)>> {
        let list = self.list(self.tab).filter(|list| self.layers.is_empty() && !list.marks.is_empty())?;
        Some(list.marks.iter().map(|(id, title)| (id.clone(), title.clone())).collect())
    }

    /// How many marks the list in front has where nobody sees them: a filter hides them, or they are on another page.
    fn hidden_marks(&self) -> usize {
        self.list(self.tab).map_or(0, List::marks_out_of_sight)
    }

    pub(super) fn edit(&mut self) -> Vec<Effect> {
        let form = if let Some(records) = self.marked() {
            Some(Form::bulk(self.tab, records, self.hidden_marks(), self.today))
        } else if let Some(row) = self.shown() {
            Some(Form::edit(row, self.today))
        } else if self.is_profile_unset() {
            Some(Form::profile(self.today))
        } else {
            None
        };
        match form {
            Some(form) => self.put(Layer::Form(Box::new(form))),
            None => Vec::new(),
        }
    }

    pub(super) fn delete(&mut self) -> Vec<Effect> {
        let question = match self.marked() {
            Some(records) => Some(deletion_of_many(self.tab, records, self.hidden_marks())),
            None => self.shown().filter(|row| row.kind != Kind::Property).map(deletion),
        };
        match question {
            Some(question) => self.put(Layer::Confirm(question)),
            None => Vec::new(),
        }
    }

    pub(super) fn done(&mut self, context: Context) -> Vec<Effect> {
        if self.tab == Kind::Task
            && let Some(records) = self.marked()
        {
            return match self.hidden_marks() {
                0 => vec![Effect::Write(done_together(records))],
                hidden => self.put(Layer::Confirm(done_out_of_sight(records, hidden))),
            };
        }
        let Some(write) = self.shown().and_then(turned) else { return Vec::new() };
        // What is done moves away; the next one comes under the cursor, so that the key can be pressed again.
        if context == Context::List {
            self.list_mut().into_iter().for_each(List::let_go);
        }
        vec![Effect::Write(write)]
    }

    /// The line under the cursor of the record in full.
    fn line(&self) -> Option<DetailLine> {
        match self.layers.iter().rev().find(|layer| !matches!(layer, Layer::Palette(_))) {
            Some(Layer::Detail(detail)) => detail.lines(self.page()).into_iter().nth(detail.selected),
            _ => None,
        }
    }

    /// The record that the line under the cursor leads to.
    pub(super) fn followed(&self) -> Option<(Kind, String)> {
        self.line()?.target
    }

    pub(super) fn copy(&mut self, now: Now, what: What) -> Vec<Effect> {
        let line = self.line();
        let copied =
            self.shown().and_then(|row| record_text::copied_text(what, row, line.as_ref(), self.status.as_ref()));
        match copied {
            Some((text, _)) if text.is_empty() => {
                self.notify(now, Tone::Notice, "There is nothing to copy here.".into());
                Vec::new()
            }
            Some((text, name)) => {
                // The terminal does not say whether it took it.
                self.notify(now, Tone::Good, format!("Gave the terminal {name} to copy."));
                vec![Effect::Copy(text)]
            }
            None => {
                self.notify(now, Tone::Notice, "There is nothing of that sort to copy here.".into());
                Vec::new()
            }
        }
    }
}

/// The question before a record is deleted.
fn deletion(row: &Row) -> Confirm {
    Confirm {
        question: format!("Delete the {} “{}”?", words::singular(row.kind), row.title),
        consequence: consequence(row.kind).into(),
        then: Then::Write(Box::new(Write::Delete { kind: row.kind, id: row.id.clone(), title: row.title.clone() })),
    }
}

/// The same for many, some of which may not be in sight: they are named as far as a question can.
fn deletion_of_many(kind: Kind, records: Vec<(String, String)>, hidden: usize) -> Confirm {
    let number = records.len();
    let consequence = match (kind, number) {
        (_, 1) => consequence(kind),
        (Kind::Room, _) => {
            "Items in them lose their room; tasks about them become general. Undo makes them anew, empty."
        }
        (Kind::Inventory | Kind::Vehicle, _) => {
            "Their documents and tasks stay and become general. Undo makes them anew, without them."
        }
        _ => "Undo makes them anew.",
    };
    Confirm {
        question: format!("Delete {}{}? {}", words::counted(kind, number), unseen(number, hidden), named(&records)),
        consequence: consequence.into(),
        then: Then::Write(Box::new(Write::Many { kind, records, change: None })),
    }
}

/// The change that marks many tasks as done.
fn done_together(records: Vec<(String, String)>) -> Write {
    let change = Some(Fields::from_iter([("status".to_owned(), "done".into())]));
    Write::Many { kind: Kind::Task, records, change }
}

/// The question before tasks are done that cannot be seen.
fn done_out_of_sight(records: Vec<(String, String)>, hidden: usize) -> Confirm {
    let number = records.len();
    let counted = words::counted(Kind::Task, number);
    Confirm {
        question: format!("Mark {counted} as done{}? {}", unseen(number, hidden), named(&records)),
        consequence: "Undo opens them again.".into(),
        then: Then::Write(Box::new(done_together(records))),
    }
}

/// How many of a number are not in sight, in words.
fn unseen(number: usize, hidden: usize) -> String {
    match hidden {
        0 => String::new(),
        hidden if hidden == number => ", none of them in sight".to_owned(),
        hidden => format!(", {} of them not in sight", words::figure(hidden)),
    }
}

/// The names of records, as far as a question can hold them.
fn named(records: &[(String, String)]) -> String {
    let named: Vec<String> = records.iter().take(NAMED_MAX).map(|(_, title)| format!("“{title}”")).collect();
    let more = records.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {} more", words::figure(more)) } else { String::new() };
    format!("{}{more}", named.join(", "))
}

/// What follows from a deletion.
const fn consequence(kind: Kind) -> &'static str {
    match kind {
        Kind::Room => "Items in it lose their room; tasks about it become general. Undo makes it anew, empty.",
        Kind::Inventory | Kind::Vehicle => {
            "Its documents and tasks stay and become general. Undo makes it anew, without them."
        }
        _ => "Undo brings it back.",
    }
}

/// The change that marks a task as done, or opens a done one again.
fn turned(row: &Row) -> Option<Write> {
    if row.kind != Kind::Task {
        return None;
    }
    let status = if words::text_field(&row.fields, "status") == Some("done") { "open" } else { "done" };
    let fields = Fields::from_iter([("status".to_owned(), status.into())]);
    let mut whole = row.fields.clone();
    whole.extend(fields.clone());
    let (kind, id, title) = (row.kind, row.id.clone(), row.title.clone());
    let again = dates::next_due(kind, &whole);
    // It is meant whatever the status was before.
    Some(Write::Update { kind, id, fields, seen: Fields::new(), title, again })
}
