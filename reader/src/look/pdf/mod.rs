//! Reads a PDF: its own text with exact places, text recognized in scanned pages, codes of the first pages, and an attached
//! electronic invoice. Must not know what the text means.

mod attached;
mod places;
mod poppler;

use super::codes;
use super::ocr::{self, Models, ReadPage};
use super::refusal::{PAGES_MAX, Refusal};
use super::time::{HasTime, PAGE_TIME};
use crate::reading::{Page, Reading, TextSource};

/// A page with fewer words of its own may be a scan: its pixels are read too.
const WORDS_MIN: usize = 5;
/// Codes are searched on the first pages. A page takes about a second.
const PAGES_WITH_CODES: usize = 2;

/// Reads a PDF. The pixels of the first page are always looked at, those of others while there is time. Lines in pixels are read while
/// there is time.
pub(super) fn read(pdf: &[u8], models: Option<&Models>, has_time: HasTime<'_>) -> Result<Reading, Refusal> {
    let pages = places::pages(&poppler::places(pdf)?)?;
    if pages.is_empty() {
        return Err(Refusal::DamagedPdf);
    }
    if pages.len() > PAGES_MAX {
        return Err(Refusal::TooManyPages);
    }
    let mut reading = Reading { pages, invoice: attached::invoice(pdf), ..Reading::default() };
    let mut source =
        if reading.pages.iter().any(|page| words(page) > 0) { TextSource::Stored } else { TextSource::None };
    for index in 0..reading.pages.len() {
        let is_scan = words(&reading.pages[index]) < WORDS_MIN;
        if !is_scan && index >= PAGES_WITH_CODES {
            continue;
        }
        if index > 0 && !has_time(PAGE_TIME) {
            reading.unread_pages += usize::from(is_scan);
            continue;
        }
        // A page that cannot be drawn has no pixels to read.
        let Ok(pixels) = poppler::pixels(pdf, index + 1) else { continue };
        if index < PAGES_WITH_CODES {
            reading.codes.extend(codes::codes(&pixels, index));
        }
        match models {
            Some(models) if is_scan => {
                let ReadPage { page, is_whole } = ocr::page(&pixels, models, has_time)?;
                reading.is_cut |= !is_whole;
                if words(&page) > words(&reading.pages[index]) {
                    reading.pages[index] = page;
                    source = TextSource::Recognized;
                }
            }
            None if is_scan && source == TextSource::None => source = TextSource::NoModels,
            _ => {}
        }
    }
    reading.text_source = source;
    Ok(reading)
}

fn words(page: &Page) -> usize {
    page.lines.iter().map(|line| line.words.len()).sum()
}
