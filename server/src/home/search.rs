//! How a question becomes words, and how a hit is shown (contract 8). Pure.

use hearth_contract::problem::Problem;
use hearth_contract::record::Record;
use hearth_contract::search_text;

/// Characters of a question after trimming, at least and at most.
pub const QUESTION: (usize, usize) = (2, 200);

/// Words of a snippet.
const SNIPPET_WORDS: usize = 16;
/// What stands around a word that was looked for.
const MARK: &str = "**";

/// The words of a question. As many as it has room for: the time that a search may take bounds what they cost.
pub fn words(question: &str) -> Result<Vec<String>, Problem> {
    let refuse = |message: String| Err(Problem::parameter("q", question, None, message));
    let length = question.trim().chars().count();
    if !(QUESTION.0..=QUESTION.1).contains(&length) {
        return refuse(format!("q must have {} to {} characters.", QUESTION.0, QUESTION.1));
    }
    let words = saying_more(&search_text::words(&search_text::fold(question)).collect::<Vec<_>>());
    if words.is_empty() {
        return refuse("q must have a word to look for.".to_owned());
    }
    Ok(words)
}

/// The words without those that ask for nothing more: one that stands there already, and the beginning of another. What
/// begins like the longer one begins like the shorter.
fn saying_more(words: &[&str]) -> Vec<String> {
    let says_more = |index: usize| {
        let is_said_by = |(other, word): (usize, &&str)| {
            word.starts_with(words[index]) && (word.len() > words[index].len() || other < index)
        };
        !words.iter().enumerate().any(is_said_by)
    };
    words.iter().enumerate().filter(|(index, _)| says_more(*index)).map(|(_, word)| (*word).to_owned()).collect()
}

/// How a record is shown that was found by these words: its title, and where they stand.
pub fn shown(record: &Record, words: &[String]) -> (String, String) {
    let (title, rest) = search_text::title_and_rest(record.kind, &record.fields);
    let snippet = marked(&rest, words, SNIPPET_WORDS).or_else(|| marked(title, words, usize::MAX));
    (title.to_owned(), snippet.unwrap_or_else(|| title.to_owned()))
}

/// As many words of a text, around those that were looked for, each of these marked; of all such stretches the first with
/// the most different ones. None: there is none of them.
fn marked(text: &str, wanted: &[String], most: usize) -> Option<String> {
    let places = search_text::word_ranges(text);
    // Which of them begins each word of the text. One that is written together may be several, as ½ is.
    let begun = |word: &str| {
        let word = search_text::fold(word);
        wanted.iter().position(|wanted| search_text::words(&word).any(|part| part.starts_with(wanted.as_str())))
    };
    let hits: Vec<(usize, usize)> =
        places.iter().enumerate().filter_map(|(at, place)| Some((at, begun(&text[place.clone()])?))).collect();
    let hits = &hits;
    let reach = |first: usize| hits[first..].iter().take_while(move |(at, _)| at - hits[first].0 < most);
    let different = |first: &usize| {
        let mut seen: Vec<usize> = reach(*first).map(|(_, wanted)| *wanted).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len()
    };
    // The first of the best: of several, `max_by_key` gives the last.
    let first = (0..hits.len()).rev().max_by_key(different)?;
    let last = reach(first).last()?.0;
    let spare = most.saturating_sub(last - hits[first].0 + 1);
    let from = hits[first].0.saturating_sub(spare / 2).min(places.len().saturating_sub(most));
    let until = from.saturating_add(most).min(places.len());
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
    fn a_question_is_words_whatever_it_looks_like() {
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
    fn a_snippet_is_where_the_most_of_the_words_are() {
        let wanted = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        for (text, words, most, expected) in [
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
            assert_eq!(marked(text, &wanted(words), most).as_deref(), expected, "{text}");
        }
    }
}
