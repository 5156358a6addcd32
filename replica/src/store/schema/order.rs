//! In which order rows are listed: one text key for each order, made of a row's own columns, so that an index can hold
//! it and a page deep in a list costs what the first page costs. Must not know pages.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind};

use crate::store::read::view::Sort;

/// The orders that screens offer; each has an index of its key.
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

/// Stands after every value that a column can hold.
const LAST: &str = "'~~'";

/// The indexes behind the lists. Their names have `_by_`, which is how old ones are found and dropped.
pub(crate) fn indexes() -> Vec<String> {
    let mut all: Vec<String> = INDEXED
        .iter()
        .map(|(kind, column)| {
            let table = kind.collection();
            format!("CREATE INDEX _{table}_by_{column} ON {table} ({})", key(*kind, column))
        })
        .collect();
    // A room's items by name: the inventory by rooms is read room by room.
    let name = key(Kind::Inventory, "name");
    all.push(format!("CREATE INDEX _inventory_by_room ON inventory (room_id, {name})"));
    // All that the home's value is summed from, so that the sum reads no row.
    all.push(
        "CREATE INDEX _inventory_by_worth ON inventory (room_id, category, current_value, purchase_price)".to_owned(),
    );
    // Whose the last change of a record was is asked for every row that is shown.
    all.push("CREATE INDEX _edit_history_by_record ON edit_history (record_id)".to_owned());
    all
}

/// The key of an order: its text rises in the usual direction of the column, rows without a value at the usual end.
pub(crate) fn key(kind: Kind, column: &str) -> String {
    let title = format!("lower(substr({}, 1, 40))", resource(kind).title_or_id());
    let due = format!("coalesce(due_on, {LAST})");
    match (kind, column) {
        // What is to be done comes before what is done, whatever the order.
        (Kind::Task, "due_on") => format!("(status = 'done') || {due} || {title}"),
        (Kind::Task, "status") => format!("{} || {due} || {title}", place(kind, "status")),
        (Kind::Task, "priority") => {
            format!("(status = 'done') || (9 - {}) || {due} || {title}", place(kind, "priority"))
        }
        (_, "created_at" | "updated_at") => format!("coalesce({column}, {LAST})"),
        (_, "id") => "id".to_owned(),
        (_, "rev") => format!("coalesce(printf('%019d', rev), {LAST})"),
        _ => match resource(kind).field(column) {
            Some(field) if field.name == resource(kind).title => title,
            Some(field) => format!("{} || {title}", value(kind, field.name, field.format)),
            None => title,
        },
    }
}

/// Whether an order reads its key from the greatest down.
pub(crate) fn is_backward(kind: Kind, sort: Sort) -> bool {
    // The key of priorities begins with the most urgent.
    sort.descending != ((kind, sort.column) == (Kind::Task, "priority"))
}

fn value(kind: Kind, name: &str, format: Format) -> String {
    match format {
        // These are usually read from the greatest down, so what has none stands at the low end.
        Format::Money => format!("coalesce(printf('%018.2f', CAST({name} AS REAL)), '')"),
        Format::Count | Format::Year => format!("coalesce(printf('%010d', {name}), '')"),
        Format::Date if name == "issued_on" => format!("coalesce({name}, '')"),
        Format::Choice(_) => place(kind, name),
        // Any text may be the beginning of another, and none is the last of all.
        Format::Text { .. } | Format::Vin | Format::Url => {
            format!("coalesce('0' || lower(substr({name}, 1, 40)) || char(1), '1')")
        }
        Format::Date | Format::Timestamp | Format::Reference(_) | Format::Subject => {
            format!("coalesce({name}, {LAST})")
        }
    }
}

/// Choices stand in the contract in an order that means something: low before high, open before done.
fn place(kind: Kind, name: &str) -> String {
    let Some(Format::Choice(words)) = resource(kind).field(name).map(|field| field.format) else {
        return name.to_owned();
    };
    // Two digits where there are more than nine words, so that texts compare as numbers do.
    let digit = |n: usize| if words.len() > 9 { format!("'{:02}'", n + 1) } else { format!("{}", n + 1) };
    let places: String =
        words.iter().enumerate().map(|(n, word)| format!(" WHEN '{word}' THEN {}", digit(n))).collect();
    format!("CASE {name}{places} ELSE {} END", if words.len() > 9 { LAST.to_owned() } else { "9".to_owned() })
}

/// What people call a record; a home's profile may have no address.
trait Titled {
    fn title_or_id(&self) -> String;
}

impl Titled for hearth_contract::schema::Resource {
    fn title_or_id(&self) -> String {
        format!("coalesce({}, id)", self.title)
    }
}
