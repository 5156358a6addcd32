//! Makes a small JPEG from the pixels of a picture, upright and without metadata. The size of the picture is judged from its
//! header before any pixel is decoded. Blocks. Must not know files, nor where small pictures are kept.

use std::io::{BufRead, Seek};

use hearth_contract::media::MediaType;
use image::codecs::jpeg::JpegEncoder;
use image::imageops::overlay;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits, RgbImage, Rgba, RgbaImage};

/// Pixels of a picture, at most (contract 21).
const PIXELS_MAX: u64 = 50_000_000;
/// Memory of one decoder, with the picture, in bytes.
const MEMORY_MAX: u64 = 256 << 20;
/// The small picture is at most so many times as high as wide.
const HEIGHT_MAX: u32 = 4;
/// The quality of a small picture, of 100.
const QUALITY: u8 = 80;

/// Why there is no small picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPicture {
    /// No picture can be made from files of this type, or its program is not installed.
    None,
    /// The picture is damaged or too large.
    Failed,
}

/// A JPEG of at most `width` pixels across. `bytes`: the whole file, from its begin.
pub fn small_jpeg(bytes: impl BufRead + Seek, media: MediaType, width: u32) -> Result<Vec<u8>, NoPicture> {
    let format = match media {
        MediaType::Jpeg => ImageFormat::Jpeg,
        MediaType::Png => ImageFormat::Png,
        MediaType::Webp => ImageFormat::WebP,
        MediaType::Gif => ImageFormat::Gif,
        MediaType::Pdf | MediaType::Text | MediaType::Other => return Err(NoPicture::None),
    };
    shrink(bytes, format, width)
}

fn shrink(bytes: impl BufRead + Seek, format: ImageFormat, width: u32) -> Result<Vec<u8>, NoPicture> {
    let mut reader = ImageReader::with_format(bytes, format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY_MAX);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|_| NoPicture::Failed)?;
    let (across, down) = decoder.dimensions();
    if u64::from(across) * u64::from(down) > PIXELS_MAX || decoder.total_bytes() > MEMORY_MAX {
        return Err(NoPicture::Failed);
    }
    // A picture without the mark is upright.
    let orientation = decoder.orientation().ok();
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|_| NoPicture::Failed)?;
    // The large picture is made small first: turning it would take as much memory again.
    let longest = width.saturating_mul(HEIGHT_MAX);
    if picture.width() > longest || picture.height() > longest {
        picture = picture.thumbnail(longest, longest);
    }
    orientation.into_iter().for_each(|orientation| picture.apply_orientation(orientation));
    if picture.width() > width || picture.height() > longest {
        picture = picture.thumbnail(width, longest);
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode_image(&on_white(&picture))
        .map_err(|_| NoPicture::Failed)?;
    Ok(jpeg)
}

/// The picture on a white ground: JPEG knows no transparent pixels.
fn on_white(picture: &DynamicImage) -> RgbImage {
    let mut ground = RgbaImage::from_pixel(picture.width(), picture.height(), Rgba([255; 4]));
    overlay(&mut ground, picture, 0, 0);
    DynamicImage::from(ground).into_rgb8()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::Rgb;

    use super::*;

    fn picture(across: u32, down: u32, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        // The upper half is red.
        let pixels =
            RgbImage::from_fn(across, down, |_, y| if y < down / 2 { Rgb([255, 0, 0]) } else { Rgb([0, 0, 255]) });
        DynamicImage::from(pixels).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn small(bytes: &[u8], media: MediaType) -> DynamicImage {
        let jpeg = small_jpeg(Cursor::new(bytes), media, 320).unwrap();
        image::load_from_memory_with_format(&jpeg, ImageFormat::Jpeg).unwrap()
    }

    #[test]
    fn each_format_becomes_a_small_jpeg() {
        for (format, media) in [
            (ImageFormat::Jpeg, MediaType::Jpeg),
            (ImageFormat::Png, MediaType::Png),
            (ImageFormat::WebP, MediaType::Webp),
            (ImageFormat::Gif, MediaType::Gif),
        ] {
            let picture = small(&picture(1000, 500, format), media);
            assert_eq!((picture.width(), picture.height()), (320, 160), "{media:?}");
        }
        let tiny = small(&picture(20, 10, ImageFormat::Png), MediaType::Png);
        assert_eq!((tiny.width(), tiny.height()), (20, 10), "a small picture stays");
        let tower = small(&picture(10, 20_000, ImageFormat::Png), MediaType::Png);
        assert_eq!(tower.height(), 1280);
    }

    #[test]
    fn turned_photo_is_made_upright_and_loses_its_metadata() {
        let photo = picture(1000, 500, ImageFormat::Jpeg);
        // EXIF with the mark 6: the upper edge of the scene is at the right.
        let mut exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0".to_vec();
        exif.extend(b"GPS 51.05N");
        let mut marked = photo[..2].to_vec();
        marked.extend([0xff, 0xe1]);
        marked.extend(((exif.len() + 2) as u16).to_be_bytes());
        marked.extend(&exif);
        marked.extend(&photo[2..]);
        let upright = small(&marked, MediaType::Jpeg);
        assert_eq!((upright.width(), upright.height()), (320, 640));
        let [red, _, blue] = upright.to_rgb8().get_pixel(300, 320).0;
        assert!(red > 200 && blue < 50, "red at the right");
        let jpeg = small_jpeg(Cursor::new(&marked), MediaType::Jpeg, 320).unwrap();
        assert!(!jpeg.windows(4).any(|bytes| bytes == b"Exif" || bytes == b"GPS "));
    }

    #[test]
    fn bomb_of_pixels_is_refused_by_its_header() {
        // A PNG of 100 000 × 10 000 pixels, in 57 bytes.
        let mut bomb = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8], body: &[u8]| {
            bomb.extend((body.len() as u32).to_be_bytes());
            let named = [name, body].concat();
            bomb.extend(&named);
            bomb.extend(crc(&named).to_be_bytes());
        };
        let size = [100_000_u32.to_be_bytes(), 10_000_u32.to_be_bytes()].concat();
        chunk(b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat());
        chunk(b"IDAT", &[]);
        chunk(b"IEND", &[]);
        assert_eq!(small_jpeg(Cursor::new(&bomb), MediaType::Png, 320), Err(NoPicture::Failed));
        assert_eq!(small_jpeg(Cursor::new(b"\xff\xd8\xff damaged"), MediaType::Jpeg, 320), Err(NoPicture::Failed));
        assert_eq!(small_jpeg(Cursor::new(b"text"), MediaType::Text, 320), Err(NoPicture::None));
    }

    /// The checksum of a chunk of a PNG.
    fn crc(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(!0_u32, |sum, byte| {
            (0..8).fold(sum ^ u32::from(*byte), |sum, _| if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 })
        })
    }
}
