//! The columns of each list, and the sort orders of each kind. Must not know colours or widths of a screen.

use std::borrow::Cow;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use hearth_contract::units::Units;
use hearth_replica::WORTH;

use super::{area_sign, field_label};

/// One column of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The name of the field in the contract, `updated_at`, `created_at` or [`WORTH`].
    pub field: &'static str,
    /// The heading above the values.
    pub heading: Cow<'static, str>,
    /// The usual width, in terminal columns.
    pub width: usize,
    /// The share of the spare width; 0 for a fixed width.
    pub grow: usize,
    /// When space is short, the columns with the greatest rank are left out first.
    pub rank: usize,
    /// Whether the values are aligned right, like numbers.
    pub right: bool,
}

const fn column(field: &'static str, heading: &'static str, width: usize, grow: usize, rank: usize) -> Column {
    Column { field, heading: Cow::Borrowed(heading), width, grow, rank, right: false }
}

const fn number(field: &'static str, heading: &'static str, width: usize, rank: usize) -> Column {
    Column { field, heading: Cow::Borrowed(heading), width, grow: 0, rank, right: true }
}

/// Terminal columns between two columns of a list.
pub const GAP: usize = 2;

/// The most terminal columns of a heading that a person has chosen.
const HEADING_MAX: usize = 18;

const TASKS: [Column; 7] = [
    column("status", "Status", 7, 0, 1),
    column("title", "Task", 20, 6, 0),
    column("due_on", "Due", 13, 0, 2),
    column("priority", "Priority", 8, 0, 3),
    column("subject_id", "About", 12, 3, 4),
    column("assignee", "Who", 8, 1, 5),
    number("estimated_cost", "Cost", 10, 6),
];

const INVENTORY: [Column; 7] = [
    column("name", "Item", 20, 5, 0),
    column("room_id", "Room", 12, 2, 1),
    column("category", "Category", 11, 0, 3),
    column("make", "Make", 10, 2, 4),
    column("warranty_expires_on", "Warranty until", 14, 0, 5),
    number("quantity", "Qty", 5, 6),
    number(WORTH, "Value", 11, 2),
];

const ROOMS: [Column; 5] = [
    column("name", "Room", 16, 4, 0),
    column("room_type", "Type", 12, 1, 1),
    column("floor", "Floor", 10, 1, 2),
    column("flooring", "Flooring", 12, 2, 4),
    number("area_sq_ft", "Area", 11, 3),
];

const VEHICLES: [Column; 7] = [
    column("name", "Vehicle", 18, 4, 0),
    column("make", "Make", 10, 2, 2),
    column("model", "Model", 10, 2, 3),
    number("year", "Year", 4, 4),
    column("license_plate", "Plate", 10, 0, 1),
    column("insurance_expires_on", "Insured until", 13, 0, 5),
    number("odometer", "Odometer", 9, 6),
];

const DOCUMENTS: [Column; 6] = [
    column("title", "Document", 22, 6, 0),
    column("category", "Category", 14, 0, 1),
    column("file_sha256", "File", 11, 0, 3),
    column("subject_id", "About", 12, 3, 4),
    column("expires_on", "Expires", 13, 0, 2),
    number("amount", "Amount", 11, 5),
];

/// The usual columns of a kind, from left to right.
pub const fn usual_columns(kind: Kind) -> &'static [Column] {
    match kind {
        Kind::Task => const { &TASKS },
        Kind::Inventory => const { &INVENTORY },
        Kind::Room => const { &ROOMS },
        Kind::Vehicle => const { &VEHICLES },
        Kind::Document => const { &DOCUMENTS },
        Kind::Property => &[],
    }
}

/// Whether a value is one of the usual columns of a kind.
pub fn is_usual(kind: Kind, name: &str) -> bool {
    usual_columns(kind).iter().any(|column| column.field == name)
}

/// The values that a list of a kind can show beside the title, in the contract's order.
pub fn column_choices(kind: Kind) -> Vec<&'static str> {
    let title = resource(kind).title;
    // The subject shows its type.
    let fields =
        resource(kind).fields.iter().map(|field| field.name).filter(|name| *name != title && *name != SUBJECT_TYPE);
    let worth = matches!(kind, Kind::Inventory | Kind::Vehicle).then_some(WORTH);
    fields.chain(worth).chain(["created_at", "updated_at", "updated_by"]).collect()
}

/// The column of a value of a kind.
fn column_of(kind: Kind, name: &'static str) -> Column {
    if let Some(usual) = usual_columns(kind).iter().find(|column| column.field == name) {
        return usual.clone();
    }
    let format = resource(kind).field(name).map(|field| field.format);
    let (width, grow, right) = match format {
        Some(Format::Money) => (11, 0, true),
        Some(Format::Count { .. } | Format::Year) => (8, 0, true),
        Some(Format::Date) => (13, 0, false),
        Some(Format::Choice(_)) => (12, 0, false),
        Some(Format::Reference(_) | Format::Subject) => (12, 2, false),
        Some(Format::Timestamp) => (16, 0, false),
        Some(Format::Currency) => (8, 0, false),
        Some(Format::TimeZone | Format::Sha256 | Format::Text { .. } | Format::Vin | Format::Url) => (14, 2, false),
        None if name == WORTH => (11, 0, true),
        None => (16, 0, false),
    };
    let heading = column_name(kind, name);
    let width = heading.chars().count().clamp(width, width.max(HEADING_MAX));
    Column { field: name, heading: heading.into(), width, grow, rank: 0, right }
}

/// Adds the unit of the values to the heading of a column: the home's currency to sums, the unit of areas. The values have no
/// unit of their own.
pub fn add_unit(kind: Kind, column: &mut Column, units: Units, ascii: bool) {
    let field = resource(kind).field(column.field);
    if column.field == WORTH || field.is_some_and(|field| field.format == Format::Money) {
        column.heading = units.sum_heading(&column.heading).into();
    } else if field.is_some_and(|field| field.is_area()) {
        column.heading = format!("{}, {}", column.heading, area_sign(units.area, ascii)).into();
    }
}

/// The name of a value of a kind above a column and in the choice of columns.
pub fn column_name(kind: Kind, name: &str) -> String {
    match name {
        WORTH => "Value".to_owned(),
        "created_at" => "Created".to_owned(),
        "updated_at" => "Last change".to_owned(),
        "updated_by" => "Changed by".to_owned(),
        _ => field_label(kind, name),
    }
}

/// The columns of a list, from left to right: the title and the chosen values, or the usual columns when `chosen` is None.
/// The value that sorts the list always has a column. The column in `grouped_by` is left out, because the group headings
/// show the value.
pub fn list_columns(
    kind: Kind,
    chosen: Option<&[&'static str]>,
    sorted_by: &'static str,
    grouped_by: Option<&str>,
) -> Vec<Column> {
    let mut all: Vec<Column> = match chosen {
        None => usual_columns(kind).to_vec(),
        Some(chosen) => {
            let names = std::iter::once(resource(kind).title).chain(chosen.iter().copied());
            let mut all: Vec<Column> = names.map(|name| column_of(kind, name)).collect();
            // A person asked for the columns that are not usual: they stay longest, and the usual columns keep their order.
            let number = all.iter().filter(|column| !is_usual(kind, column.field)).count();
            let mut ranks = 1..;
            for column in all.iter_mut().filter(|column| column.rank > 0 || !is_usual(kind, column.field)) {
                column.rank = match is_usual(kind, column.field) {
                    true => column.rank + number,
                    false => ranks.next().unwrap_or(number),
                };
            }
            all
        }
    };
    // A group of due days covers several days, therefore each line shows the day.
    let omitted = grouped_by.filter(|column| *column != "due_on");
    all.retain(|column| Some(column.field) != omitted);
    if Some(sorted_by) != omitted && all.iter().all(|column| column.field != sorted_by) {
        all.push(Column { rank: 1, ..column_of(kind, sorted_by) });
    }
    // The title stays longest, then the value that sorts the list.
    for column in all.iter_mut().filter(|column| column.rank > 0) {
        column.rank = if column.field == sorted_by { 1 } else { column.rank + 1 };
    }
    all
}

/// One way to sort a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The field in the contract, or another name of [`Column::field`].
    pub column: &'static str,
    /// The name of the order on the screen.
    pub label: Cow<'static, str>,
    /// Whether the greatest value comes first.
    pub descending: bool,
}

const fn order(column: &'static str, label: &'static str, descending: bool) -> Order {
    Order { column, label: Cow::Borrowed(label), descending }
}

const CHANGED: Order = order("updated_at", "last change", true);

/// The sort orders of a list, the default order first: the usual orders of its kind, and the values that a person has chosen.
pub fn orders(kind: Kind, chosen: Option<&[&'static str]>) -> Vec<Order> {
    let mut all = usual_orders(kind).to_vec();
    for name in chosen.unwrap_or_default() {
        if all.iter().all(|order| order.column != *name) {
            let format = resource(kind).field(name).map(|field| field.format);
            let descending = match format {
                Some(Format::Money | Format::Count { .. } | Format::Year | Format::Timestamp) | None => true,
                Some(_) => false,
            };
            all.push(Order { column: name, label: column_name(kind, name).to_lowercase().into(), descending });
        }
    }
    all
}

/// The usual sort orders of a kind.
const fn usual_orders(kind: Kind) -> &'static [Order] {
    match kind {
        Kind::Task => {
            const {
                &[
                    order("due_on", "due day", false),
                    order("status", "status", false),
                    order("priority", "priority", true),
                    order("title", "title", false),
                    CHANGED,
                ]
            }
        }
        Kind::Inventory => {
            const {
                &[
                    order("name", "name", false),
                    order("room_id", "room", false),
                    order("category", "category", false),
                    order(WORTH, "value", true),
                    order("warranty_expires_on", "end of warranty", false),
                    CHANGED,
                ]
            }
        }
        Kind::Document => {
            const {
                &[
                    order("title", "title", false),
                    order("expires_on", "expiry", false),
                    order("issued_on", "issue", true),
                    CHANGED,
                ]
            }
        }
        Kind::Vehicle => const { &[order("name", "name", false), order("year", "year", true), CHANGED] },
        Kind::Room => const { &[order("name", "name", false), order("room_type", "type", false), CHANGED] },
        Kind::Property => const { &[CHANGED] },
    }
}

/// Whether a list in this order can show groups with headings.
pub fn is_grouping(kind: Kind, column: &str) -> bool {
    matches!(
        (kind, column),
        (Kind::Task, "due_on" | "status" | "priority")
            | (Kind::Inventory, "room_id" | "category")
            | (Kind::Room, "room_type")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_and_orders_are_values_of_the_kind() {
        for kind in Kind::COLLECTIONS {
            let title = resource(kind).title;
            let known = |name: &str| name == title || column_choices(kind).contains(&name);
            assert!(usual_columns(kind).iter().all(|column| known(column.field)));
            assert!(usual_orders(kind).iter().all(|order| known(order.column)));
            let mut ranks: Vec<usize> = usual_columns(kind).iter().map(|column| column.rank).collect();
            ranks.sort_unstable();
            assert_eq!(ranks, (0..usual_columns(kind).len()).collect::<Vec<_>>(), "{kind}: each rank once, from 0");
        }
    }
}
