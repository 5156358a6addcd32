//! `POST /v1/{collection}/bulk`: up to 50 commands in one transaction, each with its own result (contract 7).

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Guard, Revs};
use hearth_contract::formats::parse_id;
use hearth_contract::problem::{
    FAULTS_MAX, FaultCode, FieldFault, NAME_SHOWN, Problem, ProblemType, nearest, shortened,
};
use hearth_contract::record::parse_etag;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::records::{as_of_meta, once};
use crate::home::apply::{Outcome, Verdict, not_found};
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::random::fresh_id;

/// Operations in one call.
pub const OPERATIONS_MAX: usize = 50;
/// What an operation can do.
const METHODS: [&str; 3] = ["create", "update", "delete"];

/// One operation: what it is called, the id it names, written as ids are, and what it asks for. Err: what it names
/// cannot exist.
struct Operation {
    method: &'static str,
    id: Option<String>,
    command: Result<Command, Problem>,
}

/// Carries out the operations in order.
pub async fn run(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let operations = read(kind, &call.body);
    let now = call.app.clock.now();
    once(call, move |writing, wording| {
        let operations = match operations {
            Ok(operations) => operations,
            Err(faults) => {
                let problem = Problem::validation(&faults);
                return Ok((wording.problem(&problem), Some(problem.kind)));
            }
        };
        let count = operations.len();
        let mut results = Vec::with_capacity(count);
        // What one answer tells at most is for all operations together, and each has something to tell.
        let mut tells = FAULTS_MAX;
        for (index, operation) in operations.into_iter().enumerate() {
            let Operation { method, id, command } = operation;
            let verdict = match command {
                Ok(command) => writing.apply(command, &mut || fresh_id(now))?,
                Err(problem) => Err(problem),
            };
            let verdict = verdict.map_err(|problem| problem.telling_at_most(tells - (count - 1 - index)));
            tells -= verdict.as_ref().err().map_or(0, Problem::faults).max(1);
            results.push(result(index, method, id, verdict, &wording.base_url));
        }
        Ok((wording.one(207, &format!("[{}]", results.join(",")), &as_of_meta(writing.as_of())), None))
    })
    .await
}

/// One result as finished JSON: the record's text goes in as it is stored.
fn result(index: usize, method: &str, asked: Option<String>, verdict: Verdict, base_url: &str) -> String {
    let one = |status: u16, id: Value, member: &str, text: &str| {
        format!(r#"{{"index":{index},"method":"{method}","status":{status},"id":{id},"{member}":{text}}}"#)
    };
    let asked = asked.map_or(Value::Null, Value::from);
    match verdict {
        Ok(Outcome::Created(id, image)) => one(201, id.to_string().into(), "data", &image.json),
        Ok(Outcome::Stands(image)) => one(200, asked, "data", image.as_ref().map_or("null", |image| &image.json)),
        Ok(Outcome::Gone(id)) => {
            one(200, id.to_string().into(), "data", &json!({ "id": id, "deleted": true }).to_string())
        }
        Err(problem) => one(problem.kind.status(), asked, "error", &problem.to_value(base_url).to_string()),
    }
}

/// The operations of a body, or everything that is wrong with its form. What is wrong with a record's fields is for
/// the operation's own result.
fn read(kind: Kind, body: &Value) -> Result<Vec<Operation>, Vec<FieldFault>> {
    let Some(members) = body.as_object() else {
        return Err(vec![FieldFault::new("", FaultCode::WrongType, "The body must be a JSON object.")]);
    };
    let others = members.keys().filter(|name| *name != "operations");
    let mut faults: Vec<FieldFault> = others
        .take(FAULTS_MAX + 1)
        .map(|name| FieldFault::new(name, FaultCode::UnknownField, "A bulk call has the one member operations."))
        .collect();
    let mut fault = |code, rule: &str| faults.push(FieldFault::new("operations", code, format!("operations {rule}")));
    let operations = match members.get("operations") {
        Some(Value::Array(operations)) => operations.as_slice(),
        None => {
            fault(FaultCode::Required, "is required.");
            &[]
        }
        Some(_) => {
            fault(FaultCode::WrongType, "must be an array.");
            &[]
        }
    };
    match operations.len() {
        0 if members.get("operations").is_some_and(Value::is_array) => {
            fault(FaultCode::TooShort, "must have at least one operation.");
        }
        0..=OPERATIONS_MAX => (),
        // So many are not looked through.
        _ => {
            fault(FaultCode::TooLong, "must have at most 50 operations.");
            return Err(faults);
        }
    }
    let mut found = Vec::with_capacity(operations.len());
    for (index, operation) in operations.iter().enumerate() {
        let at = format!("operations[{index}]");
        match operation.as_object() {
            None => faults.push(FieldFault::new(&at, FaultCode::WrongType, format!("{at} must be an object."))),
            Some(members) => found.extend(read_one(kind, &at, members, &mut faults)),
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

fn read_one(kind: Kind, at: &str, members: &Map<String, Value>, faults: &mut Vec<FieldFault>) -> Option<Operation> {
    let known = faults.len();
    let mut fault = |member: &str, code, rule: &str| {
        faults.push(FieldFault::new(format!("{at}.{member}"), code, format!("{at}.{member} {rule}")));
    };
    let method = match members.get("method") {
        None => {
            fault("method", FaultCode::Required, "is required.");
            ""
        }
        Some(Value::String(word)) => match METHODS.into_iter().find(|method| method == word) {
            Some(method) => method,
            None => {
                let near = nearest(word, METHODS).map(|near| format!("; did you mean {near}?")).unwrap_or(".".into());
                fault("method", FaultCode::NotAChoice, &format!("must be one of {}{near}", METHODS.join(", ")));
                ""
            }
        },
        Some(_) => {
            fault("method", FaultCode::WrongType, "must be a string.");
            ""
        }
    };
    let only = match members.get("if_match") {
        None | Some(Value::Null) => None,
        // `3.0` is an integer, as in JSON Schema.
        Some(Value::Number(rev)) if rev.as_f64().is_some_and(|rev| rev.fract() == 0.0) => {
            Some(Revs::These(rev.as_i64().or(rev.as_f64().map(|rev| rev as i64)).into_iter().collect()))
        }
        Some(Value::String(tag)) if tag == "*" => Some(Revs::Any),
        Some(Value::String(tag)) if parse_etag(tag).is_some() => {
            Some(Revs::These(parse_etag(tag).into_iter().collect()))
        }
        Some(_) => {
            fault("if_match", FaultCode::WrongType, "must be a revision or a quoted ETag.");
            None
        }
    };
    let id = match members.get("id") {
        None | Some(Value::Null) if !matches!(method, "update" | "delete") => None,
        None | Some(Value::Null) => {
            fault("id", FaultCode::Required, "is required.");
            None
        }
        Some(Value::String(id)) => Some(spelt(id)),
        Some(_) if !matches!(method, "update" | "delete") => None,
        Some(_) => {
            fault("id", FaultCode::WrongType, "must be a string.");
            None
        }
    };
    let nested = members.get("data").and_then(|data| data.get("id")).filter(|id| method == "create" && !id.is_null());
    if nested.is_some() && members.get("id").is_some_and(|id| !id.is_null()) {
        fault("data.id", FaultCode::Inconsistent, "and the id beside data cannot both be sent.");
    }
    // What was asked for by either form is what the result is about.
    let id = id.or_else(|| nested.and_then(Value::as_str).map(spelt));
    let is_field = |name: &str| !matches!(name, "method" | "id" | "if_match" | "data");
    let mut fields: Map<String, Value> =
        members.iter().filter(|(name, _)| is_field(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    match members.get("data") {
        None => (),
        Some(Value::Object(_)) if !fields.is_empty() => {
            fault("data", FaultCode::Inconsistent, "and fields beside it cannot both be sent.");
        }
        Some(Value::Object(data)) => fields = data.clone(),
        Some(_) => fault("data", FaultCode::WrongType, "must be an object."),
    }
    if faults.len() > known {
        return None;
    }
    Some(Operation {
        method,
        command: command(kind, method, members.get("id"), fields, Guard { only, unless: None }),
        id,
    })
}

/// An id as ids are written; what is none stays as it was sent.
fn spelt(id: &str) -> String {
    parse_id(id).map_or_else(|| id.to_owned(), |id| id.to_string())
}

fn command(
    kind: Kind,
    method: &str,
    id: Option<&Value>,
    mut fields: Map<String, Value>,
    guard: Guard,
) -> Result<Command, Problem> {
    if method == "create" {
        if !guard.admits(None) {
            let message = "A record that is to be made has no revision yet.";
            let fix = "Leave if_match out; a create with an id is applied at most once.";
            return Err(Problem::new(ProblemType::PreconditionFailed, message).with("rev", Value::Null).fixed_by(fix));
        }
        if let Some(id) = id.filter(|id| !id.is_null()) {
            fields.insert("id".to_owned(), id.clone());
        }
        return Ok(Command::Create { kind, body: check(kind, Intent::Create, &Value::Object(fields)) });
    }
    let text = id.and_then(Value::as_str).unwrap_or_default();
    let id: Uuid = parse_id(text).ok_or_else(|| not_found(kind, format_args!("`{}`", shortened(text, NAME_SHOWN))))?;
    if method == "update" {
        return Ok(Command::Update {
            kind,
            id: Some(id),
            body: check(kind, Intent::Patch, &Value::Object(fields)),
            guard,
        });
    }
    let faults: Vec<FieldFault> = fields
        .keys()
        .take(FAULTS_MAX + 1)
        .map(|name| FieldFault::new(name, FaultCode::UnknownField, "A delete has no fields."))
        .collect();
    if faults.is_empty() { Ok(Command::Delete { kind, id, guard }) } else { Err(Problem::validation(&faults)) }
}
