//! The part of [`Replica`] for the files of documents: attach, list, ask for bytes, look after the folder. Must not hold SQL.

use std::path::PathBuf;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;

use crate::Replica;
use crate::store::StoreError;
use crate::store::file_store::attach::{self, AttachError, Attached};
use crate::store::file_store::bytes;
use crate::store::file_store::list::{self, FileCounts, FileRow};
use crate::store::file_store::table::{self, FileChoice};
use crate::store::file_store::upkeep::{self, FileUpkeep};
use crate::store::file_store::upload;
use crate::store::gate;

impl Replica {
    /// Copies files beside the database, and makes a document of each or gives one to an existing document: all of them, or none.
    /// `fields`: of the documents; without a title, the name of the file is the title of a new document.
    /// The bytes and the edits are on the disk when the call returns; the uploads follow when a server answers.
    pub fn attach(
        &self,
        files: &[PathBuf],
        fields: &Fields,
        document: Option<&str>,
    ) -> Result<Vec<Attached>, AttachError> {
        self.write(|connection| attach::attach(connection, &self.db, self.origin, files, fields, document))
    }

    /// The files that documents name, at most `limit`, by their hash.
    pub fn files(&self, limit: usize) -> Result<Vec<FileRow>, StoreError> {
        list::list(&self.connection.borrow(), limit)
    }

    /// One file by its whole hash. None: no such file.
    pub fn file(&self, sha256: &str) -> Result<Option<FileRow>, StoreError> {
        list::one(&self.connection.borrow(), sha256)
    }

    /// The hashes of files that begin with a text, at most two.
    pub fn file_hashes(&self, beginning: &str) -> Result<Vec<String>, StoreError> {
        list::hashes_beginning(&self.connection.borrow(), beginning)
    }

    /// Hashes of the files whose bytes are here and not yet on the server, sorted: for a program that sends them itself.
    pub fn files_to_send(&self) -> Result<Vec<String>, StoreError> {
        table::to_upload(&self.connection.borrow())
    }

    /// Notes that the server has a file: the edits that name it need not wait any more.
    pub fn file_was_sent(&self, sha256: &str) -> Result<(), StoreError> {
        self.write(|connection| upload::uploaded(connection, sha256))
    }

    /// Numbers of files by their state.
    pub fn file_counts(&self) -> Result<FileCounts, StoreError> {
        list::counts(&self.connection.borrow())
    }

    /// The path of a file's bytes. None when they are not here.
    pub fn file_path(&self, sha256: &str) -> Option<PathBuf> {
        bytes::path(&self.db, sha256).filter(|path| path.is_file())
    }

    /// The folder with the bytes of all files. It may not exist yet.
    pub fn files_folder(&self) -> PathBuf {
        bytes::folder(&self.db)
    }

    /// Asks the process that syncs for bytes that are not here. Returns how many files are asked for.
    pub fn request_files(&self, choice: FileChoice<'_>, now: Timestamp) -> Result<usize, StoreError> {
        self.write(|connection| gate::sync_tx(connection, |tx| table::request(tx, choice, now)))
    }

    /// Brings rows and folder together, and removes files that no document has named for seven days. `reads_all`: compares the
    /// bytes of every file with its hash.
    pub fn look_after_files(&self, reads_all: bool, now: Timestamp) -> Result<FileUpkeep, StoreError> {
        self.write(|connection| upkeep::look_after(connection, &self.db, reads_all, now))
    }
}
