//! The results of a bulk change, record by record. Must not know how they are drawn.

/// What became of a change of many.
#[derive(Debug)]
pub struct Results {
    /// What was done, in a sentence.
    pub done: String,
    /// What was done to each, in a word: `changed` or `deleted`.
    pub did: &'static str,
    /// Titles, and why not where it was not done; those first.
    pub each: Vec<(String, Result<(), String>)>,
    /// How many lines are above the picture.
    pub scroll: usize,
}
