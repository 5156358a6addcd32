//! The part of [`Replica`] for command lines: search by id, origins of values, counts, all rows, export, import, rebuild. Must
//! not hold SQL.

use std::path::Path;
use std::time::Duration;

use hearth_contract::schema::Kind;
use hearth_exchange::import::{Draft, Plan};

use crate::store::edits::EditError;
use crate::store::export::ExportSummary;
use crate::store::import::Imported;
use crate::store::read::counts::ReplicaCounts;
use crate::store::read::view::{Near, Row, RowQuery};
use crate::store::read::why::Why;
use crate::store::{self, StoreError};
use crate::sync::{SyncLock, wall_clock};
use crate::{Origin, RebuildReport, Replica};

/// The rows that [`Replica::each_row`] reads at once.
pub const PAGE_ROWS: usize = 500;

/// Prepares a database for a new download from the server: a damaged database, or one that a user does not trust. A
/// damaged file is kept under another name. Readable records and edits are carried over; the result names the other
/// edits. The caller must hold the sync lock.
pub fn rebuild(db: &Path, _right: &SyncLock) -> Result<RebuildReport, StoreError> {
    store::salvage::rebuild(db, wall_clock())
}

/// True when a database is damaged, by the look that `rebuild` has.
pub fn is_damaged(db: &Path) -> Result<bool, StoreError> {
    Ok(!store::salvage::is_sound(db)?)
}

/// Looks for damage before a claim about a database, for `limit` at most. An error: the database is damaged, or a reader
/// has reported damage that the look could not disprove.
pub fn look_for_damage(db: &Path, limit: Duration) -> Result<(), StoreError> {
    store::integrity::check_before_claim(db, limit, wall_clock())
}

/// True when a database or its remains exist. A write-ahead log without a database counts: the log is damage, not a
/// fresh start. An empty file without companions does not count. An unreadable path counts, and the caller gets the
/// error from `open`.
pub fn database_exists(db: &Path) -> bool {
    store::files::is_unreachable(db) || store::files::holds_bytes(db) || store::presence::lost_content(db).is_some()
}

impl Replica {
    /// Opens a database in a place without write access. Every write fails.
    pub fn open_read_only(db: &Path, origin: Origin) -> Result<Replica, StoreError> {
        Replica::with_connection(store::read_only::open_replica(db)?, db, origin, None)
    }

    /// Tells the process that syncs about an error of a read, if the error shows damage. The process looks through the file
    /// at once.
    pub fn report_damage(&self, error: &StoreError) {
        if error.is_damaged() {
            store::integrity::report_damage(&self.db);
        }
    }

    /// Calls `each` with every row of a query, in its order, one page in memory at a time. Returns the number of rows. Belongs
    /// into a snapshot: without one, a write of another process between two pages could repeat or skip a row.
    pub fn each_row<E: From<StoreError>>(
        &self,
        query: &RowQuery,
        mut each: impl FnMut(&Row) -> Result<(), E>,
    ) -> Result<usize, E> {
        let mut query = RowQuery { offset: 0, limit: PAGE_ROWS, near: None, ..query.clone() };
        loop {
            let page = self.rows(&query)?;
            for row in &page.rows {
                each(row)?;
            }
            query.offset += page.rows.len();
            let Some(last) = page.rows.last().filter(|_| query.offset < page.total) else { return Ok(query.offset) };
            query.near = Some(Near { id: last.id.clone(), number: query.offset - 1 });
        }
    }

    /// Finds records by the beginning of their ids, among `kinds`: kinds and ids, a few at most.
    /// `include_deleted` includes records that only edits or tombstones mention.
    pub fn find(&self, id: &str, kinds: &[Kind], include_deleted: bool) -> Result<Vec<(Kind, String)>, StoreError> {
        store::read::find::find_by_prefix(&self.connection.borrow(), id, kinds, include_deleted)
    }

    /// The shortest unique beginning of each id, in the same order.
    pub fn short_ids(&self, ids: &[&str]) -> Result<Vec<String>, StoreError> {
        store::read::find::short_ids(&self.connection.borrow(), ids)
    }

    /// The origin of each visible value of a record. None: the replica knows no such record.
    pub fn why(&self, kind: Kind, id: &str) -> Result<Option<Why>, StoreError> {
        store::read::why::explain_record(&self.connection.borrow(), kind, id)
    }

    /// Numbers of records, edits and settled edits, and file sizes.
    pub fn counts(&self) -> Result<ReplicaCounts, StoreError> {
        store::read::counts::load_counts(&self.connection.borrow(), &self.db)
    }

    /// What an import would do to the present records. Writes nothing.
    pub fn plan_import(&self, draft: &Draft) -> Result<Plan, StoreError> {
        store::import::plan(&self.connection.borrow(), draft)
    }

    /// Imports a file in one transaction: all rows or none. With `partial`, refused rows are left out. `progress` hears the
    /// number of changes made so far.
    pub fn import(&self, draft: &Draft, partial: bool, progress: &mut dyn FnMut(usize)) -> Result<Imported, EditError> {
        self.write(|connection| store::import::apply(connection, self.origin, draft, partial, progress))
    }

    /// Writes a consistent copy of the database to a new file, pending edits included. Error: the file exists.
    pub fn export(&self, file: &Path) -> Result<ExportSummary, StoreError> {
        store::export::write_copy(&self.connection.borrow(), &self.db, file)
    }
}
