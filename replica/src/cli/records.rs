//! `list`, `show`, `add`, `set`, `remove`, `search`: records by hand and by script. Changes become edits, as
//! everywhere. Must not know SQL.

use clap::Args;
use hearth_contract::amounts;
use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Presence};
use hearth_contract::units::{AreaUnit, Units};
use hearth_replica::{Pending, Phase, Replica, Row, RowQuery, Sort, WORTH};
use serde_json::{Map, Value, json};

use super::context::{Context, hint_to_send};
use super::failure::{Exit, Failure};
use super::values::{self, Assignment};
use super::{output, text};

/// The default for `list --limit`.
const LIST_LIMIT: usize = 1000;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub(super) struct List {
    /// The kind of the records
    #[arg(value_parser = values::kind_parser())]
    kind: Kind,
    /// Only records with this value; field= selects those without a value
    #[arg(value_name = "FIELD=VALUE")]
    values: Vec<Assignment>,
    /// Sort by this field, or by the worth of items and vehicles, as `hearth` does: done tasks come last, and records without
    /// a value stand at one end
    #[arg(long, value_name = "FIELD")]
    sort: Option<String>,
    /// Sort in descending order
    #[arg(long)]
    desc: bool,
    /// Maximum number of records
    #[arg(long, default_value_t = LIST_LIMIT)]
    limit: usize,
}

impl List {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let kind = self.kind;
        let conditions = values::conditions(&replica, kind, &self.values)?;
        let column = match &self.sort {
            Some(name) => values::known_name(kind, name).map_err(|fault| values::field_failure(kind, [fault]))?,
            None => resource(kind).title,
        };
        let sort = Sort { column, descending: self.desc };
        let page = replica.rows(&RowQuery { conditions, ..RowQuery::all(kind, sort, self.limit) })?;
        if context.json {
            output::json(&page.rows.iter().map(record_json).collect::<Vec<_>>())?;
        } else if page.total == 0 {
            output::message(&format!("no {} match", kind.collection()));
        } else {
            write_table(&replica, kind, &page.rows)?;
        }
        // After the data, at the end of the output.
        if page.rows.len() < page.total {
            output::message(&format!("{} of {}; --limit shows more", page.rows.len(), page.total));
        }
        Ok(())
    }
}

/// Writes records of one kind as a table.
fn write_table(replica: &Replica, kind: Kind, rows: &[Row]) -> Result<(), Failure> {
    let fields = shown_fields(kind);
    let units = rows.first().map(|row| row.units).unwrap_or_default();
    let headings = fields.iter().map(|field| heading(kind, field, units));
    let columns: Vec<_> = ["id".to_owned()].into_iter().chain(headings).chain(["pending".to_owned()]).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let short = replica.short_ids(&ids)?;
    let rows = rows.iter().zip(short).map(|(row, id)| {
        let values = fields.iter().map(|field| display_value(row, field));
        [id.into()].into_iter().chain(values).chain([pending_word(row.pending).into()]).collect()
    });
    Ok(output::table(&columns, rows)?)
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The name of the record, its id or the beginning of its id; `property` is the home's profile
    id: String,
}

impl Show {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let (kind, id) = values::find_record(&replica, &self.id, false)?;
        let row = replica.row(kind, &id)?.ok_or_else(|| missing_record(kind))?;
        write_record(context, &replica, &row)
    }
}

/// Arguments of `add`.
#[derive(Debug, Args)]
pub(super) struct Add {
    /// The kind of the record
    #[arg(value_parser = values::kind_parser())]
    kind: Kind,
    /// The fields; `fields KIND` lists them. A reference takes a name, an id or the beginning of an id
    #[arg(value_name = "FIELD=VALUE", required = true)]
    values: Vec<Assignment>,
}

impl Add {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        if self.kind.is_singleton() {
            let text = match replica.row(self.kind, "")? {
                Some(_) => "the home already has its profile",
                None => "a home has one profile; `set` creates it",
            };
            return Err(Failure::new(Exit::Usage, text).hint("hearth-replica set property FIELD=VALUE"));
        }
        let fields = values::fields_to_create(&replica, self.kind, &self.values)?;
        warn_of_missing_references(&replica, self.kind, &fields)?;
        let id = replica.create(self.kind, &fields)?;
        report_change(context, &replica, self.kind, &id)
    }
}

/// Arguments of `set`.
#[derive(Debug, Args)]
pub(super) struct Set {
    /// The name of the record, its id or the beginning of its id; `property` is the home's profile
    id: String,
    /// The fields to change; field= sets null
    #[arg(value_name = "FIELD=VALUE", required = true)]
    values: Vec<Assignment>,
}

impl Set {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let (kind, id) = values::find_record(&replica, &self.id, false)?;
        let present = replica.row(kind, &id)?.map(|row| row.fields).unwrap_or_default();
        let fields = values::fields_to_update(&replica, kind, &self.values, &present)?;
        if fields.iter().all(|(name, value)| present.get(name).unwrap_or(&Value::Null) == value) {
            output::message("no value differs; nothing was changed");
            return write_result(context, &replica, kind, &id);
        }
        warn_of_missing_references(&replica, kind, &fields)?;
        replica.update(kind, &id, &fields)?;
        let id = if id.is_empty() { replica.row(kind, "")?.map(|row| row.id).unwrap_or_default() } else { id };
        report_change(context, &replica, kind, &id)
    }
}

/// Arguments of `remove`.
#[derive(Debug, Args)]
pub(super) struct Remove {
    /// The name of the record, its id or the beginning of its id
    id: String,
}

impl Remove {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let (kind, id) = values::find_record(&replica, &self.id, false)?;
        if kind.is_singleton() {
            return Err(Failure::new(Exit::Usage, "the home's profile cannot be deleted")
                .hint("hearth-replica set property FIELD= to clear a field"));
        }
        let title = replica.row(kind, &id)?.map(|row| row.title).unwrap_or_default();
        let related = replica.related(kind, &id, 0)?;
        replica.delete(kind, &id)?;
        if context.json {
            return Ok(output::json(&json!({ "removed": id, "kind": kind, "title": title }))?);
        }
        let named = related.iter().map(|of| format!("{} in {}", of.total, of.kind.collection()));
        let named = named.collect::<Vec<_>>().join(", ");
        // In a home with a server, the server clears the references when it has the delete.
        let cleared = match replica.status()?.phase {
            Phase::Local => "references to it are cleared",
            _ => "the server clears the references to it",
        };
        let without = if named.is_empty() { named } else { format!("; {cleared}: {named}") };
        output::message(&format!("removed the {kind} {}{without}", text::one_line(&title)));
        warn_of_blocking_edit(&replica, kind, &id)?;
        Ok(output::line(&id)?)
    }
}

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(super) struct Search {
    /// Words; each must be the beginning of a word in the record
    #[arg(required = true)]
    words: Vec<String>,
    /// Maximum number of records
    #[arg(long, default_value_t = 20)]
    limit: usize,
}

impl Search {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let mut hits = replica.search(&self.words.join(" "), self.limit.saturating_add(1))?;
        let is_cut = hits.len() > self.limit;
        hits.truncate(self.limit);
        let ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
        let mut short = if context.json { Vec::new() } else { replica.short_ids(&ids)? }.into_iter();
        let none = (!is_cut).then_some("no record has these words");
        output::list(context.json, &hits, none, &["id", "kind", "title", "text"], |hit| {
            json!([short.next(), hit.kind, hit.title, hit.snippet.replace("**", "")])
        })?;
        if is_cut {
            output::message(&format!("only the first {}; --limit shows more", self.limit));
        }
        Ok(())
    }
}

/// The columns of a list, the title first.
const fn shown_fields(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Inventory => &["name", "room_id", "category", "quantity", WORTH],
        Kind::Vehicle => &["name", "make", "model", "year", "license_plate"],
        Kind::Document => &["title", "category", "subject_id", "expires_on"],
        Kind::Task => &["title", "status", "priority", "due_on", "subject_id", "assignee"],
        Kind::Room => &["name", "room_type", "floor", "area_sq_ft", "flooring"],
        Kind::Property => &["address", "city", "state", "property_type", "year_built"],
    }
}

/// A record as JSON: the members of the API, plus `kind`, `pending` and `needs_you`.
pub(super) fn record_json(row: &Row) -> Value {
    let mut members = api_members(row);
    members.insert("kind".to_owned(), row.kind.as_str().into());
    members.insert("pending".to_owned(), json!(row.pending != Pending::No));
    members.insert("needs_you".to_owned(), json!(row.pending == Pending::NeedsYou));
    Value::Object(members)
}

/// A record with the members of the API, in their order.
pub(super) fn api_members(row: &Row) -> Map<String, Value> {
    let mut members = Map::new();
    members.insert("id".to_owned(), row.id.clone().into());
    members.extend(row.fields.clone());
    members.insert("created_at".to_owned(), row.created_at.clone().into());
    members.insert("updated_at".to_owned(), row.updated_at.clone().into());
    members.insert("updated_by".to_owned(), row.updated_by.clone().into());
    members.insert("rev".to_owned(), row.rev.into());
    members
}

/// A field's value for people: for a reference the title of the record, if known. The worth is computed.
fn display_value(row: &Row, field: &str) -> Value {
    if field == WORTH {
        return row.worth_cents().map_or(Value::Null, |cents| minor_units(row, &amounts::stored(cents.into())).into());
    }
    let known = resource(row.kind).field(field);
    let is_sum = known.is_some_and(|field| field.format == Format::Money);
    match (row.names.get(field), row.fields.get(field)) {
        (Some(name), _) => name.clone().into(),
        (None, Some(Value::Number(area))) if known.is_some_and(Field::is_area) => {
            area.as_i64().map_or(Value::Null, |area| row.units.area.number(area).into())
        }
        (None, Some(Value::String(sum))) if is_sum => minor_units(row, sum).into(),
        (None, value) => value.cloned().unwrap_or(Value::Null),
    }
}

/// A sum with the decimals of the home's currency.
fn minor_units<'a>(row: &Row, sum: &'a str) -> &'a str {
    amounts::with_minor_units(sum, row.units.currency)
}

/// The name of a field above its column. Sums name the home's currency, and areas the unit of a metric home.
fn heading(kind: Kind, field: &str, units: Units) -> String {
    let known = resource(kind).field(field);
    let is_sum = field == WORTH || known.is_some_and(|field| field.format == Format::Money);
    let is_converted = known.is_some_and(Field::is_area) && units.area != AreaUnit::default();
    match (is_sum, is_converted) {
        (true, _) => units.sum_heading(field),
        (_, true) => format!("{}, {}", field.trim_end_matches("_sq_ft"), units.area.sign()),
        _ => field.to_owned(),
    }
}

/// The text of a value in a record: a sum with its currency. An area keeps the unit of its field, and a metric home also sees
/// the square metres.
fn text_with_unit(row: &Row, name: &str, text: &str) -> String {
    let Some(field) = resource(row.kind).field(name) else { return text.to_owned() };
    let area = row.fields.get(name).and_then(Value::as_i64).filter(|_| field.is_area());
    match (field.format, row.units.area, area) {
        (Format::Money, ..) => row.units.sum(minor_units(row, text)),
        (_, unit @ AreaUnit::SquareMetres, Some(area)) => {
            format!("{text}  {}", output::dim(&format!("{} {}", unit.number(area), unit.sign())))
        }
        _ => text.to_owned(),
    }
}

const fn pending_word(pending: Pending) -> &'static str {
    match pending {
        Pending::No => "",
        Pending::Waiting => "waiting",
        Pending::NeedsYou => "needs you",
    }
}

/// Writes a record, one field per line, without unset fields.
fn write_record(context: &Context, replica: &Replica, row: &Row) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(&record_json(row))?);
    }
    output::line(&format!("{}  {}", output::bold(&text::one_line(&row.title)), output::dim(row.kind.as_str())))?;
    let wide = resource(row.kind).fields.iter().map(|field| field.name.len()).max().unwrap_or(0).max(10) + 2;
    let line = |name: &str, text: &str| output::line(&format!("{name:wide$}{text}"));
    line("id", &text::one_line(&row.id))?;
    for (name, value) in row.fields.iter().filter(|(_, value)| !value.is_null()) {
        // A text of several lines keeps its lines, indented.
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let lines: Vec<String> = text.lines().map(text::one_line).collect();
        let text = lines.join(&format!("\n{:wide$}", ""));
        match row.names.get(name.as_str()) {
            Some(title) => line(name, &format!("{}  {}", text::one_line(title), output::dim(&text)))?,
            None => line(name, &text_with_unit(row, name, &text))?,
        }
    }
    let last = [("created_at", &row.created_at), ("updated_at", &row.updated_at), ("updated_by", &row.updated_by)];
    for (name, text) in last {
        if let Some(text) = text {
            line(name, &text::one_line(text))?;
        }
    }
    // The fields tell the worth of one piece.
    if let (Some(cents), true) = (row.worth_cents(), row.fields.get("quantity").is_some_and(|quantity| *quantity != 1))
    {
        line(WORTH, &row.units.sum(minor_units(row, &amounts::stored(cents.into()))))?;
    }
    match row.rev {
        Some(rev) => line("rev", &rev.to_string())?,
        None if replica.status()?.phase == Phase::Local => {}
        None if row.pending == Pending::No => output::message("its position on the server is read again"),
        None => output::message("the server has not confirmed it yet"),
    }
    if row.pending != Pending::No {
        output::message(&output::with_home_flags(&format!(
            "changed on this device; next: hearth-replica why {}",
            row.id
        )));
    }
    Ok(())
}

/// Prints the result of a change, with a hint if no process sends the edit.
fn report_change(context: &Context, replica: &Replica, kind: Kind, id: &str) -> Result<(), Failure> {
    if !warn_of_blocking_edit(replica, kind, id)? {
        hint_to_send(replica)?;
    }
    write_result(context, replica, kind, id)
}

/// Prints a warning and the command to type if an earlier edit of the record needs a decision first. True: printed.
fn warn_of_blocking_edit(replica: &Replica, kind: Kind, id: &str) -> Result<bool, Failure> {
    let edits = replica.why(kind, id)?.map(|why| why.edits).unwrap_or_default();
    let first = edits.iter().find_map(|edit| Some((edit, super::edits::decision_command(edit)?)));
    if let Some((edit, next)) = &first {
        output::message(&format!("stored on this device, but edit {} needs your decision first", edit.id));
        output::next_step(next);
    }
    Ok(first.is_some())
}

/// Prints the id of the record, or the whole record as JSON.
fn write_result(context: &Context, replica: &Replica, kind: Kind, id: &str) -> Result<(), Failure> {
    if context.json {
        let row = replica.row(kind, id)?.ok_or_else(|| missing_record(kind))?;
        return Ok(output::json(&record_json(&row))?);
    }
    Ok(output::line(id)?)
}

/// Warns of a reference to an unknown record. The edit is sent, because the record may not be synced yet; a typing
/// error is more likely.
fn warn_of_missing_references(replica: &Replica, kind: Kind, fields: &Fields) -> Result<(), Failure> {
    for (field, target, id) in hearth_contract::check::references(kind, fields) {
        if field.presence != Presence::ReadOnly && replica.row(target, &id.to_string())?.is_none() {
            let name = field.name;
            let then = if replica.status()?.phase == Phase::Local { "" } else { "; the server will check" };
            output::message(&format!("{name}: no {target} with the id {id} is here{then}"));
        }
    }
    Ok(())
}

pub(super) fn missing_record(kind: Kind) -> Failure {
    match kind {
        Kind::Property => Failure::new(Exit::NotFound, "the home has no profile yet")
            .hint("hearth-replica set property FIELD=VALUE creates it"),
        kind => Failure::new(Exit::NotFound, format!("the {kind} was deleted")),
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::schema::Format;

    use super::*;

    #[test]
    fn list_columns_are_fields() {
        for kind in Kind::ALL {
            for name in shown_fields(kind) {
                assert!(resource(kind).field(name).is_some() || *name == WORTH, "{kind} has no {name}");
            }
            assert_eq!(shown_fields(kind)[0], resource(kind).title);
        }
        assert!(resource(Kind::Task).field("subject_id").is_some_and(|field| field.format == Format::Subject));
    }
}
