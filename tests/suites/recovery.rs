//! Replicas reconcile after lost history: a retention gap, a killed program, a restored server, another home, a weaker
//! or revoked key. Uses the built programs.

use std::fs;

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, command, wait_until};
use serde_json::{Value, json};

/// Starts the server without rate limits, and a client of the live home.
fn serve(home: &Home, options: &[&str]) -> (Process, Client) {
    home.serve(&[&UNLIMITED[..], options].concat())
}

/// Creates this number of tasks.
async fn make_tasks(client: &Client, tasks: usize) {
    for from in (0..tasks).step_by(50) {
        let operations: Vec<Value> = (from..tasks.min(from + 50))
            .map(|n| json!({ "method": "create", "title": format!("task {n}"), "notes": "as it was" }))
            .collect();
        assert_eq!(client.post("/v1/tasks/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

/// A served home with this number of tasks and a room, and a synced replica without a daemon.
async fn away(tasks: usize) -> (Home, Process, Client, Device) {
    let home = Home::new();
    let (server, client) = serve(&home, &[]);
    make_tasks(&client, tasks).await;
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await.status, 201);
    let device = home.create_device("r.db");
    assert_eq!(device.sync(), 0);
    (home, server, client, device)
}

/// The ids of all tasks, oldest first.
async fn tasks(client: &Client) -> Vec<String> {
    let listed = client.list_all("/v1/tasks?limit=100&order=asc").await;
    listed.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

async fn delete(client: &Client, tasks: &[String]) {
    for task in tasks {
        assert_eq!(client.delete(&format!("/v1/tasks/{task}")).await.status, 200);
    }
}

async fn delete_in_bulk(client: &Client, tasks: &[String]) {
    for tasks in tasks.chunks(50) {
        let operations: Vec<Value> = tasks.iter().map(|id| json!({ "method": "delete", "id": id })).collect();
        assert_eq!(client.post("/v1/tasks/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

async fn change(client: &Client, path: &str, to: Value) {
    assert_eq!(client.patch(path, &to).await.status, 200);
}

/// Asserts that `verify` finds no difference between replica and server.
fn agrees(device: &Device) {
    let (code, text) = device.run_text(&["verify"]);
    assert_eq!(code, 0, "{text}");
}

/// The number of log entries of the replica that contain the words.
fn log_entries(device: &Device, words: &str) -> i64 {
    device.count(&format!("sync_log WHERE text LIKE '%{words}%'"))
}

const TOO_LONG_AWAY: &str = "offline for longer than the server keeps history";

#[tokio::test]
async fn gap_is_reconciled_and_edits_kept() {
    let (home, _server, client, device) = away(60).await;
    let there = tasks(&client).await;
    device.execute(&format!(
        "INSERT INTO tasks (title) VALUES ('made offline'); UPDATE rooms SET floor = '2';
         UPDATE tasks SET notes = 'mine' WHERE id = '{}'; DELETE FROM tasks WHERE id = '{}'",
        there[0], there[3]
    ));
    delete(&client, &there[..2]).await;
    change(&client, &format!("/v1/tasks/{}", there[2]), json!({ "title": "changed" })).await;
    change(&client, "/v1/property", json!({ "city": "Bern" })).await;
    assert_eq!(client.post("/v1/vehicles", &json!({ "name": "Bicycle" })).await.status, 201);
    home.run_lab(&["trim"]);

    let _daemon = device.start_daemon();
    wait_until("each edit without a conflict is confirmed", || {
        device.phase() == "live" && device.query_text("SELECT waiting FROM sync_status") == "0"
    });
    assert_eq!(log_entries(&device, TOO_LONG_AWAY), 1);
    assert_eq!(device.query_rows("SELECT method, kind, state FROM edits"), [["update", "task", "conflict"]]);
    assert_eq!(device.query_rows("SELECT outcome FROM edit_history"), [["confirmed"]; 3]);
    assert_eq!(device.query_rows("SELECT name, floor FROM rooms"), [["Kitchen", "2"]]);
    assert_eq!(client.list_all("/v1/rooms").await[0]["floor"], "2");
    assert_eq!(device.query_text(&format!("SELECT title FROM tasks WHERE id = '{}'", there[2])), "changed");
    assert_eq!(device.count(&format!("tasks WHERE id IN ('{}', '{}')", there[1], there[3])), 0);
    assert_eq!((device.query_text("SELECT city FROM property").as_str(), device.count("vehicles")), ("Bern", 1));

    // After the person discards the edit of the deleted task, replica and server agree.
    device.run_ok(&["edits", "discard", &device.query_text("SELECT id FROM edits")]);
    wait_until("the discarded edit is gone", || device.count("edits") == 0);
    assert_eq!(device.count("tasks"), 58);
    agrees(&device);
}

#[tokio::test]
async fn interrupted_backfill_resumes_after_compaction() {
    let home = Home::new();
    let (server, client) = serve(&home, &["--faults", "mute=once:120frames", "--faults-on-live"]);
    make_tasks(&client, 200).await;
    let device = home.create_device("r.db");
    let daemon = device.start_daemon();
    wait_until("the stream stops short", || device.query_text("SELECT position FROM sync_status") == "119");
    assert_eq!(device.phase(), "backfilling");
    daemon.kill();
    assert_eq!(device.phase(), "backfilling", "what is not whole does not claim to be");
    // A record that the backfill has read, and a record still to be read.
    let there = tasks(&client).await;
    delete(&client, &[there[5].clone(), there[150].clone()]).await;
    change(&client, &format!("/v1/tasks/{}", there[6]), json!({ "title": "changed" })).await;
    device.execute(&format!("UPDATE tasks SET notes = 'mine' WHERE id = '{}'", there[7]));
    home.run_lab(&["trim"]);
    server.kill();

    let (_server, _) = serve(&home, &[]);
    assert_eq!(device.sync(), 0);
    assert_eq!(log_entries(&device, TOO_LONG_AWAY), 0, "a first read never expires");
    assert_eq!(device.count("tasks"), 198);
    assert_eq!(device.query_rows("SELECT outcome FROM edit_history"), [["confirmed"]]);
    agrees(&device);
}

#[tokio::test]
async fn killed_reconcile_resumes_where_it_was() {
    let (home, server, client, device) = away(250).await;
    let there = tasks(&client).await;
    delete(&client, &there[100..110]).await;
    for task in &there[110..230] {
        change(&client, &format!("/v1/tasks/{task}"), json!({ "notes": "changed" })).await;
    }
    device.execute("INSERT INTO rooms (name) VALUES ('made offline')");
    home.run_lab(&["trim"]);
    server.kill();

    // The first page of changes arrives; the next page never does.
    let (server, _) = serve(&home, &["--faults", "latency=once:2 by=1h route=list_tasks", "--faults-on-live"]);
    let daemon = device.start_daemon();
    let progress = "SELECT step, kind, cursor IS NOT NULL FROM _reconcile";
    wait_until("a page is listed", || device.query_rows(progress) == [["changes", "task", "1"]]);
    assert_eq!(device.phase(), "reconciling");
    wait_until("edits are sent during the reconcile", || device.query_text("SELECT state FROM edits") == "sent");
    daemon.kill();
    server.kill();
    let cursor = device.query_text("SELECT cursor FROM _reconcile");
    assert_eq!(device.phase(), "reconciling", "what is not compared does not claim to be");

    // A reconcile that started again would request the profile, which the fault refuses.
    let (_server, _) = serve(&home, &["--faults", "503=always route=get_property", "--faults-on-live"]);
    assert_eq!(device.query_text("SELECT cursor FROM _reconcile"), cursor);
    assert_eq!(device.sync(), 0);
    assert_eq!(log_entries(&device, TOO_LONG_AWAY), 1);
    assert_eq!(device.count("tasks WHERE notes = 'changed'"), 120);
    assert_eq!(device.count("tasks"), 240);
}

#[tokio::test]
async fn repeatedly_killed_reconcile_completes() {
    let (home, server, client, device) = away(150).await;
    let there = tasks(&client).await;
    for task in there.iter().skip(1).step_by(10) {
        change(&client, &format!("/v1/tasks/{task}"), json!({ "notes": "changed" })).await;
    }
    delete(&client, &there[..10]).await;
    home.run_lab(&["trim"]);
    server.kill();

    // The delay lets the test see most steps.
    let slow = ["--faults", "latency=always by=20ms route=reads", "--faults-on-live"];
    let (_server, client) = serve(&home, &slow);
    let progress = "SELECT step, kind, cursor FROM _reconcile WHERE step IS NOT NULL";
    let (mut last, mut kills) = (Vec::new(), 0);
    loop {
        let daemon = device.start_daemon();
        let (mut now, mut live) = (Vec::new(), false);
        wait_until("the reconcile makes progress or ends", || {
            (now, live) = (device.query_rows(progress), device.phase() == "live");
            (!now.is_empty() && now != last) || live
        });
        daemon.kill();
        if live {
            break;
        }
        (last, kills) = (now, kills + 1);
        if kills == 4 {
            // The server compacts again, beyond the position of the reconcile.
            let more = tasks(&client).await;
            delete(&client, &more[20..25]).await;
            change(&client, &format!("/v1/tasks/{}", more[30]), json!({ "notes": "changed again" })).await;
            home.run_lab(&["trim"]);
        }
        assert!(kills < 100, "the reconcile makes no progress: {last:?}");
    }
    assert!(kills > 4);
    assert_eq!(device.sync(), 0);
    assert_eq!(device.count("tasks"), 135);
    assert_eq!(log_entries(&device, TOO_LONG_AWAY), 2);
    agrees(&device);
}

#[tokio::test]
async fn mass_delete_waits_for_person() {
    let (home, _server, client, device) = away(620).await;
    delete_in_bulk(&client, &tasks(&client).await[20..]).await;
    home.run_lab(&["trim"]);
    let daemon = device.start_daemon();
    device.wait_for_phase("blocked");
    assert_eq!(daemon.terminate().code(), Some(0));

    let _daemon = device.start_daemon();
    wait_until("the daemon runs again", || !device.query_text("SELECT daemon_pid FROM sync_status").is_empty());
    device.wait_for_phase("blocked");
    let text = device.run_text(&["status"]).1;
    assert!(text.contains("600 of 620 tasks") && text.contains("reconcile --accept-deletions"), "{text}");
    assert_eq!((device.count("tasks"), device.query_text("SELECT needs_you FROM sync_status").as_str()), (620, "1"));
    assert_eq!(device.run_text(&["sync", "--until-current"]).0, 5);
    // Sync continues in both directions.
    client.post("/v1/rooms", &json!({ "name": "Shed" })).await;
    wait_until("the feed is followed", || device.count("rooms") == 2);
    device.execute("UPDATE rooms SET floor = '1'");
    wait_until("edits go up", || device.query_text("SELECT state FROM edits WHERE method = 'update'") == "sent");

    let (code, text) = device.run_text(&["reconcile", "--accept-deletions"]);
    assert_eq!(code, 0, "{text}");
    assert_eq!(device.count("tasks"), 20);
    agrees(&device);
}

#[tokio::test]
async fn unlistable_records_are_not_deleted() {
    let (home, _server, client, device) = away(3).await;
    let room = client.list_all("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    change(&client, &format!("/v1/rooms/{room}"), json!({ "floor": "3" })).await;
    delete(&client, &tasks(&client).await[..1]).await;
    home.run_lab(&["trim"]);
    let narrow = "events:read,inventory:read,vehicles:read,documents:read,tasks:read,property:read";
    device.set_key(&home.create_key("narrow", narrow));
    let _daemon = device.start_daemon();
    device.wait_for_phase("needs_key");
    let text = device.run_text(&["status"]).1;
    assert!(text.contains("rooms:read") && text.contains("with another key"), "{text}");
    // The list of deletions is read after all other lists.
    assert_eq!((device.count("rooms"), device.count("tasks")), (1, 3));
    assert_eq!(device.run_text(&["sync"]).0, 4, "scripts learn of it by the exit code");

    device.set_key(&home.key);
    device.wait_for_phase("live");
    assert_eq!(device.query_text("SELECT floor FROM rooms"), "3");
    agrees(&device);
}

/// Restores the server to a backup that lacks the replica's last edits, by command or by copied files.
/// The replica must follow the new history and offer the lost edits again.
async fn check_restored_server(by_files: bool) {
    let home = Home::new();
    let (server, client) = serve(&home, &[]);
    make_tasks(&client, 1).await;
    client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await;
    let device = home.create_device("r.db");
    let _daemon = device.start_daemon();
    device.wait_for_phase("live");
    let (data, copy) = (home.path("server"), home.path("copy.db"));
    home.stdout(&["backup", &copy]);
    device.execute(
        "UPDATE tasks SET priority = 'high'; INSERT INTO vehicles (name) VALUES ('Bicycle'); DELETE FROM rooms",
    );
    client.post("/v1/documents", &json!({ "title": "Theirs" })).await;
    wait_until("each edit is confirmed", || (device.count("edits"), device.count("documents")) == (0, 1));
    assert_eq!(server.terminate().code(), Some(0));
    if by_files {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{data}/hearth.db{end}"));
        }
        fs::copy(&copy, format!("{data}/hearth.db")).unwrap();
    } else {
        home.stdout(&["restore", &copy]);
    }
    let (_server, client) = serve(&home, &[]);
    client.post("/v1/documents", &json!({ "title": "New history" })).await;

    wait_until("the replica follows the new history", || {
        device.phase() == "live" && device.query_rows("SELECT title FROM documents") == [["New history"]]
    });
    assert_eq!(
        device.query_rows("SELECT method, kind, state FROM edits ORDER BY id"),
        [["update", "task", "conflict"], ["create", "vehicle", "conflict"], ["delete", "room", "conflict"]]
    );
    assert_eq!(device.count("edits WHERE reason LIKE '%put back to an older copy%'"), 3);
    assert_eq!(device.query_text("SELECT needs_you FROM sync_status"), "3");
    assert_eq!(device.query_text("SELECT priority FROM tasks"), "high", "what was done here is still shown here");
    assert_eq!(client.list_all("/v1/tasks").await[0]["priority"], "medium");

    let edits = device.json(&["edits"]);
    let edit = |nth: usize| edits[nth]["id"].to_string();
    device.run_ok(&["edits", "retry", &edit(0)]);
    device.run_ok(&["edits", "retry", &edit(1)]);
    device.run_ok(&["edits", "discard", &edit(2)]);
    wait_until("the decisions are applied", || device.count("edits") == 0);
    wait_until("the room is back", || device.count("rooms") == 1);
    assert_eq!(client.list_all("/v1/tasks").await[0]["priority"], "high");
    assert_eq!(client.list_all("/v1/vehicles").await[0]["name"], "Bicycle");
    agrees(&device);
}

#[tokio::test]
async fn restored_server_gets_lost_edits_offered() {
    check_restored_server(false).await;
}

#[tokio::test]
async fn server_restored_by_files_is_followed() {
    check_restored_server(true).await;
}

#[tokio::test]
async fn rebuild_offers_edits_the_server_lost() {
    let (home, server, _, device) = away(3).await;
    let copy = home.path("copy.db");
    home.stdout(&["backup", &copy]);
    device.execute("INSERT INTO vehicles (name) VALUES ('Bicycle')");
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    home.stdout(&["restore", &copy]);
    let position = device.query_text("SELECT position FROM sync_status");
    assert_eq!(device.run_text(&["rebuild"]).0, 6);
    assert_eq!(device.query_text("SELECT position FROM sync_status"), position, "with nothing to read from, all stays");

    let (_server, client) = serve(&home, &[]);
    let (code, text) = device.run_text(&["rebuild"]);
    assert_eq!(code, 5, "{text}");
    assert_eq!(device.query_rows("SELECT method, kind, state FROM edits"), [["create", "vehicle", "conflict"]]);
    device.run_ok(&["edits", "retry", &device.query_text("SELECT id FROM edits")]);
    assert_eq!(device.sync(), 0);
    assert_eq!(client.list_all("/v1/vehicles").await[0]["name"], "Bicycle");
    agrees(&device);
}

#[tokio::test]
async fn rebuild_asks_before_mass_delete() {
    let home = Home::new();
    let copy = home.path("copy.db");
    home.stdout(&["backup", &copy]);
    let (server, _) = serve(&home, &[]);
    let device = home.create_device("r.db");
    device.execute(&"INSERT INTO tasks (title) VALUES ('mine');".repeat(60));
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    let (server, _) = serve(&home, &[]);
    device.execute("INSERT INTO tasks (title) VALUES ('mine')");
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    home.stdout(&["restore", &copy]);
    let (_server, _) = serve(&home, &[]);

    device.run_ok(&["pause"]);
    let (code, text) = device.run_text(&["rebuild"]);
    assert!(code == 1 && text.contains("next: hearth-replica --db ") && text.trim_end().ends_with(" resume"), "{text}");
    assert_eq!(device.count("tasks WHERE rev IS NULL"), 0, "nothing has begun");
    device.run_ok(&["resume"]);
    for _ in 0..2 {
        let (code, text) = device.run_text(&["rebuild"]);
        assert!(code == 5 && text.contains("--accept-deletions"), "{text}");
        assert_eq!(device.count("tasks"), 61);
    }
    assert_eq!(device.run_text(&["reconcile", "--accept-deletions"]).0, 5);
    assert_eq!(device.count("edits WHERE state = 'conflict'"), 61);
    assert_eq!(device.count("tasks"), 61, "what is offered again stays visible");
}

#[tokio::test]
async fn other_home_is_refused_and_never_mixed() {
    let (home, _server, client, device) = away(3).await;
    // A second home on the same server; only the key differs.
    home.stdout(&["team", "create", "Lake house"]);
    let wish = ["key", "create", "--team", "Lake house", "--env", "live", "--quiet"];
    let other = Client::new(client.url(), &home.stdout(&wish));
    make_tasks(&other, 5).await;
    device.execute("INSERT INTO tasks (title) VALUES ('made offline')");
    device.set_key(&home.stdout(&wish));

    let (code, text) = device.run_text(&["sync"]);
    assert_eq!(code, 5);
    assert!(text.contains("another --profile"), "it says what to type: {text}");
    assert_eq!(device.phase(), "blocked");
    assert_eq!((device.count("tasks"), device.count("edits")), (4, 1));
    assert_eq!((tasks(&other).await.len(), tasks(&client).await.len()), (5, 3), "nothing went to either");
    let daemon = device.start_daemon();
    assert_eq!(daemon.wait_for_exit().code(), Some(5), "no waiting helps");

    device.set_key(&home.key);
    let daemon = device.start_daemon();
    device.wait_for_phase("live");
    wait_until("the first edit is confirmed", || device.count("edits") == 0);
    device.execute("INSERT INTO tasks (title) VALUES ('for home alone')");
    wait_until("the second edit is confirmed", || device.count("edits") == 0);
    // The running daemon must refuse the other home's key, too.
    device.set_key(&home.stdout(&wish));
    assert_eq!(daemon.wait_for_exit().code(), Some(5));
    device.set_key(&home.key);
    assert_eq!(device.sync(), 0);
    assert_eq!((tasks(&other).await.len(), tasks(&client).await.len()), (5, 5));
    agrees(&device);
}

#[tokio::test]
async fn running_daemon_takes_replaced_key() {
    let (home, _server, client, device) = away(3).await;
    device.set_key(&home.create_key("short-lived", "all"));
    let _daemon = device.start_daemon();
    device.wait_for_phase("live");
    home.stdout(&["key", "revoke", "short-lived"]);
    device.wait_for_phase("needs_key");
    device.execute("UPDATE tasks SET priority = 'urgent'");
    change(&client, "/v1/property", json!({ "city": "Bern" })).await;
    let (code, text) = device.run_text(&["sync"]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("with another key"), "{text}");
    assert_eq!(device.count("edits WHERE state = 'waiting'"), 3);

    device.set_key(&home.key);
    assert_eq!(device.sync(), 0, "the daemon has it");
    assert_eq!(client.list_all("/v1/tasks").await.iter().filter(|task| task["priority"] == "urgent").count(), 3);
    agrees(&device);
}

#[tokio::test]
async fn refused_key_hint_names_its_source() {
    let (home, _server, _client, device) = away(1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("its.key");
    let credentials = directory.path().display().to_string();
    for variable in ["HEARTH_API_KEY", "HEARTH_API_KEY_FILE", "CREDENTIALS_DIRECTORY"] {
        let key = home.create_key(variable, "all");
        fs::write(&file, &key).unwrap();
        fs::write(directory.path().join("hearth-api-key"), &key).unwrap();
        let value = match variable {
            "HEARTH_API_KEY" => key.as_str(),
            "HEARTH_API_KEY_FILE" => file.to_str().unwrap(),
            _ => &credentials,
        };
        let mut command = command("hearth-replica", &["--db", &device.db, "run"]);
        let daemon = Process::start_other(command.env(variable, value));
        device.wait_for_phase("live");
        home.stdout(&["key", "revoke", variable]);
        device.wait_for_phase("needs_key");
        let next = match variable {
            "HEARTH_API_KEY" => {
                format!("next: start process {} again with another key in HEARTH_API_KEY\n", daemon.id())
            }
            "HEARTH_API_KEY_FILE" => {
                format!("next: put another key into {value}; process {} uses it at once\n", daemon.id())
            }
            _ => format!("comes from, and start the unit of process {} again\n", daemon.id()),
        };
        for command in [&["status"][..], &["sync"], &["doctor"]] {
            let (_, text) = device.run_text(command);
            assert!(text.contains(&next), "{command:?}: {text}");
            assert!(!text.contains(&key), "{text}");
        }
        if variable == "HEARTH_API_KEY_FILE" {
            fs::write(&file, &home.key).unwrap();
            assert_eq!(device.sync(), 0, "the daemon has read the new key from the file");
        }
    }
}

#[tokio::test]
async fn suspended_programs_lose_and_double_nothing() {
    let (home, server, client, device) = away(20).await;
    let daemon = device.start_daemon();
    device.wait_for_phase("live");
    let before = client.list_all("/v1/events?limit=1000").await.len();
    server.signal("STOP");
    device.execute("INSERT INTO tasks (title) VALUES ('to a server that stands still'); UPDATE rooms SET floor = '1'");
    wait_until("both are on their way", || device.count("edits WHERE attempts > 0") == 2);
    server.signal("CONT");
    wait_until("both are confirmed", || device.count("edits") == 0);
    assert_eq!(client.list_all("/v1/events?limit=1000").await.len(), before + 2, "each had its effect once");

    // Suspend the daemon beyond the server's retention, as a closed laptop does.
    daemon.signal("STOP");
    wait_until("doctor reports the stopped process", || {
        let report = device.run_text(&["doctor"]).1;
        report.contains("holds the sync lock but is stopped") && report.contains("next: kill -CONT ")
    });
    device.execute("INSERT INTO vehicles (name) VALUES ('Bicycle')");
    delete(&client, &tasks(&client).await[..5]).await;
    home.run_lab(&["trim"]);
    server.kill();
    let (_server, client) = serve(&home, &[]);
    daemon.signal("CONT");
    wait_until("the replica is live again", || device.phase() == "live" && device.count("edits") == 0);
    assert_eq!(client.list_all("/v1/vehicles").await.len(), 1);
    assert_eq!(device.count("tasks"), 16);
    agrees(&device);
}

#[tokio::test]
async fn pause_survives_restart_and_holds_edits() {
    let (_home, _server, client, device) = away(3).await;
    let daemon = device.start_daemon();
    device.wait_for_phase("live");
    device.run_ok(&["pause"]);
    device.wait_for_phase("paused");
    device.execute("INSERT INTO tasks (title) VALUES ('later')");
    assert_eq!(daemon.terminate().code(), Some(0));
    let _daemon = device.start_daemon();
    wait_until("the daemon runs again", || !device.query_text("SELECT daemon_pid FROM sync_status").is_empty());
    assert_eq!(device.query_row("SELECT phase, waiting FROM sync_status"), ["paused", "1"]);
    let (code, text) = device.run_text(&["sync"]);
    assert!(code == 1 && text.contains("next: hearth-replica --db ") && text.trim_end().ends_with(" resume"), "{text}");
    assert_eq!(tasks(&client).await.len(), 3);
    device.run_ok(&["resume"]);
    wait_until("the edit is confirmed", || device.count("edits") == 0);
    assert_eq!(tasks(&client).await.len(), 4);
}

#[tokio::test]
async fn verify_reports_and_repairs_differences() {
    let (_home, _server, _client, device) = away(120).await;
    agrees(&device);
    device.execute(
        "UPDATE _gate SET open = 1, change_count = change_count + 1;
         UPDATE tasks SET notes = 'not so' WHERE title = 'task 7';
         DELETE FROM tasks WHERE title = 'task 8';
         INSERT INTO rooms (id, name, rev) VALUES ('00000000-0000-4000-8000-000000000001', 'Ghost', 2);
         UPDATE _gate SET open = 0, change_count = change_count + 1;",
    );
    let output = device.run(&["--json", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let differences = report["differences"].as_array().unwrap();
    let mut found: Vec<[&str; 2]> =
        differences.iter().map(|one| ["title", "how"].map(|name| one[name].as_str().unwrap())).collect();
    found.sort_unstable();
    assert_eq!(found, [["Ghost", "extra"], ["task 7", "differs"], ["task 8", "missing"]]);
    let differs = differences.iter().find(|one| one["how"] == "differs").unwrap();
    assert_eq!(differs["fields"], json!([{ "field": "notes", "ours": "not so", "theirs": "as it was" }]));
    let (code, text) = device.run_text(&["verify", "--repair"]);
    assert_eq!(code, 0, "{text}");
    assert_ne!(device.query_text("SELECT verified_at FROM sync_status"), "");
    agrees(&device);
    assert_eq!((device.count("rooms"), device.count("tasks"), device.count("edits")), (1, 120, 0));
}

/// A later program need not look through a database that a sync has left in order. Only the note beside it says so.
#[tokio::test]
async fn each_single_sync_notes_its_look() {
    let (_home, _server, _client, device) = away(60).await;
    for _ in 0..5 {
        let note = fs::read_to_string(format!("{}.marks", device.db)).unwrap();
        assert_eq!(note.lines().filter(|line| line.starts_with("end ")).count(), 1, "{note}");
        assert_eq!(device.sync(), 0);
    }
}
