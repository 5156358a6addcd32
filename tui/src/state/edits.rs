//! The edits that are not settled, and the cursor on them. Must not know how they are drawn.

use hearth_replica::Edit;

use crate::words::Names;

/// The edits that are not settled.
#[derive(Debug, Default)]
pub struct Edits {
    /// The edits, oldest first.
    pub edits: Vec<Edit>,
    /// Names of what their values point at.
    pub names: Names,
    /// Which of them is under the cursor.
    pub selected: usize,
    /// Whether they have been read.
    pub is_loaded: bool,
}

impl Edits {
    /// Takes what was read; the cursor stays on its edit.
    pub fn set_edits(&mut self, edits: Vec<Edit>) {
        let before = self.edits.get(self.selected).map(|edit| edit.id);
        let found = before.and_then(|id| edits.iter().position(|edit| edit.id == id));
        self.selected = found.unwrap_or(self.selected).min(edits.len().saturating_sub(1));
        self.edits = edits;
        self.is_loaded = true;
    }
}
