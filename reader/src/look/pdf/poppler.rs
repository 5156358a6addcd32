//! Starts the programs of Poppler: text with places from `pdftotext`, pixels of a page from `pdftoppm`. They get the PDF on their
//! standard input and inherit the limits of this process. Must not know what the text means.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use image::RgbImage;

use crate::look::refusal::{PAGES_MAX, Refusal};

/// The output of `pdftotext`, in bytes, at most. The places of a word take about ten times as many bytes as its text.
const PLACES_BYTES_MAX: u64 = 32 << 20;
/// The longer side of a page as a picture, in pixels.
const PAGE_SIDE: u32 = 2000;
/// The pixels of a page, in bytes, at most.
const PIXELS_BYTES_MAX: u64 = (PAGE_SIDE as u64) * (PAGE_SIDE as u64) * 3 + 64;

/// Gives a program ten seconds of processor time, so that one harmful page does not take the time of all.
const LIMITED: &str = "ulimit -t 10 && exec \"$0\" \"$@\"";
/// The exit code of a shell that does not find the program.
const NOT_FOUND: i32 = 127;

/// The text of the first pages with the place of each word, in the XHTML form of `pdftotext`. One page more than allowed.
pub(super) fn places(pdf: &[u8]) -> Result<String, Refusal> {
    let last = (PAGES_MAX + 1).to_string();
    let output =
        run("pdftotext", &["-q", "-bbox-layout", "-enc", "UTF-8", "-l", &last, "-", "-"], pdf, PLACES_BYTES_MAX)?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// The pixels of a page. `number`: from 1.
pub(super) fn pixels(pdf: &[u8], number: usize) -> Result<RgbImage, Refusal> {
    let (number, side) = (number.to_string(), PAGE_SIDE.to_string());
    let args = ["-q", "-singlefile", "-f", &number, "-l", &number, "-scale-to", &side, "-"];
    let output = run("pdftoppm", &args, pdf, PIXELS_BYTES_MAX)?;
    pixmap(&output).ok_or(Refusal::DamagedPdf)
}

/// A picture in the form PPM: `P6`, width, height and the highest value 255, then three bytes for each pixel.
fn pixmap(bytes: &[u8]) -> Option<RgbImage> {
    let mut parts = bytes.splitn(4, |byte| byte.is_ascii_whitespace());
    let mut number = |expected: &[u8]| -> Option<u32> {
        let part = parts.next()?;
        if expected.is_empty() { std::str::from_utf8(part).ok()?.parse().ok() } else { (part == expected).then_some(0) }
    };
    number(b"P6")?;
    let (width, height) = (number(b"")?, number(b"")?);
    let rest = parts.next()?.strip_prefix(b"255\n")?;
    (width > 0 && height > 0).then(|| RgbImage::from_raw(width, height, rest.to_vec())).flatten()
}

/// The output of a program that gets the PDF on its standard input.
fn run(program: &str, args: &[&str], pdf: &[u8], limit: u64) -> Result<Vec<u8>, Refusal> {
    let mut command = Command::new("sh");
    command
        .args(["-c", LIMITED, program])
        .args(args)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|_| Refusal::DamagedPdf)?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut output = Vec::new();
    let read = std::thread::scope(|scope| {
        // A program that ends before it has read all closes the pipe; its exit code tells why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(pdf)));
        // The pipe is closed after the limit: a program that writes on ends.
        stdout.map(|stdout| stdout.take(limit + 1).read_to_end(&mut output))
    });
    let ended = child.wait();
    match (read, ended) {
        (Some(Ok(count)), _) if count as u64 > limit => Err(Refusal::TooMuchText),
        (Some(Ok(_)), Ok(status)) if status.success() => Ok(output),
        (_, Ok(status)) if status.code() == Some(NOT_FOUND) => Err(Refusal::NoPoppler),
        _ => Err(Refusal::DamagedPdf),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixmaps_are_read_and_damaged_ones_are_not() {
        let picture = pixmap(b"P6\n2 1\n255\n\x01\x02\x03   ").unwrap();
        assert_eq!((picture.dimensions(), picture.get_pixel(0, 0).0), ((2, 1), [1, 2, 3]));
        for damaged in [&b""[..], b"P6\n2 1\n255\n\x01", b"P5\n2 1\n255\n      ", b"P6\n0 1\n255\n"] {
            assert!(pixmap(damaged).is_none());
        }
    }
}
