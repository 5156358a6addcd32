//! The daemon as systemd sees it, and databases that are damaged, with no server in sight.

use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{json, new_replica, refusal, replica, sqlite3, text};

/// A profile beside the database: a server that nobody is, and a key.
fn set_up(db: &Path) {
    new_replica(db);
    write_profile(db);
}

fn write_profile(db: &Path) {
    super::write_profile(db, "http://127.0.0.1:9", "svc_test_x");
}

struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn daemon(db: &Path, arguments: &[&str], environment: &[(&str, String)]) -> Daemon {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.arg("--db").arg(db).arg("run").args(arguments).env("HOME", db.parent().unwrap());
    command.env_remove("HEARTH_API_KEY").env_remove("HEARTH_LOG").env_remove("NOTIFY_SOCKET");
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    Daemon(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The lines that it says, until one has the words.
fn until_it_says(daemon: &mut Daemon, words: &str) -> String {
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let found = lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("it never said {words}"));
    // Nobody reads the rest; a full pipe must not hold it up.
    std::thread::spawn(move || lines.for_each(drop));
    found
}

#[test]
fn systemd_hears_that_it_is_ready_how_it_stands_that_it_lives_and_that_it_stops() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
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
fn it_tells_counts_to_who_asks_and_logs_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
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
fn one_process_syncs_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "phase");
    let (file, process) = (db.display(), format!("process {}", daemon.0.id()));
    for (command, words) in [
        ("run", format!("the daemon, {process}, already keeps {file} in step; nothing needs to be")),
        ("rebuild", format!("another process syncs {file}, {process}")),
        // A key press reaches no process in the background.
        ("rebuild", format!("next: kill {}, then repeat the command", daemon.0.id())),
    ] {
        let (exit, said) = refusal(&db, &[command]);
        assert_eq!(exit, 1, "{said}");
        assert!(said.contains(&words), "{said}");
    }
}

/// Makes the database one that no command can read.
fn damage(db: &Path) {
    assert!(sqlite3(db, "PRAGMA wal_checkpoint(TRUNCATE)").status.success());
    let mut file = std::fs::OpenOptions::new().write(true).open(db).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&[0xff; 100]).unwrap();
}

#[test]
fn a_damaged_database_is_told_apart_and_rebuilt_with_its_edits() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    damage(&db);
    for arguments in [&["status"][..], &["list", "rooms"], &["sync"], &["query", "SELECT 1"]] {
        let (exit, said) = refusal(&db, arguments);
        assert_eq!(exit, 8, "{arguments:?}: {said}");
        assert!(said.contains("hearth-replica rebuild"), "{said}");
    }
    // There is no server to fill it from, which is said; but it is a database again, and the edit is in it.
    let (exit, said) = refusal(&db, &["rebuild", "--timeout", "500ms"]);
    assert_eq!(exit, 6, "{said}");
    assert!(said.contains("1 edit carried over") && said.contains("damaged-"), "{said}");
    assert_eq!(json(&db, &["edits"])[0]["patch"]["name"], "Hall");
}

#[test]
fn a_database_is_called_sound_only_where_nothing_of_it_was_missing() {
    for (loss, words) in
        [("SELECT 1", "the database is sound"), ("DROP TABLE tasks", "the missing parts of the database are restored")]
    {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("replica.db");
        set_up(&db);
        assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
        assert!(sqlite3(&db, loss).status.success());
        let (_, said) = refusal(&db, &["rebuild", "--timeout", "500ms"]);
        assert!(said.contains(&format!("{words}; everything is downloaded again, and 1 edit stays")), "{said}");
    }
}

#[test]
fn the_daemon_rebuilds_a_damaged_database_by_itself() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    damage(&db);
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "1 edit carried over");
    let edits = text(&replica(&db, &["query", "SELECT count(*) FROM edits"]).stdout);
    assert!(edits.ends_with('1'), "{edits}");
}

#[test]
fn a_program_that_has_it_open_and_heals_it_keeps_its_log() {
    use hearth_replica::sync::SyncLock;
    use hearth_replica::{Origin, Replica};
    for damaged in ["sqlite_schema", "tasks"] {
        let dir = tempfile::tempdir().unwrap();
        let db = dir.path().join("replica.db");
        set_up(&db);
        let shown = Replica::open(&db, Origin::Tui).unwrap();
        let page = format!(
            "INSERT INTO rooms (name) VALUES ('Hall'); PRAGMA wal_checkpoint(TRUNCATE);
             SELECT coalesce((SELECT rootpage FROM sqlite_schema WHERE name = '{damaged}'), 1) - 1"
        );
        let page: u64 = text(&sqlite3(&db, &page).stdout).lines().last().unwrap().parse().unwrap();
        // By another process: this one must not close a handle of the file.
        let mut dd = Command::new("dd");
        dd.args(["if=/dev/urandom", "bs=100", "count=1", "conv=notrunc", "oflag=seek_bytes"]);
        dd.arg(format!("of={}", db.display())).arg(format!("seek={}", page * 4096));
        assert!(dd.output().unwrap().status.success());
        let lock = SyncLock::try_take(&db).unwrap().unwrap();
        assert!(hearth_replica::rebuild(&db, &lock).unwrap().kept_as.is_some());
        // Whoever is the last to close a database takes its log away.
        assert!(sqlite3(&db, "SELECT count(*) FROM rooms").status.success());
        let name = serde_json::json!({ "name": "Attic" });
        shown.create(hearth_contract::schema::Kind::Room, name.as_object().unwrap()).unwrap();
        assert_eq!(text(&sqlite3(&db, "SELECT group_concat(name) FROM rooms").stdout), "Hall,Attic", "{damaged}");
    }
}

#[test]
fn a_log_without_its_database_is_no_new_replica() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    write_profile(&db);
    std::fs::write(format!("{}-wal", db.display()), [7; 5000]).unwrap();
    for command in [&["status"][..], &["sync"]] {
        let (exit, said) = refusal(&db, command);
        assert_eq!(exit, 8, "{said}");
        assert!(said.contains("is missing, but its log is there"), "{said}");
    }
}

#[test]
fn a_database_that_was_moved_away_is_missed_and_not_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    // The edit is in the log alone, which whoever has it open leaves where it is.
    let open = hearth_replica::Replica::open(&db, hearth_replica::Origin::Cli).unwrap();
    assert!(sqlite3(&db, "INSERT INTO rooms (name) VALUES ('Hall')").status.success());
    let elsewhere = dir.path().join("elsewhere.db");
    std::fs::rename(&db, &elsewhere).unwrap();
    drop(open);

    let mut daemon = daemon(&db, &[], &[]);
    let mut lines = BufReader::new(daemon.0.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.contains("put it back") || line.contains("carried over"));
    assert!(said.as_deref().is_some_and(|said| said.contains("put it back")), "{said:?}");
    // The unit does not start it again after this.
    assert_eq!(daemon.0.wait().unwrap().code(), Some(8));
    for command in [&["status"][..], &["add", "room", "name=Hall"], &["sync"], &["doctor", "--json"]] {
        let output = replica(&db, command);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(8), "{command:?}: {said}");
        let next = "next: find the file and put it back; hearth-replica ";
        assert!(said.contains(next) && said.contains("discards data that only its log holds"), "{command:?}: {said}");
    }
    assert!(!db.exists());
    std::fs::rename(&elsewhere, &db).unwrap();
    assert_eq!(json(&db, &["edits"])[0]["patch"]["name"], "Hall");
}

#[test]
fn a_database_that_was_taken_away_is_missed() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    json(&db, &["add", "room", "name=Hall"]);
    std::fs::remove_file(&db).unwrap();
    let (exit, said) = refusal(&db, &["status"]);
    let file = db.display();
    assert_eq!(exit, 3, "{said}");
    assert!(said.starts_with(&format!("hearth-replica: there was a replica at {file}, and it is gone")), "{said}");
    assert!(said.contains("next: put the file back, or hearth-replica sync for a new one"), "{said}");
    let told = text(&replica(&db, &["doctor"]).stdout);
    assert!(told.contains("any more; the edits that only it held are lost"), "{told}");
    // Whoever wants a new one gets it, and is told.
    let said = text(&replica(&db, &["sync", "--timeout", "1s"]).stderr);
    assert!(
        said.contains("and it is gone; a new database is created, without the edits that only the old one held"),
        "{said}"
    );
    let log = text(&sqlite3(&db, "SELECT text FROM sync_log WHERE level = 'warning'").stdout);
    assert!(log.contains("There was a database here before, and it is gone"), "{log}");
    let said = text(&replica(&db, &["sync", "--timeout", "1s"]).stderr);
    assert!(!said.contains("it is gone"), "{said}");
    // So does the daemon.
    std::fs::remove_file(&db).unwrap();
    let mut daemon = daemon(&db, &[], &[]);
    until_it_says(&mut daemon, "and it is gone; a new database is created");
}

#[test]
fn what_was_settled_last_is_told_first() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
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

#[test]
fn a_comparison_that_cannot_be_made_says_where_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    set_up(&db);
    json(&db, &["pause"]);
    let output = replica(&db, &["--json", "reconcile", "--timeout", "1s"]);
    assert_ne!(output.status.code(), Some(0));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["phase"], "paused", "{told}");
    assert!(text(&output.stderr).contains("the request stays"), "{}", text(&output.stderr));
}
