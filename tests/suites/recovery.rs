//! Replicas that fell out of the feed find back: away longer than the server remembers, cut off in the middle, on a server
//! that was put back or is another one, with a key that may less or nothing. The real programs.

use std::fs;

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, command, wait_until};
use serde_json::{Value, json};

/// Serves it, with a client of its key.
fn serve(home: &mut Home, with: &[&str]) -> (Process, Client) {
    let (process, url) = home.serve(&[&UNLIMITED[..], with].concat());
    (process, Client::new(&url, &home.key))
}

/// Makes so many tasks.
async fn make_tasks(client: &Client, tasks: usize) {
    for from in (0..tasks).step_by(50) {
        let operations: Vec<Value> = (from..tasks.min(from + 50))
            .map(|n| json!({ "method": "create", "title": format!("task {n}"), "notes": "as it was" }))
            .collect();
        assert_eq!(client.post("/v1/tasks/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

/// A served home with so many tasks and a room, and a replica of it that is in step and whose program has ended.
async fn away(tasks: usize) -> (Home, Process, Client, Device) {
    let mut home = Home::new();
    let (server, client) = serve(&mut home, &[]);
    make_tasks(&client, tasks).await;
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await.status, 201);
    let device = home.device("r.db");
    assert_eq!(device.sync(), 0);
    (home, server, client, device)
}

/// The ids of its tasks, oldest first.
async fn tasks(client: &Client) -> Vec<String> {
    let listed = client.walk("/v1/tasks?limit=100&order=asc").await;
    listed.iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

async fn delete(client: &Client, tasks: &[String]) {
    for task in tasks {
        assert_eq!(client.delete(&format!("/v1/tasks/{task}")).await.status, 200);
    }
}

async fn change(client: &Client, path: &str, to: Value) {
    assert_eq!(client.patch(path, &to).await.status, 200);
}

/// Everything here is what the server has, by the replica's own comparison.
fn agrees(device: &Device) {
    let (code, said) = device.said(&["verify"]);
    assert_eq!(code, 0, "{said}");
}

/// How often its journal says something.
fn told(device: &Device, words: &str) -> String {
    device.one(&format!("SELECT count(*) FROM sync_log WHERE text LIKE '%{words}%'"))
}

const TOO_LONG_AWAY: &str = "away longer than the server remembers";

#[tokio::test]
async fn a_gap_is_closed_and_edits_that_waited_are_kept() {
    let (home, _server, client, device) = away(60).await;
    let there = tasks(&client).await;
    device.sql(&format!(
        "INSERT INTO tasks (title) VALUES ('made offline'); UPDATE rooms SET floor = '2';
         UPDATE tasks SET notes = 'mine' WHERE id = '{}'; DELETE FROM tasks WHERE id = '{}'",
        there[0], there[3]
    ));
    delete(&client, &there[..2]).await;
    change(&client, &format!("/v1/tasks/{}", there[2]), json!({ "title": "changed" })).await;
    change(&client, "/v1/property", json!({ "city": "Bern" })).await;
    assert_eq!(client.post("/v1/vehicles", &json!({ "name": "Bicycle" })).await.status, 201);
    home.lab(&["trim"]);

    let _daemon = device.daemon();
    wait_until("what can be confirmed is confirmed", || {
        device.phase() == "live" && device.one("SELECT waiting FROM sync_status") == "0"
    });
    assert_eq!(told(&device, TOO_LONG_AWAY), "1");
    assert_eq!(device.one("SELECT group_concat(state || method || kind) FROM edits"), "conflictupdatetask");
    assert_eq!(device.one("SELECT group_concat(outcome) FROM edit_history"), "confirmed,confirmed,confirmed");
    assert_eq!(device.one("SELECT name || floor FROM rooms"), "Kitchen2");
    assert_eq!(client.walk("/v1/rooms").await[0]["floor"], "2");
    assert_eq!(device.one(&format!("SELECT title FROM tasks WHERE id = '{}'", there[2])), "changed");
    assert_eq!(device.one(&format!("SELECT count(*) FROM tasks WHERE id IN ('{}', '{}')", there[1], there[3])), "0");
    assert_eq!(device.one("SELECT city || (SELECT count(*) FROM vehicles) FROM property"), "Bern1");

    // A person lets go of what is deleted there, and both sides are the same.
    device.does(&["edits", "discard", &device.one("SELECT id FROM edits")]);
    wait_until("it is settled", || device.one("SELECT count(*) FROM edits") == "0");
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "58");
    agrees(&device);
}

#[tokio::test]
async fn a_first_read_that_is_cut_off_goes_on_although_the_server_has_forgotten() {
    let mut home = Home::new();
    let (server, client) = serve(&mut home, &["--faults", "mute=once:120frames", "--faults-on-live"]);
    make_tasks(&client, 200).await;
    let device = home.device("r.db");
    let daemon = device.daemon();
    wait_until("the stream stops short", || device.one("SELECT position FROM sync_status") == "119");
    assert_eq!(device.phase(), "backfilling");
    daemon.kill();
    assert_eq!(device.phase(), "backfilling", "what is not whole does not claim to be");
    // A record that was read, and one that was not.
    let there = tasks(&client).await;
    delete(&client, &[there[5].clone(), there[150].clone()]).await;
    change(&client, &format!("/v1/tasks/{}", there[6]), json!({ "title": "changed" })).await;
    device.sql(&format!("UPDATE tasks SET notes = 'mine' WHERE id = '{}'", there[7]));
    home.lab(&["trim"]);
    server.kill();

    let (_server, _) = serve(&mut home, &[]);
    assert_eq!(device.sync(), 0);
    assert_eq!(told(&device, TOO_LONG_AWAY), "0", "a first read never expires");
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "198");
    assert_eq!(device.one("SELECT group_concat(outcome) FROM edit_history"), "confirmed");
    agrees(&device);
}

#[tokio::test]
async fn a_walk_that_is_killed_goes_on_where_it_was() {
    let (mut home, server, client, device) = away(250).await;
    let there = tasks(&client).await;
    delete(&client, &there[100..110]).await;
    for task in &there[120..125] {
        change(&client, &format!("/v1/tasks/{task}"), json!({ "notes": "changed" })).await;
    }
    device.sql("INSERT INTO rooms (name) VALUES ('made offline')");
    home.lab(&["trim"]);
    server.kill();

    // The changes are listed, a page of ids is walked, and the next never comes.
    let (server, _) = serve(&mut home, &["--faults", "latency=once:3 by=1h route=list_tasks", "--faults-on-live"]);
    let daemon = device.daemon();
    let place = "SELECT step || kind || (cursor IS NOT NULL) FROM _reconcile";
    wait_until("it is in the middle of the walk", || device.one(place) == "idstask1");
    assert_eq!(device.phase(), "reconciling");
    wait_until("edits do not wait for it", || device.one("SELECT state FROM edits") == "sent");
    daemon.kill();
    server.kill();
    let cursor = device.one("SELECT cursor FROM _reconcile");
    assert_eq!(device.phase(), "reconciling", "what is not compared does not claim to be");

    // Were it to begin anew, it would ask for the profile, and for the changes.
    let (_server, _) = serve(&mut home, &["--faults", "503=always route=get_property", "--faults-on-live"]);
    assert_eq!(device.one("SELECT cursor FROM _reconcile"), cursor);
    assert_eq!(device.sync(), 0);
    assert_eq!(told(&device, TOO_LONG_AWAY), "1");
    assert_eq!(device.one("SELECT count(*) FROM tasks WHERE notes = 'changed'"), "5");
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "240");
}

#[tokio::test]
async fn a_recovery_that_is_killed_again_and_again_and_falls_out_again_comes_to_its_end() {
    let (mut home, server, client, device) = away(150).await;
    let there = tasks(&client).await;
    for task in there.iter().skip(1).step_by(10) {
        change(&client, &format!("/v1/tasks/{task}"), json!({ "notes": "changed" })).await;
    }
    delete(&client, &there[..10]).await;
    home.lab(&["trim"]);
    server.kill();

    // Slow enough that most steps are seen.
    let slow = ["--faults", "latency=always by=20ms route=reads", "--faults-on-live"];
    let (_server, client) = serve(&mut home, &slow);
    let place = "SELECT step || coalesce(kind, '') || coalesce(cursor, '') FROM _reconcile";
    let (mut last, mut kills) = (String::new(), 0);
    loop {
        let daemon = device.daemon();
        let (mut now, mut live) = (String::new(), false);
        wait_until("the recovery is further on, or over", || {
            (now, live) = (device.one(place), device.phase() == "live");
            (!now.is_empty() && now != last) || live
        });
        daemon.kill();
        if live {
            break;
        }
        (last, kills) = (now, kills + 1);
        if kills == 4 {
            // The server forgets again what the recovery rests on.
            let more = tasks(&client).await;
            delete(&client, &more[20..25]).await;
            change(&client, &format!("/v1/tasks/{}", more[30]), json!({ "notes": "changed again" })).await;
            home.lab(&["trim"]);
        }
        assert!(kills < 100, "it does not get on: {last}");
    }
    assert!(kills > 4);
    assert_eq!(device.sync(), 0);
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "135");
    assert_eq!(told(&device, TOO_LONG_AWAY), "2");
    agrees(&device);
}

#[tokio::test]
async fn many_deletions_wait_for_a_person() {
    let (home, _server, client, device) = away(150).await;
    delete(&client, &tasks(&client).await[30..]).await;
    home.lab(&["trim"]);
    let daemon = device.daemon();
    device.comes_to("blocked");
    assert_eq!(daemon.terminate().code(), Some(0));

    let _daemon = device.daemon();
    wait_until("it runs again", || !device.one("SELECT daemon_pid FROM sync_status").is_empty());
    device.comes_to("blocked");
    let said = device.said(&["status"]).1;
    assert!(said.contains("120 of 150 tasks") && said.contains("reconcile --accept-deletions"), "{said}");
    assert_eq!(device.one("SELECT (SELECT count(*) FROM tasks) || needs_you FROM sync_status"), "1501");
    assert_eq!(device.said(&["sync", "--until-current"]).0, 5);
    // Everything else goes on.
    client.post("/v1/rooms", &json!({ "name": "Shed" })).await;
    wait_until("the feed is followed", || device.one("SELECT count(*) FROM rooms") == "2");
    device.sql("UPDATE rooms SET floor = '1'");
    wait_until("edits go up", || device.one("SELECT state FROM edits WHERE method = 'update'") == "sent");

    let (code, said) = device.said(&["reconcile", "--accept-deletions"]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "30");
    agrees(&device);
}

#[tokio::test]
async fn what_a_key_may_not_list_is_not_deleted() {
    let (home, _server, client, device) = away(3).await;
    let room = client.walk("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    change(&client, &format!("/v1/rooms/{room}"), json!({ "floor": "3" })).await;
    delete(&client, &tasks(&client).await[..1]).await;
    home.lab(&["trim"]);
    let narrow = "events:read,inventory:read,vehicles:read,documents:read,tasks:read,property:read";
    device.key(&home.new_key("narrow", narrow));
    let _daemon = device.daemon();
    device.comes_to("needs_key");
    let said = device.said(&["status"]).1;
    assert!(said.contains("rooms:read") && said.contains("with another key"), "{said}");
    assert_eq!(device.one("SELECT (SELECT count(*) FROM rooms) || (SELECT count(*) FROM tasks)"), "12");
    assert_eq!(device.said(&["sync"]).0, 4, "scripts learn of it by the exit code");

    device.key(&home.key);
    device.comes_to("live");
    assert_eq!(device.one("SELECT floor FROM rooms"), "3");
    agrees(&device);
}

/// A replica in step; a copy of the server; then changes that the copy does not have.
async fn put_back(by_files: bool) {
    let mut home = Home::new();
    let (server, client) = serve(&mut home, &[]);
    make_tasks(&client, 1).await;
    client.post("/v1/rooms", &json!({ "name": "Kitchen" })).await;
    let device = home.device("r.db");
    let _daemon = device.daemon();
    device.comes_to("live");
    let (data, copy) = (home.path("server"), home.path("copy.db"));
    home.said(&["backup", &copy]);
    device.sql("UPDATE tasks SET priority = 'high'; INSERT INTO vehicles (name) VALUES ('Bicycle'); DELETE FROM rooms");
    client.post("/v1/documents", &json!({ "title": "Theirs" })).await;
    wait_until("all is confirmed", || {
        device.one("SELECT (SELECT count(*) FROM edits) || (SELECT count(*) FROM documents)") == "01"
    });
    assert_eq!(server.terminate().code(), Some(0));
    if by_files {
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(format!("{data}/hearth.db{end}"));
        }
        fs::copy(&copy, format!("{data}/hearth.db")).unwrap();
    } else {
        home.said(&["restore", &copy]);
    }
    let (_server, client) = serve(&mut home, &[]);
    client.post("/v1/documents", &json!({ "title": "New history" })).await;

    wait_until("it follows the new history", || {
        device.phase() == "live" && device.one("SELECT group_concat(title) FROM documents") == "New history"
    });
    assert_eq!(
        device.one("SELECT group_concat(method || kind || state) FROM (SELECT * FROM edits ORDER BY id)"),
        "updatetaskconflict,createvehicleconflict,deleteroomconflict"
    );
    assert_eq!(device.one("SELECT count(*) FROM edits WHERE reason LIKE '%put back to an older copy%'"), "3");
    assert_eq!(device.one("SELECT needs_you FROM sync_status"), "3");
    assert_eq!(device.one("SELECT priority FROM tasks"), "high", "what was done here is still shown here");
    assert_eq!(client.walk("/v1/tasks").await[0]["priority"], "medium");

    let edits = device.json(&["edits"]);
    let edit = |nth: usize| edits[nth]["id"].to_string();
    device.does(&["edits", "retry", &edit(0)]);
    device.does(&["edits", "retry", &edit(1)]);
    device.does(&["edits", "discard", &edit(2)]);
    wait_until("it is decided", || device.one("SELECT count(*) FROM edits") == "0");
    wait_until("the room is back", || device.one("SELECT count(*) FROM rooms") == "1");
    assert_eq!(client.walk("/v1/tasks").await[0]["priority"], "high");
    assert_eq!(client.walk("/v1/vehicles").await[0]["name"], "Bicycle");
    agrees(&device);
}

#[tokio::test]
async fn a_restored_server_is_followed_and_what_it_lost_is_offered_again() {
    put_back(false).await;
}

#[tokio::test]
async fn a_server_put_back_by_its_files_is_followed_too() {
    put_back(true).await;
}

#[tokio::test]
async fn a_rebuild_offers_what_the_server_lost_meanwhile() {
    let (mut home, server, _, device) = away(3).await;
    let copy = home.path("copy.db");
    home.said(&["backup", &copy]);
    device.sql("INSERT INTO vehicles (name) VALUES ('Bicycle')");
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    home.said(&["restore", &copy]);
    let position = device.one("SELECT position FROM sync_status");
    assert_eq!(device.said(&["rebuild"]).0, 6);
    assert_eq!(device.one("SELECT position FROM sync_status"), position, "with nothing to read from, all stays");

    let (_server, client) = serve(&mut home, &[]);
    let (code, said) = device.said(&["rebuild"]);
    assert_eq!(code, 5, "{said}");
    assert_eq!(device.one("SELECT group_concat(method || kind || state) FROM edits"), "createvehicleconflict");
    device.does(&["edits", "retry", &device.one("SELECT id FROM edits")]);
    assert_eq!(device.sync(), 0);
    assert_eq!(client.walk("/v1/vehicles").await[0]["name"], "Bicycle");
    agrees(&device);
}

#[tokio::test]
async fn a_rebuild_asks_before_it_deletes_what_a_server_that_was_put_back_has_lost() {
    let mut home = Home::new();
    let copy = home.path("copy.db");
    home.said(&["backup", &copy]);
    let (server, _) = serve(&mut home, &[]);
    let device = home.device("r.db");
    device.sql(&"INSERT INTO tasks (title) VALUES ('mine');".repeat(60));
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    let (server, _) = serve(&mut home, &[]);
    device.sql("INSERT INTO tasks (title) VALUES ('mine')");
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));
    home.said(&["restore", &copy]);
    let (_server, _) = serve(&mut home, &[]);

    device.does(&["pause"]);
    let (code, said) = device.said(&["rebuild"]);
    assert!(code == 1 && said.contains("next: hearth-replica --db ") && said.trim_end().ends_with(" resume"), "{said}");
    device.does(&["resume"]);
    for _ in 0..2 {
        let (code, said) = device.said(&["rebuild"]);
        assert!(code == 5 && said.contains("--accept-deletions"), "{said}");
        assert_eq!(device.one("SELECT count(*) FROM tasks"), "61");
    }
    assert_eq!(device.said(&["reconcile", "--accept-deletions"]).0, 5);
    assert_eq!(device.one("SELECT count(*) FROM edits WHERE state = 'conflict'"), "61");
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "61", "what is offered again stays visible");
}

#[tokio::test]
async fn another_home_is_refused_and_nothing_is_mixed() {
    let (home, _server, client, device) = away(3).await;
    // A second home on the same server: its key is the only thing that differs.
    home.said(&["team", "create", "Lake house"]);
    let wish = ["key", "create", "--team", "Lake house", "--env", "live", "--quiet"];
    let other = Client::new(client.url(), &home.said(&wish));
    make_tasks(&other, 5).await;
    device.sql("INSERT INTO tasks (title) VALUES ('made offline')");
    device.key(&home.said(&wish));

    let (code, said) = device.said(&["sync"]);
    assert_eq!(code, 5);
    assert!(said.contains("another --profile"), "it says what to type: {said}");
    assert_eq!(device.phase(), "blocked");
    assert_eq!(device.one("SELECT (SELECT count(*) FROM tasks) || (SELECT count(*) FROM edits)"), "41");
    assert_eq!((tasks(&other).await.len(), tasks(&client).await.len()), (5, 3), "nothing went to either");
    let daemon = device.daemon();
    assert_eq!(daemon.ended().code(), Some(5), "no waiting helps");

    device.key(&home.key);
    let daemon = device.daemon();
    device.comes_to("live");
    wait_until("the edit is in", || device.one("SELECT count(*) FROM edits") == "0");
    device.sql("INSERT INTO tasks (title) VALUES ('for home alone')");
    wait_until("it is in", || device.one("SELECT count(*) FROM edits") == "0");
    // The same while it runs: nothing goes to where the other key leads.
    device.key(&home.said(&wish));
    assert_eq!(daemon.ended().code(), Some(5));
    device.key(&home.key);
    assert_eq!(device.sync(), 0);
    assert_eq!((tasks(&other).await.len(), tasks(&client).await.len()), (5, 5));
    agrees(&device);
}

#[tokio::test]
async fn a_revoked_key_loses_nothing_and_another_one_is_taken_up_by_the_running_daemon() {
    let (home, _server, client, device) = away(3).await;
    device.key(&home.new_key("short-lived", "all"));
    let _daemon = device.daemon();
    device.comes_to("live");
    home.said(&["key", "revoke", "short-lived"]);
    device.comes_to("needs_key");
    device.sql("UPDATE tasks SET priority = 'urgent'");
    change(&client, "/v1/property", json!({ "city": "Bern" })).await;
    let (code, said) = device.said(&["sync"]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("with another key"), "{said}");
    assert_eq!(device.one("SELECT count(*) FROM edits WHERE state = 'waiting'"), "3");

    device.key(&home.key);
    assert_eq!(device.sync(), 0, "the daemon has it");
    assert_eq!(client.walk("/v1/tasks").await.iter().filter(|task| task["priority"] == "urgent").count(), 3);
    agrees(&device);
}

#[tokio::test]
async fn a_daemon_with_a_key_of_its_own_is_led_to_where_that_comes_from() {
    let (home, _server, _client, device) = away(1).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("its.key");
    let credentials = directory.path().display().to_string();
    for variable in ["HEARTH_API_KEY", "HEARTH_API_KEY_FILE", "CREDENTIALS_DIRECTORY"] {
        let key = home.new_key(variable, "all");
        fs::write(&file, &key).unwrap();
        fs::write(directory.path().join("hearth-api-key"), &key).unwrap();
        let value = match variable {
            "HEARTH_API_KEY" => key.as_str(),
            "HEARTH_API_KEY_FILE" => file.to_str().unwrap(),
            _ => &credentials,
        };
        let mut command = command("hearth-replica", &["--db", &device.db, "run"]);
        let daemon = Process::foreign(command.env(variable, value));
        device.comes_to("live");
        home.said(&["key", "revoke", variable]);
        device.comes_to("needs_key");
        let next = match variable {
            "HEARTH_API_KEY" => {
                format!("next: start process {} again with another key in HEARTH_API_KEY\n", daemon.id())
            }
            "HEARTH_API_KEY_FILE" => {
                format!("next: put another key into {value}; process {} takes it up at once\n", daemon.id())
            }
            _ => format!("comes from, and start the unit of process {} again\n", daemon.id()),
        };
        for command in [&["status"][..], &["sync"], &["doctor"]] {
            let (_, said) = device.said(command);
            assert!(said.contains(&next), "{command:?}: {said}");
            assert!(!said.contains(&key), "{said}");
        }
        if variable == "HEARTH_API_KEY_FILE" {
            fs::write(&file, &home.key).unwrap();
            assert_eq!(device.sync(), 0, "as it was told");
        }
    }
}

#[tokio::test]
async fn programs_that_stand_still_lose_and_double_nothing() {
    let (mut home, server, client, device) = away(20).await;
    let daemon = device.daemon();
    device.comes_to("live");
    let before = client.walk("/v1/events?limit=1000").await.len();
    server.signal("STOP");
    device.sql("INSERT INTO tasks (title) VALUES ('to a server that stands still'); UPDATE rooms SET floor = '1'");
    wait_until("both are on their way", || device.one("SELECT count(*) FROM edits WHERE attempts > 0") == "2");
    server.signal("CONT");
    wait_until("both are confirmed", || device.one("SELECT count(*) FROM edits") == "0");
    assert_eq!(client.walk("/v1/events?limit=1000").await.len(), before + 2, "each had its effect once");

    // The daemon sleeps, as in a closed laptop, for longer than the server remembers.
    daemon.signal("STOP");
    wait_until("doctor sees it", || {
        let told = device.said(&["doctor"]).1;
        told.contains("has the right to sync but is stopped") && told.contains("next: kill -CONT ")
    });
    device.sql("INSERT INTO vehicles (name) VALUES ('Bicycle')");
    delete(&client, &tasks(&client).await[..5]).await;
    home.lab(&["trim"]);
    server.kill();
    let (_server, client) = serve(&mut home, &[]);
    daemon.signal("CONT");
    wait_until("it is in step again", || device.phase() == "live" && device.one("SELECT count(*) FROM edits") == "0");
    assert_eq!(client.walk("/v1/vehicles").await.len(), 1);
    assert_eq!(device.one("SELECT count(*) FROM tasks"), "16");
    agrees(&device);
}

#[tokio::test]
async fn a_pause_outlives_restarts_and_edits_wait_for_its_end() {
    let (_home, _server, client, device) = away(3).await;
    let daemon = device.daemon();
    device.comes_to("live");
    device.does(&["pause"]);
    device.comes_to("paused");
    device.sql("INSERT INTO tasks (title) VALUES ('later')");
    assert_eq!(daemon.terminate().code(), Some(0));
    let _daemon = device.daemon();
    wait_until("it runs again", || !device.one("SELECT daemon_pid FROM sync_status").is_empty());
    assert_eq!(device.one("SELECT phase || waiting FROM sync_status"), "paused1");
    let (code, said) = device.said(&["sync"]);
    assert!(code == 1 && said.contains("next: hearth-replica --db ") && said.trim_end().ends_with(" resume"), "{said}");
    assert_eq!(tasks(&client).await.len(), 3);
    device.does(&["resume"]);
    wait_until("the edit is confirmed", || device.one("SELECT count(*) FROM edits") == "0");
    assert_eq!(tasks(&client).await.len(), 4);
}

#[tokio::test]
async fn verify_names_what_differs_and_repairs_it() {
    let (_home, _server, _client, device) = away(120).await;
    agrees(&device);
    device.sql(
        "UPDATE _gate SET open = 1, change_count = change_count + 1;
         UPDATE tasks SET notes = 'not so' WHERE title = 'task 7';
         DELETE FROM tasks WHERE title = 'task 8';
         INSERT INTO rooms (id, name, rev) VALUES ('00000000-0000-4000-8000-000000000001', 'Ghost', 2);
         UPDATE _gate SET open = 0, change_count = change_count + 1;",
    );
    let output = device.run(&["--json", "verify"]);
    assert_eq!(output.status.code(), Some(1));
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let differences = told["differences"].as_array().unwrap();
    let mut found: Vec<[&str; 2]> =
        differences.iter().map(|one| ["title", "how"].map(|name| one[name].as_str().unwrap())).collect();
    found.sort_unstable();
    assert_eq!(found, [["Ghost", "extra"], ["task 7", "differs"], ["task 8", "missing"]]);
    let differs = differences.iter().find(|one| one["how"] == "differs").unwrap();
    assert_eq!(differs["fields"], json!([{ "field": "notes", "ours": "not so", "theirs": "as it was" }]));
    let (code, said) = device.said(&["verify", "--repair"]);
    assert_eq!(code, 0, "{said}");
    assert_ne!(device.one("SELECT verified_at FROM sync_status"), "");
    agrees(&device);
    let counts = "SELECT (SELECT count(*) FROM rooms) || (SELECT count(*) FROM tasks) || (SELECT count(*) FROM edits)";
    assert_eq!(device.one(counts), "11200");
}
