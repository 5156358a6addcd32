//! Reading what can still be read of a damaged database: table by table, row by row, around what is broken. Must not
//! write to it, and must not judge what it finds. What fails for another reason, as for want of room, is an error and no
//! damage: the same can be read once that has passed.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, ffi};

use crate::store::open::beside;
use crate::store::{StoreError, migrations};

/// Rows that are asked for one by one where a table is broken in its middle.
const PROBES_MAX: i64 = 10_000;
/// Every replica has pages of this size, SQLite's default.
const PAGE_BYTES: u64 = 4096;
/// The first page begins with the header of the file.
const HEADER_BYTES: u64 = 100;
/// How a file begins.
pub(super) type Header = [u8; HEADER_BYTES as usize];
/// How a page of a table begins that holds no row.
const EMPTY_LEAF: [u8; 8] = [0x0d, 0, 0, 0, 0, (PAGE_BYTES >> 8) as u8, 0, 0];

/// What was read of one table.
#[derive(Debug, Default)]
pub(crate) struct Salvaged {
    /// Names of its columns, as the damaged database has them.
    pub columns: Vec<String>,
    /// Its rows, in the order of the columns.
    pub rows: Vec<Vec<Sql>>,
    /// Rows with a text that is none any more, as far as it can be shown.
    pub garbled: Vec<Vec<Sql>>,
    /// Whether these are all.
    pub complete: bool,
}

impl Salvaged {
    /// A row's value of this column, if there is one.
    pub(super) fn member<'a>(&self, row: &'a [Sql], name: &str) -> Option<&'a Sql> {
        self.columns.iter().position(|column| column == name).and_then(|n| row.get(n))
    }

    /// The same if it is a text.
    pub(super) fn text<'a>(&self, row: &'a [Sql], name: &str) -> Option<&'a str> {
        match self.member(row, name) {
            Some(Sql::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// What a copy tells; None where that is damaged.
pub(crate) fn unless_damaged<T>(told: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match told {
        Err(error) if passes(&error) => Err(error),
        told => Ok(told.ok()),
    }
}

/// Whether something else than the file is at fault.
fn passes(error: &StoreError) -> bool {
    use io::ErrorKind::{InvalidData, UnexpectedEof};
    /// A page that cannot be read, or is cut off.
    const OF_THE_FILE: [i32; 2] = [ffi::SQLITE_IOERR_READ, ffi::SQLITE_IOERR_SHORT_READ];
    match error {
        StoreError::Sqlite(error) => error.sqlite_error().is_some_and(|error| match error.code {
            ErrorCode::DiskFull | ErrorCode::CannotOpen | ErrorCode::DatabaseBusy | ErrorCode::OutOfMemory => true,
            ErrorCode::SystemIoFailure => !OF_THE_FILE.contains(&error.extended_code),
            _ => false,
        }),
        StoreError::File(_, error) => !matches!(error.kind(), InvalidData | UnexpectedEof),
        _ => false,
    }
}

/// A copy of a damaged database, open to be read.
pub(crate) struct Opened {
    pub connection: Connection,
    /// Everything that a statement has made in it, as far as its list can be read.
    pub list: Vec<Listed>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// What a statement has made, as the list of it says.
pub(crate) struct Listed {
    /// `table`, `index`, `view` or `trigger`.
    pub sort: String,
    pub name: String,
    /// The statement; None where it is not what was written.
    pub text: Option<String>,
    /// Where it begins in the file; 0 for what has no place of its own.
    page: i64,
}

/// Opens a copy of a damaged database to read these tables of it, and those that others have made. None: not one of these
/// can be read. The sound database tells what they are made of.
pub(crate) fn open(copy: &Path, sound: &Connection, names: &[&str]) -> Result<Option<Opened>, StoreError> {
    // The first bytes are the same in every replica, so they can be put back if the rest of the page is whole.
    let mended = || mend(copy).and_then(|()| try_open(copy));
    let found = match unless_damaged(try_open(copy))? {
        None => unless_damaged(mended())?,
        found => found,
    };
    let Some(found) = found else {
        let anew = unless_damaged(list_anew(copy, sound, names))?;
        let opened = anew.map(|(connection, list)| Opened { connection, list, is_whole: false });
        return Ok(opened.filter(|opened| !opened.list.is_empty()));
    };
    let of_found = are_listed(&found, sound, names)?;
    let (list, is_whole) = list(&found)?;
    let opened = |connection, list| Opened { connection, list, is_whole };
    // The columns of such a database stand in another order: only its own list of tables tells their names.
    let is_before_release = list.iter().any(|listed| listed.name == migrations::TABLE_BEFORE_RELEASE);
    if is_before_release || !of_found.contains(&false) {
        return Ok(Some(opened(found, list)));
    }
    // Nothing that could be read without it is given up for it.
    if let Some((anew, list)) = unless_damaged(list_anew(copy, sound, names))? {
        let of_anew = are_listed(&anew, sound, names)?;
        if of_anew.iter().zip(&of_found).all(|(anew, found)| anew >= found) {
            return Ok(of_anew.contains(&true).then(|| opened(anew, list)));
        }
    }
    Ok(of_found.contains(&true).then(|| opened(found, list)))
}

/// The file with the list of tables made anew, where the old one did not do.
pub(crate) fn listed(copy: &Path) -> PathBuf {
    beside(copy, "-listed")
}

fn try_open(copy: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // Most of a small replica is the text of its schema, and by itself SQLite refuses the whole file for one word of it,
    // as it does one that is shorter than its header says. So it takes what it can make sense of.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    // Reads the list of tables, and fails if the file does not even begin as a database does.
    connection.prepare("SELECT 1 FROM sqlite_schema")?;
    Ok(connection)
}

/// Whether each table can be read by the names of its columns: neither its text nor its place in the list is damaged.
fn are_listed(connection: &Connection, sound: &Connection, names: &[&str]) -> Result<Vec<bool>, StoreError> {
    let of = |connection: &Connection, name: &str| -> Result<Vec<String>, StoreError> {
        Ok(unless_damaged(columns(connection, name))?.map(|(columns, _)| columns).unwrap_or_default())
    };
    let is_listed = |name: &&str| -> Result<bool, StoreError> {
        let found = of(connection, name)?;
        Ok(of(sound, name)?.iter().all(|column| found.contains(column)))
    };
    names.iter().map(is_listed).collect()
}

/// Makes the list of tables anew in another copy: where they begin, from what can be read of the old list on both sides
/// of what is broken; their texts, from the sound database, and of those that are others' from the old list. An older one has
/// fewer columns, and SQLite reads those that were added since as what they are by default. Where nothing is left of the old
/// list, ours begin where they do in every database that is made as the sound one is. Gives the old list too.
fn list_anew(copy: &Path, sound: &Connection, names: &[&str]) -> Result<(Connection, Vec<Listed>), StoreError> {
    let path = listed(copy);
    let at = |error| StoreError::File(path.clone(), error);
    for part in ["", "-wal"] {
        if beside(copy, part).exists() {
            fs::copy(beside(copy, part), beside(&path, part)).map_err(at)?;
        }
    }
    let close = |connection: Connection| connection.close().map_err(|(_, error)| error);
    let empty_list = || {
        let mut file = fs::OpenOptions::new().write(true).open(&path)?;
        file.seek(SeekFrom::Start(HEADER_BYTES)).and_then(|_| file.write_all(&EMPTY_LEAF))
    };
    let connection = match unless_damaged(try_open(&path))? {
        Some(connection) => connection,
        None => {
            empty_list().map_err(at)?;
            mend(&path)?;
            try_open(&path)?
        }
    };
    // Later pages of the log would stand before those that are written into the file here.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    close(connection)?;
    mend(&path)?;
    let connection = try_open(&path)?;
    let (mut found, _) = list(&connection)?;
    if found.is_empty() {
        found = list(sound)?.0;
        let file = fs::File::open(&path).map_err(at)?;
        found.retain(|listed| names.contains(&listed.name.as_str()) && begins_tree(&file, listed.page));
    }
    close(connection)?;
    empty_list().map_err(at)?;
    let connection = try_open(&path)?;
    for Listed { name, text, page, .. } in found.iter().filter(|listed| listed.sort == "table" && listed.page > 1) {
        let text = if names.contains(&name.as_str()) {
            let of_ours = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1";
            Some(sound.query_row(of_ours, [name], |row| row.get(0))?)
        } else {
            text.clone()
        };
        if let Some(text) = text {
            let entry =
                "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', ?1, ?1, ?2, ?3)";
            connection.execute(entry, (name, page, text))?;
        }
    }
    // It reads the list when it is opened.
    close(connection)?;
    Ok((try_open(&path)?, found))
}

/// Whether a page of a file begins as one of a tree does.
fn begins_tree(mut file: &fs::File, page: i64) -> bool {
    let Some(before) = u64::try_from(page - 1).ok() else { return false };
    let mut first = [0];
    let read = file.seek(SeekFrom::Start(before * PAGE_BYTES)).and_then(|_| file.read_exact(&mut first));
    read.is_ok() && matches!(first[0], 0x02 | 0x05 | 0x0a | 0x0d)
}

/// Everything that a statement has made in a database, as far as it can be read, each once; and whether that is all.
fn list(connection: &Connection) -> Result<(Vec<Listed>, bool), StoreError> {
    let text = "SELECT rowid, type, name, rootpage, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid";
    let (mut found, is_whole) = until_broken(connection, &format!("{text} ASC"), 4)?;
    if !is_whole {
        let read = found.last().map_or(0, |row| row.rowid);
        let (falling, _) = until_broken(connection, &format!("{text} DESC"), 4)?;
        found.extend(falling.into_iter().rev().filter(|row| row.rowid > read));
    }
    let listed = found.into_iter().filter_map(|row| match <[Sql; 4]>::try_from(row.values) {
        Ok([Sql::Text(sort), Sql::Text(name), Sql::Integer(page), Sql::Text(text)]) => {
            Some(Listed { sort, name, text: (!row.garbled).then_some(text), page })
        }
        _ => None,
    });
    Ok((listed.collect(), is_whole))
}

/// A name as SQL takes it, whatever it is made of.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Reads a table as far as it can be read.
pub(crate) fn table(connection: &Connection, name: &str) -> Result<Salvaged, StoreError> {
    let mut salvaged = Salvaged::default();
    let Some((columns, keys)) = unless_damaged(columns(connection, name))? else { return Ok(salvaged) };
    salvaged.columns = columns;
    if salvaged.columns.is_empty() {
        return Ok(salvaged);
    }
    let by_rowid = keys.is_empty();
    let key = |way: &str| {
        let names = if by_rowid { vec!["rowid".to_owned()] } else { keys.iter().map(|key| quoted(key)).collect() };
        names.iter().map(|name| format!("{name} {way}")).collect::<Vec<_>>().join(", ")
    };
    let all = salvaged.columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ");
    let name = quoted(name);
    let first = if by_rowid { "rowid" } else { "0" };
    let text = |way: &str| format!("SELECT {first}, {all} FROM {name} NOT INDEXED ORDER BY {}", key(way));
    let (mut rising, whole) = until_broken(connection, &text("ASC"), salvaged.columns.len())?;
    if !whole {
        let (falling, _) = until_broken(connection, &text("DESC"), salvaged.columns.len())?;
        let low = rising.last().map_or(0, |row| row.rowid);
        let high = falling.last().map_or(low, |row| row.rowid);
        if by_rowid {
            let between = format!("SELECT rowid, {all} FROM {name} NOT INDEXED WHERE rowid = ?1");
            for rowid in (low + 1..high).take(PROBES_MAX as usize) {
                let row = connection.query_row(&between, [rowid], |row| values(row, salvaged.columns.len()));
                rising.extend(unless_damaged(row.map_err(StoreError::from))?);
            }
        }
        // A damaged tree may lead to the same page twice.
        rising.extend(falling.into_iter().filter(|row| !by_rowid || row.rowid > low));
    }
    for row in rising {
        if row.garbled { &mut salvaged.garbled } else { &mut salvaged.rows }.push(row.values);
    }
    salvaged.complete = whole;
    Ok(salvaged)
}

/// Names of a table's columns, and those of its key where that is not the rowid.
fn columns(connection: &Connection, table: &str) -> Result<(Vec<String>, Vec<String>), StoreError> {
    let kept_so = "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main' AND type = 'table'";
    let without_rowid: bool = connection.query_row(kept_so, [table], |row| row.get(0))?;
    let mut statement = connection.prepare("SELECT name, pk FROM pragma_table_info(?1) ORDER BY pk")?;
    let found = statement.query_map([table], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
    let found = found.collect::<Result<Vec<_>, _>>()?;
    let keys = found.iter().filter(|(_, pk)| without_rowid && *pk > 0).map(|(name, _)| name.clone()).collect();
    Ok((found.into_iter().map(|(name, _)| name).collect(), keys))
}

/// A row that was read.
struct Found {
    rowid: i64,
    values: Vec<Sql>,
    /// Whether a text of it is not what was written.
    garbled: bool,
}

/// The rows of a query up to the first that cannot be read, and whether there was none such.
fn until_broken(connection: &Connection, text: &str, columns: usize) -> Result<(Vec<Found>, bool), StoreError> {
    let mut found = Vec::new();
    let mut read = || -> Result<(), StoreError> {
        let mut statement = connection.prepare(text)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            found.push(values(row, columns)?);
        }
        Ok(())
    };
    let whole = unless_damaged(read())?.is_some();
    Ok((found, whole))
}

fn values(row: &Row<'_>, columns: usize) -> Result<Found, rusqlite::Error> {
    let mut found = Found { rowid: row.get(0)?, values: Vec::with_capacity(columns), garbled: false };
    for n in 1..=columns {
        found.values.push(match row.get_ref(n)? {
            ValueRef::Text(bytes) => {
                found.garbled |= std::str::from_utf8(bytes).is_err();
                Sql::Text(String::from_utf8_lossy(bytes).into_owned())
            }
            _ => row.get(n)?,
        });
    }
    Ok(found)
}

/// Mends the header of a copy.
fn mend(copy: &Path) -> Result<(), StoreError> {
    let open = || fs::OpenOptions::new().read(true).write(true).open(copy);
    open()
        .and_then(|mut file| mend_header(&mut file))
        .map(drop)
        .map_err(|error| StoreError::File(copy.to_owned(), error))
}

/// Writes the header that every replica begins with (<https://www.sqlite.org/fileformat2.html>, 1.3); gives the one that
/// was there.
pub(super) fn mend_header(file: &mut fs::File) -> io::Result<Header> {
    let mut page = [0; 101];
    file.read_exact(&mut page)?;
    // A first page whose tree is gone too holds nothing that a header could help to read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_fault_of_the_file_is_no_damage() {
        let failed = |code| StoreError::from(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
        for code in
            [ffi::SQLITE_FULL, ffi::SQLITE_CANTOPEN, ffi::SQLITE_BUSY, ffi::SQLITE_NOMEM, ffi::SQLITE_IOERR_SHMSIZE]
        {
            assert!(unless_damaged::<()>(Err(failed(code))).is_err(), "{code}");
        }
        for code in [ffi::SQLITE_CORRUPT, ffi::SQLITE_NOTADB, ffi::SQLITE_ERROR, ffi::SQLITE_IOERR_SHORT_READ] {
            assert_eq!(unless_damaged::<()>(Err(failed(code))).unwrap(), None, "{code}");
        }
    }
}
