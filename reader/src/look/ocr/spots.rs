//! Finds the spots of a mask: pixels that touch each other. Must not know what the mask means.
//!
//! The outlines of `rten-imageproc` 0.27 lose a part of some spots, so this is own code.

use rten_imageproc::PointF;

/// The left and the right edge of each spot in each of its rows. `mask`: row by row, `width` pixels each.
pub(super) fn spots(mask: &[bool], width: usize) -> Vec<Vec<PointF>> {
    let mut open = mask.to_vec();
    let mut spots = Vec::new();
    for start in 0..open.len() {
        if open[start] {
            spots.push(edges(&take(&mut open, width, start), width));
        }
    }
    spots
}

/// Takes the pixels of one spot out of the mask.
fn take(open: &mut [bool], width: usize, start: usize) -> Vec<usize> {
    open[start] = false;
    let mut pixels = vec![start];
    let mut next = 0;
    while let Some(&pixel) = pixels.get(next) {
        next += 1;
        let (x, y) = (pixel % width, pixel / width);
        for row in y.saturating_sub(1)..=y + 1 {
            for column in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                let near = row * width + column;
                if open.get(near) == Some(&true) {
                    open[near] = false;
                    pixels.push(near);
                }
            }
        }
    }
    pixels
}

fn edges(pixels: &[usize], width: usize) -> Vec<PointF> {
    let rows = pixels.iter().map(|pixel| pixel / width);
    let (first, last) = rows.fold((usize::MAX, 0), |(first, last), row| (first.min(row), last.max(row)));
    let mut ranges = vec![(usize::MAX, 0); last + 1 - first];
    for pixel in pixels {
        let (left, right) = &mut ranges[pixel / width - first];
        (*left, *right) = ((*left).min(pixel % width), (*right).max(pixel % width));
    }
    let point = |x: usize, y: usize| PointF::from_yx((first + y) as f32, x as f32);
    ranges.into_iter().enumerate().flat_map(|(y, (left, right))| [point(left, y), point(right, y)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_that_touch_are_one_spot() {
        let picture = ["##..#", "..#.#", "....#"];
        let mask: Vec<bool> = picture.iter().flat_map(|row| row.chars().map(|pixel| pixel == '#')).collect();
        let found = spots(&mask, 5);
        let corners = |spot: &[PointF]| spot.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>();
        assert_eq!(found.len(), 2);
        assert_eq!(corners(&found[0]), [(0.0, 0.0), (1.0, 0.0), (2.0, 1.0), (2.0, 1.0)]);
        assert_eq!(corners(&found[1]).len(), 6);
    }
}
