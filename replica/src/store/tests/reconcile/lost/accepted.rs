//! Edits that the server accepted and the feed has not shown: lost, overwritten, or still to come.

use super::*;

#[test]
fn later_event_does_not_confirm_lost_edit() {
    // Restored to 5: position 6 is another change of the same record, and after `restore` there is no position 6 at
    // all.
    let mine = || with_key(task(6, "Paint", "high"), "key-1");
    for (events, edits) in [
        (vec![task(1_000_006, "Theirs", "low")], "; conflict"),
        (vec![task(6, "Theirs", "low")], "; conflict"),
        (vec![mine(), task(7, "Theirs", "low")], "1 confirmed; "),
    ] {
        let mut scene = accepted_at_6();
        scene.hear(events);
        assert_eq!(scene.edits(), edits);
    }
}

#[test]
fn edit_passed_by_tail_is_offered_at_the_end() {
    let restored = restored(Some(5));
    for (cause, present) in [(asked(), None), (gap(), Some(7)), (restored, Some(7))] {
        let mut scene = accepted_in_a_recovery(&cause, present);
        // The server was restored to 7, unnoticed, and has new events: 8 and 9 are changes by others.
        scene.hear(paper(8, "Theirs")).hear(task(10, "Theirs", "low"));
        assert_eq!(scene.states(), "sent sent", "{cause:?}");
        sweeps_theirs(&mut scene);
        assert_eq!(scene.states(), "conflict conflict", "{cause:?}");
        scene.shows("SELECT name, (rev IS NULL) FROM vehicles", json!(["Car", 1]));
        scene.shows("SELECT title, priority, rev FROM tasks", json!(["Theirs", "high", 10]));
    }
}

#[test]
fn accepted_create_that_a_backfill_leaves_out_is_offered() {
    for is_answered_late in [false, true] {
        let mut scene = Scene::written(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
        scene.send(1);
        scene.hear(task(5, "Paint", "low"));
        if !is_answered_late {
            scene.answer(1, accepted(8));
        }
        // Another client deletes the record, and a client that has never seen it gets neither event (contract 9.2).
        scene.catch_up(paper(21, "Deed"));
        if is_answered_late {
            scene.answer(1, accepted(8)).hear(event(22, "updated", "document", HOME, json!({ "title": "Deed" })));
        }
        assert_eq!(scene.states(), "conflict");
        assert!(scene.one("SELECT reason FROM edits").contains("deleted on the server since, or lost"));
    }
}

#[test]
fn delete_during_backfill_is_confirmed() {
    let mut scene = Scene::written(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.send(1);
    scene.hear(task(5, "Paint", "low")).does("DELETE FROM vehicles").answer(1, accepted(8));
    scene.accept(2, 9).catch_up(paper(21, "Deed"));
    assert_eq!(scene.edits(), "1 confirmed, 2 confirmed; ");
}
