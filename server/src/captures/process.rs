//! Runs the program that reads a file: the bytes on its standard input, the reading as JSON on its standard output. The program
//! confines itself before it looks at the bytes; here it gets a low priority, no environment, and limits of time and output. What it
//! writes is as little trusted as the file. Must not know the database.

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use hearth_contract::search_text::indexed_rest;
use hearth_reader::reading::{JSON_BYTES_MAX, Reading};
use rustix::process::{Pid, Signal, kill_process_group, setpriority_process};
use serde::Deserialize;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};

use crate::shutdown::Shutdown;
use crate::store::StoreError;
use crate::store::readings::{Failure, FailureCode, Outcome};

/// Bytes of the text of a file of which the index takes its words.
const SEARCHED_MAX: usize = 128 << 10;
/// Bytes of the text of a file in which a snippet may stand.
const BEGINNING_MAX: usize = 16 << 10;
/// Characters of the sentence of a refusal that are shown.
const SENTENCE_MAX: usize = 300;
/// The priority of the program: below the server and below what people do on the machine.
const NICE: i32 = 15;

/// Time that is left for the page at work, and for writing the reading.
const WRITE_TIME: Duration = Duration::from_secs(10);

/// How a reading ended.
pub(super) enum End {
    /// The file was read or refused.
    Outcome(Outcome),
    /// The server stops; the file was not read.
    Stopped,
}

/// What runs.
pub(super) struct Program<'a> {
    /// The program.
    pub path: &'a Path,
    /// The directory of the models that recognize text.
    pub models: PathBuf,
    /// The longest time for one file.
    pub time_max: Duration,
}

/// The refusal that the program writes before it ends with the status 1.
#[derive(Deserialize)]
struct Refused {
    error: String,
}

/// Reads an open file. Error: this process has failed.
pub(super) async fn read(program: &Program<'_>, file: File, shutdown: &mut Shutdown) -> Result<End, StoreError> {
    let mut command = Command::new(program.path);
    // On a machine with other work processor time passes slowly. What was read until then must still be written.
    let seconds = program.time_max.saturating_sub(WRITE_TIME).as_secs().to_string();
    command.args(["read-file", "--seconds", &seconds, "--models"]).arg(&program.models).env_clear().current_dir("/");
    command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::null());
    command.process_group(0).kill_on_drop(true);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            tracing::warn!(%error, program = %program.path.display(), "the reader of files cannot be started");
            let message = "The program that reads files cannot be started. Ask the operator to look at the log.";
            return Ok(failed(FailureCode::NoReader, message.to_owned()));
        }
    };
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    // A program that has ended already has no priority.
    let _ = setpriority_process(group, NICE);
    let ended = tokio::select! {
        ended = tokio::time::timeout(program.time_max, output(&mut child)) => Some(ended),
        () = shutdown.requested() => None,
    };
    // A program that a signal has ended, as one of its limits or the system's lack of memory sends it, may leave others behind.
    let has_exited = matches!(&ended, Some(Ok(Ok((_, Some(status))))) if status.code().is_some());
    if !has_exited {
        if let Some(group) = group {
            // With the programs that it has started. All may have ended meanwhile.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.wait().await;
    }
    let (bytes, status) = match ended {
        None => return Ok(End::Stopped),
        Some(Err(_)) => {
            let seconds = program.time_max.as_secs();
            let message =
                format!("The file could not be read: reading took more than {seconds} s. Send fewer or smaller pages.");
            return Ok(failed(FailureCode::TimeUp, message));
        }
        Some(Ok(Err(error))) => {
            let message = format!("The file could not be read: the program that reads files was cut off ({error}).");
            return Ok(failed(FailureCode::Internal, message));
        }
        Some(Ok(Ok((_, None)))) => {
            let message = "The file could not be read: it has more text than Hearth reads. Send fewer pages.";
            return Ok(failed(FailureCode::Unreadable, message.to_owned()));
        }
        Some(Ok(Ok((bytes, Some(status))))) => (bytes, status),
    };
    tokio::task::spawn_blocking(move || outcome(bytes, status)).await.map_err(|_| StoreError::Panicked)
}

/// The output of a program, and its status. No status: the output is over [`JSON_BYTES_MAX`], and the program may still run.
async fn output(child: &mut Child) -> std::io::Result<(Vec<u8>, Option<ExitStatus>)> {
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(JSON_BYTES_MAX as u64 + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() > JSON_BYTES_MAX {
        return Ok((Vec::new(), None));
    }
    Ok((bytes, Some(child.wait().await?)))
}

/// What the output and the status of a program say.
fn outcome(bytes: Vec<u8>, status: ExitStatus) -> End {
    if status.success() {
        let Ok(reading) = serde_json::from_slice::<Reading>(&bytes) else {
            return unreadable("its reading is malformed.");
        };
        let text = reading.beginning(SEARCHED_MAX);
        return match String::from_utf8(bytes) {
            Ok(json) => End::Outcome(Outcome::Read {
                beginning: text[..text.floor_char_boundary(BEGINNING_MAX)].to_owned(),
                searched: indexed_rest(&text),
                look: reading.look_bits(),
                reading: json,
            }),
            Err(_) => unreadable("its reading is malformed."),
        };
    }
    match serde_json::from_slice::<Refused>(&bytes) {
        Ok(Refused { error }) if status.code() == Some(1) => {
            let sentence: String =
                error.chars().map(|sign| if sign.is_control() { ' ' } else { sign }).take(SENTENCE_MAX).collect();
            let point = if sentence.ends_with('.') { "" } else { "." };
            unreadable(&format!("{sentence}{point}"))
        }
        _ => match status.signal().and_then(Signal::from_named_raw) {
            Some(Signal::ABORT) => {
                unreadable("it needs more memory than the reading of a file may take. Send fewer or smaller pages.")
            }
            Some(Signal::KILL | Signal::XCPU) => {
                let message =
                    "The file could not be read: reading took too much time or memory. Send fewer or smaller pages.";
                failed(FailureCode::TimeUp, message.to_owned())
            }
            _ => unreadable("the program that reads files ended early. Send another picture of it."),
        },
    }
}

fn unreadable(why: &str) -> End {
    failed(FailureCode::Unreadable, format!("The file could not be read: {why}"))
}

fn failed(code: FailureCode, message: String) -> End {
    End::Outcome(Outcome::Failed(Failure { code, message }))
}
