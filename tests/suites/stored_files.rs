//! Files of homes with the built server: kills, a full disk, backup and restore, check (contract 17, 21).

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hearth_tests::client::Client;
use hearth_tests::home::{Home, UNLIMITED};
use hearth_tests::process::{Process, wait_until};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn path(bytes: &[u8]) -> String {
    format!("/v1/files/{}", hash(bytes))
}

async fn put(client: &Client, bytes: &[u8]) -> u16 {
    client.put(&path(bytes), bytes.to_vec()).await.status
}

/// All files below a directory.
fn below(dir: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.path().is_dir() { open.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

/// The files of the home on the disk.
fn stored(home: &Home) -> Vec<PathBuf> {
    below(&PathBuf::from(home.data()).join("files"))
}

fn checked(home: &Home) -> Value {
    serde_json::from_slice(&home.run(&["check", "--json"]).stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_uploads_leave_no_file_without_bytes() {
    const ROUNDS: usize = 4;
    /// Uploads that are acknowledged before the kill.
    const UPLOADS: usize = 8;
    let home = Home::new();
    let acknowledged = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    for round in 0..ROUNDS {
        let (server, client) = home.serve(&UNLIMITED);
        let uploads: Vec<_> = (0..3_usize)
            .map(|of| {
                let (client, acknowledged) = (client.clone(), acknowledged.clone());
                tokio::spawn(async move {
                    for nth in 0_usize.. {
                        // Several sizes, so that the kill meets each step of an upload.
                        let bytes = format!("{round} {of} {nth} ").repeat(1 + nth % 5 * 20_000).into_bytes();
                        let request = client.request(reqwest::Method::PUT, &path(&bytes)).body(bytes.clone());
                        match request.send().await {
                            Ok(response) if response.status() == 201 => acknowledged.lock().unwrap().push(bytes),
                            Ok(response) => panic!("status {}", response.status()),
                            Err(_) => return,
                        }
                    }
                })
            })
            .collect();
        let before = acknowledged.lock().unwrap().len();
        wait_until("some uploads are acknowledged", || acknowledged.lock().unwrap().len() >= before + UPLOADS);
        server.kill();
        for upload in uploads {
            upload.await.unwrap();
        }
        let report = checked(&home);
        assert_eq!((&report["ok"], &report["faults"]), (&json!(true), &json!([])), "{report}");
    }
    let (server, client) = home.serve(&UNLIMITED);
    let acknowledged = acknowledged.lock().unwrap().clone();
    for bytes in acknowledged {
        let read = client.get(&path(&bytes)).await;
        assert_eq!((read.status, read.text.as_bytes()), (200, &bytes[..]));
    }
    let partial = |file: &PathBuf| file.file_name().unwrap().to_string_lossy().starts_with("uploading-");
    wait_until("the parts of cut uploads are removed", || !stored(&home).iter().any(partial));
    assert_eq!(server.terminate().code(), Some(0));
}

#[tokio::test]
async fn full_disk_refuses_uploads_and_leaves_nothing() {
    let home = Home::new();
    let data = home.data();
    let arguments = ["--data", &data, "serve", "--listen", "127.0.0.1:0", "--rate-limits", "off"];
    let (server, url) = Process::serve_ignoring_xfsz(&arguments);
    let client = Client::new(&url, &home.key);
    assert_eq!(put(&client, b"before").await, 201);
    // A file larger than the limit cannot be written.
    let wal = std::fs::metadata(PathBuf::from(&data).join("hearth.db-wal")).unwrap().len();
    let bytes = vec![7; wal as usize + 3_000_000];
    server.limit_files(Some(wal + 1_000_000));
    let refused = client.put(&path(&bytes), bytes.clone()).await;
    assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (503, "unavailable", "1"));
    assert_eq!(stored(&home).len(), 1, "nothing is left behind");
    // The bytes fit, the row does not.
    server.limit_files(Some(wal));
    assert_eq!(put(&client, b"small").await, 503);
    assert_eq!(stored(&home).len(), 1, "bytes without a row are removed");
    server.limit_files(None);
    assert_eq!((put(&client, &bytes).await, put(&client, b"small").await), (201, 201));
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(checked(&home)["files"], 3);
}

#[tokio::test]
async fn silent_upload_is_ended_after_ten_seconds() {
    let home = Home::new();
    let (_server, client) = home.serve(&UNLIMITED);
    let address = client.url().strip_prefix("http://").unwrap();
    let mut socket = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "PUT {} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Length: 100\r\nConnection: close\r\n\r\nbegin",
        path(b"x"),
        home.key
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    socket.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 408 ") && response.contains("request_timeout"), "{response}");
    assert!(stored(&home).is_empty());
}

#[tokio::test]
async fn backup_holds_the_bytes_of_files() {
    let home = Home::new();
    let backup = home.path("backup.db");
    let (server, client) = home.serve(&UNLIMITED);
    let large = vec![1; 3_000_000];
    for bytes in [&large[..], b"", b"later lost"] {
        assert_eq!(put(&client, bytes).await, 201);
    }
    let named = client.post("/v1/documents", &json!({ "title": "Deed", "file_sha256": hash(&large) })).await;
    assert_eq!(named.status, 201, "{}", named.text);
    let saved: Value = serde_json::from_str(&home.stdout(&["backup", &backup, "--json"])).unwrap();
    assert!(saved["size_bytes"].as_u64().unwrap() > 3_000_000 && saved["lost_files"] == 0, "{saved}");
    assert_eq!(put(&client, b"after the backup").await, 201);
    assert_eq!(server.terminate().code(), Some(0));
    let size = |file: &str| std::fs::metadata(PathBuf::from(home.data()).join(file)).unwrap().len();
    let before = size("hearth.db");

    // Into the same directory, whose bytes were lost or damaged.
    for file in stored(&home) {
        if file.ends_with(hash(b"later lost")) {
            std::fs::remove_file(&file).unwrap()
        }
        if file.ends_with(hash(&large)) {
            std::fs::write(&file, vec![2; 3_000_000]).unwrap()
        }
    }
    let faults = checked(&home)["faults"].as_array().unwrap().clone();
    assert_eq!(faults.len(), 2, "{faults:?}");
    let restored: Value = serde_json::from_str(&home.stdout(&["restore", &backup, "--json"])).unwrap();
    assert_eq!(restored["lost_files"], 0);
    let report = checked(&home);
    assert_eq!((&report["ok"], &report["files"]), (&json!(true), &json!(3)), "{report}");
    let note = report["notes"][0].as_str().unwrap();
    assert!(note.contains(&hash(b"after the backup")), "{note}");
    assert!(size("hearth.db") <= before + 1_000_000, "the database does not keep the bytes");

    // Into a new directory.
    let other = home.path("other");
    hearth_tests::process::stdout("hearth-server", &["--data", &other, "restore", &backup]);
    let files = below(&PathBuf::from(&other).join("files"));
    assert_eq!(files.len(), 3);
    let bytes: Vec<Vec<u8>> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    assert!(bytes.contains(&large) && bytes.contains(&Vec::new()));

    let (server, client) = home.serve(&UNLIMITED);
    assert_eq!(client.delete(&path(&large)).await.error(), "in_use");
    assert_eq!(client.get(&path(b"later lost")).await.text, "later lost");
    assert_eq!(client.get(&path(b"after the backup")).await.status, 404);
    assert_eq!(put(&client, b"after the backup").await, 201);
    assert_eq!(server.terminate().code(), Some(0));
}

#[tokio::test]
async fn reset_sandbox_has_no_files() {
    let home = Home::with_sandbox_key();
    let (server, client) = home.serve(&UNLIMITED);
    assert_eq!(put(&client, b"example").await, 201);
    home.stdout(&["sandbox", "reset", "--team", "Hill house"]);
    assert_eq!(client.get(&path(b"example")).await.status, 404);
    assert_eq!(client.get("/v1/files").await.json["meta"]["usage"]["used_bytes"], 0);
    // The next delete removes the bytes; the cleanup of each minute would too.
    client.delete(&path(b"other")).await;
    assert!(stored(&home).is_empty());
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(checked(&home)["ok"], true);
}
