//! How edits end: the server is known to hold them, the feed passes them, they move to the history. Must not send.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use hearth_contract::check::Fields;
use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::{Connection, Transaction};
use serde_json::Value;

use crate::store::edits::parts;
use crate::store::mirror::image;
use crate::store::{StoreError, log, rows};

/// An edit and the position since which the server holds it, if that is known.
pub(crate) type Held = (i64, Option<i64>);

/// Notes that the server holds edits. Many are one statement: each that a guard looks at costs more than its rows.
pub(crate) fn mark_sent(tx: &Transaction<'_>, edits: &[Held]) -> Result<(), StoreError> {
    let list = listed(edits.iter().copied());
    let known = tx
        .prepare_cached(
            "UPDATE edits SET state = 'sent', reason = NULL, problem = NULL, next_attempt_at = NULL
             WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
        )?
        .execute([&list])?;
    if known > 0 {
        tx.prepare_cached(
            "INSERT INTO _sent (edit_id, rev)
             SELECT e.id, j.value FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER) WHERE true
             ON CONFLICT DO UPDATE SET rev = coalesce(rev, excluded.rev)",
        )?
        .execute([list])?;
    }
    Ok(())
}

/// Edits as a statement takes them: a JSON object of their numbers and positions.
pub(super) fn listed(edits: impl IntoIterator<Item = Held>) -> String {
    let mut list = String::from("{");
    for (number, (edit, rev)) in edits.into_iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = match rev {
            Some(rev) => write!(list, "{comma}\"{edit}\":{rev}"),
            None => write!(list, "{comma}\"{edit}\":null"),
        };
    }
    list.push('}');
    list
}

/// An edit of a record, as far as the feed has to do with it.
#[derive(Debug)]
pub(crate) struct OfRecord {
    pub edit: i64,
    pub method: String,
    pub is_sent: bool,
    /// The key of its request.
    pub key: Option<String>,
    /// Since when the server holds it, as far as it has said so.
    pub rev: Option<i64>,
}

impl OfRecord {
    /// Whether an event carries the key of its request.
    pub(crate) fn is_told_by(&self, event: &Event) -> bool {
        self.key.is_some() && self.key == event.idempotency_key
    }
}

/// The edits of a record, in their order.
pub(crate) fn of_record(tx: &Transaction<'_>, kind: Kind, record: &str) -> Result<Vec<OfRecord>, StoreError> {
    let mut statement = tx.prepare_cached(
        "SELECT e.id, e.method, e.state = 'sent', e.idempotency_key, s.rev FROM edits e LEFT JOIN _sent s ON s.edit_id = e.id
         WHERE e.kind = ?1 AND e.record_id = ?2 ORDER BY e.id",
    )?;
    let found = statement.query_map((kind.word(), record), |row| {
        let (edit, method, is_sent) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(OfRecord { edit, method, is_sent, key: row.get(3)?, rev: row.get(4)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// An event that carries the key of one of our requests proves that the server has it, even if its answer was lost.
/// Gives the edit, and whether this was not known.
pub(crate) fn recognise(
    tx: &Transaction<'_>,
    event: &Event,
    edits: &[OfRecord],
) -> Result<Option<(i64, bool)>, StoreError> {
    let Some(OfRecord { edit, rev, .. }) = edits.iter().find(|edit| edit.is_told_by(event)) else { return Ok(None) };
    if *rev != Some(event.id) {
        mark_sent(tx, &[(*edit, Some(event.id))])?;
        // Whatever was said of its position before, perhaps by a history that is put back: here it is.
        tx.prepare_cached("UPDATE _sent SET rev = ?2 WHERE edit_id = ?1")?.execute((edit, event.id))?;
    }
    Ok(Some((*edit, *rev != Some(event.id))))
}

/// Ends the edits that the feed has passed: their overlay goes, because the record itself shows them now. Gives their
/// records, whose rows are as they must be.
pub(crate) fn settle(
    tx: &Transaction<'_>,
    position: i64,
    now: Timestamp,
) -> Result<BTreeSet<(Kind, String)>, StoreError> {
    // The position alone proves nothing: an answer may come from a server that was put back to an older copy and counts
    // from there. What was written must have been seen, in the record's form or in its end.
    let mut passed = "s.rev <= ?1 AND (
                 EXISTS (SELECT 1 FROM _tombs t WHERE t.kind = e.kind AND t.record_id = e.record_id)
                 OR CASE e.method WHEN 'delete' THEN coalesce(i.gone, 1) ELSE i.rev >= s.rev END)";
    if hearth_simulated::planted("overlay removed at the answer") {
        passed = "?1 >= 0";
    }
    let done: Vec<(i64, String, String)> = tx
        .prepare_cached(&format!(
            "SELECT e.id, e.kind, e.record_id FROM _sent s JOIN edits e ON e.id = s.edit_id
             LEFT JOIN _images i ON i.kind = e.kind AND i.record_id = e.record_id WHERE {passed}"
        ))?
        .query_map([position], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let edits: Vec<Held> = done.iter().map(|(edit, _, _)| (*edit, None)).collect();
    confirm(tx, &edits, now)?;
    let records = done.into_iter().filter_map(|(_, word, record)| Some((Kind::from_word(&word)?, record)));
    let records: BTreeSet<(Kind, String)> = records.collect();
    for (kind, record) in &records {
        image::project(tx, *kind, record)?;
    }
    Ok(records)
}

/// Moves edits that the server is proven to hold to the history. Their positions are as told here, or as they were told
/// before.
pub(crate) fn confirm(tx: &Transaction<'_>, edits: &[Held], now: Timestamp) -> Result<(), StoreError> {
    if edits.is_empty() {
        return Ok(());
    }
    move_to_history(tx, edits, "confirmed", None, now)
}

/// Forgets what was settled long before a moment. A clock that is ahead must not make it forget everything, so the moment
/// is one that the server has told, if that is earlier.
pub(crate) fn forget_old(tx: &Transaction<'_>, now: Timestamp, told: Timestamp) -> Result<(), StoreError> {
    let oldest = now.min(told).plus_millis(-HISTORY_MILLIS).to_string();
    tx.prepare_cached("DELETE FROM _undone WHERE edit_id IN (SELECT id FROM edit_history WHERE settled_at < ?1)")?
        .execute([&oldest])?;
    tx.prepare_cached("DELETE FROM edit_history WHERE settled_at < ?1")?.execute([oldest])?;
    Ok(())
}

/// Moves an edit to the history; what was sent as one is remembered as it was made.
pub(crate) fn finish(
    tx: &Transaction<'_>,
    edit: i64,
    outcome: &str,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    move_to_history(tx, &[(edit, None)], outcome, reason, now)
}

/// The same for one whose effect the server holds since a position; 0: it is not known which.
pub(crate) fn finish_at(
    tx: &Transaction<'_>,
    edit: i64,
    rev: i64,
    outcome: &str,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    move_to_history(tx, &[(edit, Some(rev))], outcome, Some(reason), now)
}

fn move_to_history(
    tx: &Transaction<'_>,
    edits: &[Held],
    outcome: &str,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let list = listed(edits.iter().copied());
    tx.prepare_cached(
        "INSERT INTO edit_history (id, kind, record_id, method, patch, base, outcome, rev, reason, attempts,
             idempotency_key, origin, created_at, settled_at)
         SELECT coalesce(p.edit_id, e.id), kind, record_id, coalesce(p.method, e.method), coalesce(p.patch, e.patch),
             coalesce(p.base, e.base),
             CASE WHEN p.method <> e.method AND e.method = 'delete' THEN 'superseded'
                  WHEN p.method = 'update' AND p.patch = '{}' THEN 'superseded' ELSE ?2 END,
             coalesce(j.value, s.rev), coalesce(?4, e.reason), attempts, idempotency_key, coalesce(p.origin, e.origin),
             coalesce(p.created_at, e.created_at), ?3
         FROM json_each(?1) j CROSS JOIN edits e ON e.id = CAST(j.key AS INTEGER)
             LEFT JOIN _sent s ON s.edit_id = e.id LEFT JOIN _parts p ON p.of_edit = e.id",
    )?
    .execute((&list, outcome, now.to_string(), reason))?;
    let keys: BTreeSet<Option<String>> = tx
        .prepare_cached(
            "DELETE FROM edits WHERE id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1)) RETURNING idempotency_key",
        )?
        .query_map([&list], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if !matches!(outcome, "confirmed" | "merged") {
        // What they had undone stands again without them.
        tx.prepare_cached(
            "DELETE FROM _undone WHERE by_edit IN (SELECT CAST(key AS INTEGER) FROM json_each(?1)
                 UNION ALL SELECT edit_id FROM _parts
                     WHERE of_edit IN (SELECT CAST(key AS INTEGER) FROM json_each(?1)))",
        )?
        .execute([&list])?;
    }
    for text in [
        "DELETE FROM _frozen WHERE edit_id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
        "DELETE FROM _sent WHERE edit_id IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
        "DELETE FROM _parts WHERE of_edit IN (SELECT CAST(key AS INTEGER) FROM json_each(?1))",
    ] {
        tx.prepare_cached(text)?.execute([&list])?;
    }
    for key in keys.into_iter().flatten() {
        tx.prepare_cached(
            "DELETE FROM _requests WHERE idempotency_key = ?1
             AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.idempotency_key = ?1)",
        )?
        .execute([key])?;
    }
    Ok(())
}

/// The bytes of a request go with the last edit that it carries.
const FORGET_BYTES: &str =
    "DELETE FROM _requests WHERE idempotency_key = (SELECT idempotency_key FROM edits WHERE id = ?1)
     AND NOT EXISTS (SELECT 1 FROM edits e WHERE e.idempotency_key = _requests.idempotency_key AND e.id <> ?1)";

/// Lets go of an edit's request, which was refused for good or is answered.
pub(crate) fn forget_request(tx: &Transaction<'_>, edit: i64) -> Result<(), StoreError> {
    for text in [
        FORGET_BYTES,
        "DELETE FROM _frozen WHERE edit_id = ?1",
        "UPDATE edits SET idempotency_key = NULL WHERE id = ?1",
    ] {
        tx.prepare_cached(text)?.execute([edit])?;
    }
    Ok(())
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
    let unsure = if hearth_simulated::planted("what may be in is let go") { 1_000_000 } else { 0 };
    let free: Vec<i64> = tx
        .prepare_cached(&format!(
            "SELECT id FROM edits JOIN _requests USING (idempotency_key)
             WHERE in_the_air <= {unsure} AND idempotency_key IN ({of_requests})"
        ))?
        .query_map([list], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    free.into_iter().try_for_each(|edit| forget_request(tx, edit))
}

/// Keeps values that lost against others, so that they can be brought back. The entry has a number of its own, because
/// the edit may go on with what is left of it.
pub(crate) fn keep_loser(
    tx: &Transaction<'_>,
    edit: i64,
    values: &Fields,
    against: &Fields,
    reason: &str,
    now: Timestamp,
) -> Result<i64, StoreError> {
    tx.prepare_cached("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'edits'")?.execute([])?;
    let number: i64 =
        tx.prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = 'edits'")?.query_row([], |row| row.get(0))?;
    tx.prepare_cached(
        "INSERT INTO edit_history (id, kind, record_id, method, patch, base, outcome, reason, attempts, origin, created_at,
             settled_at)
         SELECT ?2, kind, record_id, 'update', ?3, ?4, 'superseded', ?5, 0, origin, ?6, ?6 FROM edits WHERE id = ?1",
    )?
    .execute((
        edit,
        number,
        Value::Object(values.clone()).to_string(),
        Value::Object(against.clone()).to_string(),
        reason,
        now.to_string(),
    ))?;
    Ok(number)
}

/// How long settled edits are remembered: 30 days.
const HISTORY_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// Takes an edit back that cannot take effect any more, or never could; later edits of the record stay in order. With
/// a create goes everything that was done to what it would have made.
pub(crate) fn take_back(
    tx: &Transaction<'_>,
    edit: i64,
    outcome: &str,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (word, record, method, patch, base): (String, String, String, String, String) = tx
        .prepare_cached("SELECT kind, record_id, method, patch, base FROM edits WHERE id = ?1")?
        .query_row([edit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let kind = Kind::from_word(&word).ok_or_else(|| StoreError::Garbled(format!("an edit of unknown kind {word}")))?;
    let later = later(tx, kind, &record, edit)?;
    finish(tx, edit, outcome, reason, now)?;
    if method == "create" {
        for edit in later {
            finish(tx, edit, outcome, reason, now)?;
        }
    } else {
        hand_on(tx, edit, &later, &rows::object(&patch)?, &rows::object(&base)?)?;
    }
    image::project(tx, kind, &record)
}

/// The edits of a record after one of them, in their order.
pub(crate) fn later(tx: &Connection, kind: Kind, record: &str, edit: i64) -> Result<Vec<i64>, StoreError> {
    let mut statement =
        tx.prepare_cached("SELECT id FROM edits WHERE kind = ?1 AND record_id = ?2 AND id > ?3 ORDER BY id")?;
    let found = statement.query_map((kind.word(), record, edit), |row| row.get(0))?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Tells the later edits of a record what their fields were before, now that an earlier one's values have become
/// others: for each field the first that touches it.
pub(crate) fn hand_on(
    tx: &Transaction<'_>,
    edit: i64,
    later: &[i64],
    fields: &Fields,
    values: &Fields,
) -> Result<(), StoreError> {
    let mut open: Vec<&String> = fields.keys().collect();
    for later in later.iter().filter(|later| **later != edit) {
        let (method, patch, base): (String, String, String) = tx
            .prepare_cached("SELECT method, patch, base FROM edits WHERE id = ?1")?
            .query_row([later], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let mut base = rows::object(&base)?;
        let touched: Vec<&String> = open.iter().copied().filter(|name| base.contains_key(*name)).collect();
        if touched.is_empty() {
            continue;
        }
        open.retain(|name| !touched.contains(name));
        for name in touched {
            base.insert(name.clone(), values.get(name).cloned().unwrap_or(Value::Null));
        }
        parts::follow(tx, *later, &method, &rows::object(&patch)?, &base)?;
        tx.prepare_cached("UPDATE edits SET base = ?2 WHERE id = ?1")?
            .execute((later, Value::Object(base).to_string()))?;
    }
    Ok(())
}

/// A record with edits was deleted on the server. If its last edit deletes it too, both wanted the same; otherwise
/// the edits wait for a person and the row stays as it was last seen. `rev`: where it was gone at the latest; should the
/// server be put back to before that, the delete is known to be lost.
pub(crate) fn record_is_gone(
    tx: &Transaction<'_>,
    kind: Kind,
    record: &str,
    rev: i64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let edits: Vec<(i64, String, String)> = tx
        .prepare_cached("SELECT id, method, state FROM edits WHERE kind = ?1 AND record_id = ?2 ORDER BY id")?
        .query_map((kind.word(), record), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let agreed = edits.last().is_some_and(|(_, method, _)| method == "delete");
    for (edit, method, state) in &edits {
        if agreed {
            let outcome = if method == "delete" || state == "sent" { "confirmed" } else { "superseded" };
            let at = (method == "delete" && state != "sent").then_some(rev);
            move_to_history(tx, &[(*edit, at)], outcome, None, now)?;
        } else if state != "sent" {
            tx.execute(
                "UPDATE edits SET state = 'conflict', reason = 'deleted there', next_attempt_at = NULL WHERE id = ?1",
                [edit],
            )?;
            // A deleted id is never used again (contract 6.1), so whatever was sent cannot take effect later.
            tx.execute("UPDATE _frozen SET refused = 1 WHERE edit_id = ?1", [edit])?;
            let name = super::decide::load(tx, *edit)?.map(|found| found.name).unwrap_or_default();
            log(tx, "warning", &format!("{name} needs you (edit {edit}, conflict): the {kind} was deleted there."))?;
        }
    }
    image::project(tx, kind, record)
}
