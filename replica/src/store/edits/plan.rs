//! Which edits may be sent now, and which wait for what. Must not know how they are sent.

use std::collections::{BTreeMap, HashMap, HashSet};

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::model::{EditState, Method};
use crate::store::edits::ahead::Ahead;
use crate::store::edits::doubt::ABSENT;
use crate::store::edits::held::listed;
use crate::store::mirror::image;
use crate::store::{StoreError, gate, rows};

/// Edits that are sent as one make one change; at most so many.
const CHAIN_EDITS_MAX: usize = 100;

/// Once enough may be sent, so many edits more are looked over for what goes with it: what was written and taken back in one
/// breath must not go out as two changes because there was much of it.
const LOOKED_OVER_MAX: usize = 100_000;

/// What an operation of a request takes beside its values, roughly.
const OPERATION_BYTES: usize = 128;

/// What stands in `edits`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// What may be sent now, in order; at most as many as were asked for, and as many again of each kind apart.
    pub ready: Vec<Ready>,
    /// Whether an edit is not settled and waits for nobody but the server.
    pub open: bool,
}

/// Edits that may be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ready {
    /// Of a fixed request: all its edits. Otherwise one edit, and the later ones of its record that go with it.
    pub edits: Vec<i64>,
    /// The kind of their records.
    pub kind: Kind,
    /// Whether their request is fixed: it may have been sent before.
    pub frozen: bool,
    /// How large their request is, roughly.
    pub bytes: usize,
}

/// Edits to be marked as held by one that needs a person, or to be unmarked.
type Marks = BTreeMap<i64, Option<i64>>;

/// How a standing edit concerns those after it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Holds {
    UntilSettled,
    UntilAPersonActs,
}

/// Who holds the edits of a record: the strictest, and the place in `ready` where all of them go together.
#[derive(Clone, Copy)]
struct Holder {
    holds: Holds,
    edit: i64,
    chain: Option<usize>,
}

/// Reads which edits may go, and marks or unmarks those that depend on one which waits for a person. Of the kinds `apart`
/// so many are read beside the others: they do not go for now, and the others must not wait behind them.
pub(crate) fn plan(connection: &mut Connection, limit: usize, apart: &[Kind]) -> Result<Plan, StoreError> {
    let (ready, changes) = examine(connection, limit, apart)?;
    if changes.is_empty() {
        return Ok(Plan { ready, open: is_open(connection)? });
    }
    gate::sync_tx(connection, |tx| {
        // Read again: another connection may have added edits meanwhile.
        let (ready, changes) = examine(tx, limit, apart)?;
        write(tx, changes)?;
        Ok(Plan { ready, open: is_open(tx)? })
    })
}

/// Marks and unmarks what depends on edits that wait for a person, after a person has decided.
pub(crate) fn mark(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let (_, changes) = examine(tx, usize::MAX, &[])?;
    write(tx, changes)
}

fn write(tx: &Transaction<'_>, changes: Marks) -> Result<(), StoreError> {
    for (id, cause) in changes {
        let (state, reason) = match cause {
            Some(cause) => (EditState::Blocked, Some(waits_for(cause))),
            None => (EditState::Waiting, None),
        };
        tx.prepare_cached("UPDATE edits SET state = ?2, reason = ?3 WHERE id = ?1")?.execute((id, state, reason))?;
    }
    Ok(())
}

/// Why an edit is blocked, in the words of `edits.reason`.
fn waits_for(cause: i64) -> String {
    format!("waits for edit {cause}, which needs you")
}

fn is_open(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE state IN ('waiting', 'sending', 'sent'))";
    Ok(connection.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

/// Whether the tables show all that the server had done when contact with it began. The phase does not tell: it may speak
/// of a key that is refused.
fn is_in_step(connection: &Connection) -> Result<bool, StoreError> {
    let text =
        "SELECT backfilled AND NOT replaying AND coalesce(position >= head, 0) AND NOT EXISTS (SELECT 1 FROM _reconcile)
                FROM _sync";
    Ok(connection.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

/// One pass in the order of the edits, which ends when enough is ready. An edit waits for every earlier one of the same
/// record, of a record it refers to, and of a record that refers to it: so a room's delete never overtakes the create
/// of an item in it. Only a create waits for nobody who refers to its record: they wait for it, also where it was written
/// after them, and then it waits for nobody who waits for them. Later edits of a record that wait for nothing else go with
/// the first, if none of them was sent; where there are any, the pass goes on for them.
fn examine(connection: &Connection, limit: usize, apart: &[Kind]) -> Result<(Vec<Ready>, Marks), StoreError> {
    let in_step = is_in_step(connection)?;
    let mut statement = connection.prepare_cached(
        "SELECT e.id, e.kind, e.record_id, e.patch, e.base, e.state, e.idempotency_key, e.method, f.guard,
                coalesce(f.refused, 0), e.reason,
                CASE e.method WHEN 'create' THEN (
                    SELECT d.record_id FROM _undone u
                        JOIN edits d ON d.id = coalesce((SELECT of_edit FROM _coalesced WHERE edit_id = u.edit_id), u.edit_id)
                    WHERE u.by_edit = e.id AND d.method = 'delete') END
         FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
         -- The effect of what is sent is in, if it is known where; nothing waits for it, unless it says why.
         WHERE e.state <> 'sent' OR e.reason IS NOT NULL
             OR NOT EXISTS (SELECT 1 FROM _acked s WHERE s.edit_id = e.id AND s.rev IS NOT NULL)
         ORDER BY e.id",
    )?;
    let mut found = statement.query([])?;
    let mut ready: Vec<Ready> = Vec::new();
    let mut changes = BTreeMap::new();
    let mut of_record: HashMap<String, Holder> = HashMap::new();
    let mut referring: HashMap<String, Holder> = HashMap::new();
    let mut requests: HashMap<String, usize> = HashMap::new();
    let mut held_requests: HashSet<String> = HashSet::new();
    let mut beside: BTreeMap<Kind, usize> = apart.iter().map(|kind| (*kind, 0)).collect();
    let mut creates: HashSet<usize> = HashSet::new();
    let mut ahead = Ahead::default();
    let mut looked_over = None;
    while let Some(row) = found.next()? {
        let (id, word, record): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let state: EditState = row.get(5)?;
        if hearth_simulated::planted(hearth_simulated::Fault::RetryUsesWallClock) {
            // What is nearer than a pause can be long comes in time, as it would with a timer.
            let later = "SELECT next_attempt_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+2 minutes')
                         FROM edits WHERE id = ?1";
            if connection.query_row(later, [id], |row| row.get::<_, Option<bool>>(0))? == Some(true) {
                continue;
            }
        }
        let Some(kind) = Kind::parse(&word) else {
            return Err(StoreError::InvalidContent(format!("an edit of unknown kind {word}")));
        };
        let texts = [row.get_ref(3)?.as_str().unwrap_or("{}"), row.get_ref(4)?.as_str().unwrap_or("{}")];
        let bytes = texts[0].len() + OPERATION_BYTES;
        let method: Method = row.get(7)?;
        let targets = references(kind, texts)?;
        let own = of_record.get(&record).copied();
        // Who refers to what is about to be made waits for it, and does not mind what it is made of.
        let with_create =
            method == Method::Update && own.and_then(|it| it.chain).is_some_and(|first| creates.contains(&first));
        let mut others = None;
        if let Some(own) = &own {
            ahead.follow(id, own.edit);
        }
        if method != Method::Create && !with_create {
            others = referring.get(&record).map(|holder| (holder.holds, holder.edit));
            others.into_iter().for_each(|(_, other)| ahead.follow(id, other));
        }
        for target in &targets {
            let held = match of_record.get(target) {
                Some(holder) if method == Method::Create && ahead.is_for(holder.edit, &record) => None,
                Some(holder) => {
                    ahead.follow(id, holder.edit);
                    Some((holder.holds, holder.edit))
                }
                None => later_create(connection, target, id)?.inspect(|_| ahead.wait(id, target)),
            };
            others = others.max(held);
        }
        // What makes a record anew goes once it is deleted: while that is in doubt, it may be there after all.
        let deleted: Option<String> = row.get(11)?;
        if let Some(holder) = deleted.and_then(|old| of_record.get(&old)).filter(|it| !ahead.is_for(it.edit, &record)) {
            ahead.follow(id, holder.edit);
            others = others.max(Some((holder.holds, holder.edit)));
        }
        if method == Method::Create {
            ahead.made(id, &record);
        }
        if hearth_simulated::planted(hearth_simulated::Fault::DependentsDoNotWait) {
            others = None;
        }
        let held_by = own.map(|holder| (holder.holds, holder.edit)).max(others);
        let key: Option<String> = row.get(6)?;
        let (guard, refused): (Option<i64>, bool) = (row.get(8)?, row.get(9)?);
        let frozen = key.is_some() && !refused;
        let mut chain = None;
        let before = ready.len();
        let holds = match (state, held_by) {
            (EditState::Rejected | EditState::Conflict, _) => Holds::UntilAPersonActs,
            // Another history: whether it is in shows at the end of the recovery.
            (EditState::Sent, _) => Holds::UntilSettled,
            (_, Some((Holds::UntilAPersonActs, cause))) => {
                let said: Option<String> = row.get(10)?;
                if state != EditState::Blocked || said != Some(waits_for(cause)) {
                    changes.insert(id, Some(cause));
                }
                Holds::UntilAPersonActs
            }
            (EditState::Blocked, _) if hearth_simulated::planted(hearth_simulated::Fault::BlockedForever) => {
                Holds::UntilSettled
            }
            (_, held_by) => {
                if state == EditState::Blocked {
                    changes.insert(id, None);
                }
                match (held_by, key) {
                    // Enough may be sent.
                    (None, _) if looked_over.is_some() => {}
                    (None, Some(key)) if frozen => {
                        // A profile that did not exist had no revision to insist on. Only the feed can tell whether
                        // its first update, sent long ago, is in; so it must have reached the present.
                        let blind = guard.is_none() && method == Method::Update;
                        if blind && !in_step {
                            held_requests.insert(key);
                        } else {
                            let place = *requests.entry(key).or_insert(ready.len());
                            if place == ready.len() {
                                ready.push(Ready { edits: Vec::new(), kind, frozen, bytes: 0 });
                            }
                            ready[place].edits.push(id);
                            ready[place].bytes += bytes;
                        }
                    }
                    (Some(_), Some(key)) if frozen => drop(held_requests.insert(key)),
                    // What is not known to be there may be there all the same, and changed by others; and what has no revision
                    // to insist on until it is told again would only be refused, or be in doubt if nothing came back.
                    (None, _)
                        if !in_step
                            && method != Method::Create
                            && image::known(connection, kind, &record)?.is_none_or(|known| known.rev == Some(0)) => {}
                    // What was refused because the record has moved on, or is there already, is judged anew once the feed has
                    // brought it.
                    (None, Some(_))
                        if guard.is_some()
                            && image::known(connection, kind, &record)?.map_or(Some(ABSENT), |it| it.rev) == guard => {}
                    // Without a guard nothing may come any more, so it is judged anew as the record is known: but not before
                    // the feed has told all there was, perhaps its own effect. That it tells by the key, which a new
                    // request would replace.
                    (None, Some(_)) if guard.is_none() && !in_step => {}
                    // Enough of it is known.
                    (None, _) if beside.get(&kind).is_some_and(|many| *many >= limit) => {}
                    (None, key) => {
                        // What was sent before may be in: then its event must not speak for what was written since.
                        chain = key.is_none().then_some(ready.len());
                        if method == Method::Create {
                            creates.insert(ready.len());
                        }
                        ready.push(Ready { edits: vec![id], kind, frozen: false, bytes });
                    }
                    (Some(_), None) if others.is_none() && state == EditState::Waiting => {
                        // Held by nothing but what it goes with.
                        if let Some(first) = own.and_then(|holder| holder.chain)
                            && ready[first].edits.len() < CHAIN_EDITS_MAX
                        {
                            ready[first].edits.push(id);
                            ready[first].bytes += bytes;
                            chain = Some(first);
                        }
                    }
                    _ => {}
                }
                Holds::UntilSettled
            }
        };
        let hold = |map: &mut HashMap<String, Holder>, key: String| {
            let holder = map.entry(key).or_insert(Holder { holds, edit: id, chain });
            if holds > holder.holds {
                (holder.holds, holder.edit) = (holds, id);
            }
            if holder.chain != chain {
                holder.chain = None;
            }
        };
        hold(&mut of_record, record);
        for target in targets {
            hold(&mut referring, target);
        }
        if ready.len() > before
            && let Some(many) = beside.get_mut(&kind)
        {
            *many += 1;
        }
        match &mut looked_over {
            None if ready.len() - beside.values().sum::<usize>() < limit => {}
            None if goes_on(connection, &ready, id)? => looked_over = Some(0),
            Some(many) if *many < LOOKED_OVER_MAX => *many += 1,
            _ => break,
        }
    }
    if !held_requests.is_empty() {
        let held: HashSet<usize> =
            requests.iter().filter(|(key, _)| held_requests.contains(*key)).map(|it| *it.1).collect();
        let mut place = 0..;
        ready.retain(|_| place.next().is_some_and(|place| !held.contains(&place)));
    }
    Ok((ready, changes))
}

/// Whether any of these records has edits after this one.
fn goes_on(connection: &Connection, ready: &[Ready], after: i64) -> Result<bool, StoreError> {
    let first = ready.iter().filter(|it| !it.frozen).filter_map(|it| it.edits.first());
    let text = "SELECT EXISTS (SELECT 1 FROM json_each(?1) j CROSS JOIN edits f ON f.id = CAST(j.key AS INTEGER)
                    CROSS JOIN edits l ON l.record_id = f.record_id AND l.id > ?2)";
    Ok(connection
        .prepare_cached(text)?
        .query_row((listed(first.map(|edit| (*edit, None))), after), |row| row.get(0))?)
}

/// The create of a record that an earlier edit refers to, unless its effect is in.
fn later_create(connection: &Connection, record: &str, after: i64) -> Result<Option<(Holds, i64)>, StoreError> {
    let text = "SELECT id, state IN ('rejected', 'conflict', 'blocked') FROM edits
                WHERE record_id = ?1 AND id > ?2 AND method = 'create'
                    AND (state <> 'sent' OR NOT EXISTS (SELECT 1 FROM _acked WHERE edit_id = edits.id AND rev IS NOT NULL))";
    let found = connection.prepare_cached(text)?.query_row((record, after), |row| {
        let holds = if row.get(1)? { Holds::UntilAPersonActs } else { Holds::UntilSettled };
        Ok((holds, row.get(0)?))
    });
    Ok(found.optional()?)
}

/// The records that an edit has to do with besides its own.
fn references(kind: Kind, texts: [&str; 2]) -> Result<Vec<String>, StoreError> {
    let fields = resource(kind).fields.iter();
    let fields: Vec<_> =
        fields.filter(|field| matches!(field.format, Format::Reference(_) | Format::Subject)).collect();
    // Most edits name no record, and reading JSON is what a plan over many edits spends its time on.
    if fields.is_empty() || !texts.iter().any(|text| fields.iter().any(|field| text.contains(field.name))) {
        return Ok(Vec::new());
    }
    let sides: Vec<Fields> = texts.into_iter().map(rows::parse_object).collect::<Result<_, _>>()?;
    let mut ids: Vec<String> = fields
        .into_iter()
        .flat_map(|field| sides.iter().filter_map(|side| side.get(field.name)?.as_str().map(str::to_owned)))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}
