//! `edits retry|discard|change`, `conflicts`, `resolve`, `undo`: decisions of a person about local changes. Must not
//! know SQL, nor the effect of a decision on the database.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use hearth_contract::check::Fields;
use hearth_contract::schema::is_subject;
use hearth_replica::{Choice, Decided, EditError, EditOutcome, EditProgress, EditState, Replica, Resolution};
use serde_json::json;

use super::context::Context;
use super::decision_report::{Target, report, report_each};
use super::failure::{Exit, Failure};
use super::output;
use super::values::{self, Assignment};

/// The subcommands of `edits`.
#[derive(Debug, Subcommand)]
pub(super) enum Decision {
    /// Send refused edits again
    Retry {
        /// Numbers of the edits; each is decided separately, in this order
        #[arg(value_name = "EDIT", required = true)]
        edits: Vec<i64>,
    },
    /// Discard edits; an edit that may already be on the server is undone there
    Discard {
        /// Numbers of the edits; each is decided separately, in this order
        #[arg(value_name = "EDIT", required = true)]
        edits: Vec<i64>,
    },
    /// Change the values of an edit and send the edit again
    Change {
        /// Number of the edit
        edit: i64,
        /// The fields to change; field= sets null
        #[arg(value_name = "FIELD=VALUE", required = true)]
        values: Vec<Assignment>,
    },
}

impl Decision {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        match self {
            Decision::Retry { edits } => {
                report_each(context, &replica, edits, Target::Waiting, |edits| replica.retry_each(edits))
            }
            Decision::Discard { edits } => {
                let waited: BTreeSet<i64> = replica.edits()?.iter().map(|one| one.id).collect();
                report_each(context, &replica, edits, Target::Waiting, |edits| {
                    let mut all = replica.discard_each(edits)?;
                    for (decided, edit) in all.iter_mut().zip(edits) {
                        // Discarding a create also discards the later edits of the record, which the command line may
                        // name too.
                        let is_refused = matches!(decided, Err(EditError::Refused(_))) && waited.contains(edit);
                        if is_refused
                            && replica.edit_progress(*edit)? == Some(EditProgress::Ended(EditOutcome::Discarded))
                        {
                            let sentence = "the edit is discarded together with the edit before it".to_owned();
                            *decided = Ok(Decided { sentence, otherwise: None, edit: None });
                        }
                    }
                    Ok(all)
                })
            }
            Decision::Change { edit, values } => {
                let fields = parse_fields(&replica, edit, &values)?;
                report(context, &replica, Target::Waiting(edit), replica.change(edit, &fields))
            }
        }
    }
}

/// Arguments of `resolve`.
#[derive(Debug, Args)]
pub(super) struct Resolve {
    /// Number of the edit in conflict
    edit: i64,
    /// The choice for all fields without --field
    #[arg(required_unless_present = "fields", value_parser = side_parser())]
    side: Option<Choice>,
    /// The choice for one field: FIELD=mine, FIELD=theirs, or FIELD==VALUE for another value
    #[arg(long = "field", value_name = "FIELD=CHOICE")]
    fields: Vec<String>,
}

/// Parses a side of a conflict.
fn side_parser() -> impl TypedValueParser<Value = Choice> {
    let sides = [("mine", "Keep the local value"), ("theirs", "Take the server's value")];
    PossibleValuesParser::new(sides.map(|(side, help)| PossibleValue::new(side).help(help)))
        .map(|side| if side == "mine" { Choice::Mine } else { Choice::Theirs })
}

impl Resolve {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let mut fields = BTreeMap::new();
        let mut values = Vec::new();
        let mut named = BTreeSet::new();
        for text in self.fields {
            let name = text.split('=').next().unwrap_or_default().to_owned();
            if !named.insert(name.clone()) {
                return Err(Failure::new(Exit::Usage, format!("{name} is given twice")));
            }
            match text.split_once('=') {
                Some((name, "mine")) => drop(fields.insert(name.to_owned(), Choice::Mine)),
                Some((name, "theirs")) => drop(fields.insert(name.to_owned(), Choice::Theirs)),
                Some((name, value)) if value.starts_with('=') => {
                    let assignment: Result<Assignment, String> = format!("{name}{value}").parse();
                    values.push(assignment.map_err(|why| Failure::new(Exit::Usage, why))?);
                }
                _ => {
                    let text = format!("{text} is not a choice: write FIELD=mine, FIELD=theirs or FIELD==VALUE");
                    return Err(Failure::new(Exit::Usage, text));
                }
            }
        }
        if !values.is_empty() {
            let typed = parse_fields(&replica, self.edit, &values)?.into_iter();
            fields.extend(typed.map(|(name, value)| (name, Choice::Value(value))));
        }
        let resolution = Resolution { fields, rest: self.side };
        check_fields_in_conflict(&replica, self.edit, &resolution)?;
        report(context, &replica, Target::Waiting(self.edit), replica.resolve(self.edit, &resolution))
    }
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub(super) struct Undo {
    /// Numbers of the edits, open or settled, undone newest first [default: the newest change]
    #[arg(value_name = "EDIT")]
    edits: Vec<i64>,
}

impl Undo {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_existing()?;
        let mut edits = self.edits;
        if edits.is_empty() {
            return report(context, &replica, Target::Newest, replica.undo(None));
        }
        // A later edit builds on an earlier one, so the later edit is undone first.
        edits.sort_unstable_by(|one, other| other.cmp(one));
        report_each(context, &replica, edits, Target::Any, |edits| replica.undo_each(edits))
    }
}

/// Lists the fields that were changed both here and on the server.
pub(super) fn conflicts(context: &Context) -> Result<(), Failure> {
    let replica = context.open_existing()?;
    let conflicts = replica.conflicts()?;
    // For a conflict without fields the edit has the reason: the record was deleted on the server, or the id is already
    // taken.
    let edits = replica.edits()?;
    let reason = |edit| edits.iter().find(|one| one.id == edit).and_then(|one| one.reason.clone());
    let is_waiting = edits.iter().any(|edit| edit.state == EditState::Conflict);
    let none = match is_waiting {
        true => "no field was changed on both sides, but an edit waits for your decision",
        false => "nothing is in conflict",
    };
    let columns = ["edit", "kind", "title", "field", "base", "mine", "theirs", "since", "by"];
    let is_table = output::list(context.json, &conflicts, Some(none), &columns, |one| {
        let since = one.theirs_at.clone().or_else(|| reason(one.edit_id));
        let since = since.as_deref().unwrap_or("deleted on the server");
        json!([one.edit_id, one.kind, one.title, one.field, one.base, one.mine, one.theirs, since, one.theirs_by])
    })?;
    if is_table {
        output::next_step("hearth-replica resolve EDIT mine, or theirs");
    } else if is_waiting && !context.json {
        output::next_step("hearth-replica edits");
    }
    Ok(())
}

/// Rejects a choice for a field that is not in conflict: a typing error. The replica itself reports a field without a
/// choice.
fn check_fields_in_conflict(replica: &Replica, edit: i64, resolution: &Resolution) -> Result<(), Failure> {
    if !replica.edits()?.iter().any(|one| one.id == edit && one.state == EditState::Conflict) {
        return Ok(());
    }
    let all = replica.conflicts()?;
    let fields: Vec<&str> = all.iter().filter(|one| one.edit_id == edit).map(|one| one.field.as_str()).collect();
    // The two fields of a subject are resolved together, even if only one of them differs.
    let is_known = |name: &str| fields.iter().any(|field| *field == name || (is_subject(field) && is_subject(name)));
    let Some(name) = resolution.fields.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let (known, hint) = match fields.is_empty() {
        true => {
            ("no value of the server conflicts with this edit".to_owned(), format!("resolve {edit} mine, or theirs"))
        }
        false => (format!("in conflict: {}", fields.join(", ")), "conflicts".to_owned()),
    };
    let text = format!("{name} is not in conflict; {known}");
    Err(Failure::new(Exit::Usage, text).hint(format!("hearth-replica {hint}")))
}

/// Parses `field=value` arguments for the record of an edit.
fn parse_fields(replica: &Replica, edit: i64, values: &[Assignment]) -> Result<Fields, Failure> {
    let found = replica.edits()?.into_iter().find(|one| one.id == edit).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no edit {edit} that waits")).hint("hearth-replica edits")
    })?;
    let present = replica.row(found.kind, &found.record_id)?.map(|row| row.fields).unwrap_or_default();
    values::fields_to_update(replica, found.kind, values, &present)
}
