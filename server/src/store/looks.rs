//! The looks of pictures: finds pictures whose perceptual hash is near another one (contract 22). Must not know how a hash is made.
//!
//! A hash is kept in four parts of 16 bits. Hashes that differ in up to three bits have an equal part, so a search reads the pictures
//! with an equal part, at most [`CANDIDATES_MAX`] for each part: its cost does not grow with the home.

use hearth_reader::reading::look_distance;
use rusqlite::named_params;

use super::error::StoreError;
use super::file_hash::FileHash;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// Parts of a hash.
const PARTS: u32 = 4;
/// Bits of a part.
const PART_BITS: u32 = 16;
/// Pictures with one equal part that a search looks at, at most. Beyond, as for a thousand photos of white paper, some are missed.
const CANDIDATES_MAX: i64 = 64;
/// Bits in which two pictures that look alike differ, at most.
const DISTANCE_MAX: u32 = 6;
/// Bits set, at least and at most, in the hash of a picture that shows something: the hash of an even surface says nothing.
const SET_BITS: std::ops::RangeInclusive<u32> = 8..=56;

/// Stores the look of a file in place of an earlier one. None: the file has none.
pub(super) fn replace(tx: &Tx<'_>, home: HomeNumber, hash: &FileHash, look: Option<u64>) -> Result<(), StoreError> {
    let mut delete = tx.conn.prepare_cached("DELETE FROM looks WHERE home = ?1 AND sha256 = ?2")?;
    delete.execute((home.0, hash.as_str()))?;
    let Some(look) = look else { return Ok(()) };
    let mut insert = tx.conn.prepare_cached(
        "INSERT INTO looks (home, part, bits, sha256, look) VALUES (:home, :part, :bits, :sha256, :look)",
    )?;
    for part in 0..PARTS {
        insert.execute(named_params! {
            ":home": home.0, ":part": part, ":bits": bits(look, part), ":sha256": hash.as_str(),
            ":look": look.cast_signed(),
        })?;
    }
    Ok(())
}

/// The files of a home that look like a hash, the nearest first, at most `limit`.
pub fn alike(tx: &Tx<'_>, home: HomeNumber, look: u64, limit: usize) -> Result<Vec<FileHash>, StoreError> {
    if !SET_BITS.contains(&look.count_ones()) {
        return Ok(Vec::new());
    }
    let mut select = tx.conn.prepare_cached(
        "SELECT look, sha256 FROM looks WHERE home = ?1 AND part = ?2 AND bits = ?3 ORDER BY sha256 LIMIT ?4",
    )?;
    let mut found = Vec::new();
    for part in 0..PARTS {
        let mut rows = select.query((home.0, part, bits(look, part), CANDIDATES_MAX))?;
        while let Some(row) = rows.next()? {
            let distance = look_distance(row.get::<_, i64>(0)?.cast_unsigned(), look);
            if distance <= DISTANCE_MAX {
                found.push((distance, row.get::<_, String>(1)?));
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found.iter().filter_map(|(_, hash)| FileHash::parse(hash)).take(limit).collect())
}

/// The bits of one part of a hash.
fn bits(look: u64, part: u32) -> i64 {
    ((look >> (part * PART_BITS)) & 0xffff) as i64
}
