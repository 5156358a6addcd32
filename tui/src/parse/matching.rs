//! Matching of typed words with the words of a text, such as a title or the description of an action. Every typed word
//! must fit one word of the text: letters that are scattered over several words do not count. Must not know where the
//! texts come from.

use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// The fewest letters that are looked for inside a word.
const INSIDE_MIN: usize = 3;
/// The fewest letters that fit a word in which letters are left out.
const ABBREVIATED_MIN: usize = 4;

/// How a typed word fits a word of a text, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The whole word.
    Whole,
    /// The beginning of the word.
    Beginning,
    /// A part inside the word.
    Inside,
    /// At least two thirds of the letters of the word, in order.
    Abbreviated,
}

/// How well a text fits the typed words; the least is the best.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// The fit of each typed word, the worst first.
    fits: Vec<Fit>,
    /// The place of the first word that fits, from 0.
    first: usize,
    /// The number of words of the text.
    words: usize,
}

/// The typed words, ready for many texts.
#[derive(Debug)]
pub struct Query {
    words: Vec<Typed>,
    matcher: Matcher,
}

/// One typed word.
#[derive(Debug)]
struct Typed {
    /// The number of its letters.
    letters: usize,
    beginning: Atom,
    inside: Atom,
    abbreviated: Atom,
}

impl Query {
    /// The query of a typed text. None: the text is empty.
    pub fn new(typed: &str) -> Option<Query> {
        let words: Vec<Typed> = split(typed).map(Typed::new).collect();
        let matcher = Matcher::new(Config::DEFAULT);
        (!typed.trim().is_empty()).then_some(Query { words, matcher })
    }

    /// How well a text fits. None: the text does not fit.
    pub fn rank(&mut self, text: &str) -> Option<Rank> {
        let mut buffer = Vec::new();
        // Most texts of a long list end here, after one quick look at each.
        let whole = Utf32Str::new(text, &mut buffer);
        if self.words.is_empty() || !self.words.iter().all(|typed| typed.might_fit(whole, &mut self.matcher)) {
            return None;
        }
        let parts: Vec<&str> = split(text).collect();
        let mut rank = Rank { fits: Vec::new(), first: parts.len(), words: parts.len() };
        for typed in &self.words {
            let fits = parts.iter().enumerate();
            let fits = fits.filter_map(|(at, part)| Some((typed.fit(part, &mut self.matcher)?, at)));
            let (fit, at) = fits.min()?;
            rank.fits.push(fit);
            rank.first = rank.first.min(at);
        }
        rank.fits.sort_by(|a, b| b.cmp(a));
        Some(rank)
    }

    /// Whether a typed word is a word of the text, or the beginning of one.
    pub fn begins_word_of(&mut self, text: &str) -> bool {
        let Query { words, matcher } = self;
        let mut begins = |typed: &Typed, part| typed.fit(part, matcher).is_some_and(|fit| fit <= Fit::Beginning);
        split(text).any(|part| words.iter().any(|typed| begins(typed, part)))
    }
}

impl Rank {
    /// The rank without regard to the length of the text.
    pub fn without_length(self) -> Rank {
        Rank { words: 0, ..self }
    }

    /// Whether every typed word is a whole word of the text, and the text has no other words.
    pub fn is_exact(&self) -> bool {
        self.words == self.fits.len() && self.fits.iter().all(|fit| *fit == Fit::Whole)
    }
}

impl Typed {
    fn new(word: &str) -> Typed {
        let atom = |kind| Atom::new(word, CaseMatching::Ignore, Normalization::Smart, kind, false);
        Typed {
            letters: Utf32Str::new(word, &mut Vec::new()).len(),
            beginning: atom(AtomKind::Prefix),
            inside: atom(AtomKind::Substring),
            abbreviated: atom(AtomKind::Fuzzy),
        }
    }

    /// Whether the text has the letters in order. Each [`Fit`] requires this.
    fn might_fit(&self, text: Utf32Str<'_>, matcher: &mut Matcher) -> bool {
        self.abbreviated.score(text, matcher).is_some()
    }

    fn fit(&self, part: &str, matcher: &mut Matcher) -> Option<Fit> {
        let mut buffer = Vec::new();
        let part = Utf32Str::new(part, &mut buffer);
        let mut has = |atom: &Atom| atom.score(part, matcher).is_some();
        if has(&self.beginning) {
            return Some(if part.len() == self.letters { Fit::Whole } else { Fit::Beginning });
        }
        if self.letters >= INSIDE_MIN && has(&self.inside) {
            return Some(Fit::Inside);
        }
        let is_most = self.letters >= ABBREVIATED_MIN && self.letters * 3 >= part.len() * 2;
        (is_most && has(&self.abbreviated)).then_some(Fit::Abbreviated)
    }
}

/// The words of a text. Signs between words, such as the colon of `sync:`, belong to no word.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|letter: char| letter.is_whitespace() || letter.is_ascii_punctuation());
    parts.filter(|part| !part.is_empty())
}

/// The indices of the texts that fit `typed`, best first; texts that fit equally well keep their order. With an empty
/// `typed`: all indices in order.
pub fn rank_matches<T: AsRef<str>>(typed: &str, texts: impl IntoIterator<Item = T>) -> Vec<usize> {
    let texts = texts.into_iter().enumerate();
    let Some(mut query) = Query::new(typed) else { return texts.map(|(index, _)| index).collect() };
    let ranked = texts.filter_map(|(index, text)| Some((query.rank(text.as_ref())?, index)));
    let mut ranked: Vec<(Rank, usize)> = ranked.collect();
    ranked.sort();
    ranked.into_iter().map(|(_, index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found<'t>(typed: &str, texts: &[&'t str]) -> Vec<&'t str> {
        rank_matches(typed, texts).into_iter().map(|index| texts[index]).collect()
    }

    #[test]
    fn better_matches_come_first() {
        let texts = ["Garage", "Garden room", "Guest bathroom", "Kitchen"];
        assert_eq!(found("", &texts), texts);
        assert_eq!(found("gar", &texts), ["Garage", "Garden room"]);
        assert_eq!(found("room", &texts), ["Garden room", "Guest bathroom"], "a whole word, then a part");
        assert_eq!(found("room gar", &texts), ["Garden room"]);
        assert_eq!(found("kitchn", &texts), ["Kitchen"]);
        assert_eq!(found("KITCHEN", &texts), ["Kitchen"]);
        assert_eq!(found("xyz", &texts), [""; 0]);
        assert_eq!(found(":", &texts), [""; 0]);
        assert_eq!(found("bath", &["Guest bathroom", "Bath", "Bath mat"]), ["Bath", "Bath mat", "Guest bathroom"]);
        assert_eq!(found("kuche", &["Küche", "Keller"]), ["Küche"]);
        assert_eq!(found("👍", &["Lamp 👍🏽", "Lamp"]), ["Lamp 👍🏽"]);
    }

    #[test]
    fn scattered_letters_do_not_match() {
        for (typed, text) in [
            ("car", "Cellar"),
            ("share", "Undo the last change made here"),
            ("print", "Previous month of the calendar"),
            ("photo", "Export this list as a JSON file"),
            ("remind", "Delete the record, or all that are marked"),
            ("connect", "Every action and its keys, to look up or to run"),
            ("gbr", "Guest bathroom"),
            ("ar", "Garage"),
        ] {
            assert_eq!(found(typed, &[text]), [""; 0], "{typed}");
        }
    }

    #[test]
    fn exact_rank_needs_the_whole_text() {
        let is_exact = |typed: &str, text: &str| Query::new(typed).unwrap().rank(text).unwrap().is_exact();
        assert!(is_exact("HOME", "Home") && is_exact("living room", "Living room"));
        assert!(!is_exact("home", "Home office") && !is_exact("hom", "Home"));
    }
}
