//! A home that was begun without a server, and connects months later: the server has its history. Other suites test later syncs.

use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::stdout;
use serde_json::{Value, json};

/// A home without a server in the directory of `home`.
fn begun_alone(home: &Home) -> Device {
    let device = Device { db: home.path("alone.db") };
    device.run_ok(&["init", "--no-server"]);
    device
}

/// Connects the replica to the server of `home`, and syncs.
fn connect(home: &Home, device: &Device) {
    let key = home.path("given.key");
    std::fs::write(&key, &home.key).unwrap();
    stdout("hearth-replica", &["--db", &device.db, "init", "--server", &home.url(), "--key-file", &key]);
    assert_eq!(device.sync(), 0);
}

/// The open task with this title.
fn open_task(device: &Device, title: &str) -> String {
    device.query_text(&format!("SELECT id FROM tasks WHERE title = '{title}' AND status <> 'done'"))
}

#[tokio::test]
async fn completions_before_first_contact_keep_their_days() {
    let home = Home::new();
    let alone = begun_alone(&home);
    alone.run_ok(&["add", "task", "title=Lamp"]);
    alone.run_ok(&["add", "task", "title=Filter", "recurrence=monthly", "due_on=2026-03-20"]);
    // The first two tasks of the series are done long before they are due, and before the day from which the series counts.
    let days = [("Lamp", "2026-01-05"), ("Filter", "2026-01-13"), ("Filter", "2026-02-16")];
    for (title, day) in days {
        let task = open_task(&alone, title);
        alone.execute(&format!(
            "UPDATE tasks SET status = 'done', completed_at = '{day}T18:00:00.000Z' WHERE id = '{task}'"
        ));
        // A program of Hearth makes the next task.
        alone.run_ok(&["status"]);
    }
    let done = "SELECT title, due_on, completed_at FROM tasks WHERE status = 'done' ORDER BY completed_at";
    let open = "SELECT title, due_on, recurrence_anchor FROM tasks WHERE status <> 'done'";
    let (done_before, open_before) = (alone.query_rows(done), alone.query_rows(open));
    assert_eq!(
        (done_before.len(), &open_before),
        (3, &vec![vec!["Filter".into(), "2026-05-20".into(), "2026-03-20".into()]])
    );

    let (_server, client) = home.serve(&UNLIMITED);
    connect(&home, &alone);
    let mut tasks = client.list_all("/v1/tasks?status=done").await;
    tasks.sort_by_key(|task| task["completed_at"].to_string());
    let moments: Vec<Value> = tasks
        .iter()
        .map(|task| json!([task["title"], task["completed_at"].as_str().unwrap().split_at(10).0]))
        .collect();
    assert_eq!(moments, days.map(|(title, day)| json!([title, day])));
    let next = client.list_all("/v1/tasks?status=open").await;
    assert_eq!(
        (next.len(), &next[0]["due_on"]),
        (1, &json!("2026-05-20")),
        "the next task is the one that the home showed"
    );
    assert_eq!(
        (alone.query_rows(done), alone.query_rows(open)),
        (done_before, open_before),
        "and nothing changed here"
    );
    assert_eq!(alone.count("edits"), 0);
    assert_eq!(alone.count("sync_log WHERE level = 'warning'"), 0, "{:?}", alone.query_rows("SELECT * FROM sync_log"));
}
