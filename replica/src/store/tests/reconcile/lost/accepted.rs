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

/// While a reconcile runs, an accepted edit waits; the end tells whether it is lost. Where the tail does not show an edit,
/// the server was restored to 7, unnoticed, and its events are changes by others.
#[test]
fn edit_accepted_in_a_reconcile_is_judged_at_its_end() {
    let mine = || with_key(task(9, "Paint", "high"), "key-2");
    let both = || vec![with_key(car(8), "key-1"), mine(), task(10, "Paint", "low")];
    let one = || vec![paper(8, "Theirs"), mine(), task(10, "Paint", "urgent")];
    let none = || vec![paper(8, "Theirs"), task(10, "Theirs", "low")];
    for (cause, present, tail, edits, shown) in [
        (asked(), None, both(), "1 confirmed, 2 confirmed; ", json!([8, "Paint", "low", 10])),
        (gap(), Some(7), both(), "1 confirmed, 2 confirmed; ", json!([8, "Paint", "low", 10])),
        (gap(), None, one(), "2 confirmed; conflict", json!([null, "Paint", "urgent", 10])),
        (asked(), None, none(), "; conflict conflict", json!([null, "Theirs", "high", 10])),
        (gap(), Some(7), none(), "; conflict conflict", json!([null, "Theirs", "high", 10])),
        (restored(Some(5)), Some(7), none(), "; conflict conflict", json!([null, "Theirs", "high", 10])),
    ] {
        let mut scene = accepted_in_a_recovery(&cause, present);
        scene.hear(tail);
        assert_eq!(scene.states(), "sent sent", "{cause:?}");
        let cars = if shown[0].is_null() { &[][..] } else { &[(CAR, 8)] };
        scene.sweeps(Kind::Document, &[(HOME, 8)], 10).sweeps(Kind::Task, &[(TASK, 10)], 10);
        scene.sweeps(Kind::Vehicle, cars, 10).finishes();
        assert_eq!(scene.edits(), edits, "{cause:?}");
        let rows = "SELECT v.rev, title, priority, t.rev FROM vehicles v JOIN tasks t WHERE v.name = 'Car'";
        assert_eq!(scene.row(rows), shown, "{cause:?}");
    }
}

#[test]
fn update_after_a_lost_create_gets_a_new_request() {
    let mut scene = Scene::with_task_at_present();
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car')"));
    scene.accept(1, 6);
    // The server was restored to 5. It answers with 404, and the answer is lost.
    scene.does("UPDATE vehicles SET name = 'Van'");
    scene.send(2);
    scene.answer(2, no_answer());
    scene.hear(paper(6, "Theirs"));
    scene.plan();
    assert_eq!(scene.edits(), "; conflict blocked");
    let key = "SELECT count(*) FROM edits WHERE idempotency_key IS NOT NULL";
    assert_eq!(scene.one(key), "0", "the server would repeat its 404 for the same key");
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
