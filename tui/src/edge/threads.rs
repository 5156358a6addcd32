//! The threads that carry effects out, so that no key ever waits for the disk: one reads, one adds up, one writes, each with a
//! connection, so that neither a sum over all rows nor a write that waits for another process keeps a page or a search
//! waiting. Must not know what an effect does.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hearth_replica::{Origin, Replica};

use super::effects::{Places, fulfil, said};
use super::undoing::Steps;
use crate::message::{Answer, Effect, Message};

/// So long a write goes on without a word, and so long between two words on how far it is.
const SILENCE: Duration = Duration::from_millis(250);

/// So long the end of Hearth is waited for without a word.
const UNSAID: Duration = Duration::from_millis(300);

/// The way to the threads.
#[derive(Debug)]
pub struct Requests {
    reads: Sender<Effect>,
    sums: Sender<Effect>,
    writes: Sender<Effect>,
    threads: [JoinHandle<()>; 3],
    /// Ends when the last thread has ended.
    ended: Receiver<()>,
}

impl Requests {
    /// Hands an effect to its thread. Err: that thread has ended.
    pub fn send(&self, effect: Effect) -> Result<(), std::sync::mpsc::SendError<Effect>> {
        match effect {
            Effect::Write(_) => self.writes.send(effect),
            Effect::Reopen => {
                self.writes.send(Effect::Reopen)?;
                self.sums.send(Effect::Reopen)?;
                self.reads.send(Effect::Reopen)
            }
            // What looks at every row.
            Effect::Totals(..) | Effect::Figures(_) | Effect::Export(..) => self.sums.send(effect),
            effect => self.reads.send(effect),
        }
    }

    /// Waits until everything that was asked for is done: the last change and the session are on disk. Where that takes longer
    /// than anybody looks at an empty line without wondering, it is said.
    pub fn finish(self, late: impl FnOnce()) {
        drop((self.reads, self.sums, self.writes));
        if self.ended.recv_timeout(UNSAID) == Err(RecvTimeoutError::Timeout) {
            late();
        }
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Starts the threads, each with a replica of its own. What is sent to them is answered with messages; they end when the
/// sender is dropped.
pub fn start(
    [reader, adder, writer]: [Replica; 3],
    places: Places,
    answers: Sender<Message>,
) -> std::io::Result<Requests> {
    let (alive, ended) = channel();
    let begin = |name: &str, replica: Replica| {
        let (requests, receiver) = channel();
        let (places, answers, alive) = (places.clone(), answers.clone(), alive.clone());
        let work = move || {
            let _alive: Sender<()> = alive;
            work(replica, &places, &receiver, &answers);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok::<_, std::io::Error>((requests, thread))
    };
    let (reads, reader) = begin("reader", reader)?;
    let (sums, adder) = begin("adder", adder)?;
    let (writes, writer) = begin("writer", writer)?;
    Ok(Requests { reads, sums, writes, threads: [reader, adder, writer], ended })
}

fn work(mut replica: Replica, places: &Places, requests: &Receiver<Effect>, answers: &Sender<Message>) {
    let mut queue = VecDeque::new();
    let mut steps = Steps::default();
    loop {
        if queue.is_empty() {
            match requests.recv() {
                Ok(effect) => queue.push_back(effect),
                Err(_) => return,
            }
        }
        for effect in requests.try_iter() {
            enqueue(&mut queue, effect);
        }
        let Some(effect) = queue.pop_front() else { continue };
        if effect == Effect::Reopen {
            let opened = Replica::open(&places.db, Origin::Tui).map(|opened| replica = opened);
            let _ = answers.send(Message::Answer(Answer::Reopened(said(opened))));
            continue;
        }
        let mut said = Instant::now();
        let mut tell = |answer| {
            if said.elapsed() >= SILENCE {
                said = Instant::now();
                let _ = answers.send(Message::Answer(answer));
            }
        };
        // Nobody may listen any more; what is still asked for is done all the same.
        if let Some(answer) = fulfil(&replica, places, &mut steps, effect, &mut tell) {
            let _ = answers.send(Message::Answer(answer));
        }
    }
}

/// Adds a request. One of the same slot that still waits is dropped: nobody looks at its answer any more.
fn enqueue(queue: &mut VecDeque<Effect>, effect: Effect) {
    if let Some(slot) = effect.slot() {
        queue.retain(|waiting| waiting.slot() != Some(slot));
    }
    queue.push_back(effect);
}

#[cfg(test)]
mod tests {
    use hearth_contract::check::Fields;
    use hearth_contract::schema::Kind;

    use super::*;
    use crate::message::Write;

    #[test]
    fn a_database_that_was_replaced_is_written_to_again_once_it_is_opened_anew() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let (answers, heard) = channel();
        let requests =
            start([open(), open(), open()], Places { db: db.clone(), session, exports, flags: String::new() }, answers)
                .unwrap();
        for part in ["", "-wal", "-shm"] {
            let of = |name: &str| directory.path().join(format!("{name}{part}"));
            std::fs::rename(of("replica.db"), of("damaged.db")).unwrap();
        }
        drop(open());
        let fields = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        let write = || Effect::Write(Write::Create { kind: Kind::Room, fields: fields.clone() });
        requests.send(write()).unwrap();
        requests.send(Effect::Reopen).unwrap();
        requests.send(write()).unwrap();
        requests.finish(|| {});
        let written = heard.into_iter().filter_map(|message| match message {
            Message::Answer(Answer::Written(_, result)) => Some(result.is_ok()),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>(), [false, true]);
        assert_eq!(open().edits().unwrap().len(), 1);
    }

    #[test]
    fn a_change_that_is_still_being_written_at_the_end_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let begin = || {
            start(
                [open(), open(), open()],
                Places { db: db.clone(), session: session.clone(), exports: exports.clone(), flags: String::new() },
                channel().0,
            )
            .unwrap()
        };
        let fields = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        let write = Effect::Write(Write::Create { kind: Kind::Room, fields });
        let requests = begin();
        // Somebody else writes, and is done once it has been said.
        let other = rusqlite::Connection::open(&db).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        requests.send(write).unwrap();
        let mut is_said = false;
        requests.finish(|| {
            is_said = true;
            other.execute_batch("ROLLBACK").unwrap();
        });
        assert!(is_said);
        assert_eq!(open().edits().unwrap().len(), 1, "it was waited for");
    }

    #[test]
    fn the_newest_request_of_a_slot_replaces_the_waiting_one_and_writes_stay() {
        let write = || {
            let (kind, id, title) = (Kind::Room, "1".to_owned(), String::new());
            Effect::Write(Write::Delete { kind, id, title })
        };
        let mut queue = VecDeque::new();
        for effect in [Effect::Search(1, "a".into()), write(), Effect::Status, Effect::Search(2, "ab".into()), write()]
        {
            enqueue(&mut queue, effect);
        }
        assert_eq!(Vec::from(queue), [write(), Effect::Status, Effect::Search(2, "ab".into()), write()]);
    }
}
