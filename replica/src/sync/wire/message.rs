//! An HTTP request and an HTTP response. Plain values.

/// A request, without the server's address and the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// The HTTP method, in capitals.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// Headers by lower-case name, without the headers that each request carries.
    pub headers: Vec<(&'static str, String)>,
    /// The body, as JSON text. None: no body.
    pub body: Option<String>,
}

/// A response, read to the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status.
    pub status: u16,
    /// The header `ETag`.
    pub etag: Option<String>,
    /// The header `Retry-After`, in seconds.
    pub retry_after: Option<String>,
    /// The body. Empty if `is_cut`.
    pub body: Vec<u8>,
    /// Whether the connection broke within the body.
    pub is_cut: bool,
}
