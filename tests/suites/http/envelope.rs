//! Envelopes, headers, and the refusals that need no record (contract 4, 12).

use hearth_server::config::RateLimits;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn responses_have_envelope_and_headers() {
    let server = Server::start_with(|config| config.rate_limits = Some(RateLimits::default())).await;
    let client = Client::new(&server.url, &server.test_key);
    for (path, status) in [("/v1/rooms", 200), ("/v1/rooms/nope", 404), ("/v1/nope", 404), ("/v1/rooms?limt=3", 400)] {
        let response = client.get(path).await;
        assert_eq!(response.status, status, "{}", response.text);
        let id = response.json["meta"]["request_id"].as_str().unwrap();
        assert!(id.starts_with("req_") && id.len() == 30);
        assert_eq!(response.header("x-request-id"), id);
        assert_eq!(response.header("service-api-version"), "2026-06-01");
        assert_eq!(response.header("cache-control"), "no-store");
        assert_eq!(response.header("content-type"), "application/json");
        if status != 200 {
            let error = &response.json["error"];
            assert!(error["message"].is_string() && error["fix"].is_string() && error["details"].is_object());
            assert_eq!(error["doc_url"], format!("{}/docs/errors/{}", server.url, response.error()));
        }
    }
    assert_eq!(client.get("/v1/me").await.header("x-ratelimit-limit"), "300");
}

#[tokio::test]
async fn wrong_path_or_method_is_named() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for path in ["/v1/rooms/", "//v1/rooms", "/v1/Rooms", "/v1/rooms/a/b", "/"] {
        let response = client.get(path).await;
        assert_eq!((response.status, response.error()), (404, "route_not_found"), "{path}");
    }
    for (method, path, allow) in [
        (Method::PUT, "/v1/rooms", "GET, POST, HEAD"),
        (Method::OPTIONS, "/v1/property", "GET, PATCH, HEAD"),
        (Method::POST, "/v1/events", "GET, HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/v1/rooms/x", "GET, PATCH, DELETE, HEAD"),
    ] {
        let response = client.send(client.request(method, path)).await;
        assert_eq!(
            (response.status, response.error(), response.header("allow")),
            (405, "method_not_allowed", allow),
            "{path}"
        );
    }
    let head = client.send(client.request(Method::HEAD, "/v1/rooms?limit=1")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_ne!(head.header("content-length"), "0");
}

#[tokio::test]
async fn error_suggests_nearest_name_or_lists_all() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let fix = async |path: &str| client.get(path).await.json["error"]["fix"].as_str().unwrap_or_default().to_owned();
    for (path, meant) in [
        ("/v1/task", "/v1/tasks"),
        ("/v1/Rooms", "/v1/rooms"),
        ("/v1/evnets", "/v1/events"),
        ("/tasks", "/v1/tasks"),
        ("/v2/rooms", "/v1/rooms"),
    ] {
        let text = fix(path).await;
        assert!(text.starts_with(&format!("Did you mean {meant}?")), "{path}: {text}");
    }
    for path in ["/v1/keys", "/v1/webhooks", "/v1/users", "/v1/notes", "/v1/x"] {
        let text = fix(path).await;
        assert!(text.contains("/openapi/v1") && !text.contains("mean"), "{path}: {text}");
    }
    assert_eq!(fix("/v1/rooms?limti=1").await, "Did you mean `limit`?");
    assert!(fix("/v1/rooms?page=2").await.contains("limit, cursor, "), "{}", fix("/v1/rooms?page=2").await);
    assert_eq!(fix("/v1/me?verbose=1").await, "Leave it out: there are no parameters here.");
    assert_eq!(fix("/v1/inventory?expand=subject").await, "Known here: room.");
    assert!(fix("/v1/tasks?fields=colour").await.starts_with("Known here: id, "));
}

#[tokio::test]
async fn unreadable_body_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let post = || client.request(Method::POST, "/v1/tasks");
    let json = "application/json";
    for (body, media, status, kind) in [
        ("", json, 400, "invalid_json"),
        ("{", json, 400, "invalid_json"),
        (r#"{"title":"a","title":"b"}"#, json, 400, "invalid_json"),
        (r#"{"title":"\ud800"}"#, json, 400, "invalid_json"),
        ("[]", json, 422, "validation_failed"),
        (r#"{"title":"a"}"#, "text/plain", 415, "unsupported_media_type"),
        (r#"{"title":"a"}"#, "application/merge-patch+json", 415, "unsupported_media_type"),
        (r#"{"title":"a"}"#, "application/json; charset=utf-8", 201, ""),
    ] {
        let response = client.send(post().header("content-type", media).body(body)).await;
        assert_eq!((response.status, response.error()), (status, kind), "{body}");
    }
    let response = client.send(post().body(r#"{"title":"a"}"#)).await;
    assert_eq!(response.error(), "unsupported_media_type");
    let response = client.send(post().header("content-encoding", "gzip").json(&json!({ "title": "a" }))).await;
    assert_eq!(response.error(), "unsupported_media_type");
    let response = client.post("/v1/tasks", &json!({ "title": "a", "notes": "x".repeat(1024 * 1024) })).await;
    assert_eq!((response.status, response.error()), (413, "payload_too_large"));
    let response = client.send(client.request(Method::GET, "/v1/tasks").header("accept", "text/html")).await;
    assert_eq!((response.status, response.error()), (406, "not_acceptable"));
    let response =
        client.send(client.request(Method::GET, "/v1/tasks").header("service-api-version", "2020-01-01")).await;
    assert_eq!((response.status, response.error()), (400, "unsupported_version"));
    let response = client.get(&format!("/v1/tasks?limit={}", "1".repeat(9000))).await;
    assert_eq!((response.status, response.error()), (414, "uri_too_long"));
    let response = client.send(client.request(Method::GET, "/v1/tasks").header("x-long", "x".repeat(40_000))).await;
    assert_eq!((response.status, response.error()), (431, "headers_too_large"));
}

#[tokio::test]
async fn long_responses_compress_but_streams_never() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let ask = |path: &str, coding: &str| {
        client.request(Method::GET, path).header("accept-encoding", coding.to_owned()).send()
    };
    for coding in ["gzip", "br", "zstd"] {
        let response = ask("/v1/rooms", coding).await.unwrap();
        assert_eq!(response.headers()["content-encoding"], coding);
        let short = ask("/v1/rooms?limit=1&fields=name", coding).await.unwrap();
        assert!(short.headers().get("content-encoding").is_none());
        let stream = ask("/v1/events/stream", coding).await.unwrap();
        assert!(stream.headers().get("content-encoding").is_none());
    }
    assert!(client.get("/v1/rooms").await.headers.get("content-encoding").is_none());
    // A client that accepts no coding still gets the response uncompressed.
    for coding in ["*;q=0", "identity;q=0"] {
        let made = client.request(Method::POST, "/v1/rooms").header("accept-encoding", coding);
        let made = client.send(made.json(&json!({ "name": "Hall" }))).await;
        assert_eq!((made.status, &made.data()["name"]), (201, &json!("Hall")), "{coding}");
        let unknown = client.request(Method::GET, "/v1/rooms/nope").header("accept-encoding", coding);
        assert_eq!(client.send(unknown).await.error(), "not_found");
    }
}

#[tokio::test]
async fn every_response_kind_has_common_headers() {
    let limits = RateLimits { reads: 1_000_000, writes: 60, bulk: 0 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let nobody = Client::new(&server.url, "nonsense");
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let one = format!("/v1/rooms/{id}");
    let job = client.post("/v1/exports", &json!({ "format": "json" })).await.id();
    let file = format!("/v1/exports/{job}/download");
    while client.get(&file).await.status == 404 {}
    let unchanged = client.request(Method::GET, &one).header("if-none-match", "*");
    let mut ids = std::collections::HashSet::new();
    for (status, keyed, response) in [
        (200, true, client.get("/v1/rooms").await),
        (200, true, client.send(client.request(Method::HEAD, &one)).await),
        (304, true, client.send(unchanged).await),
        (200, true, client.get(&file).await),
        (200, true, client.send(client.request(Method::HEAD, "/v1/events/stream")).await),
        (400, true, client.get("/v1/rooms?x=1").await),
        (404, true, client.get("/v1/rooms/nope").await),
        (422, true, client.post("/v1/rooms", &json!({})).await),
        (429, true, client.post("/v1/rooms/bulk", &json!({})).await),
        (401, false, nobody.get("/v1/rooms").await),
        (404, false, nobody.get("/v1/nothing").await),
        (405, false, nobody.send(nobody.request(Method::OPTIONS, "/v1/rooms")).await),
        (200, false, nobody.get("/v1").await),
        (200, false, nobody.get("/v1/_meta").await),
        (200, false, nobody.get("/openapi/v1").await),
        (200, false, nobody.get("/docs").await),
        (200, false, nobody.get("/healthz").await),
        (200, false, nobody.get("/readyz").await),
        (
            403,
            false,
            client
                .send(client.request(Method::POST, "/mcp").header("origin", "https://evil.example").json(&json!({
            "jsonrpc": "2.0", "id": 1, "method": "ping" })))
                .await,
        ),
    ] {
        assert_eq!(response.status, status, "{}", response.text);
        let id = response.header("x-request-id").to_owned();
        let (prefix, random) = id.split_at(4);
        let crockford = |c: char| c.is_ascii_digit() || (c.is_ascii_uppercase() && !"ILOU".contains(c));
        assert!(prefix == "req_" && random.len() == 26 && random.chars().all(crockford), "{id}");
        if response.header("content-type") == "application/json"
            && !response.text.is_empty()
            && response.json["meta"].is_object()
        {
            assert_eq!(response.json["meta"]["request_id"], *id);
        }
        assert!(ids.insert(id), "a request id is given once");
        // Only files that are the same for every client may be kept.
        let kept = if response.header("vary").contains("Accept-Encoding") { "public, no-cache" } else { "no-store" };
        assert_eq!((response.header("service-api-version"), response.header("cache-control")), ("2026-06-01", kept));
        for name in ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] {
            assert_eq!(response.header(name).parse::<u64>().is_ok(), keyed, "{name}: {}", response.text);
        }
        if status >= 400 {
            let members: Vec<&str> = response.json["error"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(members, ["type", "message", "fix", "doc_url", "details"]);
            assert!(response.json["error"]["details"].is_object());
        }
    }
}

#[tokio::test]
async fn head_follows_get_and_other_methods_get_405() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let id = client.list_all("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    // The first use of the key is stored in the background, and changes `/v1/me` once.
    for _ in 0..1_000 {
        if !client.get("/v1/me").await.text.contains(r#""last_used_at":null"#) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    for path in [
        "/v1",
        "/v1/_meta",
        "/v1/me",
        "/v1/rooms",
        "/v1/property",
        "/v1/search?q=filter",
        "/v1/events",
        "/v1/exports",
        "/openapi/v1",
        "/openapi/v1.json",
        "/openapi/v1.yaml",
        "/docs",
        "/docs/changelog",
        "/docs/errors/not_found",
        "/healthz",
        "/readyz",
        &format!("/v1/rooms/{id}"),
        "/v1/rooms/nope",
        "/v1/nope",
    ] {
        let (get, head) = (client.get(path).await, client.send(client.request(Method::HEAD, path)).await);
        assert_eq!((head.status, head.text.as_str()), (get.status, ""), "{path}");
        for name in ["content-type", "content-length", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
        let allowed = get.status == 200;
        for method in [Method::OPTIONS, Method::PUT, Method::TRACE, Method::from_bytes(b"BREW").unwrap()] {
            let response = client.send(client.request(method, path)).await;
            assert_eq!(response.status, if path == "/v1/nope" { 404 } else { 405 }, "{path}");
            let methods: Vec<&str> = response.header("allow").split(", ").collect();
            assert!(!allowed || (methods.contains(&"GET") && methods.contains(&"HEAD")), "{path}: {methods:?}");
            let mut once = methods.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), methods.len(), "{path}: {methods:?}");
        }
    }
    for path in ["/V1/rooms", "/v1/rooms/", "/v1//rooms", "/v1/ROOMS", "/healthz/", "/mcp/", "/v1/property/x"] {
        assert_eq!(client.get(path).await.error(), "route_not_found", "{path}");
    }
}

#[tokio::test]
async fn body_is_parsed_strictly_to_its_end() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let levels = |depth: usize| format!("{{\"x\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    let (deep, deeper) = (levels(32), levels(33));
    for (body, status, kind) in [
        (deep.as_bytes(), 422, "validation_failed"),
        (deeper.as_bytes(), 400, "invalid_json"),
        (br#"{"name":"a"} x"#, 400, "invalid_json"),
        (br#"{"name":"a",}"#, 400, "invalid_json"),
        (br#"{'name':'a'}"#, 400, "invalid_json"),
        (b"\xef\xbb\xbf{\"name\":\"a\"}", 400, "invalid_json"),
        (b"{\"name\":\"\xff\"}", 400, "invalid_json"),
        (br#"{"name":"\udc00"}"#, 400, "invalid_json"),
        (br#"{"name":"\ud83d"}"#, 400, "invalid_json"),
        (br#"{"name":"a","notes":{"a":1,"a":2}}"#, 400, "invalid_json"),
        (br#"{"name":"a","area_sq_ft":NaN}"#, 400, "invalid_json"),
        (br#"{"name":"a","area_sq_ft":01e999}"#, 400, "invalid_json"),
        (br#"{"name":"a","area_sq_ft":1e999}"#, 422, "validation_failed"),
        (br#"{"name":"a","area_sq_ft":99999999999999999999999999}"#, 422, "validation_failed"),
        (br#"{"name":"\u0000"}"#, 422, "validation_failed"),
        (b"null", 422, "validation_failed"),
        (b"\"name\"", 422, "validation_failed"),
        (br#"{"name":"\ud83d\ude00"}"#, 201, ""),
    ] {
        let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
        let response = client.send(request.body(body.to_vec())).await;
        assert_eq!((response.status, response.error()), (status, kind), "{}", String::from_utf8_lossy(body));
    }
    let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
    let exactly = |bytes: usize| format!("{{\"name\":\"a\"{}}}", " ".repeat(bytes - 12));
    assert_eq!(client.send(request.body(exactly(1024 * 1024))).await.status, 201, "1 MiB is not over 1 MiB");
    let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
    assert_eq!(client.send(request.body(exactly(1024 * 1024 + 1))).await.status, 413);
    // The limit also holds for a chunked body.
    let pieces = futures_util::stream::iter((0..40).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024])));
    let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
    assert_eq!(client.send(request.body(reqwest::Body::wrap_stream(pieces))).await.status, 413);
}

#[tokio::test]
async fn huge_number_is_out_of_field_range() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (number, fault) in [
        ("1e400", "area_sq_ft out_of_range"),
        ("-1e400", "area_sq_ft out_of_range"),
        (&"9".repeat(400), "area_sq_ft out_of_range"),
        ("\"1e400\"", "area_sq_ft wrong_type"),
    ] {
        let body = format!(r#"{{"name":"Hall \"1e400\"","area_sq_ft":{number}}}"#);
        let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
        let response = client.send(request.body(body)).await;
        assert_eq!((response.status, response.faults()), (422, vec![fault.to_owned()]), "{}", response.text);
    }
}

/// This number of distinct members that no kind has.
fn unknown(members: usize) -> serde_json::Map<String, Value> {
    (0..members).map(|number| (format!("nothing_{number}"), json!(0))).collect()
}

#[tokio::test]
async fn faulty_body_error_is_bounded() {
    const TOLD_MAX: usize = 32 * 1024;
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let name = "n".repeat(500_000);
    let long = json!({ &name[..]: 0 });
    let many = Value::from(unknown(30_000));
    let items = json!({ "format": "json", "types": vec![1; 300_000] });
    let others = json!({ "operations": [{ "method": "delete", "id": name }], &name[..10_000]: 0 });
    for (path, body, faults) in [
        ("/v1/rooms", &many, 100),
        ("/v1/rooms/bulk", &many, 100),
        ("/v1/exports", &many, 100),
        ("/v1/rooms", &long, 2),
        ("/v1/exports", &long, 2),
        ("/v1/exports", &items, 1),
        ("/v1/rooms/bulk", &others, 1),
    ] {
        let keyed = client.request(Method::POST, path).header("idempotency-key", format!("{path}-{faults}"));
        for request in [client.request(Method::POST, path), keyed] {
            let response = client.send(request.json(body)).await;
            assert_eq!((response.status, response.faults().len()), (422, faults), "{path}: {}", response.status);
            assert!(response.text.len() < TOLD_MAX, "{path}: {}", response.text.len());
            let message = response.json["error"]["message"].as_str().unwrap();
            assert_eq!(
                message == "More than 100 fields break a rule; the first 100 are listed.",
                faults == 100,
                "{message}"
            );
        }
    }
    // A bulk call reports 100 faults in all, and at least one of each faulty operation.
    let mut create = unknown(90);
    create.insert("method".to_owned(), "create".into());
    let response = client.post("/v1/rooms/bulk", &json!({ "operations": vec![create; 50] })).await;
    let report = |result: &Value| result["error"]["details"]["fields"].as_array().unwrap().len();
    let report: Vec<usize> = response.data().as_array().unwrap().iter().map(report).collect();
    assert_eq!((report[0], report[1], report[49], report.iter().sum::<usize>()), (51, 1, 1, 100));
    assert!(response.text.len() < 2 * TOLD_MAX, "{}", response.text.len());
    let message = response.data()[1]["error"]["message"].as_str().unwrap();
    assert_eq!(message, "91 fields break a rule; the first is listed.");
    // Quotations outside the list of fields are short, too.
    let twice = format!(r#"{{"{name}":0,"{name}":0}}"#);
    let request = client.request(Method::POST, "/v1/rooms").header("content-type", "application/json");
    let response = client.send(request.body(twice)).await;
    assert_eq!((response.status, response.error()), (400, "invalid_json"));
    assert!(response.text.len() < TOLD_MAX, "{}", response.text.len());
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": name } });
    assert!(client.post("/mcp", &tool).await.text.len() < TOLD_MAX);
    let argument = json!({ "name": "svc_search", "arguments": { &name[..]: name } });
    let tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": argument });
    assert!(client.post("/mcp", &tool).await.text.len() < TOLD_MAX);
}
