//! The commands about teams. Must not know how anything is done.

use clap::{Subcommand, ValueEnum};
use hearth_server::clock::Clock;
use hearth_server::operate;
use hearth_server::store::Db;
use hearth_server::store::homes::{Plan, Team};
use serde_json::{Value, json};

use super::output::{line, note};

#[derive(Subcommand)]
pub(super) enum TeamCommand {
    /// Make a team with its live home and its filled sandbox
    Create {
        /// Its name, unique on this server
        #[arg(value_parser = parse_name)]
        name: String,
        /// What it pays for; live keys need paid
        #[arg(long, value_enum, default_value_t = PlanWord::Paid)]
        plan: PlanWord,
    },
    /// List the teams
    List,
    /// Change what a team pays for
    Plan {
        /// Its id or name
        team: String,
        /// What it pays for
        #[arg(value_enum)]
        plan: PlanWord,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum PlanWord {
    Free,
    Paid,
}

impl PlanWord {
    fn plan(self) -> Plan {
        match self {
            PlanWord::Free => Plan::Free,
            PlanWord::Paid => Plan::Paid,
        }
    }
}

/// What a team or a key may be called.
pub(super) fn parse_name(text: &str) -> Result<String, String> {
    if operate::is_name(text) { Ok(text.to_owned()) } else { Err(operate::NAME_RULE.to_owned()) }
}

pub(super) async fn team(command: TeamCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        TeamCommand::Create { name, plan } => {
            let team = operate::create_team(db, &Clock::system(), name, plan.plan()).await?;
            if as_json {
                line(team_json(&team))?;
            } else {
                line(&team.id)?;
                note(format_args!(
                    "made team {} ({}) with a live home and a filled sandbox",
                    team.name,
                    team.plan.as_str()
                ));
            }
        }
        TeamCommand::List => {
            let teams = operate::teams(db).await?;
            if as_json {
                line(Value::Array(teams.iter().map(team_json).collect()))?;
            } else {
                for team in teams {
                    line(format_args!("{}  {:4}  {}  {}", team.id, team.plan.as_str(), team.created_at, team.name))?;
                }
            }
        }
        TeamCommand::Plan { team, plan } => {
            let team = operate::set_plan(db, team, plan.plan()).await?;
            if as_json {
                line(team_json(&team))?;
            } else {
                note(format_args!("team {} is on the {} plan", team.name, team.plan.as_str()));
            }
        }
    }
    Ok(())
}

fn team_json(team: &Team) -> Value {
    json!({ "id": team.id, "name": team.name, "plan": team.plan.as_str(), "created_at": team.created_at })
}
