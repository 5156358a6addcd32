//! Reads one line of text: its words, how sure each is, and where in the line it stands. Must not know where the line stands.

use image::RgbImage;
use image::imageops::overlay;
use rten_tensor::prelude::*;

use super::Models;
use super::detect::tensor;
use crate::look::Refusal;

/// The width of the picture of a line, at least. The model was taught with lines of this width; the rest is gray.
const WIDTH_MIN: u32 = 160;
/// The gray beside a short line. It is 0 for the model.
const GRAY: image::Rgb<u8> = image::Rgb([127, 127, 127]);

/// One line as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadLine {
    /// From left to right.
    pub(super) words: Vec<ReadWord>,
    /// How sure the whole line is, 0 to 1.
    pub(super) score: f32,
}

/// One word of a line.
#[derive(Clone, Debug)]
pub(super) struct ReadWord {
    /// Without spaces.
    pub(super) text: String,
    /// Where it begins and ends, as parts of the length of the line.
    pub(super) range: (f32, f32),
    /// How sure it is, 0 to 1.
    pub(super) score: f32,
}

/// A character, its place in the line as a part of its length, and how sure it is.
struct Character<'a> {
    text: &'a str,
    place: f32,
    score: f32,
}

/// Reads a line that was cut out.
pub(super) fn line(cut: &RgbImage, models: &Models) -> Result<ReadLine, Refusal> {
    let width = cut.width().max(WIDTH_MIN);
    let values = if cut.width() < width {
        let mut wide = RgbImage::from_pixel(width, cut.height(), GRAY);
        overlay(&mut wide, cut, 0, 0);
        models.recognize(tensor(&wide))?
    } else {
        models.recognize(tensor(cut))?
    };
    let [places, _] = values.shape();
    let view = values.view();
    let mut characters = Vec::new();
    let mut before = 0;
    for place in 0..places {
        let (class, score) = best(view.slice(place).iter().copied());
        // An equal class in the next place is the same character.
        if class != before
            && let Some(text) = models.character(class)
        {
            let place = (place as f32 + 0.5) / places as f32 * width as f32 / cut.width() as f32;
            characters.push(Character { text, place: place.min(1.0), score });
        }
        before = class;
    }
    Ok(words(&characters))
}

fn best(values: impl Iterator<Item = f32>) -> (usize, f32) {
    values.enumerate().fold((0, f32::MIN), |best, next| if next.1 > best.1 { next } else { best })
}

/// The words of a line.
fn words(characters: &[Character<'_>]) -> ReadLine {
    if characters.is_empty() {
        return ReadLine::default();
    }
    let pitch = pitch(characters);
    let words = characters.split(|character| character.text.trim().is_empty()).filter(|word| !word.is_empty());
    let words = words.map(|word| ReadWord {
        text: word.iter().map(|character| plain(character.text)).collect(),
        range: (
            (word.first().map_or(0.0, |first| first.place) - pitch / 2.0).max(0.0),
            (word.last().map_or(1.0, |last| last.place) + pitch / 2.0).min(1.0),
        ),
        score: mean(word),
    });
    ReadLine { words: words.collect(), score: mean(characters) }
}

fn mean(characters: &[Character<'_>]) -> f32 {
    characters.iter().map(|character| character.score).sum::<f32>() / characters.len().max(1) as f32
}

/// The usual distance of two characters: the middle of all distances.
fn pitch(characters: &[Character<'_>]) -> f32 {
    let mut distances: Vec<f32> = characters.windows(2).map(|pair| pair[1].place - pair[0].place).collect();
    distances.sort_by(f32::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(1.0)
}

/// The usual form of a character. The model also knows the wide forms of Chinese print.
fn plain(text: &str) -> String {
    let usual = |character| match character {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(character as u32 - 0xfee0).unwrap_or(character),
        '\u{ffe5}' => '¥',
        '。' => '.',
        '、' => ',',
        character => character,
    };
    text.chars().map(usual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_become_words_with_places() {
        let text = ["1", "6", "，", "5", " ", "€"];
        let places = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        let characters: Vec<Character<'_>> =
            text.iter().zip(places).map(|(text, place)| Character { text, place, score: 0.9 }).collect();
        let line = words(&characters);
        let texts: Vec<&str> = line.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["16,5", "€"]);
        let (from, to) = line.words[0].range;
        assert!((from - 0.05).abs() < 0.01 && (to - 0.45).abs() < 0.01);
        assert!((line.score - 0.9).abs() < 0.01);
        assert!(words(&[]).words.is_empty());
    }
}
