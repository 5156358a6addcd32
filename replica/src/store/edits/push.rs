//! Edits on their way to the server: what exactly is sent, and what came of it. Must not know HTTP or when to try
//! again; a request here is a verb, a path and a body.

use std::collections::HashMap;

use hearth_contract::check::Fields;
use hearth_contract::formats::Timestamp;
use hearth_contract::paths;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction};
use serde::Serialize;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::store::edits::judge::{Clash, ConflictPolicy, Judgement, judge, spelled};
use crate::store::edits::{history, settle};
use crate::store::mirror::image;
use crate::store::{StoreError, gate, log, rows};

/// Operations of one bulk call (contract 7).
pub(crate) const OPERATIONS_MAX: usize = 50;
/// Bytes of one bulk call's operations; the server takes 1 MiB (contract 12).
const OPERATIONS_BYTES_MAX: usize = 512 << 10;

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

/// What came of an edit's request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// The server holds it, since this position if it said so.
    Sent { rev: Option<i64> },
    /// It is tried again, at about this time.
    Later { at: Option<Timestamp>, reason: String },
    /// The record has moved on. Once the feed has brought what it is now, the edit is judged anew.
    Overtaken,
    /// The server refuses what it was sent with, without a word about it: it goes again by itself.
    Apart,
    /// The server refuses it for good.
    Rejected { reason: String, problem: Value },
    /// Somebody else has changed or deleted what it changes.
    Conflict { reason: String, problem: Value, gone: bool },
}

/// An edit as it is about to be sent.
struct Parcel {
    edit: i64,
    kind: Kind,
    record: String,
    method: String,
    patch: Fields,
    base: Fields,
    /// A request of it was refused because the record had moved on.
    overtaken: bool,
    /// That request may have been in before: its own event may be among those that were missed.
    in_doubt: bool,
}

/// What is said of an edit whose effect may have been there and gone again.
const IN_DOUBT: &str = "it may have been on the server already and been changed there since, while this replica was away; \
     retry sends it again, discard lets it go";

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
    gate::keep(connection, |tx| {
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
    let mut bytes = 0;
    let keys = fixed_keys(tx, parcels)?;
    for edits in parcels {
        let Some((&edit, with)) = edits.split_first() else { continue };
        let fixed = edits.iter().find_map(|edit| keys.get(edit));
        if let Some(key) = fixed.filter(|_| !hearth_simulated::planted("a retry has a new key")) {
            tx.prepare_cached(
                "UPDATE edits SET state = 'sending', attempts = attempts + 1, next_attempt_at = NULL
                     WHERE idempotency_key = ?1 AND state IN ('waiting', 'sending')",
            )?
            .execute([key])?;
            tx.prepare_cached(
                "UPDATE _frozen SET missed = 2
                     WHERE missed = 1 AND edit_id IN (SELECT id FROM edits WHERE idempotency_key = ?1)",
            )?
            .execute([key])?;
            return frozen(tx, key);
        }
        let Some(parcel) = load(tx, edit)? else { continue };
        let Some(parcel) = join(tx, parcel, with, now)? else { continue };
        if let Some((parcel, guard)) = admit(tx, parcel, policy, now)? {
            bytes += text(&parcel.patch).len() + 128;
            fit.push((parcel, guard));
        }
        if fit.len() >= OPERATIONS_MAX || bytes >= OPERATIONS_BYTES_MAX {
            break;
        }
    }
    let (verb, path, body) = match &fit[..] {
        [] => return Ok(None),
        [(parcel, _)] => single(parcel)?,
        [(first, _), ..] => bulk(first.kind, &fit),
    };
    tx.prepare_cached("INSERT INTO _requests (idempotency_key, verb, path, body) VALUES (?1, ?2, ?3, ?4)")?
        .execute((new_key, verb, path, body))?;
    for (parcel, _) in fit.iter().filter(|(parcel, _)| parcel.overtaken) {
        settle::forget_request(tx, parcel.edit)?;
    }
    // Together, because each statement that a guard looks at costs more than its rows.
    let list = settle::listed(fit.iter().map(|(parcel, guard)| (parcel.edit, *guard)));
    tx.prepare_cached(
        "UPDATE edits SET state = 'sending', idempotency_key = ?2, attempts = attempts + 1,
                 next_attempt_at = NULL, reason = NULL, problem = NULL
         WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
    )?
    .execute((&list, new_key))?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO _frozen (edit_id, guard) SELECT CAST(key AS INTEGER), value FROM json_each(?1)",
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
    let list = settle::listed(parcels.iter().flatten().map(|edit| (*edit, None)));
    let mut statement = tx.prepare_cached(
        "SELECT e.id, e.idempotency_key
         FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) LEFT JOIN _frozen f ON f.edit_id = e.id
         WHERE NOT coalesce(f.refused, 0) AND e.state IN ('waiting', 'sending', 'blocked')
             AND e.idempotency_key IS NOT NULL",
    )?;
    let found = statement.query_map([list], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Contact begins anew: what was refused because its record had moved on, but whose record has not come in another form,
/// is tried again. Perhaps the server was put back since, and nothing will come.
pub(crate) fn expect_nothing(tx: &Connection) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE _frozen SET guard = NULL WHERE refused AND edit_id IN (SELECT id FROM edits WHERE state = 'waiting')",
        [],
    )?;
    Ok(())
}

/// Events are missed from here on, perhaps that of a request whose answer never came.
pub(crate) fn doubt(tx: &Connection) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE _frozen SET missed = 1 WHERE missed = 0 AND NOT refused")?.execute([])?;
    Ok(())
}

/// After what was missed is made up for, or a first read has come to the present: a record at the revision that a request
/// insists on shows that it is not in. One that insists on none, because there was no profile yet, must not go again now
/// that there is one.
pub(crate) fn doubt_less(tx: &Connection) -> Result<(), StoreError> {
    let rev = "(SELECT i.rev FROM _images i JOIN edits e ON e.kind = i.kind AND e.record_id = i.record_id
                WHERE e.id = edit_id)";
    tx.execute(&format!("UPDATE _frozen SET missed = 0 WHERE missed AND guard = {rev}"), [])?;
    let blind = "SELECT id FROM edits WHERE method = 'update' AND state IN ('waiting', 'sending', 'blocked')";
    let text = format!(
        "UPDATE _frozen SET refused = 1, missed = 2
         WHERE missed AND NOT refused AND guard IS NULL AND edit_id IN ({blind}) AND {rev} IS NOT NULL"
    );
    tx.execute(&text, [])?;
    Ok(())
}

/// A request as it was committed.
fn frozen(connection: &Connection, key: &str) -> Result<Option<Request>, StoreError> {
    let edits: Vec<(i64, String, Option<i64>)> = connection
        .prepare_cached(
            "SELECT e.id, e.record_id, f.guard FROM edits e LEFT JOIN _frozen f ON f.edit_id = e.id
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
            let guard = guard.filter(|_| !bulk && !hearth_simulated::planted("no condition is sent"));
            Ok(Request { verb, path, body, key: key.to_owned(), guard, bulk, edits })
        })
        .optional()?;
    Ok(request)
}

fn load(tx: &Connection, edit: i64) -> Result<Option<Parcel>, StoreError> {
    let found = tx
        .prepare_cached(
            "SELECT kind, record_id, method, patch, base, coalesce(f.refused, 0), coalesce(f.refused AND f.missed = 2, 0)
             FROM edits e LEFT JOIN _frozen f ON f.edit_id = e.id WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .query_row([edit], |row| {
            let strings: (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((strings, row.get::<_, String>(3)?, row.get::<_, String>(4)?, (row.get(5)?, row.get(6)?)))
        })
        .optional()?;
    let Some(((word, record, method), patch, base, (overtaken, in_doubt))) = found else { return Ok(None) };
    let kind = Kind::from_word(&word).ok_or_else(|| StoreError::Odd(format!("an edit of unknown kind {word}")))?;
    let (patch, base) = (rows::object(&patch)?, rows::object(&base)?);
    Ok(Some(Parcel { edit, kind, record, method, patch, base, overtaken, in_doubt }))
}

/// Makes one edit of an edit and later ones of its record that were never sent. None: the record came and went without
/// anybody else having heard of it.
fn join(tx: &Transaction<'_>, mut sum: Parcel, with: &[i64], now: Timestamp) -> Result<Option<Parcel>, StoreError> {
    let mut joined = Vec::new();
    for edit in with {
        match load(tx, *edit)? {
            Some(next) if next.record == sum.record && next.kind == sum.kind => joined.push(next),
            _ => break, // somebody has decided on it meanwhile, so what follows it must wait
        }
    }
    if joined.is_empty() {
        return Ok(Some(sum));
    }
    for edit in [sum.edit].into_iter().chain(joined.iter().map(|part| part.edit)) {
        tx.prepare_cached(
            "INSERT INTO _parts (edit_id, of_edit, method, patch, base, origin, created_at)
             SELECT id, ?2, method, patch, base, origin, created_at FROM edits WHERE id = ?1
             ON CONFLICT DO NOTHING",
        )?
        .execute((edit, sum.edit))?;
    }
    for part in joined {
        for (name, value) in part.base {
            // What was before the first edit of a field was before their sum.
            if !sum.patch.contains_key(&name) {
                sum.base.entry(name).or_insert(value);
            }
        }
        sum.patch.extend(part.patch);
        if part.method == "delete" {
            sum.patch.clear();
            if sum.method == "create" {
                settle::finish(tx, part.edit, "merged", Some("it was never sent"), now)?;
                tx.prepare_cached("DELETE FROM _parts WHERE edit_id = ?1")?.execute([part.edit])?;
                settle::finish(tx, sum.edit, "superseded", Some("deleted again before it was sent"), now)?;
                image::project(tx, sum.kind, &sum.record)?;
                return Ok(None);
            }
            sum.method = part.method;
        }
        tx.prepare_cached("DELETE FROM edits WHERE id = ?1")?.execute([part.edit])?;
    }
    if sum.method == "create" {
        sum.base.clear();
    }
    write(tx, &sum)?;
    Ok(Some(sum))
}

fn write(tx: &Connection, parcel: &Parcel) -> Result<(), StoreError> {
    tx.prepare_cached("UPDATE edits SET method = ?2, patch = ?3, base = ?4 WHERE id = ?1")?.execute((
        parcel.edit,
        &parcel.method,
        text(&parcel.patch),
        text(&parcel.base),
    ))?;
    Ok(())
}

/// JSON text.
fn text(value: &impl Serialize) -> String {
    // What is serialized here has keys of text and no numbers that JSON lacks.
    serde_json::to_string(value).unwrap_or_default()
}

/// Looks an edit over before it goes: gives it with the revision it must insist on, or settles it, or has it wait for a
/// person.
fn admit(
    tx: &Transaction<'_>,
    mut parcel: Parcel,
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<Option<(Parcel, Option<i64>)>, StoreError> {
    let Parcel { edit, kind, .. } = parcel;
    let known = image::known(tx, kind, &parcel.record)?;
    let guard = known.as_ref().and_then(|known| known.rev).filter(|_| parcel.method != "create");
    match judge(kind, &parcel.method, &parcel.patch, &parcel.base, known.as_ref()) {
        // A second effect would undo what others have done since.
        Judgement::Go | Judgement::Clash(_) if parcel.in_doubt && parcel.method == "update" => {
            return wait_for_a_person(tx, &mut parcel, IN_DOUBT);
        }
        Judgement::Go if parcel.overtaken => {
            log(tx, "info", &format!("Edit {edit}: the {kind} was changed there meanwhile; both changes stand."))?;
        }
        Judgement::Go => {}
        Judgement::Done => {
            settle::finish(tx, edit, "merged", Some("the server has it already"), now)?;
            image::project(tx, kind, &parcel.record)?;
            log(tx, "info", &format!("Edit {edit}: the {kind} is already so on the server."))?;
            return Ok(None);
        }
        Judgement::Gone => return wait_for_a_person(tx, &mut parcel, "deleted there"),
        Judgement::Taken(_) => return wait_for_a_person(tx, &mut parcel, "a record with this id is there already"),
        Judgement::Clash(_) if parcel.method == "delete" => {
            return wait_for_a_person(tx, &mut parcel, "changed there since you deleted it");
        }
        Judgement::Clash(clashes) if policy == ConflictPolicy::Ask => {
            let names: Vec<&str> = clashes.iter().map(|clash| clash.field).collect();
            return wait_for_a_person(tx, &mut parcel, &format!("{} changed there too", names.join(", ")));
        }
        Judgement::Clash(clashes) => {
            if !decide(tx, &mut parcel, &clashes, policy, now)? {
                return Ok(None);
            }
        }
    }
    Ok(Some((parcel, guard)))
}

fn wait_for_a_person<T>(tx: &Transaction<'_>, parcel: &mut Parcel, reason: &str) -> Result<Option<T>, StoreError> {
    let Parcel { edit, kind, .. } = *parcel;
    // In the server's spelling, so that plain SQL can compare the three sides.
    for side in [&mut parcel.patch, &mut parcel.base] {
        for (name, value) in side.iter_mut() {
            *value = spelled(kind, name, Some(value));
        }
    }
    write(tx, parcel)?;
    tx.prepare_cached("UPDATE edits SET state = 'conflict', reason = ?2, next_attempt_at = NULL WHERE id = ?1")?
        .execute((edit, reason))?;
    let name = history::title(tx, kind, &parcel.record, &[&parcel.patch, &parcel.base])?;
    log(tx, "warning", &format!("“{name}” needs you (edit {edit}, conflict): {reason}."))?;
    Ok(None)
}

/// Decides as the profile says. The values that lose are kept. False: nothing of the edit is left.
fn decide(
    tx: &Transaction<'_>,
    parcel: &mut Parcel,
    clashes: &[Clash],
    policy: ConflictPolicy,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let edit = parcel.edit;
    let side = |of: fn(&Clash) -> &Value| -> Fields {
        clashes.iter().map(|clash| (clash.field.to_owned(), of(clash).clone())).collect()
    };
    let (mine, theirs) = (side(|clash| &clash.mine), side(|clash| &clash.theirs));
    let names = clashes.iter().map(|clash| clash.field).collect::<Vec<_>>().join(", ");
    if policy == ConflictPolicy::Mine {
        let why = format!("lost to edit {edit}: the profile keeps what was written here");
        let kept = settle::keep_loser(tx, edit, &theirs, &mine, &why, now)?;
        parcel.base.extend(theirs);
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; yours was kept (undo {kept} takes theirs)."),
        )?;
        write(tx, parcel)?;
        return Ok(true);
    }
    let why = format!("of edit {edit}: the profile keeps what was written there");
    for clash in clashes {
        parcel.patch.shift_remove(clash.field);
        parcel.base.shift_remove(clash.field);
    }
    if parcel.patch.is_empty() {
        settle::finish(tx, edit, "superseded", Some("the profile keeps what was written there"), now)?;
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {edit} takes yours)."),
        )?;
    } else {
        let kept = settle::keep_loser(tx, edit, &mine, &theirs, &why, now)?;
        log(
            tx,
            "info",
            &format!("Edit {edit}: {names} changed on both sides; theirs was kept (undo {kept} takes yours)."),
        )?;
        write(tx, parcel)?;
    }
    image::project(tx, parcel.kind, &parcel.record)?;
    Ok(!parcel.patch.is_empty())
}

type Frozen = (&'static str, String, Option<String>);

fn single(parcel: &Parcel) -> Result<Frozen, StoreError> {
    let Parcel { kind, record, .. } = parcel;
    let id = Uuid::try_parse(record).map_err(|_| StoreError::Odd(format!("an edit of the record {record}")))?;
    Ok(match parcel.method.as_str() {
        "create" => {
            let mut body = Map::new();
            body.insert("id".to_owned(), record.as_str().into());
            body.extend(parcel.patch.clone());
            ("POST", paths::collection(*kind), Some(Value::Object(body).to_string()))
        }
        "update" => ("PATCH", paths::record(*kind, id), Some(Value::Object(parcel.patch.clone()).to_string())),
        "delete" => ("DELETE", paths::record(*kind, id), None),
        other => return Err(StoreError::Odd(format!("an edit with the method {other}"))),
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
        method,
        id: record,
        if_match: *guard,
        data: (method != "delete").then_some(patch),
    });
    let body = text(&Body { operations: operations.collect() });
    ("POST", format!("{}{BULK}", paths::collection(kind)), Some(body))
}

/// The record of an edit, for reading it back.
pub(crate) fn record_of(connection: &Connection, edit: i64) -> Result<Option<(Kind, String)>, StoreError> {
    let found: Option<(String, String)> = connection
        .prepare_cached("SELECT kind, record_id FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(word, record)| Some((Kind::from_word(&word)?, record))))
}

/// Whether a record of the server holds every value of a create, in the server's spelling; then its position.
pub(crate) fn compare(connection: &Connection, edit: i64, record: &Fields) -> Result<Option<i64>, StoreError> {
    let Some(Parcel { kind, method, patch, base, .. }) = load(connection, edit)? else { return Ok(None) };
    let rev = record.get("rev").and_then(Value::as_i64);
    let known = crate::store::edits::judge::Known { rev, fields: record.clone(), gone: false };
    Ok(rev.filter(|_| judge(kind, &method, &patch, &base, Some(&known)) == Judgement::Done))
}

/// Writes down what came of a request, for each of its edits. An edit that was settled meanwhile stays settled. Nothing
/// waits for the disk: what a power cut takes, the same request's next answer says again.
pub(crate) fn record(
    connection: &mut Connection,
    verdicts: &[(i64, Verdict)],
    now: Timestamp,
) -> Result<(), StoreError> {
    if !concerns_any(connection, verdicts)? {
        return Ok(());
    }
    gate::keep_cheaply(connection, |tx| {
        let mut sent = Vec::new();
        for (edit, verdict) in verdicts {
            match verdict {
                Verdict::Sent { rev } => sent.push((*edit, *rev)),
                verdict => record_one(tx, *edit, verdict)?,
            }
        }
        if !sent.is_empty() {
            settle::mark_sent(tx, &sent)?;
            let position = tx.query_row("SELECT position FROM _sync", [], |row| row.get(0))?;
            settle::settle(tx, position, now)?;
        }
        Ok(())
    })
}

/// Whether an edit of these is not settled: the feed is often quicker than the answer.
fn concerns_any(connection: &Connection, verdicts: &[(i64, Verdict)]) -> Result<bool, StoreError> {
    let mut exists = connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM edits WHERE id = ?1)")?;
    for (edit, _) in verdicts {
        if exists.query_row([edit], |row| row.get(0))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn record_one(tx: &Transaction<'_>, edit: i64, verdict: &Verdict) -> Result<(), StoreError> {
    if matches!(verdict, Verdict::Rejected { .. }) && hearth_simulated::planted("a refused edit is dropped") {
        return settle::finish(tx, edit, "discarded", None, Timestamp::from_millis(0));
    }
    if matches!(verdict, Verdict::Overtaken) && hearth_simulated::planted("an overtaken edit counts as sent") {
        return settle::mark_sent(tx, &[(edit, None)]);
    }
    let (state, reason, problem, at) = match verdict {
        Verdict::Sent { rev } => return settle::mark_sent(tx, &[(edit, *rev)]),
        Verdict::Later { at, reason } => ("waiting", reason.as_str(), None, at.map(|at| at.to_string())),
        Verdict::Overtaken => ("waiting", "changed there meanwhile; its new form is on the way", None, None),
        Verdict::Apart => ("waiting", "goes again by itself", None, None),
        Verdict::Rejected { reason, problem } => ("rejected", reason.as_str(), Some(problem.to_string()), None),
        Verdict::Conflict { reason, problem, .. } => ("conflict", reason.as_str(), Some(problem.to_string()), None),
    };
    let changed = tx
        .prepare_cached(
            "UPDATE edits SET state = ?2, reason = ?3, problem = ?4, next_attempt_at = ?5
             WHERE id = ?1 AND state IN ('waiting', 'sending')",
        )?
        .execute((edit, state, reason, problem, at))?;
    if changed == 0 {
        return Ok(());
    }
    match verdict {
        Verdict::Sent { .. } | Verdict::Later { .. } => return Ok(()),
        Verdict::Apart => return settle::forget_request(tx, edit),
        Verdict::Overtaken | Verdict::Rejected { .. } | Verdict::Conflict { .. } => {
            tx.prepare_cached("UPDATE _frozen SET refused = 1 WHERE edit_id = ?1")?.execute([edit])?;
        }
    }
    if let Verdict::Conflict { gone: true, .. } = verdict {
        tx.prepare_cached(
            "UPDATE _images SET gone = 1 WHERE (kind, record_id) = (SELECT kind, record_id FROM edits WHERE id = ?1)",
        )?
        .execute([edit])?;
    }
    if state != "waiting" {
        let name = super::decide::load(tx, edit)?.map(|found| found.name).unwrap_or_default();
        log(tx, "warning", &format!("{name} needs you (edit {edit}, {state}): {reason}"))?;
    }
    Ok(())
}
