//! Search across kinds as its state: what was typed, what was found, which of it is under the cursor. Must not know how
//! it is found.

use hearth_replica::Hit;

use crate::state::input::Line;

/// More hits than this help nobody.
pub const HITS_MAX: usize = 200;

/// A search under way.
#[derive(Debug, Default)]
pub struct Search {
    /// What was typed.
    pub words: Line,
    /// What was found, best first.
    pub hits: Vec<Hit>,
    /// Which of it is under the cursor.
    pub selected: usize,
    /// The newest request; older answers are dropped.
    pub ticket: u64,
    /// Whether the hits belong to the words: nothing may be called unfindable before it was looked for.
    pub is_answered: bool,
}

impl Search {
    /// Takes what was found. For the same words the cursor stays on its record where that was found again; other words mean
    /// their best.
    pub fn set_hits(&mut self, hits: Vec<Hit>) {
        let before = self.hits.get(self.selected).filter(|_| self.is_answered).map(|hit| hit.id.clone());
        self.selected = before.and_then(|id| hits.iter().position(|hit| hit.id == id)).unwrap_or(0);
        self.hits = hits;
        self.is_answered = true;
    }

    /// How many hits are above the picture, of which so many are visible.
    pub fn top(&self, height: usize) -> usize {
        self.selected.saturating_sub(height.saturating_sub(1))
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.hits.len().saturating_sub(1));
    }
}
