//! Parsers for text that people type: days, sums, filters, names, a task in one line. Text in, values out. Must not know which
//! part of the screen holds the text.

pub mod dates;
pub mod filter;
pub mod mapping;
pub mod matching;
pub mod names;
pub mod path;
pub mod quick;
