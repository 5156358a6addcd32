//! A gray picture turned by any angle, and the way back for its points. Must not know what is searched in it.

use image::{GrayImage, Luma};

/// A turned copy of a picture. It holds all of the picture.
pub(super) struct Turned {
    /// The pixels.
    pub(super) picture: GrayImage,
    center: (f32, f32),
    turned_center: (f32, f32),
    sin: f32,
    cos: f32,
}

impl Turned {
    /// Turns a picture by an angle in radians.
    pub(super) fn of(picture: &GrayImage, angle: f32) -> Turned {
        let (sin, cos) = angle.sin_cos();
        let (width, height) = (picture.width() as f32, picture.height() as f32);
        let side = |a: f32, b: f32| (a.abs() + b.abs()).ceil().max(1.0);
        let (wide, high) = (side(width * cos, height * sin), side(width * sin, height * cos));
        let mut turned = Turned {
            picture: GrayImage::new(0, 0),
            center: (width / 2.0, height / 2.0),
            turned_center: (wide / 2.0, high / 2.0),
            sin,
            cos,
        };
        turned.picture = GrayImage::from_fn(wide as u32, high as u32, |x, y| {
            let (x, y) = turned.back((x as f32 + 0.5, y as f32 + 0.5));
            Luma([shade(picture, x - 0.5, y - 0.5)])
        });
        turned
    }

    /// The point of the original picture that a point of the turned one shows.
    pub(super) fn back(&self, (x, y): (f32, f32)) -> (f32, f32) {
        let (x, y) = (x - self.turned_center.0, y - self.turned_center.1);
        (self.center.0 + x * self.cos + y * self.sin, self.center.1 - x * self.sin + y * self.cos)
    }
}

/// The shade between four pixels. Outside of the picture it is that of the nearest edge: another one would mislead the search for what
/// is dark and what is light.
fn shade(picture: &GrayImage, x: f32, y: f32) -> u8 {
    let (left, upper) = (x.floor(), y.floor());
    let (last_x, last_y) = (picture.width().saturating_sub(1) as f32, picture.height().saturating_sub(1) as f32);
    let pixel =
        |x: f32, y: f32| f32::from(picture.get_pixel(x.clamp(0.0, last_x) as u32, y.clamp(0.0, last_y) as u32).0[0]);
    let (right, down) = (x - left, y - upper);
    let row = |y: f32| pixel(left, y) * (1.0 - right) + pixel(left + 1.0, y) * right;
    (row(upper) * (1.0 - down) + row(upper + 1.0) * down).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_go_back_to_where_they_were() {
        let mut picture = GrayImage::from_pixel(60, 40, Luma([255]));
        (10..14).for_each(|x| (5..9).for_each(|y| picture.put_pixel(x, y, Luma([0]))));
        for degrees in [-40.0_f32, 0.0, 35.0, 90.0] {
            let turned = Turned::of(&picture, degrees.to_radians());
            let dark = turned.picture.enumerate_pixels().filter(|(_, _, shade)| shade.0[0] < 60);
            let points: Vec<(f32, f32)> = dark.map(|(x, y, _)| turned.back((x as f32 + 0.5, y as f32 + 0.5))).collect();
            assert!(points.len() >= 9, "{degrees}: {}", points.len());
            assert!(points.iter().all(|(x, y)| (x - 12.0).abs() < 3.0 && (y - 7.0).abs() < 3.0), "{degrees}");
        }
    }
}
