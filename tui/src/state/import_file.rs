//! A file to import as values: what a person states about it, what was read, why nothing was read. Must not know the screen.

use std::sync::Arc;

use hearth_contract::schema::Kind;
use hearth_exchange::import::{Draft, Plan};

/// Locales that differ in decimal mark or order of dates, with an example of a sum and a day. The first: the cells of the file
/// tell.
pub const FORMATS: [(Option<&str>, &str); 4] = [
    (None, "as the cells show"),
    (Some("de-DE"), "1.234,56 and 21.10.2022"),
    (Some("en-US"), "1,234.56 and 10/21/2022"),
    (Some("en-GB"), "1,234.56 and 21/10/2022"),
];

/// The changes of an import that undo takes back, at most. Each change is undone on its own, which takes long for many.
pub const UNDO_MAX: usize = 1_000;

/// A file that was read. Two values are equal when they are the same reading.
#[derive(Debug, Clone)]
pub struct ImportDraft(pub Arc<Draft>);

impl PartialEq for ImportDraft {
    fn eq(&self, other: &ImportDraft) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A file to read, and what a person states about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRequest {
    /// The path as typed.
    pub path: String,
    /// The kind of the rows. None: the file tells.
    pub kind: Option<Kind>,
    /// The locale of numbers and dates. None: the cells tell.
    pub locale: Option<&'static str>,
    /// Columns and their fields. An empty field keeps a column out.
    pub mapping: Vec<(String, String)>,
}

/// A file that was read, and what its rows would do.
#[derive(Debug)]
pub struct ImportPreview {
    /// The file.
    pub draft: ImportDraft,
    /// What each row would do.
    pub plan: Plan,
}

/// Why no preview exists, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportFault {
    /// The path leads to no readable file: another path is needed.
    Path(String),
    /// The file has no table with known columns: another kind may help.
    Content(String),
}
