//! The labelled sums of a paper: which sum is a total, a tax, the cash, the change. Must not know which total is right.

use super::amounts::{Amount, Form, amounts};
use super::phrases::Hit;
use super::rows::Row;
use super::words::money::{MONEY, Money};

/// Rows after the head of a table of taxes that may belong to it.
const TAX_TABLE_ROWS: usize = 7;

/// A sum above its label stands at most this far from it, in heights of the row.
const NEAR_ROWS: f32 = 1.0;

/// A tax is less than the fourth part of a total.
const TAX_PART: i64 = 4;

/// The most labelled sums of a paper: a list of payments over many pages is no receipt.
const SUMS_MAX: usize = 300;

/// The most labels below one another whose sums stand below one another.
const STACK_MAX: usize = 8;

/// Rounding to coins and notes changes a sum by less than this, in hundredths.
const ROUNDING_MAX: i64 = 100;

/// A sum with its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sum {
    /// What the label says.
    pub(super) label: Money,
    /// The number of its row.
    pub(super) row: usize,
    /// The sum.
    pub(super) amount: Amount,
}

/// All sums of a paper.
#[derive(Debug, Default)]
pub(super) struct Sums {
    /// The sums with labels, from top to bottom.
    pub(super) labelled: Vec<Sum>,
    /// A sum without tax and its tax, as a table of taxes has them: net, tax, row.
    pub(super) taxed: Vec<(i64, i64, usize)>,
    /// The sums of each row.
    pub(super) rows: Vec<Vec<Amount>>,
    /// Whether a row has a label of money.
    pub(super) has_label: Vec<bool>,
    /// Whether rows belong to a table of taxes.
    pub(super) in_tax_table: Vec<bool>,
}

/// Reads the sums of the rows of one file.
pub(super) fn sums(rows: &[Row<'_>]) -> Sums {
    let mut sums = Sums { rows: rows.iter().map(amounts).collect(), ..Sums::default() };
    let hits: Vec<Vec<Hit<Money>>> = rows.iter().map(|row| MONEY.find(row)).collect();
    sums.has_label = hits.iter().map(|hits| !hits.is_empty()).collect();
    sums.in_tax_table = tax_tables(rows, &hits);
    for at in 0..rows.len() {
        if sums.labelled.len() + sums.taxed.len() > SUMS_MAX {
            break;
        }
        if sums.in_tax_table[at] || is_tax_row(&rows[at], &hits[at]) {
            sums.add_taxed(at);
        }
        let before = sums.labelled.len();
        sums.add_labelled(at, &hits[at]);
        if sums.labelled.len() == before && !hits[at].is_empty() {
            sums.add_from_near_row(at, rows, &hits);
        }
    }
    if sums.labelled.iter().any(|sum| sum.amount.form != Form::Bare) {
        sums.labelled.retain(|sum| sum.amount.form != Form::Bare);
    }
    sums.settle_unclear();
    sums
}

/// The distance of the middles of two rows, in heights of the first. None: the file states no places.
fn distance(rows: &[Row<'_>], one: usize, other: usize) -> Option<f32> {
    let area = |row: usize| rows[row].area(0, rows[row].words.len() - 1);
    let (one, other) = (area(one)?, area(other)?);
    Some(((one.y + one.h / 2.0) - (other.y + other.h / 2.0)).abs() / one.h)
}

/// Of two rows the one that is nearer. Without places the one below.
fn nearer(rows: &[Row<'_>], at: usize, above: usize, below: usize) -> usize {
    match (distance(rows, at, above), distance(rows, at, below)) {
        (Some(up), Some(down)) if up < down => above,
        _ => below,
    }
}

fn is_tax_row(row: &Row<'_>, hits: &[Hit<Money>]) -> bool {
    row.text.contains('%') || hits.iter().any(|hit| matches!(hit.class, Money::Tax | Money::TaxTable))
}

/// Which rows follow the head of a table of taxes.
fn tax_tables(rows: &[Row<'_>], hits: &[Vec<Hit<Money>>]) -> Vec<bool> {
    let mut left = 0_usize;
    let flags = rows.iter().zip(hits).map(|(row, hits)| {
        let is = |label: Money| hits.iter().any(|hit| hit.class == label);
        let money = row.text.bytes().any(|byte| byte.is_ascii_digit());
        let heads = is(Money::TaxTable) || (is(Money::Tax) && (is(Money::Net) || is(Money::WithTax)) && !money);
        let member = left > 0;
        left = if heads { TAX_TABLE_ROWS } else { left.saturating_sub(1) };
        member || heads
    });
    flags.collect()
}

impl Sums {
    /// Pairs of a net sum and a tax of at most 35 % in one row.
    fn add_taxed(&mut self, at: usize) {
        let decimals: Vec<i64> = self.decimals(at).map(|amount| amount.cents).collect();
        for pair in decimals.windows(2) {
            let (net, tax) = (pair[0].max(pair[1]), pair[0].min(pair[1]));
            if net > 0 && tax >= 0 && tax * 100 <= net * 35 {
                self.taxed.push((net, tax, at));
            }
        }
    }

    /// The sums of a row that have two decimals.
    pub(super) fn decimals(&self, at: usize) -> impl Iterator<Item = &Amount> {
        self.rows[at].iter().filter(|amount| amount.form == Form::Decimals)
    }

    /// Each sum of a row with the labels between it and the sum before.
    fn add_labelled(&mut self, at: usize, hits: &[Hit<Money>]) {
        let strict: Vec<Amount> = self.rows[at].iter().filter(|amount| amount.form != Form::Bare).copied().collect();
        let chosen = if strict.is_empty() { self.rows[at].last().copied().into_iter().collect() } else { strict };
        let mut start = 0;
        for (number, amount) in chosen.iter().enumerate() {
            let group: Vec<Money> =
                hits.iter().filter(|hit| hit.from >= start && hit.from <= amount.to).map(|hit| hit.class).collect();
            let behind = number + 1 == chosen.len() && start == 0;
            let group = match group.is_empty() && behind {
                true => hits.iter().map(|hit| hit.class).collect(),
                false => group,
            };
            let previous = self.labelled.last().filter(|sum| sum.row == at).map(|sum| sum.label);
            if let Some(label) = label_of(&group, amount.cents).or(previous) {
                self.labelled.push(Sum { label, row: at, amount: *amount });
            }
            start = amount.to + 1;
        }
    }

    /// A label alone takes the sum of the row above or below that has no words. Labels below one another take the sums below one
    /// another.
    fn add_from_near_row(&mut self, at: usize, rows: &[Row<'_>], hits: &[Vec<Hit<Money>>]) {
        let alone = |row: usize| self.rows[row].is_empty() && !hits[row].is_empty();
        let numbers =
            |row: usize| self.decimals(row).next().is_some() && hits[row].is_empty() && !has_words(&rows[row]);
        if !alone(at) {
            return;
        }
        let first = (0..=at).rev().take(STACK_MAX).take_while(|row| alone(*row)).last().unwrap_or(at);
        let behind = (at..rows.len()).take(STACK_MAX).take_while(|row| alone(*row)).last().unwrap_or(at) + 1;
        let count = (behind..rows.len()).take_while(|row| numbers(*row)).take(behind - first + 1).count();
        let single = behind == first + 1;
        let near = match (
            first.checked_sub(1).filter(|row| numbers(*row)),
            Some(behind).filter(|row| *row < rows.len() && numbers(*row)),
        ) {
            (Some(above), Some(below)) if single => Some(nearer(rows, at, above, below)),
            (Some(above), None) if single && distance(rows, at, above).is_some_and(|far| far < NEAR_ROWS) => {
                Some(above)
            }
            (_, Some(_)) if single || count == behind - first => Some(behind + at - first),
            _ => None,
        };
        let classes: Vec<Money> = hits[at].iter().map(|hit| hit.class).collect();
        let amount = near.and_then(|row| Some((row, self.decimals(row).last().copied()?)));
        if let Some((row, amount)) = amount
            && let Some(label) = label_of(&classes, amount.cents)
        {
            self.labelled.push(Sum { label, row, amount });
        }
    }

    /// Sums that may be a total or a tax: small ones are a tax.
    fn settle_unclear(&mut self) {
        let largest = |labels: &[Money]| self.with(labels).map(|sum| sum.amount.cents.abs()).max().unwrap_or(0);
        let total = largest(&[Money::Total, Money::Due, Money::Rounded, Money::Subtotal, Money::Unclear]);
        let most = total.max(largest(&[Money::Paid]) - largest(&[Money::Change]));
        for sum in self.labelled.iter_mut().filter(|sum| sum.label == Money::Unclear) {
            sum.label = if sum.amount.cents.abs() * TAX_PART < most { Money::Tax } else { Money::Total };
        }
    }

    /// The sums with one of the labels.
    pub(super) fn with<'s>(&'s self, labels: &'s [Money]) -> impl Iterator<Item = &'s Sum> {
        self.labelled.iter().filter(move |sum| labels.contains(&sum.label))
    }
}

/// Whether a row has a word of three letters that is no currency.
pub(super) fn has_words(row: &Row<'_>) -> bool {
    row.text.split(' ').any(|word| {
        word.bytes().filter(u8::is_ascii_alphabetic).count() >= 3
            && super::words::currencies::whole_word(word).is_none()
    })
}

/// What several labels in front of one sum say together.
fn label_of(labels: &[Money], cents: i64) -> Option<Money> {
    let has = |label: Money| labels.contains(&label);
    let total = [Money::Due, Money::Unclear, Money::Total].into_iter().find(|label| has(*label));
    let without = has(Money::WithoutTax) && !has(Money::WithTax);
    if has(Money::Change) {
        return Some(Money::Change);
    }
    if has(Money::Rounding) && cents.abs() < ROUNDING_MAX {
        return Some(Money::Rounding);
    }
    if has(Money::Rounded) || has(Money::Rounding) {
        return Some(Money::Rounded);
    }
    if has(Money::Subtotal) {
        return Some(if without { Money::Net } else { Money::Subtotal });
    }
    if let Some(total) = total {
        return Some(match (without, has(Money::Tax), has(Money::WithTax)) {
            (true, ..) => Money::Net,
            _ if has(Money::Net) && total == Money::Total => Money::Net,
            (_, true, false) => Money::Tax,
            (_, true, true) => Money::Unclear,
            _ if labels.first() == Some(&Money::Other) && labels.last() == Some(&Money::Other) => Money::Other,
            _ => total,
        });
    }
    if has(Money::Paid) && (without || has(Money::WithTax)) {
        return Some(if without { Money::Net } else { Money::Due });
    }
    let order = [Money::Net, Money::Discount, Money::Tax, Money::Paid, Money::Extra, Money::Other];
    order.into_iter().find(|label| has(*label))
}
