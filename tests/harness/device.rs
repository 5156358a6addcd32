//! A replica in a file, with its command line, its daemon and plain SQL. Must not know the test.

use std::process::Output;

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::Value;

use crate::process::{Process, run, wait_until};

/// A replica on one device. Tests run its commands and read its tables as scripts do.
pub struct Device {
    /// Path of the replica database.
    pub db: String,
}

impl Device {
    /// Starts the daemon, which syncs the replica.
    pub fn start_daemon(&self) -> Process {
        Process::start("hearth-replica", &["--db", &self.db, "run"])
    }

    /// Runs a command of `hearth-replica` until the command exits.
    pub fn run(&self, arguments: &[&str]) -> Output {
        run("hearth-replica", &[&["--db", &self.db], arguments].concat())
    }

    /// Runs a command. Returns the exit code, and stdout and stderr as one text.
    pub fn run_text(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code().expect("no signal ended the command"), text)
    }

    /// Runs `sync`, which ends when each edit is confirmed or waits for a person. Returns the exit code.
    pub fn sync(&self) -> i32 {
        self.run_text(&["sync"]).0
    }

    /// Runs a command that must succeed. Returns stdout.
    pub fn run_ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim().to_owned()
    }

    /// Runs a command with `--json`, which must succeed. Returns the written JSON.
    pub fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.run_ok(&[arguments, &["--json"]].concat())).expect("JSON")
    }

    /// Executes SQL statements on a new connection, as a script does.
    pub fn execute(&self, sql: &str) {
        self.connect().execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// The first value that a query selects, as text. Empty for NULL and for no row.
    pub fn query_text(&self, sql: &str) -> String {
        let first = self.query_rows(sql).into_iter().next();
        first.and_then(|row| row.into_iter().next()).unwrap_or_default()
    }

    /// The first row that a query selects, each value as text, with NULL as an empty text.
    pub fn query_row(&self, sql: &str) -> Vec<String> {
        self.query_rows(sql).into_iter().next().unwrap_or_else(|| panic!("{sql}: no row"))
    }

    /// All rows that a query selects, each value as text, with NULL as an empty text.
    pub fn query_rows(&self, sql: &str) -> Vec<Vec<String>> {
        let read = || {
            let connection = self.connect();
            let mut statement = connection.prepare(sql)?;
            let columns = statement.column_count();
            let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at).map(cell_text)).collect())?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The number of rows of a table, or of `TABLE WHERE CONDITION`.
    pub fn count(&self, rows: &str) -> i64 {
        self.query_text(&format!("SELECT count(*) FROM {rows}")).parse().expect("a number")
    }

    /// The sync phase, such as `live`.
    pub fn phase(&self) -> String {
        self.query_text("SELECT phase FROM sync_status")
    }

    /// Waits until the replica is in a sync phase.
    pub fn wait_for_phase(&self, phase: &str) {
        wait_until(&format!("the replica is {phase}"), || self.phase() == phase);
    }

    /// Writes a conflict policy into the profile in place of `ask`.
    pub fn set_conflict_policy(&self, word: &str) {
        let file = format!("{}.toml", self.db);
        let text = std::fs::read_to_string(&file).expect("a profile").replace("\"ask\"", &format!("\"{word}\""));
        std::fs::write(file, text).expect("a profile");
    }

    /// Replaces the API key of the profile.
    pub fn set_key(&self, key: &str) {
        std::fs::write(format!("{}.key", self.db), key).expect("a key file");
    }

    fn connect(&self) -> Connection {
        let connection = Connection::open(&self.db).expect("the database opens");
        connection.busy_timeout(std::time::Duration::from_secs(5)).expect("a timeout");
        connection
    }
}

fn cell_text(cell: Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Integer(number) => number.to_string(),
        Cell::Real(number) => number.to_string(),
        Cell::Text(text) => text,
        Cell::Blob(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
