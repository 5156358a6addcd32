//! `read-file`: reads one file from standard input in a confined process, and writes what was read as JSON. The server starts it for
//! each file (contract 22). Must not know homes, nor the database.

use std::io::{Read, Write, stdin, stdout};
use std::os::unix::process::CommandExt;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Args;
use hearth_contract::media::MediaType;
use hearth_reader::confine;
use hearth_reader::look::{self, ModelFiles, Models};
use hearth_reader::reading::{JSON_BYTES_MAX, Reading};
use serde::Serialize;

/// A file has at most so many bytes. A server may accept larger files; they are kept, but not read.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// The places of so many words are kept: about four close-printed pages. The server holds the places of all files of a job in its memory
/// while it makes drafts. Of further words the text is kept.
const PLACES_MAX: usize = 2000;
/// The bytes of these words, at most: a word may be as long as its file.
const PLACES_BYTES_MAX: usize = 64 << 10;
/// No further text is read in pixels after so much processor time. The system ends the process after [`confine::CPU_SECONDS_MAX`].
const PROCESSOR_TIME: Duration = Duration::from_secs(26);

/// The arguments of `read-file`.
#[derive(Args)]
pub(super) struct ReadFile {
    /// Directory of the models that recognize text
    #[arg(long, value_name = "DIR")]
    models: PathBuf,
    /// Seconds after which no further text in pixels is read [default: only processor time counts]
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
}

/// Why nothing was read, as JSON.
#[derive(Serialize)]
struct Refused {
    error: String,
}

/// Exit codes: 0 with a `Reading` on standard output, 1 with `{"error": sentence}` there.
pub(super) fn read_file(args: &ReadFile) -> ExitCode {
    // A fault of a library must end as a sentence. Its text may hold a part of the file, so it is not printed.
    std::panic::set_hook(Box::new(|_| {}));
    let read = catch_unwind(|| read(args));
    let read = read.unwrap_or_else(|_| Err("the file is damaged; save it again with another program".to_owned()));
    let (json, code) = match read.and_then(|reading| json(&reading)) {
        Ok(json) => (json, ExitCode::SUCCESS),
        Err(error) => (serde_json::to_vec(&Refused { error }).unwrap_or_default(), ExitCode::FAILURE),
    };
    match stdout().write_all(&json).and_then(|()| stdout().flush()) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

fn read(args: &ReadFile) -> Result<Reading, String> {
    let start = Instant::now();
    if confine::limit().map_err(|error| error.to_string())? {
        return Err(start_anew());
    }
    let files = ModelFiles::read(&args.models).ok();
    confine::enclose().map_err(|error| error.to_string())?;
    // Of a file the size is known. A buffer that grows while it is filled would take twice the memory.
    let size = rustix::fs::fstat(stdin()).map_or(0, |found| u64::try_from(found.st_size).unwrap_or(0));
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(FILE_BYTES_MAX) + 1).unwrap_or(0));
    stdin()
        .lock()
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("no file arrived: {error}"))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("the file has more than {} MiB; send a smaller one", FILE_BYTES_MAX >> 20));
    }
    if look::media_type(&bytes) != MediaType::Pdf {
        confine::give_up_programs().map_err(|error| error.to_string())?;
    }
    let models = files.map(Models::load).transpose().map_err(|error| error.to_string())?;
    let limit = args.seconds.map(Duration::from_secs);
    let has_time =
        |more| processor_time() + more < PROCESSOR_TIME && limit.is_none_or(|limit| start.elapsed() + more < limit);
    let reading = look::read_within(&bytes, models.as_ref(), &has_time);
    let mut reading = reading.map_err(|error| error.to_string())?;
    reading.limit_places(PLACES_MAX, PLACES_BYTES_MAX);
    Ok(reading)
}

/// The processor time of this process.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Starts this program again in the same process, with the same arguments and input. Returns the reason when that fails.
fn start_anew() -> String {
    let failed = |error: std::io::Error| format!("the reading process cannot be started: {error}");
    match std::env::current_exe() {
        Ok(program) => failed(Command::new(program).args(std::env::args_os().skip(1)).exec()),
        Err(error) => failed(error),
    }
}

fn json(reading: &Reading) -> Result<Vec<u8>, String> {
    let json = serde_json::to_vec(reading).map_err(|error| error.to_string())?;
    if json.len() > JSON_BYTES_MAX {
        return Err(look::Refusal::TooMuchText.to_string());
    }
    Ok(json)
}
