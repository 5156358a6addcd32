//! The terminal UI with the real server: undo and redo of confirmed changes, and conflicts and rejected edits decided by
//! keys.

use std::path::Path;

use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use hearth_tests::terminal::Terminal;
use rusqlite::Connection;
use serde_json::{Value, json};

/// A served home, an API client, and the terminal UI on a replica.
struct Session {
    _home: Home,
    _server: Process,
    client: Client,
    db: String,
    screen: Terminal,
}

impl Session {
    /// A home with these tasks, and the terminal UI in sync.
    async fn new(titles: &[&str]) -> Session {
        let home = Home::new();
        let (server, client) = home.serve(&UNLIMITED);
        for title in titles {
            client.post("/v1/tasks", &json!({ "title": title })).await;
        }
        let db = home.create_replica("replica.db");
        let directory = home.path("");
        let screen = Terminal::start("hearth", &["--db", &db], Path::new(&directory), (110, 30));
        screen.wait_for_text("live");
        Session { _home: home, _server: server, client, db, screen }
    }

    /// Types keys and waits until the screen shows a text.
    fn press(&mut self, keys: &str, text: &str) {
        self.screen.type_keys(keys);
        self.screen.wait_for_text(text);
    }

    /// Opens the screen of waiting edits and pauses the sync.
    fn pause_sync(&mut self) {
        self.press("S", "Waiting to be sent");
        self.press("p", "paused");
    }

    /// Resumes the sync on the screen of waiting edits, and opens the edits that need a decision.
    fn resume_sync(&mut self, needed: &str, reason: &str) {
        self.press("p", needed);
        self.press("w", reason);
    }

    /// From a decision back to the tasks, through the list of edits.
    fn leave_decision(&mut self) {
        self.press("\x1b", "Waiting to be sent");
        self.press("\x1b", "by due day");
    }

    /// Changes the selected task: types an addition to the title and saves.
    fn extend_title(&mut self, addition: &str, title: &str) {
        self.press("e", "Change the task");
        self.press(&format!("{addition}\x13"), &format!("Saved: {title}"));
    }

    /// Types the key that quits. Asserts exit code 0.
    fn quit(mut self, key: &str) {
        self.screen.type_keys(key);
        assert!(self.screen.wait_for_exit());
    }

    /// Waits until the server has confirmed every edit.
    fn is_in_step(&self) {
        let connection = Connection::open(&self.db).unwrap();
        wait_until("every edit is confirmed", || {
            connection.query_row("SELECT count(*) = 0 FROM edits", [], |row| row.get(0)).unwrap()
        });
    }

    /// A member of all tasks on the server, ordered by title.
    async fn tasks(&self, member: &str) -> Vec<String> {
        let mut tasks = self.client.list_all("/v1/tasks").await;
        tasks.sort_by_key(|task| task["title"].to_string());
        tasks.iter().map(|task| task[member].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// The home with the task Paint. The sync is paused, and the screen of waiting edits is open.
    async fn paused() -> Session {
        let mut session = Session::new(&["Paint"]).await;
        session.press("2", "1 task");
        session.pause_sync();
        session
    }

    /// The path of the first task on the server.
    async fn first_task_path(&self) -> String {
        format!("/v1/tasks/{}", self.first("tasks").await["id"].as_str().unwrap())
    }

    async fn first(&self, collection: &str) -> Value {
        self.client.list_all(&format!("/v1/{collection}")).await[0].clone()
    }
}

#[tokio::test]
async fn confirmed_change_is_undone_and_redone() {
    let mut session = Session::new(&["Paint", "Sand", "Varnish"]).await;
    session.press("2", "3 tasks");
    session.press("*", "3 marked");
    session.press("x", "Done: 3 tasks");
    session.is_in_step();
    assert_eq!(session.tasks("status").await, ["done"; 3]);
    session.press("u", "Undone: 3 tasks");
    session.is_in_step();
    assert_eq!(session.tasks("status").await, ["open"; 3]);
    session.press("U", "Done again: 3 tasks");
    session.is_in_step();
    assert_eq!(session.tasks("status").await, ["done"; 3]);

    // One of three tasks is deleted: undo changes the others and names the deleted one.
    session.client.delete(&session.first_task_path().await).await;
    session.screen.wait_for_text("2 tasks");
    session.press("u", "Undone: 3 tasks, but for 1 of 3: ");
    session.screen.wait_for_text("is deleted by now");
    session.is_in_step();
    assert_eq!(session.tasks("status").await, ["open"; 2]);
    session.quit("q");
}

#[tokio::test]
async fn conflict_decision_by_keys_is_undone() {
    let mut session = Session::paused().await;
    session.press("\x1b", "by due day");
    session.extend_title(" the shed", "Paint the shed");
    session.client.patch(&session.first_task_path().await, &json!({ "title": "Paint the fence" })).await;
    session.press("S", "Waiting to be sent");
    session.resume_sync("1 needs you", "in conflict");
    session.press("\r", "Theirs");
    session.press("\x13", "Choose first: Title.");
    session.press("t", "All fields are chosen");
    session.press("\x13", "is as the server has it");
    session.screen.wait_for_text("Nothing waits");
    session.leave_decision();
    session.screen.wait_for_text("Paint the fence");
    session.press("u", "Undone: the decision about “Paint the shed”");
    session.is_in_step();
    assert_eq!(session.tasks("title").await, ["Paint the shed"]);
    session.press("U", "Done again: the decision");
    session.is_in_step();
    assert_eq!(session.tasks("title").await, ["Paint the fence"]);
    session.quit("q");
}

#[tokio::test]
async fn mixed_decision_undo_restores_server_values() {
    let mut session = Session::paused().await;
    let here = Connection::open(&session.db).unwrap();
    here.execute("UPDATE tasks SET title = 'Paint mine', notes = 'mine', assignee = 'mine'", []).unwrap();
    let there = json!({ "title": "Paint theirs", "notes": "theirs", "assignee": "theirs" });
    session.client.patch(&session.first_task_path().await, &there).await;
    session.resume_sync("1 needs you", "in conflict");
    session.press("\r", "Theirs");
    session.screen.type_keys("tmm");
    session.press("\x13", "settled");
    session.is_in_step();
    let all = async |session: &Session| {
        let task = session.first("tasks").await;
        ["title", "notes", "assignee"].map(|member| task[member].as_str().unwrap().to_owned())
    };
    assert_eq!(all(&session).await, ["Paint theirs", "mine", "mine"]);
    session.leave_decision();
    session.press("u", "Undone: the decision about “Paint mine”");
    session.is_in_step();
    assert_eq!(all(&session).await, ["Paint theirs", "theirs", "theirs"]);
    // A second undo must not revert the first.
    session.screen.type_keys("u");
    session.screen.wait_for_text("nothing left to undo");
    assert_eq!(all(&session).await, ["Paint theirs", "theirs", "theirs"]);
    session.press("U", "Done again: the decision");
    session.is_in_step();
    assert_eq!(all(&session).await, ["Paint theirs", "mine", "mine"]);
}

#[tokio::test]
async fn change_of_deleted_record_is_settled_by_keys() {
    let mut session = Session::new(&["Paint", "Sand"]).await;
    session.press("2", "2 tasks");
    session.pause_sync();
    session.press("\x1b", "by due day");
    session.extend_title(" it", "Paint it");
    session.press("j", "Sand");
    session.extend_title(" it", "Sand it");
    for task in session.client.list_all("/v1/tasks").await {
        session.client.delete(&format!("/v1/tasks/{}", task["id"].as_str().unwrap())).await;
    }
    session.press("S", "Waiting to be sent");
    session.resume_sync("2 need you", "in conflict");
    session.press("\r", "it was deleted on the server");
    session.press("m", "All fields are chosen");
    session.press("\x13", "1 needs you");
    // The decided edit is sent, so the cursor is on the other edit.
    session.screen.wait_until_gone("Paint it");
    session.press("\r", "it was deleted on the server");
    session.press("t", "All fields are chosen");
    session.press("\x13", "Nothing waits");
    session.is_in_step();
    assert_eq!(session.tasks("title").await, ["Paint it"]);
    session.quit("\x03");
}

#[tokio::test]
async fn rejected_change_is_corrected_and_sent() {
    let mut session = Session::new(&[]).await;
    session.client.post("/v1/rooms", &json!({ "name": "Garage" })).await;
    session.press("4", "1 room");
    session.pause_sync();
    session.press("\x1b", "1 room");
    session.press("3", "No inventory yet");
    session.press("n", "New item");
    session.press("Lamp\tgar", "enter take");
    session.screen.wait_for_text("Garage");
    session.press("\r", "New item");
    session.screen.wait_until_gone("enter take");
    session.press("\x13", "New item: Lamp");
    let id = session.first("rooms").await["id"].as_str().unwrap().to_owned();
    session.client.delete(&format!("/v1/rooms/{id}")).await;
    session.press("S", "Waiting to be sent");
    session.resume_sync("1 needs you", "rejected");
    session.screen.wait_for_text("Room names no room of this home.");
    session.screen.wait_for_text("e enters other values, d discards the change.");
    session.press("e", "Change the item");
    session.screen.wait_for_text("something that is not here");
    session.screen.wait_for_text("Room names no room of this home.");
    session.screen.type_keys("\x7f");
    session.screen.wait_until_gone("something that is not here");
    session.press("\x13", "goes to the server");
    session.is_in_step();
    let there = session.first("inventory").await;
    assert_eq!((&there["name"], &there["room_id"]), (&json!("Lamp"), &Value::Null));
    session.quit("\x03");
}

#[tokio::test]
async fn local_home_is_connected_from_the_sync_screen() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let address = client.url().to_owned();
    let db = home.path("local.db");
    let created = hearth_tests::process::run("hearth-replica", &["--db", &db, "init", "--no-server"]);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
    let directory = home.path("");
    let mut screen = Terminal::start("hearth", &["--db", &db], Path::new(&directory), (110, 30));
    screen.wait_for_text("on this machine only");
    screen.type_keys("aSweep the chimney\r");
    screen.wait_for_text("New task: Sweep the chimney");
    screen.type_keys("S");
    screen.wait_for_text("none: all data is on this machine only");
    // Back from the form, nothing has changed.
    screen.type_keys("c");
    screen.wait_for_text("enter next, then connect");
    screen.type_keys("\x1b");
    screen.wait_for_text("none: all data is on this machine only");
    // The address is typed ahead of the form.
    screen.type_keys(&format!("c{address}\r"));
    screen.type_keys(&format!("{}\r", home.key));
    screen.wait_for_text("● live");
    wait_until("the task is on the server", || {
        let connection = Connection::open(&db).unwrap();
        connection.query_row("SELECT count(*) = 0 FROM edits", [], |row| row.get(0)).unwrap()
    });
    let tasks = client.list_all("/v1/tasks").await;
    assert_eq!(tasks[0]["title"], "Sweep the chimney");
    screen.type_keys("\x1b");
    screen.wait_until_gone("Last contact");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
    // The next start syncs by itself.
    let mut screen = Terminal::start("hearth", &["--db", &db], Path::new(&directory), (110, 30));
    screen.wait_for_text("● live");
    screen.type_keys("q");
    assert!(screen.wait_for_exit());
}
