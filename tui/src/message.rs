//! What can happen to the application, and what it can ask for. Plain values: must not know who sends or fulfils them.

use crossterm::event::{KeyEvent, MouseEvent};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{
    Conflict, Days, Edit, Figures, Hit, LogLine, Overview, RebuildReport, Resolution, Row, RowPage, RowQuery, Status,
    Totals,
};
use time::Date;

use crate::keys;
use crate::state::detail::Full;
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
    Edited(Result<String, String>),
    /// The terminal has this size now: columns, lines.
    Resize(u16, u16),
    /// Some time went by.
    Tick,
    /// The database changed: what is shown must be read again. A bell, not a parcel.
    Stale,
    /// An answer to an effect.
    Answer(Answer),
    /// Syncing in this process ended.
    SyncEnded {
        /// For this reason.
        reason: String,
        /// Whether it is tried again after a pause.
        again: bool,
    },
    /// It begins anew, because what had ended it is over.
    SyncBegins,
    /// The database was damaged and has been made anew.
    Rebuilt(RebuildReport),
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
    Place {
        /// Of the request.
        ticket: u64,
        /// Of which list.
        kind: Kind,
        /// The record's id.
        id: String,
        /// Its place.
        place: Result<Place, String>,
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
        full: Result<Option<Full>, String>,
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
    UnderWay(&'static str, usize, usize),
    /// A write was carried out, or refused with a sentence.
    Written(Write, Result<String, String>),
    /// A write was not carried out, because what the person saw is something else by now: the record as it is.
    Overtaken(Write, Box<Row>),
    /// A write was not carried out, because its record has been deleted.
    Gone(Write),
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
pub enum Place {
    /// So many stand before it.
    At(usize),
    /// It is not in the list.
    Nowhere,
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
    Place(u64, RowQuery, String),
    /// Every record of a list, to be marked.
    All(RowQuery),
    /// To open the database anew, because another file is in its place.
    Reopen,
    /// To put a text on the clipboard.
    Copy(String),
    /// To write a list to a file, told the day.
    Export(keys::Form, RowQuery, Date),
    /// To have a text written in the person's own editor.
    Editor(String),
    /// To keep the session.
    Keep(Session),
    /// To go to the shell until called back.
    Suspend,
    /// To take the terminal over once more.
    Takeover,
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
    Hurry,
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

impl Effect {
    /// Requests with the same slot replace each other: only the newest is worth an answer. None: each counts.
    pub fn slot(&self) -> Option<&'static str> {
        match self {
            Effect::Page(..) => Some("page"),
            Effect::Totals(..) => Some("totals"),
            Effect::Overview(..) => Some("overview"),
            Effect::Figures(_) => Some("figures"),
            Effect::About(..) => Some("about"),
            Effect::Place(..) => Some("place"),
            Effect::All(_) => Some("all"),
            Effect::Keep(_) => Some("keep"),
            Effect::Record(..) => Some("record"),
            Effect::Search(..) => Some("search"),
            Effect::Titles(..) => Some("titles"),
            Effect::Status => Some("status"),
            Effect::Counts => Some("counts"),
            Effect::Edits => Some("edits"),
            Effect::Log => Some("log"),
            Effect::Conflicts => Some("conflicts"),
            Effect::Write(_) | Effect::Export(..) | Effect::Copy(_) | Effect::Editor(_) => None,
            Effect::Reopen | Effect::Suspend | Effect::Takeover | Effect::Redraw | Effect::Quit => None,
        }
    }

    /// The ticket of a request; 0 where it has none, because its answers are all alike.
    pub const fn ticket(&self) -> u64 {
        match self {
            Effect::Page(ticket, _)
            | Effect::Totals(ticket, ..)
            | Effect::Overview(ticket, _)
            | Effect::About(ticket, _)
            | Effect::Record(ticket, ..)
            | Effect::Search(ticket, _)
            | Effect::Titles(ticket, ..)
            | Effect::Place(ticket, ..) => *ticket,
            _ => 0,
        }
    }
}

impl Answer {
    /// The slot and the ticket of the request that it answers, where a person may be waiting for it.
    pub const fn slot(&self) -> Option<(&'static str, u64)> {
        match self {
            Answer::Page { ticket, .. } => Some(("page", *ticket)),
            Answer::Overview(ticket, _) => Some(("overview", *ticket)),
            Answer::About(ticket, _) => Some(("about", *ticket)),
            Answer::Record { ticket, .. } => Some(("record", *ticket)),
            Answer::Hits { ticket, .. } => Some(("search", *ticket)),
            Answer::Titles { ticket, .. } => Some(("titles", *ticket)),
            Answer::Place { ticket, .. } => Some(("place", *ticket)),
            Answer::All(..) => Some(("all", 0)),
            Answer::Edits(_) => Some(("edits", 0)),
            Answer::Conflicts(_) => Some(("conflicts", 0)),
            _ => None,
        }
    }
}
