//! Fuzzy choice among texts: which match some letters, best first. Must not know what the texts are.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// The numbers of the texts that match, best first; all in their order when nothing is asked.
pub fn best<T: AsRef<str>>(asked: &str, texts: impl IntoIterator<Item = T>) -> Vec<usize> {
    let pattern = Pattern::parse(asked, CaseMatching::Ignore, Normalization::Smart);
    let mut matcher = Matcher::new(Config::DEFAULT);
    let mut letters = Vec::new();
    let mut found: Vec<(usize, u32)> = texts
        .into_iter()
        .enumerate()
        .filter_map(|(index, text)| {
            let score = pattern.score(Utf32Str::new(text.as_ref(), &mut letters), &mut matcher)?;
            Some((index, score))
        })
        .collect();
    found.sort_by_key(|(index, score)| (std::cmp::Reverse(*score), *index));
    found.into_iter().map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_in_order_are_enough_and_better_matches_come_first() {
        let texts = ["Garage", "Garden room", "Guest bathroom", "Kitchen"];
        assert_eq!(best("", texts), [0, 1, 2, 3]);
        assert_eq!(best("gar", texts), [0, 1, 2]);
        assert_eq!(best("gbr", texts), [2]);
        assert_eq!(best("room gar", texts)[0], 1);
        assert!(best("xyz", texts).is_empty());
    }
}
