//! Finds bar codes and matrix codes in a picture (contract 22). A picture is tried at several sizes, because each size blurs or
//! sharpens other codes. Must not know what a code names.

use std::collections::HashSet;

use image::imageops::{FilterType, resize, thumbnail};
use image::{GrayImage, RgbImage};
use rxing::helpers::detect_multiple_in_luma_with_hints;
use rxing::{BarcodeFormat, DecodeHints, RXingResult};

use super::picture;
use crate::reading::{Area, Code, CodeFormat};

/// The longer side of the picture, in pixels, at most. Other sizes are parts of it.
const SIDE_MAX: u32 = 1600;
/// The sizes that are always tried.
const SIZES: [f32; 2] = [1.0, 0.6];
/// The sizes that are tried while nothing is sure. A code that fills the picture is found at a small size, a tiny one at a large.
const MORE_SIZES: [f32; 4] = [1.5, 0.8, 0.4, 0.25];
/// A number in lines that so many sizes agree on is proved; its check digit alone is wrong once in ten misreadings.
const PROVING: usize = 2;
/// Short numbers are misread more often.
const PROVING_SHORT: usize = 3;
/// Codes of a picture, at most.
const CODES_MAX: usize = 32;
/// Bytes of the text of a code, at most. A QR code has at most 2,953.
const TEXT_MAX: usize = 4096;
/// A code of lines is drawn so high, as a part of its length.
const LINEAR_HEIGHT: f32 = 0.3;
/// The points of a matrix code are inside of it. Its area is larger by this part on each side.
const MATRIX_MARGIN: f32 = 0.15;

const FORMATS: [BarcodeFormat; 10] = [
    BarcodeFormat::EAN_13,
    BarcodeFormat::EAN_8,
    BarcodeFormat::UPC_A,
    BarcodeFormat::UPC_E,
    BarcodeFormat::CODE_128,
    BarcodeFormat::CODE_93,
    BarcodeFormat::CODE_39,
    BarcodeFormat::ITF,
    BarcodeFormat::QR_CODE,
    BarcodeFormat::DATA_MATRIX,
];

/// How much one reading of a code proves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// Error correction or a checksum over all characters.
    Full,
    /// A check digit.
    Digit,
    /// So weak that print without codes is taken for one now and then. Two sizes must agree.
    Weak,
}

/// A code, and at how many sizes it was found.
struct Found {
    code: Code,
    strength: Strength,
    count: usize,
}

/// The codes of a picture. `page`: the number of its page.
pub(super) fn codes(picture: &RgbImage, page: usize) -> Vec<Code> {
    let gray = picture::gray(picture, SIDE_MAX);
    let mut found: Vec<Found> = Vec::new();
    SIZES.iter().for_each(|size| add(&mut found, &gray, *size, page));
    for size in MORE_SIZES {
        if !found.is_empty() && found.iter().all(Found::is_sure) {
            break;
        }
        add(&mut found, &gray, size, page);
    }
    found.retain(|found| found.strength != Strength::Weak || found.count >= PROVING);
    without_rivals(found).into_iter().map(Found::judged).take(CODES_MAX).collect()
}

impl Found {
    fn is_sure(&self) -> bool {
        match self.strength {
            Strength::Full => true,
            Strength::Digit => self.count >= PROVING,
            Strength::Weak => self.count >= PROVING_SHORT,
        }
    }

    /// The code; whether it is proved was open until all sizes were tried.
    fn judged(self) -> Code {
        let proved = self.code.proved && self.is_sure();
        Code { proved, ..self.code }
    }
}

/// Of several numbers that were read in one place, the one that more sizes agree on, or else the longest.
fn without_rivals(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| std::cmp::Reverse((found.count, found.code.text.len())));
    let mut kept: Vec<Found> = Vec::new();
    for found in found {
        let is_rival = |other: &Found| other.strength != Strength::Full && touch(other.code.area, found.code.area);
        if found.strength == Strength::Full || !kept.iter().any(is_rival) {
            kept.push(found);
        }
    }
    kept
}

fn touch(a: Area, b: Area) -> bool {
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
}

/// Adds what is found at one size.
fn add(found: &mut Vec<Found>, gray: &GrayImage, size: f32, page: usize) {
    let side = |length: u32| ((length as f32 * size) as u32).max(1);
    let (width, height) = (side(gray.width()), side(gray.height()));
    let gray =
        if size < 1.0 { thumbnail(gray, width, height) } else { resize(gray, width, height, FilterType::Triangle) };
    // The library is given pictures by strangers: a fault in it must not cost the text.
    let read = std::panic::catch_unwind(move || {
        let mut hints = DecodeHints { TryHarder: Some(true), AlsoInverted: Some(true), ..DecodeHints::default() };
        hints.PossibleFormats = Some(HashSet::from(FORMATS));
        detect_multiple_in_luma_with_hints(gray.into_raw(), width, height, &mut hints).unwrap_or_default()
    });
    let mut seen = HashSet::new();
    for (code, strength) in read.unwrap_or_default().iter().filter_map(|read| code(read, page, (width, height))) {
        if !seen.insert(code.text.clone()) {
            continue;
        }
        match found.iter_mut().find(|known| known.code.text == code.text && known.code.format == code.format) {
            Some(known) => known.count += 1,
            None => found.push(Found { code, strength, count: 1 }),
        }
    }
}

/// The code, and how much its reading proves. None: a format that is not asked for, or a wrong check digit.
fn code(read: &RXingResult, page: usize, size: (u32, u32)) -> Option<(Code, Strength)> {
    let text = read.getText().trim();
    let (format, text, strength) = match read.getBarcodeFormat() {
        BarcodeFormat::EAN_13 => (CodeFormat::Gtin, text.to_owned(), Strength::Digit),
        BarcodeFormat::UPC_A => (CodeFormat::Gtin, format!("0{text}"), Strength::Digit),
        BarcodeFormat::EAN_8 | BarcodeFormat::UPC_E => (CodeFormat::Gtin, text.to_owned(), Strength::Weak),
        BarcodeFormat::QR_CODE => (CodeFormat::Qr, text.to_owned(), Strength::Full),
        BarcodeFormat::DATA_MATRIX => (CodeFormat::DataMatrix, text.to_owned(), Strength::Full),
        BarcodeFormat::CODE_128 | BarcodeFormat::CODE_93 => (CodeFormat::Linear, text.to_owned(), Strength::Full),
        BarcodeFormat::CODE_39 | BarcodeFormat::ITF => (CodeFormat::Linear, text.to_owned(), Strength::Weak),
        _ => return None,
    };
    let is_right = match read.getBarcodeFormat() {
        BarcodeFormat::UPC_E => has_check_digit(&widened(&text)?),
        BarcodeFormat::EAN_13 | BarcodeFormat::UPC_A | BarcodeFormat::EAN_8 => has_check_digit(&text),
        _ => true,
    };
    let proved = !matches!(read.getBarcodeFormat(), BarcodeFormat::CODE_39 | BarcodeFormat::ITF);
    let area = area(read, size);
    let is_text = !text.is_empty() && text.len() <= TEXT_MAX;
    (is_right && is_text).then_some((Code { format, text, page, area, proved }, strength))
}

/// Whether the last digit is the check digit of a GTIN: digits times 3 and 1 in turns give a multiple of 10.
fn has_check_digit(digits: &str) -> bool {
    let values = digits.bytes().rev().enumerate().map(|(index, digit)| {
        let weight = if index % 2 == 0 { 1 } else { 3 };
        u32::from(digit.wrapping_sub(b'0')) * weight
    });
    digits.bytes().all(|digit| digit.is_ascii_digit()) && values.sum::<u32>() % 10 == 0
}

/// The 12 digits of a UPC-E code, by the rule of GS1.
fn widened(text: &str) -> Option<String> {
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

/// The area of a code, from the points that the library found in it.
fn area(read: &RXingResult, (width, height): (u32, u32)) -> Area {
    let (width, height) = (width as f32, height as f32);
    let points: Vec<(f32, f32)> = read.getPoints().iter().map(|point| (point.x, point.y)).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Area::default() };
    let is_matrix = matches!(read.getBarcodeFormat(), BarcodeFormat::QR_CODE | BarcodeFormat::DATA_MATRIX);
    let grow = if is_matrix {
        let side = points.iter().map(|point| (point.0 - first.0).abs().max((point.1 - first.1).abs()));
        side.fold(0.0, f32::max) * MATRIX_MARGIN
    } else {
        (last.0 - first.0).hypot(last.1 - first.1) * LINEAR_HEIGHT / 2.0
    };
    let corners = points.iter().flat_map(|(x, y)| [(x - grow, y - grow), (x + grow, y + grow)]);
    Area::around(corners.map(|(x, y)| (x / width, y / height)))
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
