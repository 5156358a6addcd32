//! What a person decides: retry, change, discard, resolve, undo.

use std::collections::BTreeMap;

use hearth_contract::check::Fields;
use serde_json::{Value, json};

use super::{HOME, ROOM, Scene, TASK, at, deleted, event, task};
use crate::store::edits::EditError;
use crate::store::edits::answers::Verdict;
use crate::store::edits::decide::{self, Decided};
use crate::store::edits::judge::ConflictPolicy;
use crate::store::edits::resolve::{self, Choice, Resolution};
use crate::store::edits::undo;
use crate::store::mirror;

impl Scene {
    fn retry(&mut self, edit: i64) -> Result<Decided, String> {
        said(decide::retry(&mut self.db, edit))
    }
    fn discard(&mut self, edit: i64) -> Result<Decided, String> {
        said(decide::discard(&mut self.db, "cli", edit, at(0)))
    }
    fn change(&mut self, edit: i64, fields: Value) -> Result<Decided, String> {
        said(decide::change(&mut self.db, edit, &object(fields), at(0)))
    }
    fn resolve(&mut self, edit: i64, resolution: &Resolution) -> Result<Decided, String> {
        said(resolve::resolve(&mut self.db, "cli", edit, resolution, at(0)))
    }
    fn undo(&mut self, edit: Option<i64>) -> Result<Decided, String> {
        said(undo::undo(&mut self.db, "cli", edit, at(0)))
    }
    fn reject(&mut self, edit: i64) {
        self.send(edit);
        self.answer(
            edit,
            Verdict::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) },
        );
    }
    /// The edit is confirmed and the feed has passed it.
    fn confirm(&mut self, edit: i64, event: hearth_contract::event::Event) {
        self.send(edit);
        self.answer(edit, Verdict::Sent { rev: Some(event.id) });
        self.hear(vec![event]);
    }
}

fn said(result: Result<Decided, EditError>) -> Result<Decided, String> {
    result.map_err(|error| error.to_string())
}

fn object(value: Value) -> Fields {
    value.as_object().cloned().unwrap()
}

/// A task whose title both sides have changed, and whose priority only we have.
fn in_conflict() -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine', priority = 'high'");
    scene.hear(vec![task(6, "Theirs", "low")]);
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
    scene
}

#[test]
fn one_half_of_a_subject_is_said_for_both() {
    let [first, second] = ["00000000-0000-4000-8000-0000000000e1", "00000000-0000-4000-8000-0000000000e2"];
    let about = |id, item: &str| {
        let fields = json!({ "title": "Oil", "status": "open", "subject_type": "inventory", "subject_id": item });
        event(id, "updated", "task", TASK, fields)
    };
    for (field, choice, then) in [
        ("subject_id", Choice::Mine, ("room", ROOM)),
        ("subject_type", Choice::Theirs, ("inventory", second)),
        ("subject_id", Choice::Value(json!(HOME)), ("room", HOME)),
    ] {
        let mut scene = Scene::new();
        scene.hear(vec![about(5, first)]);
        scene.does(&format!("UPDATE tasks SET subject_type = 'room', subject_id = '{ROOM}'"));
        scene.hear(vec![about(6, second)]);
        assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
        let resolution = Resolution { fields: BTreeMap::from([(field.to_owned(), choice)]), rest: None };
        scene.resolve(1, &resolution).unwrap();
        let shown = scene.one("SELECT subject_type || ' ' || subject_id FROM tasks");
        assert_eq!(shown, format!("{} {}", then.0, then.1));
    }
}

#[test]
fn a_later_edit_of_a_field_that_was_lost_does_not_begin_with_it() {
    let mut scene = in_conflict();
    scene.does("UPDATE tasks SET title = 'Mine again'");
    let resolution = Resolution { fields: BTreeMap::from([("title".to_owned(), Choice::Theirs)]), rest: None };
    scene.resolve(1, &resolution).unwrap();
    assert_eq!(scene.one("SELECT json_extract(base, '$.title') FROM edits WHERE id = 2"), "Paint");
}

#[test]
fn an_edit_of_a_record_that_was_deleted_since_is_called_by_its_name() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.does("DELETE FROM tasks");
    let titles: Vec<String> =
        crate::store::edits::list(&scene.db).unwrap().into_iter().map(|edit| edit.title).collect();
    assert_eq!(titles, ["Paint", "Paint"]);
}

#[test]
fn who_is_blocked_says_by_whom_after_one_of_two_is_discarded() {
    let item = "00000000-0000-4000-8000-0000000000e1";
    let mut scene = Scene::new();
    scene.hear(vec![
        event(1, "created", "room", ROOM, json!({ "name": "Shed" })),
        event(2, "created", "room", HOME, json!({ "name": "Attic" })),
        event(3, "created", "inventory", item, json!({ "name": "Rake", "room_id": ROOM, "quantity": 1 })),
    ]);
    scene.does(&format!("UPDATE rooms SET floor = '1' WHERE id = '{ROOM}'"));
    scene.does(&format!("UPDATE rooms SET floor = '2' WHERE id = '{HOME}'"));
    scene.does(&format!("UPDATE inventory SET room_id = '{HOME}'"));
    scene.reject(1);
    scene.reject(2);
    scene.plan();
    let reason = "SELECT reason FROM edits WHERE id = 3";
    assert_eq!(scene.one(reason), "waits for edit 2, which needs you");
    scene.discard(2).unwrap();
    assert_eq!(scene.one(reason), "waits for edit 1, which needs you");
    scene.discard(1).unwrap();
    assert_eq!(scene.states(), "waiting");
}

#[test]
fn a_refused_create_can_be_changed_and_frees_what_waited_for_it() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.reject(1);
    scene.plan();
    assert_eq!(scene.states(), "rejected blocked");
    assert!(scene.retry(2).unwrap_err().contains("needs you first"));
    let refused = scene.change(1, json!({ "room_type": "cave" })).unwrap_err();
    assert!(refused.contains("room_type must be one of"), "{refused}");
    scene.change(1, json!({ "name": "Garden shed" })).unwrap();
    assert_eq!(scene.states(), "waiting waiting", "at once");
    assert_eq!(scene.one("SELECT name FROM rooms"), "Garden shed");
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "0");
    assert!(scene.send(1).body.unwrap().contains("Garden shed"));
}

#[test]
fn a_discarded_create_takes_what_was_done_to_it_along() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    scene.does("UPDATE rooms SET floor = '1'");
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('Rake', '{ROOM}')"));
    scene.reject(1);
    let decided = scene.discard(1).unwrap();
    assert!(decided.said.contains("another change names this room"), "{}", decided.said);
    assert_eq!((scene.outcomes().as_str(), scene.states().as_str()), ("1 discarded,2 discarded", "waiting"));
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM rooms) || (SELECT count(*) FROM inventory)"), "01");
    scene.change(3, json!({ "room_id": null })).unwrap();
    assert_eq!(scene.one("SELECT count(room_id) FROM inventory"), "0");
    assert!(scene.discard(1).unwrap_err().contains("no edit 1"));
}

#[test]
fn what_may_be_in_is_not_dropped_but_undone_there() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "cut".to_owned() });
    let decided = scene.discard(1).unwrap();
    assert_eq!((scene.states().as_str(), decided.edit), ("waiting waiting", Some(2)), "{}", decided.said);
    assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");
    assert_eq!(scene.plan(), [1], "the first goes on with the same request, the second after it");
    assert!(scene.change(1, json!({ "title": "x" })).unwrap_err().contains("on its way"));
}

#[test]
fn what_the_server_did_not_look_at_is_free_again_unless_an_earlier_attempt_may_be_in() {
    let mut scene = Scene::new();
    for name in ["Hall", "Attic"] {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
    }
    let away = || Verdict::TurnedAway { reason: "the key may not write rooms".to_owned() };
    scene.freeze(&[vec![1], vec![2]], ConflictPolicy::Ask).unwrap();
    super::answers::record(&mut scene.db, &[(1, away()), (2, away())], at(0)).unwrap();
    assert_eq!(scene.one("SELECT count(*) || min(reason) FROM edits"), "2the key may not write rooms");
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "0");
    scene.change(1, json!({ "name": "Corridor" })).unwrap();
    assert_eq!(scene.discard(2).unwrap().edit, None, "given up, not undone there");
    assert_eq!((scene.outcomes().as_str(), scene.states().as_str()), ("2 discarded", "waiting"));

    scene.send(1);
    scene.answer(1, Verdict::Later { at: None, reason: "cut".to_owned() });
    for _ in 0..3 {
        scene.send(1);
        scene.answer(1, away());
    }
    assert_eq!(scene.one("SELECT count(*) FROM _requests"), "1", "the first may be in");
    assert!(scene.discard(1).unwrap().edit.is_some());
}

#[test]
fn an_edit_taken_back_leaves_the_later_ones_in_order() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'First', priority = 'high'");
    scene.does("UPDATE tasks SET title = 'Second'");
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Secondlow");
    let request = scene.send(2);
    assert_eq!((request.guard, request.body.as_deref()), (Some(5), Some(r#"{"title":"Second"}"#)), "no false conflict");
    assert_eq!(scene.outcomes(), "1 undone");
}

#[test]
fn all_mine_all_theirs_or_field_by_field() {
    let mut scene = in_conflict();
    assert!(scene.retry(1).unwrap_err().contains("“Mine”: both sides still differ"));
    scene.resolve(1, &Resolution::mine()).unwrap();
    let request = scene.send(1);
    assert_eq!((request.guard, request.body.as_deref()), (Some(6), Some(r#"{"title":"Mine","priority":"high"}"#)));
    assert_eq!(scene.one("SELECT patch FROM edit_history"), r#"{"title":"Theirs"}"#);

    let mut scene = in_conflict();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Theirshigh", "what only we changed still goes");
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"priority":"high"}"#));

    let mut scene = in_conflict();
    let typed = |name: &str, value: Value| Resolution {
        fields: BTreeMap::from([(name.to_owned(), Choice::Value(value))]),
        rest: None,
    };
    assert!(scene.resolve(1, &typed("notes", json!("x"))).unwrap_err().contains("in conflict: title"));
    assert!(scene.resolve(1, &typed("title", json!(" "))).is_err());
    scene.resolve(1, &typed("title", json!("Both"))).unwrap();
    assert_eq!(scene.send(1).body.as_deref(), Some(r#"{"title":"Both","priority":"high"}"#));
    assert_eq!(scene.one("SELECT title FROM tasks"), "Both");
    assert_eq!(scene.one("SELECT group_concat(patch) FROM edit_history"), r#"{"title":"Theirs"},{"title":"Mine"}"#);
}

#[test]
fn a_value_that_lost_comes_back_by_undo() {
    let mut scene = in_conflict();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    let lost: i64 = scene.one("SELECT id FROM edit_history").parse().unwrap();
    let decided = scene.undo(Some(lost)).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Mine");
    assert_eq!(scene.one("SELECT patch FROM edits ORDER BY id DESC"), r#"{"title":"Mine"}"#);
    assert_eq!(decided.edit, Some(lost + 1));
}

#[test]
fn what_is_deleted_there_can_be_made_anew_or_given_up() {
    let gone = || {
        let mut scene = Scene::new();
        scene.hear(vec![task(5, "Paint", "low")]);
        scene.does("UPDATE tasks SET title = 'Mine'");
        scene.hear(vec![deleted(6)]);
        assert_eq!(scene.states(), "conflict");
        scene
    };
    let mut scene = gone();
    assert!(scene.retry(1).unwrap_err().contains("is made anew"), "it can only be made anew");
    let decided = scene.resolve(1, &Resolution::mine()).unwrap();
    assert!(decided.said.contains("made anew"), "{}", decided.said);
    assert_eq!(scene.one("SELECT count(*) || min(title) || min(priority) FROM tasks"), "1Minelow");
    assert_ne!(scene.one("SELECT id FROM tasks"), TASK);
    assert_eq!((scene.states().as_str(), scene.outcomes().as_str()), ("waiting", "1 superseded"));

    let mut scene = gone();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM edits)"), "0");
}

/// The server may be put back to before the delete that it answered with, and then the feed never tells of one.
#[test]
fn what_only_an_answer_calls_deleted_is_a_row_until_the_feed_tells_its_end() {
    for resolution in [Resolution::mine(), Resolution::theirs()] {
        let mut scene = Scene::deleted_by_an_answer();
        assert!(scene.retry(1).unwrap_err().contains("was deleted on the server"), "it counts for the edit");
        scene.resolve(1, &resolution).unwrap();
        let of_the_server = format!("SELECT coalesce(max(title || rev), 'none') FROM tasks WHERE id = '{TASK}'");
        assert_eq!(scene.one(&of_the_server), "Paint5");
        scene.hear(vec![deleted(6)]);
        assert_eq!(scene.one(&of_the_server), "none");
    }
}

#[test]
fn a_delete_in_conflict_goes_through_or_gives_way() {
    let conflict = || {
        let mut scene = Scene::new();
        scene.hear(vec![task(5, "Paint", "low")]);
        scene.does("DELETE FROM tasks");
        scene.hear(vec![task(6, "Paint", "urgent")]);
        assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
        scene
    };
    let mut scene = conflict();
    scene.resolve(1, &Resolution::mine()).unwrap();
    assert_eq!(scene.send(1).guard, Some(6));
    let mut scene = conflict();
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.one("SELECT priority || rev FROM tasks"), "urgent6");
}

#[test]
fn an_id_that_is_in_use_there() {
    let taken = |there: bool| {
        let mut scene = Scene::new();
        scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
        scene.send(1);
        let problem = json!({ "type": "already_exists" });
        scene.answer(1, Verdict::Conflict { reason: "The id exists.".to_owned(), problem, gone: false });
        if there {
            scene.hear(vec![task(6, "Theirs", "low")]);
        }
        scene
    };
    let mut scene = taken(true);
    assert_eq!(
        scene.one("SELECT json_array(mine, theirs) FROM conflicts WHERE field = 'title'"),
        r#"["Mine","Theirs"]"#
    );
    assert!(scene.retry(1).unwrap_err().contains("settled as mine “Mine” is written over it"));
    scene.resolve(1, &Resolution::mine()).unwrap();
    let request = scene.send(1);
    assert_eq!((request.verb.as_str(), request.guard), ("PATCH", Some(6)));
    let mut scene = taken(true);
    scene.resolve(1, &Resolution::theirs()).unwrap();
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Theirs6");
    let mut scene = taken(false);
    assert_eq!(scene.one("SELECT count(*) FROM conflicts WHERE theirs IS NULL AND field = 'title'"), "1");
    scene.resolve(1, &Resolution::mine()).unwrap();
    assert_eq!(scene.one("SELECT count(*) || min(title) FROM tasks"), "1Mine");
    assert_ne!(scene.one("SELECT id FROM tasks"), TASK);
}

#[test]
fn undo_of_a_confirmed_change_leaves_what_was_changed_since() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine', priority = 'high'");
    scene.confirm(1, task(6, "Mine", "high"));
    scene.hear(vec![task(7, "Theirs", "high")]);
    let decided = scene.undo(None).unwrap();
    assert!(decided.said.contains("left: title"), "{}", decided.said);
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Theirslow");
    assert!(scene.undo(Some(1)).unwrap_err().contains("undone already, by edit 2"));

    // Undo of the undo is redo, whether it was sent or not; then the first stands again.
    scene.confirm(2, task(8, "Theirs", "low"));
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT priority FROM tasks"), "high");
    scene.undo(Some(3)).unwrap();
    assert_eq!(scene.one("SELECT priority FROM tasks"), "low");
    scene.hear(vec![task(9, "Theirs", "urgent")]);
    assert!(scene.undo(None).unwrap_err().contains("no change to undo"), "what was undone stays so");
}

/// Two changes of a task of which the second came before the first was sent, on their way as one.
fn on_the_way_as_one() -> Scene {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'One'");
    scene.does("UPDATE tasks SET title = 'Two', priority = 'high'");
    assert!(scene.freeze(&[vec![1, 2]], ConflictPolicy::Ask).is_some());
    scene
}

#[test]
fn of_two_changes_on_their_way_as_one_each_is_undone_alone() {
    let mut scene = on_the_way_as_one();
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Onelow");
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Paintlow");
    assert!(scene.undo(Some(1)).unwrap_err().contains("undone already"));

    // The first alone leaves what the second has made of it.
    let mut scene = on_the_way_as_one();
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("“Two”: title has been changed since"), "{refused}");
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Twohigh");
}

#[test]
fn what_was_refused_as_one_is_taken_back_as_one() {
    let mut scene = on_the_way_as_one();
    scene.answer(1, Verdict::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) });
    assert!(scene.undo(Some(2)).unwrap_err().contains("refused as one"));
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Paintlow");
}

#[test]
fn undo_steps_back_through_what_is_on_its_way_as_one() {
    let mut scene = on_the_way_as_one();
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Onelow");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Paintlow");
    assert!(scene.undo(None).unwrap_err().contains("no change to undo"));

    let mut scene = Scene::new();
    scene.does("INSERT INTO rooms (name, floor) VALUES ('Nook', '1')");
    scene.does("UPDATE rooms SET floor = '2'");
    assert!(scene.freeze(&[vec![1, 2]], ConflictPolicy::Ask).is_some());
    assert_eq!(scene.undo(None).unwrap().said, "“Nook”: floor as before");
    assert_eq!(scene.one("SELECT floor FROM rooms"), "1");
    assert_eq!(scene.undo(None).unwrap().said, "“Nook” is deleted again");

    // What was refused as one is as new as the last of it.
    let mut scene = Scene::new();
    scene.hear(vec![
        task(5, "Paint", "low"),
        event(6, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" })),
    ]);
    scene.does("UPDATE tasks SET title = 'One'");
    scene.does("UPDATE rooms SET floor = '2'");
    scene.does("UPDATE tasks SET priority = 'high'");
    assert!(scene.freeze(&[vec![1, 3]], ConflictPolicy::Ask).is_some());
    scene.answer(1, Verdict::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) });
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Paintlow");
    assert_eq!(scene.undo(None).unwrap().said, "“Shed”: the change is taken back; it was never sent");
}

#[test]
fn another_spelling_of_a_value_leaves_nothing_to_undo() {
    let car = |id: i64, make: Option<&str>| {
        let fields = json!({ "name": "Car", "purchase_price": "7.50", "make": make });
        event(id, "updated", "vehicle", TASK, fields)
    };
    let mut scene = Scene::new();
    scene.hear(vec![car(5, None)]);
    scene.does("UPDATE vehicles SET purchase_price = '7.5'");
    assert_eq!(scene.freeze(&[vec![1]], ConflictPolicy::Ask), None);
    assert_eq!(scene.outcomes(), "1 merged");
    scene.does("UPDATE vehicles SET make = 'Acme'");
    assert_eq!(
        scene.undo(Some(1)).unwrap_err(),
        "“Car” is as it was before this change already, so there is nothing left to undo"
    );
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(make) FROM vehicles"), "0", "the next is not passed over");

    scene.does("UPDATE vehicles SET purchase_price = '07.5', make = 'Bolt'");
    scene.confirm(3, car(6, Some("Bolt")));
    assert_eq!(scene.undo(Some(3)).unwrap().said, "“Car”: make as before");
}

#[test]
fn sentences_speak_of_the_record_by_its_name() {
    let mut scene = in_conflict();
    assert!(scene.one("SELECT text FROM sync_log ORDER BY id DESC").starts_with("“Mine” needs you"));
    assert_eq!(scene.resolve(1, &Resolution::mine()).unwrap().said, "“Mine”: settled; the change goes to the server");
    assert_eq!(scene.undo(Some(1)).unwrap().said, "“Mine”: the change is taken back; it was never sent");
    assert_eq!(scene.undo(Some(1)).unwrap().said, "“Theirs”: title, priority as it was written");
}

#[test]
fn undo_steps_back_through_what_was_done() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low"));
    scene.does("UPDATE tasks SET title = 'Two'");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "One");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Two", "what was taken back is done again");
}

#[test]
fn undo_of_a_create_and_of_a_delete() {
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM edits)"), "0");
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one("SELECT id || title FROM tasks"), format!("{TASK}Paint"), "never sent, so the id is free");
    scene.confirm(2, task(6, "Paint", "medium"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT method FROM edits"), "delete");
    scene.confirm(3, deleted(7));

    scene.hear(vec![event(8, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" }))]);
    scene.does("DELETE FROM rooms");
    scene.confirm(4, event(9, "deleted", "room", ROOM, Value::Null));
    let decided = scene.undo(None).unwrap();
    assert!(decided.said.contains("made anew"), "{}", decided.said);
    assert_eq!(scene.one("SELECT name || floor FROM rooms"), "Shed1");
    assert_ne!(scene.one("SELECT id FROM rooms"), ROOM);
}

#[test]
fn a_create_is_made_again_once() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO rooms (name) VALUES ('Twice')");
    scene.discard(1).unwrap();
    assert_eq!(scene.undo(Some(1)).unwrap().edit, Some(2));
    assert_eq!(scene.undo(Some(1)).unwrap_err(), "this change is made again already, by edit 2; undo 2 takes it back");
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "1");
    // The new one is a change like any other.
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM rooms"), "0");
    assert_eq!(scene.undo(Some(1)).unwrap().edit, Some(3), "it is none again");

    // What came to stand as another record is there already.
    let mut scene = Scene::new();
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Mine')"));
    scene.send(1);
    let problem = json!({ "type": "already_exists" });
    scene.answer(1, Verdict::Conflict { reason: "The id exists.".to_owned(), problem, gone: false });
    scene.resolve(1, &Resolution::mine()).unwrap();
    assert!(scene.undo(Some(1)).unwrap_err().contains("made again already, by edit 2"));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "0");
}

#[test]
fn a_finished_task_made_anew_has_no_second_next_one() {
    let chore = |id: i64, status: &str| {
        let fields = json!({ "title": "Filter", "priority": "low", "status": status, "recurrence": "monthly" });
        event(id, "updated", "task", TASK, fields)
    };
    let recurrence = "SELECT coalesce(status || recurrence, status) FROM tasks";
    let mut scene = Scene::new();
    scene.hear(vec![chore(5, "done")]);
    scene.does("DELETE FROM tasks");
    scene.confirm(1, deleted(6));
    let said = scene.undo(None).unwrap().said;
    assert!(said.ends_with("without recurrence, because a task that is done has had its next one"), "{said}");
    assert_eq!(scene.one(recurrence), "done");

    // The server was the first to say that it is done, or it has never heard of it.
    for (there, then, kept) in [
        ("done", "UPDATE tasks SET notes = 'N'", "done"),
        ("open", "UPDATE tasks SET status = 'done'", "donemonthly"),
        ("open", "UPDATE tasks SET notes = 'N'", "openmonthly"),
    ] {
        let mut scene = Scene::new();
        scene.hear(vec![chore(5, there)]);
        scene.does(then);
        scene.hear(vec![deleted(6)]);
        scene.resolve(1, &Resolution::mine()).unwrap();
        assert_eq!(scene.one(recurrence), kept);
    }
    let mut scene = Scene::new();
    scene.does("INSERT INTO tasks (title, status, recurrence) VALUES ('Filter', 'done', 'monthly')");
    scene.discard(1).unwrap();
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.one(recurrence), "donemonthly", "it has had no next one");
}

#[test]
fn nothing_is_put_back_to_what_is_gone() {
    let item = |id: i64, name: &str, room: &str| {
        event(id, "updated", "inventory", TASK, json!({ "name": name, "room_id": room, "quantity": 1 }))
    };
    let mut scene = Scene::new();
    scene.hear(vec![
        event(1, "created", "room", ROOM, json!({ "name": "Shed" })),
        event(2, "created", "room", HOME, json!({ "name": "Attic" })),
        item(3, "Lamp", ROOM),
    ]);
    scene.does(&format!("UPDATE inventory SET room_id = '{HOME}'"));
    scene.confirm(1, item(4, "Lamp", HOME));
    scene.does(&format!("UPDATE inventory SET name = 'Old lamp', room_id = '{ROOM}'"));
    scene.confirm(2, item(5, "Old lamp", ROOM));
    scene.hear(vec![event(6, "deleted", "room", HOME, Value::Null)]);
    let said = scene.undo(Some(2)).unwrap().said;
    assert_eq!(said, "“Old lamp”: name as before; left, because what it named is gone: room_id");
    assert_eq!(scene.one("SELECT name || room_id FROM inventory"), format!("Lamp{ROOM}"));
    scene.undo(Some(3)).unwrap();
    scene.does("DELETE FROM rooms");
    scene.does("UPDATE inventory SET room_id = NULL");
    let lost: i64 = scene.one("SELECT max(id) FROM edits").parse().unwrap();
    scene.confirm(lost, event(8, "updated", "inventory", TASK, json!({ "name": "Old lamp", "quantity": 1 })));
    assert_eq!(
        scene.undo(Some(lost)).unwrap_err(),
        "“Old lamp”: what room_id named is gone, so there is nothing left to undo"
    );

    // What lost is not brought back to what is gone either.
    let mut scene = Scene::new();
    scene.hear(vec![event(1, "created", "room", ROOM, json!({ "name": "Shed" })), item(2, "Lamp", HOME)]);
    scene.does(&format!("UPDATE inventory SET name = 'Old lamp', room_id = '{ROOM}'"));
    scene.undo(Some(1)).unwrap();
    scene.hear(vec![event(3, "deleted", "room", ROOM, Value::Null)]);
    let said = scene.undo(Some(1)).unwrap().said;
    assert_eq!(said, "“Lamp”: name as it was written; left, because what it named is gone: room_id");

    let mut scene = Scene::new();
    scene.hear(vec![event(1, "created", "room", ROOM, json!({ "name": "Shed" })), item(2, "Lamp", HOME)]);
    scene.does(&format!("UPDATE inventory SET room_id = '{ROOM}'"));
    scene.undo(Some(1)).unwrap();
    scene.hear(vec![event(3, "deleted", "room", ROOM, Value::Null)]);
    assert_eq!(scene.undo(Some(1)).unwrap_err(), "“Lamp”: what room_id named is gone, so it stays as it is");

    // A subject is one thing in two fields.
    let manual = |id: i64, kind: &str, of: Option<&str>| {
        let fields = json!({ "title": "Manual", "subject_type": kind, "subject_id": of });
        event(id, "updated", "document", ROOM, fields)
    };
    let mut scene = Scene::new();
    scene.hear(vec![event(1, "created", "vehicle", TASK, json!({ "name": "Car" })), manual(2, "vehicle", Some(TASK))]);
    scene.does("UPDATE documents SET subject_type = 'home', subject_id = NULL");
    scene.confirm(1, manual(3, "home", None));
    scene.hear(vec![event(4, "deleted", "vehicle", TASK, Value::Null)]);
    let refused = scene.undo(Some(1)).unwrap_err();
    assert!(refused.contains("what subject_id named is gone"), "{refused}");
}

#[test]
fn what_is_taken_back_says_how_far_it_came() {
    let taken_back = |verdict: Verdict| {
        let mut scene = Scene::new();
        scene.hear(vec![task(5, "Paint", "low")]);
        scene.does("UPDATE tasks SET title = 'Mine'");
        scene.send(1);
        scene.answer(1, verdict);
        scene.undo(Some(1)).unwrap().said
    };
    let problem = || json!({ "type": "validation_failed" });
    let said = taken_back(Verdict::Rejected { reason: "no".to_owned(), problem: problem() });
    assert_eq!(said, "“Mine”: the change is taken back; the server had refused it");
    assert_eq!(taken_back(Verdict::Overtaken), "“Mine”: the change is taken back; the server does not have it");
    let mut scene = in_conflict();
    assert_eq!(scene.undo(Some(1)).unwrap().said, "“Mine”: the change is taken back; it was never sent");
}

#[test]
fn the_profiles_first_words_can_be_taken_back() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM property"), "0");
    scene.undo(Some(1)).unwrap();
    scene.confirm(2, event(3, "created", "property", HOME, json!({ "city": "Ghent" })));
    scene.undo(None).unwrap();
    assert_eq!(scene.one("SELECT count(city) FROM property"), "0");
}

#[test]
fn what_was_given_up_is_not_what_was_before_a_part_either() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.is_at_present(5);
    scene.does("UPDATE tasks SET title = 'Lost'");
    scene.send(1);
    scene.answer(1, Verdict::Sent { rev: Some(9) });
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.does("UPDATE tasks SET priority = 'high'");
    assert!(scene.freeze(&[vec![2, 3]], ConflictPolicy::Ask).is_some());
    scene.answer(2, Verdict::TurnedAway { reason: "the key may not write tasks".to_owned() });
    // The feed passes it without the first, so the server was put back to before.
    scene.hear(vec![event(10, "created", "room", ROOM, json!({ "name": "Shed" }))]);
    scene.discard(1).unwrap();
    scene.send(2);
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Painthigh");
}

/// The parts of an edit that stand in the history, as they were taken.
const PARTS: &str =
    "SELECT group_concat(id || ' ' || outcome || ' ' || patch, ', ') FROM (SELECT * FROM edit_history ORDER BY id)";

#[test]
fn the_history_of_what_went_as_one_says_what_became_of_it() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.hear(vec![task(6, "Theirs", "low")]);
    assert_eq!(scene.freeze(&[vec![1, 2]], ConflictPolicy::Ask), None);
    scene.resolve(1, &Resolution::theirs()).unwrap();
    scene.confirm(1, task(7, "Theirs", "high"));
    assert_eq!(scene.one(PARTS), r#"1 superseded {}, 2 confirmed {"priority":"high"}, 3 superseded {"title":"Mine"}"#);

    // The same where the profile decides.
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'Mine'");
    scene.does("UPDATE tasks SET priority = 'high'");
    scene.hear(vec![task(6, "Theirs", "low")]);
    assert!(scene.freeze(&[vec![1, 2]], ConflictPolicy::Theirs).is_some());
    scene.answer(1, Verdict::Sent { rev: Some(7) });
    scene.hear(vec![task(7, "Theirs", "high")]);
    assert_eq!(scene.one(PARTS), r#"1 superseded {}, 2 confirmed {"priority":"high"}, 3 superseded {"title":"Mine"}"#);
}

#[test]
fn what_was_changed_after_it_was_refused_as_one_is_what_the_history_says() {
    let mut scene = on_the_way_as_one();
    scene.answer(1, Verdict::Rejected { reason: "no".to_owned(), problem: json!({ "type": "validation_failed" }) });
    scene.change(1, json!({ "title": "Three", "notes": "N" })).unwrap();
    scene.confirm(1, event(6, "updated", "task", TASK, json!({ "title": "Three", "priority": "high", "notes": "N" })));
    assert_eq!(
        scene.one(PARTS),
        r#"1 confirmed {"title":"One","notes":"N"}, 2 confirmed {"title":"Three","priority":"high"}"#
    );
    scene.undo(Some(2)).unwrap();
    assert_eq!(scene.one("SELECT title || priority FROM tasks"), "Onelow");
}

#[test]
fn what_an_edit_does_not_change_any_more_is_what_it_was_for_the_next() {
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'A', notes = 'N'");
    scene.reject(1);
    scene.does("UPDATE tasks SET title = 'B'");
    scene.change(1, json!({ "title": "Paint" })).unwrap();
    assert_eq!(scene.one("SELECT patch FROM edits WHERE id = 1"), r#"{"notes":"N"}"#);
    assert_eq!(scene.one("SELECT base FROM edits WHERE id = 2"), r#"{"title":"Paint"}"#);
}

#[test]
fn a_clock_that_is_ahead_forgets_no_history() {
    const YEAR_MILLIS: i64 = 365 * 24 * 3600 * 1000;
    let told = |scene: &mut Scene, id: i64, title: &str, millis: i64| {
        let event = hearth_contract::event::Event { created_at: at(millis), ..task(id, title, "low") };
        let batch = mirror::Batch { cursor: Some(format!("c{id}")), events: vec![event], ready: None };
        let proof = mirror::Proof { phase: "live", reason: None, transport: "stream", now: at(YEAR_MILLIS) };
        mirror::apply(&mut scene.db, &batch, &proof).unwrap();
    };
    let mut scene = Scene::new();
    scene.hear(vec![task(5, "Paint", "low")]);
    scene.does("UPDATE tasks SET title = 'One'");
    scene.confirm(1, task(6, "One", "low"));
    scene.does("UPDATE tasks SET title = 'Two'");
    told(&mut scene, 7, "Theirs", 7);
    assert_eq!(scene.outcomes(), "1 confirmed", "the server's clock says that it was now");
    told(&mut scene, 8, "Theirs", YEAR_MILLIS);
    assert_eq!(scene.outcomes(), "", "a year has passed there too");
}

#[test]
fn what_cannot_be_undone_any_more_does_not_stand_in_the_way() {
    let mut scene = Scene::new();
    scene.hear(vec![
        event(4, "created", "room", ROOM, json!({ "name": "Shed", "floor": "1" })),
        task(5, "Paint", "low"),
    ]);
    scene.does("UPDATE rooms SET floor = '2'");
    scene.confirm(1, event(6, "updated", "room", ROOM, json!({ "name": "Shed", "floor": "2" })));
    scene.does("UPDATE tasks SET title = 'Paint all'");
    scene.confirm(2, task(7, "Paint all", "low"));
    scene.does("UPDATE tasks SET notes = 'N'");
    scene.confirm(3, event(8, "updated", "task", TASK, json!({ "title": "Paint all", "notes": "N" })));
    scene.hear(vec![deleted(9)]);
    let decided = scene.undo(None).unwrap();
    assert_eq!(
        decided.said,
        "“Shed”: floor as before (passed over: “Paint all” is deleted by now; “Paint all” is deleted by now)"
    );
    assert_eq!(scene.one("SELECT floor FROM rooms"), "1");
    assert_eq!(scene.undo(None).unwrap_err(), "“Paint all” is deleted by now");
}
