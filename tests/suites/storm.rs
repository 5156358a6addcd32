//! Concurrent writers on one replica database: `sqlite3` shells, the daemon with a busy server, and the terminal UI. No
//! write is lost, applied twice or refused because of another writer. The long form runs by hand:
//! `STORM_ROUNDS=300 cargo test -p hearth-tests --test suites storm`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::wait_until;
use hearth_tests::terminal::Terminal;
use serde_json::json;

const SHELLS: usize = 3;

/// The number of rounds of each writer.
fn rounds() -> usize {
    std::env::var("STORM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(12)
}

/// A shell that writes as scripts do: single statements, a transaction, an insert with a later delete. Returns the
/// refused statements.
fn shell(db: &str, name: &str) -> Vec<String> {
    let mut refused = Vec::new();
    for round in 0..rounds() {
        let title = format!("{name} {round}");
        for sql in [
            format!("INSERT INTO tasks (title) VALUES ('{title}')"),
            format!("UPDATE tasks SET priority = 'high' WHERE title = '{title}'"),
            format!(
                "BEGIN IMMEDIATE; INSERT INTO vehicles (name) VALUES ('{title}'); \
                 UPDATE tasks SET notes = (SELECT count(*) FROM search), status = 'in_progress' WHERE title = '{title}'; COMMIT"
            ),
            format!("INSERT INTO rooms (name) VALUES ('{title}')"),
            format!("DELETE FROM rooms WHERE name = '{title}'"),
        ] {
            let output = Command::new("sqlite3").args(["-bail", "-cmd", ".timeout 5000", db, &sql]).output().unwrap();
            if !output.status.success() {
                refused.push(format!("{sql}: {}", String::from_utf8_lossy(&output.stderr)));
            }
        }
    }
    refused
}

/// A person who adds tasks in the terminal UI and waits until the screen shows each.
fn person(db: &str) {
    let directory = Path::new(db).parent().unwrap();
    let mut screen = Terminal::start("hearth", &["--db", db], directory, (100, 30));
    screen.wait_for_text("1 Home");
    for round in 0..rounds() {
        screen.type_keys("a");
        screen.wait_for_text("New task");
        screen.type_keys(&format!("Errand {round} !high"));
        screen.wait_for_text(&format!("Errand {round} !high"));
        screen.type_keys("\r");
        screen.wait_for_text(&format!("New task: Errand {round}"));
    }
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}

/// The number of occurrences of each name.
fn counted(names: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    names.fold(BTreeMap::new(), |mut counts, name| {
        *counts.entry(name).or_default() += 1;
        counts
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_writers_lose_and_double_nothing() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.create_device("replica.db");
    let daemon = device.start_daemon();
    device.wait_for_phase("live");

    let over = AtomicBool::new(false);
    let elsewhere = async {
        // Another client writes too, so the daemon applies events to the rows that the shells change.
        let mut made = 0;
        while !over.load(Ordering::Relaxed) {
            let document = client.post("/v1/documents", &json!({ "title": format!("paper {made}") })).await;
            assert_eq!(document.status, 201);
            for task in client.get("/v1/tasks?limit=5").await.data().as_array().unwrap() {
                let path = format!("/v1/tasks/{}", task["id"].as_str().unwrap());
                client.patch(&path, &json!({ "assignee": format!("Bo {made}") })).await;
            }
            // An export reads while all others write.
            let copy = home.path(&format!("copy-{made}.db"));
            device.run_ok(&["export", &copy]);
            std::fs::remove_file(copy).unwrap();
            made += 1;
        }
        made
    };
    let db = device.db.clone();
    let writers = async {
        // On a thread of their own: else the other client would begin only after them.
        let refused = tokio::task::spawn_blocking(move || {
            let db = db.as_str();
            std::thread::scope(|scope| {
                let shells: Vec<_> =
                    (0..SHELLS).map(|n| scope.spawn(move || shell(db, &format!("shell {n}")))).collect();
                person(db);
                shells.into_iter().flat_map(|shell| shell.join().unwrap()).collect::<Vec<_>>()
            })
        })
        .await;
        over.store(true, Ordering::Relaxed);
        refused.unwrap()
    };
    let (refused, made) = tokio::join!(writers, elsewhere);
    assert!(made > 0, "the other client has written meanwhile");
    assert_eq!(refused, Vec::<String>::new());
    settled(&device);

    let expected = |of: &str| (0..rounds()).map(move |round| format!("{of} {round}")).collect::<Vec<_>>();
    let shells: Vec<String> = (0..SHELLS).flat_map(|n| expected(&format!("shell {n}"))).collect();
    let listed = async |path: &str, name: &str| {
        let records = client.list_all(path).await;
        counted(records.iter().map(|record| record[name].as_str().unwrap().to_owned()))
    };
    let tasks = listed("/v1/tasks?limit=100", "title").await;
    assert_eq!(tasks, counted(shells.iter().cloned().chain(expected("Errand"))));
    assert_eq!(listed("/v1/vehicles?limit=100", "name").await, counted(shells.into_iter()));
    assert_eq!(client.list_all("/v1/rooms?limit=100").await.len(), 0);
    assert_eq!(listed("/v1/documents?limit=100", "title").await.len(), made);
    let whole = client.list_all("/v1/tasks?limit=100").await;
    assert!(whole.iter().all(|task| task["priority"] == "high"));
    let begun = whole.iter().filter(|task| task["status"] == "in_progress").count();
    assert_eq!(begun, SHELLS * rounds());
    assert_eq!(daemon.terminate().code(), Some(0));
}

/// Asserts that each edit is confirmed, the replica equals the server, and the database is sound.
fn settled(device: &Device) {
    wait_until("everything is confirmed", || device.count("edits WHERE state <> 'conflict'") == 0);
    assert_eq!(device.query_rows("SELECT reason FROM edits"), [[""; 1]; 0], "no edit needs a person");
    device.run_ok(&["verify"]);
    assert_eq!(device.query_text("SELECT integrity_check FROM pragma_integrity_check"), "ok");
}
