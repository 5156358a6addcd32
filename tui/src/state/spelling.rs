//! Letters typed in a field of choices. Letters without a pause between them are one word, which is matched as the
//! beginning of a choice. Must not know the field.

use hearth_contract::formats::Timestamp;

/// The longest time between two letters of one word, in milliseconds.
pub const PAUSE_MILLIS: i64 = 1_000;

/// The letters since the last pause.
#[derive(Debug, Default)]
pub struct Spelling {
    letters: String,
    /// The time of the last letter; None: no letter, or the word is complete.
    last: Option<Timestamp>,
    /// The chosen index before the first letter.
    before: Option<usize>,
    /// Whether no choice begins with the letters.
    is_unknown: bool,
}

impl Spelling {
    /// Whether a letter at this time continues the word.
    pub fn continues_at(&self, moment: Timestamp) -> bool {
        // A clock that was set back ends the word.
        self.last.is_some_and(|last| (0..PAUSE_MILLIS).contains(&(moment.millis() - last.millis())))
    }

    /// Adds a letter. After a pause the letter begins a new word.
    pub fn add(&mut self, moment: Timestamp, letter: char, chosen: Option<usize>) {
        if !self.continues_at(moment) {
            *self = Spelling { before: chosen, ..Spelling::default() };
        }
        self.letters.push(letter);
        self.last = Some(moment);
    }

    /// Removes the last letter.
    pub fn remove(&mut self, moment: Timestamp) {
        self.letters.pop();
        self.last = Some(moment);
    }

    /// Takes a pasted word. The next letter begins a new word.
    pub fn paste(&mut self, text: &str, chosen: Option<usize>) {
        *self = Spelling { letters: text.trim().to_owned(), before: chosen, ..Spelling::default() };
    }

    /// The index of the choice that `find` gives for the letters. A word that begins no choice, and no letters at all,
    /// give the choice from before the word.
    pub fn choose(&mut self, find: impl Fn(&str) -> Option<usize>) -> Option<usize> {
        let found = if self.letters.is_empty() { None } else { find(&self.letters) };
        self.is_unknown = found.is_none() && !self.letters.is_empty();
        found.or(self.before)
    }

    /// The letters, if no choice begins with them.
    pub fn unknown(&self) -> Option<&str> {
        self.is_unknown.then_some(self.letters.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: [&str; 3] = ["outdoor", "other", "tool"];

    fn find(letters: &str) -> Option<usize> {
        WORDS.iter().position(|word| word.starts_with(letters))
    }

    /// Types letters, each at its time in milliseconds. Gives the chosen word and the unknown letters.
    fn typed(letters: &[(char, i64)], chosen: Option<usize>) -> (Option<&'static str>, Option<String>) {
        let (mut spelling, mut chosen) = (Spelling::default(), chosen);
        for (letter, millis) in letters {
            spelling.add(Timestamp::from_millis(*millis), *letter, chosen);
            chosen = spelling.choose(find);
        }
        (chosen.map(|index| WORDS[index]), spelling.unknown().map(str::to_owned))
    }

    #[test]
    fn letters_without_pause_are_one_word() {
        let tool = [('t', 0), ('o', 900), ('o', 1_800), ('l', 2_700)];
        assert_eq!(typed(&tool, None), (Some("tool"), None));
        assert_eq!(typed(&[('o', 0), ('t', 10)], None), (Some("other"), None));
        assert_eq!(typed(&[('o', 0), ('t', 1_000)], None), (Some("tool"), None), "after a pause");
        assert_eq!(typed(&[('o', 5_000), ('t', 0)], None), (Some("tool"), None), "the clock was set back");
    }

    #[test]
    fn unknown_word_keeps_choice_from_before() {
        assert_eq!(typed(&[('t', 0), ('e', 10)], Some(0)), (Some("outdoor"), Some("te".to_owned())));
        assert_eq!(typed(&[('x', 0)], None), (None, Some("x".to_owned())));
        assert_eq!(typed(&[('x', 0), ('t', 2_000)], Some(0)), (Some("tool"), None), "a new word");
    }

    #[test]
    fn removed_letter_is_matched_again() {
        let at = Timestamp::from_millis;
        let mut spelling = Spelling::default();
        spelling.add(at(0), 't', Some(0));
        spelling.add(at(10), 'x', Some(0));
        assert_eq!(spelling.choose(find), Some(0));
        spelling.remove(at(20));
        assert_eq!((spelling.choose(find), spelling.unknown()), (Some(2), None));
        spelling.remove(at(30));
        assert_eq!((spelling.choose(find), spelling.unknown()), (Some(0), None));
    }
}
