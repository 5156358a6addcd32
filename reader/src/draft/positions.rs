//! The things that a receipt or invoice lists, each with its name and price. Must not know totals.

use std::collections::BTreeSet;

use super::amounts::Amount;
use super::rows::Row;
use super::sums::{Sums, has_words};
use super::words::money::Money;

/// The most positions of a paper.
const POSITIONS_MAX: usize = 200;

/// The name of a thing stands at most this many rows above its price.
const NAME_ROWS: usize = 4;

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
    /// The price of one piece, in hundredths. Before [`Position::divide`]: the printed price, where only one price stands there.
    pub(super) unit_cents: i64,
    /// How many pieces, where only one price stands beside the number: `2 x Lamp 40.00`. It may be the price of one or of all.
    pub(super) count: Option<i64>,
}

impl Position {
    /// Takes the printed price as the price of all pieces.
    pub(super) fn divide(&mut self) {
        if let Some(count) = self.count.filter(|count| self.price.cents % count == 0) {
            self.unit_cents = self.price.cents / count;
        }
    }

    /// True when the price of one piece is certain: one piece, or its price is printed.
    pub(super) fn is_unit_certain(&self) -> bool {
        self.count.is_none()
    }
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
    let labelled: BTreeSet<usize> = sums.labelled.iter().map(|sum| sum.row).collect();
    let first_price = (0..rows.len()).find(|row| !labelled.contains(row) && sums.decimals(*row).next().is_some());
    let first_price = first_price.unwrap_or(rows.len());
    // A sum above the first price heads the paper.
    let end = sums.with(&ends).map(|sum| sum.row).find(|row| *row > first_price).unwrap_or(0);
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
        let name = if discount { None } else { name(rows, sums, at, found.last()) };
        let unit = unit(&rows[at], sums.decimals(at), cents);
        let count = count(&rows[at]).filter(|_| unit.is_none() && !discount);
        let price = Amount { cents, ..*price };
        found.push(Position { name, row: at, price, unit_cents: unit.unwrap_or(cents), count });
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

/// The number of pieces at the start of a row: `2 x Lamp`, `2x Lamp`.
fn count(row: &Row<'_>) -> Option<i64> {
    let first = row.word(0);
    let digits = first.trim_end_matches(['x', '*']);
    let is_signed = digits.len() < first.len() || (row.words.len() > 1 && matches!(row.word(1), "x" | "*"));
    digits.parse::<i64>().ok().filter(|count| is_signed && (2..=QUANTITY_MAX).contains(count))
}

/// The words before the numbers of the row, else those of a row above or below without a price. `previous` is the position before.
fn name(rows: &[Row<'_>], sums: &Sums, at: usize, previous: Option<&Position>) -> Option<Name> {
    let first = sums.decimals(at).map(|amount| amount.from).filter(|from| *from > 0).min();
    let beside = words(&rows[at], at, first.unwrap_or(rows[at].words.len()));
    let priced = |row: usize| sums.decimals(row).next().is_some() || sums.has_label[row];
    let whole = |row: usize| words(&rows[row], row, rows[row].words.len());
    // Names below their prices: the first of them has only the heads of columns above it.
    let below = |previous: &Position| previous.name.is_some_and(|name| name.row > previous.row);
    let start = at.saturating_sub(NAME_ROWS);
    let block: Vec<usize> =
        (start..at).rev().take_while(|row| !priced(*row)).filter(|row| is_text(&rows[*row])).collect();
    let above = match previous {
        Some(previous) if below(previous) => None,
        Some(_) => block.last().copied(),
        None => block.iter().copied().find(|row| !rows[*row].text.starts_with('(')),
    };
    let next = Some(at + 1).filter(|row| *row < rows.len() && !priced(*row) && is_text(&rows[*row]));
    beside.or_else(|| whole(above?)).or_else(|| whole(next?))
}

/// Words, and not more digits than letters: no number of a receipt, no time.
fn is_text(row: &Row<'_>) -> bool {
    let digits = row.text.bytes().filter(u8::is_ascii_digit).count();
    has_words(row) && row.text.bytes().filter(u8::is_ascii_alphabetic).count() >= digits
}

/// The words of a row before one of them, without the numbers at their start.
fn words(row: &Row<'_>, at: usize, end: usize) -> Option<Name> {
    const UNITS: &[&str] = &["pcs", "pce", "unit", "units", "stk", "each", "ea", "nos", "set", "btl", "pkt", "ctn"];
    let letters = |word: &str| word.bytes().filter(u8::is_ascii_alphabetic).count();
    const TAX_CODES: &[&str] = &["sr", "zr", "s", "z", "zrl", "srl", "tx", "a", "b"];
    let is_name = |word: &str| letters(word) >= 2 && letters(word) * 2 >= word.len() && !UNITS.contains(&word);
    let from = (0..end).find(|word| is_name(row.word(*word)))?;
    let is_tax_code =
        |word: &str| TAX_CODES.contains(&word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric()));
    let tells = |word: &str| letters(word) > 0 && !matches!(word, "x" | "@") && !is_tax_code(word);
    let to = (from..end).rev().find(|word| tells(row.word(*word)))?;
    let enough = (from..=to).map(|word| letters(row.word(word))).sum::<usize>() >= 3;
    enough.then_some(Name { row: at, from, to })
}
