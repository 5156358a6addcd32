//! The log on stderr. One thread writes the lines in batches, because a system call per line would cost as much as
//! answering a read request. Other threads never wait for the reader of the log. Must not know the content of a line.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use tracing_subscriber::filter::{FilterExt, LevelFilter, filter_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use hearth_server::clock::machine_now;

mod line;

/// The format of a line.
#[derive(Clone, Copy, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// How long a line may wait for further lines of its batch.
const BATCH_TIME: Duration = Duration::from_millis(10);
/// Buffered bytes, at most. Further lines are dropped and counted, because the reader of the log may be slow or stopped.
const BUFFER_MAX: usize = 512 * 1024;
/// From this number of bytes on, a batch is written immediately.
const BATCH_BYTES: usize = BUFFER_MAX / 2;
/// How long the end of the program waits for the last lines to be written.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(2);

/// Starts the log. Dropping the guard writes the last lines.
pub(super) fn start(format: LogFormat) -> io::Result<LogGuard> {
    let (lines, guard) = Lines::start(io::stderr(), |count| {
        tracing::warn!(lines = count, "lines of the log were dropped, because the reader of the log is too slow");
    })?;
    let variable = std::env::var("HEARTH_LOG").unwrap_or_default();
    let (filter, problem) = match parse_filter(&variable) {
        Ok(filter) => (filter, None),
        Err(problem) => (None, Some(problem)),
    };
    let filter = filter.unwrap_or_else(|| EnvFilter::new("info,refinery_core=warn"));
    // Whatever HEARTH_LOG says: this library logs the texts of records.
    let is_safe = filter_fn(|about| !about.target().starts_with("rmcp") || *about.level() <= tracing::Level::WARN);
    let filter = filter.and(is_safe);
    let lines = fmt::layer().with_writer(lines).with_target(false);
    let registry = tracing_subscriber::registry();
    match format {
        LogFormat::Text if io::IsTerminal::is_terminal(&io::stderr()) => {
            registry.with(lines.with_filter(filter)).init();
        }
        LogFormat::Text => {
            registry.with(lines.event_format(line::PlainText(machine_now)).with_filter(filter)).init();
        }
        LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(filter)).init(),
    }
    if let Some(problem) = problem {
        tracing::warn!("HEARTH_LOG is ignored: {problem}");
    }
    Ok(guard)
}

/// Parses `HEARTH_LOG`. None: the variable is empty. A word without `=` must be a level, because tracing would read a
/// misspelt level as a target and silence all other targets.
fn parse_filter(text: &str) -> Result<Option<EnvFilter>, String> {
    let words: Vec<&str> = text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(None);
    }
    match words.iter().find(|word| !word.contains('=') && word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(format!("`{word}` is not a level (error, warn, info, debug, trace, off), nor TARGET=LEVEL")),
        None => EnvFilter::try_new(text).map(Some).map_err(|error| error.to_string()),
    }
}

/// The buffer of lines that the log thread writes. Cheap to clone.
#[derive(Clone, Default)]
struct Lines(Arc<(Mutex<Buffer>, Condvar)>);

#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    /// Lines dropped since the last batch.
    dropped: u64,
    /// True at the end of the program: no further lines come.
    is_closed: bool,
    /// True after the log thread wrote the last line.
    is_flushed: bool,
}

/// Guard of the log thread. Dropping the guard waits until the last lines are written, at most [`FLUSH_TIME_MAX`].
pub(super) struct LogGuard(Lines);

impl Lines {
    /// Starts the log thread for a sink. `report` receives the number of dropped lines.
    fn start(
        sink: impl Write + Send + 'static,
        report: impl Fn(u64) + Send + 'static,
    ) -> io::Result<(Lines, LogGuard)> {
        let lines = Lines::default();
        let writing = lines.clone();
        std::thread::Builder::new().name("hearth-log".into()).spawn(move || writing.write_batches(sink, report))?;
        Ok((lines.clone(), LogGuard(lines)))
    }

    /// The loop of the log thread. A sink that blocks stops only this thread.
    fn write_batches(&self, mut sink: impl Write, report: impl Fn(u64)) {
        let mut bytes = Vec::new();
        while let Some(dropped) = self.take(&mut bytes) {
            // Reported before the next write, which may block again. The buffer is empty now and takes the report.
            if dropped > 0 {
                report(dropped);
            }
            let _ = sink.write_all(&bytes);
            bytes.clear();
        }
        self.lock().is_flushed = true;
        self.0.1.notify_all();
    }

    /// Waits for a batch and moves the batch to `bytes`. Returns the number of dropped lines. None: the log is closed.
    fn take(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        let changed = &self.0.1;
        let is_empty = |buffer: &mut Buffer| buffer.bytes.is_empty() && !buffer.is_closed;
        let is_small = |buffer: &mut Buffer| buffer.bytes.len() < BATCH_BYTES && !buffer.is_closed;
        let buffer = changed.wait_while(self.lock(), is_empty).unwrap_or_else(PoisonError::into_inner);
        let (mut buffer, _) =
            changed.wait_timeout_while(buffer, BATCH_TIME, is_small).unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut buffer.bytes, bytes);
        let dropped = std::mem::take(&mut buffer.dropped);
        (!bytes.is_empty()).then_some(dropped)
    }

    fn lock(&self) -> MutexGuard<'_, Buffer> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        let changed = &self.0.0.1;
        let mut buffer = self.0.lock();
        buffer.is_closed = true;
        changed.notify_all();
        let _ = changed.wait_timeout_while(buffer, FLUSH_TIME_MAX, |buffer| !buffer.is_flushed);
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

impl Write for &Lines {
    /// Buffers a whole line, or drops the line. Never waits.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut buffer = self.lock();
        let before = buffer.bytes.len();
        if before + line.len() > BUFFER_MAX {
            buffer.dropped += 1;
            return Ok(line.len());
        }
        buffer.bytes.extend_from_slice(line);
        let is_full_batch = before < BATCH_BYTES && buffer.bytes.len() >= BATCH_BYTES;
        drop(buffer);
        if before == 0 || is_full_batch {
            self.0.1.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A sink that reports each write and blocks until the test permits the write.
    struct BlockedSink {
        tried: mpsc::Sender<()>,
        permitted: mpsc::Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for BlockedSink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.tried.send(());
            // A dropped sender permits all writes.
            let _ = self.permitted.recv();
            self.written.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn misspelt_level_is_refused() {
        assert!(parse_filter("").is_ok_and(|filter| filter.is_none()));
        assert!(parse_filter("warn,hearth_server=debug").is_ok_and(|filter| filter.is_some()));
        assert!(parse_filter("erorr").is_err_and(|why| why.starts_with("`erorr` is not a level")));
    }

    #[test]
    fn blocked_log_drops_and_reports_lines() {
        let ((tried, attempts), (permit, permitted)) = (mpsc::channel(), mpsc::channel());
        let written = Arc::new(Mutex::new(Vec::new()));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let sink = BlockedSink { tried, permitted, written: written.clone() };
        let sender = reports.clone();
        let (lines, guard) = Lines::start(sink, move |count| sender.lock().unwrap().push(count)).unwrap();
        (&lines).write_all(b"first\n").unwrap();
        attempts.recv().unwrap();
        // From here on the log thread is blocked in its write.
        let line = [b'x'; 1024];
        for _ in 0..BUFFER_MAX / 1024 + 7 {
            (&lines).write_all(&line).unwrap();
        }
        drop(permit);
        drop(guard);
        assert_eq!(*reports.lock().unwrap(), [7]);
        assert_eq!(written.lock().unwrap().len(), "first\n".len() + BUFFER_MAX);
    }
}
