//! A value that a person types for one field on a line: the text at the beginning, and the value that is meant. Must not know the
//! screen that asks for it.

use hearth_contract::check::{Intent, check_field};
use hearth_contract::schema::{Field, Format, Kind, is_subject};
use hearth_contract::units::AreaUnit;
use serde_json::Value;
use time::Date;

use crate::state::editor::Editor;
use crate::state::input::Line;
use crate::words::{choice, choice_meant, faults, json_text};

/// Whether a value of the field can be typed on a line. References hold ids, which are not typed.
pub fn is_typed(field: &Field) -> bool {
    !is_subject(field.name) && !matches!(field.format, Format::Reference(_) | Format::Subject)
}

/// The line with a value as the screen shows it.
pub fn line_of(field: &Field, value: &Value, unit: AreaUnit) -> Line {
    let text = match value.as_i64().filter(|_| field.is_area()) {
        Some(square_feet) => format!("{} {}", unit.number(square_feet), unit.sign()),
        None => json_text(value),
    };
    Line::with_text(&if matches!(field.format, Format::Choice(_)) { choice(&text) } else { text })
}

/// The value that a line means. Error: why the field cannot take it, as a sentence.
pub fn value_of(kind: Kind, field: &'static Field, line: &Line, unit: AreaUnit, today: Date) -> Result<Value, String> {
    let meant = match field.format {
        Format::Choice(words) if !line.text().trim().is_empty() => choice_meant(words, line.text().trim()),
        _ => None,
    };
    let editor = match field.is_area() {
        true => Editor::Area(line.clone(), unit),
        false => Editor::Line(line.clone()),
    };
    let value = meant.map_or_else(|| editor.value(field, today), Value::from);
    check_field(field, Intent::Patch, &value).map_err(|fault| faults::fault_sentence(kind, &fault, Some(&value)))
}
