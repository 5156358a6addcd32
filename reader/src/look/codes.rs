//! Finds bar codes and matrix codes in a picture (contract 22). A picture is tried at several sizes, because each size blurs or
//! sharpens other codes. Must not know what a code names.

use std::collections::HashSet;

use image::imageops::{FilterType, resize, thumbnail};
use image::{GrayImage, RgbImage};
use rxing::helpers::detect_multiple_in_luma_with_hints;
use rxing::{BarcodeFormat, DecodeHints, RXingResult};

use super::gtin::{has_check_digit, widened};
use super::turned::Turned;
use super::{bars, picture};
use crate::reading::{Area, Code, CodeFormat};

/// The longer side of the picture, in pixels, at most. Other sizes are parts of it.
const SIDE_MAX: u32 = 1600;
/// The sizes that are always tried.
const SIZES: [f32; 2] = [1.0, 0.6];
/// The sizes that are tried while nothing is sure. A code that fills the picture is found at a small size, a tiny one at a large.
const MORE_SIZES: [f32; 4] = [1.5, 0.8, 0.4, 0.25];
/// Bars are read up to about 15 degrees askew, also when they stand on their side. These angles, in degrees, are tried while nothing
/// was found.
const ANGLES: [f32; 2] = [30.0, 60.0];
/// A number in lines that so many sizes agree on is proved; its check digit alone is wrong once in ten misreadings.
const PROVING: usize = 2;
/// Short numbers are misread more often.
const PROVING_SHORT: usize = 3;
/// Codes of a picture, at most.
const CODES_MAX: usize = 32;
/// Bytes of the text of a code, at most. A QR code has at most 2,953.
const TEXT_MAX: usize = 4096;
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
    for angle in ANGLES {
        if found.iter().any(|found| found.strength != Strength::Weak || found.count >= PROVING) {
            break;
        }
        add_turned(&mut found, &gray, angle, page);
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
    let sized =
        if size < 1.0 { thumbnail(gray, width, height) } else { resize(gray, width, height, FilterType::Triangle) };
    let scale = (gray.width() as f32 / width as f32, gray.height() as f32 / height as f32);
    add_read(found, gray, &read(sized), page, |(x, y)| (x * scale.0, y * scale.1));
}

/// Adds what is found in the picture after it was turned by an angle in degrees.
fn add_turned(found: &mut Vec<Found>, gray: &GrayImage, angle: f32, page: usize) {
    let mut turned = Turned::of(gray, angle.to_radians());
    let codes = read(std::mem::take(&mut turned.picture));
    add_read(found, gray, &codes, page, |point| turned.back(point));
}

/// What the library reads in a picture.
fn read(gray: GrayImage) -> Vec<RXingResult> {
    let (width, height) = gray.dimensions();
    // The library is given pictures by strangers: a fault in it must not cost the text.
    let read = std::panic::catch_unwind(move || {
        let mut hints = DecodeHints { TryHarder: Some(true), AlsoInverted: Some(true), ..DecodeHints::default() };
        hints.PossibleFormats = Some(HashSet::from(FORMATS));
        detect_multiple_in_luma_with_hints(gray.into_raw(), width, height, &mut hints).unwrap_or_default()
    });
    read.unwrap_or_default()
}

/// Adds what the library has read. `back`: the pixel of `gray` that a point of the library stands for.
fn add_read(
    found: &mut Vec<Found>,
    gray: &GrayImage,
    read: &[RXingResult],
    page: usize,
    back: impl Fn((f32, f32)) -> (f32, f32),
) {
    let mut seen = HashSet::new();
    for (read, (mut code, strength)) in read.iter().filter_map(|read| Some((read, code(read, page)?))) {
        if !seen.insert(code.text.clone()) {
            continue;
        }
        match found.iter_mut().find(|known| known.code.text == code.text && known.code.format == code.format) {
            Some(known) => known.count += 1,
            None => {
                let points: Vec<_> = read.getPoints().iter().map(|point| back((point.x, point.y))).collect();
                code.area = area(gray, read.getBarcodeFormat(), &points);
                found.push(Found { code, strength, count: 1 });
            }
        }
    }
}

/// The code without its area, and how much its reading proves. None: a format that is not asked for, or a wrong check digit.
fn code(read: &RXingResult, page: usize) -> Option<(Code, Strength)> {
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
    let area = Area::default();
    let is_text = !text.is_empty() && text.len() <= TEXT_MAX;
    (is_right && is_text).then_some((Code { format, text, page, area, proved }, strength))
}

/// The area of a code, from the points that the library found in it, in pixels of `gray`.
fn area(gray: &GrayImage, format: &BarcodeFormat, points: &[(f32, f32)]) -> Area {
    let (width, height) = (gray.width() as f32, gray.height() as f32);
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Area::default() };
    let is_matrix = matches!(format, BarcodeFormat::QR_CODE | BarcodeFormat::DATA_MATRIX);
    let corners: Vec<(f32, f32)> = if is_matrix {
        let side = points.iter().map(|point| (point.0 - first.0).abs().max((point.1 - first.1).abs()));
        let grow = side.fold(0.0, f32::max) * MATRIX_MARGIN;
        points.iter().flat_map(|(x, y)| [(x - grow, y - grow), (x + grow, y + grow)]).collect()
    } else {
        bars::corners(gray, *first, *last).to_vec()
    };
    Area::around(corners.into_iter().map(|(x, y)| (x / width, y / height)))
}
