//! Columns of a table and their fields as people type them: `Bezeichnung=name, Raum=room`. Pure: the columns are an argument. Must
//! not know whether a kind has a field.

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;

use super::path::complete_name;

/// The word for the room of an item, by its name.
const ROOM: &str = "room";

/// The mapping that a typed text means: columns, each with a field. An empty field keeps a column out. Error: a sentence.
pub fn parse_mapping(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut pairs, mut rest) = (Vec::new(), text);
    while !rest.trim_matches([' ', ',']).is_empty() {
        // A comma before the sign belongs to the column: `Price, EUR=purchase_price`.
        let (column, behind) = rest.split_once('=').unwrap_or((rest, ""));
        let (field, further) = behind.split_once(',').unwrap_or((behind, ""));
        let column = column.trim();
        if column.is_empty() || !rest.contains('=') {
            return Err(format!("Write {} as COLUMN=FIELD, such as Bezeichnung=name.", rest.trim()));
        }
        pairs.push((column.to_owned(), field.trim().to_owned()));
        rest = further;
    }
    Ok(pairs)
}

/// The text of a mapping, as [`parse_mapping`] reads it.
pub fn mapping_text(mapping: &[(String, String)]) -> String {
    mapping.iter().map(|(column, field)| format!("{column}={field}")).collect::<Vec<_>>().join(", ")
}

/// The text with its last column or field continued, and the names that fit when there are several.
pub fn complete_mapping(text: &str, columns: &[String], kind: Kind) -> (String, Vec<String>) {
    let (is_column, typed) = match text.rsplit_once('=') {
        Some((_, behind)) => behind.split_once(',').map_or((false, behind), |(_, column)| (true, column)),
        None => (true, text),
    };
    let typed = typed.trim_start();
    let (names, end) = if is_column { (columns.to_vec(), "=") } else { (fields(kind), "") };
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
        let pairs = parse_mapping(" Gekauft am = purchase_date, Price, EUR=make,Farbe= ,").expect("a mapping");
        let expected = [("Gekauft am", "purchase_date"), ("Price, EUR", "make"), ("Farbe", "")];
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
        assert_eq!(
            complete_mapping("a=name, Price, E", &["Price, EUR".to_owned()], Kind::Inventory).0,
            "a=name, Price, EUR="
        );
        assert_eq!(complete("Farbe"), ("Farbe".to_owned(), Vec::new()));
        assert_eq!(complete_mapping("a=du", &[], Kind::Task).0, "a=due_on");
    }
}
