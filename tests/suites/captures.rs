//! Captures between the real server with its reader and real replicas: made offline, drafted, accepted with a typed value, failed, read
//! again, and sent once whatever is killed meanwhile (contract 22).

use std::path::Path;

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::wait_until;
use hearth_tests::terminal::Terminal;
use serde_json::{Value, json};

/// What stands on a plate. A file of text needs no models.
const PLATE: &str = "BOSCH\nWashing machine\nModel: WAN28232\nSerial No: 485030123456\nHydrostatic frobnicator\n";

/// The captures of a replica, once none waits for the server.
fn settled(device: &Device) -> Vec<Value> {
    let mut all = Vec::new();
    wait_until("the server has read the captures", || {
        all = device.json(&["captures"]).as_array().unwrap().clone();
        let waits = |capture: &Value| ["waiting", "queued", "running"].contains(&capture["state"].as_str().unwrap());
        !all.iter().any(waits)
    });
    all
}

/// Syncs until the captures of a replica are in these states. A look at the server's list may fail on a slow machine.
fn sync_until(device: &Device, expected: &[&str]) -> Vec<Value> {
    wait_until(&format!("the captures are {expected:?}"), || {
        device.sync();
        states(device.json(&["captures"]).as_array().unwrap()) == expected
    });
    settled(device)
}

/// Syncs until the server knows every edit and every decision.
fn sync_all(device: &Device) {
    wait_until("the server knows all", || {
        device.sync() == 0 && device.count("edits") + device.count("captures WHERE unsent = 1") == 0
    });
}

fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}

fn states(captures: &[Value]) -> Vec<&str> {
    let mut states: Vec<&str> = captures.iter().map(|capture| capture["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    states
}

async fn jobs(client: &Client) -> Vec<Value> {
    client.list_all("/v1/smart-add").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn photo_taken_offline_becomes_an_item_everywhere() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    let (first, second) = (home.synced_device("first.db"), home.synced_device("second.db"));
    let room = first.run_ok(&["add", "room", "name=Cellar"]);
    assert_eq!((first.sync(), server.terminate().code()), (0, Some(0)));

    let (plate, photo) = (home.write_file("plate.txt", PLATE), home.write_file("photo.gif", GIF));
    let made = first.json(&["capture", &plate, &photo, "--room", "Cellar", "--note", "left wall"]);
    assert_eq!((&made["state"], &made["unsent"]), (&json!("waiting"), &json!(true)));
    assert_ne!(first.sync(), 0, "there is no server");

    let (server, _) = home.serve(&UNLIMITED);
    assert_eq!(first.sync(), 0);
    let capture = settled(&first).remove(0);
    assert_eq!(capture["state"], "ready", "{capture}");
    let item = capture["drafts"].as_array().unwrap().iter().find(|draft| draft["type"] == "inventory").unwrap();
    assert_eq!(item["fields"]["serial_number"], "485030123456", "{item}");
    // Another device sees the same drafts.
    assert_eq!(sync_until(&second, &["ready"])[0]["drafts"], capture["drafts"]);

    let accepted = first.json(&["accept", id(&capture), "--set", "model=WAN28233", "--set", "quantity=2"]);
    sync_all(&first);
    let on_server = client.list_all("/v1/inventory").await.remove(0);
    assert_eq!(id(&on_server), id(&accepted));
    assert_eq!(
        ["model", "serial_number", "quantity", "room_id", "notes"].map(|field| on_server[field].clone()),
        [json!("WAN28233"), json!("485030123456"), json!(2), json!(room), json!("left wall")]
    );
    let documents = client.list_all("/v1/documents").await;
    let mut files: Vec<&Value> = documents.iter().map(|document| &document["file_sha256"]).collect();
    files.sort_by_key(|file| capture["files"].as_array().unwrap().iter().position(|known| known == *file));
    assert_eq!(json!(files), capture["files"], "one document for each file");
    assert!(documents.iter().all(|document| document["subject_id"] == on_server["id"]), "{documents:?}");
    let job = jobs(&client).await.remove(0);
    assert_eq!((&job["status"], &job["accepted"]["id"]), (&json!("accepted"), &on_server["id"]));

    // The other replica has the item, its files, and what was read in them, also when the server is gone.
    sync_until(&second, &["accepted"]);
    second.run_ok(&["files", "fetch", "--all"]);
    drop(second.json(&["captures"]));
    let found = client.list_all("/v1/search?q=frobnicator").await;
    assert_eq!(found.iter().map(|hit| hit["type"].clone()).collect::<Vec<_>>(), ["document"], "{found:?}");
    wait_until("the replica has the text of the paper", || {
        second.sync();
        second.count("file_texts WHERE text LIKE '%frobnicator%'") == 1
    });
    assert_eq!(server.terminate().code(), Some(0));
    let offline = second.json(&["search", "frobnicator"]);
    assert_eq!(offline[0]["id"], found[0]["id"], "{offline}");
    assert_eq!(second.query_text("SELECT model FROM inventory"), "WAN28233");
    for (hash, path) in capture["files"].as_array().unwrap().iter().zip([plate, photo]) {
        let copy = second.run_ok(&["files", "path", hash.as_str().unwrap()]);
        assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(path).unwrap());
    }
    let directory = home.path("");
    let mut screen = Terminal::start("hearth", &["--db", &second.db], Path::new(&directory), (80, 24));
    screen.wait_for_text("offline");
    screen.type_keys("3");
    screen.wait_for_text("1 item");
    screen.type_keys("\r");
    screen.wait_until("the item with both files", |text| {
        text.contains("WAN28233") && text.matches("Photo: Bosch WAN28232").count() == 2
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_that_cannot_be_read_is_tried_again_or_accepted_by_hand() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.synced_device("replica.db");
    let dark = home.write_file("dark.jpg", b"\xFF\xD8\xFF\xE0 no picture at all");
    device.run_ok(&["capture", &dark]);
    device.run_ok(&["capture", &home.write_file("plate.txt", PLATE)]);
    assert_eq!(device.sync(), 0);
    let all = settled(&device);
    assert_eq!(states(&all), ["failed", "ready"], "one fails alone");
    let failed = all.iter().find(|capture| capture["state"] == "failed").unwrap();
    let why = failed["problem"]["message"].as_str().unwrap();
    assert!(why.contains("damaged"), "{why}");

    let again = device.json(&["captures", "retry", id(failed)]);
    assert_eq!((&again["state"], &again["files"]), (&json!("waiting"), &failed["files"]));
    sync_until(&device, &["discarded", "failed", "ready"]);
    let statuses = jobs(&client).await;
    let of = |status: &str| statuses.iter().filter(|job| job["status"] == status).count();
    assert_eq!([of("failed"), of("discarded"), of("ready")], [1, 1, 1], "{statuses:?}");

    let (code, text) = device.run_text(&["accept", id(&again)]);
    assert!(code != 0 && text.contains("name"), "{text}");
    device.run_ok(&["accept", id(&again), "--set", "name=Boiler"]);
    sync_all(&device);
    assert_eq!(client.list_all("/v1/inventory").await[0]["name"], "Boiler");
    assert_eq!(client.list_all("/v1/documents").await[0]["file_sha256"], failed["files"][0]);
    assert_eq!(jobs(&client).await.iter().filter(|job| job["status"] == "accepted").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_replica_sends_each_capture_once() {
    /// Kills before the capture is on the server, and before the acceptance is.
    const ROUNDS: usize = 3;
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.synced_device("replica.db");
    for round in 0..ROUNDS {
        let plate = home.write_file("plate.txt", format!("{PLATE}{round}\n"));
        device.run_ok(&["capture", &plate]);
        // Killed as soon as the request is written down, and the answer may be lost.
        let daemon = device.start_daemon();
        wait_until("the capture is being sent", || device.count("captures WHERE attempts > 0") > 0);
        daemon.kill();
    }
    assert_eq!(device.sync(), 0);
    let captures = settled(&device);
    assert_eq!(states(&captures), ["ready"; ROUNDS]);
    assert_eq!(jobs(&client).await.len(), ROUNDS, "each capture is one job");
    for capture in &captures {
        device.run_ok(&["accept", id(capture)]);
        let daemon = device.start_daemon();
        wait_until("the item is being sent", || {
            device.count("edits WHERE state = 'waiting'") < device.count("edits") || device.count("edits") == 0
        });
        daemon.kill();
    }
    sync_all(&device);
    assert_eq!(states(&settled(&device)), ["accepted"; ROUNDS]);
    let on_server = jobs(&client).await;
    assert!(on_server.iter().all(|job| job["status"] == "accepted"), "{on_server:?}");
    let count = async |collection: &str| client.list_all(collection).await.len();
    assert_eq!((count("/v1/inventory").await, count("/v1/documents").await), (ROUNDS, ROUNDS));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_devices_capture_the_same_paper_on_their_own() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    let devices = ["first.db", "second.db"].map(|name| home.synced_device(name));
    assert_eq!(server.terminate().code(), Some(0));
    let plate = home.write_file("plate.txt", PLATE);
    devices.iter().for_each(|device| drop(device.run_ok(&["capture", &plate])));
    let (_server, _) = home.serve(&UNLIMITED);
    devices.iter().for_each(|device| assert_eq!(device.sync(), 0));
    assert_eq!((jobs(&client).await.len(), client.list_all("/v1/files").await.len()), (2, 1));
    // Each device decides about the capture of the other.
    let own = sync_until(&devices[0], &["ready", "ready"])
        .into_iter()
        .find(|capture| capture["server_id"] != capture["id"])
        .unwrap();
    let seen = sync_until(&devices[1], &["ready", "ready"])
        .into_iter()
        .find(|capture| capture["id"] == own["server_id"])
        .unwrap();
    devices[1].run_ok(&["accept", id(&seen)]);
    sync_all(&devices[1]);
    sync_until(&devices[0], &["accepted", "ready"]);
    let (code, text) = devices[0].run_text(&["accept", id(&own)]);
    assert!(code != 0 && text.contains("accepted already"), "{text}");
}

/// A picture of one pixel.
const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn single_sync_without_streams_reads_the_list() {
    let home = Home::new();
    let without_streams = ["--faults", "429=always route=streams", "--faults-on-live"];
    let (_server, _) = home.serve(&[&UNLIMITED[..], &without_streams].concat());
    let (first, second) = (home.synced_device("first.db"), home.synced_device("second.db"));
    first.run_ok(&["capture", &home.write_file("plate.txt", PLATE)]);
    assert_eq!(first.sync(), 0);
    // When a sync polls, contact begins and the goal is reached in the same step.
    sync_until(&second, &["ready"]);
}
