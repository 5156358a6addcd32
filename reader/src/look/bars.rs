//! How high a bar code is: from the row in which it was read, its bars are followed to both sides, also when they hang askew. Must
//! not know what the code says.

use image::GrayImage;

/// A row belongs to the code while it is so much like the row in which the code was read. 1 is equal, 0 says nothing.
const ALIKE_MIN: f32 = 0.6;
/// A code is at most so many times as high as long.
const HEIGHT_MAX: f32 = 3.0;
/// How far the bars may lie beside those of the row before, in pixels.
const SHIFTS: [f32; 3] = [0.0, -1.0, 1.0];

/// The four corners of the code that was read between two points. All are pixels of the picture.
pub(super) fn corners(picture: &GrayImage, from: (f32, f32), to: (f32, f32)) -> [(f32, f32); 4] {
    let length = (to.0 - from.0).hypot(to.1 - from.1).max(1.0);
    let along = ((to.0 - from.0) / length, (to.1 - from.1) / length);
    let [upper, lower] = [-1.0, 1.0].map(|side| {
        let across = (-along.1 * side, along.0 * side);
        follow(picture, from, along, across, length)
    });
    let moved = |(x, y): (f32, f32), (right, down): (f32, f32)| (x + right, y + down);
    [moved(from, upper), moved(to, upper), moved(from, lower), moved(to, lower)]
}

/// How far the bars reach in the direction `across`, as a step from the row in which the code was read.
fn follow(picture: &GrayImage, from: (f32, f32), along: (f32, f32), across: (f32, f32), length: f32) -> (f32, f32) {
    let count = length as usize + 1;
    let row = |step: (f32, f32)| -> Option<Vec<f32>> {
        let point = |at: usize| (from.0 + step.0 + along.0 * at as f32, from.1 + step.1 + along.1 * at as f32);
        (0..count).map(|at| shade(picture, point(at))).collect()
    };
    let Some(first) = row((0.0, 0.0)) else { return (0.0, 0.0) };
    let (mut reached, mut shift) = ((0.0, 0.0), 0.0);
    for distance in 1..(length * HEIGHT_MAX) as usize {
        let rows = SHIFTS.iter().filter_map(|more| {
            let (aside, away) = (shift + more, distance as f32);
            let step = (along.0 * aside + across.0 * away, along.1 * aside + across.1 * away);
            Some((likeness(&first, &row(step)?), aside, step))
        });
        match rows.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((alike, aside, step)) if alike >= ALIKE_MIN => (reached, shift) = (step, aside),
            _ => break,
        }
    }
    reached
}

/// The shade of the pixel at a point. None: outside of the picture.
fn shade(picture: &GrayImage, (x, y): (f32, f32)) -> Option<f32> {
    let is_inside = x >= 0.0 && y >= 0.0 && x < picture.width() as f32 && y < picture.height() as f32;
    is_inside.then(|| f32::from(picture.get_pixel(x as u32, y as u32).0[0]))
}

/// How alike two rows are: their correlation. 0 when one of them is even.
fn likeness(a: &[f32], b: &[f32]) -> f32 {
    let mean = |row: &[f32]| row.iter().sum::<f32>() / row.len().max(1) as f32;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let sums = a.iter().zip(b).fold((0.0, 0.0, 0.0), |(ab, aa, bb), (a, b)| {
        let (a, b) = (a - mean_a, b - mean_b);
        (ab + a * b, aa + a * a, bb + b * b)
    });
    let size = (sums.1 * sums.2).sqrt();
    if size > 0.0 { sums.0 / size } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Luma;

    /// Bars of unequal widths between the rows 30 and 90, which move to the right by `lean` of a pixel in each row.
    fn bars(lean: f32) -> GrayImage {
        GrayImage::from_fn(200, 120, |x, y| {
            let at = (x as f32 - lean * (y as f32 - 60.0)).round();
            let is_bar = (50.0..150.0).contains(&at) && [0, 2, 3, 7].contains(&(at as u32 / 4 * 7 % 11));
            Luma([if (30..90).contains(&y) && is_bar { 20 } else { 230 }])
        })
    }

    #[test]
    fn bars_are_followed_from_any_row() {
        for (lean, row) in [(0.0, 40.0), (0.0, 85.0), (0.4, 60.0), (-0.7, 60.0)] {
            let found = corners(&bars(lean), (50.0, row), (149.0, row));
            let (upper, lower) = (found[0].1, found[2].1);
            assert!((upper - 30.0).abs() <= 3.0 && (lower - 89.0).abs() <= 3.0, "{lean} {row}: {found:?}");
        }
        let even = GrayImage::from_pixel(100, 100, Luma([200]));
        assert_eq!(corners(&even, (10.0, 50.0), (90.0, 50.0))[0], (10.0, 50.0));
    }
}
