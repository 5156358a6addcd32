//! `verify`: rows compared with the lists of the server.

use super::*;
use crate::store::reconcile::verify::{How, Listing, Verification, verify};

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
    let How::Fields(fields) = &differing[0].how else { panic!("{differing:?}") };
    let names: Vec<&str> = fields.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["extra", "floor"]);
}

#[test]
fn revision_beyond_feed_is_reported() {
    for wrong in
        ["UPDATE tasks SET rev = 999, notes = 'Rot'", "UPDATE _base SET deleted = 1, rev = 999; DELETE FROM tasks"]
    {
        let mut scene = Scene::with_task();
        scene.is_at_present(7).forces(wrong);
        let record = task(5, "Paint", "low").payload.unwrap();
        let listing = [(Kind::Task, Listing { records: vec![(record, 7)], as_of: 7 })];
        let found = verify(&mut scene.db, &listing, true, at(0)).unwrap().unwrap();
        assert_eq!((found.compared, found.changed_meanwhile, found.differences.len()), (1, 0, 1), "{wrong}");
        assert_eq!(scene.row("SELECT title, rev, notes FROM tasks"), json!(["Paint", 5, null]), "{wrong}");
        assert_eq!(verify(&mut scene.db, &listing, false, at(0)).unwrap().unwrap().differences, [], "{wrong}");
    }
}

#[test]
fn row_with_edits_is_verified() {
    for (wrong, is_field) in [("UPDATE tasks SET assignee = 'Rot'", true), ("DELETE FROM tasks", false)] {
        let mut scene = Scene::with_task();
        scene.is_at_present(7).does("UPDATE tasks SET title = 'Mine'");
        let record = task(5, "Paint", "low").payload.unwrap();
        let listing = [(Kind::Task, Listing { records: vec![(record, 7)], as_of: 7 })];
        assert_eq!(verify(&mut scene.db, &listing, false, at(0)).unwrap().unwrap().differences, []);
        scene.forces(wrong);
        let found = verify(&mut scene.db, &listing, true, at(0)).unwrap().unwrap().differences;
        let fields = |how: &How| matches!(how, How::Fields(fields) if fields.len() == 1 && fields[0].0 == "assignee");
        assert!(if is_field { fields(&found[0].how) } else { found[0].how == How::Missing }, "{wrong}: {found:?}");
        assert_eq!(scene.row("SELECT title, assignee FROM tasks"), json!(["Mine", null]), "{wrong}");
        assert_eq!(verify(&mut scene.db, &listing, false, at(0)).unwrap().unwrap().differences, [], "{wrong}");
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
