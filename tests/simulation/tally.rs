//! How often what happened, counted over many worlds: a run in which something never happens says nothing about it.
//! Must not judge.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rusqlite::Connection;

use super::faults::Fault;

/// How often each thing happened, by its name; what belongs together begins alike.
pub type Counts = BTreeMap<String, u64>;

/// What counts in one world; its copies count together.
#[derive(Debug, Clone, Default)]
pub struct Tally(Rc<RefCell<Counts>>);

impl Tally {
    /// Counts something.
    pub fn note(&self, what: impl Into<String>) {
        *self.0.borrow_mut().entry(what.into()).or_default() += 1;
    }

    /// Counts a fault of the network.
    pub fn struck(&self, fault: Fault) {
        self.note(format!("network: {fault:?}"));
    }

    /// Counts what a replica tells of itself at the end: how its edits ended, and what its log says.
    pub fn hear_out(&self, eye: &Connection) -> rusqlite::Result<()> {
        for (sort, text) in [
            ("edits", "SELECT outcome FROM edit_history"),
            ("edits", "SELECT state || ': ' || coalesce(reason, '') FROM edits"),
            ("log", "SELECT text FROM sync_log"),
        ] {
            let mut statement = eye.prepare(text)?;
            let mut found = statement.query([])?;
            while let Some(row) = found.next()? {
                self.note(format!("{sort}: {}", in_short(&row.get::<_, String>(0)?)));
            }
        }
        Ok(())
    }

    /// All that was counted.
    pub fn counts(&self) -> Counts {
        self.0.borrow().clone()
    }
}

/// A sentence without its numbers and names, so that like ones count together.
fn in_short(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = bare.len() == 36 && bare.contains('-') || bare.starts_with(super::model::MARK);
        if is_name || bare.starts_with(|c: char| c.is_ascii_digit()) { "#" } else { word }
    });
    let mut words: Vec<&str> = words.collect();
    words.dedup();
    words.truncate(12);
    words.join(" ")
}

/// The counts as lines, the most frequent of their sort first.
pub fn lines(counts: &Counts) -> Vec<String> {
    let mut all: Vec<(&str, &str, u64)> =
        counts.iter().map(|(name, many)| (name.split(':').next().unwrap_or_default(), name.as_str(), *many)).collect();
    all.sort_by(|one, other| (one.0, other.2, one.1).cmp(&(other.0, one.2, other.1)));
    let mut lines: Vec<String> = all.into_iter().map(|(_, name, many)| format!("{many:9}  {name}")).collect();
    let never: Vec<String> = Fault::ALL
        .iter()
        .map(|fault| if *fault == Fault::Retention { "Tidy".to_owned() } else { format!("{fault:?}") })
        .filter(|name| !counts.keys().any(|known| known.split_once(": ").is_some_and(|(_, what)| what == name)))
        .collect();
    if !never.is_empty() {
        lines.push(format!("never: {}", never.join(", ")));
    }
    lines
}
