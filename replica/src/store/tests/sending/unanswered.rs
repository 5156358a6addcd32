//! Requests that may have been applied: without a response, or rejected in a later attempt.

use super::*;

#[test]
fn edit_after_412_is_sent_with_new_key() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.attempt(1, WriteOutcome::PreconditionFailed);
    assert_eq!(scene.plan(), [0; 0], "what it is now has not come yet");
    scene.hear(task(7, "Paint", "high"));
    assert_eq!(scene.plan(), [1]);
    let key = "key-again";
    let again = scene.freeze_as(key, 1, Ask).unwrap();
    assert_eq!((again.key.as_str(), again.if_match, body(&again)), (key, Some(7), json!({ "title": "Mine" })));
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "1", "the refused one is forgotten");
    assert!(scene.one("SELECT text FROM sync_log ORDER BY id DESC").contains("both changes stand"));
}

#[test]
fn separated_edit_is_confirmed_by_key() {
    let parted = || {
        let mut scene = Scene::new();
        scene.is_at_present(2).does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
        scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{ROOM}', 'New')"));
        let first = scene.freeze_groups(&[vec![1], vec![2]], Ask).unwrap();
        scene.answer(1, no_answer()).answer(2, no_answer());
        // The request was applied. A proxy then rejects the next attempt.
        scene.send([1, 2]);
        scene.answer(1, WriteOutcome::SendAlone).answer(2, WriteOutcome::SendAlone);
        (scene, first.key)
    };
    let (mut scene, key) = parted();
    scene.does(&format!("DELETE FROM tasks WHERE id = '{TASK}'"));
    assert_eq!(scene.ready_groups(), [[1], [2]], "its delete waits for the create");
    scene.greets(4, &[]);
    assert_eq!(scene.ready_groups(), [[0; 0]; 0], "the feed has more to tell");
    scene.hear(with_key(event(3, "created", "task", TASK, json!({ "title": "Mine" })), &key));
    scene.hear(with_key(event(4, "created", "task", ROOM, json!({ "title": "New" })), &key));
    assert_eq!((scene.outcomes().as_str(), scene.plan()), ("1 confirmed, 2 confirmed", vec![3]));

    // The feed is current and does not show the edits: they were not applied, and are sent one by one.
    let (mut scene, key) = parted();
    let single = scene.freeze_as("key-single", 1, Ask).unwrap();
    assert_eq!((single.path.as_str(), single.bulk), ("/v1/tasks", false));
    assert_ne!(single.key, key);
}

#[test]
fn existing_create_holds_later_edits() {
    let mut scene = Scene::new();
    scene.is_at_present(2).does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.attempt(1, no_answer()).does("UPDATE tasks SET notes = 'Mine too'");
    // A day later the id is used, by the edit itself, and somebody has added notes since.
    scene.answer(1, WriteOutcome::Exists { rev: 9 });
    assert_eq!((scene.states().as_str(), scene.plan()), ("sent waiting", vec![]));
    let fields = json!({ "title": "Mine", "notes": "Theirs", "priority": "medium", "status": "open" });
    scene.hear(event(9, "updated", "task", TASK, fields));
    assert_eq!((scene.outcomes().as_str(), scene.plan()), ("1 confirmed", vec![2]));
    scene.sends_nothing(2);
    assert_eq!(scene.one("SELECT reason FROM edits"), "notes changed on the server too");
}

#[test]
fn first_profile_update_resends_in_step_only() {
    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    assert_eq!(scene.send(1).if_match, None);
    scene.does("UPDATE property SET city = 'Bruges'").is_at_present(2).greets(3, &[]);
    assert_eq!(scene.plan(), [0; 0], "only the feed can tell whether it is in");
    scene.hear(profile(3, "Liege"));
    // A refused key does not change what the plan knows.
    crate::store::sync_state::set_phase(&mut scene.db, crate::model::Phase::NeedsKey, None, None, None, at(0)).unwrap();
    assert_eq!(scene.plan(), [1], "the feed has come to the present without it");
}

#[test]
fn create_deleted_before_response_has_no_row() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.send(1);
    scene.hear(deleted(6));
    assert_eq!(scene.states(), "conflict", "nobody knows yet that it was in");
    let shown = "SELECT mine, theirs, theirs_at FROM conflicts WHERE field = 'title'";
    assert_eq!(scene.row(shown), json!(["Mine", null, null]), "and that it is deleted there is shown");
    scene.answer(1, accepted(4));
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT count(*) FROM tasks").as_str()), ("1 confirmed", "0"));
}

#[test]
fn maybe_applied_edit_is_not_coalesced() {
    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    scene.attempt(1, no_answer()).catch_up(profile(3, "Liege")).does("UPDATE property SET state = 'Flanders'");
    assert_eq!(scene.ready_groups(), [[1]]);
    // A backfill shows only the newest version: the request may have been applied, and somebody may have changed the record.
    assert_eq!(scene.freeze(1, Mine), None, "it is in doubt");
    scene.shows("SELECT e.state, city FROM edits e JOIN property WHERE e.id = 1", json!(["conflict", "Ghent"]));
    // The edit's own event comes later: the request was applied without the values written here since.
    scene.hear(with_key(profile(4, "Ghent"), "key-1"));
    assert_eq!(scene.outcomes(), "1 confirmed");
    assert_eq!(scene.plan(), [2]);
    scene.shows("SELECT city, state FROM property", json!(["Ghent", "Flanders"]));
}

#[test]
fn existing_profile_is_merged_after_feed() {
    let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
    scene.is_at_present(1).attempt(1, no_answer());
    // The request was applied. A day later the server has forgotten the key, and the edit's own effect conflicts.
    assert_eq!(scene.freeze(1, Mine).unwrap().key, "key-1");
    scene.answer(1, WriteOutcome::PreconditionFailed);
    assert_eq!(scene.plan(), [0; 0], "with another key, its own event would be a stranger's");
    scene.hear([with_key(profile(2, "Ghent"), "key-1"), profile(3, "Liege")]);
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT city FROM property").as_str()), ("1 confirmed", "Liege"));

    // The event is somebody else's, and the edit is merged with it. Without an event, the edit is sent again on the
    // next contact.
    for others in [true, false] {
        let mut scene = Scene::written("INSERT INTO property (city) VALUES ('Ghent')");
        scene.is_at_present(1).attempt(1, WriteOutcome::PreconditionFailed);
        if others {
            scene.hear(profile(2, "Liege"));
            assert_eq!(scene.plan(), [1]);
            assert_eq!(scene.freeze_as("again", 1, Ask), None);
            assert_eq!(scene.states(), "conflict");
        } else {
            assert_eq!(scene.plan(), [0; 0]);
            scene.greets(1, &[]);
            assert_eq!(scene.plan(), [1]);
            assert_eq!(scene.freeze_as("again", 1, Ask).unwrap().if_match, None);
        }
    }
}

#[test]
fn edit_after_412_waits_for_feed_on_contact() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.attempt(1, no_answer());
    // The request was applied. A day later the server has forgotten the key, and the edit's own effect conflicts.
    assert_eq!(scene.freeze(1, Mine).unwrap().key, "key-1");
    scene.answer(1, WriteOutcome::PreconditionFailed).is_at_present(5).greets(7, &[]);
    assert_eq!(scene.plan(), [0; 0], "with another key, its own event would be a stranger's");
    let theirs = json!({ "title": "Theirs", "priority": "low" });
    scene.hear([with_key(task(6, "Mine", "low"), "key-1"), event(7, "updated", "task", TASK, theirs)]);
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT title FROM tasks").as_str()), ("1 confirmed", "Theirs"));
}
