//! The quick drills of `hearth-replica` on the built programs. `.ci/run` runs the slow drills.

use hearth_tests::process::{command, run};
use serde_json::Value;

/// Runs a drill. Returns the exit code and the JSON report.
fn drill(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run("hearth-replica", &[&["--json", "drill"], arguments].concat());
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code(), report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

fn passes(name: &str) {
    let (code, report) = drill(&[name]);
    assert_eq!((code, &report["verdict"]), (Some(0), &"passed".into()), "{report:#}");
}

#[test]
fn retention_loss_drill_passes() {
    passes("retention-loss");
}

#[test]
fn lost_ack_drill_passes() {
    passes("lost-ack");
}

#[test]
fn poison_drill_passes() {
    passes("poison");
}

#[test]
fn server_restore_drill_passes() {
    passes("server-restore");
}

#[test]
fn crash_drill_passes() {
    passes("crash");
}

#[test]
fn disk_full_drill_passes_or_is_skipped() {
    let (code, report) = drill(&["disk-full"]);
    // Not every machine lets a test mount a file system; the drill is then skipped.
    let expected = if report["verdict"] == "skipped" { Some(3) } else { Some(0) };
    assert_eq!(code, expected, "{report:#}");
}

#[test]
fn clock_drill_passes_or_is_skipped() {
    let (code, report) = drill(&["clock"]);
    // Without `faketime` on the machine the drill is skipped.
    let expected = if report["verdict"] == "skipped" { Some(3) } else { Some(0) };
    assert_eq!(code, expected, "{report:#}");
}

/// The fake server confirms `lab trim` and trims nothing. The drill must fail, because no retention loss happened.
#[test]
fn drill_without_its_situation_fails() {
    let dir = tempfile::tempdir().unwrap();
    let fake = dir.path().join("hearth-server");
    let real = hearth_tests::process::program("hearth-server");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *'lab trim'*) echo '{{\"thinned\": 0}}' ;; *) exec '{}' \"$@\" ;; esac\n",
        real.display()
    );
    std::fs::write(&fake, script).unwrap();
    std::fs::set_permissions(&fake, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let (code, report) = drill(&["retention-loss", "--server-bin", fake.to_str().unwrap()]);
    assert_eq!((code, &report["verdict"]), (Some(1), &"failed".into()), "{report:#}");
    assert!(report["reason"].as_str().unwrap().contains("the drill tested nothing"), "{report:#}");
}

#[test]
fn empty_tmpdir_uses_default_scratch_dir() {
    let output = command("hearth-replica", &["--json", "drill", "poison"]).env("TMPDIR", "").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["verdict"]), (Some(0), &"passed".into()), "{report:#}");
}

#[test]
fn drill_keeps_directory_only_when_asked() {
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
