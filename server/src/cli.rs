//! The command line of `hearth-server` (contract 17), one file for each group of commands. Data goes to stdout,
//! everything else to stderr. Must not know how anything is done.

mod data;
mod faults;
mod key;
mod lab;
mod log;
mod output;
mod serve;
mod team;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use directories::ProjectDirs;
use hearth_server::chance::random;
use hearth_server::config::parse_base_url;
use hearth_server::openapi;
use hearth_server::routes::ROUTES;
use hearth_server::store::Db;
use hearth_server::store::open::{due, is_there};
use hearth_server::store::tail::Tail;

/// The Hearth service: what a household knows about its home, over a REST API and a change feed.
#[derive(Parser)]
#[command(name = "hearth-server", version)]
struct Cli {
    /// Directory of the database [default: server within the data directory of hearth, ~/.local/share/hearth on Linux]
    #[arg(long, global = true, env = "HEARTH_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API
    Serve(Box<serve::Serve>),
    /// Make and list teams
    #[command(subcommand)]
    Team(team::TeamCommand),
    /// Make, list and end API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Print the API's description
    Openapi {
        /// As YAML
        #[arg(long)]
        yaml: bool,
        /// How clients reach the service
        #[arg(long, default_value = "http://127.0.0.1:8750", value_parser = parse_base_url, value_name = "URL")]
        base_url: String,
    },
    /// Set a sandbox back
    #[command(subcommand)]
    Sandbox(data::SandboxCommand),
    /// Save everything into one new file, while a server runs or not
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Put everything back to what a backup holds; no server and no other command may be at work on it
    ///
    /// Keys too are as they were then: one that was made since is unknown again; one that was revoked since stays revoked.
    /// Use this rather than copying a file over hearth.db: the log beside that, hearth.db-wal, would be written into it.
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Look whether the database is sound and agrees with itself
    Check,
    /// Try what clients make of a home that grows, changes, forgets and goes back
    Lab(lab::Lab),
}

/// Runs the program: 0 done, 1 refused or failed, 2 used wrongly.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    let given = cli.data.clone();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("error: {error:#}");
            // What is advised is typed as it stands: it has to mean the same database.
            output::note(match given {
                Some(data) => text.replace("`hearth-server ", &format!("`{} ", command(&data, &[]))),
                None => text,
            });
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    if let Command::Openapi { yaml, base_url } = cli.command {
        if yaml && cli.json {
            Cli::command().error(ErrorKind::ArgumentConflict, "--json and --yaml exclude each other").exit();
        }
        return openapi(yaml, &base_url);
    }
    let data = match cli.data {
        Some(data) => data,
        None => ProjectDirs::from("", "", "hearth")
            .map(|dirs| dirs.data_dir().join("server"))
            .ok_or_else(|| anyhow::anyhow!("there is no home directory; say where the data is with --data"))?,
    };
    anyhow::ensure!(!data.is_file(), "{}: is a file; --data names the directory that holds hearth.db", data.display());
    let runtime = tokio::runtime::Runtime::new()?;
    match cli.command {
        Command::Serve(args) => runtime.block_on(serve::serve(*args, data, cli.json)),
        Command::Team(command @ team::TeamCommand::Create { .. }) => {
            let db = if is_there(&data).unwrap_or(true) { open(&data)? } else { make(&data)? };
            runtime.block_on(team::team(command, &db, cli.json))
        }
        Command::Team(command) => runtime.block_on(team::team(command, &open(&data)?, cli.json)),
        Command::Key(command) => runtime.block_on(key::key(command, &open(&data)?, cli.json)),
        Command::Openapi { .. } => Ok(()),
        Command::Sandbox(command) => runtime.block_on(data::sandbox(command, &open(&data)?, cli.json)),
        Command::Backup { file } => {
            let done = runtime.block_on(data::backup(&open(&data)?, &file, cli.json));
            // One that was broken off is not waited for.
            runtime.shutdown_background();
            done
        }
        Command::Restore { file } => data::restore(&data, &file, cli.json),
        Command::Check => runtime.block_on(data::check(open(&data), cli.json)),
        Command::Lab(lab) => {
            let db = open(&data)?;
            runtime.block_on(lab::run(lab, db, data, cli.json))
        }
    }
}

/// A command for this program about the data in a directory, as a shell takes it.
fn command(data: &Path, words: &[&str]) -> String {
    let data = data.display().to_string();
    let all = ["hearth-server", "--data", &data].into_iter().chain(words.iter().copied());
    // Only a NUL cannot be quoted, and no argument has one.
    all.map(|word| shlex::try_quote(word).unwrap_or(word.into())).collect::<Vec<_>>().join(" ")
}

fn openapi(yaml: bool, base_url: &str) -> anyhow::Result<()> {
    let document = openapi::document(base_url.trim_end_matches('/'), &ROUTES);
    let text = if yaml { document.yaml } else { document.json };
    output::line(std::str::from_utf8(&text)?.trim_end())
}

/// Opens the database that is there. A directory that was misspelt is not made: a backup or a check of nothing would
/// succeed, and nobody would know before the day on which it is needed.
fn open(data: &Path) -> anyhow::Result<Db> {
    let is_there =
        is_there(data).with_context(|| format!("{}: whether there is a database cannot be seen", data.display()))?;
    anyhow::ensure!(
        is_there,
        "{}: there is no database; say where it is with --data, or make one with `hearth-server team create NAME`",
        data.display()
    );
    // An older server may be at work on it, and a backup of what was changed first is of no use to that one.
    let due = due(data).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))?;
    anyhow::ensure!(
        due.is_none(),
        "{}: the database is of an older version, without {}; save it with the program that made it, then start \
         `hearth-server serve` of this one, which brings it to this version",
        data.display(),
        due.unwrap_or_default()
    );
    make(data)
}

/// Opens the database in its present form, whatever is there.
fn make(data: &Path) -> anyhow::Result<Db> {
    let run = i64::from_be_bytes(random());
    Db::open(data, Tail::default(), run).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))
}
