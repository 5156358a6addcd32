//! `completions` and `man`. Must not know how their text is made; the crate `help` does.

use clap::Command;
use hearth_help::{Completions, Man};

use super::failure::{Exit, Failure};
use super::output;

/// Prints the completions of the program.
pub(super) fn completions(completions: Completions, program: Command) -> Result<(), Failure> {
    Ok(output::raw(&completions.script(named(program)))?)
}

/// Prints the manual page of the program, or writes a page for each command.
pub(super) fn man(man: Man, program: Command) -> Result<(), Failure> {
    match man.write(named(program)) {
        Ok(page) => Ok(output::raw(&page.unwrap_or_default())?),
        Err((dir, error)) => Err(Failure::new(Exit::Failure, format!("{}: {error}", dir.display()))
            .hint("hearth-replica man --dir with a directory that is yours")),
    }
}

/// The arguments under the name of the installed program.
fn named(program: Command) -> Command {
    program.name("hearth-replica")
}
