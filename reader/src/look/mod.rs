//! From the bytes of a file to a reading (contract 22). Starts the programs of Poppler for PDF files, and does nothing else outside
//! of itself. Must not know where files lie, nor what the text means.

mod bars;
mod codes;
mod gtin;
mod invoice;
mod ocr;
mod pdf;
mod photo;
mod picture;
mod plain;
mod refusal;
mod rows;
mod time;
mod turned;

pub use ocr::{DETECT_FILE, DamagedModel, ModelFiles, Models, RECOGNIZE_FILE};
pub use refusal::Refusal;
pub use time::HasTime;

use hearth_contract::media::{MediaType, Sniffer};
use image::ImageFormat;

use self::ocr::ReadPage;
use crate::reading::{Page, Reading, TextSource};

/// Text of a file that is read, in bytes, at most (contract 22).
pub const TEXT_BYTES_MAX: usize = 2 << 20;
/// Words of a file that are read, at most (contract 22). With their places they take about 80 bytes each beside their text.
pub const WORDS_MAX: usize = 60_000;

/// Reads a file. `models`: None means that they are not installed; the text of pictures is not read then.
pub fn read(bytes: &[u8], models: Option<&Models>) -> Result<Reading, Refusal> {
    read_within(bytes, models, &|_| true)
}

/// Reads a file. Lines of text in pixels, and the pixels of all pages but the first, are read while there is time. What was not read
/// makes the reading incomplete.
pub fn read_within(bytes: &[u8], models: Option<&Models>, has_time: HasTime<'_>) -> Result<Reading, Refusal> {
    let picture = |format| read_picture(bytes, format, models, has_time);
    let mut reading = match media_type(bytes) {
        MediaType::Jpeg => picture(ImageFormat::Jpeg),
        MediaType::Png => picture(ImageFormat::Png),
        MediaType::Webp => picture(ImageFormat::WebP),
        MediaType::Gif => picture(ImageFormat::Gif),
        MediaType::Pdf => pdf::read(bytes, models, has_time),
        MediaType::Text => read_text(bytes),
        MediaType::Other => Err(Refusal::UnknownType),
    }?;
    cut(&mut reading);
    Ok(reading)
}

/// Leaves out the words behind the first ones, when the file has more text than is read.
fn cut(reading: &mut Reading) {
    let (mut count, mut bytes, mut is_cut) = (0, 0, false);
    let mut is_over = |text: &str| {
        (count, bytes) = (count + 1, bytes + text.len() + 1);
        count > WORDS_MAX || bytes > TEXT_BYTES_MAX
    };
    for page in &mut reading.pages {
        for line in &mut page.lines {
            if let Some(end) = line.words.iter().position(|word| is_over(&word.text)) {
                line.words.truncate(end);
                is_cut = true;
            }
        }
        page.lines.retain(|line| !line.words.is_empty());
    }
    reading.is_cut |= is_cut;
}

/// The type of a file, by its bytes.
pub fn media_type(bytes: &[u8]) -> MediaType {
    let mut sniffer = Sniffer::default();
    sniffer.push(bytes);
    sniffer.finish()
}

fn read_picture(
    bytes: &[u8],
    format: ImageFormat,
    models: Option<&Models>,
    has_time: HasTime<'_>,
) -> Result<Reading, Refusal> {
    let picture = picture::decode(bytes, format)?;
    let codes = codes::codes(&picture, 0);
    let (page, text_source, is_cut) = match models {
        Some(models) => recognized(ocr::page(&picture, models, has_time)?),
        None => (picture::page(&picture), TextSource::NoModels, false),
    };
    Ok(Reading {
        pages: vec![page],
        codes,
        taken_on: photo::taken_on(bytes),
        look: Some(photo::hash(&picture)),
        text_source,
        is_cut,
        ..Reading::default()
    })
}

fn recognized(ReadPage { page, is_whole }: ReadPage) -> (Page, TextSource, bool) {
    let has_no_text = page.lines.is_empty() && is_whole;
    (page, if has_no_text { TextSource::None } else { TextSource::Recognized }, !is_whole)
}

fn read_text(bytes: &[u8]) -> Result<Reading, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::UnknownType)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = invoice::read(text);
    let text = found.as_ref().map_or(text, |found| &found.text);
    Ok(Reading {
        pages: vec![plain::page(&text[..text.floor_char_boundary(TEXT_BYTES_MAX)])],
        is_cut: text.len() > TEXT_BYTES_MAX,
        invoice: found.map(|found| found.invoice),
        text_source: TextSource::Stored,
        ..Reading::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_read_up_to_the_limits() {
        let words = |reading: &Reading| reading.pages[0].lines.iter().map(|line| line.words.len()).sum::<usize>();
        let short = read("Total: 9,30 €\n".as_bytes(), None).unwrap();
        assert!(short.is_complete() && words(&short) == 3);
        let many = read("a b c d e f g\n".repeat(20_000).as_bytes(), None).unwrap();
        assert!(!many.is_complete() && words(&many) == WORDS_MAX);
        let long = read(format!("{}\n", "é".repeat(499)).repeat(3_000).as_bytes(), None).unwrap();
        // The last word is cut off.
        assert!(!long.is_complete() && words(&long) == TEXT_BYTES_MAX / 999 + 1);
    }
}
