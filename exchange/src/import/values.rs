//! A cell becomes a value of a field. The check of the contract judges the value afterwards. Must not know rows.

use hearth_contract::problem::FaultCode;
use hearth_contract::schema::{Field, Format};
use serde_json::Value;

use super::dates;
use super::fault::{RowCode, RowFault};
use super::locale::{Evidence, Locale};
use super::numbers;
use super::table::Cell;

/// What a cell proves about the locale of its column.
pub(super) fn proof(field: &Field, cell: &Cell, evidence: &mut Evidence) {
    let Cell::Text(text) = cell else { return };
    match field.format {
        Format::Money | Format::Count { .. } => evidence.decimal(numbers::proof(text)),
        Format::Date => evidence.order(dates::proof(text)),
        _ => (),
    }
}

/// The value of a cell. None: the row says nothing about the field. Error: the cell has no meaning, or two.
pub(super) fn value(field: &Field, cell: &Cell, locale: Locale, column: &str) -> Result<Option<Value>, RowFault> {
    let text = match cell {
        Cell::Absent => return Ok(None),
        // A field with a default is never null: without a value it keeps what it has, or gets the default.
        Cell::Null if !field.is_nullable() => return Ok(field.is_required().then_some(Value::Null)),
        Cell::Null => return Ok(Some(Value::Null)),
        Cell::Json(value) => return Ok(Some(value.clone())),
        Cell::Text(text) => text.as_str(),
    };
    let is_text = matches!(field.format, Format::Text { .. });
    if text.trim().is_empty() && !is_text {
        return value(field, &Cell::Null, locale, column);
    }
    let refuse = |code, message: String| Err(RowFault::of_cell(column, text, code, message));
    let value = match field.format {
        Format::Text { .. } => text.replace("\r\n", "\n").into(),
        Format::Choice(words) => choice(words, text).unwrap_or(text).into(),
        Format::Money | Format::Count { .. } => match numbers::read(text, locale.decimal) {
            numbers::Reading::One(number) => number_value(field, text, &number),
            numbers::Reading::Two { grouped, decimal } => {
                let next = "Write it without a mark for thousands, or state the locale, such as locale=de-DE or en-US";
                return refuse(RowCode::Ambiguous, format!("{text} may mean {grouped} or {decimal}. {next}."));
            }
            // The check refuses the text and says what the field takes.
            numbers::Reading::None => text.trim().into(),
        },
        Format::Year => text.trim().parse::<i64>().map_or_else(|_| text.trim().into(), Value::from),
        Format::Date => match dates::read(text, locale.order) {
            dates::Reading::One(date) => date.into(),
            dates::Reading::Two { day_first, month_first } => {
                let next = "Write it as YYYY-MM-DD, or state the locale, such as locale=en-GB or en-US";
                return refuse(RowCode::Ambiguous, format!("{text} may mean {day_first} or {month_first}. {next}."));
            }
            dates::Reading::ShortYear => {
                let message = format!("{} needs a year of four digits: write it as YYYY-MM-DD.", field.name);
                return refuse(RowCode::Field(FaultCode::InvalidFormat), message);
            }
            dates::Reading::None => text.trim().into(),
        },
        _ => text.trim().into(),
    };
    Ok(Some(value))
}

/// The word of a choice that a label means: `Living room` is `living_room`.
pub(super) fn choice(words: &[&'static str], label: &str) -> Option<&'static str> {
    let folded = super::target::folded(label);
    words.iter().copied().find(|word| *word == folded)
}

/// A number in the contract's form. Decimals that are all zero do not count in an integer; more than two decimals are kept, and
/// the check refuses them.
fn number_value(field: &Field, text: &str, number: &str) -> Value {
    let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
    let decimals = decimals.trim_end_matches('0');
    match field.format {
        Format::Money if decimals.is_empty() => whole.into(),
        Format::Money => format!("{whole}.{decimals}").into(),
        _ if decimals.is_empty() => whole.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        _ => text.trim().into(),
    }
}
