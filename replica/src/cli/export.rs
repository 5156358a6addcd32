//! `export`: writes a consistent copy of the database to one file. Must not change the original.

use std::path::PathBuf;

use clap::Args;
use hearth_replica::Phase;
use hearth_replica::doctor::{Cause, diagnose, directory, shell_quoted};
use serde_json::json;

use super::context::Context;
use super::failure::{Exit, Failure};
use super::{output, text};

/// Arguments of `export`.
#[derive(Debug, Args)]
pub(super) struct Export {
    /// Path of the copy; the file must not exist
    file: PathBuf,
}

impl Export {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        if self.file.exists() {
            return Err(Failure::new(Exit::Failure, format!("{} exists already", self.file.display()))
                .hint("hearth-replica export with another name"));
        }
        let copied = replica.export(&self.file).map_err(|error| match diagnose(&context.profile.db, &error).cause {
            // These errors concern the new file, not the replica.
            cause @ (Cause::NoAccess | Cause::Other | Cause::DiskFull | Cause::DiskUnwritable) => {
                let text = format!("{} cannot be written: {error}", self.file.display());
                let look = if matches!(cause, Cause::DiskFull | Cause::DiskUnwritable) { "df -h" } else { "ls -ld" };
                Failure::new(Exit::Failure, text).hint(format!("{look} {}", shell_quoted(directory(&self.file))))
            }
            _ => error.into(),
        })?;
        let wait = match copied.pending_edits {
            0 => "",
            1 => ", which waits for you in the copy",
            _ => ", which wait for you in the copy",
        };
        let edits = text::count(copied.pending_edits, "edit");
        let edits = match replica.status()?.phase {
            Phase::Local => String::new(),
            _ => format!(" and {edits} that the server has not confirmed{wait}"),
        };
        output::message(&format!("{}{edits}; the copy holds no API key", text::count(copied.records, "record")));
        if context.json {
            let members = json!({
                "file": output::path(&self.file), "bytes": copied.bytes, "records": copied.records,
                "pending_edits": copied.pending_edits, "position": copied.position,
            });
            return Ok(output::json(&members)?);
        }
        Ok(output::line(&self.file.display().to_string())?)
    }
}
