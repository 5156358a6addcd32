//! The rows of a file as the rules of drafts read them: words in plain lower case, and letters without spaces for the search of
//! labels. Must not know what a word means.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::model::{Confidence, Evidence, FileReading, Source};
use crate::reading::{Area, Line, Word};

/// A space between two parts of one number is narrower than this many letters.
const SPACE_LETTERS: f32 = 1.5;

/// One row of text.
pub(super) struct Row<'r> {
    /// The number of the file, from 0.
    pub(super) file: usize,
    /// The number of the page in its file, from 0.
    pub(super) page: usize,
    /// Where the text of its page runs.
    direction: Direction,
    /// The words as read.
    pub(super) words: &'r [Word],
    /// The words in lower case, without accents, with one space between.
    pub(super) text: String,
    /// The first byte of each word in `text`.
    starts: Vec<usize>,
    /// The letters and digits alone.
    pub(super) compact: Compact,
}

/// Where the text of a page runs. Places are those of the photo, which may be turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Right,
    Left,
    Down,
    Up,
}

/// The letters and digits of a row without spaces: labels are found in it also where letters stand apart or words stick together.
#[derive(Default)]
pub(super) struct Compact {
    /// Letters in lower case, with `l` for `i`, and digits. Digits inside of words of letters are turned into the letters that look alike.
    pub(super) text: String,
    /// For each byte: the number of its word, and whether a word or a run of letters starts here.
    pub(super) marks: Vec<(u32, bool)>,
}

/// The rows of all pages of one file, from top to bottom.
pub(super) fn rows(file: usize, reading: &FileReading) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (page, content) in reading.reading.pages.iter().enumerate() {
        let direction = Direction::of(&content.lines);
        let lines = content.lines.iter().filter(|line| !line.words.is_empty());
        rows.extend(lines.map(|line| Row::new(file, page, direction, &line.words)));
    }
    rows
}

impl Direction {
    /// The direction from the first words of lines to their last words.
    fn of(lines: &[Line]) -> Direction {
        let (mut right, mut down) = (0.0, 0.0);
        for line in lines {
            if let [first, .., last] = line.words.as_slice() {
                right += last.area.x + last.area.w / 2.0 - first.area.x - first.area.w / 2.0;
                down += last.area.y + last.area.h / 2.0 - first.area.y - first.area.h / 2.0;
            }
        }
        match right.abs() >= down.abs() {
            true if right < 0.0 => Direction::Left,
            true => Direction::Right,
            false if down < 0.0 => Direction::Up,
            false => Direction::Down,
        }
    }
}

impl<'r> Row<'r> {
    fn new(file: usize, page: usize, direction: Direction, words: &'r [Word]) -> Row<'r> {
        let (mut text, mut starts, mut compact) = (String::new(), Vec::with_capacity(words.len()), Compact::default());
        for (at, word) in words.iter().enumerate() {
            if at > 0 {
                text.push(' ');
            }
            starts.push(text.len());
            fold_into(&word.text, &mut text);
            compact.push(at, &text[starts[at]..]);
        }
        Row { file, page, direction, words, text, starts, compact }
    }

    /// Where an area begins and ends along the text.
    pub(super) fn span(&self, area: Area) -> Range<f32> {
        match self.direction {
            Direction::Right => area.x..area.x + area.w,
            Direction::Left => -area.x - area.w..-area.x,
            Direction::Down => area.y..area.y + area.h,
            Direction::Up => -area.y - area.h..-area.y,
        }
    }

    /// The room between a word and the next, in letters of the word. None: the file states no places.
    pub(super) fn letters_to_next(&self, at: usize) -> Option<f32> {
        let (word, next) = (self.words.get(at)?, self.words.get(at + 1)?);
        if word.area.w <= 0.0 || next.area.w <= 0.0 {
            return None;
        }
        let place = self.span(word.area);
        let letter = (place.end - place.start) / word.text.chars().count().max(1) as f32;
        Some((self.span(next.area).start - place.end) / letter)
    }

    /// A word in lower case, without accents.
    pub(super) fn word(&self, at: usize) -> &str {
        let end = self.starts.get(at + 1).map_or(self.text.len(), |next| next - 1);
        &self.text[self.starts[at]..end]
    }

    /// The number of the word that holds a byte of `text`.
    pub(super) fn word_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The words from one to another, both included, as read.
    pub(super) fn raw(&self, from: usize, to: usize) -> String {
        self.words[from..=to].iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The rectangle around the words from one to another. None: the file states no places.
    pub(super) fn area(&self, from: usize, to: usize) -> Option<Area> {
        let all = self.words[from..=to].iter().map(|word| word.area).reduce(Area::union)?;
        (all.w > 0.0 && all.h > 0.0).then_some(all)
    }

    /// The lowest score of the words from one to another.
    pub(super) fn score(&self, from: usize, to: usize) -> f32 {
        self.words[from..=to].iter().map(|word| word.score).fold(1.0, f32::min)
    }

    /// Whether only a space lies between a word and the next. None: the file states no places.
    pub(super) fn is_near_next(&self, at: usize) -> Option<bool> {
        Some(self.letters_to_next(at)? < SPACE_LETTERS)
    }

    /// The evidence of a value that stands in the words from one to another.
    pub(super) fn evidence(&self, files: &[FileReading], from: usize, to: usize, confidence: Confidence) -> Evidence {
        Evidence {
            from: Source::Text,
            file: files.get(self.file).map(|file| file.sha256.clone()),
            page: self.page,
            area: self.area(from, to),
            text: self.raw(from, to),
            confidence,
            rivals: Vec::new(),
        }
    }
}

impl Compact {
    fn push(&mut self, word: usize, text: &str) {
        let letters = text.bytes().filter(u8::is_ascii_alphabetic).count();
        let digits = text.bytes().filter(u8::is_ascii_digit).count();
        let mut previous = b' ';
        for byte in text.bytes() {
            let byte = if letters > digits { letter_of_digit(byte) } else { byte };
            if byte.is_ascii_alphanumeric() {
                let starts = !previous.is_ascii_alphanumeric() || previous.is_ascii_digit() != byte.is_ascii_digit();
                self.text.push(char::from(compact_letter(byte)));
                self.marks.push((u32::try_from(word).unwrap_or(u32::MAX), starts));
            }
            previous = byte;
        }
    }
}

/// `i` and `l` are one letter: recognition takes one for the other.
pub(super) fn compact_letter(byte: u8) -> u8 {
    if byte == b'i' { b'l' } else { byte }
}

/// The letter that a digit looks like.
fn letter_of_digit(byte: u8) -> u8 {
    match byte {
        b'0' => b'o',
        b'1' => b'l',
        b'5' => b's',
        b'8' => b'b',
        other => other,
    }
}

/// Lower case, without accents and spaces. Letters of other scripts stay.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_into(text, &mut folded);
    folded
}

fn fold_into(text: &str, folded: &mut String) {
    if text.is_ascii() {
        folded.extend(text.chars().map(|letter| letter.to_ascii_lowercase()));
        return;
    }
    for letter in text.nfkd().filter(|letter| !is_combining_mark(*letter) && !letter.is_whitespace()) {
        match letter {
            'ß' => folded.push_str("ss"),
            'ø' | 'Ø' => folded.push('o'),
            'ł' | 'Ł' => folded.push('l'),
            'æ' | 'Æ' => folded.push_str("ae"),
            'œ' | 'Œ' => folded.push_str("oe"),
            '−' | '–' | '—' | '‐' | '‑' => folded.push('-'),
            '’' | '‘' | '´' | '`' => folded.push('\''),
            other => folded.extend(other.to_lowercase()),
        }
    }
}
