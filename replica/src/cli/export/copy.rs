//! A consistent copy of the database, with the pending edits. Must not know other formats.

use std::path::Path;

use hearth_replica::{Phase, Replica};
use serde_json::json;

use super::super::context::Context;
use super::super::failure::Failure;
use super::super::{output, text};
use super::file::explain;

/// Writes the copy and reports what the copy holds.
pub(super) fn write(context: &Context, replica: &Replica, file: &Path) -> Result<(), Failure> {
    let copied = replica.export(file).map_err(|error| explain(&context.profile.db, file, error))?;
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
            "file": output::path(file), "bytes": copied.bytes, "records": copied.records,
            "pending_edits": copied.pending_edits, "position": copied.position,
        });
        return Ok(output::json(&members)?);
    }
    Ok(output::line(&file.display().to_string())?)
}
