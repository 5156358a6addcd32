//! The commands for API keys. Must not know how the library does the work.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand, ValueEnum};
use hearth_contract::formats::{Timestamp, format_date};
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::{parse_interval, parse_network};
use hearth_server::operate::{self, CreatedKey, NewKey};
use hearth_server::store::Db;
use hearth_server::store::homes::Plan;
use hearth_server::store::keys::Key;
use ipnet::IpNet;
use serde_json::{Value, json};

use super::output::{print_line, print_note, print_table};
use super::team::parse_name;

#[derive(Subcommand)]
pub(super) enum KeyCommand {
    /// Create a key and print its text, which is never shown again
    Create {
        /// Id or name of the team
        #[arg(long)]
        team: String,
        /// The home of the team that the key reaches
        #[arg(long, value_enum)]
        env: EnvironmentArgument,
        /// Scopes, separated by commas, or `all`
        #[arg(long, value_delimiter = ',', default_value = "all", value_parser = parse_scope)]
        scopes: Vec<String>,
        /// Name of the key, for people
        #[arg(long, value_parser = parse_name)]
        name: Option<String>,
        /// Network from which the key is accepted; repeat the option for several networks
        #[arg(long, value_parser = parse_network, value_name = "CIDR")]
        allow: Vec<IpNet>,
        /// API version of requests without a version header, such as 2026-06-01
        #[arg(long, value_parser = parse_version, value_name = "VERSION")]
        pin: Option<String>,
        /// Day or time from which the key is refused
        #[arg(long, value_parser = parse_expiry, value_name = "DATE")]
        expires: Option<Timestamp>,
        #[command(flatten)]
        secret: SecretOutput,
    },
    /// List keys, without their texts
    List {
        /// Id or name of a team: list only its keys
        #[arg(long)]
        team: Option<String>,
    },
    /// Revoke a key: clients that use the key are refused
    Revoke {
        /// Id or unique name of the key
        key: String,
    },
    /// Revoke a key and print a new key with the same properties
    Rotate {
        /// Id or unique name of the key
        key: String,
        /// Accept the old key for this time too, such as 24h; without it, the old key ends at once
        #[arg(long, value_parser = parse_interval, value_name = "TIME")]
        keep_old: Option<Duration>,
        #[command(flatten)]
        secret: SecretOutput,
    },
    /// Remove the flag that a key gets after repeated refusals
    Unflag {
        /// Id or unique name of the key
        key: String,
    },
}

/// Where the text of a new key goes.
#[derive(Args)]
pub(super) struct SecretOutput {
    /// Print only the text of the key
    #[arg(long)]
    quiet: bool,
    /// Write the text of the key to a new file that only this user can read, instead of printing it
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

/// The new file of a key. Created before the key, because a key whose text is lost is of no use.
struct SecretFile<'a> {
    path: &'a Path,
    file: File,
}

impl SecretFile<'_> {
    /// Creates the file (0600), which must not exist yet.
    fn create(path: &Path) -> anyhow::Result<SecretFile<'_>> {
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let file = created.with_context(|| format!("the file {} cannot be created", path.display()))?;
        Ok(SecretFile { path, file })
    }

    fn write(mut self, secret: &str) -> anyhow::Result<()> {
        let written = writeln!(self.file, "{secret}").and_then(|()| self.file.sync_all());
        written.with_context(|| {
            format!(
                "the key exists, but its text is lost: {} cannot be written; revoke the key, and make another",
                self.path.display()
            )
        })
    }

    /// Removes the file again, because no key was made.
    fn discard(self) {
        let _ = std::fs::remove_file(self.path);
    }
}

impl SecretOutput {
    /// Makes a key, and gives its text to the file or to stdout.
    async fn output(
        &self,
        making: impl Future<Output = Result<CreatedKey, operate::Error>>,
        as_json: bool,
    ) -> anyhow::Result<()> {
        let file = self.to.as_deref().map(SecretFile::create).transpose()?;
        match (making.await, file) {
            (Ok(created), Some(file)) => {
                file.write(&created.secret)?;
                print_new_key(&created, self, as_json)
            }
            (Ok(created), None) => print_new_key(&created, self, as_json),
            (Err(error), file) => {
                file.into_iter().for_each(SecretFile::discard);
                Err(error.into())
            }
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EnvironmentArgument {
    Live,
    Test,
}

fn parse_scope(text: &str) -> Result<String, String> {
    operate::parse_scopes(&[text.to_owned()]).map(|_| text.to_owned())
}

fn parse_expiry(text: &str) -> Result<Timestamp, String> {
    let time = Timestamp::parse(text).ok_or_else(|| format!("`{text}` is not a date such as 2027-01-01"))?;
    match time > Clock::system().now() {
        true => Ok(time),
        false => Err(format!("{time} is past; give a future date, because the key would be refused at once")),
    }
}

fn parse_version(text: &str) -> Result<String, String> {
    operate::parse_pin(text, Clock::system().now())
}

pub(super) async fn key(command: KeyCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create { team, env, scopes, name, allow, pin, expires, secret } => {
            let environment = match env {
                EnvironmentArgument::Live => Environment::Live,
                EnvironmentArgument::Test => Environment::Test,
            };
            let new = NewKey { team, environment, scopes, name, allowlist: allow, pinned: pin, expires_at: expires };
            secret.output(operate::create_key(db, &Clock::system(), new), as_json).await?;
        }
        KeyCommand::List { team } => {
            let keys = operate::list_keys(db, team).await?;
            if as_json {
                print_line(Value::Array(keys.iter().map(key_json).collect()))?;
            } else {
                let now = Clock::system().now();
                print_table(KEY_COLUMNS, keys.iter().map(|key| key_row(key, now)))?;
            }
        }
        KeyCommand::Revoke { key } => {
            let key = operate::revoke_key(db, &Clock::system(), key).await?;
            if as_json {
                print_line(key_json(&key))?;
            } else {
                print_note(format_args!("revoked key {} ({})", key.id, key.name));
            }
        }
        KeyCommand::Rotate { key, keep_old, secret } => {
            secret.output(operate::rotate_key(db, &Clock::system(), key, keep_old), as_json).await?;
        }
        KeyCommand::Unflag { key } => {
            let key = operate::unflag_key(db, &Clock::system(), key).await?;
            if as_json {
                print_line(key_json(&key))?;
            } else {
                print_note(format_args!("key {} ({}) has no flag any more", key.id, key.name));
            }
        }
    }
    Ok(())
}

/// Prints a new key: only its text to stdout, the rest to stderr. A text that is in a file is not printed.
fn print_new_key(created: &CreatedKey, output: &SecretOutput, as_json: bool) -> anyhow::Result<()> {
    let key = &created.key;
    match (&output.to, as_json) {
        (None, false) => print_line(&created.secret)?,
        (Some(file), false) => print_note(format_args!("the key is in {}", file.display())),
        (file, true) => {
            let mut value = key_json(key);
            match file {
                None => value["secret"] = created.secret.as_str().into(),
                Some(file) => value["file"] = json!(file),
            }
            print_line(value)?;
        }
    }
    if !output.quiet && !as_json {
        print_note(format_args!(
            "created key {} ({}) of team {}; its text is never shown again",
            key.id, key.name, key.team_name
        ));
    }
    if key.environment == Environment::Live && key.plan == Plan::Free {
        print_note("warning: live keys need the paid plan; this key is refused while the team is on the free plan");
    }
    Ok(())
}

/// The columns of `key list`. The names of people's choice come last, because their width is unknown.
const KEY_COLUMNS: [&str; 9] = ["ID", "KEY", "USE", "ENV", "STATE", "LAST USED", "EXPIRES", "TEAM", "NAME"];

fn key_row(key: &Key, now: Timestamp) -> [String; 9] {
    let state = key.end_reason(now).unwrap_or(if key.flagged_at.is_some() { "flagged" } else { "good" });
    let day = |moment: Option<Timestamp>| moment.map_or("never".to_owned(), |moment| format_date(moment.date()));
    [
        key.id.clone(),
        key.hint.clone(),
        key_use(key).to_owned(),
        key.environment.as_str().to_owned(),
        state.to_owned(),
        day(key.last_used_at),
        day(key.expires_at),
        key.team_name.clone(),
        key.name.clone(),
    ]
}

/// Who presents the key: `partner` (a grant, whose access tokens are presented), `device` (an owner approved the device), or
/// `key` for every other client.
fn key_use(key: &Key) -> &'static str {
    match (&key.client, key.is_device) {
        (Some(_), _) => "partner",
        (None, true) => "device",
        (None, false) => "key",
    }
}

fn key_json(key: &Key) -> Value {
    json!({
        "id": key.id,
        "team": { "id": key.team, "name": key.team_name },
        "environment": key.environment.as_str(),
        "name": key.name,
        "hint": key.hint,
        "use": key_use(key),
        "client": key.client,
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
