//! Parses sums and whole numbers as people type them: `$1,299.50`, `1.299,50`, `12,5`, `130,000`. An ambiguous text
//! stays as typed; the contract's check then rejects the text, and no wrong number is stored. Must not know fields.

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

/// A whole number, with or without group marks: `130,000` is 130000.
pub fn parse_whole(text: &str) -> Option<i64> {
    let text = text.trim();
    text.parse().ok().or_else(|| joined_digits(text, &[',', ' ', '\'', '\u{a0}', '\u{202f}'])?.parse().ok())
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
}
