//! What was sent and may be in: without an answer, or refused only when it was sent again.

use super::super::{at, greeting};
use super::*;

#[test]
fn an_overtaken_edit_waits_for_the_feed_and_goes_again_under_a_new_key() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    assert_eq!(scene.plan(), [0; 0], "what it is now has not come yet");
    scene.hear(vec![task(7, "Paint", "high")]);
    assert_eq!(scene.plan(), [1]);
    let key = "key-again";
    let again = scene.freeze_as(key, &[vec![1]], ConflictPolicy::Ask).unwrap();
    assert_eq!((again.key.as_str(), again.guard, body(&again)), (key, Some(7), json!({ "title": "Mine" })));
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "1", "the refused one is forgotten");
    assert!(scene.one("SELECT text FROM sync_log ORDER BY id DESC").contains("both changes stand"));
}

#[test]
fn an_overtaken_edit_that_was_in_all_along_is_recognised() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    let first = scene.send(1);
    // Its answer was lost, the server has forgotten the key, somebody has changed it back.
    scene.answer(1, Verdict::Overtaken);
    scene.hear(vec![with_key(task(6, "Mine", "low"), &first.key), task(7, "Paint", "low")]);
    assert_eq!(scene.outcomes(), "1 confirmed", "one effect, not two");
    assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");
}

#[test]
fn what_goes_apart_and_may_be_in_is_known_by_its_key() {
    let parted = || {
        let mut scene = Scene::new();
        scene.is_at_present(2);
        scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
        scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{ROOM}', 'New')"));
        let first = scene.freeze(&[vec![1], vec![2]], ConflictPolicy::Ask).unwrap();
        let each = |scene: &mut Scene, verdict: Verdict| (1..=2).for_each(|edit| scene.answer(edit, verdict.clone()));
        each(&mut scene, Verdict::Later { at: None, reason: "no answer".into() });
        // It is in. Then somebody on the way refuses it.
        scene.freeze(&[vec![1, 2]], ConflictPolicy::Ask).unwrap();
        each(&mut scene, Verdict::Apart);
        (scene, first.key)
    };
    let (mut scene, key) = parted();
    scene.does(&format!("DELETE FROM tasks WHERE id = '{TASK}'"));
    assert_eq!(scene.parcels(), [[1], [2]], "its delete waits for the create");
    crate::store::sync_state::record_greeting(&mut scene.db, &greeting(4, &[]), at(0)).unwrap();
    assert_eq!(scene.parcels(), [[0; 0]; 0], "the feed has more to tell");
    scene.hear(vec![with_key(event(3, "created", "task", TASK, json!({ "title": "Mine" })), &key)]);
    scene.hear(vec![with_key(event(4, "created", "task", ROOM, json!({ "title": "New" })), &key)]);
    assert_eq!((scene.outcomes().as_str(), scene.plan()), ("1 confirmed,2 confirmed", vec![3]));

    // If the feed has come to the present without them they are not in, and go each by itself.
    let (mut scene, key) = parted();
    let single = scene.freeze_as("key-single", &[vec![1]], ConflictPolicy::Ask).unwrap();
    assert_eq!((single.path.as_str(), single.bulk), ("/v1/tasks", false));
    assert_ne!(single.key, key);
}

#[test]
fn what_was_made_of_a_create_that_is_met_there_is_not_written_over_unseen() {
    let mut scene = Scene::new();
    scene.is_at_present(2);
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    scene.does("UPDATE tasks SET notes = 'Mine too'");
    // A day later its id is taken: by itself, and somebody has added notes since.
    scene.answer(1, Verdict::There { rev: 9 });
    assert_eq!((scene.states().as_str(), scene.plan()), ("sent waiting", vec![]));
    let fields = json!({ "title": "Mine", "notes": "Theirs", "priority": "medium", "status": "open" });
    scene.hear(vec![event(9, "updated", "task", TASK, fields)]);
    assert_eq!((scene.outcomes().as_str(), scene.plan()), ("1 confirmed", vec![2]));
    assert_eq!(scene.freeze(&[vec![2]], ConflictPolicy::Ask), None);
    assert_eq!(scene.one("SELECT reason FROM edits"), "notes changed there too");
}

#[test]
fn a_profile_that_did_not_exist_goes_again_only_in_step() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    let first = scene.send(1);
    assert_eq!(first.guard, None);
    scene.does("UPDATE property SET city = 'Bruges'");
    scene.is_at_present(2);
    crate::store::sync_state::record_greeting(&mut scene.db, &greeting(3, &[]), at(0)).unwrap();
    assert_eq!(scene.plan(), [0; 0], "only the feed can tell whether it is in");
    scene.hear(vec![event(3, "created", "property", HOME, json!({ "city": "Liege" }))]);
    // What is shown of a key does not matter.
    crate::store::sync_state::set_phase(&mut scene.db, crate::model::Phase::NeedsKey, None, None, None, at(0)).unwrap();
    assert_eq!(scene.plan(), [1], "the feed has come to the present without it");
}

#[test]
fn a_create_that_somebody_deleted_before_its_answer_came_leaves_no_row() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.send(1);
    scene.hear(vec![deleted(6)]);
    assert_eq!(scene.states(), "conflict", "nobody knows yet that it was in");
    let shown = "SELECT json_array(mine, theirs, theirs_at) FROM conflicts WHERE field = 'title'";
    assert_eq!(scene.one(shown), r#"["Mine",null,null]"#, "and that it is deleted there is shown");
    scene.answer(1, Verdict::Sent { rev: Some(4) });
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT count(*) FROM tasks").as_str()), ("1 confirmed", "0"));
}

#[test]
fn a_profile_that_a_first_read_shows_leaves_its_first_update_in_doubt() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    // Perhaps it was in, and this is what somebody has made of it since: a first read shows the newest form alone.
    scene.hear(vec![event(3, "updated", "property", HOME, json!({ "city": "Liege" }))]);
    scene.is_at_present(3);
    assert_eq!(scene.plan(), [1]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Mine), None);
    assert_eq!(scene.one("SELECT e.state || city FROM edits e JOIN property"), "conflictGhent");
}

#[test]
fn what_may_be_in_takes_no_later_edit_along() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    let first = scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    scene.hear(vec![event(3, "created", "property", HOME, json!({ "city": "Liege" }))]);
    scene.is_at_present(3);
    scene.does("UPDATE property SET state = 'Flanders'");
    assert_eq!(scene.parcels(), [[1]]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None, "it is in doubt");
    // Its own event comes after all: it was in, without what was written here since.
    scene.hear(vec![with_key(event(4, "updated", "property", HOME, json!({ "city": "Ghent" })), &first.key)]);
    assert_eq!(scene.outcomes(), "1 confirmed");
    assert_eq!(scene.plan(), [2]);
    assert_eq!(scene.one("SELECT city || state FROM property"), "GhentFlanders");
}

#[test]
fn an_overtaken_edit_whose_record_never_moves_here_goes_again_with_the_next_contact() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.send(1);
    scene.answer(1, Verdict::Overtaken);
    assert_eq!(scene.plan(), [0; 0], "its new form is on the way");
    scene.is_at_present(5);
    // But the server was put back to 5, which is where this replica stands.
    crate::store::sync_state::record_greeting(&mut scene.db, &greeting(5, &[]), at(0)).unwrap();
    assert_eq!(scene.plan(), [1]);
    let again = scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).unwrap();
    assert_eq!(again.guard, Some(5));
}

#[test]
fn a_profile_that_is_there_already_is_judged_once_the_feed_has_told_whose_it_is() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    scene.is_at_present(1);
    let first = scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    // It was in. A day later the server has forgotten its key, and its own effect stands in its way.
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Mine).unwrap().key, first.key);
    scene.answer(1, Verdict::Overtaken);
    assert_eq!(scene.plan(), [0; 0], "with another key, its own event would be a stranger's");
    let ours = with_key(event(2, "created", "property", HOME, json!({ "city": "Ghent" })), &first.key);
    scene.hear(vec![ours, event(3, "updated", "property", HOME, json!({ "city": "Liege" }))]);
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT city FROM property").as_str()), ("1 confirmed", "Liege"));

    // Somebody else's: it is judged against that; and where nothing comes, it goes again with the next contact.
    for others in [true, false] {
        let mut scene = Scene::new();
        scene.does("INSERT INTO property (city) VALUES ('Ghent')");
        scene.is_at_present(1);
        scene.send(1);
        scene.answer(1, Verdict::Overtaken);
        if others {
            scene.hear(vec![event(2, "created", "property", HOME, json!({ "city": "Liege" }))]);
            assert_eq!(scene.plan(), [1]);
            assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask), None);
            assert_eq!(scene.states(), "conflict");
        } else {
            assert_eq!(scene.plan(), [0; 0]);
            crate::store::sync_state::record_greeting(&mut scene.db, &greeting(1, &[]), at(0)).unwrap();
            assert_eq!(scene.plan(), [1]);
            assert_eq!(scene.freeze_as("again", &[vec![1]], ConflictPolicy::Ask).unwrap().guard, None);
        }
    }
}

#[test]
fn an_overtaken_edit_waits_for_what_the_feed_has_to_tell_at_the_next_contact() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    let first = scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "no answer".into() });
    // It was in. A day later the server has forgotten its key, and its own effect stands in its way.
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Mine).unwrap().key, first.key);
    scene.answer(1, Verdict::Overtaken);
    scene.is_at_present(5);
    crate::store::sync_state::record_greeting(&mut scene.db, &greeting(7, &[]), at(0)).unwrap();
    assert_eq!(scene.plan(), [0; 0], "with another key, its own event would be a stranger's");
    let theirs = json!({ "title": "Theirs", "priority": "low" });
    scene.hear(vec![with_key(task(6, "Mine", "low"), &first.key), event(7, "updated", "task", TASK, theirs)]);
    assert_eq!((scene.outcomes().as_str(), scene.one("SELECT title FROM tasks").as_str()), ("1 confirmed", "Theirs"));
}
