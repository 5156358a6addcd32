//! Jobs that make drafts of records from files (contract 22), with a program in place of the reader: a file says what is read in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate::{self, NewKey};
use hearth_tests::client::{Client, Response};
use hearth_tests::process::wait_until;
use hearth_tests::server::{Server, TestClock, new_key};
use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::files::{GIF, put_file};

/// Longest wait for a job.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// What the program in place of the reader does, by the first word of the file. Else the file is the reading.
const PROGRAM: &str = r#"#!/bin/sh
[ "$1 $2 $4" = "read-file --seconds --models" ] && [ -n "$5" ] || exit 2
read -r first
case "$first" in
  refuse*) echo '{"error":"The picture has no pixels."}'; exit 1 ;;
  crash*) kill -SEGV $$ ;;
  memory*) kill -ABRT $$ ;;
  leave*) /bin/sleep 1000 >/dev/null & echo $! >"$(/usr/bin/dirname "$0")/left"; kill -KILL $$ ;;
  hang*) exec /bin/sleep 1000 ;;
  flood*) exec /usr/bin/yes ;;
  nonsense*) echo '{"pages":7}' ;;
  *) printf '%s' "$first" ;;
esac
"#;

fn program() -> (TempDir, PathBuf) {
    program_of(PROGRAM)
}

/// A directory with a program.
pub(super) fn program_of(text: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("reader");
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (dir, path)
}

/// The bytes of a file with lines of text.
fn paper(lines: &[&str]) -> Vec<u8> {
    let line = |(at, line): (usize, &&str)| {
        let word = |(place, word): (usize, &str)| {
            let area = [0.1 + 0.1 * place as f32, 0.05 + 0.04 * at as f32, 0.08, 0.03];
            json!({ "text": word, "area": area, "score": 0.99 })
        };
        json!({ "words": line.split(' ').enumerate().map(word).collect::<Vec<_>>() })
    };
    let page = json!({ "aspect": 0.7, "lines": lines.iter().enumerate().map(line).collect::<Vec<_>>() });
    reading(json!([page]), json!([]))
}

fn reading(pages: Value, codes: Value) -> Vec<u8> {
    let reading = json!({
        "pages": pages, "codes": codes, "taken_on": "2026-05-01", "invoice": null, "look": "0f1e2d3c4b5a6978",
        "text_source": "recognized",
    });
    reading.to_string().into_bytes()
}

async fn start() -> (TempDir, Server, Client) {
    let (dir, program) = program();
    let server = Server::start_with(|config| config.reader = Some(program)).await;
    let client = Client::new(&server.url, &server.live_key);
    (dir, server, client)
}

/// Waits until a job has ended.
async fn ended(client: &Client, path: &str) -> Value {
    let since = Instant::now();
    loop {
        let answer = client.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let job = answer.data().clone();
        if job["status"] != "queued" && job["status"] != "running" {
            return job;
        }
        assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for {job}");
        tokio::task::yield_now().await;
    }
}

/// Makes a job and waits for its end.
async fn run(client: &Client, path: &str, body: &Value) -> Value {
    let asked = client.post(path, body).await;
    let location = format!("{path}/{}", asked.id());
    assert_eq!((asked.status, asked.header("location")), (202, &*location), "{}", asked.text);
    ended(client, &location).await
}

pub(super) async fn put(client: &Client, path: &str, body: &Value) -> Response {
    client.send(client.request(Method::PUT, path).json(body)).await
}

#[tokio::test]
async fn job_reads_its_files_and_shows_the_facts() {
    let (_dir, _server, client) = start().await;
    let file = put_file(&client, &paper(&["Model WAN28232", "Waschmaschine"])).await;
    let job = run(&client, "/v1/smart-add", &json!({ "files": [file], "note": " In the cellar " })).await;
    assert_eq!((&job["status"], &job["error"], &job["purpose"]), (&json!("ready"), &Value::Null, &json!("smart_add")));
    let fact = json!({
        "file": file, "content_type": "text/plain; charset=utf-8", "pages": 1, "text_source": "recognized",
        "taken_on": "2026-05-01", "codes": [], "text": "Model WAN28232\nWaschmaschine", "complete": true, "error": null,
    });
    assert_eq!((&job["facts"][0], &job["note"], &job["accepted"]), (&fact, &json!("In the cellar"), &Value::Null));
    let text = client.get(&format!("/v1/files/{file}/text")).await;
    assert_eq!(text.data(), &json!({ "pages": [{ "text": "Model WAN28232\nWaschmaschine" }] }));
    // Each purpose has its own list.
    assert_eq!(client.list_all("/v1/smart-add").await, std::slice::from_ref(&job));
    assert_eq!(client.list_all("/v1/smart-add?status=ready").await.len(), 1);
    assert_eq!(client.list_all("/v1/smart-add?status=failed").await.len(), 0);
    assert_eq!(client.list_all("/v1/extract").await.len(), 0);
    let other = format!("/v1/extract/{}", job["id"].as_str().unwrap());
    assert_eq!(client.get(&other).await.error(), "not_found");
    assert_eq!(client.get("/v1/smart-add/none").await.error(), "not_found");
}

#[tokio::test]
async fn document_without_a_job_is_read_too() {
    let (_dir, _server, client) = start().await;
    let file = put_file(&client, &paper(&["Garantieschein"])).await;
    let path = format!("/v1/files/{file}/text");
    let since = Instant::now();
    loop {
        let text = client.get(&path).await;
        if text.status == 200 {
            break;
        }
        assert_eq!((text.error(), &text.json["error"]["details"]["state"]), ("not_found", &json!("waiting")));
        assert!(since.elapsed() < PATIENCE, "{}", text.text);
        tokio::task::yield_now().await;
    }
    // Bytes of an unknown type are not read.
    let other = put_file(&client, b"\0\x01\x02").await;
    let text = client.get(&format!("/v1/files/{other}/text")).await;
    assert_eq!(text.json["error"]["details"]["state"], "none");
}

#[tokio::test]
async fn text_of_a_file_is_found_under_its_document() {
    let (_dir, _server, client) = start().await;
    let early = client.post("/v1/documents", &json!({ "title": "Early" })).await.id();
    let file = put_file(&client, &paper(&["Kaufvertrag über ein Klavier", "gestimmt im Mai"])).await;
    let named =
        async |title: &str| client.post("/v1/documents", &json!({ "title": title, "file_sha256": file })).await.id();
    let before = named("Before").await;
    run(&client, "/v1/extract", &json!({ "files": [file] })).await;
    let (after, titled) = (named("After").await, named("Klavier").await);
    let found = async |question: &str| -> Vec<(String, String)> {
        let since = Instant::now();
        loop {
            let hits = client.list_all(&format!("/v1/search?q={question}")).await;
            // The documents that named the file before follow in steps.
            if hits.iter().any(|hit| hit["id"] == *before) || since.elapsed() > PATIENCE {
                let text = |hit: &Value, name: &str| hit[name].as_str().unwrap().to_owned();
                return hits.iter().map(|hit| (text(hit, "id"), text(hit, "snippet"))).collect();
            }
            tokio::task::yield_now().await;
        }
    };
    let read = "Kaufvertrag über ein **Klavier**\ngestimmt im Mai".to_owned();
    let expected = [(titled.clone(), "**Klavier**".to_owned()), (after.clone(), read.clone()), (before.clone(), read)];
    assert_eq!(found("klavier").await, expected, "the title comes first");
    // Changes of the document keep what was read; another file replaces it.
    client.patch(&format!("/v1/documents/{before}"), &json!({ "title": "Contract", "notes": "old" })).await;
    assert_eq!(found("gestimmt+contract").await.len(), 1);
    client.patch(&format!("/v1/documents/{after}"), &json!({ "file_sha256": null })).await;
    client.patch(&format!("/v1/documents/{early}"), &json!({ "file_sha256": file })).await;
    client.delete(&format!("/v1/documents/{titled}")).await;
    let ids: Vec<String> = found("klavier").await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [before, early]);
}

#[tokio::test]
async fn hostile_file_fails_its_job_alone() {
    let (_dir, program) = program();
    let server = Server::start_with(|config| {
        config.reader = Some(program);
        config.reader_time_max = Duration::from_secs(2);
    })
    .await;
    let client = Client::new(&server.url, &server.live_key);
    for (bytes, code, sentence) in [
        ("refuse", "unreadable", "The file could not be read: The picture has no pixels."),
        ("crash", "unreadable", "The file could not be read: the program that reads files ended early."),
        ("memory", "unreadable", "The file could not be read: it needs more memory than"),
        ("hang", "time_up", "The file could not be read: reading took more than 2 s."),
        ("flood", "unreadable", "The file could not be read: it has more text than Hearth reads."),
        ("nonsense", "unreadable", "The file could not be read: its reading is malformed."),
    ] {
        let file = put_file(&client, bytes.as_bytes()).await;
        let job = run(&client, "/v1/extract", &json!({ "files": [file] })).await;
        assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!(code)), "{job}");
        assert!(job["error"]["message"].as_str().unwrap().starts_with(sentence), "{job}");
        let text = client.get(&format!("/v1/files/{file}/text")).await;
        assert_eq!((text.error(), &text.json["error"]["details"]["state"]), ("not_found", &json!("failed")));
    }
    // One file that cannot be read leaves the others.
    let files = [put_file(&client, b"refuse this too").await, put_file(&client, &paper(&["Rechnung"])).await];
    let job = run(&client, "/v1/extract", &json!({ "files": files })).await;
    assert_eq!((&job["status"], &job["facts"][0]["error"]["code"]), (&json!("ready"), &json!("unreadable")), "{job}");
    assert_eq!(job["facts"][1]["text"], "Rechnung");
}

#[tokio::test]
async fn killed_reader_leaves_no_program_behind() {
    let (dir, program) = program();
    let server = Server::start_with(|config| config.reader = Some(program)).await;
    let client = Client::new(&server.url, &server.live_key);
    let file = put_file(&client, b"leave").await;
    let job = run(&client, "/v1/extract", &json!({ "files": [file] })).await;
    assert_eq!(job["error"]["code"], "time_up", "{job}");
    let left = fs::read_to_string(dir.path().join("left")).unwrap();
    // A program that has ended stays listed, as `Z`, until its parent has seen it.
    wait_until("the program that was left behind has ended", || {
        let status = fs::read_to_string(format!("/proc/{}/stat", left.trim())).unwrap_or_default();
        status.is_empty() || status.contains(") Z ")
    });
}

#[tokio::test]
async fn server_without_a_reader_says_so() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let file = put_file(&client, b"text").await;
    let job = run(&client, "/v1/smart-add", &json!({ "files": [file] })).await;
    assert_eq!((&job["status"], &job["error"]["code"]), (&json!("failed"), &json!("no_reader")), "{job}");
}

#[tokio::test]
async fn wrong_requests_are_refused_with_all_faults() {
    let (_dir, _server, client) = start().await;
    let file = put_file(&client, &paper(&["x"])).await;
    let (none, id) = ("0".repeat(64), "01970000-0000-7000-8000-000000000001");
    let nine: Vec<String> = (0..9).map(|at| format!("{at:064x}")).collect();
    for (path, body, faults) in [
        ("smart-add", json!([]), vec![" wrong_type"]),
        ("smart-add", json!({}), vec!["files required"]),
        ("smart-add", json!({ "files": [] }), vec!["files too_short"]),
        ("smart-add", json!({ "files": nine }), vec!["files too_long"]),
        (
            "smart-add",
            json!({ "files": [file, "x", 7, file], "room": 1, "room_id": "x", "note": "n".repeat(2001) }),
            vec![
                "room unknown_field",
                "files[1] invalid_format",
                "files[2] wrong_type",
                "files[3] inconsistent",
                "room_id invalid_format",
                "note too_long",
            ],
        ),
        ("smart-add", json!({ "files": [none, file], "room_id": id }), vec!["files[0] not_found", "room_id not_found"]),
        ("extract", json!({ "files": [file], "note": "x" }), vec!["note unknown_field"]),
        (
            "extract",
            json!({ "files": [file], "subject_type": "room", "subject_id": id }),
            vec!["subject_type not_a_choice"],
        ),
        ("extract", json!({ "files": [file], "subject_id": id }), vec!["subject_type required"]),
        (
            "extract",
            json!({ "files": [file], "subject_type": "vehicle", "subject_id": id }),
            vec!["subject_id not_found"],
        ),
    ] {
        let refused = client.post(&format!("/v1/{path}"), &body).await;
        assert_eq!(
            (refused.status, refused.faults()),
            (422, faults.iter().map(|it| (*it).to_owned()).collect()),
            "{body}"
        );
    }
    assert_eq!(client.get("/v1/smart-add?status=done").await.status, 400);
}

#[tokio::test]
async fn eleventh_waiting_job_is_refused() {
    let (_dir, _server, client) = start().await;
    // Nothing is read while this file hangs.
    let file = put_file(&client, b"hang").await;
    let mut first = String::new();
    for at in 0..10 {
        let path = if at % 2 == 0 { "/v1/smart-add" } else { "/v1/extract" };
        let asked = client.post(path, &json!({ "files": [file] })).await;
        assert_eq!(asked.status, 202, "{}", asked.text);
        if at == 0 {
            first = format!("{path}/{}", asked.id());
        }
    }
    let refused = client.post("/v1/smart-add", &json!({ "files": [file] })).await;
    assert_eq!((refused.status, refused.error()), (429, "too_many_jobs"), "{}", refused.text);
    assert_eq!((&refused.json["error"]["details"]["limit"], refused.header("retry-after")), (&json!(10), "30"));
    assert_eq!(client.delete(&first).await.status, 200);
    assert_eq!(client.get(&first).await.data()["status"], "discarded");
    assert_eq!(client.post("/v1/smart-add", &json!({ "files": [file] })).await.status, 202);
}

#[tokio::test]
async fn agents_suggest_drafts_and_people_accept() {
    let (_dir, server, client) = start().await;
    let file = put_file(&client, &paper(&["x"])).await;
    let job = run(&client, "/v1/smart-add", &json!({ "files": [file] })).await;
    let own = format!("/v1/smart-add/{}", job["id"].as_str().unwrap());
    let draft = |name: &str| format!("{own}/drafts/{name}");
    let fields = json!({ "name": "Washing machine", "purchase_price": "499.00" });
    let evidence =
        json!({ "name": { "file": file, "box": [0.1, 0.2, 0.3, 0.4], "text": "WM", "confidence": "likely" } });
    let body = json!({ "type": "inventory", "fields": fields, "evidence": evidence });
    let put_once = put(&client, &draft("by-agent"), &body).await;
    assert_eq!(put_once.status, 200, "{}", put_once.text);
    let drafts = put_once.data()["drafts"].as_array().unwrap().clone();
    let expected = json!({
        "name": "by-agent", "source": "agent", "type": "inventory", "id": null, "fields": fields,
        "evidence": { "name": {
            "from": "text", "file": file, "page": 0, "box": [0.1, 0.2, 0.3, 0.4], "text": "WM", "confidence": "likely",
            "rivals": [],
        } },
        "matches": [],
    });
    assert_eq!(drafts.last(), Some(&expected));
    let wrong = json!({
        "type": "inventory", "id": "01970000-0000-7000-8000-000000000001",
        "fields": { "nam": "x", "purchase_price": "a lot", "room_id": "01970000-0000-7000-8000-000000000002" },
        "evidence": { "quantity": {}, "room_id": { "confidence": "certain" } }, "note": "x",
    });
    let expected = [
        "note unknown_field",
        "fields.nam unknown_field",
        "fields.purchase_price invalid_format",
        "evidence.quantity unknown_field",
        "evidence.room_id.confidence not_a_choice",
    ];
    assert_eq!(put(&client, &draft("a"), &wrong).await.faults(), expected);
    let missing = json!({
        "type": "inventory", "id": "01970000-0000-7000-8000-000000000001",
        "fields": { "room_id": "01970000-0000-7000-8000-000000000002" },
    });
    assert_eq!(put(&client, &draft("a"), &missing).await.faults(), ["id not_found", "fields.room_id not_found"]);
    for name in ["A", "a_b", "%20", &"a".repeat(41), "item", "document"] {
        assert_eq!(put(&client, &draft(name), &body).await.error(), "not_found", "{name}");
    }
    for at in 1..8 {
        assert_eq!(put(&client, &draft(&format!("d{at}")), &body).await.status, 200);
    }
    assert_eq!(put(&client, &draft("d8"), &body).await.error(), "too_many_jobs");
    assert_eq!(put(&client, &draft("d1"), &body).await.status, 200, "a draft can be replaced");
    // The file is in use until the job ends.
    assert_eq!(client.delete(&format!("/v1/files/{file}")).await.error(), "in_use");
    let accepted = format!("{own}/accepted");
    let unknown = json!({ "type": "inventory", "id": "01970000-0000-7000-8000-000000000001" });
    assert_eq!(put(&client, &accepted, &unknown).await.faults(), ["id not_found"]);
    assert_eq!(
        put(&client, &accepted, &json!({ "type": "room" })).await.faults(),
        ["type not_a_choice", "id required"]
    );
    let item = client.post("/v1/inventory", &fields).await.id();
    let done = put(&client, &accepted, &json!({ "type": "inventory", "id": item })).await;
    let data = done.data();
    assert_eq!((&data["status"], &data["accepted"]), (&json!("accepted"), &json!({ "type": "inventory", "id": item })));
    let late = put(&client, &draft("d1"), &body).await;
    assert_eq!((late.error(), &late.json["error"]["details"]["status"]), ("not_found", &json!("accepted")));
    assert_eq!(client.delete(&format!("/v1/files/{file}")).await.status, 200);
    let check = operate::check::check(&server.running.app.db, &Clock::system()).await.unwrap();
    assert_eq!(check.faults, Vec::<String>::new());
}

#[tokio::test]
async fn keys_see_drafts_of_their_kinds_alone() {
    let (_dir, server, client) = start().await;
    let file = put_file(&client, &paper(&["x"])).await;
    let job = run(&client, "/v1/extract", &json!({ "files": [file] })).await;
    let own = format!("/v1/extract/{}", job["id"].as_str().unwrap());
    let body = json!({ "type": "inventory", "fields": { "name": "Lamp" } });
    assert_eq!(put(&client, &format!("{own}/drafts/lamp"), &body).await.status, 200);
    let scopes = ["documents:read", "documents:write"].map(str::to_owned).to_vec();
    let key = NewKey { scopes, ..new_key("My home", Environment::Live) };
    let secret = operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap().secret;
    let papers = Client::new(&server.url, &secret);
    let names =
        |job: &Value| -> Vec<Value> { job["drafts"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect() };
    assert!(names(client.get(&own).await.data()).contains(&json!("lamp")));
    assert!(!names(papers.get(&own).await.data()).contains(&json!("lamp")));
    let refused = put(&papers, &format!("{own}/drafts/lamp"), &body).await;
    assert_eq!((refused.status, &refused.json["error"]["details"]["required_scope"]), (403, &json!("inventory:write")));
    assert_eq!(papers.get("/v1/smart-add").await.error(), "insufficient_scope");
    assert_eq!(papers.post("/v1/smart-add", &json!({ "files": [file] })).await.error(), "insufficient_scope");
}

#[tokio::test]
async fn job_expires_after_thirty_days_and_frees_its_files() {
    let (_dir, program) = program();
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |config| config.reader = Some(program)).await;
    let client = Client::new(&server.url, &server.live_key);
    let file = put_file(&client, &paper(&["x"])).await;
    let job = run(&client, "/v1/extract", &json!({ "files": [file] })).await;
    let own = format!("/v1/extract/{}", job["id"].as_str().unwrap());
    assert_eq!(job["expires_at"], "2026-07-01T12:00:00.000Z");
    let mut maintenance = hearth_server::maintenance::Maintenance::new(server.running.app.clone());
    for (days, status, is_there) in [(29, 200, true), (2, 200, true), (5, 200, true), (3, 200, false), (25, 404, false)]
    {
        clock.advance(Duration::from_secs(days * 24 * 3600));
        maintenance.clean_up().await.unwrap();
        assert_eq!(client.get(&own).await.status, status, "after {days} days more");
        let file = client.get(&format!("/v1/files/{file}")).await.status;
        assert_eq!(file == 200, is_there, "after {days} days more: {file}");
    }
}

#[tokio::test]
async fn interrupted_reading_runs_once_again() {
    let (_dir, program) = program();
    let server = Server::start_with(|config| config.reader = Some(program.clone())).await;
    let client = Client::new(&server.url, &server.live_key);
    let files = [put_file(&client, b"hang").await, put_file(&client, &paper(&["x"])).await];
    let mut jobs = Vec::new();
    for file in &files {
        jobs.push(client.post("/v1/extract", &json!({ "files": [file] })).await.id());
    }
    let key = server.live_key.clone();
    let dir = server.stop().await;
    // As processes leave it that were killed during the readings.
    let db = rusqlite::Connection::open(dir.path().join("hearth.db")).unwrap();
    let attempts = |file: &str| -> i64 {
        db.query_row("SELECT attempts FROM readings WHERE sha256 = ?1", [file], |row| row.get(0)).unwrap()
    };
    assert_eq!((attempts(&files[0]), attempts(&files[1])), (0, 0), "a shutdown is no attempt");
    db.execute("UPDATE readings SET attempts = 2 WHERE sha256 = ?1", [&files[0]]).unwrap();
    db.execute("UPDATE readings SET attempts = 1 WHERE sha256 = ?1", [&files[1]]).unwrap();
    drop(db);
    // The wait for a reading asks without pauses.
    let config = Config { reader: Some(program), rate_limits: None, ..Config::new(dir.path().to_owned()) };
    let again = hearth_server::start(config, Clock::system()).await.unwrap();
    let client = Client::new(&format!("http://{}", again.address), &key);
    let first = ended(&client, &format!("/v1/extract/{}", jobs[0])).await;
    assert_eq!((&first["status"], &first["error"]["code"]), (&json!("failed"), &json!("interrupted")));
    assert_eq!(ended(&client, &format!("/v1/extract/{}", jobs[1])).await["status"], "ready");
    again.stop().await;
}

#[tokio::test]
async fn tools_show_pictures_and_suggest_drafts() {
    let (_dir, server, client) = start().await;
    let files = [put_file(&client, GIF).await, put_file(&client, &paper(&["Rechnung"])).await];
    let job = run(&client, "/v1/extract", &json!({ "files": files })).await;
    let call = async |client: &Client, tool: &str, arguments: Value| -> Value {
        let message = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments },
        });
        client.post("/mcp", &message).await.json["result"].clone()
    };
    let listed = call(&client, "svc_list_captures", json!({ "purpose": "extract" })).await;
    assert_eq!(listed["structuredContent"]["data"][0]["id"], job["id"]);
    assert_eq!(call(&client, "svc_list_captures", json!({})).await["structuredContent"]["data"], json!([]));
    let wrong = call(&client, "svc_list_captures", json!({ "purpose": "photo" })).await;
    assert_eq!(wrong["structuredContent"]["error"]["details"]["parameter"], "purpose");
    let shown = call(&client, "svc_get_capture", json!({ "purpose": "extract", "id": job["id"] })).await;
    assert_eq!(shown["structuredContent"]["data"]["facts"][1]["text"], "Rechnung");
    let blocks = shown["content"].as_array().unwrap();
    assert_eq!((blocks.len(), &blocks[1]["type"], &blocks[1]["mimeType"]), (2, &json!("image"), &json!("image/jpeg")));
    let item = client.post("/v1/inventory", &json!({ "name": "Piano" })).await.id();
    let suggestion = json!({
        "purpose": "extract", "id": job["id"], "name": "price", "type": "inventory", "record_id": item,
        "fields": { "purchase_price": "1200.00" },
    });
    let suggested = call(&client, "svc_suggest_draft", suggestion).await;
    let drafts = suggested["structuredContent"]["data"]["drafts"].as_array().unwrap_or_else(|| panic!("{suggested}"));
    let draft = drafts.iter().find(|draft| draft["name"] == "price").unwrap();
    assert_eq!((&draft["id"], &draft["source"]), (&json!(item), &json!("agent")));
    assert_eq!(client.get(&format!("/v1/inventory/{item}")).await.data()["purchase_price"], Value::Null);
    // A tool is shown to a key that may use it for one of the purposes.
    for (scopes, tools) in [
        (vec!["documents:read"], vec!["svc_list_captures", "svc_get_capture"]),
        (vec!["documents:read", "documents:write"], vec!["svc_list_captures", "svc_get_capture", "svc_suggest_draft"]),
        (vec!["inventory:read", "inventory:write"], vec![]),
    ] {
        let scopes = scopes.into_iter().map(str::to_owned).collect();
        let key = NewKey { scopes, ..new_key("My home", Environment::Live) };
        let secret = operate::create_key(&server.running.app.db, &Clock::system(), key).await.unwrap().secret;
        let client = Client::new(&server.url, &secret);
        let list = client.post("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })).await;
        let names = list.json["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
        let names: Vec<&str> = names.filter(|name| name.contains("capture") || name.contains("draft")).collect();
        assert_eq!(names, tools);
    }
}

#[tokio::test]
async fn matches_are_records_with_the_same_code_or_look() {
    let (_dir, server, client) = start().await;
    let known = client.post("/v1/inventory", &json!({ "name": "Marker", "barcode": "4-006381-333931" })).await.id();
    let alike = client.post("/v1/inventory", &json!({ "name": "Red marker" })).await.id();
    let old = put_file(&client, &paper(&["an old photo"])).await;
    let document = json!({
        "title": "Photo", "subject_type": "inventory", "subject_id": alike, "file_sha256": old,
    });
    assert_eq!(client.post("/v1/documents", &document).await.status, 201);
    run(&client, "/v1/extract", &json!({ "files": [old] })).await;
    let code = json!({
        "format": "gtin", "text": "4006381333931", "page": 0, "area": [0.1, 0.1, 0.2, 0.1], "proved": true,
    });
    let photo = put_file(&client, &reading(json!([{ "aspect": 1.0, "lines": [] }]), json!([code]))).await;
    let room = client.post("/v1/rooms", &json!({ "name": "Study" })).await.id();
    let request = json!({ "files": [photo], "room_id": room, "note": "From the desk" });
    let job = run(&client, "/v1/smart-add", &request).await;
    let draft = job["drafts"].as_array().unwrap().iter().find(|draft| draft["type"] == "inventory").unwrap();
    let fields = &draft["fields"];
    assert_eq!(
        (&fields["barcode"], &draft["evidence"]["barcode"]["confidence"]),
        (&json!("4006381333931"), &json!("certain"))
    );
    assert_eq!((&fields["room_id"], &fields["notes"]), (&json!(room), &json!("From the desk")));
    let found = |job: &Value| -> Vec<(Value, Value, Value)> {
        let draft = job["drafts"].as_array().unwrap().iter().find(|draft| draft["type"] == "inventory").unwrap();
        let matches = draft["matches"].as_array().unwrap().iter();
        matches.map(|found| (found["id"].clone(), found["name"].clone(), found["why"].clone())).collect()
    };
    let expected = [
        (json!(known), json!("Marker"), json!("same_barcode")),
        (json!(alike), json!("Red marker"), json!("looks_alike")),
    ];
    assert_eq!(found(&job), expected);
    // Names are those of now, and deleted records are left out.
    client.patch(&format!("/v1/inventory/{known}"), &json!({ "name": "Blue marker" })).await;
    client.delete(&format!("/v1/inventory/{alike}")).await;
    let job = client.get(&format!("/v1/smart-add/{}", job["id"].as_str().unwrap())).await.data().clone();
    assert_eq!(found(&job), [(json!(known), json!("Blue marker"), json!("same_barcode"))]);
    let check = operate::check::check(&server.running.app.db, &Clock::system()).await.unwrap();
    assert_eq!(check.faults, Vec::<String>::new());
}
