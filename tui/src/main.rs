//! The command line of the terminal UI. Reads the arguments and starts the UI, the demo or the table of keys. Must not
//! do more.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use hearth::config::{Colors, Config};
use hearth::keys::{BINDINGS, Context};
use hearth::welcome::{self, Outcome, others};
use hearth::{UiOptions, another_key_command, demo, run_ui};
use hearth_replica::address;
use hearth_replica::doctor::key_file_advice;
use hearth_replica::profile::{self, Profile, ProfileError};

/// Manage your home in the terminal: tasks, inventory, rooms, vehicles and documents
#[derive(Debug, Parser)]
#[command(version = hearth_simulated::VERSION)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Name of the home, as given to `hearth-replica init`
    ///
    /// [default: home]
    #[arg(long, global = true, env = "HEARTH_PROFILE", value_name = "NAME")]
    profile: Option<String>,
    /// Use this database file, with the profile's server and key unless FILE.toml names others. Asks before creating a
    /// new file
    #[arg(long, global = true, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Use ASCII signs only
    #[arg(long, global = true)]
    ascii: bool,
    /// Colours: the terminal's own, a palette for a light or a dark background, or none
    #[arg(long, global = true, value_name = "NAME", value_parser = ["terminal", "light", "dark", "mono"])]
    theme: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a sample home, with server and replica in one process; needs no setup
    Demo {
        /// Print a tour as text instead of showing screens; the default without a terminal
        #[arg(long)]
        plain: bool,
    },
    /// List every action: id, keys, description and screens. Settings change keys by these ids
    Keys,
    /// Write shell completions
    Completions(hearth_help::Completions),
    /// Write the manual page, or one page for each command
    Man(hearth_help::Man),
}

fn main() -> ExitCode {
    hearth_replica::core_dumps::disable();
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe may close early, as `head` does. That is no failure.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Arguments) -> anyhow::Result<()> {
    match arguments.command.take() {
        Some(Command::Completions(completions)) => {
            return Ok(stdout().write_all(&completions.script(Arguments::command()))?);
        }
        Some(Command::Man(man)) => {
            let page = man.write(Arguments::command()).map_err(|(dir, error)| {
                anyhow::anyhow!("{}: {error}; name a directory that is yours", dir.display())
            })?;
            return Ok(stdout().write_all(&page.unwrap_or_default())?);
        }
        other => arguments.command = other,
    }
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term.is_empty() || term == "dumb");
    let is_terminal = stdout().is_terminal() && stdin().is_terminal() && !is_dumb;
    if arguments.db.is_some() && matches!(arguments.command, Some(Command::Demo { .. })) {
        let text = "the demo has a database of its own; leave --db out";
        Arguments::command().error(ErrorKind::ArgumentConflict, text).exit();
    }
    let name = arguments.profile.as_deref().unwrap_or(profile::DEFAULT);
    let mut profile = Profile::load(name, arguments.db.as_deref())?;
    if let Some(Command::Keys) = arguments.command {
        return print_keys(&load_config(&profile, &arguments)?);
    }
    if let Some(Command::Demo { plain }) = arguments.command {
        return demo::run(plain || !is_terminal, load_config(&profile, &arguments)?);
    }
    // The path may be mistyped. A missing file is therefore never created silently.
    let is_db_missing = arguments.db.is_some() && !hearth_replica::database_exists(&profile.db);
    anyhow::ensure!(is_terminal || !is_db_missing, "there is no database at {}", profile.db.display());
    let is_new = profile.server.is_none() && !hearth_replica::database_exists(&profile.db);
    if is_new && !is_terminal {
        return run_demo_without_terminal(&profile);
    }
    let why = if is_dumb { " that can show screens, and TERM says that this terminal cannot" } else { "" };
    anyhow::ensure!(is_terminal, "hearth needs a terminal{why}; use hearth-replica or hearth demo --plain instead");
    if is_db_missing {
        anyhow::ensure!(
            confirms_new_db(&profile)?,
            "there is no database at {}; none was created",
            profile.db.display()
        );
    }
    let config = load_config(&profile, &arguments)?;
    let sync = match profile.sync_config() {
        None if is_new && arguments.db.is_none() => match welcome::run(&mut profile, &config)? {
            Outcome::Quit => return Ok(()),
            Outcome::Demo => return demo::run(false, config),
            Outcome::Home => profile.sync_config(),
        },
        sync => sync,
    };
    let flags = address::home_flags(name, arguments.db.as_deref());
    let keyless = profile.server.as_ref().filter(|_| sync.is_none()).map(|server| keyless(&profile, server, &flags));
    let another_key = profile.server.as_ref().map(|server| another_key_command(&profile, server, &flags));
    let (db, is_connected) = (profile.db.clone(), profile.server.is_some());
    let setup = match is_connected {
        true => None,
        false => {
            let mut setup = Profile::for_setup(name, arguments.db.as_deref(), arguments.profile.is_some())?;
            setup.conflict_policy = profile.conflict_policy;
            Some(setup)
        }
    };
    run_ui(UiOptions { db, sync, keyless, another_key, flags, title: None, profile: setup, config })
}

/// Prints the tour of the demo if the person named no home. A named home that does not exist is an error, because the
/// demo could be taken for that home.
fn run_demo_without_terminal(profile: &Profile) -> anyhow::Result<()> {
    let homes = others::home_names(profile);
    let is_named = profile.name != profile::DEFAULT || !homes.is_empty();
    anyhow::ensure!(!is_named, "{}", others::missing_home_sentence(&profile.name, &homes));
    eprintln!(
        "No home is set up on this machine yet. This is the demo; connect your own home with \
         `hearth-replica init --server URL`."
    );
    demo::run(true, Config::default())
}

/// The sentence why there is no API key for the server, with the next step.
fn keyless(profile: &Profile, server: &str, flags: &str) -> String {
    let (why, next) = match &profile.key_error {
        Some(ProfileError::Key(file, error)) => {
            (format!("the key file {}: {error}", file.display()), key_file_advice(file))
        }
        Some(error) => (error.to_string(), "hearth-replica doctor".to_owned()),
        None => (format!("there is no key for {server}"), format!("hearth-replica init --server {server}")),
    };
    let next = address::with_home_flags(&next, flags);
    format!("{why}; next: {next}. Then start hearth again; until then, changes stay on this machine.")
}

/// Asks on the terminal whether to create a missing database file.
fn confirms_new_db(profile: &Profile) -> anyhow::Result<bool> {
    let question = match &profile.server {
        None => "Create a new home there?".to_owned(),
        Some(server) => format!("Create a new copy of the home at {server} there?"),
    };
    write!(stdout(), "There is no database at {}. {question} [y/N] ", profile.db.display())?;
    stdout().flush()?;
    let mut answer = String::new();
    stdin().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y") || answer.trim().eq_ignore_ascii_case("yes"))
}

/// The settings of the profile, overridden by the command line.
fn load_config(profile: &Profile, arguments: &Arguments) -> anyhow::Result<Config> {
    let mut config = Config::load(&profile.ui_config())?;
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

/// Prints the table of actions.
fn print_keys(config: &Config) -> anyhow::Result<()> {
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
