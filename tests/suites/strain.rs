//! The real program under strain: readers that do not read, and a disk that is full. What was acknowledged stays, nobody
//! is skipped, and it heals (contract 6.5, 9.4, 12).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_tests::client::Client;
use hearth_tests::process::{Process, stdout, wait_until};
use serde_json::{Value, json};

/// A data directory with a key to its empty live home.
struct Place {
    dir: tempfile::TempDir,
    key: String,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().to_str().unwrap();
        stdout("hearth-server", &["--data", data, "team", "create", "Hill house"]);
        let key = ["--data", data, "key", "create", "--team", "Hill house", "--env", "live", "--quiet"];
        Place { key: stdout("hearth-server", &key), dir }
    }

    fn serve(&self) -> (Process, Client) {
        let data = self.dir.path().to_str().unwrap();
        let arguments = ["--data", data, "serve", "--listen", "127.0.0.1:0", "--rate-limits", "off"];
        let (process, url) = Process::serve_within_limits(&arguments);
        (process, Client::new(&url, &self.key))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}

/// Events in the log, and bytes of each: ten readers hold twenty times as much as they may cost.
const EVENTS: usize = 2000;
const EVENT_BYTES: usize = 10_000;
const READERS: usize = 10;
const MEMORY_MAX: u64 = (READERS * EVENTS * EVENT_BYTES) as u64 / 20;
/// Longest wait for memory to be given back.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_readers_cost_little_and_miss_nothing() {
    let place = Place::new();
    let (server, client) = place.serve();
    let operation = json!({ "method": "create", "name": "Room", "notes": "x".repeat(EVENT_BYTES) });
    let bulk = json!({ "operations": vec![operation; 50] });
    for _ in 0..EVENTS / 50 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
    }
    let before = server.memory();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(client.stream("?cursor=start", None).await);
    }
    // None of them reads on, while others write and read as ever.
    for _ in 0..4 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
        assert_eq!(client.get("/v1/rooms?limit=100").await.status, 200);
        // What was only needed for a moment goes back to the system a moment later.
        let (since, held) = (Instant::now(), || server.memory().saturating_sub(before));
        while held() >= MEMORY_MAX {
            assert!(since.elapsed() < PATIENCE, "{READERS} readers hold {} bytes", held());
            assert_eq!(client.get("/v1/rooms?limit=1").await.status, 200);
        }
    }
    let reading = readers.into_iter().map(|mut frames| async move {
        let mut next = 1;
        while next <= (EVENTS + 200) as i64 {
            let (_, event) = frames.event().await.expect("the stream goes on");
            if event["type"] == "created" {
                assert_eq!(event["id"], next);
                next += 1;
            }
        }
    });
    futures_util::future::join_all(reading).await;
    assert_eq!(server.terminate().code(), Some(0));
}

#[tokio::test]
async fn full_disk_refuses_writes_then_heals() {
    let place = Place::new();
    let (server, client) = place.serve();
    let mut acknowledged = Vec::new();
    for number in 0..5 {
        acknowledged.push(client.post("/v1/rooms", &json!({ "name": format!("Room {number}") })).await.id());
    }
    let head = client.get("/v1/events").await.json["meta"]["feed"]["head"].clone();
    let mut frames = client.stream("?cursor=start", None).await;
    frames.event().await.unwrap();

    // The log of the database cannot grow any further: no commit can be made durable.
    server.limit_files(Some(std::fs::metadata(place.file("hearth.db-wal")).unwrap().len()));
    let write = |key: &'static str| {
        let request = client.request(reqwest::Method::POST, "/v1/rooms").header("idempotency-key", key);
        client.send(request.json(&json!({ "name": "Refused", "notes": "x".repeat(10_000) })))
    };
    for _ in 0..3 {
        let refused = write("k").await;
        assert_eq!((refused.status, refused.error()), (503, "unavailable"), "{}", refused.text);
        assert!(!refused.header("retry-after").is_empty());
        assert_eq!(refused.json["error"]["details"], json!({ "retry_after_seconds": 1 }));
    }
    let (path, bulk) = (
        format!("/v1/rooms/{}", acknowledged[0]),
        json!({ "operations": [{ "method": "delete", "id": acknowledged[1] }] }),
    );
    assert_eq!(client.delete(&path).await.status, 503);
    assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 503);
    assert_eq!(client.post("/v1/exports", &json!({ "format": "json" })).await.status, 503);
    // Reads go on, and show nothing of what was refused.
    assert_eq!(client.walk("/v1/rooms").await.len(), 5);
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], head);
    assert_eq!(client.get("/v1/search?q=refused").await.data(), &json!([]));
    assert_eq!(client.get("/readyz").await.status, 200);

    server.limit_files(None);
    let made = write("k").await;
    assert_eq!((made.status, made.header("idempotency-replayed")), (201, ""), "{}", made.text);
    assert_eq!(made.data()["rev"].as_i64(), head.as_i64().map(|head| head + 1));
    // The stream that was open all along sees it next.
    let mut seen = Value::Null;
    while seen["payload"]["name"] != "Refused" {
        seen = frames.event().await.expect("the stream goes on").1;
    }
    let export = client.post("/v1/exports", &json!({ "format": "json" })).await;
    assert_eq!(export.status, 202);
    server.kill();

    let (server, client) = place.serve();
    let rooms = client.walk("/v1/rooms").await;
    assert!(acknowledged.iter().all(|id| rooms.iter().any(|room| room["id"] == **id)));
    assert_eq!(rooms.len(), 6);
    drop(frames);
    assert_eq!(server.terminate().code(), Some(0));
    let data = place.dir.path().to_str().unwrap().to_owned();
    wait_until("the log is gone", || !place.file("hearth.db-wal").exists());
    assert!(stdout("hearth-server", &["--data", &data, "check"]).starts_with("sound"));
}
