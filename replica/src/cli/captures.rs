//! `capture`, `captures`, `accept`: photos and papers become drafts, and a person decides about them. All of it works without a
//! server. Must not know how captures reach the server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use hearth_contract::schema::Kind;
use hearth_replica::sync::exchange_captures;
use hearth_replica::{
    Acceptance, Capture, CapturePurpose, CaptureState, Draft, ID_PREFIX_MIN, NewCapture, Phase, Replica, Taken, now,
};
use serde_json::{Value, json};

use super::context::{Context, hint_to_send};
use super::failure::{Exit, Failure};
use super::values::{self, Assignment};
use super::{attach, files, lock_holder, output, runtime, signals, text};

/// How long `captures` waits for the server before it shows what is known here, and how long a sync sends decisions about captures
/// when no capture waits.
const LOOK_TIME: Duration = Duration::from_secs(3);

/// The most characters of the words that were read, beside a value.
const READ_CHARACTERS_MAX: usize = 40;

/// Arguments of `capture`.
#[derive(Debug, Args)]
pub(super) struct CaptureArguments {
    /// Photos or scans of one thing or one paper, 8 at most
    #[arg(required = true, value_name = "PHOTO")]
    files: Vec<PathBuf>,
    /// The room of the new item: its name or id
    #[arg(long, value_name = "ID")]
    room: Option<String>,
    /// A note for the new item
    #[arg(long)]
    note: Option<String>,
    /// The item or vehicle that the papers are about [default: the photos show a new thing]
    #[arg(long = "for", value_name = "ID", conflicts_with_all = ["room", "note"])]
    subject: Option<String>,
}

impl CaptureArguments {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_or_create()?;
        let room_id = self.room.as_deref().map(|room| room_id(&replica, room)).transpose()?;
        let subject = self.subject.as_deref().map(|id| values::find_record(&replica, id, false)).transpose()?;
        let new = NewCapture { files: self.files, room_id, note: self.note, subject };
        let id = replica.capture(&new, now()).map_err(attach::attach_failure)?;
        if context.json {
            return Ok(output::json(&find(&replica, &id)?)?);
        }
        if replica.status()?.phase == Phase::Local {
            output::message("stored on this device; this home has no server that could read it: accept it with --set");
        }
        hint_to_send(&replica)?;
        Ok(output::line(&id)?)
    }
}

fn room_id(replica: &Replica, typed: &str) -> Result<String, Failure> {
    match values::find_record(replica, typed, false)? {
        (Kind::Room, id) => Ok(id),
        (kind, _) => Err(Failure::new(Exit::Usage, format!("{} is a {kind}, and no room", text::one_line(typed)))
            .hint("hearth-replica list rooms")),
    }
}

/// Arguments of `captures`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Captures {
    /// Show the drafts of one capture: its id, or the beginning of it
    id: Option<String>,
    #[command(subcommand)]
    decision: Option<CaptureDecision>,
}

#[derive(Debug, Subcommand)]
enum CaptureDecision {
    /// Throw the drafts of a capture away
    Discard {
        /// The capture: its id, or the beginning of it
        id: String,
    },
    /// Have the files of a failed capture read again
    Retry {
        /// The capture: its id, or the beginning of it
        id: String,
    },
}

impl CaptureDecision {
    fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_or_create()?;
        let (id, done) = match self {
            CaptureDecision::Discard { id } => {
                let id = find(&replica, &id)?.id;
                replica.discard_capture(&id)?;
                (id, "discarded".to_owned())
            }
            CaptureDecision::Retry { id } => {
                let id = replica.retry_capture(&find(&replica, &id)?.id)?;
                let done = format!("read again as {id}");
                (id, done)
            }
        };
        if context.json {
            return Ok(output::json(&find(&replica, &id)?)?);
        }
        output::message(&done);
        Ok(())
    }
}

impl Captures {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(decision) = self.decision {
            return decision.run(context);
        }
        let replica = context.open_existing()?;
        look(context, &replica);
        match self.id {
            Some(id) => show(context, &find(&replica, &id)?),
            None => list(context, &replica.captures()?),
        }
    }
}

/// Reads the server's list, if the server answers soon and no other process does it.
fn look(context: &Context, replica: &Replica) {
    let is_reading = |capture: &Capture| capture.state.is_open();
    if !replica.captures().is_ok_and(|all| all.iter().any(is_reading)) {
        return;
    }
    let (Ok(config), Ok(Some(lock))) = (context.sync_config(), lock_holder::try_lock_opened(&context.profile.db))
    else {
        return;
    };
    drop(runtime::block_on(signals::run_within(LOOK_TIME, exchange_captures(&config, &lock))));
}

/// Sends the captures and decisions that the sync has not sent, or waits for the process that does, until the deadline. Fails when
/// captures still wait, and says how many.
pub(super) fn finish(context: &Context, replica: &Replica, deadline: Instant) -> Result<(), Failure> {
    if !replica.captures()?.iter().any(|capture| capture.is_unsent) {
        return Ok(());
    }
    let waits = || -> Result<usize, Failure> {
        Ok(replica.captures()?.iter().filter(|capture| capture.state == CaptureState::Waiting).count())
    };
    let time_left = || deadline.saturating_duration_since(Instant::now());
    let limit = if waits()? > 0 { time_left() } else { time_left().min(LOOK_TIME) };
    match lock_holder::try_lock_opened(&context.profile.db)? {
        Some(lock) => {
            let config = context.sync_config()?;
            // What cannot be sent now is counted below.
            drop(runtime::block_on(signals::run_within(limit, exchange_captures(&config, &lock)))?);
        }
        None => drop(files::wait_until(context, deadline, || Ok(waits()? == 0))?),
    }
    match waits()? {
        0 => Ok(()),
        left => {
            Err(Failure::new(Exit::StillWaiting, format!("in step; {} still to send", text::count(left, "capture")))
                .hint("hearth-replica captures"))
        }
    }
}

/// The capture whose id begins with the typed text.
fn find(replica: &Replica, typed: &str) -> Result<Capture, Failure> {
    let typed = typed.to_ascii_lowercase();
    let mut found = replica.captures()?;
    found.retain(|capture| capture.id.starts_with(&typed) && (typed.len() >= ID_PREFIX_MIN || capture.id == typed));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Failure::new(
            Exit::NotFound,
            format!("there is no capture whose id begins with {}", text::one_line(&typed)),
        )
        .hint("hearth-replica captures")),
        number => Err(Failure::new(Exit::Usage, format!("the ids of {number} captures begin so"))
            .hint("hearth-replica captures; then give more of the id")),
    }
}

fn list(context: &Context, captures: &[Capture]) -> Result<(), Failure> {
    let none = "there are no captures; hearth-replica capture PHOTO makes one";
    let columns = ["id", "state", "purpose", "what", "made", "problem"];
    let is_table = output::list(context.json, captures, Some(none), &columns, |one| {
        json!([one.id, one.state, one.purpose, one.title(), one.created_at, one.why()])
    })?;
    let ready = captures.iter().find(|capture| capture.state == CaptureState::Ready);
    if let Some(ready) = ready.filter(|_| is_table) {
        output::next_step(&format!("hearth-replica captures {}", ready.id));
    }
    Ok(())
}

fn show(context: &Context, capture: &Capture) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(capture)?);
    }
    output::line(&text::one_line(&format!("{}  {}  {}", capture.id, capture.state, capture.title())))?;
    if let Some(why) = capture.why() {
        output::line(&text::one_line(why))?;
    }
    for draft in &capture.drafts {
        show_draft(draft)?;
    }
    let id = &capture.id;
    if capture.state.is_open() {
        let into = capture.draft(None).and_then(same_serial).map(|(record, _)| format!(" --into {record}"));
        let into = into.unwrap_or_default();
        output::next_step(&format!("hearth-replica accept {id}{into}, or captures discard {id}"));
    } else if capture.state == CaptureState::Failed {
        output::next_step(&format!(
            "hearth-replica captures retry {id}; or accept {id} --set name=NAME, or captures discard {id}"
        ));
    }
    Ok(())
}

fn show_draft(draft: &Draft) -> Result<(), Failure> {
    let change = draft.id.as_ref().map_or("new".to_owned(), |id| format!("change of {id}"));
    output::line("")?;
    output::line(&text::one_line(&format!("{}: {change} {}, by {}", draft.name, draft.kind, draft.source)))?;
    for found in &draft.matches {
        let word = |name: &str| found[name].as_str().unwrap_or_default();
        output::line(&text::one_line(&format!(
            "perhaps {} {} {}: {}",
            word("type"),
            word("id"),
            word("name"),
            word("why")
        )))?;
    }
    let columns = ["field", "value", "confidence", "from", "read"];
    let row = |(field, value): (&String, &Value)| {
        let (from, read) = draft.source_of(field);
        let read: String = read.chars().take(READ_CHARACTERS_MAX).collect();
        vec![field.as_str().into(), value.clone(), draft.confidence(field).into(), from.into(), read.into()]
    };
    Ok(output::table(&columns, draft.fields.iter().map(row))?)
}

/// Arguments of `accept`.
#[derive(Debug, Args)]
pub(super) struct Accept {
    /// The capture: its id, or the beginning of it
    id: String,
    /// The draft to take [default: the item or vehicle; without one, the documents]
    #[arg(long, value_name = "NAME")]
    draft: Option<String>,
    /// Take this field alone; repeat it for more [default: all fields of the draft]
    #[arg(long = "field", value_name = "F")]
    fields: Vec<String>,
    /// A value that comes before that of the draft
    #[arg(long, value_name = "F=V")]
    set: Vec<Assignment>,
    /// The record that gets the values, instead of a new one
    #[arg(long, value_name = "RECORD")]
    into: Option<String>,
    /// Make a new record, although one with the same serial number is there
    #[arg(long, conflicts_with = "into")]
    new: bool,
}

impl Accept {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        let replica = context.open_or_create()?;
        let capture = find(&replica, &self.id)?;
        let draft = capture.draft(self.draft.as_deref());
        let into = self.into.as_deref().map(|record| values::find_record(&replica, record, false)).transpose()?;
        let kind = draft.map_or_else(
            || match (&into, capture.purpose) {
                (Some((kind, _)), _) => *kind,
                (None, CapturePurpose::SmartAdd) => Kind::Inventory,
                (None, CapturePurpose::Extract) => Kind::Document,
            },
            |draft| draft.kind,
        );
        for name in &self.fields {
            if draft.is_none_or(|draft| !draft.fields.contains_key(name)) {
                return Err(Failure::new(Exit::Usage, format!("the draft has no field {}", text::one_line(name)))
                    .hint(format!("hearth-replica captures {}", capture.id)));
            }
        }
        let known = draft.and_then(same_serial).filter(|_| into.is_none() && !self.new);
        if let Some((id, name)) = known {
            let name = text::one_line(&name);
            return Err(Failure::new(
                Exit::Usage,
                format!("{name} has the same serial number; accepting would make a second record"),
            )
            .hint(format!("hearth-replica accept {} --into {id}, or accept {0} --new", capture.id)));
        }
        let present = draft.map(|draft| draft.fields.clone()).unwrap_or_default();
        let set = values::fields_to_update(&replica, kind, &self.set, &present)?;
        let only = (!self.fields.is_empty()).then_some(self.fields);
        let wish = Acceptance { draft: self.draft, taken: Taken { only, set }, into, ..Acceptance::default() };
        let accepted = replica.accept_capture(&capture.id, &wish);
        let (kind, id) = accepted.map_err(|error| {
            let next =
                format!("hearth-replica captures {}; --set FIELD=VALUE gives a value that is missing", capture.id);
            Failure::from(error).hint(next)
        })?;
        match context.json {
            true => Ok(output::json(&json!({ "capture": capture.id, "kind": kind, "id": id }))?),
            false => Ok(output::line(&id)?),
        }
    }
}

/// The id and the name of the record with the serial number of a draft of a new record.
fn same_serial(draft: &Draft) -> Option<(String, String)> {
    let found = draft.matches.iter().find(|found| found["why"] == "same_serial").filter(|_| draft.id.is_none())?;
    Some((found["id"].as_str()?.to_owned(), found["name"].as_str().unwrap_or_default().to_owned()))
}
