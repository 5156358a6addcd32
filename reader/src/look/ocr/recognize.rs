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

/// How likely a space is between two characters that are two words. The model was taught with few spaces and is shy with them: of
/// the spaces that a person reads in receipts it writes 95 %. This rule finds 98 %, and one wrong space for a hundred of them.
const SPACE_MIN: f32 = 0.1;

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

/// A character that was read.
struct Character<'a> {
    /// A space is empty.
    text: &'a str,
    /// Its place in the line, as a part of its length.
    place: f32,
    /// How sure it is, 0 to 1.
    score: f32,
    /// How likely a space stands before it, 0 to 1.
    space: f32,
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
    let (mut before, mut space) = (0, 0.0_f32);
    for place in 0..places {
        let (class, score) = best(view.slice(place).iter().copied());
        space = space.max(models.space().map_or(0.0, |class| view[[place, class]]));
        // An equal class in the next place is the same character.
        if class != before
            && let Some(text) = models.character(class)
        {
            let place = (place as f32 + 0.5) / places as f32 * width as f32 / cut.width() as f32;
            let text = text.trim();
            characters.push(Character { text, place: place.min(1.0), score, space });
            if !text.is_empty() {
                space = 0.0;
            }
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
    let parts = characters.split(|character| character.text.is_empty());
    let words = parts.flat_map(|part| part.chunk_by(|_, next| next.space < SPACE_MIN)).filter(|word| !word.is_empty());
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

/// The usual distance of two characters.
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

    fn characters<'a>(text: &[&'a str], spaces: &[f32]) -> Vec<Character<'a>> {
        let one = |(at, (text, space)): (usize, (&&'a str, &f32))| {
            let place = 0.1 + 0.1 * at as f32;
            Character { text, place, score: 0.9, space: *space }
        };
        text.iter().zip(spaces).enumerate().map(one).collect()
    }

    #[test]
    fn characters_become_words_with_places() {
        let line = words(&characters(&["1", "6", "，", "5", "", "€"], &[0.0, 0.0, 0.0, 0.02, 0.9, 0.9]));
        let texts: Vec<&str> = line.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["16,5", "€"]);
        let (from, to) = line.words[0].range;
        assert!((from - 0.05).abs() < 0.01 && (to - 0.45).abs() < 0.01);
        assert!((line.score - 0.9).abs() < 0.01);
        assert!(words(&[]).words.is_empty());
    }

    #[test]
    fn likely_space_that_the_model_left_out_parts_words() {
        let line = words(&characters(&["0", "1", "8", "1", "5"], &[0.0, 0.0, 0.04, 0.3, 0.0]));
        let texts: Vec<&str> = line.words.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["018", "15"]);
    }
}
