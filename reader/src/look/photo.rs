//! Facts of a photo beside its text: the day on which it was taken, and a hash by which pictures that look alike are found. Must
//! not know what it shows.

use std::io::Cursor;

use exif::{DateTime, Exif, In, Reader, Tag, Value};
use hearth_contract::formats::parse_date;
use image::RgbImage;
use image::imageops::{grayscale, thumbnail};

/// The hash compares neighbours in a picture of 9 × 8 pixels: 64 bits.
const HASH_SIZE: (u32, u32) = (9, 8);

/// The day on which a photo was taken, from its EXIF data. None: not stated, or no day.
pub(super) fn taken_on(bytes: &[u8]) -> Option<String> {
    let exif = Reader::new().read_from_container(&mut Cursor::new(bytes)).ok()?;
    [Tag::DateTimeOriginal, Tag::DateTimeDigitized].into_iter().find_map(|tag| day(&exif, tag))
}

fn day(exif: &Exif, tag: Tag) -> Option<String> {
    let Value::Ascii(texts) = &exif.get_field(tag, In::PRIMARY)?.value else { return None };
    let time = DateTime::from_ascii(texts.first()?).ok()?;
    let day = format!("{:04}-{:02}-{:02}", time.year, time.month, time.day);
    parse_date(&day).map(|_| day)
}

/// The hash of a picture as 16 hex digits: whether each pixel of a tiny copy is darker than the next one.
pub(super) fn hash(picture: &RgbImage) -> String {
    let (width, height) = HASH_SIZE;
    let tiny = grayscale(&thumbnail(picture, width, height));
    let bits = (0..height).flat_map(|y| (1..width).map(move |x| (x, y)));
    let hash = bits
        .fold(0_u64, |hash, (x, y)| hash << 1 | u64::from(tiny.get_pixel(x - 1, y).0[0] < tiny.get_pixel(x, y).0[0]));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use image::Rgb;

    use super::*;
    use crate::reading::{Reading, look_distance};

    #[test]
    fn pictures_that_look_alike_have_near_hashes() {
        let wave = |shift: u32, size: u32| {
            RgbImage::from_fn(size, size, |x, y| {
                let part = |at: u32| f64::from(at) / f64::from(size) * 9.0;
                let value = ((part(x) + f64::from(shift)).sin() * (part(y) * 0.7).cos() * 100.0 + 128.0) as u8;
                Rgb([value, value, value])
            })
        };
        let bits = |picture| Reading { look: Some(hash(&picture)), ..Reading::default() }.look_bits().unwrap();
        let (first, smaller, other) = (bits(wave(0, 600)), bits(wave(0, 311)), bits(wave(2, 600)));
        assert!(look_distance(first, smaller) <= 4, "{first:x} {smaller:x}");
        assert!(look_distance(first, other) > 15, "{first:x} {other:x}");
    }
}
