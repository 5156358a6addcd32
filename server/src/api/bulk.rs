//! `POST /v1/{collection}/bulk`: up to 50 commands in one transaction, each with its own result (contract 7). Must not
//! know how a command is carried out.

use hearth_contract::check::{Intent, check};
use hearth_contract::command::{Command, Preconditions, RevMatch};
use hearth_contract::formats::{Timestamp, parse_date, parse_id};
use hearth_contract::problem::{
    FAULTS_MAX, FaultCode, FieldFault, Problem, ProblemType, QUOTED_NAME_MAX, nearest, shorten,
};
use hearth_contract::record::parse_etag;
use hearth_contract::recurrence::ANCHOR;
use hearth_contract::schema::Kind;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::records::{as_of_meta, write_once};
use super::refilling::is_refilling;
use crate::home::apply::{AsSent, WriteOutcome, WriteResult, not_found};
use crate::http::bodies::BULK_OPERATIONS_MAX;
use crate::http::call::Call;
use crate::http::reply::{Refusal, Reply};
use crate::random::fresh_id;

/// The method of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Create,
    Update,
    Delete,
}

impl Method {
    const ALL: [Method; 3] = [Method::Create, Method::Update, Method::Delete];

    const fn as_str(self) -> &'static str {
        match self {
            Method::Create => "create",
            Method::Update => "update",
            Method::Delete => "delete",
        }
    }

    fn parse(word: &str) -> Option<Method> {
        Method::ALL.into_iter().find(|method| method.as_str() == word)
    }
}

/// One operation. `id` is the id of the result; `command` is an error if the named record cannot exist.
struct Operation {
    method: Method,
    id: Option<String>,
    command: Result<Command, Problem>,
    /// The computed values of a create, in a home that the key refills.
    as_sent: Option<AsSent>,
}

/// Carries out the operations in order.
pub async fn run(call: Call) -> Result<Reply, Refusal> {
    let kind = call.kind()?;
    let now = call.app.clock.now();
    let (number, key) = (call.principal.key.home, call.principal.key.id.clone());
    let is_refill = call.app.db.read_inline(move |tx| is_refilling(tx, number, &key, now)).await?;
    let operations = parse_operations(kind, &call.body, is_refill);
    write_once(call, move |writing, context| {
        let operations = match operations {
            Ok(operations) => operations,
            Err(faults) => {
                let problem = Problem::validation(&faults);
                return Ok((context.problem_reply(&problem), Some(problem.kind)));
            }
        };
        let count = operations.len();
        let mut results = Vec::with_capacity(count);
        // The limit of reported field faults applies to the whole response, and each operation reports at least one
        // entry.
        let mut faults_left = FAULTS_MAX;
        for (index, operation) in operations.into_iter().enumerate() {
            let Operation { method, id, command, as_sent } = operation;
            let verdict = match (command, as_sent) {
                (Ok(command), None) => writing.apply(command, &mut || fresh_id(now))?,
                (Ok(command), Some(as_sent)) => writing.apply_as_sent(command, as_sent, &mut || fresh_id(now))?,
                (Err(problem), _) => Err(problem),
            };
            let verdict = verdict.map_err(|problem| problem.limit_faults(faults_left - (count - 1 - index)));
            faults_left -= verdict.as_ref().err().map_or(0, Problem::fault_count).max(1);
            results.push(result_json(index, method, id, verdict, &context.base_url));
        }
        Ok((context.data_reply(207, &format!("[{}]", results.join(",")), &as_of_meta(writing.as_of())), None))
    })
    .await
}

/// The result of one operation as JSON text. The stored text of the record is copied unchanged.
fn result_json(index: usize, method: Method, asked: Option<String>, verdict: WriteResult, base_url: &str) -> String {
    let method = method.as_str();
    let one = |status: u16, id: Value, member: &str, text: &str| {
        format!(r#"{{"index":{index},"method":"{method}","status":{status},"id":{id},"{member}":{text}}}"#)
    };
    let asked = asked.map_or(Value::Null, Value::from);
    match verdict {
        Ok(WriteOutcome::Created(id, image)) => one(201, id.to_string().into(), "data", &image.json),
        Ok(WriteOutcome::Current(image)) => one(200, asked, "data", image.as_ref().map_or("null", |image| &image.json)),
        Ok(WriteOutcome::Deleted(id)) => {
            one(200, id.to_string().into(), "data", &json!({ "id": id, "deleted": true }).to_string())
        }
        Err(problem) => one(problem.kind.status(), asked, "error", &problem.to_value(base_url).to_string()),
    }
}

/// Parses the operations of a body. Errors: all mistakes in the form of the body. A mistake in the fields of a record
/// is an error of its own operation.
/// `is_refill`: creates carry the computed values of a lost home.
fn parse_operations(kind: Kind, body: &Value, is_refill: bool) -> Result<Vec<Operation>, Vec<FieldFault>> {
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
        0..=BULK_OPERATIONS_MAX => (),
        // Too many operations are not examined.
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
            Some(members) => found.extend(parse_operation(kind, &at, members, is_refill, &mut faults)),
        }
    }
    if faults.is_empty() { Ok(found) } else { Err(faults) }
}

/// Parses one operation. None: the form is wrong, and `faults` has all mistakes. `at` is the place in the body, for
/// example `operations[3]`.
fn parse_operation(
    kind: Kind,
    at: &str,
    members: &Map<String, Value>,
    is_refill: bool,
    faults: &mut Vec<FieldFault>,
) -> Option<Operation> {
    let faults_before = faults.len();
    let mut report = Report { at, faults };
    let method = parse_method(members, &mut report);
    let only = parse_if_match(members, &mut report);
    let id = parse_record_id(members, method, &mut report);
    let mut fields = parse_fields(members, &mut report);
    let as_sent = match is_refill && method == Some(Method::Create) {
        true => take_as_sent(&mut fields, &mut report),
        false => None,
    };
    if faults.len() > faults_before {
        return None;
    }
    let (method, preconditions) = (method?, Preconditions { if_match: only, if_none_match: None });
    let command = build_command(kind, method, members.get("id"), fields, preconditions);
    Some(Operation { method, command, id, as_sent })
}

/// Takes the computed values of a create out of its fields: elsewhere they are read-only. None: the create has no
/// `created_at`, so it is an ordinary one.
fn take_as_sent(fields: &mut Map<String, Value>, report: &mut Report<'_>) -> Option<AsSent> {
    let sent = fields.shift_remove("created_at")?;
    let created_at = sent.as_str().and_then(Timestamp::parse);
    if created_at.is_none() {
        report.add("created_at", FaultCode::InvalidFormat, "must be an RFC 3339 date-time.");
    }
    let anchor = fields.shift_remove(ANCHOR);
    if anchor.as_ref().is_some_and(|anchor| !anchor.is_null() && anchor.as_str().and_then(parse_date).is_none()) {
        report.add(ANCHOR, FaultCode::InvalidFormat, "must be a date.");
    }
    Some(AsSent { created_at: created_at?, anchor })
}

/// Collects the mistakes of one operation.
struct Report<'a> {
    at: &'a str,
    faults: &'a mut Vec<FieldFault>,
}

impl Report<'_> {
    fn add(&mut self, member: &str, code: FaultCode, rule: &str) {
        let at = self.at;
        self.faults.push(FieldFault::new(format!("{at}.{member}"), code, format!("{at}.{member} {rule}")));
    }
}

fn parse_method(members: &Map<String, Value>, report: &mut Report<'_>) -> Option<Method> {
    match members.get("method") {
        None => report.add("method", FaultCode::Required, "is required."),
        Some(Value::String(word)) => match Method::parse(word) {
            Some(method) => return Some(method),
            None => {
                let words = Method::ALL.map(Method::as_str);
                let near = nearest(word, words).map(|near| format!("; did you mean {near}?")).unwrap_or(".".into());
                report.add("method", FaultCode::NotAChoice, &format!("must be one of {}{near}", words.join(", ")));
            }
        },
        Some(_) => report.add("method", FaultCode::WrongType, "must be a string."),
    }
    None
}

/// The precondition of an operation: a revision, an ETag, or `*` for every revision.
fn parse_if_match(members: &Map<String, Value>, report: &mut Report<'_>) -> Option<RevMatch> {
    match members.get("if_match") {
        None | Some(Value::Null) => None,
        // `3.0` is an integer in JSON Schema.
        Some(Value::Number(rev)) if rev.as_f64().is_some_and(|rev| rev.fract() == 0.0) => {
            Some(RevMatch::OneOf(rev.as_i64().or(rev.as_f64().map(|rev| rev as i64)).into_iter().collect()))
        }
        Some(Value::String(tag)) if tag == "*" => Some(RevMatch::Any),
        Some(Value::String(tag)) if parse_etag(tag).is_some() => {
            Some(RevMatch::OneOf(parse_etag(tag).into_iter().collect()))
        }
        Some(_) => {
            report.add("if_match", FaultCode::WrongType, "must be a revision or a quoted ETag.");
            None
        }
    }
}

/// The id of the result. A create may have its id beside `data` or inside, but not both.
fn parse_record_id(members: &Map<String, Value>, method: Option<Method>, report: &mut Report<'_>) -> Option<String> {
    let needs_id = matches!(method, Some(Method::Update | Method::Delete));
    let id = match members.get("id") {
        Some(Value::String(id)) => Some(normalized_id(id)),
        None | Some(Value::Null) if needs_id => {
            report.add("id", FaultCode::Required, "is required.");
            None
        }
        Some(_) if needs_id => {
            report.add("id", FaultCode::WrongType, "must be a string.");
            None
        }
        _ => None,
    };
    let nested = members.get("data").and_then(|data| data.get("id"));
    let nested = nested.filter(|id| method == Some(Method::Create) && !id.is_null());
    if nested.is_some() && members.get("id").is_some_and(|id| !id.is_null()) {
        report.add("data.id", FaultCode::Inconsistent, "and the id beside data cannot both be sent.");
    }
    id.or_else(|| nested.and_then(Value::as_str).map(normalized_id))
}

/// The fields of the record: either all inside `data`, or all beside `method`.
fn parse_fields(members: &Map<String, Value>, report: &mut Report<'_>) -> Map<String, Value> {
    let is_field = |name: &str| !matches!(name, "method" | "id" | "if_match" | "data");
    let beside: Map<String, Value> =
        members.iter().filter(|(name, _)| is_field(name)).map(|(name, value)| (name.clone(), value.clone())).collect();
    match members.get("data") {
        None => (),
        Some(Value::Object(_)) if !beside.is_empty() => {
            report.add("data", FaultCode::Inconsistent, "and fields beside it cannot both be sent.");
        }
        Some(Value::Object(data)) => return data.clone(),
        Some(_) => report.add("data", FaultCode::WrongType, "must be an object."),
    }
    beside
}

/// A valid id in canonical form. An invalid id stays unchanged.
fn normalized_id(id: &str) -> String {
    parse_id(id).map_or_else(|| id.to_owned(), |id| id.to_string())
}

/// The command of an operation. Error: no record can have the id, or a precondition or field does not fit the method.
fn build_command(
    kind: Kind,
    method: Method,
    id: Option<&Value>,
    mut fields: Map<String, Value>,
    preconditions: Preconditions,
) -> Result<Command, Problem> {
    if method == Method::Create {
        if !preconditions.admits(None) {
            let message = "A record that is to be made has no revision yet.";
            let fix = "Leave if_match out; a create with an id is applied at most once.";
            return Err(Problem::new(ProblemType::PreconditionFailed, message).with("rev", Value::Null).with_fix(fix));
        }
        if let Some(id) = id.filter(|id| !id.is_null()) {
            fields.insert("id".to_owned(), id.clone());
        }
        return Ok(Command::Create { kind, body: check(kind, Intent::Create, &Value::Object(fields)) });
    }
    let text = id.and_then(Value::as_str).unwrap_or_default();
    let id: Uuid =
        parse_id(text).ok_or_else(|| not_found(kind, format_args!("`{}`", shorten(text, QUOTED_NAME_MAX))))?;
    if method == Method::Update {
        return Ok(Command::Update {
            kind,
            id: Some(id),
            body: check(kind, Intent::Patch, &Value::Object(fields)),
            preconditions,
        });
    }
    let faults: Vec<FieldFault> = fields
        .keys()
        .take(FAULTS_MAX + 1)
        .map(|name| FieldFault::new(name, FaultCode::UnknownField, "A delete has no fields."))
        .collect();
    if faults.is_empty() { Ok(Command::Delete { kind, id, preconditions }) } else { Err(Problem::validation(&faults)) }
}
