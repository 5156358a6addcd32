//! From the rows of a file to what each makes or changes (contract 23). Pure: ids for new records are an argument. Must not know
//! where records are stored.

mod record_of_row;
mod row_change;

use std::collections::HashMap;

use hearth_contract::check::{Fields, Intent, check, references};
use hearth_contract::problem::FaultCode;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use self::row_change::{change, create, fault_at};
use super::draft::{Draft, DraftRow, DraftTable};
use super::existing::{Existing, Found};
use super::fault::{RowCode, RowFault};
use super::keys;
use super::plan::{Action, Plan, PlannedRow, TableReport};
use super::target::ROOM_ID;

impl Draft {
    /// Plans what each row does to the records of a home. `new_id` makes ids for new records.
    pub fn plan(&self, existing: &Existing, new_id: &mut dyn FnMut() -> Uuid) -> Plan {
        let mut planner = Planner {
            existing,
            new_id,
            rooms: HashMap::new(),
            taken: HashMap::new(),
            references: HashMap::new(),
            keys: HashMap::new(),
            rows: Vec::new(),
        };
        for (at, table) in self.tables.iter().enumerate() {
            planner.references = HashMap::new();
            planner.keys = HashMap::new();
            for row in &table.rows {
                planner.add(at, table, row);
            }
        }
        let report = |table: &DraftTable| TableReport {
            kind: table.columns.kind,
            product: table.columns.product,
            used: table.columns.used().map(|(name, field)| (name.to_owned(), field)).collect(),
            kept_out: table.columns.kept_out().map(str::to_owned).collect(),
        };
        Plan { tables: self.tables.iter().map(report).collect(), rows: planner.rows }
    }
}

struct Planner<'a> {
    existing: &'a Existing,
    new_id: &'a mut dyn FnMut() -> Uuid,
    /// The rooms that the plan makes by name, folded.
    rooms: HashMap<String, Uuid>,
    /// The records that earlier rows make or change, with kind and row. An id belongs to one kind of a home.
    taken: HashMap<Uuid, (Kind, u32)>,
    /// The references of the records that earlier rows of the table make, with the row.
    references: HashMap<String, u32>,
    /// The keys of earlier rows of the table.
    keys: HashMap<String, KeyOfRow>,
    rows: Vec<PlannedRow>,
}

/// The row that has a key.
#[derive(Clone, Copy)]
struct KeyOfRow {
    number: u32,
    /// The record of the row. None: the row is refused.
    id: Option<Uuid>,
    /// Whether the row has an id or an import_ref besides.
    is_named: bool,
}

/// A room that a row needs and the home lacks.
struct NewRoom {
    folded: String,
    id: Uuid,
    fields: Fields,
}

impl Planner<'_> {
    fn add(&mut self, at: usize, table: &DraftTable, row: &DraftRow) {
        let kind = table.columns.kind;
        let title = row.body.get(resource(kind).title).and_then(Value::as_str).map(str::to_owned);
        let mut planned = PlannedRow { number: row.number, kind, id: row.id, title, action: Action::Unchanged };
        match self.row(at, table, row, &mut planned) {
            Ok((action, room)) => {
                planned.action = action;
                if let Some(room) = room {
                    self.rooms.insert(room.folded, room.id);
                    let title = room.fields.get("name").and_then(Value::as_str).map(str::to_owned);
                    let (number, kind) = (row.number, Kind::Room);
                    self.rows.push(PlannedRow {
                        number,
                        kind,
                        id: Some(room.id),
                        title,
                        action: Action::Create(room.fields),
                    });
                }
                if let (Kind::Room, Some(id), Some(name)) = (kind, planned.id, &planned.title) {
                    // Later rows of the file can mean the room by its name.
                    self.rooms.entry(keys::room(name)).or_insert(id);
                }
                if let Some(id) = planned.id {
                    self.taken.insert(id, (kind, row.number));
                }
                if let Some(reference) = row.import_ref() {
                    self.references.insert(reference.to_owned(), row.number);
                }
            }
            Err(fault) => planned.action = Action::Fail(fault),
        }
        self.keep_key(table, row, &planned);
        self.rows.push(planned);
    }

    /// What a row does, and the room that it needs.
    fn row(
        &mut self,
        at: usize,
        table: &DraftTable,
        row: &DraftRow,
        planned: &mut PlannedRow,
    ) -> Result<(Action, Option<NewRoom>), RowFault> {
        if let Some(fault) = &row.fault {
            return Err(fault.clone());
        }
        let kind = table.columns.kind;
        if row.is_merged_into_earlier {
            return self.counted_before(table, row, planned);
        }
        self.refuse_double_key(table, row)?;
        let existing = self.existing_record(at, table, row)?;
        if let Some(id) = existing {
            planned.id = Some(id);
            if planned.title.is_none() {
                let title = self.existing.records.get(&(kind, id)).and_then(|fields| fields.get(resource(kind).title));
                planned.title = title.and_then(Value::as_str).map(str::to_owned);
            }
        }
        self.refuse_double(table, row, planned.id)?;
        let mut body = row.body.clone();
        let room = self.place(row, &mut body)?;
        if body.get(ROOM_ID).is_some_and(Value::is_null) && row.room.is_some() {
            body.remove(ROOM_ID);
        }
        self.check_references(table, row, &body, room.as_ref())?;
        let present = existing.and_then(|id| self.existing.records.get(&(kind, id)));
        let action = match present {
            Some(present) => change(table, row, present, body)?,
            None if kind.is_singleton() => Action::Update(body),
            None => {
                planned.id = planned.id.or_else(|| Some((self.new_id)()));
                create(table, row, body)?
            }
        };
        // A row that changes nothing makes no room; one that names a new room changes something.
        Ok((action, room))
    }

    /// A row whose amount an earlier row has counted: the same record, without a change of its own.
    fn counted_before(
        &self,
        table: &DraftTable,
        row: &DraftRow,
        planned: &mut PlannedRow,
    ) -> Result<(Action, Option<NewRoom>), RowFault> {
        let first = table.row_key(row).and_then(|key| self.keys.get(&key));
        planned.id = first.and_then(|first| first.id);
        match planned.id {
            Some(_) => Ok((Action::Unchanged, None)),
            None => {
                let message = "The first row of this product is refused. Correct that row.";
                Err(RowFault::of_row(RowCode::DuplicateKey, message))
            }
        }
    }

    /// Puts the id of the named room into the body. Gives the room if it must be made.
    fn place(&mut self, row: &DraftRow, body: &mut Fields) -> Result<Option<NewRoom>, RowFault> {
        let Some((column, name)) = &row.room else { return Ok(None) };
        let folded = keys::room(name);
        let known = match self.existing.room(name) {
            Found::One(id) => Some(id),
            Found::Several => {
                let message = format!("Several rooms have the name {name}. Give the id in a column room_id.");
                return Err(RowFault::of_cell(column, name, RowCode::SeveralMatch, message));
            }
            Found::None => self.rooms.get(&folded).copied(),
        };
        if let Some(id) = known {
            body.insert(ROOM_ID.to_owned(), id.to_string().into());
            return Ok(None);
        }
        let checked = check(Kind::Room, Intent::Create, &json!({ "name": name }));
        if let Some(fault) = checked.faults.into_iter().next() {
            return Err(RowFault::of_field(fault, Some(column), Some(name)));
        }
        let id = (self.new_id)();
        body.insert(ROOM_ID.to_owned(), id.to_string().into());
        Ok(Some(NewRoom { folded, id, fields: checked.fields }))
    }

    /// Refuses a reference to a record that neither the home nor an earlier row has.
    fn check_references(
        &self,
        table: &DraftTable,
        row: &DraftRow,
        body: &Fields,
        room: Option<&NewRoom>,
    ) -> Result<(), RowFault> {
        for (field, kind, id) in references(table.columns.kind, body) {
            let is_named = field.name == ROOM_ID && row.room.is_some();
            let is_new = room.is_some_and(|room| room.id == id);
            if !is_named
                && !is_new
                && !self.existing.present.contains(&(kind, id))
                && self.taken.get(&id).is_none_or(|(taken, _)| *taken != kind)
            {
                let message = format!("There is no {kind} with this id.");
                let code = RowCode::Field(FaultCode::NotFound);
                return Err(fault_at(table, row, field.name, Some(id.to_string()), code, message));
            }
        }
        Ok(())
    }
}
