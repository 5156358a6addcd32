//! The list of actions: every action that does something where the keyboard was, narrowed by what is typed. It is the help
//! and the way to run what has no key. Must not know what an action does.

use crate::keys::{Action, BINDINGS, Context, in_context};
use crate::parse::fuzzy;
use crate::state::input::Line;

/// The list of actions over a context.
#[derive(Debug)]
pub struct Palette {
    /// What was typed.
    pub words: Line,
    /// Where the keyboard was.
    pub context: Context,
    /// What the cursor was on there.
    pub cursor: Cursor,
    /// The rows of the table that can do something there.
    all: Vec<usize>,
    /// Those that match, best first.
    pub found: Vec<usize>,
    /// Which of them is under the cursor.
    pub selected: usize,
}

/// What a cursor is on, to tell whether it still is.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The id of a record, in a list or in full.
    pub record: Option<String>,
    /// The number of an edit.
    pub edit: Option<i64>,
}

impl Palette {
    /// The actions of a context that do something there.
    pub fn over(context: Context, words: &str, applies: impl Fn(usize) -> bool) -> Palette {
        let mut all: Vec<usize> = in_context(context).map(|(index, _)| index).filter(|index| applies(*index)).collect();
        // Rows that start the same are one action with all their keys.
        let mut seen: Vec<Action> = Vec::new();
        all.retain(|index| {
            let is_new = !seen.contains(&BINDINGS[*index].action);
            seen.push(BINDINGS[*index].action);
            is_new
        });
        let (words, cursor, found) = (Line::holding(words), Cursor::default(), all.clone());
        let mut palette = Palette { words, context, cursor, all, found, selected: 0 };
        palette.narrow();
        palette
    }

    /// Finds again after what was typed has changed.
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
    fn every_action_of_a_context_is_listed_and_found_by_a_few_letters() {
        for context in Context::ALL {
            let palette = Palette::over(context, "", |_| true);
            let listed = |action| palette.found.iter().any(|index| BINDINGS[*index].action == action);
            assert!(in_context(context).all(|(_, binding)| listed(binding.action)), "{}", context.heading());
        }
        let palette = Palette::over(Context::List, "xprt json", |_| true);
        assert_eq!(BINDINGS[palette.chosen().unwrap()].id, "export.json");
        // The words of the status bar lead to what they speak of.
        for (words, id) in [("needs you", "edits"), ("conflict", "edits"), ("waiting", "edits"), ("sync", "sync")] {
            let palette = Palette::over(Context::Home, words, |_| true);
            assert_eq!(palette.chosen().map(|index| BINDINGS[index].id), Some(id), "{words}");
        }
    }
}
