//! An HTTP client of the API for tests, which shows each response in full. Must not know the server's code.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// Sends requests to one service with one API key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
}

/// A response that was read to its end.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The response headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
    /// The body as JSON; null if the body is not JSON.
    pub json: Value,
}

impl Response {
    /// A header's value; empty if the header is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The member `data`: a record or a list.
    pub fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// The id of the record in `data`; empty if there is none.
    pub fn id(&self) -> String {
        self.json["data"]["id"].as_str().unwrap_or_default().to_owned()
    }

    /// The member `error.type`; empty in a response without an error.
    pub fn error(&self) -> &str {
        self.json["error"]["type"].as_str().unwrap_or_default()
    }

    /// The faulty fields of a 422, each as `field code`.
    pub fn faults(&self) -> Vec<String> {
        let fields = self.json["error"]["details"]["fields"].as_array().cloned().unwrap_or_default();
        let word = |fault: &Value, name: &str| fault[name].as_str().unwrap_or_default().to_owned();
        fields.iter().map(|fault| format!("{} {}", word(fault, "field"), word(fault, "code"))).collect()
    }

    /// The cursor of the next page; None on the last page of a list.
    pub fn next_cursor(&self) -> Option<String> {
        self.json["meta"]["page"]["next_cursor"].as_str().map(str::to_owned)
    }
}

impl Client {
    /// A client of the service at a base URL.
    pub fn new(url: &str, key: &str) -> Client {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Client { http, url: url.to_owned(), key: key.to_owned() }
    }

    /// The base URL of the service.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request with the key, which the caller may extend before `send`.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key)
    }

    /// Sends a request and reads the whole response.
    pub async fn send(&self, request: RequestBuilder) -> Response {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        Response { status, headers, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    /// Sends a GET.
    pub async fn get(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a POST with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Response {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// Sends a PATCH with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Response {
        self.send(self.request(Method::PATCH, path).json(body)).await
    }

    /// Sends a PUT with these bytes.
    pub async fn put(&self, path: &str, bytes: impl Into<reqwest::Body>) -> Response {
        self.send(self.request(Method::PUT, path).body(bytes)).await
    }

    /// Sends a DELETE.
    pub async fn delete(&self, path: &str) -> Response {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// All entries of a list, read page by page. Panics on a refusal.
    pub async fn list_all(&self, path: &str) -> Vec<Value> {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let and = if path.contains('?') { '&' } else { '?' };
            let page = match &cursor {
                None => self.get(path).await,
                Some(cursor) => self.get(&format!("{path}{and}cursor={cursor}")).await,
            };
            assert_eq!(page.status, 200, "{}", page.text);
            found.extend(page.data().as_array().cloned().unwrap_or_default());
            if page.json["meta"]["page"]["has_more"] != true {
                return found;
            }
            cursor = page.next_cursor();
        }
    }

    /// Opens an event stream. Panics on a refusal.
    pub async fn stream(&self, query: &str, last_event_id: Option<&str>) -> Frames {
        let mut request = self.request(Method::GET, &format!("/v1/events/stream{query}"));
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Frames {
            bytes: Box::pin(response.bytes_stream().map(|piece| piece.map(|piece| piece.to_vec()))),
            text: String::new(),
        }
    }
}

type Pieces = futures_util::stream::BoxStream<'static, reqwest::Result<Vec<u8>>>;

/// The frames of an event stream in order, each without its blank line.
pub struct Frames {
    bytes: Pieces,
    text: String,
}

/// Longest wait for a frame.
const PATIENCE: Duration = Duration::from_secs(60);

impl Frames {
    /// The next frame; None when the stream has ended cleanly.
    pub async fn next(&mut self) -> Option<String> {
        self.next_until("\n\n").await
    }

    /// The next line, for comments, which are no frame of their own; None when the stream has ended cleanly.
    pub async fn next_line(&mut self) -> Option<String> {
        self.next_until("\n").await
    }

    async fn next_until(&mut self, end: &str) -> Option<String> {
        loop {
            if let Some(at) = self.text.find(end) {
                let found = self.text[..at].to_owned();
                self.text.drain(..at + end.len());
                return Some(found);
            }
            let piece = tokio::time::timeout(PATIENCE, self.bytes.next()).await.expect("a frame in time")?;
            // The service must end a stream cleanly, never break the stream off.
            let piece = piece.expect("the stream goes on or ends cleanly");
            self.text.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    /// The id and the data of the next frame that has both; None when the stream has ended.
    pub async fn next_event(&mut self) -> Option<(String, Value)> {
        loop {
            let frame = self.next().await?;
            let line = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let (Some(id), Some(data)) = (line("id: "), line("data: ")) {
                return Some((id, serde_json::from_str(&data).expect("JSON")));
            }
        }
    }
}
