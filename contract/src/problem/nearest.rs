//! Suggestions for misspelt names: "did you mean priority?".

use super::quote::QUOTED_NAME_MAX;

/// The least number of bytes in a shared stem.
const STEM_MIN: usize = 3;

/// The known name that a client probably meant: the most similar misspelling, or else the only name with the same stem.
/// None if no name is close. A name longer than [`QUOTED_NAME_MAX`] characters is not compared: the comparison would be
/// slow, and no known name is as long.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().nth(QUOTED_NAME_MAX).is_some() {
        return None;
    }
    let lower = name.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    let slips = known.iter().copied().filter(|candidate| is_misspelling(&lower, candidate));
    let closest = slips.max_by(|a, b| strsim::jaro_winkler(&lower, a).total_cmp(&strsim::jaro_winkler(&lower, b)));
    closest.or_else(|| {
        let mut stems = known.into_iter().filter(|candidate| shares_stem(&lower, candidate));
        stems.next().filter(|_| stems.next().is_none())
    })
}

/// Whether at most a third of the letters are wrong, missing, added or swapped.
fn is_misspelling(name: &str, candidate: &str) -> bool {
    let letters = name.chars().count().max(candidate.chars().count());
    strsim::osa_distance(name, candidate) * 3 <= letters
}

/// Whether a name continues the other, or both begin with the same word (words are separated by `_`).
fn shares_stem(name: &str, candidate: &str) -> bool {
    let first_word = |text: &str| text.split('_').next().map(str::len).unwrap_or_default();
    let shared = name.bytes().zip(candidate.bytes()).take_while(|(a, b)| a == b).count();
    let continues = shared == name.len().min(candidate.len());
    shared >= STEM_MIN && (continues || shared >= first_word(name).max(first_word(candidate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_misspellings_and_stems() {
        assert_eq!(nearest("titel", ["title", "priority", "status"]), Some("title"));
        assert_eq!(nearest("Priorty", ["title", "priority", "status"]), Some("priority"));
        assert_eq!(nearest("zzz", ["title", "priority", "status"]), None);
        // A word for another idea is not a misspelling.
        assert_eq!(nearest("tags", ["title", "priority", "status"]), None);
        assert_eq!(nearest("count", ["quantity", "condition"]), None);
        assert_eq!(nearest("due_date", ["done", "due_on", "created_at"]), Some("due_on"));
        assert_eq!(nearest("descr", ["title", "description"]), Some("description"));
        assert_eq!(nearest("é", ["e"]), None);
        let long = "title".repeat(13);
        assert_eq!(nearest(&long, [&long[..]]), None);
    }
}
