//! Sums and whole numbers as spreadsheets write them: `1.234,56 €`, `$1,299.00`, `1'299.00`. Must not know columns.

use hearth_contract::currency;

use super::locale::DecimalMark;

/// Marks that group thousands and are never a decimal mark.
const GROUP_MARKS: [char; 5] = [' ', '\'', '’', '\u{a0}', '\u{202f}'];
/// Signs of currencies.
const CURRENCY_SIGNS: &str = "€$£¥₣₤₹₽₺₴₦₩₫₪฿₱₡₲₵₸";
/// Names of currencies that are no codes of ISO 4217, in lower case.
const CURRENCY_WORDS: [&str; 13] =
    ["euro", "euros", "fr", "sfr", "kr", "zł", "kč", "ft", "lei", "r$", "us$", "a$", "c$"];

/// How a number reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// One meaning, as digits with a point before the decimals.
    One(String),
    /// Two meanings: the point or comma groups thousands, or stands before decimals.
    Two {
        /// The number if the mark groups thousands.
        grouped: String,
        /// The number if the mark stands before decimals.
        decimal: String,
    },
    /// No number.
    None,
}

/// Reads a number. `mark` is the known decimal mark.
pub(super) fn read(text: &str, mark: Option<DecimalMark>) -> Reading {
    let Some(number) = bare(text) else { return Reading::None };
    let joined: String = match ungroup(number) {
        Some(joined) => joined,
        None => return Reading::None,
    };
    let (commas, points) = (joined.matches(',').count(), joined.matches('.').count());
    let last = joined.rfind([',', '.']);
    match (commas, points, last) {
        (_, _, None) => Reading::One(joined),
        // Two different marks: the last one stands before the decimals.
        (1.., 1.., Some(at)) => with_decimals(&joined, at).map_or(Reading::None, Reading::One),
        // One mark several times groups thousands.
        (2.., 0, _) | (0, 2.., _) => grouped(&joined).map_or(Reading::None, Reading::One),
        (_, _, Some(at)) => {
            let is_decimal = mark.map(|mark| (mark == DecimalMark::Comma) == (commas == 1));
            let (grouped, decimal) = (grouped(&joined), with_decimals(&joined, at));
            match (grouped, decimal, is_decimal) {
                (Some(grouped), _, Some(false)) => Reading::One(grouped),
                (_, Some(decimal), Some(true)) => Reading::One(decimal),
                (Some(grouped), Some(decimal), None) => Reading::Two { grouped, decimal },
                // Only one reading is possible, whatever is known: `12,50` in a file with points.
                (None, Some(decimal), _) => Reading::One(decimal),
                (Some(grouped), None, _) => Reading::One(grouped),
                _ => Reading::None,
            }
        }
    }
}

/// The decimal mark that a number proves. None: it proves none.
pub(super) fn proof(text: &str) -> Option<DecimalMark> {
    let joined = ungroup(bare(text)?)?;
    let at = joined.rfind([',', '.'])?;
    let (is_comma, other) = match joined.as_bytes()[at] {
        b',' => (true, '.'),
        _ => (false, ','),
    };
    let decimal = if is_comma { DecimalMark::Comma } else { DecimalMark::Point };
    let group = if is_comma { DecimalMark::Point } else { DecimalMark::Comma };
    let same = joined.matches(char::from(joined.as_bytes()[at])).count();
    if joined.contains(other) {
        return with_decimals(&joined, at).map(|_| decimal);
    }
    match (same, grouped(&joined).is_some(), with_decimals(&joined, at).is_some()) {
        (1, false, true) => Some(decimal),
        (2.., true, _) => Some(group),
        _ => None,
    }
}

/// The number without its currency. None: more than a number and a currency.
fn bare(text: &str) -> Option<&str> {
    let is_currency = |letter: char| !letter.is_ascii_digit() && !",.-+'’".contains(letter) && !letter.is_whitespace();
    let text = text.trim();
    let number = text.trim_matches(is_currency).trim();
    let (before, after) = text.split_once(number)?;
    let is_known = [before, after].into_iter().all(|part| part.trim().is_empty() || names_currency(part.trim()));
    (is_known && number.starts_with(|first: char| first.is_ascii_digit())).then_some(number)
}

/// Whether a text beside a number names a currency. `5k` and `50 ct` are other numbers than 5 and 50, so only known names count.
fn names_currency(text: &str) -> bool {
    let word = text.to_lowercase();
    currency::normalize(&word).is_some()
        || CURRENCY_WORDS.contains(&word.as_str())
        || text.chars().all(|sign| CURRENCY_SIGNS.contains(sign))
}

/// The number without marks that only group. None: the groups are not of three digits.
fn ungroup(number: &str) -> Option<String> {
    let Some(mark) = number.chars().find(|letter| GROUP_MARKS.contains(letter)) else {
        return number.bytes().all(|byte| byte.is_ascii_digit() || b",.".contains(&byte)).then(|| number.to_owned());
    };
    let (whole, rest) = number.split_at(number.find([',', '.']).unwrap_or(number.len()));
    let groups: Vec<&str> = whole.split(mark).collect();
    let is_digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let are_groups = groups.iter().all(is_digits) && groups[0].len() <= 3 && groups[1..].iter().all(|g| g.len() == 3);
    let is_rest = rest.is_empty() || (rest.len() > 1 && is_digits(&&rest[1..]));
    (are_groups && is_rest).then(|| groups.concat() + rest)
}

/// The number if each point or comma groups thousands. None: it cannot.
fn grouped(number: &str) -> Option<String> {
    let groups: Vec<&str> = number.split([',', '.']).collect();
    let is_grouped = (1..=3).contains(&groups[0].len())
        && !(groups.len() > 1 && groups[0].starts_with('0'))
        && groups[1..].iter().all(|group| group.len() == 3);
    is_grouped.then(|| groups.concat())
}

/// The number if the mark at `at` stands before decimals. None: it cannot.
fn with_decimals(number: &str, at: usize) -> Option<String> {
    let (whole, decimals) = (&number[..at], &number[at + 1..]);
    let whole = if whole.contains([',', '.']) { grouped(whole)? } else { whole.to_owned() };
    (!whole.is_empty() && !decimals.is_empty()).then(|| format!("{whole}.{decimals}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_no_currency_make_no_number() {
        for text in ["5k", "€ 1.5M", "2 Mio", "50 ct", "(500)", "15%", "~500", "500 St"] {
            assert_eq!(read(text, None), Reading::None, "{text}");
        }
        for text in ["20 EUR", "eur 20", "20 kr", "20 zł", "US$ 20", "£20"] {
            assert_eq!(read(text, None), Reading::One("20".to_owned()), "{text}");
        }
    }

    #[test]
    fn numbers_read_with_and_without_locale() {
        let comma = Some(DecimalMark::Comma);
        let point = Some(DecimalMark::Point);
        for (text, mark, expected) in [
            ("1.234,56 €", None, "1234.56"),
            ("$1,299.00", None, "1299.00"),
            ("1 234,56", None, "1234.56"),
            ("1\u{a0}234,56 €", None, "1234.56"),
            ("1'299.00", None, "1299.00"),
            ("CHF 1’299.50", None, "1299.50"),
            ("12,5", None, "12.5"),
            ("12.5", comma, "12.5"),
            ("1.299", comma, "1299"),
            ("1.299", point, "1.299"),
            ("1,299", point, "1299"),
            ("1,299", comma, "1.299"),
            ("1.299.000", None, "1299000"),
            ("0,500", None, "0.500"),
            ("1299", None, "1299"),
            ("EUR 20", None, "20"),
        ] {
            assert_eq!(read(text, mark), Reading::One(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn ambiguous_and_wrong_numbers_are_told_apart() {
        for text in ["1.299", "1,299", "$ 12,999"] {
            assert!(matches!(read(text, None), Reading::Two { .. }), "{text}");
        }
        for text in ["", "many", "-3", "12 apples and 3", "1,20,50", "1 20", "1.2.3", "12.", "1e5", ".5"] {
            assert_eq!(read(text, None), Reading::None, "{text}");
        }
    }

    #[test]
    fn some_numbers_prove_the_mark() {
        for (text, expected) in [
            ("12,50", Some(DecimalMark::Comma)),
            ("1.234,56 €", Some(DecimalMark::Comma)),
            ("1.234.567", Some(DecimalMark::Comma)),
            ("12.50", Some(DecimalMark::Point)),
            ("1,299.00", Some(DecimalMark::Point)),
            ("1.299", None),
            ("1299", None),
            ("x", None),
        ] {
            assert_eq!(proof(text), expected, "{text}");
        }
    }
}
