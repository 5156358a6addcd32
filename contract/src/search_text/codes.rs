//! Product codes that are written in two ways. Must not know texts.

/// Digits of a UPC-A code, and of the EAN-13 code that a zero in front makes of the same code (GS1 General Specifications).
const UPC_DIGITS: usize = 12;
const EAN_DIGITS: usize = 13;

/// The spellings of a folded word, the given spelling first. A product code has two: UPC-A with 12 digits, and EAN-13 with a
/// zero in front. A scanner gives one or the other.
pub fn spellings(word: &str) -> Vec<String> {
    let mut found = vec![word.to_owned()];
    if word.bytes().all(|byte| byte.is_ascii_digit()) {
        match (word.len(), word.strip_prefix('0')) {
            (UPC_DIGITS, _) if has_check_digit(word) => found.push(format!("0{word}")),
            (EAN_DIGITS, Some(upc)) if has_check_digit(upc) => found.push(upc.to_owned()),
            _ => {}
        }
    }
    found
}

/// Whether the last digit of a UPC-A code is its check digit: the digits, every second times three from the first on, add up
/// to a multiple of ten.
fn has_check_digit(digits: &str) -> bool {
    let weighted = digits.bytes().zip([3, 1].into_iter().cycle()).map(|(byte, weight)| u32::from(byte - b'0') * weight);
    weighted.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_both_spellings() {
        for (word, expected) in [
            ("036000291452", &["036000291452", "0036000291452"][..]),
            ("0036000291452", &["0036000291452", "036000291452"]),
            ("036000291453", &["036000291453"]),
            ("4006381333931", &["4006381333931"]),
            ("123", &["123"]),
            ("bosch", &["bosch"]),
        ] {
            assert_eq!(spellings(word), expected, "{word}");
        }
    }
}
