//! Recognizes text in pixels: finds lines, finds out how the picture is turned, and reads each line. Must not know files.

mod detect;
mod models;
mod recognize;
mod spots;
mod strip;

use image::RgbImage;

pub use models::{DETECT_FILE, DamagedModel, ModelFiles, Models, RECOGNIZE_FILE};

use self::recognize::ReadLine;
use self::strip::Strip;
use super::refusal::Refusal;
use super::rows;
use super::time::{HasTime, LINE_TIME};
use crate::reading::{Area, Line, Page, Turn, Word};

/// Lines that decide how a picture is turned.
const TRIED_MAX: usize = 5;
/// Lines that are read so well show that the picture is upright.
const READ_WELL: f32 = 0.9;
/// Another direction must be read better by so much.
const BETTER: f32 = 0.05;
/// A line that is read worse is no text.
const SCORE_MIN: f32 = 0.5;

/// The text of a picture.
pub(super) struct ReadPage {
    pub(super) page: Page,
    /// False when there was no time for all lines.
    pub(super) is_whole: bool,
}

/// Reads the text of a picture, from its first line on, while there is time.
pub(super) fn page(picture: &RgbImage, models: &Models, has_time: HasTime<'_>) -> Result<ReadPage, Refusal> {
    let areas = detect::lines(picture, models)?;
    let mut strips: Vec<Strip> = areas.iter().map(Strip::of).collect();
    let turn = turn(picture, &strips, models)?;
    strips.iter_mut().for_each(|strip| *strip = strip.turned(turn));
    let rows = |strips: &[Strip]| rows::rows(&strips.iter().map(|strip| strip.placed(turn)).collect::<Vec<_>>());
    let mut read: Vec<ReadLine> = strips.iter().map(|_| ReadLine::default()).collect();
    let mut is_whole = true;
    for index in rows(&strips).into_iter().flatten() {
        is_whole = is_whole && has_time(LINE_TIME);
        if is_whole {
            read[index] = read_line(picture, &mut strips[index], models)?;
        }
    }
    let size = (picture.width() as f32, picture.height() as f32);
    let lines =
        rows(&strips).into_iter().map(|row| line(row.into_iter().map(|index| (&strips[index], &read[index])), size));
    let lines = lines.filter(|line| !line.words.is_empty()).collect();
    Ok(ReadPage { page: Page { aspect: size.0 / size.1, turn, lines }, is_whole })
}

fn read_line(picture: &RgbImage, strip: &mut Strip, models: &Models) -> Result<ReadLine, Refusal> {
    if !strip.is_tall() {
        return recognize::line(&strip.cut(picture), models);
    }
    // One tall text of an upright picture runs up or down.
    let tried = [*strip, strip.turned(Turn::Right), strip.turned(Turn::Left)];
    let mut best = (*strip, ReadLine::default());
    for strip in tried {
        let read = recognize::line(&strip.cut(picture), models)?;
        if read.score > best.1.score {
            best = (strip, read);
        }
    }
    *strip = best.0;
    Ok(best.1)
}

/// How the text of the picture is turned. The longest lines are read in each direction that their shape allows.
fn turn(picture: &RgbImage, strips: &[Strip], models: &Models) -> Result<Turn, Refusal> {
    let weight =
        |strips: &mut dyn Iterator<Item = &Strip>| strips.map(|strip| strip.length.max(strip.height)).sum::<f32>();
    let tall = weight(&mut strips.iter().filter(|strip| strip.is_tall()));
    let is_tall = tall * 2.0 > weight(&mut strips.iter());
    let mut longest: Vec<Strip> = strips.iter().filter(|strip| strip.is_tall() == is_tall).copied().collect();
    longest.sort_by(|a, b| (b.length * b.height).total_cmp(&(a.length * a.height)));
    longest.truncate(TRIED_MAX);
    let directions = if is_tall { [Turn::Right, Turn::Left] } else { [Turn::None, Turn::Over] };
    let score = |turn: Turn| -> Result<f32, Refusal> {
        let mut sum = 0.0;
        for strip in &longest {
            sum += recognize::line(&strip.turned(turn).cut(picture), models)?.score;
        }
        Ok(sum / longest.len().max(1) as f32)
    };
    let first = score(directions[0])?;
    if first >= READ_WELL || longest.is_empty() {
        return Ok(directions[0]);
    }
    Ok(if score(directions[1])? > first + BETTER { directions[1] } else { directions[0] })
}

fn line<'a>(texts: impl Iterator<Item = (&'a Strip, &'a ReadLine)>, size: (f32, f32)) -> Line {
    let texts = texts.filter(|(_, read)| read.score >= SCORE_MIN);
    let words = texts.flat_map(|(strip, read)| read.words.iter().map(move |word| (strip, word)));
    Line {
        words: words
            .map(|(strip, word)| Word {
                text: word.text.clone(),
                area: area(strip, word.range, size),
                score: (word.score.clamp(0.0, 1.0) * 1000.0).round() / 1000.0,
            })
            .collect(),
    }
}

/// The upright rectangle around a part of a line.
fn area(strip: &Strip, (from, to): (f32, f32), (width, height): (f32, f32)) -> Area {
    let corners = [(from, 0.0), (to, 0.0), (from, 1.0), (to, 1.0)].map(|(along, down)| strip.point(along, down));
    Area::around(corners.into_iter().map(|(x, y)| (x / width, y / height)))
}
