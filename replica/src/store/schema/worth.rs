//! The worth of a record: its current value, or else its price, times the number of pieces. The one definition in SQL for
//! sums, lists, filters and views. Must not know queries.

use hearth_contract::schema::Kind;

/// The name of the computed value in sort orders and conditions.
pub const WORTH: &str = "worth";

/// The worth of a row in cents, as SQL. `row` is the prefix of its columns, such as `t.`. NULL without value and price. None
/// for a kind without a value.
///
/// A real number, because sum() of integers fails when the sum is too large. Exact up to 2^53 cents.
pub(crate) fn worth_sql(kind: Kind, row: &str) -> Option<String> {
    let each = format!("round(coalesce({row}current_value, {row}purchase_price) * 100)");
    match kind {
        // Prices and values are for one piece (contract 3).
        Kind::Inventory => Some(format!("{each} * coalesce({row}quantity, 1)")),
        Kind::Vehicle => Some(each),
        _ => None,
    }
}
