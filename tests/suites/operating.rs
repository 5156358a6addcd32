//! The operator's commands of the built server (contract 17): backup and restore, check, metrics, log, stop.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn head(client: &Client) -> i64 {
    client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].as_i64().unwrap()
}

/// The cursor after the last event.
async fn end(client: &Client) -> String {
    client.get("/v1/events?limit=1000").await.next_cursor().unwrap()
}

async fn add_rooms(client: &Client, names: &[&str]) {
    for name in names {
        assert_eq!(client.post("/v1/rooms", &json!({ "name": name })).await.status, 201);
    }
}

#[tokio::test]
async fn online_backup_restores_with_history_break() {
    let home = Home::new();
    let backup = home.path("backup.db");
    let (server, client) = home.serve(&UNLIMITED);
    add_rooms(&client, &["a", "b", "c"]).await;
    let shared = end(&client).await;
    home.stdout(&["backup", &backup]);
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!Path::new(&format!("{backup}-wal")).exists(), "it is one file");
    let again = home.run(&["backup", &backup]);
    assert_eq!(again.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists"));

    add_rooms(&client, &["lost 1", "lost 2"]).await;
    let lost = end(&client).await;
    let refused = home.run(&["restore", &backup]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("served by another process"));
    assert_eq!(server.terminate().code(), Some(0));
    // An epoch after the backup writes, too.
    let (server, client) = home.serve(&UNLIMITED);
    add_rooms(&client, &["lost 3"]).await;
    let lost_later = end(&client).await;
    assert_eq!(server.terminate().code(), Some(0));
    // Another epoch follows.
    let (server, client) = home.serve(&UNLIMITED);
    add_rooms(&client, &["lost 4"]).await;
    let lost_last = end(&client).await;
    assert_eq!(server.terminate().code(), Some(0));

    let text: Value = serde_json::from_str(&home.stdout(&["restore", &backup, "--json"])).unwrap();
    assert_eq!(text["homes"], 2);
    assert_eq!(home.stdout(&["check"]).split(':').next(), Some("sound"));
    let (server, client) = home.serve(&UNLIMITED);
    assert_eq!((head(&client).await, client.list_all("/v1/rooms").await.len()), (3, 3));
    for moved_on in [false, true] {
        let unknown = Value::Null;
        for (cursor, fork) in [(&lost, &json!(3)), (&lost_later, &json!(3)), (&lost_last, &unknown)] {
            let expired = client.get(&format!("/v1/events?cursor={cursor}")).await;
            assert_eq!((expired.status, expired.error()), (410, "cursor_expired"));
            let details = &expired.json["error"]["details"];
            assert_eq!((&details["reason"], &details["fork"]), (&json!("restored"), fork), "{details}");
            let resume = details["resume_cursor"].as_str().unwrap();
            assert_eq!(client.get(&format!("/v1/events?cursor={resume}")).await.status, 200);
        }
        let on = client.get(&format!("/v1/events?cursor={shared}")).await;
        let ids: Vec<i64> = on.data().as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect();
        assert_eq!((on.status, ids), (200, if moved_on { vec![1_000_004] } else { vec![] }));
        if !moved_on {
            add_rooms(&client, &["new"]).await;
            assert_eq!(head(&client).await, 1_000_004);
        }
    }
    let rev = client.list_all("/v1/rooms").await[0]["rev"].clone();
    assert_eq!(rev, 1_000_004);
    add_rooms(&client, &["newer"]).await;
    assert_eq!(head(&client).await, 1_000_005);
    // After the gap the history is complete again.
    let level = end(&client).await;
    assert_eq!(client.get(&format!("/v1/events?cursor={level}")).await.status, 200);
    assert_eq!(server.terminate().code(), Some(0));
    assert!(home.stdout(&["check"]).starts_with("sound"));

    // Restore the same backup three times without a write in between.
    home.stdout(&["restore", &backup]);
    home.stdout(&["restore", &backup]);
    home.stdout(&["backup", &home.path("again.db")]);
    home.stdout(&["restore", &home.path("again.db")]);
    let (_server, client) = home.serve(&UNLIMITED);
    let expired = client.get(&format!("/v1/events?cursor={level}")).await;
    assert_eq!((expired.status, &expired.json["error"]["details"]["fork"]), (410, &json!(3)));
    add_rooms(&client, &["third"]).await;
    assert_eq!(head(&client).await, 4_000_006, "no position of the history that was thrown away comes again");
    assert_eq!(client.get(&format!("/v1/events?cursor={level}")).await.status, 410);
    assert_eq!(client.get(&format!("/v1/events?cursor={shared}")).await.status, 200);
}

#[tokio::test]
async fn fork_is_found_after_alternating_writes() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    add_rooms(&client, &["a", "b"]).await;
    home.stdout(&["lab", "--env", "live", "--live", "churn", "--count", "5"]);
    let saved = head(&client).await;
    assert!(saved > 2);
    let backup = home.path("backup.db");
    home.stdout(&["backup", &backup]);
    add_rooms(&client, &["c", "d"]).await;
    let lost = end(&client).await;
    assert_eq!(server.terminate().code(), Some(0));
    home.stdout(&["restore", &backup]);
    let (_server, client) = home.serve(&UNLIMITED);
    let expired = client.get(&format!("/v1/events?cursor={lost}")).await;
    assert_eq!((expired.status, &expired.json["error"]["details"]["fork"]), (410, &json!(saved)));
}

#[test]
fn newer_database_is_refused_untouched() {
    let home = Home::new();
    home.stdout(&["check"]);
    let file = home.path("server/hearth.db");
    let later = "INSERT INTO _migrations
                 SELECT version + 1, 'later', applied_on, checksum FROM _migrations ORDER BY version DESC LIMIT 1";
    assert_eq!(Connection::open(&file).unwrap().execute(later, []).unwrap(), 1);
    let refused = home.run(&["check"]);
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success()
            && text.contains("__later of a newer version")
            && text.contains("update this program"),
        "{text}"
    );
}

#[test]
fn older_database_migrates_only_when_served() {
    let home = Home::new();
    home.stdout(&["check"]);
    let older = "DELETE FROM _migrations WHERE version = (SELECT max(version) FROM _migrations)";
    assert_eq!(Connection::open(home.path("server/hearth.db")).unwrap().execute(older, []).unwrap(), 1);
    let file = home.path("before.db");
    for command in [&["check"][..], &["backup", &file], &["key", "list"], &["team", "list"], &["team", "create", "B"]] {
        let refused = home.run(command);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && text.contains("of an older version"), "{command:?}: {text}");
    }
    assert!(!std::fs::exists(&file).unwrap());
}

#[tokio::test]
async fn damaged_backup_is_not_restored() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    add_rooms(&client, &["a"]).await;
    assert_eq!(server.terminate().code(), Some(0));
    let write = |name: &str, bytes: &[u8]| {
        let path = home.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let good = home.path("good.db");
    home.stdout(&["backup", &good]);
    let mut bytes = std::fs::read(&good).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..].fill(0x5a);
    let foreign = home.path("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    for file in
        [home.path("nothing"), write("text", b"no database"), write("damaged", &bytes), foreign, write("empty", b"")]
    {
        let refused = home.run(&["restore", &file]);
        assert_eq!(refused.status.code(), Some(1), "{file}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains(&file), "{file}");
    }
    let names: Vec<String> = std::fs::read_dir(home.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("restoring"))
        .collect();
    assert_eq!(names, Vec::<String>::new());
    let (_server, client) = home.serve(&UNLIMITED);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1, "nothing has changed");
}

#[tokio::test]
async fn check_reports_each_inconsistency() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room })).await;
    let gone = client.post("/v1/rooms", &json!({ "name": "Attic" })).await.id();
    client.delete(&format!("/v1/rooms/{gone}")).await;
    // `check` also works beside the running server.
    assert!(home.stdout(&["check"]).starts_with("sound"));
    assert_eq!(server.terminate().code(), Some(0));
    let report: Value = serde_json::from_str(&home.stdout(&["check", "--json"])).unwrap();
    assert_eq!((&report["ok"], &report["homes"], &report["faults"]), (&json!(true), &json!(2), &json!([])));

    let database = home.path("server/hearth.db");
    let good = std::fs::read(&database).unwrap();
    for (sql, words) in [
        ("DELETE FROM field_values WHERE home = 1 AND field = 3", "the index has not the room_id of inventory"),
        (
            "INSERT INTO field_values (home, kind, field, value, created)
             SELECT 1, 1, 5, 'stray', created FROM records WHERE home = 1 AND kind = 1",
            "the index has `stray` as category of the inventory",
        ),
        ("DELETE FROM events WHERE event_rowid = (1 << 40) + 1", "record without its image"),
        ("UPDATE homes SET head = head - 1 WHERE number = 1", "event after the head"),
        ("UPDATE homes SET head = head + 1 WHERE number = 1", "head after the last event, which is: 4"),
        ("UPDATE events SET at = at - 1 WHERE event_rowid = (1 << 40) + 1", "another moment than its image"),
        ("UPDATE events SET at = at - 60000 WHERE event_type = 2", "event earlier than the event before"),
        ("UPDATE events SET at = at + 1 WHERE event_type = 2", "another moment than the home's last"),
        ("UPDATE homes SET oldest_event_at = oldest_event_at + 1 WHERE number = 1", "oldest event is of another"),
        ("DELETE FROM events WHERE event_rowid = (1 << 40) + 4", "deleted record"),
        ("UPDATE records SET rev = 1 WHERE home = 1 AND kind = 1", "record without its image"),
        (
            "UPDATE events SET body = replace(body, '\"rev\":1', '\"rev\":9') WHERE event_rowid = (1 << 40) + 1",
            "no room of that",
        ),
        ("UPDATE records SET deleted = 0 WHERE home = 1", "record without its image"),
        ("UPDATE search SET title = '11other' WHERE title = '11lamp'", "found by other words"),
        ("DELETE FROM search WHERE title = '11lamp'", "there are 2"),
    ] {
        std::fs::write(&database, &good).unwrap();
        let db = Connection::open(&database).unwrap();
        assert!(db.execute(sql, []).unwrap() > 0, "{sql}");
        drop(db);
        let found = home.run(&["check"]);
        assert_eq!(found.status.code(), Some(1), "{sql}");
        let text = String::from_utf8(found.stdout).unwrap();
        assert!(text.contains(words), "{sql}: {text}");
        assert!(String::from_utf8_lossy(&found.stderr).contains("found; put a backup in its place"), "{sql}");
        let report: Value = serde_json::from_slice(&home.run(&["check", "--json"]).stdout).unwrap();
        assert_eq!(report["ok"], false);
    }
}

#[tokio::test]
async fn metrics_have_their_own_address() {
    let home = Home::new();
    let (data, log) = (home.data(), home.path("log"));
    let arguments = ["--data", &data, "serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0"];
    let (server, url) = Process::serve_logging(&[&arguments[..], &["--log", "json"]].concat(), Path::new(&log));
    let report = || {
        let logged = std::fs::read_to_string(&log).unwrap();
        let mut lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.find(|line| line["message"] == "metrics are served")
    };
    wait_until("the log says where metrics are served", || report().is_some());
    let metrics = Client::new(&format!("http://{}", report().unwrap()["address"].as_str().unwrap()), "");
    let client = Client::new(&url, &home.key);
    add_rooms(&client, &["a", "b"]).await;
    assert_eq!(client.get("/v1/rooms/nope").await.status, 404);
    let mut frames = client.stream("?cursor=start", None).await;
    frames.next_event().await.unwrap();

    let response = metrics.get("/metrics").await;
    assert!(response.header("content-type").starts_with("text/plain; version=0.0.4"));
    for line in [
        "# TYPE hearth_requests_total counter",
        "hearth_requests_total{operation=\"create_room\",status=\"201\"} 2",
        "hearth_requests_total{operation=\"get_room\",status=\"404\"} 1",
        "hearth_request_duration_seconds_count{operation=\"create_room\"} 2",
        "hearth_request_duration_seconds_bucket{operation=\"create_room\",le=\"+Inf\"} 2",
        "hearth_refusals_total{type=\"not_found\"} 1",
        "hearth_open_streams 1",
        "hearth_events_appended_total 2",
        "# TYPE hearth_writer_batch_size histogram",
    ] {
        assert!(response.text.lines().any(|report| report == line), "{line}\n{}", response.text);
    }
    for name in ["hearth_commits_total", "hearth_writer_queue_depth", "hearth_writer_batch_size_count"] {
        assert!(response.text.contains(&format!("\n{name} ")), "{name}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!((metrics.get(path).await.status, client.get(path).await.status), (200, 200));
    }
    let unknown = metrics.get("/v1/rooms").await;
    assert_eq!(unknown.error(), "route_not_found");
    let fix = unknown.json["error"]["fix"].as_str().unwrap();
    assert!(fix.contains("/metrics") && !fix.contains("/v1"), "nothing else is there: {fix}");
    assert_eq!(client.get("/metrics").await.error(), "route_not_found");
    assert_eq!(server.terminate().code(), Some(0));
}

#[tokio::test]
async fn log_contains_no_secret() {
    for form in ["text", "json"] {
        let home = Home::new();
        let (data, log) = (home.data(), home.path("log"));
        let arguments = ["--data", &data, "serve", "--listen", "127.0.0.1:0", "--log", form];
        let (server, url) = Process::serve_logging(&arguments, Path::new(&log));
        let client = Client::new(&url, &home.key);
        let secret = "hunter2-opens-the-safe";
        let body = json!({ "name": secret, "notes": secret });
        let id = client.post("/v1/rooms", &body).await.id();
        client.patch(&format!("/v1/rooms/{id}"), &json!({ "nmae": secret })).await;
        client.get(&format!("/v1/rooms?{secret}={secret}")).await;
        client.get(&format!("/v1/rooms/{}", home.key)).await;
        client.get(&format!("/v1/events?cursor={}", home.key)).await;
        let method = reqwest::Method::from_bytes(home.key.as_bytes()).unwrap();
        client.send(client.request(method, "/v1/me")).await;
        Client::new(&url, &format!("{}x", home.key)).get("/v1/me").await;
        let idempotent = client.request(reqwest::Method::POST, "/v1/rooms").header("idempotency-key", secret);
        client.send(idempotent.json(&body)).await;
        assert_eq!(server.terminate().code(), Some(0));
        let logged = std::fs::read_to_string(&log).unwrap();
        assert!(logged.lines().filter(|line| line.contains("request_id")).count() >= 8, "{logged}");
        let key = &home.key["svc_live_".len() + 4..];
        for word in [secret, "hunter2", key, "Bearer"] {
            assert!(!logged.contains(word), "{word} is in the log:\n{logged}");
        }
    }
}

#[tokio::test]
async fn flood_of_strangers_is_sampled_in_log() {
    const FLOOD: usize = 300;
    const LOG_BYTES_MAX: u64 = 64 * 1024;
    let home = Home::new();
    let (data, log) = (home.data(), home.path("log"));
    let (server, url) = Process::serve_logging(&["--data", &data, "serve", "--listen", "127.0.0.1:0"], Path::new(&log));
    let (stranger, client) = (Client::new(&url, "nonsense"), Client::new(&url, &home.key));
    let long = "x".repeat(8000);
    for number in 0..FLOOD {
        assert_eq!(stranger.get(&format!("/{number}/{long}")).await.status, 404);
        assert_eq!(stranger.get("/v1/rooms").await.status, 401);
    }
    assert_eq!(client.get("/v1/rooms").await.status, 200);
    for _ in 0..FLOOD {
        // A message that counts in no window.
        let ping = client.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
        let sent = client.send(ping.json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }))).await;
        assert_eq!(sent.status, 200, "{}", sent.text);
    }
    assert_eq!(server.terminate().code(), Some(0));
    let logged = std::fs::read_to_string(&log).unwrap();
    assert!((logged.len() as u64) < LOG_BYTES_MAX, "{} bytes", logged.len());
    let lines = |status: &str| logged.lines().filter(|line| line.contains(status)).count();
    assert!((1..FLOOD / 2).contains(&lines("status=404")) && (1..FLOOD / 2).contains(&lines("status=401")));
    let reads = logged.lines().filter(|line| line.contains("path=\"/v1/rooms\"") && line.contains("status=200"));
    assert_eq!(reads.count(), 1, "a request that counts is always logged: {logged}");
    assert!((1..FLOOD / 2).contains(&lines("path=\"/mcp\"")));
}

#[test]
fn every_command_writes_json() {
    let home = Home::new();
    let json = |arguments: &[&str]| -> Value {
        serde_json::from_str(&home.stdout(&[arguments, &["--json"]].concat()))
            .unwrap_or_else(|_| panic!("{arguments:?}"))
    };
    let team = json(&["team", "create", "Lake"]);
    assert_eq!(json(&["team", "plan", "Lake", "free"])["plan"], "free");
    assert_eq!(json(&["team", "list"])[1], json(&["team", "plan", team["id"].as_str().unwrap(), "free"]));
    let made = json(&["key", "create", "--team", "Lake", "--env", "test", "--name", "phone"]);
    let rotated = json(&["key", "rotate", "phone"]);
    assert!(rotated["secret"].as_str().unwrap().starts_with("svc_test_") && rotated["id"] != made["id"]);
    assert_eq!(json(&["key", "unflag", "phone"])["flagged_at"], Value::Null);
    assert!(json(&["key", "revoke", "phone"])["revoked_at"].is_string());
    assert_eq!(json(&["key", "list", "--team", "Lake"]).as_array().unwrap().len(), 2);
    assert!(json(&["sandbox", "reset", "--team", "Lake"])["records"].as_u64() > Some(100));
    let file = home.path("copy.db");
    assert!(json(&["backup", &file])["size_bytes"].as_u64() > Some(0));
    assert_eq!(json(&["restore", &file])["homes"], 4);
    assert_eq!(json(&["check"])["ok"], true);
}

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn unread_log_blocks_nothing() {
    let home = Home::new();
    let (unread, log) = std::io::pipe().unwrap();
    let data = home.data();
    let serve = [&["--data", &data, "serve", "--listen", "127.0.0.1:0"][..], &UNLIMITED].concat();
    let (server, url) = Process::serve_logging_to(&serve, log);
    let client = Client::new(&url, &home.key);
    // Each request logs more than 300 bytes, so a pipe of 64 KiB and a log buffer of 512 KiB are full before the last one.
    let path = format!("/v1/tasks/{}", "x".repeat(1000));
    let fill = async || {
        for _ in 0..2500 {
            let response = tokio::time::timeout(PATIENCE, client.get(&path)).await;
            assert_eq!(response.expect("a response in time").status, 404);
        }
    };
    fill().await;
    // Once the pipe is read, the log states the number of dropped lines.
    let mut lines = BufReader::new(unread).lines().map(|line| line.unwrap());
    let text = lines
        .find(|line| line.contains("lines of the log were dropped"))
        .expect("the log states the number of dropped lines");
    assert!(text.contains(" WARN ") && !text.contains("lines=0"), "{text}");
    fill().await;
    assert_eq!(server.terminate().code(), Some(0));
}

#[tokio::test]
async fn stop_finishes_requests_and_accepts_no_more() {
    for signal in ["TERM", "INT"] {
        let home = Home::new();
        let (server, client) = home.serve(&UNLIMITED);
        let mut frames = client.stream("?cursor=start", None).await;
        frames.next_event().await.unwrap();
        let address = client.url().strip_prefix("http://").unwrap().to_owned();
        let body = json!({ "name": "In flight" }).to_string();
        let (half, rest) = body.split_at(5);
        let mut flight = tokio::net::TcpStream::connect(&address).await.unwrap();
        let head = format!(
            "POST /v1/rooms HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nexpect: 100-continue\r\n\r\n",
            home.key,
            body.len()
        );
        flight.write_all(head.as_bytes()).await.unwrap();
        // `100 Continue` shows that the service is handling the request.
        let mut text = [0; 25];
        flight.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"HTTP/1.1 100 Continue\r\n\r\n");
        flight.write_all(half.as_bytes()).await.unwrap();
        server.signal(signal);
        // The stream ends cleanly, and the service accepts no new connection.
        while frames.next().await.is_some() {}
        while tokio::net::TcpStream::connect(&address).await.is_ok() {}
        flight.write_all(rest.as_bytes()).await.unwrap();
        let mut response = String::new();
        flight.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 201 Created"), "{response}");
        assert_eq!(server.wait_for_exit().code(), Some(0), "{signal}");
        assert!(!Path::new(&home.path("server/hearth.db-wal")).exists(), "the database is checkpointed");
        let (_server, client) = home.serve(&UNLIMITED);
        assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
    }
}

#[tokio::test]
async fn commands_take_id_or_name_while_serving() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let refused = |arguments: &[&str], words: &str| {
        let output = home.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains(words), "{arguments:?}: {text}");
        assert!(output.stdout.is_empty());
    };
    let file = home.path("backup.db");
    home.stdout(&["backup", &file]);
    refused(&["backup", &file], "exists");
    refused(&["restore", &file], "served by another process");
    for _ in 0..2 {
        home.stdout(&["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone"]);
    }
    refused(&["key", "revoke", "phone"], "2 keys have the name `phone`");
    refused(&["team", "create", "Hill house"], "already");
    let keys: Value = serde_json::from_str(&home.stdout(&["key", "list", "--json"])).unwrap();
    let phones: Vec<&Value> = keys.as_array().unwrap().iter().filter(|key| key["name"] == "phone").collect();
    home.stdout(&["key", "revoke", phones[0]["id"].as_str().unwrap()]);
    home.stdout(&["key", "revoke", "phone"]);
    // By the team's id, with all options of a key.
    let teams: Value = serde_json::from_str(&home.stdout(&["team", "list", "--json"])).unwrap();
    let id = teams[0]["id"].as_str().unwrap();
    let wishes = ["--scopes", "rooms:read,rooms:write", "--allow", "127.0.0.0/8", "--allow", "::1/128"];
    let more = ["--pin", "2026-03-01", "--expires", "2999-01-01", "--quiet"];
    let create = [&["key", "create", "--team", id, "--env", "live"][..], &wishes, &more].concat();
    let other = Client::new(client.url(), &home.stdout(&create));
    let me = other.get("/v1/me").await;
    assert_eq!(
        (&me.data()["scopes"], me.header("service-api-version")),
        (&json!(["rooms:read", "rooms:write"]), "2026-03-01")
    );
    // The server notices a changed plan and a revoked key within a second.
    home.stdout(&["team", "plan", "Hill house", "free"]);
    let since = std::time::Instant::now();
    while other.get("/v1/me").await.error() != "plan_required" {
        assert!(since.elapsed().as_secs() < 120, "the plan is known");
    }
    home.stdout(&["team", "plan", "Hill house", "paid"]);
    while other.get("/v1/me").await.status != 200 {
        assert!(since.elapsed().as_secs() < 120, "the plan is known");
    }
}
