//! Checks the parts of a request before any use: sizes, Host, Accept, Content-Type, body, Idempotency-Key, conditions.
//! Must not know the order of the checks, nor the meaning of a path.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{
    ACCEPT, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, IF_MATCH, IF_NONE_MATCH, TRANSFER_ENCODING,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Version};
use bytes::Bytes;
use hearth_contract::headers::{IDEMPOTENCY_KEY, idempotency_key};
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use http_body::Body as _;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Value;

use super::accept;
use super::bodies::{BODY_MAX, RequestBody};
use super::connection::Peer;
use super::headers::header_value;
use super::json;
use super::route::Route;

/// Largest request target, in bytes.
const TARGET_MAX: usize = 8 * 1024;
/// Largest sum of header names and values in bytes, and the greatest number of header lines.
const HEADERS_MAX: (usize, usize) = (32 * 1024, 100);

/// Refuses a target or headers over the limits.
pub(super) fn check_size(parts: &Parts) -> Result<(), Problem> {
    let target = parts.uri.path_and_query().map_or(0, |target| target.as_str().len());
    if target > TARGET_MAX {
        return Err(Problem::new(ProblemType::UriTooLong, format!("The request target has {target} bytes.")));
    }
    let size: usize = parts.headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if size > HEADERS_MAX.0 || parts.headers.len() > HEADERS_MAX.1 {
        let message = format!("The request has {} header lines with {size} bytes.", parts.headers.len());
        return Err(Problem::new(ProblemType::HeadersTooLarge, message));
    }
    Ok(())
}

/// Refuses a request over a socket without exactly one valid Host header (RFC 9112 3.2), because two proxies could pick
/// different hosts. HTTP/1.0 has no such header. Over HTTP/2 the header holds the authority of the request.
pub(super) fn check_host(parts: &Parts) -> Result<(), Problem> {
    if parts.version < Version::HTTP_11 || parts.extensions.get::<Peer>().is_none() {
        return Ok(());
    }
    let mut hosts = parts.headers.get_all(HOST).iter();
    let message = match (hosts.next(), hosts.next()) {
        (None, _) => "The request has no Host header.",
        (Some(host), None) if host.to_str().is_ok_and(is_host) => return Ok(()),
        (Some(_), None) => "The Host header is no name or address, perhaps with a port.",
        (Some(_), Some(_)) => "The request has several Host headers.",
    };
    let sent = header_value(&parts.headers, HOST).unwrap_or_default();
    Err(Problem::parameter("Host", &sent, None, message)
        .with_fix("Send one Host header with the name and port of the service."))
}

/// Whether a text is `host [":" port]`. The empty text is the host of a target without an authority.
fn is_host(text: &str) -> bool {
    let is_port = |rest: &str| {
        rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()))
    };
    let well_formed = |whole: Authority| !text.contains('@') && text.strip_prefix(whole.host()).is_some_and(is_port);
    // Most hosts pass this quick check of letters; the others need the full parser.
    let name = text.bytes().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-')).count();
    text.is_empty() || (name > 0 && is_port(&text[name..])) || text.parse().is_ok_and(well_formed)
}

/// Refuses a body in another transfer coding than `chunked` (RFC 9112 6.1): the pieces would be taken for the body.
pub(super) fn check_transfer_coding(headers: &HeaderMap) -> Result<(), Problem> {
    match header_value(headers, TRANSFER_ENCODING) {
        Some(coding) if !coding.trim().eq_ignore_ascii_case("chunked") => {
            let coding = shorten(&coding, QUOTED_NAME_MAX);
            let message = format!("A body with Transfer-Encoding {coding} is not read.");
            Err(Problem::new(ProblemType::NotImplemented, message))
        }
        _ => Ok(()),
    }
}

/// Negotiates the media type of the response. Error: `not_acceptable`.
pub(super) fn check_accept(route: &Route, headers: &HeaderMap) -> Result<&'static str, Problem> {
    let given = route.response_body.media();
    if route.response_body.ignores_accept() {
        return Ok(given[0]);
    }
    if let Some(media) = accept::choose_media_type(header_value(headers, ACCEPT).as_deref(), given) {
        return Ok(media);
    }
    let given = given.join(" or ");
    let problem =
        Problem::new(ProblemType::NotAcceptable, format!("This path answers {given}, which Accept excludes."));
    Err(problem.with_fix(format!("Accept {given}, or send no Accept header.")))
}

/// Refuses a body with a media type or encoding that the route does not read.
pub(super) fn check_content_type(route: &Route, headers: &HeaderMap) -> Result<(), Problem> {
    let accepted = route.request_body.media();
    let refuse = |message: String| {
        let fix = format!("Send the body with `Content-Type: {}` and no Content-Encoding.", accepted.join("` or `"));
        Err(Problem::new(ProblemType::UnsupportedMediaType, message).with_fix(fix))
    };
    if let Some(encoding) = header_value(headers, CONTENT_ENCODING) {
        return refuse(format!("A body with Content-Encoding {encoding} is not read."));
    }
    let sent = header_value(headers, CONTENT_TYPE).unwrap_or_default();
    let media = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if accepted.contains(&media.as_str()) || route.request_body == RequestBody::File {
        return Ok(());
    }
    refuse(if media.is_empty() {
        "The body has no Content-Type.".to_owned()
    } else {
        format!("A body of type {media} is not read.")
    })
}

/// Refuses a precondition on a write without a revision to compare, and a condition that is malformed. A client that
/// sends a condition relies on its check.
pub(super) fn check_conditions(route: &Route, headers: &HeaderMap) -> Result<(), Problem> {
    if !route.is_write() && !route.is_conditional() {
        return Ok(());
    }
    let sent = |(name, header)| Some((name, header_value(headers, header)?));
    let mut sent = [("If-Match", IF_MATCH), ("If-None-Match", IF_NONE_MATCH)].into_iter().filter_map(sent);
    if route.is_guarded() || route.is_conditional() {
        let Some((name, value)) = sent.find(|(_, value)| !is_etag_list(value)) else { return Ok(()) };
        let message = format!("{name} is neither * nor a list of quoted ETags.");
        let fix = format!("Send the record's ETag as it came, with its quotes: {name}: \"3\".");
        return Err(Problem::parameter(name, &value, None, message).with_fix(fix));
    }
    let Some((name, value)) = sent.next() else { return Ok(()) };
    let message = format!("{name} has no revision to be held to here.");
    let fix =
        format!("Leave {name} out; a create with an id is applied at most once, as is one with an Idempotency-Key.");
    Err(Problem::parameter(name, &value, None, message).with_fix(fix))
}

/// The texts that [`is_etag_list`] accepts, as a regular expression for the description of the API.
pub(crate) const ETAG_LIST_PATTERN: &str =
    r#"^[ \t]*(\*|[ \t,]*(W/)?"[!#-~]*"([ \t]*,[ \t,]*(W/)?"[!#-~]*")*[ \t,]*)[ \t]*$"#;

/// Whether a text is `*` or a list of ETags (RFC 9110 5.6.1.2, 8.8.3, 13.1.1). List items may be empty, and a tag may
/// contain commas, but no space.
fn is_etag_list(text: &str) -> bool {
    if text.trim() == "*" {
        return true;
    }
    let between = [' ', '\t', ','];
    let mut rest = text.trim_start_matches(between);
    loop {
        let tag = rest.strip_prefix("W/").unwrap_or(rest).strip_prefix('"').and_then(|open| open.split_once('"'));
        let Some((name, after)) = tag else { return false };
        if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return false;
        }
        rest = after.trim_start_matches(between);
        match (rest.is_empty(), after.trim_start().starts_with(',')) {
            (true, _) => return true,
            (false, true) => {}
            (false, false) => return false,
        }
    }
}

/// Reads the body of a request; empty for a route without a body. Errors: `unsupported_media_type`, and those of
/// [`collect_body`]. A DELETE without a body may have any Content-Type, which some client libraries always send.
pub(super) async fn read_body(
    route: &Route,
    body: Body,
    headers: &HeaderMap,
    time_max: Duration,
) -> Result<Bytes, Problem> {
    let is_optional = match route.request_body {
        RequestBody::None => return Ok(Bytes::new()),
        RequestBody::Empty | RequestBody::Form => true,
        _ => false,
    };
    let announced = body.size_hint().exact();
    if is_optional && announced == Some(0) {
        return Ok(Bytes::new());
    }
    // Only its end shows whether a body of unknown length is there.
    let is_unknown = is_optional && announced.is_none();
    if !is_unknown {
        check_content_type(route, headers)?;
    }
    let read = collect_body(body, headers, route.request_body.bytes_max(), time_max).await;
    if is_unknown && !read.as_ref().is_ok_and(Bytes::is_empty) {
        check_content_type(route, headers)?;
    }
    read
}

/// Parses a body. Null stands for the absent body of a route that takes none. Errors: `invalid_json`, or
/// `invalid_request` for a DELETE whose body is not `{}` (contract 6.3).
pub(super) fn parse_body(route: &Route, bytes: &[u8]) -> Result<Value, Problem> {
    match route.request_body {
        RequestBody::None | RequestBody::File | RequestBody::Import | RequestBody::Multipart => Ok(Value::Null),
        RequestBody::Empty if bytes.is_empty() => Ok(Value::Null),
        RequestBody::Empty => match json::parse_body(bytes)? {
            Value::Object(members) if members.is_empty() => Ok(Value::Null),
            other => {
                let message = "A DELETE takes no fields: its body must be {} or absent.";
                Err(Problem::parameter("body", &other.to_string(), None, message).with_fix("Leave the body out."))
            }
        },
        _ => json::parse_body(bytes),
    }
}

/// Reads a whole body. Errors: `payload_too_large`, `request_timeout`, or `invalid_json` for a body that breaks off.
async fn collect_body(body: Body, headers: &HeaderMap, bytes_max: usize, time_max: Duration) -> Result<Bytes, Problem> {
    let limit = if bytes_max == BODY_MAX { "1 MiB".to_owned() } else { format!("{} KiB", bytes_max / 1024) };
    let too_large = || Problem::new(ProblemType::PayloadTooLarge, format!("The body is over {limit}."));
    let announced = header_value(headers, CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    if announced.is_some_and(|length| length > bytes_max) {
        return Err(too_large());
    }
    match tokio::time::timeout(time_max, Limited::new(body, bytes_max).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(ProblemType::InvalidJson, "The body broke off.")),
        Err(_) => {
            let message = format!("The body did not arrive within {} s.", time_max.as_secs_f32());
            Err(Problem::new(ProblemType::RequestTimeout, message))
        }
    }
}

/// The key in the header `Idempotency-Key` of a write. None: the header is absent, or the route does not accept a key.
pub(super) fn parse_idempotency_key<'a>(route: &Route, headers: &'a HeaderMap) -> Result<Option<&'a str>, Problem> {
    if !route.takes_ticket() {
        return Ok(None);
    }
    let mut values = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().and_then(idempotency_key).filter(|_| values.next().is_none());
    let Some(key) = key else {
        let message = "Idempotency-Key must be one value of 1 to 255 visible ASCII characters.";
        return Err(Problem::parameter("Idempotency-Key", &String::from_utf8_lossy(value.as_bytes()), None, message));
    };
    Ok(Some(key))
}
