//! `PUT /v1/smart-add/{id}/drafts/{name}`: a client's own draft beside those of the reader (contract 22). It is a proposal: no record is
//! written. Must not know how drafts are accepted.

use hearth_contract::check::{Fields, Intent, check, check_subject, references};
use hearth_contract::problem::{FaultCode, FieldFault, Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::capture_bodies::{DRAFT_KINDS, Faults};
use super::capture_json::capture_json;
use super::captures::{exists, job_id, lost, not_found};
use super::once::{home_full, once};
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::store::captures::{self, Capture, Purpose};
use crate::store::stored_files::{self, FileHash};
use crate::store::{HomeNumber, StoreError, Tx, homes};

/// Drafts of clients of one job, at most (contract 22).
const SUGGESTIONS_MAX: usize = 8;
/// Characters of the name of a draft, at most.
const NAME_MAX: usize = 40;
/// The names of drafts of the reader. A page and a replica tell drafts of a job apart by their names.
const NAMES_OF_THE_READER: [&str; 3] = ["item", "vehicle", "document"];
/// Characters of the text of an evidence, at most.
const TEXT_MAX: usize = 500;
/// The words of `from`.
const SOURCES: [&str; 5] = ["text", "code", "exif", "home", "equation"];
/// The words of `confidence`: only a rule of the reader makes a value certain.
const CONFIDENCES: [&str; 2] = ["likely", "guess"];
/// The members of an evidence.
const EVIDENCE: [&str; 6] = ["from", "file", "page", "box", "text", "confidence"];
/// Pages of a file.
const PAGES_MAX: u64 = 10_000;

/// A draft of a client.
struct Suggestion {
    kind: Kind,
    id: Option<Uuid>,
    fields: Fields,
    evidence: Map<String, Value>,
}

/// `PUT /v1/smart-add/{id}/drafts/{name}`.
pub async fn put_smart_add(call: Call) -> Result<Reply, Refusal> {
    put(call, Purpose::SmartAdd).await
}

/// `PUT /v1/extract/{id}/drafts/{name}`.
pub async fn put_extract(call: Call) -> Result<Reply, Refusal> {
    put(call, Purpose::Extract).await
}

async fn put(call: Call, purpose: Purpose) -> Result<Reply, Refusal> {
    let (id, name) = (job_id(&call)?, name(&call)?);
    let parsed = parse(&call.body);
    if let Ok(Suggestion { kind, .. }) = &parsed {
        call.principal.require_scope(&format!("{}:write", kind.collection()))?;
    }
    once(call, move |tx, call, home, _| {
        let refuse = |problem: Problem| Ok((call.context.problem_reply(&problem), Some(problem.kind)));
        let suggestion = match parsed {
            Ok(suggestion) => suggestion,
            Err(faults) => return refuse(Problem::validation(&faults)),
        };
        let Some(job) = captures::find(tx, home, purpose, id)? else { return refuse(not_found(id)) };
        if !job.status.is_open() {
            return refuse(ended(&job));
        }
        let faults = missing(tx, home, &job, &suggestion)?;
        if !faults.is_empty() {
            return refuse(Problem::validation(&faults));
        }
        let mut all: Map<String, Value> = serde_json::from_str(&job.suggestions).unwrap_or_default();
        all.insert(name.clone(), draft_json(&name, &suggestion));
        if all.len() > SUGGESTIONS_MAX {
            return refuse(too_many(all.len() - 1));
        }
        captures::set_suggestions(tx, &job, &Value::Object(all).to_string())?;
        let limit = call.app.config.home_bytes_max;
        if homes::used_bytes(tx, home)? > limit {
            tx.roll_back();
            return refuse(home_full(limit));
        }
        let job = captures::find(tx, home, purpose, id)?.ok_or_else(|| lost(id))?;
        Ok((call.context.data_reply(200, &capture_json(tx, &job, &call.principal)?.to_string(), ""), None))
    })
    .await
}

/// The name in the path. Error: `not_found` for a malformed name, and for a name of the reader's own drafts.
fn name(call: &Call) -> Result<String, Problem> {
    let text = call.name.as_deref().unwrap_or_default();
    let is_sign = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == b'-';
    let is_free = !NAMES_OF_THE_READER.contains(&text);
    if (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_sign) && is_free {
        return Ok(text.to_owned());
    }
    let message = format!("`{}` cannot name a draft.", shorten(text, QUOTED_NAME_MAX));
    let fix = match is_free {
        true => format!("Choose a name of 1 to {NAME_MAX} signs: small letters a to z, digits, hyphens."),
        false => format!("The reader's own draft has this name. Choose another, such as {text}-by-me."),
    };
    Err(Problem::new(ProblemType::NotFound, message).with_fix(fix))
}

fn parse(body: &Value) -> Result<Suggestion, Vec<FieldFault>> {
    let mut faults = Faults::default();
    let members = faults.members(body, &["type", "id", "fields", "evidence"])?;
    let kind = faults.kind(members, "type", &DRAFT_KINDS);
    let id = faults.id(members, "id");
    faults.require(members, "type");
    faults.require(members, "fields");
    let fields = kind.and_then(|kind| Some(checked(kind, id, members.get("fields")?, &mut faults)));
    let evidence = match members.get("evidence") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(evidence)) => evidence.clone(),
        Some(_) => {
            faults.add("evidence", FaultCode::WrongType, "evidence must be an object.");
            Map::new()
        }
    };
    let evidence = evidence.into_iter().map(|(field, value)| {
        let value = parse_evidence(&field, &value, fields.as_ref(), &mut faults);
        (field, value)
    });
    let evidence = evidence.collect();
    faults.or(kind.zip(fields).map(|(kind, fields)| Suggestion { kind, id, fields, evidence }))
}

/// The fields of a draft. Required fields may be missing: a person completes them.
fn checked(kind: Kind, id: Option<Uuid>, fields: &Value, faults: &mut Faults) -> Fields {
    let mut checked = check(kind, Intent::Patch, fields);
    if id.is_none() {
        check_subject(kind, &checked.fields, &mut checked.faults);
    }
    let within = |fault: FieldFault| {
        let field = if fault.field.is_empty() { "fields".to_owned() } else { format!("fields.{}", fault.field) };
        FieldFault::new(field, fault.code, fault.message)
    };
    faults.extend(checked.faults.into_iter().map(within));
    checked.fields
}

/// The evidence of one field, complete.
fn parse_evidence(field: &str, value: &Value, fields: Option<&Fields>, faults: &mut Faults) -> Value {
    let path = |member: &str| format!("evidence.{field}{}{member}", if member.is_empty() { "" } else { "." });
    if fields.is_some_and(|fields| !fields.contains_key(field)) {
        faults.add(path(""), FaultCode::UnknownField, format!("There is no field {field} in fields."));
        return Value::Null;
    }
    let Value::Object(members) = value else {
        faults.add(path(""), FaultCode::WrongType, format!("evidence.{field} must be an object."));
        return Value::Null;
    };
    for (member, value) in members {
        let is_right = match member.as_str() {
            _ if value.is_null() => true,
            "from" => value.as_str().is_some_and(|word| SOURCES.contains(&word)),
            "confidence" => value.as_str().is_some_and(|word| CONFIDENCES.contains(&word)),
            "file" => value.as_str().and_then(FileHash::parse).is_some(),
            "page" => value.as_u64().is_some_and(|page| page < PAGES_MAX),
            "box" => value.as_array().is_some_and(|sides| sides.len() == 4 && sides.iter().all(is_part)),
            "text" => value.as_str().is_some_and(|text| text.chars().count() <= TEXT_MAX),
            _ => false,
        };
        if !is_right {
            let (code, rule) = rule(member);
            faults.add(path(member), code, format!("{} {rule}", path(member)));
        }
    }
    let given = |member: &str| members.get(member).cloned().unwrap_or_default();
    let or = |member: &str, preset: Value| Some(given(member)).filter(|value| !value.is_null()).unwrap_or(preset);
    json!({
        "from": or("from", "text".into()), "file": given("file"), "page": or("page", 0.into()), "box": given("box"),
        "text": or("text", "".into()), "confidence": or("confidence", "guess".into()), "rivals": [],
    })
}

/// A part of the width or height of a page.
fn is_part(value: &Value) -> bool {
    value.as_f64().is_some_and(|part| (0.0..=1.0).contains(&part))
}

/// What a member of an evidence must be.
fn rule(member: &str) -> (FaultCode, String) {
    match member {
        "from" => (FaultCode::NotAChoice, format!("must be one of {}.", SOURCES.join(", "))),
        "confidence" => (FaultCode::NotAChoice, format!("must be one of {}.", CONFIDENCES.join(", "))),
        "file" => (FaultCode::InvalidFormat, "must be the SHA-256 of a file of the job.".to_owned()),
        "page" => (FaultCode::InvalidFormat, "must be the number of a page, from 0.".to_owned()),
        "box" => (FaultCode::InvalidFormat, "must be four numbers from 0 to 1.".to_owned()),
        "text" => (FaultCode::InvalidFormat, format!("must be a string of at most {TEXT_MAX} characters.")),
        _ => (FaultCode::UnknownField, format!("is unknown; what is known here: {}.", EVIDENCE.join(", "))),
    }
}

/// A fault for each record and file that a draft names and the home, or the job, does not have.
fn missing(tx: &Tx<'_>, home: HomeNumber, job: &Capture, draft: &Suggestion) -> Result<Vec<FieldFault>, StoreError> {
    let mut faults = Vec::new();
    let mut fault = |field: String, message: String| faults.push(FieldFault::new(field, FaultCode::NotFound, message));
    if let Some(id) = draft.id
        && !exists(tx, home, draft.kind, id)?
    {
        fault("id".to_owned(), format!("id names no {} of this home.", draft.kind));
    }
    for (field, kind, id) in references(draft.kind, &draft.fields) {
        if !exists(tx, home, kind, id)? {
            fault(format!("fields.{}", field.name), format!("{} names no {kind} of this home.", field.name));
        }
    }
    let named = draft.fields.get("file_sha256").and_then(Value::as_str).and_then(FileHash::parse);
    if let Some(hash) = named
        && stored_files::find(tx, home, &hash)?.is_none()
    {
        fault("fields.file_sha256".to_owned(), "file_sha256 names no file of this home.".to_owned());
    }
    for (field, evidence) in &draft.evidence {
        let file = evidence["file"].as_str().and_then(FileHash::parse);
        if file.is_some_and(|file| !job.files.contains(&file)) {
            fault(format!("evidence.{field}.file"), format!("evidence.{field}.file names no file of the job."));
        }
    }
    Ok(faults)
}

fn draft_json(name: &str, suggestion: &Suggestion) -> Value {
    json!({
        "name": name, "source": "agent", "type": suggestion.kind.as_str(), "id": suggestion.id,
        "fields": suggestion.fields, "evidence": suggestion.evidence, "matches": [],
    })
}

fn ended(job: &Capture) -> Problem {
    let status = job.status.as_str();
    Problem::new(ProblemType::NotFound, format!("The job is {status}, so it takes no drafts."))
        .with("status", status)
        .with_fix("List the jobs with status=ready to find those that wait for a person.")
}

fn too_many(known: usize) -> Problem {
    Problem::new(ProblemType::TooManyJobs, format!("The job has {known} drafts of clients, which is the most."))
        .with("limit", SUGGESTIONS_MAX)
        .with_fix("Replace one of them: PUT a draft under its name.")
}
