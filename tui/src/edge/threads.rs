//! The worker threads that carry effects out, because a key must never wait for the disk. One thread reads, one
//! computes sums, one writes. Each has its own connection: a sum over all rows, or a write that waits for another
//! process, delays no page and no search. Must not know what an effect does.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use hearth_replica::{Origin, Replica};

use super::context::EdgeContext;
use super::effects::run_effect;
use super::undo::UndoHistory;
use crate::message::{Answer, Effect, Message};

/// The least time between two progress messages of a write, and before the first.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// How long the end waits for the threads before `late` is called.
const FINISH_QUIET: Duration = Duration::from_millis(300);

/// The worker threads and their queues.
#[derive(Debug)]
pub struct Workers {
    reads: Sender<Effect>,
    sums: Sender<Effect>,
    writes: Sender<Effect>,
    threads: [JoinHandle<()>; 3],
    /// Disconnects when the last thread has ended.
    ended: Receiver<()>,
}

impl Workers {
    /// Sends an effect to its thread. Err: the thread has ended.
    pub fn send(&self, effect: Effect) -> Result<(), std::sync::mpsc::SendError<Effect>> {
        match effect {
            Effect::Write(_) => self.writes.send(effect),
            Effect::Reopen => {
                self.writes.send(Effect::Reopen)?;
                self.sums.send(Effect::Reopen)?;
                self.reads.send(Effect::Reopen)
            }
            // Effects that read every row, and those that wait for another program.
            Effect::Totals(..)
            | Effect::Figures(_)
            | Effect::Export(..)
            | Effect::OpenFile { .. }
            | Effect::ReadImport(..) => self.sums.send(effect),
            effect => self.reads.send(effect),
        }
    }

    /// Waits until all effects are done: the last change and the session are then on disk. Calls `late` once if the
    /// wait takes longer than `FINISH_QUIET`.
    pub fn finish(self, late: impl FnOnce()) {
        drop((self.reads, self.sums, self.writes));
        if self.ended.recv_timeout(FINISH_QUIET) == Err(RecvTimeoutError::Timeout) {
            late();
        }
        for thread in self.threads {
            let _ = thread.join();
        }
    }
}

/// Starts the threads, each with its own replica. The answers go to `answers` as messages. The threads end when the
/// [`Workers`] finish.
pub fn start_workers(
    [reader, adder, writer]: [Replica; 3],
    context: EdgeContext,
    answers: Sender<Message>,
) -> std::io::Result<Workers> {
    let (alive, ended) = channel();
    let begin = |name: &str, replica: Replica| {
        let (requests, receiver) = channel();
        let (context, answers, alive) = (context.clone(), answers.clone(), alive.clone());
        let work = move || {
            let _alive: Sender<()> = alive;
            run_effects(replica, &context, &receiver, &answers);
        };
        let thread = thread::Builder::new().name(name.into()).spawn(work)?;
        Ok::<_, std::io::Error>((requests, thread))
    };
    let (reads, reader) = begin("reader", reader)?;
    let (sums, adder) = begin("adder", adder)?;
    let (writes, writer) = begin("writer", writer)?;
    Ok(Workers { reads, sums, writes, threads: [reader, adder, writer], ended })
}

/// The loop of a worker thread.
fn run_effects(mut replica: Replica, context: &EdgeContext, requests: &Receiver<Effect>, answers: &Sender<Message>) {
    let mut queue = VecDeque::new();
    let mut history = UndoHistory::default();
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
            let opened = Replica::open(&context.db, Origin::Tui).map(|opened| replica = opened);
            let _ = answers.send(Message::Answer(Answer::Reopened(opened.map_err(|error| error.to_string()))));
            continue;
        }
        let mut last_progress = Instant::now();
        let mut progress = |answer| {
            if last_progress.elapsed() >= PROGRESS_INTERVAL {
                last_progress = Instant::now();
                let _ = answers.send(Message::Answer(answer));
            }
        };
        // At the end of the program the receiver may be gone; the remaining effects are carried out anyway.
        if let Some(answer) = run_effect(&replica, context, &mut history, effect, &mut progress) {
            let _ = answers.send(Message::Answer(answer));
        }
    }
}

/// Adds an effect to the queue. A waiting effect of the same slot is dropped, because only the newest answer is used.
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
    fn reopen_writes_to_the_replaced_database() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let (answers, heard) = channel();
        let context = EdgeContext { db: db.clone(), session, exports, flags: String::new() };
        let requests = start_workers([open(), open(), open()], context, answers).unwrap();
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
    fn finish_calls_late_for_a_slow_write() {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let open = || Replica::open(&db, Origin::Tui).unwrap();
        let (session, exports) = (directory.path().join("session"), directory.path().to_owned());
        let context = EdgeContext { db: db.clone(), session, exports, flags: String::new() };
        let fields = Fields::from_iter([("name".to_owned(), "Hall".into())]);
        let write = Effect::Write(Write::Create { kind: Kind::Room, fields });
        let requests = start_workers([open(), open(), open()], context, channel().0).unwrap();
        // Another connection holds the write lock until `late` is called.
        let other = rusqlite::Connection::open(&db).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        requests.send(write).unwrap();
        let mut was_late = false;
        requests.finish(|| {
            was_late = true;
            other.execute_batch("ROLLBACK").unwrap();
        });
        assert!(was_late);
        assert_eq!(open().edits().unwrap().len(), 1, "finish waits for the write");
    }

    #[test]
    fn newest_effect_of_a_slot_replaces_the_waiting() {
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
