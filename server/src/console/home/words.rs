//! Values and days as people of the household read them. Pure: today is an argument. Must not know pages or records.

use hearth_contract::amounts;
use hearth_contract::formats::{Timestamp, parse_date};
use hearth_contract::schema::Kind;
use hearth_contract::time_zone;
use time::Date;

/// Characters of a title in a list, at most: a page has a bounded size.
const TITLE_MAX: usize = 60;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// What people call a record of a kind, and its records together.
pub(super) const fn kind_words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Inventory => ("Item", "Items"),
        Kind::Vehicle => ("Vehicle", "Vehicles"),
        Kind::Document => ("Document", "Documents"),
        Kind::Task => ("Task", "Tasks"),
        Kind::Room => ("Room", "Rooms"),
        Kind::Property => ("Home", "Home"),
    }
}

/// The address of the list of a kind; with a slash and an id behind it, of a record.
pub(super) const fn list_path(kind: Kind) -> &'static str {
    match kind {
        Kind::Inventory => "/home/items",
        Kind::Vehicle => "/home/vehicles",
        Kind::Document => "/home/documents",
        Kind::Task => "/home/tasks",
        Kind::Room => "/home/rooms",
        Kind::Property => "/home",
    }
}

/// A title for a list: at most [`TITLE_MAX`] characters.
pub(super) fn short(title: &str) -> String {
    match title.char_indices().nth(TITLE_MAX) {
        Some((end, _)) => format!("{}…", title[..end].trim_end()),
        None => title.to_owned(),
    }
}

/// A day: `26 November 2026`.
pub(super) fn long_day(day: Date) -> String {
    format!("{} {} {}", day.day(), MONTHS[usize::from(u8::from(day.month())) - 1], day.year())
}

/// A stored day as [`long_day`]; another text as it is.
pub(super) fn day_text(text: &str) -> String {
    parse_date(text).map_or_else(|| text.to_owned(), long_day)
}

/// A moment in a time zone: `26 November 2026, 14:03`.
pub(super) fn moment(zone: Option<&str>, at: Timestamp) -> String {
    let (day, hour, minute) = time_zone::day_and_minute(zone, at);
    format!("{}, {hour:02}:{minute:02}", long_day(day))
}

/// How far a day is away: `today`, `in 5 days`, `3 days ago`.
pub(super) fn distance(day: Date, today: Date) -> String {
    match (day - today).whole_days() {
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        -1 => "yesterday".to_owned(),
        days if days > 1 => format!("in {days} days"),
        days => format!("{} days ago", -days),
    }
}

/// A due day with its distance, and whether the day is past.
pub(super) fn due(text: &str, today: Date) -> (String, bool) {
    let Some(day) = parse_date(text) else { return (text.to_owned(), false) };
    let late = (today - day).whole_days();
    let when = match late {
        1 => "1 day late".to_owned(),
        2.. => format!("{late} days late"),
        _ => capital(&distance(day, today)),
    };
    (format!("{when} · {}", long_day(day)), late > 0)
}

/// The last day of some things, and whether the day is past: `Warranty ends in 5 days`. No things: the record itself ends.
pub(super) fn end(things: &[&str], text: &str, today: Date) -> (String, bool) {
    let Some(day) = parse_date(text) else { return (text.to_owned(), false) };
    let is_past = day < today;
    let verb = match (is_past, things.len()) {
        (true, _) => "ended",
        (false, 0 | 1) => "ends",
        (false, _) => "end",
    };
    (capital(format!("{} {verb} {}", things.join(" and "), distance(day, today)).trim_start()), is_past)
}

/// A word of a choice: `Living room` for `living_room`.
pub(super) fn choice(word: &str) -> String {
    capital(&word.replace('_', " "))
}

/// A sum with group marks and the currency: `1,299.00 EUR`.
pub(super) fn money(sum: &str, currency: Option<&str>) -> String {
    let sum = amounts::sum(sum, currency);
    currency.map_or_else(|| sum.clone(), |currency| format!("{sum} {currency}"))
}

/// A size of a file: `2.4 MB`.
pub(super) fn size(bytes: i64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The text with a capital letter at its start.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_a_distance() {
        let today = parse_date("2026-11-26").unwrap();
        for (day, expected, is_late) in [
            ("2026-11-26", "Today · 26 November 2026", false),
            ("2026-11-27", "Tomorrow · 27 November 2026", false),
            ("2026-12-01", "In 5 days · 1 December 2026", false),
            ("2026-11-25", "1 day late · 25 November 2026", true),
            ("2026-10-27", "30 days late · 27 October 2026", true),
        ] {
            assert_eq!(due(day, today), (expected.to_owned(), is_late));
        }
        assert_eq!(end(&["warranty"], "2026-12-01", today), ("Warranty ends in 5 days".to_owned(), false));
        assert_eq!(end(&[], "2026-11-25", today), ("Ended yesterday".to_owned(), true));
    }

    #[test]
    fn values_read_well() {
        assert_eq!(money("1299.00", Some("EUR")), "1,299.00 EUR");
        assert_eq!(money("1299.00", Some("JPY")), "1,299 JPY");
        assert_eq!(money("999999999999.50", None), "999,999,999,999.50");
        assert_eq!(choice("plug_in_hybrid"), "Plug in hybrid");
        assert_eq!((size(12), size(2_450_000), size(45_200)), ("12 bytes".into(), "2.4 MB".into(), "45 kB".into()));
        assert_eq!(short(&"é".repeat(70)).chars().count(), TITLE_MAX + 1);
        let at = Timestamp::parse("2026-11-26T13:03:59Z").unwrap();
        assert_eq!(moment(Some("Europe/Berlin"), at), "26 November 2026, 14:03");
    }
}
