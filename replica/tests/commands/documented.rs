//! The table of JSON members in docs/replica-database.md matches the commands.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::doctor::{good_server, keyed_replica};
use super::{as_keeper, json, replica};

const DOCUMENT: &str = include_str!("../../../docs/replica-database.md");

/// The members in each row of the table, by the row's first cell.
fn documented() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let section = DOCUMENT.split("## What --json writes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[0], cells[2].split('`').skip(1).step_by(2).collect())).collect()
}

/// The member names of an object, or of the first object of an array.
fn members(value: &Value) -> BTreeSet<&str> {
    let one = value.as_array().map_or(value, |all| &all[0]);
    one.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_members_match_document() {
    let server = good_server();
    let (dir, db) = keyed_replica(&server);
    let key = format!("{}.key", db.display());
    let init = json(&db, &["init", "--server", &server, "--key-file", &key]);
    // One edit for each form: in conflict, settled, and open to a decision.
    let room = json(&db, &["add", "room", "name=Hall"]);
    let id = room["id"].as_str().unwrap();
    as_keeper(&db, "UPDATE edits SET state = 'conflict', problem = '{\"type\":\"already_exists\"}'");
    json(&db, &["set", id, "floor=2"]);
    json(&db, &["edits", "discard", "2"]);
    let why = json(&db, &["why", id]);
    let copy = dir.path().join("copy.db");

    let documented = documented();
    let mut reported = BTreeSet::new();
    let mut agree = |row: &'static str, written: &Value| {
        reported.insert(row);
        let mut printed = documented.get(row).unwrap_or_else(|| panic!("nothing is printed of {row}")).clone();
        if row == "`list`" {
            printed.extend(
                hearth_contract::resources::resource(hearth_contract::schema::Kind::Room)
                    .fields
                    .iter()
                    .map(|field| field.name),
            );
        }
        assert_eq!(members(written), printed, "{row}");
    };
    agree("`init`", &init);
    for command in ["status", "pause", "resume"] {
        agree("`status`, `pause`, `resume`, `sync`, `reconcile`", &json(&db, &[command]));
    }
    agree("`files` of `status`", &json(&db, &["status"])["files"]);
    agree("`path`", &json(&db, &["path"]));
    let doctor = replica(&db, &["doctor", "--json"]);
    agree("`doctor`", &serde_json::from_slice(&doctor.stdout).unwrap());
    agree("`list`", &json(&db, &["list", "rooms"]));
    agree("`search`", &json(&db, &["search", "hall"]));
    agree("`why`", &why);
    agree("`fields` of `why`", &why["fields"]);
    agree("`settled` of `why`", &why["settled"]);
    agree("`edits`", &json(&db, &["edits"]));
    agree("`edits --history`", &json(&db, &["edits", "--history"]));
    agree("`conflicts`", &json(&db, &["conflicts"]));
    agree("`export FILE.db`", &json(&db, &["export", copy.to_str().unwrap()]));
    let file = dir.path().join("home.json");
    let receipt = dir.path().join("receipt.txt");
    std::fs::write(&receipt, "a receipt").unwrap();
    agree("`attach`", &json(&db, &["attach", receipt.to_str().unwrap(), "--to", "home"]));
    agree("`files`", &json(&db, &["files"]));
    agree("`files path`", &json(&db, &["files", "path", "receipt"]));
    agree("`files verify`", &json(&db, &["files", "verify"]));
    let capture = json(&db, &["capture", receipt.to_str().unwrap()]);
    agree("`capture`, `captures ID`, `captures discard`, `captures retry`", &capture);
    agree("`accept`", &json(&db, &["accept", capture["id"].as_str().unwrap(), "--set", "name=Lamp"]));
    agree("`export FILE.json`, `.csv`, `.html`, `.ics`, `report`", &json(&db, &["export", file.to_str().unwrap()]));
    let table = dir.path().join("table.csv");
    std::fs::write(&table, "name\nTable\n").unwrap();
    let imported = json(&db, &["import", table.to_str().unwrap(), "--yes"]);
    agree("`import FILE`", &imported);
    agree("`counts` of `import`", &imported["counts"]);
    agree("`rows` of `import`", &imported["rows"]);
    json(&db, &["add", "task", "title=Leak", "due_on=2020-01-01"]);
    let reminded = json(&db, &["remind"]);
    agree("`remind`", &reminded);
    agree("`reminders` of `remind`", &reminded["reminders"]);
    agree("`fields`", &json(&db, &["fields", "task"]));
    agree("`edits change`, `resolve`", &json(&db, &["edits", "change", "1", "name=Hallway"]));
    for (of, same) in [(&why["edits"], json(&db, &["edits"])), (&room, json(&db, &["show", id]))] {
        assert_eq!(members(of), members(&same));
    }
    agree("`remove`", &json(&db, &["remove", id]));
    // All but the last two need a server; `query` has the columns of its statement; a record equals a list entry.
    reported.extend(["`rebuild`", "`verify`", "`differences` of `verify`", "`fields` of `differences`"]);
    reported.extend(["`calendar`", "`calendar list`", "`calendar remove`"]);
    reported.extend(["`query`", "`show`, `add`, `set`", "`captures`", "`restore-to`"]);
    // Only an export of several tables has tables.
    reported.insert("`tables` of `import`");
    assert_eq!(reported, documented.keys().copied().collect());
}
