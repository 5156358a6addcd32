//! Questions to the server and what its answers mean, as plain values. Must not know how bytes travel, nor whether to
//! try again.

use hearth_contract::envelope::{ErrorAnswer, Feed, Many, One};
use hearth_contract::headers::{CURRENT_VERSION, IDEMPOTENCY_KEY, LAST_EVENT_ID, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::record::parse_etag;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::core::{Failure, Identity, Outcome, Refusal, Standing};
use crate::store::push::Request;

/// One question: a request without the server's address and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The HTTP method.
    pub verb: String,
    /// The path with its query.
    pub path: String,
    /// Headers by lower-case name, besides address, key and what every question carries.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON text.
    pub body: Option<String>,
}

/// One answer, read to its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// `ETag`.
    pub etag: Option<String>,
    /// `Retry-After`, in seconds.
    pub retry_after: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// What every question to the API carries: the version whose words this crate speaks.
pub(super) const VERSION: (&str, &str) = (SERVICE_API_VERSION, CURRENT_VERSION);

impl Ask {
    fn get(path: impl Into<String>) -> Ask {
        Ask { verb: "GET".to_owned(), path: path.into(), headers: Vec::new(), body: None }
    }

    /// Who the key belongs to.
    pub(super) fn me() -> Ask {
        Ask::get(paths::ME)
    }

    /// Where the feed stands.
    pub(super) fn feed() -> Ask {
        Ask::get(format!("{}?limit=1", paths::EVENTS))
    }

    /// The stream after a cursor, or from the feed's beginning.
    pub(super) fn stream(cursor: Option<&str>) -> Ask {
        let mut ask = Ask::get(paths::STREAM);
        ask.headers.push(("accept", "text/event-stream".to_owned()));
        match cursor {
            Some(cursor) => ask.headers.push((LAST_EVENT_ID, cursor.to_owned())),
            None => ask.path.push_str("?cursor=start"),
        }
        ask
    }

    /// An edit's request.
    pub(super) fn send(request: &Request) -> Ask {
        let mut headers = vec![(IDEMPOTENCY_KEY, request.key.clone())];
        if request.body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        Ask { verb: request.verb.clone(), path: request.path.clone(), headers, body: request.body.clone() }
    }

    /// The record of an edit's request, as the server has it.
    pub(super) fn look(request: &Request) -> Ask {
        Ask::get(format!("{}/{}", paths::collection(request.record.0), request.record.1))
    }
}

/// Who a key belongs to, of the answer to [`Ask::me`].
pub(super) fn identity(answer: &Answer) -> Result<Identity, Failure> {
    #[derive(Deserialize)]
    struct Me {
        team: Team,
        home: Home,
        scopes: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Team {
        name: String,
    }
    #[derive(Deserialize)]
    struct Home {
        id: String,
        environment: String,
    }
    let One { data: Me { team, home, scopes }, .. } = success(answer)?;
    Ok(Identity { home_id: home.id, home_name: team.name, environment: home.environment, scopes })
}

/// Where the feed stands, of the answer to [`Ask::feed`].
pub(super) fn standing(answer: &Answer) -> Result<Standing, Failure> {
    let page: Many<Value> = success(answer)?;
    let Some(Feed { head, retention_seconds, .. }) = page.meta.feed else { return Ok(Standing::default()) };
    let retention_seconds = retention_seconds.and_then(|seconds| i64::try_from(seconds).ok());
    Ok(Standing { head: Some(head), retention_seconds })
}

/// What came of an edit's request.
pub(super) fn outcome(answer: &Answer) -> Outcome {
    if !(200..300).contains(&answer.status) {
        return Outcome::Refused(refusal(answer));
    }
    let rev = answer.etag.as_deref().and_then(parse_etag);
    match success::<One<Map<String, Value>>>(answer) {
        // A delete's answer has no rev; the position at which it was given will do: the feed passes it later.
        Ok(One { data, meta }) => Outcome::Accepted { rev: rev.or_else(|| data.get("rev")?.as_i64()).or(meta.as_of) },
        // The status came, so the write is in; but without its position we could not tell when the feed passes it.
        Err(_) if rev.is_some() => Outcome::Accepted { rev },
        Err(failure) => Outcome::NoAnswer { reason: failure.to_string() },
    }
}

/// A record, or None when the server has none of that id.
pub(super) fn record(answer: &Answer) -> Result<Option<Map<String, Value>>, Failure> {
    if answer.status == 404 {
        return Ok(None);
    }
    success::<One<Map<String, Value>>>(answer).map(|one| Some(one.data))
}

fn success<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(Failure::Refused(refusal(answer)));
    }
    serde_json::from_slice(&answer.body)
        .map_err(|error| Failure::NoAnswer(format!("it does not answer as a Hearth server: {error}")))
}

/// An error answer.
pub(super) fn refusal(answer: &Answer) -> Refusal {
    let problem = serde_json::from_slice::<Value>(&answer.body)
        .ok()
        .and_then(|mut body| Some(body.get_mut("error")?.take()))
        .unwrap_or(Value::Null);
    let body = serde_json::from_slice::<ErrorAnswer>(&answer.body).ok().map(|answer| answer.error);
    let retry_after = answer.retry_after.as_deref().and_then(|seconds| seconds.parse::<i64>().ok());
    Refusal {
        status: answer.status,
        kind: body.as_ref().map(|body| body.kind.clone()).unwrap_or_default(),
        message: body
            .as_ref()
            .map_or_else(|| format!("the server answered {}", answer.status), |body| body.message.clone()),
        reason: body.and_then(|body| body.details.get("reason")?.as_str().map(str::to_owned)),
        problem,
        retry_after: retry_after.map(|seconds| seconds.saturating_mul(1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, body: body.as_bytes().to_vec(), ..Answer::default() }
    }

    #[test]
    fn a_write_is_in_once_its_position_is_known() {
        let whole = answer(200, r#"{"data":{"id":"x","rev":7},"meta":{}}"#);
        assert_eq!(outcome(&whole), Outcome::Accepted { rev: Some(7) });
        let delete = answer(200, r#"{"data":{"id":"x","deleted":true},"meta":{"as_of":9}}"#);
        assert_eq!(outcome(&delete), Outcome::Accepted { rev: Some(9) });
        let cut = Answer { etag: Some("\"7\"".into()), ..answer(201, "{\"da") };
        assert_eq!(outcome(&cut), Outcome::Accepted { rev: Some(7) });
        assert!(matches!(outcome(&answer(200, "{\"da")), Outcome::NoAnswer { .. }));
    }

    #[test]
    fn a_refusal_keeps_the_servers_words() {
        let body = r#"{"error":{"type":"rate_limited","message":"Too many.","fix":"Wait.","doc_url":"u","details":{}},"meta":{"request_id":"req_1"}}"#;
        let refusal = refusal(&Answer { retry_after: Some("12".into()), ..answer(429, body) });
        assert_eq!((refusal.kind.as_str(), refusal.message.as_str()), ("rate_limited", "Too many."));
        assert_eq!((refusal.retry_after, &refusal.problem["fix"]), (Some(12_000), &Value::from("Wait.")));
        assert_eq!(super::refusal(&answer(502, "<html>")).message, "the server answered 502");
    }
}
