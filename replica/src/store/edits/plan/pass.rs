//! A pass over the edits in their order: which may be sent now, and which wait for an edit that needs a person. Must not write.

use std::collections::{BTreeMap, HashMap, HashSet};

use hearth_contract::schema::Kind;
use rusqlite::{Connection, OptionalExtension};

use super::candidate::{Candidate, ZONE_ORDER, candidates_text};
use crate::model::{EditState, Method, Precondition, ReadyEdits};
use crate::store::edits::acked::id_list;
use crate::store::edits::create_deps::CreateDeps;
use crate::store::edits::readiness::{Dependencies, Holds, Readiness, readiness};
use crate::store::{StoreError, base};

/// Edits of a record that are coalesced into a request, at most.
const CHAIN_EDITS_MAX: usize = 100;

/// Edits that the pass still reads when enough edits are ready, to find edits to coalesce with the ready edits.
/// Without the search, a change and its undo would be sent as two requests when many edits wait.
const LOOKED_OVER_MAX: usize = 100_000;

/// Edits whose mark in `_outbox.blocked_by` changes. Some: the number of the blocking edit. None: the edit is no longer blocked.
pub(super) type Marks = BTreeMap<i64, Option<i64>>;

/// The hold on the later edits of a record: the strictest hold, the edit that causes the hold, and the index of the
/// entry in `ready` that contains all earlier edits of the record (None when the edits are not all in the same
/// entry).
#[derive(Clone, Copy)]
struct Holder {
    holds: Holds,
    edit: i64,
    chain: Option<usize>,
}

/// Runs a pass over the edits in their order. The pass ends when enough edits are ready.
///
/// An edit waits for every earlier edit of the same record, of a record that the edit refers to, and of a record that
/// refers to the edit's record. The delete of a room therefore never overtakes the create of an item in the room. A
/// create is the exception: edits that refer to the new record wait for the create, even when the create is the later
/// edit, and the create does not wait for these edits. Completions of series and changes of the home's time zone wait for
/// each other, as if each completion referred to the zone. Later edits of a record that wait for no other record are
/// coalesced with the first edit, unless an edit among them was already sent.
pub(super) fn examine(
    connection: &Connection,
    limit: usize,
    apart: &[Kind],
) -> Result<(Vec<ReadyEdits>, Marks), StoreError> {
    let mut pass = Pass::begin(connection, limit, apart)?;
    let mut statement = connection.prepare_cached(&candidates_text())?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let goes_on = pass.take(Candidate::read(row)?)?;
        if !goes_on {
            break;
        }
    }
    Ok(pass.finish())
}

/// The state of one pass.
struct Pass<'a> {
    connection: &'a Connection,
    limit: usize,
    in_step: bool,
    ready: Vec<ReadyEdits>,
    marks: Marks,
    /// The hold on the edits of each record.
    of_record: HashMap<String, Holder>,
    /// The hold on each record by edits of records that refer to it or replace it, and on the time zone.
    referring: HashMap<String, Holder>,
    /// The index in `ready` of each frozen request.
    requests: HashMap<String, usize>,
    /// Keys of frozen requests in which an edit must wait.
    held_requests: HashSet<String>,
    /// The number of ready entries of each kind apart.
    apart: BTreeMap<Kind, usize>,
    /// The indexes of the entries in `ready` that begin with a create.
    creates: HashSet<usize>,
    create_deps: CreateDeps,
    /// The number of edits read since enough edits were ready. None: not enough edits are ready yet.
    looked_over: Option<usize>,
}

impl<'a> Pass<'a> {
    fn begin(connection: &'a Connection, limit: usize, apart: &[Kind]) -> Result<Pass<'a>, StoreError> {
        Ok(Pass {
            connection,
            limit,
            in_step: is_in_step(connection)?,
            ready: Vec::new(),
            marks: BTreeMap::new(),
            of_record: HashMap::new(),
            referring: HashMap::new(),
            requests: HashMap::new(),
            held_requests: HashSet::new(),
            apart: apart.iter().map(|kind| (*kind, 0)).collect(),
            creates: HashSet::new(),
            create_deps: CreateDeps::default(),
            looked_over: None,
        })
    }

    /// Examines the next edit. False when the pass ends.
    fn take(&mut self, edit: Candidate) -> Result<bool, StoreError> {
        let before = self.ready.len();
        // The create of a next task waits for the edit that completes the task before, and is blocked with it.
        let own = self.of_record.get(edit.follows.as_ref().unwrap_or(&edit.record)).copied();
        let others = if edit.follows.is_some() { None } else { self.held_by_others(&edit, own)? };
        let dependencies = Dependencies {
            held_by: own.map(|holder| (holder.holds, holder.edit)).max(others),
            only_by_own_record: others.is_none(),
            in_step: self.in_step,
        };
        let is_full = self.is_full(edit.kind);
        let decision = readiness(&edit.facts, &dependencies, || {
            if is_full {
                // The edit is not sent in this pass, so the query is not worth its cost.
                return Ok(Precondition::None);
            }
            let known = base::with_acked(self.connection, edit.kind, &edit.record)?;
            Ok::<_, StoreError>(match known {
                None => Precondition::Absent,
                Some(known) => known.rev.map_or(Precondition::None, Precondition::Rev),
            })
        })?;
        let chain = self.carry_out(&edit, own, decision);
        self.hold(&edit, decision.holds(), chain);
        if self.ready.len() > before
            && let Some(count) = self.apart.get_mut(&edit.kind)
        {
            *count += 1;
        }
        self.goes_on(edit.id)
    }

    /// The strictest hold on an edit by edits of other records.
    fn held_by_others(&mut self, edit: &Candidate, own: Option<Holder>) -> Result<Option<(Holds, i64)>, StoreError> {
        let (id, record) = (edit.id, &edit.record);
        let is_create = edit.facts.method == Method::Create;
        // Edits that refer to a new record wait for the create. Later updates of the new record are part of the
        // create's request.
        let with_create = edit.facts.method == Method::Update
            && own.and_then(|holder| holder.chain).is_some_and(|first| self.creates.contains(&first));
        let mut others = None;
        if let Some(own) = &own {
            self.create_deps.inherit(id, own.edit);
        }
        if !is_create && !with_create {
            others = self.referring.get(record).map(|holder| (holder.holds, holder.edit));
            others.into_iter().for_each(|(_, other)| self.create_deps.inherit(id, other));
        }
        if let Some(completion) = self.referring.get(ZONE_ORDER).filter(|_| edit.sets_zone) {
            self.create_deps.inherit(id, completion.edit);
            others = others.max(Some((completion.holds, completion.edit)));
        }
        for target in &edit.targets {
            let held = match self.of_record.get(target) {
                Some(holder) if is_create && self.create_deps.waits_for_create_of(holder.edit, record) => None,
                Some(holder) => {
                    self.create_deps.inherit(id, holder.edit);
                    Some((holder.holds, holder.edit))
                }
                None => {
                    let create = later_create(self.connection, target, id)?;
                    create.inspect(|_| self.create_deps.wait_for_create(id, target))
                }
            };
            others = others.max(held);
        }
        if is_create {
            self.create_deps.note_create(id, record);
        }
        Ok(others.filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::DependentsDoNotWait)))
    }

    /// True when the pass takes no new request for this kind any more.
    fn is_full(&self, kind: Kind) -> bool {
        self.looked_over.is_some() || self.apart.get(&kind).is_some_and(|count| *count >= self.limit)
    }

    /// Adds an edit to `ready` and to the marks. Returns the index of the entry in `ready` that later edits of the
    /// record can join.
    fn carry_out(&mut self, edit: &Candidate, own: Option<Holder>, decision: Readiness) -> Option<usize> {
        let Candidate { id, kind, bytes, .. } = *edit;
        match decision {
            Readiness::NeedsPerson => return None,
            Readiness::BlockedBy(cause) => {
                if edit.facts.state != EditState::Blocked || edit.blocked_by != Some(cause) {
                    self.marks.insert(id, Some(cause));
                }
                return None;
            }
            _ if edit.facts.state == EditState::Blocked => {
                if hearth_simulated::planted(hearth_simulated::PlantedFault::BlockedForever) {
                    return None;
                }
                self.marks.insert(id, None);
            }
            _ => {}
        }
        match (decision, &edit.key) {
            (Readiness::Resend, Some(key)) if self.looked_over.is_none() => {
                let index = *self.requests.entry(key.clone()).or_insert(self.ready.len());
                if index == self.ready.len() {
                    self.ready.push(ReadyEdits { edits: Vec::new(), kind, is_frozen: true, bytes: 0 });
                }
                self.ready[index].edits.push(id);
                self.ready[index].bytes += bytes;
                None
            }
            (Readiness::HoldRequest, Some(key)) => {
                self.held_requests.insert(key.clone());
                None
            }
            (Readiness::Send, key) if !self.is_full(kind) => {
                let index = self.ready.len();
                if edit.facts.method == Method::Create {
                    self.creates.insert(index);
                }
                self.ready.push(ReadyEdits { edits: vec![id], kind, is_frozen: false, bytes });
                // An edit that was sent before may have been applied. Later edits must not join: the event of the
                // earlier attempt would confirm them too. The server must see each completion, to make the next task.
                (key.is_none() && !edit.completes).then_some(index)
            }
            (Readiness::Join, _) => {
                let first = own.and_then(|holder| holder.chain)?;
                let ready = self.ready.get_mut(first).filter(|ready| ready.edits.len() < CHAIN_EDITS_MAX)?;
                ready.edits.push(id);
                ready.bytes += bytes;
                (!edit.completes).then_some(first)
            }
            _ => None,
        }
    }

    /// Notes how an edit holds the later edits of the same record, and of the records that the edit refers to.
    fn hold(&mut self, edit: &Candidate, holds: Holds, chain: Option<usize>) {
        let hold = |map: &mut HashMap<String, Holder>, record: &String| {
            let holder = map.entry(record.clone()).or_insert(Holder { holds, edit: edit.id, chain });
            if holds > holder.holds {
                (holder.holds, holder.edit) = (holds, edit.id);
            }
            if holder.chain != chain {
                holder.chain = None;
            }
        };
        hold(&mut self.of_record, &edit.record);
        // Completions do not wait for a profile that the key may not write.
        if edit.sets_zone && !self.apart.contains_key(&Kind::Property) {
            hold(&mut self.of_record, &ZONE_ORDER.to_owned());
        }
        edit.targets.iter().for_each(|target| hold(&mut self.referring, target));
    }

    /// False when the pass has read enough edits. `id`: the edit read last.
    fn goes_on(&mut self, id: i64) -> Result<bool, StoreError> {
        match &mut self.looked_over {
            None if self.ready.len() - self.apart.values().sum::<usize>() < self.limit => {}
            None if has_later_edits(self.connection, &self.ready, id)? => self.looked_over = Some(0),
            Some(count) if *count < LOOKED_OVER_MAX => *count += 1,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn finish(mut self) -> (Vec<ReadyEdits>, Marks) {
        if !self.held_requests.is_empty() {
            let of_held = self.requests.iter().filter(|(key, _)| self.held_requests.contains(*key));
            let held: HashSet<usize> = of_held.map(|(_, index)| *index).collect();
            let mut index = 0..;
            self.ready.retain(|_| index.next().is_some_and(|index| !held.contains(&index)));
        }
        (self.ready, self.marks)
    }
}

/// True when the rows reflect every event up to the head that the server reported at the last contact. The phase
/// cannot tell: the phase may be `needs_key` although the feed is current.
fn is_in_step(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT backfilled AND coalesce(position >= head, 0) AND NOT EXISTS (SELECT 1 FROM _reconcile)
                FROM _sync";
    Ok(connection.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

/// True when a record in the new requests has edits after the edit `after`.
fn has_later_edits(connection: &Connection, ready: &[ReadyEdits], after: i64) -> Result<bool, StoreError> {
    let first = ready.iter().filter(|it| !it.is_frozen).filter_map(|it| it.edits.first());
    let text = "SELECT 1 FROM json_each(?1) j CROSS JOIN edits f ON f.id = CAST(j.key AS INTEGER)
                    CROSS JOIN edits l ON l.record_id = f.record_id AND l.id > ?2";
    Ok(connection.prepare_cached(text)?.exists((id_list(first.map(|edit| (*edit, None))), after))?)
}

/// The later create of a record to which the edit `after` refers, with its hold. None when the record needs no create.
fn later_create(connection: &Connection, record: &str, after: i64) -> Result<Option<(Holds, i64)>, StoreError> {
    let text = "SELECT id, state IN ('rejected', 'conflict', 'blocked') FROM edits
                WHERE record_id = ?1 AND id > ?2 AND method = 'create'
                    AND (state <> 'sent' OR NOT EXISTS (SELECT 1 FROM _outbox WHERE edit_id = edits.id AND acked_rev IS NOT NULL))";
    let found = connection.prepare_cached(text)?.query_row((record, after), |row| {
        let holds = if row.get(1)? { Holds::UntilPersonActs } else { Holds::UntilSettled };
        Ok((holds, row.get(0)?))
    });
    Ok(found.optional()?)
}
