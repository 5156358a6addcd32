//! The recipes of `docs/`, run as they stand: every block of shell, in order, in one shell. And its lists are whole.

use std::path::Path;
use std::process::{Command, Stdio};

use hearth_tests::process::program;
use hearth_tests::simulation::planted::PLANTED;

/// The blocks that are fenced as `sh`.
fn recipes(document: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = document;
    while let Some((_, after)) = rest.split_once("\n```sh\n") {
        let (block, after) = after.split_once("\n```\n").expect("a fence that is closed");
        found.push(block);
        rest = after;
    }
    found
}

/// How to test a client of the API.
fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/testing-sync.md");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn each_fault_that_can_be_planted_is_listed() {
    let document = document();
    assert!(document.contains(&format!("So {} faults", PLANTED.len())));
    for planted in &PLANTED {
        assert!(document.contains(&format!("| {} | ", planted.name)), "{}", planted.name);
    }
}

#[test]
fn the_recipes_for_testing_sync_work_as_they_stand() {
    let document = document();
    let recipes = recipes(&document);
    assert_eq!(recipes.len(), document.matches("```sh").count());
    assert!(recipes.len() >= 12, "{} recipes", recipes.len());

    let dir = tempfile::tempdir().unwrap();
    let script = format!(
        "set -euo pipefail\ntrap 'code=$?; kill $(jobs -p) 2>/dev/null || true; wait; exit $code' EXIT\nset -x\n{}\n",
        recipes.join("\n")
    );
    let programs = program("hearth-server").parent().unwrap().to_owned();
    program("hearth-replica");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let output = Command::new("timeout")
        .args(["240", "bash", "-c", &script])
        .current_dir(dir.path())
        .env("PATH", path)
        .env_remove("HEARTH_API_KEY")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", said(&output.stdout), said(&output.stderr));
}
