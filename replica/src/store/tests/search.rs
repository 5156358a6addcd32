//! Who adds to the index of search, and who merges it.

use super::{Scene, task};
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
        gate::edit(&mut scene.db, "tui", |tx| tx.execute(&text, [])).unwrap();
    }
    assert!(pieces(&scene) < 20);
    // Made anew, it is as it was made.
    schema::search::refill(&mut scene.db).unwrap();
    let before = pieces(&scene);
    for _ in 0..50 {
        scene.does("UPDATE tasks SET notes = coalesce(notes, '') || 'x' WHERE title = 'Oil 7'");
    }
    assert_eq!(pieces(&scene), before + 50);
    assert!(schema::search::is_complete(&scene.db).unwrap());
}
