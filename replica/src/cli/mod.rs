//! The command line: arguments, exit codes, and how a failure is told. One file per group of commands. Must not know
//! SQL; of HTTP only what `metrics` serves and a drill asks.

mod context;
mod control;
mod decision_report;
mod decisions;
mod doctor;
mod drill;
mod duration;
mod edits;
mod export;
mod failure;
mod help;
mod init;
mod lock_holder;
mod metrics;
mod output;
mod progress;
mod query;
mod rebuild;
mod records;
mod rescue_report;
mod run;
mod runtime;
mod signals;
mod status;
mod sync;
mod sync_goal;
mod systemd;
mod text;
mod values;
mod verify;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use hearth_replica::doctor::{NEW_KEY_COMMAND, new_key_advice};
use hearth_replica::profile::{self, Profile};

use context::Context;
use failure::{EXIT_CODES, Failure};

/// A full, writable copy of a Hearth home in a local SQLite database.
#[derive(Debug, Parser)]
#[command(version, about, arg_required_else_help = true, after_long_help = EXIT_CODES)]
struct Arguments {
    /// Which home, of those set up on this machine: `home`, if none is named
    #[arg(long, global = true, env = "HEARTH_PROFILE")]
    profile: Option<String>,
    /// Another file for the database, with the profile's server and key, unless FILE.toml names others
    #[arg(long, global = true, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Write JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Home(HomeCommand),
    /// Try this machine's programs, in a scratch home, in situations that lose data elsewhere
    Drill(drill::Drill),
    /// Write completions for a shell
    Completions(help::Completions),
    /// Write the manual page, or one page for each command
    Man(help::Man),
}

/// What is about a home that is set up, or to be.
#[derive(Debug, Subcommand)]
enum HomeCommand {
    /// Set up a home: its server and its API key
    Init(init::Init),
    /// Keep the database in step until stopped (the daemon, in the foreground)
    Run(run::Run),
    /// Bring the database in step once
    Sync(sync::Sync),
    /// Say how far the database is in step
    Status(status::Status),
    /// Stop syncing until resumed; local edits wait
    Pause,
    /// Go on after a pause
    Resume,
    /// Look for whatever is wrong, and say what to type about it
    Doctor,
    /// Compare with the server's lists and bring the database in step, whatever the feed has told
    Reconcile(control::Reconcile),
    /// Compare every record with the server at one position
    Verify(verify::Verify),
    /// List the records of a kind, all or those that have these values
    List(records::List),
    /// Show one record
    Show(records::Show),
    /// Make a record
    Add(records::Add),
    /// Change fields of a record
    Set(records::Set),
    /// Delete a record
    Remove(records::Remove),
    /// Find records by words in their texts
    Search(records::Search),
    /// Say where each value of a record comes from: the server or an edit
    Why(why::Why),
    /// Run SQL on the database, for reading alone
    ///
    /// A table holds up to 100000 rows, --csv and --json any number. Bytes that are no text (BLOB) are written as SQL has
    /// them, X'00FF', in every form.
    Query(query::Query),
    /// List the local changes that the server has not confirmed, or decide about them
    Edits(edits::Edits),
    /// List the fields that were changed both here and there
    Conflicts,
    /// End a conflict
    Resolve(decisions::Resolve),
    /// Undo local changes
    Undo(decisions::Undo),
    /// Say where the database is
    Path,
    /// Write a consistent copy of the database, pending edits included
    Export(export::Export),
    /// Read everything from the server again, into a new database if this one is damaged; edits are kept
    Rebuild(rebuild::Rebuild),
}

/// Reads the arguments, runs the command, and prints how it failed.
pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(FailureReport { failure, new_key }) => {
            output::message(&text::sanitized_lines(&format!("hearth-replica: {}", failure.text)));
            if let Some(next) = failure.next {
                output::next_step(&text::one_line(&next.text(&new_key)));
            }
            ExitCode::from(failure.exit as u8)
        }
    }
}

/// A failure, and where a new key for its profile belongs.
struct FailureReport {
    failure: Failure,
    new_key: String,
}

impl<T: Into<Failure>> From<T> for FailureReport {
    fn from(failure: T) -> FailureReport {
        FailureReport { failure: failure.into(), new_key: NEW_KEY_COMMAND.to_owned() }
    }
}

fn execute(arguments: Arguments) -> Result<(), FailureReport> {
    let Arguments { profile: name, db, json, command } = arguments;
    let command = match command {
        Command::Home(command) => command,
        // These commands need no profile, so a damaged profile does not stop them.
        Command::Drill(drill) => return Ok(drill.run(json)?),
        Command::Completions(completions) => return Ok(completions.run(Arguments::command())?),
        Command::Man(man) => return Ok(man.run(Arguments::command())?),
    };
    let (named, name) = (name.is_some(), name.unwrap_or_else(|| profile::DEFAULT.to_owned()));
    output::set_home_flags(hearth_replica::address::home_flags(&name, db.as_deref()));
    let profile = match Profile::load(&name, db.as_deref()) {
        // The doctor reports faults of the profile itself.
        Err(error) if matches!(command, HomeCommand::Doctor) => {
            return Ok(doctor::run_without_profile(&name, db.as_deref(), &error, json)?);
        }
        loaded => loaded?,
    };
    let (file, new_key) = (profile.db.clone(), new_key_advice(&profile));
    let context = Context { profile, named, db_given: db.is_some(), json };
    run_command(command, context).map_err(|failure| FailureReport { failure: failure.about(&file), new_key })
}

fn run_command(command: HomeCommand, context: Context) -> Result<(), Failure> {
    match command {
        HomeCommand::Init(init) => init.run(context),
        HomeCommand::Run(run) => run.run(&context),
        HomeCommand::Sync(sync) => sync.run(&context),
        HomeCommand::Status(status) => status.run(&context),
        HomeCommand::Reconcile(reconcile) => reconcile.run(&context),
        HomeCommand::Verify(verify) => verify.run(&context),
        HomeCommand::Pause => control::pause(&context),
        HomeCommand::Resume => control::resume(&context),
        HomeCommand::Doctor => doctor::run(&context),
        HomeCommand::List(list) => list.run(&context),
        HomeCommand::Show(show) => show.run(&context),
        HomeCommand::Add(add) => add.run(&context),
        HomeCommand::Set(set) => set.run(&context),
        HomeCommand::Remove(remove) => remove.run(&context),
        HomeCommand::Search(search) => search.run(&context),
        HomeCommand::Why(why) => why.run(&context),
        HomeCommand::Query(query) => query.run(&context),
        HomeCommand::Edits(edits) => edits.run(&context),
        HomeCommand::Conflicts => decisions::conflicts(&context),
        HomeCommand::Resolve(resolve) => resolve.run(&context),
        HomeCommand::Undo(undo) => undo.run(&context),
        HomeCommand::Path => query::print_path(&context),
        HomeCommand::Export(export) => export.run(&context),
        HomeCommand::Rebuild(rebuild) => rebuild.run(&context),
    }
}
