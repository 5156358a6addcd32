//! Listings from a scripted server, with a paused clock.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::json;

use super::*;

/// A scripted server with `pages` pages of empty room lists.
struct ScriptedServer {
    pages: usize,
    requested_at: RefCell<Vec<Instant>>,
}

impl ScriptedServer {
    fn new(pages: usize) -> ScriptedServer {
        ScriptedServer { pages, requested_at: RefCell::new(Vec::new()) }
    }

    fn answer(&self, request: &HttpRequest) -> HttpResponse {
        self.requested_at.borrow_mut().push(Instant::now());
        let body = match request.path.as_str() {
            "/v1/me" => json!({ "data": {
                "team": { "name": "T" }, "home": { "id": "h", "environment": "test" }, "scopes": [],
                "rate_limits": { "reads_per_minute": 25, "writes_per_minute": 9, "bulk_per_minute": 9 },
            }, "meta": {} }),
            "/v1/property" => json!({ "data": null, "meta": { "as_of": 7 } }),
            path => {
                let next = path.starts_with("/v1/rooms") && self.requested_at.borrow().len() <= self.pages;
                json!({ "data": [], "meta": { "as_of": 7, "page": { "has_more": next, "next_cursor": "c" } } })
            }
        };
        answer(200, &body.to_string())
    }
}

fn answer(status: u16, body: &str) -> HttpResponse {
    HttpResponse { status, body: body.into(), ..HttpResponse::default() }
}

fn client() -> Client {
    Client::new("http://127.0.0.1:9", &"svc_test_x".to_owned().into()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn listing_leaves_a_fifth_of_reads() {
    let server = ScriptedServer::new(60);
    let all = fetch_all(&client(), None, async |request: &HttpRequest| Ok(server.answer(request))).await.unwrap();
    assert_eq!(all.len(), Kind::ALL.len());
    let asked = server.requested_at.into_inner();
    assert!(asked.len() > 60);
    for first in &asked {
        let within = asked.iter().filter(|at| *at >= first && **at < *first + Duration::from_secs(60)).count();
        assert!(within <= 20, "{within} of 25 reads within a minute");
    }
}

#[tokio::test(start_paused = true)]
async fn lost_responses_are_repeated() {
    let client = client();
    for some in [2, 5] {
        for status in [None, Some(500), Some(502), Some(504), Some(200)] {
            let server = ScriptedServer::new(3);
            let asked = RefCell::new(0);
            let all = fetch_all(&client, None, async |request: &HttpRequest| {
                *asked.borrow_mut() += 1;
                let is_lost = *asked.borrow() % (some + 1) != 0;
                match status {
                    Some(200) if is_lost => Ok(HttpResponse { is_cut: true, ..answer(200, "") }),
                    Some(status) if is_lost => Ok(answer(status, "<html>")),
                    None if is_lost => Err("connection refused".to_owned()),
                    _ => Ok(server.answer(request)),
                }
            });
            assert!(all.await.is_ok(), "{some} times {status:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn absent_server_fails_within_a_minute() {
    let began = Instant::now();
    let all = fetch_all(&client(), None, async |_: &HttpRequest| Err("connection refused".to_owned())).await;
    assert!(matches!(all, Err(ClientError::Unreachable(_, why)) if why == "connection refused"));
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    for (status, body) in [(200, "<html>"), (401, r#"{"error":{"type":"unauthorized","message":"No."}}"#)] {
        let began = Instant::now();
        let all = fetch_all(&client(), None, async |_: &HttpRequest| Ok(answer(status, body))).await;
        assert!(all.is_err() && began.elapsed().is_zero(), "{status}: no patience helps");
    }
}

#[tokio::test(start_paused = true)]
async fn restored_server_fails_the_listing() {
    for (reason, is_error) in [("restored", true), ("retention", false)] {
        let (client, server) = (client(), ScriptedServer::new(2));
        let all = fetch_all(&client, Some("c+1"), async |request: &HttpRequest| {
            Ok(match request.path.as_str() {
                "/v1/events?limit=1&cursor=c%2B1" => {
                    let details = json!({ "reason": reason, "resume_cursor": "d", "fork": null });
                    let error = json!({ "type": "cursor_expired", "message": "Put back.", "details": details });
                    answer(410, &json!({ "error": error }).to_string())
                }
                _ => server.answer(request),
            })
        });
        let error = all.await.err();
        assert_eq!(error.map(|error| error.to_string()), is_error.then(|| "Put back. (status 410)".to_owned()));
    }
}
