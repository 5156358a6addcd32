//! Counts how often each fault, action and edit outcome occurs in many worlds. A run in which a fault never occurs
//! proves nothing about the fault. Must not judge.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use rusqlite::Connection;

use super::environment_fault::EnvironmentFault;
use super::record::MARK;

/// How often each occurrence was counted, by name. Names are `group: detail`, for example `network: LostRequest`.
pub type Counts = BTreeMap<String, u64>;

/// The counters of one world. Clones share the same counts.
#[derive(Debug, Clone, Default)]
pub struct Counters(Rc<RefCell<Counts>>);

impl Counters {
    /// Adds one to the counter with this name.
    pub fn count(&self, name: impl Into<String>) {
        *self.0.borrow_mut().entry(name.into()).or_default() += 1;
    }

    /// Counts a fault of the network.
    pub fn count_network_fault(&self, fault: EnvironmentFault) {
        self.count(format!("network: {fault:?}"));
    }

    /// Counts the edit outcomes, the open edits and the log lines of a replica at the end of a run.
    pub fn count_replica_tables(&self, database: &Connection) -> rusqlite::Result<()> {
        for (group, text) in [
            ("edits", "SELECT outcome FROM edit_history"),
            ("edits", "SELECT state || ': ' || coalesce(reason, '') FROM edits"),
            ("log", "SELECT text FROM sync_log"),
        ] {
            let mut statement = database.prepare(text)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                self.count(format!("{group}: {}", without_names(&row.get::<_, String>(0)?)));
            }
        }
        Ok(())
    }

    /// A copy of all counts.
    pub fn counts(&self) -> Counts {
        self.0.borrow().clone()
    }
}

/// The first words of a sentence with `#` for numbers and names. Sentences that differ only in them count together.
fn without_names(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name = bare.len() == 36 && bare.contains('-') || bare.starts_with(MARK);
        if is_name || bare.starts_with(|c: char| c.is_ascii_digit()) { "#" } else { word }
    });
    let mut words: Vec<&str> = words.collect();
    words.dedup();
    words.truncate(12);
    words.join(" ")
}

/// The counts as lines: sorted by group, in each group the most frequent first. The last line lists the faults that
/// never occurred.
pub fn report_lines(counts: &Counts) -> Vec<String> {
    let mut all: Vec<(&str, &str, u64)> = counts
        .iter()
        .map(|(name, count)| (name.split(':').next().unwrap_or_default(), name.as_str(), *count))
        .collect();
    all.sort_by(|one, other| (one.0, other.2, one.1).cmp(&(other.0, one.2, other.1)));
    let mut lines: Vec<String> = all.into_iter().map(|(_, name, count)| format!("{count:9}  {name}")).collect();
    let never: Vec<String> = EnvironmentFault::ALL
        .iter()
        .map(|fault| counted_as(*fault))
        .filter(|name| !counts.keys().any(|known| known.split_once(": ").is_some_and(|(_, detail)| detail == name)))
        .collect();
    if !never.is_empty() {
        lines.push(format!("never: {}", never.join(", ")));
    }
    lines
}

/// The detail under which a fault is counted: the name of the fault, or of the action that causes the fault.
fn counted_as(fault: EnvironmentFault) -> String {
    match fault {
        EnvironmentFault::Retention => "CleanUp".to_owned(),
        fault => format!("{fault:?}"),
    }
}
