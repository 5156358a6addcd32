//! Edits on their way to the server: what exactly is sent, by every attempt alike. Must not know HTTP or when to try again;
//! a request here is a verb, a path and a body.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::model::Method;
use crate::store::edits::held::listed;
use crate::store::edits::judge::ConflictPolicy;
use crate::store::edits::parcel::{Parcel, admit, join, load, text};
use crate::store::edits::parts;
use crate::store::{StoreError, gate};

/// Operations of one bulk call (contract 7).
pub(crate) const OPERATIONS_MAX: usize = 50;

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
    /// The revision it insists on. Each operation of a bulk call says its own.
    pub guard: Option<i64>,
    /// Whether it is a bulk call, which is answered for each of its edits.
    pub bulk: bool,
    /// The edits it carries and their records, as far as they are not settled.
    pub edits: Vec<(i64, String)>,
}

/// Edits that are to go as one request.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    /// Each is an edit and those that go with it, or the edits of a fixed request; several make one bulk call.
    pub parcels: Vec<Vec<i64>>,
    /// The key of their request, unless it is fixed.
    pub new_key: String,
}

/// Commits the exact requests of edits before they are first sent, together, so that they wait for the disk once; later
/// calls give the same ones. None: nothing of them is to be sent any more, because they are settled, or wait for a person,
/// or the server has it all already.
pub(crate) fn freeze(
    connection: &mut Connection,
    wanted: &[Wanted],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Vec<Option<Request>>, StoreError> {
    gate::sync_tx(connection, |tx| {
        wanted.iter().map(|Wanted { parcels, new_key }| freeze_one(tx, parcels, new_key, policy, now)).collect()
    })
}

fn freeze_one(
    tx: &Transaction<'_>,
    parcels: &[Vec<i64>],
    new_key: &str,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<Request>, StoreError> {
    let mut fit = Vec::new();
    let keys = fixed_keys(tx, parcels)?;
    for edits in parcels {
        let Some((&edit, with)) = edits.split_first() else { continue };
        let fixed = edits.iter().find_map(|edit| keys.get(edit));
        if let Some(key) = fixed.filter(|_| !hearth_simulated::planted(hearth_simulated::Fault::RetryWithNewKey)) {
            tx.prepare_cached(
                "UPDATE edits SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL
                     WHERE idempotency_key = ?1 AND state IN ('waiting', 'sending')",
            )?
            .execute([key])?;
            tx.prepare_cached(
                "UPDATE _outbox SET missed = 2
                     WHERE missed = 1 AND edit_id IN (SELECT id FROM edits WHERE idempotency_key = ?1)",
            )?
            .execute([key])?;
            tx.prepare_cached("UPDATE _requests SET in_the_air = in_the_air + 1 WHERE idempotency_key = ?1")?
                .execute([key])?;
            return frozen(tx, key);
        }
        let Some(parcel) = load(tx, edit)? else { continue };
        let Some(parcel) = join(tx, parcel, with, now)? else { continue };
        if let Some((parcel, guard)) = admit(tx, parcel, policy, now)? {
            fit.push((parcel, guard));
        }
        if fit.len() >= OPERATIONS_MAX {
            break;
        }
    }
    let (verb, path, body) = match &fit[..] {
        [] => return Ok(None),
        [(parcel, _)] => single(parcel)?,
        [(first, _), ..] => bulk(first.kind, &fit),
    };
    tx.prepare_cached(
        "INSERT INTO _requests (idempotency_key, verb, path, body, in_the_air) VALUES (?1, ?2, ?3, ?4, 1)",
    )?
    .execute((new_key, verb, path, body))?;
    for (parcel, _) in fit.iter().filter(|(parcel, _)| parcel.overtaken) {
        forget_request(tx, parcel.edit)?;
    }
    // Together, because each statement that a guard looks at costs more than its rows.
    let list = listed(fit.iter().map(|(parcel, guard)| (parcel.edit, *guard)));
    tx.prepare_cached(
        "UPDATE edits SET state = 'sending', idempotency_key = ?2, attempts = attempts + 1,
                 next_attempt_at = NULL, reason = NULL, problem = NULL
         WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
    )?
    .execute((&list, new_key))?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO _outbox (edit_id, guard) SELECT CAST(key AS INTEGER), value FROM json_each(?1)",
    )?
    .execute([list])?;
    frozen(tx, new_key)
}

/// The key of an edit's request, if that is fixed and may still take effect.
pub(crate) fn fixed(tx: &Connection, edit: i64) -> Result<Option<String>, StoreError> {
    Ok(fixed_keys(tx, &[vec![edit]])?.remove(&edit))
}

/// The same of many edits.
fn fixed_keys(tx: &Connection, parcels: &[Vec<i64>]) -> Result<HashMap<i64, String>, StoreError> {
    let list = listed(parcels.iter().flatten().map(|edit| (*edit, None)));
    let mut statement = tx.prepare_cached(
        "SELECT e.id, e.idempotency_key
         FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) LEFT JOIN _outbox f ON f.edit_id = e.id
         WHERE NOT coalesce(f.refused, 0) AND e.state IN ('waiting', 'sending', 'blocked')
             AND e.idempotency_key IS NOT NULL",
    )?;
    let found = statement.query_map([list], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// A request as it was committed.
fn frozen(connection: &Connection, key: &str) -> Result<Option<Request>, StoreError> {
    let edits: Vec<(i64, String, Option<i64>)> = connection
        .prepare_cached(
            "SELECT e.id, e.record_id, f.guard FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
             WHERE e.idempotency_key = ?1 AND NOT coalesce(f.refused, 0) AND e.state IN ('waiting', 'sending') ORDER BY e.id",
        )?
        .query_map([key], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let Some(&(_, _, guard)) = edits.first() else { return Ok(None) };
    let edits = edits.into_iter().map(|(edit, record, _)| (edit, record)).collect();
    let request = connection
        .prepare_cached("SELECT verb, path, body FROM _requests WHERE idempotency_key = ?1")?
        .query_row([key], |row| {
            let (verb, path, body): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let bulk = path.ends_with(BULK);
            let guard = guard.filter(|_| !bulk && !hearth_simulated::planted(hearth_simulated::Fault::IfMatchNotSent));
            Ok(Request { verb, path, body, key: key.to_owned(), guard, bulk, edits })
        })
        .optional()?;
    Ok(request)
}

type Frozen = (&'static str, String, Option<String>);

fn single(parcel: &Parcel) -> Result<Frozen, StoreError> {
    let Parcel { kind, record, .. } = parcel;
    let id =
        Uuid::try_parse(record).map_err(|_| StoreError::InvalidContent(format!("an edit of the record {record}")))?;
    Ok(match parcel.method {
        Method::Create => {
            let mut body = Map::new();
            body.insert("id".to_owned(), record.as_str().into());
            body.extend(parcel.patch.clone());
            ("POST", paths::collection(*kind), Some(Value::Object(body).to_string()))
        }
        Method::Update => ("PATCH", paths::record(*kind, id), Some(Value::Object(parcel.patch.clone()).to_string())),
        Method::Delete => ("DELETE", paths::record(*kind, id), None),
    })
}

const BULK: &str = "/bulk";

fn bulk(kind: Kind, fit: &[(Parcel, Option<i64>)]) -> Frozen {
    #[derive(Serialize)]
    struct Operation<'a> {
        method: &'a str,
        id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        if_match: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        data: Option<&'a Fields>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        operations: Vec<Operation<'a>>,
    }
    let operations = fit.iter().map(|(Parcel { method, record, patch, .. }, guard)| Operation {
        method: method.as_str(),
        id: record,
        if_match: *guard,
        data: (*method != Method::Delete).then_some(patch),
    });
    let body = text(&Body { operations: operations.collect() });
    ("POST", format!("{}{BULK}", paths::collection(kind)), Some(body))
}

/// The bytes of a request go with the last edit that it carries.
const FORGET_BYTES: &str =
    "DELETE FROM _requests WHERE idempotency_key = (SELECT idempotency_key FROM edits WHERE id = ?1)
     AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.idempotency_key = _requests.idempotency_key AND e.id <> ?1)";

/// Lets go of an edit's request, which was refused for good or is answered.
pub(crate) fn forget_request(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    for text in [
        FORGET_BYTES,
        "DELETE FROM _outbox WHERE edit_id = ?1",
        "UPDATE edits SET idempotency_key = NULL WHERE id = ?1",
    ] {
        tx.prepare_cached(text)?.execute([edit])?;
    }
    Ok(())
}

/// Lets go of the request of an edit that is surely not in: what went as one is apart again.
fn free_one(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    forget_request(tx, edit)?;
    parts::apart(tx, edit)
}

/// A request was refused as a whole, and its edits go each by itself. Those of one that was sent more than once may be in all
/// the same: they keep its key, by which the feed knows them, and are judged anew once it has come to the present.
pub(crate) fn split(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    match may_be_in(tx, edit)? {
        true => {
            tx.prepare_cached("UPDATE _outbox SET refused = 1, guard = NULL WHERE edit_id = ?1")?.execute([edit])?;
            Ok(())
        }
        false => free_one(tx, edit),
    }
}

/// Edits whose request was sent more than once, so that what was said of it last says nothing of the times before.
pub(super) const SENT_BEFORE: &str = "SELECT id FROM edits JOIN _requests USING (idempotency_key) WHERE in_the_air > 1";

/// Whether the request of an edit, though it was refused, was sent before that as well: a refusal tells of one time alone.
pub(crate) fn may_be_in(tx: &Connection, edit: i64) -> Result<bool, StoreError> {
    let text = format!("SELECT EXISTS ({SENT_BEFORE} AND id = ?1 AND state IN ('waiting', 'sending', 'blocked'))");
    Ok(tx.prepare_cached(&text)?.query_row([edit], |row| row.get(0))?)
}

/// The server did not look at the requests of these edits. One that is surely not in goes with that, and its edits are free
/// to be changed, given up or sent in another.
pub(crate) fn let_go(tx: &Transaction<'_>, edits: &[i64]) -> Result<(), StoreError> {
    let list = listed(edits.iter().map(|edit| (*edit, None)));
    let of_requests = "SELECT idempotency_key FROM edits WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))";
    tx.prepare_cached(&format!(
        "UPDATE _requests SET in_the_air = in_the_air - 1 WHERE idempotency_key IN ({of_requests})"
    ))?
    .execute([&list])?;
    let unsure = if hearth_simulated::planted(hearth_simulated::Fault::MaybeAppliedForgotten) { 1_000_000 } else { 0 };
    let free: Vec<i64> = tx
        .prepare_cached(&format!(
            "SELECT id FROM edits JOIN _requests USING (idempotency_key)
             WHERE in_the_air <= {unsure} AND idempotency_key IN ({of_requests})"
        ))?
        .query_map([list], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    free.into_iter().try_for_each(|edit| free_one(tx, edit))
}
