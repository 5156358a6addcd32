//! Turns outside events into messages of one channel: keys of the terminal, and changes of the database. Must not know
//! what a message means.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use hearth_replica::notification::{self, Subscription};
use hearth_replica::{Origin, Replica, StoreError};

use crate::message::Message;

/// How long the main loop waits for a message before drawing again: the day may change, and notices expire.
pub const TICK: Duration = Duration::from_secs(1);

/// How long the keyboard thread waits for a key before checking whether to stop.
const POLL: Duration = Duration::from_millis(100);

/// How long dropping a [`Keyboard`] waits for the thread.
const STOP_MAX: Duration = Duration::from_millis(500);
/// The time between two checks whether the thread has ended.
const STOP_POLL: Duration = Duration::from_millis(5);

/// The thread that reads the terminal. Dropping the value stops the thread, and another program can read the terminal.
#[derive(Debug)]
pub struct Keyboard {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keyboard {
    /// Starts the thread, which sends a message for each event.
    pub fn listen(messages: Sender<Message>) -> std::io::Result<Keyboard> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("keyboard".into()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match event::poll(POLL) {
                    Ok(false) => continue,
                    Ok(true) => {}
                    Err(_) => return,
                }
                let message = match event::read() {
                    Ok(Event::Key(key)) => Message::Key(key),
                    Ok(Event::Paste(text)) => Message::Paste(text),
                    Ok(Event::Mouse(mouse)) => Message::Mouse(mouse),
                    Ok(Event::Resize(width, height)) => Message::Resize(width, height),
                    Ok(_) => continue,
                    Err(_) => return,
                };
                if messages.send(message).is_err() {
                    return;
                }
            }
        })?;
        Ok(Keyboard { stop, thread: Some(thread) })
    }
}

impl Drop for Keyboard {
    /// Waits for the thread, at most `STOP_MAX`. Reading a terminal that is gone never returns, and the process must
    /// end anyway.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && since.elapsed() < STOP_MAX {
            thread::sleep(STOP_POLL);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

/// Sends [`Message::DatabaseChanged`] after each change of the database by any process, until the watch is dropped. Before
/// that, makes the next tasks of recurring tasks that a script has completed.
pub fn watch_database(db: &Path, messages: Sender<Message>) -> Result<Subscription, StoreError> {
    let replica = Replica::open(db, Origin::Tui)?;
    notification::subscribe(db, move || {
        // After an error, the next change or the next program makes them.
        if let Err(error) = replica.make_next_tasks() {
            tracing::warn!(%error, "the next tasks of completed tasks could not be made");
        }
        drop(messages.send(Message::DatabaseChanged));
    })
}
