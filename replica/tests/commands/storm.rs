//! Shells, a daemon and connections like those of the terminal UI write to one database: no write is lost, and none fails
//! because another process writes. For a long run: `STORM_ROUNDS=2000 cargo test -p hearth-replica storm`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_contract::schema::Kind;
use hearth_replica::{Origin, Replica};
use serde_json::{Map, Value};

use super::{command, sqlite3, text, unreachable_replica};

const SHELLS: usize = 3;
const SCREENS: usize = 2;

/// The number of rounds of each writer.
fn rounds() -> usize {
    std::env::var("STORM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25)
}

/// Writes with the sqlite3 shell, one statement after another, as scripts do. Returns the refusals.
fn shell(db: &Path, name: &str) -> Vec<String> {
    let mut refused = Vec::new();
    for round in 0..rounds() {
        let sql = format!(
            "INSERT INTO tasks (title) VALUES ('{name} {round}'); \
             UPDATE tasks SET priority = 'high' WHERE title = '{name} {round}';"
        );
        let output = Command::new("sqlite3").args(["-cmd", ".timeout 5000"]).arg(db).arg(sql).output().unwrap();
        if !output.status.success() {
            refused.push(text(&output.stderr));
        }
    }
    refused
}

/// Writes and reads in turn on one connection, as the terminal UI does. Returns the refusals.
fn screen(db: &Path, name: &str) -> Vec<String> {
    let replica = Replica::open(db, Origin::Tui).unwrap();
    let mut refused = Vec::new();
    for round in 0..rounds() {
        let fields = Map::from_iter([("title".to_owned(), Value::from(format!("{name} {round}")))]);
        let high = Map::from_iter([("priority".to_owned(), Value::from("high"))]);
        let written = replica.create(Kind::Task, &fields).and_then(|id| replica.update(Kind::Task, &id, &high));
        refused.extend(written.err().map(|error| error.to_string()));
        refused.extend(replica.status().err().map(|error| error.to_string()));
    }
    refused
}

#[test]
fn concurrent_writers_lose_nothing() {
    let (dir, db) = unreachable_replica();
    // The server is unreachable, so the daemon writes its phase again and again and plans requests.
    let mut daemon = command(&db, &["run"]).stderr(Stdio::null()).spawn().unwrap();
    let over = AtomicBool::new(false);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let db = &db;
        // Another thread exports the database all the time.
        let reader = scope.spawn(|| {
            let mut copies = 0;
            while !over.load(Ordering::Relaxed) || copies == 0 {
                let replica = Replica::open(db, Origin::Cli).unwrap();
                copies += 1;
                replica.export(&dir.path().join(format!("copy-{copies}.db"))).unwrap();
                std::fs::remove_file(dir.path().join(format!("copy-{copies}.db"))).unwrap();
            }
        });
        let shells = (0..SHELLS).map(|n| scope.spawn(move || shell(db, &format!("shell {n}"))));
        let screens = (0..SCREENS).map(|n| scope.spawn(move || screen(db, &format!("screen {n}"))));
        let writers: Vec<_> = shells.chain(screens.collect::<Vec<_>>()).collect();
        let refused = writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect();
        over.store(true, Ordering::Relaxed);
        reader.join().unwrap();
        refused
    });
    assert_eq!(daemon.try_wait().unwrap(), None, "the daemon is still there");
    daemon.kill().unwrap();
    daemon.wait().unwrap();

    assert_eq!(refused, Vec::<String>::new());
    let titles = text(&sqlite3(&db, "SELECT title FROM tasks WHERE priority = 'high'").stdout);
    let titles: BTreeSet<&str> = titles.lines().collect();
    assert_eq!(titles.len(), (SHELLS + SCREENS) * rounds());
    // Every write is in an edit, or coalesced into an unsent one.
    let unsent = "SELECT count(*) FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM edits WHERE record_id = t.id AND method = 'create')
                  OR (SELECT max(json_extract(patch, '$.priority') = 'high') FROM edits WHERE record_id = t.id) IS NOT 1";
    assert_eq!(text(&sqlite3(&db, unsent).stdout), "0");
    assert_eq!(text(&sqlite3(&db, "PRAGMA integrity_check").stdout), "ok");
}
