//! The change feed by poll and by stream (contract 9).

use std::collections::BTreeMap;
use std::time::Duration;

use hearth_contract::schema::Kind;
use hearth_server::clock::Clock;
use hearth_server::home::cursor::{FeedCursor, ListCursor};
use hearth_server::operate;
use hearth_server::store::records::{Direction, Sort};
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock, new_key};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

/// Folds events into the records that remain.
fn fold(events: &[Value]) -> BTreeMap<String, Value> {
    let mut records = BTreeMap::new();
    for event in events {
        let id = event["resource_id"].as_str().unwrap().to_owned();
        match &event["payload"] {
            Value::Null => records.remove(&id),
            payload => records.insert(id, payload.clone()),
        };
    }
    records
}

async fn records(client: &Client) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for collection in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        for record in client.list_all(&format!("/v1/{collection}?limit=100")).await {
            all.insert(record["id"].as_str().unwrap().to_owned(), record);
        }
    }
    let property = client.get("/v1/property").await.data().clone();
    if let Some(id) = property["id"].as_str() {
        all.insert(id.to_owned(), property.clone());
    }
    all
}

#[tokio::test]
async fn folded_feed_equals_records() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let room = client.list_all("/v1/rooms").await[3]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/v1/rooms/{room}")).await;
    let events = client.list_all("/v1/events?limit=17").await;
    assert!(events.is_sorted_by_key(|event| event["id"].as_i64().unwrap()));
    assert_eq!(fold(&events), records(&client).await);
    let last = events.last().unwrap();
    assert_eq!(
        (&last["type"], &last["payload"], &last["api_version"]),
        (&json!("deleted"), &Value::Null, &json!("2026-06-01"))
    );
}

#[tokio::test]
async fn poll_always_returns_cursor() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let empty = client.get("/v1/events").await;
    assert_eq!(empty.json["meta"]["feed"], json!({ "head": 0, "oldest": null, "retention_seconds": 2_592_000 }));
    let cursor = empty.next_cursor().unwrap();
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    client.post("/v1/tasks", &json!({ "title": "Paint" })).await;
    let page = client.get(&format!("/v1/events?cursor={cursor}&types=task,document")).await;
    assert_eq!(page.data().as_array().unwrap().len(), 1);
    assert_eq!(page.json["meta"]["page"]["has_more"], false);
    let cursor = page.next_cursor().unwrap();
    assert_eq!(*client.get(&format!("/v1/events?cursor={cursor}")).await.data(), json!([]));
    assert_eq!(client.get("/v1/events?types=tasks").await.json["error"]["details"]["nearest"], "task");
    assert_eq!(client.get("/v1/events?limit=1001").await.status, 400);
    let other_home = Client::new(&server.url, &server.test_key);
    assert_eq!(other_home.get(&format!("/v1/events?cursor={cursor}")).await.error(), "invalid_cursor");
}

#[tokio::test]
async fn forged_cursor_reads_no_other_home() {
    let server = Server::start().await;
    let live = Client::new(&server.url, &server.live_key);
    live.post("/v1/rooms", &json!({ "name": "Strongroom" })).await;
    let test = Client::new(&server.url, &server.test_key);
    let home = test.get("/v1/me").await.data()["home"]["id"].as_str().unwrap().parse().unwrap();
    for position in [-1, -(1 << 40), i64::MIN, i64::MAX] {
        for (start, run) in [(0, 0), (i64::MAX, 0)] {
            let cursor =
                FeedCursor { position, start: Some(start), run: Some(run), ..FeedCursor::default() }.encode(home);
            let response = test.get(&format!("/v1/events?cursor={cursor}")).await;
            assert!([400, 410].contains(&response.status), "{position}: {}", response.status);
            let stream = test.get(&format!("/v1/events/stream?cursor={cursor}")).await;
            assert!([400, 410].contains(&stream.status), "{position}: {}", stream.status);
        }
    }
    for after in [i64::MIN, -1, i64::MAX] {
        let (sort, since) = (Sort::Created, Some(after));
        for direction in [Direction::Ascending, Direction::Descending] {
            let (created_since, updated_since) = (since, since);
            let cursor = ListCursor {
                kind: Kind::Room,
                sort,
                direction,
                created_since,
                updated_since,
                filters: Vec::new(),
                after,
            }
            .encode(home);
            let response = test.get(&format!("/v1/rooms?cursor={cursor}")).await;
            assert!(response.status < 500 && !response.text.contains("Strongroom"), "{after}: {}", response.status);
        }
    }
}

#[tokio::test]
async fn stream_replays_then_ready_then_follows() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let mut frames = client.stream("?cursor=start", None).await;
    // Plain libraries dispatch a frame of `retry` alone as an empty message.
    let first = frames.next().await.unwrap();
    let lines: Vec<&str> = first.lines().collect();
    assert!(
        lines.len() == 3
            && lines[0] == "retry: 1000"
            && lines[1].starts_with("id: ")
            && lines[2].starts_with("data: {\"id\":1,"),
        "{first}"
    );
    let ready = frames.next().await.unwrap();
    assert!(ready.starts_with("event: ready\nid: ") && ready.contains("\"head\":1"), "{ready}");
    client.post("/v1/rooms", &json!({ "name": "Attic" })).await;
    let (id, event) = frames.next_event().await.unwrap();
    assert_eq!((&event["id"], &event["payload"]["name"]), (&json!(2), &json!("Attic")));

    // A cursor works for polls and streams, and Last-Event-ID overrides `cursor`.
    client.post("/v1/tasks", &json!({ "title": "Paint" })).await;
    assert_eq!(client.get(&format!("/v1/events?cursor={id}")).await.data()[0]["id"], 3);
    let mut resumed = client.stream("?cursor=start", Some(&id)).await;
    assert_eq!(resumed.next_event().await.unwrap().1["id"], 3);
    // Without a cursor a stream starts at the head of the feed.
    let mut present = client.stream("", None).await;
    let ready = present.next().await.unwrap();
    assert!(ready.starts_with("retry: 1000\nevent: ready\nid: ") && ready.contains("\"head\":3"), "{ready}");
}

#[tokio::test]
async fn quiet_stream_heartbeat_advances_cursor() {
    let server = Server::start_with(|config| {
        config.heartbeat = Duration::from_millis(120);
        config.keepalive = Duration::from_millis(50);
    })
    .await;
    let client = Client::new(&server.url, &server.live_key);
    let mut frames = client.stream("?types=vehicle", None).await;
    let before = frames.next_event().await.unwrap().0;
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let (mut comments, mut beat) = (0, before.clone());
    while beat == before {
        let frame = frames.next().await.unwrap();
        // A comment has no blank line of its own, so it precedes the next frame.
        let lines: Vec<&str> = frame.lines().skip_while(|line| *line == ":").collect();
        comments += frame.lines().count() - lines.len();
        let [name, id, data] = lines[..] else { panic!("{frame}") };
        beat = id.strip_prefix("id: ").unwrap().to_owned();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!((name, &data["cursor"], data["head"].is_u64()), ("event: heartbeat", &json!(beat), true));
    }
    assert!(comments > 0);
    // The heartbeat's cursor is beyond the filtered events.
    assert_eq!(*client.get(&format!("/v1/events?cursor={beat}")).await.data(), json!([]));
}

#[tokio::test]
async fn rare_type_scan_is_bounded_per_request() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let first = client.post("/v1/tasks", &json!({ "title": "First" })).await.id();
    let begin = client.get("/v1/events").await.next_cursor().unwrap();
    let hall = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    // Insert more changes of the room than requests could make in time.
    let db = rusqlite::Connection::open(server.data().join("hearth.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db.execute_batch(&format!(
        "BEGIN IMMEDIATE;
         CREATE TEMP TABLE room AS SELECT e.*, r.home, r.rev FROM records r
             JOIN events e ON e.record = r.id WHERE r.id = '{hall}';
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
         INSERT INTO events SELECT event_rowid + i, kind, 1, record, at, key, deleted_by, replace(body, '\"rev\":' || rev, '\"rev\":' || (rev + i))
         FROM room, n;
         UPDATE records SET rev = rev + 25000 WHERE id = '{hall}';
         UPDATE homes SET head = head + 25000 WHERE number = (SELECT home FROM room);
         COMMIT;"
    ))
    .unwrap();
    client.post("/v1/tasks", &json!({ "title": "Last" })).await;

    let (mut cursor, mut pages, mut found) = (begin.clone(), 0, Vec::new());
    loop {
        let page = client.get(&format!("/v1/events?types=task&cursor={cursor}")).await;
        found.extend(page.data().as_array().unwrap().clone());
        (cursor, pages) = (page.next_cursor().unwrap(), pages + 1);
        if page.json["meta"]["page"]["has_more"] == false {
            break;
        }
    }
    assert_eq!((found.len(), pages), (1, 3), "two stretches hold none");
    let mut frames = client.stream(&format!("?types=task&cursor={begin}"), None).await;
    assert_eq!(frames.next_event().await.unwrap().1["payload"]["title"], "Last");
    let mut all = client.stream("?types=task&cursor=start", None).await;
    assert_eq!(all.next_event().await.unwrap().1["resource_id"], first);
    assert_eq!(all.next_event().await.unwrap().1["payload"]["title"], "Last");
}

#[tokio::test]
async fn streams_are_limited_and_end_at_stop() {
    let server = Server::start_with(|config| config.max_streams = 2).await;
    let client = Client::new(&server.url, &server.live_key);
    let mut first = client.stream("", None).await;
    let second = client.stream("", None).await;
    let third = client.get("/v1/events/stream").await;
    assert_eq!((third.status, third.error()), (429, "too_many_streams"));
    assert!(!third.header("retry-after").is_empty());
    drop(second);
    first.next_event().await.unwrap();
    server.stop().await;
    assert!(first.next().await.is_none());
}

#[tokio::test]
async fn history_beyond_retention_is_compacted() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let early = client.get("/v1/events").await.next_cursor().unwrap();
    let backfill = client.get("/v1/events?limit=1").await;
    let path = format!("/v1/rooms/{room}");
    client.patch(&path, &json!({ "floor": "1" })).await;
    client.patch(&path, &json!({ "floor": "2" })).await;
    let gone = client.post("/v1/rooms", &json!({ "name": "Shed" })).await.id();
    client.delete(&format!("/v1/rooms/{gone}")).await;
    assert_eq!(client.get(&format!("/v1/events?cursor={early}")).await.status, 200);

    test_clock.advance(Duration::from_secs(1));
    let expired = wait_for(|| async {
        let response = client.get(&format!("/v1/events?cursor={early}")).await;
        (response.status == 410).then_some(response)
    })
    .await;
    assert_eq!(expired.error(), "cursor_expired");
    let details = &expired.json["error"]["details"];
    assert_eq!(details["reason"], "retention");
    let resume = details["resume_cursor"].as_str().unwrap();
    assert_eq!(client.get(&format!("/v1/events?cursor={resume}")).await.status, 200);
    // A backfill shows only the latest image of each record.
    let shown = wait_for(|| async {
        let events = client.list_all("/v1/events").await;
        (events.len() == 1).then_some(events)
    })
    .await;
    assert_eq!((&shown[0]["id"], &shown[0]["payload"]["floor"]), (&json!(3), &json!("2")));
    assert_eq!(fold(&shown), records(&client).await);
    // A later change replaces the old image.
    client.patch(&path, &json!({ "floor": "3" })).await;
    assert_eq!(fold(&client.list_all("/v1/events").await), records(&client).await);
    // At the head where the backfill began, its cursor is an ordinary cursor.
    let cursor = backfill.next_cursor().unwrap();
    assert_eq!(client.get(&format!("/v1/events?cursor={cursor}")).await.status, 410);
}

#[tokio::test]
async fn backfill_never_expires_and_learns_deletes() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let client = Client::new(&server.url, &server.live_key);
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.push(client.post("/v1/rooms", &json!({ "name": format!("Room {number}") })).await.id());
    }
    let first = client.get("/v1/events?limit=2").await;
    client.delete(&format!("/v1/rooms/{}", ids[0])).await;
    client.delete(&format!("/v1/rooms/{}", ids[3])).await;
    test_clock.advance(Duration::from_secs(1));
    wait_for(|| async { (client.list_all("/v1/events").await.len() == 2).then_some(()) }).await;
    let mut seen = first.data().as_array().unwrap().clone();
    let mut cursor = first.next_cursor().unwrap();
    loop {
        let page = client.get(&format!("/v1/events?limit=1&cursor={cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.text);
        seen.extend(page.data().as_array().unwrap().clone());
        cursor = page.next_cursor().unwrap();
        if page.json["meta"]["page"]["has_more"] == false {
            break;
        }
    }
    assert_eq!(fold(&seen), records(&client).await);
}

#[tokio::test]
async fn restored_database_rejects_lost_cursors() {
    let server = Server::start().await;
    let key = server.live_key.clone();
    let client = Client::new(&server.url, &key);
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let shared = client.get("/v1/events").await.next_cursor().unwrap();
    let dir = server.stop().await;
    let file = dir.path().join("hearth.db");
    let copy = std::fs::read(&file).unwrap();

    let start = || {
        hearth_server::start(
            hearth_server::config::Config::new(dir.path().to_owned()),
            hearth_server::clock::Clock::system(),
        )
    };
    let running = start().await.unwrap();
    let client = Client::new(&format!("http://{}", running.address), &key);
    client.post("/v1/rooms", &json!({ "name": "Lost" })).await;
    let lost = client.get("/v1/events").await.next_cursor().unwrap();
    running.stop().await;
    std::fs::write(&file, copy).unwrap();

    let running = start().await.unwrap();
    let client = Client::new(&format!("http://{}", running.address), &key);
    for moved_on in [false, true] {
        let response = client.get(&format!("/v1/events?cursor={lost}")).await;
        assert_eq!(
            (response.status, &response.json["error"]["details"]["reason"]),
            (410, &json!("restored")),
            "{moved_on}"
        );
        assert_eq!(client.get(&format!("/v1/events?cursor={shared}")).await.status, 200);
        client.post("/v1/rooms", &json!({ "name": "New" })).await;
    }
    running.stop().await;
}

/// An unfinished backfill omits a record that changed behind its position. If a restore discards the change, the record has
/// its old image at a position that the backfill has passed. So the restore must reject the cursor.
#[tokio::test]
async fn backfill_of_lost_history_is_rejected() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let key = server.live_key.clone();
    let client = Client::new(&server.url, &key);
    let first = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await;
    let dir = server.stop().await;
    let file = dir.path().join("hearth.db");
    let copy = std::fs::read(&file).unwrap();

    let start = || {
        let mut config = hearth_server::config::Config::new(dir.path().to_owned());
        (config.retention, config.rate_limits) = (Some(Duration::from_millis(300)), None);
        hearth_server::start(config, test_clock.clock())
    };
    let running = start().await.unwrap();
    let client = Client::new(&format!("http://{}", running.address), &key);
    let begun = client.get("/v1/events?limit=1").await.next_cursor().unwrap();
    client.patch(&format!("/v1/rooms/{first}"), &json!({ "floor": "2" })).await;
    test_clock.advance(Duration::from_secs(1));
    wait_for(|| async { (client.list_all("/v1/events").await.len() == 2).then_some(()) }).await;
    // Two backfills, begun before and after the change, have not yet reached the hall's new image.
    let later = client.get("/v1/events?limit=1").await.next_cursor().unwrap();
    let events = client.get(&format!("/v1/events?cursor={begun}&limit=1")).await;
    let begun = events.next_cursor().unwrap();
    running.stop().await;
    std::fs::write(&file, copy).unwrap();

    let running = start().await.unwrap();
    let client = Client::new(&format!("http://{}", running.address), &key);
    for moved_on in [false, true] {
        for cursor in [&begun, &later] {
            let response = client.get(&format!("/v1/events?cursor={cursor}")).await;
            let reason = &response.json["error"]["details"]["reason"];
            assert_eq!((response.status, reason), (410, &json!("restored")), "{moved_on}: {}", response.text);
        }
        client.post("/v1/rooms", &json!({ "name": "New" })).await;
        client.post("/v1/rooms", &json!({ "name": "Newer" })).await;
    }
    running.stop().await;
}

/// Repeats a query until the result is Some. Panics after a time limit.
pub(super) async fn wait_for<T, F: Future<Output = Option<T>>>(question: impl Fn() -> F) -> T {
    let asking = async {
        loop {
            if let Some(found) = question().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), asking).await.expect("a result in time")
}

#[tokio::test]
async fn event_has_contract_members_and_writer_key() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let keyed = client.request(reqwest::Method::POST, "/v1/rooms").header("idempotency-key", "k");
    let made = client.send(keyed.json(&json!({ "name": "Hall" }))).await;
    client.delete(&format!("/v1/rooms/{}", made.id())).await;
    let page = client.get("/v1/events").await;
    let members = ["id", "type", "resource_type", "resource_id", "api_version", "payload", "created_at"];
    for (event, kind, payload, key) in
        [(&page.data()[0], "created", made.data(), json!("k")), (&page.data()[1], "deleted", &Value::Null, Value::Null)]
    {
        assert!(members.iter().all(|name| event.get(name).is_some()), "{event}");
        assert_eq!((&event["type"], &event["resource_type"]), (&json!(kind), &json!("room")));
        assert_eq!((&event["resource_id"], &event["payload"]), (&json!(made.id()), payload));
        assert_eq!((&event["idempotency_key"], &event["api_version"]), (&key, &json!("2026-06-01")));
        assert_eq!(event.as_object().unwrap().len(), 8);
    }
    assert_eq!(page.data()[0]["id"], made.data()["rev"]);
    assert_eq!(page.data()[0]["created_at"], made.data()["updated_at"]);
}

#[tokio::test]
async fn feed_page_sizes_follow_limit() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let operations = vec![json!({ "method": "create", "name": "Room" }); 50];
    for _ in 0..21 {
        assert_eq!(client.post("/v1/rooms/bulk", &json!({ "operations": operations })).await.status, 207);
    }
    for (query, events, has_more) in [("", 50, true), ("?limit=1", 1, true), ("?limit=1000", 1000, true)] {
        let page = client.get(&format!("/v1/events{query}")).await;
        assert_eq!(page.data().as_array().unwrap().len(), events, "{query}");
        assert_eq!(page.json["meta"]["page"]["has_more"], has_more);
        assert_eq!(page.data()[0]["id"], 1);
        assert_eq!(page.json["meta"]["feed"]["head"], 1050);
    }
    for query in ["limit=0", "limit=1001", "limit=ten", "order=desc", "types=rooms", "types=home", "types=room,"] {
        assert_eq!(client.get(&format!("/v1/events?{query}")).await.error(), "invalid_request", "{query}");
    }
    // One stream request delivers the whole history, whatever the rate limit of reads.
    let mut frames = client.stream("?cursor=start&types=room,property", None).await;
    for expected in 1..=1050 {
        assert_eq!(frames.next_event().await.unwrap().1["id"], expected);
    }
}

/// Creates this number of events, each of about 50 kB.
async fn fill_with_long_events(client: &Client, events: usize) {
    let long = json!({ "name": "Long", "notes": "x".repeat(10_000), "description": "é".repeat(10_000), "quantity": 0 });
    let id = client.post("/v1/inventory", &long).await.id();
    let update = |number: usize| json!({ "method": "update", "id": id, "quantity": number });
    let numbers: Vec<usize> = (1..events).collect();
    for piece in numbers.chunks(50) {
        let operations: Vec<Value> = piece.iter().map(|number| update(*number)).collect();
        assert_eq!(client.post("/v1/inventory/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

#[tokio::test]
async fn feed_page_is_bounded_in_bytes() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    fill_with_long_events(&client, 200).await;
    let (mut cursor, mut next, mut pages) = (String::new(), 1, 0);
    loop {
        let page = client.get(&format!("/v1/events?limit=1000{cursor}")).await;
        assert!(page.text.len() <= 4 * 1024 * 1024 + 100_000, "{}", page.text.len());
        for event in page.data().as_array().unwrap() {
            assert_eq!(event["id"], next);
            next += 1;
        }
        pages += 1;
        if page.json["meta"]["page"]["has_more"] != true {
            break;
        }
        assert!(!page.data().as_array().unwrap().is_empty());
        cursor = format!("&cursor={}", page.next_cursor().unwrap());
    }
    assert_eq!(next, 201, "no event is missing");
    assert!(pages > 1);
}

#[tokio::test]
async fn unread_stream_ends_with_its_key() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    fill_with_long_events(&client, 400).await;
    let key = client.get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    let ask = format!(
        "GET /v1/events/stream?cursor=start HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n\r\n",
        server.live_key
    );
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut unread = socket.connect(server.running.address).await.unwrap();
    unread.write_all(ask.as_bytes()).await.unwrap();
    unread.readable().await.unwrap();
    let streams = &server.running.app.streams;
    assert_eq!(streams.count(), 1);
    let tail = hearth_server::store::notifier::Notifier::default();
    let outside = hearth_server::store::Db::open(server.data(), tail, 7).unwrap();
    operate::revoke_key(&outside, &Clock::system(), key).await.unwrap();
    wait_for(|| async { (streams.count() == 0).then_some(()) }).await;
}

#[tokio::test]
async fn refused_stream_states_reason() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(test_clock.clock(), |config| config.retention = Some(Duration::from_millis(300))).await;
    let client = Client::new(&server.url, &server.live_key);
    let other = Client::new(&server.url, &server.test_key);
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    let early = client.get("/v1/events").await.next_cursor().unwrap();
    let list = client.get("/v1/rooms?limit=1").await;
    assert!(list.next_cursor().is_none());
    client.patch(&path, &json!({ "floor": "1" })).await;
    client.patch(&path, &json!({ "floor": "2" })).await;
    test_clock.advance(Duration::from_secs(1));
    let open = |client: &Client, query: &str, name: &'static str, value: &str| {
        let request = client.request(reqwest::Method::GET, &format!("/v1/events/stream{query}"));
        let (client, request) = (client.clone(), request.header(name, value.to_owned()));
        async move { client.send(request).await }
    };
    let expired = wait_for(|| async {
        let response = client.get(&format!("/v1/events?cursor={early}")).await;
        (response.status == 410).then_some(response)
    })
    .await;
    let members = ["reason", "resume_cursor", "retained_since", "retention_seconds", "fork"];
    let details = expired.json["error"]["details"].as_object().unwrap();
    assert_eq!(details.keys().map(String::as_str).collect::<Vec<_>>(), members);
    assert_eq!((&details["reason"], &details["fork"]), (&json!("retention"), &Value::Null));
    for (response, status, kind) in [
        (open(&client, "?cursor=start", "last-event-id", &early).await, 410, "cursor_expired"),
        (open(&client, &format!("?cursor={early}"), "accept", "*/*").await, 410, "cursor_expired"),
        (open(&other, &format!("?cursor={early}"), "accept", "*/*").await, 400, "invalid_cursor"),
        (open(&client, "", "last-event-id", "nonsense").await, 400, "invalid_cursor"),
        (open(&client, "?cursor=nonsense", "accept", "*/*").await, 400, "invalid_cursor"),
        (open(&client, "", "accept", "application/json").await, 406, "not_acceptable"),
        (open(&client, "?types=rooms", "accept", "text/event-stream").await, 400, "invalid_request"),
        (open(&client, "?limit=5", "accept", "text/event-stream").await, 400, "invalid_request"),
    ] {
        assert_eq!((response.status, response.error()), (status, kind), "{}", response.text);
        assert_eq!(response.header("content-type"), "application/json");
    }
    // The stream resumes at `resume_cursor` of the refusal.
    let mut frames = client.stream(&format!("?cursor={}", details["resume_cursor"].as_str().unwrap()), None).await;
    frames.next_event().await.unwrap();
    client.patch(&path, &json!({ "floor": "3" })).await;
    assert_eq!(frames.next_event().await.unwrap().1["id"], 4);
}

#[tokio::test]
async fn invalid_cursor_error_explains_backfill() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let fix = |response: &Response| {
        assert_eq!((response.status, response.error()), (400, "invalid_cursor"));
        response.json["error"]["fix"].as_str().unwrap().to_owned()
    };
    // The fix must not suggest a stream without a cursor, which would skip the missed events.
    for (query, id) in [("?cursor=nonsense", ""), ("", "nonsense"), ("", "start")] {
        let request = client.request(reqwest::Method::GET, &format!("/v1/events/stream{query}"));
        let fix = fix(&client.send(request.header("last-event-id", id)).await);
        assert!(fix.contains("`cursor=start`") && !fix.contains("without cursor"), "{fix}");
    }
    let poll = fix(&client.get("/v1/events?cursor=start").await);
    assert!(poll.contains("Leave cursor out") && poll.contains("oldest"), "{poll}");
    assert!(fix(&client.get("/v1/events?cursor=nonsense").await).contains("without cursor"));
}

#[tokio::test]
async fn stream_ends_when_key_expires() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |config| config.keepalive = Duration::from_millis(50)).await;
    let key = hearth_server::operate::NewKey {
        scopes: vec!["events:read".to_owned()],
        expires_at: hearth_contract::formats::Timestamp::parse("2026-06-02"),
        ..new_key("My home", hearth_contract::key::Environment::Live)
    };
    let made = hearth_server::operate::create_key(&server.running.app.db, &test_clock.clock(), key).await.unwrap();
    let client = Client::new(&server.url, &made.secret);
    let mut frames = client.stream("", None).await;
    frames.next_event().await.unwrap();
    test_clock.step_to("2026-06-02");
    while frames.next().await.is_some() {}
    assert_eq!(client.get("/v1/events").await.error(), "invalid_api_key");
}
