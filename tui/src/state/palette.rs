//! The list of actions that are available in a context, filtered by typed words. The list serves as help, and starts
//! actions without a key. Must not know what an action does.

use crate::keys::{Action, BINDINGS, Context, in_context};
use crate::parse::fuzzy;
use crate::state::input::Line;

/// The list of actions over a context.
#[derive(Debug)]
pub struct Palette {
    /// The typed words.
    pub words: Line,
    /// The context below the list.
    pub context: Context,
    /// The record and the edit under the cursor of the screen below.
    pub cursor: Cursor,
    /// The available rows of the table.
    all: Vec<usize>,
    /// The rows that match the words, best first.
    pub found: Vec<usize>,
    /// The index of the row under the cursor.
    pub selected: usize,
}

/// The record and the edit under a cursor, for comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The id of a record, in a list or in full.
    pub record: Option<String>,
    /// The number of an edit.
    pub edit: Option<i64>,
}

impl Palette {
    /// The list of a context. `applies` tells whether a row of the table is available.
    pub fn new(context: Context, words: &str, applies: impl Fn(usize) -> bool) -> Palette {
        let mut all: Vec<usize> = in_context(context).map(|(index, _)| index).filter(|index| applies(*index)).collect();
        // Rows with the same action are listed once, with all their keys.
        let mut seen: Vec<Action> = Vec::new();
        all.retain(|index| {
            let is_new = !seen.contains(&BINDINGS[*index].action);
            seen.push(BINDINGS[*index].action);
            is_new
        });
        let (words, cursor, found) = (Line::with_text(words), Cursor::default(), all.clone());
        let mut palette = Palette { words, context, cursor, all, found, selected: 0 };
        palette.narrow();
        palette
    }

    /// Filters the rows again after the words have changed.
    pub fn narrow(&mut self) {
        let texts = self.all.iter().map(|index| format!("{} {}", BINDINGS[*index].about, BINDINGS[*index].id));
        self.found = fuzzy::rank_matches(self.words.text(), texts).into_iter().map(|at| self.all[at]).collect();
        self.selected = 0;
    }

    /// Moves the cursor.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.found.len().saturating_sub(1));
    }

    /// The row of the table under the cursor.
    pub fn chosen(&self) -> Option<usize> {
        self.found.get(self.selected).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn palette_lists_and_finds_every_action() {
        for context in Context::ALL {
            let palette = Palette::new(context, "", |_| true);
            let listed = |action| palette.found.iter().any(|index| BINDINGS[*index].action == action);
            assert!(in_context(context).all(|(_, binding)| listed(binding.action)), "{}", context.heading());
        }
        let palette = Palette::new(Context::List, "xprt json", |_| true);
        assert_eq!(BINDINGS[palette.chosen().unwrap()].id, "export.json");
        // Words of the status bar find their screen.
        for (words, id) in [("needs you", "edits"), ("conflict", "edits"), ("waiting", "edits"), ("sync", "sync")] {
            let palette = Palette::new(Context::Home, words, |_| true);
            assert_eq!(palette.chosen().map(|index| BINDINGS[index].id), Some(id), "{words}");
        }
    }
}
