//! A transaction, and the work that it leaves for the commit. Must not know what the rows mean.

use std::cell::{Cell, RefCell};

use hearth_contract::schema::Kind;
use rusqlite::Connection;
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;

/// A transaction. Its reads see one moment; its writes become durable and visible together.
pub struct Tx<'c> {
    pub(super) conn: &'c Connection,
    /// What the commit of the batch must do for this job.
    pub(super) pending: RefCell<Pending>,
    /// True after an event was appended, until the new head of the home is saved.
    pub(super) is_head_unsaved: Cell<bool>,
    /// Row id of the first event that this job has appended.
    pub(super) first_appended: Cell<Option<i64>>,
    /// True when a command of this job may add values, by a create or an update.
    adds_values: Cell<bool>,
    /// Bytes by which the bodies in the log have grown in this job, until the home is saved.
    pub(super) event_bytes: Cell<i64>,
    /// True when the writes are to be rolled back although the job succeeded.
    pub(super) is_rolled_back: Cell<bool>,
}

/// Work that jobs leave for the end of their batch.
#[derive(Default)]
pub(super) struct Pending {
    /// Homes with new events and their new heads: their subscribers are notified after the commit.
    pub(super) new_heads: Vec<(HomeNumber, i64)>,
    /// Changes of the full-text index, applied before the commit.
    pub(super) search_changes: Vec<SearchChange>,
    /// Number of events appended.
    pub(super) events_appended: u64,
}

/// A change of the full-text index. All changes wait for the end of the batch: FTS5 writes its whole memory to disk
/// whenever a savepoint opens, and each job has a savepoint.
pub(super) enum SearchChange {
    /// Insert or replace the row of a record. `is_new`: the record had no row before. `reading`: None keeps what was read.
    Put { rowid: i64, is_new: bool, record: (Kind, Uuid), title: String, body: String, reading: Option<String> },
    /// Replace some texts in the row of a record.
    Texts { rowid: i64, title: Option<String>, reading: Option<String> },
    /// Delete the row of a record.
    Remove { rowid: i64 },
}

impl Pending {
    /// Adds the work that a later job leaves.
    pub(super) fn merge(&mut self, other: Pending) {
        self.new_heads.extend(other.new_heads);
        self.search_changes.extend(other.search_changes);
        self.events_appended += other.events_appended;
    }
}

impl<'c> Tx<'c> {
    pub(super) fn new(conn: &'c Connection) -> Tx<'c> {
        Tx {
            conn,
            pending: RefCell::default(),
            is_head_unsaved: Cell::new(false),
            first_appended: Cell::new(None),
            adds_values: Cell::new(false),
            event_bytes: Cell::new(0),
            is_rolled_back: Cell::new(false),
        }
    }

    /// Notes that a command creates or updates a record.
    pub fn note_values(&self) {
        self.adds_values.set(true);
    }

    /// Whether this job has written values of records, beside deletes and the references that they clear.
    pub fn has_added_values(&self) -> bool {
        self.adds_values.get() && self.first_appended.get().is_some()
    }

    /// Rolls back all writes of this job at its end; the caller still gets the value of the job.
    pub fn roll_back(&self) {
        self.is_rolled_back.set(true);
    }

    /// With the fault planted: commits the writes so far, and continues the job in another transaction.
    pub(super) fn commit_early_if(&self, fault: hearth_simulated::PlantedFault) -> Result<(), StoreError> {
        if hearth_simulated::planted(fault) {
            self.conn.execute_batch("COMMIT; BEGIN IMMEDIATE; SAVEPOINT job")?;
        }
        Ok(())
    }

    /// A number that changes whenever another connection wrote. On the writer: whenever another process wrote.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        Ok(self.conn.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
    }
}
