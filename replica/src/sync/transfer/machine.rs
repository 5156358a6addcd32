//! Decides which file is sent or fetched next, and what follows from the end of a transfer. Pure: time and chance are arguments. Must not know HTTP, the
//! database or the disk.

use std::collections::HashMap;

use hearth_contract::problem::ProblemType;
use serde_json::{Value, json};

use crate::model::{FileState, ReasonCode};
use crate::sync::core::{Backoff, ErrorType, KEY_RETRY, Millis, Refusal};

/// Downloads with wrong bytes after which a file counts as damaged.
const WRONG_BYTES_MAX: u32 = 2;

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sync) enum Direction {
    /// To the server.
    Up,
    /// From the server.
    Down,
}

/// What to do now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next<'a> {
    /// Carry the file with this hash.
    Carry(Direction, &'a str),
    /// Nothing until this time.
    WaitUntil(Millis),
    /// Nothing until the table `files` changes.
    Idle,
}

/// How the transfer of one file has ended.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sync) enum TransferEnd {
    /// The bytes are where they should be.
    Done,
    /// The server's answer is no success.
    Refused(Refusal),
    /// The carried bytes are not those of the hash: the server's on the way down, this machine's on the way up.
    WrongBytes,
    /// The bytes to send are not on this machine any more.
    NotHere,
    /// No whole answer arrived; with a sentence why.
    NoAnswer(String),
}

/// What to write down about a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Verdict {
    /// The bytes are where they should be.
    Done,
    /// The file is carried again later.
    Later,
    /// The server does not take the file: a person decides. `limit`: the most bytes of a file, if that was the cause.
    UploadRefused { code: ReasonCode, sentence: String, problem: Value, limit: Option<u64> },
    /// The bytes on this machine are not those of the hash, or are gone.
    Lost(FileState),
    /// The bytes did not come: the new state of the file, and why. Without a state the server does not give them; the state stays.
    NotFetched(Option<FileState>, Value),
}

/// Attempts of one file.
#[derive(Debug, Clone, Copy, Default)]
struct Attempts {
    failures: u32,
    wrong_bytes: u32,
    not_before: Millis,
}

/// The files that have failed, and when they are tried again.
#[derive(Debug)]
pub(super) struct Transfer {
    attempts: HashMap<String, Attempts>,
    backoff: Backoff,
}

impl Transfer {
    /// `seed` spreads the attempts of many replicas.
    pub(super) fn new(seed: u64) -> Transfer {
        Transfer { attempts: HashMap::new(), backoff: Backoff::new(seed) }
    }

    /// Contact has returned: everything may be tried at once.
    pub(super) fn clear_pauses(&mut self) {
        self.attempts.values_mut().for_each(|attempts| attempts.not_before = Millis::MIN);
    }

    /// Chooses among the files that are due. Uploads go first, because edits wait for them.
    pub(super) fn next<'a>(&mut self, now: Millis, up: &'a [String], down: &'a [String]) -> Next<'a> {
        self.attempts.retain(|hash, _| up.contains(hash) || down.contains(hash));
        let due_at = |hash: &String| self.attempts.get(hash).map_or(Millis::MIN, |attempts| attempts.not_before);
        let all = || {
            let up = up.iter().map(|hash| (Direction::Up, hash));
            up.chain(down.iter().map(|hash| (Direction::Down, hash)))
        };
        match all().find(|(_, hash)| due_at(hash) <= now) {
            Some((direction, hash)) => Next::Carry(direction, hash),
            None => all().map(|(_, hash)| due_at(hash)).min().map_or(Next::Idle, Next::WaitUntil),
        }
    }

    /// What follows from the end of a transfer.
    pub(super) fn ended(&mut self, now: Millis, direction: Direction, hash: &str, end: TransferEnd) -> Verdict {
        let verdict = match end {
            TransferEnd::Done => Verdict::Done,
            TransferEnd::NoAnswer(_) => self.later(now, hash, 0),
            TransferEnd::NotHere => Verdict::Lost(FileState::Missing),
            TransferEnd::WrongBytes if direction == Direction::Up => Verdict::Lost(FileState::Damaged),
            TransferEnd::WrongBytes => {
                let attempts = self.attempts.entry(hash.to_owned()).or_default();
                attempts.wrong_bytes += 1;
                match attempts.wrong_bytes >= WRONG_BYTES_MAX {
                    true => Verdict::NotFetched(
                        Some(FileState::Damaged),
                        json!({ "message": "the server gave other bytes than the hash of the file says, twice" }),
                    ),
                    false => self.later(now, hash, 0),
                }
            }
            TransferEnd::Refused(refusal) if is_temporary(&refusal) => {
                let pause = if refusal.status == 401 { KEY_RETRY } else { 0 };
                self.later(now, hash, refusal.retry_after.unwrap_or_default().max(pause))
            }
            TransferEnd::Refused(refusal) => final_verdict(direction, refusal),
        };
        if verdict != Verdict::Later {
            self.attempts.remove(hash);
        }
        verdict
    }

    fn later(&mut self, now: Millis, hash: &str, pause_min: Millis) -> Verdict {
        let attempts = self.attempts.entry(hash.to_owned()).or_default();
        attempts.failures += 1;
        attempts.not_before = now + self.backoff.pause(attempts.failures).max(pause_min);
        Verdict::Later
    }
}

/// True when the same request may succeed later: the server asks for patience, does not know the key, or something else than the
/// server has answered. After 416 the download begins anew. A key that the server knows and that may not carry files (403) is
/// refused: another key, or a person, begins the transfer again.
fn is_temporary(refusal: &Refusal) -> bool {
    !refusal.is_from_server() || matches!(refusal.status, 401 | 408 | 409 | 416 | 429 | 500..)
}

fn final_verdict(direction: Direction, refusal: Refusal) -> Verdict {
    let Refusal { status, error_type, message, problem, .. } = refusal;
    let is_not_found = error_type == ErrorType::Known(ProblemType::NotFound);
    match direction {
        Direction::Down => Verdict::NotFetched(is_not_found.then_some(FileState::Missing), problem),
        Direction::Up => {
            let is_of_file = problem.pointer("/details/of").is_some_and(|of| of == "file");
            let limit = problem.pointer("/details/limit_bytes").and_then(Value::as_u64).filter(|_| is_of_file);
            let code = if status == 413 { ReasonCode::TooLarge } else { ReasonCode::Refused };
            Verdict::UploadRefused { code, sentence: message, problem, limit }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, error_type: &str, problem: Value) -> Refusal {
        let error_type = ErrorType::parse(error_type);
        Refusal { status, error_type, message: "no".to_owned(), expired: None, problem, retry_after: None }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn uploads_go_first_and_failed_files_wait() {
        let mut transfer = Transfer::new(1);
        let (up, down) = (names(&["a"]), names(&["b"]));
        assert_eq!(transfer.next(0, &up, &down), Next::Carry(Direction::Up, "a"));
        assert_eq!(transfer.ended(0, Direction::Up, "a", TransferEnd::NoAnswer("cut".to_owned())), Verdict::Later);
        let busy = Refusal { retry_after: Some(5_000), ..refusal(429, "rate_limited", Value::Null) };
        assert_eq!(transfer.ended(0, Direction::Down, "b", TransferEnd::Refused(busy)), Verdict::Later);
        let Next::WaitUntil(at) = transfer.next(0, &up, &down) else { panic!("both wait") };
        assert!((1..5_000).contains(&at), "{at}");
        assert_eq!(transfer.next(5_000, &[], &down), Next::Carry(Direction::Down, "b"));
        transfer.ended(6_000, Direction::Down, "b", TransferEnd::NoAnswer("cut".to_owned()));
        transfer.clear_pauses();
        assert_eq!(transfer.next(6_000, &[], &down), Next::Carry(Direction::Down, "b"), "contact is back");
        assert_eq!(transfer.next(6_000, &[], &[]), Next::Idle);
    }

    #[test]
    fn answers_and_what_they_mean() {
        use Direction::{Down, Up};
        let [too_large, full] =
            [(8, "file"), (9, "home")].map(|(limit, of)| json!({ "details": { "limit_bytes": limit, "of": of } }));
        let large = |problem: &Value| TransferEnd::Refused(refusal(413, "payload_too_large", problem.clone()));
        let no = |status, error_type| TransferEnd::Refused(refusal(status, error_type, Value::Null));
        let refused = |code, problem: &Value, limit| {
            let problem = problem.clone();
            Verdict::UploadRefused { code, sentence: "no".to_owned(), problem, limit }
        };
        let not_taken = || refused(ReasonCode::Refused, &Value::Null, None);
        let not_fetched = |state| Verdict::NotFetched(state, Value::Null);
        for (direction, end, expected) in [
            (Up, TransferEnd::Done, Verdict::Done),
            (Up, large(&too_large), refused(ReasonCode::TooLarge, &too_large, Some(8))),
            (Up, large(&full), refused(ReasonCode::TooLarge, &full, None)),
            (Up, no(413, ""), Verdict::Later),
            (Up, no(415, "unsupported_media_type"), not_taken()),
            (Up, no(400, "invalid_request"), not_taken()),
            (Up, no(403, "insufficient_scope"), not_taken()),
            (Up, no(403, ""), Verdict::Later),
            (Up, no(401, "unauthorized"), Verdict::Later),
            (Down, no(403, "insufficient_scope"), not_fetched(None)),
            (Up, TransferEnd::WrongBytes, Verdict::Lost(FileState::Damaged)),
            (Up, TransferEnd::NotHere, Verdict::Lost(FileState::Missing)),
            (Up, no(503, ""), Verdict::Later),
            (Down, no(404, "not_found"), not_fetched(Some(FileState::Missing))),
            (Down, no(404, "route_not_found"), not_fetched(None)),
            (Down, no(404, ""), Verdict::Later),
            (Down, no(416, "range_not_satisfiable"), Verdict::Later),
        ] {
            assert_eq!(Transfer::new(1).ended(0, direction, "a", end.clone()), expected, "{end:?}");
        }
    }

    #[test]
    fn wrong_bytes_twice_are_damage() {
        let mut transfer = Transfer::new(1);
        assert_eq!(transfer.ended(0, Direction::Down, "a", TransferEnd::WrongBytes), Verdict::Later);
        assert_eq!(transfer.ended(0, Direction::Down, "a", TransferEnd::NoAnswer(String::new())), Verdict::Later);
        assert!(matches!(
            transfer.ended(0, Direction::Down, "a", TransferEnd::WrongBytes),
            Verdict::NotFetched(Some(FileState::Damaged), _)
        ));
        assert_eq!(
            transfer.ended(0, Direction::Down, "a", TransferEnd::WrongBytes),
            Verdict::Later,
            "a person has asked again"
        );
    }
}
