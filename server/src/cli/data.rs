//! The commands about all of the data: setting a sandbox back. Must not know how anything is done.

use clap::Subcommand;
use hearth_server::clock::Clock;
use hearth_server::operate;
use hearth_server::store::Db;
use serde_json::json;

#[derive(Subcommand)]
pub(super) enum SandboxCommand {
    /// Delete every record of a team's sandbox and make the fixtures again
    Reset {
        /// Id or name of the team
        #[arg(long)]
        team: String,
    },
}

pub(super) async fn sandbox(command: SandboxCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    let SandboxCommand::Reset { team } = command;
    let (team, records) = operate::reset_sandbox(db, &Clock::system(), team).await?;
    if as_json {
        println!("{}", json!({ "team": { "id": team.id, "name": team.name }, "records": records }));
    } else {
        eprintln!("the sandbox of team {} holds its {records} fixtures again", team.name);
    }
    Ok(())
}
