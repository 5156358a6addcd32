//! Server and daemon killed with SIGKILL: acknowledged writes stay, exactly once, and replicas converge afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

/// A replica and its running daemon.
fn syncing(home: &Home, name: &str) -> (Process, Device) {
    let device = home.create_device(name);
    (device.start_daemon(), device)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_kill_once() {
    let home = Home::new();
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    for round in 0..3u32 {
        let (server, client) = home.serve(&UNLIMITED);
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (client, stop) = (client.clone(), stop.clone());
                let acknowledged = acknowledged.clone();
                tokio::spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let id = Uuid::new_v4().to_string();
                        let create = client.request(reqwest::Method::POST, "/v1/tasks");
                        let create = create.json(&json!({ "id": id, "title": format!("round {round}") }));
                        match create.header("idempotency-key", &id).send().await {
                            Ok(response) if response.status() == 201 => drop(acknowledged.lock().unwrap().insert(id)),
                            Ok(response) => panic!("status {}", response.status()),
                            Err(_) => return,
                        }
                    }
                })
            })
            .collect();
        let before = acknowledged.lock().unwrap().len();
        wait_until("a hundred writes are acknowledged", || acknowledged.lock().unwrap().len() >= before + 100);
        server.kill();
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
    }
    let (server, client) = home.serve(&UNLIMITED);
    let id = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
    let listed: Vec<String> = client.list_all("/v1/tasks?limit=100").await.iter().map(|task| id(task, "id")).collect();
    let events = client.list_all("/v1/events?limit=1000").await;
    let created: Vec<String> = events.iter().map(|event| id(event, "resource_id")).collect();
    let (once_listed, once_created): (BTreeSet<_>, BTreeSet<_>) = (listed.iter().collect(), created.iter().collect());
    assert_eq!((once_listed.len(), once_created.len()), (listed.len(), created.len()));
    assert_eq!(once_listed, once_created);
    assert!(acknowledged.lock().unwrap().iter().all(|id| once_listed.contains(id)));
    assert!(events.windows(2).all(|pair| pair[0]["id"].as_i64() < pair[1]["id"].as_i64()));
    assert_eq!(server.terminate().code(), Some(0));
}

/// A write with an idempotency key. A repeated send must give the first response.
#[derive(Clone)]
struct Sent {
    method: Method,
    path: String,
    key: String,
    body: Value,
}

impl Sent {
    fn new(method: Method, path: impl Into<String>, body: Value) -> Sent {
        Sent { method, path: path.into(), key: Uuid::new_v4().to_string(), body }
    }

    /// Sends the write. Returns status, text, and true for a replayed response. None: the server is gone.
    async fn send(&self, client: &Client) -> Option<(u16, String, bool)> {
        let request = client.request(self.method.clone(), &self.path).header("idempotency-key", &self.key);
        let request = if self.body.is_null() { request } else { request.json(&self.body) };
        let response = request.send().await.ok()?;
        let (status, replayed) = (response.status().as_u16(), response.headers().contains_key("idempotency-replayed"));
        Some((status, response.text().await.ok()?, replayed))
    }
}

/// The writes of all rounds: those with a response, and those whose response was lost.
#[derive(Default)]
struct Storm {
    responded: Vec<(Sent, u16, String)>,
    lost: Vec<Sent>,
}

/// The writes of one turn, which create, change and delete records in each possible way.
fn turn() -> Vec<Sent> {
    let [room, other, third, lamp, task] = std::array::from_fn(|_| Uuid::new_v4().to_string());
    let of = |collection: &str, id: &str| format!("/v1/{collection}/{id}");
    vec![
        Sent::new(Method::POST, "/v1/rooms", json!({ "id": room, "name": "Hall" })),
        Sent::new(Method::POST, "/v1/inventory", json!({ "id": lamp, "name": "Lamp", "room_id": room })),
        Sent::new(Method::PATCH, of("rooms", &room), json!({ "floor": "1" })),
        Sent::new(
            Method::POST,
            "/v1/rooms/bulk",
            json!({ "operations": [
                { "method": "create", "id": other, "name": "Attic" },
                { "method": "create", "id": third, "name": "Shed" },
                { "method": "update", "id": other, "floor": "2" },
                { "method": "delete", "id": third },
                { "method": "create", "name": "" },
            ] }),
        ),
        Sent::new(
            Method::POST,
            "/v1/tasks",
            json!({ "id": task, "title": task, "recurrence": "daily", "subject_type": "inventory", "subject_id": lamp }),
        ),
        Sent::new(Method::PATCH, of("tasks", &task), json!({ "status": "done" })),
        // This delete also clears the lamp's reference to the room.
        Sent::new(Method::DELETE, of("rooms", &room), Value::Null),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mixed_writes_apply_once_across_kills() {
    let home = Home::new();
    let storm = Arc::new(Mutex::new(Storm::default()));
    let whole_turns = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (server, client) = home.serve(&UNLIMITED);
        let lost = std::mem::take(&mut storm.lock().unwrap().lost);
        // Repeat each write without a response, as a client does.
        for sent in lost {
            let (status, text, _) = sent.send(&client).await.unwrap();
            storm.lock().unwrap().responded.push((sent, status, text));
        }
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (client, storm, whole_turns) = (client.clone(), storm.clone(), whole_turns.clone());
                tokio::spawn(async move {
                    loop {
                        for sent in turn() {
                            match sent.send(&client).await {
                                Some((status, text, _)) => storm.lock().unwrap().responded.push((sent, status, text)),
                                None => return storm.lock().unwrap().lost.push(sent),
                            }
                        }
                        *whole_turns.lock().unwrap() += 1;
                    }
                })
            })
            .collect();
        let before = *whole_turns.lock().unwrap();
        wait_until("some turns are over", || *whole_turns.lock().unwrap() >= before + 20);
        server.kill();
        for writer in writers {
            writer.await.unwrap();
        }
    }
    let (server, client) = home.serve(&UNLIMITED);
    let Storm { mut responded, lost } = std::mem::take(&mut *storm.lock().unwrap());
    for sent in lost {
        let (status, text, _) = sent.send(&client).await.unwrap();
        responded.push((sent, status, text));
    }
    // A new server process must replay each response byte for byte.
    for (sent, status, text) in &responded {
        assert!(matches!(status, 200 | 201 | 207), "{text}");
        assert_eq!(sent.send(&client).await.unwrap(), (*status, text.clone(), true));
    }

    // Records and feed must agree and hold each write exactly once.
    let events = client.list_all("/v1/events?limit=1000").await;
    assert!(events.windows(2).all(|pair| pair[0]["id"].as_i64() < pair[1]["id"].as_i64()));
    let mut folded = BTreeMap::new();
    let mut happened: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for event in &events {
        let id = event["resource_id"].as_str().unwrap().to_owned();
        happened.entry(id.clone()).or_default().push(event["type"].as_str().unwrap());
        match &event["payload"] {
            Value::Null => folded.remove(&id),
            payload => folded.insert(id, payload.clone()),
        };
    }
    let mut listed = BTreeMap::new();
    for collection in ["rooms", "inventory", "tasks"] {
        for record in client.list_all(&format!("/v1/{collection}?limit=100")).await {
            let id = record["id"].as_str().unwrap().to_owned();
            assert!(listed.insert(id, record).is_none(), "listed once");
        }
    }
    assert_eq!(folded, listed);
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &events {
        *keys.entry(event["idempotency_key"].as_str().unwrap()).or_default() += 1;
    }
    for (sent, _, _) in &responded {
        let (made, of) = (keys[sent.key.as_str()], sent.path.rsplit('/').next().unwrap());
        let expected = match (sent.method.as_str(), of) {
            ("POST", "bulk") => 4,
            // An event for the lamp in the room, then an event for the room.
            ("DELETE", _) => 2,
            // An event for the task and an event for its successor.
            ("PATCH", _) if sent.body["status"] == "done" => 2,
            _ => 1,
        };
        assert_eq!(made, expected, "{} {}", sent.method, sent.path);
        if let Some(id) = sent.body["id"].as_str() {
            assert_eq!(happened[id].iter().filter(|what| **what == "created").count(), 1);
        }
        if sent.method == Method::DELETE {
            assert_eq!(happened[of].last(), Some(&"deleted"));
            assert_eq!(happened[of].iter().filter(|what| **what == "deleted").count(), 1);
        }
        if sent.body["status"] == "done" {
            assert_eq!(listed.values().filter(|record| record["title"] == of).count(), 2, "a task comes again once");
        }
    }
    assert_eq!(responded.iter().map(|(sent, _, _)| &sent.key).collect::<BTreeSet<_>>().len(), responded.len());
    assert_eq!(keys.len(), responded.len(), "no event is of a write that nobody sent");
    assert_eq!(server.terminate().code(), Some(0));
    assert!(home.stdout(&["check"]).starts_with("sound"));
}

#[tokio::test]
async fn replicas_converge_after_kills() {
    let home = Home::new();
    let (server, _) = home.serve(&UNLIMITED);
    let (first, first_device) = syncing(&home, "first.db");
    let (second, second_device) = syncing(&home, "second.db");
    first_device.execute("INSERT INTO rooms (name) VALUES ('Kitchen')");
    wait_until("the other replica has the room", || second_device.count("rooms") == 1);

    server.kill();
    first_device.execute("INSERT INTO tasks (title, priority) VALUES ('Paint', 'high'), ('Sand', 'low')");
    second_device.execute("UPDATE rooms SET floor = '2'");
    second_device.execute("INSERT INTO inventory (name, room_id) SELECT 'Lamp', id FROM rooms");
    first.kill();
    first_device.execute("UPDATE rooms SET flooring = 'oak'");
    first_device.execute("DELETE FROM tasks WHERE title = 'Sand'");
    let first = first_device.start_daemon();

    let (server, client) = home.serve(&UNLIMITED);
    for device in [&first_device, &second_device] {
        wait_until("the edits are confirmed", || device.count("edits") == 0);
    }
    let mut expected = BTreeMap::new();
    for collection in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        for record in client.list_all(&format!("/v1/{collection}")).await {
            expected.insert(record["id"].as_str().unwrap().to_owned(), record["rev"].as_i64());
        }
    }
    for device in [&first_device, &second_device] {
        wait_until("the replica equals the server", || revisions(device) == expected);
    }
    let room = &client.list_all("/v1/rooms").await[0];
    assert_eq!((&room["floor"], &room["flooring"]), (&json!("2"), &json!("oak")));
    let tasks = client.list_all("/v1/tasks").await;
    assert_eq!((tasks.len(), &tasks[0]["title"], &tasks[0]["priority"]), (1, &json!("Paint"), &json!("high")));
    assert_eq!(client.list_all("/v1/inventory").await[0]["room_id"], room["id"]);
    assert_eq!([first.terminate(), second.terminate(), server.terminate()].map(|status| status.code()), [Some(0); 3]);
}

/// The revisions of all records in a replica, by id.
fn revisions(device: &Device) -> BTreeMap<String, Option<i64>> {
    let tables = ["inventory", "vehicles", "documents", "tasks", "rooms"];
    let rows = tables.iter().flat_map(|table| device.query_rows(&format!("SELECT id, rev FROM {table}")));
    rows.map(|row| (row[0].clone(), row[1].parse().ok())).collect()
}
