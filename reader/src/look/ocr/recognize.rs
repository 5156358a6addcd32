//! Reads one line of text: its words, how sure each is, and where in the line it stands. Must not know where the line stands.

use image::RgbImage;
use image::imageops::overlay;
use rten_tensor::prelude::*;

use super::detect::tensor;
use super::models::Models;
use crate::look::refusal::Refusal;

/// The width of the picture of a line, at least. The model was taught with lines of this width; the rest is gray.
const WIDTH_MIN: u32 = 160;
/// The gray beside a short line. It is 0 for the model.
const GRAY: image::Rgb<u8> = image::Rgb([127, 127, 127]);

/// The model leaves out some spaces. Characters that are so many usual distances apart are two words.
const WORD_GAP: f32 = 1.8;
/// And so many places of the model, whose places are coarse.
const WORD_GAP_PLACES: f32 = 3.0;

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
    Ok(words(&characters, width as f32 / (places * cut.width() as usize) as f32))
}

fn best(values: impl Iterator<Item = f32>) -> (usize, f32) {
    values.enumerate().fold((0, f32::MIN), |best, next| if next.1 > best.1 { next } else { best })
}

/// The words of a line. `step`: the distance of two places of the model, as a part of the length of the line.
fn words(characters: &[Character<'_>], step: f32) -> ReadLine {
    if characters.is_empty() {
        return ReadLine::default();
    }
    let pitch = pitch(characters);
    let gap = (pitch * WORD_GAP).max(step * (WORD_GAP_PLACES - 0.5));
    let parts = characters.split(|character| character.text.trim().is_empty());
    let words = parts.flat_map(|part| part.chunk_by(|a, b| b.place - a.place < gap)).filter(|word| !word.is_empty());
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

/// The usual distance of two characters: the mean of the distances without the wide ones.
fn pitch(characters: &[Character<'_>]) -> f32 {
    let mut distances: Vec<f32> = characters.windows(2).map(|pair| pair[1].place - pair[0].place).collect();
    distances.sort_by(f32::total_cmp);
    let Some(middle) = distances.get(distances.len() / 2) else { return 1.0 };
    let usual: Vec<f32> = distances.iter().copied().filter(|distance| *distance <= middle * WORD_GAP).collect();
    usual.iter().sum::<f32>() / usual.len().max(1) as f32
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
        let line = words(&characters, 0.02);
        let texts: Vec<&str> = line.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["16,5", "€"]);
        let (from, to) = line.words[0].range;
        assert!((from - 0.05).abs() < 0.01 && (to - 0.45).abs() < 0.01);
        assert!((line.score - 0.9).abs() < 0.01);
        assert!(words(&[], 0.02).words.is_empty());
        // A date and a time without the space between.
        let places = [0.1, 0.2, 0.3, 0.5, 0.6];
        let text = ["0", "1", "8", "1", "5"];
        let characters: Vec<Character<'_>> =
            text.iter().zip(places).map(|(text, place)| Character { text, place, score: 0.9 }).collect();
        let texts: Vec<String> = words(&characters, 0.02).words.into_iter().map(|word| word.text).collect();
        assert_eq!(texts, ["018", "15"]);
    }
}
