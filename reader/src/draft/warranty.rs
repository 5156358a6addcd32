//! The last day of a warranty, contract, policy or permit: stated, or the day of issue and a number of months or years. Must not
//! know drafts.

use hearth_contract::formats::format_date;
use time::{Date, Month};

use super::build::day_text;
use super::model::{Confidence, Evidence, FileReading, Source};
use super::paper::Paper;
use super::rows::Row;
use super::words::terms::{CONDITIONS, TERMS, Term, UNITS, number};

/// The rows that are read for a term.
const ROWS_MAX: usize = 2_000;

/// Longer terms are no warranty of a household.
const MONTHS_MAX: u32 = 12 * 50;

/// The most words between "warranty" and its term.
const WORDS_BETWEEN: usize = 12;

/// The last day on which something holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    /// The day, `YYYY-MM-DD`.
    pub(super) day: String,
    /// Where it comes from.
    pub(super) evidence: Evidence,
    /// What it ends: whether the words speak of a warranty.
    pub(super) warranty: bool,
}

/// A number of months in a row, such as `24 Monate Garantie`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Period {
    months: u32,
    row: usize,
    from: usize,
    to: usize,
    warranty: bool,
}

/// The last day that a paper states or that follows from its day of issue. `bought` is the day of purchase from another file. A
/// receipt states the ends of offers and cards too: there the row must speak of a warranty.
pub(super) fn end(
    files: &[FileReading],
    paper: &Paper<'_>,
    receipt: bool,
    bought: Option<(Date, &Evidence)>,
) -> Option<End> {
    let rows = &paper.rows[..paper.rows.len().min(ROWS_MAX)];
    let period = rows.iter().enumerate().find_map(|(at, row)| period(row, at));
    let of_warranty = |row: &Row<'_>| TERMS.find(row).iter().any(|hit| hit.class == Term::Warranty);
    let warranty_words = rows.iter().any(of_warranty);
    let own = paper.dates.start().or_else(|| paper.issued.clone());
    let own = own.map(|day| (day.date, day.confidence, day.rivals.is_empty()));
    let start = bought.map(|(day, evidence)| (day, evidence.confidence, evidence.rivals.is_empty())).or(own);
    let computed = period.zip(start).and_then(|(period, start)| Some((period, start, later(start.0, period.months)?)));
    let holds = |row: usize| rows.get(row).is_none_or(|row| !is_conditional(row));
    let stated =
        paper.dates.until(holds).filter(|stated| !receipt || rows.get(stated.place.row).is_some_and(of_warranty));
    match (stated, computed) {
        (Some(stated), computed) => {
            let place = stated.place;
            let row = &rows.get(place.row)?;
            let agrees =
                computed.is_some_and(|(_, _, day)| day == stated.date || day.previous_day() == Some(stated.date));
            let confidence = if agrees { Confidence::Certain } else { stated.confidence };
            let evidence = row.evidence(files, place.written.from, place.written.to, confidence);
            let rivals = stated.rivals.iter().map(|day| format_date(*day).into()).collect();
            Some(End {
                day: format_date(stated.date),
                evidence: Evidence { rivals, ..evidence },
                warranty: warranty_words,
            })
        }
        (None, Some((period, (start, sure, clear), day))) => {
            // A contract of twelve months from 1 April ends on 31 March. Of a warranty, shops count the same day.
            let is_contract = !period.warranty && bought.is_none() && paper.dates.start().is_some();
            let day = if is_contract { day.previous_day()? } else { day };
            let text = format!("{} + {} months = {}", day_text(start), period.months, day_text(day));
            let confidence = if clear { sure.min(Confidence::Likely) } else { Confidence::Guess };
            let evidence = rows[period.row].evidence(files, period.from, period.to, confidence);
            let evidence = Evidence { from: Source::Equation, text, ..evidence };
            Some(End { day: format_date(day), evidence, warranty: period.warranty })
        }
        (None, None) => None,
    }
}

/// A number with a unit of time in the same row as a word of warranty or of a term.
fn period(row: &Row<'_>, at: usize) -> Option<Period> {
    let subject = TERMS.find(row);
    let first = subject.first().filter(|_| !is_conditional(row))?;
    for unit in UNITS.find(row) {
        let near = subject.iter().any(|hit| {
            let distance = if hit.from > unit.to { hit.from - unit.to } else { unit.from.saturating_sub(hit.to) };
            distance <= WORDS_BETWEEN
        });
        let own = row.word(unit.from).bytes().any(|byte| byte.is_ascii_digit()).then_some(unit.from);
        let place = own.or_else(|| unit.from.checked_sub(1)).filter(|_| near);
        let Some((place, count)) = place.and_then(|place| Some((place, number(row.word(place))?))) else { continue };
        let months = count.saturating_mul(unit.class);
        if (1..=MONTHS_MAX).contains(&months) {
            let (from, to) = (place.min(first.from), unit.to.max(first.to));
            let warranty = subject.iter().any(|hit| hit.class == Term::Warranty);
            return Some(Period { months, row: at, from, to, warranty });
        }
    }
    None
}

/// Whether a term or date of the row holds only for some parts, or under a condition.
fn is_conditional(row: &Row<'_>) -> bool {
    !CONDITIONS.find(row).is_empty()
}

/// The same day some months later, or the last day of the month when it has no such day.
fn later(day: Date, months: u32) -> Option<Date> {
    let all = i64::from(day.year()) * 12 + i64::from(u8::from(day.month())) - 1 + i64::from(months);
    let year = i32::try_from(all.div_euclid(12)).ok()?;
    let month = Month::try_from(u8::try_from(all.rem_euclid(12) + 1).ok()?).ok()?;
    Date::from_calendar_date(year, month, day.day().min(month.length(year))).ok()
}
