//! `query`: any answer in the form that was asked for, however long it is, and with nothing in it lost.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::{json, new_replica, refusal, replica, sqlite3, text};

/// Numbers, one after the other, until so many.
fn numbers(most: &str) -> String {
    format!("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {most}) SELECT n FROM n")
}

fn empty() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("replica.db");
    new_replica(&db);
    (dir, db)
}

#[test]
fn an_answer_without_end_is_told_as_it_comes_and_ends_when_nobody_reads() {
    let (_dir, db) = empty();
    for form in ["--csv", "--json"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
        command.arg("--db").arg(&db).args(["query", &numbers("9e18"), form]).env("HOME", db.parent().unwrap());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        if form == "--csv" {
            let lines: Vec<String> = (&mut out).lines().take(3).map(Result::unwrap).collect();
            assert_eq!(lines, ["n", "1", "2"]);
        } else {
            let mut begin = [0; 17];
            out.read_exact(&mut begin).unwrap();
            assert_eq!(&begin, br#"[{"n":1},{"n":2},"#);
        }
        drop(out);
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), text(&ended.stderr)), (Some(0), String::new()), "{form}");
    }
}

#[test]
fn a_table_has_an_end() {
    let (_dir, db) = empty();
    let (exit, said) = refusal(&db, &["query", &numbers("9e18")]);
    assert_eq!(exit, 2, "{said}");
    assert!(said.contains("more than 100000 rows") && said.contains("--csv") && said.contains("LIMIT"), "{said}");
    assert!(replica(&db, &["query", &numbers("100000")]).status.success());
}

#[test]
fn an_answer_is_whole_in_every_form() {
    let (_dir, db) = empty();
    let sql = "SELECT x'00ff' AS bytes, NULL AS none, 'a,\"b' AS words, 1.5 AS real UNION ALL SELECT x'', 2, '', 3";
    let rows = json(&db, &["query", sql]);
    assert_eq!(rows[0], json!({ "bytes": "X'00FF'", "none": null, "words": "a,\"b", "real": 1.5 }));
    assert_eq!(rows[1]["bytes"], "X''");
    let csv = text(&replica(&db, &["query", sql, "--csv"]).stdout);
    assert_eq!(csv, "bytes,none,words,real\nX'00FF',,\"a,\"\"b\",1.5\nX'',2,,3");
    assert!(text(&replica(&db, &["query", sql]).stdout).contains("X'00FF'"));
    assert!(text(&replica(&db, &["query", "--help"]).stdout).contains("X'00FF'"));
    // Without rows too.
    let none = "SELECT 1 AS one WHERE 0";
    assert_eq!(json(&db, &["query", none]), Value::Array(Vec::new()));
    assert_eq!(text(&replica(&db, &["query", none, "--csv"]).stdout), "one");
    assert_eq!(text(&replica(&db, &["query", none]).stdout), "one");
}

#[test]
fn a_statement_that_fails_at_once_writes_no_data() {
    let (_dir, db) = empty();
    for form in ["--csv", "--json"] {
        let (exit, said) = refusal(&db, &["query", "SELECT abs(-9223372036854775808)", form]);
        assert!(exit == 1 && said.contains("overflow"), "{said}");
    }
}

#[test]
fn what_fails_midway_leaves_one_document() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("replica.db");
    new_replica(&db);
    let output = replica(&db, &["query", "SELECT 1 AS one UNION ALL SELECT json('x')", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), json!([{ "one": 1 }]));
    let output = replica(&db, &["query", " ; "]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no statement to run"), "{}", text(&output.stderr));
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code_and_ends_what_only_writes() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("replica.db");
    new_replica(&db);
    let unread = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
        command.arg("--db").arg(&db).args(arguments).env("HOME", directory.path()).env_remove("HEARTH_API_KEY");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    // There is no server: doctor finds that, whoever hears of it.
    let heard = replica(&db, &["doctor"]);
    assert_ne!(heard.status.code(), Some(0));
    assert_eq!(unread(&["doctor"]), (heard.status.code(), text(&heard.stderr)));
    // Without an end of its own it would go on for ever.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    for form in ["--json", "--csv"] {
        assert_eq!(unread(&["query", endless, form]).0, Some(0), "{form}");
    }
}

#[test]
fn a_full_stdout_is_not_called_a_full_disk() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("replica.db");
    new_replica(&db);
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth-replica"));
    command.arg("--db").arg(&db).args(["add", "rooms", "name=Hall"]).env("HOME", directory.path());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command.stdout(full).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("cannot write the result to stdout: No space left"), "{said}");
}

#[test]
fn a_list_is_ordered_by_the_whole_text_of_a_field() {
    let directory = tempfile::tempdir().unwrap();
    let db = directory.path().join("replica.db");
    new_replica(&db);
    for (name, floor) in [
        ("zeta", "'Main'"),
        ("alpha", "'Main 2'"),
        ("beta", "'Main'"),
        ("gamma", "'Mainz'"),
        ("none", "NULL"),
        ("delta", "'Äußen'"),
    ] {
        assert!(sqlite3(&db, &format!("INSERT INTO rooms (name, floor) VALUES ('{name}', {floor})")).status.success());
    }
    let names = |more: &[&str]| {
        let output = replica(&db, &[&["list", "rooms", "--sort", "floor", "--json"], more].concat());
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let expected = ["beta", "zeta", "alpha", "gamma", "delta", "none"];
    assert_eq!(names(&[]), expected);
    let mut turned = expected;
    turned.reverse();
    assert_eq!(names(&["--desc"]), turned);
}
