//! The real programs, killed without warning: what was acknowledged stays, once; and replicas find together again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, stdout, wait_until};
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use uuid::Uuid;

/// A replica with its syncing program.
fn syncing(home: &Home, name: &str) -> (Process, String) {
    let db = home.replica(name);
    (Process::start("hearth-replica", &["--db", &db, "run"]), db)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_kill_once() {
    let mut home = Home::new();
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    for round in 0..3u32 {
        let (server, url) = home.serve(&UNLIMITED);
        let stop = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (client, stop) = (Client::new(&url, &home.key), stop.clone());
                let acknowledged = acknowledged.clone();
                tokio::spawn(async move {
                    while !stop.load(Ordering::Relaxed) {
                        let id = Uuid::new_v4().to_string();
                        let create = client.request(reqwest::Method::POST, "/v1/tasks");
                        let create = create.json(&json!({ "id": id, "title": format!("round {round}") }));
                        match create.header("idempotency-key", &id).send().await {
                            Ok(answer) if answer.status() == 201 => drop(acknowledged.lock().unwrap().insert(id)),
                            Ok(answer) => panic!("status {}", answer.status()),
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
    let (server, url) = home.serve(&UNLIMITED);
    let client = Client::new(&url, &home.key);
    let id = |record: &Value, name: &str| record[name].as_str().unwrap().to_owned();
    let listed: Vec<String> = client.walk("/v1/tasks?limit=100").await.iter().map(|task| id(task, "id")).collect();
    let events = client.walk("/v1/events?limit=1000").await;
    let created: Vec<String> = events.iter().map(|event| id(event, "resource_id")).collect();
    let (once_listed, once_created): (BTreeSet<_>, BTreeSet<_>) = (listed.iter().collect(), created.iter().collect());
    assert_eq!((once_listed.len(), once_created.len()), (listed.len(), created.len()));
    assert_eq!(once_listed, once_created);
    assert!(acknowledged.lock().unwrap().iter().all(|id| once_listed.contains(id)));
    assert!(events.windows(2).all(|pair| pair[0]["id"].as_i64() < pair[1]["id"].as_i64()));
    assert_eq!(server.terminate().code(), Some(0));
}

/// A write of a storm, as it was sent: sent again it must come to the same.
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

    /// The status and text of the answer, and whether it is a stored one. None: the server is gone.
    async fn send(&self, client: &Client) -> Option<(u16, String, bool)> {
        let request = client.request(self.method.clone(), &self.path).header("idempotency-key", &self.key);
        let answer = request.json(&self.body).send().await.ok()?;
        let (status, replayed) = (answer.status().as_u16(), answer.headers().contains_key("idempotency-replayed"));
        Some((status, answer.text().await.ok()?, replayed))
    }
}

/// What a storm leaves: every write with its answer, and those whose answer nobody got.
#[derive(Default)]
struct Storm {
    answered: Vec<(Sent, u16, String)>,
    lost: Vec<Sent>,
}

/// The writes of one turn: every way in which a record can come, change and go.
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
        // The room goes, and with it what the lamp says of it.
        Sent::new(Method::DELETE, of("rooms", &room), Value::Null),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mixed_writes_apply_once_across_kills() {
    let mut home = Home::new();
    let storm = Arc::new(Mutex::new(Storm::default()));
    let whole_turns = Arc::new(Mutex::new(0));
    for _ in 0..3 {
        let (server, url) = home.serve(&UNLIMITED);
        let lost = std::mem::take(&mut storm.lock().unwrap().lost);
        let client = Client::new(&url, &home.key);
        // What nobody got an answer to is sent again, as a client does.
        for sent in lost {
            let (status, text, _) = sent.send(&client).await.unwrap();
            storm.lock().unwrap().answered.push((sent, status, text));
        }
        let writers: Vec<_> = (0..8)
            .map(|_| {
                let (client, storm, whole_turns) = (client.clone(), storm.clone(), whole_turns.clone());
                tokio::spawn(async move {
                    loop {
                        for sent in turn() {
                            match sent.send(&client).await {
                                Some((status, text, _)) => storm.lock().unwrap().answered.push((sent, status, text)),
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
    let (server, url) = home.serve(&UNLIMITED);
    let client = Client::new(&url, &home.key);
    let Storm { mut answered, lost } = std::mem::take(&mut *storm.lock().unwrap());
    for sent in lost {
        let (status, text, _) = sent.send(&client).await.unwrap();
        answered.push((sent, status, text));
    }
    // Every answer that was given comes again, byte for byte, from a process that never made the write.
    for (sent, status, text) in &answered {
        assert!(matches!(status, 200 | 201 | 207), "{text}");
        assert_eq!(sent.send(&client).await.unwrap(), (*status, text.clone(), true));
    }

    // Records and feed say the same, and each write is in both exactly once.
    let events = client.walk("/v1/events?limit=1000").await;
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
        for record in client.walk(&format!("/v1/{collection}?limit=100")).await {
            let id = record["id"].as_str().unwrap().to_owned();
            assert!(listed.insert(id, record).is_none(), "listed once");
        }
    }
    assert_eq!(folded, listed);
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for event in &events {
        *keys.entry(event["idempotency_key"].as_str().unwrap()).or_default() += 1;
    }
    for (sent, _, _) in &answered {
        let (made, of) = (keys[sent.key.as_str()], sent.path.rsplit('/').next().unwrap());
        let expected = match (sent.method.as_str(), of) {
            ("POST", "bulk") => 4,
            // The room, and before it the lamp that was in it.
            ("DELETE", _) => 2,
            // The task and the one that follows it.
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
    assert_eq!(answered.iter().map(|(sent, _, _)| &sent.key).collect::<BTreeSet<_>>().len(), answered.len());
    assert_eq!(keys.len(), answered.len(), "no event is of a write that nobody sent");
    assert_eq!(server.terminate().code(), Some(0));
    assert!(stdout("hearth-server", &["--data", &home.path("server"), "check"]).starts_with("sound"));
}

#[tokio::test]
async fn replicas_converge_after_kills() {
    let mut home = Home::new();
    let (server, _) = home.serve(&UNLIMITED);
    let (first, first_db) = syncing(&home, "first.db");
    let (second, second_db) = syncing(&home, "second.db");
    script(&first_db, "INSERT INTO rooms (name) VALUES ('Kitchen')");
    wait_until("the other replica has the room", || count(&second_db, "rooms") == 1);

    server.kill();
    script(&first_db, "INSERT INTO tasks (title, priority) VALUES ('Paint', 'high'), ('Sand', 'low')");
    script(&second_db, "UPDATE rooms SET floor = '2'");
    script(&second_db, "INSERT INTO inventory (name, room_id) SELECT 'Lamp', id FROM rooms");
    first.kill();
    script(&first_db, "UPDATE rooms SET flooring = 'oak'");
    script(&first_db, "DELETE FROM tasks WHERE title = 'Sand'");
    let first = Process::start("hearth-replica", &["--db", &first_db, "run"]);

    let (server, url) = home.serve(&UNLIMITED);
    for db in [&first_db, &second_db] {
        wait_until("its edits are confirmed", || count(db, "edits") == 0);
    }
    let client = Client::new(&url, &home.key);
    let mut expected = BTreeMap::new();
    for collection in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        for record in client.walk(&format!("/v1/{collection}")).await {
            expected.insert(record["id"].as_str().unwrap().to_owned(), record["rev"].as_i64());
        }
    }
    for db in [&first_db, &second_db] {
        wait_until("it equals the server", || revisions(db) == expected);
    }
    let room = &client.walk("/v1/rooms").await[0];
    assert_eq!((&room["floor"], &room["flooring"]), (&json!("2"), &json!("oak")));
    let tasks = client.walk("/v1/tasks").await;
    assert_eq!((tasks.len(), &tasks[0]["title"], &tasks[0]["priority"]), (1, &json!("Paint"), &json!("high")));
    assert_eq!(client.walk("/v1/inventory").await[0]["room_id"], room["id"]);
    assert_eq!([first.terminate(), second.terminate(), server.terminate()].map(|status| status.code()), [Some(0); 3]);
}

/// Plain SQL on a connection of its own, as a script's.
fn script(db: &str, sql: &str) {
    connect(db).execute(sql, []).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn count(db: &str, table: &str) -> i64 {
    connect(db).query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

fn revisions(db: &str) -> BTreeMap<String, Option<i64>> {
    let connection = connect(db);
    let mut found = BTreeMap::new();
    for table in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        let mut statement = connection.prepare(&format!("SELECT id, rev FROM {table}")).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        found.extend(rows.map(Result::unwrap));
    }
    found
}

fn connect(db: &str) -> Connection {
    assert!(Path::new(db).exists());
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    connection
}
