//! The style and the script of the console. Must not know the pages.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::api::assets::{CACHED_ONE_HOUR, cached_reply};
use crate::app::asset::Asset;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;

const STYLE: &str = include_str!("../../assets/console.css");
const SCRIPT: &str = include_str!("../../assets/console.js");

/// `GET /console/style.css`.
pub(super) async fn style(request: WebRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(STYLE.as_bytes())));
    file(&request, &ASSET, "text/css").await
}

/// `GET /console/script.js`.
pub(super) async fn script(request: WebRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(SCRIPT.as_bytes())));
    file(&request, &ASSET, "text/javascript").await
}

/// A file of the pages, which a browser keeps for an hour.
pub(super) async fn file(request: &WebRequest, asset: &Asset, media: &'static str) -> Result<Reply, Refusal> {
    let (accepted, known) = (request.header("accept-encoding"), request.header("if-none-match"));
    let reply = cached_reply(accepted.as_deref(), known.as_deref(), asset, media, CACHED_ONE_HOUR).await?;
    Ok(reply.with_header("content-type", format!("{media}; charset=utf-8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_is_small() {
        assert!(SCRIPT.len() <= 8 * 1024 && STYLE.len() <= 16 * 1024);
    }
}
