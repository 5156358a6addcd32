//! Makes a small JPEG from a file: of a picture, or of the first page of a PDF. Blocks. Must not know where small pictures are
//! kept.

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::process::{Command, Stdio};

use hearth_contract::media::MediaType;
use hearth_exchange::picture::{NoPicture, small_jpeg};

/// The widths of small pictures, in pixels (contract 21).
pub(super) const WIDTHS: [u32; 2] = [320, 1280];
/// The first page of a PDF as a picture, in bytes, at most.
const PAGE_BYTES_MAX: u64 = 32 << 20;
/// Runs `pdftoppm` with 1 GiB of memory, 20 s of processor time and 30 s in all.
const LIMITED: &str = "ulimit -v 1048576 && ulimit -t 20 && exec timeout -s KILL 30 pdftoppm \"$@\"";

/// A JPEG of at most `width` pixels across. `file`: the open file, from its begin.
pub(super) fn make(file: File, media: MediaType, width: u32) -> Result<Vec<u8>, NoPicture> {
    match media {
        MediaType::Pdf => small_jpeg(Cursor::new(first_page(file, width)?), MediaType::Jpeg, width),
        media => small_jpeg(BufReader::new(file), media, width),
    }
}

/// The first page of a PDF as JPEG, made by `pdftoppm` of Poppler in a process with limits.
fn first_page(file: File, width: u32) -> Result<Vec<u8>, NoPicture> {
    if !is_installed("pdftoppm") {
        return Err(NoPicture::None);
    }
    let width = width.to_string();
    let mut command = Command::new("sh");
    command.args(["-c", LIMITED, "sh", "-q", "-jpeg", "-singlefile", "-f", "1", "-l", "1"]);
    command.args(["-scale-to-x", &width, "-scale-to-y", "-1", "-"]);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.stdin(file).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|_| NoPicture::Failed)?;
    let mut page = Vec::new();
    let read = child.stdout.take().map(|output| output.take(PAGE_BYTES_MAX).read_to_end(&mut page));
    // The pipe is closed: a process that writes on ends.
    let ended = child.wait();
    match (read, ended) {
        (Some(Ok(_)), Ok(status)) if status.success() && !page.is_empty() => Ok(page),
        _ => Err(NoPicture::Failed),
    }
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
