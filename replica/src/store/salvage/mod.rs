//! `rebuild`: a database that is damaged, or that a person wants to read anew from the server. The damaged file is kept, and
//! what exists only here goes into a new database: edits, history, log, and what people added. Must not write to a file that
//! other programs may write to at the same time.
//!
//! - [`rebuild`]: the steps. [`reread`]: a sound database starts from the beginning of the feed. [`report`]: the result.
//! - [`damaged_copies`]: the files that are kept. [`header`]: repairs the first bytes of a file.
//! - [`opened_copy`], [`reader`]: read a damaged file table by table, row by row.
//! - [`local_data`], [`extract`], [`restore`]: what exists only here. [`inferred_edits`]: what lost edits have left.
//! - [`user_objects`], [`user_columns`]: what people have added.

mod damaged_copies;
mod extract;
mod header;
mod inferred_edits;
mod local_data;
mod opened_copy;
mod reader;
mod rebuild;
mod report;
mod reread;
mod restore;
mod user_columns;
mod user_objects;

pub use self::damaged_copies::DAMAGED_COPIES_MAX;
pub(crate) use self::damaged_copies::damaged_copies;
#[cfg(test)]
pub(in crate::store) use self::local_data::LOCAL_TABLES;
pub(crate) use self::rebuild::rebuild;
pub use self::report::RebuildReport;
