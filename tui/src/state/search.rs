//! Search across kinds: typed words, hits and cursor. Must not know how a hit is found.

use hearth_replica::Hit;

use crate::state::input::Line;

/// The most hits of a search.
pub const HITS_MAX: usize = 200;

/// The state of the search.
#[derive(Debug, Default)]
pub struct Search {
    /// The typed words.
    pub words: Line,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The number of the hit under the cursor.
    pub selected: usize,
    /// The ticket of the newest request; older answers are dropped.
    pub ticket: u64,
    /// Whether the hits belong to the typed words.
    pub is_answered: bool,
}

impl Search {
    /// Takes hits. For unchanged words the cursor stays on its record, else goes to the best hit.
    pub fn set_hits(&mut self, hits: Vec<Hit>) {
        let before = self.hits.get(self.selected).filter(|_| self.is_answered).map(|hit| hit.id.clone());
        self.selected = before.and_then(|id| hits.iter().position(|hit| hit.id == id)).unwrap_or(0);
        self.hits = hits;
        self.is_answered = true;
    }

    /// The number of hits scrolled off the top of `height` lines.
    pub fn top(&self, height: usize) -> usize {
        self.selected.saturating_sub(height.saturating_sub(1))
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.hits.len().saturating_sub(1));
    }
}
