//! The built server under strain: stalled stream readers, and a full disk. Acknowledged writes stay, no reader misses an
//! event, and the service recovers (contract 6.5, 9.4, 12).

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_tests::client::Client;
use hearth_tests::home::Home;
use hearth_tests::process::{Process, wait_until};
use serde_json::{Value, json};

/// Starts the server, which takes a file size limit as a full disk, and a client of the live home.
fn serve(home: &Home) -> (Process, Client) {
    let data = home.data();
    let arguments = ["--data", &data, "serve", "--listen", "127.0.0.1:0", "--rate-limits", "off"];
    let (process, url) = Process::serve_ignoring_xfsz(&arguments);
    (process, Client::new(&url, &home.key))
}

/// Events in the log, and bytes of each. Ten readers may cost a twentieth of the bytes that the readers have to read.
const EVENTS: usize = 2000;
const EVENT_BYTES: usize = 10_000;
const READERS: usize = 10;
const MEMORY_MAX: u64 = (READERS * EVENTS * EVENT_BYTES) as u64 / 20;
/// Longest wait for the server to free memory.
const PATIENCE: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stalled_readers_cost_little_and_miss_nothing() {
    let home = Home::new();
    let (server, client) = serve(&home);
    let operation = json!({ "method": "create", "name": "Room", "notes": "x".repeat(EVENT_BYTES) });
    let bulk = json!({ "operations": vec![operation; 50] });
    for _ in 0..EVENTS / 50 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
    }
    let before = server.resident_bytes();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        readers.push(client.stream("?cursor=start", None).await);
    }
    // No reader reads on, while another client writes and reads.
    for _ in 0..4 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
        assert_eq!(client.get("/v1/rooms?limit=100").await.status, 200);
        // The allocator returns short-lived memory to the system after a delay.
        let (since, held) = (Instant::now(), || server.resident_bytes().saturating_sub(before));
        while held() >= MEMORY_MAX {
            assert!(since.elapsed() < PATIENCE, "{READERS} readers hold {} bytes", held());
            assert_eq!(client.get("/v1/rooms?limit=1").await.status, 200);
        }
    }
    let reading = readers.into_iter().map(|mut frames| async move {
        let mut next = 1;
        while next <= (EVENTS + 200) as i64 {
            let (_, event) = frames.next_event().await.expect("the stream goes on");
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
    let home = Home::new();
    let wal = PathBuf::from(home.data()).join("hearth.db-wal");
    let (server, client) = serve(&home);
    let mut acknowledged = Vec::new();
    for number in 0..5 {
        acknowledged.push(client.post("/v1/rooms", &json!({ "name": format!("Room {number}") })).await.id());
    }
    let head = client.get("/v1/events").await.json["meta"]["feed"]["head"].clone();
    let mut frames = client.stream("?cursor=start", None).await;
    frames.next_event().await.unwrap();

    // The write-ahead log cannot grow, so no commit can become durable.
    server.limit_files(Some(std::fs::metadata(&wal).unwrap().len()));
    let write = |key: &'static str| {
        let request = client.request(reqwest::Method::POST, "/v1/rooms").header("idempotency-key", key);
        client.send(request.json(&json!({ "name": "Refused", "notes": "x".repeat(10_000) })))
    };
    for _ in 0..3 {
        let refused = write("k").await;
        assert_eq!((refused.status, refused.error()), (503, "unavailable"), "{}", refused.text);
        assert!(!refused.header("retry-after").is_empty());
        assert_eq!(refused.json["error"]["details"], json!({ "retry_after_seconds": 1 }));
        let ready = client.get("/readyz").await;
        assert_eq!((ready.status, ready.header("retry-after")), (503, "1"), "{}", ready.text);
    }
    let (path, bulk) = (
        format!("/v1/rooms/{}", acknowledged[0]),
        json!({ "operations": [{ "method": "delete", "id": acknowledged[1] }] }),
    );
    assert_eq!(client.delete(&path).await.status, 503);
    assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 503);
    assert_eq!(client.post("/v1/exports", &json!({ "format": "json" })).await.status, 503);
    // Reads continue and show no refused write.
    assert_eq!(client.list_all("/v1/rooms").await.len(), 5);
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], head);
    assert_eq!(client.get("/v1/search?q=refused").await.data(), &json!([]));
    assert_eq!(client.get("/healthz").await.status, 200);

    server.limit_files(None);
    // The service becomes ready by itself: no client need write before.
    assert_eq!(client.get("/readyz").await.status, 200);
    let made = write("k").await;
    assert_eq!((made.status, made.header("idempotency-replayed")), (201, ""), "{}", made.text);
    assert_eq!(made.data()["rev"].as_i64(), head.as_i64().map(|head| head + 1));
    // The open stream delivers the accepted write next.
    let mut seen = Value::Null;
    while seen["payload"]["name"] != "Refused" {
        seen = frames.next_event().await.expect("the stream goes on").1;
    }
    let export = client.post("/v1/exports", &json!({ "format": "json" })).await;
    assert_eq!(export.status, 202);
    server.kill();

    let (server, client) = serve(&home);
    let rooms = client.list_all("/v1/rooms").await;
    assert!(acknowledged.iter().all(|id| rooms.iter().any(|room| room["id"] == **id)));
    assert_eq!(rooms.len(), 6);
    drop(frames);
    assert_eq!(server.terminate().code(), Some(0));
    wait_until("the log is gone", || !wal.exists());
    assert!(home.stdout(&["check"]).starts_with("sound"));
}
