//! Days as people type them: `tomorrow`, `fri`, `+2w`, `in 3 days`, `1 dec`, `24.12.`, `2026-12-01`. Told what day it is;
//! must not ask a clock.

use std::ops::RangeInclusive;

use hearth_contract::check::Fields;
use hearth_contract::formats::parse_date;
use hearth_contract::schema::Kind;
use serde_json::Value;
use time::{Date, Duration, Month, Weekday};

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("monday", Weekday::Monday),
    ("tuesday", Weekday::Tuesday),
    ("wednesday", Weekday::Wednesday),
    ("thursday", Weekday::Thursday),
    ("friday", Weekday::Friday),
    ("saturday", Weekday::Saturday),
    ("sunday", Weekday::Sunday),
];

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// How a day may be typed, for people.
pub const HOW: &str = "tomorrow, fri, +2w, 1 dec or 2026-12-01";

/// A day is written in no more words: `in 3 days`, `tue 1 dec 2027`.
const WORDS_MAX: usize = 4;

/// So many years lie between two 29ths of February at most: 2096 and 2104.
const LEAP_AWAY_MAX: i32 = 8;

/// Years that a person means by four digits that stand apart.
const OF_THIS_AGE: RangeInclusive<i32> = 1_900..=2_199;

/// The day that is meant; None when it is none.
pub fn understood(text: &str, today: Date) -> Option<Date> {
    let text = text.trim().to_lowercase();
    if let Some(date) = parse_date(&text) {
        return Some(date);
    }
    match text.as_str() {
        "today" | "tod" | "now" => return Some(today),
        "tomorrow" | "tom" | "tmr" => return today.checked_add(Duration::days(1)),
        "yesterday" | "yes" => return today.checked_sub(Duration::days(1)),
        // On a Sunday the week ends today.
        "eow" if today.weekday() == Weekday::Sunday => return Some(today),
        "eow" => return after(today, Weekday::Sunday),
        "eom" => return month_end(today),
        _ => {}
    }
    let word = text.strip_prefix("next ").unwrap_or(&text);
    match word {
        "week" => return after(today, Weekday::Monday),
        "month" => return months_on(today, 1).and_then(|date| date.replace_day(1).ok()),
        _ => {}
    }
    if let Some(day) = weekday(word) {
        return after(today, day);
    }
    span(&text, today).or_else(|| day_and_month(&text, today)).or_else(|| with_weekday(&text, today))
}

/// `tue 1 dec`, `Tue 1 Dec 2026`, as days are shown: the next such day, or that of this year, which is a Tuesday.
fn with_weekday(text: &str, today: Date) -> Option<Date> {
    let (word, rest) = text.split_once([' ', ','])?;
    let weekday = weekday(word)?;
    let rest = rest.trim_start_matches([' ', ',']);
    let of_this_year = || day_and_month(rest, today.replace_ordinal(1).ok()?);
    let days = [parse_date(rest), day_and_month(rest, today), of_this_year()];
    days.into_iter().flatten().find(|date| date.weekday() == weekday)
}

/// The weekday that a word begins.
fn weekday(word: &str) -> Option<Weekday> {
    WEEKDAYS.iter().find(|(name, _)| word.len() >= 2 && name.starts_with(word)).map(|(_, weekday)| *weekday)
}

/// The next such weekday after a day.
fn after(today: Date, weekday: Weekday) -> Option<Date> {
    let away = i64::from(weekday.number_days_from_monday()) - i64::from(today.weekday().number_days_from_monday());
    today.checked_add(Duration::days(if away > 0 { away } else { away + 7 }))
}

/// The day at the beginning of some words and how many of them it takes, as many as can be: `dec 24` is one day. A number of
/// four digits behind it is a year only where it can be one of this age; it may as well be a sum or a time of day.
pub fn leading(words: &[&str], today: Date) -> Option<(Date, usize)> {
    let most = words.len().min(WORDS_MAX);
    // A weekday and a day that is another: neither is meant more than the other.
    let is_another = || {
        words.len() > 2
            && weekday(&words[0].to_lowercase()).is_some()
            && day_and_month(&words[1..3].join(" ").to_lowercase(), today).is_some()
    };
    (1..=most).rev().find_map(|number| {
        let date = understood(&words[..number].join(" "), today)?;
        if number == 1 && is_another() {
            return None;
        }
        (number == 1 || OF_THIS_AGE.contains(&date.year())).then_some((date, number))
    })
}

/// `+2w`, `3d`, `-1m`, `in 3 days`.
fn span(text: &str, today: Date) -> Option<Date> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').or(text.strip_prefix("in ")).unwrap_or(text)),
    };
    let rest = rest.trim_start();
    let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
    let number: i32 = rest[..digits].parse().ok().filter(|n| (0..=9_999).contains(n))?;
    let number = number * sign;
    match rest[digits..].trim_start() {
        "d" | "day" | "days" => today.checked_add(Duration::days(number.into())),
        "w" | "week" | "weeks" => today.checked_add(Duration::weeks(number.into())),
        "m" | "month" | "months" => months_on(today, number),
        "y" | "year" | "years" => months_on(today, number * 12),
        _ => None,
    }
}

/// So many months on; the last day of a shorter month.
pub fn months_on(date: Date, months: i32) -> Option<Date> {
    let index = date.year().checked_mul(12)? + i32::from(u8::from(date.month())) - 1 + months;
    let month = Month::try_from(u8::try_from(index.rem_euclid(12)).ok()? + 1).ok()?;
    let year = index.div_euclid(12);
    let last = month.length(year);
    Date::from_calendar_date(year, month, date.day().min(last)).ok()
}

/// The next of a task that comes again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It is due on this day.
    On(Date),
    /// It is due a period after the day on which the server hears that this one is done.
    Later,
}

/// The next one that the server makes for a task that is done and comes again: a period after it was due. Where no day was set
/// it counts from its own day, once it hears of it, which nobody here can know.
pub fn next_of(kind: Kind, fields: &Fields) -> Option<Again> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    if kind != Kind::Task || text("status") != Some("done") {
        return None;
    }
    let period = text("recurrence")?;
    let Some(due) = text("due_on").and_then(parse_date) else { return Some(Again::Later) };
    let next = match period {
        "daily" => due.checked_add(Duration::days(1)),
        "weekly" => due.checked_add(Duration::weeks(1)),
        "monthly" => months_on(due, 1),
        "quarterly" => months_on(due, 3),
        _ => months_on(due, 12),
    };
    next.map(Again::On)
}

fn month_end(date: Date) -> Option<Date> {
    date.replace_day(date.month().length(date.year())).ok()
}

/// `1 dec`, `dec 1`, `1 dec 2027`, `24.12.`: the next such day when no year is said.
fn day_and_month(text: &str, today: Date) -> Option<Date> {
    let mut parts = text.split([' ', '.', ',']).filter(|part| !part.is_empty());
    let (first, second) = (parts.next()?, parts.next()?);
    // A year of two digits is one only where points say that a day is written; a word that follows is no year.
    let pointed = text.contains('.') && !text.contains(',');
    let year = parts.next().map(|year| match year.parse::<i32>() {
        Ok(short) if year.len() == 2 && pointed && !text.contains(' ') => Ok(2_000 + short),
        year => year,
    });
    // What stands behind a year is not the day's: it must not be swallowed with it.
    if parts.next().is_some() {
        return None;
    }
    let (day, word) = if first.starts_with(|c: char| c.is_ascii_digit()) { (first, second) } else { (second, first) };
    let named = || MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word)).map(|index| index + 1);
    // Points alone say that the month comes second.
    let number = || word.parse().ok().filter(|_| pointed);
    let month = Month::try_from(u8::try_from(named().or_else(number)?).ok()?).ok()?;
    let day: u8 = day.parse().ok()?;
    match year {
        Some(year) => {
            Date::from_calendar_date(year.ok().filter(|year| (1_000..=9_999).contains(year))?, month, day).ok()
        }
        None => {
            let years = today.year()..=today.year() + LEAP_AWAY_MAX;
            let mut days = years.filter_map(|year| Date::from_calendar_date(year, month, day).ok());
            days.find(|date| *date >= today)
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::format_date;

    use super::*;

    #[test]
    fn days_are_understood_as_people_mean_them() {
        // A Saturday.
        let today = parse_date("2026-11-21").unwrap();
        for (text, expected) in [
            ("today", Some("2026-11-21")),
            ("Tomorrow", Some("2026-11-22")),
            ("yesterday", Some("2026-11-20")),
            ("fri", Some("2026-11-27")),
            ("sat", Some("2026-11-28")),
            ("next mon", Some("2026-11-23")),
            ("next week", Some("2026-11-23")),
            ("next month", Some("2026-12-01")),
            ("+2w", Some("2026-12-05")),
            ("3d", Some("2026-11-24")),
            ("-1m", Some("2026-10-21")),
            ("+1y", Some("2027-11-21")),
            ("eom", Some("2026-11-30")),
            ("1 dec", Some("2026-12-01")),
            ("dec 1", Some("2026-12-01")),
            ("1 nov", Some("2027-11-01")),
            ("29 feb 2028", Some("2028-02-29")),
            ("2026-12-01", Some("2026-12-01")),
            ("in 3 days", Some("2026-11-24")),
            ("3 days", Some("2026-11-24")),
            ("1 week", Some("2026-11-28")),
            ("in 2 months", Some("2027-01-21")),
            ("24.12.", Some("2026-12-24")),
            ("1.11.", Some("2027-11-01")),
            ("24.12.2027", Some("2027-12-24")),
            ("24.12.27", Some("2027-12-24")),
            ("31.1.27", Some("2027-01-31")),
            ("24.12. 27", None),
            ("24.12.127", None),
            ("1 dec 27", None),
            ("Fri 27 Nov", Some("2026-11-27")),
            ("Tue 1 Dec 2026", Some("2026-12-01")),
            ("Tue 10 Nov", Some("2026-11-10")),
            ("friday, 27 nov", Some("2026-11-27")),
            ("sat 28 nov 2026", Some("2026-11-28")),
            ("fri 28 nov", None),
            ("tue 2026-12-01", Some("2026-12-01")),
            ("24.13.", None),
            ("in days", None),
            ("3 apples", None),
            ("12 24", None),
            ("eow", Some("2026-11-22")),
            ("2026-13-01", None),
            ("31 feb", None),
            ("29 feb", Some("2028-02-29")),
            ("29.2.", Some("2028-02-29")),
            ("1.12.2026 garbage here", None),
            ("1.12.2026 garbage", None),
            ("1 dec 2026 garbage", None),
            ("dec 24,2026 garbage", None),
            ("24.12.27.28", None),
            ("someday", None),
            ("", None),
            ("+", None),
            ("99999999999d", None),
            ("é", None),
        ] {
            assert_eq!(understood(text, today).map(format_date).as_deref(), expected, "{text:?}");
        }
        let sunday = parse_date("2026-11-22").unwrap();
        assert_eq!(understood("eow", sunday), Some(sunday), "the week ends today");
        assert_eq!(understood("sun", sunday).map(format_date).as_deref(), Some("2026-11-29"));
        let leap = parse_date("2028-03-01").unwrap();
        assert_eq!(understood("29 feb", leap).map(format_date).as_deref(), Some("2032-02-29"), "never another day");
        let end = parse_date("2027-01-31").unwrap();
        assert_eq!(months_on(end, 1).map(format_date).as_deref(), Some("2027-02-28"));
    }

    #[test]
    fn a_task_that_comes_again_does_so_a_period_later() {
        let next = |status: &str, due: Option<&str>, period: Option<&str>| {
            let fields = serde_json::json!({ "status": status, "due_on": due, "recurrence": period });
            next_of(Kind::Task, fields.as_object().unwrap())
        };
        let on = |day: &str| parse_date(day).map(Again::On);
        assert_eq!(next("done", Some("2026-01-31"), Some("monthly")), on("2026-02-28"));
        assert_eq!(next("done", Some("2026-11-22"), Some("weekly")), on("2026-11-29"));
        assert_eq!(next("done", None, Some("daily")), Some(Again::Later), "by the server's day, once it hears of it");
        assert_eq!(next("open", Some("2026-11-22"), Some("weekly")), None);
        assert_eq!(next("done", Some("2026-11-22"), None), None);
    }

    #[test]
    fn a_day_takes_as_many_words_as_it_can() {
        let today = parse_date("2026-11-21").unwrap();
        for (words, expected) in [
            (&["dec", "24", "call", "Ana"] as &[&str], Some(("2026-12-24", 2))),
            (&["1", "dec", "2027"], Some(("2027-12-01", 3))),
            (&["in", "3", "days"], Some(("2026-11-24", 3))),
            (&["fri", "1"], Some(("2026-11-27", 1))),
            (&["fri", "4", "dec", "call"], Some(("2026-12-04", 3))),
            (&["tue", "1", "dec", "2026", "call"], Some(("2026-12-01", 4))),
            (&["fri", "5", "dec", "call"], None),
            (&["1.12.2026", "@garage", "+Ana"], Some(("2026-12-01", 1))),
            (&["1.12.2026", "to", "landlord"], Some(("2026-12-01", 1))),
            (&["dec", "24,2026", "@garage"], Some(("2026-12-24", 2))),
            (&["24", "dec", "2026", "!high"], Some(("2026-12-24", 3))),
            (&["1", "dec", "1200", "EUR"], Some(("2026-12-01", 2))),
            (&["24", "dec", "1830"], Some(("2026-12-24", 2))),
            (&["24.12.", "2300"], Some(("2026-12-24", 1))),
            (&["24.12.1830"], Some(("1830-12-24", 1))),
            (&["someday", "fri"], None),
            (&[], None),
        ] {
            let found = leading(words, today).map(|(date, number)| (format_date(date), number));
            assert_eq!(found.as_ref().map(|(date, number)| (date.as_str(), *number)), expected, "{words:?}");
        }
    }
}
