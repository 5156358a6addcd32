//! A second reconcile during or after the first: the results of the first stay, and its leftovers do not.

use super::*;

#[test]
fn second_gap_keeps_edits_seen_in_tail() {
    let mut scene = Scene::with_task_at_present();
    scene.recovers_at(&gap(), 90);
    scene.does(&format!("INSERT INTO vehicles (id, name) VALUES ('{CAR}', 'Car'); UPDATE tasks SET priority = 'high'"));
    scene.accept_each(&[(1, 91), (2, 92)]);
    // Both events came, and others overwrote one record and deleted the other.
    scene.hear([
        with_key(car(91), "key-1"),
        with_key(task(92, "Paint", "high"), "key-2"),
        task(93, "Paint", "low"),
        gone(95, "vehicle", CAR),
    ]);
    scene.recovers_at(&gap(), 200).sweeps(Kind::Vehicle, &[], 200).sweeps(Kind::Task, &[(TASK, 93)], 200).finishes();
    assert_eq!(scene.edits(), "1 confirmed, 2 confirmed; ");
    scene.shows("SELECT priority, (SELECT count(*) FROM vehicles) FROM tasks", json!(["low", 0]));
}

/// The update of a task is confirmed, and the first copy of the restored server lacks the task.
fn gone_and_put_back_again(second: Option<i64>) -> Scene {
    let mut scene = Scene::edited_at_present("UPDATE tasks SET priority = 'high'");
    scene.confirm(1, task(6, "Paint", "high")).recovers(&restored(None)).sweeps(Kind::Task, &[], 9);
    // The right copy is restored before the end of the reconcile.
    scene.recovers(&restored(second));
    scene
}

#[test]
fn record_of_next_copy_has_no_old_base() {
    for second in [None, Some(7)] {
        let mut scene = gone_and_put_back_again(second);
        scene.finds(8, [(Kind::Task, vec![listed_task(6, "Paint", "high")])]);
        assert_eq!((scene.states().as_str(), scene.one("SELECT rev FROM _base").as_str()), ("", "6"));

        // Another change of the record was lost, and is laid over the version of the copy.
        let mut scene = gone_and_put_back_again(second);
        scene.finds(8, [(Kind::Task, vec![listed_task(6, "Other", "low")])]);
        assert_eq!(scene.states(), "conflict");
        scene.shows("SELECT title, priority, rev FROM tasks", json!(["Other", "high", 6]));
    }
    // The copy lacks the record too: the edits are still laid over the last version.
    let mut scene = gone_and_put_back_again(None);
    scene.finds(8, [(Kind::Task, vec![])]);
    scene.shows("SELECT state, title, tasks.priority FROM edits JOIN tasks", json!(["conflict", "Paint", "high"]));
}

#[test]
fn found_then_overwritten_edit_is_not_lost() {
    let mut scene = lost_history();
    scene.recovers(&restored(None));
    ends_with(&mut scene, listed_task(6, "Paint", "high"), shed_on_floor_2(), 9);
    assert_eq!(scene.states(), "conflict", "the car");
    scene.catch_up(task(12, "Paint", "low")).recovers(&restored(Some(12)));
    ends_with(&mut scene, listed_task(12, "Paint", "low"), shed_on_floor_2(), 14);
    assert_eq!(scene.edit_states(), "2 conflict");
}

#[test]
fn record_missing_after_second_restore_is_lost() {
    for cause in [gap(), ReconcileCause::Asked { accepted: true }] {
        let mut scene = lost_history();
        scene.is_at_present(8).recovers_at(&cause, 9);
        // The feed has shown nothing yet: the list is from the copy.
        scene.sweeps(Kind::Vehicle, &[], 9).recovers(&restored(None));
        ends_with(&mut scene, listed_task(6, "Paint", "high"), shed_on_floor_2(), 9);
        assert_eq!(scene.edit_states(), "2 conflict", "{cause:?}");
        assert_eq!(scene.one("SELECT name FROM vehicles"), "Car", "{cause:?}");
    }
}

#[test]
fn delete_in_copy_is_not_offered() {
    // In a gap: the task is known to be deleted by 90.
    let mut scene = deleted_in_gap();
    assert_eq!(scene.outcomes(), "1 confirmed");
    scene.recovers(&restored(Some(50))).finds(60, [(Kind::Task, vec![])]);
    assert_eq!(scene.edits(), "1 confirmed; ");

    // Somebody deleted the task first, and the feed shows it after the response.
    let mut scene = Scene::edited_at_present("DELETE FROM tasks");
    scene.accept(1, 40).hear(deleted(6)).recovers(&restored(Some(20)));
    assert_eq!(scene.edits(), "1 confirmed; ");
}
