//! Reconciles: which records stay, which are deleted, and which deletions a person is asked about.

use super::*;
use crate::store::{control, reconcile};

mod lost;

pub(super) fn record(id: &str, rev: i64, fields: Value) -> Fields {
    let mut record = object(fields);
    record.insert("id".into(), id.into());
    record.insert("rev".into(), rev.into());
    record.insert("created_at".into(), at(0).to_string().into());
    record.insert("updated_at".into(), at(rev).to_string().into());
    record
}

impl Scene {
    fn begins(&mut self, cause: &ReconcileCause) -> Reconcile {
        self.forces("UPDATE _sync SET cursor = 'c'");
        reconcile::begin(&mut self.db, cause).unwrap().unwrap()
    }

    pub(super) fn recovers(&mut self, cause: &ReconcileCause) -> &mut Self {
        self.begins(cause);
        self
    }

    /// The same, and the feed has reached its head meanwhile.
    fn recovers_at(&mut self, cause: &ReconcileCause, head: i64) -> &mut Self {
        self.recovers(cause);
        self.is_at_present(head)
    }

    /// The answer to a query is written, with the step after it.
    pub(super) fn saves(&mut self, query: ReconcileQuery, found: ReconcileResponse, then: ReconcileStep) -> &mut Self {
        reconcile::save_responses(&mut self.db, &[(query, found)], &then).unwrap();
        self
    }

    pub(super) fn is_listed(&mut self, kind: Kind, records: Vec<Fields>, as_of: i64) -> &mut Self {
        let question = ReconcileQuery::List { kind, since: Some(String::new()), cursor: None };
        let then = ReconcileStep::Ids { kind, cursor: None, as_of: None };
        let found = ReconcileResponse { records, as_of, ..ReconcileResponse::default() };
        self.saves(question, found, then);
        self
    }

    /// The server lists these ids as the whole of a kind, and the sweep deletes the others.
    #[track_caller]
    pub(super) fn sweeps(&mut self, kind: Kind, ids: &[(&str, i64)], as_of: i64) -> &mut Self {
        assert_eq!(self.sweep(kind, ids, as_of), SweepOutcome::Done, "{kind}");
        self
    }

    /// The same, but the sweep may ask a person.
    fn sweep(&mut self, kind: Kind, ids: &[(&str, i64)], as_of: i64) -> SweepOutcome {
        if matches!(reconcile::load(&self.db).unwrap().unwrap().scope, ReconcileScope::Changed { .. }) {
            let step = ReconcileStep::Ids { kind, cursor: None, as_of: None };
            reconcile::compare_everything(&mut self.db, &step).unwrap();
        }
        let ids = ids.iter().map(|(id, rev)| ListedId { id: id.parse().unwrap(), rev: *rev });
        let found = ReconcileResponse { ids: ids.collect(), as_of, ..ReconcileResponse::default() };
        let question = ReconcileQuery::Ids { kind, cursor: None };
        self.saves(question, found, ReconcileStep::Records { kind, as_of });
        reconcile::sweep(&mut self.db, kind, as_of, &ReconcileStep::Done, at(0)).unwrap()
    }

    /// The server lists these ids of a kind as deleted at their revisions, and the sweep deletes them.
    fn sweeps_listed(&mut self, kind: Kind, ids: &[(&str, i64)], as_of: i64) -> SweepOutcome {
        let deletions = ids.iter().map(|(id, rev)| (kind, ListedId { id: id.parse().unwrap(), rev: *rev })).collect();
        let found = ReconcileResponse { deletions, as_of, ..ReconcileResponse::default() };
        let question = ReconcileQuery::Deletions { since_rev: 0, cursor: None };
        self.saves(question, found, ReconcileStep::Sweep { kind, as_of });
        reconcile::sweep(&mut self.db, kind, as_of, &ReconcileStep::Done, at(0)).unwrap()
    }

    pub(super) fn finishes(&mut self) -> &mut Self {
        reconcile::finish(&mut self.db, at(0)).unwrap();
        self
    }

    /// The feed is at this head, and the reconcile ends.
    pub(super) fn finishes_at(&mut self, head: i64) -> &mut Self {
        self.is_at_present(head);
        self.finishes()
    }

    /// The lists of the server show these records of each kind and no others, and the reconcile ends.
    fn finds(&mut self, as_of: i64, lists: impl IntoIterator<Item = (Kind, Vec<Fields>)>) -> &mut Self {
        for (kind, records) in lists {
            self.is_listed(kind, records.clone(), as_of);
            let id = |record| (Fields::get(record, "id").unwrap().as_str().unwrap(), record["rev"].as_i64().unwrap());
            let ids: Vec<(&str, i64)> = records.iter().map(id).collect();
            self.sweeps(kind, &ids, as_of);
        }
        self.finishes_at(as_of)
    }

    /// The server lists these rooms, each at the revision of its number.
    fn lists_rooms(&mut self, numbers: std::ops::RangeInclusive<i64>, as_of: i64) -> SweepOutcome {
        let rooms: Vec<(String, i64)> = numbers.map(|n| (room_id(n), n)).collect();
        let rooms: Vec<(&str, i64)> = rooms.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
        self.sweep(Kind::Room, &rooms, as_of)
    }
}

/// The task as the server lists it.
fn listed_task(rev: i64, title: &str, priority: &str) -> Fields {
    record(TASK, rev, json!({ "title": title, "priority": priority, "status": "open" }))
}

/// The room as the server lists it.
fn listed_room(rev: i64, name: &str) -> Fields {
    record(ROOM, rev, json!({ "name": name }))
}

/// A damaged database was made anew with its edits, and has read nothing since. The home that it takes over may lack them.
#[test]
fn home_taken_over_without_a_cursor_is_compared() {
    let mut scene = Scene::new();
    crate::store::refill::take_over(&mut scene.db, &home()).unwrap();
    scene.shows("SELECT cause, cursor FROM _reconcile", json!(["restored", null]));
}

/// The id of a numbered room.
fn room_id(n: i64) -> String {
    format!("0190a3b0-0000-7000-8000-{n:012}")
}

/// A numbered room, at the revision of its number.
fn numbered(n: i64, name: &str) -> Event {
    event(n, "created", "room", &room_id(n), json!({ "name": name }))
}

/// A replica with this many rooms, the first at revision 1.
fn with_rooms(count: i64) -> Scene {
    Scene::with((1..=count).map(|n| numbered(n, "Room")).collect::<Vec<_>>())
}

/// The same, after the end of the backfill.
fn with_rooms_at_present(count: i64) -> Scene {
    let mut scene = with_rooms(count);
    scene.is_at_present(count);
    scene
}

/// A task whose accepted delete lies in a gap: by position 90 the task is not listed.
fn deleted_in_gap() -> Scene {
    let mut scene = Scene::edited_at_present("DELETE FROM tasks");
    scene.accept(1, 9).recovers_at(&gap(), 90).sweeps(Kind::Task, &[], 90).finishes();
    scene
}

/// The server was restored to an older copy.
pub(super) fn restored(fork: Option<i64>) -> ReconcileCause {
    ReconcileCause::Restored { resume: Some("r".into()), fork }
}

/// A person asks for a comparison.
fn asked() -> ReconcileCause {
    ReconcileCause::Asked { accepted: false }
}

fn gap() -> ReconcileCause {
    ReconcileCause::Gap { resume: "c90".into() }
}

#[test]
fn gap_reconcile_keeps_pending_edits() {
    let mut scene = Scene::with([task(5, "Paint", "low"), room(6, "Shed"), car(7)]);
    scene.does("INSERT INTO tasks (title) VALUES ('Mine'); UPDATE rooms SET name = 'My shed'");
    assert_eq!(scene.begins(&gap()).scope.since(), Some(&at(7).to_string()));
    scene.shows("SELECT phase, position FROM sync_status", json!(["reconciling", 7]));
    scene.hear(paper(91, "Deed"));
    assert_eq!(scene.row("SELECT position, head FROM _sync"), json!([7, 91]), "what the tail says is not all there is");
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 80, json!({ "name": "Bus" }))], 90);
    scene.is_listed(Kind::Document, vec![record(HOME, 85, json!({ "title": "Late" }))], 90);
    scene.sweeps(Kind::Task, &[], 90).sweeps(Kind::Room, &[], 90).finishes();
    scene.shows("SELECT position, backfilled FROM _sync", json!([91, 1]));
    assert_eq!(scene.column("SELECT title FROM tasks"), json!(["Mine"]));
    assert_eq!(scene.one("SELECT name FROM vehicles"), "Bus");
    assert_eq!(scene.one("SELECT title FROM documents"), "Deed", "the newer form stays");
    assert_eq!(scene.one("SELECT name FROM rooms"), "My shed");
    assert_eq!(scene.states(), "waiting conflict");
}

#[test]
fn record_after_listing_is_not_deleted() {
    let mut scene = Scene::with_task();
    scene.recovers(&gap()).hear(event(92, "created", "task", ROOM, json!({ "title": "New" })));
    scene.sweeps(Kind::Task, &[], 91);
    assert_eq!(scene.column("SELECT title FROM tasks"), json!(["New"]));
    scene.hear(task(5, "Paint", "low"));
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "1", "deleted ids stay deleted");
}

#[test]
fn mass_delete_guard_counts_per_collection() {
    let mut scene = with_rooms(100);
    scene.recovers(&gap());
    assert_eq!(scene.lists_rooms(1..=49, 200), SweepOutcome::TooMany { gone: 51, of: 100 });
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "100");
    reconcile::ask_person(&mut scene.db, "51 of 100 rooms are gone").unwrap();
    let shown = status::load_status(&scene.db).unwrap();
    assert_eq!((shown.phase.as_str(), shown.needs_you), ("blocked", 1));
    assert_eq!(shown.reason.as_deref(), Some("51 of 100 rooms are gone"));
    sync_state::set_daemon(&mut scene.db, Some(std::process::id()), at(0)).unwrap();
    control::request_reconcile(&mut scene.db, true).unwrap();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::Reconciling, "answered, so nobody is asked again");
    reconcile::note_request(&mut scene.db, true).unwrap();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::Reconciling);
    assert_eq!(scene.lists_rooms(1..=49, 200), SweepOutcome::Done);
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "49");
}

#[test]
fn guard_ignores_records_fetched_meanwhile() {
    let mut scene = with_rooms(60);
    scene.recovers(&gap());
    let fetched =
        |from: i64, to: i64| (from..=to).map(|n| record(&room_id(n), n, json!({ "name": "Other" }))).collect();
    scene.is_listed(Kind::Room, fetched(101, 400), 500);
    // A second reconcile begins before the end of the first.
    scene.recovers(&gap()).is_listed(Kind::Room, fetched(401, 500), 500);
    assert_eq!(scene.lists_rooms(101..=500, 500), SweepOutcome::TooMany { gone: 60, of: 60 });
    assert_eq!(scene.one("SELECT count(*) FROM rooms WHERE name = 'Room'"), "60");
}

/// A server that is restored twice may also lack records that were read after the first restore.
#[test]
fn guard_reports_present_count() {
    let mut scene = with_rooms(60);
    let put_back = restored(Some(60));
    scene.recovers(&put_back);
    scene.is_listed(Kind::Room, (61..=100).map(|n| record(&room_id(n), n, json!({ "name": "Other" }))).collect(), 100);
    scene.recovers(&put_back);
    assert_eq!(scene.lists_rooms(1..=10, 200), SweepOutcome::TooMany { gone: 90, of: 100 });
}

#[test]
fn deleted_visible_record_is_counted_once() {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET title = 'Mine'");
    scene.hear(deleted(6));
    let sentence = "SELECT count(*) FROM sync_log WHERE text LIKE '%needs you%' OR text LIKE '%deleted on the server%'";
    assert_eq!((scene.states().as_str(), scene.one(sentence).as_str()), ("conflict", "1"));
    scene.recovers(&asked()).sweeps(Kind::Task, &[], 90);
    scene.shows("SELECT deleted_count, counts_at_start ->> 'task' FROM _reconcile", json!([0, 0]));
    assert_eq!((scene.one("SELECT title FROM tasks").as_str(), scene.one(sentence).as_str()), ("Mine", "1"));
}

/// The batch after a gap may leave out an accepted delete; the listing shows the delete then.
#[test]
fn delete_in_gap_is_confirmed_with_position() {
    let scene = deleted_in_gap();
    scene.shows("SELECT outcome, rev FROM edit_history", json!(["confirmed", 90]));
}

/// Only records that a person would miss are counted, and named by their titles.
#[test]
fn guard_ignores_records_deleted_here() {
    let of_rooms = |all: i64, deleted: i64, cause: &ReconcileCause| {
        let mut scene = Scene::with((1..=all).map(|n| numbered(n, &format!("Room {n}"))).collect::<Vec<_>>());
        scene.does(&format!("DELETE FROM rooms WHERE CAST(substr(name, 6) AS INTEGER) <= {deleted}"));
        scene.recovers(cause);
        scene
    };
    let sentence = |scene: &mut Scene| {
        scene.finishes();
        scene.words("SELECT text FROM sync_log ORDER BY id DESC LIMIT 2", " ")
    };

    // No question: 60 rooms are missing, and all but 10 of them were deleted here.
    let mut scene = of_rooms(100, 50, &gap());
    assert_eq!(scene.lists_rooms(61..=100, 200), SweepOutcome::Done);
    let words = sentence(&mut scene);
    let begins = "Everything is compared with the server; 10 records were deleted on the server.";
    assert!(words.starts_with(begins), "{words}");
    assert!(words.contains("10 of 50 rooms were deleted on the server: Room 51, Room 52, "), "{words}");
    scene.shows("SELECT count(*), (SELECT count(*) FROM edits) FROM rooms", json!([40, 0]));

    // The older copy lacks the room deleted here and the room created since. Nobody has deleted the latter.
    let mut scene = of_rooms(3, 1, &restored(Some(0)));
    scene.sweeps(Kind::Room, &[(&room_id(2), 2)], 200);
    let words = sentence(&mut scene);
    assert!(words.starts_with("Everything is compared with the server; it no longer has 1 record."), "{words}");
    assert!(words.ends_with("The server was put back and no longer has 1 of 2 rooms: Room 3."), "{words}");
}

#[test]
fn gap_deletes_what_the_server_lists_as_deleted() {
    let mut scene = with_rooms_at_present(5);
    scene.does(&format!("UPDATE rooms SET name = 'Mine' WHERE id = '{}'", room_id(2)));
    scene.does(&format!("DELETE FROM rooms WHERE id = '{}'", room_id(3)));
    let begun = scene.begins(&gap());
    assert_eq!(begun.scope, ReconcileScope::Changed { since: at(5).to_string(), since_rev: 5 });
    scene.is_at_present(90);
    // Room 4 was changed after a delete that another history may have had; room 9 was never known.
    scene.is_listed(Kind::Room, vec![record(&room_id(4), 60, json!({ "name": "Newer" }))], 90);
    let listed = [(1, 40), (2, 41), (3, 42), (4, 43), (9, 44)].map(|(n, rev)| (room_id(n), rev));
    let listed = listed.each_ref().map(|(id, rev)| (id.as_str(), *rev));
    assert_eq!(scene.sweeps_listed(Kind::Room, &listed, 90), SweepOutcome::Done);
    assert_eq!(scene.one("SELECT count(*) FROM _listed"), "4", "of the other collections");
    scene.finishes();
    let rows = "SELECT group_concat(name, ' ') FROM (SELECT name FROM rooms ORDER BY id)";
    assert_eq!(scene.one(rows), "Mine Newer Room");
    assert_eq!(scene.states(), "conflict");
    scene.shows("SELECT outcome, rev FROM edit_history", json!(["confirmed", 42]));
    scene.shows("SELECT (SELECT count(*) FROM _base WHERE deleted), position, head FROM _sync", json!([4, 90, 90]));
    let done = "SELECT text FROM sync_log ORDER BY id DESC LIMIT 1";
    assert_eq!(scene.one(done), "All changes on the server are read; 2 records were deleted on the server.");
}

#[test]
fn listed_deletions_are_asked_about_above_half() {
    let listed = |n: i64| (1..=n).map(|n| (room_id(n), 2000)).collect::<Vec<_>>();
    for (all, deleted, asks) in [(700, 500, false), (1010, 505, false), (1000, 510, true)] {
        let mut scene = with_rooms_at_present(all);
        scene.recovers(&gap());
        let ids = listed(deleted);
        let ids: Vec<_> = ids.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
        let expected = if asks { SweepOutcome::TooMany { gone: deleted, of: all } } else { SweepOutcome::Done };
        assert_eq!(scene.sweeps_listed(Kind::Room, &ids, 2000), expected, "{deleted} of {all}");
    }
}

#[test]
fn sweep_without_list_deletes_nothing() {
    for (mut scene, kind) in [(with_rooms_at_present(1), Kind::Room), (Scene::with_task(), Kind::Task)] {
        scene.recovers(&gap());
        let swept = reconcile::sweep(&mut scene.db, kind, 90, &ReconcileStep::Done, at(0)).unwrap();
        assert_eq!(swept, SweepOutcome::NotListed);
        assert_eq!(scene.one(&format!("SELECT count(*) FROM {}", kind.collection())), "1");
    }
}

#[test]
fn only_a_gap_after_a_whole_backfill_compares_changes() {
    let changed =
        |scene: &mut Scene, cause: &ReconcileCause| matches!(scene.begins(cause).scope, ReconcileScope::Changed { .. });
    let mut scene = with_rooms_at_present(1);
    assert!(changed(&mut scene, &gap()));
    assert!(changed(&mut scene, &gap()), "a second gap");
    assert!(!changed(&mut scene, &asked()));
    assert!(!changed(&mut scene, &gap()), "what compares everything goes on to do so");
    let mut scene = with_rooms_at_present(1);
    assert!(!changed(&mut scene, &restored(Some(1))));
}

#[test]
fn request_during_question_keeps_listing() {
    // An interrupted backfill, a restore, and a question of the reconcile.
    let mut scene = with_rooms(100);
    scene.recovers(&restored(Some(100)));
    assert_eq!(scene.lists_rooms(1..=40, 200), SweepOutcome::TooMany { gone: 60, of: 100 });
    reconcile::ask_person(&mut scene.db, "60 of 100 rooms are gone").unwrap();
    let begun = reconcile::begin(&mut scene.db, &asked()).unwrap();
    assert_eq!(begun.map(|reconcile| (reconcile.step, reconcile.question)), Some((ReconcileStep::Property, None)));
    reconcile::note_request(&mut scene.db, true).unwrap();
    assert_eq!(scene.lists_rooms(1..=40, 200), SweepOutcome::Done);
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "40");
}

#[test]
fn agreement_covers_asked_deletions_only() {
    let mut scene = Scene::with_task_at_present();
    assert!(scene.begins(&ReconcileCause::Asked { accepted: true }).accepted);
    assert!(reconcile::begin(&mut scene.db, &asked()).unwrap().unwrap().accepted, "of the same server");
    assert!(!scene.begins(&gap()).accepted, "what was forgotten since is of a later time");
}

/// A task whose update was sent at 5 without a response; then a gap in which somebody changed the task.
fn sent_before_a_gap() -> Scene {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET priority = 'high'");
    scene.attempt(1, no_answer()).recovers(&gap());
    scene
}

/// An update without an answer before a gap. Event 6 may be the update, and event 7 its reversal; the server has forgotten
/// the key.
#[test]
fn lists_tell_what_an_unanswered_update_has_done() {
    for (is_refused_before, listed, edits) in [
        (false, listed_task(7, "Paint", "low"), "; conflict"),
        (true, listed_task(7, "Paint", "low"), "; conflict"),
        (false, listed_task(7, "Theirs", "high"), "1 merged; "),
    ] {
        let mut scene = Scene::edited_at_present("UPDATE tasks SET priority = 'high'");
        scene.attempt(1, no_answer());
        if is_refused_before {
            scene.attempt(1, WriteOutcome::PreconditionFailed);
        }
        scene.recovers(&gap()).finds(90, [(Kind::Task, vec![listed])]);
        assert_eq!(scene.plan(), [1], "a server that remembers the key tells");
        if !is_refused_before {
            scene.attempt(1, WriteOutcome::PreconditionFailed);
            assert_eq!(scene.plan(), [1]);
        }
        assert_eq!((scene.freeze_as("again", 1, Mine), scene.edits().as_str()), (None, edits));
        assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
        if edits == "; conflict" {
            assert!(scene.one("SELECT reason FROM edits").starts_with("it may have been"));
            scene.retry(1).unwrap();
            assert_eq!(scene.plan(), [1]);
        }
    }
}

#[test]
fn edit_not_applied_in_gap_is_resent() {
    // Nobody changed the task: the request was not applied, and a later rejection is final.
    let mut scene = sent_before_a_gap();
    scene.finds(90, [(Kind::Task, vec![listed_task(5, "Paint", "low")])]);
    scene.attempt(1, WriteOutcome::PreconditionFailed).hear(task(91, "Theirs", "low"));
    assert!(scene.freeze_as("again", 1, Ask).is_some());
    // The rejection may also answer the only attempt.
    let mut scene = Scene::edited("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.recovers(&gap()).answer(1, WriteOutcome::PreconditionFailed);
    scene.finds(90, [(Kind::Task, vec![listed_task(7, "Theirs", "low")])]);
    assert!(scene.freeze_as("again", 1, Ask).is_some());
}

#[test]
fn first_profile_update_waits_once_it_exists() {
    let mut scene = Scene::new();
    scene.is_at_present(5).does("INSERT INTO property (city) VALUES ('Bern')").attempt(1, no_answer());
    scene.recovers(&gap());
    let profile = record(HOME, 7, json!({ "city": "Basel" }));
    let found = ReconcileResponse { records: vec![profile], as_of: 90, ..ReconcileResponse::default() };
    scene.saves(ReconcileQuery::Property, found, ReconcileStep::Done);
    scene.finishes_at(90);
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze(1, Mine), None);
    scene.shows("SELECT e.state, city FROM edits e JOIN property", json!(["conflict", "Bern"]));
}

#[test]
fn update_of_lost_profile_creates_profile() {
    let mut scene = Scene::present(profile(3, "Bern"));
    scene.does("UPDATE property SET city = 'Basel'").send(1);
    scene.recovers(&restored(Some(0))).answer(1, WriteOutcome::PreconditionFailed);
    scene.saves(ReconcileQuery::Property, ReconcileResponse::default(), ReconcileStep::Done);
    scene.finishes_at(0).greets(0, &[]);
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze_as("again", 1, Ask).unwrap().if_match, None);
}

#[test]
fn listing_fetches_only_newer_records() {
    let mut scene = Scene::with_task();
    let room = room_id;
    scene.hear((10..14).map(|n| numbered(n, "Room")).collect::<Vec<_>>()).recovers(&gap());
    let listed = |n: i64, rev| ListedId { id: room(n).parse().unwrap(), rev };
    let pages = [vec![listed(12, 12), listed(10, 10)], vec![listed(13, 20), listed(11, 30)]];
    let (kind, as_of) = (Kind::Room, 40);
    for (ids, cursor) in pages.into_iter().zip([None, Some("c".to_owned())]) {
        let then = ReconcileStep::Ids { kind, cursor: Some("c".into()), as_of: Some(as_of) };
        let found = ReconcileResponse { ids, as_of, ..ReconcileResponse::default() };
        scene.saves(ReconcileQuery::Ids { kind, cursor }, found, then);
    }
    assert_eq!(reconcile::records_to_fetch(&scene.db, kind).unwrap(), [room(11), room(13)]);
    let question = ReconcileQuery::Record { kind, id: room(13) };
    let records = vec![record(&room(13), 25, json!({ "name": "Newer" }))];
    let found = ReconcileResponse { records, ..ReconcileResponse::default() };
    scene.saves(question, found, ReconcileStep::Records { kind, as_of });
    let rooms = "SELECT rev, name FROM rooms ORDER BY id";
    // A record that is missing now existed at the time of the list. Its delete event is still to come.
    assert_eq!(reconcile::records_to_fetch(&scene.db, kind).unwrap(), [room(11)]);
    assert_eq!(scene.rows(rooms), json!([[10, "Room"], [11, "Room"], [12, "Room"], [25, "Newer"]]));
    scene.hear(gone(41, "room", &room(11)));
    assert!(reconcile::records_to_fetch(&scene.db, kind).unwrap().is_empty());
    assert!(reconcile::records_to_fetch(&scene.db, Kind::Task).unwrap().is_empty(), "a listing is of one collection");
    assert_eq!(reconcile::sweep(&mut scene.db, kind, as_of, &ReconcileStep::Done, at(0)).unwrap(), SweepOutcome::Done);
    assert_eq!(scene.rows(rooms), json!([[10, "Room"], [12, "Room"], [25, "Newer"]]));
    assert_eq!(scene.one("SELECT count(*) FROM _listed"), "0");
}

#[test]
fn conflict_with_delete_ends_when_restore_brings_record_back() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.hear(deleted(7)).shows("SELECT state, reason_code FROM edits", json!(["conflict", "deleted_there"]));
    scene.recovers(&restored(Some(6))).is_listed(Kind::Task, vec![listed_task(5, "Paint", "low")], 6);
    scene.finishes_at(6);
    assert_eq!((scene.states().as_str(), scene.plan()), ("waiting", vec![1]));
    assert_eq!(scene.send(1).if_match, Some(5));
}

#[test]
fn maybe_applied_edit_stays_with_person_when_restore_brings_record_back() {
    let mut scene = sent_before_a_gap();
    scene.sweeps(Kind::Task, &[], 90).finishes_at(90);
    scene.shows("SELECT state, reason_code FROM edits", json!(["conflict", "deleted_there"]));
    // The update may have been event 6, and its reversal event 7.
    scene.recovers(&restored(Some(7))).is_listed(Kind::Task, vec![listed_task(7, "Paint", "low")], 7);
    scene.finishes_at(7).shows("SELECT state, reason_code FROM edits", json!(["conflict", "maybe_applied"]));
}

#[test]
fn conflict_is_rechecked_after_reconcile() {
    let mut scene = Scene::in_conflict("UPDATE tasks SET title = 'Mine'", task(6, "Theirs", "low"));
    scene.recovers(&gap()).is_listed(Kind::Task, vec![listed_task(9, "Paint", "low")], 9);
    assert_eq!(scene.states(), "conflict");
    scene.finishes_at(9);
    assert_eq!((scene.states().as_str(), scene.plan()), ("waiting", vec![1]));
}
