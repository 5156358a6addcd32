//! Finds who issued a paper: the name of a shop or company at its top. Must not know sums or dates.

use super::model::Confidence;
use super::phrases::Hit;
use super::rows::Row;
use super::words::papers::PAPERS;
use super::words::vendors::{HEADS, Head};

/// The rows at the top of a paper in which the name of a shop is looked for.
const TOP_ROWS: usize = 10;

/// The rows in which a labelled seller is looked for.
const LABEL_ROWS: usize = 60;

/// A row with so many letters besides the words of companies is the end of a name.
const END_LETTERS: usize = 3;

/// A colon behind one of so many words at the start of a row ends a label.
const LABEL_WORDS: usize = 3;

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
            None => {
                rows.get(at + 1).filter(|row| is_name(row)).and_then(|_| named(rows, at + 1, 0, Confidence::Likely))
            }
        }
    })
}

fn at_top(rows: &[Row<'_>]) -> Option<Vendor> {
    let top = &rows[..rows.len().min(TOP_ROWS)];
    let hits: Vec<Vec<Hit<Head>>> = top.iter().map(|row| HEADS.find(row)).collect();
    let has = |at: usize, class: Head| hits[at].iter().any(|hit| hit.class == class);
    let buyer = (0..top.len()).find(|at| has(*at, Head::Buyer) && !has(*at, Head::Company)).unwrap_or(top.len());
    let titled = |at: usize| PAPERS.find(&top[at]).first().is_some_and(|hit| hit.from == 0);
    let named_rows: Vec<usize> = (0..buyer).filter(|at| is_name(&top[*at]) && !titled(*at)).collect();
    let first = named_rows.iter().copied().find(|at| has(*at, Head::Company) || hits[*at].is_empty());
    let company = named_rows.iter().copied().find(|at| has(*at, Head::Company) && !has(*at, Head::Paper));
    let is_end = |at: usize| {
        let covered =
            |word: usize| hits[at].iter().any(|hit| hit.class == Head::Company && (hit.from..=hit.to).contains(&word));
        let open = (0..top[at].words.len()).filter(|word| !covered(*word));
        open.map(|word| top[at].word(word).bytes().filter(u8::is_ascii_alphabetic).count()).sum::<usize>()
            <= END_LETTERS
    };
    let Some(at) = company.filter(|at| first.is_none_or(|first| *at <= first + 3)) else {
        return named(rows, first?, 0, Confidence::Guess);
    };
    let before =
        at.checked_sub(1).filter(|before| is_end(at) && named_rows.contains(before) && !has(*before, Head::Paper));
    let start = before.unwrap_or(at);
    let behind = start + 1;
    let starts_with_end = |at: usize| hits[at].first().is_some_and(|hit| hit.from == 0 && hit.class == Head::Company);
    let continues = behind < buyer && has(behind, Head::Company) && (starts_with_end(behind) || is_end(behind));
    if continues && !has(behind, Head::Paper) {
        two_rows(rows, start, behind)
    } else {
        named(rows, start, 0, Confidence::Likely)
    }
}

/// A name whose end, such as `SDN BHD`, stands in a row of its own.
fn two_rows(rows: &[Row<'_>], at: usize, next: usize) -> Option<Vendor> {
    let vendor = named(rows, at, 0, Confidence::Likely)?;
    let end = named(rows, next, 0, Confidence::Likely)?.name;
    Some(Vendor { name: cut(&format!("{} {end}", vendor.name)), ..vendor })
}

/// The name without a number of the company behind it: `(519537-X)`, and without a number before it.
fn without_numbers(name: &str) -> &str {
    let number = |text: &str| text.bytes().filter(u8::is_ascii_digit).count() >= 3;
    let name = match name.rfind('(') {
        Some(at) if at > 0 && number(&name[at..]) => &name[..at],
        _ => name,
    };
    match name.split_once(' ') {
        Some((first, rest)) if first.len() >= 5 && first.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    }
}

fn named(rows: &[Row<'_>], at: usize, from: usize, confidence: Confidence) -> Option<Vendor> {
    let row = &rows[at];
    let to = row.words.len() - 1;
    let name = row.raw(from, to);
    let name = without_numbers(name.trim())
        .trim_matches(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '(' | ')' | '.' | '!' | '"'));
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

/// At least three letters, more letters than digits, no label at the start, no price, and no street.
fn is_name(row: &Row<'_>) -> bool {
    let digits = row.text.bytes().filter(u8::is_ascii_digit).count();
    let is_price = |word: &str| {
        let price = word.trim_end_matches(|letter: char| !letter.is_ascii_digit()).as_bytes();
        price.len() > 3 && matches!(price[price.len() - 3], b'.' | b',') && price[0].is_ascii_digit()
    };
    let priced = (0..row.words.len()).any(|word| is_price(row.word(word)));
    let is_label = (0..row.words.len().min(LABEL_WORDS)).any(|word| row.word(word).ends_with(':'));
    letters(row) >= 3 && letters(row) > digits && !priced && !is_label && !is_street(row)
}

/// A street with the number of a house behind it, as German and Dutch papers write it: `Marktstr. 8`.
fn is_street(row: &Row<'_>) -> bool {
    let ends = ["str", "strasse", "platz", "weg", "allee", "gasse", "straat", "laan", "plein"];
    let is_street_name = |word: &str| ends.iter().any(|end| word.trim_end_matches(['.', ',']).ends_with(end));
    let is_number = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit());
    (1..row.words.len()).any(|at| is_street_name(row.word(at - 1)) && is_number(row.word(at)))
}
