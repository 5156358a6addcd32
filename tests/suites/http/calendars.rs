//! Calendars: links, the file behind them, and when they end (contract 23).

use std::time::Duration;

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::RateLimits;
use hearth_server::operate::{self, NewKey};
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock, new_key};
use reqwest::Method;
use serde_json::{Value, json};

use super::console::sign_up;

/// Makes a calendar, and gives its id and the path of its file.
async fn calendar(server: &Server, client: &Client) -> (String, String) {
    let made = client.post("/v1/calendars", &json!({ "name": "Family" })).await;
    assert_eq!(
        (made.status, &made.data()["name"], &made.data()["last_used_at"]),
        (201, &json!("Family"), &Value::Null)
    );
    (made.id(), path_of(server, made.data()["url"].as_str().unwrap()))
}

fn path_of(server: &Server, url: &str) -> String {
    url.strip_prefix(&server.url).expect("an address of this server").to_owned()
}

/// Reads a calendar as a program does: without a key.
async fn read(server: &Server, path: &str) -> Response {
    Browser::new(&server.url).open(path).await
}

#[tokio::test]
async fn file_shows_due_tasks_and_ends() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Filter; clean", "due_on": "2026-07-01", "recurrence": "monthly" });
    let task = client.post("/v1/tasks", &task).await.id();
    client.post("/v1/tasks", &json!({ "title": "No day" })).await;
    client.post("/v1/tasks", &json!({ "title": "Past", "due_on": "2026-06-01", "status": "done" })).await;
    client.post("/v1/inventory", &json!({ "name": "Oven", "warranty_expires_on": "2027-01-31" })).await;
    let car = json!({ "name": "Car", "insurance_expires_on": "2027-02-01", "registration_expires_on": "2027-03-01" });
    client.post("/v1/vehicles", &car).await;
    client.post("/v1/documents", &json!({ "title": "Passport", "expires_on": "2030-01-01" })).await;
    let (_, path) = calendar(&server, &client).await;
    let file = read(&server, &path).await;
    assert_eq!((file.status, file.header("content-type")), (200, "text/calendar; charset=utf-8"));
    assert_eq!((file.header("cache-control"), file.header("service-api-version")), ("no-store", ""));
    for part in [
        "X-WR-CALNAME:Family\r\n",
        &format!("UID:{task}@hearth\r\n"),
        "DTSTART;VALUE=DATE:20260701\r\nSUMMARY:Filter\\; clean\r\n",
        "SUMMARY:Oven: warranty ends\r\n",
        "SUMMARY:Car: insurance ends\r\n",
        "SUMMARY:Car: registration ends\r\n",
        "SUMMARY:Passport: expires\r\n",
    ] {
        assert!(file.text.contains(part), "{part} in {}", file.text);
    }
    assert!(!file.text.contains("No day") && !file.text.contains("RRULE"));
    // The next task of the series appears when the first is done.
    client.patch(&format!("/v1/tasks/{task}"), &json!({ "status": "done" })).await;
    let next = read(&server, &path).await;
    assert_eq!((next.text.matches("SUMMARY:Filter").count(), next.text.contains(&task)), (1, false));
}

#[tokio::test]
async fn known_file_is_not_sent_again() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (_, path) = calendar(&server, &client).await;
    let browser = Browser::new(&server.url);
    let ask = async |etag: &str| browser.send(browser.request(Method::GET, &path).header("if-none-match", etag)).await;
    let etag = browser.open(&path).await.header("etag").to_owned();
    let known = ask(&format!("\"other\", W/{etag}")).await;
    assert_eq!((known.status, &*known.text, known.header("etag")), (304, "", &*etag));
    client.post("/v1/tasks", &json!({ "title": "New", "due_on": "2026-07-01" })).await;
    let changed = ask(&etag).await;
    assert!(changed.status == 200 && changed.text.contains("SUMMARY:New"));
    let head = browser.send(browser.request(Method::HEAD, &path)).await;
    assert_eq!((head.status, &*head.text, head.header("etag")), (200, "", changed.header("etag")));
}

#[tokio::test]
async fn calendar_shows_what_its_key_may_read() {
    let server = Server::start().await;
    let all = Client::new(&server.url, &server.live_key);
    all.post("/v1/tasks", &json!({ "title": "Task", "due_on": "2026-07-01" })).await;
    all.post("/v1/inventory", &json!({ "name": "Oven", "warranty_expires_on": "2027-01-31" })).await;
    all.post("/v1/documents", &json!({ "title": "Passport", "expires_on": "2030-01-01" })).await;
    let scopes = vec!["tasks:read".to_owned(), "documents:read".to_owned()];
    let key = NewKey { scopes, ..new_key("My home", Environment::Live) };
    let key = operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap();
    let (_, path) = calendar(&server, &Client::new(&server.url, &key.secret)).await;
    let text = read(&server, &path).await.text;
    assert!(text.contains("SUMMARY:Task") && text.contains("SUMMARY:Passport") && !text.contains("Oven"), "{text}");
}

#[tokio::test]
async fn calendar_ends_with_its_row_and_with_its_key() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let make = async |key: NewKey| operate::create_key(db, &clock, key).await.unwrap();
    let key = make(new_key("My home", Environment::Live)).await;
    let client = Client::new(&server.url, &key.secret);
    let (id, path) = calendar(&server, &client).await;
    let (_, other) = calendar(&server, &client).await;
    let listed = client.get("/v1/calendars").await;
    assert_eq!((listed.data().as_array().unwrap().len(), &listed.data()[0]["url"]), (2, &Value::Null));
    // Another key sees and ends only its own calendars.
    let foreign = Client::new(&server.url, &server.live_key);
    assert_eq!(foreign.get("/v1/calendars").await.data(), &json!([]));
    assert_eq!(foreign.delete(&format!("/v1/calendars/{id}")).await.status, 200);
    assert_eq!(read(&server, &path).await.status, 200);
    for _ in 0..2 {
        let gone = client.delete(&format!("/v1/calendars/{id}")).await;
        assert_eq!((gone.status, gone.data()), (200, &json!({ "id": id, "deleted": true })));
    }
    assert_eq!(client.delete("/v1/calendars/nope").await.error(), "not_found");
    let refused = read(&server, &path).await;
    assert_eq!((refused.status, refused.header("content-type")), (404, "text/plain; charset=utf-8"));
    assert!(refused.text.contains("hearth-replica calendar"), "{}", refused.text);
    // A rotated key keeps its calendars, a revoked one does not.
    let rotated = operate::rotate_key(db, &clock, key.key.id, None).await.unwrap();
    assert_eq!(read(&server, &other).await.status, 200);
    operate::revoke_key(db, &clock, rotated.key.id).await.unwrap();
    assert_eq!(read(&server, &other).await.status, 404);
    // A key that is bound to an address gives no access from elsewhere.
    let far = NewKey { allowlist: vec!["127.0.0.0/8".parse().unwrap()], ..new_key("My home", Environment::Live) };
    let (_, near) = calendar(&server, &Client::new(&server.url, &make(far).await.secret)).await;
    assert_eq!(read(&server, &near).await.status, 200);
}

#[tokio::test]
async fn unknown_addresses_are_404_and_other_methods_405() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (_, path) = calendar(&server, &client).await;
    let bare = path.strip_suffix(".ics").unwrap();
    for unknown in [bare, "/calendar/x.ics", "/calendar/.ics", &path.replace("svc_cal_", "svc_cal_x"), "/calendar"] {
        assert_eq!(read(&server, unknown).await.status, 404, "{unknown}");
    }
    let posted = client.send(client.request(Method::POST, &path)).await;
    assert_eq!((posted.status, posted.header("allow")), (405, "GET, HEAD"));
}

#[tokio::test]
async fn calendar_can_be_read_60_times_a_minute() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |config| config.rate_limits = Some(RateLimits::default())).await;
    let client = Client::new(&server.url, &server.live_key);
    let ((_, path), (_, other)) = (calendar(&server, &client).await, calendar(&server, &client).await);
    for _ in 0..60 {
        assert_eq!(read(&server, &path).await.status, 200);
    }
    let refused = read(&server, &path).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "60"));
    assert_eq!(read(&server, &other).await.status, 200);
    clock.advance(Duration::from_secs(60));
    assert_eq!(read(&server, &path).await.status, 200);
}

#[tokio::test]
async fn invalid_calendar_is_refused_and_a_home_has_a_hundred() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (body, fault) in [
        (json!({ "name": 1 }), "name wrong_type"),
        (json!({ "name": " " }), "name invalid_format"),
        (json!({ "nam": "x" }), "nam unknown_field"),
        (json!([]), " wrong_type"),
    ] {
        let refused = client.post("/v1/calendars", &body).await;
        assert_eq!((refused.status, refused.faults()), (422, vec![fault.to_owned()]), "{body}");
    }
    for _ in 0..100 {
        assert_eq!(client.post("/v1/calendars", &json!({})).await.status, 201);
    }
    assert_eq!(client.post("/v1/calendars", &json!({})).await.status, 429);
}

#[tokio::test]
async fn people_make_and_remove_calendars_in_the_console() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/tasks", &json!({ "title": "Task", "due_on": "2026-07-01" })).await;
    let owner = sign_up(&server, "My home", Role::Owner, "Olga").await;
    let member = sign_up(&server, "My home", Role::Member, "Mia").await;
    let page = member.submit("/console/calendars", &[("name", "Mia's days")]).await;
    assert_eq!(page.status, 200);
    let url =
        page.text.split("id=\"link\">").nth(1).and_then(|rest| rest.split('<').next()).expect("a link").to_owned();
    let path = path_of(&server, &url);
    assert!(read(&server, &path).await.text.contains("SUMMARY:Task"));
    assert_eq!(member.submit("/console/calendars", &[("name", " ")]).await.status, 409);
    owner.submit("/console/calendars", &[("name", "Owner's days")]).await;
    let (of_member, of_owner) = (member.open("/console/calendars").await, owner.open("/console/calendars").await);
    assert!(of_member.text.contains("Mia&#39;s days") && !of_member.text.contains("Owner&#39;s"), "{}", of_member.text);
    assert!(of_owner.text.contains("Mia&#39;s days") && of_owner.text.contains("Owner&#39;s"));
    assert!(!of_member.text.contains(&url), "the link is shown once");
    let id = of_member.text.split("/console/calendars/").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    assert_eq!(owner.submit(&format!("/console/calendars/{id}/remove"), &[]).await.status, 303);
    assert_eq!(read(&server, &path).await.status, 404);
}

#[tokio::test]
async fn retried_request_makes_one_calendar() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let request = |name: &str| {
        let request = client.request(Method::POST, "/v1/calendars").header("idempotency-key", "k");
        request.json(&json!({ "name": name }))
    };
    let first = client.send(request("Family")).await;
    let url = first.data()["url"].as_str().unwrap().to_owned();
    let second = client.send(request("Family")).await;
    assert_eq!((second.status, second.id(), &second.data()["url"]), (201, first.id(), &Value::Null));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(client.send(request("Other")).await.status, 422);
    assert_eq!(client.list_all("/v1/calendars").await.len(), 1);
    assert_eq!(read(&server, &path_of(&server, &url)).await.status, 200);
    // The stored answer does not hold the secret.
    let db = rusqlite::Connection::open(server.data().join("hearth.db")).unwrap();
    let stored: String = db.query_row("SELECT body FROM receipts", [], |row| row.get(0)).unwrap();
    assert!(stored.contains("Family") && !stored.contains("svc_cal_"), "{stored}");
}
