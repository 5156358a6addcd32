//! The list of actions that are available in a context, filtered by typed words. The list serves as help, and starts
//! actions without a key. Must not know what an action does.

use hearth_contract::schema::Kind;

use crate::keys::{Action, BINDINGS, Binding, Context, in_context, synonyms};
use crate::parse::matching::{Query, Rank};
use crate::state::input::Line;
use crate::words::singular;

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
        self.selected = 0;
        let typed = self.words.text().to_lowercase();
        self.found = self.ranked(&typed, |_| true);
        let (fillers, others): (Vec<&str>, Vec<&str>) = typed.split_whitespace().partition(|word| is_filler(word));
        if !self.found.is_empty() || fillers.is_empty() || others.is_empty() {
            return;
        }
        // `edit room` means: edit the record. An action for one kind alone is meant by no other kind.
        let is_named = |kind: Kind| fillers.iter().any(|word| is_noun(word, singular(kind)));
        let applies = |binding: &Binding| {
            let names = names(binding).to_lowercase();
            binding.only.is_none_or(is_named) && names.split([' ', '.']).any(|name| others.contains(&name))
        };
        let others = others.join(" ");
        self.found = self.ranked(&format!("{others} record"), applies);
        if self.found.is_empty() {
            self.found = self.ranked(&others, applies);
        }
    }

    /// The rows among those that `applies` allows that fit the words, best first.
    fn ranked(&self, words: &str, applies: impl Fn(&Binding) -> bool) -> Vec<usize> {
        let Some(mut query) = Query::new(words) else { return self.all.clone() };
        let allowed = self.all.iter().filter(|index| applies(&BINDINGS[**index]));
        let mut ranked: Vec<(Rank, usize)> =
            allowed.filter_map(|index| Some((rank(&mut query, &BINDINGS[*index])?, *index))).collect();
        ranked.sort();
        ranked.into_iter().map(|(_, index)| index).collect()
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

/// Whether a typed word says nothing about the action when other words do: the name of a kind, or `back` in `take back`.
fn is_filler(word: &str) -> bool {
    let is_kind = Kind::COLLECTIONS.iter().any(|kind| is_noun(word, singular(*kind)));
    is_kind || is_noun(word, "record") || word == "back"
}

/// Whether a word is a noun in singular or plural.
fn is_noun(word: &str, noun: &str) -> bool {
    word == noun || word.strip_suffix('s') == Some(noun)
}

/// The description of an action without its example and its side remark.
fn searched_part(binding: &Binding) -> String {
    let part = binding.about.split(';').next().unwrap_or_default();
    let is_example = |word: &str| word.trim_end_matches(':').contains([':', '<']);
    part.split(' ').filter(|word| !is_example(word)).collect::<Vec<_>>().join(" ")
}

/// The words by which an action is called: its id, its synonyms, and the verb of its description.
fn names(binding: &Binding) -> String {
    let verb = binding.about.split(' ').next().unwrap_or_default();
    format!("{} {} {verb}", binding.id, synonyms(binding.id))
}

/// How well an action fits the typed words. None: the action does not fit. An action that removes data or takes a change
/// back must be called.
fn rank(query: &mut Query, binding: &Binding) -> Option<Rank> {
    if binding.action.is_drastic() && !query.begins_word_of(&names(binding)) {
        return None;
    }
    // The names come first: they count more than the words of the description.
    query.rank(&format!("{} {}", names(binding), searched_part(binding))).map(Rank::without_length)
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

    fn best(context: Context, words: &str) -> Option<&'static str> {
        Palette::new(context, words, |_| true).chosen().map(|index| BINDINGS[index].id)
    }

    #[test]
    fn palette_knows_other_words_for_actions() {
        for (words, id) in [
            ("remove", "delete"),
            ("complete", "done"),
            ("find", "search"),
            ("order", "sort"),
            ("spreadsheet", "export.csv"),
            ("help", "actions"),
            ("exit", "quit"),
            ("connect", "connect.anywhere"),
            ("share", "copy"),
            ("remind", "add"),
            ("cars", "tab.vehicles"),
            ("undo last", "undo"),
            ("leave", "quit"),
            ("delete", "delete"),
        ] {
            assert_eq!(best(Context::List, words), Some(id), "{words}");
        }
    }

    #[test]
    fn words_for_kinds_are_fillers() {
        for (words, id) in [
            ("new task", "add"),
            ("new room", "new"),
            ("add item", "new"),
            ("add documents", "new"),
            ("add task", "add"),
            ("quick add", "add"),
            ("edit task", "edit"),
            ("Edit Rooms", "edit"),
            ("delete task", "delete"),
            ("remove vehicle", "delete"),
            ("copy task", "copy"),
            ("sort items", "sort"),
            ("finish task", "done"),
            ("take back", "undo"),
            ("unmark", "mark"),
            ("clone", "duplicate"),
            ("clone item", "duplicate"),
            ("time zone", "profile"),
            ("repeat", "edit"),
            ("repeat task", "edit"),
            ("tasks", "tab.tasks"),
            ("rooms", "tab.rooms"),
            ("shell", "suspend"),
        ] {
            assert_eq!(best(Context::List, words), Some(id), "{words}");
        }
        assert_eq!(best(Context::Home, "new task"), Some("add"));
        assert_eq!(best(Context::Detail, "go back"), Some("back"));
        for words in ["new room", "add room"] {
            assert_eq!(best(Context::Home, words), None, "{words}: only tasks are added there");
        }
        assert_eq!(best(Context::List, "print room"), None);
    }

    #[test]
    fn examples_and_side_remarks_are_not_searched() {
        for words in ["go", "garage", "fri", "fg", "brings"] {
            assert_eq!(best(Context::List, words), None, "{words}");
        }
        assert_ne!(best(Context::List, "back"), Some("suspend"));
    }

    #[test]
    fn unknown_wish_finds_no_action() {
        for context in Context::ALL {
            for words in ["print", "xyz", "brew coffee", "translate", "?"] {
                assert_eq!(best(context, words), None, "{words} {}", context.heading());
            }
        }
    }

    #[test]
    fn drastic_action_is_found_by_name_only() {
        for words in ["here", "question", "change made", "ndo", "delte", "edo", "uit", "anywhere"] {
            let palette = Palette::new(Context::List, words, |_| true);
            let drastic = palette.found.iter().find(|index| BINDINGS[**index].action.is_drastic());
            assert_eq!(drastic.map(|index| BINDINGS[*index].id), None, "{words}");
        }
    }
}
