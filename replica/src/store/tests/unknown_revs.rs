//! Records that the server has at an unknown revision, after a server restore and during a rebuild.

use super::*;
use crate::store::salvage;

/// A task of the server whose revision was forgotten, because the server was restored to an unknown state.
fn restored() -> Scene {
    let mut scene = Scene::present(task(5, "Paint", "low"));
    scene.recovers(&ReconcileCause::Restored { resume: Some("r".into()), fork: None });
    assert_eq!(scene.one("SELECT coalesce(rev, 'null') FROM tasks"), "null");
    scene
}

#[test]
fn edit_at_unknown_rev_keeps_base_image() {
    let mut scene = restored();
    scene.does("UPDATE tasks SET title = 'Mine'");
    assert_eq!(scene.one("SELECT coalesce(rev, 'null') || (fields ->> 'title') FROM _base"), "nullPaint");
    assert_eq!(scene.plan(), [0_i64; 0], "the request would have no precondition");
    scene.discard(1).unwrap();
    assert_eq!(scene.one("SELECT title FROM tasks"), "Paint");

    // A record that the server never had has no revision either.
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed'); UPDATE rooms SET name = 'Hut'"));
    assert_eq!(scene.one("SELECT count(*) || (SELECT count(*) FROM edits) FROM _base WHERE kind = 'room'"), "02");
    scene.discard(2).unwrap();
    assert_eq!(scene.one("SELECT count(*) || (SELECT count(*) FROM edits) FROM rooms"), "00");
}

#[test]
fn profile_unset_by_restore_goes_with_its_last_edit() {
    let mut scene = Scene::present(profile(3, "Bern"));
    scene.does("UPDATE property SET city = 'Basel'");
    scene.recovers(&ReconcileCause::Restored { resume: Some("r".into()), fork: Some(0) });
    scene.saves(ReconcileQuery::Property, ReconcileResponse::default(), ReconcileStep::Done);
    scene.finishes_at(0);
    scene.discard(1).unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM property"), "0");
}

#[test]
fn any_version_replaces_unknown_rev() {
    let mut scene = restored();
    scene.hear(task(2, "Older", "low"));
    assert_eq!(scene.one("SELECT title || rev FROM tasks"), "Older2");

    let mut scene = restored();
    scene.does("UPDATE tasks SET priority = 'high'").hear(deleted(2));
    assert_eq!(scene.one("SELECT rev || deleted FROM _base"), "21");
    assert_eq!(scene.states(), "conflict");
}

#[test]
fn rebuild_during_replay_infers_no_creates() {
    let mut scene = Scene::new();
    let db = scene.db_path();
    scene.hear(task(5, "Paint", "low")).does(&format!("INSERT INTO rooms (id, name) VALUES ('{ROOM}', 'Shed')"));
    assert!(salvage::rebuild(&db, at(0)).unwrap().kept_as.is_none(), "a sound database is read again");
    assert_eq!(scene.one("SELECT count(*) FROM tasks WHERE rev IS NULL"), "1");
    scene.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let mut file = std::fs::read(&db).unwrap();
    file[..100].fill(0xff);
    std::fs::write(&db, file).unwrap();
    let report = salvage::rebuild(&db, at(1)).unwrap();
    assert_eq!((report.edits, report.lost.as_slice()), (1, [].as_slice()));
}
