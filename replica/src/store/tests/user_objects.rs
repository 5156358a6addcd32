//! Tables, triggers and indexes that people have added to the database.

use super::*;
use crate::store::{outside, trial_write};

#[test]
fn user_table_may_reference_records() {
    let mut scene = Scene::edited("CREATE TABLE notes (task TEXT REFERENCES tasks (id), note TEXT)");
    scene.does("INSERT INTO notes SELECT id, 'two coats' FROM tasks").hear(deleted(6));
    scene.shows("SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM notes)", json!([0, 1]));
}

#[test]
fn replace_is_refused_despite_user_trigger() {
    let mut scene = Scene::new();
    let inbox = "CREATE TRIGGER inbox AFTER INSERT ON tasks BEGIN INSERT OR IGNORE INTO rooms (id, name)
                 VALUES ('0190a3b0-0000-7000-8000-0000000000aa', 'Inbox'); END";
    scene.does(inbox);
    scene.does("CREATE TRIGGER side BEFORE INSERT ON tasks BEGIN INSERT INTO rooms (name) VALUES ('side'); END");
    for renewed in [false, true] {
        if renewed {
            outside::restore(&mut scene.db).unwrap();
        }
        scene.does("INSERT INTO tasks (title) VALUES ('Paint'); INSERT INTO tasks (title) VALUES ('Sand')");
        let refused = scene.sql("INSERT OR REPLACE INTO tasks (id, title) SELECT id, 'Again' FROM tasks LIMIT 1");
        // The conflict clause of a statement also applies inside its triggers.
        assert!(refused.unwrap_err().starts_with("REPLACE is not supported on"));
        scene.does("DROP TRIGGER inbox");
        let refused = scene.sql("INSERT OR REPLACE INTO tasks (id, title) SELECT id, 'Again' FROM tasks LIMIT 1");
        assert!(refused.unwrap_err().starts_with("REPLACE is not supported on tasks"));
        scene.does(inbox);
    }
    assert_eq!(scene.one("SELECT count(*) FROM rooms WHERE name = 'Inbox'"), "1");
}

/// A scene with a person's trigger, which fires before the replica's triggers. After `renew` the replica's triggers are newer and
/// fire first.
fn triggered(trigger: &str, renew: bool) -> Scene {
    let mut scene = Scene::with(task(5, "paint", "low"));
    scene.does(&format!("CREATE TRIGGER own {trigger}"));
    if renew {
        outside::restore(&mut scene.db).unwrap();
    }
    scene
}

#[test]
fn user_trigger_on_insert_is_later_edit() {
    for renew in [false, true] {
        let trigger = "AFTER INSERT ON tasks WHEN NEW.assignee IS NULL BEGIN
             UPDATE tasks SET assignee = 'me', title = upper(NEW.title) WHERE id = NEW.id; END";
        let mut scene = triggered(trigger, renew);
        scene.does("INSERT INTO tasks (title) VALUES ('fence')");
        assert_eq!(scene.one("SELECT method FROM edits ORDER BY id"), "create", "{renew}");
        let groups = scene.ready_groups();
        let request = scene.freeze_groups(&groups, Ask).unwrap();
        assert_eq!(request.verb, "POST");
        let sent: Value = serde_json::from_str(&request.body.unwrap()).unwrap();
        assert_eq!((&sent["title"], &sent["assignee"]), (&json!("FENCE"), &json!("me")), "{renew}");
        assert_eq!(view::search(&scene.db, "fence", 9).unwrap()[0].title, "FENCE", "{renew}");

        let taken_away = "AFTER INSERT ON tasks WHEN NEW.title = 'no' BEGIN DELETE FROM tasks WHERE id = NEW.id; END";
        let mut scene = triggered(taken_away, renew);
        scene.does("INSERT INTO tasks (title) VALUES ('no')");
        let groups = scene.ready_groups();
        assert!(groups.is_empty() || scene.freeze_groups(&groups, Ask).is_none());
        assert_eq!(scene.row("SELECT count(*), (SELECT count(*) FROM tasks) FROM edits"), json!([0, 1]), "{renew}");
        assert!(schema::search::is_complete(&scene.db).unwrap());
    }
}

#[test]
fn user_trigger_on_update_is_later_edit() {
    for renew in [false, true] {
        let trigger = "AFTER UPDATE OF title ON tasks BEGIN
             UPDATE tasks SET title = upper(NEW.title), notes = 'was ' || OLD.title WHERE id = NEW.id; END";
        let mut scene = triggered(trigger, renew);
        scene.does("UPDATE tasks SET title = 'fence'");
        let edits = "SELECT patch, base FROM edits ORDER BY id";
        assert_eq!(
            scene.rows(edits),
            json!([
                [r#"{"title":"fence"}"#, r#"{"title":"paint"}"#],
                [r#"{"title":"FENCE","notes":"was paint"}"#, r#"{"title":"fence","notes":null}"#]
            ]),
            "{renew}"
        );
        assert_eq!(scene.one("SELECT fields ->> 'title' FROM _base"), "paint", "the server's form");
        assert_eq!(view::search(&scene.db, "fence", 9).unwrap()[0].title, "FENCE", "{renew}");
        let groups = scene.ready_groups();
        assert!(scene.freeze_groups(&groups, Ask).is_some(), "nothing stands against it");

        // A REPLACE is refused although the trigger writes to the new row.
        let scene =
            triggered("AFTER INSERT ON tasks BEGIN UPDATE tasks SET notes = 'new' WHERE id = NEW.id; END", renew);
        assert!(scene.sql(&format!("REPLACE INTO tasks (id, title) VALUES ('{TASK}', 'Again')")).is_err());
    }
}

#[test]
fn renew_accepts_oddly_named_user_trigger() {
    let mut scene = Scene::written("CREATE TRIGGER \"_my-\"\"trigger\" AFTER INSERT ON rooms BEGIN SELECT 1; END");
    outside::restore(&mut scene.db).unwrap();
    scene.does("INSERT INTO rooms (name) VALUES ('Hall')");
}

#[test]
fn triggers_that_refuse_only_together_are_named() {
    let mut scene = Scene::written("CREATE TABLE seen (id TEXT)");
    scene.does("CREATE TRIGGER notes_it BEFORE INSERT ON rooms BEGIN INSERT INTO seen VALUES (NEW.id); END");
    scene.does("CREATE TRIGGER harmless AFTER INSERT ON rooms BEGIN SELECT 1; END");
    scene.does(
        "CREATE TRIGGER refuses_it AFTER INSERT ON rooms WHEN EXISTS (SELECT 1 FROM seen)
         BEGIN SELECT RAISE(ABORT, 'seen before'); END",
    );
    let found = trial_write::refusing_triggers(&mut scene.db).unwrap();
    let named: Vec<_> = found.iter().map(|one| (one.trigger.name.as_str(), one.sentence.as_str())).collect();
    assert_eq!(named, [("notes_it", "seen before"), ("refuses_it", "seen before")]);
}

#[test]
fn refusing_user_object_is_named() {
    let lost = "CREATE TRIGGER tells AFTER INSERT ON tasks BEGIN INSERT INTO lost VALUES (1); END";
    let evaluated = "TEXT AS (json_extract(notes, '$.x')) CHECK (x IS NOT 'a')";
    for (own, what, reason) in [
        ("CREATE INDEX nj ON tasks (json_extract(notes, '$.x'))", "the index nj on tasks", "malformed JSON"),
        ("ALTER TABLE tasks ADD COLUMN n INTEGER CHECK (length(title) < 3)", "the column n of tasks", "CHECK"),
        (&format!("ALTER TABLE tasks ADD COLUMN x {evaluated}"), "the column x of tasks", "malformed JSON"),
        (lost, "the trigger tells on tasks", "no such table: main.lost"),
    ] {
        let mut scene = Scene::written(own);
        let refused = gate::sync_tx(&mut scene.db, |tx| {
            tx.execute("INSERT INTO tasks (id, title, notes) VALUES (?1, 'Paint', 'no JSON')", [TASK])?;
            Ok(())
        });
        let sentence = refused.unwrap_err().to_string();
        assert!(sentence.contains(what) && sentence.contains(reason), "{own}: {sentence}");
        let ahead = match own == lost {
            true => schema::user_objects::broken_triggers(&scene.db).unwrap(),
            false => schema::user_objects::refusing_objects(&scene.db)
                .unwrap()
                .into_iter()
                .map(|what| (what, reason.to_owned()))
                .collect(),
        };
        assert_eq!(ahead, [(what.to_owned(), reason.to_owned())]);
    }
    for (event, table) in [("INSERT", "edit_history"), ("UPDATE", "edits"), ("DELETE", "_sync")] {
        let mut scene = Scene::written(&format!(
            "CREATE TRIGGER tells AFTER {event} ON {table} BEGIN INSERT INTO lost VALUES (1); END"
        ));
        let what = format!("the trigger tells on {table}");
        assert_eq!(
            schema::user_objects::broken_triggers(&scene.db).unwrap(),
            [(what.clone(), "no such table: main.lost".to_owned())]
        );
        let write = match event {
            "INSERT" => "INSERT INTO edit_history DEFAULT VALUES",
            "UPDATE" => "UPDATE edits SET reason = reason",
            _ => "DELETE FROM _sync",
        };
        let refused = gate::sync_tx(&mut scene.db, |tx| Ok(tx.execute_batch(write)?)).unwrap_err().to_string();
        assert!(refused.contains(&what) && refused.contains("no such table: main.lost"), "{refused}");
    }
    let scene = Scene::new();
    assert!(schema::user_objects::refusing_objects(&scene.db).unwrap().is_empty());
    assert!(schema::user_objects::broken_triggers(&scene.db).unwrap().is_empty());
}
