//! Files of documents between real servers and real replicas: bytes before the document, one file on the server, and nothing lost
//! by kills, limits and wrong bytes.

use std::path::{Path, PathBuf};

use hearth_tests::client::Client;
use hearth_tests::device::Device;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// The scopes that a sync of rooms needs.
const WITHOUT_DOCUMENTS: &str = "inventory:read,inventory:write,vehicles:read,vehicles:write,documents:read,tasks:read,tasks:write,rooms:read,rooms:write,property:read,property:write,search:read,events:read";

const PHOTO: &[u8] = b"\xFF\xD8\xFF\xE0 a photo of the lamp";

async fn files(client: &Client) -> Vec<Value> {
    client.list_all("/v1/files").await
}

/// The folder with the files of a replica.
fn folder(device: &Device) -> PathBuf {
    PathBuf::from(format!("{}.files", device.db))
}

fn state(device: &Device) -> String {
    device.query_text("SELECT state FROM files")
}

#[tokio::test]
async fn photo_of_three_offline_replicas_is_one_file() {
    let home = Home::new();
    let (server, client) = home.serve(&UNLIMITED);
    let devices = ["first.db", "second.db", "third.db"].map(|name| home.synced_device(name));
    assert_eq!(server.terminate().code(), Some(0));
    let photo = home.write_file("lamp.jpg", PHOTO);
    for device in &devices {
        device.run_ok(&["attach", &photo, "--to", "home", "--category", "warranty"]);
        assert_eq!(state(device), "waiting");
    }
    let (_server, _) = home.serve(&UNLIMITED);
    for device in &devices {
        assert_eq!(device.sync(), 0);
        assert_eq!((state(device).as_str(), device.count("edits")), ("present", 0));
    }
    let stored = files(&client).await;
    assert_eq!(stored.len(), 1, "{stored:?}");
    assert_eq!((&stored[0]["content_type"], &stored[0]["size_bytes"]), (&"image/jpeg".into(), &PHOTO.len().into()));
    let documents = client.list_all("/v1/documents").await;
    assert_eq!(documents.len(), 3);
    assert!(
        documents.iter().all(|document| document["file_sha256"] == stored[0]["sha256"] && document["title"] == "lamp")
    );
}

#[tokio::test]
async fn document_of_the_feed_is_fetched_and_read() {
    let home = Home::new();
    let (_server, _) = home.serve(&UNLIMITED);
    let (first, second) = (home.synced_device("first.db"), home.synced_device("second.db"));
    let document = first.run_ok(&["attach", &home.write_file("lamp.jpg", PHOTO), "--to", "home"]);
    assert_eq!((first.sync(), second.sync()), (0, 0));
    assert_eq!(state(&second), "wanted");
    assert_eq!(second.run_text(&["files", "path", &document]).0, 3, "its bytes are not here");
    second.run_ok(&["files", "fetch", "--images"]);
    let path = second.run_ok(&["files", "path", &document]);
    assert_eq!(std::fs::read(&path).unwrap(), PHOTO);
    // A person removes the folder: the daemon notices, and fetches the file when somebody asks again.
    std::fs::remove_dir_all(folder(&second)).unwrap();
    let daemon = second.start_daemon();
    wait_until("the loss is seen", || state(&second) == "missing");
    assert!(second.run_text(&["doctor"]).1.contains("1 file of documents missing"));
    second.wait_for_phase("live");
    second.run_ok(&["files", "fetch", &document[..8]]);
    assert_eq!((state(&second), std::fs::read(&path).unwrap()), ("present".to_owned(), PHOTO.to_vec()));
    drop(daemon);
    // Bytes that a disk has changed are found and fetched again.
    std::fs::write(&path, b"other bytes").unwrap();
    second.run_ok(&["files", "verify"]);
    assert_eq!(std::fs::read(&path).unwrap(), PHOTO);
}

#[tokio::test]
async fn file_over_the_limit_waits_for_a_person() {
    let home = Home::new();
    let (server, _) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    assert_eq!(server.terminate().code(), Some(0));
    let (_server, client) = home.serve(&[&UNLIMITED[..], &["--max-file", "1MiB"]].concat());
    let large = home.write_file("large.bin", vec![7; 3 << 20]);
    device.run_ok(&["attach", &large, "--to", "home"]);
    device.execute("INSERT INTO rooms (name) VALUES ('Hall')");
    assert_eq!(device.sync(), 5, "the room is sent, and the document waits for a person");
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
    assert_eq!(device.query_row("SELECT state, reason_code FROM edits"), ["rejected", "too_large"]);
    assert_eq!(state(&device), "refused");
    let (code, text) = device.run_text(&["attach", &large, "--to", "home"]);
    assert!(code == 2 && text.contains("larger than 1 MiB"), "{text}");
    device.run_ok(&["attach", &home.write_file("small.txt", b"small"), "--to", "home"]);
    assert_eq!(device.sync(), 5);
    assert_eq!(client.list_all("/v1/documents").await.len(), 1);
}

#[tokio::test]
async fn key_without_documents_refuses_a_file_once() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let full = home.create_key("all", "all");
    let device = Device { db: home.create_replica_with_key("first.db", &home.create_key("small", WITHOUT_DOCUMENTS)) };
    assert_eq!(device.sync(), 0);
    device.run_ok(&["attach", &home.write_file("lamp.jpg", PHOTO), "--to", "home"]);
    assert_eq!(device.sync(), 5, "the document waits for a person");
    assert_eq!(device.query_row("SELECT state, reason_code FROM edits"), ["rejected", "refused"]);
    let refusal = device.query_row("SELECT state, problem ->> '$.type' FROM files");
    assert_eq!(refusal, ["refused", "insufficient_scope"]);
    assert_eq!(device.json(&["status"])["files"]["refused"], 1);
    assert_eq!(device.sync(), 5, "the same key is refused again");
    device.set_key(&full);
    assert_eq!(device.sync(), 0, "one sync with another key sends file and document");
    assert_eq!((state(&device).as_str(), files(&client).await.len(), device.count("edits")), ("present", 1, 0));
}

#[tokio::test]
async fn another_key_of_a_running_daemon_sends_a_refused_file() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let full = home.create_key("all", "all");
    let device = Device { db: home.create_replica_with_key("first.db", &home.create_key("small", WITHOUT_DOCUMENTS)) };
    let _daemon = device.start_daemon();
    device.run_ok(&["attach", &home.write_file("lamp.jpg", PHOTO), "--to", "home"]);
    wait_until("the file is refused", || state(&device) == "refused");
    device.set_key(&full);
    wait_until("another key sends file and document", || device.count("edits") == 0);
    assert_eq!((state(&device).as_str(), files(&client).await.len()), ("present", 1));
}

#[tokio::test]
async fn damaged_bytes_are_not_sent_for_ever() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    let photo = home.write_file("lamp.jpg", PHOTO);
    device.run_ok(&["attach", &photo, "--to", "home"]);
    let hash = device.query_text("SELECT sha256 FROM files");
    std::fs::write(folder(&device).join(&hash[..2]).join(&hash), b"other bytes").unwrap();
    assert_eq!(device.sync(), 5, "the document waits for a person");
    assert_eq!((state(&device).as_str(), files(&client).await.len()), ("damaged", 0));
    // A person has the file elsewhere, and attaches it to the document again.
    device.run_ok(&["attach", &photo, "--to", &device.query_text("SELECT id FROM documents")]);
    assert_eq!(device.query_text("SELECT state FROM edits"), "waiting");
    assert_eq!(device.sync(), 0);
    assert_eq!((state(&device).as_str(), files(&client).await.len()), ("present", 1));
}

#[tokio::test]
async fn one_sync_fetches_the_files_that_are_asked_for() {
    let home = Home::new();
    let (_server, _) = home.serve(&UNLIMITED);
    let (first, second) = (home.synced_device("first.db"), home.synced_device("second.db"));
    first.run_ok(&["attach", &home.write_file("lamp.jpg", PHOTO), "--to", "home"]);
    assert_eq!((first.sync(), second.sync()), (0, 0));
    assert_eq!(second.run(&["files", "fetch", "--all", "--timeout", "0s"]).status.code(), Some(6), "too short");
    assert_eq!(second.json(&["status"])["files"]["requested"], 1);
    assert_eq!(second.sync(), 0);
    assert_eq!(state(&second), "present");
    assert_eq!(second.json(&["status"])["files"]["requested"], 0);
}

#[tokio::test]
async fn kills_during_attach_and_upload_lose_nothing() {
    let home = Home::new();
    let (server, _) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    assert_eq!(server.terminate().code(), Some(0));
    for round in 0..8u8 {
        let mut bytes = vec![round; 4 << 20];
        bytes[0] = 0;
        let file = home.write_file("photo.bin", &bytes);
        let attach = Process::start("hearth-replica", &["--db", &device.db, "attach", &file, "--to", "home"]);
        // The kill hits the copy, the transaction, or the end.
        let copies =
            |folder: &Path| std::fs::read_dir(folder).is_ok_and(|found| found.count() > usize::from(round / 2));
        wait_until("the copy has begun", || copies(&folder(&device)) || round % 2 == 1);
        attach.kill();
    }
    device.run_ok(&["attach", &home.write_file("last.txt", b"the last"), "--to", "home"]);
    let named = device.count("documents");
    assert_eq!(device.count("files WHERE state = 'waiting'"), named, "never a document without bytes");
    for hash in device.query_rows("SELECT file_sha256 FROM documents") {
        assert!(folder(&device).join(&hash[0][..2]).join(&hash[0]).is_file());
    }
    let (_server, client) = home.serve(&UNLIMITED);
    for _ in 0..3 {
        let daemon = device.start_daemon();
        device.wait_for_phase("live");
        daemon.kill();
    }
    assert_eq!(device.sync(), 0);
    let stored = files(&client).await.len();
    assert_eq!((i64::try_from(stored).unwrap(), device.count("edits")), (named, 0));
}

/// A server that answers each request with the tag of a file, and with other bytes.
async fn lying_server(hash: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer =
        format!("HTTP/1.1 200 OK\r\netag: \"{hash}\"\r\ncontent-length: 11\r\nconnection: close\r\n\r\nother bytes");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wrong_bytes_of_a_server_are_thrown_away() {
    let home = Home::new();
    let (_server, _) = home.serve(&UNLIMITED);
    let device = home.synced_device("first.db");
    let hash = "ab".repeat(32);
    device.execute(&format!("INSERT INTO documents (title, file_sha256) VALUES ('Deed', '{hash}')"));
    let url = lying_server(&hash).await;
    let profile = format!("{}.toml", device.db);
    let text = std::fs::read_to_string(&profile).unwrap();
    let server = text.lines().find_map(|line| line.strip_prefix("server = ")).unwrap();
    std::fs::write(&profile, text.replace(server, &format!("\"{url}\""))).unwrap();
    let (code, text) = device.run_text(&["files", "fetch", "--all"]);
    assert!(code == 3 && text.contains("other bytes than the hash"), "{code} {text}");
    assert_eq!(state(&device), "damaged");
    assert!(std::fs::read_dir(folder(&device)).unwrap().next().is_none(), "no byte is kept");
}
