//! The context of each command: the profile, the replica and the settings of a sync on request. Must not know which command runs.

use std::path::Path;

use hearth_replica::doctor::{Cause, diagnose};
use hearth_replica::profile::{Profile, ProfileError};
use hearth_replica::sync::SyncConfig;
use hearth_replica::{Origin, Phase, Replica, StoreError};

use super::failure::{Exit, Failure};
use super::output;

/// The profile and the options that all commands share.
pub(super) struct Context {
    pub(super) profile: Profile,
    /// True when the command line or the environment names the profile.
    pub(super) named: bool,
    pub(super) db_given: bool,
    pub(super) json: bool,
}

impl Context {
    pub(super) fn open_or_create(&self) -> Result<Replica, Failure> {
        self.warn_about_place();
        let replica = self.open()?;
        report_restored(&replica);
        Ok(replica)
    }

    /// Opens the replica for changes. A profile with a server tells a new database that its edits wait for that server.
    fn open(&self) -> Result<Replica, StoreError> {
        let replica = Replica::open(&self.profile.db, Origin::Cli)?;
        if self.profile.server.is_some() {
            replica.expect_server()?;
        }
        Ok(replica)
    }

    /// The profile that a setup writes.
    pub(super) fn setup_profile(&self) -> Result<Profile, ProfileError> {
        let db = self.db_given.then_some(&*self.profile.db);
        Profile::for_setup(&self.profile.name, db, self.named)
    }

    /// Prints a message if a database existed at the path before and was removed, and if the path is on a network file system.
    pub(super) fn warn_about_place(&self) {
        let db = &self.profile.db;
        if let Some(warning) = hearth_replica::doctor::network_warning(db) {
            output::message(&format!("hearth-replica: {warning}"));
        }
        if hearth_replica::database_was_removed(db) && !hearth_replica::database_exists(db) {
            let removed = removed_text(db);
            output::message(&format!(
                "hearth-replica: {removed}; a new database is created, without the edits that only the old one held"
            ));
        }
    }

    /// Opens the replica only if a database exists, because a read-only command must not create one. Without write
    /// access the replica is read-only.
    pub(super) fn open_existing(&self) -> Result<Replica, Failure> {
        let db = &self.profile.db;
        if !hearth_replica::database_exists(db) {
            let first = hearth_replica::doctor::setup_command(&self.profile);
            return Err(match hearth_replica::database_was_removed(db) {
                true => Failure::new(Exit::NotFound, removed_text(db)).hint(format!(
                    "put the file back, or {first} for a new one without the edits that only the old one held"
                )),
                false => Failure::new(Exit::NotFound, format!("there is no replica at {}", db.display())).hint(first),
            });
        }
        let replica = self.open().or_else(|error| match diagnose(db, &error).cause {
            Cause::NoAccess | Cause::DiskFull => Replica::open_read_only(db, Origin::Cli).map_err(|_| error),
            _ => Err(error),
        })?;
        report_restored(&replica);
        Ok(replica)
    }

    /// The settings of the sync. An incomplete profile is a failure with the command to type.
    pub(super) fn sync_config(&self) -> Result<SyncConfig, Failure> {
        let profile = &self.profile;
        profile.sync_config().ok_or_else(|| {
            let failure = match (&profile.server, &profile.key_error) {
                (None, _) => Failure::new(Exit::NotFound, profile.no_server_text()),
                (Some(_), Some(error)) => return error.into(),
                (Some(_), None) => Failure::new(Exit::Key, profile.no_key_text()),
            };
            failure.hint("hearth-replica init --server URL")
        })
    }
}

/// Prints how a change is sent, when no process sends it.
pub(super) fn hint_to_send(replica: &Replica) -> Result<(), StoreError> {
    let status = replica.status()?;
    if status.daemon_pid.is_none() && status.phase != Phase::Local {
        output::message(&output::with_home_flags("stored on this device; next: hearth-replica sync, to send it"));
    }
    Ok(())
}

/// Prints what was restored because another program had removed or altered it.
fn report_restored(replica: &Replica) {
    for sentence in replica.restored().iter().flat_map(|restored| restored.sentences()) {
        output::message(&output::with_home_flags(&format!("hearth-replica: {sentence}")));
    }
}

fn removed_text(db: &Path) -> String {
    format!("there was a replica at {}, and it is gone", db.display())
}
