//! Finds sums of money in a row: `1.234,56`, `1,234.56`, `1 234,56`, `1'234.56`, `RM 12.00`, `€12`. Must not know what a sum is for.

use super::rows::Row;
use super::words::currencies::{Currency, prefix, suffix, whole_word};

/// The most digits before the decimals: more is a number of a product or a telephone.
const WHOLE_DIGITS_MAX: usize = 8;

/// The letters of `.50`, a sum below one.
const CENTS_ALONE: usize = 3;

/// A sum in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amount {
    /// Hundredths of the currency. Negative: a refund or a discount.
    pub(super) cents: i64,
    /// Its first word.
    pub(super) from: usize,
    /// Its last word.
    pub(super) to: usize,
    /// Whether decimals were written.
    pub(super) form: Form,
    /// Whether it was read badly: a letter was taken for a digit, a space was left out, or a zero stands before other digits.
    pub(super) repaired: bool,
    /// The currency beside it.
    pub(super) currency: Option<Currency>,
}

/// How a sum is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// With two decimals.
    Decimals,
    /// A whole number with a currency beside it.
    Whole,
    /// A whole number alone. It may be any number.
    Bare,
}

/// What one word says as a sum.
#[derive(Clone, Copy)]
struct Number {
    cents: i64,
    form: Form,
    repaired: bool,
    currency: Option<Currency>,
}

/// The sums of a row from left to right.
pub(super) fn amounts(row: &Row<'_>) -> Vec<Amount> {
    let mut found: Vec<Amount> = Vec::new();
    if !row.text.bytes().any(|byte| byte.is_ascii_digit()) {
        return found;
    }
    let mut at = 0;
    while at < row.words.len() {
        match joined(row, at).or_else(|| number(row.word(at)).map(|number| (number, at))) {
            Some((number, to)) if !is_measure(row, to) => {
                found.push(with_neighbours(row, number, at, to));
                at = to + 1;
            }
            Some((_, to)) => at = to + 1,
            None => at += 1,
        }
    }
    found
}

/// A sum that spaces divide: `1 234,56`, `12. 00`, `12 .00`.
fn joined(row: &Row<'_>, at: usize) -> Option<(Number, usize)> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (first, next) = (row.word(at), (at + 1 < row.words.len()).then(|| row.word(at + 1))?);
    let near = row.is_near_next(at);
    let bare = first.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let split = |text: &str| text.strip_suffix(['.', ',']).is_some_and(is_number);
    let decimals = (split(bare) && next.len() == 2 && is_number(next))
        || (is_number(bare) && next.len() == 3 && next.starts_with(['.', ',']) && is_number(&next[1..]));
    if decimals && near != Some(false) {
        let number = number(&format!("{first}{next}"))?;
        return Some((Number { repaired: true, ..number }, at + 1));
    }
    let groups = next.len() >= 6 && next.is_ascii() && is_number(&next[..3]) && next[3..].starts_with(',');
    if groups && is_number(bare) && bare.len() <= 3 && near == Some(true) {
        return number(&format!("{first}{next}")).map(|number| (number, at + 1));
    }
    None
}

/// A percentage, a weight, a length or a time, not a sum.
fn is_measure(row: &Row<'_>, at: usize) -> bool {
    const UNITS: &[&str] =
        &["%", "kg", "g", "kg/", "ml", "cl", "km", "cm", "mm", "kwh", "uhr", "am", "pm", "h", "ltr", "l"];
    at + 1 < row.words.len() && UNITS.contains(&row.word(at + 1)) || row.word(at).contains('%')
}

/// Takes the currency and the sign that stand as words of their own beside a number.
fn with_neighbours(row: &Row<'_>, number: Number, at: usize, to: usize) -> Amount {
    let Number { mut cents, mut form, repaired, mut currency } = number;
    let (mut from, mut end) = (at, to);
    if currency.is_none() {
        let before = from.checked_sub(1).and_then(|before| whole_word(row.word(before)));
        let after = (end + 1 < row.words.len()).then(|| whole_word(row.word(end + 1))).flatten();
        if before.is_some() {
            from -= 1;
        } else if after.is_some() {
            end += 1;
        }
        currency = before.or(after);
    }
    if form == Form::Bare && currency.is_some() {
        form = Form::Whole;
    }
    let minus =
        from.checked_sub(1).filter(|before| row.word(*before) == "-" && row.is_near_next(*before) == Some(true));
    if let Some(before) = minus {
        (cents, from) = (-cents, before);
    }
    Amount { cents, from, to: end, form, repaired, currency }
}

/// Reads one word: signs, brackets, a currency, a tax letter behind, and the number.
fn number(word: &str) -> Option<Number> {
    if !word.bytes().any(|byte| byte.is_ascii_digit()) || word.contains('%') {
        return None;
    }
    let mut text = word.trim_start_matches([':', '=', '*', '@', '#', '"', '~', '_']);
    if text.len() != CENTS_ALONE {
        text = text.trim_start_matches('.');
    }
    let mut negative = false;
    if let Some(inner) = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        (text, negative) = (inner, true);
    }
    text = text.trim_start_matches('(').trim_end_matches([')', '*', '#', ':', ';', '"', '_', '~']);
    (text, negative) = without_sign(text, negative);
    let mut currency = None;
    let starts_with_digit = text.starts_with(|letter: char| letter.is_ascii_digit());
    let ends_with_digit = text.ends_with(|letter: char| letter.is_ascii_digit());
    if let Some((found, rest)) = (!starts_with_digit).then(|| prefix(text)).flatten() {
        (currency, text) = (Some(found), rest.trim_start_matches([':', '=']));
        text = if text.len() == CENTS_ALONE { text } else { text.trim_start_matches('.') };
        (text, negative) = without_sign(text, negative);
    }
    if let Some((found, rest)) = (!ends_with_digit).then(|| suffix(text)).flatten() {
        (currency, text) = (Some(found), rest);
    }
    let dashes = [",--", ",-", ".--", ".-", ",–"].iter().find_map(|end| text.strip_suffix(end));
    if let Some(rest) = text.strip_suffix('-').filter(|_| dashes.is_none()) {
        (text, negative) = (rest, true);
    }
    let text = without_tax_letter(dashes.unwrap_or(text));
    let (cents, decimals, repaired) = value(text)?;
    let form = match (decimals, currency.is_some(), dashes.is_some()) {
        (true, _, _) => Form::Decimals,
        (_, true, _) | (_, _, true) => Form::Whole,
        _ => Form::Bare,
    };
    Some(Number { cents: if negative { -cents } else { cents }, form, repaired, currency })
}

fn without_sign(text: &str, negative: bool) -> (&str, bool) {
    match text.strip_prefix('-') {
        Some(rest) => (rest, true),
        None => (text.strip_prefix('+').unwrap_or(text), negative),
    }
}

/// Tills write a letter of the tax rate behind a price: `12.00A`, `5.30SR`.
fn without_tax_letter(text: &str) -> &str {
    let bare = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let bytes = bare.as_bytes();
    let has_decimals = bytes.len() > 3
        && matches!(bytes[bytes.len() - 3], b'.' | b',')
        && bytes[bytes.len() - 2..].iter().all(u8::is_ascii_digit);
    if has_decimals && text.len() - bare.len() <= 3 && !text.ends_with("am") && !text.ends_with("pm") {
        bare
    } else {
        text
    }
}

/// Hundredths, whether decimals were written, and whether letters were taken for digits.
fn value(text: &str) -> Option<(i64, bool, bool)> {
    let real = text.bytes().filter(u8::is_ascii_digit).count();
    let mut repaired = false;
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        let digit = match letter {
            '0'..='9' | '.' | ',' | '\'' => letter,
            'o' => '0',
            'l' | 'i' | '|' => '1',
            's' => '5',
            'b' => '8',
            _ => return None,
        };
        repaired |= digit != letter;
        plain.push(digit);
    }
    let separators: Vec<usize> = plain.match_indices(['.', ',', '\'']).map(|(at, _)| at).collect();
    if repaired && (real * 2 < plain.len() - separators.len() || separators.is_empty()) {
        return None;
    }
    let (whole, decimals) = match separators.last() {
        Some(&last) if plain.len() - last == 3 => (&plain[..last], Some(&plain[last + 1..])),
        Some(&last) if plain.len() - last == 4 && !repaired => (plain.as_str(), None),
        None => (plain.as_str(), None),
        _ => return None,
    };
    let digits = whole_digits(whole, decimals.is_none())?;
    // Sums are not printed so; another digit was taken for a zero.
    repaired |= whole.len() > 1 && whole.starts_with('0');
    let cents: i64 = format!("{digits}{}", decimals.unwrap_or("00")).parse().ok()?;
    Some((cents, decimals.is_some(), repaired))
}

/// The digits of the part before the decimals. Groups have three digits, all but the first.
fn whole_digits(whole: &str, bare: bool) -> Option<String> {
    let mut groups = whole.split(['.', ',', '\'']);
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    if whole.is_empty() && !bare {
        return Some("0".to_owned());
    }
    let fits = if rest.is_empty() {
        first.len() <= WHOLE_DIGITS_MAX && !(bare && first.len() > 1 && first.starts_with('0'))
    } else {
        (1..=3).contains(&first.len()) && rest.iter().all(|group| group.len() == 3) && !(bare && first == "0")
    };
    let digits = format!("{first}{}", rest.concat());
    (fits && !digits.is_empty() && digits.len() <= WHOLE_DIGITS_MAX + 1).then_some(digits)
}
