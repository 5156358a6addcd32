//! The log on stderr. Lines are gathered for a moment and written together, because a system call for each would cost as
//! much as answering a read. One thread writes; nobody else waits for whoever takes the log. Must not know what is logged.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
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
/// Bytes that may wait. Lines that come then are left out and counted: whoever takes the log may be slow, or have stopped.
const WAITING_MAX: usize = 512 * 1024;
/// Bytes that wait for no others any more.
const WAITING_LONG: usize = WAITING_MAX / 2;
/// How long the end of the program waits for what is left to be taken.
const END_TIME_MAX: Duration = Duration::from_secs(2);

/// Begins to log. What is logged is written to the end once the keeper is dropped.
pub(super) fn begin(form: LogForm) -> io::Result<Keeper> {
    let (lines, keeper) = Lines::begin(io::stderr(), |count| {
        tracing::warn!(lines = count, "lines of the log were left out, because nobody took it");
    })?;
    let said = std::env::var("HEARTH_LOG").unwrap_or_default();
    let (filter, misread) = match read(&said) {
        Ok(wanted) => (wanted, None),
        Err(why) => (None, Some(why)),
    };
    let filter = filter.unwrap_or_else(|| EnvFilter::new("info,rmcp=warn,refinery_core=warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(lines).with_target(false);
    match form {
        LogForm::Text if io::IsTerminal::is_terminal(&io::stderr()) => builder.init(),
        LogForm::Text => builder.event_format(line::Plain(machine_now)).init(),
        LogForm::Json => builder.json().flatten_event(true).init(),
    }
    if let Some(why) = misread {
        tracing::warn!("HEARTH_LOG is left out of account: {why}");
    }
    Ok(keeper)
}

/// What `HEARTH_LOG` says; None: nothing. A word alone is a level: as the name of a target, one that is misspelt would
/// silence all the others.
fn read(said: &str) -> Result<Option<EnvFilter>, String> {
    let words: Vec<&str> = said.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(None);
    }
    match words.iter().find(|word| !word.contains('=') && word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(format!("`{word}` is neither error, warn, info, debug, trace or off nor TARGET=LEVEL")),
        None => EnvFilter::try_new(said).map(Some).map_err(|error| error.to_string()),
    }
}

/// Lines that wait to be written. Cheap to clone.
#[derive(Clone, Default)]
struct Lines(Arc<(Mutex<Waiting>, Condvar)>);

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// Lines that found no room since the last were taken.
    left_out: u64,
    /// No more will come.
    is_over: bool,
    /// All that came was written.
    is_done: bool,
}

/// Stands for the thread that writes; dropping it waits for what is left, so long as somebody takes it.
pub(super) struct Keeper(Lines);

impl Lines {
    /// Begins a thread that writes to a sink, and says by `tell` how many lines were left out.
    fn begin(sink: impl Write + Send + 'static, tell: impl Fn(u64) + Send + 'static) -> io::Result<(Lines, Keeper)> {
        let lines = Lines::default();
        let writing = lines.clone();
        std::thread::Builder::new().name("hearth-log".into()).spawn(move || writing.keep_writing(sink, tell))?;
        Ok((lines.clone(), Keeper(lines)))
    }

    /// Nobody else writes: a log that nobody takes stops this thread, and no other.
    fn keep_writing(&self, mut sink: impl Write, tell: impl Fn(u64)) {
        let mut bytes = Vec::new();
        while let Some(left_out) = self.take(&mut bytes) {
            // Told before the write that may be stopped again; there is room for it now, behind what was taken.
            if left_out > 0 {
                tell(left_out);
            }
            let _ = sink.write_all(&bytes);
            bytes.clear();
        }
        self.hold().is_done = true;
        self.0.1.notify_all();
    }

    /// Takes what waits, once it has for a moment; says how many lines found no room. None: it is over.
    fn take(&self, bytes: &mut Vec<u8>) -> Option<u64> {
        let came = &self.0.1;
        let nothing = |waiting: &mut Waiting| waiting.bytes.is_empty() && !waiting.is_over;
        let little = |waiting: &mut Waiting| waiting.bytes.len() < WAITING_LONG && !waiting.is_over;
        let waiting = came.wait_while(self.hold(), nothing).unwrap_or_else(PoisonError::into_inner);
        let (mut waiting, _) = came.wait_timeout_while(waiting, GATHER, little).unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut waiting.bytes, bytes);
        let left_out = std::mem::take(&mut waiting.left_out);
        (!bytes.is_empty()).then_some(left_out)
    }

    fn hold(&self) -> MutexGuard<'_, Waiting> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let came = &self.0.0.1;
        let mut waiting = self.0.hold();
        waiting.is_over = true;
        came.notify_all();
        let _ = came.wait_timeout_while(waiting, END_TIME_MAX, |waiting| !waiting.is_done);
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Lines;

    fn make_writer(&'a self) -> &'a Lines {
        self
    }
}

impl Write for &Lines {
    /// Takes a whole line, or leaves it out. It never waits.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = self.hold();
        let before = waiting.bytes.len();
        if before + line.len() > WAITING_MAX {
            waiting.left_out += 1;
            return Ok(line.len());
        }
        waiting.bytes.extend_from_slice(line);
        let has_become_much = before < WAITING_LONG && waiting.bytes.len() >= WAITING_LONG;
        drop(waiting);
        if before == 0 || has_become_much {
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

    /// Says when something is to be written, and writes it once it may.
    struct Stuck {
        tried: mpsc::Sender<()>,
        may: mpsc::Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stuck {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.tried.send(());
            // Nobody left to say so says so for good.
            let _ = self.may.recv();
            self.written.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_misspelt_level_silences_nobody() {
        assert!(read("").is_ok_and(|wanted| wanted.is_none()));
        assert!(read("warn,hearth_server=debug").is_ok_and(|wanted| wanted.is_some()));
        assert!(read("erorr").is_err_and(|why| why.starts_with("`erorr` is neither error")));
    }

    #[test]
    fn who_logs_never_waits_and_what_found_no_room_is_told() {
        let ((tried, try_heard), (may, may_heard)) = (mpsc::channel(), mpsc::channel());
        let written = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::new(Mutex::new(Vec::new()));
        let (sink, telling) = (Stuck { tried, may: may_heard, written: written.clone() }, told.clone());
        let (lines, keeper) = Lines::begin(sink, move |count| telling.lock().unwrap().push(count)).unwrap();
        (&lines).write_all(b"first\n").unwrap();
        try_heard.recv().unwrap();
        // The thread is held in its write from here on.
        let line = [b'x'; 1024];
        for _ in 0..WAITING_MAX / 1024 + 7 {
            (&lines).write_all(&line).unwrap();
        }
        drop(may);
        drop(keeper);
        assert_eq!(*told.lock().unwrap(), [7]);
        assert_eq!(written.lock().unwrap().len(), "first\n".len() + WAITING_MAX);
    }
}
