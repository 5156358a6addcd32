//! Plans which edits may be sent now, and marks the edits that wait for a person's decision. Must not know how edits
//! are sent.

use std::collections::{BTreeMap, HashMap, HashSet};

use hearth_contract::check::Fields;
use hearth_contract::recurrence::TIME_ZONE;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};
use rusqlite::{Connection, OptionalExtension, Row, Transaction};

use crate::model::{EditState, Method, Precondition, ReadyEdits};
use crate::store::edits::acked::id_list;
use crate::store::edits::create_deps::CreateDeps;
use crate::store::edits::readiness::{
    Capacity, Dependencies, Facts, Holds, Readiness, RequestState, ServerRev, readiness,
};
use crate::store::edits::reason::{Reason, set_state};
use crate::store::file_store::upload::WAITS_FOR_FILE;
use crate::store::{StoreError, base, gate, rows};

/// Edits of a record that are coalesced into a request, at most.
const CHAIN_EDITS_MAX: usize = 100;

/// Edits that the pass still reads when enough edits are ready, to find edits to coalesce with the ready edits.
/// Without the search, a change and its undo would be sent as two requests when many edits wait.
const LOOKED_OVER_MAX: usize = 100_000;

/// Bytes of an operation in a bulk request without the values, approximately.
const OPERATION_BYTES: usize = 128;

/// Stands for the home's time zone among the ids of records. The server decides by the zone on which day a task was completed,
/// so completions of series and changes of the zone reach the server in their order.
const ZONE_ORDER: &str = "the time zone";

/// The result of a pass over `edits`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The edits that may be sent now, in their order: at most `limit` entries, and at most `limit` more of each kind
    /// apart.
    pub ready: Vec<ReadyEdits>,
    /// True when an unsettled edit needs no person.
    pub has_open_edits: bool,
}

/// Edits whose mark in `_outbox.blocked_by` changes. Some: the number of the blocking edit. None: the edit is no longer blocked.
type Marks = BTreeMap<i64, Option<i64>>;

/// The hold on the later edits of a record: the strictest hold, the edit that causes the hold, and the index of the
/// entry in `ready` that contains all earlier edits of the record (None when the edits are not all in the same
/// entry).
#[derive(Clone, Copy)]
struct Holder {
    holds: Holds,
    edit: i64,
    chain: Option<usize>,
}

/// Plans which edits may be sent, and marks or unmarks edits that depend on an edit that needs a person. `apart`:
/// kinds that the key may not write now. Their edits are counted separately, because other edits must not wait behind
/// them.
pub(crate) fn plan(connection: &mut Connection, limit: usize, apart: &[Kind]) -> Result<Plan, StoreError> {
    let (ready, marks) = examine(connection, limit, apart)?;
    if marks.is_empty() {
        return Ok(Plan { ready, has_open_edits: has_open_edits(connection)? });
    }
    gate::sync_tx(connection, |tx| {
        // Another connection may have added edits since the first pass, so the pass is repeated in the transaction.
        let (ready, marks) = examine(tx, limit, apart)?;
        write_marks(tx, marks)?;
        Ok(Plan { ready, has_open_edits: has_open_edits(tx)? })
    })
}

/// Marks and unmarks the edits that depend on an edit that needs a person. Called after a person's decision.
pub(crate) fn mark(tx: &Transaction<'_>) -> Result<(), StoreError> {
    let (_, marks) = examine(tx, usize::MAX, &[])?;
    write_marks(tx, marks)
}

fn write_marks(tx: &Transaction<'_>, marks: Marks) -> Result<(), StoreError> {
    for (id, cause) in marks {
        match cause {
            Some(cause) => {
                set_state(tx, id, EditState::Blocked, Some(Reason::DependsOn(cause)))?;
                let mark = "INSERT INTO _outbox (edit_id, blocked_by) VALUES (?1, ?2)
                            ON CONFLICT DO UPDATE SET blocked_by = excluded.blocked_by";
                tx.prepare_cached(mark)?.execute((id, cause))?;
            }
            None => {
                set_state(tx, id, EditState::Waiting, None)?;
                tx.prepare_cached("UPDATE _outbox SET blocked_by = NULL WHERE edit_id = ?1")?.execute([id])?;
            }
        }
    }
    Ok(())
}

fn has_open_edits(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT EXISTS (SELECT 1 FROM edits WHERE state IN ('waiting', 'sending', 'sent'))";
    Ok(connection.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

/// True when the rows reflect every event up to the head that the server reported at the last contact. The phase
/// cannot tell: the phase may be `needs_key` although the feed is current.
fn is_in_step(connection: &Connection) -> Result<bool, StoreError> {
    let text = "SELECT backfilled AND coalesce(position >= head, 0) AND NOT EXISTS (SELECT 1 FROM _reconcile)
                FROM _sync";
    Ok(connection.prepare_cached(text)?.query_row([], |row| row.get(0))?)
}

/// Runs a pass over the edits in their order. The pass ends when enough edits are ready.
///
/// An edit waits for every earlier edit of the same record, of a record that the edit refers to, and of a record that
/// refers to the edit's record. The delete of a room therefore never overtakes the create of an item in the room. A
/// create is the exception: edits that refer to the new record wait for the create, even when the create is the later
/// edit, and the create does not wait for these edits. Completions of series and changes of the home's time zone wait for
/// each other, as if each completion referred to the zone. Later edits of a record that wait for no other record are
/// coalesced with the first edit, unless an edit among them was already sent.
fn examine(connection: &Connection, limit: usize, apart: &[Kind]) -> Result<(Vec<ReadyEdits>, Marks), StoreError> {
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

/// The SQL that reads the candidates, in their order. An accepted edit with a known position is left out, because no
/// edit waits for it, unless the feed must still bring the edit's record.
fn candidates_text() -> String {
    let due = match hearth_simulated::planted(hearth_simulated::PlantedFault::RetryUsesWallClock) {
        true => "AND coalesce(e.next_attempt_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+2 minutes'), 1)",
        false => "",
    };
    format!(
        "SELECT e.id, e.kind, e.record_id, e.patch, e.base, e.state, e.idempotency_key, e.method, f.if_match,
                coalesce(f.if_absent, 0), coalesce(f.given_up, 0), f.blocked_by,
                CASE e.method WHEN 'create' THEN (
                    SELECT d.record_id FROM _outbox u JOIN edits d ON d.id = coalesce(u.part_of, u.edit_id)
                    WHERE u.undone_by = e.id AND d.method = 'delete') END,
                (SELECT n.completes FROM _outbox n WHERE n.next_edit = e.id), f.completes IS NOT NULL, {WAITS_FOR_FILE}
         FROM edits e LEFT JOIN _outbox f ON f.edit_id = e.id
         WHERE (e.state <> 'sent' OR f.acked_rev IS NULL OR f.awaits_record)
             {due}
         ORDER BY e.id"
    )
}

/// An edit that the pass examines.
struct Candidate {
    id: i64,
    kind: Kind,
    record: String,
    facts: Facts,
    key: Option<String>,
    /// The blocking edit as stored.
    blocked_by: Option<i64>,
    /// The records that the edit refers to.
    targets: Vec<String>,
    /// For a create that replaces a deleted record: the id of the deleted record.
    replaces: Option<String>,
    /// For the create of a next task: the completed task. The create is never sent.
    follows: Option<String>,
    /// True when the edit completes a task of a series.
    completes: bool,
    /// True when the edit changes the home's time zone.
    sets_zone: bool,
    bytes: usize,
}

impl Candidate {
    fn read(row: &Row<'_>) -> Result<Candidate, StoreError> {
        let word: String = row.get(1)?;
        let kind =
            Kind::parse(&word).ok_or_else(|| StoreError::InvalidContent(format!("an edit of unknown kind {word}")))?;
        let texts = [row.get_ref(3)?.as_str().unwrap_or("{}"), row.get_ref(4)?.as_str().unwrap_or("{}")];
        let key: Option<String> = row.get(6)?;
        let request = match (&key, row.get(10)?) {
            (None, _) => RequestState::None,
            (Some(_), false) => RequestState::Frozen,
            (Some(_), true) => RequestState::GivenUp,
        };
        let follows: Option<String> = row
            .get::<_, Option<String>>(13)?
            .filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::NextTaskSent));
        let precondition = Precondition::from_columns(row.get(8)?, row.get(9)?);
        let completes: bool = row.get(14)?;
        // Nothing waits for a request that is never sent.
        let mut targets = if follows.is_some() { Vec::new() } else { references(kind, texts)? };
        targets.extend(completes.then(|| ZONE_ORDER.to_owned()));
        Ok(Candidate {
            id: row.get(0)?,
            kind,
            record: row.get(2)?,
            facts: Facts {
                method: row.get(7)?,
                state: row.get(5)?,
                request,
                precondition,
                waits_for_file: row.get(15)?,
            },
            key,
            blocked_by: row.get(11)?,
            targets,
            replaces: row.get(12)?,
            follows,
            completes,
            sets_zone: kind == Kind::Property && rows::parse_object(texts[0])?.contains_key(TIME_ZONE),
            bytes: texts[0].len() + OPERATION_BYTES,
        })
    }
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
    /// The hold on each record by edits of records that refer to the record.
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
        if let Some(task) = &edit.follows {
            let decision = self.next_task_readiness(&edit, task);
            self.carry_out(&edit, None, decision);
            self.hold(&edit, decision.holds(), None);
            return self.goes_on(edit.id);
        }
        let own = self.of_record.get(&edit.record).copied();
        let others = self.held_by_others(&edit, own)?;
        let dependencies = Dependencies {
            held_by: own.map(|holder| (holder.holds, holder.edit)).max(others),
            only_by_own_record: others.is_none(),
            in_step: self.in_step,
            capacity: self.capacity(edit.kind),
        };
        let server = match edit.facts.needs_server_rev(&dependencies) {
            true => ServerRev::of(base::with_acked(self.connection, edit.kind, &edit.record)?.map(|known| known.rev)),
            false => ServerRev::NotRead,
        };
        let decision = readiness(&edit.facts, &dependencies, server);
        let chain = self.carry_out(&edit, own, decision);
        self.hold(&edit, decision.holds(), chain);
        if self.ready.len() > before
            && let Some(count) = self.apart.get_mut(&edit.kind)
        {
            *count += 1;
        }
        self.goes_on(edit.id)
    }

    /// The create of a next task waits for the edit that completes the task before, and is blocked with it.
    fn next_task_readiness(&self, edit: &Candidate, completed: &str) -> Readiness {
        match self.of_record.get(completed) {
            _ if matches!(edit.facts.state, EditState::Rejected | EditState::Conflict) => Readiness::NeedsPerson,
            Some(holder) if holder.holds == Holds::UntilPersonActs => Readiness::BlockedBy(holder.edit),
            _ => Readiness::Wait,
        }
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
        // A create that replaces a deleted record is sent after the delete. Until the delete, the old record exists.
        let replaced = edit.replaces.as_ref().and_then(|old| self.of_record.get(old));
        if let Some(holder) = replaced.filter(|it| !self.create_deps.waits_for_create_of(it.edit, record)) {
            self.create_deps.inherit(id, holder.edit);
            others = others.max(Some((holder.holds, holder.edit)));
        }
        if is_create {
            self.create_deps.note_create(id, record);
        }
        Ok(others.filter(|_| !hearth_simulated::planted(hearth_simulated::PlantedFault::DependentsDoNotWait)))
    }

    fn capacity(&self, kind: Kind) -> Capacity {
        if self.looked_over.is_some() {
            return Capacity::None;
        }
        let is_full = self.apart.get(&kind).is_some_and(|count| *count >= self.limit);
        if is_full { Capacity::FrozenOnly } else { Capacity::Free }
    }

    /// Adds an edit to `ready` and to the marks. Returns the index of the entry in `ready` that later edits of the
    /// record can join.
    fn carry_out(&mut self, edit: &Candidate, own: Option<Holder>, decision: Readiness) -> Option<usize> {
        let Candidate { id, kind, bytes, .. } = *edit;
        match decision {
            Readiness::NeedsPerson | Readiness::Accepted => return None,
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
            (Readiness::Resend, Some(key)) => {
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
            (Readiness::Send, key) => {
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

/// True when a record in the new requests has edits after the edit `after`.
fn has_later_edits(connection: &Connection, ready: &[ReadyEdits], after: i64) -> Result<bool, StoreError> {
    let first = ready.iter().filter(|it| !it.is_frozen).filter_map(|it| it.edits.first());
    let text = "SELECT EXISTS (SELECT 1 FROM json_each(?1) j CROSS JOIN edits f ON f.id = CAST(j.key AS INTEGER)
                    CROSS JOIN edits l ON l.record_id = f.record_id AND l.id > ?2)";
    Ok(connection
        .prepare_cached(text)?
        .query_row((id_list(first.map(|edit| (*edit, None))), after), |row| row.get(0))?)
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

/// The ids of the records that an edit refers to, from its patch and its base as JSON.
fn references(kind: Kind, texts: [&str; 2]) -> Result<Vec<String>, StoreError> {
    let fields = resource(kind).fields.iter();
    let fields: Vec<_> =
        fields.filter(|field| matches!(field.format, Format::Reference(_) | Format::Subject)).collect();
    // Most edits refer to no record, and parsing JSON is the main cost of a pass over many edits.
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
