//! Commands that wait for a server, for another process that syncs, or for a key: how long they wait, and how they end.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use hearth_replica::notification;
use hearth_replica::sync::SyncLock;
use serde_json::json;

use super::doctor::{every_scope, identity, keyed_replica};
use super::{FakeResponse, as_keeper, command, fake_server, refusal, refuses, replica, sqlite3, text};

/// Longer than any step takes on a slow machine.
const LONG: Duration = Duration::from_secs(60);

fn begin(db: &Path, arguments: &[&str]) -> Child {
    command(db, arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
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
    let (code, printed) = ended(child);
    assert_eq!(code, Some(4), "{printed}");
    assert!(printed.contains("The key was revoked."), "{printed}");
}

/// A stored refusal of a key says nothing about the server of now.
#[test]
fn waiting_sync_checks_key_itself() {
    let reported = |url: &str| {
        let (_dir, db) = keyed_replica(url);
        let _lock = SyncLock::try_take(&db).unwrap().unwrap();
        let wants =
            format!("daemon_pid = {}, phase = 'needs_key', reason = 'The key was revoked.'", std::process::id());
        as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', {wants}"));
        refusal(&db, &["sync", "--timeout", "20s"])
    };
    let (code, printed) = reported("http://127.0.0.1:9");
    assert!(code == 6 && printed.contains("cannot be reached"), "{code}: {printed}");
    let (url, _told) = fake_server(|_| refused("401 Unauthorized", "invalid_api_key", "It is revoked still."));
    let (code, printed) = reported(&url);
    assert!(code == 4 && printed.contains("It is revoked still."), "{code}: {printed}");
    // The server accepts the key, but the other process has another key, or the key lacks a scope.
    let (url, _told) = fake_server(|_| Some(("200 OK", "", identity(&every_scope()))));
    let (code, printed) = reported(&url);
    assert!(code == 4 && printed.contains("the server wants another key: The key was revoked."), "{code}: {printed}");
}

#[test]
fn signal_stops_wait_for_failing_server() {
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let (url, reported) = fake_server(|_| refused("502 Bad Gateway", "bad_gateway", "Not well."));
        let (_dir, db) = keyed_replica(&url);
        let child = begin(&db, &["reconcile", "--timeout", "10s"]);
        // The first request only checks that the server is reachable.
        (0..2).for_each(|_| drop(reported.recv_timeout(LONG).unwrap()));
        signal(&child, name);
        let (ended, printed) = ended(child);
        assert_eq!(ended, Some(code), "{printed}");
        assert!(printed.contains("told to stop"), "{printed}");
    }
}

#[test]
fn signal_stops_verify() {
    let (url, reported) = fake_server(|path| match path {
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
        asked.push(reported.recv_timeout(LONG).unwrap_or_else(|error| panic!("{error}: {asked:?}")));
    }
    signal(&child, "-INT");
    let (code, printed) = ended(child);
    assert_eq!(code, Some(130), "{printed}");
    assert!(printed.contains("told to stop"), "{printed}");
}

#[test]
fn silent_server_is_asked_once_until_timeout() {
    let (url, reported) = fake_server(|_| None);
    let (_dir, db) = keyed_replica(&url);
    refuses(&db, &["verify", "--timeout", "1s"], 6, &[&url, "in time"]);
    assert_eq!(reported.try_iter().count(), 1);
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
            refuses(&db, asks, 4, &[&format!("the key's file {key}: "), "next: "]);
        }
        let reported = replica(&db, &["doctor"]);
        assert_eq!(reported.status.code(), Some(4), "{}", text(&reported.stdout));
        assert!(text(&reported.stdout).contains(&format!("the key's file {key}: ")), "{}", text(&reported.stdout));
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
    let (_, printed) = refusal(&db, &["init", "--server", &url, "--key-file", &key]);
    assert!(printed.contains("red In step with the server."), "{printed:?}");
    assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{printed:?}");

    let reason = "'bad ' || char(27) || ']0;mine' || char(7, 10) || 'In step with the server.'";
    as_keeper(&db, &format!("UPDATE _sync SET backfilled = 1, cursor = 'c', phase = 'blocked', reason = {reason}"));
    as_keeper(&db, "UPDATE _sync SET home_name = 'My' || char(10) || 'home' || char(27)");
    let reported = text(&replica(&db, &["status"]).stdout);
    assert!(
        reported.contains("bad \u{fffd}]0;mine\u{fffd} In step with the server.") && reported.contains("My home"),
        "{reported:?}"
    );
    assert!(!reported.contains('\u{1b}') && !reported.contains('\u{7}'), "{reported:?}");
}
