//! Which of day and month stands first, as the dates of one paper prove it. Must not know labels.

use time::Date;

use super::dates::{Form, Order, Written};
use super::rows::Row;

/// The order that the dates of a file prove: a day above 12, or a clear date that agrees with one of both orders.
pub(super) fn proved_order<'w>(
    all: impl Iterator<Item = (&'w Row<'w>, &'w Written)> + Clone,
    exact: &[Date],
) -> Option<Order> {
    let above_twelve = all.clone().find_map(|(row, written)| match written.form {
        Form::Clear(date) => order_of(row.word(written.from), date),
        _ => None,
    });
    let clear: Vec<Date> =
        all.clone().filter_map(|(_, written)| written.clear()).chain(exact.iter().copied()).collect();
    above_twelve.or_else(|| {
        all.filter_map(|(_, written)| match written.form {
            Form::Either { day_first, month_first } => Some((day_first, month_first)),
            _ => None,
        })
        .find_map(|(day_first, month_first)| {
            match (clear.contains(&day_first), clear.contains(&month_first)) {
                (true, false) => Some(Order::DayFirst),
                (false, true) => Some(Order::MonthFirst),
                _ => None,
            }
        })
    })
}

/// The order in which a clear date with `/` or `-` is written. None: with a name, points, or the year first.
fn order_of(word: &str, date: Date) -> Option<Order> {
    let start = word.find(|letter: char| letter.is_ascii_digit())?;
    let mut parts = word[start..].split(['/', '-']);
    let (first, second) = (parts.next()?.parse::<u8>().ok()?, parts.next()?.parse::<u8>().ok()?);
    match (first == date.day(), second == u8::from(date.month()), second == date.day()) {
        (true, true, false) => Some(Order::DayFirst),
        (false, _, true) => Some(Order::MonthFirst),
        _ => None,
    }
}
