//! Local edits against the real server, with the built programs and plain SQL: conflicts, rejected edits, undo, and
//! exactly one effect of each edit.

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::wait_until;
use serde_json::{Value, json};
use uuid::Uuid;

/// Two synced devices with one task.
fn two_with_a_task(home: &Home) -> (Device, Device) {
    let (first, second) = (home.synced_device("first.db"), home.synced_device("second.db"));
    first.execute("INSERT INTO tasks (title, priority) VALUES ('Paint', 'low')");
    assert_eq!((first.sync(), second.sync()), (0, 0));
    (first, second)
}

async fn task(client: &Client) -> Value {
    client.list_all("/v1/tasks").await[0].clone()
}

#[tokio::test]
async fn same_field_conflict_waits_for_decision() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    first.execute("UPDATE tasks SET title = 'Mine', notes = 'A note'");
    second.execute("UPDATE tasks SET title = 'Theirs', assignee = 'Bo'");
    assert_eq!((second.sync(), first.sync()), (0, 5), "it needs a decision");
    let conflicts = first.json(&["conflicts"]);
    let seen = ["field", "base", "mine", "theirs", "theirs_by"].map(|name| conflicts[0][name].clone());
    assert_eq!(seen, ["title", "Paint", "Mine", "Theirs", "live key"]);
    let row = first.query_row("SELECT title, assignee FROM tasks");
    assert_eq!(row, ["Mine", "Bo"], "a field that only the server changed shows the server's value");

    let edit = conflicts[0]["edit_id"].to_string();
    let refused = first.run(&["edits", "retry", &edit]);
    assert_eq!(refused.status.code(), Some(5), "{}", String::from_utf8_lossy(&refused.stderr));
    first.run_ok(&["resolve", &edit, "--field", "title==Both"]);
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["title"], &there["notes"], &there["assignee"]], ["Both", "A note", "Bo"]);
    let lost: Vec<Value> = first.json(&["edits", "--history"]).as_array().unwrap().clone();
    let lost: Vec<&Value> =
        lost.iter().filter(|one| one["outcome"] == "superseded").map(|one| &one["patch"]["title"]).collect();
    assert_eq!(lost, ["Mine", "Theirs"], "what lost is kept");
}

#[tokio::test]
async fn policy_decision_can_be_undone() {
    for (policy, wins, loses) in [("mine", "Mine", "Theirs"), ("theirs", "Theirs", "Mine")] {
        let home = Home::new();
        let (_server, client) = home.serve(&UNLIMITED);
        let (first, second) = two_with_a_task(&home);
        first.set_conflict_policy(policy);
        first.execute("UPDATE tasks SET title = 'Mine'");
        second.execute("UPDATE tasks SET title = 'Theirs'");
        assert_eq!((second.sync(), first.sync()), (0, 0));
        assert_eq!(task(&client).await["title"], wins);
        let number = first.query_text("SELECT id FROM edit_history WHERE outcome = 'superseded'");
        first.run_ok(&["undo", &number]);
        assert_eq!((first.sync(), &task(&client).await["title"]), (0, &json!(loses)));
    }
    let home = Home::new();
    let (_server, _) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    device.set_conflict_policy("perhaps");
    let refused = device.run(&["sync"]);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("first.db.toml") && words.contains("\"theirs\""), "{words}");
}

#[tokio::test]
async fn changes_of_different_fields_merge() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    second.execute("UPDATE tasks SET estimated_cost = '12'");
    assert_eq!(second.sync(), 0);
    first.execute("UPDATE tasks SET priority = 'urgent'");
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["priority"], &there["estimated_cost"]], ["urgent", "12.00"]);
    assert_eq!(first.query_row("SELECT priority, estimated_cost FROM tasks"), ["urgent", "12.00"]);
    assert_eq!(first.count("edits"), 0);
}

#[tokio::test]
async fn delete_against_change_is_a_conflict() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    first.execute("DELETE FROM tasks");
    second.execute("UPDATE tasks SET priority = 'urgent'");
    assert_eq!((second.sync(), first.sync()), (0, 5));
    first.run_ok(&["resolve", "2", "theirs"]);
    assert_eq!((first.sync(), first.query_text("SELECT priority FROM tasks").as_str()), (0, "urgent"));

    // The reverse: this device changes the task, the other device deletes the task.
    first.execute("UPDATE tasks SET title = 'Still here'");
    second.execute("DELETE FROM tasks");
    assert_eq!((second.sync(), first.sync()), (0, 5));
    let edit = first.json(&["edits"])[0]["id"].to_string();
    let refused = first.run(&["edits", "retry", &edit]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("resolve it as mine to create a new"));
    first.run_ok(&["resolve", &edit, "mine"]);
    assert_eq!(first.sync(), 0);
    let there = client.list_all("/v1/tasks").await;
    assert_eq!((there.len(), &there[0]["title"], &there[0]["priority"]), (1, &json!("Still here"), &json!("urgent")));
}

/// Responses are lost, the stream is silent, and both programs are killed. After the restart the server has forgotten
/// the idempotency keys.
#[tokio::test]
async fn lost_response_and_forgotten_key_apply_once() {
    let home = Home::new();
    let (server, _) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    device.execute(
        "INSERT INTO tasks (title) VALUES ('To change'), ('To delete'), ('To leave');
         INSERT INTO vehicles (name) VALUES ('1'), ('2'), ('3'), ('4'), ('5'), ('6')",
    );
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));

    // The second request for events would be the poll that notices the silence.
    let faults = "lost-answer=always route=writes,bulk; mute=always; 503=once:2 route=list_events retry-after=60";
    let (server, client) = home.serve(&[&UNLIMITED[..], &["--faults", faults, "--faults-on-live"]].concat());
    device.execute(
        "UPDATE tasks SET title = 'Changed' WHERE title = 'To change';
         DELETE FROM tasks WHERE title = 'To delete';
         INSERT INTO rooms (name) VALUES ('Made');
         INSERT INTO property (city) VALUES ('Ghent');
         UPDATE vehicles SET color = 'red'",
    );
    let daemon = device.start_daemon();
    wait_until("each edit was sent", || device.count("edits WHERE attempts > 0") == 10);
    loop {
        let (tasks, rooms) = (client.list_all("/v1/tasks").await, client.list_all("/v1/rooms").await);
        let red = client.list_all("/v1/vehicles").await.iter().filter(|one| one["color"] == "red").count();
        let home_is_set = client.get("/v1/property").await.data()["city"] == "Ghent";
        let changed = tasks.iter().any(|task| task["title"] == "Changed");
        if changed && tasks.len() == 2 && rooms.len() == 1 && red == 6 && home_is_set {
            break;
        }
    }
    daemon.kill();
    server.kill();
    assert_eq!(device.count("edits"), 10, "no edit is confirmed yet");

    let (_server, client) = home.serve(&[&UNLIMITED[..], &["--idempotency-ttl", "1ms"]].concat());
    // Another client has changed two of the records since.
    let of_title = |title: &str| device.query_text(&format!("SELECT id FROM tasks WHERE title = '{title}'"));
    client.patch(&format!("/v1/tasks/{}", of_title("Changed")), &json!({ "title": "To change" })).await;
    client.patch("/v1/property", &json!({ "city": "Bruges" })).await;
    assert_eq!(device.sync(), 0);
    assert_eq!(device.query_rows("SELECT DISTINCT outcome FROM edit_history"), [["confirmed"]]);
    assert_eq!(client.get("/v1/property").await.data()["city"], "Bruges");
    assert_eq!(device.query_text("SELECT city FROM property"), "Bruges");
    assert_eq!(device.query_rows("SELECT title FROM tasks ORDER BY title"), [["To change"], ["To leave"]]);
    let events = client.list_all("/v1/events?limit=1000").await;
    let of = |kind: &str| events.iter().filter(|event| event["resource_type"] == kind).count();
    assert_eq!(
        [of("task"), of("room"), of("property"), of("vehicle")],
        [6, 1, 2, 12],
        "each edit once, and what others did"
    );
}

/// The first update of the profile is sent again unchanged, although another client has created the profile since.
#[tokio::test]
async fn profile_created_elsewhere_is_not_overwritten() {
    let home = Home::new();
    let faults = ["--faults", "lost-request=always route=writes", "--faults-on-live"];
    let (server, _) = home.serve(&[&UNLIMITED[..], &faults].concat());
    let device = home.synced_device("first.db");
    device.execute("INSERT INTO property (city, notes) VALUES ('Ghent', 'By the river')");
    let daemon = device.start_daemon();
    wait_until("the edit was sent", || device.query_text("SELECT attempts > 0 FROM edits") == "1");
    daemon.kill();
    assert_eq!(server.terminate().code(), Some(0));

    let (_server, client) = home.serve(&UNLIMITED);
    client.patch("/v1/property", &json!({ "city": "Bruges" })).await;
    assert_eq!(device.sync(), 5);
    let there = client.get("/v1/property").await;
    assert_eq!([&there.data()["city"], &there.data()["notes"]], [&json!("Bruges"), &Value::Null]);
    let clash = "SELECT json_array(field, base, mine, theirs) FROM conflicts WHERE base IS NOT theirs";
    assert_eq!(device.query_text(clash), r#"["city",null,"Ghent","Bruges"]"#);
    let edit = device.query_text("SELECT id FROM edits");
    device.run_ok(&["resolve", &edit, "mine"]);
    assert_eq!(device.sync(), 0);
    let there = client.get("/v1/property").await;
    assert_eq!([&there.data()["city"], &there.data()["notes"]], ["Ghent", "By the river"]);
}

#[tokio::test]
async fn rejected_edit_blocks_only_its_dependents() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    let (item, nowhere) = (Uuid::from_u128(7), Uuid::from_u128(9));
    device.execute(&format!(
        "INSERT INTO inventory (id, name, room_id) VALUES ('{item}', 'Rake', '{nowhere}');
         INSERT INTO documents (title, subject_type, subject_id) VALUES ('Manual', 'inventory', '{item}');
         INSERT INTO rooms (name) VALUES ('Hall');
         INSERT INTO tasks (title) VALUES ('Sweep')"
    ));
    assert_eq!(device.sync(), 5);
    assert_eq!(device.query_rows("SELECT state FROM edits ORDER BY id"), [["rejected"], ["blocked"]]);
    let edits = device.json(&["edits"]);
    assert_eq!(edits[0]["problem"]["details"]["fields"][0]["code"], "not_found", "the server's words: {edits}");
    assert_eq!((client.list_all("/v1/rooms").await.len(), client.list_all("/v1/tasks").await.len()), (1, 1));
    let edit = edits[0]["id"].to_string();
    assert_eq!(device.run(&["edits", "retry", &edits[1]["id"].to_string()]).status.code(), Some(5));
    device.run_ok(&["edits", "change", &edit, "room_id="]);
    assert_eq!(device.sync(), 0);
    assert_eq!((client.list_all("/v1/inventory").await.len(), client.list_all("/v1/documents").await.len()), (1, 1));

    device.execute(&format!("UPDATE inventory SET room_id = '{nowhere}', name = 'Old rake'"));
    assert_eq!(device.sync(), 5);
    device.run_ok(&["edits", "discard", &device.json(&["edits"])[0]["id"].to_string()]);
    assert_eq!((device.sync(), device.query_text("SELECT name FROM inventory").as_str()), (0, "Rake"));
}

#[tokio::test]
async fn many_edits_go_in_few_bulk_calls() {
    let home = Home::new();
    let (_server, client) = home.serve(&["--rate-limits", "reads=300,writes=60,bulk=20"]);
    let device = home.synced_device("first.db");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)";
    let poison = Uuid::from_u128(9);
    device.execute(&format!(
        "INSERT INTO inventory (name, room_id) {numbers} SELECT 'Thing ' || i, CASE i WHEN 321 THEN '{poison}' END FROM n"
    ));
    assert_eq!(device.sync(), 5, "one of them is refused");
    assert_eq!(device.query_rows("SELECT state FROM edits"), [["rejected"]]);
    assert_eq!(client.list_all("/v1/inventory?limit=100").await.len(), 499);
    let calls = device.query_row("SELECT count(DISTINCT idempotency_key), max(attempts) FROM edit_history");
    assert_eq!(calls, ["10", "1"], "ten calls, each sent once");
    device.execute("UPDATE inventory SET category = 'tool' WHERE name LIKE 'Thing 1%'; DELETE FROM inventory WHERE name LIKE 'Thing 2%'");
    assert_eq!(device.sync(), 5);
    assert_eq!(client.list_all("/v1/inventory?limit=100").await.len(), 499 - 111);
    let tools = client.list_all("/v1/inventory?limit=100").await.iter().filter(|one| one["category"] == "tool").count();
    assert_eq!(tools, 111);
}

#[tokio::test]
async fn undo_of_each_method_reaches_server() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let (first, _) = two_with_a_task(&home);
    for unknown in [&["edits", "retry", "999"][..], &["resolve", "999", "mine"], &["undo", "999"]] {
        assert_eq!(first.run_text(unknown).0, 3, "{unknown:?}");
    }
    first.run_ok(&["undo"]);
    assert_eq!((first.sync(), client.list_all("/v1/tasks").await.len()), (0, 0), "a create is undone by a delete");
    let undone = first.query_text("SELECT max(id) FROM edit_history");
    let words = first.run_ok(&["undo", &undone]);
    assert!(words.contains("made anew"), "{words}");
    assert_eq!((first.sync(), &task(&client).await["title"]), (0, &json!("Paint")), "and redone as another record");

    first.execute("UPDATE tasks SET title = 'Sand', priority = 'high'");
    assert_eq!(first.sync(), 0);
    let id = task(&client).await["id"].as_str().unwrap().to_owned();
    client.patch(&format!("/v1/tasks/{id}"), &json!({ "title": "Theirs" })).await;
    assert_eq!(first.sync(), 0);
    let words = first.run_ok(&["undo"]);
    assert!(words.contains("left: title"), "{words}");
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["title"], &there["priority"]], ["Theirs", "low"]);

    first.execute("DELETE FROM tasks");
    first.run_ok(&["undo"]);
    assert_eq!((first.count("tasks"), first.count("edits")), (1, 0), "undo removes an edit that was never sent");
}

#[tokio::test]
async fn polling_syncs_where_streams_fail() {
    let home = Home::new();
    let (_server, client) = home.serve(&[&UNLIMITED[..], &["--max-streams", "1"]].concat());
    let _taken = client.stream("", None).await;
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let device = home.create_device("replica.db");
    device.run_ok(&["add", "room", "name=Shed"]);
    let (exit, text) = device.run_text(&["sync"]);
    assert_eq!(exit, 0, "{text}");
    assert_eq!(device.query_rows("SELECT name FROM rooms ORDER BY name"), [["Hall"], ["Shed"]]);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 2);
    let _daemon = device.start_daemon();
    device.wait_for_phase("polling");
    assert!(device.query_text("SELECT reason FROM sync_status").contains("streams open"));
}
