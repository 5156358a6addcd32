//! Which bytes of a file a request asks for (RFC 9110, 13.1.5 and 14). Pure; must not know the file.

/// The bytes of a file that are to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chosen {
    /// All bytes.
    Whole,
    /// The bytes from `first` on, `length` of them.
    Part {
        /// The first byte, counted from 0.
        first: u64,
        /// The number of bytes, at least 1.
        length: u64,
    },
    /// The range begins after the end.
    Unsatisfiable,
}

/// Chooses by the headers `Range` and `If-Range`. Several ranges or a malformed one count as none, and so does a range of
/// another state of the file than `etag`. `size`: bytes of the file.
pub fn choose(range: Option<&str>, if_range: Option<&str>, etag: &str, size: u64) -> Chosen {
    // A date or a weak tag proves nothing.
    if if_range.is_some_and(|state| state.trim() != etag) {
        return Chosen::Whole;
    }
    range.and_then(|range| parse(range, size)).unwrap_or(Chosen::Whole)
}

/// None: malformed, or several ranges.
fn parse(range: &str, size: u64) -> Option<Chosen> {
    let (unit, ranges) = range.split_once('=')?;
    let (first, last) = ranges.trim().split_once('-')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    // Digits alone: a parser of numbers would accept a sign too.
    let number = |text: &str| -> Option<u64> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse().unwrap_or(u64::MAX))
    };
    if first.is_empty() {
        let length = number(last)?.min(size);
        return Some(if length == 0 { Chosen::Unsatisfiable } else { Chosen::Part { first: size - length, length } });
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    let end = last.saturating_add(1).min(size);
    Some(if first >= size { Chosen::Unsatisfiable } else { Chosen::Part { first, length: end - first } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_others_are_ignored() {
        let part = |first, length| Chosen::Part { first, length };
        for (range, chosen) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=2-4", part(2, 3)),
            ("Bytes = 2-", part(2, 8)),
            ("bytes=8-99", part(8, 2)),
            ("bytes=-3", part(7, 3)),
            ("bytes=-99", part(0, 10)),
            ("bytes=0-18446744073709551615", part(0, 10)),
            ("bytes=10-", Chosen::Unsatisfiable),
            ("bytes=99999999999999999999999-", Chosen::Unsatisfiable),
            ("bytes=-0", Chosen::Unsatisfiable),
            ("bytes=4-2", Chosen::Whole),
            ("bytes=0-1,3-4", Chosen::Whole),
            ("bytes=+1-2", Chosen::Whole),
            ("bytes=-", Chosen::Whole),
            ("bytes=a-b", Chosen::Whole),
            ("lines=0-1", Chosen::Whole),
            ("bytes", Chosen::Whole),
        ] {
            assert_eq!(choose(Some(range), None, "\"a\"", 10), chosen, "{range}");
        }
        assert_eq!(choose(Some("bytes=0-"), None, "\"a\"", 0), Chosen::Unsatisfiable);
        assert_eq!(choose(None, None, "\"a\"", 10), Chosen::Whole);
    }

    #[test]
    fn range_of_another_state_is_ignored() {
        let chosen = |if_range| choose(Some("bytes=0-0"), Some(if_range), "\"a\"", 10);
        assert_eq!(chosen("\"a\""), Chosen::Part { first: 0, length: 1 });
        for other in ["\"b\"", "W/\"a\"", "Sun, 06 Nov 1994 08:49:37 GMT", ""] {
            assert_eq!(chosen(other), Chosen::Whole, "{other}");
        }
    }
}
