//! The log on stderr. Lines are gathered for a moment and written together, because a system call for each would cost as
//! much as answering a read. Must not know what is logged.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;

use hearth_server::clock::machine_now;

mod line;

/// The form of a line.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LogForm {
    Text,
    Json,
}

/// How long a line may wait for others.
const GATHER: Duration = Duration::from_millis(10);
/// Bytes that may wait; whoever comes then writes them itself.
const WAITING_MAX: usize = 256 * 1024;

/// Begins to log. What is logged is written to the end once the keeper is dropped.
pub(super) fn begin(form: LogForm) -> io::Result<Keeper> {
    let (lines, keeper) = Lines::begin()?;
    let filter =
        EnvFilter::try_from_env("HEARTH_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=warn,refinery_core=warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_target(false);
    match form {
        LogForm::Text if io::IsTerminal::is_terminal(&io::stderr()) => builder.init(),
        LogForm::Text => builder.event_format(line::Plain(machine_now)).init(),
        LogForm::Json => builder.json().flatten_event(true).init(),
    }
    Ok(keeper)
}

/// Lines that wait to be written. Cheap to clone.
#[derive(Clone, Default)]
struct Lines(Arc<(Mutex<Waiting>, Condvar)>);

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Room that the last lines had, for the next.
    room: Vec<u8>,
    is_over: bool,
}

/// Holds the thread that writes; dropping it writes what is left.
pub(super) struct Keeper {
    lines: Lines,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    fn begin() -> io::Result<(Lines, Keeper)> {
        let lines = Lines::default();
        let writing = lines.clone();
        let thread = std::thread::Builder::new().name("hearth-log".into()).spawn(move || writing.keep_writing())?;
        Ok((lines.clone(), Keeper { lines, thread: Some(thread) }))
    }

    fn keep_writing(&self) {
        let (waiting, came) = &*self.0;
        loop {
            let waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let waiting = came.wait_while(waiting, |waiting| waiting.bytes.is_empty() && !waiting.is_over);
            let is_over = waiting.unwrap_or_else(PoisonError::into_inner).is_over;
            if !is_over {
                std::thread::sleep(GATHER);
            }
            self.write_out();
            if is_over {
                return;
            }
        }
    }

    /// Writes what waits. A log that nobody takes must not stop the service.
    fn write_out(&self) {
        // Taken under the lock of stderr, so that lines keep their order whoever writes them.
        let mut stderr = io::stderr().lock();
        let waiting = || self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = {
            let mut waiting = waiting();
            let room = std::mem::take(&mut waiting.room);
            std::mem::replace(&mut waiting.bytes, room)
        };
        let _ = stderr.write_all(&bytes);
        bytes.clear();
        waiting().room = bytes;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let (waiting, came) = &*self.lines.0;
        waiting.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        came.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

impl Write for &Lines {
    /// Takes a whole line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let (waiting, came) = &*self.0;
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (is_first, is_over) = (waiting.bytes.is_empty(), waiting.is_over);
        waiting.bytes.extend_from_slice(line);
        let is_full = waiting.bytes.len() >= WAITING_MAX;
        drop(waiting);
        if is_full || is_over {
            self.write_out();
        } else if is_first {
            came.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
