//! The fields of a record as people read them: days, sums with the currency, names instead of ids. Must not know pages.

use hearth_contract::amounts;
use hearth_contract::formats::{Timestamp, is_url};
use hearth_contract::record::Record;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind, Lines, SUBJECT_TYPE};
use serde_json::Value;
use uuid::Uuid;

use super::live::{Live, find, text};
use super::rows::{href, title};
use super::words::{choice, day_text, moment, money, size};
use crate::store::{StoreError, Tx};

/// Fields that a page shows elsewhere or that say nothing to people.
const HIDDEN: [&str; 6] =
    [SUBJECT_TYPE, "status", "recurrence_every", "recurrence_anchor", "file_sha256", "import_ref"];

/// A field with its value.
pub(super) struct Fact {
    /// The name of the field for people.
    pub(super) label: String,
    /// The value for people.
    pub(super) value: String,
    /// The address that the value leads to.
    pub(super) href: Option<String>,
    /// Whether the address is outside of this server.
    pub(super) is_outside: bool,
    /// Whether the value may have several lines.
    pub(super) is_long: bool,
}

/// The facts of a record, in the order of its kind. Fields without a value are left out.
pub(super) fn facts(tx: &Tx<'_>, live: &Live, record: &Record) -> Result<Vec<Fact>, StoreError> {
    let resource = resource(record.kind);
    let mut facts = Vec::new();
    for field in resource.fields {
        let value = record.fields.get(field.name).unwrap_or(&Value::Null);
        if field.name == resource.title || HIDDEN.contains(&field.name) || value.is_null() {
            continue;
        }
        facts.extend(fact(tx, live, record, field, value)?);
    }
    if let Some(place) = facts.iter().position(|fact| fact.label == "Recurrence") {
        facts[place].value = recurrence(record);
    }
    Ok(facts)
}

fn fact(tx: &Tx<'_>, live: &Live, record: &Record, field: &Field, value: &Value) -> Result<Option<Fact>, StoreError> {
    let stored = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if stored.is_empty() {
        return Ok(None);
    }
    let mut fact = Fact { label: field.label(), value: stored, href: None, is_outside: false, is_long: false };
    match field.format {
        Format::Text { lines, .. } => fact.is_long = lines == Lines::Many,
        Format::Choice(_) => fact.value = choice(&fact.value),
        Format::Date => fact.value = day_text(&fact.value),
        Format::Money => fact.value = price(live, record, field, &fact.value),
        Format::Timestamp => {
            let at = Timestamp::parse(&fact.value);
            fact.value = at.map_or(fact.value, |at| moment(live.zone.as_deref(), at));
        }
        Format::Url if is_url(&fact.value) => (fact.href, fact.is_outside) = (Some(fact.value.clone()), true),
        Format::Reference(kind) => return named(tx, live, kind, fact),
        Format::Subject => match Kind::parse(text(record, SUBJECT_TYPE)) {
            Some(kind) => {
                fact.label = "About".to_owned();
                return named(tx, live, kind, fact);
            }
            None => return Ok(None),
        },
        Format::Count { .. } => fact.value = count(live, field, value.as_i64().unwrap_or_default(), &mut fact.label),
        _ => (),
    }
    Ok(Some(fact))
}

/// The fact with the title of the record that its value names, as a link. None: there is no such record.
fn named(tx: &Tx<'_>, live: &Live, kind: Kind, fact: Fact) -> Result<Option<Fact>, StoreError> {
    let Ok(id) = Uuid::try_parse(&fact.value) else { return Ok(None) };
    let target = find(tx, live.number, kind, id)?;
    Ok(target.map(|target| Fact { value: title(&target), href: Some(href(&target)), ..fact }))
}

/// Prices and values of an item are for one piece: with several pieces, both sums are shown.
fn price(live: &Live, record: &Record, field: &Field, sum: &str) -> String {
    let currency = live.currency.as_deref();
    let one = money(sum, currency);
    let pieces = record.fields.get("quantity").and_then(Value::as_i64).unwrap_or(1);
    let cents = sum.replace('.', "").parse::<i64>().ok();
    match cents.and_then(|cents| cents.checked_mul(pieces)) {
        Some(all) if pieces > 1 && matches!(field.name, "purchase_price" | "current_value") => {
            let all = money(&amounts::stored(all.into()), currency);
            format!("{one} each, {all} in all")
        }
        _ => one,
    }
}

fn count(live: &Live, field: &Field, number: i64, label: &mut String) -> String {
    match field.name.strip_suffix("_sq_ft") {
        Some(area) => {
            *label = choice(area);
            format!("{} {}", amounts::sum(&live.area.number(number), None), live.area.sign())
        }
        None if field.name == "size_bytes" => {
            *label = "Size".to_owned();
            size(number)
        }
        None => amounts::grouped(&number.to_string()),
    }
}

/// How often a task comes again: `Monthly`; with `recurrence_every` 3, `Every 3 months`.
fn recurrence(record: &Record) -> String {
    let word = text(record, "recurrence");
    let every = record.fields.get("recurrence_every").and_then(Value::as_i64).unwrap_or(1);
    let unit = match word {
        "daily" => "days",
        "weekly" => "weeks",
        "monthly" => "months",
        "quarterly" => "quarters",
        _ => "years",
    };
    if every > 1 { format!("Every {every} {unit}") } else { choice(word) }
}
