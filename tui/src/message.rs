//! Messages to the application, effects it asks for, and answers to them. Plain values: must not know who sends a
//! message or carries out an effect.

use crossterm::event::{KeyEvent, MouseEvent};
use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_replica::{
    Acceptance, Capture, Conflict, Days, Edit, Figures, Hit, Imported, LogLine, Overview, RebuildReport, Resolution,
    Row, RowPage, RowQuery, Status, Totals,
};
use time::Date;

use crate::keys;
use crate::state::detail::FullRecord;
use crate::state::import_file::{ImportDraft, ImportFault, ImportPreview, ImportRequest};
use crate::state::inbox::KnownRecords;
use crate::state::session::Session;
use crate::words::Names;

/// An input of the application.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "few are alive at once; a box would cost more than it saves")]
pub enum Message {
    /// A pressed key.
    Key(KeyEvent),
    /// A pasted text.
    Paste(String),
    /// A mouse event; sent only when the settings allow the mouse.
    Mouse(MouseEvent),
    /// The user's own editor was closed: the text, or the reason why no text came back.
    EditorClosed(Result<String, String>),
    /// The new size of the terminal: columns, lines.
    Resize(u16, u16),
    /// Time has passed; sent at least every second.
    Tick,
    /// A notification without data: some process changed the database, and the visible data must be read again.
    DatabaseChanged,
    /// The answer to an effect.
    Answer(Answer),
    /// Syncing in this process stopped.
    SyncEnded {
        /// The reason, as a sentence.
        reason: String,
        /// Whether syncing starts again after a pause.
        will_retry: bool,
    },
    /// Syncing in this process started again.
    SyncResumed,
    /// The damaged database was replaced by a new one; the value says what was saved.
    Rebuilt(RebuildReport),
    /// The home was connected to a server, and syncing started.
    Connected {
        /// The name of the home on the server.
        home: String,
        /// The command that stores another API key.
        another_key: String,
    },
    /// The process was stopped by a signal and continues.
    Continued,
    /// A signal or the closed terminal ends the program.
    End,
}

/// The result of an effect. An `Err` text is a failure of the database, as a sentence for people.
#[derive(Debug)]
pub enum Answer {
    /// A page of a list.
    Page {
        /// The ticket of the request.
        ticket: u64,
        /// The kind of the list.
        kind: Kind,
        /// The number of the first row, from 0.
        offset: usize,
        /// The rows, or the failure.
        page: Result<RowPage, String>,
    },
    /// Sums and groups of a list.
    Totals {
        /// The ticket of the request.
        ticket: u64,
        /// The kind of the list.
        kind: Kind,
        /// Sums and groups, or the failure.
        totals: Result<Totals, String>,
    },
    /// Tasks and dates for the home screen, with the ticket of the request.
    Overview(u64, Result<Overview, String>),
    /// Figures for the home screen: value of the home, changes per day.
    Figures(Result<Figures, String>),
    /// The record meant by quick add's `@name`: kind, id, title. The home itself has the kind `Property` and no id. None: no
    /// record has the name. First the ticket.
    About(u64, Option<(Kind, String, String)>),
    /// The names of persons who have tasks.
    Assignees(Vec<String>),
    /// The position of a record in its list.
    RowPosition {
        /// The ticket of the request.
        ticket: u64,
        /// The kind of the list.
        kind: Kind,
        /// The id of the record.
        id: String,
        /// The position, or the failure.
        position: Result<RowPosition, String>,
    },
    /// Ids and titles of every record of the list, to be marked.
    All(RowQuery, Result<Vec<(String, String)>, String>),
    /// The database was opened again, or the failure.
    Reopened(Result<(), String>),
    /// An export ended: the sort of file and its path as a phrase, or the failure.
    Exported(Result<String, String>),
    /// One record.
    Record {
        /// The ticket of the request.
        ticket: u64,
        /// The kind of the record.
        kind: Kind,
        /// The record; None: no such record.
        full: Result<Option<FullRecord>, String>,
    },
    /// Search results.
    Hits {
        /// The ticket of the request.
        ticket: u64,
        /// The hits, best first, or the failure.
        hits: Result<Vec<Hit>, String>,
    },
    /// Suggestions for a reference.
    Titles {
        /// The ticket of the request.
        ticket: u64,
        /// Kinds, ids and names, or the failure.
        titles: Result<Vec<(Kind, String, String)>, String>,
    },
    /// A file was opened, with a sentence; or the reason why not.
    FileOpened(Result<String, String>),
    /// The bytes of a file are asked for.
    FileFetching {
        /// The hash of the file.
        file: String,
        /// The title of the document.
        title: String,
        /// Whether they were asked for just now.
        is_new: bool,
    },
    /// A completed path.
    PathCompleted {
        /// The ticket of the request.
        ticket: u64,
        /// The path, as far as it is certain.
        path: String,
        /// Names that continue it, when there are several.
        choices: Vec<String>,
    },
    /// The file of an import was read, or the reason why not; first the ticket.
    ImportRead(u64, Result<Box<ImportPreview>, ImportFault>),
    /// The end of an import: what each row did, or why nothing was written.
    Imported(Write, Result<Imported, String>),
    /// The sync status.
    Status(Result<Status, String>),
    /// The number of records of each kind.
    Counts(Vec<(Kind, usize)>),
    /// The open edits, and the names of records in their values.
    Edits(Result<(Vec<Edit>, Names), String>),
    /// All captures, the newest first, and what is known of the records that their drafts name.
    Captures(Result<(Vec<Capture>, KnownRecords), String>),
    /// Progress of a long write: a verb such as `Deleting`, the records done, the records in total.
    Progress(&'static str, usize, usize),
    /// The end of a write: the id of the record, or the reason of the refusal as a sentence.
    Written(Write, Result<String, String>),
    /// A write was refused, because the record changed after the user saw it: the current record.
    RecordChanged(Write, Box<Row>),
    /// A write was refused, because its record was deleted.
    RecordDeleted(Write),
    /// The end of a decision about edits: a sentence about the result, or the reason of the refusal.
    Decided(Write, Result<String, String>),
    /// The sync log, newest first.
    Log(Result<Vec<LogLine>, String>),
    /// The fields in conflict, and the names of records in their values.
    Conflicts(Result<(Vec<Conflict>, Names), String>),
    /// The end of a bulk change: for each record, in the order of the write, its title and whether a value changed, or
    /// the reason of the refusal.
    ManyWritten(Write, Vec<(String, Result<bool, String>)>),
}

/// The position of a record in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowPosition {
    /// The number of the record, from 0.
    At(usize),
    /// The list does not contain the record.
    Absent,
    /// The first rows do not contain the record; the list is longer than the search for a position may read.
    Beyond,
}

/// A request or a command of the application. The first number of a request is its ticket.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Read a page of a list.
    Page(u64, RowQuery),
    /// Read sums and groups of a list; the date is today.
    Totals(u64, RowQuery, Date),
    /// Read tasks and dates for the home screen.
    Overview(u64, Days),
    /// Read the figures for the home screen, since a day (`YYYY-MM-DD`).
    Figures(String),
    /// Find the record meant by a part of a name.
    About(u64, String),
    /// Read the names of persons who have tasks.
    Assignees,
    /// Read one record with its related records. The id of the home profile is ignored.
    Record(u64, Kind, String),
    /// Search all kinds for these words.
    Search(u64, String),
    /// Find names of these kinds by these words.
    Titles(u64, Vec<Kind>, String),
    /// Read the sync status.
    Status,
    /// Count the records of each kind.
    Counts,
    /// Read the open edits.
    Edits,
    /// Read the captures.
    Captures,
    /// Read the sync log.
    Log,
    /// Read the fields in conflict.
    Conflicts,
    /// Carry out a write.
    Write(Write),
    /// Find the position of the record with this id.
    RowPosition(u64, RowQuery, String),
    /// Read ids and titles of every record of a list.
    All(RowQuery),
    /// Open the database again: another file has its path.
    Reopen,
    /// Open a file of a document, or ask for its bytes.
    OpenFile {
        /// The hash of the file.
        file: String,
        /// The title of the document.
        title: String,
        /// Whether the bytes may be asked for; false when they were asked for before.
        may_ask: bool,
    },
    /// Complete a typed path.
    CompletePath(u64, String),
    /// Read the file of an import, and plan what its rows would do.
    ReadImport(u64, ImportRequest),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Write a list to a file; the date is today.
    Export(keys::ExportFormat, RowQuery, Date),
    /// Edit a text in the user's own editor.
    Editor(String),
    /// Ask for a server and an API key, and connect the home.
    Connect,
    /// Save the session.
    SaveSession(Session),
    /// Give the terminal to the shell until the process continues.
    Suspend,
    /// Set up the terminal again.
    TakeTerminal,
    /// Draw every cell again.
    Redraw,
    /// End the program.
    Quit,
}

/// A change by the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Create a record.
    Create {
        /// The kind of the record.
        kind: Kind,
        /// The fields of the record.
        fields: Fields,
    },
    /// Change a record.
    Update {
        /// The kind of the record.
        kind: Kind,
        /// The id of the record.
        id: String,
        /// The changed fields.
        fields: Fields,
        /// The values that the user saw in the changed fields. When a value differs now, the write is refused. Empty:
        /// write in any case.
        seen: Fields,
        /// The title of the record, for the answer.
        title: String,
        /// When the task is due that follows a recurring task which this write completes.
        again: Option<Date>,
    },
    /// Change or delete several records, each on its own.
    Many {
        /// The kind of the records.
        kind: Kind,
        /// Ids and titles.
        records: Vec<(String, String)>,
        /// The changed fields; None: delete the records.
        change: Option<Fields>,
    },
    /// Attach a file to an item or a vehicle, or give it to a document.
    Attach {
        /// The path as typed.
        path: String,
        /// The kind of the record.
        kind: Kind,
        /// The id of the record.
        id: String,
        /// The title of the record, for the answer.
        title: String,
    },
    /// Import the rows of a file, all in one transaction.
    Import {
        /// The file that was read.
        draft: ImportDraft,
        /// The name of the file, for the answer.
        name: String,
        /// How many changes the preview has counted.
        changes: usize,
        /// Whether refused rows are left out; else one refused row stops the import.
        partial: bool,
    },
    /// Make a record of the drafts of a capture.
    Accept {
        /// The id of the capture.
        capture: String,
        /// The title of the capture, for the answer.
        title: String,
        /// What is taken.
        wish: Box<Acceptance>,
    },
    /// Have the files of a failed capture read again.
    RetryCapture {
        /// The id of the capture.
        capture: String,
        /// The title of the capture, for the answer.
        title: String,
    },
    /// Throw the drafts of a capture away.
    DiscardCapture {
        /// The id of the capture.
        capture: String,
        /// The title of the capture, for the answer.
        title: String,
    },
    /// Undo the last step.
    Undo,
    /// Redo the step that was undone last.
    Redo,
    /// Decide about the edit with this number.
    Decide(i64, Decision),
    /// Pause syncing (`true`) or resume syncing (`false`).
    Pause(bool),
    /// Try the server now, without waiting for the next attempt.
    SyncNow,
    /// Delete a record.
    Delete {
        /// The kind of the record.
        kind: Kind,
        /// The id of the record.
        id: String,
        /// The title of the record, for the answer.
        title: String,
    },
}

/// A decision about an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Send the edit again.
    Retry,
    /// Discard the edit.
    Discard,
    /// Undo the edit.
    Undo,
    /// Change the values of the edit.
    Change(Fields),
    /// Resolve the conflict.
    Resolve(Resolution),
}

/// A sort of request. A new request replaces an older one of the same slot: only the newest answer counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is named after its effect")]
pub enum Slot {
    Page,
    Totals,
    Overview,
    Figures,
    About,
    Assignees,
    RowPosition,
    All,
    SaveSession,
    Record,
    Search,
    Titles,
    Status,
    Counts,
    Edits,
    Captures,
    Log,
    Conflicts,
    Path,
}

impl Effect {
    /// The slot of a request. None: the effect is carried out in any case.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Effect::Page(..) => Some(Slot::Page),
            Effect::Totals(..) => Some(Slot::Totals),
            Effect::Overview(..) => Some(Slot::Overview),
            Effect::Figures(_) => Some(Slot::Figures),
            Effect::About(..) => Some(Slot::About),
            Effect::Assignees => Some(Slot::Assignees),
            Effect::RowPosition(..) => Some(Slot::RowPosition),
            Effect::All(_) => Some(Slot::All),
            Effect::SaveSession(_) => Some(Slot::SaveSession),
            Effect::Record(..) => Some(Slot::Record),
            Effect::Search(..) => Some(Slot::Search),
            Effect::Titles(..) => Some(Slot::Titles),
            Effect::Status => Some(Slot::Status),
            Effect::Counts => Some(Slot::Counts),
            Effect::Edits => Some(Slot::Edits),
            Effect::Captures => Some(Slot::Captures),
            Effect::Log => Some(Slot::Log),
            Effect::Conflicts => Some(Slot::Conflicts),
            Effect::Write(_) | Effect::Export(..) | Effect::Copy(_) | Effect::Editor(_) => None,
            Effect::Reopen | Effect::Suspend | Effect::TakeTerminal | Effect::Redraw | Effect::Quit => None,
            Effect::CompletePath(..) => Some(Slot::Path),
            Effect::Connect | Effect::OpenFile { .. } | Effect::ReadImport(..) => None,
        }
    }

    /// The ticket of a request, repeated by its answer. None: the request takes any answer of its slot.
    pub const fn ticket(&self) -> Option<u64> {
        match self {
            Effect::Page(ticket, _)
            | Effect::Totals(ticket, ..)
            | Effect::Overview(ticket, _)
            | Effect::About(ticket, _)
            | Effect::Record(ticket, ..)
            | Effect::Search(ticket, _)
            | Effect::Titles(ticket, ..)
            | Effect::CompletePath(ticket, _)
            | Effect::RowPosition(ticket, ..) => Some(*ticket),
            _ => None,
        }
    }
}

impl Answer {
    /// The slot and the ticket of the answered request. None: no key waits for the answer.
    pub const fn slot(&self) -> Option<(Slot, Option<u64>)> {
        match self {
            Answer::Page { ticket, .. } => Some((Slot::Page, Some(*ticket))),
            Answer::Overview(ticket, _) => Some((Slot::Overview, Some(*ticket))),
            Answer::About(ticket, _) => Some((Slot::About, Some(*ticket))),
            Answer::Record { ticket, .. } => Some((Slot::Record, Some(*ticket))),
            Answer::Hits { ticket, .. } => Some((Slot::Search, Some(*ticket))),
            Answer::Titles { ticket, .. } => Some((Slot::Titles, Some(*ticket))),
            Answer::RowPosition { ticket, .. } => Some((Slot::RowPosition, Some(*ticket))),
            Answer::PathCompleted { ticket, .. } => Some((Slot::Path, Some(*ticket))),
            Answer::All(..) => Some((Slot::All, None)),
            Answer::Assignees(_) => Some((Slot::Assignees, None)),
            Answer::Edits(_) => Some((Slot::Edits, None)),
            Answer::Captures(_) => Some((Slot::Captures, None)),
            Answer::Conflicts(_) => Some((Slot::Conflicts, None)),
            _ => None,
        }
    }

    /// Whether a write has ended with this answer, done or refused.
    pub const fn ends_write(&self) -> bool {
        matches!(
            self,
            Answer::Written(..)
                | Answer::RecordChanged(..)
                | Answer::RecordDeleted(_)
                | Answer::Decided(..)
                | Answer::ManyWritten(..)
                | Answer::Imported(..)
        )
    }
}
