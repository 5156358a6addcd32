//! The words of records, and finding records by them (FTS5).

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use hearth_contract::search_text;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::{Connection, ErrorCode, OptionalExtension, named_params, params};
use uuid::Uuid;

use super::records::{kind, number, text};
use super::{Fault, HomeNo, Tx};

/// A record that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its kind.
    pub kind: Kind,
    /// Its wire JSON.
    pub json: String,
    /// How well it fits.
    pub fit: Fit,
    /// Orders hits that fit alike: the later made, the higher.
    pub row: i64,
}

/// How well a record fits a question, best first. That depends on the two alone, so that a hit keeps its place whatever
/// becomes of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Each word stands in the title, whole.
    TitleWords,
    /// Each begins a word of the title.
    Title,
    /// One does, and the others begin words elsewhere.
    PartOfTitle,
    /// All begin words elsewhere.
    Text,
}

const NEW: &str = "INSERT INTO search (rowid, home, title, body, kind, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const ANY: &str =
    "INSERT OR REPLACE INTO search (rowid, home, title, body, kind, record) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// What a record is found by, told a kind's number and its wire JSON.
fn indexed(ctx: &Context<'_>) -> rusqlite::Result<(String, String)> {
    let kind = kind(ctx.get(0)?).map_err(|fault| rusqlite::Error::UserFunctionError(fault.into()))?;
    let fields: Fields = serde_json::from_str(ctx.get_raw(1).as_str()?)
        .map_err(|error| rusqlite::Error::UserFunctionError(error.into()))?;
    Ok(search_text::folded_title_and_rest(kind, &fields))
}

/// Gives a connection the functions with which a change of the tables indexes all records anew: `search_title` and
/// `search_rest`, of a kind's number and a record's wire JSON.
pub(super) fn define(conn: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    conn.create_scalar_function("search_title", 2, flags, |ctx| Ok(indexed(ctx)?.0))?;
    conn.create_scalar_function("search_rest", 2, flags, |ctx| Ok(indexed(ctx)?.1))
}

/// A change of what can be found. It waits for the end of the writer's batch, because FTS5 writes out all it holds in
/// memory whenever a savepoint opens, and every write has one.
pub(super) enum Words {
    Put { row: i64, is_new: bool, home: HomeNo, record: (Kind, Uuid), title: String, body: String },
    Remove { row: i64 },
}

impl Words {
    const fn row(&self) -> i64 {
        match self {
            Words::Put { row, .. } | Words::Remove { row } => *row,
        }
    }
}

/// Keeps a record's words, in this transaction. `created` is the event that created it; `is_new`: none of it were kept
/// before.
pub fn put(tx: &Tx<'_>, home: HomeNo, created: i64, is_new: bool, record: (Kind, Uuid), title: String, body: String) {
    tx.words.borrow_mut().push(Words::Put { row: home.seat(created), is_new, home, record, title, body });
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

/// Carries out what waited, by row and of each row the last: FTS5 writes out what it has gathered whenever a row comes that
/// is before the one it had.
pub(super) fn flush(conn: &Connection, mut words: Vec<Words>) -> rusqlite::Result<()> {
    words.sort_by_key(Words::row);
    let mut words = words.into_iter().peekable();
    let mut begins = false;
    while let Some(change) = words.next() {
        begins |= matches!(change, Words::Put { is_new: true, .. });
        if words.peek().is_some_and(|next| next.row() == change.row()) {
            continue;
        }
        let is_new = std::mem::take(&mut begins);
        match change {
            Words::Put { row, home, record, title, body, .. } => {
                let (home, kind, record) = (word(home), number(record.0), text(&record.1));
                let values = params![row, home, title, body, kind, record];
                // To replace is to look for what there was in three places. A row that a home which was put back had before
                // is found out by the first of them.
                if is_new {
                    match conn.prepare_cached(NEW)?.execute(values) {
                        Ok(_) => continue,
                        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {}
                        // It may have ended the transaction: what came after that would be kept by itself.
                        Err(error) => return Err(error),
                    }
                }
                conn.prepare_cached(ANY)?.execute(values)?;
            }
            Words::Remove { row } => {
                conn.prepare_cached("DELETE FROM search WHERE rowid = ?1")?.execute([row])?;
            }
        }
    }
    Ok(())
}

/// Records in which each of the words begins a word, best first and of those that fit alike the latest first, at most
/// `limit`, after a place. The words are as they are kept; they are quoted, so that none is taken for FTS5's own language.
///
/// FTS5's own rank is not asked for: it counts what all homes hold, so that it tells one of another, and what anybody writes
/// between two pages moves every hit.
pub fn find(
    tx: &Tx<'_>,
    home: HomeNo,
    words: &[String],
    kinds: &[Kind],
    after: Option<(Fit, i64)>,
    limit: usize,
) -> Result<Vec<Hit>, Fault> {
    // To look at the kind, the text of every record that fits has to be fetched: not when all are wanted.
    let of_kind = match kinds.len() {
        len if len == Kind::COLLECTIONS.len() => String::new(),
        _ => {
            let kinds: Vec<String> = kinds.iter().map(|kind| number(*kind).to_string()).collect();
            format!("AND s.kind IN ({})", kinds.join(","))
        }
    };
    let mut statement = tx.conn.prepare_cached(&format!(
        "SELECT s.rowid, s.kind, e.body
         FROM search s CROSS JOIN records r ON r.home = :home AND r.id = s.record
              CROSS JOIN events e ON e.seat = :first + r.rev
         WHERE s.search MATCH :question AND s.rowid > :first AND s.rowid < :before {of_kind}
         ORDER BY s.rowid DESC LIMIT :limit"
    ))?;
    let (from, row) = after.unwrap_or((Fit::TitleWords, i64::MAX));
    let mut hits = Vec::new();
    for fit in Fit::ALL.into_iter().filter(|fit| *fit >= from) {
        // To ask for no more of the next would still have FTS5 gather all that fits.
        if hits.len() == limit {
            break;
        }
        let Some(question) = fit.question(words) else { continue };
        let mut rows = statement.query(named_params! {
            ":question": question,
            ":before": home.end().min(if fit == from { row } else { i64::MAX }),
            ":limit": (limit - hits.len()) as i64,
            ":home": home.0,
            ":first": home.seat(0),
        })?;
        while let Some(row) = rows.next()? {
            hits.push(Hit { row: row.get(0)?, fit, kind: kind(row.get(1)?)?, json: row.get(2)? });
        }
    }
    Ok(hits)
}

impl Fit {
    /// All, best first.
    pub const ALL: [Fit; 4] = [Fit::TitleWords, Fit::Title, Fit::PartOfTitle, Fit::Text];

    /// The records that fit so, in FTS5's language, and no others. None: there is nothing between its neighbours.
    fn question(self, words: &[String]) -> Option<String> {
        let word = |word: &String| format!("\"{}\"", word.replace('"', ""));
        let begun = |text: &String| word(text) + "*";
        // Side by side they must all be there, as with AND; but a word in which FTS5 sees nothing, because to its Unicode
        // tables, which are older than ours, it is no letter, is passed over, where AND would find nothing any more.
        let whole = words.iter().map(word).collect::<Vec<_>>().join(" ");
        let all = words.iter().map(begun).collect::<Vec<_>>().join(" ");
        let any = words.iter().map(begun).collect::<Vec<_>>().join(" OR ");
        match self {
            Fit::TitleWords => Some(format!("title : ({whole})")),
            Fit::Title => Some(format!("(title : ({all})) NOT (title : ({whole}))")),
            Fit::PartOfTitle if words.len() == 1 => None,
            Fit::PartOfTitle => Some(format!("({{title body}} : ({all}) AND title : ({any})) NOT (title : ({all}))")),
            Fit::Text => Some(format!("({{title body}} : ({all})) NOT (title : ({any}))")),
        }
    }

    /// The same as a number: the higher the better.
    pub fn score(self) -> f64 {
        match self {
            Fit::TitleWords => 1.0,
            Fit::Title => 0.75,
            Fit::PartOfTitle => 0.5,
            Fit::Text => 0.25,
        }
    }
}

/// The word that every row of a home carries.
fn word(home: HomeNo) -> String {
    format!("h{}", home.0)
}
