//! What can happen to the application, and what it can ask for. Plain values: must not know who sends or fulfils them.

use crossterm::event::{KeyEvent, MouseEvent};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{
    Conflict, Days, Edit, Figures, Hit, LogLine, Overview, Rescue, Resolution, Row, RowPage, RowQuery, Status, Totals,
};
use time::Date;

use crate::keys;
use crate::state::detail::FullRecord;
use crate::state::session::Session;
use crate::typed::dates::Again;
use crate::words::Names;

/// Something that happened.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few are alive at once; a box would cost more than it saves")]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The mouse was used, when it is ours.
    Mouse(MouseEvent),
    /// The person's own editor gave this text back, or why it did not.
    EditorClosed(Result<String, String>),
    /// The terminal has this size now: columns, lines.
    Resize(u16, u16),
    /// Some time went by.
    Tick,
    /// The database changed: what is shown must be read again. A bell, not a parcel.
    DatabaseChanged,
    /// An answer to an effect.
    Answer(Answer),
    /// Syncing in this process ended.
    SyncEnded {
        /// For this reason.
        reason: String,
        /// Whether it is tried again after a pause.
        will_retry: bool,
    },
    /// It begins anew, because what had ended it is over.
    SyncResumed,
    /// The database was damaged and has been made anew.
    Rebuilt(Rescue),
    /// The program was stopped from outside and goes on.
    Continued,
    /// The machine or the terminal wants the program to end.
    End,
}

/// What an effect led to. A text stands for a failure of the database, in words for people.
#[derive(Debug)]
pub enum Answer {
    /// A page that began at `offset`.
    Page {
        /// Of the request.
        ticket: u64,
        /// Of which list.
        kind: Kind,
        /// Where it began.
        offset: usize,
        /// The page.
        page: Result<RowPage, String>,
    },
    /// Sums and groups of a list.
    Totals {
        /// Of the request.
        ticket: u64,
        /// Of which list.
        kind: Kind,
        /// The sums.
        totals: Result<Totals, String>,
    },
    /// What needs attention.
    Overview(u64, Result<Overview, String>),
    /// What the home is worth and how lively it is.
    Figures(Result<Figures, String>),
    /// What quick add's `@name` means: kind, id, title.
    About(u64, Option<(Kind, String, String)>),
    /// Where a record stands in its list.
    RowPosition {
        /// Of the request.
        ticket: u64,
        /// Of which list.
        kind: Kind,
        /// The record's id.
        id: String,
        /// Its place.
        position: Result<RowPosition, String>,
    },
    /// Every record of this list, ids and titles, to be marked.
    All(RowQuery, Result<Vec<(String, String)>, String>),
    /// The database was opened anew, or could not be.
    Reopened(Result<(), String>),
    /// A file was written, or not: what, and where it is.
    Exported(Result<String, String>),
    /// One record, or that there is none.
    Record {
        /// Of the request.
        ticket: u64,
        /// Its kind.
        kind: Kind,
        /// The record.
        full: Result<Option<FullRecord>, String>,
    },
    /// What a search found.
    Hits {
        /// Of the request.
        ticket: u64,
        /// The hits.
        hits: Result<Vec<Hit>, String>,
    },
    /// Names to choose from.
    Titles {
        /// Of the request.
        ticket: u64,
        /// Kinds, ids and names.
        titles: Result<Vec<(Kind, String, String)>, String>,
    },
    /// How syncing stands.
    Status(Result<Status, String>),
    /// How many records there are of each kind.
    Counts(Vec<(Kind, usize)>),
    /// The waiting edits, and names of what their values point at.
    Edits(Result<(Vec<Edit>, Names), String>),
    /// A write is under way: what is being done, to how many records it is done, and to how many it will be.
    Progress(&'static str, usize, usize),
    /// A write was carried out, or refused with a sentence.
    Written(Write, Result<String, String>),
    /// A write was not carried out, because what the person saw is something else by now: the record as it is.
    RecordChanged(Write, Box<Row>),
    /// A write was not carried out, because its record has been deleted.
    RecordDeleted(Write),
    /// A decision about edits was carried out, in a sentence, or refused with one.
    Decided(Write, Result<String, String>),
    /// What the sync has done, newest first.
    Log(Result<Vec<LogLine>, String>),
    /// The fields that wait for a decision, and names of what their values point at.
    Conflicts(Result<(Vec<Conflict>, Names), String>),
    /// A change of many was tried on each, in the order of its records: titles, and whether it changed something, or why not.
    ManyWritten(Write, Vec<(String, Result<bool, String>)>),
}

/// Where a record stands in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPosition {
    /// So many stand before it.
    At(usize),
    /// It is not in the list.
    Absent,
    /// The list is longer than was looked through, and so far it is not in it.
    Beyond,
}

/// Something that is asked for.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// A page of a list.
    Page(u64, RowQuery),
    /// Sums and groups of a list, told today and the end of the week.
    Totals(u64, RowQuery, Date),
    /// What needs attention.
    Overview(u64, Days),
    /// What the home is worth and how lively it is, since a day.
    Figures(String),
    /// What a part of a name means.
    About(u64, String),
    /// One record with what belongs to it; the profile's id is ignored.
    Record(u64, Kind, String),
    /// The records that have these words.
    Search(u64, String),
    /// Names of some kinds that have these words.
    Titles(u64, Vec<Kind>, String),
    /// How syncing stands.
    Status,
    /// How many records there are of each kind.
    Counts,
    /// The waiting edits.
    Edits,
    /// What the sync has done.
    Log,
    /// The fields that wait for a decision.
    Conflicts,
    /// A change.
    Write(Write),
    /// The number of a record in a list.
    RowPosition(u64, RowQuery, String),
    /// Every record of a list, to be marked.
    All(RowQuery),
    /// To open the database anew, because another file is in its place.
    Reopen,
    /// To put a text on the clipboard.
    Copy(String),
    /// To write a list to a file, told the day.
    Export(keys::ExportFormat, RowQuery, Date),
    /// To have a text written in the person's own editor.
    Editor(String),
    /// To keep the session.
    SaveSession(Session),
    /// To go to the shell until called back.
    Suspend,
    /// To take the terminal over once more.
    TakeTerminal,
    /// To draw every cell afresh.
    Redraw,
    /// The end.
    Quit,
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Make one.
    Create {
        /// Of this kind.
        kind: Kind,
        /// With these fields.
        fields: Fields,
    },
    /// Change one.
    Update {
        /// Of this kind.
        kind: Kind,
        /// Which.
        id: String,
        /// The changed fields.
        fields: Fields,
        /// What the person saw in their place; where it is something else by now, nothing is written. Empty: whatever is there
        /// is written over.
        seen: Fields,
        /// What it is called, for the answer.
        title: String,
        /// The next one, which the server makes because this one comes again.
        again: Option<Again>,
    },
    /// Change or remove many, each for itself.
    Many {
        /// Of this kind.
        kind: Kind,
        /// Which, ids and titles.
        records: Vec<(String, String)>,
        /// The changed fields; None: they are removed.
        change: Option<Fields>,
    },
    /// Take the last step back.
    Undo,
    /// Take it again.
    Redo,
    /// A decision about an edit.
    Decide(i64, Decision),
    /// Have syncing rest, or go on.
    Pause(bool),
    /// Try the server now.
    SyncNow,
    /// Remove one.
    Delete {
        /// Of this kind.
        kind: Kind,
        /// Which.
        id: String,
        /// What it is called, for the answer.
        title: String,
    },
}

/// What shall become of an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It is sent again.
    Retry,
    /// It is given up.
    Discard,
    /// It is taken back.
    Undo,
    /// It gets other values.
    Change(Fields),
    /// Its conflict ends so.
    Resolve(Resolution),
}

/// A sort of request. A new request of a slot replaces the older one: only the newest answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named after its effect")]
pub enum Slot {
    Page,
    Totals,
    Overview,
    Figures,
    About,
    RowPosition,
    All,
    SaveSession,
    Record,
    Search,
    Titles,
    Status,
    Counts,
    Edits,
    Log,
    Conflicts,
}

impl Effect {
    /// The slot of a request. None: each such effect is carried out, none replaces another.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Effect::Page(..) => Some(Slot::Page),
            Effect::Totals(..) => Some(Slot::Totals),
            Effect::Overview(..) => Some(Slot::Overview),
            Effect::Figures(_) => Some(Slot::Figures),
            Effect::About(..) => Some(Slot::About),
            Effect::RowPosition(..) => Some(Slot::RowPosition),
            Effect::All(_) => Some(Slot::All),
            Effect::SaveSession(_) => Some(Slot::SaveSession),
            Effect::Record(..) => Some(Slot::Record),
            Effect::Search(..) => Some(Slot::Search),
            Effect::Titles(..) => Some(Slot::Titles),
            Effect::Status => Some(Slot::Status),
            Effect::Counts => Some(Slot::Counts),
            Effect::Edits => Some(Slot::Edits),
            Effect::Log => Some(Slot::Log),
            Effect::Conflicts => Some(Slot::Conflicts),
            Effect::Write(_) | Effect::Export(..) | Effect::Copy(_) | Effect::Editor(_) => None,
            Effect::Reopen | Effect::Suspend | Effect::TakeTerminal | Effect::Redraw | Effect::Quit => None,
        }
    }

    /// The ticket of a request, which its answer carries. None: any answer of the slot is good enough.
    pub const fn ticket(&self) -> Option<u64> {
        match self {
            Effect::Page(ticket, _)
            | Effect::Totals(ticket, ..)
            | Effect::Overview(ticket, _)
            | Effect::About(ticket, _)
            | Effect::Record(ticket, ..)
            | Effect::Search(ticket, _)
            | Effect::Titles(ticket, ..)
            | Effect::RowPosition(ticket, ..) => Some(*ticket),
            _ => None,
        }
    }
}

impl Answer {
    /// The slot and the ticket of the answered request, where a key may wait for the answer.
    pub const fn slot(&self) -> Option<(Slot, Option<u64>)> {
        match self {
            Answer::Page { ticket, .. } => Some((Slot::Page, Some(*ticket))),
            Answer::Overview(ticket, _) => Some((Slot::Overview, Some(*ticket))),
            Answer::About(ticket, _) => Some((Slot::About, Some(*ticket))),
            Answer::Record { ticket, .. } => Some((Slot::Record, Some(*ticket))),
            Answer::Hits { ticket, .. } => Some((Slot::Search, Some(*ticket))),
            Answer::Titles { ticket, .. } => Some((Slot::Titles, Some(*ticket))),
            Answer::RowPosition { ticket, .. } => Some((Slot::RowPosition, Some(*ticket))),
            Answer::All(..) => Some((Slot::All, None)),
            Answer::Edits(_) => Some((Slot::Edits, None)),
            Answer::Conflicts(_) => Some((Slot::Conflicts, None)),
            _ => None,
        }
    }

    /// Whether a write has ended with this answer, done or not.
    pub const fn ends_write(&self) -> bool {
        matches!(
            self,
            Answer::Written(..)
                | Answer::RecordChanged(..)
                | Answer::RecordDeleted(_)
                | Answer::Decided(..)
                | Answer::ManyWritten(..)
        )
    }
}
