//! Cursors: opaque texts that name a place in a list or in the feed. Each text names its home and carries a checksum, so
//! that an altered or misdirected text is refused. The checksum is no secret: a client can make up a cursor, so a lookup by
//! cursor must never leave the home. Pure; must not know HTTP.
//!
//! - [`list`](ListCursor): the cursor of a list with its filters. `sealed`: the text form of all cursors.

mod list;
mod sealed;

use hearth_contract::schema::Kind;
use sha2::{Digest, Sha256};
use uuid::Uuid;

pub use self::list::ListCursor;
pub use self::sealed::CursorError;
use self::sealed::{Usage, seal_numbers, unseal_numbers};
use crate::store::captures::{Purpose, Status};
use crate::store::search::Fit;

/// A place in a home's feed (contract 9.3). A run is an epoch of the home's history. The default is before all events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedCursor {
    /// The last event that was read; 0 before the first event.
    pub position: i64,
    /// The run that wrote the event at `position`. None at position 0.
    pub run: Option<i64>,
    /// During a backfill, the head at which the backfill ends. Afterwards None, so that all readers at the head have one
    /// text.
    pub start: Option<i64>,
    /// The run that wrote the event at `start`.
    pub start_run: Option<i64>,
    /// The position from which the history belongs to `run` alone: the first position of the run, or the position after
    /// a restore that precedes the run.
    pub origin: i64,
    /// The run that wrote the event before `origin`. When a restored database is older than `run`, the parent tells the
    /// history that both share.
    pub parent: Option<i64>,
}

/// A place among the hits of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCursor {
    /// The fit of the last hit shown.
    pub fit: Fit,
    /// The row of the last hit shown.
    pub row: i64,
    /// The kinds searched, in the order of the collections.
    pub kinds: Vec<Kind>,
}

/// A place in a home's list of export jobs, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportCursor {
    /// The number of the last job shown.
    pub before: i64,
}

/// A place in a home's list of import jobs, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportCursor {
    /// The number of the last job shown.
    pub before: i64,
}

/// A place in the results of an import job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportRowsCursor {
    /// The number of the job.
    pub import: i64,
    /// The position of the next result.
    pub from: i64,
}

/// A place in the list of a home's files, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesCursor {
    /// The number of the last file shown.
    pub before: i64,
    /// Only files that documents name, or only the others. None: all files.
    pub is_referenced: Option<bool>,
}

/// A place in the list of a home's deleted ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletionsCursor {
    /// The revision after which the list began.
    pub since: i64,
    /// The kinds listed, in the order of the table of kinds. Empty: all kinds.
    pub kinds: Vec<Kind>,
    /// The revision of the last deletion shown.
    pub after: i64,
}

/// A place in the list of jobs with drafts of one purpose, the latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureCursor {
    /// The number of the last job shown.
    pub before: i64,
    /// Only jobs in this state. None: all jobs.
    pub status: Option<Status>,
}

impl CaptureCursor {
    /// The text of the cursor, for a home and a purpose.
    pub fn encode(&self, home: Uuid, purpose: Purpose) -> String {
        let status = self.status.map_or(0, |status| status as i64 + 1);
        seal_numbers(Usage::Captures, home, &[self.before, purpose as i64, status])
    }

    /// The cursor in a text that was given to a client of this home for the same purpose. `chosen`: the filter of the request;
    /// None: that of the cursor.
    pub fn decode(
        text: &str,
        home: Uuid,
        purpose: Purpose,
        chosen: Option<Status>,
    ) -> Result<CaptureCursor, CursorError> {
        let [before, of, status] = unseal_numbers(Usage::Captures, text, home)?[..] else {
            return Err(CursorError::Altered);
        };
        let known = Status::ALL.into_iter().find(|known| *known as i64 + 1 == status);
        if known.is_none() && status != 0 {
            return Err(CursorError::Altered);
        }
        match of != purpose as i64 || chosen.is_some() && chosen != known {
            true => Err(CursorError::OtherUse),
            false => Ok(CaptureCursor { before, status: known }),
        }
    }
}

impl FeedCursor {
    /// The text of the cursor, for a home. Absent numbers are written as 0.
    pub fn encode(&self, home: Uuid) -> String {
        let (start, start_run) = if self.is_backfill() { (self.start, self.start_run) } else { (None, None) };
        let numbers = [Some(self.position), self.run, start, start_run, Some(self.origin), self.parent];
        seal_numbers(Usage::Feed, home, &numbers.map(|number| number.unwrap_or(0)))
    }

    /// The cursor in a text that was given to a client of this home.
    pub fn decode(text: &str, home: Uuid) -> Result<FeedCursor, CursorError> {
        let [position, run, start, start_run, origin, parent] = unseal_numbers(Usage::Feed, text, home)?[..] else {
            return Err(CursorError::Altered);
        };
        // No cursor that was given out is before position 0.
        if position.min(start).min(origin) < 0 {
            return Err(CursorError::Altered);
        }
        let present = |number: i64| Some(number).filter(|number| *number != 0);
        Ok(FeedCursor {
            position,
            run: present(run),
            start: present(start),
            start_run: present(start_run),
            origin,
            parent: present(parent),
        })
    }

    /// Whether the reader has not reached the end of its backfill.
    pub fn is_backfill(&self) -> bool {
        self.start.is_some_and(|start| self.position < start)
    }

    /// Makes the cursor equal to the cursor of a reader that never did a backfill.
    pub fn end_backfill(&mut self) {
        (self.start, self.start_run) = (None, None);
    }
}

impl SearchCursor {
    /// The text of the cursor, for a home and the terms of a search.
    pub fn encode(&self, home: Uuid, terms: &[String]) -> String {
        seal_numbers(Usage::Search, home, &[self.fit as i64, self.row, terms_digest(terms), kind_bits(&self.kinds)])
    }

    /// The cursor in a text that was given to a client of this home for a search of these terms. `kinds` must be the kinds
    /// of the cursor, or empty.
    pub fn decode(text: &str, home: Uuid, terms: &[String], kinds: &[Kind]) -> Result<SearchCursor, CursorError> {
        let [fit, row, digest, bits] = unseal_numbers(Usage::Search, text, home)?[..] else {
            return Err(CursorError::Altered);
        };
        let fit = Fit::ALL.into_iter().find(|known| *known as i64 == fit).ok_or(CursorError::Altered)?;
        let searched = kinds_in(bits, &Kind::COLLECTIONS);
        if digest != terms_digest(terms) || !(kinds.is_empty() || kinds == searched) {
            return Err(CursorError::OtherUse);
        }
        Ok(SearchCursor { fit, row, kinds: searched })
    }
}

impl ExportCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        seal_numbers(Usage::Exports, home, &[self.before])
    }

    /// The cursor in a text that was given to a client of this home.
    pub fn decode(text: &str, home: Uuid) -> Result<ExportCursor, CursorError> {
        match unseal_numbers(Usage::Exports, text, home)?[..] {
            [before] => Ok(ExportCursor { before }),
            _ => Err(CursorError::Altered),
        }
    }
}

impl ImportCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        seal_numbers(Usage::Imports, home, &[self.before])
    }

    /// The cursor in a text that was given to a client of this home.
    pub fn decode(text: &str, home: Uuid) -> Result<ImportCursor, CursorError> {
        match unseal_numbers(Usage::Imports, text, home)?[..] {
            [before] => Ok(ImportCursor { before }),
            _ => Err(CursorError::Altered),
        }
    }
}

impl ImportRowsCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        seal_numbers(Usage::ImportRows, home, &[self.import, self.from])
    }

    /// The cursor in a text that was given to a client of this home, for this job.
    pub fn decode(text: &str, home: Uuid, import: i64) -> Result<ImportRowsCursor, CursorError> {
        match unseal_numbers(Usage::ImportRows, text, home)?[..] {
            [of, from] if of == import => Ok(ImportRowsCursor { import, from }),
            [_, _] => Err(CursorError::OtherUse),
            _ => Err(CursorError::Altered),
        }
    }
}

impl FilesCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        let filter = self.is_referenced.map_or(0, |is_referenced| if is_referenced { 1 } else { 2 });
        seal_numbers(Usage::Files, home, &[self.before, filter])
    }

    /// The cursor in a text that was given to a client of this home. `chosen`: the filter of the request; None: that of the
    /// cursor.
    pub fn decode(text: &str, home: Uuid, chosen: Option<bool>) -> Result<FilesCursor, CursorError> {
        let [before, filter] = unseal_numbers(Usage::Files, text, home)?[..] else { return Err(CursorError::Altered) };
        let is_referenced = match filter {
            0 => None,
            1 => Some(true),
            2 => Some(false),
            _ => return Err(CursorError::Altered),
        };
        match chosen.is_some() && chosen != is_referenced {
            true => Err(CursorError::OtherUse),
            false => Ok(FilesCursor { before, is_referenced }),
        }
    }
}

impl DeletionsCursor {
    /// The text of the cursor, for a home.
    pub fn encode(&self, home: Uuid) -> String {
        seal_numbers(Usage::Deletions, home, &[self.since, kind_bits(&self.kinds), self.after])
    }

    /// The cursor in a text that was given to a client of this home.
    pub fn decode(text: &str, home: Uuid) -> Result<DeletionsCursor, CursorError> {
        match unseal_numbers(Usage::Deletions, text, home)?[..] {
            [since, bits, after] if since >= 0 && after >= since => {
                Ok(DeletionsCursor { since, kinds: kinds_in(bits, &Kind::ALL), after })
            }
            _ => Err(CursorError::Altered),
        }
    }
}

/// A number that stands for some kinds in a cursor.
fn kind_bits(kinds: &[Kind]) -> i64 {
    kinds.iter().map(|kind| 1_i64 << *kind as i64).sum()
}

/// Those of `known` for which a number stands, in the order of `known`.
fn kinds_in(bits: i64, known: &[Kind]) -> Vec<Kind> {
    known.iter().copied().filter(|kind| bits & (1_i64 << *kind as i64) != 0).collect()
}

/// 8 bytes of a SHA-256, to tell searches apart.
fn terms_digest(terms: &[String]) -> i64 {
    let digest = Sha256::digest(terms.join("\n"));
    i64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME_A: Uuid = Uuid::from_u128(0xa);

    #[test]
    fn cursors_round_trip() {
        assert_eq!(FeedCursor::decode(&FeedCursor::default().encode(HOME_A), HOME_A), Ok(FeedCursor::default()));
        for (position, run, start, start_run) in
            [(5, -7, 9, 8), (1 << 39, i64::MAX, 1 << 40, i64::MIN), (3, i64::MIN, 4, -1)]
        {
            let (run, parent) = (Some(run), Some(!run));
            let (start, start_run) = (Some(start), Some(start_run));
            let cursor = FeedCursor { position, run, start, start_run, origin: position / 2, parent };
            assert_eq!(FeedCursor::decode(&cursor.encode(HOME_A), HOME_A), Ok(cursor));
        }
    }

    #[test]
    fn cursor_after_backfill_has_no_start() {
        let at_head = FeedCursor { position: 9, run: Some(3), ..FeedCursor::default() };
        let backfilled = FeedCursor { start: Some(9), start_run: Some(3), ..at_head };
        assert_eq!(backfilled.encode(HOME_A), at_head.encode(HOME_A));
    }

    #[test]
    fn altered_or_misdirected_text_is_refused() {
        let (start, start_run) = (Some(9), Some(7));
        let text = FeedCursor { position: 5, run: Some(7), start, start_run, ..FeedCursor::default() }.encode(HOME_A);
        assert_eq!(FeedCursor::decode(&text, Uuid::from_u128(0xb)), Err(CursorError::OtherHome));
        assert_eq!(ListCursor::decode(&text, HOME_A), Err(CursorError::OtherUse));
        for bad in ["", "x", "AAAA", &text[1..], &format!("{text}A")] {
            assert_eq!(FeedCursor::decode(bad, HOME_A), Err(CursorError::Altered), "{bad}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert!(FeedCursor::decode(&String::from_utf8(bytes).unwrap(), HOME_A).is_err(), "changed at {at}");
        }
    }
}
