//! The options `--faults` and `--faults-on-live` of `serve`. Must not know how a fault is injected.

use std::path::Path;

use clap::Args;
use hearth_server::bench::faults::{FaultPlan, grammar};

#[derive(Args)]
pub(super) struct FaultArguments {
    /// Inject faults, to test clients: a file, or text as in "lost-answer=5% route=create_task; cut=every:100frames"
    #[arg(long, value_parser = parse_plan, value_name = "FILE|EXPR")]
    faults: Option<FaultPlan>,
    /// Inject the faults into requests of live keys too
    #[arg(long, requires = "faults")]
    faults_on_live: bool,
}

impl FaultArguments {
    /// The plan. None: the service runs without faults.
    pub(super) fn plan(self) -> Option<FaultPlan> {
        self.faults.map(|plan| FaultPlan { on_live: self.faults_on_live, ..plan })
    }
}

/// Parses the content of the file with this name, or else the text itself.
fn parse_plan(argument: &str) -> Result<FaultPlan, String> {
    match std::fs::read_to_string(Path::new(argument)) {
        Ok(text) => grammar::parse(&text).map_err(|error| format!("{argument}: {error}")),
        // A path may contain a `=` too: then both errors help.
        Err(error) if argument.contains('=') => {
            grammar::parse(argument).map_err(|problem| match argument.contains('/') {
                true => format!("{problem}\nand no file with this name can be read: {error}"),
                false => problem.to_string(),
            })
        }
        Err(error) => Err(format!("neither a fault, as in lost-answer=5%, nor a file: {error}")),
    }
}
