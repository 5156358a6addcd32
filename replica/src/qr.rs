//! QR codes for a terminal: two modules of the code in one character. Must not know what the code says, nor the terminal.

use qrcode::{Color, EcLevel, QrCode};

/// Light modules around the code. The standard asks for four; readers of screens need two.
const MARGIN: usize = 2;

/// The lines of a QR code. A light module is drawn in the foreground and a dark one in the background, so a terminal with
/// light text on a dark ground shows the code as it must be. Where colours are allowed, print the lines in white on black.
/// None: the text is too long for a code.
pub fn qr_lines(text: &str) -> Option<Vec<String>> {
    let code = QrCode::with_error_correction_level(text, EcLevel::L).ok()?;
    let (width, modules) = (code.width(), code.to_colors());
    let is_light = |x: usize, y: usize| {
        let inside = |at: usize| at.checked_sub(MARGIN).filter(|at| *at < width);
        match (inside(x), inside(y)) {
            (Some(x), Some(y)) => modules[y * width + x] == Color::Light,
            // Below an odd number of rows the ground of the terminal shows.
            _ => y < width + 2 * MARGIN,
        }
    };
    let size = width + 2 * MARGIN;
    let character = |x: usize, y: usize| match (is_light(x, y), is_light(x, y + 1)) {
        (true, true) => '█',
        (true, false) => '▀',
        (false, true) => '▄',
        (false, false) => ' ',
    };
    Some((0..size).step_by(2).map(|y| (0..size).map(|x| character(x, y)).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_has_margin_and_its_corners() {
        let lines = qr_lines("https://home.example/oauth/device?user_code=BCDF-GHJK").unwrap();
        let width = lines[0].chars().count();
        assert!(lines.iter().all(|line| line.chars().count() == width) && lines.len() == width.div_ceil(2));
        assert_eq!(lines[0], "█".repeat(width), "the margin is light");
        // The corner of a code: a dark frame of seven modules around a light one.
        assert!(lines[1].starts_with("██ ▄▄▄▄▄ █"), "{}", lines[1]);
        assert!(qr_lines(&"x".repeat(4000)).is_none());
    }
}
