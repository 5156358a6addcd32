//! Everything that happens outside, brought into one channel of messages: keys from the terminal, the bell of the
//! database. Must not know what any of it means.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event};
use hearth_replica::StoreError;
use hearth_replica::notification::{self, Subscription};

use crate::message::Message;

/// How long the reader takes at most to notice that it should stop.
const PAUSE: Duration = Duration::from_millis(100);

/// How long the end of the reader is waited for.
const GOODBYE: Duration = Duration::from_millis(500);
/// Between two looks whether it has ended.
const LOOK: Duration = Duration::from_millis(5);

/// The reader of the terminal. Stopping it leaves the terminal to somebody else.
#[derive(Debug)]
pub struct Keyboard {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keyboard {
    /// Starts to read.
    pub fn listen(messages: Sender<Message>) -> std::io::Result<Keyboard> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new().name("keyboard".into()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match event::poll(PAUSE) {
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
    /// Waits for the reader to stop, but not for ever: of a terminal that is gone it never hears again, and the process
    /// must end all the same.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let since = Instant::now();
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() && since.elapsed() < GOODBYE {
            thread::sleep(LOOK);
        }
        if thread.is_finished() {
            let _ = thread.join();
        }
    }
}

/// Sends [`Message::Stale`] whenever anybody changes the database, until the watch is dropped.
pub fn bell(db: &Path, messages: Sender<Message>) -> Result<Subscription, StoreError> {
    notification::subscribe(db, move || drop(messages.send(Message::Stale)))
}
