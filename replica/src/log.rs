//! Log lines of a sync: to stderr, or to a file while a screen covers the terminal. `HEARTH_LOG` sets the filter
//! (`hearth_replica=debug`). Must not know the content of the lines.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use hearth_contract::printed_text::{escape_json, is_harmless, printed};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::store::files;

/// At this size (bytes) the log file is renamed to `FILE.1`, and replaces the previous `FILE.1`.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// Plain text for people.
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// Logs to stderr. `level` is the default level when `HEARTH_LOG` is unset or invalid.
pub fn to_stderr(form: LogFormat, level: &str) {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (filter, invalid) = filter("hearth_replica", level);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(move || SafeWriter { form, out: io::stderr() })
        .with_ansi(io::stderr().is_terminal() && !plain)
        .with_target(false)
        .log_internal_errors(false);
    // The first subscriber of the process stays; a second call changes nothing.
    let _ = match form {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    warn_of_invalid_filter(invalid);
}

/// Logs to the log file of a database and returns the path of the file. The file and its predecessor hold at most 2
/// MiB.
pub fn to_file(db: &Path, level: &str) -> io::Result<PathBuf> {
    let path = files::companion(db, "log");
    let file = LogFile::open(path.clone())?;
    // The target `hearth` also covers the log lines of the screen itself.
    let (filter, invalid) = filter("hearth", level);
    let out = SafeWriter { form: LogFormat::Text, out: file };
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Mutex::new(out));
    // A full disk loses log lines. An error message for each lost line would overwrite the screen.
    let _ = builder.with_ansi(false).with_target(false).log_internal_errors(false).try_init();
    warn_of_invalid_filter(invalid);
    Ok(path)
}

fn warn_of_invalid_filter(invalid: Option<String>) {
    if let Some(why) = invalid {
        tracing::warn!("HEARTH_LOG is ignored: {why}");
    }
}

/// The filter, and the error text if `HEARTH_LOG` is invalid. `target` is the prefix of the module names that the
/// default filter lets through.
fn filter(target: &str, level: &str) -> (EnvFilter, Option<String>) {
    let value = std::env::var("HEARTH_LOG").unwrap_or_default();
    let default = || EnvFilter::new(format!("{target}={level}"));
    match parse_filter(&value) {
        Ok(filter) => (filter.unwrap_or_else(default), None),
        Err(why) => (default(), Some(why)),
    }
}

/// Parses `HEARTH_LOG`. None: the value is empty. A single word must be a level: as a target, a misspelt level would
/// hide all lines.
fn parse_filter(value: &str) -> Result<Option<EnvFilter>, String> {
    let words: Vec<&str> = value.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        return Ok(None);
    }
    match words.iter().find(|word| !word.contains('=') && word.parse::<LevelFilter>().is_err()) {
        Some(word) => Err(format!("`{word}` is neither error, warn, info, debug, trace or off nor TARGET=LEVEL")),
        None => EnvFilter::try_new(value).map(Some).map_err(|error| error.to_string()),
    }
}

/// Writes log lines without characters that steer a terminal. The text of a server or of a record may hold such characters.
struct SafeWriter<W> {
    form: LogFormat,
    out: W,
}

impl<W: Write> Write for SafeWriter<W> {
    /// Writes a whole line: the subscriber writes each line at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let safe = match self.form {
            LogFormat::Text => safe_text(&text),
            LogFormat::Json => escape_json(&text),
        };
        self.out.write_all(safe.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// A log line as text. Its colors are escape sequences of the subscriber, which escapes control characters of values itself.
fn safe_text(line: &str) -> Cow<'_, str> {
    let stays = |c: char| matches!(c, '\n' | '\u{1b}') || is_harmless(c);
    if line.chars().all(stays) {
        return Cow::Borrowed(line);
    }
    Cow::Owned(line.chars().filter_map(|c| if stays(c) { Some(c) } else { printed(c) }).collect())
}

/// A log file that is rotated when full.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<LogFile> {
        files::private_file(&path)?;
        // In append mode two screens on one database do not overwrite the lines of each other.
        let file = File::options().append(true).open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(LogFile { path, file, bytes })
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.bytes >= FILE_BYTES_MAX {
            std::fs::rename(&self.path, files::beside(&self.path, ".1"))?;
            *self = LogFile::open(self.path.clone())?;
        }
        let written = self.file.write(line)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a subscriber logs of a message that tries to steer the terminal.
    fn logged(form: LogFormat) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        let out = Mutex::new(SafeWriter { form, out: file.reopen().unwrap() });
        let builder = tracing_subscriber::fmt().with_writer(out).with_ansi(false);
        let message = "red \u{1b}[31m \u{9b}2J evil\u{202e}gnp.exe";
        let log = || tracing::info!(title = message, "{message}");
        match form {
            LogFormat::Text => tracing::subscriber::with_default(builder.finish(), log),
            LogFormat::Json => tracing::subscriber::with_default(builder.json().finish(), log),
        }
        std::fs::read_to_string(file.path()).unwrap()
    }

    #[test]
    fn logged_text_cannot_steer_terminal() {
        for form in [LogFormat::Text, LogFormat::Json] {
            let line = logged(form);
            assert!(line.ends_with('\n') && line.trim_end().chars().all(is_harmless), "{line:?}");
            assert!(line.contains("gnp.exe"), "{line}");
        }
    }

    #[test]
    fn two_writers_append_to_log_file() {
        let path = std::env::temp_dir().join(format!("hearth-log-{}", uuid::Uuid::new_v4()));
        let mut files = [LogFile::open(path.clone()).unwrap(), LogFile::open(path.clone()).unwrap()];
        files.iter_mut().for_each(|file| file.write_all(b"a line\n").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a line\na line\n");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn misspelt_level_is_rejected() {
        for (value, expected) in [
            ("", Ok(None)),
            (" , ", Ok(None)),
            ("warn", Ok(Some("warn"))),
            ("info,hearth_replica=debug", Ok(Some("hearth_replica=debug,info"))),
            ("erorr", Err(true)),
            ("hearth_replica=dbug", Err(true)),
        ] {
            let parsed = parse_filter(value)
                .map(|filter| filter.map(|filter| filter.to_string()))
                .map_err(|why| !why.is_empty());
            assert_eq!(parsed, expected.map(|text| text.map(str::to_owned)), "{value}");
        }
    }

    #[test]
    fn full_log_file_is_rotated() {
        let path = std::env::temp_dir().join(format!("hearth-log-{}", uuid::Uuid::new_v4()));
        let mut file = LogFile::open(path.clone()).unwrap();
        let line = [b'x'; 1 << 16];
        for _ in 0..40 {
            file.write_all(&line).unwrap();
        }
        let aside = files::beside(&path, ".1");
        let sizes = [&path, &aside].map(|path| std::fs::metadata(path).unwrap().len());
        assert!(sizes.iter().all(|size| *size <= FILE_BYTES_MAX), "{sizes:?}");
        [path, aside].iter().for_each(|path| std::fs::remove_file(path).unwrap());
    }
}
