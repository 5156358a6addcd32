//! The commands about keys. Must not know how anything is done.

use clap::{Subcommand, ValueEnum};
use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::parse_network;
use hearth_server::operate::{self, MadeKey, NewKey};
use hearth_server::store::Db;
use hearth_server::store::homes::Plan;
use hearth_server::store::keys::Key;
use ipnet::IpNet;
use serde_json::{Value, json};

use super::output::{line, note};
use super::team::parse_name;

#[derive(Subcommand)]
pub(super) enum KeyCommand {
    /// Make a key and print it, this once
    Create {
        /// Id or name of the team
        #[arg(long)]
        team: String,
        /// Which of its homes the key reaches
        #[arg(long, value_enum)]
        env: EnvironmentWord,
        /// Scopes, separated by commas, or all
        #[arg(long, value_delimiter = ',', default_value = "all", value_parser = parse_scope)]
        scopes: Vec<String>,
        /// What to call the key
        #[arg(long, value_parser = parse_name)]
        name: Option<String>,
        /// Network it may be used from; may be given several times
        #[arg(long, value_parser = parse_network, value_name = "CIDR")]
        allow: Vec<IpNet>,
        /// Version of the API that holds for it without a header, such as 2026-06-01
        #[arg(long, value_parser = parse_version, value_name = "VERSION")]
        pin: Option<String>,
        /// Day or moment from which it is refused
        #[arg(long, value_parser = parse_moment, value_name = "DATE")]
        expires: Option<Timestamp>,
        /// Print the key alone
        #[arg(long)]
        quiet: bool,
    },
    /// List keys; their texts are never shown again
    List {
        /// Only of this team
        #[arg(long)]
        team: Option<String>,
    },
    /// End a key
    Revoke {
        /// Its id or unique name
        key: String,
    },
    /// End a key and print another like it, this once
    Rotate {
        /// Its id or unique name
        key: String,
        /// Print the key alone
        #[arg(long)]
        quiet: bool,
    },
    /// Take the mark of repeated refusals from a key
    Unflag {
        /// Its id or unique name
        key: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EnvironmentWord {
    Live,
    Test,
}

fn parse_scope(text: &str) -> Result<String, String> {
    operate::scopes(&[text.to_owned()]).map(|_| text.to_owned())
}

fn parse_moment(text: &str) -> Result<Timestamp, String> {
    let moment = Timestamp::parse(text).ok_or_else(|| format!("`{text}` is not a date such as 2027-01-01"))?;
    match moment > Clock::system().now() {
        true => Ok(moment),
        false => Err(format!("{moment} is past, so the key would be refused; give a moment to come")),
    }
}

fn parse_version(text: &str) -> Result<String, String> {
    let date = hearth_contract::formats::parse_date(text);
    date.map(|_| text.to_owned()).ok_or_else(|| format!("`{text}` is not a date such as 2026-06-01"))
}

pub(super) async fn key(command: KeyCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create { team, env, scopes, name, allow, pin, expires, quiet } => {
            let environment = match env {
                EnvironmentWord::Live => Environment::Live,
                EnvironmentWord::Test => Environment::Test,
            };
            let wish = NewKey { team, environment, scopes, name, allowlist: allow, pinned: pin, expires_at: expires };
            let made = operate::create_key(db, &Clock::system(), wish).await?;
            show_made(made, quiet, as_json)?;
        }
        KeyCommand::List { team } => {
            let keys = operate::list_keys(db, team).await?;
            if as_json {
                line(Value::Array(keys.iter().map(key_json).collect()))?;
            } else {
                let now = Clock::system().now();
                for key in keys {
                    let state =
                        key.end_reason(now).unwrap_or(if key.flagged_at.is_some() { "flagged" } else { "good" });
                    line(format_args!("{}  {}  {state:7}  {}  {}", key.id, key.hint, key.team_name, key.name))?;
                }
            }
        }
        KeyCommand::Revoke { key } => {
            let key = operate::revoke_key(db, &Clock::system(), key).await?;
            if as_json {
                line(key_json(&key))?;
            } else {
                note(format_args!("revoked key {} ({})", key.id, key.name));
            }
        }
        KeyCommand::Rotate { key, quiet } => {
            show_made(operate::rotate_key(db, &Clock::system(), key).await?, quiet, as_json)?;
        }
        KeyCommand::Unflag { key } => {
            let key = operate::unflag_key(db, &Clock::system(), key).await?;
            if as_json {
                line(key_json(&key))?;
            } else {
                note(format_args!("key {} ({}) is no longer flagged", key.id, key.name));
            }
        }
    }
    Ok(())
}

/// Shows a key that was just made: its text alone on stdout, the rest beside it.
fn show_made(made: MadeKey, quiet: bool, as_json: bool) -> anyhow::Result<()> {
    let key = &made.key;
    if as_json {
        let mut value = key_json(key);
        value["secret"] = made.secret.into();
        line(value)?;
    } else {
        line(made.secret)?;
    }
    if !quiet && !as_json {
        note(format_args!("key {} ({}) of team {}; it is shown this once", key.id, key.name, key.team_name));
    }
    if key.environment == Environment::Live && key.plan == Plan::Free {
        note("warning: live keys need the paid plan; this one is refused while the team's plan is free");
    }
    Ok(())
}

fn key_json(key: &Key) -> Value {
    json!({
        "id": key.id,
        "team": { "id": key.team, "name": key.team_name },
        "environment": key.environment.as_str(),
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes,
        "allowlist": key.allowlist,
        "api_version": key.pinned,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "flagged_at": key.flagged_at,
    })
}
