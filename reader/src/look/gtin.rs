//! The digits of trade item numbers: their check digit, and the long form of short ones. Must not know pictures.

/// Whether the last digit is the check digit of a GTIN: digits times 3 and 1 in turns give a multiple of 10.
pub(super) fn has_check_digit(digits: &str) -> bool {
    let values = digits.bytes().rev().enumerate().map(|(index, digit)| {
        let weight = if index % 2 == 0 { 1 } else { 3 };
        u32::from(digit.wrapping_sub(b'0')) * weight
    });
    digits.bytes().all(|digit| digit.is_ascii_digit()) && values.sum::<u32>() % 10 == 0
}

/// The 12 digits of a UPC-E code, by the rule of GS1. None: a text is no UPC-E code.
pub(super) fn widened(text: &str) -> Option<String> {
    let digits = text.as_bytes();
    if digits.len() != 8 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (system, body, check) = (&text[..1], &text[1..7], &text[7..]);
    Some(match &body[5..] {
        last @ ("0" | "1" | "2") => format!("{system}{}{last}0000{}{check}", &body[..2], &body[2..5]),
        "3" => format!("{system}{}00000{}{check}", &body[..3], &body[3..5]),
        "4" => format!("{system}{}00000{}{check}", &body[..4], &body[4..5]),
        last => format!("{system}{}0000{last}{check}", &body[..5]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits() {
        for right in ["4006381333931", "0036000291452", "73513537", "036000291452"] {
            assert!(has_check_digit(right), "{right}");
        }
        assert!(!has_check_digit("4006381333932"));
        assert!(!has_check_digit("40063813339x1"));
        assert_eq!(widened("04252614").as_deref(), Some("042100005264"));
        assert_eq!(widened("01234565").as_deref(), Some("012345000065"));
        assert_eq!(widened("0123"), None);
    }
}
