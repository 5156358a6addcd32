//! The operator's commands, run as a person runs them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

mod common;
use common::{command, run, said, text};

/// Serves on a free port; gives the process and its address.
fn serve(data: &Path) -> (Child, String) {
    let mut serve = command(data, &["serve", "--listen", "127.0.0.1:0"]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().strip_prefix("listening on http://").unwrap().to_owned())
}

#[test]
fn a_first_serve_makes_a_team_and_a_second_server_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, address) = serve(dir.path());
    assert!(std::net::TcpStream::connect(&address).is_ok());
    let second = run(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("served by another process"), "{}", text(&second.stderr));
    // Commands work while it serves.
    let teams: Value = serde_json::from_slice(&run(dir.path(), &["team", "list", "--json"]).stdout).unwrap();
    assert_eq!((&teams[0]["name"], &teams[0]["plan"]), (&"My home".into(), &"paid".into()));
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(!dir.path().join("hearth.db-wal").exists(), "a clean stop leaves no log beside the database");
}

#[test]
fn several_programs_make_a_new_database_at_once() {
    for _ in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("new");
        let make = |nth: i32| {
            let mut make = command(&data, &["team", "create", &format!("Team {nth}")]);
            make.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let programs: Vec<Child> = (0..8).map(make).collect();
        for program in programs {
            let output = program.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn a_key_is_shown_once_and_never_again() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house", "--plan", "free"]).status.code(), Some(0));
    let made =
        run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone", "--quiet"]);
    let secret = text(&made.stdout);
    assert!(secret.starts_with("svc_test_") && secret.len() == 58 && made.stderr.is_empty());
    let listed = text(&run(dir.path(), &["key", "list", "--json"]).stdout);
    assert!(listed.contains("phone") && !listed.contains(&secret));
    let live = run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "live"]);
    assert!(text(&live.stderr).contains("warning"), "a live key on a free team comes with a warning");
    assert_eq!(run(dir.path(), &["key", "revoke", "phone"]).status.code(), Some(0));
    let after: Value = serde_json::from_slice(&run(dir.path(), &["key", "list", "--json"]).stdout).unwrap();
    assert!(after[0]["revoked_at"].is_string());
}

#[test]
fn what_cannot_be_done_is_a_sentence_and_what_is_mistyped_is_usage() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house"]).status.code(), Some(0));
    for (arguments, code, words) in [
        (&["key", "create", "--team", "nobody", "--env", "test"][..], 1, "there is no team `nobody`"),
        (&["key", "revoke", "nothing"], 1, "there is no key `nothing`"),
        (&["team", "create", " "], 2, "not blank"),
        (&["key", "create", "--team", "x", "--env", "test", "--scopes", "rooms:red"], 2, "rooms:read"),
        (&["key", "create", "--team", "x", "--env", "test", "--allow", "300.0.0.1"], 2, "300.0.0.1"),
        (&["key", "rotate", "nothing"], 1, "there is no key `nothing`"),
        (&["key", "unflag", "nothing"], 1, "there is no key `nothing`"),
        (&["team", "plan", "nobody", "free"], 1, "there is no team `nobody`"),
        (&["team", "plan", "nobody", "gold"], 2, "gold"),
        (&["sandbox", "reset", "--team", "nobody"], 1, "there is no team `nobody`"),
        (&["restore", "/nowhere/at/all"], 1, "/nowhere/at/all"),
        (&["key", "create", "--team", "x", "--env", "prod"], 2, "prod"),
        (&["key", "create", "--team", "x", "--env", "test", "--name", ""], 2, "not blank"),
        (&["key", "create", "--team", "x", "--env", "test", "--name", "a\u{1b}[31m\nb"], 2, "one line"),
        (&["key", "create", "--team", "x", "--env", "test", "--expires", "2020-01-01"], 2, "is past"),
        (&["restore", "/"], 1, "is a directory"),
        (&["--json", "openapi", "--yaml"], 2, "--json and --yaml"),
        (&["serve", "--retention", "soon"], 2, "soon"),
        (&["serve", "--rate-limits", "raeds=3"], 2, "raeds"),
        (&["serve", "--rate-limits", "reads=0"], 2, "reads must be at least 1"),
        (&["serve", "--heartbeat", "0s"], 2, "longer than nothing"),
        (&["serve", "--keepalive", "0ms"], 2, "longer than nothing"),
        (&["serve", "--max-streams", "0"], 2, "at least 1"),
        (&["serve", "--base-url", "foo"], 2, "https://hearth.example.org"),
        (&["serve", "--base-url", "ftp://example.org"], 2, "ftp://example.org"),
        (&["serve", "--base-url", "https://example.org/?a=b"], 2, "https://example.org/?a=b"),
        (&["openapi", "--base-url", "foo"], 2, "https://hearth.example.org"),
        (&["serve", "--trusted-proxy", "10.0.0.0/33"], 2, "10.0.0.0/33"),
        (&["serve", "--faults", "latency=150%"], 2, "line 1, column "),
        (&["serve", "--faults", "no-such-file"], 2, "neither a fault"),
    ] {
        let output = run(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(text(&output.stderr).contains(words), "{arguments:?}: {}", text(&output.stderr));
    }
    for arguments in [&["check"][..], &["serve", "--listen", "127.0.0.1:0"], &["team", "create", "Lake"]] {
        let output = run(&dir.path().join("hearth.db"), arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(text(&output.stderr).contains("--data names the directory"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_key_can_be_pinned_to_a_version_in_service() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house"]).status.code(), Some(0));
    let pin = |version: &str| {
        run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--pin", version, "--json"])
    };
    let made: Value = serde_json::from_slice(&pin("2026-06-01").stdout).unwrap();
    assert_eq!(made["api_version"], "2026-06-01");
    let refused = pin("2020-01-01");
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("the versions are"), "{}", text(&refused.stderr));
    assert_eq!(pin("soon").status.code(), Some(2));
}

#[test]
fn the_description_is_printed_without_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    let json: Value = serde_json::from_slice(&run(&nowhere, &["openapi"]).stdout).unwrap();
    assert_eq!((&json["openapi"], &json["info"]["x-stability"]), (&"3.1.0".into(), &"public_preview".into()));
    assert!(text(&run(&nowhere, &["openapi", "--yaml"]).stdout).starts_with("openapi: "));
    assert!(!nowhere.exists());
}

#[test]
fn what_it_writes_is_for_its_owner_alone() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("data");
    assert_eq!(run(&dir, &["team", "create", "Hill house"]).status.code(), Some(0));
    assert_eq!(std::fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    for entry in std::fs::read_dir(&dir).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", entry.file_name());
    }
}

#[test]
fn a_directory_that_was_there_is_made_its_owners_alone_unless_others_live_in_it() {
    let parent = tempfile::tempdir().unwrap();
    let mode = |dir: &Path, mode: Option<u32>| {
        if let Some(mode) = mode {
            std::fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
        }
        std::fs::metadata(dir).unwrap().permissions().mode() & 0o777
    };
    let (own, shared) = (parent.path().join("own"), parent.path().join("shared"));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(shared.join("of others")).unwrap();
    mode(&own, Some(0o755));
    mode(&shared, Some(0o755));
    for dir in [&own, &shared] {
        assert_eq!(run(dir, &["team", "create", "Hill house"]).status.code(), Some(0));
    }
    assert_eq!((mode(&own, None), mode(&shared, None)), (0o700, 0o755));
    // One that was opened up later is closed again.
    mode(&own, Some(0o750));
    assert_eq!(run(&own, &["check"]).status.code(), Some(0));
    assert_eq!(mode(&own, None), 0o700);
}

/// Lets the end of the keys of a name come.
fn expire(data: &Path, name: &str) {
    let db = rusqlite::Connection::open(data.join("hearth.db")).unwrap();
    let text = "UPDATE keys SET expires_at = 0 WHERE name = ?1 AND expires_at IS NOT NULL";
    assert_eq!(db.execute(text, [name]).unwrap(), 1);
}

#[test]
fn what_is_advised_is_typed_as_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("the house's data");
    let bin = Path::new(env!("CARGO_BIN_EXE_hearth-server")).parent().unwrap();
    let advised = |said: &str| said.rsplit('`').nth(1).unwrap_or_else(|| panic!("{said}")).to_owned();
    let typed = |text: &str| {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Command::new("sh").args(["-c", text]).env("PATH", path).current_dir(dir.path()).output().unwrap()
    };
    let mut serve = command(&data, &["--json", "serve", "--listen", "127.0.0.1:0"]);
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["listening"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    let log = text(&child.wait_with_output().unwrap().stderr);
    let first = log.lines().find(|line| line.contains("made the first team")).unwrap_or_else(|| panic!("{log}"));
    let made = typed(&advised(first));
    assert!(text(&made.stdout).starts_with("svc_live_"), "{}", text(&made.stderr));
    // A hint of a command that was refused means the database that the command meant.
    let refused = text(&run(&data, &["key", "revoke", "nobody"]).stderr);
    assert!(text(&typed(&advised(&refused)).stdout).contains("My home"), "{refused}");
}

#[test]
fn an_expired_key_is_not_called_good() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house"]).status.code(), Some(0));
    let make = ["key", "create", "--team", "Hill house", "--env", "test"];
    for name in ["phone", "laptop"] {
        let made = run(dir.path(), &[&make[..], &["--name", name, "--expires", "2999-01-01"]].concat());
        assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    }
    expire(dir.path(), "phone");
    let listed = text(&run(dir.path(), &["key", "list"]).stdout);
    let state = |name: &str| {
        let line = listed.lines().find(|line| line.ends_with(name)).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!((&*state("phone"), &*state("laptop")), ("expired", "good"), "{listed}");
}

#[test]
fn a_name_whose_keys_have_all_ended_still_names_one() {
    let dir = tempfile::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let output = run(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
        text(&output.stdout)
    };
    said(&["team", "create", "Hill house"]);
    let make = ["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone"];
    said(&make);
    let rotated: Value = serde_json::from_str(&said(&["--json", "key", "rotate", "phone"])).unwrap();
    said(&["key", "revoke", "phone"]);
    let again: Value = serde_json::from_str(&said(&["--json", "key", "revoke", "phone"])).unwrap();
    assert_eq!(again["id"], rotated["id"], "the one that was made last");
    // Nor is one that has expired taken for one that is good.
    said(&[&make[..], &["--expires", "2999-01-01"]].concat());
    expire(dir.path(), "phone");
    let made: Value = serde_json::from_str(&said(&[&make[..], &["--json"]].concat())).unwrap();
    let revoked: Value = serde_json::from_str(&said(&["--json", "key", "revoke", "phone"])).unwrap();
    assert_eq!(revoked["id"], made["id"]);
}

#[test]
fn a_live_key_of_a_free_team_is_made_with_a_warning() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house", "--plan", "free"]).status.code(), Some(0));
    for more in [&[][..], &["--json"], &["--quiet"]] {
        let made = run(dir.path(), &[&["key", "create", "--team", "Hill house", "--env", "live"], more].concat());
        assert_eq!(made.status.code(), Some(0));
        assert!(text(&made.stderr).contains("live keys need the paid plan"), "{more:?}: {}", text(&made.stderr));
    }
}

#[test]
fn an_address_is_a_network_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house"]).status.code(), Some(0));
    let wish =
        ["--json", "key", "create", "--team", "Hill house", "--env", "test", "--allow", "127.0.0.1", "--allow", "::1"];
    let made: Value = serde_json::from_slice(&run(dir.path(), &wish).stdout).unwrap();
    assert_eq!(made["allowlist"], serde_json::json!(["127.0.0.1/32", "::1/128"]));
}

#[test]
fn a_server_on_every_address_asks_for_a_base_url() {
    for (arguments, is_warned) in [
        (&["--listen", "0.0.0.0:0"][..], true),
        (&["--listen", "0.0.0.0:0", "--base-url", "https://hearth.example.org"], false),
        (&["--listen", "127.0.0.1:0"], false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mut serve = command(dir.path(), &[&["serve"][..], arguments].concat());
        let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Command::new("kill").arg(child.id().to_string()).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let log = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "who is told the address may say stop: {log}");
        assert_eq!(log.contains("--base-url"), is_warned, "{arguments:?}: {log}");
    }
}

#[test]
fn a_first_serve_that_cannot_listen_makes_no_team() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for listens in [&["--listen", &address][..], &["--listen", "127.0.0.1:0", "--metrics-listen", &address]] {
        let serve = run(dir.path(), &[&["serve"], listens].concat());
        assert_eq!(serve.status.code(), Some(1));
        assert!(text(&serve.stderr).contains("cannot listen on"), "{}", text(&serve.stderr));
        assert_eq!(
            said(dir.path(), &["team", "list", "--json"]),
            "[]",
            "the start that makes it says what to do with it"
        );
    }
}

#[test]
fn the_text_of_a_key_where_its_name_belongs_is_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    said(dir.path(), &["team", "create", "Hill house"]);
    let key = said(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--quiet"]);
    for arguments in [&["key", "revoke", &key][..], &["key", "list", "--team", &key]] {
        let output = run(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{}", arguments[1]);
        assert!(!text(&output.stderr).contains(&key[..16]), "{}", arguments[1]);
    }
}
