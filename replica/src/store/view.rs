//! What screens read: pages of rows, search hits, titles. Must not write.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow, named_params};
use serde_json::Value;

use super::{StoreError, rows};

/// Which page of which rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowQuery {
    /// Of this kind.
    pub kind: Kind,
    /// In this order.
    pub sort: Sort,
    /// Only rows in whose text every one of these words begins a word; "" is all.
    pub words: String,
    /// Rows to skip.
    pub offset: usize,
    /// Rows at most.
    pub limit: usize,
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

pub(super) const PENDING: &str = "(SELECT max(CASE WHEN state IN ('blocked', 'rejected', 'conflict') THEN 2 ELSE 1 END)
     FROM edits e WHERE e.record_id = t.id AND e.kind = :kind)";

/// One page.
pub(crate) fn page(connection: &Connection, query: &RowQuery) -> Result<RowPage, StoreError> {
    let kind = query.kind;
    let words = match_words(&query.words);
    if words.is_none() && !query.words.trim().is_empty() {
        return Ok(RowPage { rows: Vec::new(), total: 0 });
    }
    let only = match words {
        Some(_) => "t.id IN (SELECT record_id FROM search WHERE search MATCH :words AND kind = :kind)",
        None => ":words IS NULL",
    };
    let table = kind.collection();
    let total: i64 = connection
        .prepare_cached(&format!("SELECT count(*) FROM {table} t WHERE {only} AND :kind IS NOT NULL"))?
        .query_row(named_params! { ":words": words, ":kind": kind.word() }, |row| row.get(0))?;
    let order = order(kind, query.sort);
    let mut statement = connection.prepare_cached(&format!(
        "SELECT t.*, {PENDING} AS pending FROM {table} t WHERE {only} ORDER BY {order}, t.id LIMIT :limit OFFSET :offset"
    ))?;
    let parameters = named_params! {
        ":words": words, ":kind": kind.word(),
        ":limit": i64::try_from(query.limit).unwrap_or(i64::MAX), ":offset": i64::try_from(query.offset).unwrap_or(i64::MAX),
    };
    let mut rows = statement.query_map(parameters, |row| read(kind, row))?.collect::<Result<Vec<_>, _>>()?;
    for row in &mut rows {
        name_references(connection, row)?;
    }
    Ok(RowPage { rows, total: usize::try_from(total).unwrap_or_default() })
}

/// One row; the home's profile needs no id.
pub(crate) fn row(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Row>, StoreError> {
    let only = if kind.is_singleton() { ":id IS NOT NULL" } else { "t.id = :id" };
    let text = format!("SELECT t.*, {PENDING} AS pending FROM {} t WHERE {only} LIMIT 1", kind.collection());
    let mut found = connection
        .prepare_cached(&text)?
        .query_row(named_params! { ":kind": kind.word(), ":id": id }, |row| read(kind, row))
        .optional()?;
    if let Some(row) = &mut found {
        name_references(connection, row)?;
    }
    Ok(found)
}

/// The best matches over all kinds.
pub(crate) fn search(connection: &Connection, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
    let Some(words) = match_words(words) else { return Ok(Vec::new()) };
    let mut statement = connection.prepare_cached(
        "SELECT kind, record_id, title, snippet(search, -1, '**', '**', '…', 12) AS snippet
         FROM search WHERE search MATCH ?1 ORDER BY bm25(search, 0, 0, 8.0, 1.0), rowid LIMIT ?2",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let found = statement.query_map((words, limit), |row| {
        let kind = Kind::from_word(&row.get::<_, String>("kind")?);
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
    let sort = Sort { column: title, descending: false };
    let page = page(connection, &RowQuery { kind, sort, words: words.to_owned(), offset: 0, limit })?;
    Ok(page.rows.into_iter().map(|row| (row.id, row.title)).collect())
}

/// A person's words as an FTS5 query: each a prefix, quoted, so that nothing in them is query syntax.
fn match_words(words: &str) -> Option<String> {
    let terms: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(|word| format!("\"{word}\"*"))
        .collect();
    (!terms.is_empty()).then(|| terms.join(" "))
}

/// ORDER BY terms. Names come from the resource table, never from a caller. Nulls last in both directions.
pub(super) fn order(kind: Kind, sort: Sort) -> String {
    let direction = if sort.descending { "DESC" } else { "ASC" };
    let resource = resource(kind);
    if let Some(column) = ["created_at", "updated_at"].into_iter().find(|column| *column == sort.column) {
        return format!("t.{column} IS NULL, t.{column} {direction}");
    }
    let name = resource.field(sort.column).map_or(resource.title, |field| field.name);
    let value = match resource.field(name).map(|field| field.format) {
        Some(Format::Money) => format!("CAST(t.{name} AS REAL)"),
        // Choices stand in the contract in an order that means something: low before high, open before done.
        Some(Format::Choice(words)) => {
            let places: String = words.iter().enumerate().map(|(n, word)| format!(" WHEN '{word}' THEN {n}")).collect();
            format!("CASE t.{name}{places} ELSE {} END", words.len())
        }
        Some(Format::Text { .. } | Format::Vin | Format::Url) => format!("t.{name} COLLATE NOCASE"),
        _ => format!("t.{name}"),
    };
    // Of two tasks that are alike the one that is due sooner comes first.
    let due = if kind == Kind::Task && name != "due_on" { "t.due_on IS NULL, t.due_on, " } else { "" };
    format!("t.{name} IS NULL, {value} {direction}, {due}t.{} COLLATE NOCASE", resource.title)
}

pub(super) fn read(kind: Kind, row: &SqlRow<'_>) -> Result<Row, rusqlite::Error> {
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
        pending: match row.get::<_, Option<i64>>("pending")? {
            None => Pending::No,
            Some(1) => Pending::Waiting,
            Some(_) => Pending::NeedsYou,
        },
        names: BTreeMap::new(),
    })
}

fn or_kind(kind: Kind, title: String) -> String {
    match (title.is_empty(), kind) {
        (false, _) => title,
        (true, Kind::Property) => "Home profile".to_owned(),
        (true, _) => kind.word().to_owned(),
    }
}

pub(super) fn name_references(connection: &Connection, row: &mut Row) -> Result<(), StoreError> {
    for field in resource(row.kind).fields {
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => row.fields.get(SUBJECT_TYPE).and_then(Value::as_str).and_then(Kind::from_word),
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
