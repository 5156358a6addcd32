//! How a question becomes words, and how a hit is shown (contract 8). Pure; must not know the index.

use hearth_contract::problem::Problem;
use hearth_contract::record::Record;
use hearth_contract::search_text;

/// Least and greatest number of characters of a question after trimming.
pub const QUESTION: (usize, usize) = (2, 200);

/// Words of a snippet at most.
const SNIPPET_WORDS: usize = 16;
/// Put before and after each found word of a snippet.
const MARK: &str = "**";

/// The words of a question, folded as in the index. The number of words is not limited: the time limit of a search bounds
/// their cost.
pub fn words(question: &str) -> Result<Vec<String>, Problem> {
    let refuse = |message: String| Err(Problem::parameter("q", question, None, message));
    let length = question.trim().chars().count();
    if !(QUESTION.0..=QUESTION.1).contains(&length) {
        return refuse(format!("q must have {} to {} characters.", QUESTION.0, QUESTION.1));
    }
    let words = without_redundant(&search_text::words(&search_text::fold(question)).collect::<Vec<_>>());
    if words.is_empty() {
        return refuse("q must have a word to look for.".to_owned());
    }
    Ok(words)
}

/// The words without repetitions, and without words that begin another word: a text with the longer word also matches the
/// shorter word.
fn without_redundant(words: &[&str]) -> Vec<String> {
    let is_needed = |index: usize| {
        let is_implied_by = |(other, word): (usize, &&str)| {
            word.starts_with(words[index]) && (word.len() > words[index].len() || other < index)
        };
        !words.iter().enumerate().any(is_implied_by)
    };
    words.iter().enumerate().filter(|(index, _)| is_needed(*index)).map(|(_, word)| (*word).to_owned()).collect()
}

/// Title and snippet of a record that was found by these words.
pub fn shown(record: &Record, words: &[String]) -> (String, String) {
    let (title, rest) = search_text::title_and_rest(record.kind, &record.fields);
    let snippet = marked(&rest, words, SNIPPET_WORDS).or_else(|| marked(title, words, usize::MAX));
    (title.to_owned(), snippet.unwrap_or_else(|| title.to_owned()))
}

/// A part of a text of at most `words_max` words, in which the wanted words are marked: the first part with the most
/// different wanted words. None: the text has no wanted word.
fn marked(text: &str, wanted: &[String], words_max: usize) -> Option<String> {
    let places = search_text::word_ranges(text);
    // The index of the wanted word that begins a word of the text. One written word may fold to several words, like ½.
    let wanted_index = |word: &str| {
        let word = search_text::fold(word);
        wanted.iter().position(|wanted| search_text::words(&word).any(|part| part.starts_with(wanted.as_str())))
    };
    let hits: Vec<(usize, usize)> =
        places.iter().enumerate().filter_map(|(at, place)| Some((at, wanted_index(&text[place.clone()])?))).collect();
    let hits = &hits;
    let reach = |first: usize| hits[first..].iter().take_while(move |(at, _)| at - hits[first].0 < words_max);
    let different = |first: &usize| {
        let mut seen: Vec<usize> = reach(*first).map(|(_, wanted)| *wanted).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    // Reversed, because `max_by_key` gives the last of several maxima, and the first is wanted.
    let first = (0..hits.len()).rev().max_by_key(different)?;
    let last = reach(first).last()?.0;
    let spare = words_max.saturating_sub(last - hits[first].0 + 1);
    let from = hits[first].0.saturating_sub(spare / 2).min(places.len().saturating_sub(words_max));
    let until = from.saturating_add(words_max).min(places.len());
    let mut out = String::new();
    let mut end = if from == 0 { 0 } else { places[from].start };
    out.push_str(if from == 0 { "" } else { "…" });
    for (at, _) in hits.iter().filter(|(at, _)| (from..until).contains(at)) {
        let place = &places[*at];
        out.extend([&text[end..place.start], MARK, &text[place.clone()], MARK]);
        end = place.end;
    }
    match until == places.len() {
        true => out.push_str(&text[end..]),
        false => out.extend([&text[end..places[until - 1].end], "…"]),
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_syntax_is_ignored() {
        for (question, expected) in [
            ("fil hvac", &["fil", "hvac"][..]),
            ("a AND \"b\" NEAR(c) col:x -y ^z*", &["and", "b", "near", "col", "x", "y", "z"]),
            ("Fil filter FILTER hvac fi", &["filter", "hvac"]),
            ("a b c d e f g h i j k l A B C", &["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]),
            ("serial_number", &["serial", "number"]),
            ("Crème brûlée", &["creme", "brulee"]),
            ("OPS-306", &["ops", "306"]),
        ] {
            assert_eq!(words(question).unwrap(), expected, "{question}");
        }
        for bad in ["", " a ", "--", "\u{301}\u{301}", &"x".repeat(201)] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }

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
            ("Nothing", &["car"], 16, None),
            ("", &["car"], 16, None),
        ] {
            assert_eq!(marked(text, &wanted(words), words_max).as_deref(), expected, "{text}");
        }
    }
}
