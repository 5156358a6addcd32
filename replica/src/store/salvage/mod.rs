//! `rebuild`: reads a database anew from the server, because of damage or on request. The damaged file is kept. What can be read
//! goes into a new database: edits, history, log, objects of people, and the base images of the records, until the server shows them. Must not write to a file while other programs write to it.
//!
//! - [`rebuild`]: the steps. [`report`]: the result. [`rebuild_request`]: the request of a person, to the process that syncs.
//! - [`copies`]: the files that are kept, and work copies. [`header`]: repairs the first bytes of a file.
//! - [`opened_copy`], [`reader`]: read a damaged file table by table, row by row.
//! - [`local_data`], [`extract`], [`write_local_data`]: what is carried over.
//! - [`inferred_edits`]: traces of lost edits.
//! - [`user_objects`], [`column_definitions`]: objects and columns that people have added.

mod column_definitions;
mod copies;
mod extract;
mod header;
mod inferred_edits;
mod local_data;
mod opened_copy;
mod reader;
mod rebuild;
pub(crate) mod rebuild_request;
mod report;
mod user_objects;
mod write_local_data;

pub use self::copies::DAMAGED_COPIES_MAX;
pub(crate) use self::copies::damaged_copies;
#[cfg(test)]
pub(in crate::store) use self::local_data::LOCAL_TABLES;
pub(crate) use self::rebuild::rebuild;
pub use self::report::RebuildReport;
