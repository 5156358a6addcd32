//! The drills of `hearth-replica` on the programs as they are built here. Those that wait for long stand in `.ci/run`.

use hearth_tests::process::{command, run};
use serde_json::Value;

/// Runs a drill; gives its exit code and what it told.
fn drill(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run("hearth-replica", &[&["--json", "drill"], arguments].concat());
    let told = serde_json::from_slice(&output.stdout);
    (output.status.code(), told.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

fn passes(name: &str) {
    let (code, told) = drill(&[name]);
    assert_eq!((code, &told["verdict"]), (Some(0), &"passed".into()), "{told:#}");
}

#[test]
fn history_that_was_thinned_out_is_made_up_for() {
    passes("retention-loss");
}

#[test]
fn lost_answers_lose_and_double_nothing() {
    passes("lost-ack");
}

#[test]
fn a_poisoned_edit_holds_nothing_up() {
    passes("poison");
}

#[test]
fn a_server_that_was_put_back_is_followed() {
    passes("server-restore");
}

#[test]
fn kills_lose_and_double_nothing() {
    passes("crash");
}

#[test]
fn a_full_disk_heals() {
    let (code, told) = drill(&["disk-full"]);
    // Not every machine lets a test mount a disk.
    let expected = if told["verdict"] == "skipped" { Some(3) } else { Some(0) };
    assert_eq!(code, expected, "{told:#}");
}

#[test]
fn a_wrong_clock_changes_nothing() {
    let (code, told) = drill(&["clock"]);
    // Not every machine has the program that tells another time.
    let expected = if told["verdict"] == "skipped" { Some(3) } else { Some(0) };
    assert_eq!(code, expected, "{told:#}");
}

/// A server that says that it thins out and does not: the drill must not pass by not having happened.
#[test]
fn a_drill_that_did_not_happen_fails() {
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("hearth-server");
    let real = hearth_tests::process::program("hearth-server");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'lab trim'*) echo '{{\"thinned\": 0}}' ;; *) exec '{}' \"$@\" ;; esac\n",
        real.display()
    );
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (code, told) = drill(&["retention-loss", "--server-bin", fake.to_str().unwrap()]);
    assert_eq!((code, &told["verdict"]), (Some(1), &"failed".into()), "{told:#}");
    assert!(told["reason"].as_str().unwrap().contains("the drill tested nothing"), "{told:#}");
}

#[test]
fn a_place_for_scratch_files_that_is_empty_is_none() {
    let output = command("hearth-replica", &["--json", "drill", "poison"]).env("TMPDIR", "").output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &told["verdict"]), (Some(0), &"passed".into()), "{told:#}");
}

#[test]
fn a_drill_keeps_its_directory_only_when_asked_and_its_programs_never() {
    let dir = tempfile::tempdir().unwrap();
    let in_dir = |arguments: &[&str]| {
        let output = command("hearth-replica", arguments).env("TMPDIR", dir.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>()
    };
    assert!(in_dir(&["drill", "retention-loss"]).is_empty());
    let kept = in_dir(&["drill", "retention-loss", "--keep"]);
    assert!(kept.len() == 1 && kept[0].join("daemon.log").exists(), "{kept:?}");
    let scratch = kept[0].display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok());
    assert!(!lines.into_iter().any(|line| line.contains(&scratch)), "a program of the drill still runs");
}
