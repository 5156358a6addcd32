//! The things that a receipt or invoice lists, each with its name and price. Must not know totals.

use super::amounts::Amount;
use super::rows::Row;
use super::sums::{Sums, has_words};
use super::words::money::Money;

/// The most positions of a paper.
const POSITIONS_MAX: usize = 200;

/// More pieces in one position are no quantity but a number of a product.
const QUANTITY_MAX: i64 = 999;

/// One thing on a receipt.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    /// What it is called. None: no words stand beside the price.
    pub(super) name: Option<Name>,
    /// The row of the price.
    pub(super) row: usize,
    /// The price of all pieces.
    pub(super) price: Amount,
    /// The price of one piece, in hundredths.
    pub(super) unit_cents: i64,
}

/// The words that name a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The number of the row.
    pub(super) row: usize,
    /// The first word.
    pub(super) from: usize,
    /// The last word.
    pub(super) to: usize,
}

/// The positions above the first total, subtotal or payment.
pub(super) fn positions(rows: &[Row<'_>], sums: &Sums) -> Vec<Position> {
    let ends = [Money::Total, Money::Due, Money::Rounded, Money::Subtotal, Money::Net, Money::Paid];
    let end = sums.with(&ends).map(|sum| sum.row).next().unwrap_or(0);
    let mut found: Vec<Position> = Vec::new();
    for at in 0..end.min(rows.len()) {
        let labels: Vec<Money> = sums.labelled.iter().filter(|sum| sum.row == at).map(|sum| sum.label).collect();
        let discount = labels.contains(&Money::Discount);
        if !labels.is_empty() && !discount {
            continue;
        }
        let Some(price) = sums.decimals(at).last() else { continue };
        if found.len() == POSITIONS_MAX {
            break;
        }
        let cents = if discount { -price.cents.abs() } else { price.cents };
        let name = if discount { None } else { name(rows, sums, at) };
        found.push(Position {
            name,
            row: at,
            price: Amount { cents, ..*price },
            unit_cents: unit(&rows[at], sums.decimals(at), cents).unwrap_or(cents),
        });
    }
    found
}

/// The price of one piece, when a count in the row times a price in the row is the price of all.
fn unit<'s>(row: &Row<'_>, amounts: impl Iterator<Item = &'s Amount>, total: i64) -> Option<i64> {
    let prices: Vec<i64> = amounts.map(|amount| amount.cents).filter(|cents| *cents > 0 && *cents < total).collect();
    let counts = row.text.split([' ', '*', '@']).filter_map(|word| {
        let digits = word.trim_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse::<i64>().ok().filter(|count| (2..=QUANTITY_MAX).contains(count))
    });
    counts.flat_map(|count| prices.iter().filter(move |price| *price * count == total).copied()).next()
}

/// The words before the numbers of the row, else the row above or below without a price.
fn name(rows: &[Row<'_>], sums: &Sums, at: usize) -> Option<Name> {
    let first = sums.rows[at].iter().map(|amount| amount.from).filter(|from| *from > 0).min();
    let beside = words(&rows[at], at, first.unwrap_or(rows[at].words.len()));
    let near = [at.checked_sub(1), at.checked_add(1)].into_iter().flatten().filter(|row| *row < rows.len());
    let mut free =
        near.filter(|row| sums.decimals(*row).next().is_none() && !sums.has_label[*row] && has_words(&rows[*row]));
    beside.or_else(|| free.find_map(|row| words(&rows[row], row, rows[row].words.len())))
}

/// The words of a row before one of them, without the numbers at their start.
fn words(row: &Row<'_>, at: usize, end: usize) -> Option<Name> {
    const UNITS: &[&str] = &["pcs", "pce", "unit", "units", "stk", "each", "ea", "nos", "set", "btl", "pkt", "ctn"];
    let letters = |word: &str| word.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_name = |word: &str| letters(word) >= 2 && letters(word) * 2 >= word.len() && !UNITS.contains(&word);
    let from = (0..end).find(|word| is_name(row.word(*word)))?;
    let to = (from..end).rev().find(|word| letters(row.word(*word)) > 0 || row.word(*word).len() > 1)?;
    let enough = (from..=to).map(|word| letters(row.word(word))).sum::<usize>() >= 3;
    enough.then_some(Name { row: at, from, to })
}
