//! A clock of the machine that was ahead: what the server refuses, and how a home is repaired.

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_server::config::Config;
use hearth_server::operate::{check::check, clock::clocks};
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use serde_json::json;

const YEAR_MS: i64 = 365 * 86_400_000;
const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn leap_refuses_writes_until_clock_is_right() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |config| config.retention = Some(DAY)).await;
    let client = Client::new(&server.url, &server.live_key);
    let room = json!({ "name": "Hall" });
    assert_eq!(client.post("/v1/rooms", &room).await.status, 201);
    // The time passes, and the home is quiet.
    test_clock.advance(7 * DAY);
    assert_eq!(client.post("/v1/rooms", &room).await.status, 201);
    test_clock.set_error(10 * YEAR_MS);
    let refused = client.post("/v1/rooms", &room).await;
    assert_eq!((refused.status, refused.error()), (503, "unavailable"), "{}", refused.text);
    assert!(refused.text.contains("2036-06-05") && refused.text.contains("--accept-clock"), "{}", refused.text);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 2, "reads go on");
    test_clock.set_error(0);
    let room_after = client.post("/v1/rooms", &room).await;
    assert_eq!(room_after.data()["created_at"], "2026-06-08T12:00:00.000Z");

    let (key, dir) = (server.live_key.clone(), server.stop().await);
    test_clock.advance(Duration::from_secs(60));
    for (error, accept, status) in [(10 * YEAR_MS, false, 503), (0, false, 201), (10 * YEAR_MS, true, 201)] {
        test_clock.set_error(error);
        // The last start left the time of its end.
        let stored = Timestamp::parse("2026-06-08T12:00:00Z").unwrap().millis();
        std::fs::write(dir.path().join("lock"), format!("{stored:020}\n")).unwrap();
        let config = Config { accept_clock: accept, ..Config::new(dir.path().to_owned()) };
        let running = hearth_server::start(config, test_clock.clock()).await.unwrap();
        let client = Client::new(&format!("http://{}", running.address), &key);
        assert_eq!(client.post("/v1/rooms", &room).await.status, status, "{error} {accept}");
        running.stop().await;
    }
}

/// A server whose home has a room, a task, and a deleted room, all made by a clock ten years ahead.
async fn server_ahead(test_clock: &TestClock) -> (Server, Client, String) {
    test_clock.set_error(10 * YEAR_MS);
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.status, 201);
    let gone = client.post("/v1/rooms", &json!({ "name": "Attic" })).await.id();
    assert_eq!(client.delete(&format!("/v1/rooms/{gone}")).await.status, 200);
    let task = json!({ "title": "Filter", "recurrence": "monthly", "due_on": "2026-06-01" });
    let task = client.post("/v1/tasks", &task).await.id();
    test_clock.set_error(0);
    (server, client, format!("/v1/tasks/{task}"))
}

#[tokio::test]
async fn completion_uses_real_time_in_home_that_is_ahead() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let (_server, client, task) = server_ahead(&test_clock).await;
    let done = client.patch(&task, &json!({ "status": "done" })).await;
    assert_eq!(done.data()["completed_at"], "2026-06-01T12:00:00.000Z");
    assert!(done.data()["updated_at"].as_str().unwrap().starts_with("2036"));
    let open = client.list_all("/v1/tasks?status=open").await;
    assert_eq!(open[0]["due_on"], "2026-07-01");
    // A replica sends the moment at which the task was completed offline.
    let task = format!("/v1/tasks/{}", open[0]["id"].as_str().unwrap());
    let sent = json!({ "status": "done", "completed_at": "2026-06-01T12:00:00Z" });
    assert_eq!(client.patch(&task, &sent).await.status, 200);
}

#[tokio::test]
async fn reset_sets_moments_and_retention_right() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let (server, client, task) = server_ahead(&test_clock).await;
    let (db, clock) = (&server.running.app.db, test_clock.clock());
    let end = client.get("/v1/events?limit=1000").await.next_cursor().unwrap();
    let found = check(db, &clock).await.unwrap();
    assert!(found.faults.len() == 1 && found.faults[0].contains("home clock --reset"), "{found:?}");

    let home = client.get("/v1/me").await.data()["home"]["id"].as_str().map(str::to_owned).unwrap();
    let reset = clocks(db, &clock, home.parse().ok(), true).await.unwrap();
    assert_eq!((reset.len(), reset[0].corrected), (1, Some(2)), "{reset:?}");
    assert_eq!(check(db, &clock).await.unwrap().faults, Vec::<String>::new());
    let corrected = client.get(&task).await;
    for member in ["created_at", "updated_at"] {
        assert_eq!(corrected.data()[member], "2026-06-01T12:00:00.000Z");
    }
    assert_eq!(corrected.data()["updated_by"], "live key", "the operator has not changed the task");
    let events = client.get(&format!("/v1/events?cursor={end}")).await;
    assert_eq!((events.status, events.data().as_array().unwrap().len()), (200, 2), "replicas hear of the change");
    test_clock.advance(Duration::from_secs(1));
    let room = client.post("/v1/rooms", &json!({ "name": "Cellar" })).await;
    assert_eq!(room.data()["created_at"], "2026-06-01T12:00:01.000Z");
    assert_eq!(clocks(db, &clock, None, true).await.unwrap()[0].corrected, None, "nothing is left to do");
    assert_eq!(check(db, &clock).await.unwrap().faults, Vec::<String>::new());
}
