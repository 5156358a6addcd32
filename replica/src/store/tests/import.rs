//! Imports into a real database: all or nothing, second runs, own exports, many rows.

use hearth_contract::schema::Kind;
use hearth_exchange::import::{Counts, Options, read};

use super::Local;
use crate::Origin;
use crate::store::read::view::{RowQuery, Sort};

impl Local {
    /// Imports a text. Gives the counts, and whether anything was applied.
    fn import(&self, text: &str, partial: bool) -> ([usize; 4], bool) {
        let draft = read(text.as_bytes(), &Options::default()).unwrap();
        let imported = self.replica.import(&draft, partial, &mut |_| ()).unwrap();
        let Counts { created, updated, unchanged, failed } = imported.plan.counts();
        ([created, updated, unchanged, failed], imported.applied)
    }

    fn total(&self, kind: Kind) -> usize {
        self.replica.rows(&RowQuery::all(kind, Sort { column: "name", descending: false }, 1)).unwrap().total
    }
}

#[test]
fn refused_row_leaves_nothing_unless_partial() {
    let home = Local::new();
    let text = "name,import_ref,room,quantity\nChair,c-1,Hall,4\nLamp,l-1,Attic,many\n";
    assert_eq!(home.import(text, false), ([2, 0, 0, 1], false));
    assert_eq!((home.total(Kind::Inventory), home.total(Kind::Room)), (0, 0));
    assert_eq!(home.import(text, true), ([2, 0, 0, 1], true));
    assert_eq!((home.total(Kind::Inventory), home.total(Kind::Room)), (1, 1));
}

#[test]
fn second_run_changes_nothing_and_makes_no_edit() {
    let home = Local::new();
    let text = "name,import_ref,room,quantity\nChair,c-1,Hall,4\nLamp,l-1,hall,1\n";
    assert_eq!(home.import(text, false), ([3, 0, 0, 0], true));
    let edits = home.replica.edits().unwrap();
    assert!(edits.len() == 3 && edits.iter().all(|edit| edit.origin == Origin::Cli));
    assert_eq!(home.import(text, false), ([0, 0, 2, 0], true));
    assert_eq!(home.import(&text.replace(",4", ",5"), false), ([0, 1, 1, 0], true));
}

#[test]
fn done_task_of_a_series_comes_back_with_its_next_task() {
    let home = Local::new();
    let tasks = r#"[{"title":"Change filter","status":"done","recurrence":"monthly","due_on":"2026-01-31"}]"#;
    let draft = read(tasks.as_bytes(), &Options { kind: Some(Kind::Task), ..Options::default() }).unwrap();
    assert!(home.replica.import(&draft, false, &mut |_| ()).unwrap().applied);
    let sort = Sort { column: "title", descending: false };
    let rows = home.replica.rows(&RowQuery::all(Kind::Task, sort, 10)).unwrap().rows;
    assert_eq!(rows.len(), 2, "the task and the next one");
    let members = |row: &crate::Row| {
        let mut members = row.fields.clone();
        members.insert("id".to_owned(), row.id.clone().into());
        serde_json::Value::Object(members)
    };
    let export = serde_json::json!({ "tasks": rows.iter().map(members).collect::<Vec<_>>() }).to_string();
    assert_eq!(home.import(&export, false), ([0, 0, 2, 0], true));
    let other = Local::new();
    assert_eq!(other.import(&export, false), ([2, 0, 0, 0], true));
    let total = other.replica.rows(&RowQuery::all(Kind::Task, sort, 10)).unwrap().total;
    assert_eq!(total, 2, "the next task is in the file, so none is made");
}

#[test]
fn ten_thousand_rows_are_imported() {
    let home = Local::new();
    let mut text = "name,import_ref,room,quantity,purchase_price\n".to_owned();
    for row in 0..10_000 {
        text.push_str(&format!("Thing {row},x{row},Room {},{},{}.50\n", row % 20, row % 7, row % 900));
    }
    assert_eq!(home.import(&text, false), ([10_020, 0, 0, 0], true));
    assert_eq!(home.import(&text, false), ([0, 0, 10_000, 0], true));
}
