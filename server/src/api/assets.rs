//! Replies with files that are the same for every client: compressed once, with an ETag, cacheable. Must not
//! know the content of a file.

use crate::app::asset::{Asset, CODINGS};
use crate::http::accept::choose_coding;
use crate::http::call::PublicRequest;
use crate::http::reply::{Payload, Refusal, Reply};

/// `Cache-Control` of a file that belongs to a page: a browser may use it for an hour without asking.
pub(crate) const CACHED_ONE_HOUR: &str = "public, max-age=3600";
/// `Cache-Control` of a file that programs read: a cache must ask whether it has changed.
pub(super) const REVALIDATED: &str = "public, no-cache";

/// The file as the reply to a request of the API.
pub(super) async fn asset_reply(
    request: &PublicRequest,
    asset: &Asset,
    media: &'static str,
    cache_control: &str,
) -> Result<Reply, Refusal> {
    let (accepted, known) = (request.accept_encoding.as_deref(), request.if_none_match.as_deref());
    cached_reply(accepted, known, asset, media, cache_control).await
}

/// The file in a coding that the client accepts; 304 if the client already has it. `accept_encoding` and `if_none_match`: the
/// headers of the request.
pub(crate) async fn cached_reply(
    accept_encoding: Option<&str>,
    if_none_match: Option<&str>,
    asset: &Asset,
    media: &'static str,
    cache_control: &str,
) -> Result<Reply, Refusal> {
    let coding = accept_encoding.and_then(|accepted| choose_coding(accepted, &CODINGS));
    let form = asset.form(coding).await?;
    let is_known = if_none_match.is_some_and(|tags| has_etag(tags, &form.etag));
    let (status, payload) =
        if is_known { (304, Payload::Empty) } else { (200, Payload::Text(media, form.bytes.clone())) };
    let reply = Reply { status, headers: Vec::new(), payload }
        .with_header("etag", form.etag)
        .with_header("cache-control", cache_control)
        .with_header("vary", "Accept-Encoding");
    Ok(match form.coding.filter(|_| !is_known) {
        Some(coding) => reply.with_header("content-encoding", coding),
        None => reply,
    })
}

/// Whether a list of ETags names this one. A weak tag counts like a strong one (RFC 9110 13.1.2).
fn has_etag(tags: &str, etag: &str) -> bool {
    tags.trim() == "*" || tags.split(',').map(str::trim).any(|tag| tag.strip_prefix("W/").unwrap_or(tag) == etag)
}
