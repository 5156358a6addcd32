//! Listings read from a server that is played by a script, hours in no time.

use std::cell::RefCell;

use serde_json::json;

use super::*;

/// What a server that lists so many pages of rooms, and nothing else, says to a question.
struct Played {
    pages: usize,
    asked: RefCell<Vec<Instant>>,
}

impl Played {
    fn new(pages: usize) -> Played {
        Played { pages, asked: RefCell::new(Vec::new()) }
    }

    fn answer(&self, ask: &Ask) -> Answer {
        self.asked.borrow_mut().push(Instant::now());
        let body = match ask.path.as_str() {
            "/v1/me" => json!({ "data": {
                "team": { "name": "T" }, "home": { "id": "h", "environment": "test" }, "scopes": [],
                "rate_limits": { "reads_per_minute": 25, "writes_per_minute": 9, "bulk_per_minute": 9 },
            }, "meta": {} }),
            "/v1/property" => json!({ "data": null, "meta": { "as_of": 7 } }),
            path => {
                let next = path.starts_with("/v1/rooms") && self.asked.borrow().len() <= self.pages;
                json!({ "data": [], "meta": { "as_of": 7, "page": { "has_more": next, "next_cursor": "c" } } })
            }
        };
        answer(200, &body.to_string())
    }
}

fn answer(status: u16, body: &str) -> Answer {
    Answer { status, body: body.into(), ..Answer::default() }
}

fn client() -> Client {
    Client::new("http://127.0.0.1:9", &"svc_test_x".to_owned().into()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_fifth_of_the_reads_is_left_to_others() {
    let played = Played::new(60);
    let all = read_all(&client(), None, async |ask: &Ask| Ok(played.answer(ask))).await.unwrap();
    assert_eq!(all.len(), Kind::ALL.len());
    let asked = played.asked.into_inner();
    assert!(asked.len() > 60);
    for first in &asked {
        let within = asked.iter().filter(|at| *at >= first && **at < *first + Duration::from_secs(60)).count();
        assert!(within <= 20, "{within} of 25 reads within a minute");
    }
}

#[tokio::test(start_paused = true)]
async fn some_answers_may_be_lost_in_a_row() {
    let client = client();
    for some in [2, 5] {
        for status in [None, Some(500), Some(502), Some(504), Some(200)] {
            let played = Played::new(3);
            let asked = RefCell::new(0);
            let all = read_all(&client, None, async |ask: &Ask| {
                *asked.borrow_mut() += 1;
                let is_lost = *asked.borrow() % (some + 1) != 0;
                match status {
                    Some(200) if is_lost => Ok(Answer { is_cut: true, ..answer(200, "") }),
                    Some(status) if is_lost => Ok(answer(status, "<html>")),
                    None if is_lost => Err("connection refused".to_owned()),
                    _ => Ok(played.answer(ask)),
                }
            });
            assert!(all.await.is_ok(), "{some} times {status:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stays_away_is_told_of_before_long() {
    let began = Instant::now();
    let all = read_all(&client(), None, async |_: &Ask| Err("connection refused".to_owned())).await;
    assert!(matches!(all, Err(ClientError::Unreachable(_, why)) if why == "connection refused"));
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    for (status, body) in [(200, "<html>"), (401, r#"{"error":{"type":"unauthorized","message":"No."}}"#)] {
        let began = Instant::now();
        let all = read_all(&client(), None, async |_: &Ask| Ok(answer(status, body))).await;
        assert!(all.is_err() && began.elapsed().is_zero(), "{status}: no patience helps");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_lists_that_was_put_back_meanwhile_is_not_compared() {
    for (reason, is_error) in [("restored", true), ("retention", false)] {
        let (client, played) = (client(), Played::new(2));
        let all = read_all(&client, Some("c+1"), async |ask: &Ask| {
            Ok(match ask.path.as_str() {
                "/v1/events?limit=1&cursor=c%2B1" => {
                    let details = json!({ "reason": reason, "resume_cursor": "d", "fork": null });
                    let error = json!({ "type": "cursor_expired", "message": "Put back.", "details": details });
                    answer(410, &json!({ "error": error }).to_string())
                }
                _ => played.answer(ask),
            })
        });
        let error = all.await.err();
        assert_eq!(error.map(|error| error.to_string()), is_error.then(|| "Put back. (status 410)".to_owned()));
    }
}
