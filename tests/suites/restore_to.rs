//! A replica fills an empty home after the loss of its server (contract 24). Uses the built programs.

use std::fs;
use std::os::unix::fs::FileExt;

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use serde_json::{Value, json};

/// Members that a refill does not keep.
const NEW_MEMBERS: [&str; 3] = ["rev", "updated_at", "updated_by"];

/// All records of a home in the order of their creation, without the members that a refill does not keep.
async fn records(client: &Client) -> Vec<Value> {
    let mut all = Vec::new();
    for collection in ["rooms", "inventory", "vehicles", "documents", "tasks"] {
        for mut record in client.list_all(&format!("/v1/{collection}?limit=100&order=asc")).await {
            NEW_MEMBERS.iter().for_each(|name| drop(record.as_object_mut().unwrap().remove(*name)));
            all.push(record);
        }
    }
    all
}

/// A home with records of each collection, deleted ones and a completed task of a series, and a replica in step with it. The
/// server is gone. Returns the records that the server had.
async fn lost_home() -> (Device, Home, Vec<Value>) {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    home.run_lab(&["seed", "--records", "300"]);
    client.patch("/v1/property", &json!({ "city": "Bern", "time_zone": "Europe/Zurich" })).await;
    let task = json!({ "title": "Filter", "recurrence": "monthly", "due_on": "2026-01-31" });
    let task = client.post("/v1/tasks", &task).await.id();
    client.patch(&format!("/v1/tasks/{task}"), &json!({ "status": "done" })).await;
    let item = client.list_all("/v1/inventory").await[0]["id"].as_str().unwrap().to_owned();
    client.delete(&format!("/v1/inventory/{item}")).await;
    let device = home.create_device("r.db");
    assert_eq!(device.sync(), 0);
    let all = records(&client).await;
    server.kill();
    (device, home, all)
}

/// An empty home on another server, with the arguments of the command that fills it.
fn empty_home(options: &[&str]) -> (Home, Process, Client, Vec<String>) {
    let home = Home::new();
    let (server, client) = home.serve(&[&UNLIMITED[..], options].concat());
    let key_file = home.path("key");
    fs::write(&key_file, &home.key).unwrap();
    let arguments = ["restore-to", "--server", client.url(), "--key-file", &key_file, "--yes"].map(str::to_owned);
    (home, server, client, arguments.to_vec())
}

fn run(device: &Device, arguments: &[String]) -> (i32, String) {
    device.run_text(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn empty_home_is_refilled_and_followed() {
    let (device, _lost, all) = lost_home().await;
    device.execute("INSERT INTO tasks (title) VALUES ('made offline'); UPDATE property SET city = 'Thun'");
    let (_home, _server, client, arguments) = empty_home(&[]);
    let unasked = &arguments[..arguments.len() - 1];
    assert_eq!(run(&device, unasked).0, 2, "without a terminal it is not asked");
    let (code, text) = run(&device, &arguments);
    assert_eq!(code, 0, "{text}");
    // The edits follow when the home is filled: in the same command, or later.
    let mut filled = records(&client).await;
    filled.retain(|record| record["title"] != "made offline");
    assert_eq!(filled, all);

    assert_eq!(device.sync(), 0);
    assert_eq!(client.get("/v1/property").await.data()["city"], "Thun");
    assert_eq!(records(&client).await.len(), all.len() + 1, "edits follow");
    let (code, text) = device.run_text(&["verify"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(run(&device, &arguments).0, 1, "it follows that home already");
}

#[tokio::test]
async fn killed_refill_goes_on() {
    let (device, _lost, all) = lost_home().await;
    let slow = ["--faults", "latency=always by=20ms route=writes", "--faults-on-live"];
    let (_home, _server, client, arguments) = empty_home(&slow);
    let progress = "SELECT refill_kind, refill_after_id FROM _sync WHERE refill_server IS NOT NULL";
    let (mut last, mut kills) = (Vec::new(), 0);
    loop {
        let mut words = vec!["--db", &device.db];
        words.extend(arguments.iter().map(String::as_str));
        let process = Process::start("hearth-replica", &words);
        let (mut now, mut is_over) = (Vec::new(), false);
        wait_until("the refill makes progress or ends", || {
            (now, is_over) = (device.query_rows(progress), kills > 0 && device.query_rows(progress).is_empty());
            (!now.is_empty() && now != last) || is_over
        });
        process.kill();
        if is_over {
            break;
        }
        if kills == 0 {
            assert_eq!((device.phase().as_str(), device.run_text(&["sync"]).0), ("blocked", 5), "nothing is synced");
        }
        (last, kills) = (now, kills + 1);
    }
    assert!(kills > 4, "{kills}");
    assert_eq!(device.sync(), 0);
    assert_eq!(records(&client).await, all);
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

/// A replica whose refill was killed after its first records, with the lost home, the records that it had, and the half-filled home
/// with the arguments that fill it.
async fn cut_refill() -> (Device, Home, Vec<Value>, (Home, Vec<String>)) {
    let (device, lost, all) = lost_home().await;
    let slow = ["--faults", "latency=always by=100ms route=writes", "--faults-on-live"];
    let (half, server, _client, arguments) = empty_home(&slow);
    let words: Vec<&str> = ["--db", &device.db].into_iter().chain(arguments.iter().map(String::as_str)).collect();
    let process = Process::start("hearth-replica", &words);
    let progress = "SELECT refill_kind FROM _sync WHERE refill_after_id IS NOT NULL";
    wait_until("the refill makes progress", || !device.query_rows(progress).is_empty());
    process.kill();
    server.kill();
    (device, lost, all, (half, arguments))
}

#[tokio::test]
async fn cut_refill_is_given_up_for_another_home() {
    let (device, _lost, all, _half) = cut_refill().await;
    let noted = || {
        device
            .query_rows("SELECT phase, reason, refill_server, refill_home_id, refill_kind, refill_after_id FROM _sync")
    };
    let before = noted();
    let (_full, _server, client, arguments) = empty_home(&[]);
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    assert_eq!((run(&device, &arguments).0, noted()), (5, before), "a refused home changes nothing");

    let (_home, _server, client, arguments) = empty_home(&[]);
    assert_eq!(run(&device, &arguments[..arguments.len() - 1]).0, 2, "it is a question");
    let (code, text) = run(&device, &arguments);
    assert_eq!(code, 0, "{text}");
    assert_eq!(records(&client).await, all);
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

#[tokio::test]
async fn cut_refill_is_given_up_for_its_own_home() {
    let (device, lost, _, (half, again)) = cut_refill().await;
    device.execute("INSERT INTO rooms (name) VALUES ('Shed')");
    let (server, client) = lost.serve(&UNLIMITED);
    let key_file = lost.path("own.key");
    fs::write(&key_file, &lost.key).unwrap();
    let (code, text) = device.run_text(&["init", "--server", client.url(), "--key-file", &key_file]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(device.sync(), 0);
    assert_eq!(device.run_text(&["verify"]).0, 0);
    assert!(records(&client).await.iter().any(|record| record["name"] == "Shed"));

    // The records may have changed since the half-filled home received them.
    server.kill();
    let (_server, _) = half.serve(&UNLIMITED);
    let before = profile(&device);
    let (code, text) = run(&device, &again);
    assert!(code == 5 && text.contains("not empty"), "{code}: {text}");
    assert_eq!(profile(&device), before);
    assert_ne!(device.phase(), "blocked");
}

/// The files of a replica's profile: the server and the key.
fn profile(device: &Device) -> [String; 2] {
    ["toml", "key"].map(|part| fs::read_to_string(format!("{}.{part}", device.db)).unwrap())
}

#[tokio::test]
async fn refill_that_cannot_be_noted_leaves_the_profile() {
    let (device, _lost, all) = lost_home().await;
    let (_home, _server, client, arguments) = empty_home(&[]);
    let before = profile(&device);
    let lock = rusqlite::Connection::open(&device.db).unwrap();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (code, text) = run(&device, &arguments);
    assert_ne!(code, 0, "{text}");
    assert_eq!(profile(&device), before, "{text}");
    lock.execute_batch("ROLLBACK").unwrap();
    assert_eq!(run(&device, &arguments).0, 0);
    assert_eq!(records(&client).await, all);
}

#[tokio::test]
async fn damaged_replica_keeps_records_and_is_restored() {
    let (device, _lost, all) = lost_home().await;
    device.execute("UPDATE rooms SET notes = 'mine' WHERE id = (SELECT min(id) FROM rooms)");
    device.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    let page: u64 = device.query_text("SELECT rootpage FROM sqlite_schema WHERE name = 'tasks'").parse().unwrap();
    let file = fs::File::options().write(true).open(&device.db).unwrap();
    file.write_all_at(&[0xa5; 4096], (page - 1) * 4096).unwrap();

    let (code, text) = device.run_text(&["rebuild"]);
    assert!(code == 6 && text.contains("1 edit carried over"), "the server is away: {code}: {text}");
    let rows =
        "SELECT (SELECT count(*) FROM rooms) + (SELECT count(*) FROM inventory) + (SELECT count(*) FROM vehicles)
        + (SELECT count(*) FROM documents) + (SELECT count(*) FROM tasks)";
    assert_eq!(device.query_text(rows), all.len().to_string());
    let (_home, _server, client, arguments) = empty_home(&[]);
    let (code, text) = run(&device, &arguments);
    assert!(code == 0 && text.contains("may lack records"), "{code}: {text}");
    assert_eq!(device.sync(), 0);
    assert_eq!(records(&client).await.len(), all.len());
    assert!(records(&client).await.iter().any(|record| record["notes"] == "mine"));
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

#[tokio::test]
async fn paused_replica_is_refused_before_anything_is_sent() {
    let (device, _lost, _) = lost_home().await;
    device.run_ok(&["pause"]);
    let (_home, _server, client, arguments) = empty_home(&[]);
    let (code, text) = run(&device, &arguments);
    assert!(code == 1 && text.contains("is paused") && text.contains(" resume"), "{code}: {text}");
    assert_eq!(records(&client).await.len(), 0);
}

#[tokio::test]
async fn part_of_a_home_is_restored_with_a_warning() {
    let lost = Home::new();
    let (server, client) = lost.serve(&UNLIMITED);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let item = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room })).await.id();
    client.post("/v1/tasks", &json!({ "title": "Clean", "subject_type": "inventory", "subject_id": item })).await;
    lost.run_lab(&["seed", "--records", "1500"]);
    client.patch(&format!("/v1/rooms/{room}"), &json!({ "floor": "1" })).await;
    // The feed now shows the room after its item.
    lost.run_lab(&["trim"]);
    server.kill();
    let slow = ["--faults", "latency=always by=300ms route=list_events", "--faults-on-live"];
    let (server, _) = lost.serve(&[&UNLIMITED[..], &slow].concat());
    let device = lost.create_device("r.db");
    let process = Process::start("hearth-replica", &["--db", &device.db, "sync"]);
    wait_until("the first records arrive", || device.count("tasks") > 0);
    process.kill();
    server.kill();
    assert_eq!(device.query_text("SELECT count(*) FROM inventory WHERE name = 'Lamp'"), "1");
    assert_eq!(device.query_text("SELECT count(*) FROM rooms WHERE name = 'Hall'"), "0", "the room has not arrived");

    let (_home, _server, client, arguments) = empty_home(&[]);
    let (code, text) = run(&device, &arguments[..arguments.len() - 1]);
    assert!(code == 2 && text.contains("may lack records"), "{code}: {text}");
    let (code, text) = run(&device, &arguments);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("may lack records") && text.contains("1 record went without"), "{text}");
    let sent = client.get(&format!("/v1/inventory/{item}")).await;
    assert_eq!((&sent.data()["name"], &sent.data()["room_id"]), (&json!("Lamp"), &Value::Null));
    assert_eq!(client.list_all("/v1/tasks?subject_type=inventory").await[0]["subject_id"], item);
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

#[tokio::test]
async fn refill_without_its_first_sync_goes_on() {
    let (device, _lost, all) = lost_home().await;
    let (_home, _server, client, arguments) = empty_home(&[]);
    let in_no_time = [&arguments[..], &["--timeout", "0s"].map(str::to_owned)].concat();
    let (code, text) = run(&device, &in_no_time);
    assert_ne!(code, 0, "{text}");
    assert_eq!(records(&client).await, all, "only the first sync is missing");
    // The profile has the key by now.
    let (code, text) = device.run_text(&["restore-to", "--server", client.url(), "--yes"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

/// Starts a refill whose first request gets no answer, and kills it.
fn kill_before_an_answer(device: &Device, arguments: &[String]) {
    let words: Vec<&str> = ["--db", &device.db].into_iter().chain(arguments.iter().map(String::as_str)).collect();
    let process = Process::start("hearth-replica", &words);
    wait_until("the refill is noted", || device.phase() == "blocked");
    process.kill();
}

#[tokio::test]
async fn refill_whose_first_answer_is_lost_goes_on() {
    let (device, _lost, all) = lost_home().await;
    let (home, server, client, arguments) =
        empty_home(&["--faults", "lost-answer=always route=begin_refill", "--faults-on-live"]);
    kill_before_an_answer(&device, &arguments);
    server.kill();
    let (_server, _) = home.serve(&UNLIMITED);
    let (code, text) = device.run_text(&["sync"]);
    assert!(code == 5 && text.contains("restore-to"), "{code}: {text}");
    let (code, text) = device.run_text(&["restore-to", "--server", client.url(), "--yes"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(records(&client).await, all);
    assert_eq!(device.run_text(&["verify"]).0, 0);
}

#[tokio::test]
async fn home_with_records_is_not_refilled() {
    let (device, _lost, _) = lost_home().await;
    let (_home, _server, client, arguments) = empty_home(&[]);
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let before = profile(&device);
    let (code, text) = run(&device, &arguments);
    assert!(code == 5 && text.contains("not empty"), "{code}: {text}");
    assert_eq!(profile(&device), before, "the replica still follows its own home");
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
    assert_ne!(device.phase(), "blocked");
}

#[tokio::test]
async fn home_that_another_replica_fills_meanwhile_is_taken_over() {
    let lost = Home::new();
    let (server, client) = lost.serve(&UNLIMITED);
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let [first, second] = ["first.db", "second.db"].map(|name| lost.create_device(name));
    assert_eq!((first.sync(), second.sync()), (0, 0));
    server.kill();

    // The second replica notes the home, and its request does not arrive.
    let (home, server, client, arguments) =
        empty_home(&["--faults", "lost-request=always route=begin_refill", "--faults-on-live"]);
    kill_before_an_answer(&second, &arguments);
    server.kill();
    let (_server, _) = home.serve(&UNLIMITED);
    assert_eq!(run(&first, &arguments).0, 0);
    let (code, text) = run(&second, &arguments);
    assert!(code == 5 && text.contains("--take-over"), "the same key has filled the home: {code}: {text}");
    let take_over = ["init", "--server", client.url(), "--key-file", &arguments[4], "--take-over"];
    let (code, text) = second.run_text(&take_over);
    assert_eq!(code, 0, "{text}");
    assert_eq!(second.sync(), 0);
    assert_eq!(second.run_text(&["verify"]).0, 0);
}

#[tokio::test]
async fn refused_file_names_its_document_and_the_refill_goes_on() {
    let lost = Home::new();
    let (server, _) = lost.serve(&UNLIMITED);
    let device = lost.create_device("r.db");
    assert_eq!(device.sync(), 0);
    let file = lost.path("manual.txt");
    fs::write(&file, "Turn the wheel. ".repeat(200)).unwrap();
    device.run_ok(&["attach", &file, "--to", "home"]);
    assert_eq!(device.sync(), 0);
    let document = device.query_text("SELECT id FROM documents");
    server.kill();

    let (home, server, client, arguments) = empty_home(&["--max-file", "1KiB"]);
    let (code, text) = run(&device, &arguments);
    assert!(code == 5 && text.contains(&document) && text.contains("--max-file"), "{code}: {text}");
    server.kill();
    let (_server, _) = home.serve(&UNLIMITED);
    let (code, text) = run(&device, &arguments);
    assert_eq!(code, 0, "{text}");
    let sent = client.get(&format!("/v1/documents/{document}")).await;
    assert_eq!(sent.data()["file_sha256"], device.query_text("SELECT file_sha256 FROM documents"));
}

#[tokio::test]
async fn other_replica_of_the_lost_home_takes_the_filled_home_over() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    client.post("/v1/rooms", &json!({ "name": "Attic" })).await;
    let [first, second] = ["first.db", "second.db"].map(|name| home.create_device(name));
    assert_eq!((first.sync(), second.sync()), (0, 0));
    // The second replica has edits that the first one never sees: one that the lost home had, and one that waits.
    second.execute(&format!("UPDATE rooms SET floor = '2' WHERE id = '{room}'"));
    second.execute("INSERT INTO rooms (name) VALUES ('Shed')");
    assert_eq!(second.sync(), 0);
    server.kill();
    second.execute("INSERT INTO tasks (title) VALUES ('made offline')");

    let (_filled, _server, client, arguments) = empty_home(&[]);
    let init = |more: &[&str]| {
        let connect = ["init", "--server", client.url(), "--key-file", &arguments[4]];
        second.run_text(&[&connect[..], more].concat())
    };
    let (code, text) = init(&["--take-over"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("is the replica of another home"), "{text}");
    assert_eq!(run(&first, &arguments).0, 0);
    let (code, text) = run(&second, &arguments);
    assert!(code == 5 && text.contains("--take-over, to follow it"), "{code}: {text}");

    let (code, text) = init(&[]);
    assert!(code == 1 && text.contains("--take-over, to follow it"), "{text}");
    let (code, text) = init(&["--take-over"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(second.sync(), 5, "a person must decide about what the new home lacks");
    let lost = "SELECT group_concat(kind || ' ' || method || ' ' || reason_code) FROM edits ORDER BY id";
    assert_eq!(second.query_text(lost), "room update lost_by_server,room create lost_by_server");
    let titles = |client: &Client| {
        let client = client.clone();
        async move { client.list_all("/v1/tasks").await.iter().map(|task| task["title"].clone()).collect::<Vec<_>>() }
    };
    assert_eq!(titles(&client).await, [json!("made offline")], "what waited is sent");
    second.run_ok(&["edits", "retry", &second.query_text("SELECT min(id) FROM edits")]);
    second.run_ok(&["edits", "discard", &second.query_text("SELECT max(id) FROM edits")]);
    assert_eq!(second.sync(), 0);
    let rooms = client.list_all("/v1/rooms?sort=created_at&order=asc").await;
    let rooms: Vec<Value> = rooms.iter().map(|room| json!([room["name"], room["floor"]])).collect();
    assert_eq!(rooms, [json!(["Hall", "2"]), json!(["Attic", null])]);
    assert_eq!((first.sync(), first.query_text("SELECT floor FROM rooms WHERE name = 'Hall'").as_str()), (0, "2"));
    assert_eq!(second.run_text(&["verify"]).0, 0);
}
