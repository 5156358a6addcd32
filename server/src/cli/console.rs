//! The command for the console: one-time links. Must not know how the library does the work.

use clap::{Subcommand, ValueEnum};
use hearth_server::clock::Clock;
use hearth_server::config::parse_base_url;
use hearth_server::operate::people;
use hearth_server::store::Db;
use hearth_server::store::people::Role;
use serde_json::json;

use super::output::{print_line, print_note};
use super::team::parse_name;

/// Where a server listens by default, for a database on which no server has run yet.
const USUAL_URL: &str = "http://127.0.0.1:8750";

#[derive(Subcommand)]
pub(super) enum ConsoleCommand {
    /// Print a one-time link with which a person sets a password for the console
    Link {
        /// Id or name of the team
        #[arg(long)]
        team: String,
        /// Name of the person. Of a person of the team: the link sets a new password. Without it, the person chooses
        #[arg(long, value_parser = parse_name)]
        name: Option<String>,
        /// What a new person may do
        #[arg(long, value_enum, default_value_t = RoleArgument::Owner)]
        role: RoleArgument,
        /// Where browsers reach the server [default: the address of the server that ran last]
        #[arg(long, value_parser = parse_base_url, value_name = "URL")]
        base_url: Option<String>,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum RoleArgument {
    Owner,
    Member,
}

pub(super) async fn console(command: ConsoleCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    let ConsoleCommand::Link { team, name, role, base_url } = command;
    let role = match role {
        RoleArgument::Owner => Role::Owner,
        RoleArgument::Member => Role::Member,
    };
    let stored = people::stored_base_url(db).await?;
    let base_url = base_url.or(stored).unwrap_or_else(|| USUAL_URL.to_owned());
    let created = people::create_link(db, &Clock::system(), team, role, name).await?;
    let url = created.url(base_url.trim_end_matches('/'));
    if as_json {
        let link = &created.link;
        return print_line(json!({
            "url": url,
            "team": { "id": link.team, "name": created.team_name },
            "name": link.name,
            "role": link.role.as_str(),
            "expires_at": link.expires_at,
        }));
    }
    print_line(&url)?;
    let minutes = people::LINK_TIME.as_secs() / 60;
    print_note(format_args!("open this link within {minutes} minutes to set a password for {}", created.team_name));
    Ok(())
}
