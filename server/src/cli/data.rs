//! The commands that concern all data: sandbox, backup, restore and check. Must not know how the library does the work.

use std::path::Path;

use clap::Subcommand;
use hearth_server::clock::Clock;
use hearth_server::operate;
use hearth_server::operate::check::{Counts, Report};
use hearth_server::random::random_bytes;
use hearth_server::store::Db;
use hearth_server::store::copies::Restored;
use hearth_server::store::open::RESTORE_HINT;
use serde_json::json;

use super::output::{print_line, print_note};
use super::signals::StopSignals;
use hearth_server::operate::shell_command;

#[derive(Subcommand)]
pub(super) enum SandboxCommand {
    /// Delete all records of a team's sandbox and create the sample records again
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
        print_line(json!({ "team": { "id": team.id, "name": team.name }, "records": records }))?;
    } else {
        print_note(format_args!("reset the sandbox of team {}: {records} sample records", team.name));
    }
    Ok(())
}

pub(super) async fn backup(db: &Db, file: &Path, as_json: bool) -> anyhow::Result<()> {
    let (stop, clock) = (StopSignals::listen()?, Clock::system());
    let saved = tokio::select! {
        saved = operate::backup::backup(db, &clock, file) => saved?,
        () = stop.received() => {
            operate::backup::remove_partial_backup(file);
            anyhow::bail!("interrupted: {} was not saved, and its partial file was deleted", file.display());
        }
    };
    if as_json {
        print_line(json!({ "file": file, "size_bytes": saved.bytes, "lost_files": saved.lost_files }))?;
    } else {
        print_note(format_args!("saved {} bytes in {}", saved.bytes, file.display()));
        if saved.lost_files > 0 {
            print_note(format_args!(
                "warning: the bytes of {} files are gone and not in the backup; see `hearth-server check`",
                saved.lost_files
            ));
        }
    }
    Ok(())
}

pub(super) fn restore(data: &Path, file: &Path, as_json: bool) -> anyhow::Result<()> {
    let Restored { homes, kept, revoked, lost_files } =
        operate::backup::restore(data, file, i64::from_be_bytes(random_bytes()))?;
    if as_json {
        let result = json!({
            "file": file, "data": data, "homes": homes, "kept": kept, "keys_kept_revoked": revoked,
            "lost_files": lost_files,
        });
        return print_line(result);
    }
    print_note(format_args!("restored {} from {}, with {homes} homes", data.display(), file.display()));
    if lost_files > 0 {
        print_note(format_args!("warning: {lost_files} files were left out, because their bytes are in neither place"));
    }
    match kept {
        Some(kept) => print_note(format_args!("{} holds the replaced database until the next restore", kept.display())),
        None => print_note("the directory had no database before"),
    }
    match revoked {
        Some(0) => (),
        Some(1) => print_note("1 key stays revoked that was valid at the time of the backup"),
        Some(keys) => print_note(format_args!("{keys} keys stay revoked that were valid at the time of the backup")),
        None => print_note(format_args!(
            "warning: the replaced database could not be read. Keys that were revoked after the backup are valid again; \
             revoke them, see `{}`",
            shell_command(data, &["key", "list"])
        )),
    }
    Ok(())
}

/// Prints each fault on a line. A fault, or a database that cannot be opened, makes the command fail.
pub(super) async fn check(db: anyhow::Result<Db>, as_json: bool) -> anyhow::Result<()> {
    let checked: anyhow::Result<Report> = async { Ok(operate::check::check(&db?, &Clock::system()).await?) }.await;
    let failed = |error| Report { counts: None, faults: vec![format!("{error:#}")], notes: Vec::new() };
    if as_json {
        let Report { counts, faults, notes } = checked.as_ref().cloned().unwrap_or_else(failed);
        print_line(json!({
            "ok": faults.is_empty(),
            "homes": counts.map(|counts| counts.homes),
            "records": counts.map(|counts| counts.records),
            "events": counts.map(|counts| counts.events),
            "files": counts.map(|counts| counts.files),
            "faults": faults,
            "notes": notes,
        }))?;
    }
    let Report { counts, faults, notes } = checked?;
    if !as_json {
        faults.iter().try_for_each(print_line)?;
        notes.iter().for_each(|note| print_note(format_args!("note: {note}")));
    }
    let found = faults.len();
    anyhow::ensure!(
        found == 0,
        "{found} {} found; {RESTORE_HINT}, unless a line says what else to do",
        if found == 1 { "fault was" } else { "faults were" }
    );
    if let (false, Some(Counts { homes, records, events, files })) = (as_json, counts) {
        print_line(format_args!("sound: {homes} homes, {records} records, {events} events, {files} files"))?;
    }
    Ok(())
}
