//! The part of [`Replica`] for captures: photos and papers from which the server makes drafts. Must not hold SQL.

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;

use crate::Replica;
use crate::store::StoreError;
use crate::store::captures::accept::{self, Acceptance};
use crate::store::captures::make::{self, NewCapture};
use crate::store::captures::table::{self, Capture};
use crate::store::edits::EditError;
use crate::store::file_store::attach::AttachError;

impl Replica {
    /// Copies the files beside the database and notes the capture; returns its id. Both are on the disk when the call returns,
    /// and are sent when a server answers.
    pub fn capture(&self, new: &NewCapture, now: Timestamp) -> Result<String, AttachError> {
        self.write(|connection| make::capture(connection, &self.db, new, now))
    }

    /// The captures, the newest first.
    pub fn captures(&self) -> Result<Vec<Capture>, StoreError> {
        table::list(&self.connection.borrow())
    }

    /// Makes edits of the drafts of a capture, and returns the record. The server learns of it when it has the record.
    pub fn accept_capture(&self, id: &str, wish: &Acceptance) -> Result<(Kind, String), EditError> {
        self.write(|connection| accept::accept(connection, self.origin, id, wish))
    }

    /// Has a failed capture read again, and returns the id of its copy, which is sent when a server answers.
    pub fn retry_capture(&self, id: &str) -> Result<String, EditError> {
        self.write(|connection| accept::retry(connection, id))
    }

    /// Throws the drafts of a capture away.
    pub fn discard_capture(&self, id: &str) -> Result<(), EditError> {
        self.write(|connection| accept::discard(connection, id))
    }
}
