//! The engine on a real database, told by hand what a server would say.

mod said;

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::*;
use crate::model::{BlockCause, EditState, Phase, Transport};
use crate::sync::core::Stretch;
use crate::sync::wire::Answer;
use crate::{Origin, Replica};

const HOME: &str = "0190a3b0-0000-7000-8000-00000000000f";

/// An engine, and somebody who edits beside it.
struct Scene {
    directory: tempfile::TempDir,
    engine: Engine,
    replica: Replica,
}

fn now() -> Moment {
    Moment { steady: 0, wall: Timestamp::from_millis(1_780_272_000_000) }
}

fn answer(status: u16, body: &Value) -> Answer {
    Answer { status, body: body.to_string().into_bytes(), ..Answer::default() }
}

impl Scene {
    /// In step with a server whose head is 5.
    fn in_step() -> Scene {
        Scene::in_step_after("")
    }

    /// The same after somebody has written to the database, before its home was known.
    fn in_step_after(sql: &str) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let mut drawn = 6;
        let chance = Box::new(move || {
            drawn += 1;
            drawn
        });
        let engine = Engine::open(&db, "http://hearth.test", Until::Stopped, ConflictPolicy::Ask, chance).unwrap();
        let mut scene = Scene { engine, replica: Replica::open(&db, Origin::Tui).unwrap(), directory };
        Connection::open(&db).unwrap().execute_batch(sql).unwrap();
        let begun = scene.engine.start(1, now()).unwrap();
        scene.greets(begun, 5);
        scene.hear(Heard::StreamOpened);
        scene.hear(Heard::Frames(Stretch { events: Vec::new(), cursor: Some("c5".into()), ready: Some(5) }));
        scene
    }

    fn hear(&mut self, heard: Heard) -> Done {
        self.engine.hear(now(), heard).unwrap()
    }

    fn answered(&mut self, ticket: u64, status: u16, body: &Value) -> Done {
        self.hear(Heard::Answer { ticket, answer: Ok(answer(status, body)) })
    }

    /// Says who it is to what was asked; gives what comes of that.
    fn greets(&mut self, begun: Done, head: i64) -> Done {
        let me = json!({ "data": {
            "team": { "name": "My home" }, "home": { "id": HOME, "environment": "test" }, "scopes": [], "rate_limits": null,
        }, "meta": {} });
        let feed = json!({ "data": [], "meta": { "feed": { "head": head, "oldest": 1, "retention_seconds": null } } });
        self.answered(ticket_of(&begun, "/v1/me"), 200, &me);
        self.answered(ticket_of(&begun, "/v1/events?limit=1"), 200, &feed)
    }

    fn state(&self) -> EditState {
        self.replica.edits().unwrap()[0].state
    }
}

/// The question that begins so.
fn ticket_of(done: &Done, path: &str) -> u64 {
    let asked = done.deeds.iter().find_map(|deed| match deed {
        Deed::Ask { ticket, ask } if ask.path.starts_with(path) => Some(*ticket),
        _ => None,
    });
    asked.unwrap_or_else(|| panic!("{path} is not asked: {:?}", done.deeds))
}

#[test]
fn an_answer_from_before_the_server_was_put_back_proves_nothing() {
    let mut scene = Scene::in_step();
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    let details = json!({ "reason": "restored", "resume_cursor": "r3", "fork": 3 });
    let expired = json!({ "error": { "type": "cursor_expired", "message": "another history", "details": details } });
    let begun = scene.hear(Heard::StreamRefused(answer(410, &expired)));
    scene.greets(begun, 3);
    let room = json!({ "data": { "id": "x", "name": "Shed", "rev": 6 }, "meta": {} });
    scene.hear(Heard::Answer { ticket: sent, answer: Ok(Answer { etag: Some("\"6\"".into()), ..answer(201, &room) }) });
    assert_eq!(scene.state(), EditState::Waiting, "the same request finds out whether the history of now has it");
}

#[test]
fn an_answer_from_before_the_last_contact_proves_nothing() {
    let mut scene = Scene::in_step();
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    scene.hear(Heard::StreamEnded { reason: "the connection broke".into() });
    let steady = scene.engine.wake_at().unwrap();
    let begun = scene.engine.hear(Moment { steady, ..now() }, Heard::Timer).unwrap();
    // Files of an older copy that has our cursor as well: nothing but the head would tell, and it was asked for.
    let room = json!({ "data": { "id": "x", "name": "Shed", "rev": 6 }, "meta": {} });
    scene.hear(Heard::Answer { ticket: sent, answer: Ok(Answer { etag: Some("\"6\"".into()), ..answer(201, &room) }) });
    assert_eq!(scene.state(), EditState::Waiting, "the same request finds out whether the history of now has it");
    scene.greets(begun, 5);
}

/// An answer to an edit that comes after another poll was asked for; gives the edit's state. `has_more`: the poll before it
/// has not reached the present.
fn answered_after_a_poll(has_more: bool) -> EditState {
    let mut scene = Scene::in_step();
    let later = |scene: &mut Scene| {
        let moment = Moment { steady: scene.engine.wake_at().unwrap(), ..now() };
        scene.engine.hear(moment, Heard::Timer).unwrap()
    };
    scene.hear(Heard::StreamEnded { reason: "the connection broke".into() });
    let begun = later(&mut scene);
    scene.greets(begun, 5);
    // Streams end without a word, so the feed is polled.
    let polled = scene.hear(Heard::StreamEnded { reason: "the connection broke".into() });
    let feed = json!({ "head": 5, "oldest": 1, "retention_seconds": null });
    let page = json!({ "data": [], "meta": { "feed": feed, "page": { "has_more": has_more, "next_cursor": "c6" } } });
    scene.answered(ticket_of(&polled, "/v1/events?limit=500"), 200, &page);
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    ticket_of(&later(&mut scene), "/v1/events?limit=500");
    let room = json!({ "data": { "id": "x", "name": "Shed", "rev": 6 }, "meta": {} });
    scene.hear(Heard::Answer { ticket: sent, answer: Ok(Answer { etag: Some("\"6\"".into()), ..answer(201, &room) }) });
    scene.state()
}

#[test]
fn an_answer_from_before_a_poll_proves_nothing() {
    // The server may have been put back before the poll reaches it, and after the answer was on its way.
    assert_eq!(answered_after_a_poll(false), EditState::Sending, "the same request goes again");
    assert_eq!(
        answered_after_a_poll(true),
        EditState::Sent,
        "polls that follow each other at once leave no time for that"
    );
}

#[test]
fn an_answer_from_before_the_feed_leapt_proves_nothing() {
    let mut scene = Scene::in_step();
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    // The command that puts a home back leaves a million numbers out, and contact need not end for that.
    let hall = |id: i64, event_type: &str| {
        let event = json!({
            "id": id, "type": format!("room.{event_type}"), "resource_type": "room", "event": event_type,
            "resource_id": "0190a3b0-0000-7000-8000-000000000001", "created_at": "2026-06-01T00:00:00.000Z",
            "idempotency_key": null, "api_version": "2026-06-01",
            "payload": { "id": "0190a3b0-0000-7000-8000-000000000001", "rev": id, "name": "Hall" },
        });
        serde_json::from_value::<Event>(event).unwrap()
    };
    let events = vec![hall(6, "created"), hall(1_000_007, "updated")];
    scene.hear(Heard::Frames(Stretch { events, cursor: Some("c".into()), ready: None }));
    let room = json!({ "data": { "id": "x", "name": "Shed", "rev": 7 }, "meta": {} });
    scene.hear(Heard::Answer { ticket: sent, answer: Ok(Answer { etag: Some("\"7\"".into()), ..answer(201, &room) }) });
    assert_eq!(scene.state(), EditState::Sending, "the same request goes again");
}

#[test]
fn an_answer_to_an_earlier_greeting_is_not_taken_for_one_to_the_last() {
    let mut scene = Scene::in_step();
    let lost = || Heard::StreamEnded { reason: "the connection broke".into() };
    let again = |scene: &mut Scene| {
        let steady = scene.engine.wake_at().unwrap();
        scene.engine.hear(Moment { steady, ..now() }, Heard::Timer).unwrap()
    };
    scene.hear(lost());
    let first = again(&mut scene);
    let (me, feed) = (ticket_of(&first, "/v1/me"), ticket_of(&first, "/v1/events?limit=1"));
    scene.hear(Heard::Answer { ticket: me, answer: Err("the connection broke".into()) });
    let second = again(&mut scene);
    scene.greets(second, 5);
    scene.hear(Heard::StreamOpened);
    scene.hear(Heard::Frames(Stretch { events: Vec::new(), cursor: Some("c5".into()), ready: Some(5) }));
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    let room = json!({ "data": { "id": "x", "name": "Shed", "rev": 6 }, "meta": {} });
    scene.hear(Heard::Answer { ticket: sent, answer: Ok(Answer { etag: Some("\"6\"".into()), ..answer(201, &room) }) });
    scene.hear(lost());
    let third = again(&mut scene);
    let stands = json!({ "data": [], "meta": { "feed": { "head": 5, "oldest": 1, "retention_seconds": null } } });
    scene.answered(feed, 200, &stands);
    scene.greets(third, 6);
    scene.hear(Heard::StreamOpened);
    assert_eq!(scene.state(), EditState::Sent, "a head from before it says nothing against it");
}

#[test]
fn what_was_wished_while_there_was_no_room_is_heard_once_there_is() {
    let mut scene = Scene::in_step();
    scene.engine.tell(now(), [Input::DiskFull { reason: NO_ROOM.to_owned(), cause: BlockCause::DiskFull }]).unwrap();
    scene.replica.reconcile(false).unwrap();
    // Its commit was heard of, and what came of it found no room.
    scene.engine.seen = connection::data_version(&scene.engine.connection).unwrap();
    let steady = scene.engine.wake_at().unwrap();
    scene.engine.hear(Moment { steady, ..now() }, Heard::Timer).unwrap();
    let begun: bool = scene
        .engine
        .connection
        .query_row("SELECT reconcile_requested = 0 AND EXISTS (SELECT 1 FROM _reconcile) FROM _sync", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert!(begun);
}

#[test]
fn who_asks_to_hurry_is_heard_once() {
    let mut scene = Scene::in_step();
    scene.hear(Heard::StreamEnded { reason: "the connection broke".into() });
    scene.replica.hurry().unwrap();
    let begun = scene.hear(Heard::DatabaseChanged);
    let ticket = ticket_of(&begun, "/v1/me");
    scene.hear(Heard::Answer { ticket, answer: Err("the server does not answer".into()) });
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    assert_eq!(scene.hear(Heard::DatabaseChanged).deeds, [], "nobody asked again");
}

#[test]
fn nothing_is_written_to_a_file_that_was_taken_away() {
    let mut scene = Scene::in_step();
    let (db, aside) = (scene.directory.path().join("replica.db"), scene.directory.path().join("aside.db"));
    std::fs::rename(&db, &aside).unwrap();
    let gone = scene.engine.hear(now(), Heard::Timer).unwrap_err();
    assert!(matches!(gone, StoreError::Moved(_)), "{gone}");
    let room = json!({ "name": "Shed" });
    let refused = scene.replica.create(Kind::Room, room.as_object().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("was moved, deleted, emptied or replaced"), "{refused}");
    std::fs::rename(&aside, &db).unwrap();
    scene.replica.create(Kind::Room, room.as_object().unwrap()).unwrap();
}

#[test]
fn triggers_of_others_fire_on_what_the_sync_writes_and_search_follows_with_and_without_them() {
    let mut scene = Scene::in_step();
    let stranger = Connection::open(scene.directory.path().join("replica.db")).unwrap();
    let mut told = |id: i64, event_type: &str, room: u32| {
        let at = "2026-06-01T00:00:00.000Z";
        let room = format!("0190a3b0-0000-7000-8000-{room:012}");
        let name = json!({ "id": room, "name": format!("Room {id}"), "rev": id, "created_at": at, "updated_at": at });
        let event = json!({
            "id": id, "type": event_type, "resource_type": "room", "resource_id": room, "created_at": at,
            "payload": (event_type != "deleted").then_some(name),
        });
        let events = vec![serde_json::from_value(event).unwrap()];
        scene.hear(Heard::Frames(Stretch { events, cursor: Some(format!("c{id}")), ready: None }));
        let names = "SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM rooms ORDER BY id)";
        let found =
            "SELECT coalesce(group_concat(title), '') FROM (SELECT title FROM search('room') ORDER BY record_id)";
        let read = |text| stranger.query_row(text, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(read(found), read(names), "{id}");
    };
    told(6, "created", 1);
    let count = || stranger.query_row("SELECT count(*) FROM heard", [], |row| row.get::<_, i64>(0)).unwrap();
    stranger
        .execute_batch(
            "CREATE TABLE heard (id TEXT);
             CREATE TRIGGER tell AFTER INSERT ON rooms BEGIN INSERT INTO heard VALUES (NEW.id); END",
        )
        .unwrap();
    told(7, "created", 2);
    told(8, "updated", 1);
    told(9, "deleted", 1);
    assert_eq!(count(), 1);
    stranger.execute_batch("DROP TRIGGER tell").unwrap();
    told(10, "created", 3);
    told(11, "updated", 2);
    told(12, "deleted", 2);
    assert_eq!(count(), 1);
}

#[test]
fn a_backlog_that_the_key_may_not_write_holds_no_other_collection_up() {
    let mut scene = Scene::in_step();
    let beside = crate::store::open::read_write(&scene.directory.path().join("replica.db")).unwrap();
    beside
        .execute_batch(
            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO rooms (name) SELECT 'Room ' || i FROM n;
             INSERT INTO tasks (title) VALUES ('Paint');",
        )
        .unwrap();
    let mut done = scene.hear(Heard::DatabaseChanged);
    let refusal = json!({ "error": { "type": "insufficient_scope", "message": "not rooms" } });
    let mut asked = Vec::new();
    for _ in 0..100 {
        let sends: Vec<(u64, String)> = done
            .deeds
            .iter()
            .filter_map(|deed| match deed {
                Deed::Ask { ticket, ask } => Some((*ticket, ask.path.clone())),
                _ => None,
            })
            .collect();
        done = Done::default();
        for (ticket, path) in sends {
            let status = if path.starts_with("/v1/rooms") { 403 } else { 500 };
            asked.push(path);
            done.deeds.extend(scene.answered(ticket, status, &refusal).deeds);
        }
    }
    assert!(asked.iter().any(|path| path == "/v1/tasks"), "{asked:?}");
    assert!(asked.len() < 40, "what is not allowed is not tried without end: {}", asked.len());
}

#[test]
fn a_key_too_weak_for_an_edit_leaves_the_feed_in_contact() {
    let mut scene = Scene::in_step();
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    let sent = ticket_of(&scene.hear(Heard::DatabaseChanged), "/v1/rooms");
    let refusal = json!({ "error": { "type": "insufficient_scope", "message": "not rooms" } });
    scene.answered(sent, 403, &refusal);
    // The view measures by the clock of this machine.
    let wall = Timestamp::from_millis(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64,
    );
    let heartbeat = Stretch { cursor: Some("c5".into()), ..Stretch::default() };
    scene.engine.hear(Moment { steady: 20_000, wall }, Heard::Frames(heartbeat)).unwrap();
    let status = scene.replica.status().unwrap();
    assert_eq!((status.phase, status.transport), (Phase::NeedsKey, Some(Transport::Stream)));
    assert!(status.behind_seconds.is_some_and(|behind| behind < 40) && status.offline_since.is_none(), "{status:?}");
    // Without the stream there is no contact, and the key stays refused.
    let later = Moment { steady: 20_001, wall };
    scene.engine.hear(later, Heard::StreamEnded { reason: "cut".into() }).unwrap();
    let status = scene.replica.status().unwrap();
    assert_eq!((status.phase.as_str(), status.transport), ("needs_key", None));
    assert!(status.offline_since.is_some());
}

#[test]
fn search_follows_a_profile_to_its_home() {
    let scene = Scene::in_step_after("INSERT INTO property (city) VALUES ('Ghent')");
    let found = "SELECT record_id || (SELECT id FROM property) || (SELECT count(*) FROM _search_rows) FROM search";
    let found: String = scene.engine.connection.query_row(found, [], |row| row.get(0)).unwrap();
    assert_eq!(found, format!("{HOME}{HOME}1"));
}

#[test]
fn an_index_that_refuses_what_the_server_has_is_named() {
    let rooms: Vec<Event> = [(6, 1), (7, 2)]
        .map(|(id, number)| {
            let record = format!("0190a3b0-0000-7000-8000-00000000000{number}");
            let payload = json!({ "id": record, "rev": id, "name": "Shed", "floor": "1" });
            let event = json!({
                "id": id, "type": "created", "resource_type": "room", "resource_id": record, "payload": payload,
                "created_at": now().wall.to_string(), "idempotency_key": null,
            });
            serde_json::from_value(event).unwrap()
        })
        .into();
    for on in ["name, floor", "lower(name)"] {
        let mut scene = Scene::in_step();
        let script = Connection::open(scene.directory.path().join("replica.db")).unwrap();
        script.execute_batch(&format!("CREATE UNIQUE INDEX one_name ON rooms ({on})")).unwrap();
        let stretch = Stretch { events: rooms.clone(), cursor: Some("c7".into()), ready: Some(7) };
        let error = scene.engine.hear(now(), Heard::Frames(stretch)).unwrap_err();
        let trouble = crate::doctor::trouble(scene.directory.path(), &error);
        assert!(trouble.text.contains("the UNIQUE index one_name on rooms"), "{on}: {trouble:?}");
        assert!(trouble.next.starts_with("DROP INDEX \"one_name\""), "{on}: {trouble:?}");
    }
}

#[test]
fn what_another_version_has_made_anew_is_not_written_to() {
    let mut scene = Scene::in_step();
    let mut other = Connection::open(scene.directory.path().join("replica.db")).unwrap();
    let event = |id: i64| {
        let event = json!({
            "id": id, "type": "room.created", "resource_type": "room", "event": "created",
            "resource_id": format!("0190a3b0-0000-7000-8000-{id:012}"), "created_at": "2026-06-01T00:00:00.000Z",
            "idempotency_key": null, "api_version": "2026-06-01",
            "payload": { "id": format!("0190a3b0-0000-7000-8000-{id:012}"), "rev": id, "name": "Hall" },
        });
        let events = vec![serde_json::from_value::<Event>(event).unwrap()];
        Heard::Frames(Stretch { events, cursor: Some(format!("c{id}")), ready: None })
    };
    // Somebody's own table is no other version.
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    scene.hear(event(6));
    let renewed = "UPDATE _schema SET stamp = 'of another build'; DROP TABLE mine";
    crate::store::gate::sync_tx(&mut other, |tx| Ok(tx.execute_batch(renewed)?)).unwrap();
    let ended = scene.engine.hear(now(), event(7));
    assert!(matches!(ended, Err(StoreError::SchemaReplaced)), "{:?}", ended.map(drop));
    let rooms: i64 = other.query_row("SELECT count(*) FROM rooms", [], |row| row.get(0)).unwrap();
    assert_eq!(rooms, 1);
}
