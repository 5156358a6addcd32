//! What each row of a file makes or changes (contract 23). Pure: the caller applies the plan. Must not know where records are
//! stored.

use std::collections::HashMap;

use hearth_contract::check::{Fields, Intent, check, check_subject, references};
use hearth_contract::problem::{FaultCode, FieldFault};
use hearth_contract::recurrence;
use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};
use uuid::Uuid;

use super::draft::{Draft, DraftRow, DraftTable};
use super::existing::{Existing, Found};
use super::fault::{RowCode, RowFault};
use super::keys;
use super::target::{IMPORT_REF, ROOM_ID};

pub use super::columns::Product;

/// What a row does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Makes a record with these fields: all fields of the kind.
    Create(Fields),
    /// Changes these fields.
    Update(Fields),
    /// Nothing: the record has these values already.
    Unchanged,
    /// Nothing: the row is refused.
    Fail(RowFault),
}

impl Action {
    /// The word in the API.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Action::Create(_) => "create",
            Action::Update(_) => "update",
            Action::Unchanged => "unchanged",
            Action::Fail(_) => "fail",
        }
    }
}

/// A row, or a room that a row makes by its name. Such a room stands before the row, with the same number.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedRow {
    /// The number of the row in its table, as spreadsheets count: the heading is row 1. Each table of an export counts anew.
    pub number: u32,
    /// The kind of the record.
    pub kind: Kind,
    /// The id of the record. None: the row is refused before the record is known, or the home has no profile yet.
    pub id: Option<Uuid>,
    /// The name of the record for people, where the row has it.
    pub title: Option<String>,
    /// What the row does.
    pub action: Action,
}

impl PlannedRow {
    /// Whether the row makes or changes a record.
    pub fn changes_something(&self) -> bool {
        matches!(self.action, Action::Create(_) | Action::Update(_))
    }

    /// The form in the API: row, action, type, id, error.
    pub fn to_json(&self) -> Value {
        let error = match &self.action {
            Action::Fail(fault) => json!({
                "column": fault.column,
                "value": fault.value,
                "code": fault.code.as_str(),
                "message": fault.message,
            }),
            _ => Value::Null,
        };
        json!({
            "row": self.number,
            "action": self.action.as_str(),
            "type": self.kind.as_str(),
            "id": self.id.map(|id| id.to_string()),
            "error": error,
        })
    }
}

/// The numbers of rows by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Records made, with the rooms.
    pub created: usize,
    /// Records changed.
    pub updated: usize,
    /// Rows whose record has their values already.
    pub unchanged: usize,
    /// Refused rows.
    pub failed: usize,
}

/// What a table of the file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReport {
    /// The kind of its rows.
    pub kind: Kind,
    /// The program whose columns it has.
    pub product: Product,
    /// Columns that become something, each with the field.
    pub used: Vec<(String, &'static str)>,
    /// Columns that are kept out.
    pub kept_out: Vec<String>,
}

/// The changes of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The tables of the file.
    pub tables: Vec<TableReport>,
    /// The rows in the order of the file.
    pub rows: Vec<PlannedRow>,
}

impl Plan {
    /// The numbers of rows by what they do.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for row in &self.rows {
            match row.action {
                Action::Create(_) => counts.created += 1,
                Action::Update(_) => counts.updated += 1,
                Action::Unchanged => counts.unchanged += 1,
                Action::Fail(_) => counts.failed += 1,
            }
        }
        counts
    }

    /// The positions in `rows` of the rows that change something, in the order in which they must be applied. A completed task
    /// of a series comes after the task that followed it: that task is in the file, and completing the first one must not make
    /// another.
    pub fn steps(&self) -> Vec<usize> {
        let is_done = |at: &usize| match &self.rows[*at].action {
            Action::Create(fields) => self.rows[*at].kind == Kind::Task && recurrence::is_done(fields),
            _ => false,
        };
        let changes = (0..self.rows.len()).filter(|at| self.rows[*at].changes_something());
        let (done, first): (Vec<usize>, Vec<usize>) = changes.partition(is_done);
        first.into_iter().chain(done.into_iter().rev()).collect()
    }
}

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
        if row.is_counted_before {
            return self.counted_before(table, row, planned);
        }
        self.refuse_double_key(table, row)?;
        let meant = self.meant(at, table, row)?;
        if let Some(id) = meant {
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
        let present = meant.and_then(|id| self.existing.records.get(&(kind, id)));
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

    /// The record that a row means. None: a new one.
    fn meant(&self, at: usize, table: &DraftTable, row: &DraftRow) -> Result<Option<Uuid>, RowFault> {
        let kind = table.columns.kind;
        if kind.is_singleton() {
            return Ok(self.existing.singleton(kind));
        }
        let by_reference = row.import_ref().map(|text| self.existing.by_reference(at, text));
        if let Some(id) = row.id {
            if self.existing.used.contains(&id) {
                let message = "The id was used by a record that was deleted, or by one of another kind. Remove the id to make a new record.";
                return Err(fault_at(table, row, "id", Some(id.to_string()), RowCode::AlreadyExists, message));
            }
            let is_of_another = match by_reference {
                Some(Found::One(other)) => other != id,
                Some(Found::Several) => true,
                Some(Found::None) | None => false,
            };
            if is_of_another {
                let message = "Another record has this import_ref. Remove the id or the import_ref from the row.";
                return Err(fault_at(table, row, IMPORT_REF, None, RowCode::AlreadyExists, message));
            }
            return Ok(self.existing.records.contains_key(&(kind, id)).then_some(id));
        }
        if let Some(Found::One(id)) = by_reference {
            return Ok(Some(id));
        }
        let several = |what: &str| {
            RowFault::of_row(RowCode::SeveralMatch, format!("Several records have {what}. Use their ids."))
        };
        if let Some(Found::Several) = by_reference {
            return Err(several("this import_ref"));
        }
        match table.row_key(row).map(|key| self.existing.by_key(at, &key)) {
            Some(Found::One(id)) => return Ok(Some(id)),
            Some(Found::Several) => return Err(several(&format!("this {}", table.key.join(" and ")))),
            _ => (),
        }
        match table.row_whole(row).map(|whole| self.existing.by_whole(at, &whole)) {
            Some(Found::One(_) | Found::Several) => {
                let next = "Name the columns by which records are recognised, such as key=name, or add an import_ref";
                let message = format!("The home has a record of the kind {kind} with these values already. {next}.");
                Err(RowFault::of_row(RowCode::AlreadyExists, message))
            }
            _ => Ok(None),
        }
    }

    fn refuse_double(&self, table: &DraftTable, row: &DraftRow, id: Option<Uuid>) -> Result<(), RowFault> {
        let by_id = id.and_then(|id| self.taken.get(&id));
        if let Some((kind, first)) = by_id.filter(|(kind, _)| *kind != table.columns.kind) {
            let message =
                format!("Row {first} of the kind {kind} has this id. Remove the id from one of the two rows.");
            return Err(RowFault::of_row(RowCode::AlreadyExists, message));
        }
        let by_reference = row.import_ref().and_then(|reference| self.references.get(reference));
        match by_id.map(|(_, first)| first).or(by_reference) {
            Some(first) => {
                let message = format!("Row {first} is the same record. Keep one of the two rows.");
                Err(RowFault::of_row(RowCode::AlreadyExists, message))
            }
            None => Ok(()),
        }
    }

    /// Rows with one key are one record. Two rows that both have an id or an import_ref are told apart by it.
    fn refuse_double_key(&self, table: &DraftTable, row: &DraftRow) -> Result<(), RowFault> {
        let first = table.row_key(row).and_then(|key| self.keys.get(&key));
        let Some(first) = first.filter(|first| !(first.is_named && row.is_named())) else { return Ok(()) };
        let (key, number) = (table.key.join(" and "), first.number);
        let message = format!("Row {number} has the same {key}. Keep one of the two rows, or add a column to the key.");
        Err(RowFault::of_row(RowCode::DuplicateKey, message))
    }

    fn keep_key(&mut self, table: &DraftTable, row: &DraftRow, planned: &PlannedRow) {
        let Some(key) = table.row_key(row).filter(|_| row.fault.is_none()) else { return };
        let id = planned.id.filter(|_| !matches!(planned.action, Action::Fail(_)));
        self.keys.entry(key).or_insert(KeyOfRow { number: row.number, id, is_named: row.is_named() });
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

/// The change of a record: the fields that differ.
fn change(table: &DraftTable, row: &DraftRow, present: &Fields, body: Fields) -> Result<Action, RowFault> {
    let differs = |name: &String, value: &Value| present.get(name).unwrap_or(&Value::Null) != value;
    let changed: Fields = body.into_iter().filter(|(name, value)| differs(name, value)).collect();
    if changed.is_empty() {
        return Ok(Action::Unchanged);
    }
    let mut whole = present.clone();
    whole.extend(changed.clone());
    let mut faults = Vec::new();
    check_subject(table.columns.kind, &whole, &mut faults);
    refuse(table, row, faults)?;
    Ok(Action::Update(changed))
}

/// A new record: everything that the API demands of one.
fn create(table: &DraftTable, row: &DraftRow, body: Fields) -> Result<Action, RowFault> {
    let checked = check(table.columns.kind, Intent::Create, &Value::Object(body));
    refuse(table, row, checked.faults)?;
    Ok(Action::Create(checked.fields))
}

fn refuse(table: &DraftTable, row: &DraftRow, faults: Vec<FieldFault>) -> Result<(), RowFault> {
    match faults.into_iter().next() {
        Some(fault) => {
            let (field, code) = (fault.field.clone(), RowCode::Field(fault.code));
            Err(fault_at(table, row, &field, None, code, fault.message))
        }
        None => Ok(()),
    }
}

/// A fault of a field, with the heading of its column.
fn fault_at(
    table: &DraftTable,
    row: &DraftRow,
    field: &str,
    value: Option<String>,
    code: RowCode,
    message: impl Into<String>,
) -> RowFault {
    let column = table.columns.used().find(|(_, name)| *name == field).map_or(field, |(name, _)| name);
    let text =
        row.body.get(field).and_then(|value| value.as_str().map(str::to_owned).or_else(|| Some(value.to_string())));
    let value = value.or(text).unwrap_or_default();
    RowFault::of_cell(column, &value, code, message)
}
