//! Columns of a table and their fields as people type them: `Bezeichnung=name, Raum=room`. Pure: the columns are an argument. Must
//! not know whether a kind has a field.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;

use super::path::complete_name;

/// The word for the room of an item, by its name.
const ROOM: &str = "room";

/// The mapping that a typed text means: columns, each with a field. An empty field keeps a column out. Error: a sentence.
pub fn parse_mapping(text: &str) -> Result<Vec<(String, String)>, String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| match part.rsplit_once('=') {
        Some((column, field)) if !column.trim().is_empty() => Ok((column.trim().to_owned(), field.trim().to_owned())),
        _ => Err(format!("Write {part} as COLUMN=FIELD, such as Bezeichnung=name.")),
    };
    parts.map(pair).collect()
}

/// The text of a mapping, as [`parse_mapping`] reads it.
pub fn mapping_text(mapping: &[(String, String)]) -> String {
    mapping.iter().map(|(column, field)| format!("{column}={field}")).collect::<Vec<_>>().join(", ")
}

/// The text with its last column or field continued, and the names that fit when there are several.
pub fn complete_mapping(text: &str, columns: &[String], kind: Kind) -> (String, Vec<String>) {
    let part = text.rsplit(',').next().unwrap_or_default();
    let (typed, names, end) = match part.rsplit_once('=') {
        Some((_, field)) => (field.trim_start(), fields(kind), ""),
        None => (part.trim_start(), columns.to_vec(), "="),
    };
    let (completed, choices) = complete_name(typed, &names);
    let end = if choices.is_empty() && names.contains(&completed) { end } else { "" };
    (format!("{}{completed}{end}", &text[..text.len() - typed.len()]), choices)
}

/// The fields that a column can be.
fn fields(kind: Kind) -> Vec<String> {
    let writable = resource(kind).fields.iter().filter(|field| field.is_writable()).map(|field| field.name);
    let room = (kind == Kind::Inventory).then_some(ROOM);
    writable.chain(room).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_mapping_has_columns_and_fields() {
        let pairs = parse_mapping(" Gekauft am = purchase_date, a=b=make,Farbe= ,").expect("a mapping");
        let expected = [("Gekauft am", "purchase_date"), ("a=b", "make"), ("Farbe", "")];
        assert_eq!(pairs, expected.map(|(column, field)| (column.to_owned(), field.to_owned())));
        assert_eq!(parse_mapping(&mapping_text(&pairs)), Ok(pairs));
        assert_eq!(parse_mapping(""), Ok(Vec::new()));
        assert!(parse_mapping("Farbe").unwrap_err().contains("Farbe"));
        assert!(parse_mapping("=name").is_err());
    }

    #[test]
    fn tab_continues_a_column_then_a_field() {
        let columns = ["Raum", "Bezeichnung", "Bemerkung"].map(str::to_owned);
        let complete = |text: &str| complete_mapping(text, &columns, Kind::Inventory);
        assert_eq!(complete("R"), ("Raum=".to_owned(), Vec::new()));
        assert_eq!(complete("Raum=roo").0, "Raum=room");
        assert_eq!(complete("Raum=room").1, ["room", "room_id"]);
        assert_eq!(
            complete("Raum=room, B"),
            ("Raum=room, Be".to_owned(), vec!["Bemerkung".to_owned(), "Bezeichnung".to_owned()])
        );
        assert_eq!(complete("Raum=room, Bez").0, "Raum=room, Bezeichnung=");
        assert_eq!(complete("Farbe"), ("Farbe".to_owned(), Vec::new()));
        assert_eq!(complete_mapping("a=du", &[], Kind::Task).0, "a=due_on");
    }
}
