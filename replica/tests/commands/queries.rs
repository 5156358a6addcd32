//! `query`: results in each output format, of any length, without losses.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{UNREACHABLE, command, empty_replica, json, refuses, replica, sqlite3, text, write_profile};

/// A query for the numbers from 1 to `most`.
fn numbers(most: &str) -> String {
    format!("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {most}) SELECT n FROM n")
}

#[test]
fn endless_query_streams_until_reader_leaves() {
    let (_dir, db) = empty_replica();
    for form in ["--csv", "--json"] {
        let mut command = command(&db, &["query", &numbers("9e18"), form]);
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
fn table_output_is_limited() {
    let (_dir, db) = empty_replica();
    refuses(&db, &["query", &numbers("9e18")], 2, &["more than 100000 rows", "--csv", "LIMIT"]);
    assert!(replica(&db, &["query", &numbers("100000")]).status.success());
}

#[test]
fn query_keeps_values_in_each_format() {
    let (_dir, db) = empty_replica();
    let sql = "SELECT x'00ff' AS bytes, NULL AS none, 'a,\"b' AS words, 1.5 AS real UNION ALL SELECT x'', 2, '', 3";
    let rows = json(&db, &["query", sql]);
    assert_eq!(rows[0], json!({ "bytes": "X'00FF'", "none": null, "words": "a,\"b", "real": 1.5 }));
    assert_eq!(rows[1]["bytes"], "X''");
    let csv = text(&replica(&db, &["query", sql, "--csv"]).stdout);
    assert_eq!(csv, "bytes,none,words,real\nX'00FF',,\"a,\"\"b\",1.5\nX'',2,\"\",3");
    assert!(text(&replica(&db, &["query", sql]).stdout).contains("X'00FF'"));
    assert!(text(&replica(&db, &["query", "--help"]).stdout).contains("X'00FF'"));
    // A result without rows keeps its columns.
    let none = "SELECT 1 AS one WHERE 0";
    assert_eq!(json(&db, &["query", none]), Value::Array(Vec::new()));
    assert_eq!(text(&replica(&db, &["query", none, "--csv"]).stdout), "one");
    assert_eq!(text(&replica(&db, &["query", none]).stdout), "one");
}

#[test]
fn query_output_cannot_steer_terminal() {
    let (_dir, db) = empty_replica();
    let hostile = "'a' || char(27) || '[31m' || char(155) || '2J' || char(8238) || 'b'";
    let sql = format!("SELECT {hostile} AS \"na\u{202e}me\u{9b}\", char(65279) || '=1+1' AS \"=x\"");
    let shown = |more: &[&str]| text(&replica(&db, &[&["query", &sql], more].concat()).stdout);
    for form in [&[][..], &["--csv"], &["--json"]] {
        let printed = shown(form);
        let steers = |c: char| c != '\n' && (c.is_control() || matches!(c, '\u{202e}' | '\u{feff}'));
        assert!(!printed.chars().any(steers), "{form:?}: {printed:?}");
    }
    // JSON keeps the exact values, and CSV is safe in a spreadsheet.
    let rows = json(&db, &["query", &sql]);
    assert_eq!(rows[0]["na\u{202e}me\u{9b}"], "a\u{1b}[31m\u{9b}2J\u{202e}b");
    assert_eq!(shown(&["--csv"]), "name\u{fffd},'=x\na\u{fffd}[31m\u{fffd}2Jb,'=1+1");
}

#[test]
fn failing_statement_writes_no_data() {
    let (_dir, db) = empty_replica();
    for form in ["--csv", "--json"] {
        refuses(&db, &["query", "SELECT abs(-9223372036854775808)", form], 1, &["overflow"]);
    }
}

#[test]
fn failure_midway_leaves_valid_json() {
    let (_directory, db) = empty_replica();
    let output = replica(&db, &["query", "SELECT 1 AS one UNION ALL SELECT json('x')", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), json!([{ "one": 1 }]));
}

#[test]
fn closed_stdout_keeps_exit_code() {
    let (_directory, db) = empty_replica();
    let unread = |arguments: &[&str]| {
        let mut child = command(&db, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    // `doctor` fails, because the server does not answer.
    write_profile(&db, UNREACHABLE, "svc_test_x");
    let heard = replica(&db, &["doctor"]);
    assert_ne!(heard.status.code(), Some(0));
    assert_eq!(unread(&["doctor"]), (heard.status.code(), text(&heard.stderr)));
    // The query ends only because the reader is gone.
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    for form in ["--json", "--csv"] {
        assert_eq!(unread(&["query", endless, form]).0, Some(0), "{form}");
    }
}

#[test]
fn full_stdout_is_no_full_disk() {
    let (_directory, db) = empty_replica();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = command(&db, &["add", "rooms", "name=Hall"]).stdout(full).output().unwrap();
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("cannot write the result to stdout: No space left"), "{printed}");
}

#[test]
fn list_sorts_by_whole_text() {
    let (_directory, db) = empty_replica();
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
