//! The demo on a fresh machine: no terminal, no home. Must not use the library of the program.
#![allow(clippy::unwrap_used, reason = "a failed test panics")]

use std::process::{Command, Output, Stdio};

fn hearth(arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(arguments)
        .env("HOME", home.path())
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_DATA_HOME")
        .output()
        .unwrap()
}

#[test]
fn tour_prints_every_step() {
    let output = hearth(&["demo", "--plain"]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}{}", String::from_utf8_lossy(&output.stderr));
    let steps = ["A home is served at", "First sync:", "Live:", "Offline:", "Back:", "Script:", "Equal:"];
    let found: Vec<&str> =
        told.lines().filter_map(|line| steps.into_iter().find(|step| line.starts_with(step))).collect();
    assert_eq!(found, steps, "{told}");
}

#[test]
fn named_missing_home_is_an_error() {
    for (arguments, says) in [
        (["--profile", "lake"], "No home is set up on this machine yet"),
        (["--db", "/nowhere/lake.db"], "there is no database at /nowhere/lake.db"),
    ] {
        let output = hearth(&arguments);
        let sentence = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && sentence.contains(says), "{sentence}");
    }
}

#[test]
fn no_home_prints_tour_and_how_to_connect() {
    let output = hearth(&[]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stderr).contains("hearth-replica init --server"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Equal:"));
}

#[test]
fn closed_pipe_is_no_failure() {
    let home = tempfile::tempdir().unwrap();
    for arguments in [&["keys"][..], &["demo", "--plain"]] {
        let mut hearth = Command::new(env!("CARGO_BIN_EXE_hearth"));
        hearth.args(arguments).env("HOME", home.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = hearth.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let sentence = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), sentence.contains("panicked")),
            (Some(0), false),
            "{arguments:?}: {sentence}"
        );
    }
}
