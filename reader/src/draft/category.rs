//! What sort of paper a file is, by its words. Must not know drafts.

use super::model::Confidence;
use super::paper::Paper;
use super::rows::Row;
use super::words::papers::{NoPurchase, PAPERS, Paperwork};
use super::words::vehicles::SALES;

/// A word in the first rows names the paper; a word in the text may speak of another.
const TOP_ROWS: usize = 12;

/// A word that begins one of so many rows is the title of the paper.
const TITLE_ROWS: usize = 3;
const TITLE_WEIGHT: u32 = 6;

/// The rows that are read for words.
const ROWS_MAX: usize = 2_000;

/// How much a word says in the first rows, and how much a labelled total says for a receipt.
const TOP_WEIGHT: u32 = 4;
const TOTAL_WEIGHT: u32 = 6;

/// The most that words below the first rows say together.
const BODY_MAX: u32 = 6;

/// A row and its first and last word.
type Place = (usize, usize, usize);

/// The sort of a paper and the row that names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sort {
    /// The sort.
    pub(super) paper: Paperwork,
    /// The row with its first word. None: only sums say it.
    pub(super) place: Option<Place>,
    /// How sure it is.
    pub(super) confidence: Confidence,
}

/// The sort of paper with the most words. None: no word says it.
pub(super) fn sort(paper: &Paper<'_>) -> Option<Sort> {
    let mut scores: Vec<(Paperwork, u32, u32, Option<Place>)> = Vec::new();
    let mut add = |class: Paperwork, top: u32, body: u32, place: Option<Place>| match scores
        .iter_mut()
        .find(|(known, ..)| *known == class)
    {
        Some((_, tops, bodies, first)) => {
            *tops += top;
            *bodies = (*bodies + body).min(BODY_MAX);
            *first = first.or(place);
        }
        None => scores.push((class, top, body, place)),
    };
    for (at, row) in paper.rows.iter().take(ROWS_MAX).enumerate() {
        for hit in PAPERS.find(row) {
            let long = u32::from(letters(row, hit.from, hit.to) >= 8);
            let title = if at < TITLE_ROWS && hit.from == 0 { TITLE_WEIGHT } else { 0 };
            let (top, body) = if at < TOP_ROWS { (TOP_WEIGHT + title + long, 0) } else { (0, 1 + long) };
            add(hit.class, top, body, Some((at, hit.from, hit.to)));
        }
    }
    if paper.total.is_some() {
        let paid = paper.issued.is_some();
        add(Paperwork::Receipt, TOTAL_WEIGHT + if paid { 2 } else { 0 }, 0, None);
    }
    if paper.no_purchase == Some(NoPurchase::Offer) {
        scores.retain(|(class, ..)| *class != Paperwork::Receipt);
    }
    let best = scores.iter().max_by_key(|(class, top, body, _)| (top + body, std::cmp::Reverse(*class)))?;
    let score = best.1 + best.2;
    let next =
        scores.iter().filter(|(class, ..)| *class != best.0).map(|(_, top, body, _)| top + body).max().unwrap_or(0);
    let confidence = if score >= TOP_WEIGHT && score > next + 2 { Confidence::Likely } else { Confidence::Guess };
    (score >= 2).then_some(Sort { paper: best.0, place: best.3, confidence })
}

fn letters(row: &Row<'_>, from: usize, to: usize) -> usize {
    (from..=to).map(|word| row.word(word).len()).sum()
}

/// Whether a paper names a sum that was paid for things.
pub(super) fn is_purchase(paper: &Paper<'_>) -> bool {
    paper.no_purchase.is_none()
        && is(paper, Paperwork::Receipt)
        && (paper.total.is_some() || !paper.positions.is_empty())
}

/// Whether a paper tells of the sale of a vehicle. Most bills that name a vehicle are of a workshop.
pub(super) fn is_sale_of_vehicle(paper: &Paper<'_>) -> bool {
    let names_sale = || paper.rows.iter().take(ROWS_MAX).any(|row| !SALES.find(row).is_empty());
    paper.no_purchase.is_none() && (is(paper, Paperwork::Contract) || is_purchase(paper) && names_sale())
}

/// Whether a paper is a policy of an insurance.
pub(super) fn is_policy(paper: &Paper<'_>) -> bool {
    is(paper, Paperwork::Insurance)
}

fn is(paper: &Paper<'_>, expected: Paperwork) -> bool {
    sort(paper).is_some_and(|sort| sort.paper == expected)
}
