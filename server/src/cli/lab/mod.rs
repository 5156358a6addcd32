//! The command `lab`: the test bench on the command line. Must not know how the library does the work.
//!
//! - [`arguments`]: the commands of the lab and their options.
//! - `steps`: runs one command. `script`: runs a timed list of commands.

mod arguments;
mod script;
mod steps;

use std::path::PathBuf;

use hearth_contract::key::Environment;
use hearth_server::bench::lab::LabHome;
use hearth_server::bench::lab::home::HomeChoice;
use hearth_server::clock::Clock;
use hearth_server::store::Db;

use self::arguments::{EnvironmentArgument, LabCommand};
use super::signals::shutdown_on_interrupt;

pub(super) use self::arguments::Lab;

/// Runs one command, or a script.
pub(super) async fn run(lab: Lab, db: Db, data: PathBuf, as_json: bool) -> anyhow::Result<()> {
    let environment = match lab.env {
        EnvironmentArgument::Live => Environment::Live,
        EnvironmentArgument::Test => Environment::Test,
    };
    let choice = HomeChoice { team: lab.team, environment, allow_live: lab.live };
    // A wrong script is reported before anything else happens.
    let script = match &lab.command {
        LabCommand::Script { file } => Some(script::read(file, &data)?),
        LabCommand::Step(_) => None,
    };
    let mut home = LabHome::find(db, Clock::system(), data, choice).await?;
    match (lab.command, script) {
        (LabCommand::Step(step), _) => steps::run(&mut home, &step, as_json, &mut shutdown_on_interrupt()?).await,
        (LabCommand::Script { file }, Some(lines)) => {
            script::run(&mut home, &file, &lines, as_json, shutdown_on_interrupt()?).await
        }
        (LabCommand::Script { .. }, None) => Ok(()),
    }
}
