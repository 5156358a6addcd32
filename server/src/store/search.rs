//! The full-text index of current records (FTS5), and searches in it. Must not know which fields are searched, or how a
//! question becomes terms.
//!
//! Each indexed word begins with the code of its home. The words of a home therefore lie together in the index, and a search
//! by beginnings of words reads only words of its home: its cost does not depend on the other homes.

use hearth_contract::schema::Kind;
use hearth_contract::search_text::spellings;
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
    /// All words begin words elsewhere, such as in the text that was read in a document's file.
    Text,
}

const INSERT: &str = "INSERT INTO search (rowid, title, body, reading, kind, record)
    VALUES (?1, ?2, ?3, coalesce(?6, ''), ?4, ?5)";
const UPDATE: &str = "UPDATE search SET title = ?2, body = ?3, reading = coalesce(?6, reading), kind = ?4, record = ?5
    WHERE rowid = ?1";
const REPLACE: &str = "INSERT OR REPLACE INTO search (rowid, title, body, reading, kind, record)
    VALUES (?1, ?2, ?3, coalesce(?6, ''), ?4, ?5)";

/// Indexes a record at the end of the batch, under a folded title and folded other texts. `created` is the event that created
/// the record; `is_new`: the record is not in the index yet.
pub fn index(tx: &Tx<'_>, home: HomeNumber, created: i64, is_new: bool, record: (Kind, Uuid), title: &str, body: &str) {
    let code = home_code(home);
    let [title, body] = [title, body].map(|text| with_code(&code, text));
    let change = SearchChange::Put { rowid: home.event_rowid(created), is_new, record, title, body, reading: None };
    tx.pending.borrow_mut().search_changes.push(change);
}

/// Replaces the folded title of an indexed record at the end of the batch. `created` is the event that created the record.
pub fn index_title(tx: &Tx<'_>, home: HomeNumber, created: i64, title: &str) {
    let (rowid, title) = (home.event_rowid(created), Some(with_code(&home_code(home), title)));
    tx.pending.borrow_mut().search_changes.push(SearchChange::Texts { rowid, title, reading: None });
}

/// Replaces the folded text that was read in the file of an indexed document, at the end of the batch. `created` is the event that
/// created the record.
pub fn index_reading(tx: &Tx<'_>, home: HomeNumber, created: i64, reading: &str) {
    let (rowid, reading) = (home.event_rowid(created), Some(with_code(&home_code(home), reading)));
    tx.pending.borrow_mut().search_changes.push(SearchChange::Texts { rowid, title: None, reading });
}

/// Removes a record from the index at the end of the batch. `created` is the event that created the record.
pub fn remove(tx: &Tx<'_>, home: HomeNumber, created: i64) {
    tx.pending.borrow_mut().search_changes.push(SearchChange::Remove { rowid: home.event_rowid(created) });
}

/// Whether the index holds a record under exactly this folded title and these folded other texts. `created` is the event that
/// created the record.
pub fn is_indexed(tx: &Tx<'_>, home: HomeNumber, created: i64, title: &str, body: &str) -> Result<bool, StoreError> {
    let code = home_code(home);
    let mut statement = tx.conn.prepare_cached("SELECT title = ?2 AND body = ?3 FROM search WHERE rowid = ?1")?;
    let params = (home.event_rowid(created), with_code(&code, title), with_code(&code, body));
    Ok(statement.query_row(params, |row| row.get(0)).optional()?.unwrap_or(false))
}

/// The number of records of a home in the index.
pub fn count(tx: &Tx<'_>, home: HomeNumber) -> Result<i64, StoreError> {
    let mut statement = tx.conn.prepare_cached("SELECT count(*) FROM search WHERE rowid > ?1 AND rowid < ?2")?;
    Ok(statement.query_row((home.event_rowid(0), home.rowid_end()), |row| row.get(0))?)
}

/// Applies the changes of a batch in the order of the rows, and one change for each row. FTS5 writes its memory to disk
/// whenever a row has a lower id than the row before.
pub(super) fn apply_changes(conn: &Connection, mut changes: Vec<SearchChange>) -> rusqlite::Result<()> {
    changes.sort_by_key(rowid);
    let mut changes = changes.into_iter().peekable();
    while let Some(mut change) = changes.next() {
        let mut is_new_row = is_new(&change);
        while let Some(next) = changes.next_if(|next| rowid(next) == rowid(&change)) {
            is_new_row |= is_new(&next);
            change = in_one(change, next);
        }
        apply_change(conn, change, is_new_row)?;
    }
    Ok(())
}

const fn is_new(change: &SearchChange) -> bool {
    matches!(change, SearchChange::Put { is_new: true, .. })
}

/// One change with the effect of two changes of a row.
fn in_one(first: SearchChange, second: SearchChange) -> SearchChange {
    match (first, second) {
        (
            SearchChange::Put { rowid, is_new, record, title: old, body, reading: read },
            SearchChange::Texts { title, reading, .. },
        ) => SearchChange::Put { rowid, is_new, record, title: title.unwrap_or(old), body, reading: reading.or(read) },
        (
            SearchChange::Texts { reading: read, .. } | SearchChange::Put { reading: read, .. },
            SearchChange::Put { rowid, is_new, record, title, body, reading },
        ) => SearchChange::Put { rowid, is_new, record, title, body, reading: reading.or(read) },
        (SearchChange::Texts { title: old, reading: read, .. }, SearchChange::Texts { rowid, title, reading }) => {
            SearchChange::Texts { rowid, title: title.or(old), reading: reading.or(read) }
        }
        (_, second) => second,
    }
}

/// Pages of the index that one step of a merge writes: some milliseconds.
const MERGE_PAGES: i64 = 128;

/// Merges some segments of the index, in a transaction of its own. Each batch adds a segment, and a search and a merge at a
/// commit read them all: without merges in the background, both cost more the more homes write. True: nothing is left to
/// merge.
pub(super) fn merge_step(conn: &Connection) -> rusqlite::Result<bool> {
    let before = conn.total_changes();
    conn.prepare_cached("INSERT INTO search (search, rank) VALUES ('merge', ?1)")?.execute([MERGE_PAGES])?;
    // As FTS5 documents: a merge that did nothing changes fewer than two rows.
    Ok(conn.total_changes() - before < 2)
}

fn apply_change(conn: &Connection, change: SearchChange, is_new_row: bool) -> rusqlite::Result<()> {
    match change {
        SearchChange::Put { rowid, record: (kind, id), title, body, reading, .. } => {
            let values = params![rowid, title, body, number(kind), text(&id), reading];
            if !is_new_row && conn.prepare_cached(UPDATE)?.execute(values)? == 1 {
                return Ok(());
            }
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
        SearchChange::Texts { rowid, title, reading } => {
            let sql = "UPDATE search SET title = coalesce(?2, title), reading = coalesce(?3, reading) WHERE rowid = ?1";
            conn.prepare_cached(sql)?.execute((rowid, title, reading))?;
        }
        SearchChange::Remove { rowid } => {
            conn.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([rowid])?;
        }
    }
    Ok(())
}

const fn rowid(change: &SearchChange) -> i64 {
    match change {
        SearchChange::Put { rowid, .. } | SearchChange::Texts { rowid, .. } | SearchChange::Remove { rowid } => *rowid,
    }
}

/// Records that contain each of the terms: the best fit first, within one fit the latest first, at most `limit` after a place.
/// The terms are folded as in the index: letters, digits and spaces.
///
/// FTS5's own rank is not used: the rank depends on the records of all homes, so one home would reveal another, and any
/// write between two pages would move hits.
pub fn find(
    tx: &Tx<'_>,
    home: HomeNumber,
    terms: &[String],
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
    let (mut hits, code) = (Vec::new(), home_code(home));
    for fit in Fit::ALL.into_iter().filter(|fit| *fit >= from) {
        // A further query, even with LIMIT 0, would make FTS5 collect all its matches.
        if hits.len() == limit {
            break;
        }
        let Some(question) = fit.fts_query(&code, terms) else { continue };
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

    /// An FTS5 query for exactly the records of this fit. None: with one term, no record has this fit.
    fn fts_query(self, code: &str, terms: &[String]) -> Option<String> {
        let join = |suffix: &str, operator: &str| {
            terms.iter().map(|term| term_query(code, term, suffix)).collect::<Vec<_>>().join(operator)
        };
        let (whole, all, any) = (join("", " AND "), join("*", " AND "), join("*", " OR "));
        match self {
            Fit::TitleWords => Some(format!("title : ({whole})")),
            Fit::Title => Some(format!("(title : ({all})) NOT (title : ({whole}))")),
            Fit::PartOfTitle if terms.len() == 1 => None,
            Fit::PartOfTitle => Some(format!("(({all}) AND title : ({any})) NOT (title : ({all}))")),
            Fit::Text => Some(format!("({all}) NOT (title : ({any}))")),
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

/// An FTS5 query for a term in any of its spellings. The suffix `*` admits longer last words.
fn term_query(code: &str, term: &str, suffix: &str) -> String {
    let phrases: Vec<String> =
        spellings(term).iter().map(|spelling| format!("\"{}\"{suffix}", with_code(code, spelling))).collect();
    format!("({})", phrases.join(" OR "))
}

/// The words of a folded text, each after the code of its home, separated by one space.
fn with_code(code: &str, folded: &str) -> String {
    let mut out = String::with_capacity(folded.len() * 2);
    for word in folded.split_ascii_whitespace() {
        out.extend([if out.is_empty() { "" } else { " " }, code, word]);
    }
    out
}

/// The code of a home: the number of digits and the digits of its number in base 36. No code begins another code, so no word
/// of one home begins a word of another home.
fn home_code(home: HomeNumber) -> String {
    let (mut digits, mut rest) = (Vec::new(), home.0.unsigned_abs());
    while rest > 0 || digits.is_empty() {
        digits.push(base36(rest % 36));
        rest /= 36;
    }
    digits.push(base36(digits.len() as u64));
    digits.iter().rev().collect()
}

fn base36(digit: u64) -> char {
    char::from_digit((digit % 36) as u32, 36).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::store::Db;
    use crate::store::notifier::Notifier;

    #[test]
    fn no_code_begins_another_code() {
        for (number, code) in [(1, "11"), (35, "1z"), (36, "210"), (5000, "33uw"), (1 << 23, "54zsow")] {
            assert_eq!(home_code(HomeNumber(number)), code);
        }
        let codes: Vec<String> = (1..3000).map(|number| home_code(HomeNumber(number))).collect();
        let mut sorted = codes.clone();
        sorted.sort();
        assert!(sorted.windows(2).all(|pair| !pair[1].starts_with(&pair[0])));
        assert_eq!(with_code("1a", " two  words "), "1atwo 1awords");
    }

    /// The number of segments of the index. A search reads every segment.
    async fn segments(db: &Db) -> i64 {
        let count = "SELECT count(DISTINCT id >> 37) FROM search_data WHERE id > 10";
        db.read(move |tx| Ok(tx.conn.query_row(count, [], |row| row.get(0))?)).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn segments_are_merged_in_background() {
        const BATCHES: i64 = 60;
        let dir = tempfile::tempdir().unwrap();
        let db = Db::open(dir.path(), Notifier::default(), 1).unwrap();
        let (home, room) = (HomeNumber(1), (Kind::Room, Uuid::nil()));
        for created in 1..=BATCHES {
            let name = format!("hall {created}");
            let write = db.write(move |tx| {
                index(tx, home, created, true, room, &name, "");
                Ok(())
            });
            write.await.unwrap();
        }
        assert!(segments(&db).await > 2);
        let limit = Instant::now() + Duration::from_secs(60);
        while segments(&db).await > 1 {
            assert!(Instant::now() < limit, "{} segments", segments(&db).await);
            db.tidy_up();
            tokio::task::yield_now().await;
        }
        assert_eq!(db.read(move |tx| count(tx, home)).await.unwrap(), BATCHES);
        db.close().await;
    }
}
