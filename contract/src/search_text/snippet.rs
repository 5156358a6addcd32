//! The part of a text that shows where terms were found. Must not know records.

use super::codes::spellings;
use super::fold::{fold, word_ranges};

/// Put before and after each found term.
const MARK: &str = "**";

/// The place of a term in a text, as indexes of words.
struct Found {
    first: usize,
    last: usize,
    /// The index of the term.
    term: usize,
}

/// A part of a text of at most `words_max` words, in which the terms are marked: the first part with the most different
/// terms. None: the text has no term.
pub fn marked(text: &str, terms: &[String], words_max: usize) -> Option<String> {
    let places = word_ranges(text);
    let words: Vec<&str> = places.iter().map(|place| &text[place.clone()]).collect();
    let found = &find(&words, terms);
    let reach = |first: usize| found[first..].iter().take_while(move |it| it.last - found[first].first < words_max);
    let different = |first: &usize| {
        let mut seen: Vec<usize> = reach(*first).map(|it| it.term).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    // Reversed, because `max_by_key` gives the last of several maxima, and the first is wanted.
    let first = (0..found.len()).rev().max_by_key(different)?;
    let start = found[first].first;
    let last = reach(first).last().map_or(start, |it| it.last);
    let spare = words_max.saturating_sub(last - start + 1);
    let from = start.saturating_sub(spare / 2).min(places.len().saturating_sub(words_max));
    let until = from.saturating_add(words_max).min(places.len());
    let mut out = String::new();
    let mut end = if from == 0 { 0 } else { places[from].start };
    out.push_str(if from == 0 { "" } else { "…" });
    for it in found.iter().filter(|it| from <= it.first && it.first < until) {
        let (first, last) = (places[it.first].start, places[it.last.min(until - 1)].end);
        out.extend([&text[end..first], MARK, &text[first..last], MARK]);
        end = last;
    }
    match until == places.len() {
        true => out.push_str(&text[end..]),
        false => out.extend([&text[end..places[until - 1].end], "…"]),
    }
    Some(out)
}

/// The places of terms, in order, without places that overlap an earlier place.
fn find(words: &[&str], terms: &[String]) -> Vec<Found> {
    let spellings: Vec<Vec<String>> = terms.iter().map(|term| spellings(term)).collect();
    // One written word may fold to several words, like ½.
    let mut folded: Vec<(String, usize)> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        folded.extend(fold(word).split_whitespace().map(|word| (word.to_owned(), at)));
    }
    let mut found: Vec<Found> = Vec::new();
    for start in 0..folded.len() {
        let length = |term: &Vec<String>| term.iter().find_map(|words| matched(&folded[start..], words));
        let Some((term, length)) = spellings.iter().enumerate().find_map(|(at, term)| Some((at, length(term)?))) else {
            continue;
        };
        let (first, last) = (folded[start].1, folded[start + length - 1].1);
        if found.last().is_none_or(|before| before.last < first) {
            found.push(Found { first, last, term });
        }
    }
    found
}

/// The number of words of a term, if the words begin here; the last may be the beginning of a word.
fn matched(folded: &[(String, usize)], term: &str) -> Option<usize> {
    let mut length = 0;
    let mut words = term.split(' ').peekable();
    while let Some(word) = words.next() {
        let (here, _) = folded.get(length)?;
        let is_match = if words.peek().is_none() { here.starts_with(word) } else { here == word };
        if !is_match {
            return None;
        }
        length += 1;
    }
    Some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_shows_most_different_words() {
        let wanted = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (text, words, words_max, expected) in [
            ("For the torch_lighter", &["light"][..], 16, Some("For the torch_**lighter**")),
            ("one two three four five six", &["four"], 3, Some("…three **four** five…")),
            ("one two three four five six", &["one"], 3, Some("**one** two three…")),
            ("one two three four five six.", &["six"], 3, Some("…four five **six**.")),
            ("car; a b c d, charger car", &["car", "charger"], 2, Some("…**charger** **car**")),
            ("It is **new**, a car", &["car"], 16, Some("It is **new**, a **car**")),
            ("🧹Staubsauger", &["staub"], 16, Some("🧹**Staubsauger**")),
            ("Ein Καφές", &["καφεσ"], 16, Some("Ein **Καφές**")),
            ("Łódź lamp", &["lodz"], 16, Some("**Łódź** lamp")),
            ("冷蔵庫のフィルター", &["フ ィ ル"], 16, Some("冷蔵庫の**フィル**ター")),
            ("大きな冷蔵庫", &["庫"], 3, Some("…冷蔵**庫**")),
            ("Code 0036000291452", &["036000291452"], 16, Some("Code **0036000291452**")),
            ("Nothing", &["car"], 16, None),
            ("", &["car"], 16, None),
        ] {
            assert_eq!(marked(text, &wanted(words), words_max).as_deref(), expected, "{text}");
        }
    }
}
