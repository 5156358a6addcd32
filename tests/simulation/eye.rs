//! What a stranger reads in a replica's database with plain SQL: where it stands, its edits and its rows. Must not judge.

use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde_json::Value;

use super::model::{Fields, Name};

/// Where a replica says it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// `sync_status.phase`.
    pub phase: String,
    /// `sync_status.position`.
    pub position: i64,
    /// `sync_status.head`.
    pub head: Option<i64>,
    /// The head that the server has told, where who syncs takes it for reached; the phase is measured by more than that.
    pub live_at: Option<i64>,
    /// Whether the tables claim to be the server's records at the position.
    pub whole: bool,
    /// Whether they are on the way to that, while the phase says otherwise.
    pub is_half: bool,
    /// In a recovery: up to where the feed is read.
    pub tail: Option<i64>,
    /// What it asks a person.
    pub question: Option<String>,
}

/// An edit that is not settled.
#[derive(Debug, Clone)]
pub struct Open {
    /// Its number.
    pub id: i64,
    /// Its record.
    pub name: Name,
    /// `create`, `update` or `delete`.
    pub method: String,
    /// Its fields.
    pub patch: Fields,
    /// Its state.
    pub state: String,
    /// Why it does not go on.
    pub reason: Option<String>,
    /// What the server calls that, if it was the server that said it.
    pub problem: Option<String>,
}

impl Open {
    /// Whether it waits for a person.
    pub fn needs_a_person(&self) -> bool {
        matches!(self.state.as_str(), "blocked" | "rejected" | "conflict")
    }
}

/// Records that `search` does not have as they are, and what it has of none.
pub fn not_in_search(eye: &Connection) -> rusqlite::Result<Vec<String>> {
    let records: Vec<String> = Kind::ALL
        .iter()
        .map(|kind| format!("SELECT '{kind}', id, coalesce({}, '') FROM {}", resource(*kind).title, kind.collection()))
        .collect();
    let text = format!(
        "WITH record (kind, id, title) AS ({}), entry AS (SELECT kind, record_id AS id, title FROM search)
         SELECT kind || ' ' || id FROM (SELECT * FROM record EXCEPT SELECT * FROM entry)
         UNION ALL SELECT kind || ' ' || id FROM (SELECT * FROM entry EXCEPT SELECT * FROM record)",
        records.join(" UNION ALL ")
    );
    eye.prepare_cached(&text)?.query_map([], |row| row.get(0))?.collect()
}

/// Tasks that a script's table does not have as they are, and what it has of none.
pub fn not_watched(eye: &Connection) -> rusqlite::Result<Vec<String>> {
    let text = "WITH task AS (SELECT id, title, notes, rev FROM tasks)
        SELECT id FROM (SELECT * FROM task EXCEPT SELECT * FROM watched)
        UNION SELECT id FROM (SELECT * FROM watched EXCEPT SELECT * FROM task)";
    eye.prepare_cached(text)?.query_map([], |row| row.get(0))?.collect()
}

/// Where a replica stands.
pub fn standing(eye: &Connection) -> rusqlite::Result<Standing> {
    let status = eye
        .prepare_cached("SELECT phase, position, head FROM sync_status")?
        .query_row([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
    let (on_its_way, tail, question, live_at): (bool, Option<i64>, Option<String>, Option<i64>) = eye
        .prepare_cached(
            "SELECT NOT backfilled OR replaying OR r.tail IS NOT NULL, r.tail, r.question, CASE phase WHEN 'live' THEN head END
             FROM _sync LEFT JOIN _reconcile r",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let (phase, position, head) = status;
    let live_at = live_at.filter(|_| matches!(phase.as_str(), "live" | "catching_up"));
    // What is only half there is never said to be the home as it was.
    let claims = matches!(phase.as_str(), "live" | "polling" | "catching_up");
    let is_half = on_its_way && claims;
    let whole = !on_its_way && !matches!(phase.as_str(), "new" | "backfilling" | "reconciling");
    Ok(Standing { phase, position, head, live_at, whole, is_half, tail, question })
}

/// The edits that are not settled, oldest first.
pub fn edits(eye: &Connection) -> rusqlite::Result<Vec<Open>> {
    let mut statement = eye.prepare_cached(
        "SELECT id, kind, record_id, method, patch, state, reason, json_extract(problem, '$.type')
             FROM edits ORDER BY id",
    )?;
    let found = statement.query_map([], |row| {
        Ok(Open {
            id: row.get(0)?,
            name: name(row)?,
            method: row.get(3)?,
            patch: fields(row, 4)?,
            state: row.get(5)?,
            reason: row.get(6)?,
            problem: row.get(7)?,
        })
    })?;
    found.collect()
}

fn name(row: &rusqlite::Row<'_>) -> rusqlite::Result<Name> {
    let word: String = row.get(1)?;
    Ok((Kind::parse(&word).expect("a known kind"), row.get(2)?))
}

fn fields(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Fields> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?).unwrap_or_default())
}

/// The edits that an edit carries with it, or that any does.
pub fn parts(eye: &Connection, edit: Option<i64>) -> rusqlite::Result<Vec<i64>> {
    let mut statement = eye.prepare_cached("SELECT edit_id FROM _coalesced WHERE of_edit = coalesce(?1, of_edit)")?;
    statement.query_map([edit], |row| row.get(0))?.collect()
}

/// What was written by edits that go together with another.
pub fn patches_of_parts(eye: &Connection) -> rusqlite::Result<Vec<Fields>> {
    let mut statement = eye.prepare_cached("SELECT patch FROM _coalesced WHERE patch IS NOT NULL")?;
    statement.query_map([], |row| fields(row, 0))?.collect()
}

/// An edit that is settled.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its number.
    pub id: i64,
    /// Its record.
    pub name: Name,
    /// `create`, `update` or `delete`.
    pub method: String,
    /// Its fields.
    pub patch: Fields,
    /// What they were before it.
    pub base: Fields,
    /// The key of its request; edits of one record that went together have the same.
    pub key: Option<String>,
    /// How it ended.
    pub outcome: String,
    /// Where its effect is, as far as that is known.
    pub rev: Option<i64>,
    /// Why it ended so.
    pub reason: Option<String>,
}

/// The edits that are settled, oldest first.
pub fn ended(eye: &Connection) -> rusqlite::Result<Vec<Ended>> {
    let mut statement = eye.prepare_cached(
        "SELECT id, kind, record_id, method, patch, base, idempotency_key, outcome, rev, reason
         FROM edit_history ORDER BY id",
    )?;
    let found = statement.query_map([], |row| {
        Ok(Ended {
            id: row.get(0)?,
            name: name(row)?,
            method: row.get(3)?,
            patch: fields(row, 4)?,
            base: fields(row, 5)?,
            key: row.get(6)?,
            outcome: row.get(7)?,
            rev: row.get(8)?,
            reason: row.get(9)?,
        })
    })?;
    found.collect()
}

/// Every row, by its record.
pub type Rows = BTreeMap<Name, Fields>;

/// Every row of the six tables, by what its columns are called.
pub fn rows(eye: &Connection) -> rusqlite::Result<Rows> {
    let mut all = Rows::new();
    for kind in Kind::ALL {
        let mut statement = eye.prepare_cached(&format!("SELECT * FROM {}", kind.collection()))?;
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut found = statement.query([])?;
        while let Some(row) = found.next()? {
            let mut fields = Fields::new();
            for (place, name) in names.iter().enumerate() {
                let value = match row.get_ref(place)? {
                    ValueRef::Null => Value::Null,
                    ValueRef::Integer(number) => number.into(),
                    ValueRef::Real(number) => number.into(),
                    ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
                };
                fields.insert(name.clone(), value);
            }
            let id = fields["id"].as_str().unwrap_or_default().to_owned();
            all.insert((kind, id), fields);
        }
    }
    Ok(all)
}
