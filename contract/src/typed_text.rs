//! Parses sums, whole numbers and full dates as people type them: `$1,299.50`, `1.299,50`, `130,000`, `21.10.2022`. An ambiguous
//! text stays as typed; [`crate::check`] then refuses the text and names the ambiguity, and no wrong value is stored. Must not
//! know fields, or the current day.

use time::{Date, Month};

use crate::formats;

/// A spreadsheet reads a text with one of these first characters as a formula, or skips the character and reads the next.
const FORMULA_STARTS: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// A text as a cell of a CSV file: a text that a spreadsheet would compute gets a `'` in front (contract 16).
pub fn csv_text(text: &str) -> String {
    if text.starts_with(FORMULA_STARTS) { format!("'{text}") } else { text.to_owned() }
}

/// Ignored before or after a sum: a home has one currency.
const CURRENCIES: [&str; 7] = ["$", "€", "£", "usd", "eur", "gbp", "chf"];

/// A sum in the contract's form: `$1,299.5` becomes `1299.5`. No sum, or an ambiguous one: the trimmed text itself.
pub fn normalize_money(text: &str) -> String {
    parse_money(text).unwrap_or_else(|| text.trim().to_owned())
}

/// A sum in the contract's form. None: the text is no sum, or is ambiguous (`1.299`).
pub fn parse_money(text: &str) -> Option<String> {
    decimal(without_currency(text))
}

/// A number with at most two decimals, in the form of [`parse_money`]. None: the text is no number, or is ambiguous.
pub fn parse_decimal(text: &str) -> Option<String> {
    decimal(text.trim())
}

/// A whole number, with or without group marks: `130,000` is 130000.
pub fn parse_whole(text: &str) -> Option<i64> {
    let text = text.trim();
    text.parse().ok().or_else(|| joined_digits(text, &[',', ' ', '\'', '\u{a0}', '\u{202f}'])?.parse().ok())
}

/// The whole number that a text means if its points group thousands: 135000 for `135.000`, which may also be 135 with decimals.
/// None: the points cannot group thousands.
pub fn without_group_points(text: &str) -> Option<String> {
    let text = text.trim();
    joined_digits(text, &['.']).filter(|_| text.contains('.'))
}

/// A full date in the contract's form: `21.10.2022`, `21. 10. 2022` and `2022-10-21` are `2022-10-21`. None: the text is no date,
/// has no year, or is ambiguous: `10/11/2022` is a day in October or in November.
pub fn parse_full_date(text: &str) -> Option<String> {
    let text = text.trim();
    if formats::parse_date(text).is_some() {
        return Some(text.to_owned());
    }
    let parts: Vec<&str> = text.split('.').map(str::trim).collect();
    let [day, month, year] = parts[..] else { return None };
    let is_number =
        |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    if !is_number(day, 2) || !is_number(month, 2) || year.len() != 4 || !is_number(year, 4) {
        return None;
    }
    let month = Month::try_from(month.parse::<u8>().ok()?).ok()?;
    Date::from_calendar_date(year.parse().ok()?, month, day.parse().ok()?).ok().map(formats::format_date)
}

fn without_currency(text: &str) -> &str {
    let text = text.trim();
    let cut = |at: usize| text.is_char_boundary(at).then(|| text.split_at(at));
    for currency in CURRENCIES {
        let is = |part: &str| part.eq_ignore_ascii_case(currency);
        if let Some((_, rest)) = cut(currency.len().min(text.len())).filter(|(first, _)| is(first)) {
            return rest.trim_start();
        }
        if let Some((rest, _)) = cut(text.len().saturating_sub(currency.len())).filter(|(_, last)| is(last)) {
            return rest.trim_end();
        }
    }
    text
}

fn decimal(text: &str) -> Option<String> {
    // Of two different marks the last is the decimal mark. A single mark is the decimal mark if one or two digits
    // follow.
    let (whole, cents) = match text.rfind([',', '.']) {
        None => (text, ""),
        Some(at) => {
            let (whole, cents) = (&text[..at], &text[at + 1..]);
            let mark = &text[at..=at];
            match (1..=2).contains(&cents.len()) && !whole.contains(mark) {
                true => (whole, cents),
                // `1.299` is a thousand in some countries and a decimal in others.
                false if mark == "." && !whole.contains('.') => return None,
                false => (text, ""),
            }
        }
    };
    let whole = joined_digits(whole, &[',', '.', ' ', '\'', '\u{a0}', '\u{202f}'])?;
    if !cents.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(if cents.is_empty() { whole } else { format!("{whole}.{cents}") })
}

/// The digits of a whole number, without group marks. Groups have exactly three digits and use one mark throughout.
fn joined_digits(text: &str, marks: &[char]) -> Option<String> {
    let mark = text.chars().find(|letter| marks.contains(letter));
    let groups: Vec<&str> = mark.map_or_else(|| vec![text], |mark| text.split(mark).collect());
    let are_digits = |group: &&str| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups[0];
    let is_grouped = first.len() <= 3 && !first.starts_with('0') && groups[1..].iter().all(|group| group.len() == 3);
    (groups.iter().all(are_digits) && (groups.len() == 1 || is_grouped)).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_comma_keeps_the_magnitude() {
        for (text, expected) in [
            ("12,5", "12.5"),
            ("0,5", "0.5"),
            ("20,5", "20.5"),
            ("12,50", "12.50"),
            ("1.200,50", "1200.50"),
            ("1,200.50", "1200.50"),
            ("1.200.500,5", "1200500.5"),
            ("1 200,50", "1200.50"),
        ] {
            assert_eq!(normalize_money(text), expected);
        }
    }

    #[test]
    fn sums_parse_as_written() {
        for (text, expected) in [
            ("1,299.50", "1299.50"),
            ("$20", "20"),
            ("12,50 €", "12.50"),
            ("12 USD", "12"),
            ("eur12.5", "12.5"),
            ("1'000", "1000"),
            ("1,299", "1299"),
            ("1,200,500", "1200500"),
            ("1299.5", "1299.5"),
            (" 07.5", "07.5"),
        ] {
            assert_eq!(normalize_money(text), expected);
        }
    }

    #[test]
    fn ambiguous_sum_stays_as_typed() {
        for text in [
            "1.299",
            "0,500",
            "12,5,0",
            "1,20,50",
            "1.20,50",
            "1,2345",
            "12 apples",
            "1,299,5",
            "12.",
            ",5",
            ".5",
            "-3",
            "1,200 500",
            "€",
            "",
            "é",
            "1e5",
            "1.2.3",
        ] {
            assert_eq!(normalize_money(text), text);
        }
    }

    #[test]
    fn whole_numbers_parse_as_shown() {
        for (text, expected) in [
            ("130000", Some(130_000)),
            ("130,000", Some(130_000)),
            (" 1'200 ", Some(1_200)),
            ("12 000 000", Some(12_000_000)),
            ("-5", Some(-5)),
            ("13,00", None),
            ("1.5", None),
            ("many", None),
        ] {
            assert_eq!(parse_whole(text), expected, "{text}");
        }
    }

    #[test]
    fn full_dates_parse() {
        for (text, expected) in [
            ("21.10.2022", Some("2022-10-21")),
            (" 1. 2. 2024 ", Some("2024-02-01")),
            ("2022-10-21", Some("2022-10-21")),
            ("31.2.2024", None),
            ("21.10.22", None),
            ("21.10.", None),
            ("10/11/2022", None),
            ("+1.2.2024", None),
            ("", None),
        ] {
            assert_eq!(parse_full_date(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn points_may_group_thousands() {
        for (text, expected) in [
            ("135.000", Some("135000")),
            ("1.299", Some("1299")),
            (" 1.000.000", Some("1000000")),
            ("3.0", None),
            ("0.000", None),
            ("1.2.345", None),
            ("135000", None),
        ] {
            assert_eq!(without_group_points(text).as_deref(), expected, "{text}");
        }
    }
}
