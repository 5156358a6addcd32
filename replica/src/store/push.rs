//! Edits on their way to the server: which may go, what exactly is sent, what came of it. Must not know HTTP or when
//! to try again; a request here is a verb, a path and a body.

use std::collections::{BTreeMap, HashMap};

use hearth_contract::check::{Fields, Intent, check_field};
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;
use uuid::Uuid;

use super::{StoreError, gate, log, rows, settle};

/// What stands in `edits`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Edits that may be sent now, in order; at most as many as were asked for.
    pub ready: Vec<i64>,
    /// Edits that are not settled and wait for nobody but the server.
    pub open: usize,
}

/// A request, exactly as every attempt sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// What it does, in the API's verb.
    pub verb: String,
    /// Where.
    pub path: String,
    /// The body's text; None for a delete.
    pub body: Option<String>,
    /// Makes it repeatable.
    pub key: String,
    /// The record's kind and id, for reading it back.
    pub record: (Kind, String),
}

/// What came of an edit's request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// The server holds it, since this position if it said so.
    Sent { rev: Option<i64> },
    /// It is tried again, at about this time.
    Later { at: Option<Timestamp>, reason: String },
    /// The server refuses it for good.
    Rejected { reason: String, problem: Value },
    /// Somebody else has changed or deleted what it changes.
    Conflict { reason: String, problem: Value },
}

/// How a standing edit concerns those after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    UntilSettled,
    UntilAPersonActs,
}

/// Reads which edits may go, and marks or unmarks those that depend on one which waits for a person.
pub(crate) fn plan(connection: &mut Connection, limit: usize) -> Result<Plan, StoreError> {
    let (plan, changes) = examine(connection, limit)?;
    if changes.is_empty() {
        return Ok(plan);
    }
    gate::keep(connection, |tx| {
        // Read again: another connection may have added edits meanwhile.
        let (plan, changes) = examine(tx, limit)?;
        for (id, cause) in changes {
            let (state, reason) = match cause {
                Some(cause) => ("blocked", Some(format!("waits for edit {cause}, which needs you"))),
                None => ("waiting", None),
            };
            tx.execute("UPDATE edits SET state = ?2, reason = ?3 WHERE id = ?1", (id, state, reason))?;
        }
        Ok(plan)
    })
}

/// One pass in the order of the edits. An edit waits for every earlier one of the same record, of a record it refers
/// to, and of a record that refers to it: so a room's delete never overtakes the create of an item in it.
fn examine(connection: &Connection, limit: usize) -> Result<(Plan, BTreeMap<i64, Option<i64>>), StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id, kind, record_id, patch, base, state FROM edits ORDER BY id")?;
    let mut found = statement.query([])?;
    let mut plan = Plan::default();
    let mut changes = BTreeMap::new();
    let mut of_record: HashMap<String, (Holds, i64)> = HashMap::new();
    let mut referring: HashMap<String, (Holds, i64)> = HashMap::new();
    while let Some(row) = found.next()? {
        let (id, word, record): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let state: String = row.get(5)?;
        let (patch, base) = (row.get_ref(3)?.as_str().unwrap_or("{}"), row.get_ref(4)?.as_str().unwrap_or("{}"));
        let targets = match Kind::from_word(&word) {
            Some(kind) => references(kind, &[&rows::object(patch)?, &rows::object(base)?]),
            None => Vec::new(),
        };
        let held_by = [of_record.get(&record), referring.get(&record)]
            .into_iter()
            .chain(targets.iter().map(|target| of_record.get(target)))
            .flatten()
            .max()
            .copied();
        let holds = match (state.as_str(), held_by) {
            ("sent", _) => {
                plan.open += 1;
                continue; // its effect is in; nothing waits for it
            }
            ("rejected" | "conflict", _) => Holds::UntilAPersonActs,
            (_, Some((Holds::UntilAPersonActs, cause))) => {
                if state != "blocked" {
                    changes.insert(id, Some(cause));
                }
                Holds::UntilAPersonActs
            }
            (_, held_by) => {
                if state == "blocked" {
                    changes.insert(id, None);
                }
                plan.open += 1;
                if held_by.is_none() && plan.ready.len() < limit {
                    plan.ready.push(id);
                }
                Holds::UntilSettled
            }
        };
        let hold = |map: &mut HashMap<String, (Holds, i64)>, key: String| {
            let entry = map.entry(key).or_insert((holds, id));
            if holds > entry.0 {
                *entry = (holds, id);
            }
        };
        hold(&mut of_record, record);
        for target in targets {
            hold(&mut referring, target);
        }
    }
    Ok((plan, changes))
}

fn references(kind: Kind, sides: &[&Fields]) -> Vec<String> {
    let mut ids: Vec<String> = resource(kind)
        .fields
        .iter()
        .filter(|field| matches!(field.format, Format::Reference(_) | Format::Subject))
        .flat_map(|field| sides.iter().filter_map(|side| side.get(field.name)?.as_str().map(str::to_owned)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Commits the exact request of an edit before it is first sent; later calls give the same one. None: the edit is
/// settled or needs a person.
pub(crate) fn freeze(connection: &mut Connection, edit: i64, new_key: &str) -> Result<Option<Request>, StoreError> {
    gate::keep(connection, |tx| {
        let found = tx
            .prepare_cached(
                "SELECT kind, record_id, method, patch, idempotency_key FROM edits
                 WHERE id = ?1 AND state IN ('waiting', 'sending')",
            )?
            .query_row([edit], |row| {
                let strings: (String, String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
                Ok((strings, row.get::<_, Option<String>>(4)?))
            })
            .optional()?;
        let Some(((word, record, method, patch), key)) = found else { return Ok(None) };
        let kind = Kind::from_word(&word).ok_or_else(|| StoreError::Odd(format!("an edit of unknown kind {word}")))?;
        let key = match key {
            Some(key) => key,
            None => {
                let (verb, path, body) = request(kind, &record, &method, &patch)?;
                tx.prepare_cached("INSERT INTO _requests (idempotency_key, verb, path, body) VALUES (?1, ?2, ?3, ?4)")?
                    .execute((new_key, verb, path, body))?;
                new_key.to_owned()
            }
        };
        tx.prepare_cached(
            "UPDATE edits SET state = 'sending', idempotency_key = ?2, attempts = attempts + 1, next_attempt_at = NULL
             WHERE id = ?1",
        )?
        .execute((edit, &key))?;
        frozen(tx, edit)
    })
}

/// The request of an edit as it was committed; None before its first send and after its end.
pub(crate) fn frozen(connection: &Connection, edit: i64) -> Result<Option<Request>, StoreError> {
    let found = connection
        .prepare_cached(
            "SELECT r.verb, r.path, r.body, r.idempotency_key, e.kind, e.record_id
             FROM edits e JOIN _requests r USING (idempotency_key) WHERE e.id = ?1",
        )?
        .query_row([edit], |row| {
            let request = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((request, row.get::<_, String>(4)?, row.get(5)?))
        })
        .optional()?;
    let Some(((verb, path, body, key), word, record)) = found else { return Ok(None) };
    let kind = Kind::from_word(&word).ok_or_else(|| StoreError::Odd(format!("an edit of unknown kind {word}")))?;
    Ok(Some(Request { verb, path, body, key, record: (kind, record) }))
}

/// Whether a record of the server holds every value that an edit's request sent, in the server's spelling; then its
/// position.
pub(crate) fn compare(connection: &Connection, edit: i64, record: &Fields) -> Result<Option<i64>, StoreError> {
    let Some(Request { body, record: (kind, _), .. }) = frozen(connection, edit)? else { return Ok(None) };
    let ours = body.as_deref().map(rows::object).transpose()?.unwrap_or_default();
    Ok(record.get("rev").and_then(Value::as_i64).filter(|_| holds(kind, record, &ours)))
}

fn holds(kind: Kind, record: &Fields, ours: &Fields) -> bool {
    resource(kind).fields.iter().filter(|field| field.is_writable()).all(|field| match ours.get(field.name) {
        Some(value) => check_field(field, Intent::Patch, value).ok().as_ref() == record.get(field.name),
        None => true,
    })
}

fn request(
    kind: Kind,
    record: &str,
    method: &str,
    patch: &str,
) -> Result<(&'static str, String, Option<String>), StoreError> {
    let id = Uuid::try_parse(record).map_err(|_| StoreError::Odd(format!("an edit of the record {record}")))?;
    Ok(match method {
        "create" => {
            let mut body = serde_json::Map::new();
            body.insert("id".to_owned(), record.into());
            body.extend(rows::object(patch)?);
            ("POST", paths::collection(kind), Some(Value::Object(body).to_string()))
        }
        "update" => ("PATCH", paths::record(kind, id), Some(patch.to_owned())),
        "delete" => ("DELETE", paths::record(kind, id), None),
        other => return Err(StoreError::Odd(format!("an edit with the method {other}"))),
    })
}

/// Writes down what came of an edit's request. An edit that was settled meanwhile stays settled.
pub(crate) fn record(
    connection: &mut Connection,
    edit: i64,
    verdict: &Verdict,
    now: Timestamp,
) -> Result<(), StoreError> {
    gate::keep(connection, |tx| {
        let (state, reason, problem, at) = match verdict {
            Verdict::Sent { rev } => {
                settle::mark_sent(tx, edit, *rev)?;
                let position = tx.query_row("SELECT position FROM _sync", [], |row| row.get(0))?;
                return settle::settle(tx, position, now).map(drop);
            }
            Verdict::Later { at, reason } => ("waiting", reason, None, at.map(|at| at.to_string())),
            Verdict::Rejected { reason, problem } => ("rejected", reason, Some(problem.to_string()), None),
            Verdict::Conflict { reason, problem } => ("conflict", reason, Some(problem.to_string()), None),
        };
        let changed = tx
            .prepare_cached(
                "UPDATE edits SET state = ?2, reason = ?3, problem = ?4, next_attempt_at = ?5
                 WHERE id = ?1 AND state IN ('waiting', 'sending')",
            )?
            .execute((edit, state, reason, problem, at))?;
        if changed > 0 && state != "waiting" {
            log(tx, "warning", &format!("Edit {edit} needs you ({state}): {reason}"))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_holds_what_was_sent_in_its_own_spelling() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let record = object(json!({ "id": "x", "rev": 3, "name": "Car", "purchase_price": "7.50", "vin": null }));
        assert!(holds(Kind::Vehicle, &record, &object(json!({ "id": "x", "name": "Car", "purchase_price": "07.5" }))));
        assert!(!holds(Kind::Vehicle, &record, &object(json!({ "name": "Bus" }))));
    }
}
