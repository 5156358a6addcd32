//! Decodes a picture with limits and makes it upright. The size is judged from the header before any pixel is decoded. Must not
//! know what is recognized in it.

use std::io::Cursor;

use image::imageops::{overlay, thumbnail};
use image::{DynamicImage, GrayImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage, Rgba, RgbaImage};

use super::refusal::{PIXELS_MAX, Refusal};
use crate::reading::Page;

/// Memory of one decoder, with the picture, in bytes.
const MEMORY_MAX: u64 = 256 << 20;
/// A larger picture is made smaller before it is read. Text of a photo with more pixels is not read better.
const PIXELS_KEPT: u64 = 8_000_000;

/// The pixels of a picture as a person sees it: turned by its EXIF mark, on a white ground, and not larger than needed.
pub(super) fn decode(bytes: &[u8], format: ImageFormat) -> Result<RgbImage, Refusal> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| Refusal::DamagedPicture)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > PIXELS_MAX || decoder.total_bytes() > MEMORY_MAX {
        return Err(Refusal::TooManyPixels);
    }
    // A picture without the mark is upright.
    let orientation = decoder.orientation().ok();
    let picture = DynamicImage::from_decoder(decoder).map_err(|_| Refusal::DamagedPicture)?;
    let mut picture = smaller(picture);
    orientation.into_iter().for_each(|orientation| picture.apply_orientation(orientation));
    Ok(match picture {
        DynamicImage::ImageRgb8(pixels) => pixels,
        picture if picture.color().has_alpha() => on_white(&picture),
        picture => picture.into_rgb8(),
    })
}

/// The picture with at most `PIXELS_KEPT` pixels.
fn smaller(picture: DynamicImage) -> DynamicImage {
    let (width, height) = (picture.width(), picture.height());
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= PIXELS_KEPT {
        return picture;
    }
    let factor = (PIXELS_KEPT as f64 / pixels as f64).sqrt();
    let side = |length: u32| ((f64::from(length) * factor) as u32).max(1);
    picture.thumbnail_exact(side(width), side(height))
}

/// The picture on a white ground.
fn on_white(picture: &DynamicImage) -> RgbImage {
    let mut ground = RgbaImage::from_pixel(picture.width(), picture.height(), Rgba([255; 4]));
    overlay(&mut ground, picture, 0, 0);
    DynamicImage::from(ground).into_rgb8()
}

/// A page without text that has the form of a picture.
pub(super) fn page(picture: &RgbImage) -> Page {
    Page { aspect: picture.width() as f32 / picture.height() as f32, ..Page::default() }
}

/// The picture in shades of gray, its longer side at most `longest` pixels.
pub(super) fn gray(picture: &RgbImage, longest: u32) -> GrayImage {
    let (width, height) = picture.dimensions();
    let long = width.max(height);
    if long <= longest {
        return image::imageops::grayscale(picture);
    }
    let side = |length: u32| (u64::from(length) * u64::from(longest) / u64::from(long)).max(1) as u32;
    image::imageops::grayscale(&thumbnail(picture, side(width), side(height)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(picture: DynamicImage) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, ImageFormat::Png).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn large_picture_is_made_smaller_and_clear_pixels_are_white() {
        let large = decode(&png(DynamicImage::new_luma8(5000, 4000)), ImageFormat::Png).unwrap();
        assert!(large.width() * large.height() <= PIXELS_KEPT as u32 && large.width() > 3000);
        let clear = decode(&png(DynamicImage::new_rgba8(3, 2)), ImageFormat::Png).unwrap();
        assert_eq!(clear.get_pixel(0, 0).0, [255, 255, 255]);
    }

    #[test]
    fn damaged_and_huge_pictures_are_refused() {
        assert_eq!(decode(b"\x89PNG\r\n\x1a\n", ImageFormat::Png), Err(Refusal::DamagedPicture));
        // The header of a GIF of 65,535 × 65,535 pixels.
        let huge =
            b"GIF89a\xff\xff\xff\xff\x80\0\0\0\0\0\xff\xff\xff\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0\x3b";
        assert_eq!(decode(huge, ImageFormat::Gif), Err(Refusal::TooManyPixels));
    }
}
