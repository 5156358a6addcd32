//! What command lines ask of a [`Replica`] beyond what screens do: finding by id, origins, copies.

use std::path::Path;

use hearth_contract::schema::Kind;

use crate::store::export::ExportSummary;
use crate::store::presence::OpenedFile;
use crate::store::read::counts::ReplicaCounts;
use crate::store::read::find::IdMatch;
use crate::store::read::why::Why;
use crate::store::{self, StoreError};
use crate::sync::{SyncLock, wall_clock};
use crate::{Origin, RebuildReport, Replica};

/// Makes a database fit to be filled from the server again: one that is damaged or missing, or one that a person does
/// not trust. A damaged file is kept aside; edits are carried over as far as they can be read, and named where not.
/// Only who has the right to sync it may do so.
pub fn rebuild(db: &Path, _right: &SyncLock) -> Result<RebuildReport, StoreError> {
    store::salvage::rebuild(db, wall_clock())
}

/// An error for a file of something else than a replica. To be asked before anything is made beside it.
pub fn can_be_replica(db: &Path) -> Result<(), StoreError> {
    store::open::check_ownership(db)
}

/// Whether there is a database, or what one has left behind: a log without it is damage, not a new beginning. A file that
/// holds nothing and has nothing of a replica beside it is as good as none; one that may not be looked at counts as there, so
/// that whoever opens it hears why.
pub fn is_there(db: &Path) -> bool {
    store::files::is_unreachable(db) || store::files::holds_bytes(db) || store::presence::lost_content(db).is_some()
}

/// Whether there was a database here and is none any more, nor a log of it: to open one makes it anew, without edits that only
/// the other held.
pub fn is_gone(db: &Path) -> bool {
    store::files::is_gone(db)
}

impl Replica {
    /// Opens a database that cannot be written to where it stands, as it is. Every change through it fails.
    pub fn open_to_read(db: &Path, origin: Origin) -> Result<Replica, StoreError> {
        let connection = store::read_only::open_replica(db)?.into();
        Ok(Replica { connection, db: db.to_owned(), place: OpenedFile::new(db), origin })
    }

    /// The record whose id begins so, of one of these kinds. `also_gone` finds those too of which only edits or the
    /// server's deletes tell.
    pub fn find(&self, id: &str, kinds: &[Kind], also_gone: bool) -> Result<IdMatch, StoreError> {
        store::read::find::find_by_prefix(&self.connection.borrow(), id, kinds, also_gone)
    }

    /// How much of each id is enough to name it, in the same order.
    pub fn short_ids(&self, ids: &[&str]) -> Result<Vec<String>, StoreError> {
        store::read::find::short_ids(&self.connection.borrow(), ids)
    }

    /// Where each value that is shown of a record comes from; None when nothing is known of such a record.
    pub fn why(&self, kind: Kind, id: &str) -> Result<Option<Why>, StoreError> {
        store::read::why::explain_record(&self.connection.borrow(), kind, id)
    }

    /// How much there is of everything.
    pub fn tally(&self) -> Result<ReplicaCounts, StoreError> {
        store::read::counts::load_counts(&self.connection.borrow(), &self.db)
    }

    /// Writes a consistent copy of the whole database to a file that does not exist yet, pending edits included.
    pub fn export(&self, file: &Path) -> Result<ExportSummary, StoreError> {
        store::export::write_copy(&self.connection.borrow(), file)
    }
}
