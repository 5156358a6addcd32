//! A home without a server: no edit waits, the doctor finds no fault, and each command after `next:` works.

use serde_json::Value;

use super::daemon::damage;
use super::doctor::{every_scope, identity};
use super::{fake_server, json, refuses, replica, text, unaddressed};

/// A home without a server, with an item that was changed once.
fn local_home() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("home.db");
    let begun = replica(&db, &["init", "--no-server"]);
    assert!(begun.status.success(), "{}", text(&begun.stderr));
    let item = text(&replica(&db, &["add", "inventory", "name=Chair", "quantity=8", "current_value=130.50"]).stdout);
    assert!(replica(&db, &["set", &item, "make=Thonet"]).status.success());
    (dir, db)
}

#[test]
fn local_status_shows_nothing_waiting() {
    let (_dir, db) = local_home();
    let status = json(&db, &["status"]);
    assert_eq!(status["phase"], "local");
    for nothing in ["waiting", "needs_you"] {
        assert_eq!(status[nothing], 0, "{nothing}");
    }
    for unknown in ["oldest_waiting_at", "server", "home", "environment", "reason", "offline_since", "head"] {
        assert_eq!(status[unknown], Value::Null, "{unknown}");
    }
    assert_eq!(json(&db, &["edits"])[0]["state"], "waiting", "the rows of edits are as ever");
    let shown = replica(&db, &["status"]);
    assert!(shown.status.success() && shown.stderr.is_empty(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).starts_with("All data is on this machine; there is no server."));
    assert_eq!(json(&db, &["list", "inventory"])[0]["pending"], false);
}

#[test]
fn local_doctor_finds_no_fault() {
    let (_dir, db) = local_home();
    let output = replica(&db, &["doctor", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let findings: Value = serde_json::from_slice(&output.stdout).unwrap();
    for finding in findings.as_array().unwrap() {
        assert_eq!((&finding["grade"], &finding["next"]), (&"ok".into(), &Value::Null), "{finding}");
    }
    assert!(findings.to_string().contains("begun without a server"), "{findings}");
}

#[test]
fn local_sync_and_run_exit_3_with_init() {
    let (_dir, db) = local_home();
    for command in ["sync", "run"] {
        refuses(&db, &[command], 3, &["has no server", "next: hearth-replica init --server URL"]);
    }
}

/// Commands that write or read say nothing about a server.
#[test]
fn local_commands_advise_no_sync() {
    let (dir, db) = local_home();
    let id = json(&db, &["list", "inventory"])[0]["id"].as_str().unwrap().to_owned();
    let copy = dir.path().join("copy.db");
    for arguments in [
        &["add", "room", "name=Attic"][..],
        &["set", &id, "make=Ikea"],
        &["show", &id],
        &["why", &id],
        &["list", "inventory"],
        &["edits"],
        &["undo"],
        &["resume"],
        &["export", copy.to_str().unwrap()],
    ] {
        let output = replica(&db, arguments);
        let printed = unaddressed(&db, &(text(&output.stdout) + &text(&output.stderr)));
        assert!(output.status.success(), "{arguments:?}: {printed}");
        for advice in ["sync", "hearth-replica run", "confirmed", "next:"] {
            assert!(!printed.contains(advice), "{arguments:?}: {printed}");
        }
    }
    assert_eq!(json(&copy, &["status"])["phase"], "local");
    assert_eq!(json(&copy, &["edits"])[0]["state"], "waiting", "a copy is as whole as the original");
}

#[test]
fn damaged_local_home_is_rebuilt() {
    let (_dir, db) = local_home();
    damage(&db);
    refuses(&db, &["status"], 8, &["hearth-replica rebuild"]);

    let rebuilt = replica(&db, &["rebuild"]);
    assert!(rebuilt.status.success(), "{}", text(&rebuilt.stderr));
    assert!(text(&rebuilt.stderr).contains("carried over into a new database"), "{}", text(&rebuilt.stderr));
    assert_eq!(json(&db, &["status"])["phase"], "local");
    let item = &json(&db, &["list", "inventory"])[0];
    assert_eq!((&item["make"], &item["quantity"]), (&"Thonet".into(), &8.into()));
    // A rebuild of a sound database keeps the rows.
    assert!(replica(&db, &["rebuild"]).status.success());
    assert_eq!(json(&db, &["status"])["phase"], "local");
    assert_eq!(json(&db, &["list", "inventory"]).as_array().unwrap().len(), 1);
}

#[test]
fn init_with_server_ends_the_phase_local() {
    let (_dir, db) = local_home();
    let (server, _requests) = fake_server(|_| Some(("200 OK", "", identity(&every_scope()))));
    let key = hearth_contract::key::key_text(hearth_contract::key::Environment::Test, [7; 32]);
    let file = db.with_extension("given");
    std::fs::write(&file, &key).unwrap();
    let joined = replica(&db, &["init", "--server", &server, "--key-file", file.to_str().unwrap()]);
    assert!(joined.status.success(), "{}", text(&joined.stderr));
    let status = json(&db, &["status"]);
    assert_eq!((&status["phase"], &status["server"]), (&"new".into(), &server.clone().into()));
    assert_eq!(status["waiting"], 2);
    assert_eq!(json(&db, &["list", "inventory"])[0]["pending"], true);
    // The home has a server, so the local start is refused.
    refuses(&db, &["init", "--no-server"], 1, &["this home has a server"]);
}
