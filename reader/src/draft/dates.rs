//! Finds dates in a row: `31.12.2024`, `31/12/24`, `2024-12-31`, `31. Dezember 2024`, `Dec 31, 2024`. Must not know what a date is for.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use time::{Date, Month};

use super::rows::Row;
use super::words::months::month;

/// The years that dates of papers have.
const YEARS: Range<i32> = 1970..2100;

/// A date in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Written {
    /// Its first word.
    pub(super) from: usize,
    /// Its last word.
    pub(super) to: usize,
    /// What stands there.
    pub(super) form: Form,
    /// Whether a letter was taken for a digit.
    pub(super) repaired: bool,
}

/// How a date is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Day, month and year are clear.
    Clear(Date),
    /// Two numbers of 12 at most: day and month, or month and day.
    Either {
        /// The date when the day stands first.
        day_first: Date,
        /// The date when the month stands first.
        month_first: Date,
    },
    /// A month of a year: its last day.
    EndOfMonth(Date),
}

/// Which of day and month stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The day, as in most countries.
    DayFirst,
    /// The month, as in the United States.
    MonthFirst,
}

const YEAR: &str = "((?:19|20)[0-9][0-9]|[0-9][0-9])";

/// A day and a month in either order, and the year. Both separators are the same: one pattern for each.
static NUMBERS: LazyLock<[(Regex, char); 3]> = LazyLock::new(|| {
    [("[.]", '.'), ("/", '/'), ("-", '-')].map(|(separator, letter)| {
        (regex(&format!("([0-9]{{1,2}}) ?{separator} ?([0-9]{{1,2}}) ?{separator} ?{YEAR}")), letter)
    })
});
static YEAR_FIRST: LazyLock<Regex> =
    LazyLock::new(|| regex("((?:19|20)[0-9][0-9]) ?[./-] ?([0-9]{1,2}) ?[./-] ?([0-9]{1,2})"));
/// Eight digits without separators, or with only the first of two, as when `27/03/2018` was read without a stroke.
static EIGHT_DIGITS: LazyLock<Regex> = LazyLock::new(|| regex("[0-9]{8}|[0-9]{2}[ ./-][0-9]{2}(?:19|20)[0-9]{2}"));
static DAY_NAME: LazyLock<Regex> = LazyLock::new(|| {
    let day = "([0-9]{1,2})(?:st|nd|rd|th|er|o)?[ .,/'-]{0,2}(?:de |of )?";
    regex(&format!("{day}([a-z]{{3,10}})[ .,/'-]{{0,2}}(?:de |del |of )?{YEAR}"))
});
static NAME_DAY: LazyLock<Regex> =
    LazyLock::new(|| regex("([a-z]{3,10})[ .,/-]{0,2}([0-9]{1,2})(?:st|nd|rd|th)?[ ,./'-]{1,2}((?:19|20)[0-9][0-9])"));
static MONTH_YEAR: LazyLock<Regex> =
    LazyLock::new(|| regex("(?:([0-9]{1,2}) ?[./-]|([a-z]{3,10})\\.?) ?((?:19|20)[0-9][0-9])"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern")
}

/// The dates of a row from left to right.
pub(super) fn dates(row: &Row<'_>) -> Vec<Written> {
    if row.text.bytes().filter(u8::is_ascii_digit).count() < 3 {
        return Vec::new();
    }
    let found = dates_of(row, &row.text, false);
    if found.is_empty() {
        return repaired(row).map_or(Vec::new(), |text| dates_of(row, &text, true));
    }
    found
}

fn dates_of(row: &Row<'_>, text: &str, repaired: bool) -> Vec<Written> {
    let mut found: Found = Vec::new();
    // A century stands in most patterns: a row without one is not searched for them.
    let century = text.contains("20") || text.contains("19");
    if century {
        add(&mut found, text, &YEAR_FIRST, |parts| clear(year(&parts[1])?, numbered(&parts[2])?, number(&parts[3])?));
    }
    for (regex, separator) in NUMBERS.iter().filter(|(_, separator)| text.contains(*separator)) {
        add(&mut found, text, regex, |parts| {
            numbers(number(&parts[1])?, number(&parts[2])?, year(&parts[3])?, *separator)
        });
    }
    add(&mut found, text, &DAY_NAME, |parts| clear(year(&parts[3])?, month(&parts[2])?, number(&parts[1])?));
    if century {
        add(&mut found, text, &NAME_DAY, |parts| clear(year(&parts[3])?, month(&parts[1])?, number(&parts[2])?));
    }
    let exact = found.len();
    if century {
        add(&mut found, text, &EIGHT_DIGITS, |parts| eight_digits(&parts[0]));
    }
    let joined = found.len() > exact;
    if century {
        add(&mut found, text, &MONTH_YEAR, month_of_year);
    }
    found.sort_by_key(|(range, _)| range.start);
    let written = |(range, form): (Range<usize>, Form)| Written {
        from: row.word_of(range.start),
        to: row.word_of(range.end - 1),
        form,
        repaired: repaired || joined,
    };
    found.into_iter().map(written).collect()
}

/// The dates that were found, each with its bytes.
type Found = Vec<(Range<usize>, Form)>;

/// Adds the dates of one pattern that stand alone and overlap none that was found.
fn add(found: &mut Found, text: &str, regex: &Regex, form: impl Fn(&Captures<'_>) -> Option<Form>) {
    for parts in regex.captures_iter(text) {
        let Some(range) = parts.get(0).map(|whole| whole.range()) else { continue };
        let free = found.iter().all(|(other, _)| range.end <= other.start || other.end <= range.start);
        if let Some(form) = (free && stands_alone(text, &range)).then(|| form(&parts)).flatten() {
            found.push((range, form));
        }
    }
}

/// A month and a year: the last day of the month.
fn month_of_year(parts: &Captures<'_>) -> Option<Form> {
    let month = parts.get(1).map_or_else(|| month(&parts[2]), |number| numbered(number.as_str()))?;
    let year = year(&parts[3])?;
    Some(Form::EndOfMonth(Date::from_calendar_date(year, month, month.length(year)).ok()?))
}

/// Eight digits: the year first, or last. A separator says that the day stands first.
fn eight_digits(text: &str) -> Option<Form> {
    if text.len() > 8 {
        return clear(year(&text[5..])?, numbered(&text[3..5])?, number(&text[..2])?);
    }
    let this_century = |text: &str| text.starts_with("20").then(|| year(text)).flatten();
    let year_first = this_century(&text[..4]).and_then(|year| clear(year, numbered(&text[4..6])?, number(&text[6..])?));
    year_first.or_else(|| clear(this_century(&text[4..])?, numbered(&text[2..4])?, number(&text[..2])?))
}

/// Whether no digit stands before, and after it none but those of a time that sticks to the date: `31/12/202414:22`.
fn stands_alone(text: &str, range: &Range<usize>) -> bool {
    let bytes = text.as_bytes();
    let before = range.start.checked_sub(1).map(|at| bytes[at]);
    let second = range.start.checked_sub(2).map(|at| bytes[at]);
    let continues =
        matches!(before, Some(b'.' | b'/' | b'-' | b',')) && second.is_some_and(|byte| byte.is_ascii_digit());
    if continues || before.is_some_and(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let rest = &bytes[range.end..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits == 0 || (digits <= 2 && rest.get(digits) == Some(&b':'))
}

/// The text with digits in place of letters that look alike, in words of digits and separators. None: nothing to repair.
fn repaired(row: &Row<'_>) -> Option<String> {
    let mut text = String::with_capacity(row.text.len());
    for word in row.text.split(' ') {
        if !text.is_empty() {
            text.push(' ');
        }
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let numeric = digits >= 3 && digits * 2 > word.len() - 2 && word.contains(['/', '-', '.']);
        text.extend(word.chars().map(|letter| match letter {
            'o' if numeric => '0',
            'l' | 'i' if numeric => '1',
            's' if numeric => '5',
            'b' if numeric => '8',
            other => other,
        }));
    }
    (text != row.text && text.len() == row.text.len()).then_some(text)
}

fn number(text: &str) -> Option<u8> {
    text.parse().ok()
}

fn numbered(text: &str) -> Option<Month> {
    Month::try_from(number(text)?).ok()
}

/// Two digits are a year of this century.
fn year(text: &str) -> Option<i32> {
    let year: i32 = text.parse().ok()?;
    Some(if year < 100 { 2000 + year } else { year })
}

fn clear(year: i32, month: Month, day: u8) -> Option<Form> {
    date(year, month, day).map(Form::Clear)
}

fn date(year: i32, month: Month, day: u8) -> Option<Date> {
    YEARS.contains(&year).then(|| Date::from_calendar_date(year, month, day).ok()).flatten()
}

/// Dates with points have the day first in every country that writes them.
fn numbers(first: u8, second: u8, year: i32, separator: char) -> Option<Form> {
    let of = |day: u8, month: u8| Month::try_from(month).ok().and_then(|month| date(year, month, day));
    match (of(first, second), of(second, first)) {
        (Some(day_first), Some(month_first)) if day_first != month_first && separator != '.' => {
            Some(Form::Either { day_first, month_first })
        }
        (Some(date), _) | (None, Some(date)) => Some(Form::Clear(date)),
        (None, None) => None,
    }
}

impl Written {
    /// The date when it is clear.
    pub(super) fn clear(&self) -> Option<Date> {
        match self.form {
            Form::Clear(date) => Some(date),
            _ => None,
        }
    }

    /// The date in an order of day and month, and the other reading.
    pub(super) fn read(&self, order: Order) -> (Date, Option<Date>) {
        match (self.form, order) {
            (Form::Clear(date) | Form::EndOfMonth(date), _) => (date, None),
            (Form::Either { day_first, month_first }, Order::DayFirst) => (day_first, Some(month_first)),
            (Form::Either { day_first, month_first }, Order::MonthFirst) => (month_first, Some(day_first)),
        }
    }
}
