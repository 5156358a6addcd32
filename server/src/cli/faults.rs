//! `serve --faults`: a file of faults, or the faults themselves. Must not know what they do.

use std::path::Path;

use clap::Args;
use hearth_server::faults::{Plan, grammar};

#[derive(Args)]
pub(super) struct FaultArguments {
    /// Faults to inject, for tests of clients: a file, or as in "lost-answer=5% route=create_task; cut=every:100frames"
    #[arg(long, value_name = "FILE|EXPR")]
    faults: Option<String>,
    /// Inject them into what live keys ask as well
    #[arg(long, requires = "faults")]
    faults_on_live: bool,
}

impl FaultArguments {
    /// What was asked for. What names a file is one.
    pub(super) fn plan(self) -> anyhow::Result<Option<Plan>> {
        let Some(wish) = self.faults else { return Ok(None) };
        let (place, text) = match std::fs::read_to_string(Path::new(&wish)) {
            Ok(text) => (wish, text),
            Err(_) if wish.contains('=') => ("--faults".to_owned(), wish),
            Err(error) => {
                anyhow::bail!("--faults: {wish} is neither a fault, as in lost-answer=5%, nor a file: {error}")
            }
        };
        let plan = grammar::read(&text).map_err(|slip| anyhow::anyhow!("{place}: {slip}"))?;
        Ok(Some(Plan { on_live: self.faults_on_live, ..plan }))
    }
}
