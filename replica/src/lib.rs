//! A full, writable copy of one Hearth home in a local SQLite database. Read in this order:
//!
//! - [`Replica`]: what screens and command lines do with it: read rows, queue edits.
//! - `store`: the tables, their triggers, and how the server's word and local edits come together. The only SQL.
//! - [`sync`]: how the copy is kept in step: a pure core that decides, a driver that carries out.
//! - [`bell`]: how processes on one database hear of each other's changes.
//! - [`doctor`]: what is wrong and what to type about it; [`address`]: for which home.
//! - [`log`]: what the sync says of itself, line by line.
//! - [`profile`]: which database, which server, which key.
//!
//! The database is a public interface: whatever this crate does, a script may do with plain SQL beside it.

pub mod address;
pub mod bell;
mod deciding;
pub mod doctor;
pub mod log;
mod model;
pub mod profile;
mod recovery;
mod scripting;
mod steady;
mod steering;
mod store;
pub mod sync;

use std::cell::{RefCell, RefMut};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;

use store::Connection;
pub use store::presence::OpenedFile;

pub use model::{
    BlockCause, Conflict, Edit, EditOutcome, EditProgress, EditState, Method, Origin, Phase, ReasonCode, Settled,
    Transport,
};
pub use scripting::{can_be_replica, is_gone, is_there, rebuild};
pub use steady::keep_in_step;
pub use store::StoreError;
pub use store::edits::EditError;
pub use store::edits::decide::Decided;
pub use store::edits::judge::ConflictPolicy;
pub use store::edits::resolve::{Choice, Resolution};
pub use store::export::ExportSummary;
pub use store::read::counts::ReplicaCounts;
pub use store::read::filter::{Condition, Test, WAITING};
pub use store::read::find::{ID_PREFIX_MIN, IdMatch};
pub use store::read::overview::{Days, Expiring, Figures, Latest, Overview};
pub use store::read::query::{Rows, Table, read_query};
pub use store::read::related::{Change, Related};
pub use store::read::totals::{Group, Totals};
pub use store::read::view::{Hit, Near, Pending, Row, RowPage, RowQuery, Sort};
pub use store::read::why::{Source, ValueOrigin, Why};
pub use store::recovery::verify::{Difference, How, Listing, Verification};
pub use store::salvage::{DAMAGED_COPIES_MAX, RebuildReport};
pub use store::status::Status;
pub use store::sync_log::LogLine;

/// One connection to a replica. Every call is one short transaction.
#[derive(Debug)]
pub struct Replica {
    connection: RefCell<Connection>,
    db: PathBuf,
    place: OpenedFile,
    origin: Origin,
}

impl Replica {
    /// Opens or creates the database: directory 0700, file 0600, schema up to date.
    pub fn open(db: &Path, origin: Origin) -> Result<Replica, StoreError> {
        let connection = store::open::read_write(db)?.into();
        Ok(Replica { connection, db: db.to_owned(), place: OpenedFile::new(db), origin })
    }

    /// Reads that belong together, such as the pages of a list: what others write meanwhile is in none of them. Nothing can be
    /// changed through this replica before they end.
    pub fn at_one_moment<T, E: From<StoreError>>(&self, reads: impl FnOnce(&Replica) -> Result<T, E>) -> Result<T, E> {
        store::read::at_one_moment(&self.connection.borrow(), || reads(self))
    }

    /// One page of a kind's rows.
    pub fn rows(&self, query: &RowQuery) -> Result<RowPage, StoreError> {
        store::read::page::page(&self.connection.borrow(), query)
    }

    /// What the rows of a list come to, and the groups of its order. Days are dates; `week` is the last of this week.
    pub fn totals(&self, query: &RowQuery, today: &str, week: &str) -> Result<Totals, StoreError> {
        store::read::totals::totals(&self.connection.borrow(), query, today, week)
    }

    /// What needs attention.
    pub fn overview(&self, days: &Days) -> Result<Overview, StoreError> {
        store::read::overview::load_overview(&self.connection.borrow(), days)
    }

    /// What the home is worth, and how many records changed on each day since one.
    pub fn figures(&self, since: &str) -> Result<Figures, StoreError> {
        store::read::overview::figures(&self.connection.borrow(), since)
    }

    /// The records that refer to one, so many of each kind.
    pub fn related(&self, kind: Kind, id: &str, most: usize) -> Result<Vec<Related>, StoreError> {
        store::read::related::related(&self.connection.borrow(), kind, id, most)
    }

    /// The changes of a record that were made on this machine, newest first.
    pub fn changes(&self, kind: Kind, id: &str, most: usize) -> Result<Vec<Change>, StoreError> {
        store::read::related::changes(&self.connection.borrow(), kind, id, most)
    }

    /// One row. The home's profile is found whatever the id.
    pub fn row(&self, kind: Kind, id: &str) -> Result<Option<Row>, StoreError> {
        store::read::view::row(&self.connection.borrow(), kind, id)
    }

    /// Records of any kind in whose text every word begins a word, best first. Without a word: none.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        store::read::view::search(&self.connection.borrow(), words, limit)
    }

    /// Ids and titles of a kind, by title; for choosing what a reference points at.
    pub fn titles(&self, kind: Kind, words: &str, limit: usize) -> Result<Vec<(String, String)>, StoreError> {
        store::read::page::titles(&self.connection.borrow(), kind, words, limit)
    }

    /// Where the replica stands.
    pub fn status(&self) -> Result<Status, StoreError> {
        store::status::load_status(&self.connection.borrow())
    }

    /// The edits that are not settled, oldest first.
    pub fn edits(&self) -> Result<Vec<Edit>, StoreError> {
        store::edits::list(&self.connection.borrow())
    }

    /// Creates a record and gives its id. An `id` among the fields is taken.
    pub fn create(&self, kind: Kind, fields: &Fields) -> Result<String, EditError> {
        self.changed(store::edits::create(&mut *self.writing()?, self.origin, kind, fields))
    }

    /// Changes the fields that differ. The home's profile needs no id and no row.
    pub fn update(&self, kind: Kind, id: &str, fields: &Fields) -> Result<(), EditError> {
        self.changed(store::edits::update(&mut *self.writing()?, self.origin, kind, id, fields))
    }

    /// [`Replica::update`] by somebody who saw these values when they began, as in a form that stayed open. False: a field
    /// of `seen` has got another value since, so nothing is written and they can look before they write over it.
    pub fn update_seen(&self, kind: Kind, id: &str, fields: &Fields, seen: &Fields) -> Result<bool, EditError> {
        let origin = self.origin;
        self.changed(store::edits::update_seen(&mut *self.writing()?, origin, kind, id, fields, seen))
    }

    /// Deletes a record.
    pub fn delete(&self, kind: Kind, id: &str) -> Result<(), EditError> {
        self.changed(store::edits::delete(&mut *self.writing()?, self.origin, kind, id))
    }

    /// The edits that were settled within the last 30 days, the last settled first.
    pub fn history(&self, limit: usize) -> Result<Vec<Settled>, StoreError> {
        store::edits::history::list(&self.connection.borrow(), limit)
    }

    /// The numbers that the last change through this replica drew, in their order: of the edits it queued, and of the values
    /// that lost by it, which undoing brings back. Whoever else writes meanwhile has no part in them.
    pub fn made(&self) -> Result<Vec<i64>, StoreError> {
        store::gate::last_edit_ids(&self.connection.borrow())
    }

    /// The fields that were changed here and there and wait for a decision.
    pub fn conflicts(&self) -> Result<Vec<Conflict>, StoreError> {
        store::edits::history::conflicts(&self.connection.borrow())
    }

    /// Makes this the replica of the home that a server has named. False: it is the replica of another home, and
    /// stays so, because two homes must not mix.
    pub fn adopt(&self, server: &str, home: &sync::Identity) -> Result<bool, StoreError> {
        let home = sync::home(server, home);
        store::sync_state::adopt_home(&mut *self.writing()?, &home)
    }

    /// The connection, to write with: never to a file that nobody will find again.
    fn writing(&self) -> Result<RefMut<'_, Connection>, StoreError> {
        self.place.ensure_unmoved()?;
        self.connection
            .try_borrow_mut()
            .map_err(|_| StoreError::Unexpected("a change among reads that are of one moment".to_owned()))
    }

    fn changed<T>(&self, result: Result<T, EditError>) -> Result<T, EditError> {
        if result.is_ok() {
            bell::ring(&self.db);
        }
        result
    }
}

/// This machine's idea of the time: for when something was settled, never for what is decided.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
