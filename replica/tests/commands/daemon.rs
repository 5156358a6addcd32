//! The daemon (`run`) and damaged databases, without a server.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{
    UNREACHABLE, as_keeper, command, json, refuses, replica, replica_with_hall, sqlite3, text, unreachable_replica,
    write_profile,
};

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn daemon(db: &Path, arguments: &[&str], environment: &[(&str, String)]) -> Daemon {
    let mut command = command(db, &[&["run"], arguments].concat());
    command.env_remove("HEARTH_LOG").env_remove("NOTIFY_SOCKET");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    Daemon(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
}

/// Reads the daemon's stderr until a line contains the words, and returns this line.
fn until_it_says(daemon: &mut Daemon, words: &str) -> String {
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("it never printed {words}"));
    // The rest is read too, because a full pipe would stop the daemon.
    std::thread::spawn(move || lines.for_each(drop));
    found
}

#[test]
fn daemon_notifies_systemd_of_each_step() {
    let (dir, db) = unreachable_replica();
    let socket = UnixDatagram::bind(dir.path().join("notify")).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let path = dir.path().join("notify").to_str().unwrap().to_owned();
    let environment = [("NOTIFY_SOCKET", path), ("WATCHDOG_USEC", "300000".to_owned())];
    let mut daemon = daemon(&db, &[], &environment);
    let mut heard = String::new();
    let hear = |heard: &mut String| {
        let mut buffer = [0; 1024];
        let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("{error}; heard only {heard}"));
        heard.push_str(&format!("{}\n", String::from_utf8_lossy(&buffer[..length])));
    };
    while !(heard.contains("READY=1") && heard.contains("STATUS=") && heard.matches("WATCHDOG=1").count() >= 3) {
        hear(&mut heard);
    }
    assert!(heard.starts_with("READY=1"), "{heard}");
    let stopped = Command::new("kill").args(["-TERM", &daemon.0.id().to_string()]).status().unwrap();
    assert!(stopped.success());
    while !heard.contains("STOPPING=1") {
        hear(&mut heard);
    }
    assert_eq!(daemon.0.wait().unwrap().code(), Some(0));
}

#[test]
fn daemon_serves_metrics_and_logs_json() {
    let (_dir, db) = replica_with_hall();
    let mut daemon = daemon(&db, &["--metrics-listen", "127.0.0.1:0", "--log", "json"], &[]);
    let line: serde_json::Value = serde_json::from_str(&until_it_says(&mut daemon, "metrics are served")).unwrap();
    let mut socket = TcpStream::connect(line["address"].as_str().unwrap()).unwrap();
    socket.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    for sample in [
        "hearth_replica_records{kind=\"room\"} 1\n",
        "hearth_replica_edits{state=\"waiting\"} 1\n",
        "hearth_replica_phase{phase=\"live\"} 0\n",
    ] {
        assert!(answer.contains(sample), "{sample} is not in {answer}");
    }
}

#[test]
fn second_sync_process_is_refused() {
    let (_dir, db) = unreachable_replica();
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "phase");
    let process = format!("process {}", daemon.0.id());
    let words = format!("the daemon, {process}, already keeps {} in step; nothing needs to be", db.display());
    refuses(&db, &["run"], 1, &[&words]);
}

#[test]
fn rebuild_beside_daemon_is_done_by_daemon() {
    let (dir, db) = replica_with_hall();
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "phase");
    // The server cannot be reached.
    refuses(&db, &["rebuild", "--timeout", "10s"], 6, &["everything is downloaded again, and 1 edit stays"]);
    assert!(daemon.0.try_wait().unwrap().is_none(), "the daemon goes on");
    for left in ["rebuild", "rebuilt"] {
        assert!(!dir.path().join(left).exists() && !dir.path().join(format!("replica.db.{left}")).exists(), "{left}");
    }
}

/// A replica with enough rooms for many pages. Returns the number of one of these pages.
fn with_many_rooms(db: &Path) -> u64 {
    let rooms = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        INSERT INTO rooms (name, notes) SELECT 'Room ' || i, hex(zeroblob(200)) FROM n";
    assert!(sqlite3(db, rooms).status.success());
    let page =
        "PRAGMA wal_checkpoint(TRUNCATE); SELECT max(pageno) FROM dbstat WHERE name = 'rooms' AND pagetype = 'leaf'";
    text(&sqlite3(db, page).stdout).lines().last().unwrap().parse().unwrap()
}

fn overwrite_page(db: &Path, page: u64) {
    let mut file = std::fs::OpenOptions::new().write(true).open(db).unwrap();
    file.seek(SeekFrom::Start((page - 1) * 4096)).unwrap();
    file.write_all(&[0xa5; 4096]).unwrap();
}

#[test]
fn damage_nobody_reads_is_found_at_start() {
    let (_dir, db) = unreachable_replica();
    let page = with_many_rooms(&db);
    overwrite_page(&db, page);
    for arguments in [&["status"][..], &["status", "--json"], &["sync", "--timeout", "1s"]] {
        refuses(&db, arguments, 8, &["damaged", "hearth-replica rebuild"]);
    }
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "500 edits carried over");
    assert!(replica(&db, &["list", "rooms"]).status.success());
}

#[test]
fn damage_that_a_reader_meets_is_healed() {
    let (_dir, db) = unreachable_replica();
    let page = with_many_rooms(&db);
    let mut daemon = daemon(&db, &[], &[]);
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("phase")));
    overwrite_page(&db, page);
    refuses(&db, &["list", "rooms", "--limit", "1000"], 8, &[]);
    assert!(lines.any(|line| line.contains("500 edits carried over")));
    std::thread::spawn(move || lines.for_each(drop));
    assert!(replica(&db, &["list", "rooms"]).status.success());
}

/// Makes the database one that no command can read.
pub(super) fn damage(db: &Path) {
    assert!(sqlite3(db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    let mut file = std::fs::OpenOptions::new().write(true).open(db).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&[0xff; 100]).unwrap();
}

#[test]
fn damaged_database_is_rebuilt_with_edits() {
    let (_dir, db) = replica_with_hall();
    damage(&db);
    for arguments in [&["status"][..], &["list", "rooms"], &["sync"], &["query", "SELECT 1"]] {
        refuses(&db, arguments, 8, &["hearth-replica rebuild"]);
    }
    // Without a server the rebuild cannot finish, but the new database is sound and holds the edit.
    refuses(&db, &["rebuild", "--timeout", "500ms"], 6, &["1 edit carried over", "damaged-"]);
    assert_eq!(json(&db, &["edits"])[0]["patch"]["name"], "Hall");
}

#[test]
fn rebuild_of_sound_database_names_lost_tables() {
    let altered = "Another program had removed or altered the table tasks, ";
    for (loss, words) in [("SELECT 1", ""), ("DROP TABLE tasks", altered)] {
        let (_dir, db) = replica_with_hall();
        assert!(sqlite3(&db, loss).status.success());
        let sound = "the database is sound; everything is downloaded again, and 1 edit stays";
        refuses(&db, &["rebuild", "--timeout", "500ms"], 6, &[words, sound]);
    }
}

#[test]
fn daemon_rebuilds_damaged_database() {
    let (_dir, db) = replica_with_hall();
    damage(&db);
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "1 edit carried over");
    let edits = text(&replica(&db, &["query", "SELECT count(*) FROM edits"]).stdout);
    assert!(edits.ends_with('1'), "{edits}");
}

#[test]
fn rebuild_keeps_wal_of_open_connections() {
    use hearth_replica::sync::SyncLock;
    use hearth_replica::{Origin, Replica};
    for damaged in ["sqlite_schema", "tasks"] {
        let (_dir, db) = unreachable_replica();
        let shown = Replica::open(&db, Origin::Tui).unwrap();
        let page = format!(
            "INSERT INTO rooms (name) VALUES ('Hall'); PRAGMA wal_checkpoint(TRUNCATE);
             SELECT coalesce((SELECT rootpage FROM sqlite_schema WHERE name = '{damaged}'), 1) - 1"
        );
        let page: u64 = text(&sqlite3(&db, &page).stdout).lines().last().unwrap().parse().unwrap();
        // Damaged by another process: closing a file handle in this process would release its locks.
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/urandom", "bs=100", "count=1", "conv=notrunc", "oflag=seek_bytes"]);
        dd.arg(format!("of={}", db.display())).arg(format!("seek={}", page * 4096));
        assert!(dd.output().unwrap().status.success());
        let lock = SyncLock::try_take(&db).unwrap().unwrap();
        assert!(hearth_replica::rebuild(&db, &lock).unwrap().kept_as.is_some());
        // The last process that closes a database deletes its log.
        assert!(sqlite3(&db, "SELECT count(*) FROM rooms").status.success());
        let name = serde_json::json!({ "name": "Attic" });
        shown.create(hearth_contract::schema::Kind::Room, name.as_object().unwrap()).unwrap();
        assert_eq!(text(&sqlite3(&db, "SELECT group_concat(name) FROM rooms").stdout), "Hall,Attic", "{damaged}");
    }
}

#[test]
fn wal_without_database_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    write_profile(&db, UNREACHABLE, "svc_test_x");
    std::fs::write(format!("{}-wal", db.display()), [7; 5000]).unwrap();
    for command in [&["status"][..], &["sync"]] {
        refuses(&db, command, 8, &["is missing, but its log is there"]);
    }
}

#[test]
fn moved_database_is_not_replaced() {
    let (dir, db) = unreachable_replica();
    // The edit is only in the log, which an open connection keeps.
    let open = hearth_replica::Replica::open(&db, hearth_replica::Origin::Cli).unwrap();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let elsewhere = dir.path().join("elsewhere.db");
    std::fs::rename(&db, &elsewhere).unwrap();
    drop(open);

    let mut daemon = daemon(&db, &[], &[]);
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let printed = lines.find(|line| line.contains("put it back") || line.contains("carried over"));
    assert!(printed.as_deref().is_some_and(|printed| printed.contains("put it back")), "{printed:?}");
    // The systemd unit does not restart the daemon after this code.
    assert_eq!(daemon.0.wait().unwrap().code(), Some(8));
    for command in [&["status"][..], &["add", "room", "name=Hall"], &["sync"], &["doctor", "--json"]] {
        let output = replica(&db, command);
        let printed = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(8), "{command:?}: {printed}");
        let next = "next: find the file and put it back; hearth-replica ";
        assert!(
            printed.contains(next) && printed.contains("discards data that only its log holds"),
            "{command:?}: {printed}"
        );
    }
    assert!(!db.exists());
    std::fs::rename(&elsewhere, &db).unwrap();
    assert_eq!(json(&db, &["edits"])[0]["patch"]["name"], "Hall");
}

#[test]
fn deleted_database_is_replaced_with_warning() {
    let (_dir, db) = unreachable_replica();
    json(&db, &["add", "room", "name=Hall"]);
    std::fs::remove_file(&db).unwrap();
    let gone = format!("hearth-replica: there was a replica at {}, and it is gone", db.display());
    let printed = refuses(&db, &["status"], 3, &["next: put the file back, or hearth-replica sync for a new one"]);
    assert!(printed.starts_with(&gone), "{printed}");
    let reported = text(&replica(&db, &["doctor"]).stdout);
    assert!(reported.contains("any more; the edits that only it held are lost"), "{reported}");
    // A sync creates a new database and says so.
    let printed = text(&replica(&db, &["sync", "--timeout", "1s"]).stderr);
    assert!(
        printed.contains("and it is gone; a new database is created, without the edits that only the old one held"),
        "{printed}"
    );
    let log = text(&sqlite3(&db, "SELECT text FROM sync_log WHERE level = 'warning'").stdout);
    assert!(log.contains("There was a database here before, and it is gone"), "{log}");
    let printed = text(&replica(&db, &["sync", "--timeout", "1s"]).stderr);
    assert!(!printed.contains("it is gone"), "{printed}");
    // The daemon does the same.
    std::fs::remove_file(&db).unwrap();
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "and it is gone; a new database is created");
}

#[test]
fn history_lists_newest_settled_first() {
    let (_dir, db) = unreachable_replica();
    for name in ["first", "second"] {
        json(&db, &["add", "room", &format!("name={name}")]);
    }
    for edit in ["2", "1"] {
        json(&db, &["edits", "discard", edit]);
    }
    let ids: Vec<i64> = json(&db, &["edits", "--history"])
        .as_array()
        .unwrap()
        .iter()
        .map(|edit| edit["id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids, [1, 2]);
}

/// Stops a daemon at a moment at which it holds no lock of the database. It writes for moments only, so a few attempts suffice.
fn stop_between_writes(db: &Path, process: &str) {
    let signal = |name| assert!(Command::new("kill").args([name, process]).status().unwrap().success());
    for _ in 0..1000 {
        signal("-STOP");
        if sqlite3(db, "BEGIN IMMEDIATE; ROLLBACK").status.success() {
            return;
        }
        signal("-CONT");
    }
    panic!("the daemon always holds a lock");
}

#[test]
fn sync_beside_stopped_daemon_names_the_process() {
    let (_dir, db) = unreachable_replica();
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "phase");
    let process = daemon.0.id().to_string();
    stop_between_writes(&db, &process);
    // Without a failed attempt there is no reason, as when a daemon in step is stopped.
    as_keeper(&db, "UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'live', reason = NULL, head = 0");
    let stopped = format!("process {process} syncs this database and is stopped");
    let next = format!("next: kill -CONT {process}");
    let printed = refuses(&db, &["sync", "--timeout", "500ms"], 6, &[&stopped, &next]);
    assert!(!printed.contains(UNREACHABLE), "the server is not at fault: {printed}");
}
