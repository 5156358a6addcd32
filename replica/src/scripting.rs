//! What command lines ask of a [`Replica`] beyond what screens do: finding by id or value, origins, copies.

use std::path::Path;

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;

use crate::store::copy::Copied;
use crate::store::find::Found;
use crate::store::why::Why;
use crate::store::{self, StoreError};
use crate::{Replica, RowPage, Sort};

impl Replica {
    /// The record whose id begins so, of one of these kinds. `also_gone` finds those too of which only edits or the
    /// server's deletes tell.
    pub fn find(&self, id: &str, kinds: &[Kind], also_gone: bool) -> Result<Found, StoreError> {
        store::find::by_id(&self.connection.borrow(), id, kinds, also_gone)
    }

    /// The rows of a kind that have these values; null is a field that is not set.
    pub fn matching(&self, kind: Kind, values: &Fields, sort: Sort, limit: usize) -> Result<RowPage, StoreError> {
        store::find::matching(&self.connection.borrow(), kind, values, sort, limit)
    }

    /// How much of each id is enough to name it, in the same order.
    pub fn short_ids(&self, ids: &[&str]) -> Result<Vec<String>, StoreError> {
        store::find::short_ids(&self.connection.borrow(), ids)
    }

    /// Where each value that is shown of a record comes from; None when nothing is known of such a record.
    pub fn why(&self, kind: Kind, id: &str) -> Result<Option<Why>, StoreError> {
        store::why::read(&self.connection.borrow(), kind, id)
    }

    /// Writes a consistent copy of the whole database to a file that does not exist yet, pending edits included.
    pub fn export(&self, file: &Path) -> Result<Copied, StoreError> {
        store::copy::write(&self.connection.borrow(), file)
    }
}
