//! What a script may do to the tables and what comes of it, and how the server's word and edits come together.

use std::path::PathBuf;

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::push::Verdict;
use super::standing::Home;
use super::{edits, mirror, open, push, query, replay, standing, status, view};

const ROOM: &str = "0190a3b0-0000-7000-8000-000000000001";
const TASK: &str = "0190a3b0-0000-7000-8000-000000000002";
const HOME: &str = "0190a3b0-0000-7000-8000-00000000000f";

/// A replica in a directory that goes with it.
struct Scene {
    directory: PathBuf,
    db: Connection,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_780_272_000_000 + millis)
}

impl Scene {
    fn new() -> Scene {
        let directory = std::env::temp_dir().join(format!("hearth-store-{}", uuid::Uuid::new_v4()));
        let mut db = open::read_write(&directory.join("replica.db")).unwrap();
        let home = Home {
            server: "http://localhost:1".to_owned(),
            id: HOME.to_owned(),
            name: "My home".to_owned(),
            environment: "test".to_owned(),
        };
        assert!(standing::adopt(&mut db, &home).unwrap());
        Scene { directory, db }
    }

    fn sql(&self, text: &str) -> Result<usize, String> {
        self.db.execute(text, []).map_err(|error| match error {
            rusqlite::Error::SqliteFailure(_, Some(sentence)) => sentence,
            other => other.to_string(),
        })
    }

    fn does(&self, text: &str) {
        self.sql(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    /// One value, as text.
    fn one(&self, text: &str) -> String {
        self.db.query_row(text, [], |row| Ok(super::rows::from_sql(row.get_ref(0)?))).map_or_else(
            |error| error.to_string(),
            |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        )
    }

    fn hear(&mut self, events: Vec<Event>) {
        let batch = mirror::Batch { cursor: events.last().map(|e| format!("c{}", e.id)), events, ready: None };
        mirror::apply(&mut self.db, &batch, &mirror::Proof { phase: "live", now: at(0) }).unwrap();
    }

    fn is_at_present(&mut self, head: i64) {
        let batch = mirror::Batch { ready: Some(head), ..mirror::Batch::default() };
        mirror::apply(&mut self.db, &batch, &mirror::Proof { phase: "live", now: at(0) }).unwrap();
    }

    fn plan(&mut self) -> Vec<i64> {
        push::plan(&mut self.db, 64).unwrap().ready
    }

    fn send(&mut self, edit: i64) -> push::Request {
        push::freeze(&mut self.db, edit, &format!("key-{edit}")).unwrap().unwrap()
    }

    fn answer(&mut self, edit: i64, verdict: Verdict) {
        push::record(&mut self.db, edit, &verdict, at(0)).unwrap();
    }
}

fn event(id: i64, happening: &str, kind: &str, record: &str, payload: Value) -> Event {
    let mut payload = payload;
    if let Some(members) = payload.as_object_mut() {
        members.insert("id".into(), record.into());
        members.insert("rev".into(), id.into());
        members.insert("created_at".into(), at(0).to_string().into());
        members.insert("updated_at".into(), at(id).to_string().into());
    }
    serde_json::from_value(json!({
        "id": id, "type": happening, "resource_type": kind, "resource_id": record, "payload": payload,
        "created_at": at(id).to_string(), "idempotency_key": null,
    }))
    .unwrap()
}

fn task(id: i64, title: &str, priority: &str) -> Event {
    event(id, "updated", "task", TASK, json!({ "title": title, "priority": priority, "status": "open" }))
}

fn deleted(id: i64) -> Event {
    event(id, "deleted", "task", TASK, Value::Null)
}

fn with_key(mut event: Event, key: &str) -> Event {
    event.idempotency_key = Some(key.to_owned());
    event
}

#[test]
fn bad_values_are_refused_with_the_contracts_sentences() {
    let scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    for (text, sentence) in [
        ("UPDATE tasks SET priority = 'hihg'", "priority must be one of low, medium, high, urgent"),
        ("UPDATE tasks SET due_on = '2026-02-30'", "due_on must be a calendar date written YYYY-MM-DD"),
        ("UPDATE tasks SET due_on = '26-02-03'", "due_on must be a calendar date written YYYY-MM-DD"),
        ("UPDATE tasks SET completed_at = '2026-02-03'", "completed_at is set by the server and cannot be written"),
        ("UPDATE tasks SET rev = 3", "rev is set by the server and cannot be written"),
        ("UPDATE tasks SET title = NULL", "title is required"),
        ("UPDATE tasks SET title = char(8195)", "title must not be blank"),
        ("UPDATE tasks SET title = 'a' || char(10)", "title must be one line without control characters"),
        ("UPDATE tasks SET title = 'a' || char(0) || 'b'", "title must be one line without control characters"),
        ("UPDATE tasks SET notes = 'a' || char(133)", "notes must have no control characters but line breaks and tabs"),
        ("UPDATE tasks SET subject_type = 'room'", "subject_id is required when subject_type is room"),
        ("UPDATE tasks SET id = 'x'", "id never changes; insert a new row instead"),
        ("UPDATE OR REPLACE tasks SET id = 'x'", "id never changes; insert a new row instead"),
        (
            "INSERT INTO tasks (title, created_at) VALUES ('a', '2026-01-01')",
            "created_at is set by the server and cannot be written",
        ),
        ("INSERT OR IGNORE INTO tasks (title) VALUES (NULL)", "title is required"),
        ("INSERT INTO rooms (id, name) VALUES ('ABC', 'a')", "id must be a UUID with hyphens, in lower case"),
        ("INSERT INTO rooms (name) VALUES (hex(zeroblob(101)))", "name must have at most 200 characters"),
        ("INSERT INTO rooms (name, area_sq_ft) VALUES ('a', 2147483648)", "area_sq_ft must be from 0 to 2147483647"),
        ("INSERT INTO inventory (name, quantity) VALUES ('a', NULL)", "quantity cannot be null"),
        (
            "INSERT INTO inventory (name, purchase_price) VALUES ('a', '1.234')",
            "purchase_price must be a decimal string such as \"1299.00\", at most 12 digits and 2 decimals",
        ),
        (
            "INSERT INTO vehicles (name, vin) VALUES ('a', '1HGCM82633A00435O')",
            "vin must be 11 to 17 of the letters A-Z and digits, without I, O and Q",
        ),
        ("INSERT INTO vehicles (name, year) VALUES ('a', 999)", "year must be from 1000 to 9999"),
        ("INSERT INTO documents (title, url) VALUES ('a', 'ftp://x')", "url must be an absolute http or https address"),
        ("DELETE FROM property", "property cannot be deleted; set its columns to null instead"),
        (
            "UPDATE edits SET state = 'sent'",
            "edits is kept by the replica itself; write to rooms, inventory, vehicles, documents, tasks or property instead",
        ),
    ] {
        if text.contains("property") {
            let _ = scene.sql("INSERT INTO property (city) VALUES ('Ghent')");
        }
        assert_eq!(scene.sql(text), Err(sentence.to_owned()), "{text}");
    }
    for text in [
        "INSERT INTO inventory (name, purchase_price, purchase_date) VALUES ('é', 7.5, '2024-02-29')",
        "INSERT INTO vehicles (name, vin) VALUES ('a', '1hgcm82633a004352')",
        "INSERT INTO documents (title, url) VALUES ('a', 'HTTPS://example.com/a?b#c')",
        "UPDATE tasks SET notes = 'a' || char(10, 9) || 'b'",
    ] {
        scene.does(text);
    }
    assert_eq!(scene.one("SELECT open FROM _gate"), "0");
}

#[test]
fn replace_is_refused_and_upsert_is_an_update() {
    let scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    let refused = "REPLACE is not supported on tasks; use UPDATE, or INSERT ... ON CONFLICT(id) DO UPDATE";
    let values = format!("INTO tasks (id, title) VALUES ('{TASK}', 'Again')");
    for verb in ["REPLACE", "INSERT OR REPLACE"] {
        assert_eq!(scene.sql(&format!("{verb} {values}")), Err(refused.to_owned()));
        let returning: Result<String, _> =
            scene.db.query_row(&format!("{verb} {values} RETURNING id"), [], |r| r.get(0));
        assert!(returning.unwrap_err().to_string().contains("REPLACE is not supported"));
    }
    scene.does("PRAGMA recursive_triggers = 1");
    assert_eq!(scene.sql(&format!("REPLACE {values}")), Err(refused.to_owned()));
    scene.does("PRAGMA recursive_triggers = 0");

    scene.does(&format!("INSERT OR IGNORE {values}"));
    scene.does(&format!("INSERT {values} ON CONFLICT DO NOTHING"));
    scene.does("INSERT INTO tasks (title) VALUES ('The mark of the one before is gone')");
    let upsert = format!("INSERT {values} ON CONFLICT (id) DO UPDATE SET title = excluded.title RETURNING title");
    assert_eq!(scene.one(&upsert), "Again");
    assert_eq!(
        scene.one("SELECT group_concat(method || ' ' || patch, '; ') FROM edits WHERE patch LIKE '%Again%'"),
        r#"update {"title":"Again"}"#
    );
}

#[test]
fn an_update_queues_only_what_changes_and_keeps_the_servers_form() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Paint', priority = 'high'");
    scene.does("UPDATE tasks SET title = title");
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1");
    assert_eq!(scene.one("SELECT patch || base || origin FROM edits"), r#"{"priority":"high"}{"priority":"low"}sql"#);
    assert_eq!(scene.one("SELECT rev || (fields ->> 'priority') FROM _images"), "5low");

    // Another's change of another field shows under ours; the same field stays ours until the feed has passed it.
    scene.hear(vec![task(6, "Paint the shed", "urgent")]);
    assert_eq!(scene.one("SELECT title || ' ' || priority || ' ' || rev FROM tasks"), "Paint the shed high 6");
    let request = scene.send(1);
    assert_eq!((request.verb.as_str(), request.body.as_deref()), ("PATCH", Some(r#"{"priority":"high"}"#)));
    scene.answer(1, Verdict::Sent { rev: Some(9) });
    scene.hear(vec![task(7, "Paint all", "urgent")]);
    assert_eq!(scene.one("SELECT title || ' ' || priority FROM tasks"), "Paint all high", "no flicker back");
    scene.hear(vec![task(9, "Paint all", "high")]);
    assert_eq!(scene.one("SELECT priority || rev FROM tasks"), "high9");
    assert_eq!(scene.one("SELECT outcome || rev FROM edit_history"), "confirmed9");
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM edits) + (SELECT count(*) FROM _images)"), "0");
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM _sent) + (SELECT count(*) FROM _requests)"), "0");
}

#[test]
fn events_twice_late_or_out_of_order_change_nothing() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low"), task(7, "Paint all", "high")]);
    scene.hear(vec![task(5, "Paint", "low")]);
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Paint all7");
    scene.hear(vec![deleted(8)]);
    scene.hear(vec![task(7, "Paint all", "high")]);
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0", "a deleted record does not come back");
    assert_eq!(scene.one("SELECT position FROM _sync"), "8");
    assert!(
        scene
            .sql(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'x')"))
            .unwrap_err()
            .contains("used before")
    );
}

#[test]
fn an_event_with_our_key_stands_for_a_lost_answer() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    assert_eq!(scene.plan(), [1]);
    let first = scene.send(1);
    assert_eq!(scene.send(1), first, "a retry sends the same bytes");
    scene.does("UPDATE tasks SET priority = 'high'");
    assert_eq!(scene.plan(), [1], "a later edit of the record waits");
    scene.hear(vec![with_key(task(4, "Paint", "medium"), &first.key)]);
    assert_eq!(scene.one("SELECT id || outcome FROM edit_history"), "1confirmed");
    assert_eq!(scene.one("SELECT priority || rev FROM tasks"), "high4", "the second edit is still laid over");
    assert_eq!(scene.plan(), [2]);
    scene.answer(1, Verdict::Later { at: None, reason: "late".to_owned() });
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1", "what is settled stays settled");
}

#[test]
fn what_depends_on_a_refused_edit_waits_for_a_person() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.does("INSERT INTO tasks (title) VALUES ('Other')");
    assert_eq!(scene.plan(), [1, 3], "the item waits for its room");
    scene.send(1);
    let problem = json!({ "type": "validation_failed" });
    scene.answer(1, Verdict::Rejected { reason: "name is taken".to_owned(), problem });
    assert_eq!(scene.plan(), [3]);
    let states = "SELECT group_concat(state, ' ') FROM (SELECT state FROM edits ORDER BY id)";
    assert_eq!(scene.one(states), "rejected blocked waiting");
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "1", "it stays visible");
    let status = status::read(&scene.db).unwrap();
    assert_eq!((status.waiting, status.needs_you), (1, 2));
}

#[test]
fn a_rooms_delete_waits_for_what_refers_to_it() {
    let mut scene = Scene::new();
    scene.hear(vec![event(1, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.does("DELETE FROM rooms");
    assert_eq!(scene.plan(), [1]);
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(2) });
    assert_eq!(scene.plan(), [2]);
    let request = scene.send(2);
    assert_eq!((request.verb.as_str(), request.body), ("DELETE", None));
    scene.answer(2, Verdict::Sent { rev: None });
    scene.hear(vec![event(4, "deleted", "room", ROOM, Value::Null)]);
    assert_eq!(scene.one("SELECT group_concat(outcome) FROM edit_history"), "confirmed,confirmed");
}

#[test]
fn an_edit_of_what_was_deleted_there_is_kept_and_shown() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.hear(vec![deleted(6)]);
    assert_eq!(scene.one("SELECT title FROM tasks"), "Mine");
    assert_eq!(scene.one("SELECT state || ', ' || reason FROM edits"), "conflict, deleted there");

    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.does("DELETE FROM tasks");
    scene.hear(vec![deleted(6)]);
    assert_eq!(
        scene.one("SELECT group_concat(outcome) FROM (SELECT outcome FROM edit_history ORDER BY id)"),
        "superseded,confirmed"
    );
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM _images)"), "0");
}

#[test]
fn the_profile_comes_into_being_by_its_first_update() {
    let mut scene = Scene::new();
    let fields = json!({ "city": "Ghent", "bedrooms": 3 }).as_object().cloned().unwrap();
    edits::update(&mut scene.db, "tui", hearth_contract::schema::Kind::Property, "", &fields).unwrap();
    assert_eq!(scene.one("SELECT id FROM property"), HOME);
    assert_eq!(scene.one("SELECT record_id || method || origin FROM edits"), format!("{HOME}updatetui"));
    let request = scene.send(1);
    assert_eq!(
        (request.path.as_str(), request.body.as_deref()),
        ("/v1/property", Some(r#"{"city":"Ghent","bedrooms":3}"#))
    );
    scene.answer(1, Verdict::Sent { rev: Some(3) });
    scene.hear(vec![event(3, "created", "property", HOME, json!({ "city": "Ghent", "bedrooms": 3 }))]);
    assert_eq!(scene.one("SELECT city || bedrooms || rev FROM property"), "Ghent33");
    assert!(
        scene.sql("INSERT INTO property (city) VALUES ('Bruges')").unwrap_err().starts_with("there is one property")
    );
}

#[test]
fn what_a_newer_server_says_is_kept() {
    let mut scene = Scene::new();
    let newer = json!({ "title": "Paint", "priority": "asap", "status": 7, "mood": { "is": "good" } });
    scene.hear(vec![
        event(1, "created", "pet", ROOM, json!({})),
        event(2, "moved", "task", TASK, json!({})),
        event(3, "created", "task", TASK, newer),
    ]);
    assert_eq!(scene.one("SELECT priority || extra FROM tasks"), r#"asap{"status":7,"mood":{"is":"good"}}"#);
    assert_eq!(scene.one("SELECT count(*) FROM sync_log WHERE level = 'warning'"), "2");
    scene.does("UPDATE tasks SET title = 'Paint all'");
    assert_eq!(scene.one("SELECT patch FROM edits"), r#"{"title":"Paint all"}"#);
    scene.hear(vec![task(4, "x", "low")]);
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Paint all4");
}

#[test]
fn reading_again_removes_what_is_gone_and_keeps_what_is_ours() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low"), event(6, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    scene.does("INSERT INTO tasks (title) VALUES ('Mine')");
    scene.does("UPDATE rooms SET name = 'My shed'");
    replay::begin(&mut scene.db, replay::Cause::Restored).unwrap();
    assert_eq!(status::read(&scene.db).unwrap().phase, "new");
    scene.hear(vec![event(3, "created", "vehicle", HOME, json!({ "name": "Car" }))]);
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "2");
    scene.is_at_present(4);
    assert_eq!(scene.one("SELECT group_concat(title) FROM tasks"), "Mine");
    assert_eq!(scene.one("SELECT name FROM rooms"), "My shed");
    assert_eq!(scene.one("SELECT group_concat(state) FROM (SELECT state FROM edits ORDER BY id)"), "waiting,conflict");
    assert_eq!(scene.one("SELECT position || '/' || filled || '/' || replay FROM _sync"), "4/1/0");
}

#[test]
fn search_follows_every_writer() {
    let mut scene = Scene::new();
    scene.hear(vec![event(1, "created", "room", ROOM, json!({ "name": "Café", "notes": "south side" }))]);
    scene.does("INSERT INTO tasks (title) VALUES ('Clean the cafe')");
    let found = |scene: &Scene, words: &str| view::search(&scene.db, words, 9).unwrap().len();
    assert_eq!(found(&scene, "CAFÉ"), 2);
    assert_eq!(view::search(&scene.db, "sou", 9).unwrap()[0].snippet, "**south** side");
    assert_eq!(found(&scene, "\"* OR a"), 0, "no query syntax");
    scene.does("UPDATE tasks SET title = 'Nothing'");
    scene.hear(vec![event(2, "deleted", "room", ROOM, Value::Null)]);
    assert_eq!(found(&scene, "cafe"), 0);
    scene.does("VACUUM");
    scene.does("UPDATE tasks SET title = 'Something'");
    assert_eq!(found(&scene, "something"), 1);
    assert_eq!(found(&scene, "nothing"), 0);
}

#[test]
fn status_claims_nothing_without_proof() {
    let mut scene = Scene::new();
    assert_eq!(status::read(&scene.db).unwrap().phase, "new");
    let pid = Some(std::process::id());
    standing::set_daemon(&mut scene.db, pid, at(0)).unwrap();
    scene.is_at_present(3);
    // The last contact is long ago by this machine's clock, so nothing is live.
    let status = status::read(&scene.db).unwrap();
    assert_eq!((status.phase.as_str(), status.behind_events), ("offline", None));
    let now = Timestamp::parse(&scene.one("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")).unwrap();
    standing::touch(&mut scene.db, now).unwrap();
    let status = status::read(&scene.db).unwrap();
    assert_eq!((status.phase.as_str(), status.behind_events, status.behind_seconds), ("live", Some(0), Some(0)));
    standing::set_daemon(&mut scene.db, None, now).unwrap();
    assert_eq!(status::read(&scene.db).unwrap().phase, "offline");
}

#[test]
fn a_query_cannot_write() {
    let scene = Scene::new();
    let path = scene.directory.join("replica.db");
    assert!(query::read_query(&path, "DELETE FROM tasks").is_err());
    let table = query::read_query(&path, "SELECT 1 AS one, NULL AS none").unwrap();
    assert_eq!((table.columns, table.rows), (vec!["one".into(), "none".into()], vec![vec![json!(1), Value::Null]]));
}

#[test]
fn renewing_the_schema_keeps_rows_and_edits() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    super::schema::renew(&mut scene.db).unwrap();
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Mine5");
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "1");
    assert!(super::schema::is_current(&scene.db).unwrap());
    scene.does("UPDATE tasks SET title = 'Mine again'");
    assert_eq!(scene.one("SELECT count(*) FROM edits"), "2");
}
