//! A replica in a file: its programs, its command line, and plain SQL on it as scripts write. Must not know what is tried.

use std::process::Output;

use rusqlite::Connection;
use serde_json::Value;

use crate::process::{Process, run, wait_until};

/// A replica and its command line.
pub struct Device {
    /// Its database.
    pub db: String,
}

impl Device {
    /// Starts the program that keeps it in step.
    pub fn daemon(&self) -> Process {
        Process::start("hearth-replica", &["--db", &self.db, "run"])
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run("hearth-replica", &[&["--db", &self.db], arguments].concat())
    }

    /// Runs a command to its end: the exit code, and whatever it said.
    pub fn said(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code().expect("it ended by itself"), said)
    }

    /// Until everything is pushed or waits for a person; gives the exit code.
    pub fn sync(&self) -> i32 {
        self.said(&["sync"]).0
    }

    /// A command that must succeed.
    pub fn does(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    }

    /// What a command that must succeed writes as JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.does(&[arguments, &["--json"]].concat())).expect("JSON")
    }

    /// Statements on a connection of their own, as a script's.
    pub fn sql(&self, text: &str) {
        self.connect().execute_batch(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    /// One value as text.
    pub fn one(&self, text: &str) -> String {
        let text = format!("SELECT CAST(({text}) AS TEXT)");
        let value = self.connect().query_row(&text, [], |row| row.get::<_, Option<String>>(0));
        value.unwrap_or_else(|error| panic!("{text}: {error}")).unwrap_or_default()
    }

    /// How far it says that it is in step.
    pub fn phase(&self) -> String {
        self.one("SELECT phase FROM sync_status")
    }

    /// Waits until it says so.
    pub fn comes_to(&self, phase: &str) {
        wait_until(&format!("the replica is {phase}"), || self.phase() == phase);
    }

    /// What the profile says becomes of conflicts.
    pub fn policy(&self, word: &str) {
        let file = format!("{}.toml", self.db);
        let text = std::fs::read_to_string(&file).expect("a profile").replace("\"ask\"", &format!("\"{word}\""));
        std::fs::write(file, text).expect("a profile");
    }

    /// Gives its profile another key.
    pub fn key(&self, key: &str) {
        std::fs::write(format!("{}.key", self.db), key).expect("a key file");
    }

    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.db).expect("the database opens");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a timeout");
        connection
    }
}
