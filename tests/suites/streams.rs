//! Streams that are cut, refused or held back, with the built programs: the daemon opens them again, and polls only after
//! proof.

use std::time::{Duration, Instant};

use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::wait_until;
use serde_json::json;

/// The options of a server without rate limits and with these faults.
fn faulty(faults: &str) -> Vec<&str> {
    [&UNLIMITED[..], &["--faults", faults, "--faults-on-live"]].concat()
}

fn connection(device: &Device) -> String {
    device.query_row("SELECT phase, transport FROM sync_status").join(" ")
}

#[tokio::test]
async fn failed_streams_are_opened_again() {
    let home = Home::new();
    // The first stream is refused. Then three streams in a row are cut with their first frame.
    let (_server, client) = home.serve(&faulty("429=once:1 route=streams; cut=first:3"));
    let device = home.create_device("r.db");
    let _daemon = device.start_daemon();
    wait_until("a stream is open", || connection(&device) == "live stream");
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    wait_until("the change arrives", || device.count("rooms") == 1);
    assert_eq!(connection(&device), "live stream");
}

#[tokio::test]
async fn first_sync_behind_a_holding_proxy_ends() {
    let home = Home::new();
    let (_server, client) = home.serve(&faulty("mute=always"));
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let device = home.create_device("r.db");
    let begun = Instant::now();
    assert_eq!(device.sync(), 0);
    assert_eq!(device.count("rooms"), 1);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(15), "{took:?}");
    // The next sync begins with polls, although its server is as silent.
    client.post("/v1/rooms", &json!({ "name": "Shed" })).await;
    let begun = Instant::now();
    assert_eq!((device.sync(), device.count("rooms")), (0, 2));
    assert!(begun.elapsed() < took, "{:?}", begun.elapsed());
    let status = device.run_ok(&["status"]);
    assert!(status.starts_with("In step with the server at the last sync, "), "{status}");
    assert_eq!(device.json(&["status"])["home_id"], client.get("/v1/me").await.data()["home"]["id"]);
}

#[tokio::test]
async fn decision_fails_only_sync_until_pushed() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.create_device("r.db");
    device.execute("INSERT INTO rooms (name) VALUES ('Hall')");
    assert_eq!(device.sync(), 0);
    let room = client.list_all("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    device.execute("UPDATE rooms SET name = 'Mine'");
    client.patch(&format!("/v1/rooms/{room}"), &json!({ "name": "Theirs" })).await;
    assert_eq!(device.sync(), 5);
    let (code, text) = device.run_text(&["sync", "--until-current"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("1 edit for you to decide on") && text.contains("hearth-replica --db"), "{text}");
}
