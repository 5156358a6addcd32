//! Import jobs: create, list, read with results, delete (contract 23). Must not know how a file is read.

use axum::http::header::CONTENT_TYPE;
use hearth_contract::envelope::Page;
use hearth_contract::formats::parse_id;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use hearth_contract::schema::Kind;
use hearth_exchange::import::{Cause, Form, ImportError};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::once::{MAKE_ROOM, home_full, once};
use crate::files::UPLOADS_MAX;
use crate::home::cursor::{ImportCursor, ImportRowsCursor};
use crate::home::feed::cursor_problem;
use crate::http::call::Call;
use crate::http::parameters::{FLAG_WORDS, RECORDS_PAGE};
use crate::http::reply::{Refusal, Reply};
use crate::imports::request::{PARAMETERS, Request};
use crate::random::fresh_id;
use crate::store::imports::{self, FailureCause, Job, Status};
use crate::store::{StoreError, homes};

/// Jobs of a home that wait or run, at most: their files lie in the database.
const JOBS_MAX: i64 = 4;
/// Retry-After of the refusal over [`JOBS_MAX`] and over the uploads of a key, in seconds.
const RETRY_SECONDS: u64 = 10;
/// Results in one answer.
const RESULTS_MAX: usize = 1000;

/// `POST /v1/imports`: queues a job.
pub async fn create(mut call: Call) -> Result<Reply, Refusal> {
    let app = call.app.clone();
    let texts = request_texts(&call)?;
    let request = Request::parse(&texts).map_err(|error| parameter_problem(&error, &texts))?;
    // The kinds of an export are known only after reading; their rows are judged one by one.
    if request.options.form == Some(Form::Csv) || request.options.kind.is_some() {
        let kind = request.options.kind.unwrap_or(Kind::Inventory);
        call.principal.require_scope(&write_scope(kind))?;
    } else if !Kind::ALL.into_iter().any(|kind| call.principal.has_scope(&write_scope(kind))) {
        call.principal.require_scope(&write_scope(Kind::Inventory))?;
    }
    let Some(_permit) = app.uploads.open(&call.principal.key.id, UPLOADS_MAX) else {
        return Err(too_many("window", "uploads", format!("The key has {UPLOADS_MAX} uploads in progress.")).into());
    };
    let body = receive(&mut call).await?;
    if let Some(ticket) = &mut call.ticket {
        ticket.add_body(&body);
    }
    let reply = once(call, move |tx, call, home, now| {
        let refuse = |problem: Problem| Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        if imports::count_waiting(tx, home)? >= JOBS_MAX {
            return refuse(too_many(
                "window",
                "imports",
                format!("This home has {JOBS_MAX} imports that wait or run."),
            ));
        }
        let limit = call.app.config.home_bytes_max;
        if homes::used_bytes(tx, home)?.saturating_add(body.len() as i64) > limit {
            return refuse(home_full(limit));
        }
        let job = Job {
            number: 0,
            id: fresh_id(now),
            home,
            request: Value::Object(texts).to_string(),
            is_dry_run: request.dry_run,
            key: call.principal.key.id.clone(),
            scopes: call.principal.key.scopes.clone(),
            author: call.author(),
            status: Status::Queued,
            counts: imports::Counts::default(),
            created_at: now,
            finished_at: None,
            failure: None,
        };
        imports::insert(tx, &job, &body)?;
        let text = job_json(&job, &call.app.base_url).to_string();
        Ok((call.context.data_reply(202, &text, "").with_header("location", paths::import(job.id)), None))
    });
    let reply = reply.await?;
    app.new_import.notify_one();
    Ok(reply)
}

/// `GET /v1/imports`: a page of jobs, newest first.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let limit = call.query.limit(RECORDS_PAGE)?;
    let home = call.principal.home_id();
    let before = match call.query.get("cursor") {
        Some(text) => Some(ImportCursor::decode(text, home).map_err(cursor_problem)?.before),
        None => None,
    };
    let number = call.principal.key.home;
    let mut jobs = call.app.db.read(move |tx| imports::page(tx, number, before, limit + 1)).await?;
    let has_more = jobs.len() > limit;
    jobs.truncate(limit);
    let next_cursor = jobs.last().filter(|_| has_more).map(|job| ImportCursor { before: job.number }.encode(home));
    let texts: Vec<String> = jobs.iter().map(|job| job_json(job, &call.app.base_url).to_string()).collect();
    Ok(call.context.list_reply(&texts, &Page { has_more, next_cursor }, ""))
}

/// `GET /v1/imports/{id}`: a job, with a page of the results of its rows.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let (id, number, home) = (job_id(&call)?, call.principal.key.home, call.principal.home_id());
    let job = call.app.db.read(move |tx| imports::find(tx, number, id)).await?.ok_or_else(|| not_found(id))?;
    let from = match call.query.get("cursor") {
        Some(text) => ImportRowsCursor::decode(text, home, job.number).map_err(cursor_problem)?.from,
        None => 0,
    };
    let import = job.number;
    // Results appear when the job ends: a page of a running job would be of another run.
    let mut results = match job.status {
        Status::Succeeded | Status::Failed => {
            call.app.db.read(move |tx| imports::results(tx, import, from, RESULTS_MAX + 1)).await?
        }
        Status::Queued | Status::Running => Vec::new(),
    };
    let has_more = results.len() > RESULTS_MAX;
    results.truncate(RESULTS_MAX);
    let next = has_more.then(|| ImportRowsCursor { import, from: from + RESULTS_MAX as i64 }.encode(home));
    let mut data = job_json(&job, &call.app.base_url);
    // The results tell values of records: only of the kinds that the key may see.
    let is_shown = |row: &Value| {
        let kind = row["type"].as_str().and_then(Kind::parse);
        let scopes = |kind: Kind| [write_scope(kind), format!("{}:read", kind.collection())];
        kind.is_some_and(|kind| scopes(kind).iter().any(|scope| call.principal.has_scope(scope)))
    };
    let rows = results.iter().filter_map(|text| serde_json::from_str::<Value>(text).ok());
    data["rows"] = rows.filter(is_shown).collect();
    let page = json!({ "has_more": has_more, "next_cursor": next });
    Ok(call.context.data_reply(200, &data.to_string(), &format!("\"page\":{page}")))
}

/// `DELETE /v1/imports/{id}`: deletes a job. A waiting job is not carried out; a running one ends at its next step. Records stay.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let id = job_id(&call);
    once(call, move |tx, call, home, _| {
        let id = match id {
            Ok(id) => id,
            Err(problem) => return Ok((call.context.problem_reply(&problem), Some(problem.kind))),
        };
        let found = imports::find(tx, home, id)?;
        let needed = found.map(|job| scope_to_delete(&job)).filter(|scope| !call.principal.has_scope(scope));
        if let Some(Err(problem)) = needed.map(|scope| call.principal.require_scope(&scope)) {
            return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        }
        imports::remove(tx, home, id)?;
        Ok((call.context.data_reply(200, &json!({ "id": id, "deleted": true }).to_string(), ""), None))
    })
    .await
}

fn write_scope(kind: Kind) -> String {
    format!("{}:write", kind.collection())
}

/// The scope for the delete of a job: that of its kind.
fn scope_to_delete(job: &Job) -> String {
    let texts: Map<String, Value> = serde_json::from_str(&job.request).unwrap_or_default();
    let kind = texts.get("kind").and_then(Value::as_str).and_then(Kind::parse).unwrap_or(Kind::Inventory);
    write_scope(kind)
}

/// The parameters of a request as they are stored. Error: a flag is neither true nor false.
fn request_texts(call: &Call) -> Result<Map<String, Value>, Problem> {
    for flag in ["dry_run", "partial"] {
        call.query.choice(flag, &FLAG_WORDS)?;
    }
    call.query.choice("kind", &Kind::ALL.map(|kind| (kind.as_str(), kind)))?;
    let given = PARAMETERS.into_iter().filter_map(|name| Some((name, call.query.get(name)?)));
    let media = call.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Ok(Request::stored(given, &media))
}

/// Reads the file. Error: over `--max-file`.
async fn receive(call: &mut Call) -> Result<Vec<u8>, Refusal> {
    let mut upload = call.upload.take().ok_or_else(|| StoreError::Corrupt("an import has no body".to_owned()))?;
    let limit = call.app.config.file_bytes_max;
    let check = |bytes: u64| {
        if i64::try_from(bytes).unwrap_or(i64::MAX) <= limit {
            return Ok(());
        }
        let problem = Problem::new(ProblemType::PayloadTooLarge, format!("The file is over {limit} bytes."))
            .with("limit_bytes", limit)
            .with("of", "file");
        Err(problem.with_fix("Split the file, or ask the operator to raise --max-file."))
    };
    check(upload.announced().unwrap_or(0))?;
    let mut body = Vec::new();
    while let Some(piece) = upload.next().await? {
        check((body.len() + piece.len()) as u64)?;
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn parameter_problem(error: &ImportError, texts: &Map<String, Value>) -> Problem {
    let Cause::Parameter(name) = error.cause else {
        return Problem::new(ProblemType::InvalidRequest, error.message.clone());
    };
    let value = texts.get(name).and_then(Value::as_str).unwrap_or_default();
    Problem::parameter(name, value, None, &error.message)
}

fn too_many(name: &str, what: &str, message: String) -> Problem {
    Problem::new(ProblemType::RateLimited, message)
        .with(name, what)
        .with("retry_after_seconds", RETRY_SECONDS)
        .with_fix("Wait until one of them has ended, then send this request again.")
}

/// The id in the path. Error: `not_found` for a malformed id.
fn job_id(call: &Call) -> Result<Uuid, Problem> {
    let text = call.id.as_deref().unwrap_or_default();
    parse_id(text).ok_or_else(|| not_found(format_args!("`{text}`")))
}

fn not_found(id: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemType::NotFound, format!("No import {id} in this home."))
        .with_fix("List the imports to find the ids that exist.")
}

/// A job without the results of its rows.
fn job_json(job: &Job, base_url: &str) -> Value {
    let texts: Map<String, Value> = serde_json::from_str(&job.request).unwrap_or_default();
    let error = job.failure.as_ref().map(|failure| {
        let problem = Problem::new(problem_type(failure.cause), failure.sentence.as_str());
        problem.with_fix(fix(failure.cause)).to_value(base_url)
    });
    json!({
        "id": job.id,
        "status": job.status.as_str(),
        "dry_run": job.is_dry_run,
        "kind": texts.get("kind"),
        "counts": {
            "created": job.counts.created,
            "updated": job.counts.updated,
            "unchanged": job.counts.unchanged,
            "failed": job.counts.failed,
        },
        "created_at": job.created_at,
        "finished_at": job.finished_at,
        "error": error,
    })
}

/// The error type of a failed job: the one that a single request would get.
fn problem_type(cause: FailureCause) -> ProblemType {
    match cause {
        FailureCause::File => ProblemType::InvalidRequest,
        FailureCause::Rows => ProblemType::ValidationFailed,
        FailureCause::Changed => ProblemType::PreconditionFailed,
        FailureCause::Full => ProblemType::PayloadTooLarge,
        FailureCause::Key => ProblemType::InvalidApiKey,
        FailureCause::Scope => ProblemType::InsufficientScope,
        FailureCause::Plan => ProblemType::PlanRequired,
        FailureCause::Interrupted => ProblemType::Unavailable,
        FailureCause::Service => ProblemType::InternalError,
    }
}

/// What to do about a failed job.
fn fix(cause: FailureCause) -> &'static str {
    match cause {
        FailureCause::File => "Correct the file or the parameters of the request, and import it again.",
        FailureCause::Rows => {
            "Look at the rows with the action fail, correct the file, and import it again. partial=true writes the other rows."
        }
        FailureCause::Changed => {
            "Import the file again: its rows are compared with the records as they are then. Rows with an id, an import_ref or \
             a key are recognised."
        }
        FailureCause::Full => MAKE_ROOM,
        FailureCause::Key | FailureCause::Scope => "Import the file again with a key that is valid and has the scopes.",
        FailureCause::Plan => "Change the plan of the team, and import the file again.",
        FailureCause::Interrupted => "Import the file again: rows with an id, an import_ref or a key are recognised.",
        FailureCause::Service => "Import the file again. If it fails again, the operator finds the reason in the log.",
    }
}
