//! A full, writable copy of one Hearth home in a local SQLite database. Read in this order:
//!
//! - [`Replica`]: the methods for screens and command lines: read rows, queue edits. `decisions`: methods that decide
//!   about edits. `control`: methods that steer a sync. `attached`: files of documents.
//!   `captured`: photos and drafts. `maintenance`: search by id, export, rebuild.
//! - `model`: plain types that all layers share. `store`: tables, triggers, merge of server state and edits. The only
//!   SQL.
//! - [`sync`]: keeps the copy current: a pure core that decides, and a driver with the IO. `supervisor`: restarts a
//!   sync after damage.
//! - [`notification`]: tells other processes about a change of the database.
//! - [`doctor`]: finds faults and names the next command; [`address`] adds the flags of the home to a command.
//! - `import_file`: reads the file of an import. `opener`: opens a file on the desktop. `qr`: QR codes for a terminal.
//!   [`log`]: log lines of a sync. [`profile`]: the database, server and key of a home.
//!
//! The database is a public interface: a script with plain SQL can do all that this crate does.

pub mod address;
mod attached;
mod captured;
mod control;
pub mod core_dumps;
mod decisions;
pub mod doctor;
mod import_file;
pub mod log;
mod maintenance;
mod model;
pub mod notification;
mod opener;
pub mod profile;
mod qr;
mod store;
mod supervisor;
pub mod sync;
mod sync_config;

use std::cell::{Cell, RefCell, RefMut};
use std::path::{Path, PathBuf};

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;

pub use import_file::{ImportFileError, kind_by_name, read_import_file, read_import_source};
pub use opener::{OpenError, open_file};
pub use qr::qr_lines;
use store::Connection;
pub use store::presence::OpenedFile;

pub use maintenance::{PAGE_ROWS, database_exists, is_damaged, look_for_damage, rebuild};
pub use model::ConflictPolicy;
pub use model::{
    BlockCause, CapturePurpose, CaptureState, Conflict, Edit, EditOutcome, EditProgress, EditState, FileState,
    LogLevel, Method, Origin, Phase, ReasonCode, Settled, Transport,
};
pub use store::StoreError;
pub use store::captures::accept::{Acceptance, Taken};
pub use store::captures::make::{CAPTURE_FILES_MAX, NewCapture};
pub use store::captures::table::{Capture, Draft};
pub use store::edits::Decided;
pub use store::edits::EditError;
pub use store::edits::resolve::{Choice, Resolution};
pub use store::export::ExportSummary;
pub use store::file_store::attach::{AttachError, Attached, FILE_BYTES_MAX};
pub use store::file_store::bytes::FileFacts;
pub use store::file_store::list::{DOCUMENTS_MAX, FileCounts, FileDocument, FileRow};
pub use store::file_store::table::FileChoice;
pub use store::file_store::upkeep::FileUpkeep;
pub use store::files::{database_was_removed, new_private_file};
pub use store::import::Imported;
pub use store::integrity::report_damage;
pub use store::open::can_be_replica;
pub use store::outside::{HeldChanges, Restored};
pub use store::read::counts::ReplicaCounts;
pub use store::read::days::{Days, PAST_DAYS, SOON_DAYS, week_end};
pub use store::read::filter::{Condition, Test, WAITING};
pub use store::read::find::ID_PREFIX_MIN;
pub use store::read::overview::{Expiring, Figures, Latest, Overview};
pub use store::read::query::{Rows, read_query};
pub use store::read::related::{Change, Related};
pub use store::read::totals::{DUE_GROUPS, Group, Totals, Weeks};
pub use store::read::view::{Hit, Near, Pending, Row, RowPage, RowQuery, Sort};
pub use store::read::why::{Source, ValueOrigin, Why};
pub use store::reconcile::verify::{Difference, FieldDifference, How, Listing, Verification};
pub use store::salvage::rebuild_request::{
    is_rebuild_requested, request_rebuild, take_rebuild_report, take_rebuild_request,
};
pub use store::salvage::{DAMAGED_COPIES_MAX, RebuildReport};
pub use store::schema::worth::WORTH;
pub use store::status::Status;
pub use store::sync_log::LogLine;
pub use supervisor::supervise_sync;
pub use sync::wall_clock as now;

/// One connection to a replica. Each call is one short transaction. Not `Sync`: a thread opens a replica of its own.
#[derive(Debug)]
pub struct Replica {
    connection: RefCell<Connection>,
    db: PathBuf,
    place: OpenedFile,
    origin: Origin,
    /// `PRAGMA schema_version` at the last look at the tables and triggers.
    schema_version: Cell<i64>,
    restored: Option<Restored>,
}

impl Replica {
    /// Opens or creates the database. A new directory gets mode 0700, the file 0600. The schema is migrated to the
    /// newest version.
    pub fn open(db: &Path, origin: Origin) -> Result<Replica, StoreError> {
        let (connection, restored) = store::open::read_write_and_report(db)?;
        let replica = Replica::with_connection(connection, db, origin, restored)?;
        match replica.make_next_tasks() {
            // A person's own index or trigger refuses the next task. Reading, and all other changes, go on.
            Err(error) if error.is_refused_by_user_object() => {
                tracing::warn!(%error, "the next task of a completed task could not be made; hearth-replica doctor tells more");
                Ok(replica)
            }
            // Another program may lock the database. Then the next program makes the next tasks.
            Err(error) if !error.is_busy() && !error.is_write_failure() => Err(error),
            _ => Ok(replica),
        }
    }

    fn with_connection(
        connection: Connection,
        db: &Path,
        origin: Origin,
        restored: Option<Restored>,
    ) -> Result<Replica, StoreError> {
        let schema_version = store::connection::schema_version(&connection)?.into();
        let (connection, place) = (connection.into(), OpenedFile::new(db));
        Ok(Replica { connection, db: db.to_owned(), place, origin, schema_version, restored })
    }

    /// What `open` has restored, because another program had removed or altered it. None when nothing was.
    pub fn restored(&self) -> Option<&Restored> {
        self.restored.as_ref()
    }

    /// Makes the next tasks of recurring tasks that a script has completed. Programs that stay open call this when another
    /// program has changed the database. True when there was one.
    pub fn make_next_tasks(&self) -> Result<bool, StoreError> {
        if !store::edits::next_tasks::make::is_due(&self.connection.borrow())? {
            return Ok(false);
        }
        self.write(store::edits::next_tasks::make::make_due).map(|()| true)
    }

    /// Runs several reads in one snapshot, such as the pages of a list. Concurrent writes are not visible to `reads`.
    /// Error: a write through the same replica inside `reads`.
    pub fn in_snapshot<T, E: From<StoreError>>(&self, reads: impl FnOnce(&Replica) -> Result<T, E>) -> Result<T, E> {
        store::read::at_one_moment(&self.connection.borrow(), || reads(self))
    }

    /// One page of the rows of a kind, with the total number of rows.
    pub fn rows(&self, query: &RowQuery) -> Result<RowPage, StoreError> {
        store::read::page::page(&self.connection.borrow(), query)
    }

    /// The totals of a list, and the groups of its sort order. `weeks` divides the days of tasks into groups.
    pub fn totals(&self, query: &RowQuery, weeks: &Weeks) -> Result<Totals, StoreError> {
        store::read::totals::totals(&self.connection.borrow(), query, weeks)
    }

    /// What the overview screen shows: due tasks, ending warranties and documents, the number of drafts to look at, the profile, and
    /// the last change by another person.
    pub fn overview(&self, days: &Days) -> Result<Overview, StoreError> {
        store::read::overview::load_overview(&self.connection.borrow(), days)
    }

    /// The worth of the home's inventory, and the number of changed records per day since `since` (`YYYY-MM-DD`).
    pub fn figures(&self, since: &str) -> Result<Figures, StoreError> {
        store::read::overview::figures(&self.connection.borrow(), since)
    }

    /// The records that refer to a record: for each kind the total and at most `most` rows.
    pub fn related(&self, kind: Kind, id: &str, most: usize) -> Result<Vec<Related>, StoreError> {
        store::read::related::related(&self.connection.borrow(), kind, id, most)
    }

    /// The changes of a record from this machine, newest first, at most `most`.
    pub fn changes(&self, kind: Kind, id: &str, most: usize) -> Result<Vec<Change>, StoreError> {
        store::read::related::changes(&self.connection.borrow(), kind, id, most)
    }

    /// One row by its whole id. None: no such row. For the home's profile any id works, as a home has one profile.
    pub fn row(&self, kind: Kind, id: &str) -> Result<Option<Row>, StoreError> {
        store::read::view::row(&self.connection.borrow(), kind, id)
    }

    /// Full-text search over all kinds, best match first. Each word in `words` must be the beginning of a word in the
    /// record. Without words the result is empty.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        store::read::view::search(&self.connection.borrow(), words, limit)
    }

    /// Ids and titles of a kind, sorted by title; the choices for a reference field.
    pub fn titles(&self, kind: Kind, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
        store::read::page::titles(&self.connection.borrow(), kind, limit)
    }

    /// The names of the people who have tasks, the most frequent first.
    pub fn assignees(&self, limit: usize) -> Result<Vec<String>, StoreError> {
        store::read::page::assignees(&self.connection.borrow(), limit)
    }

    /// The status of the replica: phase, position, backlog, and the last contact with the server.
    pub fn status(&self) -> Result<Status, StoreError> {
        store::status::load_status(&self.connection.borrow())
    }

    /// The edits that the server has not confirmed, oldest first.
    pub fn edits(&self) -> Result<Vec<Edit>, StoreError> {
        store::edits::list(&self.connection.borrow())
    }

    /// Creates a record and returns its id. An `id` in `fields` becomes the id of the record; otherwise the id is
    /// generated.
    pub fn create(&self, kind: Kind, fields: &Fields) -> Result<String, EditError> {
        self.write(|connection| store::edits::create(connection, self.origin, kind, fields))
    }

    /// Changes the fields whose values differ. For the home's profile `id` may be empty, and the row is created if
    /// missing.
    pub fn update(&self, kind: Kind, id: &str, fields: &Fields) -> Result<(), EditError> {
        self.write(|connection| store::edits::update(connection, self.origin, kind, id, fields))
    }

    /// [`Replica::update`] for a form that stayed open. `seen` holds the values that the form showed at the start.
    /// False: a field in `seen` has another value by now, and nothing was written.
    pub fn update_seen(&self, kind: Kind, id: &str, fields: &Fields, seen: &Fields) -> Result<bool, EditError> {
        self.write(|connection| store::edits::update_seen(connection, self.origin, kind, id, fields, seen))
    }

    /// Deletes a record. Error `NotFound`: no such record.
    pub fn delete(&self, kind: Kind, id: &str) -> Result<(), EditError> {
        self.write(|connection| store::edits::delete(connection, self.origin, kind, id))
    }

    /// The settled edits of the last 30 days, the last settled first, at most `limit`.
    pub fn history(&self, limit: usize) -> Result<Vec<Settled>, StoreError> {
        store::edits::history::list(&self.connection.borrow(), limit)
    }

    /// Ids of the edits (and superseded history entries) created by the last write on this handle, in order. Writes of
    /// other connections are not included. The ids serve as arguments of [`Replica::undo`].
    pub fn last_write_ids(&self) -> Result<Vec<i64>, StoreError> {
        store::gate::last_edit_ids(&self.connection.borrow())
    }

    /// The fields in conflict: changed both here and on the server. Each waits for a decision.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        store::edits::history::conflicts(&self.connection.borrow())
    }

    /// Binds the replica to the home that the server named. False: the replica already belongs to another home, and
    /// nothing changes. A refill of another home that was cut is given up: a person names the replica's own home again.
    pub fn adopt(&self, server: &str, home: &sync::Identity) -> Result<bool, StoreError> {
        let home = sync::stored_home(server, home);
        let connection = &mut *self.write_connection()?;
        if !store::sync_state::adopt_home(connection, &home)? {
            return Ok(false);
        }
        store::refill::give_up(connection)?;
        Ok(true)
    }

    /// Makes the database follow a home that was filled with the records of its own, lost home. The caller holds the sync lock.
    pub fn take_over(&self, server: &str, home: &sync::Identity) -> Result<(), StoreError> {
        store::refill::take_over(&mut *self.write_connection()?, &sync::stored_home(server, home))
    }

    /// The connection for a write. Error: the path no longer leads to the opened file, so a write would be lost.
    fn write_connection(&self) -> Result<RefMut<'_, Connection>, StoreError> {
        self.place.ensure_unmoved()?;
        let connection = self
            .connection
            .try_borrow_mut()
            .map_err(|_| StoreError::Unexpected("a change among reads that are of one moment".to_owned()))?;
        let schema_version = store::connection::schema_version(&connection)?;
        if self.schema_version.replace(schema_version) != schema_version {
            // Without triggers the write would be no edit. To open the database restores what is missing.
            store::open::read_write(&self.db)?;
        }
        Ok(connection)
    }

    /// Writes, and notifies other programs of the change.
    fn write<T, E: From<StoreError>>(&self, work: impl FnOnce(&mut Connection) -> Result<T, E>) -> Result<T, E> {
        let value = work(&mut *self.write_connection()?)?;
        notification::notify(&self.db);
        Ok(value)
    }
}
