//! The rows of a file with their values, before the records of the home are known. Must not know the home.

use std::collections::HashMap;

use hearth_contract::check::{Fields, Intent, check};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::FaultCode;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};
use serde_json::Value;
use uuid::Uuid;

use super::columns::{self, Column, Columns, Product};
use super::error::{Cause, ImportError};
use super::fault::{RowCode, RowFault};
use super::locale::{Evidence, Locale};
use super::options::Options;
use super::table::{Cell, Table, TableRow};
use super::target::{IMPORT_REF, LOCATION, NOTES, ROOM_ID, Target};
use super::{grocy, homebox, keys, notes, numbers, values};

/// A file that was read: tables with values.
#[derive(Debug)]
pub struct Draft {
    pub(super) tables: Vec<DraftTable>,
}

/// The rows of one kind.
#[derive(Debug)]
pub(super) struct DraftTable {
    pub(super) columns: Columns,
    /// The fields that name a record, besides id and import_ref. Empty: none are stated.
    pub(super) key: Vec<&'static str>,
    /// The fields by which an equal record is recognised, if nothing names a record.
    pub(super) whole: Vec<&'static str>,
    pub(super) rows: Vec<DraftRow>,
}

/// A row with its values.
#[derive(Debug)]
pub(super) struct DraftRow {
    pub(super) number: u32,
    pub(super) id: Option<Uuid>,
    /// The values that the row sets, in the contract's form unless `fault` is set.
    pub(super) body: Fields,
    /// The heading and the name of the room that the row names. None if the row has the id of a room.
    pub(super) room: Option<(String, String)>,
    pub(super) fault: Option<RowFault>,
    /// Whether an earlier row has the amount and the notes of this row too.
    pub(super) is_merged_into_earlier: bool,
}

impl DraftRow {
    /// Whether the row says by id or import_ref which record it is.
    pub(super) fn is_named(&self) -> bool {
        self.id.is_some() || self.import_ref().is_some()
    }

    pub(super) fn import_ref(&self) -> Option<&str> {
        self.body.get(IMPORT_REF).and_then(Value::as_str).filter(|text| !text.is_empty())
    }
}

impl Draft {
    pub(super) fn of(tables: Vec<Table>, options: &Options) -> Result<Draft, ImportError> {
        columns::check_mapping(&tables, options)?;
        let tables: Vec<DraftTable> =
            tables.into_iter().map(|table| draft_table(&table, options)).collect::<Result<_, _>>()?;
        Ok(Draft { tables })
    }

    /// The kinds of the rows.
    pub fn kinds(&self) -> Vec<Kind> {
        self.tables.iter().map(|table| table.columns.kind).collect()
    }

    /// The kinds of the records that the caller must offer: those of the rows, and those to which rows refer.
    pub fn kinds_to_offer(&self) -> Vec<Kind> {
        let mut kinds = self.kinds();
        let refers = |kind: Kind| resource(kind).has_subject() || resource(kind).field(ROOM_ID).is_some();
        if kinds.iter().any(|kind| refers(*kind)) {
            kinds.extend([Kind::Room, Kind::Inventory, Kind::Vehicle]);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Whether a row of a kind names no record by id, import_ref or key: it is recognised by its values alone.
    pub fn has_nameless_rows(&self, kind: Kind) -> bool {
        let is_nameless =
            |table: &DraftTable| table.rows.iter().any(|row| row.fault.is_none() && table.is_nameless(row));
        self.tables.iter().any(|table| table.columns.kind == kind && is_nameless(table))
    }

    /// The ids that rows state for themselves: the caller says which of them were used ([`super::Existing::mark_used`]).
    pub fn ids(&self) -> impl Iterator<Item = (Kind, Uuid)> {
        self.tables.iter().flat_map(|table| table.rows.iter().filter_map(|row| Some((table.columns.kind, row.id?))))
    }
}

fn draft_table(table: &Table, options: &Options) -> Result<DraftTable, ImportError> {
    let columns = columns::recognise(table, options)?;
    let (key, whole) = (key_fields(table, &columns, options)?, columns.plain_fields());
    let locales = locales(table, &columns, options);
    let rows = table.rows.iter().map(|row| draft_row(row, &columns, &locales)).collect();
    let mut drafted = DraftTable { columns, key, whole, rows };
    if drafted.columns.product == Product::Grocy && options.key.is_empty() {
        drafted.add_up_entries();
    }
    Ok(drafted)
}

/// The fields of the stated key. Grocy's tables without ids have unique names.
fn key_fields(table: &Table, columns: &Columns, options: &Options) -> Result<Vec<&'static str>, ImportError> {
    if table.is_export {
        return Ok(Vec::new());
    }
    if options.key.is_empty() {
        return Ok(if columns.product == Product::Grocy { vec!["name"] } else { Vec::new() });
    }
    let field = |name: &String| {
        let at = columns::position(&table.columns, name, "key")?;
        match &columns.columns[at].target {
            Target::Field(field) => Ok(field.name),
            Target::Reference(_) => Ok(IMPORT_REF),
            _ => {
                let message = format!("key names the column {name}, which is no field of the kind {}.", columns.kind);
                Err(ImportError::new(Cause::Parameter("key"), message))
            }
        }
    };
    options.key.iter().map(field).collect()
}

/// The locale of each column: stated, else proven by the column, else by the other columns of the file.
fn locales(table: &Table, columns: &Columns, options: &Options) -> Vec<Locale> {
    let mut each = vec![Evidence::default(); columns.columns.len()];
    let mut all = Evidence::default();
    for (at, column) in columns.columns.iter().enumerate() {
        if let Target::Field(field) = column.target {
            table.rows.iter().for_each(|row| values::proof(field, &row.cells[at], &mut each[at]));
            all.add(each[at]);
        }
    }
    let stated = options.locale.unwrap_or_default();
    each.into_iter().map(|own| stated.or(own.locale()).or(all.locale())).collect()
}

fn draft_row(row: &TableRow, columns: &Columns, locales: &[Locale]) -> DraftRow {
    let mut draft = DraftRow {
        number: row.number,
        id: None,
        body: Fields::new(),
        room: None,
        fault: None,
        is_merged_into_earlier: false,
    };
    if let Some(surplus) = &row.surplus {
        let message = format!("The row has more cells than the heading: {surplus}. Quote cells that hold a delimiter.");
        draft.fault = Some(RowFault::of_row(RowCode::Field(FaultCode::UnknownField), message));
        return draft;
    }
    let mut lines = Vec::new();
    for ((column, cell), locale) in columns.columns.iter().zip(&row.cells).zip(locales) {
        let cell = foreign(columns.product, &column.name, cell);
        if let Err(fault) = place(&mut draft, &mut lines, column, &cell, *locale) {
            draft.fault.get_or_insert(fault);
        }
    }
    if draft.fault.is_some() {
        return draft;
    }
    let owns_notes = columns.used().any(|(_, field)| field == NOTES);
    notes::add(&mut draft.body, &lines, owns_notes);
    complete(&mut draft, columns.product);
    judge(&mut draft, row, columns);
    draft
}

/// A cell of another program: without white space at its ends, and empty if the program means that nothing is known.
fn foreign(product: Product, heading: &str, cell: &Cell) -> Cell {
    match (product, cell) {
        (Product::Hearth, cell) => cell.clone(),
        (Product::Homebox, Cell::Text(text)) if homebox::is_unset(heading, text.trim()) => Cell::Null,
        (_, Cell::Text(text)) if text.trim().is_empty() => Cell::Null,
        (_, Cell::Text(text)) => Cell::Text(text.trim().to_owned()),
        (_, cell) => cell.clone(),
    }
}

/// Puts a cell to its place in the row.
fn place(
    row: &mut DraftRow,
    lines: &mut Vec<String>,
    column: &Column,
    cell: &Cell,
    locale: Locale,
) -> Result<(), RowFault> {
    let text = cell.text();
    match (&column.target, &text) {
        (Target::Field(field), _) => {
            if let Some(value) = values::value(field, cell, locale, &column.name)? {
                row.body.insert(field.name.to_owned(), value);
            }
        }
        (Target::RoomPath | Target::Room, None) if *cell == Cell::Null => {
            row.body.entry(ROOM_ID).or_insert(Value::Null);
        }
        (_, None) => (),
        (Target::Id, Some(text)) if !text.trim().is_empty() => match parse_id(text.trim()) {
            Some(id) => row.id = Some(id),
            None => {
                let message = "id must be a UUID with hyphens. Map the column to import_ref if it is a number of another program.";
                let code = RowCode::Field(FaultCode::InvalidFormat);
                return Err(RowFault::of_cell(&column.name, text, code, message));
            }
        },
        (Target::Reference(program), Some(text)) => {
            row.body.insert(IMPORT_REF.to_owned(), format!("{program}{text}").into());
        }
        (Target::Room, Some(text)) if !text.trim().is_empty() => {
            row.room = Some((column.name.clone(), text.trim().to_owned()))
        }
        (Target::RoomPath, Some(text)) => {
            let mut parts = text.split('/').map(str::trim).filter(|part| !part.is_empty());
            row.room = parts.next().map(|room| (column.name.clone(), room.to_owned()));
            let rest = parts.collect::<Vec<_>>().join(" / ");
            row.body.insert(LOCATION.to_owned(), if rest.is_empty() { Value::Null } else { rest.into() });
        }
        (Target::Note(label), Some(text)) if !text.trim().is_empty() => lines.push(notes::line(label, text)),
        (Target::ChoiceOrNote(field, label), Some(text)) => match choice(field, text) {
            Some(word) => drop(row.body.insert(field.name.to_owned(), word.into())),
            None => lines.push(notes::line(label, text)),
        },
        (Target::Amount(label), Some(text)) => {
            let number = leading_number(text);
            match numbers::read(number, locale.decimal) {
                numbers::Reading::One(read) => {
                    let whole = whole(&read);
                    if let Some(whole) = whole {
                        row.body.insert("quantity".to_owned(), whole.into());
                    }
                    if whole.is_none() || number != text.trim() {
                        lines.push(notes::line(label, text));
                    }
                }
                _ => lines.push(notes::line(label, text)),
            }
        }
        _ => (),
    }
    Ok(())
}

/// Adds a further stock entry to the first row of its product. The sum and the notes are judged as a cell is.
fn add_entry(kind: Kind, first: &mut DraftRow, entry: &DraftRow) {
    let mut further = entry.body.clone();
    if let Some((heading, room)) = entry.room.as_ref().filter(|room| first.room.as_ref() != Some(room)) {
        notes::add(&mut further, &[notes::line(heading, room)], true);
    }
    grocy::add_entry(&mut first.body, &further);
    let checked = check(kind, Intent::Patch, &Value::Object(std::mem::take(&mut first.body)));
    first.body = checked.fields;
    first.fault = checked.faults.into_iter().next().map(|fault| RowFault::of_field(fault, None, None));
}

/// The number in front of a unit, with its marks: `1 234` of `1 234 Packs`.
fn leading_number(text: &str) -> &str {
    let is_mark = |letter: char| ".,'’".contains(letter) || letter.is_whitespace();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && !is_mark(letter)).unwrap_or(text.len());
    text[..end].trim()
}

/// The whole number of a decimal: `3` and `3.00` are 3. None: the number has a part behind the point.
fn whole(decimal: &str) -> Option<i64> {
    let (whole, rest) = decimal.split_once('.').unwrap_or((decimal, ""));
    if rest.bytes().all(|digit| digit == b'0') { whole.parse().ok() } else { None }
}

fn choice(field: &Field, text: &str) -> Option<&'static str> {
    match field.format {
        Format::Choice(words) => values::choice(words, text),
        _ => None,
    }
}

/// Adds what another program leaves out.
fn complete(row: &mut DraftRow, product: Product) {
    match product {
        Product::Grocy => drop(row.body.entry("category").or_insert(grocy::CATEGORY.into())),
        // An asset may have no name; then people know it by its model.
        Product::SnipeIt if row.body.get("name").is_none_or(Value::is_null) => {
            if let Some(model) = row.body.get("model").filter(|model| !model.is_null()).cloned() {
                row.body.insert("name".to_owned(), model);
            }
        }
        _ => (),
    }
}

/// Checks the values as the API does, and brings them into its form.
fn judge(row: &mut DraftRow, cells: &TableRow, columns: &Columns) {
    if row.body.get(ROOM_ID).is_some_and(|id| !id.is_null()) {
        row.room = None;
    }
    let body = Value::Object(std::mem::take(&mut row.body));
    let checked = check(columns.kind, Intent::Patch, &body);
    row.body = checked.fields;
    if let Some(fault) = checked.faults.into_iter().next() {
        let named = columns.used().find(|(_, field)| *field == fault.field).map(|(name, _)| name);
        let cell = named.and_then(|name| columns.columns.iter().position(|column| column.name == name));
        let value = cell.and_then(|at| cells.cells[at].text());
        row.fault = Some(RowFault::of_field(fault, named, value.as_deref()));
    }
}

impl DraftTable {
    /// Stock entries of Grocy: each delivery of a product is a row. The first row of a product gets the amounts and the notes of
    /// the others; its other values stay.
    fn add_up_entries(&mut self) {
        let mut firsts: HashMap<String, usize> = HashMap::new();
        for at in 0..self.rows.len() {
            let row = &self.rows[at];
            let Some(key) = self.row_key(row).filter(|_| row.fault.is_none() && !row.is_named()) else { continue };
            let first = *firsts.entry(key).or_insert(at);
            if first < at {
                let (before, rest) = self.rows.split_at_mut(at);
                rest[0].is_merged_into_earlier = true;
                if before[first].fault.is_none() {
                    add_entry(self.columns.kind, &mut before[first], &rest[0]);
                }
            }
        }
    }

    /// The key of a row, by the stated fields.
    pub(super) fn row_key(&self, row: &DraftRow) -> Option<String> {
        if self.key.is_empty() { None } else { keys::key(self.columns.kind, &self.key, &row.body) }
    }

    /// Whether a row names no record: by id, by import_ref or by the stated key.
    fn is_nameless(&self, row: &DraftRow) -> bool {
        !row.is_named() && self.row_key(row).is_none()
    }

    /// The values by which a row that names no record is recognised.
    pub(super) fn row_whole(&self, row: &DraftRow) -> Option<String> {
        if self.is_nameless(row) && !self.columns.kind.is_singleton() {
            keys::key(self.columns.kind, &self.whole, &row.body)
        } else {
            None
        }
    }
}
