//! Hard edges: what must not take the service down (contract 12).

use hearth_server::store::Fault;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_job_that_panics_is_one_fault_and_leaves_nothing_behind() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let db = &server.running.app.db;
    let write = db.write(|_| -> Result<(), Fault> { panic!("on purpose") });
    assert!(matches!(write.await, Err(Fault::Panicked)));
    let read = db.read(|_| -> Result<(), Fault> { panic!("on purpose") });
    assert!(matches!(read.await, Err(Fault::Panicked)));
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.status, 201);
    assert_eq!(client.walk("/v1/rooms").await.len(), 1);
}

#[tokio::test]
async fn what_is_no_http_is_closed_and_others_are_served() {
    let server = Server::start().await;
    for nonsense in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/rooms HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
    ] {
        let mut socket = TcpStream::connect(server.running.address).await.unwrap();
        socket.write_all(nonsense).await.unwrap();
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer).await;
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    }
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200);
}

#[tokio::test]
async fn a_client_that_hangs_up_changes_nothing() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Said and gone" }).to_string();
    let mut socket = TcpStream::connect(server.running.address).await.unwrap();
    let request = format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.live_key,
        body.len() + 5
    );
    // The body is never finished.
    socket.write_all(request.as_bytes()).await.unwrap();
    drop(socket);
    assert_eq!(client.post("/v1/tasks", &json!({ "title": "Whole" })).await.status, 201);
    assert_eq!(client.walk("/v1/tasks").await.len(), 1);
}
