//! The orders of lists. Each order has a text key that is computed from a row's own columns. An index on the key makes a page
//! deep in a list as cheap as the first page. Must not know pages.

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, IMPORT_REF, Kind};

use super::worth::{WORTH, worth_sql};

/// The orders that screens offer. Each has an index on its key.
const INDEXED: [(Kind, &str); 20] = [
    (Kind::Task, "status"),
    (Kind::Task, "due_on"),
    (Kind::Task, "priority"),
    (Kind::Task, "title"),
    (Kind::Task, "updated_at"),
    (Kind::Inventory, "name"),
    (Kind::Inventory, "category"),
    (Kind::Inventory, WORTH),
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
    // Few rows have an import_ref; a write that sets one looks for another row with the same.
    all.extend(Kind::COLLECTIONS.map(|kind| {
        let table = kind.collection();
        format!("CREATE INDEX _{table}_by_{IMPORT_REF} ON {table} ({IMPORT_REF}) WHERE {IMPORT_REF} IS NOT NULL")
    }));
    // Covers every column of the home's value, so that the sum reads no row.
    all.push(
        "CREATE INDEX _inventory_by_value ON inventory (room_id, category, current_value, purchase_price, quantity)"
            .to_owned(),
    );
    all.push("CREATE INDEX _documents_by_file ON documents (file_sha256) WHERE file_sha256 IS NOT NULL".to_owned());
    all
}

/// The sort key of an order, as SQL. The key rises in the usual direction of the column, and rows without a value are at the
/// usual end.
pub(crate) fn sort_key(kind: Kind, column: &str) -> String {
    let title = title_key(kind);
    let due = format!("coalesce(due_on, {LAST})");
    match (kind, column) {
        // Open tasks come before done tasks in every order.
        (Kind::Task, "due_on") => format!("(status = 'done') || {due} || {title}"),
        (Kind::Task, "status") => format!("{} || {due} || {title}", choice_rank(kind, "status")),
        (Kind::Task, "priority") => {
            format!("(status = 'done') || (9 - {}) || {due} || {title}", choice_rank(kind, "priority"))
        }
        (_, "created_at" | "updated_at") => format!("coalesce({column}, {LAST})"),
        (_, "updated_by") => format!("coalesce({column}, {LAST}) || {title}"),
        (_, "id") => "id".to_owned(),
        (_, "rev") => format!("coalesce(printf('%019d', rev), {LAST})"),
        (_, WORTH) => match worth_sql(kind, "") {
            Some(worth) => format!("CASE WHEN {worth} IS NULL THEN ' ' ELSE printf('%019d', {worth}) END || {title}"),
            None => natural_title(kind),
        },
        _ => match resource(kind).field(column) {
            Some(field) if field.name == resource(kind).title => natural_title(kind),
            Some(field) => format!("{} || {title}", value_key(kind, field.name, field.format)),
            None => natural_title(kind),
        },
    }
}

/// The sort keys of the order by priority that are urgent tasks without a day: the first key, and the first key after them.
pub(crate) fn urgent_without_day() -> (String, String) {
    let Some(Format::Choice(words)) = resource(Kind::Task).field("priority").map(|field| field.format) else {
        return (String::new(), String::new());
    };
    let rank = words.iter().position(|word| *word == "urgent").map_or(0, |place| place + 1);
    let no_day = LAST.trim_matches('\'');
    // `0`: not done. The order of keys is the order of priorities backward.
    (format!("0{}{no_day}", 9 - rank), format!("0{}", 9 - rank + 1))
}

/// The title at the end of a key, in lower case.
fn title_key(kind: Kind) -> String {
    match kind {
        // People number rooms, items and vehicles. A number in the title of a task or a document is seldom a place in a row.
        Kind::Room | Kind::Inventory | Kind::Vehicle => natural_title(kind),
        // A home's profile may have no address, which is its title.
        _ => format!("lower(substr(coalesce({}, id), 1, 40))", resource(kind).title),
    }
}

/// The title in lower case, with its first and its last number padded: `bike 2` comes before `bike 10`.
///
/// Stock SQLite has no natural order. Titles without digits, and titles with one number at the end, take a short path: the
/// key is computed for each index and each write.
fn natural_title(kind: Kind) -> String {
    const DIGITS: &str = "'0123456789'";
    let title = resource(kind).title;
    if kind.is_singleton() {
        return title_key(kind);
    }
    let places: Vec<String> = (0..10).map(|digit| format!("instr({title} || {DIGITS}, '{digit}')")).collect();
    let first = format!("min({})", places.join(", "));
    let stem = format!("rtrim({title}, {DIGITS})");
    // At most 15 digits, because SQLite versions differ in how they convert a greater number.
    let last = format!("printf('%015d', substr({title}, length({stem}) + 1, 15))");
    format!(
        "lower(CASE WHEN {title} NOT GLOB '*[0-9]*' THEN substr({title}, 1, 40)
              WHEN {stem} NOT GLOB '*[0-9]*' THEN substr({stem}, 1, 40) || {last}
              ELSE substr({title}, 1, {first} - 1) || printf('%015d', substr({title}, {first}, 15))
                   || substr({stem}, 1, 40) || {last} END)"
    )
}

/// The key of a column that is not the title.
fn value_key(kind: Kind, name: &str, format: Format) -> String {
    match format {
        // Sums and counts are usually listed from the greatest down, so rows without a value sort first: a space is less than a
        // digit.
        Format::Money => format!("CASE WHEN {name} IS NULL THEN ' ' ELSE printf('%018.2f', CAST({name} AS REAL)) END"),
        Format::Count { .. } | Format::Year => {
            format!("CASE WHEN {name} IS NULL THEN ' ' ELSE printf('%010d', {name}) END")
        }
        Format::Date if name == "issued_on" => format!("coalesce({name}, ' ')"),
        Format::Choice(_) => choice_rank(kind, name),
        // char(1) ends the text, because a text may be the beginning of another; '1' sorts rows without a text last.
        Format::Text { .. } | Format::Vin | Format::Url | Format::TimeZone | Format::Currency | Format::Sha256 => {
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
