//! How a next task that only this replica shows ends.

use super::*;

#[test]
fn server_next_replaces_ours_without_a_word() {
    let mut scene = Scene::completed();
    scene.confirm_completion();
    assert_eq!(
        scene.next_task(),
        json!(["Filter", "open", "2026-02-28", "2026-01-31", null]),
        "the event of the next task follows"
    );
    let other =
        json!({ "title": "Theirs", "status": "open", "due_on": "2026-03-31", "recurrence_anchor": "2026-01-31" });
    scene.hear(event(7, "created", "task", &next(), other));
    assert_eq!(scene.next_task(), json!(["Theirs", "open", "2026-03-31", "2026-01-31", 7]));
    assert_eq!(scene.edits(), "1 confirmed, 2 superseded; ");
    assert_eq!(scene.one("SELECT count(*) FROM _outbox WHERE completes IS NOT NULL"), "0");
    assert_eq!(scene.one("SELECT count(*) FROM sync_log WHERE level = 'warning'"), "0");
}

#[test]
fn edits_of_next_wait_and_go_as_updates() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next()));
    scene.does(&format!("UPDATE tasks SET notes = 'x' WHERE id = '{}'", next()));
    assert_eq!(scene.ready_groups(), [[1]]);
    scene.confirm_completion();
    assert_eq!(scene.ready_groups(), [[0; 0]; 0]);
    scene.hear(of_series(7, &next(), "open", "2026-02-28"));
    assert_eq!(scene.next_task(), json!(["Mine", "open", "2026-02-28", "2026-01-31", 7]));
    assert_eq!(scene.ready_groups(), [[3, 4]]);
    let request = scene.send([3, 4]);
    assert_eq!((request.verb.as_str(), request.if_match), ("PATCH", Some(7)));
    assert_eq!(body(&request), json!({ "title": "Mine", "notes": "x" }));
}

#[test]
fn deleted_next_is_deleted_on_server() {
    let mut scene = Scene::completed();
    scene.does(&format!("DELETE FROM tasks WHERE id = '{}'", next()));
    assert_eq!(scene.next_task(), Value::Null);
    scene.confirm_completion().hear(of_series(7, &next(), "open", "2026-02-28"));
    assert_eq!((scene.next_task(), scene.ready_groups()), (Value::Null, vec![vec![3]]));
    assert_eq!(scene.send(3).verb, "DELETE");
}

#[test]
fn next_task_meets_one_of_other_completion() {
    // Somebody else completed the task too. Nothing of our edit is left, and both next tasks are one.
    let mut scene = Scene::completed();
    scene.hear([monthly(6, "done"), of_series(7, &next(), "open", "2026-02-28")]);
    assert_eq!(scene.next_task(), json!(["Filter", "open", "2026-02-28", "2026-01-31", 7]));
    let groups = scene.ready_groups();
    assert!(scene.freeze_groups(&groups, Ask).is_none());
    assert_eq!(scene.outcomes(), "1 merged, 2 superseded");
}

/// The feed passes the place of the next task, the server says that there is nothing more, or a stream has nothing more to send.
#[test]
fn next_that_server_does_not_make_vanishes() {
    let passes: [fn(&mut Scene) -> &mut Scene; 3] =
        [|scene| scene.hear(room(7, "Hall")), |scene| scene.is_at_present(6), |scene| scene.hear(Vec::new())];
    for passes in passes {
        let mut scene = Scene::completed();
        scene.is_at_present(5).confirm_completion();
        assert_eq!(scene.next_task(), json!(["Filter", "open", "2026-02-28", "2026-01-31", null]));
        passes(&mut scene);
        assert_eq!(scene.next_task(), Value::Null);
        assert_eq!(scene.edits(), "1 confirmed, 2 superseded; ");
    }
}

/// Somebody removed the recurrence before the completion arrived. A stream tells nothing more for a minute then.
#[test]
fn next_task_vanishes_with_the_event_of_its_completion_when_the_series_has_ended() {
    let mut scene = Scene::completed();
    scene.is_at_present(5).accept(1, 7);
    let mut done = monthly(7, "done");
    done.payload.as_mut().unwrap().insert("recurrence".into(), Value::Null);
    scene.hear(done);
    assert_eq!((scene.next_task(), scene.states().as_str()), (Value::Null, ""));
    assert_eq!(scene.outcomes(), "1 confirmed, 2 superseded");
}

#[test]
fn edited_next_that_server_does_not_make_is_created() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next())).confirm_completion();
    scene.is_at_present(6);
    assert_eq!(scene.next_task(), json!(["Mine", "open", "2026-02-28", "2026-01-31", null]));
    assert_eq!(scene.ready_groups(), [[2, 3]]);
    let created = body(&scene.send([2, 3]));
    assert_eq!((&created["id"], &created["title"]), (&json!(next()), &json!("Mine")));
    assert!(created.get("recurrence_anchor").is_none() && created.get("completed_at").is_none());
}

#[test]
fn next_that_server_deleted_ends() {
    let mut scene = Scene::completed();
    scene.hear(gone(6, "task", &next()));
    assert_eq!((scene.next_task(), scene.states().as_str()), (Value::Null, "waiting"));
    // An edit of the next task waits for a person, as that of any deleted record.
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next())).hear(gone(6, "task", &next()));
    scene.shows("SELECT state, reason_code FROM edits WHERE id = 3", json!(["conflict", "deleted_there"]));
    assert_eq!(scene.next_task()[0], "Mine", "the row stays");
}

#[test]
fn next_is_blocked_with_its_completion() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next()));
    scene.attempt(1, WriteOutcome::Rejected { reason: "no".to_owned(), problem: json!({ "type": "forbidden" }) });
    assert_eq!((scene.plan(), scene.states().as_str()), (vec![], "rejected blocked blocked"));
    scene.retry(1).unwrap();
    assert_eq!((scene.plan(), scene.states().as_str()), (vec![1], "waiting waiting waiting"));
}

#[test]
fn undone_completion_takes_next_along() {
    let mut scene = Scene::completed();
    let said = scene.undo(None).unwrap().sentence;
    assert_eq!(said, "“Filter”: the change is taken back, with the next task that follows it; it was never sent");
    assert_eq!(scene.column("SELECT status FROM tasks"), json!(["open"]));
    scene.shows(
        "SELECT (SELECT count(*) FROM edits), (SELECT count(*) FROM _outbox WHERE completes IS NOT NULL)",
        json!([0, 0]),
    );
    // Done again, it has a next task again: nobody else ever saw the id.
    scene.undo(Some(1)).unwrap();
    assert_eq!(scene.next_task()[0], "Filter");
}

#[test]
fn edited_next_outlives_discarded_completion() {
    let mut scene = Scene::completed();
    scene.does(&format!("UPDATE tasks SET title = 'Mine' WHERE id = '{}'", next()));
    scene.discard(1).unwrap();
    assert_eq!(scene.next_task(), json!(["Mine", "open", "2026-02-28", "2026-01-31", null]));
    assert_eq!(scene.ready_groups(), [[2, 3]], "a task of its own");
}

#[test]
fn forgotten_completion_still_awaits_its_next_task() {
    let mut scene = Scene::completed();
    scene.is_at_present(5).send(1);
    scene.hear(with_key(monthly(6, "done"), "key-1"));
    assert_eq!(scene.outcomes(), "1 confirmed");
    // The connection broke between two events, and the history forgets the completion before the next task arrives.
    let month_later = at(31 * 24 * 3600 * 1000);
    let next_event = Event { created_at: month_later, ..of_series(7, &next(), "open", "2026-02-28") };
    scene.hear_at(next_event, month_later);
    assert_eq!(scene.outcomes(), "2 superseded");
    assert_eq!((scene.next_task()[4].as_i64(), scene.states().as_str()), (Some(7), ""));
}

#[test]
fn reconcile_settles_next_tasks() {
    for made in [true, false] {
        let mut scene = Scene::completed();
        scene.accept(1, 6);
        let begun = reconcile::begin(&mut scene.db, &ReconcileCause::Gap { resume: "c".to_owned() });
        assert!(begun.unwrap().is_some());
        let mut events = vec![monthly(6, "done")];
        events.extend(made.then(|| of_series(7, &next(), "open", "2026-02-28")));
        scene.hear(events);
        assert_eq!(scene.one("SELECT count(*) FROM _outbox WHERE completes IS NOT NULL"), if made { "0" } else { "1" });
        reconcile::finish(&mut scene.db, at(0)).unwrap();
        let shown = json!(["Filter", "open", "2026-02-28", "2026-01-31", 7]);
        assert_eq!(scene.next_task(), if made { shown } else { Value::Null });
        assert_eq!(scene.states(), "");
    }
}
