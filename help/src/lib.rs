//! Shell completions and manual pages of the three programs, made from their arguments. Must not repeat a description, and
//! must not know a particular program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_complete::Shell;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// The completions of the program, as a script for the shell.
    pub fn script(self, mut program: Command) -> Vec<u8> {
        let name = program.get_name().to_owned();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, &name, &mut script);
        if self.shell == Shell::Bash {
            // The generator escapes hyphens of the name differently in two places; both must match.
            let (escaped, called) = (name.replace('-', "__subcmd__"), name.replace('-', "__"));
            script = String::from_utf8_lossy(&script).replace(&escaped, &called).into_bytes();
        }
        if self.shell == Shell::Fish {
            script.extend(fish_positional_words(&program).bytes());
        }
        script
    }
}

/// Completions for positional words in fish. The generator writes only those of options.
fn fish_positional_words(program: &Command) -> String {
    let name = program.get_name();
    let function = name.replace('-', "_");
    let mut lines = String::new();
    for command in program.get_subcommands() {
        let subcommand = command.get_name();
        for word in command.get_positionals().flat_map(|argument| argument.get_possible_values()) {
            let about = word.get_help().map(|help| help.to_string().replace('\'', "\\'")).unwrap_or_default();
            lines.push_str(&format!(
                "complete -c {name} -n \"__fish_{function}_using_subcommand {subcommand}\" -f -a \"{}\" -d '{about}'\n",
                word.get_name()
            ));
        }
    }
    lines
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Write a page for each command into this directory
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Man {
    /// Writes a page for each command into the directory, or returns the page of the program if no directory was named.
    ///
    /// # Errors
    /// The directory that cannot be created or written, with the reason.
    pub fn write(self, program: Command) -> Result<Option<Vec<u8>>, (PathBuf, io::Error)> {
        // The generated `help` command gets no page.
        let program = program.disable_help_subcommand(true);
        match self.dir {
            Some(dir) => match write_pages(program, &dir) {
                Ok(()) => Ok(None),
                Err(error) => Err((dir, error)),
            },
            None => {
                let mut page = Vec::new();
                clap_mangen::Man::new(program).render(&mut page).expect("memory takes every byte");
                Ok(Some(page))
            }
        }
    }
}

fn write_pages(program: Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    clap_mangen::generate_to(program, dir)
}
