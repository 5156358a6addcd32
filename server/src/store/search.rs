//! The words of records, and finding records by them (FTS5).

use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, named_params};
use uuid::Uuid;

use super::records::{id, kind, number, text};
use super::{Fault, HomeNo, Tx};

/// A record that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: Uuid,
    /// Its title.
    pub title: String,
    /// Where the words stand, each between `**`.
    pub snippet: String,
    /// How well it fits; lower is better, as FTS5 has it.
    pub rank: f64,
    /// Orders hits that fit alike.
    pub row: i64,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// Words around a hit in a snippet.
const SNIPPET_WORDS: i64 = 16;
/// How much more a word in the title counts than one in the text.
const TITLE_WEIGHT: f64 = 8.0;

/// A change of what can be found. It waits for the end of the writer's batch, because FTS5 writes out all it holds in
/// memory whenever a savepoint opens, and every write has one.
pub(super) enum Words {
    Put { row: i64, home: HomeNo, record: (Kind, Uuid), title: String, body: String },
    Remove { row: i64 },
}

/// Keeps a record's words, in this transaction. `created` is the event that created it.
pub fn put(tx: &Tx<'_>, home: HomeNo, created: i64, record: (Kind, Uuid), title: String, body: String) {
    tx.words.borrow_mut().push(Words::Put { row: home.seat(created), home, record, title, body });
}

/// Forgets a record's words, in this transaction.
pub fn remove(tx: &Tx<'_>, home: HomeNo, created: i64) {
    tx.words.borrow_mut().push(Words::Remove { row: home.seat(created) });
}

/// The title and words kept of the record that an event created.
pub fn kept(tx: &Tx<'_>, home: HomeNo, created: i64) -> Result<Option<(String, String)>, Fault> {
    let mut statement = tx.conn.prepare_cached("SELECT title, body FROM search WHERE rowid = ?1")?;
    Ok(statement.query_row([home.seat(created)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// How many records of a home can be found.
pub fn count(tx: &Tx<'_>, home: HomeNo) -> Result<i64, Fault> {
    let mut statement = tx.conn.prepare_cached("SELECT count(*) FROM search WHERE search MATCH ?1")?;
    Ok(statement.query_row([format!("home : \"{}\"", word(home))], |row| row.get(0))?)
}

/// Carries out what waited, in order.
pub(super) fn flush(conn: &Connection, words: Vec<Words>) -> rusqlite::Result<()> {
    for change in words {
        match change {
            Words::Put { row, home, record, title, body } => {
                let mut statement = conn.prepare_cached(
                    "INSERT OR REPLACE INTO search (rowid, home, title, body, kind, record)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                )?;
                statement.execute((row, word(home), title, body, number(record.0), text(&record.1)))?;
            }
            Words::Remove { row } => {
                conn.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([row])?;
            }
        }
    }
    Ok(())
}

/// Records in which each of the words begins a word, best first, at most `limit`, after the rank and row of a hit. The
/// words hold only letters and digits; they are quoted, so that none is taken for FTS5's own language.
pub fn find(
    tx: &Tx<'_>,
    home: HomeNo,
    words: &[String],
    kinds: &[Kind],
    after: Option<(f64, i64)>,
    limit: usize,
) -> Result<Vec<Hit>, Fault> {
    let wanted: Vec<String> = words.iter().map(|word| format!("\"{}\"*", word.replace('"', ""))).collect();
    let question = format!("home : \"{}\" AND {{title body}} : ({})", word(home), wanted.join(" AND "));
    // To look at the kind, the text of every record that fits has to be fetched: not when all are wanted.
    let of_kind = match kinds.len() {
        len if len == Kind::COLLECTIONS.len() => String::new(),
        _ => {
            let kinds: Vec<String> = kinds.iter().map(|kind| number(*kind).to_string()).collect();
            format!("AND kind IN ({})", kinds.join(","))
        }
    };
    // By `rank` alone, FTS5 sorts by itself and fetches only what is shown; of equals, the lower row comes first.
    let mut statement = tx.conn.prepare_cached(&format!(
        "SELECT rowid, rank, kind, record, title,
                snippet(search, 2, '**', '**', '…', {SNIPPET_WORDS}), highlight(search, 1, '**', '**'),
                (SELECT e.at FROM records r JOIN events e ON e.seat = :first + r.rev
                 WHERE r.home = :home AND r.id = search.record)
         FROM search
         WHERE search MATCH :question AND rank MATCH 'bm25(0.0, {TITLE_WEIGHT:.1}, 1.0)' {of_kind}
           AND (:after IS NULL OR rank > :after OR (rank = :after AND rowid > :row))
         ORDER BY rank LIMIT :limit"
    ))?;
    let mut rows = statement.query(named_params! {
        ":question": question,
        ":after": after.map(|(rank, _)| rank),
        ":row": after.map(|(_, row)| row),
        ":limit": limit as i64,
        ":home": home.0,
        ":first": home.seat(0),
    })?;
    let mut hits = Vec::new();
    while let Some(row) = rows.next()? {
        let in_body: String = row.get(5)?;
        hits.push(Hit {
            row: row.get(0)?,
            rank: row.get(1)?,
            kind: kind(row.get(2)?)?,
            id: id(row.get_ref(3)?.as_str().unwrap_or_default())?,
            title: row.get(4)?,
            snippet: if in_body.contains("**") { in_body } else { row.get(6)? },
            updated_at: Timestamp::from_millis(row.get(7)?),
        });
    }
    Ok(hits)
}

/// The word that every row of a home carries.
fn word(home: HomeNo) -> String {
    format!("h{}", home.0)
}
