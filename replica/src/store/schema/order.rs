//! The orders of lists. Each order has a text key that is computed from a row's own columns. An index on the key makes a page
//! deep in a list as cheap as the first page. Must not know pages.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};

/// The orders that screens offer. Each has an index on its key.
const INDEXED: [(Kind, &str); 20] = [
    (Kind::Task, "status"),
    (Kind::Task, "due_on"),
    (Kind::Task, "priority"),
    (Kind::Task, "title"),
    (Kind::Task, "updated_at"),
    (Kind::Inventory, "name"),
    (Kind::Inventory, "category"),
    (Kind::Inventory, "current_value"),
    (Kind::Inventory, "warranty_expires_on"),
    (Kind::Inventory, "updated_at"),
    (Kind::Document, "title"),
    (Kind::Document, "expires_on"),
    (Kind::Document, "issued_on"),
    (Kind::Document, "updated_at"),
    (Kind::Vehicle, "name"),
    (Kind::Vehicle, "year"),
    (Kind::Vehicle, "updated_at"),
    (Kind::Room, "name"),
    (Kind::Room, "room_type"),
    (Kind::Room, "updated_at"),
];

/// A text that sorts after every value of a column.
const LAST: &str = "'~~'";

/// The CREATE INDEX statements for the lists. A renewal of the schema finds old indexes by the `_by_` in their names.
pub(crate) fn indexes() -> Vec<String> {
    let mut all: Vec<String> = INDEXED
        .iter()
        .map(|(kind, column)| {
            let table = kind.collection();
            format!("CREATE INDEX _{table}_by_{column} ON {table} ({})", sort_key(*kind, column))
        })
        .collect();
    // The inventory by rooms is read room by room, and in each room by name.
    let name = sort_key(Kind::Inventory, "name");
    all.push(format!("CREATE INDEX _inventory_by_room ON inventory (room_id, {name})"));
    // Covers every column of the home's value, so that the sum reads no row.
    all.push(
        "CREATE INDEX _inventory_by_worth ON inventory (room_id, category, current_value, purchase_price)".to_owned(),
    );
    all
}

/// The sort key of an order, as SQL. The key rises in the usual direction of the column, and rows without a value are at the
/// usual end.
pub(crate) fn sort_key(kind: Kind, column: &str) -> String {
    // A home's profile may have no address, which is its title.
    let title = format!("lower(substr(coalesce({}, id), 1, 40))", resource(kind).title);
    let due = format!("coalesce(due_on, {LAST})");
    match (kind, column) {
        // Open tasks come before done tasks in every order.
        (Kind::Task, "due_on") => format!("(status = 'done') || {due} || {title}"),
        (Kind::Task, "status") => format!("{} || {due} || {title}", choice_rank(kind, "status")),
        (Kind::Task, "priority") => {
            format!("(status = 'done') || (9 - {}) || {due} || {title}", choice_rank(kind, "priority"))
        }
        (_, "created_at" | "updated_at") => format!("coalesce({column}, {LAST})"),
        (_, "id") => "id".to_owned(),
        (_, "rev") => format!("coalesce(printf('%019d', rev), {LAST})"),
        _ => match resource(kind).field(column) {
            Some(field) if field.name == resource(kind).title => title,
            Some(field) => format!("{} || {title}", value_key(kind, field.name, field.format)),
            None => title,
        },
    }
}

/// The key of a column that is not the title.
fn value_key(kind: Kind, name: &str, format: Format) -> String {
    match format {
        // Sums and counts are usually listed from the greatest down, so rows without a value sort first.
        Format::Money => format!("coalesce(printf('%018.2f', CAST({name} AS REAL)), '')"),
        Format::Count { .. } | Format::Year => format!("coalesce(printf('%010d', {name}), '')"),
        Format::Date if name == "issued_on" => format!("coalesce({name}, '')"),
        Format::Choice(_) => choice_rank(kind, name),
        // char(1) ends the text, because a text may be the beginning of another; '1' sorts rows without a text last.
        Format::Text { .. } | Format::Vin | Format::Url | Format::TimeZone => {
            format!("coalesce('0' || lower(substr({name}, 1, 40)) || char(1), '1')")
        }
        Format::Date | Format::Timestamp | Format::Reference(_) | Format::Subject => {
            format!("coalesce({name}, {LAST})")
        }
    }
}

/// The rank of a choice, as SQL. The contract lists choices in a meaningful order: low before high, open before done.
fn choice_rank(kind: Kind, name: &str) -> String {
    let Some(Format::Choice(words)) = resource(kind).field(name).map(|field| field.format) else {
        return name.to_owned();
    };
    // Two digits for more than nine words, because keys compare as texts.
    let digit = |n: usize| if words.len() > 9 { format!("'{:02}'", n + 1) } else { format!("{}", n + 1) };
    let places: String =
        words.iter().enumerate().map(|(n, word)| format!(" WHEN '{word}' THEN {}", digit(n))).collect();
    format!("CASE {name}{places} ELSE {} END", if words.len() > 9 { LAST.to_owned() } else { "9".to_owned() })
}
