//! Fuzzy matching: which texts match some typed letters, best match first. Must not know where the texts come from.

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

/// The indices of the texts that match `typed`, best match first. With an empty `typed`: all indices in order.
pub fn rank_matches<T: AsRef<str>>(typed: &str, texts: impl IntoIterator<Item = T>) -> Vec<usize> {
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
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
    fn better_matches_come_first() {
        let texts = ["Garage", "Garden room", "Guest bathroom", "Kitchen"];
        assert_eq!(rank_matches("", texts), [0, 1, 2, 3]);
        assert_eq!(rank_matches("gar", texts), [0, 1, 2]);
        assert_eq!(rank_matches("gbr", texts), [2]);
        assert_eq!(rank_matches("room gar", texts)[0], 1);
        assert!(rank_matches("xyz", texts).is_empty());
    }
}
