//! The commands about all of the data: sandbox, backup, restore, check. Must not know how anything is done.

use std::path::Path;

use clap::Subcommand;
use hearth_server::chance::random;
use hearth_server::clock::Clock;
use hearth_server::operate::{self, check::Report};
use hearth_server::store::Db;
use hearth_server::store::copies::Restored;
use hearth_server::store::open::RESTORE_HINT;
use serde_json::json;

use super::command;
use super::output::{line, note};
use super::serve::Stop;

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
        line(json!({ "team": { "id": team.id, "name": team.name }, "records": records }))?;
    } else {
        note(format_args!("the sandbox of team {} holds its {records} fixtures again", team.name));
    }
    Ok(())
}

pub(super) async fn backup(db: &Db, file: &Path, as_json: bool) -> anyhow::Result<()> {
    let stop = Stop::listen()?;
    let bytes = tokio::select! {
        saved = operate::copies::backup(db, file) => saved?,
        () = stop.heard() => {
            operate::copies::give_up(file);
            anyhow::bail!("stopped before {} was saved; nothing is left of it", file.display());
        }
    };
    if as_json {
        line(json!({ "file": file, "size_bytes": bytes }))?;
    } else {
        note(format_args!("saved {bytes} bytes in {}", file.display()));
    }
    Ok(())
}

pub(super) fn restore(data: &Path, file: &Path, as_json: bool) -> anyhow::Result<()> {
    let Restored { homes, kept, revoked } = operate::copies::restore(data, file, i64::from_be_bytes(random()))?;
    if as_json {
        return line(json!({ "file": file, "data": data, "homes": homes, "kept": kept, "keys_kept_revoked": revoked }));
    }
    note(format_args!("{} is back at {}, with {homes} homes", data.display(), file.display()));
    match kept {
        Some(kept) => note(format_args!("what was there before is kept in {} until the next restore", kept.display())),
        None => note("there was no database before"),
    }
    match revoked {
        Some(0) => (),
        Some(1) => note("1 key stays revoked that the backup has as good"),
        Some(keys) => note(format_args!("{keys} keys stay revoked that the backup has as good")),
        None => note(format_args!(
            "warning: what was there before could not be read: keys that were revoked since the backup are good again; \
             see `{}`",
            command(data, &["key", "list"])
        )),
    }
    Ok(())
}

/// Prints what is wrong, line by line; anything wrong is a failure. A database that cannot be looked at is not sound.
pub(super) async fn check(db: anyhow::Result<Db>, as_json: bool) -> anyhow::Result<()> {
    let looked: anyhow::Result<Report> = async { Ok(operate::check::check(&db?).await?) }.await;
    let unseen = |error| Report { faults: vec![format!("{error:#}")], ..Report::default() };
    if as_json {
        let Report { homes, records, events, faults } = looked.as_ref().cloned().unwrap_or_else(unseen);
        let ok = faults.is_empty();
        line(json!({ "ok": ok, "homes": homes, "records": records, "events": events, "faults": faults }))?;
    }
    let Report { homes, records, events, faults } = looked?;
    if !as_json {
        faults.iter().try_for_each(line)?;
    }
    let found = faults.len();
    anyhow::ensure!(
        found == 0,
        "{found} {} found; {RESTORE_HINT}",
        if found == 1 { "fault was" } else { "faults were" }
    );
    if !as_json {
        line(format_args!("sound: {homes} homes, {records} records, {events} events"))?;
    }
    Ok(())
}
