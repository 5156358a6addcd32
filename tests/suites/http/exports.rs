//! Export jobs (contract 16).

use std::io::{Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hearth_contract::schema::Kind;
use hearth_server::clock::Clock;
use hearth_server::store::exports as stored;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::Server;
use reqwest::Method;
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// Longest wait for a job. A commit can wait minutes for a busy disk.
const PATIENCE: Duration = Duration::from_secs(600);

/// Creates an export and waits until the job ends. Returns the job.
async fn export(client: &Client, body: &Value) -> Value {
    let asked = client.post("/v1/exports", body).await;
    assert_eq!(
        (asked.status, asked.header("location")),
        (202, &*format!("/v1/exports/{}", asked.id())),
        "{}",
        asked.text
    );
    wait(client, &asked.id()).await
}

async fn wait(client: &Client, id: &str) -> Value {
    let since = Instant::now();
    loop {
        let job = client.get(&format!("/v1/exports/{id}")).await.data().clone();
        if job["status"] != "queued" && job["status"] != "running" {
            return job;
        }
        assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} for {job}");
    }
}

/// Downloads the file of a finished job, and checks size, checksum and headers against the job.
async fn download(client: &Client, job: &Value, media: &str, name: &str) -> Vec<u8> {
    assert_eq!((&job["status"], &job["error"]), (&json!("succeeded"), &Value::Null), "{job}");
    let path = format!("/v1/exports/{}/download", job["id"].as_str().unwrap());
    let response = client.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let header = |name: &str| response.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), media);
    assert_eq!(header("content-disposition"), format!("attachment; filename=\"{name}\""));
    assert_eq!(header("content-length"), job["size_bytes"].to_string());
    let bytes = response.bytes().await.unwrap().to_vec();
    let sum = hex(&Sha256::digest(&bytes));
    assert_eq!((bytes.len() as u64, &json!(sum)), (job["size_bytes"].as_u64().unwrap(), &job["sha256"]));
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn records(client: &Client, kind: Kind) -> Vec<Value> {
    client.list_all(&format!("/v1/{}?limit=100&order=asc", kind.collection())).await
}

#[tokio::test]
async fn json_export_equals_home() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let job = export(&client, &json!({ "format": "json" })).await;
    assert_eq!(job["types"], json!(["inventory", "vehicle", "document", "task", "room", "property"]));
    assert_eq!((&job["progress"]["done"], &job["format"]), (&job["progress"]["total"], &json!("json")));
    let file = download(&client, &job, "application/json", "hearth-export.json").await;
    let whole: Value = serde_json::from_slice(&file).unwrap();
    let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].clone();
    assert_eq!(whole["as_of"], head);
    assert!(whole["exported_at"].as_str().unwrap() <= job["finished_at"].as_str().unwrap());
    let names: Vec<&str> = whole.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["exported_at", "as_of", "inventory", "vehicles", "documents", "tasks", "rooms", "property"]);
    let mut total = 1;
    for kind in Kind::COLLECTIONS {
        let listed = records(&client, kind).await;
        total += listed.len();
        assert_eq!(whole[kind.collection()], Value::from(listed), "{kind}");
    }
    assert_eq!(&whole["property"], client.get("/v1/property").await.data());
    assert_eq!(job["progress"]["total"], total);

    let empty = Client::new(&server.url, &server.live_key);
    let job = export(&empty, &json!({ "format": "json", "types": ["property", "room"] })).await;
    let whole: Value =
        serde_json::from_slice(&download(&empty, &job, "application/json", "hearth-export.json").await).unwrap();
    assert_eq!((&job["types"], &whole["rooms"]), (&json!(["room", "property"]), &json!([])));
    assert_eq!((whole.get("property"), whole.get("tasks")), (Some(&Value::Null), None));
}

#[tokio::test]
async fn csv_export_is_safe_in_spreadsheet() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room =
        json!({ "name": "=cmd|' /C calc'!A0", "notes": "two\nlines, \"quoted\"", "floor": "+1", "area_sq_ft": 7 });
    client.post("/v1/rooms", &room).await;
    let job = export(&client, &json!({ "format": "csv", "types": ["room", "task"] })).await;
    let file = download(&client, &job, "application/zip", "hearth-export.zip").await;
    let mut zip = zip::ZipArchive::new(Cursor::new(file)).unwrap();
    let names: Vec<String> = zip.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names, ["tasks.csv", "rooms.csv"]);
    let mut rooms = String::new();
    zip.by_name("rooms.csv").unwrap().read_to_string(&mut rooms).unwrap();
    let (head, row) = rooms.split_once("\r\n").unwrap();
    assert_eq!(
        head,
        "id,rev,name,room_type,floor,area_sq_ft,paint_color,flooring,notes,import_ref,created_at,updated_at,updated_by"
    );
    assert!(row.contains(r#",1,'=cmd|' /C calc'!A0,,'+1,7,,,"two"#), "{row}");
    assert!(row.contains("\"two\nlines, \"\"quoted\"\"\""), "{row}");
}

#[tokio::test]
async fn csv_export_has_names_and_bom_on_request() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "=Kitchen" })).await.id();
    let item = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room, "make": "" })).await.id();
    let task = json!({ "title": "Bulb", "subject_type": "inventory", "subject_id": item });
    client.post("/v1/tasks", &task).await;
    client.post("/v1/tasks", &json!({ "title": "Rest" })).await;
    let job = export(&client, &json!({ "format": "csv", "names": true, "bom": true })).await;
    assert_eq!((&job["names"], &job["bom"]), (&json!(true), &json!(true)));
    let file = download(&client, &job, "application/zip", "hearth-export.zip").await;
    let mut zip = zip::ZipArchive::new(Cursor::new(file)).unwrap();
    let mut read = |name: &str| {
        let mut text = String::new();
        zip.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    let (items, tasks) = (read("inventory.csv"), read("tasks.csv"));
    assert!(items.starts_with("\u{feff}id,rev,name,room,room_id,"), "{items}");
    assert!(items.contains(&format!(",Lamp,'=Kitchen,{room},")), "{items}");
    assert!(items.contains(",1,\"\","), "an empty text is no null: {items}");
    assert!(tasks.contains(",subject_type,subject,subject_id,"), "{tasks}");
    assert!(tasks.contains(&format!(",inventory,Lamp,{item},")), "{tasks}");
}

#[tokio::test]
async fn html_export_is_a_report_of_all_things() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Study" })).await.id();
    let chair = json!({ "name": "<Chair>", "room_id": room, "quantity": 3, "purchase_price": "0.10" });
    let chair = client.post("/v1/inventory", &chair).await.id();
    client.post("/v1/vehicles", &json!({ "name": "Car", "current_value": "5000.00" })).await;
    let paper = json!({ "title": "Receipt", "subject_type": "inventory", "subject_id": chair });
    client.post("/v1/documents", &paper).await;
    let photo = super::files::put_file(&client, super::files::GIF).await;
    let photo = json!({ "title": "Chair", "subject_type": "inventory", "subject_id": chair, "file_sha256": photo });
    assert_eq!(client.post("/v1/documents", &photo).await.status, 201);
    client.patch("/v1/property", &json!({ "address": "12 Mill Lane" })).await;
    let job = export(&client, &json!({ "format": "html", "types": ["inventory", "vehicle", "document"] })).await;
    let file = download(&client, &job, "text/html", "hearth-report.html").await;
    let page = String::from_utf8(file).unwrap();
    for part in [
        "My home",
        "12 Mill Lane",
        "Study",
        "&#60;Chair&#62;",
        "0.30",
        "5,000.30",
        "Receipt",
        "data:image/jpeg;base64,",
    ] {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[tokio::test]
async fn sqlite_export_has_typed_tables() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let job = export(&client, &json!({ "format": "sqlite" })).await;
    let file = download(&client, &job, "application/vnd.sqlite3", "hearth-export.sqlite").await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("export.sqlite");
    std::fs::write(&path, file).unwrap();
    let db = Connection::open(path).unwrap();
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    for kind in Kind::COLLECTIONS {
        let sql = format!("SELECT count(*) FROM {}", kind.collection());
        let count: usize = db.query_row(&sql, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
        assert_eq!(count, records(&client, kind).await.len(), "{kind}");
    }
    let types: (String, String, String, i64) = db
        .query_row(
            "SELECT typeof(quantity), typeof(purchase_price), typeof(rev), (SELECT count(*) FROM property)
             FROM inventory WHERE purchase_price IS NOT NULL LIMIT 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap();
    assert_eq!(types, ("integer".to_owned(), "text".to_owned(), "integer".to_owned(), 1));
}

#[tokio::test]
async fn jobs_list_and_delete_within_one_home() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let other = Client::new(&server.url, &server.live_key);
    let mut ids = Vec::new();
    for format in ["json", "csv", "sqlite"] {
        ids.push(export(&client, &json!({ "format": format, "types": ["room"] })).await["id"].clone());
    }
    ids.reverse();
    let page = client.get("/v1/exports?limit=2").await;
    assert_eq!(page.json["meta"]["page"]["has_more"], true);
    let listed: Vec<Value> = client.list_all("/v1/exports?limit=2").await.iter().map(|job| job["id"].clone()).collect();
    assert_eq!(listed, ids);
    let cursor = page.next_cursor().unwrap();
    assert_eq!(other.get(&format!("/v1/exports?cursor={cursor}")).await.error(), "invalid_cursor");
    assert_eq!(client.get(&format!("/v1/rooms?cursor={cursor}")).await.error(), "invalid_cursor");
    assert_eq!(other.list_all("/v1/exports").await.len(), 0);

    let path = format!("/v1/exports/{}", ids[0].as_str().unwrap());
    for unknown in [&path, "/v1/exports/nope", &format!("{path}/download")] {
        assert_eq!(
            (other.get(unknown).await.status, other.get(unknown).await.error()),
            (404, "not_found"),
            "{unknown}"
        );
    }
    other.delete(&path).await;
    assert_eq!(client.get(&path).await.status, 200);
    let file = std::fs::read_dir(server.data().join("exports")).unwrap().count();
    assert_eq!(file, 3);
    for _ in 0..2 {
        let gone = client.delete(&path).await;
        assert_eq!((gone.status, gone.data()), (200, &json!({ "id": ids[0], "deleted": true })));
    }
    for path in [&path, &format!("{path}/download")] {
        assert_eq!(client.get(path).await.error(), "not_found");
    }
    assert_eq!(std::fs::read_dir(server.data().join("exports")).unwrap().count(), 2);
    // A delete takes effect even if the client disconnects.
    let turns = AtomicUsize::new(0);
    super::feed::wait_for(|| async {
        for id in &ids[1..] {
            let (id, key) = (id.as_str().unwrap(), &server.test_key);
            let request = format!("DELETE /v1/exports/{id} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {key}\r\n\r\n");
            let mut socket = TcpStream::connect(server.running.address).await.unwrap();
            socket.write_all(request.as_bytes()).await.unwrap();
            // Disconnect after a varying number of steps of the request.
            for _ in 0..turns.fetch_add(1, Ordering::Relaxed) % 20 {
                tokio::task::yield_now().await;
            }
        }
        (std::fs::read_dir(server.data().join("exports")).unwrap().count() == 0).then_some(())
    })
    .await;
}

#[cfg(unix)]
#[tokio::test]
async fn export_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let job = export(&client, &json!({ "format": "csv" })).await;
    let dir = server.data().join("exports");
    assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let file = std::fs::read_dir(dir).unwrap().next().unwrap().unwrap();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!file.file_name().to_string_lossy().contains(job["id"].as_str().unwrap()));
}

#[tokio::test]
async fn invalid_export_is_refused_at_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (body, faults) in [
        (json!({}), &["format required"][..]),
        (json!({ "format": null }), &["format required"]),
        (json!({ "format": "xml", "typs": [] }), &["format not_a_choice", "typs unknown_field"]),
        (json!({ "format": 3, "types": "room" }), &["format wrong_type", "types wrong_type"]),
        (json!({ "format": "csv", "types": ["room", "rooms", 4] }), &["types[1] not_a_choice", "types[2] wrong_type"]),
        (json!({ "format": "csv", "types": [] }), &["types too_short"]),
        (json!({ "format": "csv", "names": 1, "bom": "yes" }), &["names wrong_type", "bom wrong_type"]),
        (json!({ "format": "html", "names": true, "bom": true }), &["names inconsistent", "bom inconsistent"]),
        (json!({ "format": "csv", "types": vec!["room"; 7] }), &["types too_long"]),
        (json!([]), &[" wrong_type"]),
    ] {
        let response = client.post("/v1/exports", &body).await;
        assert_eq!(
            (response.status, response.faults()),
            (422, faults.iter().map(|f| (*f).to_owned()).collect()),
            "{body}"
        );
    }
    assert_eq!(client.list_all("/v1/exports").await.len(), 0);
    assert_eq!(client.get("/v1/exports?sort=created_at").await.error(), "invalid_request");
}

#[tokio::test]
async fn retried_request_makes_one_export() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let ask = || async {
        let request = client.request(Method::POST, "/v1/exports").header("idempotency-key", "k");
        client.send(request.json(&json!({ "format": "json" }))).await
    };
    let (first, again): (Response, Response) = (ask().await, ask().await);
    assert_eq!((again.status, &again.text, again.header("idempotency-replayed")), (202, &first.text, "true"));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(client.list_all("/v1/exports").await.len(), 1);
}

/// More than twice the number of records in one read of a job.
const ROOMS: usize = 1050;

#[tokio::test]
async fn job_reads_one_snapshot() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    // The job needs several reads, which must all see one snapshot.
    let operation = json!({ "method": "create", "name": "0" });
    let bulk = json!({ "operations": vec![operation; 50] });
    for _ in 0..ROOMS / 50 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
    }
    let ids: Vec<String> =
        client.list_all("/v1/rooms").await.iter().map(|room| room["id"].as_str().unwrap().to_owned()).collect();
    let before = client.list_all("/v1/events?limit=1000").await.len() as i64;
    client.patch(&format!("/v1/rooms/{}", ids[0]), &json!({ "name": "first" })).await;
    let (written, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let writer = tokio::spawn({
        let (client, written, over) = (client.clone(), written.clone(), over.clone());
        async move {
            for (round, id) in ids.iter().cycle().enumerate() {
                client.patch(&format!("/v1/rooms/{id}"), &json!({ "name": (round + 1).to_string() })).await;
                written.fetch_add(1, Ordering::SeqCst);
                if over.load(Ordering::SeqCst) {
                    return;
                }
            }
        }
    });
    let job = export(&client, &json!({ "format": "json" })).await;
    over.store(true, Ordering::SeqCst);
    writer.await.unwrap();
    let file = download(&client, &job, "application/json", "hearth-export.json").await;
    let whole: Value = serde_json::from_slice(&file).unwrap();
    let as_of = whole["as_of"].as_i64().unwrap();
    let last = before + 1 + written.load(Ordering::SeqCst) as i64;
    assert!(before < as_of && as_of < last, "{as_of} is amid the changes, from {before} to {last}");
    // The export must equal the feed folded up to its position.
    let mut folded = std::collections::BTreeMap::new();
    for event in client.list_all("/v1/events?limit=1000").await {
        if event["id"].as_i64().unwrap() <= as_of {
            folded.insert(event["resource_id"].to_string(), event["payload"].clone());
        }
    }
    let rooms = whole["rooms"].as_array().unwrap();
    assert_eq!(rooms.len(), ROOMS);
    assert!(rooms.iter().all(|room| folded[&room["id"].to_string()] == *room));
}

#[tokio::test]
async fn files_expire_and_interrupted_jobs_rerun() {
    let server = Server::start().await;
    let key = server.live_key.clone();
    let client = Client::new(&server.url, &key);
    let done = export(&client, &json!({ "format": "json" })).await;
    let id = done["id"].as_str().unwrap().to_owned();
    // The state after a crash: a running job and half of its file.
    let waiting = client.post("/v1/exports", &json!({ "format": "csv" })).await.id();
    wait(&client, &waiting).await;
    let dir = server.stop().await;
    let db = Connection::open(dir.path().join("hearth.db")).unwrap();
    let sql = "UPDATE exports SET status = 'running', finished_at = NULL, expires_at = NULL WHERE id = ?1";
    assert_eq!(db.execute(sql, [&waiting]).unwrap(), 1);
    drop(db);
    std::fs::write(dir.path().join("exports/0123456789abcdef0123456789abcdef"), "half").unwrap();

    let mut used = Vec::new();
    for (hours, status) in [(23, "succeeded"), (25, "expired")] {
        let system = Clock::system();
        let passing = system.clone();
        let clock = Clock::new(move || system.now().plus_millis(hours * 3_600_000), move || passing.elapsed());
        let mut config = hearth_server::config::Config::new(dir.path().to_owned());
        config.rate_limits = None;
        // With a retention of one second, upkeep runs every second.
        config.retention = Some(Duration::from_secs(1));
        let running = hearth_server::start(config, clock).await.unwrap();
        let client = Client::new(&format!("http://{}", running.address), &key);
        let again = wait(&client, &waiting).await;
        assert_eq!(again["status"], "succeeded", "{again}");
        let job = client.get(&format!("/v1/exports/{id}")).await.data().clone();
        assert_eq!(job["status"], status, "after {hours} h");
        let file = client.get(&format!("/v1/exports/{id}/download")).await;
        assert_eq!(file.status, if status == "succeeded" { 200 } else { 404 });
        assert!(!dir.path().join("exports/0123456789abcdef0123456789abcdef").exists());
        // Upkeep deletes the expired files.
        let left = if status == "succeeded" { 2 } else { 1 };
        let since = Instant::now();
        while std::fs::read_dir(dir.path().join("exports")).unwrap().count() != left {
            assert!(since.elapsed() < PATIENCE, "{left} files should be left");
            client.get("/v1/me").await;
        }
        used.push(client.get("/v1/me").await.data()["home"]["used_bytes"].as_i64().unwrap());
        running.stop().await;
    }
    assert!(used[1] < used[0], "an expired file takes no room: {used:?}");
    let db = hearth_server::store::Db::open(dir.path(), Default::default(), 1).unwrap();
    assert_eq!(db.read(stored::files).await.unwrap().len(), 1, "the file of the expired job is cleared away");
    assert_eq!(std::fs::read_dir(dir.path().join("exports")).unwrap().count(), 1);
}

#[tokio::test]
async fn job_retries_after_database_refusal() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let outside = Connection::open(server.data().join("hearth.db")).unwrap();
    outside.busy_timeout(PATIENCE).unwrap();
    // Refuse each write of a job in turn: the start and the result.
    for status in ["running", "succeeded"] {
        let sql = format!(
            "CREATE TRIGGER hold BEFORE UPDATE ON exports WHEN new.status = '{status}'
             BEGIN SELECT RAISE(ABORT, 'not now'); END"
        );
        outside.execute_batch(&sql).unwrap();
        let id = client.post("/v1/exports", &json!({ "format": "json" })).await.id();
        // After some more writes the job has tried the step and failed.
        for _ in 0..20 {
            client.post("/v1/rooms", &json!({ "name": "Room" })).await;
        }
        let job = client.get(&format!("/v1/exports/{id}")).await;
        assert!(job.data()["status"] == "queued" || job.data()["status"] == "running", "{}", job.text);
        outside.execute_batch("DROP TRIGGER hold").unwrap();
        assert_eq!(wait(&client, &id).await["status"], "succeeded", "{status}");
    }
}

#[tokio::test]
async fn job_waits_for_usable_directory() {
    let server = Server::start().await;
    let key = server.live_key.clone();
    let dir = server.stop().await;
    let place = dir.path().join("exports");
    std::fs::remove_dir(&place).unwrap();
    std::fs::write(&place, "in the way").unwrap();
    let config = hearth_server::config::Config::new(dir.path().to_owned());
    let running = hearth_server::start(config, Clock::system()).await.unwrap();
    let client = Client::new(&format!("http://{}", running.address), &key);
    let id = client.post("/v1/exports", &json!({ "format": "json" })).await.id();
    assert_eq!(client.get(&format!("/v1/exports/{id}")).await.data()["status"], "queued");
    std::fs::remove_file(&place).unwrap();
    let since = Instant::now();
    while client.get(&format!("/v1/exports/{id}")).await.data()["status"] != "succeeded" {
        assert!(since.elapsed() < PATIENCE, "the job is done");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    running.stop().await;
}

#[tokio::test]
async fn failed_job_reports_standard_error() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    std::fs::remove_dir(server.data().join("exports")).unwrap();
    std::fs::write(server.data().join("exports"), "in the way").unwrap();
    let job = export(&client, &json!({ "format": "json" })).await;
    assert_eq!((&job["status"], &job["error"]["type"]), (&json!("failed"), &json!("internal_error")), "{job}");
    let members: Vec<&str> = job["error"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["type", "message", "fix", "doc_url", "details"]);
    assert_eq!(client.get("/v1/exports").await.data()[0]["error"], job["error"]);
}

#[tokio::test]
async fn home_holds_100_exports_and_all_finish() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let asking = futures_util::future::join_all((0..100).map(|number| {
        let (client, format) = (client.clone(), ["json", "csv", "sqlite"][number % 3]);
        async move {
            client.post("/v1/rooms", &json!({ "name": "Room" })).await;
            client.post("/v1/exports", &json!({ "format": format, "types": ["room"] })).await
        }
    }));
    let asked = asking.await;
    assert!(asked.iter().all(|response| response.status == 202));
    let more = client.post("/v1/exports", &json!({ "format": "json" })).await;
    assert_eq!((more.status, more.error(), more.header("retry-after")), (429, "rate_limited", "60"));
    let report = |member: &str| more.json["error"][member].as_str().unwrap();
    assert!(report("message").contains("100") && report("fix").starts_with("Delete an export"), "{}", more.text);
    // The other home has its own limit of 100.
    let other = Client::new(&server.url, &server.test_key);
    assert_eq!(other.post("/v1/exports", &json!({ "format": "json" })).await.status, 202);
    for response in &asked {
        assert_eq!(wait(&client, &response.id()).await["status"], "succeeded");
    }
    // Finished jobs count until their delete.
    assert_eq!(client.post("/v1/exports", &json!({ "format": "json" })).await.status, 429);
    client.delete(&format!("/v1/exports/{}", asked[0].id())).await;
    assert_eq!(client.post("/v1/exports", &json!({ "format": "json" })).await.status, 202);
}

#[tokio::test]
async fn export_file_uses_version_of_request() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let (old, current) = ("2026-03-01", "2026-06-01");
    for (version, vehicle, room) in [(old, "vehicles", "rooms"), (current, "vehicle", "room")] {
        for (format, media) in
            [("json", "application/json"), ("csv", "application/zip"), ("sqlite", "application/vnd.sqlite3")]
        {
            let order = client.request(Method::POST, "/v1/exports").header("service-api-version", version);
            let asked = client.send(order.json(&json!({ "format": format }))).await;
            let job = wait(&client, &asked.id()).await;
            let name = match format {
                "csv" => "hearth-export.zip".to_owned(),
                format => format!("hearth-export.{format}"),
            };
            // The file is the same for clients of either version.
            let file = download(&client, &job, media, &name).await;
            let path = format!("/v1/exports/{}/download", asked.id());
            let response = client.get(&path).await;
            assert_eq!(response.header("service-api-version"), version, "{format}");
            let mut words: Vec<String> = match format {
                "json" => {
                    let whole: Value = serde_json::from_slice(&file).unwrap();
                    whole["tasks"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .map(|task| task["subject_type"].as_str().unwrap_or_default().to_owned())
                        .collect()
                }
                "csv" => {
                    let mut text = String::new();
                    zip::ZipArchive::new(Cursor::new(file))
                        .unwrap()
                        .by_name("tasks.csv")
                        .unwrap()
                        .read_to_string(&mut text)
                        .unwrap();
                    text.split(',').map(str::to_owned).collect()
                }
                _ => {
                    let dir = tempfile::tempdir().unwrap();
                    std::fs::write(dir.path().join("x"), &file).unwrap();
                    let db = Connection::open(dir.path().join("x")).unwrap();
                    let mut rows = db.prepare("SELECT coalesce(subject_type, '') FROM tasks").unwrap();
                    rows.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
                }
            };
            words.retain(|word| ["vehicle", "vehicles", "room", "rooms"].contains(&word.as_str()));
            words.sort();
            words.dedup();
            assert_eq!(words, [room, vehicle], "{format} {version}");
        }
    }
}
