//! Reads error responses (contract 12). Must not decide what follows from a refusal.

use hearth_contract::problem::ProblemType;
use serde_json::Value;

use super::message::HttpResponse;
use crate::sync::core::{ErrorType, Expired, Failure, Millis, Refusal};
use crate::sync::excerpt;

/// Longest `Retry-After` of the server that is honoured, in milliseconds: a day, for a daily quota. A longer pause would
/// leave the replica behind because of a mistake.
const RETRY_AFTER_MAX: Millis = 86_400_000;
/// Longest `Retry-After` of a proxy that is honoured, in milliseconds.
const PROXY_RETRY_AFTER_MAX: Millis = 60_000;

/// The refusal in an error response.
pub(in crate::sync) fn refusal(response: &HttpResponse) -> Refusal {
    let body = serde_json::from_slice::<Value>(&response.body).ok();
    let problem = body.and_then(|mut body| Some(body.get_mut("error")?.take()));
    let refusal = operation_refusal(response.status, problem.unwrap_or(Value::Null));
    let limit = if refusal.is_from_server() { RETRY_AFTER_MAX } else { PROXY_RETRY_AFTER_MAX };
    let retry_after = response.retry_after.as_deref().and_then(|seconds| seconds.parse::<i64>().ok());
    Refusal { retry_after: retry_after.map(|seconds| seconds.saturating_mul(1000).clamp(0, limit)), ..refusal }
}

/// The refusal for a status and an error object; also of one operation in a bulk call.
pub(super) fn operation_refusal(status: u16, problem: Value) -> Refusal {
    let text = |name: &str| problem.get(name)?.as_str().map(excerpt::sentence);
    Refusal {
        status,
        error_type: ErrorType::parse(&text("type").unwrap_or_default()),
        message: text("message").unwrap_or_else(|| match status {
            200..300 => "the answer is no stream".to_owned(),
            401 | 403 => format!("something between here and the server answers with {status}"),
            _ => format!("the server answered {status}"),
        }),
        expired: problem.get("details").filter(|_| status == 410).and_then(expired),
        problem: excerpt::problem(problem),
        retry_after: None,
    }
}

/// Details of an expired cursor (contract 9.3). None: the details are incomplete.
fn expired(details: &Value) -> Option<Expired> {
    Some(Expired {
        restored: details.get("reason")?.as_str()? == "restored",
        resume: details.get("resume_cursor")?.as_str()?.to_owned(),
        fork: details.get("fork").and_then(Value::as_i64),
    })
}

/// Why a response is no success. A page of a proxy or of a network's sign-in refuses nothing; only a request for patience
/// (408, 429, 5xx) is accepted from anyone.
pub(super) fn failure(response: &HttpResponse) -> Failure {
    let refusal = refusal(response);
    let asks_for_patience = matches!(response.status, 408 | 429 | 500..);
    let is_accepted = hearth_simulated::planted(hearth_simulated::PlantedFault::ForeignAnswerAccepted);
    if !refusal.is_from_server() && !asks_for_patience && !is_accepted {
        return Failure::NoAnswer(format!("{}, and not as a Hearth server does", refusal.message));
    }
    Failure::Refused(refusal)
}

/// Why a response to edits is no success. A 401 or 403 of a proxy counts too: the proxy may object to the text of one edit.
pub(in crate::sync) fn edit_failure(response: &HttpResponse) -> Failure {
    match response.status {
        401 | 403 => Failure::Refused(refusal(response)),
        _ => failure(response),
    }
}

/// Whether the server has no such record. Any other 404 concerns the path and tells nothing about the record.
pub(super) fn is_not_found(response: &HttpResponse) -> bool {
    response.status == 404 && refusal(response).error_type == ErrorType::Known(ProblemType::NotFound)
}
