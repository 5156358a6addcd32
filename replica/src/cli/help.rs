//! `completions` and `man`, generated from the arguments. Must not repeat a description.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;

use super::failure::{Exit, Failure};
use super::output;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Prints the completions of `command`, the whole program.
    pub(super) fn run(self, mut command: Command) -> Result<(), Failure> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "hearth-replica", &mut text);
        if self.shell == Shell::Bash {
            // The generator escapes the hyphen differently in two places; both must match.
            text = String::from_utf8_lossy(&text).replace("hearth__subcmd__replica", "hearth__replica").into_bytes();
        }
        if self.shell == Shell::Fish {
            text.extend(fish_positional_words(&command).bytes());
        }
        Ok(output::raw(&text)?)
    }
}

/// Completions for positional words in fish. The generator writes only those of options.
fn fish_positional_words(program: &Command) -> String {
    let mut lines = String::new();
    for command in program.get_subcommands() {
        let name = command.get_name();
        for word in command.get_positionals().flat_map(|argument| argument.get_possible_values()) {
            let about = word.get_help().map(|help| help.to_string().replace('\'', "\\'")).unwrap_or_default();
            lines.push_str(&format!(
                "complete -c hearth-replica -n \"__fish_hearth_replica_using_subcommand {name}\" -f -a \"{}\" -d '{about}'\n",
                word.get_name()
            ));
        }
    }
    lines
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(super) struct Man {
    /// Write a page for each command into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Prints the manual page of `program`, or writes a page for each command.
    pub(super) fn run(self, program: Command) -> Result<(), Failure> {
        // The generated `help` command gets no page.
        let command = program.name("hearth-replica").disable_help_subcommand(true);
        if let Some(dir) = self.dir {
            let written = std::fs::create_dir_all(&dir).and_then(|()| clap_mangen::generate_to(command, &dir));
            return written.map_err(|error| {
                Failure::new(Exit::Failure, format!("{}: {error}", dir.display()))
                    .hint("hearth-replica man --dir with a directory that is yours")
            });
        }
        let mut text = Vec::new();
        clap_mangen::Man::new(command).render(&mut text)?;
        Ok(output::raw(&text)?)
    }
}
