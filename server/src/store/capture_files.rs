//! The files that jobs with drafts still need, and how many of them wait for the reader (contract 22). Must not know what a job is for.

use super::error::StoreError;
use super::file_hash::FileHash;
use super::home_number::HomeNumber;
use super::tx::Tx;

/// Deletes all jobs of a home.
pub(super) fn forget_all(tx: &Tx<'_>, home: HomeNumber) -> Result<(), StoreError> {
    tx.conn.execute("DELETE FROM capture_files WHERE home = ?1", [home.0])?;
    tx.conn.execute(
        "UPDATE homes SET capture_bytes = capture_bytes - (SELECT coalesce(sum(bytes), 0) FROM captures WHERE home = ?1)
         WHERE number = ?1",
        [home.0],
    )?;
    tx.conn.execute("DELETE FROM captures WHERE home = ?1", [home.0])?;
    Ok(())
}

/// Stores that a file is being read: the jobs that wait for the file run.
pub(super) fn begin(tx: &Tx<'_>, home: HomeNumber, file: &FileHash) -> Result<(), StoreError> {
    tx.conn.execute(
        "UPDATE captures SET status = 'running' WHERE status = 'queued' AND number IN
             (SELECT capture FROM capture_files WHERE home = ?1 AND sha256 = ?2)",
        (home.0, file.as_str()),
    )?;
    Ok(())
}

/// Counts again how many files the jobs wait for that need this file.
pub(super) fn count_unread(tx: &Tx<'_>, home: HomeNumber, file: &FileHash) -> Result<(), StoreError> {
    let mut select = tx.conn.prepare_cached("SELECT capture FROM capture_files WHERE home = ?1 AND sha256 = ?2")?;
    let jobs: Vec<i64> = select.query_map((home.0, file.as_str()), |row| row.get(0))?.collect::<Result<_, _>>()?;
    jobs.into_iter().try_for_each(|job| count_unread_of(tx, job))
}

/// Counts again how many files a job waits for.
pub(super) fn count_unread_of(tx: &Tx<'_>, job: i64) -> Result<(), StoreError> {
    let mut update = tx.conn.prepare_cached(
        "UPDATE captures SET unread =
             (SELECT count(*) FROM capture_files f CROSS JOIN readings r ON r.home = f.home AND r.sha256 = f.sha256
              WHERE f.capture = captures.number AND r.state = 'waiting')
         WHERE number = ?1 AND status IN ('queued', 'running')",
    )?;
    update.execute([job])?;
    Ok(())
}

/// Whether a job still needs a file.
pub(super) fn needs(tx: &Tx<'_>, home: HomeNumber, file: &FileHash) -> Result<bool, StoreError> {
    let mut statement =
        tx.conn.prepare_cached("SELECT EXISTS (SELECT 1 FROM capture_files WHERE home = ?1 AND sha256 = ?2)")?;
    Ok(statement.query_row((home.0, file.as_str()), |row| row.get(0))?)
}

/// Adds to the bytes of readings and jobs of a home.
pub(super) fn add_bytes(tx: &Tx<'_>, home: HomeNumber, change: i64) -> Result<(), StoreError> {
    let mut update = tx.conn.prepare_cached("UPDATE homes SET capture_bytes = capture_bytes + ?2 WHERE number = ?1")?;
    update.execute((home.0, change))?;
    Ok(())
}
