//! The opaque texts that name a place: in a list, or in the feed. Each names its home and carries a checksum, so that
//! one that was altered or strayed is refused rather than misread. The checksum keeps no secret: whoever makes a text up
//! names a place of his own home, and nothing that is looked up by a cursor may lead out of it. Pure.

use data_encoding::BASE64URL_NOPAD;
use hearth_contract::schema::Kind;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::store::records::{Direction, Sort};
use crate::store::search::Fit;

/// A place in a home's feed (contract 9.3); the default is before all events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedCursor {
    /// The last event that was read; 0 before the first.
    pub position: i64,
    /// The run that wrote that event; 0 for position 0.
    pub run: i64,
    /// The head up to which the reader still reads from nothing. 0 once it has passed it, so that all who are level share
    /// one text.
    pub start: i64,
    /// The run that wrote that head; 0 when `start` is.
    pub start_run: i64,
    /// From which position the history of `run` is its own; 0: unknown.
    pub origin: i64,
    /// The run that wrote what is before that. Should `run` be unknown one day, because a copy is put back that is older
    /// than it, then this tells what both histories share.
    pub parent: i64,
}

/// A place in a collection's list, with all that decides what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// Which collection.
    pub kind: Kind,
    /// In which order.
    pub sort: Sort,
    /// In which direction.
    pub direction: Direction,
    /// Filter on creation, milliseconds.
    pub created_since: Option<i64>,
    /// Filter on change, milliseconds.
    pub updated_since: Option<i64>,
    /// The last position that was shown.
    pub after: i64,
}

/// A place among the hits of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchCursor {
    /// How well the last hit that was shown fits.
    pub fit: Fit,
    /// Its row.
    pub row: i64,
    /// The kinds that are looked through, in the order of the collections.
    pub kinds: Vec<Kind>,
}

/// A place in a home's list of export jobs, latest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportCursor {
    /// The last job that was shown.
    pub before: i64,
}

/// Why a text is no cursor here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Not a text of ours, or altered.
    Altered,
    /// Of another home.
    OtherHome,
    /// Of a list where a feed's was wanted, or the other way round.
    OtherUse,
}

const FEED: u8 = 1;
const LIST: u8 = 2;
const SEARCH: u8 = 3;
const EXPORTS: u8 = 5;
const SUM: usize = 4;
const HOME: usize = 8;

impl FeedCursor {
    /// Its text for a home.
    pub fn write(&self, home: Uuid) -> String {
        let (start, start_run) = if self.is_first_read() { (self.start, self.start_run) } else { (0, 0) };
        seal(FEED, home, &[self.position, self.run, start, start_run, self.origin, self.parent])
    }

    /// Reads a text given to a client of this home.
    pub fn read(text: &str, home: Uuid) -> Result<FeedCursor, Unreadable> {
        let cursor = match unseal(FEED, text, home)?[..] {
            [position, run, start, start_run, origin, parent] => {
                FeedCursor { position, run, start, start_run, origin, parent }
            }
            // Of earlier versions. Without the run of its start, that is taken to be of another history.
            [position, run, start] => FeedCursor { position, run, start, ..FeedCursor::default() },
            [position, run, start, start_run] => {
                FeedCursor { position, run, start, start_run, ..FeedCursor::default() }
            }
            _ => return Err(Unreadable::Altered),
        };
        // No place that was given out is before the first event.
        let is_place = cursor.position.min(cursor.start).min(cursor.origin) >= 0;
        if is_place { Ok(cursor) } else { Err(Unreadable::Altered) }
    }

    /// Whether the reader is still on its way from nothing to the present.
    pub fn is_first_read(&self) -> bool {
        self.position < self.start
    }
}

impl ListCursor {
    /// Its text for a home.
    pub fn write(&self, home: Uuid) -> String {
        let order = i64::from(self.sort == Sort::Updated) * 2 + i64::from(self.direction == Direction::Ascending);
        let filter = |since: Option<i64>| since.unwrap_or(i64::MIN);
        let numbers = [self.kind as i64, order, filter(self.created_since), filter(self.updated_since), self.after];
        seal(LIST, home, &numbers)
    }

    /// Reads a text given to a client of this home.
    pub fn read(text: &str, home: Uuid) -> Result<ListCursor, Unreadable> {
        let numbers = unseal(LIST, text, home)?;
        let [kind, order, created, updated, after] = numbers[..] else {
            return Err(Unreadable::Altered);
        };
        let filter = |since: i64| (since != i64::MIN).then_some(since);
        Ok(ListCursor {
            kind: Kind::ALL.into_iter().find(|k| *k as i64 == kind).ok_or(Unreadable::Altered)?,
            sort: if order & 2 == 0 { Sort::Created } else { Sort::Updated },
            direction: if order & 1 == 0 { Direction::Descending } else { Direction::Ascending },
            created_since: filter(created),
            updated_since: filter(updated),
            after,
        })
    }
}

impl SearchCursor {
    /// Its text for a home and the words that were asked for.
    pub fn write(&self, home: Uuid, words: &[String]) -> String {
        let kinds = self.kinds.iter().map(|kind| 1_i64 << *kind as i64).sum();
        seal(SEARCH, home, &[self.fit as i64, self.row, question(words), kinds])
    }

    /// Reads a text given to a client of this home for these words, and for these kinds if any are named again.
    pub fn read(text: &str, home: Uuid, words: &[String], kinds: &[Kind]) -> Result<SearchCursor, Unreadable> {
        let [fit, row, asked, among] = unseal(SEARCH, text, home)?[..] else { return Err(Unreadable::Altered) };
        let fit = Fit::ALL.into_iter().find(|known| *known as i64 == fit).ok_or(Unreadable::Altered)?;
        let among: Vec<Kind> =
            Kind::COLLECTIONS.into_iter().filter(|kind| among & (1_i64 << *kind as i64) != 0).collect();
        if asked != question(words) || !(kinds.is_empty() || kinds == among) {
            return Err(Unreadable::OtherUse);
        }
        Ok(SearchCursor { fit, row, kinds: among })
    }
}

impl ExportCursor {
    /// Its text for a home.
    pub fn write(&self, home: Uuid) -> String {
        seal(EXPORTS, home, &[self.before])
    }

    /// Reads a text given to a client of this home.
    pub fn read(text: &str, home: Uuid) -> Result<ExportCursor, Unreadable> {
        match unseal(EXPORTS, text, home)?[..] {
            [before] => Ok(ExportCursor { before }),
            _ => Err(Unreadable::Altered),
        }
    }
}

/// A number that tells questions apart.
fn question(words: &[String]) -> i64 {
    let digest = Sha256::digest(words.join(" "));
    i64::from_be_bytes(std::array::from_fn(|at| digest[at]))
}

/// Use, home, numbers, checksum; small numbers take few characters.
fn seal(usage: u8, home: Uuid, numbers: &[i64]) -> String {
    let mut bytes = vec![usage];
    bytes.extend_from_slice(&home.as_bytes()[16 - HOME..]);
    for number in numbers {
        push_number(&mut bytes, *number);
    }
    let sum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&sum[..SUM]);
    BASE64URL_NOPAD.encode(&bytes)
}

fn unseal(usage: u8, text: &str, home: Uuid) -> Result<Vec<i64>, Unreadable> {
    let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Unreadable::Altered)?;
    let (body, sum) = bytes.split_at_checked(bytes.len().saturating_sub(SUM)).ok_or(Unreadable::Altered)?;
    if body.len() <= HOME || Sha256::digest(body)[..SUM] != *sum {
        return Err(Unreadable::Altered);
    }
    if body[0] != usage {
        return Err(Unreadable::OtherUse);
    }
    if body[1..=HOME] != home.as_bytes()[16 - HOME..] {
        return Err(Unreadable::OtherHome);
    }
    let mut rest = &body[HOME + 1..];
    let mut numbers = Vec::new();
    while !rest.is_empty() {
        let (number, after) = take_number(rest).ok_or(Unreadable::Altered)?;
        numbers.push(number);
        rest = after;
    }
    Ok(numbers)
}

/// Seven bits a byte, low ones first; the sign folded into the lowest bit.
fn push_number(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn take_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut number = 0u64;
    for (index, byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some(((number >> 1) as i64 ^ -((number & 1) as i64), &bytes[index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOME_A: Uuid = Uuid::from_u128(0xa);

    #[test]
    fn cursors_round_trip() {
        for (position, run, start, start_run) in
            [(0, 0, 0, 0), (5, -7, 9, 8), (1 << 39, i64::MAX, 1 << 40, i64::MIN), (3, i64::MIN, 4, -1)]
        {
            let cursor = FeedCursor { position, run, start, start_run, origin: position / 2, parent: !run };
            assert_eq!(FeedCursor::read(&cursor.write(HOME_A), HOME_A), Ok(cursor));
        }
        let list = ListCursor {
            kind: Kind::Task,
            sort: Sort::Updated,
            direction: Direction::Ascending,
            created_since: Some(-1),
            updated_since: None,
            after: 77,
        };
        assert_eq!(ListCursor::read(&list.write(HOME_A), HOME_A), Ok(list));
    }

    #[test]
    fn a_reader_that_is_level_has_no_start() {
        let level = FeedCursor { position: 9, run: 3, start: 9, start_run: 3, ..FeedCursor::default() };
        assert_eq!(level.write(HOME_A), FeedCursor { start: 0, start_run: 0, ..level }.write(HOME_A));
    }

    #[test]
    fn cursors_of_earlier_versions_are_read() {
        let first_read = FeedCursor { position: 5, run: 7, start: 9, start_run: 8, ..FeedCursor::default() };
        for (numbers, start_run) in [(&[5, 7, 9][..], 0), (&[5, 7, 9, 8], 8)] {
            let read = FeedCursor::read(&seal(FEED, HOME_A, numbers), HOME_A);
            assert_eq!(read, Ok(FeedCursor { start_run, ..first_read }));
        }
    }

    #[test]
    fn strays_are_refused() {
        let text = FeedCursor { position: 5, run: 7, start: 9, start_run: 7, ..FeedCursor::default() }.write(HOME_A);
        assert_eq!(FeedCursor::read(&text, Uuid::from_u128(0xb)), Err(Unreadable::OtherHome));
        assert_eq!(ListCursor::read(&text, HOME_A), Err(Unreadable::OtherUse));
        for bad in ["", "x", "AAAA", &text[1..], &format!("{text}A")] {
            assert_eq!(FeedCursor::read(bad, HOME_A), Err(Unreadable::Altered), "{bad}");
        }
        for at in 0..text.len() {
            let mut bytes = text.clone().into_bytes();
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            assert!(FeedCursor::read(&String::from_utf8(bytes).unwrap(), HOME_A).is_err(), "changed at {at}");
        }
    }
}
