//! Parses days as people type them: `tomorrow`, `fri`, `+2w`, `in 3 days`, `1 dec`, `24.12.`, `2026-12-01`. Callers
//! pass the current day, and the direction in which the field looks from there. Must not read a clock.

use std::ops::RangeInclusive;

use hearth_contract::check::Fields;
use hearth_contract::formats::parse_date;
use hearth_contract::recurrence;
use hearth_contract::schema::Kind;
use time::{Date, Duration, Month, Weekday};

use crate::words::direction::Direction;

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

/// Most words of one day: `in 3 days`, `tue 1 dec 2027`.
const WORDS_MAX: usize = 4;

/// Most years between two leap days: 2096 and 2104.
const LEAP_AWAY_MAX: i32 = 8;

/// Four separate digits within this range are a year.
const PLAUSIBLE_YEARS: RangeInclusive<i32> = 1_900..=2_199;

/// Parses one day. A day without a year, a weekday and a bare number of days are the nearest such day in the direction.
/// None: the text is no day.
pub fn parse_day(text: &str, today: Date, direction: Direction) -> Option<Date> {
    let text = text.trim().to_lowercase();
    if let Some(date) = parse_date(&text) {
        return Some(date);
    }
    match text.as_str() {
        "today" | "tod" | "now" => return Some(today),
        "tomorrow" | "tom" | "tmr" => return today.checked_add(Duration::days(1)),
        "yesterday" | "yes" => return today.checked_sub(Duration::days(1)),
        // End of week. The week ends on Sunday.
        "eow" if today.weekday() == Weekday::Sunday => return Some(today),
        "eow" => return nearest_weekday(today, Weekday::Sunday, Direction::Future),
        "eom" => return month_end(today),
        _ => {}
    }
    named_span(&text, today, direction)
        .or_else(|| relative_day(&text, today, direction))
        .or_else(|| day_and_month(&text, today, direction))
        .or_else(|| day_with_weekday(&text, today, direction))
}

/// Parses `fri`, `next fri`, `last week`, `month`. A week is its Monday, a month its first day.
fn named_span(text: &str, today: Date, direction: Direction) -> Option<Date> {
    let (word, direction) = match (text.strip_prefix("next "), text.strip_prefix("last ")) {
        (Some(word), _) => (word, Direction::Future),
        (_, Some(word)) => (word, Direction::Past),
        _ => (text, direction),
    };
    let is_past = direction == Direction::Past;
    match word {
        "week" => {
            let monday = nearest_weekday(today, Weekday::Monday, Direction::Future)?;
            if is_past { monday.checked_sub(Duration::weeks(2)) } else { Some(monday) }
        }
        "month" => months_on(today, if is_past { -1 } else { 1 }).and_then(|date| date.replace_day(1).ok()),
        word => nearest_weekday(today, weekday(word)?, direction),
    }
}

/// Parses `tue 1 dec` and `Tue 1 Dec 2026`, the form in which screens show days. The weekday must fit the nearest `1 dec`.
/// A due day may be over, and screens show such a day without its year: there, the weekday may also fit the `1 dec` of the
/// current year. What has happened lies in no future.
fn day_with_weekday(text: &str, today: Date, direction: Direction) -> Option<Date> {
    let (word, rest) = text.split_once([' ', ','])?;
    let weekday = weekday(word)?;
    let rest = rest.trim_start_matches([' ', ',']);
    let in_this_year = || match direction {
        Direction::Future => day_and_month(rest, today.replace_ordinal(1).ok()?, Direction::Future),
        Direction::Past => None,
    };
    let days = [parse_date(rest), day_and_month(rest, today, direction), in_this_year()];
    days.into_iter().flatten().find(|date| date.weekday() == weekday)
}

/// The weekday whose name starts with the word; at least two letters.
fn weekday(word: &str) -> Option<Weekday> {
    WEEKDAYS.iter().find(|(name, _)| word.len() >= 2 && name.starts_with(word)).map(|(_, weekday)| *weekday)
}

/// The nearest such weekday, at least one day from `today`.
fn nearest_weekday(today: Date, weekday: Weekday, direction: Direction) -> Option<Date> {
    let ahead = i64::from(weekday.number_days_from_monday()) - i64::from(today.weekday().number_days_from_monday());
    match direction {
        Direction::Past => today.checked_add(Duration::days(if ahead < 0 { ahead } else { ahead - 7 })),
        Direction::Future => today.checked_add(Duration::days(if ahead > 0 { ahead } else { ahead + 7 })),
    }
}

/// Parses the day at the start of `words`, taking as many words as possible: `dec 24` is one day. Returns the day and
/// the number of words taken. Four digits after a day and month are a year within `PLAUSIBLE_YEARS` only: `1 dec
/// 1200` may name a sum or a time of day.
pub fn parse_leading_day(words: &[&str], today: Date, direction: Direction) -> Option<(Date, usize)> {
    let most = words.len().min(WORDS_MAX);
    // `fri 5 dec` where 5 December is no Friday: ambiguous, therefore no day.
    let contradicts = || {
        words.len() > 2
            && weekday(&words[0].to_lowercase()).is_some()
            && day_and_month(&words[1..3].join(" ").to_lowercase(), today, direction).is_some()
    };
    (1..=most).rev().find_map(|number| {
        let date = parse_day(&words[..number].join(" "), today, direction)?;
        if number == 1 && contradicts() {
            return None;
        }
        (number == 1 || PLAUSIBLE_YEARS.contains(&date.year())).then_some((date, number))
    })
}

/// Parses `+2w`, `-1m`, `in 3 days`, `3 days ago`, and without a sign `3d`.
fn relative_day(text: &str, today: Date, direction: Direction) -> Option<Date> {
    let future = text.strip_prefix('+').or(text.strip_prefix("in "));
    let past = text.strip_prefix('-').or(text.strip_suffix(" ago"));
    let (sign, rest) = match (past, future, direction) {
        (Some(rest), _, _) => (-1, rest),
        (_, Some(rest), _) => (1, rest),
        (_, _, Direction::Past) => (-1, text),
        (_, _, Direction::Future) => (1, text),
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

/// The day `months` later (or earlier, when negative). A shorter month gives the last day of the month.
pub fn months_on(date: Date, months: i32) -> Option<Date> {
    let index = date.year().checked_mul(12)? + i32::from(u8::from(date.month())) - 1 + months;
    let month = Month::try_from(u8::try_from(index.rem_euclid(12)).ok()? + 1).ok()?;
    let year = index.div_euclid(12);
    let last = month.length(year);
    Date::from_calendar_date(year, month, date.day().min(last)).ok()
}

/// When the task is due that follows a task which is completed today. None: no task follows.
pub fn next_due(kind: Kind, fields: &Fields, today: Date) -> Option<Date> {
    let is_completed = kind == Kind::Task && recurrence::is_done(fields);
    is_completed.then(|| recurrence::next_dates(fields, today))?.map(|dates| dates.due)
}

fn month_end(date: Date) -> Option<Date> {
    date.replace_day(date.month().length(date.year())).ok()
}

/// Parses `1 dec`, `dec 1`, `1 dec 2027`, `24.12.`, `24.12.27`. Without a year: the nearest such day, today included.
fn day_and_month(text: &str, today: Date, direction: Direction) -> Option<Date> {
    let mut parts = text.split([' ', '.', ',']).filter(|part| !part.is_empty());
    let (first, second) = (parts.next()?, parts.next()?);
    // Two digits are a year only in the form `24.12.27`, without spaces.
    let pointed = text.contains('.') && !text.contains(',');
    let year = parts.next().map(|year| match year.parse::<i32>() {
        Ok(short) if year.len() == 2 && pointed && !text.contains(' ') => Ok(whole_year(short, today, direction)),
        year => year,
    });
    // Words after the year do not belong to the day.
    if parts.next().is_some() {
        return None;
    }
    let (day, word) = if first.starts_with(|c: char| c.is_ascii_digit()) { (first, second) } else { (second, first) };
    let named = || MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word)).map(|index| index + 1);
    // A numeric month needs points: `24.12.` puts the month second.
    let number = || word.parse().ok().filter(|_| pointed);
    let month = Month::try_from(u8::try_from(named().or_else(number)?).ok()?).ok()?;
    let day: u8 = day.parse().ok()?;
    match year {
        Some(year) => {
            Date::from_calendar_date(year.ok().filter(|year| (1_000..=9_999).contains(year))?, month, day).ok()
        }
        None => {
            let in_year = |away| Date::from_calendar_date(today.year() + away, month, day).ok();
            match direction {
                Direction::Past => (0..=LEAP_AWAY_MAX).filter_map(|away| in_year(-away)).find(|date| *date <= today),
                Direction::Future => (0..=LEAP_AWAY_MAX).filter_map(in_year).find(|date| *date >= today),
            }
        }
    }
}

/// The year of two digits: of this century, but for a past day that would lie ahead of the current year.
fn whole_year(short: i32, today: Date, direction: Direction) -> i32 {
    let year = 2_000 + short;
    if direction == Direction::Past && year > today.year() { year - 100 } else { year }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::format_date;

    use super::*;

    fn saturday() -> Date {
        parse_date("2026-11-21").unwrap()
    }

    #[test]
    fn day_texts_parse() {
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
            assert_eq!(
                parse_day(text, saturday(), Direction::Future).map(format_date).as_deref(),
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn past_field_takes_the_last_such_day() {
        for (text, expected) in [
            ("1 dec", Some("2025-12-01")),
            ("1 nov", Some("2026-11-01")),
            ("24.12.", Some("2025-12-24")),
            ("21 nov", Some("2026-11-21")),
            ("22 nov", Some("2025-11-22")),
            ("29 feb", Some("2024-02-29")),
            ("24.12.98", Some("1998-12-24")),
            ("24.12.26", Some("2026-12-24")),
            ("24.12.27", Some("1927-12-24")),
            ("24.12.2027", Some("2027-12-24")),
            ("fri", Some("2026-11-20")),
            ("sat", Some("2026-11-14")),
            ("last fri", Some("2026-11-20")),
            ("next fri", Some("2026-11-27")),
            ("last week", Some("2026-11-09")),
            ("month", Some("2026-10-01")),
            ("3d", Some("2026-11-18")),
            ("2 weeks ago", Some("2026-11-07")),
            ("+3d", Some("2026-11-24")),
            ("-1m", Some("2026-10-21")),
            ("tue 10 nov", Some("2026-11-10")),
            ("Mon 1 Dec", Some("2025-12-01")),
            ("Tue 1 Dec", None),
            ("tue, 1 dec", None),
            ("Tue 1 Dec 2026", Some("2026-12-01")),
            ("2027-01-01", Some("2027-01-01")),
            ("ago", None),
            ("31 feb", None),
        ] {
            let found = parse_day(text, saturday(), Direction::Past).map(format_date);
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        assert_eq!(
            parse_day("last fri", saturday(), Direction::Future).map(format_date).as_deref(),
            Some("2026-11-20")
        );
        let new_year = parse_date("2027-01-01").unwrap();
        assert_eq!(parse_day("31 dec", new_year, Direction::Past).map(format_date).as_deref(), Some("2026-12-31"));
    }

    #[test]
    fn day_text_at_calendar_edges() {
        let sunday = parse_date("2026-11-22").unwrap();
        assert_eq!(parse_day("eow", sunday, Direction::Future), Some(sunday), "the week ends today");
        assert_eq!(parse_day("sun", sunday, Direction::Future).map(format_date).as_deref(), Some("2026-11-29"));
        let leap = parse_date("2028-03-01").unwrap();
        assert_eq!(
            parse_day("29 feb", leap, Direction::Future).map(format_date).as_deref(),
            Some("2032-02-29"),
            "never another day"
        );
        let end = parse_date("2027-01-31").unwrap();
        assert_eq!(months_on(end, 1).map(format_date).as_deref(), Some("2027-02-28"));
    }

    #[test]
    fn completed_task_is_due_again() {
        let today = parse_date("2026-11-22").unwrap();
        let next = |status: &str, due: Option<&str>, period: Option<&str>| {
            let fields = serde_json::json!({ "status": status, "due_on": due, "recurrence": period });
            next_due(Kind::Task, fields.as_object().unwrap(), today).map(format_date)
        };
        assert_eq!(next("done", Some("2027-01-31"), Some("monthly")).as_deref(), Some("2027-02-28"));
        assert_eq!(next("done", Some("2026-11-01"), Some("weekly")).as_deref(), Some("2026-11-29"));
        assert_eq!(next("done", None, Some("daily")).as_deref(), Some("2026-11-23"));
        assert_eq!(next("open", Some("2026-11-22"), Some("weekly")), None);
        assert_eq!(next("done", Some("2026-11-22"), None), None);
    }

    #[test]
    fn leading_day_takes_most_words() {
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
            let found = parse_leading_day(words, saturday(), Direction::Future)
                .map(|(date, number)| (format_date(date), number));
            assert_eq!(found.as_ref().map(|(date, number)| (date.as_str(), *number)), expected, "{words:?}");
        }
    }
}
