//! Texts for people: values, names, days, edits, faults and the sync status. Must not know screens or colours.

pub mod columns;
mod days;
pub mod direction;
pub mod faults;
pub mod files;
pub mod glyphs;
pub mod imports;
pub mod sanitize;
pub mod sync_status;
mod units;
mod writes;

use std::collections::BTreeMap;

use hearth_contract::amounts;
use hearth_contract::check::Fields;
use hearth_contract::formats::parse_date;
use hearth_contract::recurrence;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Format, Kind};
use hearth_contract::units::{AreaUnit, Units};
use hearth_replica::{Row, WORTH};
use serde_json::Value;

use crate::now::Now;
use crate::words::glyphs::Sign;

pub use days::{Due, age, day, distance, due, full_day, moment, moment_by, month_name};
pub use units::{AREA_EXAMPLES, area, area_sign, grouped, with_unit};
pub use writes::{GONE, edit_progress, method, rebuilt_sentence};

/// Examples of the sums that a person can type.
pub const MONEY_EXAMPLES: &str = "1299, 1,299.50 or 1299,50";

/// The value of a field for reading. Empty: not set. A reference gives the name of its record, or the id if the name is
/// unknown.
pub fn field_value(now: Now, field: &Field, row: &Row) -> String {
    match (field.format, row.fields.get(field.name)) {
        (_, None | Some(Value::Null)) => String::new(),
        (Format::Reference(_) | Format::Subject, Some(id)) => match row.names.get(field.name) {
            Some(name) => name.clone(),
            None => json_text(id),
        },
        (_, Some(Value::String(period))) if field.name == "recurrence" => {
            recurrence_text(period, row.fields.get(recurrence::EVERY).and_then(Value::as_i64).unwrap_or(1))
        }
        (_, Some(value)) if field.is_area() => {
            value.as_i64().map_or_else(String::new, |feet| area(row.units.area, feet))
        }
        (Format::Money, Some(value)) => row.units.amount(&json_text(value)),
        (format, Some(value)) => formatted(now, format, value),
    }
}

/// The same, with the currency of a sum and the unit of an area.
pub fn field_value_with_unit(now: Now, field: &Field, row: &Row, ascii: bool) -> String {
    with_unit(field, row.units, field_value(now, field, row), ascii)
}

/// A value that is no field of the contract, for reading: the worth, the time of creation, the time or the author of the last
/// change. Empty: unknown.
pub fn computed_value(now: Now, name: &str, row: &Row) -> String {
    let time = |at: &Option<String>| at.as_deref().map(|at| moment(now, at)).unwrap_or_default();
    match name {
        WORTH => row.worth_cents().map(|worth| cents(row.units, worth)).unwrap_or_default(),
        "created_at" => time(&row.created_at),
        "updated_at" => time(&row.updated_at),
        "updated_by" => row.updated_by.clone().unwrap_or_default(),
        _ => String::new(),
    }
}

fn formatted(now: Now, format: Format, value: &Value) -> String {
    let text = json_text(value);
    match format {
        Format::Choice(_) => choice(&text),
        Format::Count { .. } => value.as_i64().map_or(text, grouped),
        Format::Date => parse_date(&text).map_or(text, |date| day(now.today(), date)),
        Format::Timestamp => moment(now, &text),
        _ => text,
    }
}

/// How often a task comes again: `monthly`, or `every 2 months`.
pub fn recurrence_text(period: &str, every: i64) -> String {
    let unit = match period {
        _ if every == 1 => return choice(period),
        "daily" => "days",
        "weekly" => "weeks",
        "monthly" => "months",
        "quarterly" => "quarters",
        _ => "years",
    };
    format!("every {every} {unit}")
}

/// A JSON value as text, a string without its quotes. Empty for null.
pub fn json_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text of a field. None: the field is not set, or holds no text.
pub fn text_field<'a>(fields: &'a Fields, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}

/// The name of a field beside its value. Price and value of an item are for one piece: `Price, each`.
pub fn label(kind: Kind, field: &Field) -> String {
    match (kind, field.name) {
        (Kind::Inventory, "purchase_price") => "Price, each".to_owned(),
        (Kind::Inventory, "current_value") => "Value, each".to_owned(),
        (Kind::Document, files::FILE) => "File".to_owned(),
        // The unit stands behind the value, and depends on the home.
        _ if field.is_area() => field_word(field).trim_end_matches(" sq ft").to_owned(),
        _ => field_word(field),
    }
}

/// The name of a field beside a line for typing. An area has its unit: `Area, m²`.
pub fn form_label(kind: Kind, field: &Field, unit: AreaUnit, ascii: bool) -> String {
    let label = label(kind, field);
    if field.is_area() { format!("{label}, {}", area_sign(unit, ascii)) } else { label }
}

/// The name of a field in a sentence: `hvac_make` is `HVAC make`.
pub fn field_word(field: &Field) -> String {
    match field.name {
        recurrence::EVERY => return "Every".to_owned(),
        recurrence::ANCHOR => return "Counted from".to_owned(),
        _ => {}
    }
    let label = field.label();
    let (first, rest) = label.split_once(' ').unwrap_or((&label, ""));
    match first {
        "Hvac" | "Vin" | "Url" if rest.is_empty() => first.to_uppercase(),
        "Hvac" | "Vin" | "Url" => format!("{} {rest}", first.to_uppercase()),
        _ => label,
    }
}

/// The word of a choice for people: `plug_in_hybrid` is `plug in hybrid`. `in_progress` is `doing`, which takes fewer
/// columns.
pub fn choice(word: &str) -> String {
    if word == "in_progress" { "doing".to_owned() } else { word.replace('_', " ") }
}

/// The choice that a person typed: the contract's word, the word on the screen, or the first letters of either.
pub fn choice_meant(words: &[&'static str], typed: &str) -> Option<&'static str> {
    let typed = typed.to_lowercase().replace([' ', '-'], "_");
    let shown = |word: &str| choice(word).replace(' ', "_");
    let is = |word: &&&'static str| **word == typed || shown(word) == typed;
    let begins = |word: &&&'static str| word.starts_with(&typed) || shown(word).starts_with(&typed);
    // The contract's words come first: `do` is `done`, not `doing`.
    let first = || words.iter().find(|word| word.starts_with(&typed));
    words.iter().find(is).or_else(first).or_else(|| words.iter().find(begins)).copied()
}

/// A count in groups of three digits: `1,200`.
pub fn figure(number: usize) -> String {
    grouped(number.try_into().unwrap_or(i64::MAX))
}

/// An amount of cents in the units of the home: `1,299.00`.
pub fn cents(units: Units, cents: i64) -> String {
    units.amount(&amounts::stored(cents.into()))
}

/// An amount of cents rounded to whole units: `1,299`.
pub fn whole_money(cents: i64) -> String {
    grouped((cents + 50).div_euclid(100))
}

/// The text for a reference whose record is not in the replica.
pub const NOT_HERE: &str = "something that is not here";

/// Titles of records by record id, for the texts of references.
pub type Names = BTreeMap<String, String>;

/// The value of a field on one line: days with weekday and year, sums in groups, references by name. A dash if not set.
pub fn shown_value(kind: Kind, name: &str, value: Option<&Value>, names: &Names, units: Units, ascii: bool) -> String {
    let text = value.map(json_text).unwrap_or_default();
    if text.is_empty() {
        return Sign::Unset.text(ascii).to_owned();
    }
    let field = resource(kind).field(name);
    if let (Some(field), Some(feet)) = (field.filter(|field| field.is_area()), value.and_then(Value::as_i64)) {
        return with_unit(field, units, area(units.area, feet), ascii);
    }
    match field.map(|field| field.format) {
        Some(Format::Choice(_)) => choice(&text),
        Some(Format::Money) => units.sum(&units.amount(&text)),
        Some(Format::Date) => parse_date(&text).map_or(text, full_day),
        Some(Format::Reference(_) | Format::Subject) => {
            names.get(&text).cloned().unwrap_or_else(|| NOT_HERE.to_owned())
        }
        _ => {
            let mut lines = text.lines();
            let first = lines.next().unwrap_or_default().to_owned();
            if lines.next().is_some() { first + Sign::Cut.text(ascii) } else { first }
        }
    }
}

/// The label of a field by the field's name in the contract. A name that the contract does not know gives the name
/// itself.
pub fn field_label(kind: Kind, name: &str) -> String {
    resource(kind).field(name).map_or_else(|| choice(name), |field| label(kind, field))
}

/// The change of a field: `Due on: Wed 18 Nov 2026 → Tue 1 Dec 2026`.
pub fn changed_field(
    kind: Kind,
    name: &str,
    (from, to): (Option<&Value>, &Value),
    names: &Names,
    units: Units,
    ascii: bool,
) -> String {
    let arrow = if ascii { "->" } else { "→" };
    let shown = |value: Option<&Value>| shown_value(kind, name, value, names, units, ascii);
    let (from, to) = (shown(from), shown(Some(to)));
    format!("{}: {from} {arrow} {to}", field_label(kind, name))
}

/// The sentence with a capital first letter.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A sentence about a record of a kind, with the contract's field names replaced by labels: `due_on` by `due on`.
pub fn with_labels(kind: Kind, text: &str) -> String {
    replace_field_names(&[kind], text)
}

/// The same for a sentence about records of any kind.
pub fn with_any_labels(text: &str) -> String {
    replace_field_names(&Kind::COLLECTIONS, text)
}

fn replace_field_names(kinds: &[Kind], text: &str) -> String {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut sentence = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let end = rest[start..].find(|letter| !is_part(letter)).map_or(rest.len(), |length| start + length);
        let word = &rest[start..end];
        let field = kinds.iter().find_map(|kind| resource(*kind).field(word)).filter(|_| word.contains('_'));
        sentence.push_str(&rest[..start]);
        sentence.push_str(&field.map_or_else(|| word.to_owned(), |field| field_word(field).to_lowercase()));
        rest = &rest[end..];
    }
    sentence + rest
}

/// The heading of a list of a kind.
pub fn plural(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "Inventory",
        Kind::Vehicle => "Vehicles",
        Kind::Document => "Documents",
        Kind::Task => "Tasks",
        Kind::Room => "Rooms",
        Kind::Property => "Home",
    }
}

/// The noun for one record of a kind in a sentence.
pub fn singular(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "item",
        Kind::Property => "home profile",
        other => other.as_str(),
    }
}

/// A count of records of a kind: `1 task`, `1,200 items`.
pub fn counted(kind: Kind, number: usize) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {}{s}", figure(number), singular(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_writes_abbreviations_in_capitals() {
        let label = |kind, name| label(kind, hearth_contract::resources::resource(kind).field(name).unwrap());
        assert_eq!(label(Kind::Property, "hvac_make"), "HVAC make");
        assert_eq!(label(Kind::Vehicle, "vin"), "VIN");
        assert_eq!(label(Kind::Task, "due_on"), "Due on");
    }

    #[test]
    fn label_of_area_has_the_unit_only_in_forms() {
        let field = resource(Kind::Property).field("living_area_sq_ft").unwrap();
        assert_eq!(form_label(Kind::Property, field, AreaUnit::SquareMetres, false), "Living area, m²");
        assert_eq!(form_label(Kind::Property, field, AreaUnit::SquareMetres, true), "Living area, sq m");
        assert_eq!(label(Kind::Property, field), "Living area");
    }

    #[test]
    fn label_of_item_sums_says_each() {
        let label = |kind, name| label(kind, hearth_contract::resources::resource(kind).field(name).unwrap());
        assert_eq!(label(Kind::Inventory, "purchase_price"), "Price, each");
        assert_eq!(label(Kind::Inventory, "current_value"), "Value, each");
        assert_eq!(label(Kind::Vehicle, "current_value"), "Current value");
        assert_eq!(with_labels(Kind::Inventory, "purchase_price is no sum"), "purchase price is no sum");
    }

    #[test]
    fn sums_and_counts_are_grouped() {
        let yen = Units::new(Some("JPY"), None);
        let plain = Units::default();
        assert_eq!((cents(plain, 104_400), cents(yen, 104_400)), ("1,044.00".to_owned(), "1,044".to_owned()));
        assert_eq!(yen.sum(&yen.amount("1299.00")), "1,299 JPY");
        assert_eq!(grouped(-1234), "-1,234");
        assert_eq!(grouped(123), "123");
        assert_eq!(counted(Kind::Inventory, 1), "1 item");
    }
}
