//! Questions to the server and what its answers mean, as plain values. Must not know how bytes travel, nor whether to
//! try again.

use hearth_contract::envelope::{Feed, Many, Meta, One};
use hearth_contract::event::Event;
use hearth_contract::headers::{CURRENT_VERSION, IDEMPOTENCY_KEY, LAST_EVENT_ID, SERVICE_API_VERSION};
use hearth_contract::paths;
use hearth_contract::record::{etag, parse_etag};
use hearth_contract::schema::Kind;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::brief;
use super::core::{Expired, Failure, Identity, Limits, Millis, Outcome, Refusal, Standing, Stretch, Word};
use crate::model::{ListedId, ReconcileQuery, ReconcileResponse};
use crate::store::edits::push::Request;

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
    /// Whether the connection broke before the body was whole, of which nothing is kept then.
    pub is_cut: bool,
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
        Ask::events(1, None)
    }

    /// What the feed has after a cursor, or from its beginning.
    pub(super) fn poll(cursor: Option<&str>) -> Ask {
        Ask::events(POLL_EVENTS, cursor)
    }

    /// Whether a cursor is good still. What comes after it, the feed tells.
    pub(super) fn is_good(cursor: Option<&str>) -> Ask {
        Ask::events(1, cursor)
    }

    fn events(limit: u32, cursor: Option<&str>) -> Ask {
        let cursor = cursor.map(|cursor| format!("&cursor={}", encoded(cursor))).unwrap_or_default();
        Ask::get(format!("{}?limit={limit}{cursor}", paths::EVENTS))
    }

    /// The stream after a cursor, or from the feed's beginning. The cursor is in the path too: whoever drops the header on
    /// the way would have it begin at the present, beyond what is not read yet (contract 9.4).
    pub(super) fn stream(cursor: Option<&str>) -> Ask {
        let mut ask = Ask::get(format!("{}?cursor={}", paths::STREAM, encoded(cursor.unwrap_or("start"))));
        ask.headers.push(("accept", "text/event-stream".to_owned()));
        ask.headers.extend(cursor.map(|cursor| (LAST_EVENT_ID, cursor.to_owned())));
        ask
    }

    /// The request of edits.
    pub(super) fn send(request: &Request) -> Ask {
        let mut headers = vec![(IDEMPOTENCY_KEY, request.key.clone())];
        match request.if_match {
            Some(guard) => headers.push(("if-match", etag(guard))),
            // The profile alone is begun by an update. Sent again after the key is forgotten, it must not write over one
            // that somebody has begun meanwhile (RFC 9110 13.1.2).
            None if request.path == paths::PROPERTY
                && !hearth_simulated::planted(hearth_simulated::Fault::IfMatchNotSent) =>
            {
                headers.push(("if-none-match", "*".to_owned()));
            }
            None => {}
        }
        if request.body.is_some() {
            headers.push(("content-type", "application/json".to_owned()));
        }
        Ask { verb: request.verb.clone(), path: request.path.clone(), headers, body: request.body.clone() }
    }

    /// A record of a collection, as the server has it.
    pub(super) fn look(kind: Kind, record: &str) -> Ask {
        Ask::get(format!("{}/{record}", paths::collection(kind)))
    }
}

/// No server is left alone for longer, in milliseconds, whatever it says. What it says is to be honoured, and a quota may be
/// one of the day; more is a slip, which would leave the replica behind for ever.
const RETRY_AFTER_MAX: Millis = 86_400_000;
/// The same in milliseconds where somebody else says it: the way to the server may be free again long before.
const STRANGERS_RETRY_AFTER_MAX: Millis = 60_000;
/// Events of one poll (contract 9.1 allows a thousand).
const POLL_EVENTS: u32 = 500;
/// Records of a list on one page (contract 5).
const PAGE_RECORDS: u32 = 100;

impl Ask {
    /// What a recovery asks for.
    pub(super) fn recover(question: &ReconcileQuery) -> Ask {
        let list = |kind, sort: &str, cursor: &Option<String>| {
            let cursor = cursor.as_ref().map(|cursor| format!("&cursor={}", encoded(cursor))).unwrap_or_default();
            format!("{}?limit={PAGE_RECORDS}&sort={sort}&order=asc{cursor}", paths::collection(kind))
        };
        Ask::get(match question {
            ReconcileQuery::Property => paths::PROPERTY.to_owned(),
            ReconcileQuery::Changes { kind, since, cursor } => {
                let since = since.as_ref().map(|since| format!("&updated_since={since}")).unwrap_or_default();
                list(*kind, "updated_at", cursor) + &since
            }
            ReconcileQuery::Walk { kind, cursor } => list(*kind, "created_at", cursor),
            ReconcileQuery::Ids { kind, cursor } => list(*kind, "created_at", cursor) + "&fields=id,rev",
            ReconcileQuery::Record { kind, id } => format!("{}/{id}", paths::collection(*kind)),
        })
    }
}

/// All that means something in a query, or may be taken for something else on the way; but not what RFC 3986 2.3 reserves
/// nowhere.
const MEANINGFUL: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A cursor as a query carries it: it is opaque (contract 5), so it may hold anything.
fn encoded(cursor: &str) -> PercentEncode<'_> {
    utf8_percent_encode(cursor, MEANINGFUL)
}

/// What a recovery was answered.
pub(super) fn found(question: &ReconcileQuery, answer: &Answer) -> Result<ReconcileResponse, Failure> {
    let next = |meta: Meta| meta.page.filter(|page| page.has_more).and_then(|page| page.next_cursor);
    let no_position = || Failure::NoAnswer("a list without the position that it was read at".to_owned());
    match question {
        ReconcileQuery::Changes { .. } | ReconcileQuery::Walk { .. } => {
            let Many { data: records, meta } = success::<Many<Map<String, Value>>>(answer)?;
            let as_of = meta.as_of.ok_or_else(no_position)?;
            Ok(ReconcileResponse { records, ids: Vec::new(), next_cursor: next(meta), as_of })
        }
        // There are as many of these as a home has records, so they are not read as records.
        ReconcileQuery::Ids { .. } => {
            let Many { data: ids, meta } = success::<Many<ListedId>>(answer)?;
            let as_of = meta.as_of.ok_or_else(no_position)?;
            Ok(ReconcileResponse { records: Vec::new(), ids, next_cursor: next(meta), as_of })
        }
        // When it was deleted, the tail tells.
        ReconcileQuery::Record { .. } if is_not_found(answer) => Ok(ReconcileResponse::default()),
        ReconcileQuery::Property | ReconcileQuery::Record { .. } => {
            let One { data, meta } = success::<One<Option<Map<String, Value>>>>(answer)?;
            Ok(ReconcileResponse {
                records: data.into_iter().collect(),
                ids: Vec::new(),
                next_cursor: None,
                as_of: meta.as_of.ok_or_else(no_position)?,
            })
        }
    }
}

/// Who a key belongs to, of the answer to [`Ask::me`].
pub(super) fn identity(answer: &Answer) -> Result<Identity, Failure> {
    #[derive(Deserialize)]
    struct Me {
        team: Team,
        home: Home,
        scopes: Vec<String>,
        rate_limits: Option<RateLimits>,
    }
    #[derive(Deserialize)]
    #[expect(clippy::struct_field_names, reason = "the contract's words")]
    struct RateLimits {
        reads_per_minute: Option<u32>,
        writes_per_minute: Option<u32>,
        bulk_per_minute: Option<u32>,
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
    let One { data: Me { team, home, scopes, rate_limits }, .. } = success(answer)?;
    let limits = rate_limits.and_then(|limits| {
        let (reads, writes) = (limits.reads_per_minute?, limits.writes_per_minute?);
        Some(Limits { reads, writes, bulk: limits.bulk_per_minute? })
    });
    Ok(Identity { home_id: home.id, home_name: team.name, environment: home.environment, scopes, limits })
}

/// Where the feed stands, of the answer to [`Ask::feed`].
pub(super) fn standing(answer: &Answer) -> Result<Standing, Failure> {
    let page: Many<Value> = success(answer)?;
    let Some(Feed { head, retention_seconds, .. }) = page.meta.feed else { return Ok(Standing::default()) };
    let retention_seconds = retention_seconds.and_then(|seconds| i64::try_from(seconds).ok());
    Ok(Standing { head: Some(head), retention_seconds })
}

/// What a poll of the feed brought. Where nothing is said of the feed, a page without more ends at the present.
pub(super) fn polled(answer: &Answer) -> Result<Stretch, Failure> {
    let Many { data: events, meta } = success::<Many<Event>>(answer)?;
    let cursor = meta.page.as_ref().and_then(|page| page.next_cursor.clone());
    let more = meta.page.is_some_and(|page| page.has_more);
    let end = || events.last().map_or(0, |last| last.id);
    let ready = (!more).then(|| meta.feed.map_or_else(end, |feed| feed.head));
    Ok(Stretch { events, cursor, ready })
}

/// What came of one edit's request. Err: nothing that makes sense.
pub(super) fn outcome(answer: &Answer) -> Result<Word, String> {
    if answer.status >= 500 && hearth_simulated::planted(hearth_simulated::Fault::ServerErrorIsSuccess) {
        return Ok(Word::Accepted { rev: None });
    }
    if !(200..300).contains(&answer.status) {
        return match failure_of_edits(answer) {
            Failure::Refused(refusal) => Ok(Word::Refused(refusal)),
            Failure::NoAnswer(reason) => Err(reason),
        };
    }
    let rev = answer.etag.as_deref().and_then(parse_etag);
    match success::<One<Option<Map<String, Value>>>>(answer) {
        // The answers to a delete and to a change of nothing have no rev; the position at which it was given will do: the
        // feed passes it later.
        Ok(One { data, meta }) => {
            let told = || data?.get("rev")?.as_i64();
            Ok(Word::Accepted { rev: rev.or_else(told).or(meta.as_of) })
        }
        // The status came, so the write is in; but without its position we could not tell when the feed passes it. A whole
        // page of a stranger may have an ETag of digits too.
        Err(_) if answer.is_cut && rev.is_some() => Ok(Word::Accepted { rev }),
        Err(failure) => Err(failure.to_string()),
    }
}

/// What came of a bulk call, for each of the edits it carried; these are named by their records (contract 7).
pub(super) fn outcomes(answer: &Answer, edits: &[(i64, String)]) -> Outcome {
    #[derive(Deserialize)]
    struct Operation {
        status: u16,
        id: Option<String>,
        data: Option<Data>,
        #[serde(default)]
        error: Value,
    }
    #[derive(Deserialize)]
    struct Data {
        rev: Option<i64>,
    }
    if !(200..300).contains(&answer.status) {
        return match failure_of_edits(answer) {
            Failure::Refused(refusal) => Outcome::Refused(refusal),
            Failure::NoAnswer(reason) => Outcome::NoAnswer { reason },
        };
    }
    let One { data: operations, meta } = match success::<One<Vec<Operation>>>(answer) {
        Ok(one) => one,
        Err(failure) => return Outcome::NoAnswer { reason: failure.to_string() },
    };
    let mut words = Vec::with_capacity(edits.len());
    for (place, (edit, record)) in edits.iter().enumerate() {
        // In their order, unless some were settled since.
        let mut of_it =
            operations.get(place).into_iter().chain(&operations).filter(|it| it.id.as_ref() == Some(record));
        let Some(Operation { status, data, error, .. }) = of_it.next() else {
            return Outcome::NoAnswer { reason: format!("the answer does not speak of the record {record}") };
        };
        words.push((
            *edit,
            match status {
                200..300 => Word::Accepted { rev: data.as_ref().and_then(|data| data.rev).or(meta.as_of) },
                status => Word::Refused(refused(*status, error.clone())),
            },
        ));
    }
    Outcome::Told(words)
}

/// A record, or None when the server has none of that id.
pub(super) fn record(answer: &Answer) -> Result<Option<Map<String, Value>>, Failure> {
    if is_not_found(answer) {
        return Ok(None);
    }
    success::<One<Map<String, Value>>>(answer).map(|one| Some(one.data))
}

fn success<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failure> {
    if !(200..300).contains(&answer.status) {
        return Err(failure(answer));
    }
    serde_json::from_slice(&answer.body).map_err(|error| {
        let why = match error.classify() {
            Category::Syntax => "the answer is no JSON".to_owned(),
            Category::Eof => "the answer ends too early".to_owned(),
            Category::Io | Category::Data => error.to_string(),
        };
        Failure::NoAnswer(brief::sentence(&format!("it does not answer as a Hearth server: {why}")))
    })
}

/// The same of an answer to edits. Something on the way may forbid the text of one of them, and nothing else.
fn failure_of_edits(answer: &Answer) -> Failure {
    match answer.status {
        401 | 403 => Failure::Refused(refusal(answer)),
        _ => failure(answer),
    }
}

/// Why an answer is no success. Who does not speak as a Hearth server does, as a network's sign-in page, has refused
/// nothing, and no key; only what asks for patience is taken from anyone.
fn failure(answer: &Answer) -> Failure {
    let refusal = refusal(answer);
    let asks_for_patience = matches!(answer.status, 408 | 429 | 500..);
    let counts = hearth_simulated::planted(hearth_simulated::Fault::ForeignAnswerAccepted);
    if refusal.kind.is_empty() && !asks_for_patience && !counts {
        return Failure::NoAnswer(format!("{}, and not as a Hearth server does", refusal.message));
    }
    Failure::Refused(refusal)
}

/// Whether the server says that it has no such record. A 404 may be of the path as well, and says nothing of it then.
fn is_not_found(answer: &Answer) -> bool {
    answer.status == 404 && refusal(answer).kind == "not_found"
}

/// An error answer.
pub(super) fn refusal(answer: &Answer) -> Refusal {
    let problem =
        serde_json::from_slice::<Value>(&answer.body).ok().and_then(|mut body| Some(body.get_mut("error")?.take()));
    let refusal = refused(answer.status, problem.unwrap_or(Value::Null));
    let most = if refusal.kind.is_empty() { STRANGERS_RETRY_AFTER_MAX } else { RETRY_AFTER_MAX };
    let retry_after = answer.retry_after.as_deref().and_then(|seconds| seconds.parse::<i64>().ok());
    Refusal { retry_after: retry_after.map(|seconds| seconds.saturating_mul(1000).clamp(0, most)), ..refusal }
}

fn refused(status: u16, problem: Value) -> Refusal {
    let word = |name: &str| problem.get(name)?.as_str().map(brief::sentence);
    Refusal {
        status,
        kind: word("type").unwrap_or_default(),
        message: word("message").unwrap_or_else(|| match status {
            200..300 => "the answer is no stream".to_owned(),
            401 | 403 => format!("something between here and the server answers with {status}"),
            _ => format!("the server answered {status}"),
        }),
        expired: problem.get("details").filter(|_| status == 410).and_then(expired),
        problem: brief::problem(problem),
        retry_after: None,
    }
}

fn expired(details: &Value) -> Option<Expired> {
    Some(Expired {
        restored: details.get("reason")?.as_str()? == "restored",
        resume: details.get("resume_cursor")?.as_str()?.to_owned(),
        fork: details.get("fork").and_then(Value::as_i64),
    })
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
        let accepted = |rev| Ok(Word::Accepted { rev: Some(rev) });
        assert_eq!(outcome(&whole), accepted(7));
        let delete = answer(200, r#"{"data":{"id":"x","deleted":true},"meta":{"as_of":9}}"#);
        assert_eq!(outcome(&delete), accepted(9));
        // The profile of a home that has none is not made by a change of nothing (contract 10).
        assert_eq!(outcome(&answer(200, r#"{"data":null,"meta":{"as_of":9}}"#)), accepted(9));
        let cut = Answer { etag: Some("\"7\"".into()), is_cut: true, ..answer(201, "{\"da") };
        assert_eq!(outcome(&cut), accepted(7));
        assert!(outcome(&Answer { etag: cut.etag, ..answer(200, "<html>") }).is_err());
        assert!(outcome(&answer(200, "{\"da")).is_err());
    }

    #[test]
    fn who_does_not_speak_as_the_server_does_has_refused_nothing() {
        for status in [302, 400, 404, 409, 410, 412, 422, 451] {
            let page = answer(status, "<html>Sign in to this network</html>");
            let reason = outcome(&page).unwrap_err();
            assert_eq!(reason, format!("the server answered {status}, and not as a Hearth server does"));
            assert_eq!(outcomes(&page, &[(1, "x".to_owned())]), Outcome::NoAnswer { reason });
            assert!(matches!(record(&page), Err(Failure::NoAnswer(_))));
            let question = ReconcileQuery::Record { kind: Kind::Room, id: "x".to_owned() };
            assert!(matches!(found(&question, &page), Err(Failure::NoAnswer(_))));
        }
        // These only ask for patience, whoever says them.
        assert!(matches!(outcome(&answer(502, "<html>")), Ok(Word::Refused(_))));
        let gone = answer(404, r#"{"error":{"type":"not_found","message":"There is none."}}"#);
        assert_eq!(record(&gone), Ok(None));
        assert!(matches!(outcome(&gone), Ok(Word::Refused(_))));
        let no_route = answer(404, r#"{"error":{"type":"route_not_found","message":"There is no such route."}}"#);
        assert!(matches!(record(&no_route), Err(Failure::Refused(_))), "of the record it says nothing");
        let question = ReconcileQuery::Record { kind: Kind::Room, id: "x".to_owned() };
        assert!(matches!(found(&question, &no_route), Err(Failure::Refused(_))));
    }

    #[test]
    fn where_a_stream_goes_on_is_said_in_its_path_too() {
        let ask = Ask::stream(Some("c1"));
        assert_eq!(ask.path, "/v1/events/stream?cursor=c1", "for whoever drops the header on the way");
        assert!(ask.headers.contains(&("last-event-id", "c1".to_owned())), "{ask:?}");
        assert_eq!(Ask::stream(None).path, "/v1/events/stream?cursor=start");
    }

    #[test]
    fn a_cursor_comes_back_as_it_was_whatever_it_holds() {
        let cursor = "p+1/2=&x=1#%41 é-._~";
        let query = "cursor=p%2B1%2F2%3D%26x%3D1%23%2541%20%C3%A9-._~";
        let list = |question| Ask::recover(&question).path;
        for path in [
            Ask::poll(Some(cursor)).path,
            Ask::stream(Some(cursor)).path,
            list(ReconcileQuery::Ids { kind: Kind::Room, cursor: Some(cursor.to_owned()) }),
            list(ReconcileQuery::Changes { kind: Kind::Room, since: None, cursor: Some(cursor.to_owned()) }),
            list(ReconcileQuery::Walk { kind: Kind::Room, cursor: Some(cursor.to_owned()) }),
        ] {
            assert!(path.contains(query), "{path}");
        }
        assert!(Ask::poll(Some("c1")).path.ends_with("cursor=c1"), "what is plain stays so");
    }

    #[test]
    fn where_nothing_is_said_of_the_feed_a_page_without_more_ends_at_the_present() {
        let event = r#"{"id":9,"type":"deleted","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","payload":null,"created_at":"2026-06-01T00:00:00.000Z"}"#;
        let ready = |events: &str, meta: &str| {
            polled(&answer(200, &format!(r#"{{"data":[{events}],"meta":{{{meta}}}}}"#))).unwrap().ready
        };
        let page = |more: bool| format!(r#""page":{{"next_cursor":"c9","has_more":{more}}}"#);
        let feed = r#","feed":{"head":12,"oldest":1,"retention_seconds":null}"#;
        assert_eq!(ready(event, &(page(false) + feed)), Some(12));
        assert_eq!(ready(event, &(page(true) + feed)), None);
        assert_eq!(ready(event, &page(false)), Some(9));
        assert_eq!(ready(event, &page(true)), None);
        assert!(ready("", &page(false)).is_some(), "or it would be asked again without any pause");
    }

    #[test]
    fn a_stranger_who_forbids_it_refuses_no_key() {
        for status in [401, 403] {
            let page = answer(status, "<html>Sign in to this network</html>");
            let Err(Failure::NoAnswer(reason)) = identity(&page) else { panic!("{status} is taken for a refusal") };
            assert!(reason.contains("between") && reason.contains(&status.to_string()), "{reason}");
            assert!(matches!(polled(&page), Err(Failure::NoAnswer(_))));
            let question = ReconcileQuery::Record { kind: Kind::Room, id: "x".to_owned() };
            assert!(matches!(found(&question, &page), Err(Failure::NoAnswer(_))));
            // It may be the text of this edit that it does not let through.
            let Ok(Word::Refused(refusal)) = outcome(&page) else { panic!("{status}") };
            assert_eq!((refusal.kind.as_str(), refusal.message.contains("between")), ("", true), "{refusal:?}");
            let refused = answer(status, r#"{"error":{"type":"invalid_api_key","message":"No such key."}}"#);
            assert!(matches!(identity(&refused), Err(Failure::Refused(_))));
        }
    }

    #[test]
    fn a_stranger_asks_for_a_short_pause_at_most() {
        let pause = |body| refusal(&Answer { retry_after: Some("1800".into()), ..answer(503, body) }).retry_after;
        assert_eq!(pause("<html>Maintenance</html>"), Some(60_000));
        assert_eq!(pause(r#"{"error":{"type":"unavailable","message":"Later."}}"#), Some(1_800_000));
    }

    #[test]
    fn nobody_says_more_than_is_worth_keeping() {
        let long = "x".repeat(5_000_000);
        let body = format!(r#"{{"error":{{"type":"validation_failed","message":"{long}","details":{{}}}}}}"#);
        let refused = refusal(&answer(422, &body));
        assert_eq!((refused.message.chars().count(), refused.kind.as_str()), (1001, "validation_failed"));
        assert!(refused.problem.to_string().len() < 2000);
        // What cannot be read is told with its words too.
        let odd = format!(r#"{{"data":{{"team":"{long}"}},"meta":{{}}}}"#);
        let Err(Failure::NoAnswer(reason)) = identity(&answer(200, &odd)) else { panic!("it is none") };
        assert!(reason.len() < 2000);
    }

    #[test]
    fn a_refusal_keeps_the_servers_words() {
        let body = r#"{"error":{"type":"rate_limited","message":"Too many.","fix":"Wait.","doc_url":"u","details":{}},"meta":{"request_id":"req_1"}}"#;
        let refusal = refusal(&Answer { retry_after: Some("12".into()), ..answer(429, body) });
        assert_eq!((refusal.kind.as_str(), refusal.message.as_str()), ("rate_limited", "Too many."));
        assert_eq!((refusal.retry_after, &refusal.problem["fix"]), (Some(12_000), &Value::from("Wait.")));
        assert_eq!(super::refusal(&answer(502, "<html>")).message, "the server answered 502");
        for (said, pause) in
            [("7200", 7_200_000), ("31536000", 86_400_000), ("9223372036854775807", 86_400_000), ("-5", 0)]
        {
            let refusal = super::refusal(&Answer { retry_after: Some(said.into()), ..answer(503, body) });
            assert_eq!(refusal.retry_after, Some(pause), "{said}");
        }
    }
}
