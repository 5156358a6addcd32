//! A client of the API for tests: one call, one answer, everything of it visible. Must not know the server's inside.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// Asks with one key.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body as text.
    pub text: String,
    /// The body as JSON; null when it is none.
    pub json: Value,
}

impl Answer {
    /// A header's value, or "".
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The record or list.
    pub fn data(&self) -> &Value {
        &self.json["data"]
    }

    /// The record's id.
    pub fn id(&self) -> String {
        self.json["data"]["id"].as_str().unwrap_or_default().to_owned()
    }

    /// `error.type`.
    pub fn error(&self) -> &str {
        self.json["error"]["type"].as_str().unwrap_or_default()
    }

    /// The faulty fields as `field code`.
    pub fn faults(&self) -> Vec<String> {
        let fields = self.json["error"]["details"]["fields"].as_array().cloned().unwrap_or_default();
        let word = |fault: &Value, name: &str| fault[name].as_str().unwrap_or_default().to_owned();
        fields.iter().map(|fault| format!("{} {}", word(fault, "field"), word(fault, "code"))).collect()
    }

    /// The next page's cursor, if there is one.
    pub fn next_cursor(&self) -> Option<String> {
        self.json["meta"]["page"]["next_cursor"].as_str().map(str::to_owned)
    }
}

impl Client {
    /// A client of the service at a URL.
    pub fn new(url: &str, key: &str) -> Client {
        let http = reqwest::Client::builder().no_proxy().build().expect("a client");
        Client { http, url: url.to_owned(), key: key.to_owned() }
    }

    /// Where the service is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A request with the key, to be changed and sent.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.key)
    }

    /// Sends a request and reads the whole answer.
    pub async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        Answer { status, headers, json: serde_json::from_str(&text).unwrap_or(Value::Null), text }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    /// POST with a JSON body.
    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::POST, path).json(body)).await
    }

    /// PATCH with a JSON body.
    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(self.request(Method::PATCH, path).json(body)).await
    }

    /// DELETE.
    pub async fn delete(&self, path: &str) -> Answer {
        self.send(self.request(Method::DELETE, path)).await
    }

    /// Every record of a list, page by page.
    pub async fn walk(&self, path: &str) -> Vec<Value> {
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

    /// Opens an event stream.
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

/// The frames of an event stream as they come, each without its blank line.
pub struct Frames {
    bytes: Pieces,
    text: String,
}

/// Longest wait for a frame that must come.
const PATIENCE: Duration = Duration::from_secs(60);

impl Frames {
    /// The next frame; None when the stream has ended.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let frame = self.text[..end].to_owned();
                self.text.drain(..end + 2);
                return Some(frame);
            }
            let piece = tokio::time::timeout(PATIENCE, self.bytes.next()).await.expect("a frame in time")?;
            // A stream that breaks off instead of ending is a fault of the service.
            let piece = piece.expect("the stream goes on or ends cleanly");
            self.text.push_str(std::str::from_utf8(&piece).expect("text"));
        }
    }

    /// The next frame that carries data: its id and the data.
    pub async fn event(&mut self) -> Option<(String, Value)> {
        loop {
            let frame = self.next().await?;
            let line = |name: &str| frame.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
            if let (Some(id), Some(data)) = (line("id: "), line("data: ")) {
                return Some((id, serde_json::from_str(&data).expect("JSON")));
            }
        }
    }
}
