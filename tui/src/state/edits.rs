//! The screen of open edits. Must not know how the screen is drawn.

use hearth_replica::Edit;

use crate::words::Names;

/// The open edits: waiting, rejected or in conflict.
#[derive(Debug, Default)]
pub struct Edits {
    /// The edits, oldest first.
    pub edits: Vec<Edit>,
    /// Names of the records in the values, by id.
    pub names: Names,
    /// The number of the edit under the cursor.
    pub selected: usize,
    /// Whether the edits have been read.
    pub is_loaded: bool,
}

impl Edits {
    /// Takes the edits that were read; the cursor stays on its edit.
    pub fn set_edits(&mut self, edits: Vec<Edit>) {
        let before = self.edits.get(self.selected).map(|edit| edit.id);
        let found = before.and_then(|id| edits.iter().position(|edit| edit.id == id));
        self.selected = found.unwrap_or(self.selected).min(edits.len().saturating_sub(1));
        self.edits = edits;
        self.is_loaded = true;
    }
}
