//! The columns of each list, the columns that fit a width, and the sort orders of each kind. Must not know colours.

use hearth_contract::schema::Kind;

/// One column of a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// The name of the field in the contract.
    pub field: &'static str,
    /// The heading above the values.
    pub heading: &'static str,
    /// The least width, in terminal columns.
    pub width: usize,
    /// The share of the spare width; 0 for a fixed width.
    pub grow: usize,
    /// When space is short, the columns with the greatest rank are left out first.
    pub rank: usize,
    /// Whether the values are aligned right, like numbers.
    pub right: bool,
}

const fn column(field: &'static str, heading: &'static str, width: usize, grow: usize, rank: usize) -> Column {
    Column { field, heading, width, grow, rank, right: false }
}

const fn number(field: &'static str, heading: &'static str, width: usize, rank: usize) -> Column {
    Column { field, heading, width, grow: 0, rank, right: true }
}

/// Terminal columns between two columns of a list.
pub const GAP: usize = 2;

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
    number("current_value", "Value", 11, 2),
];

const ROOMS: [Column; 5] = [
    column("name", "Room", 16, 4, 0),
    column("room_type", "Type", 12, 1, 1),
    column("floor", "Floor", 10, 1, 2),
    column("flooring", "Flooring", 12, 2, 4),
    number("area_sq_ft", "Area, sq ft", 11, 3),
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

const DOCUMENTS: [Column; 5] = [
    column("title", "Document", 22, 6, 0),
    column("category", "Category", 14, 0, 1),
    column("subject_id", "About", 12, 3, 3),
    column("expires_on", "Expires", 13, 0, 2),
    number("amount", "Amount", 11, 4),
];

/// The columns of a kind, from left to right.
pub const fn columns(kind: Kind) -> &'static [Column] {
    match kind {
        Kind::Task => &TASKS,
        Kind::Inventory => &INVENTORY,
        Kind::Room => &ROOMS,
        Kind::Vehicle => &VEHICLES,
        Kind::Document => &DOCUMENTS,
        Kind::Property => &[],
    }
}

/// The columns that fit into `width`, each with the width that the column gets. The column in `grouped_by` is left out,
/// because the group headings show the value.
pub fn fit_columns(kind: Kind, grouped_by: Option<&str>, width: usize) -> Vec<(&'static Column, usize)> {
    // A group of due days covers several days, therefore each line shows the day.
    let omitted = grouped_by.filter(|column| *column != "due_on");
    let all: Vec<&Column> = columns(kind).iter().filter(|column| Some(column.field) != omitted).collect();
    let needed = |most: usize| -> usize {
        let kept = all.iter().filter(|column| column.rank <= most);
        kept.map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    let most = (0..columns(kind).len()).rev().find(|most| needed(*most) <= width).unwrap_or(0);
    let kept: Vec<&Column> = all.iter().copied().filter(|column| column.rank <= most).collect();
    let shares: usize = kept.iter().map(|column| column.grow).sum();
    let spare = width.saturating_sub(needed(most));
    let mut given = 0;
    let mut seen = 0;
    kept.into_iter()
        .map(|column| {
            // Shares of the running sum: the widths add up exactly, without rounding loss.
            seen += column.grow;
            let until = (spare * seen).checked_div(shares).unwrap_or(0);
            let wide = column.width + until - given;
            given = until;
            (column, wide.min(width))
        })
        .collect()
}

/// One way to sort a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// The field in the contract.
    pub column: &'static str,
    /// The name of the order on the screen.
    pub label: &'static str,
    /// Whether the greatest value comes first.
    pub descending: bool,
}

const fn order(column: &'static str, label: &'static str, descending: bool) -> Order {
    Order { column, label, descending }
}

const CHANGED: Order = order("updated_at", "last change", true);

/// The sort orders of a kind, the default order first.
pub const fn orders(kind: Kind) -> &'static [Order] {
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
                    order("current_value", "value", true),
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
    use hearth_contract::resources::resource;

    use super::*;

    #[test]
    fn columns_and_orders_are_fields() {
        for kind in Kind::COLLECTIONS {
            let known = |name: &str| resource(kind).field(name).is_some() || name == "updated_at";
            assert!(columns(kind).iter().all(|column| known(column.field)));
            assert!(orders(kind).iter().all(|order| known(order.column)));
            let mut ranks: Vec<usize> = columns(kind).iter().map(|column| column.rank).collect();
            ranks.sort_unstable();
            assert_eq!(ranks, (0..columns(kind).len()).collect::<Vec<_>>(), "{kind}: each rank once, from 0");
        }
    }

    #[test]
    fn columns_never_exceed_the_width() {
        for kind in Kind::COLLECTIONS {
            let groups = orders(kind).iter().map(|order| order.column).filter(|column| is_grouping(kind, column));
            for (width, group) in
                (0..300).flat_map(|width| groups.clone().map(Some).chain([None]).map(move |group| (width, group)))
            {
                let fitted = fit_columns(kind, group, width);
                let total: usize = fitted.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP;
                assert!(total <= width.max(1), "{kind} at {width}: {total}");
                assert!(!fitted.is_empty());
            }
        }
        assert_eq!(fit_columns(Kind::Task, None, 120).len(), 7);
        assert_eq!(fit_columns(Kind::Task, None, 40).len(), 2);
        assert_eq!(fit_columns(Kind::Task, Some("status"), 120).len(), 6);
        assert_eq!(fit_columns(Kind::Task, Some("due_on"), 120).len(), 7);
    }
}
