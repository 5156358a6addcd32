//! The header of a database file: the first 100 bytes (<https://www.sqlite.org/fileformat2.html>, 1.3). A standard header can
//! replace a damaged one, because page size and format are the same in every replica. Must not know what the pages hold.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::store::StoreError;

/// The size of every page of a replica: SQLite's default.
pub(super) const PAGE_BYTES: u64 = 4096;
/// The size of the header at the beginning of the first page.
pub(super) const HEADER_BYTES: u64 = 100;
/// The bytes of a header.
pub(super) type Header = [u8; HEADER_BYTES as usize];
/// The beginning of a table's page without a row.
pub(super) const EMPTY_LEAF: [u8; 8] = [0x0d, 0, 0, 0, 0, (PAGE_BYTES >> 8) as u8, 0, 0];

/// Writes a standard header into a file, and returns the header that was there. An error when the rest of the
/// first page is damaged too: no header could make its content readable.
pub(super) fn mend_header(file: &mut fs::File) -> io::Result<Header> {
    let mut page = [0; 101];
    file.read_exact(&mut page)?;
    // The type of the first page's tree: an interior page or a leaf of a table.
    if !matches!(page[100], 0x05 | 0x0d) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let pages = u32::try_from(file.metadata()?.len() / PAGE_BYTES).unwrap_or(u32::MAX);
    let mut found = [0_u8; HEADER_BYTES as usize];
    found.copy_from_slice(&page[..HEADER_BYTES as usize]);
    let mut header = [0_u8; HEADER_BYTES as usize];
    header[..16].copy_from_slice(b"SQLite format 3\0");
    header[16..24].copy_from_slice(&[0x10, 0x00, 2, 2, 0, 64, 32, 32]);
    for (at, number) in [(24, 1), (28, pages), (40, 1), (44, 4), (56, 1), (92, 1), (96, 3_040_000)] {
        header[at..at + 4].copy_from_slice(&u32::to_be_bytes(number));
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&header)?;
    file.sync_all()?;
    Ok(found)
}

/// Mends the header of a work copy.
pub(super) fn mend_copy(copy: &Path) -> Result<(), StoreError> {
    let open = || fs::OpenOptions::new().read(true).write(true).open(copy);
    open().and_then(|mut file| mend_header(&mut file)).map(drop).map_err(StoreError::at(copy))
}

/// True when a page of a file begins like the root page of a table or index.
pub(super) fn begins_tree(mut file: &fs::File, page: i64) -> bool {
    let Some(before) = u64::try_from(page - 1).ok() else { return false };
    let mut first = [0];
    let read = file.seek(SeekFrom::Start(before * PAGE_BYTES)).and_then(|_| file.read_exact(&mut first));
    read.is_ok() && matches!(first[0], 0x02 | 0x05 | 0x0a | 0x0d)
}
