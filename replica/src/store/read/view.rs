//! Reads for screens: single records and search. Lists are in [`page`](super::page). Must not write.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use hearth_contract::search_text;
use hearth_contract::units::{CURRENCY, UNIT_SYSTEM, Units};
use rusqlite::{Connection, OptionalExtension, Row as SqlRow};
use serde_json::Value;

use super::HAS_SERVER;
use super::filter::Condition;
use crate::model::FileState;
use crate::store::schema::worth::worth_sql;
use crate::store::{StoreError, rows, select};

/// A query for one page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowQuery {
    /// The kind of the rows.
    pub kind: Kind,
    /// The order of the rows.
    pub sort: Sort,
    /// Only rows whose text has, for each of these words, a word that begins with it; "" lists all rows.
    pub words: String,
    /// Only rows for which every condition holds.
    pub conditions: Vec<Condition>,
    /// The number of rows to skip.
    pub offset: usize,
    /// The most rows of the page. With 0 only the total is counted.
    pub limit: usize,
    /// A row whose index in this list is known: the page is read from there when it is near.
    pub near: Option<Near>,
}

/// A row whose index in a list is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// The id of the row.
    pub id: String,
    /// The number of rows before the row.
    pub number: usize,
}

impl RowQuery {
    /// A query for the first rows of a kind, without words and conditions.
    pub fn all(kind: Kind, sort: Sort, limit: usize) -> RowQuery {
        RowQuery { kind, sort, words: String::new(), conditions: Vec::new(), offset: 0, limit, near: None }
    }
}

/// An order of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    /// A field of the kind, a common field such as `rev`, or [`WORTH`](super::super::schema::worth::WORTH). Other names stand for
    /// the title.
    pub column: &'static str,
    /// True: the greatest value comes first.
    pub descending: bool,
}

/// One page of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct RowPage {
    /// The rows of the page.
    pub rows: Vec<Row>,
    /// The number of rows without offset and limit.
    pub total: usize,
}

/// One record as screens show it: the server's version with the unconfirmed edits applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// The record's title; the kind's word when the record has none.
    pub title: String,
    /// The position of the last change on the server; None until the record is confirmed.
    pub rev: Option<i64>,
    /// Every field of the kind, in the contract's order.
    pub fields: Fields,
    /// When the record was created (RFC 3339, UTC, milliseconds).
    pub created_at: Option<String>,
    /// When the server last changed the record (RFC 3339, UTC, milliseconds).
    pub updated_at: Option<String>,
    /// The name of the person or the key that changed the record last on the server. None: not confirmed yet.
    pub updated_by: Option<String>,
    /// Whether the record has unconfirmed edits.
    pub pending: Pending,
    /// True when the last change was made on this replica.
    pub own: bool,
    /// The titles of the records that the reference fields name, by field.
    pub names: BTreeMap<&'static str, String>,
    /// Where the bytes of the document's file are. None: the record has no file. Without a server, no file waits.
    pub file: Option<FileState>,
    /// The units in which the record's home reads sums and areas. The fields do not depend on them.
    pub units: Units,
}

impl Row {
    /// What the record is worth in cents: its current value, or else its price, times its quantity. None: neither is known, or
    /// the kind has no value. The same as [`WORTH`](crate::store::schema::worth::WORTH) in SQL.
    pub fn worth_cents(&self) -> Option<i64> {
        let has_worth = worth_sql(self.kind, "").is_some();
        let sum = |name: &str| self.fields.get(name).and_then(Value::as_str);
        let each: f64 = sum("current_value").or_else(|| sum("purchase_price")).filter(|_| has_worth)?.parse().ok()?;
        let quantity = self.fields.get("quantity").and_then(Value::as_i64).unwrap_or(1);
        Some(((each * 100.0).round() * quantity as f64) as i64)
    }
}

/// Whether a record has unconfirmed edits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pending {
    /// No edit of the record waits. In a home without a server no edit waits for the server, but one may wait for a person.
    No,
    /// Edits wait for the server.
    Waiting,
    /// At least one edit waits for a person.
    NeedsYou,
}

/// A record that a search found. Commands print the members in this order.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Hit {
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record.
    pub id: String,
    /// The record's title; the kind's word when the record has none.
    pub title: String,
    /// A part of the text with the found words between `**`.
    pub snippet: String,
}

/// The columns of the row `t` that [`row_from_sql`] reads. First: unconfirmed edits (NULL: none, 1: for the server, 2: for a
/// person). Second: whether the last change was made on this replica. Third: where the bytes of its file are. Then the units of
/// the home, which SQLite reads once for all rows. All are read by index, because a person may have added a column of any name
/// to the table.
pub(super) fn row_columns(kind: Kind) -> String {
    let file = match kind {
        Kind::Document => format!(
            "(SELECT CASE WHEN f.state = 'waiting' AND NOT {HAS_SERVER} THEN 'present' ELSE f.state END
              FROM files f WHERE f.sha256 = t.file_sha256)"
        ),
        _ => "NULL".to_owned(),
    };
    format!(
        "(SELECT max(CASE WHEN e.state IN ('blocked', 'rejected', 'conflict') THEN 2 WHEN {HAS_SERVER} THEN 1 END)
          FROM edits e WHERE e.record_id = t.id AND e.kind = '{kind}'),
         EXISTS (SELECT 1 FROM edit_history h WHERE h.record_id = t.id AND h.rev = t.rev),
         {file},
         (SELECT {CURRENCY} FROM property), (SELECT {UNIT_SYSTEM} FROM property),
         t.*"
    )
}

/// Loads one record; None when there is no row. For the home's profile the id does not count.
pub(crate) fn row(connection: &Connection, kind: Kind, id: &str) -> Result<Option<Row>, StoreError> {
    let only = if kind.is_singleton() { "?1 IS NOT NULL" } else { "t.id = ?1" };
    let text = format!("SELECT {} FROM {} t WHERE {only} LIMIT 1", row_columns(kind), kind.collection());
    let mut found = connection.prepare_cached(&text)?.query_row([id], |row| row_from_sql(kind, row)).optional()?;
    if let Some(row) = &mut found {
        load_reference_titles(connection, row)?;
    }
    Ok(found)
}

/// The most matches that are ranked. Words that more records have say little about any of them.
const RANKED_MAX: i64 = 3_000;

/// Searches all kinds; the best matches come first.
pub(crate) fn search(connection: &Connection, words: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
    // Counting the matches of a single letter takes as long as the search itself.
    let is_single_letters = words.split_whitespace().all(|word| word.chars().count() < 2);
    let terms = search_text::terms(words);
    let Some(words) = match_words(words) else { return Ok(Vec::new()) };
    let may_rank = !is_single_letters && {
        let text = "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT ?2)";
        select::value::<i64>(connection, text, (&words, RANKED_MAX + 1))? <= RANKED_MAX
    };
    if may_rank {
        return hits(connection, &words, &terms, "ORDER BY bm25(search, 0, 0, 8.0, 1.0, 1.0), rowid", limit);
    }
    // Matches in the title come first, as a ranking would sort them.
    let mut found = hits(connection, &format!("title : ({words})"), &terms, "", limit)?;
    if found.len() < limit {
        let in_title: Vec<String> = found.iter().map(|hit| hit.id.clone()).collect();
        found
            .extend(hits(connection, &words, &terms, "", limit)?.into_iter().filter(|hit| !in_title.contains(&hit.id)));
        found.truncate(limit);
    }
    Ok(found)
}

/// The most words of a snippet.
const SNIPPET_WORDS: usize = 12;

/// The records that match a query. `terms`: the folded terms of the query, to mark them where FTS5 would show the plain form.
fn hits(
    connection: &Connection,
    query: &str,
    terms: &[String],
    order: &str,
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    let text = format!(
        "SELECT kind, record_id, title, CASE WHEN plain <> '' THEN body END AS marked_body,
             snippet(search, -1, '**', '**', '…', {SNIPPET_WORDS}) AS snippet
         FROM search WHERE search MATCH ?1 {order} LIMIT ?2"
    );
    let hits = select::all(connection, &text, (query, select::limit(limit)), |row| {
        let Some(kind) = Kind::parse(&row.get::<_, String>("kind")?) else { return Ok(None) };
        let title: String = row.get("title")?;
        let marked = row.get::<_, Option<String>>("marked_body")?.and_then(|body| {
            search_text::marked(&body, terms, SNIPPET_WORDS)
                .or_else(|| search_text::marked(&title, terms, SNIPPET_WORDS))
        });
        let snippet: String = marked.map_or_else(|| row.get("snippet"), Ok)?;
        let id = row.get("record_id")?;
        // The indexed text has one line for each field; a snippet is shown in one line.
        let snippet = snippet.trim().replace('\n', " ");
        Ok(Some(Hit { kind, id, title: title_or_kind(kind, title), snippet }))
    })?;
    Ok(hits.into_iter().flatten().collect())
}

/// A person's words as an FTS5 query. Each word is a quoted prefix, so that no character counts as query syntax. None without
/// words.
///
/// The words are looked for as written, because the index folds Latin letters only, and folded. Written words stand side by
/// side: FTS5 ignores a word without letters by its own, older Unicode tables, where AND would match no record.
pub(crate) fn match_words(words: &str) -> Option<String> {
    let prefix = |word: &str| format!("\"{word}\"*");
    let written = search_text::written_terms(words).into_iter().map(str::to_lowercase).collect::<Vec<_>>();
    let folded = search_text::terms(words);
    if folded.is_empty() {
        return None;
    }
    let as_written = written.iter().map(|word| prefix(word)).collect::<Vec<_>>().join(" ");
    let spellings: Vec<Vec<String>> = folded.iter().map(|term| search_text::spellings(term)).collect();
    if written == folded && spellings.iter().all(|spellings| spellings.len() == 1) {
        return Some(as_written);
    }
    let group = |spellings: &Vec<String>| spellings.iter().map(|word| prefix(word)).collect::<Vec<_>>().join(" OR ");
    let as_folded =
        spellings.iter().map(|spellings| format!("({})", group(spellings))).collect::<Vec<_>>().join(" AND ");
    Some(format!("({as_written}) OR ({as_folded})"))
}

/// Reads a row of [`row_columns`].
pub(super) fn row_from_sql(kind: Kind, row: &SqlRow<'_>) -> Result<Row, rusqlite::Error> {
    let stored = rows::record_from_row(kind, row)?;
    let title = stored.fields.get(resource(kind).title).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Row {
        kind,
        id: row.get("id")?,
        title: title_or_kind(kind, title),
        rev: stored.rev,
        fields: stored.fields,
        created_at: stored.created_at,
        updated_at: stored.updated_at,
        updated_by: stored.updated_by,
        pending: match row.get::<_, Option<i64>>(0)? {
            None => Pending::No,
            Some(1) => Pending::Waiting,
            Some(_) => Pending::NeedsYou,
        },
        own: row.get(1)?,
        names: BTreeMap::new(),
        file: row.get(2)?,
        units: units_from_sql(row, 3)?,
    })
}

/// Reads the units of the home from two columns.
fn units_from_sql(row: &SqlRow<'_>, from: usize) -> Result<Units, rusqlite::Error> {
    let text = |index: usize| Ok::<_, rusqlite::Error>(row.get_ref(index)?.as_str_or_null().ok().flatten());
    Ok(Units::new(text(from)?, text(from + 1)?))
}

/// The units in which the home reads sums and areas, as its profile says.
pub(crate) fn units(connection: &Connection) -> Result<Units, StoreError> {
    let text = format!("SELECT {CURRENCY}, {UNIT_SYSTEM} FROM property");
    let found = connection.prepare_cached(&text)?.query_row([], |row| units_from_sql(row, 0)).optional()?;
    Ok(found.unwrap_or_default())
}

/// The title; the kind's word when the title is empty, `Home profile` for the profile.
pub(super) fn title_or_kind(kind: Kind, title: String) -> String {
    match (title.is_empty(), kind) {
        (false, _) => title,
        (true, Kind::Property) => "Home profile".to_owned(),
        (true, _) => kind.as_str().to_owned(),
    }
}

/// Loads the titles of the records that a row refers to.
pub(super) fn load_reference_titles(connection: &Connection, row: &mut Row) -> Result<(), StoreError> {
    for field in resource(row.kind).fields {
        let target = match field.format {
            Format::Reference(kind) => Some(kind),
            Format::Subject => row.fields.get(SUBJECT_TYPE).and_then(Value::as_str).and_then(Kind::parse),
            _ => None,
        };
        let (Some(target), Some(id)) = (target, row.fields.get(field.name).and_then(Value::as_str)) else { continue };
        let name = rows::stored_title(connection, target, id)?;
        row.names.extend(name.map(|name| (field.name, name)));
    }
    Ok(())
}
