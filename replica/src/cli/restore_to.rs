//! `restore-to`: sends this replica's records to an empty home of a server, after the loss of the home's own server, and then follows
//! that home. Must not know HTTP or how records are sent.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hearth_contract::schema::Kind;
use hearth_replica::profile::Profile;
use hearth_replica::sync::{
    self, ClientError, Identity, RefillError, RefillPlan, RefillReport, SyncConfig, SyncError, SyncLock, Until,
    fetch_feed_head, fetch_identity, plan_refill, refill_home,
};
use hearth_replica::{Phase, log};
use secrecy::SecretString;
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::sync::sync_in_process;
use super::{duration, init, lock_holder, output, progress, runtime, signals, sync_goal, text};

/// How long one command sends records. The same command goes on after it.
const REFILL_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The warning for a replica whose first sync, reconcile or rebuild has not ended.
const PART_WARNING: &str = "warning: this replica may lack records of its home, or have older ones, because a sync or a rebuild \
     has not ended; what is missing here will be missing on every device, so restore from one that is in step if there is one";

/// Arguments of `restore-to`.
#[derive(Debug, Args)]
pub(super) struct RestoreTo {
    /// Address of the server with the empty home, as in http://localhost:8750
    #[arg(long, value_name = "URL")]
    server: String,
    /// File with an API key of the empty home in its only line; otherwise the key comes as for `init`
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Type an API key, instead of approving this device in a browser
    #[arg(long, conflicts_with = "key_file")]
    ask_key: bool,
    /// Send without a question
    #[arg(long)]
    yes: bool,
    /// Time limit of the first sync with the home, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl RestoreTo {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(log::LogFormat::Text, "warn");
        signals::listen()?;
        let db = &context.profile.db;
        let status = context.open_existing()?.status()?;
        if status.phase == Phase::Local {
            return Err(Failure::new(Exit::Failure, "this replica has had no server, so none is lost")
                .hint(format!("hearth-replica init --server {}", self.server)));
        }
        let Some(from) = status.home_id.clone() else {
            return Err(Failure::new(Exit::Failure, "the database does not say which home it is a replica of")
                .hint("hearth-replica export FILE, to keep what it shows"));
        };
        if status.phase == Phase::Paused {
            // After the last record, the replica could not follow the home.
            return Err(SyncError::Paused.into());
        }
        let server = self.server.trim_end_matches('/').to_owned();
        let mut plan = plan_refill(db)?;
        // After the last record, the profile names the filled home, and nothing of its feed is read.
        let is_unread = matches!(status.phase, Phase::New | Phase::Backfilling);
        let has_begun =
            plan.server.as_ref() == Some(&server) || is_unread && context.profile.server.as_ref() == Some(&server);
        let before = context.setup_profile()?.saved()?;
        let key = self.key(context, &server, has_begun)?;
        let identity = identify(&server, &key)?;
        // The home of a refill that was cut may be gone for good.
        let is_noted = plan.home_id.as_ref() == Some(&identity.home_id);
        let given_up = plan.server.take_if(|_| !is_noted);
        if is_unread && identity.home_id == from && identity.refilled_from.is_some() {
            // An earlier run has filled the home, and was cut off before its first sync ended.
            let lock = lock_holder::take_lock(&context.profile)?;
            let config = SyncConfig { server, key, ..config_of(&context.profile)? };
            let report = RefillReport { records: plan.records, ..RefillReport::default() };
            return self.follow(context, config, lock, report, &identity);
        }
        check(&identity, &from)?;
        if !is_noted {
            check_empty(&identity, &from, &server, &key)?;
        }
        if !plan.is_whole {
            output::message(PART_WARNING);
        }
        let instead = given_up.as_deref();
        if plan.server.is_none() && !self.is_agreed(&plan, &server, &identity, instead)? {
            output::message("nothing was sent");
            return Ok(());
        }
        let lock = lock_holder::take_lock(&context.profile)?;
        let (profile, report) = fill(context, &server, &key, &identity, &from, plan.records).inspect_err(|_| {
            // The server has bound nothing to the new key. The server and the key that were kept before may go on.
            let is_unbound = plan_refill(db).is_ok_and(|plan| plan.home_id.as_ref() != Some(&identity.home_id));
            if let Some(Err(error)) = is_unbound.then(|| before.put_back()) {
                output::message(&format!("the profile could not be put back: {error}"));
            }
        })?;
        let config = SyncConfig { server, key, ..config_of(&profile)? };
        self.follow(context, config, lock, report, &identity)
    }

    /// Syncs with the home that has the records now.
    fn follow(
        &self,
        context: &Context,
        config: SyncConfig,
        lock: SyncLock,
        report: RefillReport,
        identity: &Identity,
    ) -> Result<(), Failure> {
        let replica = context.open_or_create()?;
        if let Some(last) = sync_in_process(config, lock, Until::Current, self.timeout, &replica)? {
            return Err(sync_goal::timeout_failure(context, &last));
        }
        self.report(context, report, identity)
    }

    /// The key of the empty home. A refill that has begun goes on with the key of the profile.
    fn key(&self, context: &Context, server: &str, has_begun: bool) -> Result<SecretString, Failure> {
        let kept = context.profile.key.clone().filter(|_| has_begun && self.key_file.is_none() && !self.ask_key);
        match kept {
            Some(key) => Ok(key),
            None => init::key(server, self.key_file.as_deref(), self.ask_key).map(|(key, _)| key),
        }
    }

    /// Asks on a terminal, by the name of the home. Error: there is no terminal.
    /// `instead`: the address of a home that has a part of the records, and is given up.
    fn is_agreed(
        &self,
        plan: &RefillPlan,
        server: &str,
        identity: &Identity,
        instead: Option<&str>,
    ) -> Result<bool, Failure> {
        if self.yes {
            return Ok(true);
        }
        let home = text::one_line(&identity.home_name);
        let records = text::count(plan.records, "record");
        let given_up =
            |other| format!(", and give up the home on {}, which has some of them", sync::redact_address(other));
        let instead = instead.map_or_else(String::new, given_up);
        if !io::stdin().is_terminal() {
            let text =
                format!("nothing was sent: to send {records} to the home {home}{instead} is a question for a terminal");
            return Err(Failure::new(Exit::Usage, text).hint("repeat with --yes to send"));
        }
        Ok(output::is_confirmed(&format!(
            "Send {records} to the home {home} on {}{instead}, and follow that home from then on?",
            sync::redact_address(server)
        ))?)
    }

    fn report(&self, context: &Context, report: RefillReport, identity: &Identity) -> Result<(), Failure> {
        let RefillReport { records, without_file, without_reference } = report;
        if context.json {
            let members = json!({
                "server": self.server, "home": identity.home_name, "home_id": identity.home_id,
                "records": records, "documents_without_file": without_file,
                "records_without_reference": without_reference,
            });
            return Ok(output::json(&members)?);
        }
        let home = text::one_line(&identity.home_name);
        output::line(&format!("The home {home} has {}; this replica follows it.", text::count(records, "record")))?;
        if without_file > 0 {
            let documents = text::count(without_file, "document");
            output::message(&format!("{documents} went without the file: its bytes are not on this machine"));
        }
        if without_reference > 0 {
            let records = text::count(without_reference, "record");
            output::message(&format!("{records} went without a reference: this replica does not have what it names"));
        }
        output::next_step("hearth-replica run, or hearth");
        Ok(())
    }
}

/// Fetches the home of a key. The key of the profile may be of the lost server, at the same address.
fn identify(server: &str, key: &SecretString) -> Result<Identity, Failure> {
    let asked = async { Ok(fetch_identity(server, key).await) };
    runtime::block_on(asked)?.map_err(|error| match error {
        ClientError::Refused(401, _) => {
            Failure::from(error).hint("repeat the command with --ask-key, or with --key-file FILE")
        }
        error => error.into(),
    })
}

/// Saves the server and the key, and sends the records.
fn fill(
    context: &Context,
    server: &str,
    key: &SecretString,
    identity: &Identity,
    from: &str,
    records: usize,
) -> Result<(Profile, RefillReport), Failure> {
    // The key is kept before the home is bound to it: after a cut, only this key may go on.
    let profile = save_profile(context, server.to_owned(), key.clone())?;
    let bar = progress::bar(records, "sending");
    let sent = |records: usize| bar.set_position(records as u64);
    let refilled = refill_home(&context.profile.db, server, key, identity, from, sent);
    // After a signal, the same command goes on where it was.
    let ended = runtime::block_on(signals::run_within(REFILL_LIMIT, refilled))?.ok_or_else(|| {
        Failure::new(Exit::Unreachable, "the server has not taken all records within a day")
            .hint("repeat the command; it goes on where it was")
    })?;
    bar.finish_and_clear();
    Ok((profile, ended?))
}

/// Refuses a key that cannot fill its home.
fn check(identity: &Identity, from: &str) -> Result<(), Failure> {
    if identity.home_id == from {
        return Err(Failure::new(Exit::Failure, "the key is for the home that this replica follows already")
            .hint("hearth-replica sync"));
    }
    let needed = |kind: Kind| format!("{}:write", kind.collection());
    let missing = Kind::ALL.into_iter().map(needed).find(|scope| !identity.scopes.contains(scope));
    match missing {
        Some(scope) => Err(Failure::new(Exit::Key, format!("the key lacks the scope {scope}"))
            .hint("hearth-server key create --scopes all, and repeat with that key")),
        None => Ok(()),
    }
}

/// Refuses a home that has records, or had some. The server lets the same key begin a refill again that was given up, and records that
/// are there then count as sent, with the values that they had.
fn check_empty(identity: &Identity, from: &str, server: &str, key: &SecretString) -> Result<(), Failure> {
    if identity.refilled_from.as_deref() == Some(from) {
        let text = "this home was filled with the records of the lost home before";
        return Err(Failure::new(Exit::NeedsYou, text).hint(init::take_over_advice(server)));
    }
    let asked = async { Ok(fetch_feed_head(server, key).await?) };
    match runtime::block_on(asked)? {
        Some(1..) => {
            Err(RefillError::NotEmpty("this home is not empty: it has records, or had some".to_owned()).into())
        }
        _ => Ok(()),
    }
}

/// Saves server and key of the profile, as `init` does.
fn save_profile(context: &Context, server: String, key: SecretString) -> Result<Profile, Failure> {
    let mut profile = context.setup_profile()?;
    profile.server = Some(server);
    profile.conflict_policy = context.profile.conflict_policy;
    profile.key = Some(key);
    profile.save()?;
    Ok(profile)
}

fn config_of(profile: &Profile) -> Result<SyncConfig, Failure> {
    profile.sync_config().ok_or_else(|| Failure::new(Exit::Key, "the profile has no key"))
}
