//! The command line: parses the arguments, runs the command, and prints a failure with its exit code. One file per
//! group of commands. Must not know SQL. HTTP appears only in `metrics` and in the drills.

mod approval;
mod attach;
mod calendar;
mod captures;
mod context;
mod control;
mod decision_report;
mod decisions;
mod desktop;
mod doctor;
mod drill;
mod duration;
mod edits;
mod export;
mod failure;
mod fields;
mod files;
mod import;
mod init;
mod lock_holder;
mod metrics;
mod output;
mod progress;
mod query;
mod rebuild;
mod records;
mod remind;
mod rescue_report;
mod restore_to;
mod run;
mod runtime;
mod signals;
mod status;
mod sync;
mod sync_goal;
mod systemd;
mod text;
mod today;
mod values;
mod verify;
mod why;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use hearth_replica::profile::{self, Profile};

use context::Context;
use failure::{EXIT_CODES, Exit, Failure};

/// A full, writable copy of a Hearth home in a local SQLite database.
#[derive(Debug, Parser)]
#[command(version = hearth_simulated::VERSION, about, arg_required_else_help = true, after_long_help = EXIT_CODES)]
struct Arguments {
    /// The profile of the home on this machine [default: home]
    #[arg(long, global = true, env = "HEARTH_PROFILE")]
    profile: Option<String>,
    /// Path of the database; server and key come from the profile, or from FILE.toml beside the database
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
    /// Test an installation: cause a fault in a scratch home and check the result
    Drill(drill::Drill),
    /// List the fields of a kind, with the values that they take
    Fields(fields::Fields),
    /// Write shell completions
    Completions(hearth_help::Completions),
    /// Write the manual page, or one page for each command
    Man(hearth_help::Man),
}

/// The commands that work on the home of a profile.
#[derive(Debug, Subcommand)]
enum HomeCommand {
    /// Set up a home: its server and its API key, or a home without a server
    Init(init::Init),
    /// Sync until stopped (the daemon, in the foreground)
    Run(run::Run),
    /// Sync once, until the replica is current and all edits are confirmed
    Sync(sync::Sync),
    /// Show how current the replica is
    Status(status::Status),
    /// Pause syncing until resumed; local edits wait
    Pause,
    /// Resume syncing after a pause
    Resume,
    /// Find faults, and print the command to type for each
    Doctor,
    /// Compare all records with the server's lists and correct the differences
    Reconcile(control::Reconcile),
    /// Compare every record with the server at one position
    Verify(verify::Verify),
    /// List the records of a kind, all or those with the given values
    List(records::List),
    /// Show one record
    Show(records::Show),
    /// Create a record
    Add(records::Add),
    /// Change fields of a record
    Set(records::Set),
    /// Delete a record
    Remove(records::Remove),
    /// Find records by words in their text fields
    Search(records::Search),
    /// Attach files to an item, a vehicle, a document or the home; works without a server
    Attach(attach::Attach),
    /// List the files of documents, fetch them to this machine, open or verify them
    Files(files::Files),
    /// Photograph a thing or a paper: the server reads it, and proposes a record; works without a server, and is sent later
    Capture(captures::CaptureArguments),
    /// List the captures, show the drafts of one, or discard it
    Captures(captures::Captures),
    /// Make a record of the drafts of a capture
    Accept(captures::Accept),
    /// Show the origin of each value of a record: the server or an edit
    Why(why::Why),
    /// Run a read-only SQL query on the database
    ///
    /// A table holds up to 100000 rows, --csv and --json any number. Binary values (BLOB) are written as SQL literals,
    /// X'00FF', in every format.
    Query(query::Query),
    /// List the local changes that the server has not confirmed, or decide about them
    Edits(edits::Edits),
    /// List the fields that were changed both here and on the server
    Conflicts,
    /// Resolve a conflict
    Resolve(decisions::Resolve),
    /// Undo local changes
    Undo(decisions::Undo),
    /// Print the path of the database
    Path,
    /// Write the home to a file: a copy of the database, JSON, CSV, a report in HTML, or a calendar
    Export(export::Export),
    /// Bring in records from a file: CSV of a spreadsheet, Homebox, Grocy or Snipe-IT, or an export of a home
    ///
    /// Without --yes the command shows what the file would make, change and leave, and asks on a terminal. All rows are imported, or none;
    /// --partial leaves refused rows out. Works without a server.
    Import(import::Import),
    /// Write a report of all things with their values, such as for an insurer: one HTML file that prints well
    Report(export::ReportArguments),
    /// Show what is due, overdue or ends soon
    Remind(remind::Remind),
    /// Make a link under which calendar programs read the due and expiring days, or list and remove links
    Calendar(calendar::Calendar),
    /// Download everything from the server again, into a new database if this one is damaged; edits are kept
    Rebuild(rebuild::Rebuild),
    /// Send this replica's records to an empty home of a server, after the loss of the home's own server, and follow that home
    ///
    /// Asks first, by the name of the home; --yes answers. A command that was cut goes on when it is repeated, and nothing is synced
    /// until then. A home that has records, or had some, is refused with exit code 5.
    RestoreTo(restore_to::RestoreTo),
}

/// Reads the arguments, runs the command, and prints how it failed.
pub(crate) fn main() -> ExitCode {
    hearth_replica::core_dumps::disable();
    let arguments = Arguments::parse();
    match execute(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::message(&text::sanitized_lines(&format!("hearth-replica: {}", failure.text)));
            if let Some(next) = failure.next {
                output::next_step(&text::one_line(&next));
            }
            ExitCode::from(failure.exit as u8)
        }
    }
}

fn execute(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { profile: name, db, json, command } = arguments;
    let command = match command {
        Command::Home(command) => command,
        // These commands need no profile, so a damaged profile does not stop them.
        Command::Drill(drill) => return drill.run(json),
        Command::Fields(fields) => return fields.run(json),
        Command::Completions(completions) => return Ok(output::raw(&completions.script(Arguments::command()))?),
        Command::Man(man) => {
            let page = man.write(Arguments::command()).map_err(|(dir, error)| {
                Failure::new(Exit::Failure, format!("{}: {error}", dir.display()))
                    .hint("hearth-replica man --dir with a directory that is yours")
            })?;
            return Ok(output::raw(&page.unwrap_or_default())?);
        }
    };
    let (named, name) = (name.is_some(), name.unwrap_or_else(|| profile::DEFAULT.to_owned()));
    output::set_home_flags(hearth_replica::address::home_flags(&name, db.as_deref()));
    let profile = match Profile::load(&name, db.as_deref()) {
        // The doctor reports faults of the profile as findings.
        Err(error) if matches!(command, HomeCommand::Doctor) => {
            return doctor::run_without_profile(&name, db.as_deref(), &error, json);
        }
        loaded => loaded?,
    };
    let context = Context { profile, named, db_given: db.is_some(), json };
    run_command(command, &context).map_err(|failure| failure.about(&context.profile))
}

fn run_command(command: HomeCommand, context: &Context) -> Result<(), Failure> {
    match command {
        HomeCommand::Init(init) => init.run(context),
        HomeCommand::Run(run) => run.run(context),
        HomeCommand::Sync(sync) => sync.run(context),
        HomeCommand::Status(status) => status.run(context),
        HomeCommand::Reconcile(reconcile) => reconcile.run(context),
        HomeCommand::Verify(verify) => verify.run(context),
        HomeCommand::Pause => control::pause(context),
        HomeCommand::Resume => control::resume(context),
        HomeCommand::Doctor => doctor::run(context),
        HomeCommand::List(list) => list.run(context),
        HomeCommand::Show(show) => show.run(context),
        HomeCommand::Add(add) => add.run(context),
        HomeCommand::Set(set) => set.run(context),
        HomeCommand::Remove(remove) => remove.run(context),
        HomeCommand::Search(search) => search.run(context),
        HomeCommand::Attach(attach) => attach.run(context),
        HomeCommand::Files(files) => files.run(context),
        HomeCommand::Capture(capture) => capture.run(context),
        HomeCommand::Captures(captures) => captures.run(context),
        HomeCommand::Accept(accept) => accept.run(context),
        HomeCommand::Why(why) => why.run(context),
        HomeCommand::Query(query) => query.run(context),
        HomeCommand::Edits(edits) => edits.run(context),
        HomeCommand::Conflicts => decisions::conflicts(context),
        HomeCommand::Resolve(resolve) => resolve.run(context),
        HomeCommand::Undo(undo) => undo.run(context),
        HomeCommand::Path => query::print_path(context),
        HomeCommand::Export(export) => export.run(context),
        HomeCommand::Import(import) => import.run(context),
        HomeCommand::Report(report) => report.run(context),
        HomeCommand::Remind(remind) => remind.run(context),
        HomeCommand::Calendar(calendar) => calendar.run(context),
        HomeCommand::Rebuild(rebuild) => rebuild.run(context),
        HomeCommand::RestoreTo(restore_to) => restore_to.run(context),
    }
}
