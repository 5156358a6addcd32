//! Shells, a daemon and the terminal UI's kind of connection on one database, all writing: no write is lost, none fails
//! because another one writes. The long form runs by hand: `STORM_ROUNDS=2000 cargo test -p hearth-replica storm`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use hearth_contract::schema::Kind;
use hearth_replica::{Origin, Replica};
use serde_json::{Map, Value};

use super::{new_replica, sqlite3, text, write_profile};

const SHELLS: usize = 3;
const SCREENS: usize = 2;

/// How often each writer writes.
fn rounds() -> usize {
    std::env::var("STORM_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25)
}

/// One shell that writes, one statement after the other, as scripts do; it tells what was refused.
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

/// A connection as screens have it: it writes and reads in turns.
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
fn no_write_is_lost_and_none_fails_because_another_one_writes() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    write_profile(&db, "http://127.0.0.1:9", "svc_test_x");
    // Its server is nobody, so it writes its phase again and again, and plans what to send.
    let mut daemon = Command::new(env!("CARGO_BIN_EXE_hearth-replica"))
        .arg("--db")
        .arg(&db)
        .arg("run")
        .env("HOME", dir.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let over = AtomicBool::new(false);
    let refused: Vec<String> = std::thread::scope(|scope| {
        let db = &db;
        // Somebody looks all the time, and copies the whole.
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
    // Every write is an edit too, or part of one that was never sent.
    let unsent = "SELECT count(*) FROM tasks t WHERE NOT EXISTS (SELECT 1 FROM edits WHERE record_id = t.id AND method = 'create')
                  OR (SELECT max(json_extract(patch, '$.priority') = 'high') FROM edits WHERE record_id = t.id) IS NOT 1";
    assert_eq!(text(&sqlite3(&db, unsent).stdout), "0");
    assert_eq!(text(&sqlite3(&db, "PRAGMA integrity_check").stdout), "ok");
}
