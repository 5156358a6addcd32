//! `rebuild`: the database anew from the server, with the edits that wait. Must not know how it is done.

use std::time::Duration;

use clap::Args;
use hearth_replica::doctor::quoted;
use hearth_replica::log::{self, Form};
use hearth_replica::sync::{SyncConfig, SyncLock, Until};
use hearth_replica::{Phase, RebuildReport, Replica};
use serde_json::json;

use super::{Context, Exit, Failure, duration, goal, holder, output, run, stop, sync};

/// Arguments of `rebuild`.
#[derive(Debug, Args)]
pub(super) struct Rebuild {
    /// How long reading everything may take, as in 30s, 5m
    #[arg(long, default_value = "5m", value_parser = duration::parse)]
    timeout: Duration,
}

impl Rebuild {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        log::to_stderr(Form::Text, "warn");
        stop::listen()?;
        let db = &context.profile.db;
        // Before the lock, which would make the directory of a profile that was mistyped.
        let config = sync::config(context)?;
        let Some(lock) = run::try_lock(db)? else {
            return Err(holder::in_the_way(db, &holder::end(&context.profile)));
        };
        let lock = hear_first(context, &config, lock, self.timeout)?;
        let rescue = hearth_replica::rebuild(db, &lock)?;
        tell(&rescue);
        let replica = context.replica()?;
        let then = sync::in_process(config, lock, Until::Current, self.timeout, &replica)?;
        if let Some(then) = then {
            let failure = goal::too_late(context, &then);
            // The same again would begin anew.
            return Err(match failure.exit {
                Exit::Unreachable => failure.hint("hearth-replica sync --until-current --timeout 5m"),
                _ => failure,
            });
        }
        let now = replica.status()?;
        if context.json {
            output::json(&json!({
                "position": now.position, "kept_as": rescue.kept_as.as_deref().map(output::path),
                "edits": rescue.edits, "lost": rescue.lost, "parked": rescue.parked,
            }))?;
        } else {
            output::line(&format!("In step with the server at position {}.", now.position))?;
        }
        if rescue.lost.is_empty() && rescue.parked == 0 {
            return goal::settled(Until::Current, &now);
        }
        let text = "not everything could be carried over by itself; what is said above needs you";
        let failure = Failure::new(Exit::NeedsYou, text);
        Err(match &rescue.kept_as {
            _ if rescue.parked > 0 || now.edits_to_decide() > 0 => failure.hint("hearth-replica edits"),
            Some(kept) => failure.hint(format!("look in what was kept, {}", quoted(kept))),
            None => failure,
        })
    }
}

/// Lets the server say what it has to say of the place where the replica stands: that it was put back, and lost edits, shows
/// nowhere else, so nothing is begun anew before that is made up for. A database that cannot be opened, or never knew a
/// server, has nothing to ask; of one that fails meanwhile nothing better can come.
fn hear_first(context: &Context, config: &SyncConfig, lock: SyncLock, limit: Duration) -> Result<SyncLock, Failure> {
    // A server that was put back to nobody knows when leaves the position 0.
    let knows = |replica: &Replica| replica.status().is_ok_and(|now| now.position > 0 || now.phase != Phase::New);
    let Some(replica) = context.replica().ok().filter(knows) else { return Ok(lock) };
    sync::reachable(config, limit)?;
    match sync::in_process(config.clone(), lock, Until::Current, limit, &replica) {
        Ok(None) => {}
        Ok(Some(then)) => {
            let failure = goal::too_late(context, &then);
            return Err(match failure.exit {
                Exit::Unreachable => {
                    failure.hint("hearth-replica sync --until-current --timeout 5m, then the same again")
                }
                _ => failure,
            });
        }
        Err(failure) if failure.calls_for_rebuild() => {
            tracing::debug!(failure = failure.text, "what was there could not be brought in step first");
        }
        Err(failure) => return Err(failure),
    }
    let db = &context.profile.db;
    run::try_lock(db)?.ok_or_else(|| holder::in_the_way(db, "hearth-replica status"))
}

/// Says what became of the database.
pub(super) fn tell(rescue: &RebuildReport) {
    let edits = output::count(i64::try_from(rescue.edits).unwrap_or(i64::MAX), "edit");
    match &rescue.kept_as {
        Some(kept) => {
            output::note(&format!("the database was damaged; it is kept as {}", kept.display()));
            output::note(&format!("{edits} carried over into a new one"));
        }
        None => {
            let stay = if rescue.edits == 1 { "stays" } else { "stay" };
            let how = if rescue.recreated_objects {
                "what the database lacked is there again"
            } else {
                "the database is sound"
            };
            output::note(&format!("{how}; everything is read again, and {edits} {stay}"));
        }
    }
    for sentence in &rescue.lost {
        output::note(&output::one_line(sentence));
    }
    if rescue.parked > 0 {
        output::note("the edits wait for you, because the damaged database does not say which home they are for");
    }
}
