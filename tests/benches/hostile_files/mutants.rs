//! Damaged copies of ordinary photos and papers. The same number of copies is the same bytes each time. Must not know the service.

use std::path::Path;

use anyhow::Context;
use fastrand::Rng;

use super::Attack;

/// The ordinary files, in `fixtures/reader`.
const FILES: [&str; 4] = ["plate-bosch.jpg", "invoice.pdf", "plate-miele-turned.jpg", "codes.jpg"];
/// The most changes of one copy.
const CHANGES_MAX: usize = 20;
/// The longest part that is copied, repeated or cut out, in bytes.
const PART_MAX: usize = 4096;
/// Words and numbers that change what a reader does.
const WORDS: [&[u8]; 10] = [
    b"\xff\xd8",
    b"\xff\xd9",
    b"\xff\xda",
    b"\xff\xc2",
    b"\xff\xff\xff\xff",
    b"2147483647",
    b"-1",
    b"endstream",
    b"<<",
    b"1 0 R",
];

/// The files as they are.
pub(super) fn ordinary() -> anyhow::Result<Vec<Attack>> {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/reader"));
    let read = |name: &&str| {
        let bytes = std::fs::read(dir.join(name)).with_context(|| format!("fixtures/reader/{name}"))?;
        Ok(Attack::of(*name, bytes))
    };
    FILES.iter().map(read).collect()
}

/// So many damaged copies.
pub(super) fn all(count: usize) -> anyhow::Result<Vec<Attack>> {
    let files = ordinary()?;
    let copy = |number: usize| {
        let file = &files[number % files.len()];
        Attack::of(
            format!("copy {number} of {}", file.name),
            damaged(&file.files[0], &mut Rng::with_seed(number as u64)),
        )
    };
    Ok((0..count).map(copy).collect())
}

/// A copy with some changes.
fn damaged(bytes: &[u8], chance: &mut Rng) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    for _ in 0..=chance.usize(..CHANGES_MAX) {
        let at = chance.usize(..copy.len().max(1));
        let part = at..(at + chance.usize(1..=PART_MAX)).min(copy.len());
        match chance.u8(..8) {
            0 => copy.truncate(at.max(bytes.len() / 4)),
            1 => drop(copy.drain(part)),
            2 => {
                let part = copy[part].to_vec();
                copy.splice(at..at, part);
            }
            3 | 4 => {
                let word = WORDS[chance.usize(..WORDS.len())];
                let end = (at + word.len()).min(copy.len());
                copy.splice(at..end, word.iter().copied());
            }
            _ => copy.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << chance.u8(..8)),
        }
    }
    copy
}
