//! The order in which completions and changes of the home's time zone are sent: the zone decides on which day a task was
//! completed.

use super::*;

/// The profile with a time zone, at a revision.
fn profile(id: i64, zone: &str) -> Event {
    event(id, "updated", "property", HOME, json!({ "time_zone": zone, "city": "Bonn" }))
}

/// A scene with a task of a series and a profile.
fn scene() -> Scene {
    Scene::with([profile(4, "Europe/Berlin"), monthly(5, "open")])
}

impl Scene {
    fn sets_zone(&mut self) -> &mut Self {
        self.does("UPDATE property SET time_zone = 'Pacific/Kiritimati'");
        self
    }
}

#[test]
fn completion_waits_for_earlier_zone() {
    let mut scene = scene();
    scene.sets_zone().complete(TASK);
    assert_eq!(scene.ready_groups(), [[1]]);
    scene.confirm(1, profile(6, "Pacific/Kiritimati"));
    assert_eq!(scene.ready_groups(), [[2]]);
}

#[test]
fn zone_waits_for_earlier_completion() {
    let mut scene = scene();
    scene.does("UPDATE property SET city = 'Mainz'").complete(TASK).sets_zone();
    scene.does("UPDATE property SET state = 'Hesse'");
    assert_eq!(scene.ready_groups(), [[1], [2]], "the zone does not go with the earlier change of the profile");
    for (edit, rev, event) in [(1, 6, profile(6, "Europe/Berlin")), (2, 7, monthly(7, "done"))] {
        scene.accept(edit, rev).hear(event);
    }
    assert_eq!(scene.ready_groups(), [[4, 5]]);
}

#[test]
fn completion_is_blocked_by_refused_zone() {
    let mut scene = scene();
    scene.sets_zone().attempt(1, super::rejected()).complete(TASK);
    assert_eq!(scene.ready_groups(), [[0; 0]; 0]);
    assert_eq!(scene.states(), "rejected blocked blocked");
}

#[test]
fn zone_holds_only_completions_of_series() {
    let mut scene = scene();
    scene.does("UPDATE property SET city = 'Mainz'").complete(TASK);
    assert_eq!(scene.ready_groups(), [[1], [2]], "another change of the profile holds nothing");
    let mut scene = self::scene();
    scene.sets_zone();
    scene.does("UPDATE tasks SET title = 'Mine'; INSERT INTO tasks (title, status) VALUES ('Once', 'done')");
    assert_eq!(scene.ready_groups(), [[1], [2], [3]]);
    // A key that may not write the profile may still send completions.
    scene.complete(TASK);
    let ready = plan::plan(&mut scene.db, 64, &[Kind::Property]).unwrap().ready;
    assert_eq!(ready.iter().map(|ready| &ready.edits[..]).collect::<Vec<_>>(), [&[1][..], &[2, 4], &[3]]);
}
