//! The command line of `hearth-server` (contract 17), one file for each group of commands. Data goes to stdout,
//! everything else to stderr. Must not know how the library does the work.

mod console;
mod data;
mod faults;
mod home;
mod key;
mod lab;
mod log;
mod output;
#[cfg(feature = "read-files")]
mod read_file;
mod serve;
mod signals;
mod team;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use directories::ProjectDirs;
use hearth_server::config::parse_base_url;
use hearth_server::core_dumps;
use hearth_server::openapi;
use hearth_server::random::random_bytes;
use hearth_server::routes::ROUTES;
use hearth_server::store::Db;
use hearth_server::store::directory::database_exists;
use hearth_server::store::notifier::Notifier;
use hearth_server::store::open::pending_migration;

use hearth_server::operate::shell_command;

/// The Hearth server: stores the rooms, things, tasks and documents of a home, with a REST API and a change feed
#[derive(Parser)]
#[command(name = "hearth-server", version = hearth_simulated::VERSION)]
struct Cli {
    /// Directory of the database [default on Linux: ~/.local/share/hearth/server]
    #[arg(long, global = true, env = "HEARTH_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    OnData(DataCommand),
    /// Print the OpenAPI description of the API
    Openapi {
        /// Print YAML instead of JSON
        #[arg(long)]
        yaml: bool,
        /// Public URL of the service
        #[arg(long, default_value = "http://127.0.0.1:8750", value_parser = parse_base_url, value_name = "URL")]
        base_url: String,
    },
    /// Read one file from standard input in a confined process; the server starts it
    #[cfg(feature = "read-files")]
    #[command(hide = true)]
    ReadFile(read_file::ReadFile),
    /// Write shell completions
    Completions(hearth_help::Completions),
    /// Write the manual page, or one page for each command
    Man(hearth_help::Man),
}

/// The commands that work on the data directory.
#[derive(Subcommand)]
enum DataCommand {
    /// Run the server
    Serve(Box<serve::Serve>),
    /// Create, list and change teams
    #[command(subcommand)]
    Team(team::TeamCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Let people into the console
    #[command(subcommand)]
    Console(console::ConsoleCommand),
    /// Look at homes, and repair them
    #[command(subcommand)]
    Home(home::HomeCommand),
    /// Reset the sandbox of a team
    #[command(subcommand)]
    Sandbox(data::SandboxCommand),
    /// Save all data to a new file; a server may run meanwhile
    Backup {
        /// The file to create
        file: PathBuf,
    },
    /// Restore all data from a backup; first stop the server and all other commands
    ///
    /// API keys are restored too: keys created after the backup are lost; keys revoked after the backup stay revoked.
    /// Do not copy a backup over hearth.db by hand: SQLite would apply the old log hearth.db-wal to the new file.
    Restore {
        /// The file of the backup
        file: PathBuf,
    },
    /// Check the database for damage and contradictions
    Check,
    /// Test tools for developers of clients: generate, change, trim and rewind the data of a home
    Lab(lab::Lab),
}

/// Runs the program. Exit codes: 0 success, 1 refused or failed, 2 wrong usage.
pub(crate) fn main() -> ExitCode {
    core_dumps::disable();
    let cli = Cli::parse();
    #[cfg(feature = "read-files")]
    if let Command::ReadFile(args) = &cli.command {
        return read_file::read_file(args);
    }
    let given = cli.data.clone();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = format!("error: {error:#}");
            // A command in an error must work as printed, so the command names the same database.
            output::print_note(match given {
                Some(data) => text.replace("`hearth-server ", &format!("`{} ", shell_command(&data, &[]))),
                None => text,
            });
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    if let Command::Openapi { yaml: true, .. } = cli.command
        && cli.json
    {
        Cli::command().error(ErrorKind::ArgumentConflict, "use either --json or --yaml, not both").exit();
    }
    match cli.command {
        Command::Openapi { yaml, base_url } => openapi(yaml, &base_url),
        Command::Completions(completions) => print_text(&completions.script(Cli::command())),
        Command::Man(man) => match man.write(Cli::command()) {
            Ok(Some(page)) => print_text(&page),
            Ok(None) => Ok(()),
            Err((dir, error)) => anyhow::bail!("{}: {error}; name a directory that is yours", dir.display()),
        },
        // `main` has run it: it must not start a runtime with threads.
        #[cfg(feature = "read-files")]
        Command::ReadFile(_) => Ok(()),
        Command::OnData(command) => run_on_data(command, cli.data, cli.json),
    }
}

/// Runs a command that needs the data directory.
fn run_on_data(command: DataCommand, data: Option<PathBuf>, json: bool) -> anyhow::Result<()> {
    let data = match data {
        Some(data) => data,
        None => ProjectDirs::from("", "", "hearth").map(|dirs| dirs.data_dir().join("server")).ok_or_else(|| {
            anyhow::anyhow!("there is no home directory; set the directory of the database with --data")
        })?,
    };
    anyhow::ensure!(!data.is_file(), "{} is a file; --data names the directory of hearth.db", data.display());
    let runtime = tokio::runtime::Runtime::new()?;
    match command {
        DataCommand::Serve(args) => runtime.block_on(serve::serve(*args, data, json)),
        DataCommand::Team(command @ team::TeamCommand::Create { .. }) => {
            let db =
                if database_exists(&data).unwrap_or(true) { open_existing(&data)? } else { open_or_create(&data)? };
            runtime.block_on(team::team(command, &db, json))
        }
        DataCommand::Team(command) => runtime.block_on(team::team(command, &open_existing(&data)?, json)),
        DataCommand::Key(command) => runtime.block_on(key::key(command, &open_existing(&data)?, json)),
        DataCommand::Console(command) => runtime.block_on(console::console(command, &open_existing(&data)?, json)),
        DataCommand::Home(command) => runtime.block_on(home::home(command, &open_existing(&data)?, json)),
        DataCommand::Sandbox(command) => runtime.block_on(data::sandbox(command, &open_existing(&data)?, json)),
        DataCommand::Backup { file } => {
            let done = runtime.block_on(data::backup(&open_existing(&data)?, &file, json));
            // Does not wait for the thread of an interrupted backup.
            runtime.shutdown_background();
            done
        }
        DataCommand::Restore { file } => data::restore(&data, &file, json),
        DataCommand::Check => runtime.block_on(data::check(open_existing(&data), json)),
        DataCommand::Lab(lab) => {
            let db = open_existing(&data)?;
            runtime.block_on(lab::run(lab, db, data, json))
        }
    }
}

fn openapi(yaml: bool, base_url: &str) -> anyhow::Result<()> {
    let document = openapi::document(base_url.trim_end_matches('/'), &ROUTES);
    let text = if yaml { document.yaml } else { document.json };
    print_text(&text)
}

fn print_text(text: &[u8]) -> anyhow::Result<()> {
    output::print_line(std::str::from_utf8(text)?.trim_end())
}

/// Opens an existing database and never creates a directory: a backup or check of a misspelt, empty directory would
/// succeed, and the mistake would show only when the backup is needed.
fn open_existing(data: &Path) -> anyhow::Result<Db> {
    let is_there =
        database_exists(data).with_context(|| format!("cannot look for a database in {}", data.display()))?;
    anyhow::ensure!(
        is_there,
        "{}: there is no database; name the right directory with --data, or create a database with `hearth-server team create NAME`",
        data.display()
    );
    // Only `serve` migrates: an older server may still run, and could not read a backup of the migrated database.
    let due = pending_migration(data).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))?;
    anyhow::ensure!(
        due.is_none(),
        "{}: the database is of an older version, without {}; make a backup with the older program, then start \
         `hearth-server serve` of this version, which migrates the database",
        data.display(),
        due.unwrap_or_default()
    );
    open_or_create(data)
}

/// Opens the database with the present schema; creates or migrates the database if necessary.
fn open_or_create(data: &Path) -> anyhow::Result<Db> {
    let run = i64::from_be_bytes(random_bytes());
    Db::open(data, Notifier::default(), run).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))
}
