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

use std::collections::BTreeSet;
use std::path::PathBuf;

use hearth_contract::check::Fields;
use hearth_contract::event::Event;
use hearth_contract::formats::Timestamp;
use hearth_contract::schema::Kind;
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::Replica;
use crate::model::ConflictPolicy::{Ask, Mine, Theirs};
use crate::model::*;
use crate::store::edits::decisions::single;
use crate::store::edits::resolve::{self, Resolution};
use crate::store::edits::{self, Decided, EditError, answers, decide, plan, push, undo};
use crate::store::read::filter::Condition;
use crate::store::read::view::{self, RowQuery, Sort};
use crate::store::sync_state::Home;
use crate::store::{StoreError, feed, gate, open, schema, status, sync_state};

const ROOM: &str = "0190a3b0-0000-7000-8000-000000000001";
const TASK: &str = "0190a3b0-0000-7000-8000-000000000002";
const CAR: &str = "0190a3b0-0000-7000-8000-000000000003";
const HOME: &str = "0190a3b0-0000-7000-8000-00000000000f";

/// A replica in a directory that is deleted with the scene.
struct Scene {
    directory: tempfile::TempDir,
    db: Connection,
}

/// A home without a server, with the face of the crate.
pub(super) struct Local {
    pub(super) replica: Replica,
    directory: tempfile::TempDir,
}

impl Local {
    pub(super) fn new() -> Local {
        let directory = tempfile::tempdir().unwrap();
        Local { replica: Replica::open(&directory.path().join("replica.db"), Origin::Cli).unwrap(), directory }
    }

    pub(super) fn db_path(&self) -> PathBuf {
        self.directory.path().join("replica.db")
    }

    /// Makes a record. Returns its id.
    pub(super) fn make(&self, kind: Kind, fields: Value) -> String {
        self.replica.create(kind, &object(fields)).unwrap()
    }

    /// The titles of the rows that meet these conditions, at most nine, sorted by a column.
    pub(super) fn titles(
        &self,
        kind: Kind,
        column: &'static str,
        descending: bool,
        all: Vec<Condition>,
    ) -> Vec<String> {
        let query = RowQuery { conditions: all, ..RowQuery::all(kind, Sort { column, descending }, 9) };
        self.replica.rows(&query).unwrap().rows.into_iter().map(|row| row.title).collect()
    }
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

/// A stream at the present.
fn live(now: Timestamp) -> feed::Proof {
    feed::Proof { phase: Phase::Live, reason: None, transport: Transport::Stream, is_current: true, now }
}

fn greeting(head: i64, accepted: &[i64]) -> sync_state::Greeting {
    let accepted = accepted.to_vec();
    sync_state::Greeting { home: home(), head: Some(head), retention_seconds: None, accepted, process: None }
}

/// The server accepts a change at a position.
fn accepted(rev: i64) -> WriteOutcome {
    WriteOutcome::Sent { rev: Some(rev) }
}

/// The request was not answered, so it may have been applied.
fn no_answer() -> WriteOutcome {
    WriteOutcome::Later { pause: None, code: Some(ReasonCode::Unreachable), reason: "no answer".to_owned() }
}

/// The server refuses the values of the edit.
fn rejected() -> WriteOutcome {
    WriteOutcome::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) }
}

/// The server has a record with the id of a create.
fn exists() -> WriteOutcome {
    let problem = json!({ "type": "already_exists" });
    WriteOutcome::Conflict { reason: "The id exists.".to_owned(), problem, deleted: false }
}

/// The members of a JSON object.
fn object(value: Value) -> Fields {
    value.as_object().cloned().unwrap()
}

/// Events of the server: one, or several.
trait Events {
    fn list(self) -> Vec<Event>;
}

impl Events for Event {
    fn list(self) -> Vec<Event> {
        vec![self]
    }
}

impl Events for Vec<Event> {
    fn list(self) -> Vec<Event> {
        self
    }
}

impl<const N: usize> Events for [Event; N] {
    fn list(self) -> Vec<Event> {
        self.into()
    }
}

/// Edits that are sent as one: a single edit, or several of one record.
trait Edits {
    fn group(self) -> Vec<i64>;
}

impl Edits for i64 {
    fn group(self) -> Vec<i64> {
        vec![self]
    }
}

impl<const N: usize> Edits for [i64; N] {
    fn group(self) -> Vec<i64> {
        self.into()
    }
}

impl Scene {
    /// A replica before its first contact.
    fn unconnected() -> Scene {
        let directory = tempfile::tempdir().unwrap();
        Scene { db: open::read_write(&directory.path().join("replica.db")).unwrap(), directory }
    }

    fn new() -> Scene {
        let mut scene = Scene::unconnected();
        assert!(sync_state::adopt_home(&mut scene.db, &home()).unwrap());
        scene
    }

    /// A replica with one task of the server, at revision 5.
    fn with_task() -> Scene {
        Scene::with(task(5, "Paint", "low"))
    }

    /// A replica that has heard these events.
    fn with(events: impl Events) -> Scene {
        let mut scene = Scene::new();
        scene.hear(events);
        scene
    }

    /// A replica that has heard these events, the last of which is the newest of the server.
    fn present(events: impl Events) -> Scene {
        let mut scene = Scene::new();
        scene.catch_up(events);
        scene
    }

    /// A replica without records, and what a person does.
    fn written(sql: &str) -> Scene {
        let mut scene = Scene::new();
        scene.does(sql);
        scene
    }

    /// The task at revision 5, and what a person does to it.
    fn edited(sql: &str) -> Scene {
        let mut scene = Scene::with_task();
        scene.does(sql);
        scene
    }

    /// The task at revision 5, the newest of the server.
    fn with_task_at_present() -> Scene {
        Scene::present(task(5, "Paint", "low"))
    }

    /// The same, and what a person does to it.
    fn edited_at_present(sql: &str) -> Scene {
        let mut scene = Scene::with_task_at_present();
        scene.does(sql);
        scene
    }

    /// The task at revision 5, what a person does to it, and what somebody else did there: nothing is sent of the edit.
    fn in_conflict(sql: &str, theirs: impl Events) -> Scene {
        let mut scene = Scene::edited(sql);
        scene.hear(theirs);
        scene.sends_nothing(1);
        scene
    }

    fn db_path(&self) -> PathBuf {
        self.directory.path().join("replica.db")
    }

    fn sql(&self, text: &str) -> Result<usize, String> {
        self.db.execute(text, []).map_err(|error| match error {
            rusqlite::Error::SqliteFailure(_, Some(sentence)) => sentence,
            other => other.to_string(),
        })
    }

    /// Plain SQL of a script: one statement or several.
    fn does(&mut self, text: &str) -> &mut Self {
        self.db.execute_batch(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        self
    }

    /// SQL in a transaction of the sync, which may write what a script may not.
    fn forces(&mut self, text: &str) -> &mut Self {
        gate::sync_tx(&mut self.db, |tx| Ok(tx.execute_batch(text)?)).unwrap();
        self
    }

    /// The first value of a query, as text.
    #[track_caller]
    fn one(&self, text: &str) -> String {
        let found = self.db.query_row(text, [], |row| Ok(super::rows::sql_to_json(row.get_ref(0)?)));
        let value = found.unwrap_or_else(|error| panic!("{text}: {error}"));
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// The rows that a query finds: a JSON array of rows, each an array of its columns.
    fn rows(&self, text: &str) -> Value {
        rows_of(&self.db, text)
    }

    /// The only row that a query finds, as a JSON array of its columns.
    fn row(&self, text: &str) -> Value {
        row_of(&self.db, text)
    }

    /// Asserts the only row that a query finds.
    #[track_caller]
    fn shows(&self, text: &str, expected: Value) -> &Self {
        assert_eq!(self.row(text), expected, "{text}");
        self
    }

    /// The only column of each row that a query finds, as a JSON array.
    fn column(&self, text: &str) -> Value {
        let rows = rows_of(&self.db, text);
        rows.as_array().unwrap().iter().map(|row| row[0].clone()).collect()
    }

    fn hear(&mut self, events: impl Events) -> &mut Self {
        self.hear_at(events, at(0))
    }

    /// Hears events, when it is `now` by the clock of this machine.
    fn hear_at(&mut self, events: impl Events, now: Timestamp) -> &mut Self {
        let events = events.list();
        let cursor = events.last().map(|e| format!("c{}", e.id));
        self.apply_at(FeedBatch { cursor, events, end: BatchEnd::More }, now)
    }

    fn is_at_present(&mut self, head: i64) -> &mut Self {
        self.apply(FeedBatch { end: BatchEnd::Present { head: Some(head) }, ..FeedBatch::default() })
    }

    /// Hears these events, the last of which is the newest of the server.
    fn catch_up(&mut self, events: impl Events) -> &mut Self {
        let events = events.list();
        let head = events.last().unwrap().id;
        self.hear(events);
        self.is_at_present(head)
    }

    fn apply(&mut self, batch: FeedBatch) -> &mut Self {
        self.apply_at(batch, at(0))
    }

    /// Applies a batch, when it is `now` by the clock of this machine.
    fn apply_at(&mut self, batch: FeedBatch, now: Timestamp) -> &mut Self {
        feed::apply(&mut self.db, &batch, None, &live(now)).unwrap();
        self
    }

    /// The server reports its head. The edits were accepted before the report.
    fn greets(&mut self, head: i64, accepted: &[i64]) -> &mut Self {
        sync_state::record_greeting(&mut self.db, &greeting(head, accepted), at(0)).unwrap();
        self
    }

    /// The first edit of each group that may be sent.
    fn plan(&mut self) -> Vec<i64> {
        self.ready_groups().iter().map(|group| group[0]).collect()
    }

    /// The edits that may be sent, in groups: the edits of a group are sent as one.
    fn ready_groups(&mut self) -> Vec<Vec<i64>> {
        plan::plan(&mut self.db, 64, &[]).unwrap().ready.into_iter().map(|ready| ready.edits).collect()
    }

    /// The request of these edits, made anew or again; none when the edits end or a person must decide.
    fn freeze(&mut self, edits: impl Edits, policy: ConflictPolicy) -> Option<push::Request> {
        self.freeze_groups(&[edits.group()], policy)
    }

    fn freeze_as(&mut self, key: &str, edits: impl Edits, policy: ConflictPolicy) -> Option<push::Request> {
        self.freeze_groups_as(key, &[edits.group()], policy)
    }

    fn freeze_groups(&mut self, groups: &[Vec<i64>], policy: ConflictPolicy) -> Option<push::Request> {
        self.freeze_groups_as(&format!("key-{}", groups[0][0]), groups, policy)
    }

    fn freeze_groups_as(&mut self, key: &str, groups: &[Vec<i64>], policy: ConflictPolicy) -> Option<push::Request> {
        let wanted = push::NewRequest { groups: groups.to_vec(), new_key: key.to_owned() };
        push::freeze(&mut self.db, &[wanted], policy, at(0)).unwrap().remove(0)
    }

    #[track_caller]
    fn send(&mut self, edits: impl Edits) -> push::Request {
        self.freeze(edits, Ask).expect("a request")
    }

    #[track_caller]
    fn sends_nothing(&mut self, edits: impl Edits) -> &mut Self {
        assert_eq!(self.freeze(edits, Ask), None);
        self
    }

    fn answer(&mut self, edit: i64, verdict: WriteOutcome) -> &mut Self {
        answers::record_outcomes(&mut self.db, &[(edit, verdict)], at(0)).unwrap();
        self
    }

    /// Sends edits, and the request ends like this.
    #[track_caller]
    fn attempt(&mut self, edits: impl Edits, outcome: WriteOutcome) -> &mut Self {
        let edits = edits.group();
        self.freeze_groups(std::slice::from_ref(&edits), Ask).expect("a request");
        self.answer(edits[0], outcome)
    }

    /// Sends edits, and the server accepts them at a position that the feed has not passed.
    #[track_caller]
    fn accept(&mut self, edits: impl Edits, rev: i64) -> &mut Self {
        self.attempt(edits, accepted(rev))
    }

    /// Several edits, each accepted at its own position.
    fn accept_each(&mut self, edits: &[(i64, i64)]) -> &mut Self {
        for &(edit, rev) in edits {
            self.accept(edit, rev);
        }
        self
    }

    #[track_caller]
    fn reject(&mut self, edits: impl Edits) -> &mut Self {
        self.attempt(edits, rejected())
    }

    /// The edits are confirmed, and the feed has passed their position.
    #[track_caller]
    fn confirm(&mut self, edits: impl Edits, event: Event) -> &mut Self {
        self.accept(edits, event.id);
        self.hear(event)
    }

    fn retry(&mut self, edit: i64) -> Result<Decided, String> {
        with_sentence(single(decide::retry_each(&mut self.db, &[edit])))
    }

    fn retry_each(&mut self, edits: &[i64]) -> &mut Self {
        for &edit in edits {
            self.retry(edit).unwrap();
        }
        self
    }

    fn discard(&mut self, edit: i64) -> Result<Decided, String> {
        with_sentence(single(decide::discard_each(&mut self.db, Origin::Cli, &[edit], at(0))))
    }

    fn change(&mut self, edit: i64, fields: Value) -> Result<Decided, String> {
        with_sentence(decide::change(&mut self.db, edit, &object(fields), at(0)))
    }

    fn resolve(&mut self, edit: i64, resolution: &Resolution) -> Result<Decided, String> {
        with_sentence(resolve::resolve(&mut self.db, Origin::Cli, edit, resolution, at(0)))
    }

    fn undo(&mut self, edit: Option<i64>) -> Result<Decided, String> {
        with_sentence(match edit {
            Some(edit) => single(undo::undo_each(&mut self.db, Origin::Cli, &[edit], at(0))),
            None => undo::undo_newest(&mut self.db, Origin::Cli, &BTreeSet::new(), at(0)),
        })
    }

    /// A scene with a changed task that a response reports as deleted on the server.
    fn deleted_by_an_answer() -> Scene {
        let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
        scene.send(1);
        let problem = json!({ "type": "not_found" });
        scene.answer(1, WriteOutcome::Conflict { reason: "deleted on the server".to_owned(), problem, deleted: true });
        scene
    }

    /// The words that a query finds, in one line.
    fn words(&self, text: &str, between: &str) -> String {
        let words = self.column(text);
        words.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(between)
    }

    /// The states of the edits, in the order of their ids: `conflict blocked`.
    fn states(&self) -> String {
        self.words("SELECT state FROM edits ORDER BY id", " ")
    }

    /// The edits and their states: `1 conflict, 2 blocked`.
    fn edit_states(&self) -> String {
        self.words("SELECT id || ' ' || state FROM edits ORDER BY id", ", ")
    }

    /// The ended edits and their outcomes: `1 confirmed, 2 merged`.
    fn outcomes(&self) -> String {
        self.words("SELECT id || ' ' || outcome FROM edit_history ORDER BY id", ", ")
    }

    /// The ended edits, and the states of the others: `1 confirmed, 2 merged; waiting`.
    fn edits(&self) -> String {
        format!("{}; {}", self.outcomes(), self.states())
    }
}

fn with_sentence(result: Result<Decided, EditError>) -> Result<Decided, String> {
    result.map_err(|error| error.to_string())
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
    gone(id, "task", TASK)
}

fn with_key(mut event: Event, key: &str) -> Event {
    event.idempotency_key = Some(key.to_owned());
    event
}

/// The JSON body of a request.
fn body(request: &push::Request) -> Value {
    serde_json::from_str(request.body.as_deref().unwrap()).unwrap()
}

/// A room with a name, as the server shows it first.
fn room(id: i64, name: &str) -> Event {
    event(id, "created", "room", ROOM, json!({ "name": name }))
}

/// A car, as the server shows it first.
fn car(id: i64) -> Event {
    event(id, "created", "vehicle", CAR, json!({ "name": "Car" }))
}

/// A document of somebody else, as the server shows it first.
fn paper(id: i64, title: &str) -> Event {
    event(id, "created", "document", HOME, json!({ "title": title }))
}

/// The profile with a city.
fn profile(id: i64, city: &str) -> Event {
    event(id, "updated", "property", HOME, json!({ "city": city }))
}

/// A record is deleted on the server.
fn gone(id: i64, kind: &str, record: &str) -> Event {
    event(id, "deleted", kind, record, Value::Null)
}
