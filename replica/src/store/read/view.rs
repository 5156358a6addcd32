//! What screens read of single records: rows, search hits, titles. Pages are in [`page`](super::page). Must not write.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use hearth_contract::search_text;
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};
use serde_json::Value;

use crate::store::read::filter::Condition;
use crate::store::read::page;
use crate::store::schema::order;
use crate::store::{StoreError, rows};

/// Which page of which rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowQuery {
    /// Of this kind.
    pub kind: Kind,
    /// In this order.
    pub sort: Sort,
    /// Only rows in whose text every one of these words begins a word; "" is all.
    pub words: String,
    /// Only rows of which all of these hold.
    pub conditions: Vec<Condition>,
    /// Rows to skip.
    pub offset: usize,
    /// Rows at most.
    pub limit: usize,
    /// A row whose number in this list is known, from which the page is found quickest.
    pub near: Option<Near>,
}

/// A row whose number in a list is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// Its id.
    pub id: String,
    /// How many rows stand before it.
    pub number: usize,
}

impl RowQuery {
    /// All rows of a kind, in order; so many at most.
    pub fn of(kind: Kind, sort: Sort, limit: usize) -> RowQuery {
        RowQuery { kind, sort, words: String::new(), conditions: Vec::new(), offset: 0, limit, near: None }
    }
}

/// An order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// A field of the kind, `created_at` or `updated_at`; anything else is the title.
    pub column: &'static str,
    /// Greatest first.
    pub descending: bool,
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<Row>,
    /// How many there are without offset and limit.
    pub total: usize,
}

/// One record as it is shown: the server's form with the pending edits laid over.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Position of its last change on the server; None until it is confirmed.
    pub rev: Option<i64>,
    /// Every field of the kind, in the contract's order.
    pub fields: Fields,
    /// When it was created.
    pub created_at: Option<String>,
    /// When the server last changed it.
    pub updated_at: Option<String>,
    /// Whether edits of it wait.
    pub pending: Pending,
    /// Whether its last change was made on this machine.
    pub own: bool,
    /// What the records are called that its reference fields point at, by field.
    pub names: BTreeMap<&'static str, String>,
}

/// Whether edits of a record wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// None.
    No,
    /// For the server.
    Waiting,
    /// For a person.
    NeedsYou,
}

/// A record that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Its kind.
    pub kind: Kind,
    /// Its id.
    pub id: String,
    /// What people call it.
    pub title: String,
    /// Where the words stand, between `**`.
    pub snippet: String,
}

/// The columns of the row `t` of a kind that [`read`] reads: first whether edits of it wait (null, 1 for the server, 2 for a
/// person) and whether its last change was made here. These two are read by their place: somebody may have added a column of
/// any name to the table.
pub(crate) fn columns(kind: Kind) -> String {
    format!(
        "(SELECT max(CASE WHEN e.state IN ('blocked', 'rejected', 'conflict') THEN 2 ELSE 1 END)
          FROM edits e WHERE e.record_id = t.id AND e.kind = '{kind}'),
         EXISTS (SELECT 1 FROM edit_history h WHERE h.record_id = t.id AND h.rev = t.rev),
         t.*"
    )
}

/// One row; the home's profile needs no id.
pub(crate) fn row(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Row>, StoreError> {
    let only = if kind.is_singleton() { "?1 IS NOT NULL" } else { "t.id = ?1" };
    let text = format!("SELECT {} FROM {} t WHERE {only} LIMIT 1", columns(kind), kind.collection());
    let mut found = connection.prepare_cached(&text)?.query_row([id], |row| read(kind, row)).optional()?;
    if let Some(row) = &mut found {
        name_references(connection, row)?;
    }
    Ok(found)
}

/// More matches than this are not ranked one by one: words that so many records have say nothing about any of them.
const RANKED_MAX: i64 = 3_000;

/// The best matches over all kinds.
pub(crate) fn search(connection: &Connection, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
    // Single letters are no words yet, and to count what begins with one takes as long as to find it.
    let is_begun = words.split_whitespace().all(|word| word.chars().count() < 2);
    let Some(words) = match_words(words) else { return Ok(Vec::new()) };
    let may_rank = !is_begun && {
        let text = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2)";
        let matches: i64 = connection.prepare_cached(text)?.query_row((&words, RANKED_MAX + 1), |row| row.get(0))?;
        matches <= RANKED_MAX
    };
    if may_rank {
        return hits(connection, &words, "ORDER BY bm25(search, 0, 0, 8.0, 1.0), rowid", limit);
    }
    // Those that have the words in their title first, as the rank would have it.
    let mut found = hits(connection, &format!("title : ({words})"), "", limit)?;
    if found.len() < limit {
        let known: Vec<String> = found.iter().map(|hit| hit.id.clone()).collect();
        found.extend(hits(connection, &words, "", limit)?.into_iter().filter(|hit| !known.contains(&hit.id)));
        found.truncate(limit);
    }
    Ok(found)
}

fn hits(connection: &Connection, words: &str, order: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
    let mut statement = connection.prepare_cached(&format!(
        "SELECT kind, record_id, title, snippet(search, -1, '**', '**', '…', 12) AS snippet
         FROM search WHERE search MATCH ?1 {order} LIMIT ?2"
    ))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map((words, limit), |row| {
        let kind = Kind::parse(&row.get::<_, String>("kind")?);
        Ok(kind
            .map(|kind| (kind, row.get("record_id"), row.get::<_, String>("title"), row.get::<_, String>("snippet"))))
    })?;
    let mut hits = Vec::new();
    for (kind, id, title, snippet) in found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        // The indexed text is one field to a line; a hit is shown on one.
        let snippet = snippet?;
        hits.push(Hit { kind, id: id?, title: or_kind(kind, title?), snippet: snippet.trim().replace('\n', " ") });
    }
    Ok(hits)
}

/// Ids and titles of a kind, for choosing one: those whose text has the words, or all; by title.
pub(crate) fn titles(
    connection: &Connection,
    kind: Kind,
    words: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, StoreError> {
    let title = resource(kind).title;
    let mut values = Vec::new();
    let query =
        RowQuery { words: words.to_owned(), ..RowQuery::of(kind, Sort { column: title, descending: false }, 0) };
    let Some(only) = page::only(&query, &mut values) else { return Ok(Vec::new()) };
    values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
    let text = format!(
        "SELECT t.id, t.{title} FROM {} t WHERE {only} ORDER BY {} LIMIT ?{}",
        kind.collection(),
        order::key(kind, title),
        values.len()
    );
    let mut statement = connection.prepare_cached(&text)?;
    let found = statement.query_map(rows::bound(&values).as_slice(), |row| {
        Ok((row.get(0)?, or_kind(kind, row.get::<_, Option<String>>(1)?.unwrap_or_default())))
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// A person's words as an FTS5 query: each a prefix, quoted, so that nothing in them is query syntax.
pub(crate) fn match_words(words: &str) -> Option<String> {
    let terms: Vec<String> = search_text::words(words).map(|word| format!("\"{word}\"*")).collect();
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// Reads a row of [`columns`].
pub(crate) fn read(kind: Kind, row: &SqlRow<'_>) -> Result<Row, rusqlite::Error> {
    let stored = rows::read(kind, row)?;
    let title = stored.fields.get(resource(kind).title).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Row {
        kind,
        id: row.get("id")?,
        title: or_kind(kind, title),
        rev: stored.rev,
        fields: stored.fields,
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        pending: match row.get::<_, Option<i64>>(0)? {
            None => Pending::No,
            Some(1) => Pending::Waiting,
            Some(_) => Pending::NeedsYou,
        },
        own: row.get(1)?,
        names: BTreeMap::new(),
    })
}

pub(crate) fn or_kind(kind: Kind, title: String) -> String {
    match (title.is_empty(), kind) {
        (false, _) => title,
        (true, Kind::Property) => "Home profile".to_owned(),
        (true, _) => kind.as_str().to_owned(),
    }
}

/// Looks up what the records are called that a row points at.
pub(crate) fn name_references(connection: &Connection, row: &mut Row) -> Result<(), StoreError> {
    for field in resource(row.kind).fields {
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => row.fields.get(SUBJECT_TYPE).and_then(Value::as_str).and_then(Kind::parse),
            _ => None,
        };
        let (Some(target), Some(id)) = (target, row.fields.get(field.name).and_then(Value::as_str)) else { continue };
        let text = format!("SELECT {} FROM {} WHERE id = ?1", resource(target).title, target.collection());
        let name: Option<Option<String>> =
            connection.prepare_cached(&text)?.query_row([id], |r| r.get(0)).optional()?;
        if let Some(name) = name.flatten() {
            row.names.insert(field.name, name);
        }
    }
    Ok(())
}
