//! Stores what a person has marked in the drafts of a job: each record by an ordinary create or patch, all in one transaction, and then
//! the job is accepted (contract 22). Must not know how drafts are shown.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions, RevMatch};
use hearth_contract::formats::Timestamp;
use hearth_contract::media::MediaType;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::resources::resource;
use hearth_contract::schema::{Kind, SUBJECT_ID, SUBJECT_TYPE};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::capture::{LIST, Shown, find_job, load, show};
use super::form::show_faults;
use super::papers::add_documents;
use super::proposals::Proposal;
use super::upload::Sent;
use super::words::{list_path, short};
use super::write::{FORM, commit_in, ticket};
use crate::home::apply::{HomeWriter, WriteOutcome};
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{WebRequest, redirect};
use crate::random::fresh_id;
use crate::store::captures::{self, Capture, Purpose};
use crate::store::sessions::Session;
use crate::store::{HomeNumber, StoreError, Tx, stored_files};

/// The start of the name of a field with the revision of the record that a draft changes.
const REV: &str = "rev.";
/// The member of a refusal with the name of the draft that was refused.
const DRAFT: &str = "draft";

/// A record to store.
struct Wanted {
    name: String,
    kind: Kind,
    /// The record to change, and the revision that the person saw. None: a new record.
    target: Option<(Uuid, i64)>,
    /// Whether the record is about something already.
    has_subject: bool,
    title: String,
    body: Map<String, Value>,
}

/// `POST /home/captures/{id}/accept` (`form`; `with`: the drafts to store; of each draft `to.`, `rev.` and its fields; `take`: the fields to
/// store).
pub(in crate::console) async fn accept(request: WebRequest, session: Session) -> Result<Reply, Refusal> {
    let form = request.form();
    let mut shown = load(&request, &session, form.clone()).await?;
    if !shown.job.status.is_open() {
        // The page says how it ended.
        return Ok(redirect(format!("{}/{}", LIST.0, shown.job.id)));
    }
    shown.proposals.iter_mut().for_each(|proposal| proposal.take(&form));
    let rev = |name: &str| form.text(&format!("{REV}{name}")).parse::<i64>().unwrap_or_default();
    let mut wanted: Vec<Wanted> =
        shown.proposals.iter().filter(|one| one.is_wanted).map(|one| wanted(one, rev(&one.name))).collect();
    // Papers may be about the item of this job.
    wanted.sort_by_key(|one| one.kind == Kind::Document);
    if wanted.is_empty() {
        let fault = "Mark at least one draft, or discard them all.".to_owned();
        return show(&request, &session, (422, Some(fault)), shown);
    }
    let values: Vec<Value> = wanted.iter().map(|one| json!([one.name, one.target, one.body])).collect();
    let (ticket, id) = (ticket(&request, form.text(FORM), &json!(values)), shown.job.id);
    let written = commit_in(&request, &session, ticket, move |tx, home, writing, now| {
        match find_job(tx, home, id)?.filter(|job| job.status.is_open()) {
            Some(job) => store(tx, home, writing, now, &job, wanted),
            None => Ok(Ok(format!("{}/{id}", LIST.0))),
        }
    });
    match written.await? {
        Ok(reply) => Ok(reply),
        Err(problem) => {
            let fault = refusal(&mut shown, &problem);
            show(&request, &session, (problem.kind.status(), Some(fault)), shown)
        }
    }
}

fn wanted(proposal: &Proposal, rev: i64) -> Wanted {
    let body = proposal.body();
    let target = proposal.target.as_ref();
    let title = body.get(resource(proposal.kind).title).and_then(Value::as_str).unwrap_or(&proposal.target_title);
    let has_subject = body.contains_key(SUBJECT_TYPE)
        || target.is_some_and(|record| record.fields.get(SUBJECT_TYPE).is_some_and(|value| !value.is_null()));
    Wanted {
        name: proposal.name.clone(),
        kind: proposal.kind,
        target: target.map(|record| (record.id, rev)),
        has_subject,
        title: short(title),
        body,
    }
}

/// Stores the records and accepts the job. Gives the address of the first record.
fn store(
    tx: &Tx<'_>,
    home: HomeNumber,
    writing: &mut HomeWriter<'_, '_>,
    now: Timestamp,
    job: &Capture,
    wanted: Vec<Wanted>,
) -> Result<Result<String, Problem>, StoreError> {
    let (mut first, mut thing, mut files, mut is_new) = (None, None, Vec::new(), true);
    for mut one in wanted {
        if let (Some((kind, id, _)), Kind::Document, false) = (&thing, one.kind, one.has_subject) {
            one.body.insert(SUBJECT_TYPE.to_owned(), Kind::as_str(*kind).into());
            one.body.insert(SUBJECT_ID.to_owned(), Uuid::to_string(id).into());
        }
        files.extend(one.body.get("file_sha256").and_then(Value::as_str).map(str::to_owned));
        let id = match write(writing, now, &one)? {
            Ok(id) => id,
            Err(problem) => return Ok(Err(problem.with(DRAFT, one.name))),
        };
        if first.is_none() {
            (first, is_new) = (Some((one.kind, id)), one.target.is_none());
        }
        if one.kind != Kind::Document && thing.is_none() {
            thing = Some((one.kind, id, one.title));
        }
    }
    if let (Some((kind, id, name)), Purpose::SmartAdd) = (&thing, job.purpose) {
        let left = unnamed(tx, home, job, &files)?;
        if let Err(problem) = add_documents(writing, now, (*kind, *id, name), "other", &left)? {
            return Ok(Err(problem));
        }
    }
    let Some((kind, id)) = first else { return Ok(Ok(LIST.0.to_owned())) };
    captures::accept(tx, job, (kind, id), now)?;
    Ok(Ok(format!("{}/{id}?said={}", list_path(kind), if is_new { "added" } else { "saved" })))
}

/// Creates or changes one record, and gives its id.
fn write(writing: &mut HomeWriter<'_, '_>, now: Timestamp, one: &Wanted) -> Result<Result<Uuid, Problem>, StoreError> {
    let (kind, body) = (one.kind, Value::Object(one.body.clone()));
    let command = match one.target {
        None => Command::Create { kind, body: check(kind, Intent::Create, &body) },
        Some((id, _)) if one.body.is_empty() => return Ok(Ok(id)),
        Some((id, rev)) => {
            let preconditions = Preconditions { if_match: Some(RevMatch::OneOf(vec![rev])), if_none_match: None };
            Command::Update { kind, id: Some(id), body: check(kind, Intent::Patch, &body), preconditions }
        }
    };
    let outcome = writing.apply(command, &mut || fresh_id(now))?;
    Ok(outcome.map(|outcome| match (outcome, one.target) {
        (WriteOutcome::Created(id, _) | WriteOutcome::Deleted(id), _) => id,
        (WriteOutcome::Current(_), target) => target.map(|(id, _)| id).unwrap_or_default(),
    }))
}

/// Photos and papers of a job for which it has no draft of a document: they are kept as plain documents.
fn unnamed(tx: &Tx<'_>, home: HomeNumber, job: &Capture, named: &[String]) -> Result<Vec<Sent>, StoreError> {
    let drafted: Vec<Value> = serde_json::from_str(&job.drafts).unwrap_or_default();
    let has_draft = |hash: &str| {
        named.iter().any(|named| named == hash) || drafted.iter().any(|draft| draft["fields"]["file_sha256"] == hash)
    };
    let mut left = Vec::new();
    for hash in job.files.iter().filter(|hash| !has_draft(hash.as_str())) {
        let Some(file) = stored_files::find(tx, home, hash)? else { continue };
        let media = MediaType::parse(&file.content_type);
        if media.is_image() || media == MediaType::Pdf {
            left.push(Sent { sha256: file.sha256, name: String::new(), media, size_bytes: file.size_bytes });
        }
    }
    Ok(left)
}

/// Writes the faults of a refusal beside the inputs of its draft. Gives the sentence above the form.
fn refusal(shown: &mut Shown, problem: &Problem) -> String {
    match problem.kind {
        ProblemType::PreconditionFailed => {
            "Somebody has changed the record meanwhile. Nothing was stored: look at its values, and press the button again."
                .to_owned()
        }
        ProblemType::IdempotencyKeyReused => {
            "This form was sent before, with other values. Look at what was stored.".to_owned()
        }
        _ => {
            let name = problem.details.get(DRAFT).and_then(Value::as_str).unwrap_or_default();
            let mut none = Vec::new();
            let proposal = shown.proposals.iter_mut().find(|proposal| proposal.name == name);
            show_faults(proposal.map_or(&mut none, |proposal| &mut proposal.inputs), problem)
        }
    }
}
