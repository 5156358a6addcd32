//! A person's browser for tests: keeps cookies, sends forms as a page of the service does, and follows no redirect. Must not
//! know the server's code.

use std::sync::Mutex;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::client::Response;

/// A browser with the cookies of one service.
pub struct Browser {
    http: reqwest::Client,
    url: String,
    cookies: Mutex<Vec<(String, String)>>,
}

impl Browser {
    /// A browser without cookies, for the service at a base URL.
    pub fn new(url: &str) -> Browser {
        let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build();
        Browser { http: http.expect("a client"), url: url.to_owned(), cookies: Mutex::default() }
    }

    /// A request with the cookies, which the caller may extend before [`Browser::send`].
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies = self.cookies.lock().expect("no panic");
        let line: Vec<String> = cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let address = if path.starts_with("http") { path.to_owned() } else { format!("{}{path}", self.url) };
        let request = self.http.request(method, address);
        if line.is_empty() { request } else { request.header("cookie", line.join("; ")) }
    }

    /// Sends a request, reads the whole response, and keeps its cookies.
    pub async fn send(&self, request: RequestBuilder) -> Response {
        let response = request.send().await.expect("an answer");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.expect("a body");
        for line in headers.get_all("set-cookie") {
            let line = line.to_str().expect("text");
            let (name, value) = line.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            let mut cookies = self.cookies.lock().expect("no panic");
            cookies.retain(|(known, _)| known != name);
            if !line.contains("Max-Age=0") {
                cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        Response { status, headers, text, json: Value::Null }
    }

    /// Opens a page.
    pub async fn open(&self, path: &str) -> Response {
        self.send(self.request(Method::GET, path)).await
    }

    /// Sends a form of one of the service's pages.
    pub async fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        self.send(self.form(path, fields).header("sec-fetch-site", "same-origin")).await
    }

    /// A form without the headers that tell where it comes from.
    pub fn form(&self, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let request = self.request(Method::POST, path).header("content-type", "application/x-www-form-urlencoded");
        request.body(body.join("&"))
    }

    /// Sends a form with files of one of the service's pages. Each file has a name and bytes.
    pub async fn submit_files(&self, path: &str, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> Response {
        self.send(self.files_form(path, fields, files).header("sec-fetch-site", "same-origin")).await
    }

    /// A form with files, without the headers that tell where it comes from.
    pub fn files_form(&self, path: &str, fields: &[(&str, &str)], files: &[(&str, &[u8])]) -> RequestBuilder {
        const BOUNDARY: &str = "----form-of-a-test";
        let mut body = Vec::new();
        for (name, value) in fields {
            let head = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(head.as_bytes());
        }
        for (name, bytes) in files {
            let disposition = format!("Content-Disposition: form-data; name=\"photos\"; filename=\"{name}\"");
            let head = format!("--{BOUNDARY}\r\n{disposition}\r\nContent-Type: image/jpeg\r\n\r\n");
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{BOUNDARY}--\r\n").as_bytes());
        let content_type = format!("multipart/form-data; boundary={BOUNDARY}");
        self.request(Method::POST, path).header("content-type", content_type).body(body)
    }

    /// The value of a cookie; empty without one.
    pub fn cookie(&self, name: &str) -> String {
        let cookies = self.cookies.lock().expect("no panic");
        cookies.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Sets a cookie, as a stranger who plants one would.
    pub fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().expect("no panic").push((name.to_owned(), value.to_owned()));
    }
}

/// Percent-encodes every byte that is no letter or digit.
fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte.is_ascii_alphanumeric() {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}
