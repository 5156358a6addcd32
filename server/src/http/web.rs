//! A request to a route outside of the API, such as a page or a form, and simple replies to it. Must not know what a page
//! shows, nor whether its clients read HTML or JSON.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use axum::http::header::{COOKIE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use bytes::Bytes;

use super::auth;
use super::connection::{Peer, Secure};
use super::headers::header_value;
use super::reply::{Payload, Reply, ResponseContext};
use super::upload_body::UploadBody;
use crate::app::App;
use crate::config::origin;

/// A request to a route outside of the API.
pub struct WebRequest {
    /// The state of the service.
    pub app: Arc<App>,
    /// The method. HEAD counts as GET.
    pub method: Method,
    /// The path of the route, with `{id}` for an open segment.
    pub path: &'static str,
    /// The path and the query of the request, as sent.
    pub target: String,
    /// The open segment of the path, decoded but not validated.
    pub segment: Option<String>,
    /// The query, as sent; "" without one.
    pub query: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body; empty when the route takes none.
    pub body: Bytes,
    /// The body of a form with files, which the handler reads. None: another route.
    pub upload: Option<UploadBody>,
    /// The address of the client. None: a trusted proxy hides it, or the request came without a socket.
    pub peer: Option<IpAddr>,
    /// Whether the client speaks TLS, with this server or with a trusted proxy.
    pub is_secure: bool,
    /// Whether a proxy passed the request on.
    pub is_forwarded: bool,
    /// The facts that the texts of the response depend on.
    pub context: ResponseContext,
}

impl WebRequest {
    pub(super) fn new(
        app: Arc<App>,
        parts: Parts,
        path: &'static str,
        segment: Option<String>,
        body: Bytes,
        context: ResponseContext,
    ) -> WebRequest {
        let (headers, proxies) = (&parts.headers, &app.config.trusted_proxies);
        let socket = parts.extensions.get::<Peer>().map(|peer| peer.0);
        let is_trusted = socket.is_some_and(|socket| {
            let address = socket.ip().to_canonical();
            proxies.iter().any(|network| network.contains(&address))
        });
        let is_https = header_value(headers, "x-forwarded-proto").is_some_and(|scheme| {
            // Each proxy may add its own scheme; the last one stands at the end.
            scheme.rsplit(',').next().is_some_and(|scheme| scheme.trim().eq_ignore_ascii_case("https"))
        });
        WebRequest {
            peer: socket.and_then(|socket| auth::client_address(headers, socket, proxies)),
            is_secure: parts.extensions.get::<Secure>().is_some() || (is_trusted && is_https),
            is_forwarded: headers.contains_key("x-forwarded-for") || headers.contains_key("forwarded"),
            method: if parts.method == Method::HEAD { Method::GET } else { parts.method },
            path,
            target: parts.uri.path_and_query().map_or_else(String::new, |target| target.as_str().to_owned()),
            segment,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            body,
            upload: None,
            context,
            app,
        }
    }

    /// The value of a header. Several lines count as one list. None: the header is absent.
    pub fn header(&self, name: impl AsRef<str>) -> Option<String> {
        header_value(&self.headers, name.as_ref())
    }

    /// The host of the request with its port, as sent. None: the request names no host.
    pub fn host(&self) -> Option<String> {
        self.header(HOST.as_str())
    }

    /// The origin of the request itself, always with its port: `http://127.0.0.1:8750`. None: the request names no host.
    pub fn origin(&self) -> Option<String> {
        origin(&format!("{}://{}", if self.is_secure { "https" } else { "http" }, self.host()?))
    }

    /// The value of a cookie. Of several cookies with the name, the first counts.
    pub fn cookie(&self, name: &str) -> Option<&str> {
        let lines = self.headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The fields of the form in the body.
    pub fn form(&self) -> Fields {
        Fields::parse(&self.body)
    }

    /// The fields of the query.
    pub fn query_fields(&self) -> Fields {
        Fields::parse(self.query.as_bytes())
    }
}

/// The names and values of a form or a query, in their order. A name may occur several times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(pub Vec<(String, String)>);

impl Fields {
    /// Parses `application/x-www-form-urlencoded` (WHATWG URL). Any text is valid.
    pub fn parse(text: &[u8]) -> Fields {
        let owned = |(name, value): (Cow<'_, str>, Cow<'_, str>)| (name.into_owned(), value.into_owned());
        Fields(form_urlencoded::parse(text).map(owned).collect())
    }

    /// The first value of a field; "" when the field is absent.
    pub fn text(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The fields as the text of a query.
    pub fn to_query(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// All values of a field.
    pub fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// A page.
pub fn html(status: u16, text: String) -> Reply {
    let reply = Reply { status, headers: Vec::new(), payload: Payload::Text("text/html", text.into()) };
    reply.with_header("content-type", "text/html; charset=utf-8")
}

/// A JSON text without an envelope.
pub fn json(status: u16, text: String) -> Reply {
    Reply { status, headers: Vec::new(), payload: Payload::Json(text) }
}

/// 303: the browser reads this address next, by GET.
pub fn redirect(to: String) -> Reply {
    Reply { status: 303, headers: vec![("location", to)], payload: Payload::Empty }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_keep_order_and_repeated_names() {
        let fields = Fields::parse(b"scopes=a&name=J%C3%B6rg+M&scopes=b&empty=");
        assert_eq!((fields.text("name"), fields.text("empty"), fields.text("none")), ("J\u{f6}rg M", "", ""));
        assert_eq!(fields.all("scopes").collect::<Vec<_>>(), ["a", "b"]);
    }
}
