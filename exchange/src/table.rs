//! The records of one kind as a table for spreadsheets, in the CSV format of RFC 4180 (contract 16). Must not know where the
//! records and the names come from.

use hearth_contract::check::Fields;
use hearth_contract::resources::resource;
use hearth_contract::schema::{Field, Kind};
use hearth_contract::typed_text;
use serde_json::Value;

/// Tells a spreadsheet that the text is UTF-8. Stands at the beginning of a file.
pub const BOM: &str = "\u{feff}";

/// The columns behind the fields of the kind.
const LAST_COLUMNS: [&str; 3] = ["created_at", "updated_at", "updated_by"];

/// What a table has besides the members of its records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// A column with the name of the record before each column with its id: `room` before `room_id`.
    pub names: bool,
    /// The file begins with [`BOM`].
    pub bom: bool,
}

/// A column of a table.
#[derive(Debug, Clone, Copy)]
enum Column {
    Member(&'static str),
    /// The name of the record whose id the field holds.
    Name(&'static str, &'static Field),
}

fn columns(kind: Kind, options: Options) -> impl Iterator<Item = Column> {
    let of_field = move |field: &'static Field| {
        let name = field.relation().filter(|_| options.names).map(|relation| Column::Name(relation, field));
        name.into_iter().chain([Column::Member(field.name)])
    };
    let fields = resource(kind).fields.iter().flat_map(of_field);
    let members = |names: [&'static str; 2]| names.into_iter().map(Column::Member);
    members(["id", "rev"]).chain(fields).chain(LAST_COLUMNS.into_iter().map(Column::Member))
}

/// The first line: the names of the columns, with the BOM where one is asked for.
pub fn heading(kind: Kind, options: Options) -> String {
    let names = columns(kind, options).map(|column| match column {
        Column::Member(name) | Column::Name(name, _) => name.to_owned(),
    });
    format!("{}{}", if options.bom { BOM } else { "" }, line(names))
}

/// The line of a record. `name_of`: the name of the record whose id the field holds; None: the field is null.
pub fn row(
    kind: Kind,
    options: Options,
    members: &Fields,
    mut name_of: impl FnMut(&'static Field) -> Option<String>,
) -> String {
    line(columns(kind, options).map(|column| match column {
        Column::Member(name) => members.get(name).map(cell).unwrap_or_default(),
        Column::Name(_, field) => name_of(field).map_or_else(String::new, |name| text_cell(&name)),
    }))
}

/// A value as a cell. Null is empty, and an empty text is `""`, so that an import tells them apart.
pub fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text_cell(text),
        other => other.to_string(),
    }
}

/// A text as a cell. A text that a spreadsheet would compute gets a `'` in front.
fn text_cell(text: &str) -> String {
    let text = typed_text::csv_text(text);
    if text.is_empty() || text.contains(['"', ',', '\n', '\r']) {
        return format!("\"{}\"", text.replace('"', "\"\""));
    }
    text
}

fn line(cells: impl Iterator<Item = String>) -> String {
    cells.collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cell_is_never_a_formula() {
        for (value, expected) in [
            (json!("=1+1"), "'=1+1"),
            (json!("@SUM(A1)"), "'@SUM(A1)"),
            (json!("-2"), "'-2"),
            (json!("\t=1"), "'\t=1"),
            (json!("＝1"), "'＝1"),
            (json!("a=1"), "a=1"),
            (json!("12.50"), "12.50"),
            (json!(7), "7"),
            (json!(""), "\"\""),
            (json!(null), ""),
            (json!("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\""),
        ] {
            assert_eq!(cell(&value), expected);
        }
    }

    #[test]
    fn names_stand_before_ids() {
        let options = Options { names: true, bom: true };
        let heading = heading(Kind::Inventory, options);
        assert!(heading.starts_with("\u{feff}id,rev,name,room,room_id,"), "{heading}");
        let fields = json!({ "id": "i", "rev": 3, "name": "Lamp", "room_id": "r" });
        let row = row(Kind::Inventory, options, fields.as_object().unwrap(), |field| {
            (field.name == "room_id").then(|| "=Kitchen".to_owned())
        });
        assert!(row.starts_with("i,3,Lamp,'=Kitchen,r,"), "{row}");
        assert_eq!(row.matches(',').count(), heading.matches(',').count());
        let plain = Options::default();
        assert!(super::heading(Kind::Task, plain).contains(",subject_type,subject_id,"));
    }
}
