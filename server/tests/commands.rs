//! The commands of an operator, run as processes. Must not know how the program does the work.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

mod common;
use common::{Serving, command, data_with_team, json, refused, run, stderr, stdout, text};

#[test]
fn first_serve_creates_team_second_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = Serving::start(dir.path(), &[]);
    assert!(std::net::TcpStream::connect(server.address()).is_ok());
    let second = run(dir.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(second.status.code(), Some(1));
    assert!(text(&second.stderr).contains("served by another process"), "{}", text(&second.stderr));
    // Commands work while the server runs.
    let teams = json(dir.path(), &["team", "list"]);
    assert_eq!((&teams[0]["name"], &teams[0]["plan"]), (&"My home".into(), &"paid".into()));
    assert_eq!(server.stop().0, Some(0));
    assert!(!dir.path().join("hearth.db-wal").exists(), "a clean stop leaves no WAL");
}

#[test]
fn concurrent_processes_create_one_database() {
    for _ in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("new");
        let start = |nth: i32| {
            let mut create = command(&data, &["team", "create", &format!("Team {nth}")]);
            create.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let programs: Vec<Child> = (0..8).map(start).collect();
        for program in programs {
            let output = program.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", text(&output.stderr));
        }
    }
}

#[test]
fn key_text_is_shown_only_once() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house", "--plan", "free"]).status.code(), Some(0));
    let created =
        run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone", "--quiet"]);
    let secret = text(&created.stdout);
    assert!(secret.starts_with("svc_test_") && secret.len() == 58 && created.stderr.is_empty());
    let listed = text(&run(dir.path(), &["key", "list", "--json"]).stdout);
    assert!(listed.contains("phone") && !listed.contains(&secret));
    let live = run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "live"]);
    assert!(text(&live.stderr).contains("warning"), "a live key of a free team causes a warning");
    assert_eq!(run(dir.path(), &["key", "revoke", "phone"]).status.code(), Some(0));
    assert!(json(dir.path(), &["key", "list"])[0]["revoked_at"].is_string());
}

#[test]
fn refusal_exits_1_and_wrong_usage_exits_2() {
    let dir = data_with_team();
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
        (&["--json", "openapi", "--yaml"], 2, "either --json or --yaml"),
        (&["serve", "--retention", "soon"], 2, "soon"),
        (&["serve", "--rate-limits", "raeds=3"], 2, "raeds"),
        (&["serve", "--rate-limits", "reads=0"], 2, "reads must be at least 1"),
        (&["serve", "--heartbeat", "0s"], 2, "longer than 0"),
        (&["serve", "--keepalive", "0ms"], 2, "longer than 0"),
        (&["serve", "--max-streams", "0"], 2, "at least 1"),
        (&["serve", "--base-url", "foo"], 2, "https://hearth.example.org"),
        (&["serve", "--base-url", "ftp://example.org"], 2, "ftp://example.org"),
        (&["serve", "--base-url", "https://example.org/?a=b"], 2, "https://example.org/?a=b"),
        (&["openapi", "--base-url", "foo"], 2, "https://hearth.example.org"),
        (&["serve", "--trusted-proxy", "10.0.0.0/33"], 2, "10.0.0.0/33"),
        (&["serve", "--listen", "8750"], 2, "localhost:8750"),
        (&["serve", "--listen", "nowhere.invalid:8750"], 2, "nowhere.invalid:8750"),
        (&["serve", "--metrics-listen", "localhost"], 2, "localhost:8750"),
        (&["lab", "rewind", "--by", "0"], 2, "0 is not in 1.."),
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
fn key_pin_must_be_supported_version() {
    let dir = data_with_team();
    let pin = |version: &str| {
        run(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--pin", version, "--json"])
    };
    let created: Value = serde_json::from_slice(&pin("2026-06-01").stdout).unwrap();
    assert_eq!(created["api_version"], "2026-06-01");
    for unknown in ["2020-01-01", "soon", "2026-06-1", ""] {
        let refused = pin(unknown);
        assert_eq!(refused.status.code(), Some(2), "{unknown}");
        assert!(text(&refused.stderr).contains("the versions are"), "{}", text(&refused.stderr));
    }
}

#[test]
fn openapi_needs_no_database() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    let document: Value = serde_json::from_str(&stdout(&nowhere, &["openapi"])).unwrap();
    assert_eq!((&document["openapi"], &document["info"]["x-stability"]), (&"3.1.0".into(), &"public_preview".into()));
    assert!(text(&run(&nowhere, &["openapi", "--yaml"]).stdout).starts_with("openapi: "));
    assert!(!nowhere.exists());
}

#[test]
fn new_files_are_readable_by_owner_only() {
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
fn unshared_directory_becomes_private() {
    let parent = tempfile::tempdir().unwrap();
    let mode = |dir: &Path, mode: Option<u32>| {
        if let Some(mode) = mode {
            std::fs::set_permissions(dir, Permissions::from_mode(mode)).unwrap();
        }
        std::fs::metadata(dir).unwrap().permissions().mode() & 0o777
    };
    let (own, shared) = (parent.path().join("own"), parent.path().join("shared"));
    std::fs::create_dir_all(&own).unwrap();
    std::fs::create_dir_all(&shared).unwrap();
    mode(&own, Some(0o755));
    for dir in [&own, &shared] {
        assert_eq!(run(dir, &["team", "create", "Hill house"]).status.code(), Some(0));
    }
    std::fs::create_dir(shared.join("of others")).unwrap();
    mode(&shared, Some(0o755));
    assert_eq!(run(&shared, &["check"]).status.code(), Some(0));
    assert_eq!((mode(&own, None), mode(&shared, None)), (0o700, 0o755));
    // A directory that was opened to the group later becomes private again.
    mode(&own, Some(0o750));
    assert_eq!(run(&own, &["check"]).status.code(), Some(0));
    assert_eq!(mode(&own, None), 0o700);
}

/// Makes the key with this name expire.
fn expire(data: &Path, name: &str) {
    let db = rusqlite::Connection::open(data.join("hearth.db")).unwrap();
    let text = "UPDATE keys SET expires_at = 0 WHERE name = ?1 AND expires_at IS NOT NULL";
    assert_eq!(db.execute(text, [name]).unwrap(), 1);
}

#[test]
fn advised_commands_work_as_printed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("the house's data");
    let bin = Path::new(env!("CARGO_BIN_EXE_hearth-server")).parent().unwrap();
    let advised = |text: &str| text.rsplit('`').nth(1).unwrap_or_else(|| panic!("{text}")).to_owned();
    let run_in_shell = |text: &str| {
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        Command::new("sh").args(["-c", text]).env("PATH", path).current_dir(dir.path()).output().unwrap()
    };
    let server = Serving::run(&data, &["--json", "serve", "--listen", "127.0.0.1:0"]);
    let line: Value = serde_json::from_str(&server.line).unwrap();
    assert!(line["listening"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    let (_, log) = server.stop();
    let first = log.lines().find(|line| line.contains("created the first team")).unwrap_or_else(|| panic!("{log}"));
    let created = run_in_shell(&advised(first));
    assert!(created.stdout.is_empty(), "the key is in a file: {}", text(&created.stderr));
    assert!(std::fs::read_to_string(dir.path().join("key")).unwrap().starts_with("svc_live_"));
    // The hint in a refusal names the same database as the refused command.
    let refused = text(&run(&data, &["key", "revoke", "nobody"]).stderr);
    assert!(text(&run_in_shell(&advised(&refused)).stdout).contains("My home"), "{refused}");
}

#[test]
fn key_is_written_to_a_new_private_file() {
    let dir = data_with_team();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("key");
    let path = file.to_str().unwrap();
    let create = ["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone", "--to", path];
    let output = run(dir.path(), &create);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), String::new()));
    let key = std::fs::read_to_string(&file).unwrap();
    assert!(key.starts_with("svc_test_") && !text(&output.stderr).contains(key.trim()), "{}", text(&output.stderr));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    // No file is overwritten, and then no key is made.
    assert!(refused(dir.path(), &create).contains("cannot be created"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    assert_eq!(json(dir.path(), &["key", "list"]).as_array().unwrap().len(), 1);
    // Without a key there is no file.
    let other = place.path().join("other");
    let rotate = |name: &str| run(dir.path(), &["key", "rotate", name, "--json", "--to", other.to_str().unwrap()]);
    assert!(!rotate("nobody").status.success() && !other.exists());
    let rotated: Value = serde_json::from_slice(&rotate("phone").stdout).unwrap();
    assert_eq!((&rotated["secret"], &rotated["file"]), (&Value::Null, &other.to_str().unwrap().into()));
    assert_ne!(std::fs::read_to_string(&other).unwrap(), key);
}

#[test]
fn log_shows_no_record_text_and_names_plain_http() {
    for level in ["trace", "info,rmcp=trace,rmcp::service=trace"] {
        check_log_of_a_write_and_a_search(level);
    }
}

fn check_log_of_a_write_and_a_search(level: &str) {
    let dir = data_with_team();
    let key = stdout(dir.path(), &["key", "create", "--team", "Hill house", "--env", "live", "--quiet"]);
    let mut command = command(dir.path(), &["serve", "--listen", "0.0.0.0:0"]);
    let server = Serving::of(command.env("HEARTH_LOG", level));
    let address = server.line.rsplit(':').next().unwrap().to_owned();
    let send = |path: &str, accept: &str, body: &str| {
        let mut socket = std::net::TcpStream::connect(format!("127.0.0.1:{address}")).unwrap();
        let length = body.len();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{address}\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nAccept: {accept}\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    };
    let made = send("/v1/rooms", "application/json", r#"{"name":"Wine cellar"}"#);
    assert!(made.starts_with("HTTP/1.1 201"), "{made}");
    let call =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"svc_search","arguments":{"q":"wine"}}}"#;
    let found = send("/mcp", "application/json, text/event-stream", call);
    assert!(found.contains("Wine cellar"), "{found}");
    let (_, log) = server.stop();
    assert!(log.contains("unencrypted"), "{log}");
    for secret in ["Wine", "wine", &key] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[test]
fn expired_key_is_listed_as_expired() {
    let dir = data_with_team();
    let make = ["key", "create", "--team", "Hill house", "--env", "test"];
    for name in ["phone", "laptop"] {
        stdout(dir.path(), &[&make[..], &["--name", name, "--expires", "2999-01-01"]].concat());
    }
    expire(dir.path(), "phone");
    let listed = stdout(dir.path(), &["key", "list"]);
    let state = |name: &str| {
        let line = listed.lines().find(|line| line.ends_with(name)).unwrap();
        line.split_whitespace().nth(4).unwrap().to_owned()
    };
    assert_eq!((&*state("phone"), &*state("laptop")), ("expired", "good"), "{listed}");
}

#[test]
fn lists_have_aligned_named_columns() {
    let dir = data_with_team();
    stdout(dir.path(), &["team", "create", "Lake"]);
    for (team, env, name) in [("Hill house", "test", "phone"), ("Lake", "live", "the laptop")] {
        stdout(dir.path(), &["key", "create", "--team", team, "--env", env, "--name", name]);
    }
    for (list, columns) in [
        ("key", &["ID", "KEY", "ENV", "STATE", "LAST USED", "EXPIRES", "TEAM", "NAME"][..]),
        ("team", &["ID", "PLAN", "CREATED", "NAME"]),
    ] {
        let listed = stdout(dir.path(), &[list, "list"]);
        let lines: Vec<Vec<char>> = listed.lines().map(|line| line.chars().collect()).collect();
        assert_eq!(lines.len(), 3, "{listed}");
        let heading: String = lines[0].iter().collect();
        for column in columns {
            let at = heading.find(column).unwrap_or_else(|| panic!("{column}: {heading}"));
            let begins = |line: &Vec<char>| line[at] != ' ' && (at == 0 || line[at - 1] == ' ');
            assert!(lines.iter().all(begins), "{column}:\n{listed}");
        }
    }
    assert!(stdout(dir.path(), &["key", "list"]).ends_with("never      never    Lake        the laptop"));
}

#[test]
fn key_ids_are_time_ordered_uuids() {
    let dir = data_with_team();
    let create = ["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone"];
    for key in [json(dir.path(), &create), json(dir.path(), &["key", "rotate", "phone"])] {
        let id: uuid::Uuid = key["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(id.get_version_num(), 7, "{id}");
    }
}

#[test]
fn serve_listens_on_a_host_name() {
    let dir = tempfile::tempdir().unwrap();
    let server = Serving::run(dir.path(), &["serve", "--listen", "localhost:0", "--metrics-listen", "localhost:0"]);
    assert!(server.line.starts_with("listening on http://127.0.0.1:"), "{}", server.line);
    assert!(std::net::TcpStream::connect(server.address()).is_ok());
    assert_eq!(server.stop().0, Some(0));
}

#[test]
fn name_of_ended_keys_means_the_newest() {
    let dir = data_with_team();
    let create = ["key", "create", "--team", "Hill house", "--env", "test", "--name", "phone"];
    stdout(dir.path(), &create);
    let rotated = json(dir.path(), &["key", "rotate", "phone"]);
    stdout(dir.path(), &["key", "revoke", "phone"]);
    let again = json(dir.path(), &["key", "revoke", "phone"]);
    assert_eq!(again["id"], rotated["id"], "the newest key has the name");
    // An expired key does not hide a valid key with the same name.
    stdout(dir.path(), &[&create[..], &["--expires", "2999-01-01"]].concat());
    expire(dir.path(), "phone");
    let created = json(dir.path(), &create);
    assert_eq!(json(dir.path(), &["key", "revoke", "phone"])["id"], created["id"]);
}

#[test]
fn live_key_of_free_team_causes_warning() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(run(dir.path(), &["team", "create", "Hill house", "--plan", "free"]).status.code(), Some(0));
    for more in [&[][..], &["--json"], &["--quiet"]] {
        let create = [&["key", "create", "--team", "Hill house", "--env", "live"], more].concat();
        let warning = stderr(dir.path(), &create);
        assert!(warning.contains("live keys need the paid plan"), "{more:?}: {warning}");
    }
}

#[test]
fn single_address_is_an_allowed_network() {
    let dir = data_with_team();
    let create = ["key", "create", "--team", "Hill house", "--env", "test"];
    let created = json(dir.path(), &[&create[..], &["--allow", "127.0.0.1", "--allow", "::1"]].concat());
    assert_eq!(created["allowlist"], serde_json::json!(["127.0.0.1/32", "::1/128"]));
}

#[test]
fn unspecified_address_without_base_url_warns() {
    for (arguments, is_warned) in [
        (&["--listen", "0.0.0.0:0"][..], true),
        (&["--listen", "0.0.0.0:0", "--base-url", "https://hearth.example.org"], false),
        (&["--listen", "127.0.0.1:0"], false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let (code, log) = Serving::run(dir.path(), &[&["serve"][..], arguments].concat()).stop();
        assert_eq!(code, Some(0), "a signal right after the address ends the server in order: {log}");
        assert_eq!(log.contains("--base-url"), is_warned, "{arguments:?}: {log}");
    }
}

#[test]
fn failed_first_serve_creates_no_team() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for listens in [&["--listen", &address][..], &["--listen", "127.0.0.1:0", "--metrics-listen", &address]] {
        let serve = run(dir.path(), &[&["serve"], listens].concat());
        assert_eq!(serve.status.code(), Some(1));
        assert!(text(&serve.stderr).contains("cannot listen on"), "{}", text(&serve.stderr));
        let teams = stdout(dir.path(), &["team", "list", "--json"]);
        assert_eq!(teams, "[]", "the start that creates the team must print the next command");
    }
}

#[test]
fn key_text_as_name_is_not_repeated() {
    let dir = data_with_team();
    let key = stdout(dir.path(), &["key", "create", "--team", "Hill house", "--env", "test", "--quiet"]);
    for arguments in [&["key", "revoke", &key][..], &["key", "list", "--team", &key]] {
        let output = run(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{}", arguments[1]);
        assert!(!text(&output.stderr).contains(&key[..16]), "{}", arguments[1]);
    }
}
