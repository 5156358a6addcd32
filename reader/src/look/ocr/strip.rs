//! A line of text as a turned rectangle of a picture, with the direction in which it is read. Cuts it out upright. Must not know
//! what it says.

use image::{Rgb, RgbImage};
use rten_imageproc::RotatedRect;

use crate::look::rows::Placed;
use crate::reading::Turn;

/// The height of a line that was cut out, in pixels. The model wants it.
pub(super) const HEIGHT: u32 = 48;
/// The width of a line that was cut out, in pixels, at most. It decides the memory of the run.
const WIDTH_MAX: f32 = 3200.0;
/// The width, at least. The model reads narrower lines badly.
const WIDTH_MIN: f32 = 48.0;
/// A point of the line is the mean of at most so many points of the picture in each direction.
const POINTS_MAX: f32 = 4.0;
/// A line is tall when it is so many times as high as wide.
const TALL: f32 = 1.5;

/// A line of text. Coordinates are pixels; y grows downward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strip {
    /// The middle.
    pub(super) center: (f32, f32),
    /// The direction in which the text is read, of length 1.
    pub(super) along: (f32, f32),
    /// The length in this direction.
    pub(super) length: f32,
    /// The height of the line.
    pub(super) height: f32,
}

impl Strip {
    /// The line of a rectangle, read from left to right.
    pub(super) fn of(area: &RotatedRect) -> Strip {
        let corners = area.corners().map(|corner| (corner.x, corner.y));
        let edge = |from: (f32, f32), to: (f32, f32)| (to.0 - from.0, to.1 - from.1);
        let (first, second) = (edge(corners[0], corners[1]), edge(corners[1], corners[2]));
        let flat = |(x, y): (f32, f32)| x.abs() / x.hypot(y).max(f32::EPSILON);
        let (along, across) = if flat(first) >= flat(second) { (first, second) } else { (second, first) };
        let length = along.0.hypot(along.1).max(1.0);
        let sign = if along.0 < 0.0 { -1.0 } else { 1.0 };
        Strip {
            center: (area.center().x, area.center().y),
            along: (sign * along.0 / length, sign * along.1 / length),
            length,
            height: across.0.hypot(across.1).max(1.0),
        }
    }

    /// Whether the text runs up or down, as far as its shape tells.
    pub(super) fn is_tall(&self) -> bool {
        self.height >= TALL * self.length
    }

    /// Where the text stands after the picture was turned.
    pub(super) fn placed(&self, turn: Turn) -> Placed {
        let turned = |(x, y): (f32, f32)| match turn {
            Turn::None => (x, y),
            Turn::Over => (-x, -y),
            Turn::Right => (-y, x),
            Turn::Left => (y, -x),
        };
        let along = turned(self.along);
        Placed { center: turned(self.center), angle: along.1.atan2(along.0), length: self.length, height: self.height }
    }

    /// The same rectangle, read in another direction.
    pub(super) fn turned(self, turn: Turn) -> Strip {
        let (x, y) = self.along;
        let (along, swapped) = match turn {
            Turn::None => ((x, y), false),
            Turn::Over => ((-x, -y), false),
            // A picture that one turn to the right makes upright is read from bottom to top.
            Turn::Right => ((y, -x), true),
            Turn::Left => ((-y, x), true),
        };
        let (length, height) = if swapped { (self.height, self.length) } else { (self.length, self.height) };
        Strip { center: self.center, along, length, height }
    }

    /// The point of the picture at a part of the length and a part of the height, each from 0 to 1.
    pub(super) fn point(&self, along: f32, down: f32) -> (f32, f32) {
        let (x, y) = self.along;
        let (forward, below) = ((along - 0.5) * self.length, (down - 0.5) * self.height);
        (self.center.0 + x * forward - y * below, self.center.1 + y * forward + x * below)
    }

    /// The pixels of the line, upright, 48 pixels high.
    pub(super) fn cut(&self, picture: &RgbImage) -> RgbImage {
        let width = (self.length / self.height * HEIGHT as f32).ceil().clamp(WIDTH_MIN, WIDTH_MAX) as u32;
        let points = (self.height / HEIGHT as f32).round().clamp(1.0, POINTS_MAX) as u32;
        let (across, down) = ((width * points) as f32, (HEIGHT * points) as f32);
        RgbImage::from_fn(width, HEIGHT, |x, y| {
            let mut sum = [0.0_f32; 3];
            for (i, j) in (0..points).flat_map(|i| (0..points).map(move |j| (i, j))) {
                let (part_x, part_y) = ((x * points + i) as f32 + 0.5, (y * points + j) as f32 + 0.5);
                let color = sample(picture, self.point(part_x / across, part_y / down));
                sum.iter_mut().zip(color).for_each(|(sum, part)| *sum += part);
            }
            Rgb(sum.map(|sum| (sum / (points * points) as f32).round() as u8))
        })
    }
}

/// The color at a point between pixels. Outside of the picture it is the color of the nearest edge.
fn sample(picture: &RgbImage, (x, y): (f32, f32)) -> [f32; 3] {
    let (right, lower) = ((picture.width() - 1) as f32, (picture.height() - 1) as f32);
    let (x, y) = ((x - 0.5).clamp(0.0, right), (y - 0.5).clamp(0.0, lower));
    let (left, upper) = (x.floor(), y.floor());
    let (part_x, part_y) = (x - left, y - upper);
    let pixel = |x: f32, y: f32| picture.get_pixel(x.min(right) as u32, y.min(lower) as u32).0.map(f32::from);
    let (a, b) = (pixel(left, upper), pixel(left + 1.0, upper));
    let (c, d) = (pixel(left, upper + 1.0), pixel(left + 1.0, upper + 1.0));
    std::array::from_fn(|i| {
        (a[i] * (1.0 - part_x) + b[i] * part_x) * (1.0 - part_y) + (c[i] * (1.0 - part_x) + d[i] * part_x) * part_y
    })
}
