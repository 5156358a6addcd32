//! `drill` without a usable server, and drills that a signal ends: a drill that cannot run is skipped, and no process or
//! directory is left. The drills on real programs are in tests/suites.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{set_mode, text};

fn drill(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.args(["--json", "drill", "poison"]).args(arguments).stdin(Stdio::null());
    command
}

/// Writes an executable shell script.
fn program(directory: &Path, name: &str, script: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    set_mode(&path, 0o700);
    path
}

/// The reason why a drill was skipped.
#[track_caller]
fn untried(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let reported: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    assert_eq!((output.status.code(), &reported["verdict"]), (Some(3), &"skipped".into()), "{reported:#}");
    reported["reason"].as_str().unwrap().to_owned()
}

#[test]
fn drill_without_setup_is_skipped_with_path() {
    let dir = tempfile::tempdir().unwrap();
    let server = program(dir.path(), "good", "echo hearth-server 0.1.0");
    let nowhere = dir.path().join("nowhere");
    let reason = untried(drill(&["--server-bin", server.to_str().unwrap()]).env("TMPDIR", &nowhere));
    assert!(reason.contains(nowhere.to_str().unwrap()), "{reason}");

    let foreign = program(dir.path(), "foreign", "echo something else");
    for (mode, why) in [(0o700, "is not hearth-server"), (0o600, "cannot be started: ")] {
        set_mode(&foreign, mode);
        // The profile does not matter, even one whose name is refused elsewhere.
        let reason = untried(drill(&["--server-bin", foreign.to_str().unwrap()]).env("HEARTH_PROFILE", "../x"));
        assert!(reason.contains(&format!("{} {why}", foreign.display())), "{reason}");
    }
}

#[test]
fn drill_runs_the_named_server() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    program(here.path(), "named", "echo the one that is here");
    program(elsewhere.path(), "named", "echo the one of PATH");
    let path = format!("{}:{}", elsewhere.path().display(), std::env::var("PATH").unwrap());
    let reason = untried(drill(&["--server-bin", "named"]).current_dir(here.path()).env("PATH", path));
    assert!(reason.contains("the one that is here"), "{reason}");
}

/// True when this process ignores SIGHUP, as its child processes then do.
fn ignores_hangup() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    u64::from_str_radix(ignored, 16).unwrap() & 1 == 1
}

/// Ends a drill with a signal while its server runs. Returns its stderr and the number of directories that are left.
fn ended_by((signal, code): (&str, i32), arguments: &[&str]) -> (String, usize) {
    let dir = tempfile::tempdir().unwrap();
    let (scratch, fifo) = (dir.path().join("scratch"), dir.path().join("fifo"));
    std::fs::create_dir(&scratch).unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let server = program(dir.path(), "server", &format!("echo $$ > {}; exec sleep 1000", fifo.display()));
    let mut command = drill(&[&["--server-bin", server.to_str().unwrap()], arguments].concat());
    let drill = command.env("TMPDIR", &scratch).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = std::fs::read_to_string(&fifo).unwrap().trim().to_owned();
    assert!(Command::new("kill").args([signal, &drill.id().to_string()]).status().unwrap().success());
    let output = drill.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{signal}: {}", text(&output.stderr));
    assert!(!Path::new("/proc").join(&pid).exists(), "its program still runs");
    (text(&output.stderr), std::fs::read_dir(&scratch).unwrap().count())
}

#[test]
fn signal_ends_drill_and_its_programs() {
    // Under `nohup` SIGHUP is ignored.
    let hangup = if ignores_hangup() { None } else { Some(("-HUP", 129)) };
    for signal in [("-TERM", 143), ("-INT", 130)].into_iter().chain(hangup) {
        assert_eq!(ended_by(signal, &[]), (String::new(), 0), "{signal:?}");
    }
    let (printed, left) = ended_by(("-INT", 130), &["--keep"]);
    assert_eq!(left, 1);
    assert!(
        printed.contains("the scratch directory is kept in ") && printed.contains("hearth-drill-poison-"),
        "{printed}"
    );
}
