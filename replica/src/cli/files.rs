//! `files`: lists the files of documents, fetches their bytes, opens and verifies them. Must not know how files reach the server.

use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use hearth_contract::schema::Kind;
use hearth_replica::sync::{SyncConfig, SyncLock, fetch_files};
use hearth_replica::{FileChoice, FileRow, FileState, Replica, notification, now, open_file};
use serde_json::{Value, json};

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{duration, lock_holder, output, runtime, signals, text};

/// The default for `--limit`.
const LIST_LIMIT: usize = 1000;

/// Digits of a hash in a list: enough to name a file.
const SHORT_HASH: usize = 12;

/// Digits of a hash from which a text can name a file.
const HASH_DIGITS_MIN: usize = 8;

/// How long a daemon may be silent before a command looks again.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Arguments of `files`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Files {
    /// Maximum number of files
    #[arg(long, default_value_t = LIST_LIMIT)]
    limit: usize,
    #[command(subcommand)]
    command: Option<FilesCommand>,
}

#[derive(Debug, Subcommand)]
enum FilesCommand {
    /// Download files whose bytes are not on this machine
    Fetch(Fetch),
    /// Open a file in the program that the desktop chooses
    Open(One),
    /// Print the path of a file
    Path(One),
    /// Compare the bytes of every file with its hash; damaged files are downloaded again
    Verify,
}

/// Arguments of `files fetch`.
#[derive(Debug, Args)]
struct Fetch {
    /// Documents or files: an id, a title, or the beginning of a hash
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// All pictures
    #[arg(long)]
    images: bool,
    /// All files
    #[arg(long, conflicts_with = "images")]
    all: bool,
    /// Time limit, as in 500ms, 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

/// One document or file.
#[derive(Debug, Args)]
struct One {
    /// A document or a file: an id, a title, or the beginning of a hash
    id: String,
}

impl Files {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.command {
            None => list(context, self.limit),
            Some(FilesCommand::Fetch(fetch)) => fetch.run(context),
            Some(FilesCommand::Open(one)) => {
                let path = path_of(context, &one.id)?;
                open_file(&path).map_err(|error| Failure::new(Exit::Failure, error.to_string()))
            }
            Some(FilesCommand::Path(one)) => {
                let path = path_of(context, &one.id)?;
                match context.json {
                    true => Ok(output::json(&json!({ "path": output::path(&path) }))?),
                    false => Ok(output::line(&path.display().to_string())?),
                }
            }
            Some(FilesCommand::Verify) => verify(context),
        }
    }
}

/// A size for people. None: unknown.
pub(super) fn size_text(bytes: Option<i64>) -> String {
    match bytes {
        None => "size unknown".to_owned(),
        Some(bytes) if bytes < 1024 => format!("{bytes} B"),
        Some(bytes) if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
        Some(bytes) => format!("{}.{} MiB", bytes >> 20, ((bytes & 0xF_FFFF) * 10) >> 20),
    }
}

fn list(context: &Context, limit: usize) -> Result<(), Failure> {
    let replica = context.open_existing()?;
    let mut files = replica.files(limit.saturating_add(1))?;
    let is_cut = files.len() > limit;
    files.truncate(limit);
    let none = output::with_home_flags("no document has a file; next: hearth-replica attach FILE --to ID");
    let columns = ["sha256", "state", "size", "type", "documents", "problem"];
    let is_table = output::list(context.json, &files, Some(&none), &columns, |file| {
        let hash = &file.sha256[..SHORT_HASH];
        let state = if file.is_requested { "asked for" } else { file.state.as_str() };
        let titles: Vec<&str> = file.documents.iter().map(|document| document.title.as_str()).collect();
        let size = size_text(file.size_bytes);
        json!([hash, state, size, file.content_type, titles.join(", "), problem_text(file)])
    })?;
    if is_table && is_cut {
        output::message(&format!("only the first {limit}; --limit shows more"));
    }
    Ok(())
}

fn problem_text(file: &FileRow) -> Option<String> {
    file.problem.as_ref()?.get("message")?.as_str().map(str::to_owned)
}

/// The file that a text names: a document with a file, or the beginning of a hash.
fn find(replica: &Replica, typed: &str) -> Result<FileRow, Failure> {
    let hash = match replica.find(typed, &[Kind::Document], false)?.as_slice() {
        [(_, id)] => document_file(replica, id)?,
        [] if is_hash_beginning(typed) => match replica.file_hashes(&typed.to_ascii_lowercase())?.as_slice() {
            [hash] => hash.clone(),
            [] => return Err(missing(typed)),
            _ => {
                let sentence = format!("the hashes of several files begin with {typed}");
                return Err(Failure::new(Exit::Usage, sentence)
                    .hint("repeat with more digits, as in hearth-replica files --json"));
            }
        },
        _ => {
            let (kind, id) = super::values::find_record(replica, typed, false)?;
            match kind {
                Kind::Document => document_file(replica, &id)?,
                kind => {
                    return Err(Failure::new(Exit::Usage, format!("{typed} is a {kind}; only documents have files"))
                        .hint("hearth-replica list documents"));
                }
            }
        }
    };
    replica.file(&hash)?.ok_or_else(|| missing(typed))
}

fn is_hash_beginning(typed: &str) -> bool {
    typed.len() >= HASH_DIGITS_MIN && typed.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn missing(typed: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("there is no file whose hash begins with {typed}"))
        .hint("hearth-replica files")
}

fn document_file(replica: &Replica, id: &str) -> Result<String, Failure> {
    let row = replica.row(Kind::Document, id)?.ok_or_else(|| super::records::missing_record(Kind::Document))?;
    match row.fields.get("file_sha256").and_then(Value::as_str) {
        Some(hash) => Ok(hash.to_owned()),
        None => Err(Failure::new(Exit::NotFound, format!("the document {} has no file", text::one_line(&row.title)))
            .hint(format!("hearth-replica attach FILE --to {id}"))),
    }
}

/// The path of a file that is here.
fn path_of(context: &Context, typed: &str) -> Result<PathBuf, Failure> {
    let replica = context.open_existing()?;
    let file = find(&replica, typed)?;
    let path = replica.file_path(&file.sha256).map(|path| std::path::absolute(&path).unwrap_or(path));
    path.ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("the bytes of {typed} are not on this machine"))
            .hint(format!("hearth-replica files fetch {}", &file.sha256[..SHORT_HASH]))
    })
}

impl Fetch {
    fn run(self, context: &Context) -> Result<(), Failure> {
        if self.ids.is_empty() && !self.images && !self.all {
            return Err(Failure::new(Exit::Usage, "name a document or a file, or give --images or --all")
                .hint("hearth-replica files fetch --images"));
        }
        signals::listen()?;
        let replica = context.open_existing()?;
        let mut asked = 0;
        if self.images || self.all {
            let choice = if self.all { FileChoice::All } else { FileChoice::Images };
            asked = replica.request_files(choice, now())?;
        }
        for id in &self.ids {
            let file = find(&replica, id)?;
            if !file.state.is_here() || replica.file_path(&file.sha256).is_none() {
                replica.look_after_files(false, now())?;
                asked += replica.request_files(FileChoice::One(&file.sha256), now())?;
            }
        }
        match asked {
            0 => output::message("every file is here already"),
            _ => fetch_requested(context, &replica, self.timeout)?,
        }
        Ok(())
    }
}

/// Waits until no requested file is left. The files are fetched here, or by the process that syncs.
fn fetch_requested(context: &Context, replica: &Replica, limit: Duration) -> Result<(), Failure> {
    let config = context.sync_config()?;
    let before = replica.files(usize::MAX)?;
    let asked: Vec<&FileRow> = before.iter().filter(|file| file.is_requested).collect();
    let lock = lock_holder::try_lock_opened(&context.profile.db)?;
    fetch_within(context, replica, &config, lock, limit)?;
    let mut failed = Vec::new();
    for file in &asked {
        if let Some(now) = replica.file(&file.sha256)?.filter(|now| now.state != FileState::Present) {
            failed.push(format!(
                "{} is {}: {}",
                &now.sha256[..SHORT_HASH],
                now.state,
                problem_text(&now).unwrap_or_default()
            ));
        }
    }
    let fetched = asked.len() - failed.len();
    output::message(&format!("{} fetched", text::count(fetched, "file")));
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(Exit::NotFound, failed.join("\n  "))
            .hint("hearth-replica files; then attach FILE --to DOCUMENT, with a copy of the file")),
    }
}

/// Waits for files that are asked for, until the deadline. The failure says how many are left.
pub(super) fn finish_requested(context: &Context, replica: &Replica, deadline: Instant) -> Result<(), Failure> {
    if replica.file_counts()?.requested == 0 {
        return Ok(());
    }
    let (config, limit) = (context.sync_config()?, deadline.saturating_duration_since(Instant::now()));
    let lock = lock_holder::try_lock_opened(&context.profile.db)?;
    let ended = fetch_within(context, replica, &config, lock, limit);
    match (replica.file_counts()?.requested, ended) {
        (0, _) => Ok(()),
        (_, Err(failure)) if matches!(failure.exit, Exit::Interrupted | Exit::Terminated) => Err(failure),
        (left, ended) => {
            let why = ended.err().map(|failure| format!(": {}", failure.text)).unwrap_or_default();
            let text = format!("in step; {} still to download{why}", text::count(left, "file"));
            Err(Failure::new(Exit::StillWaiting, text).hint("hearth-replica sync --timeout 10m"))
        }
    }
}

/// Fetches the files that are asked for: here with the sync lock, else by the process that syncs.
fn fetch_within(
    context: &Context,
    replica: &Replica,
    config: &SyncConfig,
    lock: Option<SyncLock>,
    limit: Duration,
) -> Result<(), Failure> {
    let is_done = match lock {
        Some(lock) => {
            let fetching = fetch_files(&config.db, &config.server, &config.key, &lock);
            runtime::block_on(signals::run_within(limit, fetching))?.transpose()?.is_some()
        }
        None => wait_until(context, Instant::now() + limit, || Ok(replica.file_counts()?.requested == 0))?,
    };
    match is_done {
        true => Ok(()),
        false => Err(Failure::new(Exit::Unreachable, "the files did not come in time")
            .hint("hearth-replica status; then repeat the command")),
    }
}

/// Looks after each change of the database until `is_done`. False: the time is over.
pub(super) fn wait_until(
    context: &Context,
    deadline: Instant,
    is_done: impl Fn() -> Result<bool, Failure>,
) -> Result<bool, Failure> {
    let (notify, notifications) = channel();
    let _watch = notification::subscribe(&context.profile.db, move || {
        let _ = notify.send(());
    })?;
    loop {
        signals::check_stop()?;
        if is_done()? {
            return Ok(true);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let _ = notifications.recv_timeout(left.min(LOOK_INTERVAL));
    }
}

fn verify(context: &Context) -> Result<(), Failure> {
    signals::listen()?;
    let replica = context.open_existing()?;
    let found = replica.look_after_files(true, now())?;
    let mut asked = 0;
    for hash in found.lost.iter().chain(&found.damaged) {
        asked += replica.request_files(FileChoice::One(hash), now())?;
    }
    if context.json {
        output::json(&found)?;
    } else {
        let here = replica.file_counts()?;
        output::line(&format!(
            "{} here and sound; {} lost, {} damaged",
            text::count(here.present + here.waiting + here.refused, "file"),
            found.lost.len(),
            found.damaged.len()
        ))?;
    }
    if asked == 0 {
        return Ok(());
    }
    if context.profile.server.is_none() {
        let sentence = "bytes are lost or damaged, and there is no server to fetch them from";
        return Err(
            Failure::new(Exit::Failure, sentence).hint("hearth-replica attach FILE --to ID, with a copy of the file")
        );
    }
    fetch_requested(context, &replica, Duration::from_secs(300))
}
