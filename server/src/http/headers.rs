//! Reads headers of a request. Must not know what a header means.

use axum::http::HeaderMap;
use axum::http::header::AsHeaderName;

/// The value of a header. Several lines count as one list (RFC 9110 5.3).
pub(super) fn header_value(headers: &HeaderMap, name: impl AsHeaderName) -> Option<String> {
    let mut values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("\u{fffd}"));
    let mut list = values.next()?.to_owned();
    for value in values {
        list.push_str(", ");
        list.push_str(value);
    }
    Some(list)
}
