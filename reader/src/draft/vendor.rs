//! Finds who issued a paper: the name of a shop or company at its top. Must not know sums or dates.

use super::model::Confidence;
use super::rows::Row;
use super::words::vendors::{HEADS, Head};

/// The rows at the top of a paper in which the name of a shop is looked for.
const TOP_ROWS: usize = 10;

/// The rows in which a labelled seller is looked for.
const LABEL_ROWS: usize = 60;

/// The most letters of a name (contract 3: `issuer` and `purchased_from`).
const NAME_MAX: usize = 200;

/// The name of a shop or company.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Vendor {
    /// The name.
    pub(super) name: String,
    /// The number of its row.
    pub(super) row: usize,
    /// Its first word.
    pub(super) from: usize,
    /// Its last word.
    pub(super) to: usize,
    /// How sure it is.
    pub(super) confidence: Confidence,
}

/// The one who issued a paper.
pub(super) fn vendor(rows: &[Row<'_>]) -> Option<Vendor> {
    labelled(rows).or_else(|| at_top(rows))
}

/// A name behind or below a label such as "Sold by".
fn labelled(rows: &[Row<'_>]) -> Option<Vendor> {
    rows.iter().take(LABEL_ROWS).enumerate().find_map(|(at, row)| {
        let hits = HEADS.find(row);
        let label = hits.first().filter(|hit| hit.class == Head::Seller && hit.from == 0)?;
        let sticks = row.word(label.to).ends_with(':');
        let separate = sticks || (label.to + 1 < row.words.len() && row.word(label.to + 1) == ":");
        if !separate {
            return None;
        }
        let from = (label.to + 1..row.words.len()).find(|word| row.word(*word) != ":");
        match from {
            Some(from) => named(rows, at, from, Confidence::Likely),
            None => rows.get(at + 1).filter(|row| is_name(row)).and_then(|_| named(rows, at + 1, 0, Confidence::Likely)),
        }
    })
}

fn at_top(rows: &[Row<'_>]) -> Option<Vendor> {
    let top = &rows[..rows.len().min(TOP_ROWS)];
    let classes: Vec<Vec<Head>> = top.iter().map(|row| HEADS.find(row).iter().map(|hit| hit.class).collect()).collect();
    let buyer = classes.iter().position(|classes| classes.contains(&Head::Buyer)).unwrap_or(top.len());
    let first = (0..buyer).find(|at| is_name(&top[*at]) && names_shop(&classes[*at]));
    let company = (0..buyer).find(|at| {
        is_name(&top[*at]) && classes[*at].contains(&Head::Company) && !classes[*at].contains(&Head::Paper)
    });
    match (company, first) {
        (Some(at), first) if first.is_none_or(|first| at <= first + 3) => {
            let alone = classes[at].len() == 1 && letters(&top[at]) <= 8;
            match at.checked_sub(1).filter(|before| alone && is_name(&top[*before])) {
                Some(before) => two_rows(rows, before, at),
                None => named(rows, at, 0, Confidence::Likely),
            }
        }
        (_, first) => named(rows, first?, 0, Confidence::Guess),
    }
}

/// A name whose end, such as `SDN BHD`, stands in a row of its own.
fn two_rows(rows: &[Row<'_>], at: usize, next: usize) -> Option<Vendor> {
    let vendor = named(rows, at, 0, Confidence::Likely)?;
    let end = rows[next].raw(0, rows[next].words.len() - 1);
    Some(Vendor { name: cut(&format!("{} {end}", vendor.name)), ..vendor })
}

fn named(rows: &[Row<'_>], at: usize, from: usize, confidence: Confidence) -> Option<Vendor> {
    let row = &rows[at];
    let to = row.words.len() - 1;
    let name = row.raw(from, to);
    let name = name.trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '(' | ')' | '.' | '!' | '"'));
    let weak = row.score(from, to) < 0.7;
    (!name.is_empty()).then(|| Vendor {
        name: cut(name),
        row: at,
        from,
        to,
        confidence: if weak { Confidence::Guess } else { confidence },
    })
}

fn cut(name: &str) -> String {
    name.chars().take(NAME_MAX).collect()
}

fn letters(row: &Row<'_>) -> usize {
    row.text.chars().filter(|letter| letter.is_alphabetic()).count()
}

/// At least three letters, and more letters than digits.
fn is_name(row: &Row<'_>) -> bool {
    let digits = row.text.bytes().filter(u8::is_ascii_digit).count();
    letters(row) >= 3 && letters(row) > digits
}

fn names_shop(classes: &[Head]) -> bool {
    classes.contains(&Head::Company) || classes.is_empty()
}
