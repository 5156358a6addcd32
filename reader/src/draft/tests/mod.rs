//! Tests of drafts on texts of real layouts. A text becomes a reading whose words stand where the letters stand.

mod misleading;
mod noise;
mod papers;
mod plates;
mod receipts;
mod speed;

use serde_json::Value;

use super::{Confidence, Draft, FileReading, Known, smart_add};
use crate::reading::{Area, Line, Page, Reading, TextSource, Word};

/// The width of a page in letters.
const COLUMNS: f32 = 100.0;

/// A file with a text. Each line is a row of words.
fn file(name: &str, text: &str) -> FileReading {
    let count = text.lines().count().max(1) as f32;
    let lines =
        text.lines().enumerate().map(|(row, line)| Line { words: words(line, row as f32 / count, 0.8 / count) });
    let page = Page { aspect: 0.7, lines: lines.filter(|line| !line.words.is_empty()).collect(), ..Page::default() };
    let reading = Reading { pages: vec![page], text_source: TextSource::Recognized, ..Reading::default() };
    FileReading { sha256: "ab".repeat(32), name: Some(format!("{name}.jpg")), reading }
}

fn words(line: &str, y: f32, h: f32) -> Vec<Word> {
    let mut words = Vec::new();
    let mut column = 0;
    for part in line.split(' ') {
        let letters = part.chars().count();
        if letters > 0 {
            let area = Area { x: column as f32 / COLUMNS, y, w: letters as f32 / COLUMNS, h };
            words.push(Word { text: part.to_owned(), area, score: 0.98 });
        }
        column += letters + 1;
    }
    words
}

/// Turns the photo of a file to the right by a quarter; the lines stay in the order of reading.
fn turned(mut file: FileReading) -> FileReading {
    for page in &mut file.reading.pages {
        page.aspect = 1.0 / page.aspect;
        for word in page.lines.iter_mut().flat_map(|line| &mut line.words) {
            let Area { x, y, w, h } = word.area;
            word.area = Area { x: 1.0 - y - h, y: x, w: h, h: w };
        }
    }
    file
}

/// The draft of one kind of one text, in a home that knows nothing.
fn draft(text: &str, kind: &str) -> Draft {
    draft_of(file("file", text), kind)
}

fn draft_of(file: FileReading, kind: &str) -> Draft {
    let text: Vec<String> = file.reading.texts().collect();
    let drafts = smart_add(&[file], &Known::default());
    drafts.into_iter().find(|draft| draft.kind == kind).unwrap_or_else(|| panic!("no {kind} for:\n{}", text.join("\n")))
}

/// The text of a field, or `-`.
fn field<'d>(draft: &'d Draft, name: &str) -> &'d str {
    draft.fields.get(name).and_then(Value::as_str).unwrap_or("-")
}

/// How sure a field is, as a word.
fn sure(draft: &Draft, name: &str) -> &'static str {
    match draft.evidence.get(name).map(|evidence| evidence.confidence) {
        Some(Confidence::Certain) => "certain",
        Some(Confidence::Likely) => "likely",
        Some(Confidence::Guess) => "guess",
        None => "-",
    }
}
