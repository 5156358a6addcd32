//! The commands for teams. Must not know how the library does the work.

use clap::{Subcommand, ValueEnum};
use hearth_server::clock::Clock;
use hearth_server::operate;
use hearth_server::store::Db;
use hearth_server::store::homes::{Plan, Team};
use serde_json::{Value, json};

use super::output::{print_line, print_note, print_table};

#[derive(Subcommand)]
pub(super) enum TeamCommand {
    /// Create a team with a live home and a sandbox, which gets sample records at its first use
    Create {
        /// Name of the team, unique on this server
        #[arg(value_parser = parse_name)]
        name: String,
        /// Plan of the team; live keys need the paid plan
        #[arg(long, value_enum, default_value_t = PlanArgument::Paid)]
        plan: PlanArgument,
    },
    /// List the teams
    List,
    /// Change the plan of a team
    Plan {
        /// Id or name of the team
        team: String,
        /// The new plan
        #[arg(value_enum)]
        plan: PlanArgument,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum PlanArgument {
    Free,
    Paid,
}

impl PlanArgument {
    fn plan(self) -> Plan {
        match self {
            PlanArgument::Free => Plan::Free,
            PlanArgument::Paid => Plan::Paid,
        }
    }
}

/// Parses the name of a team or a key.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    if operate::is_valid_name(text) { Ok(text.to_owned()) } else { Err(operate::NAME_RULE.to_owned()) }
}

pub(super) async fn team(command: TeamCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        TeamCommand::Create { name, plan } => {
            let team = operate::create_team(db, &Clock::system(), name, plan.plan()).await?;
            if as_json {
                print_line(team_json(&team))?;
            } else {
                print_line(&team.id)?;
                print_note(format_args!(
                    "created team {} ({}) with a live home and a sandbox",
                    team.name,
                    team.plan.as_str()
                ));
            }
        }
        TeamCommand::List => {
            let teams = operate::teams(db).await?;
            if as_json {
                print_line(Value::Array(teams.iter().map(team_json).collect()))?;
            } else {
                let row = |team: &Team| {
                    [team.id.clone(), team.plan.as_str().to_owned(), team.created_at.to_string(), team.name.clone()]
                };
                print_table(["ID", "PLAN", "CREATED", "NAME"], teams.iter().map(row))?;
            }
        }
        TeamCommand::Plan { team, plan } => {
            let team = operate::set_plan(db, team, plan.plan()).await?;
            if as_json {
                print_line(team_json(&team))?;
            } else {
                print_note(format_args!("team {} is on the {} plan", team.name, team.plan.as_str()));
            }
        }
    }
    Ok(())
}

fn team_json(team: &Team) -> Value {
    json!({ "id": team.id, "name": team.name, "plan": team.plan.as_str(), "created_at": team.created_at })
}
