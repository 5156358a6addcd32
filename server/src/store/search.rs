//! The full-text index of current records (FTS5), and searches in it. Must not know which fields are searched, or how a
//! question becomes words.

use hearth_contract::schema::Kind;
use rusqlite::{Connection, ErrorCode, OptionalExtension, named_params, params};
use uuid::Uuid;

use super::error::StoreError;
use super::home_number::HomeNumber;
use super::records::{kind, number, text};
use super::tx::{SearchChange, Tx};

/// A record that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The kind of the record.
    pub kind: Kind,
    /// The current JSON of the record.
    pub json: String,
    /// How well the record fits the question.
    pub fit: Fit,
    /// The order among hits of one fit: a record that was created later has a higher row.
    pub row: i64,
}

/// How well a record fits a question, best first. The fit depends on record and question alone, so a hit keeps its place
/// while other records change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Each word is a whole word of the title.
    TitleWords,
    /// Each word begins a word of the title.
    Title,
    /// At least one word begins a word of the title; the other words begin words elsewhere.
    PartOfTitle,
    /// All words begin words elsewhere.
    Text,
}

const INSERT: &str = "INSERT INTO search (rowid, home, title, body, kind, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const REPLACE: &str =
    "INSERT OR REPLACE INTO search (rowid, home, title, body, kind, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Indexes a record at the end of the batch. `created` is the event that created the record; `is_new`: the record is not
/// in the index yet.
pub fn index(
    tx: &Tx<'_>,
    home: HomeNumber,
    created: i64,
    is_new: bool,
    record: (Kind, Uuid),
    title: String,
    body: String,
) {
    let change = SearchChange::Put { rowid: home.event_rowid(created), is_new, home, record, title, body };
    tx.pending.borrow_mut().search_changes.push(change);
}

/// Removes a record from the index at the end of the batch. `created` is the event that created the record.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, created: i64) {
    tx.pending.borrow_mut().search_changes.push(SearchChange::Remove { rowid: home.event_rowid(created) });
}

/// Title and other text in the index for the record that an event created. None: the record is not in the index.
pub fn indexed_text(tx: &Tx<'_>, home: HomeNumber, created: i64) -> Result<Option<(String, String)>, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT title, body FROM search WHERE rowid = ?1")?;
    Ok(statement.query_row([home.event_rowid(created)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// The number of records of a home in the index.
pub fn count(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT count(*) FROM search WHERE search MATCH ?1")?;
    Ok(statement.query_row([format!("home : \"{}\"", home_word(home))], |row| row.get(0))?)
}

/// Applies the changes of a batch in the order of the rows, and only the last change of each row. FTS5 writes its memory
/// to disk whenever a row has a lower id than the row before.
pub(super) fn apply_changes(conn: &Connection, mut changes: Vec<SearchChange>) -> rusqlite::Result<()> {
    changes.sort_by_key(rowid);
    let mut changes = changes.into_iter().peekable();
    let mut is_new_row = false;
    while let Some(change) = changes.next() {
        is_new_row |= matches!(change, SearchChange::Put { is_new: true, .. });
        if changes.peek().is_some_and(|next| rowid(next) == rowid(&change)) {
            continue;
        }
        apply_change(conn, change, std::mem::take(&mut is_new_row))?;
    }
    Ok(())
}

fn apply_change(conn: &Connection, change: SearchChange, is_new_row: bool) -> rusqlite::Result<()> {
    match change {
        SearchChange::Put { rowid, home, record, title, body, .. } => {
            let (home, kind, record) = (home_word(home), number(record.0), text(&record.1));
            let values = params![rowid, home, title, body, kind, record];
            // REPLACE costs three lookups, INSERT costs one. A rewound home may still have the row of a discarded record;
            // INSERT then fails, and REPLACE follows.
            if is_new_row {
                match conn.prepare_cached(INSERT)?.execute(values) {
                    Ok(_) => return Ok(()),
                    Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                    // Such an error may have ended the transaction: a later statement would commit on its own.
                    Err(error) => return Err(error),
                }
            }
            conn.prepare_cached(REPLACE)?.execute(values)?;
        }
        SearchChange::Remove { rowid } => {
            conn.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([rowid])?;
        }
    }
    Ok(())
}

const fn rowid(change: &SearchChange) -> i64 {
    match change {
        SearchChange::Put { rowid, .. } | SearchChange::Remove { rowid } => *rowid,
    }
}

/// Records in which each of the words begins a word: the best fit first, within one fit the latest first, at most `limit`
/// after a place. The words are folded as in the index, and quoted against FTS5's query language.
///
/// FTS5's own rank is not used: the rank depends on the records of all homes, so one home would reveal another, and any
/// write between two pages would move hits.
pub fn find(
    tx: &Tx<'_>,
    home: HomeNumber,
    words: &[String],
    kinds: &[Kind],
    after: Option<(Fit, i64)>,
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    let mut statement = tx.conn.prepare_cached(&format!(
        "SELECT s.rowid, s.kind, e.body
         FROM search s CROSS JOIN records r ON r.home = :home AND r.id = s.record
              CROSS JOIN events e ON e.event_rowid = :first + r.rev
         WHERE s.search MATCH :question AND s.rowid > :first AND s.rowid < :before {}
         ORDER BY s.rowid DESC LIMIT :limit",
        kind_condition(kinds)
    ))?;
    let (from, row) = after.unwrap_or((Fit::TitleWords, i64::MAX));
    let mut hits = Vec::new();
    for fit in Fit::ALL.into_iter().filter(|fit| *fit >= from) {
        // A further query, even with LIMIT 0, would make FTS5 collect all its matches.
        if hits.len() == limit {
            break;
        }
        let Some(question) = fit.fts_query(words) else { continue };
        let mut rows = statement.query(named_params! {
            ":question": question,
            ":before": home.rowid_end().min(if fit == from { row } else { i64::MAX }),
            ":limit": (limit - hits.len()) as i64,
            ":home": home.0,
            ":first": home.event_rowid(0),
        })?;
        while let Some(row) = rows.next()? {
            hits.push(Hit { row: row.get(0)?, fit, kind: kind(row.get(1)?)?, json: row.get(2)? });
        }
    }
    Ok(hits)
}

/// An SQL condition for the given kinds; empty for all kinds. The condition makes SQLite fetch the text of each match.
fn kind_condition(kinds: &[Kind]) -> String {
    if kinds.len() == Kind::COLLECTIONS.len() {
        return String::new();
    }
    let numbers: Vec<String> = kinds.iter().map(|kind| number(*kind).to_string()).collect();
    format!("AND s.kind IN ({})", numbers.join(","))
}

impl Fit {
    /// All fits, best first.
    pub const ALL: [Fit; 4] = [Fit::TitleWords, Fit::Title, Fit::PartOfTitle, Fit::Text];

    /// An FTS5 query for exactly the records of this fit. None: with one word, no record has this fit.
    fn fts_query(self, words: &[String]) -> Option<String> {
        let quoted = |word: &String| format!("\"{}\"", word.replace('"', ""));
        let prefix = |word: &String| quoted(word) + "*";
        // Words side by side must all match, as with AND. But FTS5 ignores a word without letters by its own, older Unicode
        // tables, where AND would then match no record.
        let whole = words.iter().map(quoted).collect::<Vec<_>>().join(" ");
        let all = words.iter().map(prefix).collect::<Vec<_>>().join(" ");
        let any = words.iter().map(prefix).collect::<Vec<_>>().join(" OR ");
        match self {
            Fit::TitleWords => Some(format!("title : ({whole})")),
            Fit::Title => Some(format!("(title : ({all})) NOT (title : ({whole}))")),
            Fit::PartOfTitle if words.len() == 1 => None,
            Fit::PartOfTitle => Some(format!("({{title body}} : ({all}) AND title : ({any})) NOT (title : ({all}))")),
            Fit::Text => Some(format!("({{title body}} : ({all})) NOT (title : ({any}))")),
        }
    }

    /// The score in the API, 0 to 1: a better fit has a higher score.
    pub fn score(self) -> f64 {
        match self {
            Fit::TitleWords => 1.0,
            Fit::Title => 0.75,
            Fit::PartOfTitle => 0.5,
            Fit::Text => 0.25,
        }
    }
}

/// The word that every row of a home contains.
fn home_word(home: HomeNumber) -> String {
    format!("h{}", home.0)
}
