//! The files that documents name (contract 21): their bytes in a folder beside the database, and the public table `files`.
//! Must not know how files reach the server and come back.
//!
//! - [`bytes`]: the folder. Bytes stand there under their hash before a row says so.
//! - [`table`]: the rows. [`list`]: rows with the documents that name them. [`attach`]: a new file and its document, as an edit.
//! - [`texts`]: what the server has read in them.
//! - [`upload`]: what follows from an upload or a download; edits that wait for a file. [`retry`]: edits that failed because of
//!   their file. [`upkeep`]: brings rows and folder together, removes old files.

pub(crate) mod attach;
pub(crate) mod bytes;
pub(crate) mod list;
pub(crate) mod retry;
pub(crate) mod table;
pub(crate) mod texts;
pub(crate) mod upkeep;
pub(crate) mod upload;
