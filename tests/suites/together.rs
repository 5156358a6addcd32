//! The terminal UI in step with the real server: what was sent is undone and done again, a conflict and a refusal are settled by
//! keys.

use std::path::Path;

use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;
use serde_json::{Value, json};

/// A served home, a client of it, and a screen on a replica of it.
struct Scene {
    _home: Home,
    _server: Process,
    client: Client,
    db: String,
    screen: Terminal,
}

impl Scene {
    /// With these tasks, in step.
    async fn new(titles: &[&str]) -> Scene {
        let mut home = Home::new();
        let (server, url) = home.serve(&UNLIMITED);
        let client = Client::new(&url, &home.key);
        for title in titles {
            client.post("/v1/tasks", &json!({ "title": title })).await;
        }
        let db = home.replica("replica.db");
        let directory = home.path("");
        let screen = Terminal::start("hearth", &["--db", &db], Path::new(&directory), (110, 30));
        screen.shows("live");
        Scene { _home: home, _server: server, client, db, screen }
    }

    /// Types, and waits for what that brings.
    fn does(&mut self, keys: &str, brings: &str) {
        self.screen.types(keys);
        self.screen.shows(brings);
    }

    /// Waits until the server has confirmed every edit.
    fn is_in_step(&self) {
        let connection = Connection::open(&self.db).unwrap();
        wait_until("every edit is confirmed", || {
            connection.query_row("SELECT count(*) = 0 FROM edits", [], |row| row.get(0)).unwrap()
        });
    }

    /// A member of every task, as the server has them, in the order of their titles.
    async fn tasks(&self, member: &str) -> Vec<String> {
        let mut tasks = self.client.walk("/v1/tasks").await;
        tasks.sort_by_key(|task| task["title"].to_string());
        tasks.iter().map(|task| task[member].as_str().unwrap_or_default().to_owned()).collect()
    }

    async fn first(&self, collection: &str) -> Value {
        self.client.walk(&format!("/v1/{collection}")).await[0].clone()
    }
}

#[tokio::test]
async fn confirmed_change_is_undone_and_redone() {
    let mut scene = Scene::new(&["Paint", "Sand", "Varnish"]).await;
    scene.does("2", "3 tasks");
    scene.does("*", "3 marked");
    scene.does("x", "Done: 3 tasks");
    scene.is_in_step();
    assert_eq!(scene.tasks("status").await, ["done"; 3]);
    scene.does("u", "Undone: 3 tasks");
    scene.is_in_step();
    assert_eq!(scene.tasks("status").await, ["open"; 3]);
    scene.does("U", "Done again: 3 tasks");
    scene.is_in_step();
    assert_eq!(scene.tasks("status").await, ["done"; 3]);

    // Half of it cannot be undone: what can is, and the rest is said.
    let gone = scene.first("tasks").await["id"].as_str().unwrap().to_owned();
    scene.client.delete(&format!("/v1/tasks/{gone}")).await;
    scene.screen.shows("2 tasks");
    scene.does("u", "Undone: 3 tasks, but for 1 of 3: ");
    scene.screen.shows("is deleted by now");
    scene.is_in_step();
    assert_eq!(scene.tasks("status").await, ["open"; 2]);
    scene.screen.types("q");
    assert!(scene.screen.ends());
}

#[tokio::test]
async fn conflict_decision_by_keys_is_undone() {
    let mut scene = Scene::new(&["Paint"]).await;
    scene.does("2", "1 task");
    scene.does("S", "Waiting to be sent");
    scene.does("p", "paused");
    scene.does("\x1b", "by due day");
    scene.does("e", "Change the task");
    scene.does(" the shed\x13", "Saved: Paint the shed");
    let id = scene.first("tasks").await["id"].as_str().unwrap().to_owned();
    scene.client.patch(&format!("/v1/tasks/{id}"), &json!({ "title": "Paint the fence" })).await;
    scene.does("S", "Waiting to be sent");
    scene.does("p", "1 needs you");
    scene.does("w", "in conflict");
    scene.does("\r", "Theirs");
    scene.does("\x13", "Choose first: Title.");
    scene.does("t", "All is chosen");
    scene.does("\x13", "is as the server has it");
    scene.screen.shows("Nothing waits");
    scene.does("\x1b", "Waiting to be sent");
    scene.does("\x1b", "by due day");
    scene.screen.shows("Paint the fence");
    scene.does("u", "Undone: the decision about “Paint the shed”");
    scene.is_in_step();
    assert_eq!(scene.tasks("title").await, ["Paint the shed"]);
    scene.does("U", "Done again: the decision");
    scene.is_in_step();
    assert_eq!(scene.tasks("title").await, ["Paint the fence"]);
    scene.screen.types("q");
    assert!(scene.screen.ends());
}

#[tokio::test]
async fn mixed_decision_undo_restores_server_values() {
    let mut scene = Scene::new(&["Paint"]).await;
    scene.does("2", "1 task");
    scene.does("S", "Waiting to be sent");
    scene.does("p", "paused");
    let here = Connection::open(&scene.db).unwrap();
    here.execute("UPDATE tasks SET title = 'Paint mine', notes = 'mine', assignee = 'mine'", []).unwrap();
    let id = scene.first("tasks").await["id"].as_str().unwrap().to_owned();
    let there = json!({ "title": "Paint theirs", "notes": "theirs", "assignee": "theirs" });
    scene.client.patch(&format!("/v1/tasks/{id}"), &there).await;
    scene.does("p", "1 needs you");
    scene.does("w", "in conflict");
    scene.does("\r", "Theirs");
    scene.screen.types("tmm");
    scene.does("\x13", "settled");
    scene.is_in_step();
    let all = async |scene: &Scene| {
        let task = scene.first("tasks").await;
        ["title", "notes", "assignee"].map(|member| task[member].as_str().unwrap().to_owned())
    };
    assert_eq!(all(&scene).await, ["Paint theirs", "mine", "mine"]);
    scene.does("\x1b", "Waiting to be sent");
    scene.does("\x1b", "by due day");
    scene.does("u", "Undone: the decision about “Paint mine”");
    scene.is_in_step();
    assert_eq!(all(&scene).await, ["Paint theirs", "theirs", "theirs"]);
    // Once more is not to take that back.
    scene.screen.types("u");
    scene.screen.shows("nothing left to undo");
    assert_eq!(all(&scene).await, ["Paint theirs", "theirs", "theirs"]);
    scene.does("U", "Done again: the decision");
    scene.is_in_step();
    assert_eq!(all(&scene).await, ["Paint theirs", "mine", "mine"]);
}

#[tokio::test]
async fn change_of_deleted_record_is_settled_by_keys() {
    let mut scene = Scene::new(&["Paint", "Sand"]).await;
    scene.does("2", "2 tasks");
    scene.does("S", "Waiting to be sent");
    scene.does("p", "paused");
    scene.does("\x1b", "by due day");
    scene.does("e", "Change the task");
    scene.does(" it\x13", "Saved: Paint it");
    scene.does("j", "Sand");
    scene.does("e", "Change the task");
    scene.does(" it\x13", "Saved: Sand it");
    for task in scene.client.walk("/v1/tasks").await {
        scene.client.delete(&format!("/v1/tasks/{}", task["id"].as_str().unwrap())).await;
    }
    scene.does("S", "Waiting to be sent");
    scene.does("p", "2 need you");
    scene.does("w", "in conflict");
    scene.does("\r", "it was deleted on the server");
    scene.does("m", "All is chosen");
    scene.does("\x13", "1 needs you");
    // It has gone to the server, so that the other one is under the cursor.
    scene.screen.shows_no_longer("Paint it");
    scene.does("\r", "it was deleted on the server");
    scene.does("t", "All is chosen");
    scene.does("\x13", "Nothing waits");
    scene.is_in_step();
    assert_eq!(scene.tasks("title").await, ["Paint it"]);
    scene.screen.types("\x03");
    assert!(scene.screen.ends());
}

#[tokio::test]
async fn rejected_change_is_corrected_and_sent() {
    let mut scene = Scene::new(&[]).await;
    scene.client.post("/v1/rooms", &json!({ "name": "Garage" })).await;
    scene.does("4", "1 room");
    scene.does("S", "Waiting to be sent");
    scene.does("p", "paused");
    scene.does("\x1b", "1 room");
    scene.does("3", "No inventory yet");
    scene.does("n", "New item");
    scene.does("Lamp\tgar", "enter take");
    scene.screen.shows("Garage");
    scene.does("\r", "New item");
    scene.screen.shows_no_longer("enter take");
    scene.does("\x13", "New item: Lamp");
    let id = scene.first("rooms").await["id"].as_str().unwrap().to_owned();
    scene.client.delete(&format!("/v1/rooms/{id}")).await;
    scene.does("S", "Waiting to be sent");
    scene.does("p", "1 needs you");
    scene.does("w", "rejected");
    scene.screen.shows("Room names no room of this home.");
    scene.screen.shows("e gives it other values, d gives it up.");
    scene.does("e", "Change the item");
    scene.screen.shows("something that is not here");
    scene.screen.shows("Room names no room of this home.");
    scene.screen.types("\x7f");
    scene.screen.shows_no_longer("something that is not here");
    scene.does("\x13", "goes to the server");
    scene.is_in_step();
    let there = scene.first("inventory").await;
    assert_eq!((&there["name"], &there["room_id"]), (&json!("Lamp"), &Value::Null));
    scene.screen.types("\x03");
    assert!(scene.screen.ends());
}
