//! `init`: sets up a home on this machine. Must not start a sync.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use hearth_contract::key::parse_key;
use hearth_replica::doctor::{Severity, check_encryption, check_scopes, key_file_warning};
use hearth_replica::profile::{self, Profile};
use hearth_replica::sync::{self, ClientError, Identity, fetch_identity, machine_name, plan_refill};
use hearth_replica::{Phase, Replica, database_exists};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use super::approval::key_by_approval;
use super::context::Context;
use super::failure::{Exit, Failure};
use super::{lock_holder, output, runtime, text};

/// Creates the database of a home that has no server.
fn begin_without_server(context: &Context) -> Result<(), Failure> {
    let profile = &context.profile;
    if let Some(server) = &profile.server {
        let text = format!("this home has a server: {}", sync::redact_address(server));
        return Err(
            Failure::new(Exit::Failure, text).hint("hearth-replica init --no-server with another --profile or --db")
        );
    }
    let status = context.open_or_create()?.status()?;
    if status.phase != Phase::Local {
        let text = format!("{} is the replica of a home on a server", profile.db.display());
        return Err(Failure::new(Exit::Failure, text).hint("hearth-replica init --server URL"));
    }
    if context.json {
        let members = json!({
            "server": null, "home": null, "home_id": null, "environment": null, "scopes": [],
            "db": output::path(&profile.db), "key_file": null,
        });
        return Ok(output::json(&members)?);
    }
    output::line("All data stays on this machine.")?;
    output::line(&format!("database  {}", profile.db.display()))?;
    output::next_step("hearth, or hearth-replica add KIND FIELD=VALUE");
    Ok(())
}

/// Arguments of `init`. The key is no argument, because all users of a machine can read arguments.
#[derive(Debug, Args)]
pub(super) struct Init {
    /// Address of the server, as in http://localhost:8750
    #[arg(long, value_name = "URL", required_unless_present = "no_server")]
    server: Option<String>,
    /// Begin without a server: all data stays on this machine. A later `init --server` sends everything once
    #[arg(long, conflicts_with_all = ["server", "key_file"])]
    no_server: bool,
    /// File with the API key in its only line; the default is HEARTH_API_KEY, the file in HEARTH_API_KEY_FILE, the
    /// systemd credential hearth-api-key, one line on stdin, or, on a terminal, approval in a browser
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Type an API key, instead of approving this device in a browser
    #[arg(long, conflicts_with_all = ["key_file", "no_server"])]
    ask_key: bool,
    /// Follow a home that another replica has filled with the records of this home, after the loss of its server
    #[arg(long, conflicts_with = "no_server")]
    take_over: bool,
}

impl Init {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        match &self.server {
            Some(server) => self.connect(context, server.trim_end_matches('/')),
            None => begin_without_server(context),
        }
    }

    fn connect(&self, context: &Context, server: &str) -> Result<(), Failure> {
        if let Some(finding) = check_encryption(server) {
            output::message(&format!("warning: {}; {}", finding.text, finding.next.unwrap_or_default()));
        }
        let profile = context.setup_profile()?;
        // Before a person approves this device: a fault of these files needs no key.
        let existing = database_exists(&profile.db).then(|| context.open_or_create()).transpose()?;
        let (key, is_issued) = key(server, self.key_file.as_deref(), self.ask_key)?;
        let adopted = self.adopt(context, server, key, profile, existing);
        if is_issued && adopted.is_err() {
            let device = machine_name();
            let text = format!("the key of this approval is not used: the console of the server lists it as {device}");
            output::message(&format!("{text}; delete it there"));
        }
        let (profile, identity) = adopted?;
        self.report(context, server, &profile, &identity)
    }

    /// Checks the key, binds the database to the home of the key, and saves the profile with the key.
    fn adopt(
        &self,
        context: &Context,
        server: &str,
        key: SecretString,
        mut profile: Profile,
        existing: Option<Replica>,
    ) -> Result<(Profile, Identity), Failure> {
        if parse_key(key.expose_secret()).is_none() {
            return Err(Failure::new(Exit::Key, "this is not an API key: mistyped or incomplete")
                .hint("hearth-server key create, if you have none"));
        }
        if let Some(warning) = self.key_file.as_deref().and_then(key_file_warning) {
            output::message(&format!("warning: {warning}"));
        }
        let asked = async { Ok(fetch_identity(server, &key).await) };
        let identity = runtime::block_on(asked)?.map_err(|error| match error {
            ClientError::Refused(401 | 403, _) => {
                Failure::from(error).hint("hearth-server key create, and init with the key that it prints")
            }
            ClientError::Refused(400 | 404, _) => {
                Failure::from(error).hint(format!("curl -i {server}/v1: is that the right address?"))
            }
            error => error.into(),
        })?;

        let replica = existing.map_or_else(|| context.open_or_create(), Ok)?;
        // A refill that runs now must not be given up under its process.
        let lock = plan_refill(&profile.db)?.server.map(|_| lock_holder::take_lock(&profile)).transpose()?;
        let is_adopted = replica.adopt(server, &identity)?;
        drop(lock);
        if !is_adopted {
            self.take_over(server, &identity, &profile, &replica)?;
        }
        profile.server = Some(server.to_owned());
        profile.conflict_policy = context.profile.conflict_policy;
        profile.key = Some(key);
        profile.save()?;
        Ok((profile, identity))
    }

    /// Follows a home other than that of the database, if it was filled with the records of that home.
    fn take_over(
        &self,
        server: &str,
        identity: &Identity,
        profile: &Profile,
        replica: &Replica,
    ) -> Result<(), Failure> {
        let own = replica.status()?.home_id;
        if own.is_none() || identity.refilled_from != own {
            let text = format!("{} is the replica of another home", profile.db.display());
            return Err(Failure::new(Exit::Failure, text)
                .hint("hearth-replica init with another --profile or --db, or move the database away"));
        }
        if !self.take_over {
            let text =
                format!("the home of the key was filled with the records of the home of {}", profile.db.display());
            return Err(Failure::new(Exit::Failure, text).hint(take_over_advice(server)));
        }
        let _lock = lock_holder::take_lock(profile)?;
        Ok(replica.take_over(server, identity)?)
    }

    fn report(&self, context: &Context, server: &str, profile: &Profile, identity: &Identity) -> Result<(), Failure> {
        if let Some(variable) = self.overriding_variable() {
            output::message(&format!("{variable} is set and takes precedence over the saved key: unset {variable}"));
        }

        let checked = check_scopes(&identity.scopes, &identity.home_name, &identity.environment);
        if checked.severity > Severity::Ok {
            output::message(&checked.text);
        }
        // A sync cannot succeed without the missing read scopes.
        let first = checked.next.filter(|_| checked.severity == Severity::Fault);

        if context.json {
            first.iter().for_each(|next| output::next_step(next));
            let answer = json!({
                "server": server, "home": identity.home_name, "home_id": identity.home_id,
                "environment": identity.environment, "scopes": identity.scopes,
                "db": output::path(&profile.db), "key_file": output::path(profile.key_file()),
            });
            return Ok(output::json(&answer)?);
        }
        let home = text::one_line(&format!("{} ({})", identity.home_name, identity.environment));
        output::line(&format!("{home} at {server}"))?;
        output::line(&format!("database  {}", profile.db.display()))?;
        output::line(&format!("key       {}", profile.key_file().display()))?;
        output::next_step(first.as_deref().unwrap_or("hearth-replica sync, or hearth-replica run"));
        Ok(())
    }

    /// The environment variable that takes precedence over the saved key.
    fn overriding_variable(&self) -> Option<&'static str> {
        let (variable, file) = profile::key_source_in_environment()?;
        let is_other = self.key_file.as_ref().map_or(self.ask_key, |given| file.as_ref() != Some(given));
        is_other.then_some(variable)
    }
}

/// What to type to follow a home that was filled with the records of the lost home.
pub(super) fn take_over_advice(server: &str) -> String {
    format!("hearth-replica init --server {server} --take-over, to follow it with this replica")
}

/// The key of a server from the sources of `init`, and true when the server has issued it just now.
pub(super) fn key(server: &str, key_file: Option<&Path>, ask_key: bool) -> Result<(SecretString, bool), Failure> {
    if let Some(file) = key_file {
        return Ok((profile::key_from_file(file)?, false));
    }
    if !ask_key && let Some(key) = profile::key_from_environment()? {
        return Ok((key, false));
    }
    let text = if io::stdin().is_terminal() {
        if !ask_key && let Some(key) = key_by_approval(server)? {
            return Ok((key, true));
        }
        output::message("API key (not shown):");
        console::Term::stderr().read_secure_line()?
    } else {
        let mut text = String::new();
        io::stdin().lock().read_line(&mut text)?;
        text
    };
    if text.trim().is_empty() {
        return Err(Failure::new(Exit::Key, "no key was given")
            .hint("repeat with --key-file FILE, with HEARTH_API_KEY set, or with the key on stdin"));
    }
    Ok((text.trim().to_owned().into(), false))
}
