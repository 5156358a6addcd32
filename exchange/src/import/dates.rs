//! Dates as spreadsheets write them: `2022-10-21`, `21.10.2022`, `10/21/2022`, each also with a time. Must not know columns.

use hearth_contract::formats;
use time::{Date, Month};

use super::locale::DateOrder;

/// How a date reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// One meaning, as `YYYY-MM-DD`.
    One(String),
    /// Two meanings: the first number is the day, or the month.
    Two {
        /// The date if the first number is the day.
        day_first: String,
        /// The date if the first number is the month.
        month_first: String,
    },
    /// The year has two digits.
    ShortYear,
    /// No date.
    None,
}

/// Reads a date; a time behind it is passed over. `order` is the known order of day and month.
pub(super) fn read(text: &str, order: Option<DateOrder>) -> Reading {
    let text = text.trim();
    let before_time = text.split_once(':').and_then(|(front, _)| front.rfind(['T', ' ']));
    let day = before_time.filter(|at| is_time(&text[at + 1..])).map_or(text, |at| &text[..at]);
    if formats::parse_date(day).is_some() {
        return Reading::One(day.to_owned());
    }
    let Some(mark) = day.chars().find(|letter| "./-".contains(*letter)) else { return Reading::None };
    let parts: Vec<&str> = day.split(mark).map(str::trim).collect();
    let [a, b, c] = parts[..] else { return Reading::None };
    let is_number = |part: &str| (1..=4).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    if ![a, b, c].into_iter().all(is_number) {
        return Reading::None;
    }
    if a.len() == 4 && mark != '.' {
        return date(a, b, c).map_or(Reading::None, Reading::One);
    }
    if c.len() != 4 {
        return if c.len() == 2 && a.len() <= 2 && b.len() <= 2 { Reading::ShortYear } else { Reading::None };
    }
    let day_first = date(c, b, a);
    // Dates with points have the day first everywhere.
    let month_first = if mark == '.' { None } else { date(c, a, b) };
    match (day_first, month_first) {
        (Some(day_first), Some(month_first)) if day_first == month_first => Reading::One(day_first),
        (Some(day_first), Some(month_first)) => match order {
            Some(DateOrder::DayFirst) => Reading::One(day_first),
            Some(DateOrder::MonthFirst) => Reading::One(month_first),
            None => Reading::Two { day_first, month_first },
        },
        (Some(only), None) | (None, Some(only)) => Reading::One(only),
        (None, None) => Reading::None,
    }
}

/// The order that a date proves. None: it proves none.
pub(super) fn proof(text: &str) -> Option<DateOrder> {
    if !text.contains('/') && !text.contains('-') {
        return None;
    }
    let Reading::One(date) = read(text, None) else { return None };
    let first = text.trim().split(['/', '-']).next()?;
    let (month, day) = (&date[5..7], &date[8..10]);
    let is = |part: &str| first.len() <= 2 && first.trim_start_matches('0') == part.trim_start_matches('0');
    match (is(day), is(month)) {
        (true, false) => Some(DateOrder::DayFirst),
        (false, true) => Some(DateOrder::MonthFirst),
        _ => None,
    }
}

fn is_time(text: &str) -> bool {
    let text = text.trim();
    text.starts_with(|first: char| first.is_ascii_digit())
        && text.contains(':')
        && text.chars().all(|letter| letter.is_ascii_digit() || ":.+-ZzAaPpMm ".contains(letter))
}

fn date(year: &str, month: &str, day: &str) -> Option<String> {
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    let date = Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok()?;
    // The contract knows the years from 1000.
    Some(formats::format_date(date)).filter(|text| formats::parse_date(text).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_read_with_and_without_order() {
        let (day, month) = (Some(DateOrder::DayFirst), Some(DateOrder::MonthFirst));
        for (text, order, expected) in [
            ("2022-10-21", None, "2022-10-21"),
            ("2022-10-21 13:05:00", None, "2022-10-21"),
            ("2022-10-21T13:05:00Z", None, "2022-10-21"),
            ("21.10.2022", None, "2022-10-21"),
            ("1. 2. 2022", None, "2022-02-01"),
            ("21.10.2022 13:05", None, "2022-10-21"),
            ("1. 2. 2022 13:05", None, "2022-02-01"),
            ("10/21/2022 1:05 PM", None, "2022-10-21"),
            ("10/21/2022", None, "2022-10-21"),
            ("21/10/2022", None, "2022-10-21"),
            ("21-10-2022", None, "2022-10-21"),
            ("2022/10/21", None, "2022-10-21"),
            ("10/10/2022", None, "2022-10-10"),
            ("10/11/2022", day, "2022-11-10"),
            ("10/11/2022", month, "2022-10-11"),
            ("21/10/2022", month, "2022-10-21"),
        ] {
            assert_eq!(read(text, order), Reading::One(expected.to_owned()), "{text}");
        }
        assert!(matches!(read("10/11/2022", None), Reading::Two { .. }));
        assert_eq!(read("10/21/22", None), Reading::ShortYear);
        for text in ["", "soon", "31.2.2022", "2022", "1/2", "2022-13-01", "44855"] {
            assert_eq!(read(text, None), Reading::None, "{text}");
        }
    }

    #[test]
    fn some_dates_prove_the_order() {
        assert_eq!(proof("21/10/2022"), Some(DateOrder::DayFirst));
        assert_eq!(proof("10/21/2022"), Some(DateOrder::MonthFirst));
        for text in ["10/11/2022", "10/10/2022", "2022-10-21", "21.10.2022", "x"] {
            assert_eq!(proof(text), None, "{text}");
        }
    }
}
