//! Tests of the whole store: a scene with a database, and helpers for events, edits and responses.

mod authors;
mod captures;
mod decisions;
mod files;
mod import;
mod lists;
mod local;
mod next_tasks;
mod outside;
mod overlay;
mod reconcile;
mod salvage;
mod scripts;
mod search;
mod sending;
mod unknown_revs;
mod user_objects;
mod verify;

use std::path::PathBuf;

use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::model::WriteOutcome;
use crate::model::{BatchEnd, ConflictPolicy, EditOutcome, EditState, FeedBatch, ReasonCode};
use crate::store::edits::{answers, plan, push};
use crate::store::sync_state::Home;
use crate::store::{feed, open, sync_state};

const ROOM: &str = "0190a3b0-0000-7000-8000-000000000001";
const TASK: &str = "0190a3b0-0000-7000-8000-000000000002";
const HOME: &str = "0190a3b0-0000-7000-8000-00000000000f";

/// A replica in a directory that is deleted with the scene.
struct Scene {
    directory: PathBuf,
    db: Connection,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The outcomes of edits that were all confirmed, as [`Scene::outcomes`] gives them.
fn confirmed(edits: std::ops::RangeInclusive<i64>) -> Vec<(i64, EditOutcome)> {
    edits.map(|edit| (edit, EditOutcome::Confirmed)).collect()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_780_272_000_000 + millis)
}

fn home() -> Home {
    Home {
        server: "http://localhost:1".to_owned(),
        id: HOME.to_owned(),
        name: "My home".to_owned(),
        environment: "test".to_owned(),
    }
}

fn greeting(head: i64, accepted: &[i64]) -> sync_state::Greeting {
    let accepted = accepted.to_vec();
    sync_state::Greeting { home: home(), head: Some(head), retention_seconds: None, accepted, process: None }
}

/// The request was not answered, so it may have been applied.
fn no_answer() -> WriteOutcome {
    WriteOutcome::Later { pause: None, code: Some(ReasonCode::Unreachable), reason: "no answer".to_owned() }
}

/// The server refuses the values of the edit.
fn rejected() -> WriteOutcome {
    WriteOutcome::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) }
}

impl Scene {
    fn new() -> Scene {
        let directory = std::env::temp_dir().join(format!("hearth-store-{}", uuid::Uuid::new_v4()));
        let mut db = open::read_write(&directory.join("replica.db")).unwrap();
        assert!(sync_state::adopt_home(&mut db, &home()).unwrap());
        Scene { directory, db }
    }

    /// A replica with one task of the server, at revision 5.
    fn with_task() -> Scene {
        Scene::with(vec![task(5, "Paint", "low")])
    }

    /// A replica that has heard these events.
    fn with(events: Vec<Event>) -> Scene {
        let mut scene = Scene::new();
        scene.hear(events);
        scene
    }

    /// The task at revision 5, and what a person does to it.
    fn edited(sql: &str) -> Scene {
        let scene = Scene::with_task();
        scene.does(sql);
        scene
    }

    /// The same, and the feed has reached its head.
    fn with_task_at_present() -> Scene {
        let mut scene = Scene::with_task();
        scene.is_at_present(5);
        scene
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

    /// The first value of a query, as text.
    fn one(&self, text: &str) -> String {
        self.db.query_row(text, [], |row| Ok(super::rows::sql_to_json(row.get_ref(0)?))).map_or_else(
            |error| error.to_string(),
            |value| value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        )
    }

    /// The rows that a query finds: a JSON array of rows, each an array of its columns.
    fn rows(&self, text: &str) -> Value {
        rows_of(&self.db, text)
    }

    /// The only row that a query finds, as a JSON array of its columns.
    fn row(&self, text: &str) -> Value {
        row_of(&self.db, text)
    }

    /// The only column of each row that a query finds, as a JSON array.
    fn column(&self, text: &str) -> Value {
        let rows = rows_of(&self.db, text);
        rows.as_array().unwrap().iter().map(|row| row[0].clone()).collect()
    }

    fn hear(&mut self, events: Vec<Event>) {
        self.apply(FeedBatch { cursor: events.last().map(|e| format!("c{}", e.id)), events, end: BatchEnd::More });
    }

    fn is_at_present(&mut self, head: i64) {
        self.apply(FeedBatch { end: BatchEnd::Present { head: Some(head) }, ..FeedBatch::default() });
    }

    fn apply(&mut self, batch: FeedBatch) {
        let proof = feed::Proof { phase: "live", reason: None, transport: "stream", is_current: true, now: at(0) };
        feed::apply(&mut self.db, &batch, None, &proof).unwrap();
    }

    /// The server reports its head. The edits were accepted before the report.
    fn greets(&mut self, head: i64, accepted: &[i64]) {
        sync_state::record_greeting(&mut self.db, &greeting(head, accepted), at(0)).unwrap();
    }

    /// The first edit of each group that may be sent.
    fn plan(&mut self) -> Vec<i64> {
        self.ready_groups().iter().map(|group| group[0]).collect()
    }

    /// The edits that may be sent, in groups: the edits of a group are sent as one.
    fn ready_groups(&mut self) -> Vec<Vec<i64>> {
        plan::plan(&mut self.db, 64, &[]).unwrap().ready.into_iter().map(|ready| ready.edits).collect()
    }

    fn freeze(&mut self, groups: &[Vec<i64>], policy: ConflictPolicy) -> Option<push::Request> {
        self.freeze_as(&format!("key-{}", groups[0][0]), groups, policy)
    }

    fn freeze_as(&mut self, key: &str, groups: &[Vec<i64>], policy: ConflictPolicy) -> Option<push::Request> {
        let wanted = push::NewRequest { groups: groups.to_vec(), new_key: key.to_owned() };
        push::freeze(&mut self.db, &[wanted], policy, at(0)).unwrap().remove(0)
    }

    fn send(&mut self, edit: i64) -> push::Request {
        self.freeze(&[vec![edit]], ConflictPolicy::Ask).expect("a request")
    }

    fn answer(&mut self, edit: i64, verdict: WriteOutcome) {
        answers::record_outcomes(&mut self.db, &[(edit, verdict)], at(0)).unwrap();
    }

    /// Sends an edit, and the request ends like this.
    fn attempt(&mut self, edit: i64, outcome: WriteOutcome) -> push::Request {
        let request = self.send(edit);
        self.answer(edit, outcome);
        request
    }

    fn reject(&mut self, edit: i64) {
        self.attempt(edit, rejected());
    }

    /// The edit is confirmed, and the feed has passed its position.
    fn confirm(&mut self, edit: i64, event: Event) {
        self.attempt(edit, WriteOutcome::Sent { rev: Some(event.id) });
        self.hear(vec![event]);
    }

    /// A scene with a changed task that a response reports as deleted on the server.
    fn deleted_by_an_answer() -> Scene {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
        scene.send(1);
        let problem = json!({ "type": "not_found" });
        scene.answer(1, WriteOutcome::Conflict { reason: "deleted on the server".to_owned(), problem, deleted: true });
        scene
    }

    /// The rows that a query finds, each as a tuple.
    fn tuples<T>(&self, text: &str) -> Vec<T>
    where
        T: for<'row> TryFrom<&'row rusqlite::Row<'row>, Error = rusqlite::Error>,
    {
        let mut statement = self.db.prepare(text).unwrap();
        statement.query_map([], |row| T::try_from(row)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// The states of the edits, by id.
    fn states(&self) -> Vec<EditState> {
        self.edit_states().into_iter().map(|(_, state)| state).collect()
    }

    /// The edits and their states, by id.
    fn edit_states(&self) -> Vec<(i64, EditState)> {
        self.tuples("SELECT id, state FROM edits ORDER BY id")
    }

    /// The ended edits and their outcomes, by id.
    fn outcomes(&self) -> Vec<(i64, EditOutcome)> {
        self.tuples("SELECT id, outcome FROM edit_history ORDER BY id")
    }
}

/// The rows that a query finds: a JSON array of rows, each an array of its columns.
fn rows_of(db: &Connection, text: &str) -> Value {
    let mut statement = db.prepare(text).unwrap();
    let columns = statement.column_count();
    let columns_of = |row: &rusqlite::Row<'_>| {
        (0..columns).map(|at| Ok(super::rows::sql_to_json(row.get_ref(at)?))).collect::<rusqlite::Result<Value>>()
    };
    statement.query_map([], columns_of).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The only row that a query finds, as a JSON array of its columns.
fn row_of(db: &Connection, text: &str) -> Value {
    let rows = rows_of(db, text);
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 1, "{text}");
    rows[0].clone()
}

fn event(id: i64, event_type: &str, kind: &str, record: &str, payload: Value) -> Event {
    let mut payload = payload;
    if let Some(members) = payload.as_object_mut() {
        members.insert("id".into(), record.into());
        members.insert("rev".into(), id.into());
        members.insert("created_at".into(), at(0).to_string().into());
        members.insert("updated_at".into(), at(id).to_string().into());
        members.insert("updated_by".into(), format!("device {id}").into());
    }
    serde_json::from_value(json!({
        "id": id, "type": event_type, "resource_type": kind, "resource_id": record, "payload": payload,
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
