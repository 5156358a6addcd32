//! The pages for people under `/docs`, with their style and script. All come from the service, so the pages work offline
//! and under a strict content security policy. Must not know what a page says.

use std::sync::LazyLock;

use bytes::Bytes;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType, QUOTED_NAME_MAX, shorten};
use serde_json::{Map, json};

use super::assets::{CACHED_ONE_HOUR, REVALIDATED, asset_reply};
use crate::app::asset::Asset;
use crate::http::call::PublicRequest;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::portal;

const STYLE: &str = include_str!("../../assets/style.css");
const SCRIPT: &str = include_str!("../../assets/script.js");

/// `Content-Security-Policy` of every page: only files and forms of the service.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                           base-uri 'none'; frame-ancestors 'none'; form-action 'self'";

/// `GET /docs`: the developer portal.
pub async fn portal(request: PublicRequest) -> Result<Reply, Refusal> {
    page(&request, paths::DOCS).await
}

/// `GET /docs/reference`: the contents of the API reference.
pub async fn reference(request: PublicRequest) -> Result<Reply, Refusal> {
    page(&request, paths::REFERENCE).await
}

/// `GET /docs/reference/{section}`: a page of the API reference.
pub async fn reference_section(request: PublicRequest) -> Result<Reply, Refusal> {
    let path = paths::REFERENCE_SECTION.replace("{section}", &request.name);
    if request.app.pages.contains_key(&path) {
        return page(&request, &path).await;
    }
    let message = format!("The reference has no page `{}`.", shorten(&request.name, QUOTED_NAME_MAX));
    let fix = format!("See {} for every page.", paths::REFERENCE);
    Err(Problem::new(ProblemType::NotFound, message).with_fix(fix).into())
}

/// `GET /docs/changelog`: the news of each version, newest first.
pub async fn changelog(request: PublicRequest) -> Result<Reply, Refusal> {
    page(&request, paths::CHANGELOG).await
}

/// `GET /docs/guides/{guide}`: a guide.
pub async fn guide(request: PublicRequest) -> Result<Reply, Refusal> {
    let path = paths::guide(&request.name);
    if request.app.pages.contains_key(&path) {
        return page(&request, &path).await;
    }
    let message = format!("There is no guide `{}`.", shorten(&request.name, QUOTED_NAME_MAX));
    Err(Problem::new(ProblemType::NotFound, message).with_fix(format!("See {} for every guide.", paths::DOCS)).into())
}

/// `GET /docs/errors/{type}`: an entry of the error catalogue.
pub async fn error(request: PublicRequest) -> Result<Reply, Refusal> {
    let Some(kind) = ProblemType::parse(&request.name) else {
        let message = format!("There is no error type `{}`.", shorten(&request.name, QUOTED_NAME_MAX));
        let fix = format!("See {} for every error type.", paths::META);
        return Err(Problem::new(ProblemType::NotFound, message).with_fix(fix).into());
    };
    if request.media == "application/json" {
        let data = json!({
            "type": kind.as_str(),
            "status": kind.status(),
            "description": kind.about(),
            "fix": kind.fix(),
            "details": kind.details().iter().map(|(name, about)| ((*name).to_owned(), json!(about))).collect::<Map<_, _>>(),
            "retryable": kind.retryable(),
        });
        return Ok(request.context.data_reply(200, &data.to_string(), ""));
    }
    let payload = Payload::Text("text/html", portal::error_page(kind).into());
    Ok(for_browsers(Reply { status: 200, headers: Vec::new(), payload }, "text/html"))
}

/// `GET /docs/style.css`: the style sheet of the pages.
pub async fn style(request: PublicRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(STYLE.as_bytes())));
    Ok(for_browsers(asset_reply(&request, &ASSET, "text/css", CACHED_ONE_HOUR).await?, "text/css"))
}

/// `GET /docs/script.js`: the script of the pages.
pub async fn script(request: PublicRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(SCRIPT.as_bytes())));
    Ok(for_browsers(asset_reply(&request, &ASSET, "text/javascript", CACHED_ONE_HOUR).await?, "text/javascript"))
}

/// A page that is the same for every client. A cache must ask whether it has changed.
async fn page(request: &PublicRequest, path: &str) -> Result<Reply, Refusal> {
    let Some(asset) = request.app.pages.get(path) else {
        return Err(Problem::new(ProblemType::InternalError, format!("The page {path} was not made.")).into());
    };
    Ok(for_browsers(asset_reply(request, asset, "text/html", REVALIDATED).await?, "text/html"))
}

/// Adds the security headers of a text for browsers.
fn for_browsers(reply: Reply, media: &'static str) -> Reply {
    reply
        .with_header("content-type", format!("{media}; charset=utf-8"))
        .with_header("content-security-policy", PAGE_POLICY)
        .with_header("x-content-type-options", "nosniff")
        .with_header("referrer-policy", "no-referrer")
}
