//! Local edits against the real server, through the real programs and plain SQL: who wins, what is asked, what is undone,
//! and that everything happens once.

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use serde_json::{Value, json};
use uuid::Uuid;

/// Serves it, with a client of its key.
fn serve(home: &mut Home, with: &[&str]) -> (Process, Client) {
    let (process, url) = home.serve(with);
    (process, Client::new(&url, &home.key))
}

/// A replica of it, in step.
fn device(home: &Home, name: &str) -> Device {
    let device = home.device(name);
    assert_eq!(device.sync(), 0);
    device
}

/// Two devices that both know one task.
fn two_with_a_task(home: &Home) -> (Device, Device) {
    let (first, second) = (device(home, "first.db"), device(home, "second.db"));
    first.sql("INSERT INTO tasks (title, priority) VALUES ('Paint', 'low')");
    assert_eq!((first.sync(), second.sync()), (0, 0));
    (first, second)
}

async fn task(client: &Client) -> Value {
    client.walk("/v1/tasks").await[0].clone()
}

#[tokio::test]
async fn both_changed_the_same_field_and_a_person_decides() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    first.sql("UPDATE tasks SET title = 'Mine', notes = 'A note'");
    second.sql("UPDATE tasks SET title = 'Theirs', assignee = 'Bo'");
    assert_eq!((second.sync(), first.sync()), (0, 5), "it needs a decision");
    let conflicts = first.json(&["conflicts"]);
    let seen = ["field", "base", "mine", "theirs"].map(|name| conflicts[0][name].clone());
    assert_eq!(seen, ["title", "Paint", "Mine", "Theirs"]);
    assert_eq!(
        first.one("SELECT title || assignee FROM tasks"),
        "MineBo",
        "theirs shows through where only they wrote"
    );

    let edit = conflicts[0]["edit_id"].to_string();
    let refused = first.run(&["edits", "retry", &edit]);
    assert_eq!(refused.status.code(), Some(5), "{}", String::from_utf8_lossy(&refused.stderr));
    first.does(&["resolve", &edit, "--field", "title==Both"]);
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["title"], &there["notes"], &there["assignee"]], ["Both", "A note", "Bo"]);
    let lost: Vec<Value> = first.json(&["edits", "--history"]).as_array().unwrap().clone();
    let lost: Vec<&Value> =
        lost.iter().filter(|one| one["outcome"] == "superseded").map(|one| &one["patch"]["title"]).collect();
    assert_eq!(lost, ["Mine", "Theirs"], "what lost is kept");
}

#[tokio::test]
async fn the_profile_decides_and_undo_takes_the_decision_back() {
    for (policy, wins, loses) in [("mine", "Mine", "Theirs"), ("theirs", "Theirs", "Mine")] {
        let mut home = Home::new();
        let (_server, client) = serve(&mut home, &UNLIMITED);
        let (first, second) = two_with_a_task(&home);
        first.policy(policy);
        first.sql("UPDATE tasks SET title = 'Mine'");
        second.sql("UPDATE tasks SET title = 'Theirs'");
        assert_eq!((second.sync(), first.sync()), (0, 0));
        assert_eq!(task(&client).await["title"], wins);
        let number = first.one("SELECT id FROM edit_history WHERE outcome = 'superseded'");
        first.does(&["undo", &number]);
        assert_eq!((first.sync(), &task(&client).await["title"]), (0, &json!(loses)));
    }
    let mut home = Home::new();
    let (_server, _) = serve(&mut home, &UNLIMITED);
    let device = device(&home, "first.db");
    device.policy("perhaps");
    let refused = device.run(&["sync"]);
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && words.contains("first.db.toml") && words.contains("\"theirs\""), "{words}");
}

#[tokio::test]
async fn changes_of_different_fields_both_stand() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    second.sql("UPDATE tasks SET estimated_cost = '12'");
    assert_eq!(second.sync(), 0);
    first.sql("UPDATE tasks SET priority = 'urgent'");
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["priority"], &there["estimated_cost"]], ["urgent", "12.00"]);
    assert_eq!(first.one("SELECT priority || estimated_cost FROM tasks"), "urgent12.00");
    assert_eq!(first.one("SELECT count(*) FROM edits"), "0");
}

#[tokio::test]
async fn a_delete_and_a_change_meet() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &UNLIMITED);
    let (first, second) = two_with_a_task(&home);
    first.sql("DELETE FROM tasks");
    second.sql("UPDATE tasks SET priority = 'urgent'");
    assert_eq!((second.sync(), first.sync()), (0, 5));
    first.does(&["resolve", "2", "theirs"]);
    assert_eq!((first.sync(), first.one("SELECT priority FROM tasks").as_str()), (0, "urgent"));

    // The other way round: what is changed here is deleted there.
    first.sql("UPDATE tasks SET title = 'Still here'");
    second.sql("DELETE FROM tasks");
    assert_eq!((second.sync(), first.sync()), (0, 5));
    let edit = first.json(&["edits"])[0]["id"].to_string();
    let refused = first.run(&["edits", "retry", &edit]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("resolve it as mine to create a new"));
    first.does(&["resolve", &edit, "mine"]);
    assert_eq!(first.sync(), 0);
    let there = client.walk("/v1/tasks").await;
    assert_eq!((there.len(), &there[0]["title"], &there[0]["priority"]), (1, &json!("Still here"), &json!("urgent")));
}

/// Answers are lost, the feed is mute, the programs end; and when they are back, the server has forgotten the keys.
#[tokio::test]
async fn a_lost_answer_and_a_forgotten_key_make_one_effect() {
    let mut home = Home::new();
    let (server, _) = serve(&mut home, &UNLIMITED);
    let device = device(&home, "first.db");
    device.sql(
        "INSERT INTO tasks (title) VALUES ('To change'), ('To delete'), ('To leave');
         INSERT INTO vehicles (name) VALUES ('1'), ('2'), ('3'), ('4'), ('5'), ('6')",
    );
    assert_eq!(device.sync(), 0);
    assert_eq!(server.terminate().code(), Some(0));

    let faults = "lost-answer=always route=writes,bulk; mute=always";
    let (server, client) = serve(&mut home, &[&UNLIMITED[..], &["--faults", faults, "--faults-on-live"]].concat());
    device.sql(
        "UPDATE tasks SET title = 'Changed' WHERE title = 'To change';
         DELETE FROM tasks WHERE title = 'To delete';
         INSERT INTO rooms (name) VALUES ('Made');
         INSERT INTO property (city) VALUES ('Ghent');
         UPDATE vehicles SET color = 'red'",
    );
    let daemon = Process::start("hearth-replica", &["--db", &device.db, "run"]);
    let done = "SELECT count(*) FROM edits WHERE attempts > 0";
    wait_until("everything was tried", || device.one(done) == "10");
    loop {
        let (tasks, rooms) = (client.walk("/v1/tasks").await, client.walk("/v1/rooms").await);
        let red = client.walk("/v1/vehicles").await.iter().filter(|one| one["color"] == "red").count();
        let home_is_set = client.get("/v1/property").await.data()["city"] == "Ghent";
        let changed = tasks.iter().any(|task| task["title"] == "Changed");
        if changed && tasks.len() == 2 && rooms.len() == 1 && red == 6 && home_is_set {
            break;
        }
    }
    daemon.kill();
    server.kill();
    assert_eq!(device.one("SELECT count(*) FROM edits"), "10", "nothing was heard of it");

    let (_server, client) = serve(&mut home, &[&UNLIMITED[..], &["--idempotency-ttl", "1ms"]].concat());
    // Meanwhile somebody has gone on with two of them.
    let of_title = |title: &str| device.one(&format!("SELECT id FROM tasks WHERE title = '{title}'"));
    client.patch(&format!("/v1/tasks/{}", of_title("Changed")), &json!({ "title": "To change" })).await;
    client.patch("/v1/property", &json!({ "city": "Bruges" })).await;
    assert_eq!(device.sync(), 0);
    assert_eq!(device.one("SELECT group_concat(DISTINCT outcome) FROM edit_history"), "confirmed");
    assert_eq!(client.get("/v1/property").await.data()["city"], "Bruges");
    assert_eq!(device.one("SELECT city FROM property"), "Bruges");
    assert_eq!(
        device.one("SELECT group_concat(title) FROM (SELECT title FROM tasks ORDER BY title)"),
        "To change,To leave"
    );
    let events = client.walk("/v1/events?limit=1000").await;
    let of = |kind: &str| events.iter().filter(|event| event["resource_type"] == kind).count();
    assert_eq!(
        [of("task"), of("room"), of("property"), of("vehicle")],
        [6, 1, 2, 12],
        "each edit once, and what others did"
    );
}

/// Its first update is sent again as it was, though somebody has begun one since.
#[tokio::test]
async fn a_profile_that_somebody_began_meanwhile_is_not_written_over() {
    let mut home = Home::new();
    let faults = ["--faults", "lost-request=always route=writes", "--faults-on-live"];
    let (server, _) = serve(&mut home, &[&UNLIMITED[..], &faults].concat());
    let device = device(&home, "first.db");
    device.sql("INSERT INTO property (city, notes) VALUES ('Ghent', 'By the river')");
    let daemon = Process::start("hearth-replica", &["--db", &device.db, "run"]);
    wait_until("it was tried", || device.one("SELECT attempts > 0 FROM edits") == "1");
    daemon.kill();
    assert_eq!(server.terminate().code(), Some(0));

    let (_server, client) = serve(&mut home, &UNLIMITED);
    client.patch("/v1/property", &json!({ "city": "Bruges" })).await;
    assert_eq!(device.sync(), 5);
    let there = client.get("/v1/property").await;
    assert_eq!([&there.data()["city"], &there.data()["notes"]], [&json!("Bruges"), &Value::Null]);
    let clash = "SELECT json_array(field, base, mine, theirs) FROM conflicts WHERE base IS NOT theirs";
    assert_eq!(device.one(clash), r#"["city",null,"Ghent","Bruges"]"#);
    let edit = device.one("SELECT id FROM edits");
    device.does(&["resolve", &edit, "mine"]);
    assert_eq!(device.sync(), 0);
    let there = client.get("/v1/property").await;
    assert_eq!([&there.data()["city"], &there.data()["notes"]], ["Ghent", "By the river"]);
}

#[tokio::test]
async fn a_poison_edit_holds_what_depends_on_it_and_nothing_else() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &UNLIMITED);
    let device = device(&home, "first.db");
    let (item, nowhere) = (Uuid::from_u128(7), Uuid::from_u128(9));
    device.sql(&format!(
        "INSERT INTO inventory (id, name, room_id) VALUES ('{item}', 'Rake', '{nowhere}');
         INSERT INTO documents (title, subject_type, subject_id) VALUES ('Manual', 'inventory', '{item}');
         INSERT INTO rooms (name) VALUES ('Hall');
         INSERT INTO tasks (title) VALUES ('Sweep')"
    ));
    assert_eq!(device.sync(), 5);
    assert_eq!(device.one("SELECT group_concat(state) FROM (SELECT state FROM edits ORDER BY id)"), "rejected,blocked");
    let edits = device.json(&["edits"]);
    assert_eq!(edits[0]["problem"]["details"]["fields"][0]["code"], "not_found", "the server's words: {edits}");
    assert_eq!((client.walk("/v1/rooms").await.len(), client.walk("/v1/tasks").await.len()), (1, 1));
    let edit = edits[0]["id"].to_string();
    assert_eq!(device.run(&["edits", "retry", &edits[1]["id"].to_string()]).status.code(), Some(5));
    device.does(&["edits", "change", &edit, "room_id="]);
    assert_eq!(device.sync(), 0);
    assert_eq!((client.walk("/v1/inventory").await.len(), client.walk("/v1/documents").await.len()), (1, 1));

    device.sql(&format!("UPDATE inventory SET room_id = '{nowhere}', name = 'Old rake'"));
    assert_eq!(device.sync(), 5);
    device.does(&["edits", "discard", &device.json(&["edits"])[0]["id"].to_string()]);
    assert_eq!((device.sync(), device.one("SELECT name FROM inventory").as_str()), (0, "Rake"));
}

#[tokio::test]
async fn many_edits_of_a_script_go_in_few_calls_within_the_keys_windows() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &["--rate-limits", "reads=300,writes=60,bulk=20"]);
    let device = device(&home, "first.db");
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)";
    let poison = Uuid::from_u128(9);
    device.sql(&format!(
        "INSERT INTO inventory (name, room_id) {numbers} SELECT 'Thing ' || i, CASE i WHEN 321 THEN '{poison}' END FROM n"
    ));
    assert_eq!(device.sync(), 5, "one of them is refused");
    assert_eq!(device.one("SELECT count(*) || state FROM edits"), "1rejected");
    assert_eq!(client.walk("/v1/inventory?limit=100").await.len(), 499);
    let keys = "SELECT count(DISTINCT idempotency_key) || ' ' || max(attempts) FROM edit_history";
    assert_eq!(device.one(keys), "10 1", "ten calls, none of them twice");
    device.sql("UPDATE inventory SET category = 'tool' WHERE name LIKE 'Thing 1%'; DELETE FROM inventory WHERE name LIKE 'Thing 2%'");
    assert_eq!(device.sync(), 5);
    assert_eq!(client.walk("/v1/inventory?limit=100").await.len(), 499 - 111);
    let tools = client.walk("/v1/inventory?limit=100").await.iter().filter(|one| one["category"] == "tool").count();
    assert_eq!(tools, 111);
}

#[tokio::test]
async fn undo_of_every_sort_reaches_the_server() {
    let mut home = Home::new();
    let (_server, client) = serve(&mut home, &UNLIMITED);
    let (first, _) = two_with_a_task(&home);
    for unknown in [&["edits", "retry", "999"][..], &["resolve", "999", "mine"], &["undo", "999"]] {
        assert_eq!(first.said(unknown).0, 3, "{unknown:?}");
    }
    first.does(&["undo"]);
    assert_eq!((first.sync(), client.walk("/v1/tasks").await.len()), (0, 0), "a create is undone by a delete");
    let undone = first.one("SELECT max(id) FROM edit_history");
    let words = first.does(&["undo", &undone]);
    assert!(words.contains("made anew"), "{words}");
    assert_eq!((first.sync(), &task(&client).await["title"]), (0, &json!("Paint")), "and redone as another record");

    first.sql("UPDATE tasks SET title = 'Sand', priority = 'high'");
    assert_eq!(first.sync(), 0);
    let id = task(&client).await["id"].as_str().unwrap().to_owned();
    client.patch(&format!("/v1/tasks/{id}"), &json!({ "title": "Theirs" })).await;
    assert_eq!(first.sync(), 0);
    let words = first.does(&["undo"]);
    assert!(words.contains("left: title"), "{words}");
    assert_eq!(first.sync(), 0);
    let there = task(&client).await;
    assert_eq!([&there["title"], &there["priority"]], ["Theirs", "low"]);

    first.sql("DELETE FROM tasks");
    first.does(&["undo"]);
    assert_eq!(first.one("SELECT count(*) || (SELECT count(*) FROM edits) FROM tasks"), "10", "never sent: taken back");
}

#[tokio::test]
async fn where_no_stream_is_to_be_had_polls_bring_it_in_step() {
    let mut home = Home::new();
    let (_server, url) = home.serve(&[&UNLIMITED[..], &["--max-streams", "1"]].concat());
    let client = Client::new(&url, &home.key);
    let _taken = client.stream("", None).await;
    client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let device = home.device("replica.db");
    device.does(&["add", "room", "name=Shed"]);
    let (exit, said) = device.said(&["sync"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(device.one("SELECT group_concat(name) FROM (SELECT name FROM rooms ORDER BY name)"), "Hall,Shed");
    assert_eq!(client.walk("/v1/rooms").await.len(), 2);
    let _daemon = device.daemon();
    device.comes_to("polling");
    assert!(device.one("SELECT reason FROM sync_status").contains("streams open"));
}
