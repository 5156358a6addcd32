//! Finds the lines of text in a picture, as turned rectangles. Must not know what the lines say.
//!
//! The steps and numbers are those of RapidOCR for the same model: https://github.com/RapidAI/RapidOCR

use image::imageops::{FilterType, resize, thumbnail};
use image::{Rgb, RgbImage};
use rten_imageproc::{BoundingRect, PointF, RotatedRect, min_area_rect};
use rten_tensor::NdTensor;
use rten_tensor::prelude::*;

use super::models::Models;
use super::spots;
use crate::look::refusal::Refusal;

/// The model wants sides that are multiples of this.
const STEP: u32 = 32;
/// The shorter side of the picture for the model, at least.
const SIDE_MIN: f32 = 736.0;
/// The pixels of the picture for the model, at most. They decide the memory of the run.
const PIXELS_MAX: f32 = 1_600_000.0;
/// Each side of the picture for the model, at most.
const SIDE_MAX: f32 = 4096.0;
/// A pixel with a higher value belongs to a line.
const PIXEL_MIN: f32 = 0.3;
/// The mean value of a line, at least.
const LINE_MIN: f32 = 0.5;
/// The lower side of a found area in pixels, at least.
const AREA_SIDE_MIN: f32 = 3.0;
/// Found areas are smaller than their lines. They grow by this part of area / outline on each side.
const GROWTH: f32 = 1.6;
/// Lines of a picture, at most.
const LINES_MAX: usize = 1000;

/// The rectangles of the lines in pixels of `picture`, in no order.
pub(super) fn lines(picture: &RgbImage, models: &Models) -> Result<Vec<RotatedRect>, Refusal> {
    let (width, height) = model_size(picture.width(), picture.height());
    let small = if width < picture.width() {
        thumbnail(picture, width, height)
    } else {
        resize(picture, width, height, FilterType::Triangle)
    };
    let values = models.detect(tensor(&small))?;
    drop(small);
    let scale = (picture.width() as f32 / width as f32, picture.height() as f32 / height as f32);
    let areas = spots::spots(&mask(&values), width as usize);
    let areas = areas.iter().filter_map(|edges| line_of(edges, &values));
    Ok(areas.take(LINES_MAX).filter_map(|area| scaled(&area, scale)).collect())
}

/// The size of the picture for the model.
fn model_size(width: u32, height: u32) -> (u32, u32) {
    let (w, h) = (width as f32, height as f32);
    let wanted = (SIDE_MIN / w.min(h)).max(1.0);
    let factor = wanted.min((PIXELS_MAX / (w * h)).sqrt());
    let side = |length: f32| (((length * factor).min(SIDE_MAX) / STEP as f32).round() as u32).max(1) * STEP;
    (side(w), side(h))
}

/// The picture as [1, 3, height, width], from -1 to 1, blue first: the model was taught so.
pub(super) fn tensor(picture: &RgbImage) -> NdTensor<f32, 4> {
    let (width, height) = (picture.width() as usize, picture.height() as usize);
    let mut values = vec![0.0; 3 * width * height];
    let (blue, rest) = values.split_at_mut(width * height);
    let (green, red) = rest.split_at_mut(width * height);
    for (index, Rgb([r, g, b])) in picture.pixels().enumerate() {
        blue[index] = f32::from(*b) / 127.5 - 1.0;
        green[index] = f32::from(*g) / 127.5 - 1.0;
        red[index] = f32::from(*r) / 127.5 - 1.0;
    }
    NdTensor::from_data([1, 3, height, width], values)
}

/// Which pixels belong to lines, row by row. Each pixel is spread to the right and down by one, which joins parts of letters.
fn mask(values: &NdTensor<f32, 2>) -> Vec<bool> {
    let [height, width] = values.shape();
    let view = values.view();
    let is_set = |(y, x): (usize, usize)| {
        let (up, left) = (y.saturating_sub(1), x.saturating_sub(1));
        [[y, x], [up, x], [y, left], [up, left]].into_iter().any(|place| view[place] > PIXEL_MIN)
    };
    (0..height).flat_map(|y| (0..width).map(move |x| (y, x))).map(is_set).collect()
}

/// The rectangle around the edges of a spot, grown to the size of its line. None: no line.
fn line_of(edges: &[PointF], values: &NdTensor<f32, 2>) -> Option<RotatedRect> {
    let area = min_area_rect(edges)?;
    if area.width().min(area.height()) < AREA_SIDE_MIN || mean(&area, values) < LINE_MIN {
        return None;
    }
    let growth = area.width() * area.height() * GROWTH / (2.0 * (area.width() + area.height()));
    Some(area.expanded(2.0 * growth, 2.0 * growth))
}

/// The mean of the values inside of a rectangle.
fn mean(area: &RotatedRect, values: &NdTensor<f32, 2>) -> f32 {
    let [height, width] = values.shape();
    let around = area.bounding_rect();
    let range = |low: f32, high: f32, length: usize| {
        (low.floor().max(0.0) as usize)..=(high.ceil().max(0.0) as usize).min(length.saturating_sub(1))
    };
    let view = values.view();
    let (mut sum, mut count) = (0.0, 0.0);
    for y in range(around.top(), around.bottom(), height) {
        for x in range(around.left(), around.right(), width) {
            if area.contains(PointF::from_yx(y as f32, x as f32)) {
                sum += view[[y, x]];
                count += 1.0;
            }
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The rectangle in pixels of the original picture. Both directions have almost the same scale.
fn scaled(area: &RotatedRect, (x, y): (f32, f32)) -> Option<RotatedRect> {
    let corners = area.corners().map(|corner| PointF::from_yx(corner.y * y, corner.x * x));
    min_area_rect(&corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_for_the_model_is_bounded() {
        assert_eq!(model_size(400, 1000), (736, 1856));
        assert_eq!(model_size(1000, 800), (992, 800));
        for (width, height) in [(4000, 3000), (1, 50_000), (50_000, 1), (10, 10), (600, 6000)] {
            let (w, h) = model_size(width, height);
            assert!(w * h <= 1_800_000 && w >= 32 && h >= 32, "{width} × {height}: {w} × {h}");
        }
    }
}
