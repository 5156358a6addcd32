//! Cross-origin requests of web pages (contract 19).

use hearth_server::config::RateLimits;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::json;

const APP: &str = "https://app.example";

/// A server that allows these origins.
async fn server(origins: &[&str]) -> Server {
    let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect::<Vec<_>>();
    Server::start_with(|config| {
        config.allow_origins = origins;
        config.rate_limits = Some(RateLimits { reads: 3, ..RateLimits::default() });
    })
    .await
}

/// The preflight of a page for a request with this method. The key is not valid, because browsers send none.
async fn preflight(server: &Server, path: &str, origin: &'static str, method: &'static str) -> Response {
    let client = Client::new(&server.url, "none");
    let request = client
        .request(Method::OPTIONS, path)
        .header("origin", origin)
        .header("access-control-request-method", method)
        .header("access-control-request-headers", "authorization,content-type,idempotency-key");
    client.send(request).await
}

/// Whether a response lets the page of [`APP`] read the body and all headers.
fn is_readable(response: &Response) -> bool {
    let exposed: Vec<&str> = response.header("access-control-expose-headers").split(", ").collect();
    let needed = ["ETag", "Retry-After", "Service-API-Version", "X-Request-Id", "X-RateLimit-Remaining", "Location"];
    response.header("access-control-allow-origin") == APP && needed.iter().all(|name| exposed.contains(name))
}

fn varies_by_origin(response: &Response) -> bool {
    response.headers.get_all("vary").iter().any(|names| names.to_str().unwrap().contains("Origin"))
}

#[tokio::test]
async fn preflight_lists_methods_and_headers() {
    let server = server(&[APP]).await;
    for (path, method, methods) in [
        ("/v1/tasks", "POST", "GET, POST, HEAD"),
        ("/v1/tasks/nope", "DELETE", "GET, PATCH, DELETE, HEAD"),
        ("/v1/events/stream?cursor=start", "GET", "GET, HEAD"),
        ("/openapi/v1.json", "GET", "GET, HEAD"),
        ("/mcp", "POST", "POST"),
    ] {
        let response = preflight(&server, path, APP, method).await;
        assert_eq!((response.status, response.text.as_str()), (204, ""), "{path}");
        assert_eq!(response.header("access-control-allow-methods"), methods);
        assert_eq!(response.header("access-control-allow-origin"), APP);
        assert_eq!(response.header("access-control-max-age"), "600");
        let allowed = response.header("access-control-allow-headers").to_ascii_lowercase();
        for name in ["authorization", "content-type", "idempotency-key", "if-match", "last-event-id", "mcp-method"] {
            assert!(allowed.split(", ").any(|known| known == name), "{name}");
        }
        assert!(varies_by_origin(&response) && response.headers.get("access-control-allow-credentials").is_none());
        assert!(response.header("x-request-id").starts_with("req_") && response.header("x-ratelimit-limit").is_empty());
    }
    assert_eq!(preflight(&server, "/v1/nope", APP, "GET").await.error(), "route_not_found");
}

#[tokio::test]
async fn other_options_requests_stay_405() {
    let server = server(&[APP]).await;
    for (path, origin, is_advised) in
        [("/v1/tasks", "https://evil.example", true), ("/v1/tasks", "null", true), ("/docs", APP, false)]
    {
        let response = preflight(&server, path, origin, "GET").await;
        assert_eq!((response.status, response.error()), (405, "method_not_allowed"), "{path} {origin}");
        assert_eq!(response.text.contains("--allow-origin"), is_advised, "{}", response.text);
        assert!(response.header("access-control-allow-origin").is_empty());
    }
    let client = Client::new(&server.url, &server.test_key);
    let plain = client.send(client.request(Method::OPTIONS, "/v1/tasks").header("origin", APP)).await;
    assert_eq!(plain.status, 405, "no preflight without Access-Control-Request-Method");
}

#[tokio::test]
async fn allowed_page_reads_answers_and_refusals() {
    let server = server(&[APP, "http://localhost:3000"]).await;
    let client = Client::new(&server.url, &server.test_key);
    let get = |path: &'static str| client.send(client.request(Method::GET, path).header("origin", APP));
    let body = json!({ "title": "Paint" });
    let made = client.send(client.request(Method::POST, "/v1/tasks").header("origin", APP).json(&body)).await;
    assert!(made.status == 201 && is_readable(&made) && varies_by_origin(&made), "{}", made.text);
    for (path, status) in [("/v1/tasks?limit=1", 200), ("/v1/nope", 404), ("/v1/rooms/nope", 404), ("/v1/rooms", 200)] {
        let response = get(path).await;
        assert!(response.status == status && is_readable(&response), "{path}: {}", response.text);
    }
    let limited = get("/v1/rooms").await;
    assert!(limited.status == 429 && is_readable(&limited), "{}", limited.text);
    let unknown = Client::new(&server.url, "svc_live_nonsense");
    let refused = unknown.send(unknown.request(Method::GET, "/v1/me").header("origin", APP)).await;
    assert!(refused.status == 401 && is_readable(&refused));
    let described = get("/openapi/v1").await;
    assert!(described.status == 200 && is_readable(&described));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let pinged = client.send(client.request(Method::POST, "/mcp").header("origin", APP).json(&ping)).await;
    assert!(pinged.status == 200 && is_readable(&pinged), "{}", pinged.text);
}

#[tokio::test]
async fn stream_is_readable_by_allowed_page() {
    let server = server(&[APP]).await;
    let client = Client::new(&server.url, &server.test_key);
    let stream = client.request(Method::GET, "/v1/events/stream").header("origin", APP).send().await.unwrap();
    assert_eq!(stream.headers()["access-control-allow-origin"], APP);
    assert_eq!(stream.headers()["vary"], "Origin");
}

#[tokio::test]
async fn other_pages_get_no_cors_header() {
    let server = server(&[APP]).await;
    let client = Client::new(&server.url, &server.test_key);
    for origin in ["https://evil.example", "null", "http://app.example"] {
        let response = client.send(client.request(Method::GET, "/v1/me").header("origin", origin)).await;
        let has_cors = response.headers.keys().any(|name| name.as_str().starts_with("access-control-"));
        assert!(response.status == 200 && !has_cors && varies_by_origin(&response), "{origin}");
    }
    let page = client.send(client.request(Method::GET, "/docs").header("origin", APP)).await;
    assert!(page.header("access-control-allow-origin").is_empty() && !varies_by_origin(&page));
}

#[tokio::test]
async fn star_allows_every_origin_except_null() {
    let server = server(&["*"]).await;
    let client = Client::new(&server.url, &server.test_key);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (origin, allowed, status) in [(APP, "*", 200), ("capacitor://localhost", "*", 200), ("null", "", 403)] {
        let response = client.send(client.request(Method::GET, "/openapi/v1").header("origin", origin)).await;
        assert_eq!((response.status, response.header("access-control-allow-origin")), (200, allowed), "{origin}");
        let response = client.send(client.request(Method::POST, "/mcp").header("origin", origin).json(&ping)).await;
        assert_eq!(response.status, status, "{origin}: {}", response.text);
    }
    assert_eq!(preflight(&server, "/v1/tasks", APP, "GET").await.status, 204);
    assert_eq!(preflight(&server, "/v1/tasks", "null", "GET").await.status, 405);
}
