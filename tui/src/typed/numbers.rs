//! Sums and whole numbers as people type them: `$1,299.50`, `1.299,50`, `12,5`, `130,000`. What is not certainly one number
//! stays as it was typed, so that the check refuses it instead of something else being stored. Must not know fields.

/// How a sum may be typed, for people.
pub const SUM: &str = "1299, 1,299.50 or 1299,50";

/// What may stand before or after a sum and says nothing here: a home has one currency.
const CURRENCIES: [&str; 7] = ["$", "€", "£", "usd", "eur", "gbp", "chf"];

/// A sum in the contract's spelling: `$1,299.5` is `1299.5`. The text itself where it is no sum, or could be two.
pub fn money(text: &str) -> String {
    sum(text).unwrap_or_else(|| text.trim().to_owned())
}

/// The same; None where the text is no sum, or could be two.
pub fn sum(text: &str) -> Option<String> {
    parsed(bare(text))
}

/// A whole number, with or without its groups: `130,000` is 130000.
pub fn whole(text: &str) -> Option<i64> {
    let text = text.trim();
    text.parse().ok().or_else(|| joined(text, &[',', ' ', '\'', '\u{a0}', '\u{202f}'])?.parse().ok())
}

/// The sum without its currency.
fn bare(text: &str) -> &str {
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

fn parsed(text: &str) -> Option<String> {
    // The last of two different marks is the decimal one. A single mark is, where one or two digits follow it.
    let (whole, cents) = match text.rfind([',', '.']) {
        None => (text, ""),
        Some(at) => {
            let (whole, cents) = (&text[..at], &text[at + 1..]);
            let mark = &text[at..=at];
            match (1..=2).contains(&cents.len()) && !whole.contains(mark) {
                true => (whole, cents),
                // `1.299` is one thing in one country and another in the next.
                false if mark == "." && !whole.contains('.') => return None,
                false => (text, ""),
            }
        }
    };
    let whole = joined(whole, &[',', '.', ' ', '\'', '\u{a0}', '\u{202f}'])?;
    if !cents.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(if cents.is_empty() { whole } else { format!("{whole}.{cents}") })
}

/// The digits of a whole number: alone, or in groups of exactly three after one and the same mark.
fn joined(text: &str, marks: &[char]) -> Option<String> {
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
    fn a_decimal_comma_never_makes_a_sum_ten_times_as_large() {
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
            assert_eq!(money(text), expected);
        }
    }

    #[test]
    fn sums_are_taken_as_they_are_written() {
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
            assert_eq!(money(text), expected);
        }
    }

    #[test]
    fn what_is_no_sum_or_could_be_two_stays_as_it_was_typed() {
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
            assert_eq!(money(text), text);
        }
    }

    #[test]
    fn whole_numbers_are_taken_as_they_are_shown() {
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
            assert_eq!(whole(text), expected, "{text}");
        }
    }
}
