//! Commands on records: arguments are checked by the contract's table, and ids may be abbreviated.

use std::process::Command;

use serde_json::json as object;

use super::{as_keeper, empty_replica, json, refusal, refuses, replica, sqlite3, text};

/// A new replica with one room; also returns the id of the room.
fn with_a_room() -> (tempfile::TempDir, std::path::PathBuf, String) {
    let (dir, db) = empty_replica();
    let id = text(&replica(&db, &["add", "room", "name=Kitchen"]).stdout);
    (dir, db, id)
}

#[test]
fn record_commands_add_show_set_remove() {
    let (_dir, db, room) = with_a_room();
    let item =
        json(&db, &["add", "inventory", "name=Kettle", &format!("room_id={}", &room[..8]), "purchase_price=9.5"]);
    assert_eq!((&item["room_id"], &item["purchase_price"]), (&room.clone().into(), &"9.50".into()));
    let id = item["id"].as_str().unwrap();

    let set = json(&db, &["set", &id[..8], "quantity=2", "notes=two\nlines", "purchase_price="]);
    assert_eq!((&set["quantity"], &set["purchase_price"]), (&2.into(), &serde_json::Value::Null));
    let shown = text(&replica(&db, &["show", &id[..8]]).stdout);
    assert!(shown.contains("Kettle  inventory") && shown.contains("Kitchen"), "{shown}");

    let listed = json(&db, &["list", "inventory", "room_id=", "--sort", "name"]);
    assert_eq!(listed, serde_json::json!([]));
    let listed = json(&db, &["list", "inventory", &format!("room_id={}", &room[..8]), "quantity=2"]);
    assert_eq!(listed[0]["id"], id);
    assert_eq!(json(&db, &["search", "ket"])[0]["id"], id);

    let removed = replica(&db, &["remove", id]);
    assert_eq!((removed.status.code(), text(&removed.stdout)), (Some(0), id.to_owned()));
    assert_eq!(refusal(&db, &["show", id]).0, 3);
    assert_eq!(refusal(&db, &["remove", id]).0, 3);
}

#[test]
fn values_are_taken_as_people_write_them() {
    let (_dir, db, room) = with_a_room();
    let typed =
        ["name=Bosch drill", "room_id=kitchen", "purchase_price=129,99", "purchase_date=21.10.2022", "quantity=1,200"];
    let drill = json(&db, &[&["add", "inventory"], &typed[..]].concat());
    let kept =
        object!({ "room_id": room, "purchase_price": "129.99", "purchase_date": "2022-10-21", "quantity": 1200 });
    for (name, value) in kept.as_object().unwrap() {
        assert_eq!(&drill[name], value, "{name}");
    }
    assert_eq!(json(&db, &["show", "bosch DRILL"])["id"], drill["id"]);
    assert_eq!(json(&db, &["list", "inventory", "room_id=Kitchen"])[0]["id"], drill["id"]);
    assert!(replica(&db, &["add", "task", "title=Bosch drill"]).status.success());
    refuses(&db, &["show", "Bosch drill"], 2, &["several records have the name Bosch drill"]);
    refuses(&db, &["set", "Bosch drill x", "quantity=2"], 3, &["no record whose name is Bosch drill x"]);
}

#[test]
fn grouped_thousands_are_refused_with_both_meanings() {
    let (_dir, db, _room) = with_a_room();
    for (kind, name, value, meaning) in [
        ("vehicle", "odometer", "135.000", "135.000 may mean 135 or 135000"),
        ("inventory", "quantity", "1.000", "1.000 may mean 1 or 1000"),
        ("inventory", "purchase_price", "1.299", "1.299 may mean 1299"),
    ] {
        refuses(&db, &["add", kind, "name=Golf", &format!("{name}={value}")], 2, &[meaning]);
    }
    assert_eq!(json(&db, &["add", "inventory", "name=Cup", "quantity=3.0"])["quantity"], 3);
    assert_eq!(json(&db, &["list", "inventory", "quantity=3.0"])[0]["name"], "Cup");
}

#[test]
fn sums_and_areas_have_the_units_of_the_home() {
    let (dir, db, _room) = with_a_room();
    let add = |arguments: &[&str]| json(&db, arguments)["id"].as_str().unwrap().to_owned();
    let hall = add(&["add", "room", "name=Hall", "area_sq_ft=214"]);
    let chairs = add(&["add", "inventory", "name=Chairs", "quantity=8", "current_value=130.50"]);
    let printed = |arguments: &[&str]| text(&replica(&db, arguments).stdout);
    let has_line = |text: &str, begin: &str, end: &str| {
        text.lines().any(|line| line.starts_with(begin) && line.trim_start_matches(begin).trim() == end)
    };
    assert!(has_line(&printed(&["show", &hall]), "area_sq_ft", "214"), "no units are known");
    assert!(has_line(&printed(&["show", &chairs]), "worth", "1044.00"));
    json(&db, &["set", "property", "currency=eur", "unit_system=metric"]);
    assert!(has_line(&printed(&["show", &hall]), "area_sq_ft", "214  19.9 m²"));
    let shown = printed(&["show", &chairs]);
    assert!(has_line(&shown, "worth", "1044.00 EUR") && has_line(&shown, "current_value", "130.50 EUR"), "{shown}");
    let listed = printed(&["list", "inventory", "--sort", "worth"]);
    assert!(listed.contains("worth, EUR") && listed.contains("1044.00"), "{listed}");
    let report = dir.path().join("things.html");
    assert!(replica(&db, &["export", report.to_str().unwrap()]).status.success());
    let report = std::fs::read_to_string(report).unwrap();
    assert!(report.contains(">1,044.00<") && report.contains("All amounts are in EUR"), "{report}");
}

#[test]
fn taken_import_ref_is_refused_by_name() {
    let (_dir, db, _room) = with_a_room();
    json(&db, &["set", "Kitchen", "import_ref=HB-7"]);
    let words = ["the room “Kitchen” has the import_ref HB-7 already"];
    refuses(&db, &["add", "room", "name=Hall", "import_ref=HB-7"], 2, &words);
}

#[test]
fn export_writes_what_the_name_asks_for() {
    let (dir, db, _room) = with_a_room();
    let typed = ["name==Lamp, \"old\"", "room_id=Kitchen", "quantity=3", "current_value=10,50", "serial_number=<A&B>"];
    assert!(replica(&db, &[&["add", "inventory"], &typed[..]].concat()).status.success());
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let export = |name: &str| {
        let output = replica(&db, &["export", &path(name)]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read_to_string(path(name)).unwrap()
    };
    let home: serde_json::Value = serde_json::from_str(&export("home.json")).unwrap();
    assert_eq!(
        (&home["inventory"][0]["current_value"], &home["property"]),
        (&"10.50".into(), &serde_json::Value::Null)
    );
    let csv = export("inventory.csv");
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert!(lines[0].starts_with("id,rev,name,room_id,"), "{csv}");
    assert!(lines[1].contains(",\"'=Lamp, \"\"old\"\"\","), "{csv}");
    let named = replica(&db, &["export", &path("names.csv"), "--names", "--bom"]);
    assert!(named.status.success(), "{}", text(&named.stderr));
    let named = std::fs::read_to_string(path("names.csv")).unwrap();
    assert!(named.starts_with("\u{feff}id,rev,name,room,room_id,"), "{named}");
    assert!(named.contains(",\"'=Lamp, \"\"old\"\"\",Kitchen,"), "{named}");
    assert_eq!(export("rooms.csv").lines().count(), 2, "the file is named after the kind");
    let report = export("home.html");
    assert!(report.contains(">Kitchen</h2>") && report.contains("&#60;A&#38;B&#62;"), "{report}");
    assert!(report.contains(">31.50<") && report.contains("Things of Home"), "{report}");
    let same = replica(&db, &["report", &path("same.html")]);
    assert!(same.status.success(), "{}", text(&same.stderr));
    assert_eq!(std::fs::read_to_string(path("same.html")).unwrap(), report);
    let task = ["add", "task", "title=Leak; urgent", "due_on=2031-02-28"];
    assert!(replica(&db, &task).status.success());
    let calendar = export("home.ics");
    assert!(calendar.contains("DTSTART;VALUE=DATE:20310228\r\nSUMMARY:Leak\\; urgent\r\n"), "{calendar}");
    for wrong in [&["report", &path("things.csv")][..], &["export", &path("home.json"), "--names"]] {
        assert_eq!(refusal(&db, wrong).0, 2, "{wrong:?}");
    }
    let words = ["the name must end with .db, .json, .csv, .html or .ics"];
    refuses(&db, &["export", &path("home.pdf")], 2, &words);
}

#[test]
fn sent_edit_says_what_confirms_it() {
    let (_dir, db, room) = with_a_room();
    let edits = |standing: &str| {
        as_keeper(&db, &format!("UPDATE edits SET state = 'sent'; UPDATE _sync SET backfilled = 1, {standing}"));
        let edits = json(&db, &["edits"])[0]["reason"].as_str().unwrap().to_owned();
        assert_eq!(json(&db, &["why", &room])["edits"][0]["reason"], edits);
        (edits, text(&replica(&db, &["status"]).stdout))
    };
    let question = "60 of 80 tasks are gone on the server; a person must say whether that is right";
    let asks = "INSERT INTO _reconcile (one, cause, tail_position, step, kind, question) VALUES (1, 'gap', 0, 'sweep', 'task',";
    as_keeper(&db, &format!("{asks} '{question}')"));
    let (reason, status) = edits("phase = 'blocked'");
    assert!(reason.starts_with("the server has it; it is confirmed once you have decided"), "{reason}");
    assert!(
        status.contains("Waiting for your decision; 1 edit on the way, confirmed once you have decided."),
        "{status}"
    );
    as_keeper(&db, "DELETE FROM _reconcile");
    let (reason, status) = edits("phase = 'offline', reconcile_requested = 1");
    assert!(reason.contains("when the comparison has ended") && status.contains("when that has ended"), "{reason}");
    let (reason, status) = edits("reconcile_requested = 0");
    assert!(reason.contains("when its event arrives") && !status.contains("confirmed"), "{status}");
}

#[test]
fn wrong_arguments_are_all_named() {
    let (_dir, db, room) = with_a_room();
    for (arguments, code, sentences) in [
        (
            &["add", "task", "title=Sweep", "priorty=high", "due_on=2026-02-30"][..],
            2,
            &["did you mean priority?", "due_on must be a calendar date"][..],
        ),
        (&["add", "task", "priority=high"], 2, &["title is required"]),
        (&["add", "taks", "title=x"], 2, &["'tasks'"]),
        (&["add", "task", "title"], 2, &["field=value"]),
        (&["add", "task", "title=a", "title=b"], 2, &["title is given twice"]),
        (&["add", "room", "name=a", "area_sq_ft=many"], 2, &["area_sq_ft must be an integer"]),
        (&["add", "inventory", "name=a", "quantity=3.5"], 2, &["quantity must be an integer"]),
        (&["add", "inventory", "name=a", "room_id=beef0000"], 3, &["no room with the name or the id beef0000"]),
        (&["add", "task", "title=a", "subject_type=room"], 2, &["subject_id is required"]),
        (&["add", "property", "city=x"], 2, &["`set` creates it", "next: hearth-replica set property "]),
        (&["set", &room, "name="], 2, &["name cannot be null"]),
        (&["set", &room, "rev=3"], 2, &["rev is set by the service"]),
        (&["set", "0000", "name=x"], 3, &["there is no record"]),
        (&["show", "x"], 3, &["there is no record", "hearth-replica search"]),
        (&["remove", "property"], 2, &["cannot be deleted"]),
        (&["list", "rooms", "flor=2"], 2, &["did you mean floor?"]),
        (&["list", "rooms", "--sort", "nam"], 2, &["did you mean name?"]),
    ] {
        refuses(&db, arguments, code, sentences);
    }
    assert_eq!(text(&sqlite3(&db, "SELECT count(*) FROM edits").stdout), "1");
}

#[test]
fn limited_output_says_so() {
    let (_dir, db, _) = with_a_room();
    let rooms = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1005)
                 INSERT INTO rooms (name) SELECT 'Room ' || n FROM n";
    assert!(sqlite3(&db, rooms).status.success());
    for (arguments, printed) in [
        (&["list", "rooms"][..], "1000 of 1006; --limit shows more"),
        (&["list", "rooms", "--json"], "1000 of 1006; --limit shows more"),
        (&["search", "room"], "only the first 20; --limit shows more"),
        (&["search", "room", "--json"], "only the first 20; --limit shows more"),
        (&["search", "room", "--limit", "0"], "only the first 0; --limit shows more"),
        (&["search", "room", "--limit", "1005"], ""),
        (&["list", "rooms", "--limit", "1006", "--json"], ""),
        (&["list", "rooms", "--limit", "0"], "0 of 1006; --limit shows more"),
        (&["list", "rooms", "name=x"], "no rooms match"),
    ] {
        assert_eq!(text(&replica(&db, arguments).stderr), printed, "{arguments:?}");
    }
    assert_eq!(json(&db, &["search", "room"]).as_array().unwrap().len(), 20);
}

#[test]
fn ambiguous_id_lists_candidates() {
    let (_dir, db, _) = with_a_room();
    for last in ["1", "2"] {
        let id = format!("00000000-0000-4000-8000-00000000000{last}");
        assert!(replica(&db, &["add", "task", &format!("id={id}"), "title=Twin"]).status.success());
    }
    refuses(&db, &["show", "0000"], 2, &["000000000001  task  Twin", "000000000002"]);
    let listed = text(&replica(&db, &["list", "tasks"]).stdout);
    assert!(listed.contains("00000000-0000-4000-8000-000000000001"), "a shown id is enough to name it: {listed}");
}

#[test]
fn why_names_source_of_each_value() {
    let (_dir, db, room) = with_a_room();
    assert!(replica(&db, &["set", &room, "floor=2"]).status.success());
    let why = json(&db, &["why", &room]);
    let origin = |name: &str| {
        let fields = why["fields"].as_array().unwrap();
        let field = fields.iter().find(|field| field["field"] == name).unwrap();
        (field["from"].as_str().unwrap().to_owned(), field["edit"].as_i64())
    };
    assert_eq!(origin("name"), ("edit".to_owned(), Some(1)));
    assert_eq!(origin("floor"), ("edit".to_owned(), Some(2)));
    assert_eq!(origin("notes"), ("nobody".to_owned(), None));
    assert_eq!((&why["rev"], why["edits"].as_array().unwrap().len()), (&serde_json::Value::Null, 2));

    assert!(replica(&db, &["remove", &room]).status.success());
    let reported = text(&replica(&db, &["why", &room]).stdout);
    assert!(reported.contains("hidden on this device by edit 3, which deletes it"), "{reported}");
    assert_eq!(refusal(&db, &["why", "dead"]).0, 3);
}

#[test]
fn why_shows_last_values_of_deleted_record() {
    let (_dir, db) = empty_replica();
    let room = "00000000-0000-4000-8000-000000000001";
    let base =
        "INSERT INTO _base (kind, record_id, rev, fields) SELECT 'room', id, rev, json_object('name', name) FROM rooms";
    as_keeper(&db, &format!("INSERT INTO rooms (id, name, rev) VALUES ('{room}', 'Kitchen', 5); {base}"));
    assert!(replica(&db, &["set", room, "floor=2"]).status.success());
    let gone =
        "UPDATE _base SET deleted = 1, rev = 6; UPDATE edits SET state = 'conflict', reason = 'deleted on the server'";
    as_keeper(&db, gone);
    let reported = text(&replica(&db, &["why", room]).stdout);
    assert!(reported.contains("deleted on the server at position 6"), "{reported}");
    let line = |field: &str| reported.lines().find(|line| line.starts_with(field)).unwrap().to_owned();
    assert!(line("name").contains("server, before the record was deleted"), "{reported}");
    assert!(line("floor").contains("edit 1 (conflict)"), "{reported}");
    let why = json(&db, &["why", room]);
    let name = why["fields"].as_array().unwrap().iter().find(|field| field["field"] == "name").unwrap();
    assert_eq!(
        (&name["from"], &name["server"], &why["deleted_at"]),
        (&"server".into(), &serde_json::Value::Null, &6.into())
    );
}

#[test]
fn export_holds_edits_and_no_key() {
    let (dir, db, room) = with_a_room();
    std::fs::write(dir.path().join("replica.db.key"), "svc_test_secret").unwrap();
    let copy = dir.path().join("copy.db");
    let reported = json(&db, &["export", copy.to_str().unwrap()]);
    assert_eq!((&reported["records"], &reported["pending_edits"]), (&1.into(), &1.into()));
    assert_eq!(json(&copy, &["show", &room])["name"], "Kitchen");
    assert!(!String::from_utf8_lossy(&std::fs::read(&copy).unwrap()).contains("svc_test"));
    let mode = std::fs::metadata(&copy).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o600);
    refuses(&db, &["export", copy.to_str().unwrap()], 1, &["exists already"]);
    // A read-only connection can export.
    let seen = hearth_replica::Replica::open_read_only(&db, hearth_replica::Origin::Cli).unwrap();
    assert_eq!(seen.export(&dir.path().join("seen.db")).unwrap().records, 1);
    let printed = refuses(&db, &["export", "/nowhere/at all/copy.db"], 1, &["copy.db cannot be written"]);
    assert!(printed.ends_with("next: ls -ld '/nowhere/at all'"), "{printed}");
}

#[test]
fn duplicates_are_refused() {
    let (_dir, db, room) = with_a_room();
    refuses(&db, &["add", "room", "name=Cellar", &format!("id={room}")], 2, &["exists already"]);
    let query = ["query", "SELECT a.id, b.id FROM rooms a JOIN rooms b"];
    refuses(&db, &[&query[..], &["--json"]].concat(), 2, &["two columns have the name id"]);
    assert!(replica(&db, &[&query[..], &["--csv"]].concat()).status.success());
    // A home has one profile.
    json(&db, &["set", "property", "city=Bern"]);
    let words = ["already has its profile", "next: hearth-replica set property "];
    refuses(&db, &["add", "property", "city=Bern"], 2, &words);
}

#[test]
fn remove_counts_cleared_references() {
    for (has_server, who) in [(false, "references to it are cleared"), (true, "the server clears the references to it")]
    {
        let (_dir, db, room) = with_a_room();
        if has_server {
            super::write_profile(&db, super::UNREACHABLE, "svc_test_x");
        }
        for name in ["name=Kettle", "name=Toaster"] {
            replica(&db, &["add", "inventory", name, &format!("room_id={room}")]);
        }
        let printed = text(&replica(&db, &["remove", &room]).stderr);
        assert!(printed.starts_with(&format!("removed the room Kitchen; {who}: 2 in inventory")), "{printed}");
        let kept = text(&sqlite3(&db, "SELECT count(room_id) FROM inventory").stdout);
        assert_eq!(kept, if has_server { "2" } else { "0" });
    }
}

#[test]
fn completions_and_man_match_arguments() {
    let (dir, db, _) = with_a_room();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = text(&replica(&db, &["completions", shell]).stdout);
        assert!(script.contains("until-pushed"), "{shell}");
        assert!(shell != "fish" || script.contains(r#"drill" -f -a "lost-ack""#), "{script}");
    }
    assert!(text(&replica(&db, &["man"]).stdout).starts_with(".ie"));
    let script = dir.path().join("completions.bash");
    std::fs::write(&script, replica(&db, &["completions", "bash"]).stdout).unwrap();
    let asks = format!(
        "source '{}'; COMP_WORDS=(hearth-replica sync --until-p); COMP_CWORD=2; \
         _hearth__replica hearth-replica --until-p sync; echo \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let completed = Command::new("bash").args(["--norc", "-c", &asks]).output().unwrap();
    assert_eq!(text(&completed.stdout).trim(), "--until-pushed", "{}", text(&completed.stderr));
    let pages = dir.path().join("man");
    assert!(replica(&db, &["man", "--dir", pages.to_str().unwrap()]).status.success());
    assert!(std::fs::read_to_string(pages.join("hearth-replica-sync.1")).unwrap().contains("timeout"));
    // Every page that a page refers to exists.
    let named = text(&replica(&db, &["man"]).stdout).replace('\\', "");
    for page in std::fs::read_dir(&pages).unwrap().map(|page| page.unwrap().path()) {
        let all = std::fs::read_to_string(page).unwrap().replace('\\', "") + &named;
        for name in all.split_whitespace().filter_map(|word| word.strip_suffix("(1)")) {
            assert!(pages.join(format!("{name}.1")).exists(), "{name}(1)");
        }
    }
}

#[test]
fn exported_copy_parks_edits() {
    let (dir, db, room) = with_a_room();
    as_keeper(&db, "UPDATE _sync SET phase = 'new'");
    let copy = dir.path().join("copy.db");
    let made = replica(&db, &["export", copy.to_str().unwrap()]);
    assert!(text(&made.stderr).contains("which waits for you in the copy"), "{}", text(&made.stderr));
    assert_eq!(json(&db, &["edits"])[0]["state"], "waiting", "the original sends it");
    let waits = json(&copy, &["edits"]);
    assert_eq!(waits[0]["state"], "rejected", "{waits}");
    let reason = waits[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("From a copy made at 2") && reason.ends_with("retry sends it."), "{reason}");
    assert_eq!(json(&copy, &["show", &room])["name"], "Kitchen", "it is laid over as before");
    assert!(replica(&copy, &["edits", "retry", &waits[0]["id"].to_string()]).status.success());
    assert_eq!(json(&copy, &["edits"])[0]["state"], "waiting");
}

#[test]
fn remind_prints_what_is_due_and_nothing_else() {
    let (_dir, db, _room) = with_a_room();
    let quiet = replica(&db, &["remind"]);
    assert!(quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty(), "cron would send a mail");
    assert!(replica(&db, &["add", "task", "title=Late", "due_on=2020-01-01"]).status.success());
    assert!(replica(&db, &["add", "vehicle", "name=Car", "insurance_expires_on=2999-01-01"]).status.success());
    let due = replica(&db, &["remind", "--days", "7"]);
    assert!(due.status.success());
    assert_eq!(text(&due.stdout), "Overdue\n  2020-01-01  Late");
    let reminded = json(&db, &["remind", "--days", "65535"]);
    assert_eq!(reminded["reminders"][0]["group"], "overdue");
    assert_eq!((&reminded["left_out"], &reminded["is_cut"]), (&0.into(), &false.into()));
}
