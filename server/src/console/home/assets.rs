//! The style and the script of the home's pages. Must not know the pages.

use std::sync::LazyLock;

use bytes::Bytes;

use crate::app::asset::Asset;
use crate::console::assets::file;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;

const STYLE: &str = include_str!("../../../assets/home.css");
const SCRIPT: &str = include_str!("../../../assets/home.js");

/// `GET /home/style.css`.
pub(in crate::console) async fn style(request: WebRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(STYLE.as_bytes())));
    file(&request, &ASSET, "text/css").await
}

/// `GET /home/script.js`.
pub(in crate::console) async fn script(request: WebRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(SCRIPT.as_bytes())));
    file(&request, &ASSET, "text/javascript").await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_and_style_are_small() {
        assert!(SCRIPT.len() <= 8 * 1024 && STYLE.len() <= 16 * 1024);
    }
}
