//! Import jobs (contract 23).

use std::time::{Duration, Instant};

use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::Server;
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
    assert_eq!(client.list_all("/v1/inventory").await.len(), 0);
    let job = csv(&client, "?partial=true", table).await;
    assert_eq!((job["status"].as_str(), counts(&job)), (Some("succeeded"), [1, 0, 0, 1]));
    assert_eq!(client.list_all("/v1/inventory").await.len(), 1);
}

#[tokio::test]
async fn own_exports_come_back_unchanged() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for (format, media) in [("json", "application/json"), ("csv", "application/zip")] {
        let asked = client.post("/v1/exports", &json!({ "format": format })).await;
        let path = format!("/v1/exports/{}", asked.id());
        while client.get(&path).await.data()["status"] != "succeeded" {
            tokio::task::yield_now().await;
        }
        let file =
            client.request(Method::GET, &format!("{path}/download")).send().await.unwrap().bytes().await.unwrap();
        let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].clone();
        let job = import(&client, "", media, file).await;
        let [created, updated, unchanged, failed] = counts(&job);
        assert!(created == 0 && updated == 0 && failed == 0 && unchanged > 20, "{format}: {job}");
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
    let again = hearth_server::start(Config::new(dir.path().to_owned()), Clock::system()).await.unwrap();
    let client = Client::new(&format!("http://{}", again.address), &key);
    let ended = ended(&client, &format!("/v1/imports/{}", job["id"].as_str().unwrap())).await;
    assert_eq!(ended["status"], "failed", "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("stopped during the import"), "{ended}");
    again.stop().await;
}
