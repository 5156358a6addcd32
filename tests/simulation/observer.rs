//! Reads a replica's database with plain SQL, as a program of a user would: sync state, edits and rows. Must not judge.

use std::collections::BTreeMap;

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde_json::Value;

use super::record::{Fields, RecordKey};

/// How far a replica says that it is in step with the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncState {
    /// `sync_status.phase`.
    pub phase: String,
    /// `sync_status.position`.
    pub position: i64,
    /// `sync_status.head`: the highest position that the server has named. None before the first contact.
    pub head: Option<i64>,
    /// The head, when the syncing process believes that the position has reached the head. The phase in `sync_status`
    /// also depends on other facts.
    pub live_head: Option<i64>,
    /// True when the tables claim to be the server's records at the position.
    pub is_complete: bool,
    /// True when the phase claims complete tables, but a backfill or reconcile still changes them.
    pub phase_is_premature: bool,
    /// During a reconcile: the position up to which the feed has been read.
    pub reconcile_tail: Option<i64>,
    /// True in a reconcile that reads the list of deleted ids instead of all ids.
    pub reads_deletions: bool,
    /// What a reconcile asks a person; None when there is no question.
    pub question: Option<String>,
}

/// A row of `edits`: an edit that has not ended.
#[derive(Debug, Clone)]
pub struct OpenEdit {
    /// The number of the edit.
    pub id: i64,
    /// The edited record.
    pub record: RecordKey,
    /// `create`, `update` or `delete`.
    pub method: String,
    /// The changed fields with their new values.
    pub patch: Fields,
    /// `edits.state`.
    pub state: String,
    /// `edits.reason`: the sentence that says why the edit does not continue.
    pub reason: Option<String>,
    /// The type of the server's error object; None when the server did not refuse the edit.
    pub problem: Option<String>,
}

impl OpenEdit {
    /// True when the edit waits for the decision of a person.
    pub fn needs_a_person(&self) -> bool {
        matches!(self.state.as_str(), "blocked" | "rejected" | "conflict")
    }
}

/// A row of `edit_history`: an edit that has ended.
#[derive(Debug, Clone)]
pub struct SettledEdit {
    /// The number of the edit.
    pub id: i64,
    /// The edited record.
    pub record: RecordKey,
    /// `create`, `update` or `delete`.
    pub method: String,
    /// The changed fields with their new values.
    pub patch: Fields,
    /// The values of these fields before the edit.
    pub base: Fields,
    /// The idempotency key of the request. Coalesced edits have the same key.
    pub idempotency_key: Option<String>,
    /// `edit_history.outcome`.
    pub outcome: String,
    /// The position at which the server holds the edit; None when unknown.
    pub rev: Option<i64>,
    /// `edit_history.reason`.
    pub reason: Option<String>,
}

/// The sync state and the open edits, read at one moment.
#[derive(Debug)]
pub struct Snapshot {
    /// The sync state.
    pub state: SyncState,
    /// The open edits, oldest first.
    pub edits: Vec<OpenEdit>,
}

/// Every row of the six tables of records.
pub type Rows = BTreeMap<RecordKey, Fields>;

/// Records whose entry in `search` is missing or differs, and entries without a record. Empty when search is in step.
pub fn search_differences(database: &Connection) -> rusqlite::Result<Vec<String>> {
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
    database.prepare_cached(&text)?.query_map([], |row| row.get(0))?.collect()
}

/// Ids of tasks that differ between `tasks` and the table that a script fills by triggers. Empty when both agree.
pub fn watched_differences(database: &Connection) -> rusqlite::Result<Vec<String>> {
    let text = "WITH task AS (SELECT id, title, notes, rev FROM tasks)
        SELECT id FROM (SELECT * FROM task EXCEPT SELECT * FROM watched)
        UNION SELECT id FROM (SELECT * FROM watched EXCEPT SELECT * FROM task)";
    database.prepare_cached(text)?.query_map([], |row| row.get(0))?.collect()
}

/// The sync state.
pub fn sync_state(database: &Connection) -> rusqlite::Result<SyncState> {
    let status = database
        .prepare_cached("SELECT phase, position, head FROM sync_status")?
        .query_row([], |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
    type Progress = (bool, Option<i64>, Option<String>, Option<i64>, bool);
    let (in_progress, reconcile_tail, question, live_head, reads_deletions): Progress = database
        .prepare_cached(
            "SELECT NOT backfilled OR r.one IS NOT NULL,
                    CASE WHEN r.one IS NOT NULL THEN coalesce(r.tail_position, 0) END, r.question,
                    CASE phase WHEN 'live' THEN head END, coalesce(r.only_changes, 0)
             FROM _sync LEFT JOIN _reconcile r",
        )?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let (phase, position, head) = status;
    let live_head = live_head.filter(|_| matches!(phase.as_str(), "live" | "catching_up"));
    let claims_complete = matches!(phase.as_str(), "live" | "polling" | "catching_up");
    let phase_is_premature = in_progress && claims_complete;
    let is_complete = !in_progress && !matches!(phase.as_str(), "new" | "backfilling" | "reconciling");
    Ok(SyncState {
        phase,
        position,
        head,
        live_head,
        is_complete,
        phase_is_premature,
        reconcile_tail,
        reads_deletions,
        question,
    })
}

/// The open edits, oldest first.
pub fn open_edits(database: &Connection) -> rusqlite::Result<Vec<OpenEdit>> {
    let mut statement = database.prepare_cached(
        "SELECT id, kind, record_id, method, patch, state, reason, json_extract(problem, '$.type')
             FROM edits ORDER BY id",
    )?;
    let edits = statement.query_map([], |row| {
        Ok(OpenEdit {
            id: row.get(0)?,
            record: record_key(row)?,
            method: row.get(3)?,
            patch: fields(row, 4)?,
            state: row.get(5)?,
            reason: row.get(6)?,
            problem: row.get(7)?,
        })
    })?;
    edits.collect()
}

/// The settled edits, oldest first.
pub fn settled_edits(database: &Connection) -> rusqlite::Result<Vec<SettledEdit>> {
    let mut statement = database.prepare_cached(
        "SELECT id, kind, record_id, method, patch, base, idempotency_key, outcome, rev, reason
         FROM edit_history ORDER BY id",
    )?;
    let edits = statement.query_map([], |row| {
        Ok(SettledEdit {
            id: row.get(0)?,
            record: record_key(row)?,
            method: row.get(3)?,
            patch: fields(row, 4)?,
            base: fields(row, 5)?,
            idempotency_key: row.get(6)?,
            outcome: row.get(7)?,
            rev: row.get(8)?,
            reason: row.get(9)?,
        })
    })?;
    edits.collect()
}

/// The record of a row of `edits` or `edit_history`: kind in column 1, id in column 2.
fn record_key(row: &Row<'_>) -> rusqlite::Result<RecordKey> {
    let word: String = row.get(1)?;
    Ok(RecordKey { kind: Kind::parse(&word).expect("a known kind"), id: row.get(2)? })
}

fn fields(row: &Row<'_>, column: usize) -> rusqlite::Result<Fields> {
    Ok(serde_json::from_str(&row.get::<_, String>(column)?).unwrap_or_default())
}

/// The numbers of the edits that were coalesced into this edit; for None: into any edit.
pub fn coalesced_edits(database: &Connection, into: Option<i64>) -> rusqlite::Result<Vec<i64>> {
    let text = "SELECT edit_id FROM _outbox WHERE part_of = coalesce(?1, part_of)";
    database.prepare_cached(text)?.query_map([into], |row| row.get(0))?.collect()
}

/// The patches of all coalesced edits.
pub fn coalesced_patches(database: &Connection) -> rusqlite::Result<Vec<Fields>> {
    let mut statement =
        database.prepare_cached("SELECT as_made -> '$.patch' FROM _outbox WHERE part_of IS NOT NULL")?;
    statement.query_map([], |row| fields(row, 0))?.collect()
}

/// Every row of the six tables of records, with all columns.
pub fn rows(database: &Connection) -> rusqlite::Result<Rows> {
    let mut all = Rows::new();
    for kind in Kind::ALL {
        let mut statement = database.prepare_cached(&format!("SELECT * FROM {}", kind.collection()))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let mut fields = Fields::new();
            for (number, column) in columns.iter().enumerate() {
                fields.insert(column.clone(), json_value(row.get_ref(number)?));
            }
            let id = fields["id"].as_str().unwrap_or_default().to_owned();
            all.insert(RecordKey { kind, id }, fields);
        }
    }
    Ok(all)
}

fn json_value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned().into(),
    }
}
