//! The columns of each list, the columns that fit a width, and the sort orders of each kind. Must not know colours.

use std::borrow::Cow;

use hearth_contract::resources::resource;
use hearth_contract::schema::{Format, Kind, SUBJECT_TYPE};
use hearth_replica::WORTH;

use super::field_label;

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

/// The values that a list of a kind can show beside the title, in the contract's order.
pub fn column_choices(kind: Kind) -> Vec<&'static str> {
    let title = resource(kind).title;
    // The subject shows its type.
    let fields =
        resource(kind).fields.iter().map(|field| field.name).filter(|name| *name != title && *name != SUBJECT_TYPE);
    let worth = matches!(kind, Kind::Inventory | Kind::Vehicle).then_some(WORTH);
    fields.chain(worth).chain(["created_at", "updated_at"]).collect()
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
        Some(Format::TimeZone | Format::Text { .. } | Format::Vin | Format::Url) => (14, 2, false),
        None if name == WORTH => (11, 0, true),
        None => (16, 0, false),
    };
    let heading = column_name(kind, name);
    let width = heading.chars().count().clamp(width, width.max(HEADING_MAX));
    Column { field: name, heading: heading.into(), width, grow, rank: 0, right }
}

/// The name of a value of a kind above a column and in the choice of columns.
pub fn column_name(kind: Kind, name: &str) -> String {
    match name {
        WORTH => "Value".to_owned(),
        "created_at" => "Created".to_owned(),
        "updated_at" => "Last change".to_owned(),
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
            let ranked = |(rank, name)| Column { rank, ..column_of(kind, name) };
            names.enumerate().map(ranked).collect()
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

/// The terminal columns that a column of a list needs to show everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// The width of the heading.
    pub heading: usize,
    /// The width of the widest visible value; 0: no visible row has a value.
    pub values: usize,
    /// Whether the column may give way to a cut title while it has no visible value.
    pub is_optional: bool,
}

/// The columns that fit into `width`, each with the width that the column gets. No value is cut while another column has
/// unused space, and no title beside an optional column without values.
pub fn fit_columns(columns: Vec<Column>, contents: &[Content], width: usize) -> Vec<(Column, usize)> {
    let needed = |most: usize| -> usize {
        let kept = columns.iter().filter(|column| column.rank <= most);
        kept.map(|column| column.width + GAP).sum::<usize>().saturating_sub(GAP)
    };
    // By the usual widths, so that columns do not come and go while the list is scrolled.
    let ranks = columns.iter().map(|column| column.rank);
    let most = ranks.filter(|most| needed(*most) <= width).max().unwrap_or(0);
    let all = columns.into_iter().zip(contents.iter().copied());
    let mut kept: Vec<(Column, Content)> = all.filter(|(column, _)| column.rank <= most).collect();
    loop {
        let wide = shared_widths(&kept, width);
        let is_cut_title =
            |((column, content), wide): (&(Column, Content), &usize)| column.rank == 0 && *wide < content.values;
        let unused = kept.iter().enumerate().filter(|(_, (_, content))| content.is_optional && content.values == 0);
        let unused = unused.max_by_key(|(_, (column, _))| column.rank).map(|(at, _)| at);
        match unused.filter(|_| kept.iter().zip(&wide).any(is_cut_title)) {
            Some(at) => drop(kept.remove(at)),
            None => return kept.into_iter().map(|(column, _)| column).zip(wide).collect(),
        }
    }
}

/// The widths of columns that share `width`: first what each needs, then the usual widths, then the rest by shares.
fn shared_widths(kept: &[(Column, Content)], width: usize) -> Vec<usize> {
    let needs: Vec<usize> = kept.iter().map(|(_, content)| content.heading.max(content.values)).collect();
    let mut wide: Vec<usize> =
        kept.iter().zip(&needs).map(|((column, _), need)| column.width.min(*need).min(width)).collect();
    let gaps = GAP * kept.len().saturating_sub(1);
    let mut spare = width.saturating_sub(gaps + wide.iter().sum::<usize>());
    widen_cut_columns(&mut wide, &mut spare, &needs);
    for (own, (column, _)) in wide.iter_mut().zip(kept) {
        let more = column.width.saturating_sub(*own).min(spare);
        (*own, spare) = (*own + more, spare - more);
    }
    // The rest by shares of the running sum: the widths add up exactly, without rounding loss.
    let shares: usize = kept.iter().map(|(column, _)| column.grow).sum();
    let (mut seen, mut given) = (0, 0);
    for (own, (column, _)) in wide.iter_mut().zip(kept) {
        seen += column.grow;
        let until = (spare * seen).checked_div(shares).unwrap_or(0);
        *own += until - given;
        given = until;
    }
    wide
}

/// Gives the spare width to the columns whose content does not fit: to each what it needs, or else an equal part.
fn widen_cut_columns(wide: &mut [usize], spare: &mut usize, needs: &[usize]) {
    let missing = needs.iter().zip(&*wide).map(|(need, own)| need.saturating_sub(*own));
    let mut cut: Vec<(usize, usize)> = missing.enumerate().map(|(at, missing)| (missing, at)).collect();
    cut.retain(|(missing, _)| *missing > 0);
    cut.sort_unstable();
    let number = cut.len();
    for (index, (missing, at)) in cut.into_iter().enumerate() {
        let more = missing.min(*spare / (number - index));
        wide[at] += more;
        *spare -= more;
    }
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

    /// Optional columns whose values have these widths.
    fn optional(values: &[usize]) -> Vec<Content> {
        values.iter().map(|values| Content { heading: 4, values: *values, is_optional: true }).collect()
    }

    /// The fields and widths of a list with these content widths.
    fn fitted(kind: Kind, contents: &[usize], width: usize) -> Vec<(&'static str, usize)> {
        let columns = list_columns(kind, None, usual_orders(kind)[0].column, None);
        fit_columns(columns, &optional(contents), width)
            .into_iter()
            .map(|(column, wide)| (column.field, wide))
            .collect()
    }

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

    #[test]
    fn columns_never_exceed_the_width() {
        for kind in Kind::COLLECTIONS {
            let choices = column_choices(kind);
            for order in orders(kind, Some(&choices)) {
                let group = is_grouping(kind, order.column).then_some(order.column);
                for (width, grouped_by) in (0..200).step_by(3).flat_map(|width| [(width, None), (width, group)]) {
                    for (chosen, content) in [(None, 4), (None, 40), (Some(&choices[..]), 12)] {
                        let columns = list_columns(kind, chosen, order.column, grouped_by);
                        let contents = optional(&vec![content; columns.len()]);
                        let fitted = fit_columns(columns, &contents, width);
                        let total: usize = fitted.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP;
                        assert!(total <= width.max(1), "{kind} at {width}: {total}");
                        assert!(!fitted.is_empty());
                    }
                }
            }
        }
        assert_eq!(fitted(Kind::Task, &[9; 7], 120).len(), 7);
        assert_eq!(fitted(Kind::Task, &[9; 7], 36), [("title", 21), ("due_on", 13)]);
        assert_eq!(list_columns(Kind::Task, None, "status", Some("status")).len(), 6);
        assert_eq!(list_columns(Kind::Task, None, "due_on", Some("due_on")).len(), 7);
    }

    #[test]
    fn value_that_sorts_the_list_has_a_column() {
        let columns = list_columns(Kind::Document, None, "issued_on", None);
        assert!(columns.iter().any(|column| column.field == "issued_on" && column.heading == "Issued on"));
        let fitted = fit_columns(columns, &optional(&[8; 6]), 38);
        let names: Vec<&str> = fitted.iter().map(|(column, _)| column.field).collect();
        assert_eq!(names, ["title", "issued_on"], "the sorted value stays longest beside the title");
        assert_eq!(list_columns(Kind::Room, Some(&["floor"]), "name", None).len(), 2);
    }

    #[test]
    fn no_value_is_cut_beside_unused_space() {
        // Item, room, category, make, warranty, quantity, value.
        let contents = [34, 6, 9, 5, 14, 3, 9];
        let fitted = fitted(Kind::Inventory, &contents, 94);
        assert_eq!(fitted.iter().map(|(_, wide)| wide + GAP).sum::<usize>() - GAP, 94);
        assert_eq!(fitted[0], ("name", 34), "{fitted:?}");
        // Rooms without a value give way, but only to a title that is cut.
        let empty = [60, 0, 9, 0, 14, 3, 9];
        let names = |fitted: Vec<(&'static str, usize)>| fitted.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(
            names(self::fitted(Kind::Inventory, &empty, 94)),
            ["name", "category", "warranty_expires_on", WORTH]
        );
        let short = [20, 0, 9, 0, 14, 3, 9];
        assert_eq!(names(self::fitted(Kind::Inventory, &short, 94)).len(), 6);
        // With little content the widths are the usual ones.
        let usual = self::fitted(Kind::Inventory, &[4; 7], 95);
        assert_eq!(usual.iter().map(|(_, wide)| *wide).collect::<Vec<_>>(), [20, 12, 11, 10, 14, 5, 11]);
    }
}
