//! `rebuild`: reads a database anew from the server, because of damage or on request. The damaged file is kept. What can be read
//! goes into a new database: edits, history, log, objects of people, and base images. The base images make the rows until the server
//! shows the records again. Must not write to a file while other programs write to it.
//!
//! - [`rebuild`]: the steps. [`report`]: the result. [`rebuild_request`]: the request of a person, to the process that syncs.
//! - [`copies`]: the files that are kept, and work copies. [`header`]: repairs the first bytes of a file.
//! - [`opened_copy`], [`reader`]: read a damaged file table by table, row by row.
//! - [`carried`], [`extract`], [`write_carried`]: what is carried over.
//! - [`rows_as_images`]: base images that cannot be read. [`inferred_edits`]: traces of lost edits.
//! - [`user_objects`], [`column_definitions`]: objects and columns that people have added.

mod carried;
mod column_definitions;
mod copies;
mod extract;
mod header;
mod inferred_edits;
mod opened_copy;
mod reader;
mod rebuild;
pub(crate) mod rebuild_request;
mod report;
mod rows_as_images;
mod user_objects;
mod write_carried;

#[cfg(test)]
pub(in crate::store) use self::carried::CARRIED_TABLES;
pub use self::copies::DAMAGED_COPIES_MAX;
pub(crate) use self::copies::damaged_copies;
pub(crate) use self::rebuild::{is_sound, rebuild};
pub use self::report::RebuildReport;
