//! `capture`, `captures` and `accept` without a server, with the stock shell beside them.

use std::path::PathBuf;

use super::{as_keeper, empty_replica, json, replica, sql, sqlite3};

/// Drafts as the server makes them.
const DRAFTS: &str = r#"[
    {"name":"item","source":"reader","type":"inventory","id":null,"matches":[],
     "fields":{"name":"Drill","model":"X1","serial_number":"S-1"},
     "evidence":{"model":{"from":"text","text":"Model X1","confidence":"likely"}}},
    {"name":"document","source":"reader","type":"document","id":null,"matches":[],"evidence":{},
     "fields":{"title":"Receipt of the drill","category":"receipt","file_sha256":"HASH"}}]"#;

/// A capture of one photo, with drafts. Gives the replica, its directory and the id of the capture.
fn ready(arguments: &[&str]) -> (tempfile::TempDir, PathBuf, String) {
    let (dir, db) = empty_replica();
    let photo = dir.path().join("drill.txt");
    std::fs::write(&photo, "the plate of a drill").unwrap();
    json(&db, &["add", "room", "name=Shed"]);
    json(&db, &["add", "inventory", "name=Old drill", "model=X0"]);
    let capture = json(&db, &[&["capture", photo.to_str().unwrap()], arguments].concat());
    assert_eq!((capture["state"].as_str(), capture["unsent"].as_bool()), (Some("waiting"), Some(true)));
    let drafts = DRAFTS.replace("HASH", capture["files"][0].as_str().unwrap());
    as_keeper(&db, &format!("UPDATE captures SET state = 'ready', server_id = 's1', unsent = 0, drafts = '{drafts}'"));
    (dir, db, capture["id"].as_str().unwrap().to_owned())
}

#[test]
fn accepted_draft_becomes_an_item_with_its_paper() {
    let (_dir, db, id) = ready(&["--room", "Shed", "--note", "from the attic"]);
    assert_eq!(json(&db, &["files"])[0]["state"], "waiting");
    let accepted = json(&db, &["accept", &id[..8], "--set", "quantity=2"]);
    let item = json(&db, &["show", accepted["id"].as_str().unwrap()]);
    assert_eq!(
        [&item["name"], &item["model"], &item["quantity"], &item["notes"]],
        [&"Drill".into(), &"X1".into(), &serde_json::Value::from(2), &"from the attic".into()]
    );
    assert_eq!(
        sql(&db, "SELECT r.name FROM inventory i JOIN rooms r ON r.id = i.room_id WHERE i.name = 'Drill'"),
        "Shed"
    );
    let paper = sql(&db, "SELECT title || subject_id || content_type FROM documents");
    assert_eq!(paper, format!("Receipt of the drill{}text/plain; charset=utf-8", item["id"].as_str().unwrap()));
    assert_eq!(sql(&db, "SELECT state || unsent FROM captures"), "accepted1");
    let again = replica(&db, &["accept", &id]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("accepted already"));
}

#[test]
fn known_record_keeps_its_own_values() {
    let (_dir, db, id) = ready(&[]);
    json(&db, &["accept", &id, "--into", "Old drill"]);
    assert_eq!(sql(&db, "SELECT name || model || serial_number FROM inventory"), "Old drillX0S-1");
}

#[test]
fn chosen_fields_alone_are_taken() {
    let (_dir, db, id) = ready(&[]);
    assert_eq!(replica(&db, &["accept", &id, "--field", "colour"]).status.code(), Some(2));
    json(&db, &["accept", &id, "--field", "model", "--into", "Old drill"]);
    assert_eq!(sql(&db, "SELECT name || model || (serial_number IS NULL) FROM inventory"), "Old drillX11");
}

#[test]
fn discarded_capture_is_told_to_the_server_alone() {
    let (_dir, db, id) = ready(&[]);
    json(&db, &["captures", "discard", &id]);
    assert_eq!(sql(&db, "SELECT state || unsent FROM captures"), "discarded1");
    assert_eq!(sql(&db, "SELECT count(*) FROM documents"), "0");
    // Only commands write captures.
    assert!(!sqlite3(&db, "DELETE FROM captures").status.success());
}

#[test]
fn text_of_a_file_is_found_below_the_title() {
    let (dir, db) = empty_replica();
    let file = dir.path().join("paper.txt");
    std::fs::write(&file, "x").unwrap();
    json(&db, &["attach", file.to_str().unwrap(), "--to", "home"]);
    let hash = sql(&db, "SELECT sha256 FROM files");
    as_keeper(&db, &format!("INSERT INTO file_texts (sha256, text) VALUES ('{hash}', 'Kaufvertrag über ein Klavier')"));
    let document = sql(&db, "SELECT id FROM documents");
    json(&db, &["set", &document, "title=Contract"]);
    let found = json(&db, &["search", "klavier"]);
    assert_eq!(found[0]["id"], document.as_str());
    json(&db, &["set", &document, "file_sha256="]);
    assert_eq!(json(&db, &["search", "klavier"]).as_array().unwrap().len(), 0);
}
