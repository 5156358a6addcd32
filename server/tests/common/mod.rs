//! The program as an operator runs it: what it is asked, and what it says. Must not know what for.
#![allow(dead_code, clippy::unwrap_used, reason = "each suite uses a part of it; one that cannot go on panics")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The program, about to run on a data directory.
pub(crate) fn command(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-server"));
    command.arg("--data").arg(data).args(arguments).env_remove("HEARTH_DATA").stdin(Stdio::null());
    command
}

pub(crate) fn run(data: &Path, arguments: &[&str]) -> Output {
    command(data, arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// Stdout of a command that must succeed.
pub(crate) fn said(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// Stderr of a command that must be refused.
pub(crate) fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "{arguments:?}: {}", text(&output.stdout));
    text(&output.stderr)
}
