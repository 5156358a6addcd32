//! Commands that wait for a server, for another process that syncs, or for a key: how long they wait, and how they end.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use hearth_replica::notification;
use hearth_replica::sync::SyncLock;
use serde_json::{Value, json};

use super::doctor::{every_scope, identity, keyed_replica};
use super::{FakeResponse, as_keeper, fake_server, refusal, replica, sqlite3, text};

/// Longer than any step takes on a slow machine.
const LONG: Duration = Duration::from_secs(60);

fn begin(db: &Path, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.arg("--db").arg(db).args(arguments).env("HOME", db.parent().unwrap()).env_remove("HEARTH_API_KEY");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn ended(child: Child) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), text(&stderr))
}

fn refused(status: &'static str, kind: &str, message: &str) -> Option<FakeResponse> {
    let error = json!({ "type": kind, "message": message, "fix": "", "doc_url": "", "details": {} });
    Some((status, "", json!({ "error": error, "meta": { "request_id": "req_1" } })))
}

/// Makes the replica claim that this process keeps it live.
fn is_live(db: &Path) {
    let now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+10 seconds')";
    let process = std::process::id();
    as_keeper(
        db,
        &format!(
            "UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'live', daemon_pid = {process}, head = 0, \
             last_contact_at = {now}, current_at = {now}, transport = 'stream'"
        ),
    );
}

#[test]
fn sync_takes_over_when_other_process_ends() {
    let (url, _told) = fake_server(|_| refused("401 Unauthorized", "invalid_api_key", "The key was revoked."));
    let (_dir, db) = keyed_replica(&url);
    let lock = SyncLock::try_take(&db).unwrap().unwrap();
    let (ring, rings) = channel();
    let watch = notification::subscribe(&db, move || {
        let _ = ring.send(());
    })
    .unwrap();
    let child = begin(&db, &["sync", "--timeout", "20s"]);
    rings.recv_timeout(LONG).expect("it asks the other one to hurry");
    drop((lock, watch));
    let (code, said) = ended(child);
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("The key was revoked."), "{said}");
}

/// A stored refusal of a key says nothing about the server of now.
#[test]
fn waiting_sync_checks_key_itself() {
    let told = |url: &str| {
        let (_dir, db) = keyed_replica(url);
        let _lock = SyncLock::try_take(&db).unwrap().unwrap();
        let wants =
            format!("daemon_pid = {}, phase = 'needs_key', reason = 'The key was revoked.'", std::process::id());
        as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', {wants}"));
        refusal(&db, &["sync", "--timeout", "20s"])
    };
    let (code, said) = told("http://127.0.0.1:9");
    assert!(code == 6 && said.contains("cannot be reached"), "{code}: {said}");
    let (url, _told) = fake_server(|_| refused("401 Unauthorized", "invalid_api_key", "It is revoked still."));
    let (code, said) = told(&url);
    assert!(code == 4 && said.contains("It is revoked still."), "{code}: {said}");
    // The server accepts the key, but the other process has another key, or the key lacks a scope.
    let (url, _told) = fake_server(|_| Some(("200 OK", "", identity(&every_scope()))));
    let (code, said) = told(&url);
    assert!(code == 4 && said.contains("the server wants another key: The key was revoked."), "{code}: {said}");
}

#[test]
fn signal_stops_wait_for_failing_server() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let (url, told) = fake_server(|_| refused("502 Bad Gateway", "bad_gateway", "Not well."));
        let (_dir, db) = keyed_replica(&url);
        let child = begin(&db, &["reconcile", "--timeout", "10s"]);
        // The first request only checks that the server is reachable.
        (0..2).for_each(|_| drop(told.recv_timeout(LONG).unwrap()));
        signal(&child, name);
        let (ended, said) = ended(child);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains("told to stop"), "{said}");
    }
}

#[test]
fn signal_stops_verify() {
    let (url, told) = fake_server(|path| match path {
        "/v1/me" => Some(("200 OK", "", identity(&every_scope()))),
        "/v1/events?limit=1" => {
            let feed = json!({ "head": 0, "oldest": 0, "retention_seconds": 1000 });
            Some(("200 OK", "", json!({ "data": [], "meta": { "request_id": "req_1", "feed": feed } })))
        }
        _ => None,
    });
    let (_dir, db) = keyed_replica(&url);
    is_live(&db);
    let _lock = SyncLock::try_take(&db).unwrap().unwrap();
    let child = begin(&db, &["verify", "--timeout", "30s"]);
    let mut asked = Vec::new();
    while asked.last().is_none_or(|path: &String| path == "/v1/me" || path.starts_with("/v1/events")) {
        asked.push(told.recv_timeout(LONG).unwrap_or_else(|error| panic!("{error}: {asked:?}")));
    }
    signal(&child, "-INT");
    let (code, said) = ended(child);
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("told to stop"), "{said}");
}

#[test]
fn silent_server_is_asked_once_until_timeout() {
    let (url, told) = fake_server(|_| None);
    let (_dir, db) = keyed_replica(&url);
    let (code, said) = refusal(&db, &["verify", "--timeout", "1s"]);
    assert_eq!(code, 6, "{said}");
    assert!(said.contains(&url) && said.contains("in time"), "{said}");
    assert_eq!(told.try_iter().count(), 1);
}

#[test]
fn overlong_timeout_is_refused() {
    let (_dir, db) = keyed_replica("http://127.0.0.1:9");
    for command in ["sync", "verify", "reconcile", "rebuild"] {
        let (code, said) = refusal(&db, &[command, "--timeout", "9999999999999999h"]);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("at most"), "{said}");
    }
}

#[test]
fn unreadable_key_stops_only_network_commands() {
    let (_dir, db) = keyed_replica(&super::doctor::good_server());
    let key = format!("{}.key", db.display());
    let good = format!("{key}.good");
    std::fs::rename(&key, &good).unwrap();
    for empty in [true, false] {
        if empty {
            std::fs::write(&key, "").unwrap();
        } else {
            let _ = std::fs::remove_file(&key);
            std::fs::write(&key, [0xff; 40]).unwrap();
        }
        std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        for local in [&["add", "room", "name=Hall"][..], &["list", "rooms"], &["status"], &["path"], &["edits"]] {
            let output = replica(&db, local);
            assert!(output.status.success(), "{local:?}: {}", text(&output.stderr));
        }
        for asks in [&["sync"][..], &["verify"], &["rebuild"], &["run"]] {
            let (code, said) = refusal(&db, asks);
            assert_eq!(code, 4, "{asks:?}: {said}");
            assert!(said.contains(&format!("the key's file {key}: ")) && said.contains("next: "), "{asks:?}: {said}");
        }
        let told = replica(&db, &["doctor"]);
        assert_eq!(told.status.code(), Some(4), "{}", text(&told.stdout));
        assert!(text(&told.stdout).contains(&format!("the key's file {key}: ")), "{}", text(&told.stdout));
        let server = std::fs::read_to_string(format!("{}.toml", db.display())).unwrap();
        let server = server.split('"').nth(1).unwrap();
        let made = replica(&db, &["init", "--server", server, "--key-file", &good]);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    assert_eq!(text(&sqlite3(&db, "SELECT count(*) FROM rooms").stdout), "2");
}

#[test]
fn control_characters_of_server_are_removed() {
    const WORDS: &str = "bad \u{1b}]0;mine\u{7}\u{1b}[31mred\nIn step with the server.";
    let (url, _told) = fake_server(|_| refused("404 Not Found", "not_found", WORDS));
    let (_dir, db) = keyed_replica(&url);
    let key = format!("{}.key", db.display());
    let (_, said) = refusal(&db, &["init", "--server", &url, "--key-file", &key]);
    assert!(said.contains("red In step with the server."), "{said:?}");
    assert!(!said.contains('\u{1b}') && !said.contains('\u{7}'), "{said:?}");

    let reason = "'bad ' || char(27) || ']0;mine' || char(7, 10) || 'In step with the server.'";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason = {reason}"));
    as_keeper(&db, "UPDATE _sync SET home_name = 'My' || char(10) || 'home' || char(27)");
    let told = text(&replica(&db, &["status"]).stdout);
    assert!(told.contains("bad  ]0;mine  In step with the server.") && told.contains("My home"), "{told:?}");
    assert!(!told.contains('\u{1b}') && !told.contains('\u{7}'), "{told:?}");
}

#[test]
fn sync_without_key_prints_status_as_json() {
    let (_dir, db) = keyed_replica("http://127.0.0.1:9");
    std::fs::remove_file(format!("{}.key", db.display())).unwrap();
    let output = replica(&db, &["sync", "--json"]);
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["phase"], "new", "{status}");
}
