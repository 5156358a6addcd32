//! What was read in one file: text, codes, and facts, each with its place (contract 22). Plain data. Must not know how files are
//! decoded, nor what the text means.

use serde::{Deserialize, Serialize};

/// Bytes of a reading as JSON, at most: 2 MB of text, the places of some thousand words, and room for signs that JSON escapes. A reading
/// is bounded by its words before, so this stops a broken program only.
pub const JSON_BYTES_MAX: usize = 5 << 20;

/// All that was read in one file. The process `read-file` writes it as JSON to its standard output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The pages in order. A picture is one page.
    pub pages: Vec<Page>,
    /// Bar codes and matrix codes in the order of the pages.
    pub codes: Vec<Code>,
    /// The day on which a photo was taken, `YYYY-MM-DD`, from its EXIF data. None: not stated.
    pub taken_on: Option<String>,
    /// The fields of an electronic invoice inside of a PDF (ZUGFeRD, Factur-X, XRechnung). They are exact.
    pub invoice: Option<Invoice>,
    /// The perceptual hash of a picture: 64 bits as 16 hex digits. Pictures that look alike differ in few bits.
    pub look: Option<String>,
    /// Where the text comes from.
    pub text_source: TextSource,
    /// Scanned pages that were not read because the time was over. Their pages are without lines.
    #[serde(default)]
    pub unread_pages: usize,
    /// The text of each page behind its lines, where the places of further words were let go. Empty: all places are kept, or the
    /// reading was parsed without it: it may be much larger than all else. [`Reading::with_rest`] parses it too.
    #[serde(default, skip_deserializing)]
    pub rest: Vec<String>,
    /// The beginning of `rest`, at most [`MORE_BYTES_MAX`] bytes.
    #[serde(default)]
    pub more: String,
    /// Text was left out: the file has more text than is read, or there was no time for all of it. What comes after the first words is
    /// missing.
    #[serde(default)]
    pub is_cut: bool,
}

/// Bytes of `more` of a [`Reading`]: more than an index takes of a text.
const MORE_BYTES_MAX: usize = 64 << 10;

/// The text of a reading whose places were let go.
#[derive(Deserialize)]
struct Rest {
    #[serde(default)]
    rest: Vec<String>,
}

/// Where the text of a file comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// The file holds no text, and nothing in it can be recognized as text.
    #[default]
    None,
    /// The file holds the text itself.
    Stored,
    /// The text was recognized in pixels.
    Recognized,
    /// The file has pixels only, and the models that recognize text are not installed.
    NoModels,
}

/// One page or picture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// Width divided by height of the page as it is shown: a photo is turned by its EXIF mark, and not by its text. All areas
    /// belong to the page as it is shown.
    pub aspect: f32,
    /// How the shown page must be turned until its text is upright. Lines and words are in the order of the upright text.
    #[serde(default)]
    pub turn: Turn,
    /// The lines from top to bottom, each from left to right. Texts that stand side by side in a row are one line.
    pub lines: Vec<Line>,
}

/// How something must be turned until it is upright.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// Not at all.
    #[default]
    None,
    /// By a quarter, clockwise.
    Right,
    /// By a half.
    Over,
    /// By a quarter, counterclockwise.
    Left,
}

/// One line of text: its words from left to right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// At least one word.
    pub words: Vec<Word>,
}

/// A text without spaces, and its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Word {
    /// Not empty, no spaces.
    pub text: String,
    /// Where it stands on its page.
    pub area: Area,
    /// How sure the recognition is, 0 to 1. 1 where the file holds the text itself.
    pub score: f32,
}

/// A rectangle on a page, each number from 0 to 1: left edge, upper edge, width, height. In JSON `[x, y, w, h]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f32; 4]", into = "[f64; 4]")]
pub struct Area {
    /// Left edge, as a part of the width of the page.
    pub x: f32,
    /// Upper edge, as a part of the height of the page.
    pub y: f32,
    /// Width, as a part of the width of the page.
    pub w: f32,
    /// Height, as a part of the height of the page.
    pub h: f32,
}

/// A bar code or matrix code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// Which kind of code.
    pub format: CodeFormat,
    /// Its text. A GTIN has 13 digits, or 8 for EAN-8 and UPC-E.
    pub text: String,
    /// The number of its page, from 0.
    pub page: usize,
    /// Where it stands on its page.
    pub area: Area,
    /// The code has a check digit or error correction that proves what was read.
    pub proved: bool,
}

/// The kinds of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeFormat {
    /// A trade item number: EAN-13, UPC-A, EAN-8 or UPC-E.
    Gtin,
    /// QR code.
    Qr,
    /// Data Matrix.
    DataMatrix,
    /// Code 128, Code 39, ITF and other codes in lines that hold any text.
    Linear,
}

/// The fields of an electronic invoice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Invoice {
    /// The number of the invoice.
    pub number: Option<String>,
    /// The day of issue, `YYYY-MM-DD`.
    pub issued_on: Option<String>,
    /// The name of the seller.
    pub seller: Option<String>,
    /// The sum to pay with taxes, as a decimal such as `119.00`.
    pub total: Option<String>,
    /// The currency, such as `EUR`.
    pub currency: Option<String>,
    /// True for a credit note: the seller pays the sum back.
    #[serde(default)]
    pub is_credit: bool,
    /// The things bought.
    pub positions: Vec<Position>,
}

/// One position of an electronic invoice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The name of the thing.
    pub name: String,
    /// The price of one, without taxes, as a decimal.
    pub unit_price: Option<String>,
    /// How many, as a decimal.
    pub quantity: Option<String>,
    /// The trade item number, when stated.
    pub gtin: Option<String>,
}

impl Reading {
    /// Whether all text of the file was read: no page and no words were left out.
    pub fn is_complete(&self) -> bool {
        self.unread_pages == 0 && !self.is_cut
    }

    /// The bits of the perceptual hash. None: the file is no picture.
    pub fn look_bits(&self) -> Option<u64> {
        u64::from_str_radix(self.look.as_deref()?, 16).ok()
    }
}

/// In how many of 64 bits two perceptual hashes differ. Pictures with few such bits look alike.
pub fn look_distance(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

impl Area {
    /// The smallest rectangle around points, inside of the page.
    pub fn around(points: impl Iterator<Item = (f32, f32)>) -> Area {
        let start = (1.0_f32, 1.0_f32, 0.0_f32, 0.0_f32);
        let (left, upper, right, lower) = points.fold(start, |(left, upper, right, lower), (x, y)| {
            let (x, y) = (x.clamp(0.0, 1.0), y.clamp(0.0, 1.0));
            (left.min(x), upper.min(y), right.max(x), lower.max(y))
        });
        Area { x: left, y: upper, w: (right - left).max(0.0), h: (lower - upper).max(0.0) }
    }

    /// The area on the page after the page was turned.
    pub fn turned(self, turn: Turn) -> Area {
        let Area { x, y, w, h } = self;
        match turn {
            Turn::None => self,
            Turn::Right => Area { x: 1.0 - y - h, y: x, w: h, h: w },
            Turn::Over => Area { x: 1.0 - x - w, y: 1.0 - y - h, w, h },
            Turn::Left => Area { x: y, y: 1.0 - x - w, w: h, h: w },
        }
    }

    /// The smallest rectangle around both.
    pub fn union(self, other: Area) -> Area {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let (right, lower) = ((self.x + self.w).max(other.x + other.w), (self.y + self.h).max(other.y + other.h));
        Area { x, y, w: right - x, h: lower - y }
    }
}

impl Reading {
    /// Parses a reading with all of its text. Error: the JSON is malformed.
    pub fn with_rest(json: &[u8]) -> Result<Reading, serde_json::Error> {
        let reading: Reading = serde_json::from_slice(json)?;
        let Rest { rest } = serde_json::from_slice(json)?;
        Ok(Reading { rest, ..reading })
    }

    /// The text of each page.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        self.pages.iter().enumerate().map(|(at, page)| {
            let rest = self.rest.get(at).filter(|rest| !rest.is_empty());
            let lines = Some(page.text()).filter(|text| !text.is_empty());
            lines.into_iter().chain(rest.cloned()).collect::<Vec<_>>().join("\n")
        })
    }

    /// The text of all pages as far as it is known without `rest`, at most this number of bytes.
    pub fn beginning(&self, bytes_max: usize) -> String {
        let mut text = String::new();
        for line in self.pages.iter().flat_map(|page| &page.lines) {
            if text.len() >= bytes_max {
                break;
            }
            text += &line.text();
            text.push('\n');
        }
        text += &self.more;
        text.truncate(text.floor_char_boundary(bytes_max.min(text.trim_end().len())));
        text
    }

    /// Lets go of the places of all lines behind the first words: at most so many words, and so many bytes. Their text stays.
    pub fn limit_places(&mut self, words_max: usize, bytes_max: usize) {
        let (mut words, mut bytes) = (words_max, bytes_max);
        let mut rest = Vec::new();
        for page in &mut self.pages {
            let kept = page.lines.iter().take_while(|line| {
                let length: usize = line.words.iter().map(|word| word.text.len()).sum();
                let fits = line.words.len() <= words && length <= bytes;
                (words, bytes) = if fits { (words - line.words.len(), bytes - length) } else { (0, 0) };
                fits
            });
            let kept = kept.count();
            rest.push(page.lines.drain(kept..).map(|line| line.text()).collect::<Vec<_>>().join("\n"));
        }
        let texts = rest.iter().filter(|text| !text.is_empty());
        for text in texts {
            let room = MORE_BYTES_MAX.saturating_sub(self.more.len());
            self.more += &text[..text.floor_char_boundary(room)];
            self.more.push('\n');
        }
        if !self.more.is_empty() {
            self.rest = rest;
        }
    }
}

impl Line {
    /// The words with one space between.
    pub fn text(&self) -> String {
        self.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The rectangle around all words.
    pub fn area(&self) -> Area {
        self.words.iter().map(|word| word.area).reduce(Area::union).unwrap_or_default()
    }
}

impl Page {
    /// The lines, one text line each.
    pub fn text(&self) -> String {
        self.lines.iter().map(Line::text).collect::<Vec<_>>().join("\n")
    }
}

impl From<[f32; 4]> for Area {
    fn from([x, y, w, h]: [f32; 4]) -> Area {
        Area { x, y, w, h }
    }
}

impl From<Area> for [f64; 4] {
    fn from(area: Area) -> [f64; 4] {
        // Four digits are finer than any screen. A single-precision number would get more digits in a JSON value.
        [area.x, area.y, area.w, area.h].map(|part| (f64::from(part) * 10_000.0).round() / 10_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(lines: &[&str]) -> Page {
        let word = |text: &str| Word { text: text.to_owned(), ..Word::default() };
        let line = |text: &&str| Line { words: text.split(' ').map(word).collect() };
        Page { lines: lines.iter().map(line).collect(), ..Page::default() }
    }

    #[test]
    fn place_has_four_digits_as_a_json_value() {
        let area = Area { x: 0.0875, y: 0.25, w: 0.1, h: 1.0 / 7.0 };
        assert_eq!(serde_json::to_value(area).unwrap().to_string(), "[0.0875,0.25,0.1,0.1429]");
    }

    #[test]
    fn text_stays_without_its_places() {
        let whole = Reading { pages: vec![page(&["a b", "c d", "e"]), page(&["f"])], ..Reading::default() };
        // Each word has one letter.
        for (words, lines) in [(0, [0, 0]), (2, [1, 0]), (3, [1, 0]), (5, [3, 0]), (6, [3, 1])] {
            let mut short = whole.clone();
            short.limit_places(words, 100);
            let kept: Vec<usize> = short.pages.iter().map(|page| page.lines.len()).collect();
            assert_eq!((kept, short.texts().collect::<Vec<_>>()), (lines.to_vec(), whole.texts().collect()), "{words}");
            assert_eq!((short.beginning(9), short.beginning(5)), ("a b\nc d\ne".to_owned(), "a b\nc".to_owned()));
            assert_eq!(short.beginning(100), "a b\nc d\ne\nf");
            let json = serde_json::to_vec(&short).unwrap();
            assert_eq!(Reading::with_rest(&json).unwrap(), short);
            assert!(serde_json::from_slice::<Reading>(&json).unwrap().rest.is_empty());
            let mut long = whole.clone();
            long.limit_places(100, words);
            assert_eq!(long, short, "letters count as words do");
        }
    }
}
