//! Finds the words and phrases of a list in a row, each with its class. Must not know the lists.

use aho_corasick::{AhoCorasick, MatchKind};

use super::rows::{Row, compact_letter, fold};

/// A word of this many letters at the end of a phrase may be followed by other letters: words stick together in recognized text.
const LOOSE_LETTERS: usize = 5;

/// Phrases of all languages, each with the class that it stands for.
pub(super) struct Phrases<T> {
    automaton: AhoCorasick,
    classes: Vec<(T, usize)>,
    loose: bool,
}

/// A phrase in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit<T> {
    /// What the phrase stands for.
    pub(super) class: T,
    /// Its first word.
    pub(super) from: usize,
    /// Its last word.
    pub(super) to: usize,
    /// The letter after the phrase in the letters of the row.
    pub(super) end: usize,
}

impl<T: Copy> Phrases<T> {
    /// Each class with its phrases, separated by `|`. Other letters may follow a long word.
    pub(super) fn new(lists: &[(T, &str)]) -> Phrases<T> {
        Phrases::build(lists, true)
    }

    /// Phrases that end where a word ends, such as names.
    pub(super) fn whole(lists: &[(T, &str)]) -> Phrases<T> {
        Phrases::build(lists, false)
    }

    fn build(lists: &[(T, &str)], loose: bool) -> Phrases<T> {
        let mut phrases = Vec::new();
        let mut classes = Vec::new();
        for (class, list) in lists {
            for phrase in list.split('|') {
                let folded = fold(phrase);
                let letters = folded.bytes().filter(u8::is_ascii_alphanumeric);
                let letters: String = letters.map(|byte| char::from(compact_letter(byte))).collect();
                if !letters.is_empty() {
                    classes.push((*class, letters.len()));
                    phrases.push(letters);
                }
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&phrases);
        Phrases { automaton: automaton.expect("the lists of phrases are short"), classes, loose }
    }

    /// The phrases of a row from left to right. Of phrases that overlap, the first counts, and of those the longest.
    pub(super) fn find(&self, row: &Row<'_>) -> Vec<Hit<T>> {
        let (text, marks) = (&row.compact.text, &row.compact.marks);
        let mut found: Vec<(usize, usize, usize)> = self
            .automaton
            .find_overlapping_iter(text)
            .filter(|hit| marks[hit.start()].1 && self.ends_well(hit.pattern().as_usize(), hit.end(), marks))
            .map(|hit| (hit.start(), usize::MAX - hit.end(), hit.pattern().as_usize()))
            .collect();
        found.sort_unstable();
        let mut hits = Vec::new();
        let mut taken = 0;
        for (start, end, pattern) in found {
            let end = usize::MAX - end;
            if start >= taken {
                taken = end;
                let (from, to) = (marks[start].0 as usize, marks[end - 1].0 as usize);
                hits.push(Hit { class: self.classes[pattern].0, from, to, end });
            }
        }
        hits
    }

    /// A phrase ends where a word ends. A long last part may stick to other letters.
    fn ends_well(&self, pattern: usize, end: usize, marks: &[(u32, bool)]) -> bool {
        let last = marks[end - 1].0;
        let part = marks[..end].iter().rev().take(self.classes[pattern].1).take_while(|mark| mark.0 == last).count();
        (self.loose && part >= LOOSE_LETTERS) || marks.get(end).is_none_or(|mark| mark.1)
    }
}
