//! Import jobs (contract 23).

use std::time::{Duration, Instant};

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::maintenance::Maintenance;
use hearth_server::operate;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock, new_key};
use reqwest::Method;
use serde_json::{Value, json};

/// Longest wait for a job.
const PATIENCE: Duration = Duration::from_secs(600);

async fn send(client: &Client, query: &str, media: &str, body: impl Into<reqwest::Body>) -> Response {
    let request = client.request(Method::POST, &format!("/v1/imports{query}")).header("content-type", media);
    client.send(request.body(body)).await
}

/// Imports a file and waits until the job ends. Returns the job with its rows.
async fn import(client: &Client, query: &str, media: &str, body: impl Into<reqwest::Body>) -> Value {
    let asked = send(client, query, media, body).await;
    let location = format!("/v1/imports/{}", asked.id());
    assert_eq!((asked.status, asked.header("location")), (202, &*location), "{}", asked.text);
    ended(client, &location).await
}

/// Waits until a job ends. Returns the job with its rows.
async fn ended(client: &Client, location: &str) -> Value {
    let since = Instant::now();
    loop {
        let job = client.get(location).await.data().clone();
        if job["status"] != "queued" && job["status"] != "running" {
            return job;
        }
        assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for {job}");
    }
}

async fn csv(client: &Client, query: &str, text: &str) -> Value {
    import(client, query, "text/csv", text.to_owned()).await
}

fn counts(job: &Value) -> [i64; 4] {
    ["created", "updated", "unchanged", "failed"].map(|name| job["counts"][name].as_i64().unwrap())
}

const TABLE: &str = "name,import_ref,room,quantity\nChair,c-1,Hall,4\nLamp,l-1,hall,1\n";

#[tokio::test]
async fn second_run_changes_nothing() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let dry = csv(&client, "?dry_run=true", TABLE).await;
    assert_eq!((dry["status"].as_str(), counts(&dry)), (Some("succeeded"), [3, 0, 0, 0]));
    assert_eq!(client.list_all("/v1/inventory").await.len(), 0);
    let job = csv(&client, "", TABLE).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("succeeded"), [3, 0, 0, 0]), "{job}");
    assert_eq!(job["rows"][0]["type"], "room");
    let items = client.list_all("/v1/inventory").await;
    assert_eq!((items.len(), &items[0]["updated_by"]), (2, &json!("live key")));
    assert_eq!(items[0]["room_id"], items[1]["room_id"]);
    assert_eq!(counts(&csv(&client, "", TABLE).await), [0, 0, 2, 0]);
    assert_eq!(counts(&csv(&client, "", &TABLE.replace(",4", ",5")).await), [0, 1, 1, 0]);
}

#[tokio::test]
async fn refused_row_names_itself_and_nothing_is_written() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let table = "name,import_ref,purchase_price\nChair,c-1,20\nLamp,l-1,many\n";
    let job = csv(&client, "", table).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("failed"), [1, 0, 0, 1]));
    let error = &job["rows"][1]["error"];
    assert_eq!(
        (&job["rows"][1]["row"], &error["column"], &error["value"]),
        (&json!(3), &json!("purchase_price"), &json!("many"))
    );
    assert_eq!(error["code"], "invalid_format");
    assert!(job["error"]["message"].as_str().is_some_and(|text| text.contains("nothing was written")), "{job}");
    assert_eq!(job["error"]["type"], "validation_failed");
    assert_eq!(client.list_all("/v1/inventory").await.len(), 0);
    let job = csv(&client, "?partial=true", table).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("succeeded"), [1, 0, 0, 1]));
    assert_eq!(client.list_all("/v1/inventory").await.len(), 1);
}

#[tokio::test]
async fn own_exports_come_back_unchanged() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for (request, media) in [
        (json!({ "format": "json" }), "application/json"),
        (json!({ "format": "csv" }), "application/zip"),
        (json!({ "format": "csv", "names": true, "bom": true }), "application/zip"),
    ] {
        let asked = client.post("/v1/exports", &request).await;
        let path = format!("/v1/exports/{}", asked.id());
        while client.get(&path).await.data()["status"] != "succeeded" {
            tokio::task::yield_now().await;
        }
        let file =
            client.request(Method::GET, &format!("{path}/download")).send().await.unwrap().bytes().await.unwrap();
        let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].clone();
        let job = import(&client, "", media, file).await;
        let [created, updated, unchanged, failed] = counts(&job);
        assert!(created == 0 && updated == 0 && failed == 0 && unchanged > 20, "{request}: {job}");
        assert_eq!(client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"], head);
    }
}

#[tokio::test]
async fn wrong_requests_are_refused_at_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (query, parameter) in [
        ("?locale=xx", "locale"),
        ("?encoding=klingon", "encoding"),
        ("?delimiter=x", "delimiter"),
        ("?mapping=[]", "mapping"),
        ("?kind=chairs", "kind"),
        ("?dry_run=1", "dry_run"),
        ("?nothing=1", "nothing"),
    ] {
        let refused = send(&client, query, "text/csv", TABLE).await;
        assert_eq!(
            (refused.status, &refused.json["error"]["details"]["parameter"]),
            (400, &json!(parameter)),
            "{query}"
        );
    }
    assert_eq!(send(&client, "", "text/plain", TABLE).await.status, 415);
    let job = csv(&client, "", "colour\nred\n").await;
    assert!(job["error"]["message"].as_str().is_some_and(|text| text.contains("colour")), "{job}");
    assert_eq!(job["error"]["type"], "invalid_request");
    assert_eq!(client.get("/v1/imports/nope").await.status, 404);
}

#[tokio::test]
async fn retried_request_makes_one_import() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let request = |body: &'static str| {
        client
            .request(Method::POST, "/v1/imports")
            .header("content-type", "text/csv")
            .header("idempotency-key", "k")
            .body(body)
    };
    let first = client.send(request(TABLE)).await;
    let second = client.send(request(TABLE)).await;
    assert_eq!((first.status, first.id()), (202, second.id()));
    assert_eq!(client.send(request("name\nOther\n")).await.status, 422);
    assert_eq!(client.list_all("/v1/imports").await.len(), 1);
    assert_eq!(client.delete(&format!("/v1/imports/{}", first.id())).await.status, 200);
    assert_eq!(client.list_all("/v1/imports").await.len(), 0);
}

#[tokio::test]
async fn large_import_goes_in_steps_and_pages_its_results() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut table = "name,import_ref,room\n".to_owned();
    (0..2500).for_each(|row| table.push_str(&format!("Thing {row},x{row},Room {}\n", row % 5)));
    let began = Instant::now();
    let job = csv(&client, "", &table).await;
    eprintln!("2,500 rows: {:?}", began.elapsed());
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("succeeded"), [2505, 0, 0, 0]));
    assert_eq!(job["rows"].as_array().map(Vec::len), Some(1000));
    let path = format!("/v1/imports/{}", job["id"].as_str().unwrap());
    let (mut cursor, mut rows) = (None::<String>, 0);
    loop {
        let query = cursor.as_ref().map_or(String::new(), |cursor| format!("?cursor={cursor}"));
        let page = client.get(&format!("{path}{query}")).await;
        rows += page.data()["rows"].as_array().unwrap().len();
        cursor = page.next_cursor();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(rows, 2505);
    assert_eq!(counts(&csv(&client, "", &table).await), [0, 0, 2500, 0]);
}

#[tokio::test]
async fn interrupted_import_is_not_run_again() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let job = csv(&client, "?dry_run=true", TABLE).await;
    let key = server.live_key.clone();
    let dir = server.stop().await;
    // As a process leaves it that is killed during the job.
    let db = rusqlite::Connection::open(dir.path().join("hearth.db")).unwrap();
    db.execute("UPDATE imports SET status = 'running', finished_at = NULL, body = x'6e'", []).unwrap();
    drop(db);
    // The test asks more often than a limit allows.
    let config = Config { rate_limits: None, ..Config::new(dir.path().to_owned()) };
    let again = hearth_server::start(config, Clock::system()).await.unwrap();
    let client = Client::new(&format!("http://{}", again.address), &key);
    let ended = ended(&client, &format!("/v1/imports/{}", job["id"].as_str().unwrap())).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("stopped during the import"), "{ended}");
    assert_eq!(ended["error"]["type"], "unavailable");
    again.stop().await;
}

/// Another connection to the database of a running server.
fn database(server: &Server) -> rusqlite::Connection {
    rusqlite::Connection::open(server.data().join("hearth.db")).unwrap()
}

#[tokio::test]
async fn revoked_key_writes_nothing_more() {
    let server = Server::start().await;
    let key =
        operate::create_key(&server.running.app.db, &Clock::system(), new_key("My home", Environment::Live)).await;
    let key = key.unwrap();
    let (client, owner) = (Client::new(&server.url, &key.secret), Client::new(&server.url, &server.live_key));
    // The home is busy with a job, so that the next one waits.
    let db = database(&server);
    let mut table = "name,import_ref\n".to_owned();
    (0..20_000).for_each(|row| table.push_str(&format!("Thing {row},x{row}\n")));
    let first = send(&owner, "?dry_run=true", "text/csv", table).await;
    let waiting = send(&client, "", "text/csv", TABLE).await;
    assert_eq!((first.status, waiting.status), (202, 202), "{}", waiting.text);
    db.execute("UPDATE keys SET revoked_at = 1 WHERE id = ?1", [&key.key.id]).unwrap();
    let job = ended(&owner, &format!("/v1/imports/{}", waiting.id())).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("failed"), [0, 0, 0, 0]), "{job}");
    assert_eq!(job["error"]["message"], "The key of this import is revoked. Nothing was written.");
    assert!(job["error"]["fix"].as_str().is_some_and(|fix| fix.contains("key that is valid")), "{job}");
    assert_eq!(job["error"]["type"], "invalid_api_key");
    assert_eq!(owner.list_all("/v1/inventory").await.len(), 0);
}

#[tokio::test]
async fn key_that_is_revoked_during_an_import_ends_it() {
    let server = Server::start().await;
    let key =
        operate::create_key(&server.running.app.db, &Clock::system(), new_key("My home", Environment::Live)).await;
    let key = key.unwrap();
    let (client, owner) = (Client::new(&server.url, &key.secret), Client::new(&server.url, &server.live_key));
    // The first step of the import revokes the key, as an owner may between two steps.
    database(&server)
        .execute_batch(&format!(
            "CREATE TRIGGER revoke AFTER UPDATE OF applied ON imports
             BEGIN UPDATE keys SET revoked_at = 1 WHERE id = '{}'; END",
            key.key.id
        ))
        .unwrap();
    let mut table = "name,import_ref\n".to_owned();
    (0..2600).for_each(|row| table.push_str(&format!("Thing {row},x{row}\n")));
    let asked = send(&client, "", "text/csv", table).await;
    let job = ended(&owner, &format!("/v1/imports/{}", asked.id())).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("failed"), [500, 0, 0, 2100]), "{}", job["error"]);
    assert_eq!(job["error"]["message"], "The key of this import is revoked. 500 changes were written before.");
    assert_eq!(job["rows"][999]["error"]["code"], "insufficient_scope");
    assert_eq!(owner.list_all("/v1/inventory").await.len(), 500);
}

#[tokio::test]
async fn job_whose_end_cannot_be_stored_is_ended_later() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    // No end of the first job can be stored before the second job, and none as a success afterwards.
    database(&server)
        .execute_batch(
            "CREATE TRIGGER stuck BEFORE UPDATE OF finished_at ON imports
             WHEN old.number = (SELECT min(number) FROM imports)
               AND (new.status = 'succeeded' OR (SELECT count(*) FROM imports) = 1)
             BEGIN SELECT raise(ABORT, 'no end'); END",
        )
        .unwrap();
    let first = send(&client, "", "text/csv", TABLE).await;
    let since = Instant::now();
    while client.list_all("/v1/inventory").await.len() < 2 {
        assert!(since.elapsed() < PATIENCE);
    }
    let second = send(&client, "?dry_run=true", "text/csv", TABLE).await;
    let job = ended(&client, &format!("/v1/imports/{}", second.id())).await;
    assert_eq!(job["status"], "succeeded", "{job}");
    let job = ended(&client, &format!("/v1/imports/{}", first.id())).await;
    assert_eq!(job["status"], "failed", "{job}");
    let message = job["error"]["message"].as_str().unwrap();
    assert_eq!(message, "The service could not carry out the import. 3 changes were written before.");
    assert_eq!(job["error"]["type"], "internal_error");
}

#[tokio::test]
async fn plan_tells_what_the_home_would_refuse() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
    let put = client.request(Method::PUT, &format!("/v1/files/{sha256}")).body("foo");
    assert_eq!(client.send(put).await.status, 201);
    let home = client.get("/v1/me").await.data()["home"]["id"].as_str().unwrap().to_owned();
    let documents = [
        json!({ "title": "Known", "file_sha256": sha256, "size_bytes": 3 }),
        json!({ "title": "Unknown", "file_sha256": "0".repeat(64) }),
        json!({ "title": "Other size", "file_sha256": sha256, "size_bytes": 4 }),
        json!({ "title": "The home's id", "id": home }),
    ];
    let file = json!({ "documents": documents }).to_string();
    for query in ["?dry_run=true", ""] {
        let job = import(&client, query, "application/json", file.clone()).await;
        assert_eq!(counts(&job), [1, 0, 0, 3], "{job}");
        let faults: Vec<Value> = job["rows"].as_array().unwrap()[1..]
            .iter()
            .map(|row| json!([row["error"]["column"], row["error"]["code"]]))
            .collect();
        let expected = json!([["file_sha256", "not_found"], ["size_bytes", "inconsistent"], ["id", "already_exists"]]);
        assert_eq!(Value::Array(faults), expected);
        assert_eq!(client.list_all("/v1/documents").await.len(), 0);
    }
    let job = import(&client, "?partial=true", "application/json", file).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("succeeded"), [1, 0, 0, 3]), "{job}");
}

#[tokio::test]
async fn import_without_room_writes_nothing() {
    let server = Server::start_with(|config| config.home_bytes_max = 1_000_000).await;
    let client = Client::new(&server.url, &server.live_key);
    let used = async || client.get("/v1/me").await.data()["home"]["used_bytes"].as_i64().unwrap();
    let mut table = "name,import_ref,notes\n".to_owned();
    (0..2600).for_each(|row| table.push_str(&format!("Thing {row},x{row},{}\n", "n".repeat(100))));
    for query in ["?dry_run=true", ""] {
        let job = csv(&client, query, &table).await;
        assert_eq!(job["status"], "failed", "{}", job["error"]);
        let error = &job["error"];
        assert!(error["message"].as_str().is_some_and(|text| text.contains("Nothing was written.")), "{error}");
        assert!(error["fix"].as_str().is_some_and(|text| text.contains("--max-home")), "{error}");
        assert_eq!(error["type"], "payload_too_large");
        assert_eq!(client.list_all("/v1/inventory").await.len(), 0);
        assert!(used().await <= 1_000_000, "{}", used().await);
        client.delete(&format!("/v1/imports/{}", job["id"].as_str().unwrap())).await;
        assert_eq!(used().await, 0);
    }
    // The results of jobs count, and go with them.
    let before = used().await;
    let job = csv(&client, "?dry_run=true", TABLE).await;
    assert!(used().await > before + 300);
    client.delete(&format!("/v1/imports/{}", job["id"].as_str().unwrap())).await;
    assert_eq!(used().await, before);
    // What fits is told rightly: the events and the results take the bytes of the estimate, or a few less.
    let small: String = table.lines().take(400).map(|line| format!("{line}\n")).collect();
    assert_eq!(csv(&client, "", &small).await["status"], "succeeded");
}

#[tokio::test]
async fn dry_runs_are_kept_for_a_day_and_imports_for_30() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    csv(&client, "?dry_run=true", TABLE).await;
    csv(&client, "", TABLE).await;
    let kept = async || {
        Maintenance::new(server.running.app.clone()).clean_up().await.unwrap();
        client.list_all("/v1/imports").await.len()
    };
    assert_eq!(kept().await, 2);
    clock.advance(Duration::from_secs(25 * 3600));
    assert_eq!(kept().await, 1);
    clock.advance(Duration::from_secs(29 * 24 * 3600));
    assert_eq!(kept().await, 0);
}

#[tokio::test]
async fn nameless_second_run_is_refused_after_an_edit_too() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let table = "name,quantity\nChair,1\n";
    csv(&client, "", table).await;
    let id = client.list_all("/v1/inventory").await[0]["id"].as_str().unwrap().to_owned();
    client.patch(&format!("/v1/inventory/{id}"), &json!({ "quantity": 4 })).await;
    let job = csv(&client, "", table).await;
    assert_eq!((counts(&job), &job["rows"][0]["error"]["code"]), ([0, 0, 0, 1], &json!("already_exists")));
    let keyed = csv(&client, "?key=name", table).await;
    assert_eq!(counts(&keyed), [0, 1, 0, 0]);
}
