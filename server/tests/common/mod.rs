//! Runs the server program as an operator does, and reads the output. Must not know what a test verifies.
#![allow(dead_code, clippy::unwrap_used, reason = "each suite uses some of these helpers; a failing test panics")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The command of the program, with a data directory and arguments.
pub(crate) fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-server"));
    command.arg("--data").arg(data).args(arguments).stdin(Stdio::null());
    command.env_remove("HEARTH_DATA").env_remove("HEARTH_LOG");
    command
}

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    command(data, arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Runs a command that must succeed.
fn succeed(data: &Path, arguments: &[&str]) -> Output {
    let output = run(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    output
}

/// Stdout of a command that must succeed.
pub(crate) fn stdout(data: &Path, arguments: &[&str]) -> String {
    text(&succeed(data, arguments).stdout)
}

/// Stderr of a command that must succeed.
pub(crate) fn stderr(data: &Path, arguments: &[&str]) -> String {
    text(&succeed(data, arguments).stderr)
}

/// The JSON on stdout of a command that must succeed.
pub(crate) fn json(data: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(data, &[&["--json"], arguments].concat())).unwrap()
}

/// Stderr of a command that must fail with exit code 1 and print nothing on stdout.
pub(crate) fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}

/// A data directory with the team "Hill house" and its filled sandbox.
pub(crate) fn data_with_team() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    stdout(dir.path(), &["team", "create", "Hill house"]);
    stdout(dir.path(), &["sandbox", "reset", "--team", "Hill house"]);
    dir
}

/// A server process. The server has printed its address.
pub(crate) struct Serving {
    child: Child,
    /// The first line on stdout.
    pub(crate) line: String,
}

impl Serving {
    /// Starts `serve` on a free port of the loopback address.
    pub(crate) fn start(data: &Path, options: &[&str]) -> Serving {
        Serving::run(data, &[&["serve", "--listen", "127.0.0.1:0"], options].concat())
    }

    /// Starts the program with all `arguments` and waits for the first line on stdout.
    pub(crate) fn run(data: &Path, arguments: &[&str]) -> Serving {
        Serving::of(&mut command(data, arguments))
    }

    /// Starts a prepared command and waits for the first line on stdout.
    pub(crate) fn of(command: &mut Command) -> Serving {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Serving { child, line: line.trim().to_owned() }
    }

    /// The address as `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        self.line.strip_prefix("listening on http://").unwrap()
    }

    /// Ends the server with SIGTERM. Returns the exit code and the log.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        let output = self.child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    }
}
