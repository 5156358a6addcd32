//! Jobs that make drafts of records from files: create, list, read, discard, accept (contract 22). Must not know how a file is read.

use hearth_contract::envelope::Page;
use hearth_contract::formats::parse_id;
use hearth_contract::problem::{FaultCode, FieldFault, Problem, ProblemType};
use hearth_contract::schema::Kind;
use serde_json::json;
use uuid::Uuid;

use super::capture_bodies::{self, Accepted, Asked};
use super::capture_json::{capture_json, path, path_of};
use super::once::{home_full, once};
use crate::home::cursor::CaptureCursor;
use crate::home::feed::cursor_problem;
use crate::http::call::Call;
use crate::http::parameters::RECORDS_PAGE;
use crate::http::reply::{Refusal, Reply};
use crate::random::fresh_id;
use crate::store::captures::{self, Capture, KEPT_MS, Purpose, Status};
use crate::store::lists::PAGE_BYTES_MAX;
use crate::store::{HomeNumber, StoreError, Tx, homes, readings, records, stored_files};

/// Jobs of a home that wait or run, at most (contract 22).
const JOBS_MAX: i64 = 10;
/// Retry-After of the refusal over [`JOBS_MAX`], in seconds.
const RETRY_SECONDS: u64 = 30;

/// `POST /v1/smart-add`: queues a job that drafts items or vehicles from photos.
pub async fn create_smart_add(call: Call) -> Result<Reply, Refusal> {
    create(call, Purpose::SmartAdd).await
}

/// `POST /v1/extract`: queues a job that drafts documents from papers.
pub async fn create_extract(call: Call) -> Result<Reply, Refusal> {
    create(call, Purpose::Extract).await
}

/// `GET /v1/smart-add`: a page of jobs, newest first.
pub async fn list_smart_add(call: Call) -> Result<Reply, Refusal> {
    list(call, Purpose::SmartAdd).await
}

/// `GET /v1/extract`: a page of jobs, newest first.
pub async fn list_extract(call: Call) -> Result<Reply, Refusal> {
    list(call, Purpose::Extract).await
}

/// `GET /v1/smart-add/{id}`.
pub async fn read_smart_add(call: Call) -> Result<Reply, Refusal> {
    read(call, Purpose::SmartAdd).await
}

/// `GET /v1/extract/{id}`.
pub async fn read_extract(call: Call) -> Result<Reply, Refusal> {
    read(call, Purpose::Extract).await
}

/// `DELETE /v1/smart-add/{id}`.
pub async fn discard_smart_add(call: Call) -> Result<Reply, Refusal> {
    discard(call, Purpose::SmartAdd).await
}

/// `DELETE /v1/extract/{id}`.
pub async fn discard_extract(call: Call) -> Result<Reply, Refusal> {
    discard(call, Purpose::Extract).await
}

/// `PUT /v1/smart-add/{id}/accepted`.
pub async fn accept_smart_add(call: Call) -> Result<Reply, Refusal> {
    accept(call, Purpose::SmartAdd).await
}

/// `PUT /v1/extract/{id}/accepted`.
pub async fn accept_extract(call: Call) -> Result<Reply, Refusal> {
    accept(call, Purpose::Extract).await
}

async fn create(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let app = call.app.clone();
    let parsed = capture_bodies::parse_request(&call.body, purpose);
    let reply = once(call, move |tx, call, home, now| {
        let refuse = |problem: Problem| Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        let asked = match parsed {
            Ok(asked) => asked,
            Err(faults) => return refuse(Problem::validation(&faults)),
        };
        let faults = missing(tx, home, &asked)?;
        if !faults.is_empty() {
            return refuse(Problem::validation(&faults));
        }
        if captures::count_waiting(tx, home)? >= JOBS_MAX {
            return refuse(too_many_jobs());
        }
        let limit = call.app.config.home_bytes_max;
        if homes::used_bytes(tx, home)? >= limit {
            return refuse(home_full(limit));
        }
        for file in &asked.files {
            readings::want(tx, home, file, true, true)?;
        }
        let id = fresh_id(now);
        let Asked { files, room, note, subject } = asked;
        captures::insert(
            tx,
            &Capture {
                number: 0,
                id,
                home,
                purpose,
                status: Status::Queued,
                files,
                room,
                note,
                subject,
                created_at: now,
                finished_at: None,
                expires_at: now.plus_millis(KEPT_MS),
                error: None,
                drafts: "[]".to_owned(),
                suggestions: "{}".to_owned(),
                facts: "[]".to_owned(),
                accepted: None,
                attempts: 0,
            },
        )?;
        let job = captures::find(tx, home, purpose, id)?.ok_or_else(|| lost(id))?;
        let text = capture_json(tx, &job, &call.principal)?.to_string();
        Ok((call.context.data_reply(202, &text, "").with_header("location", path_of(purpose, id)), None))
    });
    let reply = reply.await?;
    app.new_capture.notify_one();
    Ok(reply)
}

/// A fault for each file and record of a request that the home does not have.
fn missing(tx: &Tx<'_>, home: HomeNumber, asked: &Asked) -> Result<Vec<FieldFault>, StoreError> {
    let mut faults = Vec::new();
    for (at, file) in asked.files.iter().enumerate() {
        if stored_files::find(tx, home, file)?.is_none() {
            let message = format!("files[{at}] names no file of this home; upload the bytes first.");
            faults.push(FieldFault::new(format!("files[{at}]"), FaultCode::NotFound, message));
        }
    }
    let records = [("room_id", asked.room.map(|id| (Kind::Room, id))), ("subject_id", asked.subject)];
    for (field, kind, id) in
        records.into_iter().filter_map(|(field, record)| record.map(|(kind, id)| (field, kind, id)))
    {
        if !exists(tx, home, kind, id)? {
            faults.push(FieldFault::new(field, FaultCode::NotFound, format!("{field} names no {kind} of this home.")));
        }
    }
    Ok(faults)
}

/// Whether a record exists now.
pub(super) fn exists(tx: &Tx<'_>, home: HomeNumber, kind: Kind, id: Uuid) -> Result<bool, StoreError> {
    Ok(records::entry(tx, home, id)?.is_some_and(|entry| entry.kind == kind && !entry.deleted))
}

async fn list(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let limit = call.query.limit(RECORDS_PAGE)?;
    let chosen = call.query.choice("status", &Status::ALL.map(|status| (status.as_str(), status)))?;
    let home = call.principal.home_id();
    let cursor = call.query.get("cursor").map(|text| CaptureCursor::decode(text, home, purpose, chosen));
    let cursor = cursor.transpose().map_err(cursor_problem)?;
    let status = cursor.map_or(chosen, |cursor| cursor.status);
    let before = cursor.map(|cursor| cursor.before);
    let (number, principal) = (call.principal.key.home, call.principal.clone());
    let page = call.app.db.read(move |tx| {
        let mut jobs = captures::page(tx, number, purpose, status, before, limit + 1)?;
        let mut has_more = jobs.len() > limit;
        jobs.truncate(limit);
        let (mut texts, mut bytes, mut last) = (Vec::new(), 0, None);
        for job in &jobs {
            let text = capture_json(tx, job, &principal)?.to_string();
            bytes += text.len();
            if bytes > PAGE_BYTES_MAX && !texts.is_empty() {
                has_more = true;
                break;
            }
            last = Some(job.number);
            texts.push(text);
        }
        Ok((texts, last.filter(|_| has_more)))
    });
    let (texts, last) = page.await?;
    let next_cursor = last.map(|before| CaptureCursor { before, status }.encode(home, purpose));
    Ok(call.context.list_reply(&texts, &Page { has_more: last.is_some(), next_cursor }, ""))
}

async fn read(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let id = job_id(&call)?;
    let (number, principal) = (call.principal.key.home, call.principal.clone());
    let found = call.app.db.read(move |tx| {
        let job = captures::find(tx, number, purpose, id)?;
        job.map(|job| capture_json(tx, &job, &principal)).transpose()
    });
    let job = found.await?.ok_or_else(|| not_found(id))?;
    Ok(call.context.data_reply(200, &job.to_string(), ""))
}

/// Ends an open job. An unknown job, and one that has ended, succeed too.
async fn discard(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let id = job_id(&call);
    once(call, move |tx, call, home, now| {
        let id = match id {
            Ok(id) => id,
            Err(problem) => return Ok((call.context.problem_reply(&problem), Some(problem.kind))),
        };
        if let Some(job) = captures::find(tx, home, purpose, id)?.filter(|job| job.status.is_open()) {
            captures::end(tx, &job, Status::Discarded, now)?;
        }
        Ok((call.context.data_reply(200, &json!({ "id": id, "deleted": true }).to_string(), ""), None))
    })
    .await
}

/// Stores which record was made of the drafts, and ends the job.
async fn accept(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let (id, parsed) = (job_id(&call)?, capture_bodies::parse_accepted(&call.body));
    once(call, move |tx, call, home, now| {
        let refuse = |problem: Problem| Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        let Accepted { kind, id: record } = match parsed {
            Ok(accepted) => accepted,
            Err(faults) => return refuse(Problem::validation(&faults)),
        };
        if let Err(problem) = require_sight(call, kind) {
            return refuse(problem);
        }
        let Some(job) = captures::find(tx, home, purpose, id)? else { return refuse(not_found(id)) };
        if !exists(tx, home, kind, record)? {
            let message = format!("id names no {kind} of this home.");
            return refuse(Problem::validation(&[FieldFault::new("id", FaultCode::NotFound, message)]));
        }
        captures::accept(tx, &job, (kind, record), now)?;
        let job = captures::find(tx, home, purpose, id)?.ok_or_else(|| lost(id))?;
        Ok((call.context.data_reply(200, &capture_json(tx, &job, &call.principal)?.to_string(), ""), None))
    })
    .await
}

/// Refuses a key that may neither read nor write a kind: the answer would tell which ids exist.
fn require_sight(call: &Call, kind: Kind) -> Result<(), Problem> {
    let write = format!("{}:write", kind.collection());
    if call.principal.has_scope(&write) {
        return Ok(());
    }
    call.principal.require_scope(&crate::scopes::reading(kind))
}

/// The id in the path. Error: `not_found` for a malformed id.
pub(super) fn job_id(call: &Call) -> Result<Uuid, Problem> {
    let text = call.id.as_deref().unwrap_or_default();
    parse_id(text).ok_or_else(|| not_found(format_args!("`{text}`")))
}

pub(super) fn not_found(id: impl std::fmt::Display) -> Problem {
    let fix = format!(
        "List the jobs with GET {} or {} to find those that exist.",
        path(Purpose::SmartAdd),
        path(Purpose::Extract)
    );
    Problem::new(ProblemType::NotFound, format!("No job {id} of this sort in this home.")).with_fix(fix)
}

fn too_many_jobs() -> Problem {
    Problem::new(ProblemType::TooManyJobs, format!("This home has {JOBS_MAX} jobs that wait or run."))
        .with("limit", JOBS_MAX)
        .with("retry_after_seconds", RETRY_SECONDS)
}

pub(super) fn lost(id: Uuid) -> StoreError {
    StoreError::Corrupt(format!("the job {id} was not stored"))
}
