//! The command line of the terminal UI. Must not do anything but read arguments and hand over.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use hearth::config::{Colors, Config};
use hearth::keys::{BINDINGS, Context};
use hearth::welcome::{self, Outcome, others};
use hearth::{UiOptions, demo, run_ui};
use hearth_replica::address;
use hearth_replica::doctor::{key_file_advice, new_key_advice, other_process_key_advice};
use hearth_replica::profile::{self, Profile, ProfileError};

/// The household, in the terminal: everything it owns, keeps and has to do.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Which home, by the name it was given with `hearth-replica init`
    #[arg(long, global = true, default_value = profile::DEFAULT, env = "HEARTH_PROFILE", value_name = "NAME")]
    profile: String,
    /// Another file for the database, with the profile's server and key, unless FILE.toml names others; before a new one is
    /// made there, you are asked
    #[arg(long, global = true, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Draw signs in ASCII
    #[arg(long, global = true)]
    ascii: bool,
    /// Colours: the terminal's own, for a light or a dark background, or none
    #[arg(long, global = true, value_name = "NAME", value_parser = ["terminal", "light", "dark", "mono"])]
    theme: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A home with its server and replica in one process, nothing to set up
    Demo {
        /// Print sentences instead of drawing screens; so it is too when this is no terminal
        #[arg(long)]
        plain: bool,
    },
    /// Every action with its id, its keys and where it works; a configuration changes keys by these ids
    Keys,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that has gone away, as `head` does, is no failure.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term.is_empty() || term == "dumb");
    let is_terminal = stdout().is_terminal() && stdin().is_terminal() && !is_dumb;
    if arguments.db.is_some() && matches!(arguments.command, Some(Command::Demo { .. })) {
        let text = "the demo has a database of its own; leave --db out";
        Arguments::command().error(ErrorKind::ArgumentConflict, text).exit();
    }
    let mut profile = Profile::load(&arguments.profile, arguments.db.as_deref())?;
    if let Some(Command::Keys) = arguments.command {
        return keys(&configured(&profile, &arguments)?);
    }
    if let Some(Command::Demo { plain }) = arguments.command {
        return demo::run(plain || !is_terminal, configured(&profile, &arguments)?);
    }
    // A path that was mistyped is none, whatever server the profile has.
    let is_elsewhere = arguments.db.is_some() && !hearth_replica::database_exists(&profile.db);
    anyhow::ensure!(is_terminal || !is_elsewhere, "there is no database at {}", profile.db.display());
    let is_new = profile.server.is_none() && !hearth_replica::database_exists(&profile.db);
    if is_new && !is_terminal {
        // The demo is for those who named nothing: in place of a home that was named it would be taken for that one.
        let there = others::names(&profile);
        let named = profile.name != profile::DEFAULT || !there.is_empty();
        anyhow::ensure!(!named, "{}", others::said(&profile.name, &there));
        eprintln!(
            "No home is set up here yet, so this is the demo; connect your own with `hearth-replica init --server URL`."
        );
        return demo::run(true, Config::default());
    }
    let why = if is_dumb { " that draws, and TERM says that this one does not" } else { "" };
    anyhow::ensure!(
        is_terminal,
        "this needs a terminal{why}; in sentences there are hearth-replica and hearth demo --plain"
    );
    if is_elsewhere {
        anyhow::ensure!(agrees(&profile)?, "there is no database at {}, and none was made", profile.db.display());
    }
    let config = configured(&profile, &arguments)?;
    let sync = match profile.sync_config() {
        None if is_new && arguments.db.is_none() => match welcome::run(&mut profile, &config)? {
            Outcome::Quit => return Ok(()),
            Outcome::Demo => return demo::run(false, config),
            Outcome::Home => profile.sync_config(),
        },
        known => known,
    };
    let flags = address::home_flags(&arguments.profile, arguments.db.as_deref());
    let keyless = profile.server.as_ref().filter(|_| sync.is_none()).map(|server| keyless(&profile, server, &flags));
    let another_key = profile.server.as_ref().map(|server| {
        let here = || new_key_advice(&profile).replace("--server URL", &format!("--server {server}"));
        address::with_home_flags(&other_process_key_advice(&profile.db).unwrap_or_else(here), &flags)
    });
    run_ui(UiOptions { db: profile.db, sync, keyless, another_key, flags, title: None, config })
}

/// Why there is no key for a home's server, and what to do about it.
fn keyless(profile: &Profile, server: &str, flags: &str) -> String {
    let (why, next) = match profile.key_error() {
        Some(ProfileError::Key(file, error)) => {
            (format!("the key's file {}: {error}", file.display()), key_file_advice(file))
        }
        Some(error) => (error.to_string(), "hearth-replica doctor".to_owned()),
        None => (format!("there is no key for {server}"), format!("hearth-replica init --server {server}")),
    };
    let next = address::with_home_flags(&next, flags);
    format!("{why}; next: {next}. Then start hearth again; until then changes stay here.")
}

/// Whether a file that is not there shall be made: a new home, or another copy of the one that the profile's server has.
fn agrees(profile: &Profile) -> anyhow::Result<bool> {
    let begin = match &profile.server {
        None => "Begin a new home there?".to_owned(),
        Some(server) => format!("Begin a new copy of the home at {server} there?"),
    };
    write!(stdout(), "There is no database at {}. {begin} [y/N] ", profile.db.display())?;
    stdout().flush()?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y") || answer.trim().eq_ignore_ascii_case("yes"))
}

/// The profile's configuration, with what the command line says in its place.
fn configured(profile: &Profile, arguments: &Arguments) -> anyhow::Result<Config> {
    let mut config = Config::read(&profile.ui_config())?;
    config.ascii |= arguments.ascii;
    match arguments.theme.as_deref() {
        Some("light") => config.theme = Colors::Light,
        Some("dark") => config.theme = Colors::Dark,
        Some("mono") => config.theme = Colors::Mono,
        Some(_) => config.theme = Colors::Terminal,
        None => {}
    }
    Ok(config)
}

/// The table of actions as a table of text.
fn keys(config: &Config) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    for (index, binding) in BINDINGS.iter().enumerate() {
        let places: Vec<&str> =
            Context::ALL.iter().filter(|context| binding.contexts.contains(context)).map(|c| c.heading()).collect();
        let places = if places.len() == Context::ALL.len() { "everywhere".to_owned() } else { places.join(", ") };
        let keys = config.keys.keys(index).join(" ");
        writeln!(out, "{:<18} {:<20} {} ({places})", binding.id, keys, binding.about)?;
    }
    Ok(())
}
