//! Puts texts that stand side by side into one line, and lines from top to bottom, also in a picture that hangs askew. Must not
//! know how text is recognized.

/// Two texts are in one row when their middles differ by less than this part of the lower height.
const SAME_ROW: f32 = 0.5;

/// A text and where it stands. Coordinates are in one unit for both directions; y grows downward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    /// The middle.
    pub(super) center: (f32, f32),
    /// How far it hangs, in radians, clockwise.
    pub(super) angle: f32,
    /// From its begin to its end.
    pub(super) length: f32,
    /// The height of its letters, about.
    pub(super) height: f32,
}

/// A text of a row, seen after the picture was turned level.
struct Level {
    index: usize,
    x: f32,
    y: f32,
    height: f32,
}

/// The indices of the texts, row by row, each from left to right.
pub(super) fn rows(texts: &[Placed]) -> Vec<Vec<usize>> {
    let (sin, cos) = slope(texts).sin_cos();
    let mut texts: Vec<Level> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let (x, y) = text.center;
            Level { index, x: x * cos + y * sin, y: y * cos - x * sin, height: text.height }
        })
        .collect();
    texts.sort_by(|a, b| a.y.total_cmp(&b.y));
    let mut rows: Vec<Vec<Level>> = Vec::new();
    for text in texts {
        let distances = rows.iter().map(|row| distance(row, &text)).enumerate();
        match distances.min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((row, distance)) if distance < SAME_ROW => rows[row].push(text),
            _ => rows.push(vec![text]),
        }
    }
    rows.into_iter()
        .map(|mut row| {
            row.sort_by(|a, b| a.x.total_cmp(&b.x));
            row.into_iter().map(|text| text.index).collect()
        })
        .collect()
}

/// How far a text is above or below the text of a row that is nearest to it, as a part of the lower height.
fn distance(row: &[Level], text: &Level) -> f32 {
    let near = row.iter().min_by(|a, b| (a.x - text.x).abs().total_cmp(&(b.x - text.x).abs()));
    near.map_or(f32::MAX, |near| (near.y - text.y).abs() / near.height.min(text.height))
}

/// The usual angle of the texts: the middle one, by length.
fn slope(texts: &[Placed]) -> f32 {
    let mut angles: Vec<(f32, f32)> = texts.iter().map(|text| (text.angle, text.length)).collect();
    angles.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = angles.iter().map(|(_, length)| length).sum::<f32>() / 2.0;
    let mut sum = 0.0;
    let middle = angles.iter().find(|(_, length)| {
        sum += length;
        sum >= half
    });
    middle.map_or(0.0, |(angle, _)| *angle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(x: f32, y: f32, angle: f32) -> Placed {
        Placed { center: (x, y), angle, length: 100.0, height: 20.0 }
    }

    #[test]
    fn texts_side_by_side_are_one_row_even_askew() {
        let level = [text(500.0, 12.0, 0.0), text(60.0, 40.0, 0.0), text(60.0, 10.0, 0.0), text(500.0, 41.0, 0.0)];
        assert_eq!(rows(&level), [vec![2, 0], vec![1, 3]]);
        // Five degrees: the right text is 38 pixels lower.
        let angle = 5.0_f32.to_radians();
        let askew =
            [text(500.0, 48.0, angle), text(60.0, 40.0, angle), text(60.0, 10.0, angle), text(500.0, 78.0, angle)];
        assert_eq!(rows(&askew), [vec![2, 0], vec![1, 3]]);
        assert!(rows(&[]).is_empty());
    }
}
