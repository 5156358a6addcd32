//! The command line of the terminal UI. Must not do anything but read arguments and hand over.

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hearth::{UiOptions, demo, run_ui};
use hearth_replica::profile::{self, Profile};
use hearth_replica::sync::SyncConfig;

/// The household, in the terminal: everything it owns, keeps and has to do.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Which home, by the name it was given with `hearth-replica init`
    #[arg(long, default_value = profile::DEFAULT, value_name = "NAME")]
    profile: String,
    /// A replica database in another place
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Draw signs in ASCII
    #[arg(long)]
    ascii: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A home with its server and replica in one process, nothing to set up
    Demo {
        /// Print sentences instead of drawing screens; so it is too when this is no terminal
        #[arg(long)]
        plain: bool,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hearth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let is_terminal = stdout().is_terminal() && stdin().is_terminal();
    if let Some(Command::Demo { plain }) = arguments.command {
        return demo::run(plain || !is_terminal, arguments.ascii);
    }
    let profile = Profile::load(&arguments.profile, arguments.db.as_deref())?;
    if profile.server.is_none() && arguments.db.is_none() {
        eprintln!(
            "No home is set up here yet, so this is the demo; connect your own with `hearth-replica init --server URL`."
        );
        return demo::run(!is_terminal, arguments.ascii);
    }
    anyhow::ensure!(is_terminal, "this needs a terminal; for scripts there is hearth-replica");
    let sync = match (profile.server, profile.key) {
        (Some(server), Some(key)) => {
            Some(SyncConfig { db: profile.db.clone(), server, key, conflict_policy: profile.conflict_policy })
        }
        _ => None,
    };
    run_ui(UiOptions { db: profile.db, sync, title: None, ascii: arguments.ascii })
}
