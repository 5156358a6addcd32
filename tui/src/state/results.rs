//! The results of a bulk change, record by record. Must not know how the results are drawn.

/// The results of a bulk change.
#[derive(Debug)]
pub struct Results {
    /// The summary, as a sentence.
    pub done: String,
    /// The change of each record: `changed` or `deleted`.
    pub did: &'static str,
    /// Titles, each with the reason of a failure; failures first.
    pub each: Vec<(String, Result<(), String>)>,
    /// The number of lines scrolled off the top.
    pub scroll: usize,
}
