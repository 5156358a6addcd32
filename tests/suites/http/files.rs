//! Files of a home: their bytes, their limits, and the documents that name them (contract 21).

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream;
use hearth_server::maintenance::Maintenance;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A fact for two tests: the day on which a file was uploaded.
const BEGIN: &str = "2026-06-01T12:00:00Z";

fn path(bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("/v1/files/{hash}")
}

/// A GIF of one pixel.
pub(super) const GIF: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0!\xf9\x04\0\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Stores a file. Returns its hash.
pub(super) async fn put_file(client: &Client, bytes: &[u8]) -> String {
    assert_eq!(put(client, bytes).await.status, 201);
    hash(bytes)
}

fn hash(bytes: &[u8]) -> String {
    path(bytes).rsplit('/').next().unwrap().to_owned()
}

async fn put(client: &Client, bytes: &[u8]) -> Response {
    client.put(&path(bytes), bytes.to_vec()).await
}

/// The files below the directory of files, without directories.
fn stored(server: &Server) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![server.data().join("files")]);
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            if entry.path().is_dir() { open.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

#[tokio::test]
async fn file_is_stored_once_and_read_back() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let bytes = "a receipt".repeat(1000).into_bytes();
    let first = put(&client, &bytes).await;
    assert_eq!((first.status, first.header("location")), (201, &*path(&bytes)), "{}", first.text);
    let data = first.data();
    let expected = json!({
        "sha256": hash(&bytes), "size_bytes": 9000, "content_type": "text/plain; charset=utf-8",
        "created_at": data["created_at"],
    });
    assert_eq!(*data, expected);
    let again = put(&client, &bytes).await;
    assert_eq!((again.status, again.data()), (200, data));
    let read = client.request(Method::GET, &path(&bytes).to_ascii_uppercase().replace("/V1/FILES", "/v1/files"));
    let read = client.send(read.header("accept", "image/jpeg").header("accept-encoding", "gzip, br")).await;
    assert_eq!((read.status, read.text.as_bytes()), (200, &bytes[..]));
    for (name, value) in [
        ("content-type", "text/plain; charset=utf-8"),
        ("content-disposition", "attachment"),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "private, max-age=31536000, immutable"),
        ("accept-ranges", "bytes"),
        ("content-length", "9000"),
        ("content-encoding", ""),
        ("etag", &format!("\"{}\"", hash(&bytes))),
    ] {
        assert_eq!(read.header(name), value, "{name}");
    }
    assert_eq!(client.send(client.request(Method::HEAD, &path(&bytes))).await.header("content-length"), "9000");
    // The other home does not have the file.
    let sandbox = Client::new(&server.url, &server.test_key);
    assert_eq!(sandbox.get(&path(&bytes)).await.error(), "not_found");
    assert_eq!(client.get("/v1/files/none").await.error(), "not_found");
    assert_eq!(client.get(&format!("{}/text", path(&bytes))).await.json["error"]["details"]["state"], "none");
}

#[tokio::test]
async fn range_of_file_is_sent() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    put(&client, b"0123456789").await;
    let (path, etag) = (path(b"0123456789"), format!("\"{}\"", hash(b"0123456789")));
    let ask = async |headers: &[(&str, &str)]| {
        let request = headers
            .iter()
            .fold(client.request(Method::GET, &path), |request, (name, value)| request.header(*name, *value));
        client.send(request).await
    };
    for (headers, status, text, range) in [
        (vec![("range", "bytes=2-4")], 206, "234", "bytes 2-4/10"),
        (vec![("range", "bytes=-3"), ("if-range", &etag)], 206, "789", "bytes 7-9/10"),
        (vec![("range", "bytes=2-4"), ("if-range", "\"other\"")], 200, "0123456789", ""),
        (vec![("range", "bytes=0-1,3-4")], 200, "0123456789", ""),
        (vec![("range", "bytes=2-4"), ("if-none-match", &etag)], 304, "", ""),
    ] {
        let reply = ask(&headers).await;
        let got = (reply.status, &*reply.text, reply.header("content-range"));
        assert_eq!(got, (status, text, range), "{headers:?}");
    }
    let beyond = ask(&[("range", "bytes=10-")]).await;
    assert_eq!((beyond.status, beyond.error()), (416, "range_not_satisfiable"));
    assert_eq!(beyond.header("content-range"), "bytes */10");
    let head = client.request(Method::HEAD, &path).header("range", "bytes=2-4");
    assert_eq!(client.send(head).await.status, 200);
}

#[tokio::test]
async fn page_of_a_stranger_is_served_as_text() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for bytes in ["<html><script>alert(1)</script></html>", "<svg onload='alert(1)'/>"] {
        let request = client.request(Method::PUT, &path(bytes.as_bytes())).header("content-type", "text/html");
        assert_eq!(client.send(request.body(bytes)).await.status, 201);
        let read = client.get(&path(bytes.as_bytes())).await;
        assert_eq!(read.header("content-type"), "text/plain; charset=utf-8");
        assert_eq!(
            (read.header("content-disposition"), read.header("x-content-type-options")),
            ("attachment", "nosniff")
        );
    }
}

#[tokio::test]
async fn other_bytes_than_named_are_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    put(&client, b"right").await;
    // Also when the file is there: the hash alone gives nothing.
    for named in [&b"right"[..], b"new"] {
        let refused = client.put(&path(named), "wrong").await;
        assert_eq!((refused.status, refused.error()), (400, "hash_mismatch"));
        let details = json!({ "expected": hash(named), "found": hash(b"wrong") });
        assert_eq!(refused.json["error"]["details"], details);
    }
    let encoded = client.request(Method::PUT, &path(b"right")).header("content-encoding", "gzip").body("right");
    assert_eq!(client.send(encoded).await.error(), "unsupported_media_type");
    assert_eq!(stored(&server).len(), 1, "nothing is left behind");
}

#[tokio::test]
async fn limits_of_file_and_home_are_kept() {
    let server = Server::start_with(|config| (config.file_bytes_max, config.files_bytes_max) = (1000, 2500)).await;
    let client = Client::new(&server.url, &server.live_key);
    let full = |reply: &Response| (reply.status, reply.json["error"]["details"].clone());
    let of_file = (413, json!({ "limit_bytes": 1000, "of": "file" }));
    assert_eq!(full(&put(&client, &[0; 1001]).await), of_file);
    // Without a Content-Length, the limit is noticed on the way.
    let pieces = stream::iter((0..20).map(|_| Ok::<_, std::io::Error>(vec![0_u8; 100])));
    let unannounced = reqwest::Body::wrap_stream(pieces);
    assert_eq!(full(&client.put(&path(&[0; 2000]), unannounced).await), of_file);
    for byte in [1, 2] {
        assert_eq!(put(&client, &[byte; 1000]).await.status, 201);
    }
    assert_eq!(full(&put(&client, &[3; 600]).await), (413, json!({ "limit_bytes": 2500, "of": "home" })));
    assert_eq!(put(&client, &[1; 1000]).await.status, 200, "a file that is there takes no more room");
    assert_eq!(put(&client, &[3; 500]).await.status, 201);
    let usage = client.get("/v1/files").await.json["meta"]["usage"].clone();
    assert_eq!(usage, json!({ "used_bytes": 2500, "limit_bytes": 2500 }));
    assert!(client.get("/v1/me").await.data()["home"]["used_bytes"].as_i64().unwrap() >= 2500);
    assert_eq!(client.delete(&path(&[1; 1000])).await.status, 200);
    assert_eq!(put(&client, &[3; 600]).await.status, 201);
    assert_eq!(stored(&server).len(), 3);
}

#[tokio::test]
async fn four_uploads_of_a_key_at_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (sender, _) = tokio::sync::broadcast::channel::<()>(1);
    let open: Vec<_> = (0_u8..4)
        .map(|byte| {
            let (client, mut end) = (client.clone(), sender.subscribe());
            tokio::spawn(async move {
                let rest = async move {
                    let _ = end.recv().await;
                    Ok::<_, std::io::Error>(vec![byte])
                };
                let body = reqwest::Body::wrap_stream(stream::once(rest));
                client.put(&path(&[byte]), body).await.status
            })
        })
        .collect();
    let uploads = &server.running.app.uploads;
    let began = std::time::Instant::now();
    while uploads.count() < 4 {
        assert!(began.elapsed() < Duration::from_secs(60), "four uploads have begun");
        tokio::task::yield_now().await;
    }
    let fifth = put(&client, b"fifth").await;
    assert_eq!((fifth.status, fifth.error(), fifth.header("retry-after")), (429, "rate_limited", "1"));
    assert_eq!(fifth.json["error"]["details"]["window"], "uploads");
    assert_eq!(put(&Client::new(&server.url, &server.test_key), b"fifth").await.status, 201);
    sender.send(()).unwrap();
    let ended: Vec<u16> = join_all(open).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(ended, [201; 4]);
}

#[tokio::test]
async fn same_bytes_at_once_are_one_file() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let bytes = vec![7; 300_000];
    let mut statuses: Vec<u16> =
        join_all((0..3).map(|_| put(&client, &bytes))).await.iter().map(|r| r.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 201]);
    assert_eq!((client.list_all("/v1/files").await.len(), stored(&server).len()), (1, 1));
}

#[tokio::test]
async fn document_names_a_file_and_gets_its_facts() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    put(&client, b"one").await;
    put(&client, b"longer").await;
    let unknown = client.post("/v1/documents", &json!({ "title": "a", "file_sha256": hash(b"none") })).await;
    assert_eq!((unknown.status, unknown.faults()), (422, vec!["file_sha256 not_found".to_owned()]));
    let wrong = json!({ "title": "a", "file_sha256": hash(b"one"), "size_bytes": 4, "content_type": "image/png" });
    let wrong = client.post("/v1/documents", &wrong).await;
    assert_eq!(wrong.faults(), ["size_bytes inconsistent", "content_type inconsistent"]);
    let facts = |reply: &Response| (reply.data()["size_bytes"].clone(), reply.data()["content_type"].clone());
    let text = json!("text/plain; charset=utf-8");
    let made = client.post("/v1/documents", &json!({ "title": "a", "file_sha256": hash(b"one") })).await;
    assert_eq!((made.status, facts(&made)), (201, (json!(3), text.clone())), "{}", made.text);
    let document = format!("/v1/documents/{}", made.id());
    let patched = client.patch(&document, &json!({ "file_sha256": hash(b"longer") })).await;
    assert_eq!((patched.status, facts(&patched)), (200, (json!(6), text)));
    let names = async |filter: &str| -> Vec<Value> {
        client.list_all(&format!("/v1/files{filter}")).await.iter().map(|file| file["sha256"].clone()).collect()
    };
    assert_eq!(names("").await, [json!(hash(b"longer")), json!(hash(b"one"))]);
    assert_eq!(names("?referenced=true&limit=1").await, [json!(hash(b"longer"))]);
    assert_eq!(names("?referenced=false").await, [json!(hash(b"one"))]);
    let in_use = client.delete(&path(b"longer")).await;
    assert_eq!((in_use.status, in_use.error()), (409, "in_use"));
    let deleted = client.delete(&path(b"one")).await;
    assert_eq!((deleted.status, deleted.data()), (200, &json!({ "sha256": hash(b"one"), "deleted": true })));
    assert_eq!(client.delete(&path(b"one")).await.status, 200, "again");
    assert_eq!(client.get(&path(b"one")).await.status, 404);
    client.delete(&document).await;
    assert_eq!(client.delete(&path(b"longer")).await.status, 200);
    assert!(stored(&server).is_empty());
}

#[tokio::test]
async fn unused_file_is_collected_after_seven_days() {
    let clock = TestClock::at(BEGIN);
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    for bytes in ["named", "renewed", "unused"] {
        put(&client, bytes.as_bytes()).await;
    }
    client.post("/v1/documents", &json!({ "title": "a", "file_sha256": hash(b"named") })).await;
    let mut maintenance = Maintenance::new(server.running.app.clone());
    clock.advance(Duration::from_secs(6 * 86_400));
    put(&client, b"renewed").await;
    maintenance.clean_up().await.unwrap();
    assert_eq!(stored(&server).len(), 3);
    clock.advance(Duration::from_secs(86_400));
    maintenance.clean_up().await.unwrap();
    let left: Vec<Value> = client.list_all("/v1/files").await.iter().map(|file| file["sha256"].clone()).collect();
    assert_eq!(left, [json!(hash(b"renewed")), json!(hash(b"named"))]);
    assert_eq!(stored(&server).len(), 2);
}

#[tokio::test]
async fn thumbnail_is_made_once_from_a_picture() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let gif = GIF;
    put(&client, gif).await;
    for _ in 0..2 {
        let small = client.get(&format!("{}/thumbnail?width=320", path(gif))).await;
        assert_eq!((small.status, small.header("content-type")), (200, "image/jpeg"), "{}", small.text);
        assert_eq!(small.header("etag"), format!("\"{}-320\"", hash(gif)));
    }
    assert_eq!(stored(&server).len(), 2);
    let state = async |bytes: &[u8]| {
        put(&client, bytes).await;
        let reply = client.get(&format!("{}/thumbnail", path(bytes))).await;
        assert_eq!((reply.status, reply.error()), (404, "not_found"));
        reply.json["error"]["details"]["state"].clone()
    };
    assert_eq!(state(b"text").await, "none");
    assert_eq!(state(b"\x89PNG\r\n\x1a\n damaged").await, "failed");
    let other = client.get(&format!("{}/thumbnail?width=400", path(gif))).await;
    assert_eq!((other.status, other.error()), (400, "invalid_request"));
    assert_eq!(client.delete(&path(gif)).await.status, 200);
    assert!(!stored(&server).iter().any(|file| file.to_string_lossy().contains(&hash(gif))));
}
