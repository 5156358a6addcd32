//! Export jobs: create, list, read, download, delete (contract 16). Must not know how a file is written.

use std::io::ErrorKind;

use hearth_contract::envelope::Page;
use hearth_contract::formats::{Timestamp, parse_id};
use hearth_contract::headers::SERVICE_API_VERSION;
use hearth_contract::paths;
use hearth_contract::problem::{
    FAULTS_MAX, FaultCode, FieldFault, Problem, ProblemType, QUOTED_NAME_MAX, nearest, shorten,
};
use hearth_contract::schema::Kind;
use hearth_exchange::table;
use rustix::fs::OFlags;
use serde_json::{Value, json};
use uuid::Uuid;

use super::once::{home_full, once};
use crate::app::App;
use crate::home::cursor::ExportCursor;
use crate::home::feed::cursor_problem;
use crate::http::call::Call;
use crate::http::parameters::RECORDS_PAGE;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::random::fresh_id;
use crate::store::exports::{self, Format, Job, Product, Status};
use crate::store::homes;

/// Jobs of a home that wait, run or have a file, at most. The files would fill the disk otherwise.
const JOBS_MAX: i64 = 100;
/// Retry-After of the refusal over [`JOBS_MAX`], in seconds.
const RETRY_SECONDS: u64 = 60;

/// `POST /v1/exports`: queues a job.
pub async fn create(call: Call) -> Result<Reply, Refusal> {
    let app = call.app.clone();
    // Parsed before the transaction, because writers wait for the transaction.
    let parsed = parse_request(&call.body);
    let reply = once(call, move |tx, call, home, now| {
        let Asked { format, kinds, options } = match parsed {
            Ok(parsed) => parsed,
            Err(faults) => {
                let problem = Problem::validation(&faults);
                return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
            }
        };
        if exports::count_active(tx, home)? >= JOBS_MAX {
            let message = format!("This home has {JOBS_MAX} exports; delete one, or wait until one expires.");
            let problem = Problem::new(ProblemType::RateLimited, message)
                .with("retry_after_seconds", RETRY_SECONDS)
                .with_fix("Delete an export that is no longer needed: its place is free at once.");
            return Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        }
        let limit = call.app.config.home_bytes_max;
        if homes::used_bytes(tx, home)? >= limit {
            return Ok((call.context.problem_reply(&home_full(limit)), Some(ProblemType::PayloadTooLarge)));
        }
        let job = Job {
            number: None,
            id: fresh_id(now),
            home,
            format,
            options,
            kinds,
            version: call.context.version.name.to_owned(),
            status: Status::Queued,
            done: 0,
            total: 0,
            created_at: now,
            finished_at: None,
            expires_at: None,
            product: None,
            error: None,
        };
        exports::insert(tx, &job)?;
        let text = job_json(&job, &call.app, now).to_string();
        Ok((call.context.data_reply(202, &text, "").with_header("location", paths::export(job.id)), None))
    });
    let reply = reply.await?;
    app.exports.notify();
    Ok(reply)
}

/// `GET /v1/exports`: a page of jobs, newest first.
pub async fn list(call: Call) -> Result<Reply, Refusal> {
    let limit = call.query.limit(RECORDS_PAGE)?;
    let home = call.principal.home_id();
    let before = match call.query.get("cursor") {
        Some(text) => Some(ExportCursor::decode(text, home).map_err(cursor_problem)?.before),
        None => None,
    };
    let number = call.principal.key.home;
    let mut jobs = call.app.db.read(move |tx| exports::page(tx, number, before, limit + 1)).await?;
    let has_more = jobs.len() > limit;
    jobs.truncate(limit);
    let next_cursor =
        jobs.last().filter(|_| has_more).and_then(|job| job.number).map(|before| ExportCursor { before }.encode(home));
    let now = call.app.clock.now();
    let texts: Vec<String> = jobs.iter().map(|job| job_json(job, &call.app, now).to_string()).collect();
    Ok(call.context.list_reply(&texts, &Page { has_more, next_cursor }, ""))
}

/// `GET /v1/exports/{id}`: the status of a job.
pub async fn read(call: Call) -> Result<Reply, Refusal> {
    let job = find_job(&call).await?;
    let text = job_json(&job, &call.app, call.app.clock.now()).to_string();
    Ok(call.context.data_reply(200, &text, ""))
}

/// `GET /v1/exports/{id}/download`: the file of a finished job.
pub async fn download(call: Call) -> Result<Reply, Refusal> {
    let job = find_job(&call).await?;
    let status = status_at(&job, call.app.clock.now());
    let (Some(Product { file, size_bytes, .. }), Status::Succeeded) = (&job.product, status) else {
        let message = format!("The export {} has no file: it is {}.", job.id, status.as_str());
        return Err(Problem::new(ProblemType::NotFound, message).with_fix(next_step(status)).into());
    };
    let (media, name) = match job.format {
        Format::Json => ("application/json", "hearth-export.json"),
        Format::Csv => ("application/zip", "hearth-export.zip"),
        Format::Sqlite => ("application/vnd.sqlite3", "hearth-export.sqlite"),
        Format::Html => ("text/html", "hearth-report.html"),
    };
    let mut options = tokio::fs::OpenOptions::new();
    options.read(true).custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = match options.open(call.app.exports.path(file)).await {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(job_not_found(job.id).into()),
        Err(error) => return Err(crate::store::StoreError::Corrupt(format!("file of an export: {error}")).into()),
    };
    // The file keeps the API version of its job, because clients compare the checksum.
    let headers = vec![
        ("content-disposition", format!("attachment; filename=\"{name}\"")),
        (SERVICE_API_VERSION, job.version.clone()),
    ];
    Ok(Reply { status: 200, headers, payload: Payload::File { media, file, length: *size_bytes } })
}

/// `DELETE /v1/exports/{id}`: deletes a job and its file. An unknown job succeeds too.
pub async fn delete(call: Call) -> Result<Reply, Refusal> {
    let id = job_id(&call);
    let app = call.app.clone();
    let (tell, forgotten) = std::sync::mpsc::channel();
    let reply = once(call, move |tx, call, home, _| {
        let id = match id {
            Ok(id) => id,
            Err(problem) => return Ok((call.context.problem_reply(&problem), Some(problem.kind))),
        };
        if let Some(job) = exports::remove(tx, home, id)? {
            let _ = tell.send(job);
        }
        Ok((call.context.data_reply(200, &json!({ "id": id, "deleted": true }).to_string(), ""), None))
    });
    let reply = reply.await?;
    // The file is removed after the commit. After a crash at this point, the next start removes the file.
    for job in forgotten.try_iter() {
        app.exports.cancel(job.id);
        job.product.iter().for_each(|product| app.exports.remove(&product.file));
    }
    Ok(reply)
}

async fn find_job(call: &Call) -> Result<Job, Refusal> {
    let (id, home) = (job_id(call)?, call.principal.key.home);
    let found = call.app.db.read(move |tx| exports::find(tx, home, id)).await?;
    found.ok_or_else(|| job_not_found(id).into())
}

/// The id in the path. Error: `not_found` for a malformed id.
fn job_id(call: &Call) -> Result<Uuid, Problem> {
    let text = call.id.as_deref().unwrap_or_default();
    parse_id(text).ok_or_else(|| job_not_found(format_args!("`{text}`")))
}

fn job_not_found(id: impl std::fmt::Display) -> Problem {
    Problem::new(ProblemType::NotFound, format!("No export {id} in this home."))
        .with_fix("List the exports to find the ids that exist.")
}

/// The error of a failed job, in the form of every error (contract 12).
fn failure_problem(why: &str) -> Problem {
    Problem::new(ProblemType::InternalError, why).with_fix(next_step(Status::Failed))
}

const fn next_step(status: Status) -> &'static str {
    match status {
        Status::Queued | Status::Running => "Look at the export until its status is succeeded, then download it.",
        Status::Succeeded | Status::Failed | Status::Expired => "Ask for a new export.",
    }
}

/// The status of a job at a time: an expired file counts as expired even before its removal.
fn status_at(job: &Job, now: Timestamp) -> Status {
    match job.status {
        Status::Succeeded if job.expires_at.is_some_and(|end| end <= now) => Status::Expired,
        status => status,
    }
}

fn job_json(job: &Job, app: &App, now: Timestamp) -> Value {
    let (done, total) = app.exports.progress(job.id).unwrap_or((job.done, job.total));
    let kinds: Vec<&str> = job.kinds.iter().map(|kind| kind.as_str()).collect();
    json!({
        "id": job.id,
        "status": status_at(job, now).as_str(),
        "format": job.format.as_str(),
        "types": kinds,
        "names": job.options.names,
        "bom": job.options.bom,
        "progress": { "done": done, "total": total },
        "created_at": job.created_at,
        "finished_at": job.finished_at,
        "expires_at": job.expires_at,
        "size_bytes": job.product.as_ref().map(|product| product.size_bytes),
        "sha256": job.product.as_ref().map(|product| &product.sha256),
        "error": job.error.as_ref().map(|why| failure_problem(why).to_value(&app.base_url)),
    })
}

/// What the body of a request asks for.
struct Asked {
    format: Format,
    kinds: Vec<Kind>,
    options: table::Options,
}

/// The fields of the body.
const FIELDS: [&str; 4] = ["format", "types", "names", "bom"];

/// Parses the body of an export. Errors: all field faults.
fn parse_request(body: &Value) -> Result<Asked, Vec<FieldFault>> {
    let Value::Object(members) = body else {
        return Err(vec![FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.")]);
    };
    let mut faults = Vec::new();
    let (mut format, mut kinds, mut options) = (None, Kind::ALL.to_vec(), table::Options::default());
    for (name, value) in members {
        if faults.len() > FAULTS_MAX {
            break;
        }
        match name.as_str() {
            "format" if value.is_null() => (),
            "format" => {
                let words = Format::ALL.map(Format::as_str);
                match parse_word("format", value, &words) {
                    Ok(word) => format = Format::parse(word),
                    Err(fault) => faults.push(fault),
                }
            }
            "types" => match parse_kinds(value) {
                Ok(named) => kinds = named,
                Err(wrong) => faults.extend(wrong),
            },
            "names" => parse_flag(name, value).map_or_else(|fault| faults.push(fault), |is_on| options.names = is_on),
            "bom" => parse_flag(name, value).map_or_else(|fault| faults.push(fault), |is_on| options.bom = is_on),
            _ => {
                let near = nearest(name, FIELDS).map(|near| format!("; did you mean {near}?"));
                let (name, near) = (shorten(name, QUOTED_NAME_MAX), near.as_deref().unwrap_or("."));
                let message = format!("An export has no field {name}{near}");
                faults.push(FieldFault::new(name, FaultCode::UnknownField, message));
            }
        }
    }
    if members.get("format").is_none_or(Value::is_null) {
        faults.push(FieldFault::new("format", FaultCode::Required, "format is required."));
    }
    if format.is_some_and(|format| format != Format::Csv) {
        for (name, is_on) in [("names", options.names), ("bom", options.bom)] {
            if is_on {
                let message = format!("{name} is an option of the format csv.");
                faults.push(FieldFault::new(name, FaultCode::Inconsistent, message));
            }
        }
    }
    match format {
        Some(format) if faults.is_empty() => Ok(Asked { format, kinds, options }),
        _ => Err(faults),
    }
}

/// Parses `types`: the kinds in the order of the contract. Null means all kinds.
fn parse_kinds(value: &Value) -> Result<Vec<Kind>, Vec<FieldFault>> {
    let items = match value {
        Value::Null => return Ok(Kind::ALL.to_vec()),
        Value::Array(items) if items.is_empty() => {
            return Err(vec![FieldFault::new("types", FaultCode::TooShort, "types must name at least one kind.")]);
        }
        Value::Array(items) if items.len() > Kind::ALL.len() => {
            let message = format!("types must have at most {} items: there are no more kinds.", Kind::ALL.len());
            return Err(vec![FieldFault::new("types", FaultCode::TooLong, message)]);
        }
        Value::Array(items) => items,
        _ => return Err(vec![FieldFault::new("types", FaultCode::WrongType, "types must be an array.")]),
    };
    let words = Kind::ALL.map(Kind::as_str);
    let named = items.iter().enumerate().map(|(index, item)| parse_word(&format!("types[{index}]"), item, &words));
    let (mut kinds, mut faults) = (Vec::new(), Vec::new());
    for named in named {
        match named {
            Ok(word) => kinds.extend(Kind::parse(word)),
            Err(fault) => faults.push(fault),
        }
    }
    let kinds = Kind::ALL.into_iter().filter(|kind| kinds.contains(kind)).collect();
    if faults.is_empty() { Ok(kinds) } else { Err(faults) }
}

/// True or false; null means false.
fn parse_flag(name: &str, value: &Value) -> Result<bool, FieldFault> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(is_on) => Ok(*is_on),
        _ => Err(FieldFault::new(name, FaultCode::WrongType, format!("{name} must be true or false."))),
    }
}

fn parse_word<'a>(name: &str, value: &'a Value, words: &[&str]) -> Result<&'a str, FieldFault> {
    let Some(text) = value.as_str() else {
        return Err(FieldFault::new(name, FaultCode::WrongType, format!("{name} must be a string.")));
    };
    if words.contains(&text) {
        return Ok(text);
    }
    let near = nearest(text, words.iter().copied()).map(|near| format!("; did you mean {near}?"));
    let message = format!("{name} must be one of {}{}", words.join(", "), near.as_deref().unwrap_or("."));
    Err(FieldFault::new(name, FaultCode::NotAChoice, message))
}
