//! `edits retry|discard|change`, `conflicts`, `resolve`, `undo`: what a person decides about local changes. Must not
//! know SQL, nor what a decision means for the database.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Args, Subcommand, ValueEnum};
use hearth_contract::check::Fields;
use hearth_contract::schema::is_subject;
use hearth_replica::{Choice, Decided, EditError, Replica, Resolution, Table};
use serde_json::{Value, json};

use super::values::{self, Assignment};
use super::{Context, Exit, Failure, output};

/// What is decided about edits.
#[derive(Debug, Subcommand)]
pub(super) enum Decision {
    /// Let edits that the server refused go again
    Retry {
        /// Their numbers; each is decided on its own, in this order
        #[arg(value_name = "EDIT", required = true)]
        edits: Vec<i64>,
    },
    /// Give edits up; what may be on the server already is undone there
    Discard {
        /// Their numbers; each is decided on its own, in this order
        #[arg(value_name = "EDIT", required = true)]
        edits: Vec<i64>,
    },
    /// Give an edit other values and let it go again
    Change {
        /// Its number
        edit: i64,
        /// The fields; field= is null
        #[arg(value_name = "FIELD=VALUE", required = true)]
        values: Vec<Assignment>,
    },
}

impl Decision {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.existing()?;
        match self {
            Decision::Retry { edits } => {
                tell_each(context, &replica, edits, Meant::Waiting, |edit| replica.retry(edit))
            }
            Decision::Discard { edits } => {
                let waited: Vec<i64> = replica.edits()?.iter().map(|one| one.id).collect();
                tell_each(context, &replica, edits, Meant::Waiting, |edit| match replica.discard(edit) {
                    // With a create goes what was done to its record, which may have been named as well.
                    Err(EditError::Refused(_)) if waited.contains(&edit) && is_given_up(&replica, edit)? => {
                        Ok(Decided { said: "the change is given up with that before it".to_owned(), edit: None })
                    }
                    decided => decided,
                })
            }
            Decision::Change { edit, values } => {
                let fields = typed(&replica, edit, &values)?;
                tell(context, &replica, Meant::Waiting(edit), replica.change(edit, &fields))
            }
        }
    }
}

/// Arguments of `resolve`.
#[derive(Debug, Args)]
pub(super) struct Resolve {
    /// The number of the edit that is in conflict
    edit: i64,
    /// What all fields become that --field does not name
    #[arg(required_unless_present = "fields")]
    side: Option<Side>,
    /// What one field becomes: FIELD=mine, FIELD=theirs, or FIELD==VALUE for another value
    #[arg(long = "field", value_name = "FIELD=CHOICE")]
    fields: Vec<String>,
}

/// One side of a conflict.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Side {
    /// What was written here
    Mine,
    /// What the server has
    Theirs,
}

impl From<Side> for Choice {
    fn from(side: Side) -> Choice {
        match side {
            Side::Mine => Choice::Mine,
            Side::Theirs => Choice::Theirs,
        }
    }
}

impl Resolve {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.existing()?;
        let mut fields = BTreeMap::new();
        let mut values = Vec::new();
        for text in self.fields {
            match text.split_once('=') {
                Some((name, "mine")) => drop(fields.insert(name.to_owned(), Choice::Mine)),
                Some((name, "theirs")) => drop(fields.insert(name.to_owned(), Choice::Theirs)),
                Some((name, value)) if value.starts_with('=') => {
                    let assignment: Result<Assignment, String> = format!("{name}{value}").parse();
                    values.push(assignment.map_err(|why| Failure::new(Exit::Usage, why))?);
                }
                _ => {
                    let text = format!("{text} is no choice: write FIELD=mine, FIELD=theirs or FIELD==VALUE");
                    return Err(Failure::new(Exit::Usage, text));
                }
            }
        }
        if !values.is_empty() {
            let typed = typed(&replica, self.edit, &values)?.into_iter();
            fields.extend(typed.map(|(name, value)| (name, Choice::Value(value))));
        }
        let resolution = Resolution { fields, rest: self.side.map(Choice::from) };
        known(&replica, self.edit, &resolution)?;
        tell(context, &replica, Meant::Waiting(self.edit), replica.resolve(self.edit, &resolution))
    }
}

/// Arguments of `undo`.
#[derive(Debug, Args)]
pub(super) struct Undo {
    /// The numbers of edits, waiting or settled, undone newest first; else the newest change that stands
    #[arg(value_name = "EDIT")]
    edits: Vec<i64>,
}

impl Undo {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.existing()?;
        let mut edits = self.edits;
        if edits.is_empty() {
            return tell(context, &replica, Meant::Newest, replica.undo(None));
        }
        // What came later rests on what came before it.
        edits.sort_unstable_by(|one, other| other.cmp(one));
        tell_each(context, &replica, edits, Meant::Any, |edit| replica.undo(Some(edit)))
    }
}

/// Lists what was changed here and there.
pub(super) fn conflicts(context: &Context) -> Result<(), Failure> {
    let conflicts = context.existing()?.conflicts()?;
    if context.json {
        let all = conflicts.iter().map(|one| {
            json!({
                "edit_id": one.edit_id, "kind": one.kind.word(), "record_id": one.record_id, "title": one.title,
                "field": one.field, "base": one.base, "mine": one.mine, "theirs": one.theirs,
                "theirs_at": one.theirs_at,
            })
        });
        return Ok(output::json(&all.collect())?);
    }
    if conflicts.is_empty() {
        output::note("nothing is in conflict");
        return Ok(());
    }
    // Of what is not there, the edit says why: it was deleted, or the id of a new record is in use for something else.
    let edits = context.existing()?.edits()?;
    let reason = |edit| edits.iter().find(|one| one.id == edit).and_then(|one| one.reason.clone());
    let columns = ["edit", "kind", "title", "field", "base", "mine", "theirs", "since"].map(str::to_owned).to_vec();
    let rows = conflicts.into_iter().map(|one| {
        let since = one.theirs_at.or_else(|| reason(one.edit_id)).map_or("deleted there".into(), Value::from);
        vec![
            one.edit_id.into(),
            one.kind.word().into(),
            one.title.into(),
            one.field.into(),
            one.base,
            one.mine,
            one.theirs,
            since,
        ]
    });
    output::table(&Table { columns, rows: rows.collect() })?;
    output::next("hearth-replica resolve EDIT mine, or theirs");
    Ok(())
}

/// Settled edits looked through for the one that was meant.
const SETTLED_MAX: usize = 100_000;

/// The edit that a decision is about.
#[derive(Debug, Clone, Copy)]
enum Meant {
    /// One that waits: a settled one is none.
    Waiting(i64),
    /// One that waits or is settled.
    Any(i64),
    /// The newest there is.
    Newest,
}

/// A field that is not in conflict was mistyped; of one that is not named the replica says what is missing.
fn known(replica: &Replica, edit: i64, resolution: &Resolution) -> Result<(), Failure> {
    if !replica.edits()?.iter().any(|one| one.id == edit && one.state == "conflict") {
        return Ok(());
    }
    let all = replica.conflicts()?;
    let fields: Vec<&str> = all.iter().filter(|one| one.edit_id == edit).map(|one| one.field.as_str()).collect();
    // Both halves of a subject stand or fall together, also where only one of them differs.
    let is_known = |name: &str| fields.iter().any(|field| *field == name || (is_subject(field) && is_subject(name)));
    let Some(name) = resolution.fields.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let (known, hint) = match fields.is_empty() {
        true => {
            ("no value of the server stands against this edit".to_owned(), format!("resolve {edit} mine, or theirs"))
        }
        false => (format!("in conflict: {}", fields.join(", ")), "conflicts".to_owned()),
    };
    let text = format!("{name} is not in conflict; {known}");
    Err(Failure::new(Exit::Usage, text).hint(format!("hearth-replica {hint}")))
}

/// Says what came of a decision.
fn tell(
    context: &Context,
    replica: &Replica,
    meant: Meant,
    decided: Result<Decided, EditError>,
) -> Result<(), Failure> {
    let Decided { said, edit } = match decided {
        Ok(decided) => decided,
        Err(refused) => return Err(failure(replica, meant, refused)?),
    };
    if context.json {
        return Ok(output::json(&json!({ "said": said, "edit": edit }))?);
    }
    Ok(output::line(&output::one_line(&said))?)
}

/// Decides about each of several edits and says what came of it. One that is refused stops no other; a database that
/// fails stops them all. Of one alone it is said as it always was.
fn tell_each(
    context: &Context,
    replica: &Replica,
    mut edits: Vec<i64>,
    meant: fn(i64) -> Meant,
    decide: impl Fn(i64) -> Result<Decided, EditError>,
) -> Result<(), Failure> {
    // To undo a change twice would be to make it again.
    let mut known = BTreeSet::new();
    edits.retain(|edit| known.insert(*edit));
    if let [edit] = edits[..] {
        return tell(context, replica, meant(edit), decide(edit));
    }
    let (mut all, mut refused, mut stopped) = (Vec::new(), Vec::new(), None);
    for &id in &edits {
        let (done, said, edit) = match decide(id) {
            Ok(Decided { said, edit }) => (true, said, edit),
            Err(why) => match failure(replica, meant(id), why) {
                Ok(why) => {
                    let said = why.text.clone();
                    refused.push(why);
                    (false, said, None)
                }
                // What was decided before it is told all the same.
                Err(failure) => {
                    stopped = Some(failure);
                    break;
                }
            },
        };
        match (context.json, done) {
            (true, _) => all.push(json!({ "id": id, "done": done, "said": said, "edit": edit })),
            (false, true) => output::line(&output::one_line(&format!("{id}: {said}")))?,
            (false, false) => output::note(&output::one_line(&format!("hearth-replica: {id}: {said}"))),
        }
    }
    if context.json {
        output::json(&Value::Array(all))?;
    }
    match (stopped, refused.first()) {
        (Some(failure), _) => Err(failure),
        (None, None) => Ok(()),
        (None, Some(first)) => {
            let is_same = refused.iter().all(|one| one.exit == first.exit);
            let verb = if refused.len() == 1 { "was" } else { "were" };
            let text = format!("{} of {} edits {verb} not decided", refused.len(), edits.len());
            let mut failure = Failure::new(if is_same { first.exit } else { Exit::Failure }, text);
            failure.hint = first.hint.clone();
            Err(failure)
        }
    }
}

/// What a decision that was refused is for whoever asked for it. Err: the database failed.
fn failure(replica: &Replica, meant: Meant, refused: EditError) -> Result<Failure, Failure> {
    if let EditError::Store(error) = refused {
        return Err(error.into());
    }
    let (Meant::Waiting(edit) | Meant::Any(edit)) = meant else {
        return Ok(Failure::new(Exit::Failure, refused.to_string()).hint("hearth-replica edits --history"));
    };
    let (exit, next) = match replica.edits()?.into_iter().find(|one| one.id == edit) {
        Some(one) if matches!(one.state.as_str(), "rejected" | "conflict" | "blocked") => {
            (Exit::NeedsYou, "hearth-replica edits")
        }
        Some(_) => (Exit::Failure, "hearth-replica edits"),
        None if matches!(meant, Meant::Any(_)) && is_settled(replica, edit)? => {
            (Exit::Failure, "hearth-replica edits --history")
        }
        None => (Exit::NotFound, "hearth-replica edits"),
    };
    Ok(Failure::new(exit, refused.to_string()).hint(next))
}

fn is_settled(replica: &Replica, edit: i64) -> Result<bool, Failure> {
    Ok(replica.history(SETTLED_MAX)?.iter().any(|one| one.id == edit))
}

fn is_given_up(replica: &Replica, edit: i64) -> Result<bool, EditError> {
    Ok(replica.history(SETTLED_MAX)?.iter().any(|one| one.id == edit && one.outcome == "discarded"))
}

/// What was typed, as values of an edit's record.
fn typed(replica: &Replica, edit: i64, values: &[Assignment]) -> Result<Fields, Failure> {
    let found = replica.edits()?.into_iter().find(|one| one.id == edit).ok_or_else(|| {
        Failure::new(Exit::NotFound, format!("there is no edit {edit} that waits")).hint("hearth-replica edits")
    })?;
    let present = replica.row(found.kind, &found.record_id)?.map(|row| row.fields).unwrap_or_default();
    values::to_update(replica, found.kind, values, &present)
}
