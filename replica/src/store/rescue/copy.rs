//! A consistent copy of the whole database in one file, while others read and write it. Must not change the original.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::store::edits::outbox;
use crate::store::{NOW, StoreError, open};

/// What a copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Its size.
    pub bytes: u64,
    /// Records of all kinds.
    pub records: i64,
    /// Edits that the server has not confirmed; those that were on their way wait for a person in it.
    pub pending_edits: i64,
    /// The server's position that it shows.
    pub position: i64,
}

/// Writes the copy; `file` must not exist. It appears under its name when it is complete, for this user alone.
pub(crate) fn write(connection: &Connection, file: &Path) -> Result<Copied, StoreError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| StoreError::File(path, error)
    };
    if file.exists() {
        return Err(at(file)(std::io::ErrorKind::AlreadyExists.into()));
    }
    let mut part = file.as_os_str().to_owned();
    // A name that nothing else has: what is there under a plainer one may be somebody's.
    part.push(format!(".{}.part", uuid::Uuid::new_v4().simple()));
    let part = PathBuf::from(part);
    // Made here, so that it is never readable by others; VACUUM INTO takes an empty file.
    open::private_file(&part).map_err(at(&part))?;
    let copied = fill(connection, &part);
    if copied.is_err() {
        let _ = fs::remove_file(&part);
    }
    let copied = copied?;
    fs::File::open(&part).and_then(|file| file.sync_all()).map_err(at(&part))?;
    fs::rename(&part, file).map_err(at(file))?;
    Ok(copied)
}

fn fill(connection: &Connection, part: &Path) -> Result<Copied, StoreError> {
    let name = part.to_str().ok_or_else(|| StoreError::Odd(format!("no way to write to {}", part.display())))?;
    // Who only looks may write a copy as well.
    let only_looks: bool = connection.pragma_query_value(None, "query_only", |row| row.get(0))?;
    connection.pragma_update(None, "query_only", false)?;
    let vacuumed = connection.execute("VACUUM INTO ?1", [name]);
    connection.pragma_update(None, "query_only", only_looks)?;
    vacuumed?;
    let mut copy = Connection::open(part)?;
    // Nobody syncs the copy: it must not claim so. What is on its way goes from the original; sent from here as well, it would
    // be done a second time, over whatever others have made of it since.
    crate::store::gate::keep(&mut copy, |tx| {
        tx.execute("UPDATE _sync SET daemon_pid = NULL, next_attempt_at = NULL, transport = NULL", [])?;
        let ids = tx
            .prepare("SELECT id FROM edits WHERE state IN ('waiting', 'sending')")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<Vec<i64>, _>>()?;
        let park = format!(
            "UPDATE edits SET state = 'rejected', next_attempt_at = NULL, reason_code = 'from_a_copy', reason = 'From a copy made at ' || {NOW} || ', \
             whose original sends it; retry sends it.' WHERE id = ?1"
        );
        for edit in ids {
            // Its request is the original's too. Who decides here decides by what the server has by then.
            outbox::forget_request(tx, edit)?;
            tx.execute(&park, [edit])?;
        }
        Ok(())
    })?;
    let mut copied = Copied { bytes: 0, records: 0, pending_edits: 0, position: 0 };
    for kind in hearth_contract::schema::Kind::ALL {
        copied.records +=
            copy.query_row(&format!("SELECT count(*) FROM {}", kind.collection()), [], |row| row.get::<_, i64>(0))?;
    }
    (copied.pending_edits, copied.position) =
        copy.query_row("SELECT (SELECT count(*) FROM edits), position FROM _sync", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    copy.close().map_err(|(_, error)| error)?;
    copied.bytes = fs::metadata(part).map_err(|error| StoreError::File(part.to_owned(), error))?.len();
    Ok(copied)
}
