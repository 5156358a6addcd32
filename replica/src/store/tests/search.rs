//! Who adds to the index of search, and who merges it.

use serde_json::json;

use super::{Scene, event, task};
use crate::model::Origin;
use crate::store::read::view;
use crate::store::{gate, schema};

/// Pieces of the index that lie side by side; a question goes through all of them.
fn pieces(scene: &Scene) -> u32 {
    scene.one("SELECT count(DISTINCT id >> 37) FROM search_data WHERE id > 10").parse().unwrap()
}

#[test]
fn what_scripts_add_to_search_is_merged_by_the_keeper_alone() {
    let mut scene = Scene::new();
    for id in 0..100 {
        scene.does(&format!("INSERT INTO tasks (title) VALUES ('Paint {id}')"));
        scene.does(&format!("UPDATE tasks SET title = 'Sand {id}' WHERE title = 'Paint {id}'"));
    }
    assert_eq!(pieces(&scene), 200, "whatever version of SQLite a script comes with, it merges nothing");
    scene.hear(vec![task(5, "Paint", "low")]);
    assert!(pieces(&scene) < 20);
    let found = "SELECT count(*) || (SELECT count(*) FROM search WHERE search MATCH 'paint')
                 FROM search WHERE search MATCH 'sand'";
    assert_eq!(scene.one(found), "1001");
    // An editor of ours leaves no more behind than it found.
    for id in 0..100 {
        let text = format!("UPDATE tasks SET title = 'Oil {id}' WHERE title = 'Sand {id}'");
        gate::edit_tx(&mut scene.db, Origin::Tui, |tx| tx.execute(&text, [])).unwrap();
    }
    assert!(pieces(&scene) < 20);
    // Made anew, it is as it was made.
    gate::sync_tx(&mut scene.db, schema::search::refill).unwrap();
    let before = pieces(&scene);
    for _ in 0..50 {
        scene.does("UPDATE tasks SET notes = coalesce(notes, '') || 'x' WHERE title = 'Oil 7'");
    }
    assert_eq!(pieces(&scene), before + 50);
    assert!(schema::search::is_complete(&scene.db).unwrap());
}

#[test]
fn a_script_may_add_more_than_an_index_holds_side_by_side() {
    let mut scene = Scene::new();
    // What syncs have merged takes places too, the more so the larger it is.
    for round in 0..12 {
        let words: Vec<String> = (0..2_000 >> (round / 4)).map(|word| format!("{round}x{word}")).collect();
        let fields = json!({ "title": "Paint", "priority": "low", "status": "open", "notes": words.join(" ") });
        let id = format!("018f0000-0000-7000-8000-{round:012}");
        scene.hear(vec![event(round + 5, "created", "task", &id, fields)]);
    }
    scene.does("BEGIN");
    for id in 0..2_100 {
        scene.does(&format!("INSERT INTO tasks (title) VALUES ('Sand {id}')"));
    }
    scene.does("COMMIT");
    assert_eq!(scene.one("SELECT count(*) FROM search WHERE search MATCH 'sand'"), "2100");
    assert!(pieces(&scene) < schema::search::CRISIS_SEGMENTS);
    assert!(schema::search::is_complete(&scene.db).unwrap());
}

#[test]
fn a_record_is_found_by_its_own_title_in_every_script() {
    let scene = Scene::new();
    for name in ["गाड़ी", "বাড়ি", "ଘୋଡ଼ା", "ရေချိုးခန်း", "ⓐⓑ test", "Öltank", "車庫", "e\u{301}tage"]
    {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
        let found = view::search(&scene.db, name, 9).unwrap();
        assert_eq!(found.iter().map(|hit| hit.title.as_str()).collect::<Vec<_>>(), [name]);
    }
}
