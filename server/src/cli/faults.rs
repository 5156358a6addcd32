//! `serve --faults`: a file of faults, or the faults themselves. Must not know what they do.

use std::path::Path;

use clap::Args;
use hearth_server::faults::{Plan, grammar};

#[derive(Args)]
pub(super) struct FaultArguments {
    /// Faults to inject, for tests of clients: a file, or as in "lost-answer=5% route=create_task; cut=every:100frames"
    #[arg(long, value_parser = parse_plan, value_name = "FILE|EXPR")]
    faults: Option<Plan>,
    /// Inject them into what live keys ask as well
    #[arg(long, requires = "faults")]
    faults_on_live: bool,
}

impl FaultArguments {
    /// What was asked for.
    pub(super) fn plan(self) -> Option<Plan> {
        self.faults.map(|plan| Plan { on_live: self.faults_on_live, ..plan })
    }
}

/// What is written in a file of that name, or else in the text itself.
fn parse_plan(wish: &str) -> Result<Plan, String> {
    match std::fs::read_to_string(Path::new(wish)) {
        Ok(text) => grammar::read(&text).map_err(|slip| format!("{wish}: {slip}")),
        // A path may have a `=` too.
        Err(error) if wish.contains('=') => grammar::read(wish).map_err(|slip| match wish.contains('/') {
            true => format!("{slip}\nnor can it be read as a file: {error}"),
            false => slip.to_string(),
        }),
        Err(error) => Err(format!("it is neither a fault, as in lost-answer=5%, nor a file: {error}")),
    }
}
