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
mod turned;

pub use ocr::{DETECT_FILE, DamagedModel, ModelFiles, Models, RECOGNIZE_FILE};
pub use photo::distance;
pub use refusal::{Refusal, TEXT_BYTES_MAX};

use hearth_contract::media::{MediaType, Sniffer};
use image::ImageFormat;

use crate::reading::{Page, Reading, TextSource};

/// Reads a file. `models`: None means that they are not installed; the text of pictures is not read then.
pub fn read(bytes: &[u8], models: Option<&Models>) -> Result<Reading, Refusal> {
    read_within(bytes, models, &|| true)
}

/// Reads a file. Scanned pages of a PDF are read while `has_time` says so; the first page is always read.
pub fn read_within(bytes: &[u8], models: Option<&Models>, has_time: &dyn Fn() -> bool) -> Result<Reading, Refusal> {
    let reading = match media_type(bytes) {
        MediaType::Jpeg => read_picture(bytes, ImageFormat::Jpeg, models),
        MediaType::Png => read_picture(bytes, ImageFormat::Png, models),
        MediaType::Webp => read_picture(bytes, ImageFormat::WebP, models),
        MediaType::Gif => read_picture(bytes, ImageFormat::Gif, models),
        MediaType::Pdf => pdf::read(bytes, models, has_time),
        MediaType::Text => read_text(bytes),
        MediaType::Other => Err(Refusal::UnknownType),
    }?;
    let words = reading.pages.iter().flat_map(|page| &page.lines).flat_map(|line| &line.words);
    if words.map(|word| word.text.len() + 1).sum::<usize>() > TEXT_BYTES_MAX {
        return Err(Refusal::TooMuchText);
    }
    Ok(reading)
}

/// The type of a file, by its bytes.
pub fn media_type(bytes: &[u8]) -> MediaType {
    let mut sniffer = Sniffer::default();
    sniffer.push(bytes);
    sniffer.finish()
}

fn read_picture(bytes: &[u8], format: ImageFormat, models: Option<&Models>) -> Result<Reading, Refusal> {
    let picture = picture::decode(bytes, format)?;
    let codes = codes::codes(&picture, 0);
    let (page, text_source) = match models {
        Some(models) => recognized(ocr::page(&picture, models)?),
        None => (picture::page(&picture), TextSource::NoModels),
    };
    Ok(Reading {
        pages: vec![page],
        codes,
        taken_on: photo::taken_on(bytes),
        look: Some(photo::hash(&picture)),
        text_source,
        ..Reading::default()
    })
}

fn recognized(page: Page) -> (Page, TextSource) {
    let source = if page.lines.is_empty() { TextSource::None } else { TextSource::Recognized };
    (page, source)
}

fn read_text(bytes: &[u8]) -> Result<Reading, Refusal> {
    let text = std::str::from_utf8(bytes).map_err(|_| Refusal::UnknownType)?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let found = invoice::read(text);
    let page = plain::page(found.as_ref().map_or(text, |found| &found.text))?;
    Ok(Reading {
        pages: vec![page],
        invoice: found.map(|found| found.invoice),
        text_source: TextSource::Stored,
        ..Reading::default()
    })
}
