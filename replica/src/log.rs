//! Log lines of whoever syncs: to stderr, or to a file where a screen covers the terminal. `HEARTH_LOG` says how many
//! (`hearth_replica=debug`). Must not know what is told.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::store::files;

/// A log file that has grown to this is put aside as `FILE.1`, in place of the one before.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// For people.
    Text,
    /// An object on each line, for programs.
    Json,
}

/// Tells to stderr. `level` is what is told if `HEARTH_LOG` does not say.
pub fn to_stderr(form: Form, level: &str) {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let (filter, misread) = filter("hearth_replica", level);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal() && !plain)
        .with_target(false)
        .log_internal_errors(false);
    // Whoever was first tells where lines go.
    let _ = match form {
        Form::Text => builder.try_init(),
        Form::Json => builder.json().flatten_event(true).try_init(),
    };
    tell(misread);
}

/// Tells to the log file of a database, which holds at most two mebibytes with the one before it. Gives its name.
pub fn to_file(db: &Path, level: &str) -> io::Result<PathBuf> {
    let path = files::companion(db, "log");
    let file = LogFile::open(path.clone())?;
    // What the screen itself has to say is told as well.
    let (filter, misread) = filter("hearth", level);
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(Mutex::new(file));
    // On a full disk lines are lost; to say so of each would be to write across the screen.
    let _ = builder.with_ansi(false).with_target(false).log_internal_errors(false).try_init();
    tell(misread);
    Ok(path)
}

fn tell(misread: Option<String>) {
    if let Some(why) = misread {
        tracing::warn!("HEARTH_LOG is left out of account: {why}");
    }
}

/// What is told, and why `HEARTH_LOG` has no say in that, if it says what nobody understands. `whose` is how the names of
/// those begin who are listened to where it says nothing.
fn filter(whose: &str, level: &str) -> (EnvFilter, Option<String>) {
    let said = std::env::var("HEARTH_LOG").unwrap_or_default();
    let usual = || EnvFilter::new(format!("{whose}={level}"));
    match read(&said) {
        Ok(wanted) => (wanted.unwrap_or_else(usual), None),
        Err(why) => (usual(), Some(why)),
    }
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

/// A file that begins anew when it is full.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    fn open(path: PathBuf) -> io::Result<LogFile> {
        files::private_file(&path)?;
        // Two screens on one database write to its end in turn, each over nothing of the other's.
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

    #[test]
    fn two_who_write_to_a_log_file_write_over_nothing_of_each_other() {
        let path = std::env::temp_dir().join(format!("hearth-log-{}", uuid::Uuid::new_v4()));
        let mut files = [LogFile::open(path.clone()).unwrap(), LogFile::open(path.clone()).unwrap()];
        files.iter_mut().for_each(|file| file.write_all(b"a line\n").unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a line\na line\n");
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_misspelt_level_silences_nobody() {
        for (said, expected) in [
            ("", Ok(None)),
            (" , ", Ok(None)),
            ("warn", Ok(Some("warn"))),
            ("info,hearth_replica=debug", Ok(Some("hearth_replica=debug,info"))),
            ("erorr", Err(true)),
            ("hearth_replica=dbug", Err(true)),
        ] {
            let read = read(said).map(|filter| filter.map(|filter| filter.to_string())).map_err(|why| !why.is_empty());
            assert_eq!(read, expected.map(|text| text.map(str::to_owned)), "{said}");
        }
    }

    #[test]
    fn a_full_log_file_begins_anew() {
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
