//! `edits`: lists open edits and settled edits. Must not decide about edits.

use clap::Args;
use hearth_contract::check::Fields;
use hearth_replica::{Edit, EditState, Phase, Status};
use serde_json::json;

use super::context::Context;
use super::decisions::Decision;
use super::failure::Failure;
use super::output;

/// The default for `--limit`.
const HISTORY_LIMIT: usize = 100;

/// The width of the column with the changes; `--json` has all changes.
const CHANGES_CHARS_MAX: usize = 60;

/// Arguments of `edits`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Edits {
    /// Show the settled edits of the last 30 days, the last settled first
    #[arg(long)]
    history: bool,
    /// Maximum number of settled edits
    #[arg(long, requires = "history", default_value_t = HISTORY_LIMIT)]
    limit: usize,
    #[command(subcommand)]
    decision: Option<Decision>,
}

impl Edits {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.decision {
            Some(decision) => decision.run(context),
            None if self.history => list_history(context, self.limit),
            None => list_open(context),
        }
    }
}

/// Lists the open edits, oldest first.
fn list_open(context: &Context) -> Result<(), Failure> {
    let replica = context.open_existing()?;
    let mut edits = replica.edits()?;
    let status = replica.status()?;
    explain_sent_edits(&mut edits, &status);
    let columns = ["id", "state", "method", "kind", "title", "changes", "reason"];
    let is_table = output::list(context.json, &edits, Some("no local change waits"), &columns, |edit| {
        json!([edit.id, edit.state, edit.method, edit.kind, edit.title, changes_text(&edit.patch), edit.reason])
    })?;
    if !is_table {
        return Ok(());
    }
    if let Some(next) = edits.iter().find_map(decision_command) {
        output::next_step(&next);
    } else if status.phase == Phase::Local {
        output::message(
            "this home has no server: these changes are in effect, and are sent once a server is connected",
        );
    }
    Ok(())
}

/// The command that decides about an edit. None: no decision is needed, or another edit comes first.
pub(super) fn decision_command(edit: &Edit) -> Option<String> {
    let id = edit.id;
    match edit.state {
        EditState::Conflict => Some(format!("hearth-replica resolve {id} mine, or theirs")),
        EditState::Rejected if edit.lacks_file() => Some(format!(
            "hearth-replica attach FILE --to {}, with a copy of its file, or edits discard {id}",
            edit.record_id
        )),
        EditState::Rejected => {
            Some(format!("hearth-replica edits change {id} FIELD=VALUE, or edits retry {id}, or edits discard {id}"))
        }
        _ => None,
    }
}

/// Adds the reason to edits that the server has already accepted: they wait for the feed.
pub(super) fn explain_sent_edits(edits: &mut [Edit], status: &Status) {
    let then = match status.phase {
        _ if status.asks_about_deletions => {
            output::with_home_flags("it is confirmed once you have decided on the deletions (hearth-replica status)")
        }
        Phase::Reconciling => "it is confirmed when the comparison has ended".to_owned(),
        _ => "it is confirmed when its event arrives".to_owned(),
    };
    for edit in edits.iter_mut().filter(|edit| edit.state == EditState::Sent) {
        edit.reason.get_or_insert_with(|| format!("the server has it; {then}"));
    }
}

/// Lists the settled edits, the last settled first.
fn list_history(context: &Context, limit: usize) -> Result<(), Failure> {
    let mut edits = context.open_existing()?.history(limit.saturating_add(1))?;
    let is_cut = edits.len() > limit;
    edits.truncate(limit);
    let columns = ["id", "outcome", "method", "kind", "title", "changes", "settled", "reason"];
    let none = (!is_cut).then_some("no local change was settled within the last 30 days");
    output::list(context.json, &edits, none, &columns, |edit| {
        let changes = changes_text(&edit.patch);
        json!([edit.id, edit.outcome, edit.method, edit.kind, edit.title, changes, edit.settled_at, edit.reason])
    })?;
    if is_cut {
        output::message(&format!("only the newest {limit}; --limit shows more"));
    }
    Ok(())
}

/// The changed fields as one short line.
fn changes_text(patch: &Fields) -> String {
    let all = patch.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
    console::truncate_str(&all, CHANGES_CHARS_MAX, "…").into_owned()
}
