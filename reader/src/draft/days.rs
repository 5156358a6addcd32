//! The dates of a paper with their labels, and the day on which the paper was issued. Must not know sums.

use std::cmp::Reverse;

use time::{Date, Duration};

use super::dates::{Form, Order, Written, dates};
use super::model::Confidence;
use super::order::proved_order;
use super::phrases::Hit;
use super::rows::Row;
use super::words::days::{DAYS, Day};

/// The most dates of a paper that are compared.
const DATES_MAX: usize = 500;

/// The most other readings of a date.
const RIVALS_MAX: usize = 3;

/// A date with its label.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dated {
    /// The number of its row.
    pub(super) row: usize,
    /// What is written.
    pub(super) written: Written,
    /// What the label says. None: no label.
    pub(super) label: Option<Day>,
    /// Whether a time of day stands in the row.
    pub(super) has_time: bool,
}

/// The dates of one paper.
#[derive(Debug, Default)]
pub(super) struct Dates {
    /// All dates from top to bottom.
    pub(super) all: Vec<Dated>,
    /// The order of day and month that the paper proves.
    pub(super) proved: Option<Order>,
    /// The order where nothing proves one.
    pub(super) usual: Option<Order>,
}

/// A date that was chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chosen {
    /// The date.
    pub(super) date: Date,
    /// How sure it is.
    pub(super) confidence: Confidence,
    /// Other dates that it may be, the likeliest first.
    pub(super) rivals: Vec<Date>,
    /// Where it stands.
    pub(super) place: Dated,
}

impl Dates {
    /// Reads the dates of the rows. `exact` are dates that are known from elsewhere; `usual` is the order of the country.
    pub(super) fn read(rows: &[Row<'_>], exact: &[Date], usual: Option<Order>) -> Dates {
        let mut all = Vec::new();
        let mut above: Option<Day> = None;
        for (at, row) in rows.iter().enumerate() {
            let found = dates(row);
            if found.is_empty() && above.is_none() && row.words.is_empty() {
                continue;
            }
            let hits = DAYS.find(row);
            for written in &found {
                let continues = hits.is_empty() || row.text.starts_with('/');
                let label = above.filter(|_| continues).or(label(&hits, written)).or(first_registration(row, written));
                all.push(Dated { row: at, written: *written, label, has_time: has_time(row) });
            }
            above = if found.is_empty() { hits.last().map(|hit| hit.class) } else { None };
            if all.len() >= DATES_MAX {
                break;
            }
        }
        let pairs = all.iter().map(|dated: &Dated| (&rows[dated.row], &dated.written));
        let proved = proved_order(pairs, exact);
        Dates { all, proved, usual }
    }

    /// A date as the paper writes it, and the other reading when nothing proves the order.
    pub(super) fn resolve(&self, written: &Written) -> (Date, Option<Date>) {
        let (date, rival) = written.read(self.proved.or(self.usual).unwrap_or(Order::DayFirst));
        (date, if self.proved.is_some() { None } else { rival })
    }

    /// The day on which the paper was issued. A day after `today` and one day more for the zone is none.
    pub(super) fn issued(&self, today: Option<Date>, exact: &[Date]) -> Option<Chosen> {
        let limit = today.and_then(|today| today.checked_add(Duration::DAY));
        let past = |dated: &&Dated| limit.is_none_or(|limit| self.resolve(&dated.written).0 <= limit);
        let usable = |dated: &&Dated| !matches!(dated.written.form, Form::EndOfMonth(_)) && past(dated);
        let best = self.all.iter().filter(usable).max_by_key(|dated| (weight(dated), Reverse(dated.row)))?;
        if matches!(best.label, Some(Day::Until | Day::Start)) {
            return None;
        }
        let (date, rival) = self.resolve(&best.written);
        let mut rivals: Vec<Date> = rival.into_iter().collect();
        for other in self.all.iter().filter(usable).filter(|other| weight(other) >= weight(best)) {
            let other = self.resolve(&other.written).0;
            if other != date && !rivals.contains(&other) && rivals.len() < RIVALS_MAX {
                rivals.push(other);
            }
        }
        let confidence = match rival {
            Some(_) => Confidence::Guess,
            None if exact.contains(&date) => Confidence::Certain,
            None if best.written.repaired || weight(best) <= 0 => Confidence::Guess,
            None => Confidence::Likely,
        };
        Some(Chosen { date, confidence, rivals, place: *best })
    }

    /// The first day on which something holds.
    pub(super) fn start(&self) -> Option<Chosen> {
        let first = self.all.iter().find(|dated| dated.label == Some(Day::Start))?;
        Some(self.chosen(first))
    }

    /// The last day on which something holds: the latest date with such a label, in the rows for which `counts` is true.
    pub(super) fn until(&self, counts: impl Fn(usize) -> bool) -> Option<Chosen> {
        let labelled = self.all.iter().filter(|dated| dated.label == Some(Day::Until) && counts(dated.row));
        let best = labelled.max_by_key(|dated| self.resolve(&dated.written).0)?;
        Some(self.chosen(best))
    }

    /// A labelled date: a guess when day and month may be changed, or a letter was taken for a digit.
    fn chosen(&self, dated: &Dated) -> Chosen {
        let (date, rival) = self.resolve(&dated.written);
        let sure = rival.is_none() && !dated.written.repaired;
        let confidence = if sure { Confidence::Likely } else { Confidence::Guess };
        Chosen { date, confidence, rivals: rival.into_iter().collect(), place: *dated }
    }
}

/// The last label before a date in its row.
fn label(hits: &[Hit<Day>], written: &Written) -> Option<Day> {
    let before = hits.iter().filter(|hit| hit.from <= written.from);
    let specific = before.clone().rev().find(|hit| hit.class != Day::Issued).map(|hit| hit.class);
    match (before.clone().next_back().map(|hit| hit.class), specific) {
        (Some(Day::Issued), Some(other)) if hits.len() <= 2 => Some(other),
        (last, _) => last,
    }
}

/// Code B of registration papers in Europe: the day of the first registration (Directive 1999/37/EC).
fn first_registration(row: &Row<'_>, written: &Written) -> Option<Day> {
    let code = row.word(written.from.checked_sub(1)?).trim_matches(['(', ')', '.', ':']);
    (code == "b").then_some(Day::Start)
}

/// Whether a row has a time such as `14:22`.
fn has_time(row: &Row<'_>) -> bool {
    let bytes = row.text.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    (1..bytes.len()).any(|at| bytes[at] == b':' && digit(at - 1) && digit(at + 1) && digit(at + 2))
}

/// How well a date fits as the day of a paper.
fn weight(dated: &Dated) -> i32 {
    let label = match dated.label {
        Some(Day::Issued) => 4,
        Some(Day::Ordered) => 2,
        None => 1,
        Some(Day::Other | Day::Start) => -3,
        Some(Day::Until) => -6,
    };
    label + if dated.has_time { 2 } else { 0 } - if dated.written.repaired { 1 } else { 0 }
}
