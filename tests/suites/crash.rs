//! The real programs, killed without warning: what was acknowledged stays, once; and replicas find together again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hearth_tests::client::Client;
use hearth_tests::process::{Process, command, stdout, wait_until};
use rusqlite::Connection;
use serde_json::{Value, json};
use uuid::Uuid;

/// A served home in a directory, with a key to its empty live home.
struct Home {
    dir: tempfile::TempDir,
    key: String,
    port: Option<String>,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("server");
        let data = data.to_str().unwrap();
        stdout("hearth-server", &["--data", data, "team", "create", "Hill house"]);
        let key = ["--data", data, "key", "create", "--team", "Hill house", "--env", "live", "--quiet"];
        Home { key: stdout("hearth-server", &key), dir, port: None }
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Serves; from the second time on where it was served before.
    fn serve(&mut self) -> (Process, String) {
        let listen = self.port.clone().unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let data = self.path("server");
        let (process, url) = Process::serve(&["--data", &data, "serve", "--listen", &listen, "--rate-limits", "off"]);
        self.port = url.strip_prefix("http://").map(str::to_owned);
        (process, url)
    }

    /// A replica with its syncing program.
    fn replica(&self, url: &str, name: &str) -> (Process, String) {
        let db = self.path(name);
        let init = command("hearth-replica", &["--db", &db, "init", "--server", url])
            .env("HEARTH_API_KEY", &self.key)
            .output()
            .unwrap();
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        (Process::start("hearth-replica", &["--db", &db, "run"]), db)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_acknowledged_write_survives_a_kill_exactly_once() {
    let mut home = Home::new();
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    for round in 0..3u32 {
        let (server, url) = home.serve();
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
    let (server, url) = home.serve();
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

#[tokio::test]
async fn two_replicas_find_together_over_a_killed_server_and_a_killed_daemon() {
    let mut home = Home::new();
    let (server, url) = home.serve();
    let (first, first_db) = home.replica(&url, "first.db");
    let (second, second_db) = home.replica(&url, "second.db");
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

    let (server, url) = home.serve();
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
