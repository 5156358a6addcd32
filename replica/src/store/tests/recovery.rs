//! Recoveries as stories of the database: what stays, what goes, what is asked first.

use hearth_contract::check::Fields;
use hearth_contract::schema::Kind;
use serde_json::{Value, json};

use super::*;
use crate::model::Phase;
use crate::recovery::{Cause, Found, Listed, Question, Step, Swept};
use crate::store::edits::decide;
use crate::store::{control, recovery, status, sync_state};

mod lost;

const CAR: &str = "0190a3b0-0000-7000-8000-000000000003";

fn record(id: &str, rev: i64, fields: Value) -> Fields {
    let mut record = fields.as_object().cloned().unwrap();
    record.insert("id".into(), id.into());
    record.insert("rev".into(), rev.into());
    record.insert("created_at".into(), at(0).to_string().into());
    record.insert("updated_at".into(), at(rev).to_string().into());
    record
}

impl Scene {
    pub(super) fn recovers(&mut self, cause: &Cause) -> crate::recovery::Recovery {
        self.db
            .execute_batch("UPDATE _gate SET open = 1, change_count = change_count + 1; UPDATE _sync SET cursor = 'c'; UPDATE _gate SET open = 0, change_count = change_count + 1")
            .unwrap();
        recovery::begin(&mut self.db, cause).unwrap().unwrap()
    }

    fn is_listed(&mut self, kind: Kind, records: Vec<Fields>, as_of: i64) {
        let question = Question::Changes { kind, since: None, cursor: None };
        let then = Step::Ids { kind, cursor: None, as_of: 0 };
        let found = Found { records, as_of, ..Found::default() };
        recovery::keep(&mut self.db, &question, &found, &then).unwrap();
    }

    pub(super) fn is_walked(&mut self, kind: Kind, ids: &[(&str, i64)], as_of: i64) -> Swept {
        let ids = ids.iter().map(|(id, rev)| Listed { id: id.parse().unwrap(), rev: *rev });
        let found = Found { ids: ids.collect(), as_of, ..Found::default() };
        let question = Question::Ids { kind, cursor: None };
        recovery::keep(&mut self.db, &question, &found, &Step::Records { kind, as_of }).unwrap();
        recovery::sweep(&mut self.db, kind, as_of, &Step::Done, at(0)).unwrap()
    }
}

fn gap() -> Cause {
    Cause::Gap { resume: "c90".into() }
}

#[test]
fn a_gap_is_closed_without_losing_what_waits() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low"), event(6, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    scene.hear(vec![event(7, "created", "vehicle", CAR, json!({ "name": "Car" }))]);
    scene.does("INSERT INTO tasks (title) VALUES ('Mine')");
    scene.does("UPDATE rooms SET name = 'My shed'");
    assert_eq!(scene.recovers(&gap()).since, Some(at(7).to_string()));
    assert_eq!(scene.one("SELECT phase || position FROM sync_status"), "reconciling7");
    scene.hear(vec![event(91, "created", "document", HOME, json!({ "title": "Deed" }))]);
    assert_eq!(scene.one("SELECT position || head FROM _sync"), "791", "what the tail says is not all there is");
    scene.is_listed(Kind::Vehicle, vec![record(CAR, 80, json!({ "name": "Bus" }))], 90);
    scene.is_listed(Kind::Document, vec![record(HOME, 85, json!({ "title": "Late" }))], 90);
    assert_eq!(scene.is_walked(Kind::Task, &[], 90), Swept::Done);
    assert_eq!(scene.is_walked(Kind::Room, &[], 90), Swept::Done);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT position || '/' || backfilled FROM _sync"), "91/1");
    assert_eq!(scene.one("SELECT group_concat(title) FROM tasks"), "Mine");
    assert_eq!(scene.one("SELECT name FROM vehicles"), "Bus");
    assert_eq!(scene.one("SELECT title FROM documents"), "Deed", "the newer form stays");
    assert_eq!(scene.one("SELECT name FROM rooms"), "My shed");
    assert_eq!(scene.one("SELECT group_concat(state) FROM (SELECT state FROM edits ORDER BY id)"), "waiting,conflict");
}

#[test]
fn a_record_that_came_after_the_walk_began_is_not_gone() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.recovers(&gap());
    scene.hear(vec![event(92, "created", "task", ROOM, json!({ "title": "New" }))]);
    scene.is_walked(Kind::Task, &[], 91);
    assert_eq!(scene.one("SELECT group_concat(title) FROM tasks"), "New");
    scene.hear(vec![task(5, "Paint", "low")]);
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "1", "deleted ids stay deleted");
}

#[test]
fn an_accepted_edit_stays_laid_over_until_its_record_is_there() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(8) });
    scene.recovers(&gap());
    scene.is_at_present(90);
    assert_eq!(scene.one("SELECT title || state FROM tasks JOIN edits"), "Minesent");
    scene.is_listed(Kind::Task, vec![record(TASK, 8, json!({ "title": "Mine" }))], 90);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Mine8");
    assert_eq!(scene.one("SELECT outcome FROM edit_history"), "confirmed");
}

#[test]
fn the_fuse_counts_per_collection_and_a_word_lifts_it() {
    let mut scene = Scene::new();
    let id = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    scene.hear((1..=100).map(|n| event(n, "created", "room", &id(n), json!({ "name": "Room" }))).collect());
    scene.recovers(&gap());
    let walked: Vec<(String, i64)> = (1..=49).map(|n| (id(n), n)).collect();
    let walked: Vec<(&str, i64)> = walked.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::TooMany { gone: 51, of: 100 });
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "100");
    recovery::ask(&mut scene.db, "51 of 100 rooms are gone").unwrap();
    let shown = status::load_status(&scene.db).unwrap();
    assert_eq!((shown.phase.as_str(), shown.needs_you), ("blocked", 1));
    assert_eq!(shown.reason.as_deref(), Some("51 of 100 rooms are gone"));
    sync_state::set_daemon(&mut scene.db, Some(std::process::id()), at(0)).unwrap();
    control::request_reconcile(&mut scene.db, true).unwrap();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::Reconciling, "answered, so nobody is asked again");
    recovery::heed(&mut scene.db, true).unwrap();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::Reconciling);
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::Done);
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "49");
}

#[test]
fn what_a_comparison_has_fetched_is_no_part_of_what_could_vanish() {
    let mut scene = Scene::new();
    let id = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    scene.hear((1..=60).map(|n| event(n, "created", "room", &id(n), json!({ "name": "Room" }))).collect());
    scene.recovers(&gap());
    let fetched = |from: i64, to: i64| (from..=to).map(|n| record(&id(n), n, json!({ "name": "Other" }))).collect();
    scene.is_listed(Kind::Room, fetched(101, 400), 500);
    // It begins anew before its end.
    scene.recovers(&gap());
    scene.is_listed(Kind::Room, fetched(401, 500), 500);
    let walked: Vec<(String, i64)> = (101..=500).map(|n| (id(n), n)).collect();
    let walked: Vec<(&str, i64)> = walked.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 500), Swept::TooMany { gone: 60, of: 60 });
    assert_eq!(scene.one("SELECT count(*) FROM rooms WHERE name = 'Room'"), "60");
}

/// A server that is put back again may lack also what was read since the first time.
#[test]
fn more_than_was_here_at_first_is_not_said_to_be_all() {
    let mut scene = Scene::new();
    let id = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    scene.hear((1..=60).map(|n| event(n, "created", "room", &id(n), json!({ "name": "Room" }))).collect());
    let put_back = Cause::Restored { resume: "r".into(), fork: Some(60) };
    scene.recovers(&put_back);
    scene.is_listed(Kind::Room, (61..=100).map(|n| record(&id(n), n, json!({ "name": "Other" }))).collect(), 100);
    scene.recovers(&put_back);
    let walked: Vec<(String, i64)> = (1..=10).map(|n| (id(n), n)).collect();
    let walked: Vec<(&str, i64)> = walked.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::TooMany { gone: 90, of: 100 });
}

#[test]
fn what_is_gone_and_stays_in_sight_does_not_vanish_again() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.hear(vec![deleted(6)]);
    let said = "SELECT count(*) FROM sync_log WHERE text LIKE '%needs you%' OR text LIKE '%deleted there%'";
    assert_eq!((scene.states().as_str(), scene.one(said).as_str()), ("conflict", "1"));
    scene.recovers(&gap());
    assert_eq!(scene.is_walked(Kind::Task, &[], 90), Swept::Done);
    assert_eq!(scene.one("SELECT gone || (known ->> 'task') FROM _reconcile"), "00");
    assert_eq!((scene.one("SELECT title FROM tasks").as_str(), scene.one(said).as_str()), ("Mine", "1"));
}

/// The stretch that a gap ends with may leave out a delete that the server had accepted; the walk shows it then.
#[test]
fn a_delete_that_a_gap_swallowed_is_kept_with_a_position() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("DELETE FROM tasks");
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(9) });
    scene.recovers(&gap());
    scene.is_at_present(90);
    scene.is_walked(Kind::Task, &[], 90);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.one("SELECT outcome || rev FROM edit_history"), "confirmed90");
}

/// Only what somebody loses is counted, and told by its title.
#[test]
fn what_was_deleted_here_too_is_no_loss() {
    let id = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    let of_rooms = |all: i64, deleted: i64, cause: &Cause| {
        let mut scene = Scene::new();
        let room = |n| event(n, "created", "room", &id(n), json!({ "name": format!("Room {n}") }));
        scene.hear((1..=all).map(room).collect());
        scene.does(&format!("DELETE FROM rooms WHERE CAST(substr(name, 6) AS INTEGER) <= {deleted}"));
        scene.recovers(cause);
        scene
    };
    let said = |scene: &mut Scene| {
        recovery::finish(&mut scene.db, at(0)).unwrap();
        scene.one("SELECT group_concat(text, ' ') FROM (SELECT text FROM sync_log ORDER BY id DESC LIMIT 2)")
    };

    // Nothing is asked: sixty are gone, and all but ten of them were to go.
    let mut scene = of_rooms(100, 50, &gap());
    let walked: Vec<(String, i64)> = (61..=100).map(|n| (id(n), n)).collect();
    let walked: Vec<(&str, i64)> = walked.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::Done);
    let words = said(&mut scene);
    assert!(words.starts_with("Everything is compared with the server; 10 records were deleted there."), "{words}");
    assert!(words.contains("10 of 50 rooms were deleted there: Room 51, Room 52, "), "{words}");
    assert_eq!(scene.one("SELECT count(*) || (SELECT count(*) FROM edits) FROM rooms"), "400");

    // An older copy has neither what was deleted here nor what was made since; nobody has deleted that.
    let mut scene = of_rooms(3, 1, &Cause::Restored { resume: "r".into(), fork: Some(0) });
    assert_eq!(scene.is_walked(Kind::Room, &[(&id(2), 2)], 200), Swept::Done);
    let words = said(&mut scene);
    assert!(words.starts_with("Everything is compared with the server; it no longer has 1 record."), "{words}");
    assert!(words.ends_with("The server was put back and no longer has 1 of 2 rooms: Room 3."), "{words}");
}

#[test]
fn a_wish_beside_a_question_loses_no_walk() {
    // A first read was cut off, the server was put back, and the recovery of that asks a person.
    let mut scene = Scene::new();
    let id = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    scene.hear((1..=100).map(|n| event(n, "created", "room", &id(n), json!({ "name": "Room" }))).collect());
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(100) });
    let walked: Vec<(String, i64)> = (1..=40).map(|n| (id(n), n)).collect();
    let walked: Vec<(&str, i64)> = walked.iter().map(|(id, rev)| (id.as_str(), *rev)).collect();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::TooMany { gone: 60, of: 100 });
    recovery::ask(&mut scene.db, "60 of 100 rooms are gone").unwrap();
    let begun = recovery::begin(&mut scene.db, &Cause::Asked { accepted: false }).unwrap();
    assert_eq!(begun.map(|recovery| (recovery.step, recovery.question)), Some((Step::Property, None)));
    recovery::heed(&mut scene.db, true).unwrap();
    assert_eq!(scene.is_walked(Kind::Room, &walked, 200), Swept::Done);
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "40");
}

#[test]
fn what_was_never_walked_is_not_swept() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.recovers(&gap());
    let (kind, as_of) = (Kind::Task, 90);
    recovery::set_step(&mut scene.db, &Step::Sweep { kind, as_of }).unwrap();
    assert_eq!(recovery::sweep(&mut scene.db, kind, as_of, &Step::Done, at(0)).unwrap(), Swept::NotWalked);
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "1");
    let step = recovery::read(&scene.db).unwrap().map(|recovery| recovery.step);
    assert_eq!(step, Some(Step::Ids { kind, cursor: None, as_of: 0 }));
}

#[test]
fn a_word_for_deletions_is_for_those_that_it_was_asked_of() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    assert!(scene.recovers(&Cause::Asked { accepted: true }).accepted);
    let again = recovery::begin(&mut scene.db, &Cause::Asked { accepted: false }).unwrap().unwrap();
    assert!(again.accepted, "of the same server");
    assert!(!scene.recovers(&gap()).accepted, "what was forgotten since is of a later time");
}

/// A task whose update was sent at 5, without an answer; then a gap, in which somebody changed the task.
fn sent_before_a_gap() -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    scene.recovers(&gap());
    scene
}

fn ends(scene: &mut Scene, rev: i64, fields: Value) {
    scene.is_listed(Kind::Task, vec![record(TASK, rev, fields)], 90);
    scene.is_walked(Kind::Task, &[(TASK, rev)], 90);
    scene.is_at_present(90);
    recovery::finish(&mut scene.db, at(0)).unwrap();
}

#[test]
fn an_edit_that_may_have_been_in_and_undone_does_not_happen_twice() {
    let mut scene = sent_before_a_gap();
    // Perhaps 6 was ours, and 7 set it back. The server has forgotten our key.
    ends(&mut scene, 7, json!({ "title": "Paint", "priority": "low" }));
    assert_eq!(scene.plan(), [1], "a server that remembers the key tells");
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Mine), None);
    assert_eq!(scene.one("SELECT state || (reason LIKE 'it may have been%') FROM edits"), "conflict1");
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
    decide::retry(&mut scene.db, 1).unwrap();
    assert_eq!(scene.plan(), [1]);
}

#[test]
fn a_refusal_before_a_gap_tells_nothing_of_the_time_before_it() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    // It was in at 6, somebody set it back at 7, and the server has forgotten the key; then 6 is missed.
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    scene.recovers(&gap());
    ends(&mut scene, 7, json!({ "title": "Paint", "priority": "low" }));
    assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Mine), None);
    assert_eq!(scene.one("SELECT state || (reason LIKE 'it may have been%') FROM edits"), "conflict1");
}

#[test]
fn an_edit_whose_effect_is_there_after_a_gap_is_done() {
    let mut scene = sent_before_a_gap();
    ends(&mut scene, 7, json!({ "title": "Theirs", "priority": "high" }));
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
    assert_eq!(scene.outcomes(), "1 merged");
}

#[test]
fn an_edit_that_cannot_have_been_in_goes_again_by_itself() {
    // Nobody has changed the task: the request is not in, and whatever refuses it later tells the truth.
    let mut scene = sent_before_a_gap();
    ends(&mut scene, 5, json!({ "title": "Paint", "priority": "low" }));
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    scene.hear(vec![task(91, "Theirs", "low")]);
    assert!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).is_some());
    // Or the refusal answers the only time that it was sent.
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.send(1);
    scene.recovers(&gap());
    scene.answer(1, Verdict::Overtaken);
    ends(&mut scene, 7, json!({ "title": "Theirs", "priority": "low" }));
    assert!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).is_some());
}

#[test]
fn a_first_update_of_the_profile_does_not_go_blindly_once_there_is_one() {
    let mut scene = Scene::new();
    scene.is_at_present(5);
    scene.does("INSERT INTO property (city) VALUES ('Bern')");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    scene.recovers(&gap());
    let profile = record(HOME, 7, json!({ "city": "Basel" }));
    let found = Found { records: vec![profile], as_of: 90, ..Found::default() };
    recovery::keep(&mut scene.db, &Question::Property, &found, &Step::Done).unwrap();
    scene.is_at_present(90);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Mine), None);
    assert_eq!(scene.one("SELECT e.state || city FROM edits e JOIN property"), "conflictBern");
}

#[test]
fn an_overtaken_update_of_a_profile_that_is_none_any_more_makes_it() {
    let mut scene = Scene::new();
    scene.hear(vec![event(3, "created", "property", HOME, json!({ "city": "Bern" }))]);
    scene.is_at_present(3);
    scene.does("UPDATE property SET city = 'Basel'");
    scene.send(1);
    scene.recovers(&Cause::Restored { resume: "r".into(), fork: Some(0) });
    scene.answer(1, Verdict::Overtaken);
    recovery::keep(&mut scene.db, &Question::Property, &Found::default(), &Step::Done).unwrap();
    scene.is_at_present(0);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    crate::store::sync_state::record_greeting(&mut scene.db, &super::greeting(0, &[]), at(0)).unwrap();
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).unwrap().guard, None);
}

#[test]
fn only_what_is_newer_there_is_fetched_and_what_is_gone_meanwhile_goes_with_its_event() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    let room = |n: i64| format!("0190a3b0-0000-7000-8000-{n:012}");
    scene.hear((10..14).map(|n| event(n, "created", "room", &room(n), json!({ "name": "Room" }))).collect());
    scene.recovers(&gap());
    let listed = |n: i64, rev| Listed { id: room(n).parse().unwrap(), rev };
    let pages = [vec![listed(12, 12), listed(10, 10)], vec![listed(13, 20), listed(11, 30)]];
    let (kind, as_of) = (Kind::Room, 40);
    for (ids, cursor) in pages.into_iter().zip([None, Some("c".to_owned())]) {
        let then = Step::Ids { kind, cursor: Some("c".into()), as_of };
        recovery::keep(
            &mut scene.db,
            &Question::Ids { kind, cursor },
            &Found { ids, as_of, ..Found::default() },
            &then,
        )
        .unwrap();
    }
    assert_eq!(recovery::missing(&scene.db, kind).unwrap(), [room(11), room(13)]);
    let question = Question::Record { kind, id: room(13) };
    let found = Found { records: vec![record(&room(13), 25, json!({ "name": "Newer" }))], ..Found::default() };
    recovery::keep(&mut scene.db, &question, &found, &Step::Records { kind, as_of }).unwrap();
    let rooms = "SELECT group_concat(rev || name) FROM (SELECT * FROM rooms ORDER BY id)";
    // What is not there any more was there as of the list: its end is for the tail to tell, and is waited for.
    assert_eq!(recovery::missing(&scene.db, kind).unwrap(), [room(11)]);
    assert_eq!(scene.one(rooms), "10Room,11Room,12Room,25Newer");
    scene.hear(vec![event(41, "deleted", "room", &room(11), Value::Null)]);
    assert!(recovery::missing(&scene.db, kind).unwrap().is_empty());
    assert!(recovery::missing(&scene.db, Kind::Task).unwrap().is_empty(), "a walk is of one collection");
    assert_eq!(recovery::sweep(&mut scene.db, kind, as_of, &Step::Done, at(0)).unwrap(), Swept::Done);
    assert_eq!(scene.one(rooms), "10Room,12Room,25Newer");
    assert_eq!(scene.one("SELECT count(*) FROM _walk_pages"), "0");
}

#[test]
fn what_a_list_shows_to_agree_goes_on_when_the_recovery_ends() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.hear(vec![task(6, "Theirs", "low")]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
    scene.recovers(&gap());
    let listed = json!({ "title": "Paint", "priority": "low", "status": "open" });
    scene.is_listed(Kind::Task, vec![record(TASK, 9, listed)], 9);
    assert_eq!(scene.states(), "conflict");
    scene.is_at_present(9);
    recovery::finish(&mut scene.db, at(0)).unwrap();
    assert_eq!((scene.states().as_str(), scene.plan()), ("waiting", vec![1]));
}
