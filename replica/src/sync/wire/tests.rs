//! Requests and responses of the wire, by example.

use hearth_contract::problem::ProblemType;
use hearth_contract::schema::Kind;
use serde_json::Value;

use super::*;
use crate::model::ReconcileQuery;
use crate::sync::core::{BatchEnd, ErrorType, Failure};

fn response(status: u16, body: &str) -> HttpResponse {
    HttpResponse { status, body: body.as_bytes().to_vec(), ..HttpResponse::default() }
}

fn record_query() -> ReconcileQuery {
    ReconcileQuery::Record { kind: Kind::Room, id: "x".to_owned() }
}

#[test]
fn write_is_accepted_once_its_position_is_known() {
    let complete = response(200, r#"{"data":{"id":"x","rev":7},"meta":{}}"#);
    let accepted = |rev| Ok(Some(rev));
    assert_eq!(edit_answer(&complete), accepted(7));
    let delete = response(200, r#"{"data":{"id":"x","deleted":true},"meta":{"as_of":9}}"#);
    assert_eq!(edit_answer(&delete), accepted(9));
    // An empty change does not create the profile (contract 10).
    assert_eq!(edit_answer(&response(200, r#"{"data":null,"meta":{"as_of":9}}"#)), accepted(9));
    let cut = HttpResponse { etag: Some("\"7\"".into()), is_cut: true, ..response(201, "{\"da") };
    assert_eq!(edit_answer(&cut), accepted(7));
    assert!(edit_answer(&HttpResponse { etag: cut.etag, ..response(200, "<html>") }).is_err());
    assert!(edit_answer(&response(200, "{\"da")).is_err());
}

#[test]
fn foreign_page_refuses_nothing() {
    for status in [302, 400, 404, 409, 410, 412, 422, 451] {
        let page = response(status, "<html>Sign in to this network</html>");
        let reason = edit_answer(&page).unwrap_err().to_string();
        assert_eq!(reason, format!("the server answered {status}, and not as a Hearth server does"));
        assert_eq!(edit_answer(&page), Err(Failure::NoAnswer(reason.clone())));
        assert_eq!(bulk_answers(&page, &[(1, "x".to_owned())]), Err(Failure::NoAnswer(reason)));
        assert!(matches!(record(&page), Err(Failure::NoAnswer(_))));
        assert!(matches!(reconcile_response(&record_query(), &page), Err(Failure::NoAnswer(_))));
    }
    // A 502 only asks for patience, also from a proxy.
    assert!(matches!(edit_answer(&response(502, "<html>")), Err(Failure::Refused(_))));
}

#[test]
fn only_not_found_means_a_missing_record() {
    let gone = response(404, r#"{"error":{"type":"not_found","message":"There is none."}}"#);
    assert_eq!(record(&gone), Ok(None));
    assert!(matches!(edit_answer(&gone), Err(Failure::Refused(_))));
    let no_route = response(404, r#"{"error":{"type":"route_not_found","message":"There is no such route."}}"#);
    assert!(matches!(record(&no_route), Err(Failure::Refused(_))));
    assert!(matches!(reconcile_response(&record_query(), &no_route), Err(Failure::Refused(_))));
}

#[test]
fn stream_cursor_is_in_path_and_header() {
    let request = HttpRequest::stream(Some("c1"));
    assert_eq!(request.path, "/v1/events/stream?cursor=c1", "a proxy may drop the header");
    assert!(request.headers.contains(&("last-event-id", "c1".to_owned())), "{request:?}");
    assert_eq!(HttpRequest::stream(None).path, "/v1/events/stream?cursor=start");
}

#[test]
fn cursor_is_percent_encoded_in_every_path() {
    let cursor = "p+1/2=&x=1#%41 é-._~";
    let query = "cursor=p%2B1%2F2%3D%26x%3D1%23%2541%20%C3%A9-._~";
    let list = |query| HttpRequest::reconcile(&query).path;
    for path in [
        HttpRequest::poll(Some(cursor)).path,
        HttpRequest::stream(Some(cursor)).path,
        list(ReconcileQuery::Ids { kind: Kind::Room, cursor: Some(cursor.to_owned()) }),
        list(ReconcileQuery::List { kind: Kind::Room, since: Some(String::new()), cursor: Some(cursor.to_owned()) }),
        list(ReconcileQuery::List { kind: Kind::Room, since: None, cursor: Some(cursor.to_owned()) }),
    ] {
        assert!(path.contains(query), "{path}");
    }
    assert!(HttpRequest::poll(Some("c1")).path.ends_with("cursor=c1"), "plain characters stay");
}

#[test]
fn last_page_reaches_the_present_without_a_head() {
    let event = r#"{"id":9,"type":"deleted","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","payload":null,"created_at":"2026-06-01T00:00:00.000Z"}"#;
    let end = |events: &str, meta: &str| {
        poll_batch(&response(200, &format!(r#"{{"data":[{events}],"meta":{{{meta}}}}}"#))).unwrap().end
    };
    let present = |head| BatchEnd::Present { head };
    let page = |more: bool| format!(r#""page":{{"next_cursor":"c9","has_more":{more}}}"#);
    let feed = r#","feed":{"head":12,"oldest":1,"retention_seconds":null}"#;
    assert_eq!(end(event, &(page(false) + feed)), present(Some(12)));
    assert_eq!(end(event, &(page(true) + feed)), BatchEnd::More);
    assert_eq!(end(event, &page(false)), present(Some(9)));
    assert_eq!(end(event, &page(true)), BatchEnd::More);
    assert_eq!(end("", &page(false)), present(None), "or the poll would be repeated without a pause");
}

#[test]
fn oversized_record_is_no_answer() {
    let long = "x".repeat(201);
    let record = format!(r#"{{"id":"00000000-0000-0000-0000-000000000007","rev":9,"name":"{long}"}}"#);
    let event = format!(
        r#"{{"id":9,"type":"updated","resource_type":"room","resource_id":"00000000-0000-0000-0000-000000000007","payload":{record},"created_at":"2026-06-01T00:00:00.000Z"}}"#
    );
    let page = |data: &str| response(200, &format!(r#"{{"data":{data},"meta":{{"as_of":9}}}}"#));
    let broken = "breaks the contract: name has more than 200 characters";
    let says = |failure: Option<Failure>| match failure {
        Some(Failure::NoAnswer(reason)) => assert!(reason.contains(broken), "{reason}"),
        other => panic!("{other:?}"),
    };
    says(poll_batch(&page(&format!("[{event}]"))).err());
    says(reconcile_response(&record_query(), &page(&record)).err());
    let all = ReconcileQuery::List { kind: Kind::Room, since: None, cursor: None };
    says(reconcile_response(&all, &page(&format!("[{record}]"))).err());
}

#[test]
fn foreign_403_refuses_no_key() {
    for status in [401, 403] {
        let page = response(status, "<html>Sign in to this network</html>");
        let Err(Failure::NoAnswer(reason)) = identity(&page) else { panic!("{status} is taken for a refusal") };
        assert!(reason.contains("between") && reason.contains(&status.to_string()), "{reason}");
        assert!(matches!(poll_batch(&page), Err(Failure::NoAnswer(_))));
        assert!(matches!(reconcile_response(&record_query(), &page), Err(Failure::NoAnswer(_))));
        // A proxy may object to the text of an edit.
        let Err(Failure::Refused(refusal)) = edit_answer(&page) else { panic!("{status}") };
        assert_eq!(refusal.error_type, ErrorType::Foreign);
        assert!(refusal.message.contains("between"), "{refusal:?}");
        let refused = response(status, r#"{"error":{"type":"invalid_api_key","message":"No such key."}}"#);
        assert!(matches!(identity(&refused), Err(Failure::Refused(_))));
    }
}

#[test]
fn foreign_retry_after_is_at_most_a_minute() {
    let pause = |body| refusal(&HttpResponse { retry_after: Some("1800".into()), ..response(503, body) }).retry_after;
    assert_eq!(pause("<html>Maintenance</html>"), Some(60_000));
    assert_eq!(pause(r#"{"error":{"type":"unavailable","message":"Later."}}"#), Some(1_800_000));
}

#[test]
fn long_texts_are_shortened() {
    let long = "x".repeat(5_000_000);
    let body = format!(r#"{{"error":{{"type":"validation_failed","message":"{long}","details":{{}}}}}}"#);
    let refused = refusal(&response(422, &body));
    assert_eq!(refused.message.chars().count(), 1001);
    assert_eq!(refused.error_type, ErrorType::Known(ProblemType::ValidationFailed));
    assert!(refused.problem.to_string().len() < 2000);
    // The parser's error quotes the text.
    let malformed = format!(r#"{{"data":{{"team":"{long}"}},"meta":{{}}}}"#);
    let Err(Failure::NoAnswer(reason)) = identity(&response(200, &malformed)) else { panic!("a malformed team") };
    assert!(reason.len() < 2000);
}

#[test]
fn refusal_keeps_message_fix_and_retry_after() {
    let body = r#"{"error":{"type":"rate_limited","message":"Too many.","fix":"Wait.","doc_url":"u","details":{}},"meta":{"request_id":"req_1"}}"#;
    let limited = refusal(&HttpResponse { retry_after: Some("12".into()), ..response(429, body) });
    assert_eq!(limited.error_type, ErrorType::Known(ProblemType::RateLimited));
    assert_eq!((limited.message.as_str(), &limited.problem["fix"]), ("Too many.", &Value::from("Wait.")));
    assert_eq!(limited.retry_after, Some(12_000));
    assert_eq!(refusal(&response(502, "<html>")).message, "the server answered 502");
    for (seconds, pause) in
        [("7200", 7_200_000), ("31536000", 86_400_000), ("9223372036854775807", 86_400_000), ("-5", 0)]
    {
        let refusal = refusal(&HttpResponse { retry_after: Some(seconds.into()), ..response(503, body) });
        assert_eq!(refusal.retry_after, Some(pause), "{seconds}");
    }
}
