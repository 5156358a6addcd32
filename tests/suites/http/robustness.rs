//! Broken clients and internal faults, which the service must survive (contract 12).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_server::clock::Clock;
use hearth_server::store::StoreError;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

#[tokio::test]
async fn panicking_job_leaves_nothing_behind() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let db = &server.running.app.db;
    let write = db.write(|_| -> Result<(), StoreError> { panic!("on purpose") });
    assert!(matches!(write.await, Err(StoreError::Panicked)));
    let read = db.read(|_| -> Result<(), StoreError> { panic!("on purpose") });
    assert!(matches!(read.await, Err(StoreError::Panicked)));
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.status, 201);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
}

#[tokio::test]
async fn non_http_bytes_close_only_that_connection() {
    let server = Server::start().await;
    for nonsense in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/rooms HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
    ] {
        let mut socket = TcpStream::connect(server.running.address).await.unwrap();
        socket.write_all(nonsense).await.unwrap();
        let mut response = Vec::new();
        let _ = socket.read_to_end(&mut response).await;
        let response = String::from_utf8_lossy(&response);
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 400"), "{response}");
    }
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200);
}

#[tokio::test]
async fn hung_up_client_changes_nothing() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "title": "Said and gone" }).to_string();
    let mut socket = TcpStream::connect(server.running.address).await.unwrap();
    let request = format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        server.live_key,
        body.len() + 5
    );
    // The client never finishes the body.
    socket.write_all(request.as_bytes()).await.unwrap();
    drop(socket);
    assert_eq!(client.post("/v1/tasks", &json!({ "title": "Whole" })).await.status, 201);
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
}

/// Reads until the connection closes. Returns the head and the JSON body of the response.
async fn rest(socket: &mut TcpStream) -> (String, Value) {
    let mut response = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(120), socket.read_to_end(&mut response)).await;
    read.expect("the connection ends in time").unwrap();
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
    (head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null))
}

#[tokio::test]
async fn slow_headers_time_out() {
    let server = Server::start_with(|config| config.headers_time_max = Duration::from_millis(200)).await;
    let mut slow = TcpStream::connect(server.running.address).await.unwrap();
    let mut idle = TcpStream::connect(server.running.address).await.unwrap();
    slow.write_all(b"GET /v1/rooms HTTP/1.1\r\nhost: h\r\nx-slow: ").await.unwrap();
    // Each byte arrives in time, the whole head does not.
    let (mut reading, mut writing) = slow.split();
    let dripping = async {
        while writing.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let mut response = Vec::new();
    tokio::select! {
        read = reading.read_to_end(&mut response) => drop(read),
        () = dripping => (),
    }
    let response = String::from_utf8(response).unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 408 Request Timeout\r\n"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    let id = body["meta"]["request_id"].as_str().unwrap();
    assert_eq!(body["error"]["type"], "request_timeout");
    for line in [
        &format!("x-request-id: {id}"),
        "service-api-version: 2026-06-01",
        "cache-control: no-store",
        "content-type: application/json",
        "connection: close",
    ] {
        assert!(head.lines().any(|text| text == line), "{line}: {head}");
    }
    // An idle connection is closed without a response, and other connections are served.
    assert_eq!(rest(&mut idle).await, (String::new(), Value::Null));
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200);
}

#[tokio::test]
async fn missing_body_times_out() {
    let server = Server::start_with(|config| config.body_time_max = Duration::from_millis(100)).await;
    let mut socket = TcpStream::connect(server.running.address).await.unwrap();
    let head = format!(
        "POST /v1/rooms HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: 100\r\nconnection: close\r\n\r\n{{\"name\":",
        server.live_key
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let (head, body) = rest(&mut socket).await;
    assert!(head.starts_with("HTTP/1.1 408 "), "{head}");
    assert_eq!(body["error"]["type"], "request_timeout");
    assert_eq!(Client::new(&server.url, &server.live_key).list_all("/v1/rooms").await.len(), 0);
}

/// Asks for the health of the service. Returns the status line; empty when the connection is closed.
async fn ask_health(socket: &mut TcpStream) -> String {
    let mut response = [0; 4096];
    let _ = socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n").await;
    let read = tokio::time::timeout(Duration::from_secs(120), socket.read(&mut response)).await;
    let read = read.expect("a response or the end in time").unwrap_or(0);
    String::from_utf8_lossy(&response[..read]).lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn connection_over_cap_replaces_longest_idle() {
    let server = Server::start_with(|config| config.connections_max = 2).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut socket = TcpStream::connect(server.running.address).await.unwrap();
        assert_eq!(ask_health(&mut socket).await, "HTTP/1.1 200 OK");
        held.push(socket);
    }
    assert_eq!(ask_health(&mut held[0]).await, "HTTP/1.1 200 OK");
    let mut third = TcpStream::connect(server.running.address).await.unwrap();
    assert_eq!(ask_health(&mut third).await, "HTTP/1.1 200 OK");
    assert_eq!(ask_health(&mut held[1]).await, "", "it was idle longest");
    assert_eq!(ask_health(&mut held[0]).await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn connection_over_cap_waits_for_busy_ones() {
    let server = Server::start_with(|config| config.connections_max = 2).await;
    let open =
        format!("GET /v1/events/stream HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\n\r\n", server.test_key);
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut socket = TcpStream::connect(server.running.address).await.unwrap();
        socket.write_all(open.as_bytes()).await.unwrap();
        assert!(socket.read(&mut [0; 4096]).await.unwrap() > 0);
        streams.push(socket);
    }
    let mut third = TcpStream::connect(server.running.address).await.unwrap();
    let mut asking = Box::pin(ask_health(&mut third));
    let pause = tokio::time::sleep(Duration::from_millis(200));
    tokio::select! {
        biased;
        line = &mut asking => panic!("a stream was closed: {line}"),
        () = pause => (),
    }
    streams.pop();
    assert_eq!(asking.await, "HTTP/1.1 200 OK");
}

#[tokio::test]
async fn unknown_transfer_coding_is_refused() {
    let server = Server::start().await;
    let mut socket = TcpStream::connect(server.running.address).await.unwrap();
    let head = format!(
        "POST /v1/rooms HTTP/1.1\r\nhost: h\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         transfer-encoding: gzip, chunked\r\nconnection: close\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n",
        server.live_key
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    let (head, body) = rest(&mut socket).await;
    assert!(head.starts_with("HTTP/1.1 501 "), "{head}");
    assert_eq!(body["error"]["type"], "not_implemented");
}

#[tokio::test]
async fn panic_gives_one_500_and_service_lives() {
    // A clock that panics at its n-th reading makes the reading code panic.
    let looks = Arc::new(AtomicI64::new(i64::MAX));
    let (left, system) = (looks.clone(), Clock::system());
    let passing = system.clone();
    let clock = Clock::new(
        move || {
            assert!(left.fetch_sub(1, Ordering::SeqCst) != 1, "a panic on purpose");
            system.now()
        },
        move || passing.elapsed(),
    );
    let server = Server::start_at(clock, |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    client.get("/v1/me").await;
    let text = |nth: i64, tool: bool| {
        let (client, looks) = (client.clone(), looks.clone());
        async move {
            looks.store(nth, Ordering::SeqCst);
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": "svc_create_task", "arguments": { "title": "x" } } });
            let (path, body) = if tool { ("/mcp", call) } else { ("/v1/tasks", json!({ "title": "x" })) };
            let response = client.post(path, &body).await;
            looks.store(i64::MAX, Ordering::SeqCst);
            response
        }
    };
    let in_handler = text(3, false).await;
    assert_eq!((in_handler.status, in_handler.error()), (500, "internal_error"), "{}", in_handler.text);
    assert_eq!(in_handler.header("x-request-id"), in_handler.json["meta"]["request_id"]);
    let in_tool = text(3, true).await;
    let result = &in_tool.json["result"];
    assert_eq!((in_tool.status, &result["isError"]), (200, &json!(true)), "{}", in_tool.text);
    assert_eq!(result["structuredContent"]["error"]["type"], "internal_error");
    for response in [&in_handler, &in_tool] {
        assert!(!response.text.contains("on purpose") && !response.text.contains(".rs"), "{}", response.text);
    }
    assert_eq!(client.post("/v1/tasks", &json!({ "title": "Whole" })).await.status, 201);
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1, "what panicked left nothing behind");
    assert!(Timestamp::parse(client.list_all("/v1/tasks").await[0]["created_at"].as_str().unwrap()).is_some());
}

#[tokio::test]
async fn request_must_name_one_host() {
    let server = Server::start().await;
    let ask = async |head: &str| {
        let mut socket = TcpStream::connect(server.running.address).await.unwrap();
        socket.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
        rest(&mut socket).await
    };
    let long = "GET /healthz HTTP/1.1\r\n";
    for hosts in [
        "",
        "host: h\r\nhost: h\r\n",
        "host: a b\r\n",
        "host: a@h\r\n",
        "host: h:x\r\n",
        "host: h/x\r\n",
        "host: a, b\r\n",
    ] {
        let (head, body) = ask(&format!("{long}{hosts}")).await;
        assert!(head.starts_with("HTTP/1.1 400 "), "{hosts:?}: {head}");
        assert_eq!(
            (&body["error"]["type"], &body["error"]["details"]["parameter"]),
            (&json!("invalid_request"), &json!("Host"))
        );
    }
    for hosts in ["host: h\r\n", "host: h:80\r\n", "host: [::1]:80\r\n", "host: 127.0.0.1\r\n", "host:\r\n"] {
        assert!(ask(&format!("{long}{hosts}")).await.0.starts_with("HTTP/1.1 200 "), "{hosts:?}");
    }
    // HTTP/1.0 has no required Host header.
    assert!(ask("GET /healthz HTTP/1.0\r\n").await.0.starts_with("HTTP/1.0 200 "));
}

#[tokio::test]
async fn client_not_reading_is_disconnected() {
    let server = Server::start_with(|config| {
        config.connections_max = 1;
        config.write_time_max = Duration::from_millis(100);
    });
    let server = server.await;
    // Request more bytes than the socket buffers hold.
    let asks = b"GET /docs/reference HTTP/1.1\r\nhost: h\r\n\r\n".repeat(100);
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut unread = socket.connect(server.running.address).await.unwrap();
    unread.write_all(&asks).await.unwrap();
    unread.readable().await.unwrap();
    // The stalled client holds the only connection slot.
    let mut next = TcpStream::connect(server.running.address).await.unwrap();
    next.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n").await.unwrap();
    assert!(rest(&mut next).await.0.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn slow_http10_reader_gets_whole_response() {
    let server = Server::start_with(|config| config.write_time_max = Duration::from_millis(1)).await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "method": "create", "title": "Long", "notes": "word ".repeat(1_500) });
    for _ in 0..6 {
        client.post("/v1/tasks/bulk", &json!({ "operations": vec![&task; 50] })).await;
    }
    // A small receive buffer makes the server wait for the reader repeatedly.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut socket = socket.connect(server.running.address).await.unwrap();
    let head =
        format!("GET /v1/events/stream?cursor=start HTTP/1.0\r\nauthorization: Bearer {}\r\n\r\n", server.live_key);
    socket.write_all(head.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    while !read.ends_with(b"\n\n") || !read.windows(12).rev().take(400).any(|part| part == b"event: ready") {
        assert!(socket.read_buf(&mut read).await.unwrap() > 0, "it was let go after {} bytes", read.len());
    }
    let text = String::from_utf8(read).unwrap();
    let (head, frames) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("connection: close"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(frames.matches("\ndata:").count(), 301, "300 and the end");
}

#[tokio::test]
async fn early_refusal_is_readable_while_sending() {
    let server = Server::start().await;
    let mut socket = TcpStream::connect(server.running.address).await.unwrap();
    let length = 3_000_000;
    let head = format!(
        "POST /v1/tasks HTTP/1.1\r\nhost: h\r\nauthorization: Bearer nobody\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).await.unwrap();
    // The response has arrived, and the client continues to send the body.
    socket.readable().await.unwrap();
    socket.write_all(&vec![b' '; length]).await.unwrap();
    let (head, body) = rest(&mut socket).await;
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    assert!(body["error"]["message"].is_string(), "{body}");
}
