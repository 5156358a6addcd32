//! Sums and whole numbers as people read them: digits in groups of three, and as many decimals as the currency has. Records
//! always hold two decimals (contract 3). Pure. Must not know fields, or where a currency is stored.

use crate::currency::minor_units;

/// The decimals of a stored sum.
const STORED_DECIMALS: u8 = 2;

/// A whole number in groups of three digits: `1299` is `1,299`. Another text stays as it is.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return number.to_owned();
    }
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    format!("{sign}{}", groups.join(","))
}

/// A stored sum with the decimals of a currency: `1299.00` is `1299` in yen. Decimals that are not zero stay. A currency with
/// three decimals has two here, as the stored sum.
pub fn with_minor_units<'a>(sum: &'a str, currency: Option<&str>) -> &'a str {
    match sum.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|digit| digit == b'0') && decimals_of(currency) == 0 => whole,
        _ => sum,
    }
}

/// A stored sum as people read it: `1299.00` is `1,299.00`, in yen `1,299`. Another text stays as it is.
pub fn sum(sum: &str, currency: Option<&str>) -> String {
    let sum = with_minor_units(sum, currency);
    match sum.split_once('.') {
        Some((whole, decimals)) => format!("{}.{decimals}", grouped(whole)),
        None => grouped(sum),
    }
}

/// An amount of cents as a stored sum: `129900` is `1299.00`.
pub fn stored(cents: i128) -> String {
    let (sign, cents) = if cents < 0 { ("-", cents.unsigned_abs()) } else { ("", cents.unsigned_abs()) };
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}

fn decimals_of(currency: Option<&str>) -> u8 {
    currency.map_or(STORED_DECIMALS, |code| minor_units(code).min(STORED_DECIMALS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_grouped() {
        for (number, expected) in [
            ("0", "0"),
            ("123", "123"),
            ("1234", "1,234"),
            ("-1234567", "-1,234,567"),
            ("", ""),
            ("x", "x"),
            ("-", "-"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn sums_have_the_decimals_of_their_currency() {
        for (text, currency, expected) in [
            ("1299.00", Some("EUR"), "1,299.00"),
            ("1299.00", Some("JPY"), "1,299"),
            ("1299.50", Some("JPY"), "1,299.50"),
            ("999999999999.99", None, "999,999,999,999.99"),
            ("0.05", None, "0.05"),
            ("12500.00", Some("KRW"), "12,500"),
            ("12.50", Some("BHD"), "12.50"),
            ("12.00", Some("BHD"), "12.00"),
            ("12.00", Some("nonsense"), "12.00"),
            ("", Some("JPY"), ""),
            ("a sum", None, "a sum"),
        ] {
            assert_eq!(sum(text, currency), expected, "{text} {currency:?}");
        }
        assert_eq!((stored(129_900), stored(5), stored(-150)), ("1299.00".into(), "0.05".into(), "-1.50".into()));
    }
}
