//! `docs/testing-sync.md` is true: its shell blocks run in order in one shell, and its lists are complete.
//! Must not know how the tools work.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};

use hearth_tests::process::{program, run, stdout};
use hearth_tests::simulation::planted::PLANTED;
use serde_json::Value;

/// The fenced `sh` blocks of a document.
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

/// The text of `docs/testing-sync.md`.
fn document() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/testing-sync.md");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn every_planted_fault_is_documented() {
    let document = document();
    assert!(document.contains(&format!("So {} faults", PLANTED.len())));
    for planted in &PLANTED {
        assert!(document.contains(&format!("| `{}` | ", planted.fault.as_str())), "{}", planted.fault.as_str());
    }
}

/// The rows of the table under "What --json writes": the JSON members by the first cell.
fn members_told(document: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let section = document.split("## What --json writes").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| (cells[0], cells[2].split('`').skip(1).step_by(2).collect())).collect()
}

fn members(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn json_members_match_document() {
    let document = document();
    let report = members_told(&document);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().to_str().unwrap();
    stdout("hearth-server", &["--data", data, "team", "create", "Hill house"]);
    let mut agreed = BTreeSet::new();
    for (row, arguments) in [
        ("`lab seed`", &["seed", "--records", "30"][..]),
        ("`lab churn`", &["churn", "--count", "9", "--rate", "1000"]),
        ("`lab forget-keys`", &["forget-keys"]),
        ("`lab rewind`", &["rewind", "--by", "1"]),
        ("`lab trim`", &["trim"]),
    ] {
        let written = stdout("hearth-server", &[&["--data", data, "--json", "lab"], arguments].concat());
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!(members(&written), report[row], "{row}");
        assert_eq!(members(&written["home"]), report["`home` of `lab`"]);
        agreed.extend([row, "`home` of `lab`"]);
    }

    let drilled = |arguments: &[&str]| {
        let output = run("hearth-replica", &[&["--json", "drill"], arguments].concat());
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).ok())
    };
    let (code, one) = drilled(&["poison"]);
    let one = one.unwrap();
    assert_eq!((code, members(&one)), (Some(0), report["`drill NAME`"].clone()));
    assert_eq!(members(&one["trace"][0]), report["`trace` of a drill"]);
    agreed.extend(["`drill NAME`", "`trace` of a drill"]);
    assert_eq!(agreed, report.keys().copied().collect(), "each row is held to what is written");

    // With a program that is no server, each drill is skipped.
    let (code, several) = drilled(&["poison", "crash", "--server-bin", "/bin/sh"]);
    let several = several.unwrap();
    assert_eq!((code, several.as_array().unwrap().len()), (Some(3), 2));
    assert!(several.as_array().unwrap().iter().all(|drill| drill["verdict"] == "skipped" && drill["kept"].is_null()));
    assert_eq!(drilled(&["poison", "--server-bin", "/no/such"]), (Some(3), None));
}

#[test]
fn testing_sync_recipes_run() {
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
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
}
