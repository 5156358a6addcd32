//! Freezes requests: stores the exact bytes before the first attempt, and every attempt sends the same bytes. A
//! request is a verb, a path and a body. Must not know HTTP, or the time of an attempt.

use hearth_contract::check::Fields;
use hearth_contract::check::sendable;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::model::{ConflictPolicy, Method};
use crate::store::edits::acked::id_list;
use crate::store::edits::coalesce::coalesce;
use crate::store::edits::next_tasks;
use crate::store::edits::outbox::{forget_request, frozen_keys};
use crate::store::edits::pending::{PendingEdit, load_to_send};
use crate::store::edits::prepare::prepare;
use crate::store::{StoreError, gate, rows, select};

/// A frozen request. Every attempt sends the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The HTTP method.
    pub verb: String,
    /// The path below the server's address.
    pub path: String,
    /// The JSON body; None for a delete.
    pub body: Option<String>,
    /// The idempotency key: the server applies repeated requests with the same key once.
    pub key: String,
    /// The revision for If-Match; None without a condition. In a bulk request, each operation has its own.
    pub if_match: Option<i64>,
    /// True for a bulk request, whose response has a result for each edit.
    pub bulk: bool,
    /// The unsettled edits of the request, each with the id of its record.
    pub edits: Vec<(i64, String)>,
}

/// Edits for one request.
#[derive(Debug, Clone)]
pub(crate) struct NewRequest {
    /// A group is an edit with the later edits to coalesce, or the edits of a frozen request. Several groups form a
    /// bulk request.
    pub groups: Vec<Vec<i64>>,
    /// The key of a new request; a frozen request keeps its own.
    pub new_key: String,
}

/// Freezes requests before their first attempt, in one transaction. Later calls return the same requests. None when
/// no edit of a request is left to send: the edits have ended, wait for a person, or are already on the server.
pub(crate) fn freeze(
    connection: &mut Connection,
    wanted: &[NewRequest],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Vec<Option<Request>>, StoreError> {
    gate::sync_tx(connection, |tx| {
        let freeze = |NewRequest { groups, new_key }: &NewRequest| freeze_one(tx, groups, new_key, policy, now);
        let frozen = wanted.iter().map(freeze).collect::<Result<_, _>>()?;
        // An edit of which nothing was left to send may have completed a task.
        next_tasks::end::settle_shown(tx, false, now)?;
        Ok(frozen)
    })
}

fn freeze_one(
    tx: &Transaction<'_>,
    groups: &[Vec<i64>],
    new_key: &str,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<Request>, StoreError> {
    let mut fit = Vec::new();
    let keys = frozen_keys(tx, groups)?;
    for edits in groups {
        let Some((&edit, with)) = edits.split_first() else { continue };
        let fixed = edits.iter().find_map(|edit| keys.get(edit));
        if let Some(key) = fixed.filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::RetryWithNewKey))
        {
            return resend(tx, key);
        }
        let Some(found) = load_to_send(tx, edit)? else { continue };
        let Some(found) = coalesce(tx, found, with, now)? else { continue };
        if let Some((found, if_match)) = prepare(tx, found, policy, now)? {
            fit.push((found, if_match));
        }
    }
    let (verb, path, body) = match &fit[..] {
        [] => return Ok(None),
        [(found, _)] => single_request(found)?,
        [(first, _), ..] => bulk_request(first.kind, &fit),
    };
    for (found, _) in fit.iter().filter(|(found, _)| found.request_given_up) {
        forget_request(tx, found.id)?;
    }
    tx.prepare_cached(
        "INSERT INTO _requests (idempotency_key, verb, path, body, unacked_attempts) VALUES (?1, ?2, ?3, ?4, 1)",
    )?
    .execute((new_key, verb, path, body))?;
    // One statement for all edits: the guards cost more for each statement than for each row.
    let list = id_list(fit.iter().map(|(found, if_match)| (found.id, *if_match)));
    tx.prepare_cached(
        "UPDATE edits SET state = 'sending', idempotency_key = ?2, attempts = attempts + 1,
                 next_attempt_at = NULL, reason_code = NULL, reason = NULL, problem = NULL
         WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
    )?
    .execute((&list, new_key))?;
    tx.prepare_cached(
        "INSERT INTO _outbox (edit_id, if_match) SELECT CAST(key AS INTEGER), value FROM json_each(?1) WHERE true
         ON CONFLICT DO UPDATE SET if_match = excluded.if_match, if_absent = 0, given_up = 0, maybe_applied = 0",
    )?
    .execute([list])?;
    load_request(tx, new_key)
}

/// Counts another attempt of a frozen request.
fn resend(tx: &Transaction<'_>, key: &str) -> Result<Option<Request>, StoreError> {
    tx.prepare_cached(
        "UPDATE edits SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL
         WHERE idempotency_key = ?1 AND state IN ('waiting', 'sending')",
    )?
    .execute([key])?;
    tx.prepare_cached("UPDATE _requests SET unacked_attempts = unacked_attempts + 1 WHERE idempotency_key = ?1")?
        .execute([key])?;
    load_request(tx, key)
}

/// Loads a frozen request. None when no edit of the request can be sent any more.
fn load_request(connection: &Connection, key: &str) -> Result<Option<Request>, StoreError> {
    let text = "SELECT e.id, e.record_id, f.if_match FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
         WHERE e.idempotency_key = ?1 AND NOT coalesce(f.given_up, 0) AND e.state IN ('waiting', 'sending')
         ORDER BY e.id";
    let edits: Vec<(i64, String, Option<i64>)> = select::all(connection, text, [key], |row| Ok(row.try_into()?))?;
    let Some(&(_, _, if_match)) = edits.first() else { return Ok(None) };
    let edits = edits.into_iter().map(|(edit, record, _)| (edit, record)).collect();
    let request = connection
        .prepare_cached("SELECT verb, path, body FROM _requests WHERE idempotency_key = ?1")?
        .query_row([key], |row| {
            let (verb, path, body): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let bulk = path.ends_with(BULK);
            let if_match = if_match
                .filter(|_| !bulk && !hearth_simulated::planted(hearth_simulated::PlantedFault::IfMatchNotSent));
            Ok(Request { verb, path, body, key: key.to_owned(), if_match, bulk, edits })
        })
        .optional()?;
    Ok(request)
}

type Frozen = (&'static str, String, Option<String>);

fn single_request(found: &PendingEdit) -> Result<Frozen, StoreError> {
    let PendingEdit { kind, record, .. } = found;
    let id =
        Uuid::try_parse(record).map_err(|_| StoreError::InvalidContent(format!("an edit of the record {record}")))?;
    Ok(match found.method {
        Method::Create => {
            let mut body = Map::new();
            body.insert("id".to_owned(), record.as_str().into());
            body.extend(sendable(*kind, &found.patch));
            ("POST", paths::collection(*kind), Some(Value::Object(body).to_string()))
        }
        Method::Update => {
            ("PATCH", paths::record(*kind, id), Some(Value::Object(sendable(*kind, &found.patch)).to_string()))
        }
        Method::Delete => ("DELETE", paths::record(*kind, id), None),
    })
}

const BULK: &str = "/bulk";

fn bulk_request(kind: Kind, fit: &[(PendingEdit, Option<i64>)]) -> Frozen {
    #[derive(Serialize)]
    struct Operation<'a> {
        method: &'a str,
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        if_match: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<Fields>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        operations: Vec<Operation<'a>>,
    }
    let operations = fit.iter().map(|(PendingEdit { method, record, patch, .. }, if_match)| Operation {
        method: method.as_str(),
        id: record,
        if_match: *if_match,
        data: (*method != Method::Delete).then(|| sendable(kind, patch)),
    });
    let body = rows::json_text(&Body { operations: operations.collect() });
    ("POST", format!("{}{BULK}", paths::collection(kind)), Some(body))
}
