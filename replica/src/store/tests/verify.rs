//! `verify`: rows compared with the lists of the server.

use super::*;
use crate::store::reconcile::verify::{FieldDifference, How, Listing, Verification, verify};

impl Scene {
    /// Compares the rows with a server that lists no record.
    fn compared_with_nothing(&mut self, as_of: i64) -> Verification {
        let empty = Kind::ALL.map(|kind| (kind, Listing { as_of, ..Listing::default() }));
        verify(&mut self.db, &empty, false, at(0)).unwrap().unwrap()
    }
}

#[test]
fn deleted_record_in_conflict_is_equal() {
    let mut scene = Scene::edited("UPDATE tasks SET title = 'Mine'");
    scene.hear(deleted(6));
    assert_eq!(scene.one("SELECT count(*) FROM tasks"), "1", "the row stays visible while the edit waits");
    assert_eq!(scene.compared_with_nothing(6).differences, []);
}

#[test]
fn extra_record_is_reported() {
    let mut scene = Scene::with([task(5, "Paint", "low"), room(6, "Shed")]);
    scene.does("UPDATE tasks SET title = 'Mine'; INSERT INTO documents (title) VALUES ('Not there yet')");
    let found = scene.compared_with_nothing(6).differences;
    let extra: Vec<&str> = found.iter().filter(|one| one.how == How::Extra).map(|one| one.title.as_str()).collect();
    assert_eq!((found.len(), extra), (2, vec!["Mine", "Shed"]));
}

#[test]
fn missing_member_equals_null() {
    let mut scene = Scene::new();
    let room = |members| event(5, "created", "room", ROOM, members).payload.unwrap();
    scene.hear(event(5, "created", "room", ROOM, json!({ "name": "Shed", "notes": null, "b": 1, "a": [2] })));
    let mut compared = |record| {
        let listing = Listing { records: vec![(record, 5)], as_of: 5 };
        verify(&mut scene.db, &[(Kind::Room, listing)], false, at(0)).unwrap().unwrap().differences
    };
    assert_eq!(compared(room(json!({ "name": "Shed", "a": [2], "b": 1 }))), []);
    let differing = compared(room(json!({ "name": "Shed", "a": [2], "b": 3, "floor": "1" })));
    let names: Vec<&str> = differing[0].fields.iter().map(|one| one.field).collect();
    assert_eq!(names, ["extra", "floor"]);
}

/// Rows that are not their base images with the edits, and base images that no event has shown.
#[test]
fn wrong_row_is_reported_once_and_repaired() {
    let field = |field, ours, theirs| Some((How::Differs, vec![FieldDifference { field, ours, theirs }]));
    let listing = [(Kind::Task, Listing { records: vec![(task(5, "Paint", "low").payload.unwrap(), 7)], as_of: 7 })];
    for (title, wrong, how) in [
        ("Paint", "UPDATE tasks SET rev = 999, notes = 'Rot'", None),
        ("Paint", "UPDATE _base SET deleted = 1, rev = 999; DELETE FROM tasks", None),
        ("Paint", "UPDATE tasks SET updated_by = 'me'", field("updated_by", json!("me"), json!("device 5"))),
        ("Mine", "UPDATE tasks SET assignee = 'Rot'", field("assignee", json!("Rot"), Value::Null)),
        ("Mine", "DELETE FROM tasks", Some((How::Missing, vec![]))),
    ] {
        let mut scene = Scene::with_task();
        scene.is_at_present(7).does(&format!("UPDATE tasks SET title = '{title}'"));
        let compare = |scene: &mut Scene, repairs| verify(&mut scene.db, &listing, repairs, at(0)).unwrap().unwrap();
        assert_eq!(compare(&mut scene, false).differences, []);
        scene.forces(wrong);
        let found = compare(&mut scene, true);
        assert_eq!((found.compared, found.changed_meanwhile, found.differences.len()), (1, 0, 1), "{wrong}");
        let different = &found.differences[0];
        let is_so = |(how, fields)| (different.how, &different.fields) == (how, &fields);
        assert!(found.repaired && how.is_none_or(is_so), "{wrong}: {found:?}");
        let shown = scene.row("SELECT title, rev, notes, assignee, updated_by, extra FROM tasks");
        assert_eq!(shown, json!([title, 5, null, null, "device 5", null]), "{wrong}");
        assert_eq!(compare(&mut scene, false).differences, [], "{wrong}");
    }
}

#[test]
fn changed_search_text_is_reported_and_repaired() {
    let mut scene = Scene::with_task();
    let listing = [(Kind::Room, Listing { as_of: 5, ..Listing::default() })];
    assert!(!scene.compared_with_nothing(5).search_differs);
    for wrong in ["UPDATE search SET title = 'Zebra'", "UPDATE search SET body = 'stripes'", "DELETE FROM search"] {
        scene.does(wrong);
        assert!(scene.compared_with_nothing(5).search_differs, "{wrong}");
        assert!(verify(&mut scene.db, &listing, true, at(0)).unwrap().unwrap().search_differs, "{wrong}");
        assert!(!verify(&mut scene.db, &listing, false, at(0)).unwrap().unwrap().search_differs, "{wrong}");
        assert_eq!(scene.column("SELECT title FROM search"), json!(["Paint"]), "{wrong}");
    }
}
