//! The thread that reads the terminal and sends a message for each key, mouse event, pasted text and change of the size. The
//! thread reads the bytes itself: crossterm takes an escape byte and a key that come in one read for Alt with the key, and
//! loses the second of two escape bytes. Must not know what a message means.

mod sequences;
mod unix;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crossterm::event::Event;

use self::unix::Terminal;
use crate::keys::Keymap;
use crate::message::Message;

/// How long the thread waits for a key before checking whether to stop.
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
    /// Starts the thread. `keys` decides what an escape byte before a key means.
    ///
    /// # Errors
    /// When the process has no terminal, or the thread cannot be started.
    pub fn listen(messages: Sender<Message>, keys: Keymap) -> io::Result<Keyboard> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut terminal = Terminal::open(keys)?;
        let thread = thread::Builder::new().name("keyboard".into()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let Ok(events) = terminal.read(POLL) else { return };
                for message in events.into_iter().filter_map(message) {
                    if messages.send(message).is_err() {
                        return;
                    }
                }
            }
        })?;
        Ok(Keyboard { stop, thread: Some(thread) })
    }
}

impl Drop for Keyboard {
    /// Waits for the thread, at most [`STOP_MAX`]. Reading a terminal that is gone may never return, and the process must
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

fn message(event: Event) -> Option<Message> {
    Some(match event {
        Event::Key(key) => Message::Key(key),
        Event::Paste(text) => Message::Paste(text),
        Event::Mouse(mouse) => Message::Mouse(mouse),
        Event::Resize(width, height) => Message::Resize(width, height),
        Event::FocusGained | Event::FocusLost => return None,
    })
}
