//! Days as people type them: `tomorrow`, `fri`, `+2w`, `1 dec`, `2026-12-01`. Told what day it is; must not ask a clock.

use hearth_contract::formats::parse_date;
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
    if word.len() >= 2
        && let Some((_, day)) = WEEKDAYS.iter().find(|(name, _)| name.starts_with(word))
    {
        return after(today, *day);
    }
    span(&text, today).or_else(|| day_and_month(&text, today))
}

/// The next such weekday after a day.
fn after(today: Date, weekday: Weekday) -> Option<Date> {
    let away = i64::from(weekday.number_days_from_monday()) - i64::from(today.weekday().number_days_from_monday());
    today.checked_add(Duration::days(if away > 0 { away } else { away + 7 }))
}

/// `+2w`, `3d`, `-1m`.
fn span(text: &str, today: Date) -> Option<Date> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let unit = rest.chars().last()?;
    let number: i32 = rest[..rest.len() - unit.len_utf8()].trim().parse().ok().filter(|n| (0..=9_999).contains(n))?;
    let number = number * sign;
    match unit {
        'd' => today.checked_add(Duration::days(number.into())),
        'w' => today.checked_add(Duration::weeks(number.into())),
        'm' => months_on(today, number),
        'y' => months_on(today, number * 12),
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

fn month_end(date: Date) -> Option<Date> {
    date.replace_day(date.month().length(date.year())).ok()
}

/// `1 dec`, `dec 1`, `1 dec 2027`: the next such day when no year is said.
fn day_and_month(text: &str, today: Date) -> Option<Date> {
    let mut parts = text.split([' ', '.', ',']).filter(|part| !part.is_empty());
    let (first, second) = (parts.next()?, parts.next()?);
    let year = parts.next().map(str::parse::<i32>);
    let (day, word) = if first.starts_with(|c: char| c.is_ascii_digit()) { (first, second) } else { (second, first) };
    let index = MONTHS.iter().position(|name| word.len() >= 3 && name.starts_with(word))?;
    let month = Month::try_from(u8::try_from(index).ok()? + 1).ok()?;
    let day: u8 = day.parse().ok()?;
    match year {
        Some(year) => {
            Date::from_calendar_date(year.ok().filter(|year| (1_000..=9_999).contains(year))?, month, day).ok()
        }
        None => {
            let this = Date::from_calendar_date(today.year(), month, day).ok()?;
            if this >= today { Some(this) } else { months_on(this, 12) }
        }
    }
}

#[cfg(test)]
mod tests {
    use hearth_contract::formats::date_text;

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
            ("2026-13-01", None),
            ("31 feb", None),
            ("someday", None),
            ("", None),
            ("+", None),
            ("99999999999d", None),
            ("é", None),
        ] {
            assert_eq!(understood(text, today).map(date_text).as_deref(), expected, "{text:?}");
        }
        let end = parse_date("2027-01-31").unwrap();
        assert_eq!(months_on(end, 1).map(date_text).as_deref(), Some("2027-02-28"));
    }
}
