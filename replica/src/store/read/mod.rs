//! What is read for people and scripts: lists, records, figures, answers to questions. Must not write.
//!
//! - [`view`], [`page`] with [`filter`], [`related`], [`overview`]: what screens read.
//! - [`find`], [`why`], [`query`], [`tally`]: what commands read.

pub(crate) mod filter;
pub(crate) mod find;
pub(crate) mod overview;
pub(crate) mod page;
pub(crate) mod query;
pub(crate) mod related;
pub(crate) mod tally;
pub(crate) mod view;
pub(crate) mod why;
