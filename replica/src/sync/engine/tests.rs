//! The engine on a real database, with scripted responses of a server.

mod phase_log;
mod property;

use std::path::PathBuf;

use hearth_contract::event::Event as FeedEvent;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::disk::NO_ROOM;
use super::*;
use crate::model::ConflictPolicy;
use crate::model::{BlockCause, EditState, Phase, Transport};
use crate::store::{Connection, StoreError, connection};
use crate::sync::core::{BatchEnd, Event, FeedBatch, LinkInput, Until};
use crate::sync::wire::HttpResponse;
use crate::{Origin, Replica};

const HOME: &str = "0190a3b0-0000-7000-8000-00000000000f";

/// An engine, and a replica handle that edits the same database.
struct Scene {
    directory: tempfile::TempDir,
    /// The time on the steady clock, in milliseconds.
    steady: i64,
    engine: Engine,
    replica: Replica,
}

/// The end of a batch that reaches the present.
fn present(head: i64) -> BatchEnd {
    BatchEnd::Present { head: Some(head) }
}

fn now() -> Moment {
    Moment { steady: 0, wall: Timestamp::from_millis(1_780_272_000_000) }
}

fn answer(status: u16, body: &Value) -> HttpResponse {
    HttpResponse { status, body: body.to_string().into_bytes(), ..HttpResponse::default() }
}

/// The events of a stream, the last of which is the newest of the server.
fn caught_up(events: Vec<FeedEvent>, head: i64) -> DriverEvent {
    DriverEvent::StreamBatch(FeedBatch { events, cursor: Some(format!("c{head}")), end: present(head) })
}

/// An event of a numbered room, as JSON.
fn room_json(id: i64, event_type: &str, number: i64, name: &str) -> Value {
    let (at, room) = ("2026-06-01T00:00:00.000Z", format!("0190a3b0-0000-7000-8000-{number:012}"));
    let payload = json!({ "id": room, "name": name, "floor": "1", "rev": id, "created_at": at, "updated_at": at });
    json!({
        "id": id, "type": event_type, "resource_type": "room", "resource_id": room, "created_at": at,
        "payload": (event_type != "deleted").then_some(payload),
    })
}

/// An event of a numbered room.
fn room_event(id: i64, event_type: &str, number: i64, name: &str) -> FeedEvent {
    serde_json::from_value(room_json(id, event_type, number, name)).unwrap()
}

/// The server wants no stream for a minute, so the feed is polled.
fn too_many_streams() -> HttpResponse {
    let error = json!({ "error": { "type": "too_many_streams", "message": "10 streams are open." } });
    HttpResponse { retry_after: Some("60".to_owned()), ..answer(429, &error) }
}

/// An engine whose random numbers count up from `seed`.
fn open_engine(db: &std::path::Path, seed: u128) -> Engine {
    let mut drawn = seed;
    let chance = Box::new(move || {
        drawn += 1;
        drawn
    });
    Engine::open(db, "http://hearth.test", Until::Stopped, ConflictPolicy::Ask, chance).unwrap()
}

impl Scene {
    /// A live sync with a server whose head is 5.
    fn live() -> Scene {
        Scene::live_after("")
    }

    /// The same, after `sql` has run before the first contact.
    fn live_after(sql: &str) -> Scene {
        let directory = tempfile::tempdir().unwrap();
        let db = directory.path().join("replica.db");
        let engine = open_engine(&db, 6);
        let mut scene = Scene { steady: 0, engine, replica: Replica::open(&db, Origin::Tui).unwrap(), directory };
        Connection::open(&db).unwrap().execute_batch(sql).unwrap();
        let begun = scene.engine.start(1, now()).unwrap();
        scene.reach_present(begun);
        scene
    }

    /// Answers a greeting; the stream that follows is at the present.
    fn reach_present(&mut self, begun: StepOutput) {
        self.answer_greeting(begun, 5);
        self.report(DriverEvent::StreamOpened);
        self.report(caught_up(Vec::new(), 5));
    }

    fn db_path(&self) -> PathBuf {
        self.directory.path().join("replica.db")
    }

    /// Another program with plain SQL.
    fn script(&self) -> Connection {
        Connection::open(self.db_path()).unwrap()
    }

    /// The first value of a query.
    fn value<T: rusqlite::types::FromSql>(&self, text: &str) -> T {
        self.script().query_row(text, [], |row| row.get(0)).unwrap()
    }

    fn loses_stream(&mut self) -> StepOutput {
        self.report(DriverEvent::StreamEnded { reason: "the connection broke".into() })
    }

    /// A person creates a room. Returns the ticket of the request.
    fn sends_room(&mut self) -> u64 {
        self.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
        ticket_of(&self.report(DriverEvent::DatabaseChanged), "/v1/rooms")
    }

    /// The server accepts the room. Returns the state of its edit.
    fn accepts_room(&mut self, ticket: u64, rev: i64) -> EditState {
        let room = json!({ "data": { "id": "x", "name": "Shed", "rev": rev }, "meta": {} });
        self.respond(ticket, 201, &room);
        self.replica.edits().unwrap()[0].state
    }

    fn report(&mut self, event: DriverEvent) -> StepOutput {
        self.engine.handle(Moment { steady: self.steady, ..now() }, event).unwrap()
    }

    /// Fires the next timer.
    fn timer(&mut self) -> StepOutput {
        self.steady = self.engine.wake_at().unwrap();
        self.report(DriverEvent::Timer)
    }

    fn respond(&mut self, ticket: u64, status: u16, body: &Value) -> StepOutput {
        self.report(DriverEvent::Response { ticket, response: Ok(answer(status, body)) })
    }

    /// Answers the two requests of a greeting.
    fn answer_greeting(&mut self, begun: StepOutput, head: i64) -> StepOutput {
        let me = json!({ "data": {
            "team": { "name": "My home" }, "home": { "id": HOME, "environment": "test" }, "scopes": [], "rate_limits": null,
        }, "meta": {} });
        let feed = json!({ "data": [], "meta": { "feed": { "head": head, "oldest": 1, "retention_seconds": null } } });
        self.respond(ticket_of(&begun, "/v1/me"), 200, &me);
        self.respond(ticket_of(&begun, "/v1/events?limit=1"), 200, &feed)
    }
}

/// The ticket of the request whose path begins with `path`.
fn ticket_of(done: &StepOutput, path: &str) -> u64 {
    let asked = done.commands.iter().find_map(|command| match command {
        Command::Send { ticket, request } if request.path.starts_with(path) => Some(*ticket),
        _ => None,
    });
    asked.unwrap_or_else(|| panic!("{path} is not requested: {:?}", done.commands))
}

#[test]
fn script_completion_gets_next_task_without_contact() {
    let mut scene = Scene::live();
    scene.loses_stream();
    let done = "INSERT INTO tasks (title, recurrence, due_on, status) VALUES ('Bins', 'weekly', '2026-01-05', 'done')";
    scene.script().execute_batch(done).unwrap();
    let tasks = "SELECT count(*) FROM tasks";
    assert_eq!(scene.value::<i64>(tasks), 1);
    assert!(scene.report(DriverEvent::DatabaseChanged).has_written, "other programs are notified");
    assert_eq!(scene.value::<i64>(tasks), 2);
    // The engine finds the words of the new row too.
    assert_eq!(scene.value::<i64>("SELECT count(*) FROM search WHERE search MATCH 'bins'"), 2);
}

/// The server may have been restored since the answer has left, so the same request is repeated.
#[test]
fn answer_from_before_a_possible_restore_is_stale() {
    let poll = |has_more| {
        let feed = json!({ "head": 5, "oldest": 1, "retention_seconds": null });
        json!({ "data": [], "meta": { "feed": feed, "page": { "has_more": has_more, "next_cursor": "c6" } } })
    };
    // What happens before the edit is sent, and between the request and its answer.
    type Steps = Box<dyn Fn(&mut Scene)>;
    let polls = |has_more: bool| -> Steps {
        Box::new(move |scene| {
            scene.loses_stream();
            let begun = scene.timer();
            scene.answer_greeting(begun, 5);
            let polled = scene.report(DriverEvent::StreamRefused(too_many_streams()));
            scene.respond(ticket_of(&polled, "/v1/events?limit=500"), 200, &poll(has_more));
        })
    };
    let next_poll = || -> Steps {
        Box::new(|scene| {
            ticket_of(&scene.timer(), "/v1/events?limit=500");
        })
    };
    let cases: [(&str, Steps, Steps, EditState); 5] = [
        (
            "a restore",
            Box::new(|_| ()),
            Box::new(|scene| {
                let details = json!({ "reason": "restored", "resume_cursor": "r3", "fork": 3 });
                let error = json!({ "type": "cursor_expired", "message": "another history", "details": details });
                let begun = scene.report(DriverEvent::StreamRefused(answer(410, &json!({ "error": error }))));
                scene.answer_greeting(begun, 3);
            }),
            EditState::Waiting,
        ),
        (
            "a new contact: only its greeting tells of a backup that still knows the cursor",
            Box::new(|_| ()),
            Box::new(|scene| {
                scene.loses_stream();
                ticket_of(&scene.timer(), "/v1/me");
            }),
            EditState::Waiting,
        ),
        (
            "a gap of a million ids, which a restore leaves, in a stream that survives a restore",
            Box::new(|_| ()),
            Box::new(|scene| {
                let events = vec![room_event(6, "created", 1, "Hall"), room_event(1_000_007, "updated", 1, "Hall")];
                let batch = FeedBatch { events, cursor: Some("c".into()), end: BatchEnd::More };
                scene.report(DriverEvent::StreamBatch(batch));
            }),
            EditState::Sending,
        ),
        ("a poll", polls(false), next_poll(), EditState::Sending),
        ("a poll while catching up, which leaves no time for a restore", polls(true), next_poll(), EditState::Sent),
    ];
    for (what, before, between, expected) in cases {
        let mut scene = Scene::live();
        before(&mut scene);
        let sent = scene.sends_room();
        between(&mut scene);
        assert_eq!(scene.accepts_room(sent, 7), expected, "{what}");
    }
}

#[test]
fn answer_to_earlier_greeting_is_ignored() {
    let mut scene = Scene::live();
    scene.loses_stream();
    let first = scene.timer();
    let (me, feed) = (ticket_of(&first, "/v1/me"), ticket_of(&first, "/v1/events?limit=1"));
    scene.report(DriverEvent::Response { ticket: me, response: Err("the connection broke".into()) });
    let second = scene.timer();
    scene.reach_present(second);
    let sent = scene.sends_room();
    scene.accepts_room(sent, 6);
    scene.loses_stream();
    let third = scene.timer();
    let stands = json!({ "data": [], "meta": { "feed": { "head": 5, "oldest": 1, "retention_seconds": null } } });
    scene.respond(feed, 200, &stands);
    scene.answer_greeting(third, 6);
    scene.report(DriverEvent::StreamOpened);
    assert_eq!(scene.replica.edits().unwrap()[0].state, EditState::Sent, "the earlier head is ignored");
}

#[test]
fn reconcile_request_survives_a_full_disk() {
    let mut scene = Scene::live();
    scene
        .engine
        .run(now(), [Event::Link(LinkInput::WriteFailed { reason: NO_ROOM.to_owned(), cause: BlockCause::DiskFull })])
        .unwrap();
    scene.replica.reconcile(false).unwrap();
    // The engine has seen the commit, and the write that followed was refused.
    scene.engine.data_version = connection::data_version(&scene.engine.connection).unwrap();
    scene.timer();
    assert!(scene.value::<bool>("SELECT reconcile_requested = 0 AND EXISTS (SELECT 1 FROM _reconcile) FROM _sync"));
}

#[test]
fn dropped_trigger_is_restored_after_a_moment() {
    for is_restored_by_another in [false, true] {
        let mut scene = Scene::live_after("INSERT INTO rooms (name) VALUES ('Hall')");
        scene.script().execute_batch("DROP TRIGGER _rooms_queue_update; UPDATE rooms SET floor = '1'").unwrap();
        assert_eq!(scene.report(DriverEvent::DatabaseChanged).commands, []);
        let trigger = "SELECT count(*) FROM sqlite_schema WHERE name = '_rooms_queue_update'";
        assert_eq!(scene.value::<i64>(trigger), 0, "another program may need several statements");
        let steady = scene.engine.wake_at().unwrap();
        assert!(steady <= 5000, "{steady}");
        if is_restored_by_another {
            drop(Replica::open(&scene.db_path(), Origin::Cli).unwrap());
        }
        scene.engine.handle(Moment { steady, ..now() }, DriverEvent::Timer).unwrap();
        assert_eq!([trigger, "SELECT count(*) FROM edits"].map(|text| scene.value::<i64>(text)), [1, 2]);
        let is_over = scene.engine.wake_at() != Some(steady);
        assert!(is_over || !is_restored_by_another, "a time in the past would fire for ever");
    }
}

#[test]
fn retry_now_request_counts_once() {
    let mut scene = Scene::live();
    scene.loses_stream();
    scene.replica.retry_sync_now().unwrap();
    let begun = scene.report(DriverEvent::DatabaseChanged);
    let ticket = ticket_of(&begun, "/v1/me");
    scene.report(DriverEvent::Response { ticket, response: Err("the server does not answer".into()) });
    scene.replica.create(Kind::Room, json!({ "name": "Shed" }).as_object().unwrap()).unwrap();
    assert_eq!(scene.report(DriverEvent::DatabaseChanged).commands, [], "no second request");
}

#[test]
fn moved_database_is_not_written() {
    let mut scene = Scene::live();
    let (db, aside) = (scene.db_path(), scene.directory.path().join("aside.db"));
    std::fs::rename(&db, &aside).unwrap();
    let gone = scene.engine.handle(now(), DriverEvent::Timer).unwrap_err();
    assert!(matches!(gone, StoreError::Moved(_)), "{gone}");
    let room = json!({ "name": "Shed" });
    let refused = scene.replica.create(Kind::Room, room.as_object().unwrap()).unwrap_err();
    assert!(refused.to_string().contains("was moved, deleted, emptied or replaced"), "{refused}");
    std::fs::rename(&aside, &db).unwrap();
    scene.replica.create(Kind::Room, room.as_object().unwrap()).unwrap();
}

#[test]
fn user_triggers_fire_and_search_follows() {
    let mut scene = Scene::live();
    let user_connection = scene.script();
    let mut apply_event = |id: i64, event_type: &str, room: i64| {
        let events = vec![room_event(id, event_type, room, &format!("Room {id}"))];
        let batch = FeedBatch { events, cursor: Some(format!("c{id}")), end: BatchEnd::More };
        scene.report(DriverEvent::StreamBatch(batch));
        let names = "SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM rooms ORDER BY id)";
        let found =
            "SELECT coalesce(group_concat(title), '') FROM (SELECT title FROM search('room') ORDER BY record_id)";
        let read = |text| user_connection.query_row(text, [], |row| row.get::<_, String>(0)).unwrap();
        assert_eq!(read(found), read(names), "{id}");
    };
    apply_event(6, "created", 1);
    let count = || user_connection.query_row("SELECT count(*) FROM fired", [], |row| row.get::<_, i64>(0)).unwrap();
    user_connection
        .execute_batch(
            "CREATE TABLE fired (id TEXT);
             CREATE TRIGGER record_insert AFTER INSERT ON rooms BEGIN INSERT INTO fired VALUES (NEW.id); END",
        )
        .unwrap();
    apply_event(7, "created", 2);
    apply_event(8, "updated", 1);
    apply_event(9, "deleted", 1);
    assert_eq!(count(), 1);
    user_connection.execute_batch("DROP TRIGGER record_insert").unwrap();
    apply_event(10, "created", 3);
    apply_event(11, "updated", 2);
    apply_event(12, "deleted", 2);
    assert_eq!(count(), 1);
}

#[test]
fn forbidden_backlog_does_not_stop_others() {
    let mut scene = Scene::live();
    let beside = crate::store::open::read_write(&scene.db_path()).unwrap();
    beside
        .execute_batch(
            "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
             INSERT INTO rooms (name) SELECT 'Room ' || i FROM n;
             INSERT INTO tasks (title) VALUES ('Paint');",
        )
        .unwrap();
    let mut commands = scene.report(DriverEvent::DatabaseChanged).commands;
    let refusal = json!({ "error": { "type": "insufficient_scope", "message": "not rooms" } });
    let mut asked = Vec::new();
    for _ in 0..100 {
        for command in std::mem::take(&mut commands) {
            let Command::Send { ticket, request } = command else { continue };
            let status = if request.path.starts_with("/v1/rooms") { 403 } else { 500 };
            asked.push(request.path);
            commands.extend(scene.respond(ticket, status, &refusal).commands);
        }
    }
    assert!(asked.iter().any(|path| path == "/v1/tasks"), "{asked:?}");
    assert!(asked.len() < 40, "forbidden edits are not retried without end: {}", asked.len());
}

#[test]
fn missing_scope_keeps_contact() {
    let mut scene = Scene::live();
    let sent = scene.sends_room();
    let refusal = json!({ "error": { "type": "insufficient_scope", "message": "not rooms" } });
    scene.respond(sent, 403, &refusal);
    // The status view reads the machine's clock.
    let wall = Timestamp::from_millis(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64,
    );
    let heartbeat = FeedBatch { cursor: Some("c5".into()), ..FeedBatch::default() };
    scene.engine.handle(Moment { steady: 19_000, wall }, DriverEvent::StreamBatch(heartbeat)).unwrap();
    let status = scene.replica.status().unwrap();
    assert_eq!((status.phase, status.transport), (Phase::NeedsKey, Some(Transport::Stream)));
    assert!(status.behind_seconds.is_some_and(|behind| behind < 40) && status.offline_since.is_none(), "{status:?}");
    // Without a stream, contact is lost and the key stays refused.
    let later = Moment { steady: 19_001, wall };
    scene.engine.handle(later, DriverEvent::StreamEnded { reason: "cut".into() }).unwrap();
    let status = scene.replica.status().unwrap();
    assert_eq!((status.phase.as_str(), status.transport), ("needs_key", None));
    assert!(status.offline_since.is_some());
}

#[test]
fn finding_outlives_the_process() {
    let mut scene = Scene::live();
    let at = |steady: i64, wall: i64| Moment { steady, wall: now().wall.plus_millis(wall) };
    let polled = scene.engine.handle(at(20_000, 0), DriverEvent::Timer).unwrap();
    let event = room_json(6, "deleted", 1, "");
    let feed = json!({ "head": 6, "oldest": 1, "retention_seconds": null });
    let page = json!({ "data": [event], "meta": { "feed": feed, "page": { "has_more": false, "next_cursor": "c6" } } });
    let ticket = ticket_of(&polled, "/v1/events?limit=500&cursor=c5");
    let response = DriverEvent::Response { ticket, response: Ok(answer(200, &page)) };
    scene.engine.handle(at(20_000, 0), response).unwrap();
    let found = scene.engine.handle(at(22_000, 0), DriverEvent::Timer).unwrap();
    assert_eq!(found.commands, [Command::CloseStream]);
    let found: String = scene.value("SELECT transport || ': ' || reason FROM _sync");
    assert!(found.starts_with("poll: the stream brings no events"), "{found}");

    let week = 7 * 86_400_000;
    for (server, after, expects_polls) in
        [("http://hearth.test", week - 1, true), ("http://hearth.test", week, false), ("http://other.test", 1, false)]
    {
        let random = Box::new(|| 7);
        scene.engine = Engine::open(&scene.db_path(), server, Until::Stopped, ConflictPolicy::Ask, random).unwrap();
        let begun = scene.engine.start(1, at(0, after)).unwrap();
        let followed = scene.answer_greeting(begun, 6);
        let polls =
            matches!(&followed.commands[..], [Command::Send { request, .. }] if request.path.contains("limit=500"));
        assert_eq!(polls, expects_polls, "{server} {after}: {:?}", followed.commands);
    }
}

#[test]
fn search_follows_the_profile_id() {
    let scene = Scene::live_after("INSERT INTO property (city) VALUES ('Ghent')");
    let found = "SELECT record_id || (SELECT id FROM property) || (SELECT count(*) FROM _search_rows) FROM search";
    assert_eq!(scene.value::<String>(found), format!("{HOME}{HOME}1"));
}

#[test]
fn refusing_unique_index_is_named() {
    for on in ["name, floor", "lower(name)"] {
        let mut scene = Scene::live();
        scene.script().execute_batch(&format!("CREATE UNIQUE INDEX one_name ON rooms ({on})")).unwrap();
        let rooms = [1, 2].map(|number| room_event(5 + number, "created", number, "Shed"));
        let error = scene.engine.handle(now(), caught_up(rooms.into(), 7)).unwrap_err();
        let trouble = crate::doctor::diagnose(scene.directory.path(), &error);
        assert!(trouble.text.contains("the UNIQUE index one_name on rooms"), "{on}: {trouble:?}");
        assert!(trouble.next.starts_with("DROP INDEX \"one_name\""), "{on}: {trouble:?}");
    }
}

#[test]
fn database_of_newer_program_is_not_written() {
    let mut scene = Scene::live();
    let mut other = scene.script();
    let event = |id: i64| {
        let events = vec![room_event(id, "created", id, "Hall")];
        DriverEvent::StreamBatch(FeedBatch { events, cursor: Some(format!("c{id}")), end: BatchEnd::More })
    };
    // A table of the user changes no version.
    other.execute_batch("CREATE TABLE mine (a)").unwrap();
    scene.report(event(6));
    let renewed = "UPDATE _sync SET schema_stamp = 'of another build'; DROP TABLE mine";
    crate::store::gate::sync_tx(&mut other, |tx| Ok(tx.execute_batch(renewed)?)).unwrap();
    let ended = scene.engine.handle(now(), event(7));
    assert!(matches!(ended, Err(StoreError::SchemaReplaced)), "{:?}", ended.map(drop));
    assert_eq!(scene.value::<i64>("SELECT count(*) FROM rooms"), 1);
}

/// SQLite's `.restore` puts an older copy into a database that a sync has open. The feed must go on from the position of the copy:
/// its next batch would leave out the events between both positions.
#[test]
fn feed_goes_on_from_the_position_of_a_restored_copy() {
    for is_noticed_before in [true, false] {
        let mut scene = Scene::live();
        let mut old = Connection::open_in_memory().unwrap();
        let copy = |from: &Connection, to: &mut Connection| {
            let backup = rusqlite::backup::Backup::new(from, to).unwrap();
            backup.run_to_completion(i32::MAX, std::time::Duration::ZERO, None).unwrap();
        };
        copy(&scene.script(), &mut old);
        let created = |number: i64| room_event(number, "created", number, "Hall");
        scene.report(caught_up(vec![created(6)], 6));
        copy(&old, &mut scene.script());
        let event = if is_noticed_before { DriverEvent::DatabaseChanged } else { caught_up(vec![created(7)], 7) };
        let begun = scene.report(event);
        assert!(matches!(begun.commands[0], Command::CloseStream), "{:?}", begun.commands);
        let greeted = scene.answer_greeting(begun, 7);
        let cursor = greeted.commands.iter().find_map(|command| match command {
            Command::OpenStream(request) => request.path.split_once("cursor=").map(|(_, cursor)| cursor.to_owned()),
            _ => None,
        });
        assert_eq!(cursor.as_deref(), Some("c5"));
        scene.report(DriverEvent::StreamOpened);
        scene.report(caught_up(vec![created(6), created(7)], 7));
        let state = "SELECT phase || ' ' || position || ' ' || (SELECT count(*) FROM rooms) FROM _sync";
        assert_eq!(scene.value::<String>(state), "live 7 2");
    }
}
