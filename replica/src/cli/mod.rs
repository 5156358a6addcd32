//! The command line: arguments, exit codes, and how a failure is told. One file per group of commands. Must not know
//! SQL; of HTTP only what `metrics` serves and a drill asks.

mod copy;
mod decide;
mod decided;
mod doctor;
mod drill;
mod duration;
mod edits;
mod failure;
mod goal;
mod help;
mod holder;
mod init;
mod metrics;
mod output;
mod progress;
mod query;
mod rebuild;
mod records;
mod run;
mod runtime;
mod service;
mod status;
mod steer;
mod stop;
mod sync;
mod values;
mod verify;
mod why;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hearth_replica::doctor::{Cause, trouble};
use hearth_replica::profile::{self, Profile};
use hearth_replica::{Origin, Replica};

use failure::{ANOTHER_KEY, EXIT_CODES, Exit, Failure};

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
    OfHome(OfHome),
    /// Try this machine's programs, in a scratch home, in situations that lose data elsewhere
    Drill(drill::Drill),
    /// Write completions for a shell
    Completions(help::Completions),
    /// Write the manual page, or one page for each command
    Man(help::Man),
}

/// What is about a home that is set up, or to be.
#[derive(Debug, Subcommand)]
enum OfHome {
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
    Reconcile(steer::Reconcile),
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
    Resolve(decide::Resolve),
    /// Undo local changes
    Undo(decide::Undo),
    /// Say where the database is
    Path,
    /// Write a consistent copy of the database, pending edits included
    Export(copy::Export),
    /// Read everything from the server again, into a new database if this one is damaged; edits are kept
    Rebuild(rebuild::Rebuild),
}

/// What every command gets.
struct Context {
    profile: Profile,
    /// The profile was named, on the command line or in the environment.
    named: bool,
    db_given: bool,
    json: bool,
}

impl Context {
    fn replica(&self) -> Result<Replica, Failure> {
        self.say_if_gone();
        Ok(Replica::open(&self.profile.db, Origin::Cli)?)
    }

    /// Before a database is made: whether another was in its place.
    fn say_if_gone(&self) {
        let db = &self.profile.db;
        if hearth_replica::is_gone(db) {
            let text = format!("{}; a new one is made, without edits that only it held", was_there(db));
            output::note(&format!("hearth-replica: {text}"));
        }
    }

    /// The replica, if there is one: looking must not make an empty database. Where it cannot be written to it is for looking
    /// alone, and what would change it fails.
    fn existing(&self) -> Result<Replica, Failure> {
        let db = &self.profile.db;
        if !hearth_replica::is_there(db) {
            let first = hearth_replica::doctor::first_step(&self.profile);
            return Err(match hearth_replica::is_gone(db) {
                true => Failure::new(Exit::NotFound, was_there(db))
                    .hint(format!("put it back, or {first} for a new one without edits that only it held")),
                false => Failure::new(Exit::NotFound, format!("there is no replica at {}", db.display())).hint(first),
            });
        }
        let opened = Replica::open(db, Origin::Cli);
        Ok(opened.or_else(|error| match trouble(db, &error).cause {
            Cause::Shut | Cause::Full => Replica::open_to_read(db, Origin::Cli).map_err(|_| error),
            _ => Err(error),
        })?)
    }
}

fn was_there(db: &Path) -> String {
    format!("there was a replica at {}, and it is gone", db.display())
}

/// Reads the arguments, runs the command, tells how it ended.
pub(crate) fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure { exit, text, hint, .. }) => {
            output::note(&output::lines(&format!("hearth-replica: {text}")));
            if let Some(hint) = hint {
                output::next(&output::one_line(&hint));
            }
            ExitCode::from(exit as u8)
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { profile: name, db, json, command } = arguments;
    let command = match command {
        Command::OfHome(command) => command,
        // What has no home that is set up does not mind what is wrong with one.
        Command::Drill(drill) => return drill.run(json),
        Command::Completions(completions) => return completions.run(),
        Command::Man(man) => return man.run(),
    };
    let (named, name) = (name.is_some(), name.unwrap_or_else(|| profile::DEFAULT.to_owned()));
    output::set_address(hearth_replica::address::flags(&name, db.as_deref()));
    let profile = match Profile::load(&name, db.as_deref()) {
        // What is wrong with a profile is what the doctor is asked for.
        Err(error) if matches!(command, OfHome::Doctor) => {
            return doctor::of_no_profile(&name, db.as_deref(), &error, json);
        }
        loaded => loaded?,
    };
    let (file, key) = (profile.db.clone(), hearth_replica::doctor::another_key(&profile));
    let context = Context { profile, named, db_given: db.is_some(), json };
    carry_out(command, context).map_err(|failure| {
        // Where the key comes from is where another one belongs.
        let asks = failure.hint.as_deref() == Some(ANOTHER_KEY);
        let failure = if asks { failure.hint(key) } else { failure };
        failure.about(&file)
    })
}

fn carry_out(command: OfHome, context: Context) -> Result<(), Failure> {
    match command {
        OfHome::Init(init) => init.run(context),
        OfHome::Run(run) => run.run(&context),
        OfHome::Sync(sync) => sync.run(&context),
        OfHome::Status(status) => status.run(&context),
        OfHome::Reconcile(reconcile) => reconcile.run(&context),
        OfHome::Verify(verify) => verify.run(&context),
        OfHome::Pause => steer::pause(&context),
        OfHome::Resume => steer::resume(&context),
        OfHome::Doctor => doctor::run(&context),
        OfHome::List(list) => list.run(&context),
        OfHome::Show(show) => show.run(&context),
        OfHome::Add(add) => add.run(&context),
        OfHome::Set(set) => set.run(&context),
        OfHome::Remove(remove) => remove.run(&context),
        OfHome::Search(search) => search.run(&context),
        OfHome::Why(why) => why.run(&context),
        OfHome::Query(query) => query.run(&context),
        OfHome::Edits(edits) => edits.run(&context),
        OfHome::Conflicts => decide::conflicts(&context),
        OfHome::Resolve(resolve) => resolve.run(&context),
        OfHome::Undo(undo) => undo.run(&context),
        OfHome::Path => query::path(&context),
        OfHome::Export(export) => export.run(&context),
        OfHome::Rebuild(rebuild) => rebuild.run(&context),
    }
}
