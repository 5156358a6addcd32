//! The HTML pages: portal, reference, changelog and error catalogue. All assets come from the service, so the pages
//! work offline. Must not know single routes.

use std::sync::LazyLock;

use bytes::Bytes;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::paths;
use hearth_contract::problem::{Problem, ProblemType};
use serde_json::{Map, json};

use super::assets::{CACHED_ONE_HOUR, asset_reply};
use crate::app::asset::Asset;
use crate::http::call::PublicRequest;
use crate::http::reply::{Payload, Refusal, Reply};
use crate::versions::{Version, supported};

const FRAME: &str = include_str!("../../assets/frame.html");
const PORTAL: &str = include_str!("../../assets/portal.html");
const REFERENCE: &str = include_str!("../../assets/reference.html");
const STYLE: &str = include_str!("../../assets/style.css");
/// RapiDoc 9.3.8 (MIT), unchanged from its package.
const VIEWER: &[u8] = include_bytes!("../../assets/rapidoc/rapidoc-min.js");

/// Content-Security-Policy of a page: only the style sheet of the service.
const PAGE_POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                           frame-ancestors 'none'";
/// The reference also runs its script, loads the description, calls the API, and styles its own elements.
const VIEWER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                             img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                             frame-ancestors 'none'";

/// `GET /docs`: the developer portal.
pub async fn portal(request: PublicRequest) -> Result<Reply, Refusal> {
    let errors: String = ProblemType::ALL
        .iter()
        .map(|kind| {
            format!(
                "<tr><td>{}</td><td><a href=\"/docs/errors/{word}\"><code>{word}</code></a></td><td>{}</td></tr>\n",
                kind.status(),
                code_markup(kind.about()),
                word = kind.as_str()
            )
        })
        .collect();
    let body = PORTAL
        .replace("{base_url}", &request.app.base_url)
        .replace("{version}", CURRENT_VERSION)
        .replace("{errors}", &errors);
    Ok(page("Hearth API", &body))
}

/// `GET /docs/reference`: the API reference.
pub async fn reference(_: PublicRequest) -> Result<Reply, Refusal> {
    Ok(browser_reply("text/html", REFERENCE.into(), VIEWER_POLICY))
}

/// `GET /docs/changelog`: the news of each version, newest first.
pub async fn changelog(request: PublicRequest) -> Result<Reply, Refusal> {
    let versions: Vec<&Version> = supported(request.app.clock.now()).collect();
    let body: String = versions.into_iter().rev().map(version_section).collect();
    Ok(page("Changelog", &format!("<h1>Changelog</h1>\n{body}")))
}

fn version_section(version: &Version) -> String {
    let status = match &version.past {
        None => "The current version.".to_owned(),
        Some(past) => format!("Deprecated on {}; refused from {}.", past.deprecated_on, past.sunset_on),
    };
    let news: String = version.news.iter().map(|news| format!("<li>{}</li>\n", code_markup(news))).collect();
    format!("<h2 id=\"{name}\">{name}</h2>\n<p class=\"quiet\">{status}</p>\n<ul>\n{news}</ul>\n", name = version.name)
}

/// `GET /docs/errors/{type}`: an entry of the error catalogue.
pub async fn error(request: PublicRequest) -> Result<Reply, Refusal> {
    let Some(kind) = ProblemType::parse(&request.name) else {
        let message = format!("There is no error type `{}`.", request.name);
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
    let retry = if kind.retryable() {
        "The same request may succeed later."
    } else {
        "The same request fails again until something is changed."
    };
    let members: String = kind
        .details()
        .iter()
        .map(|(name, about)| format!("<tr><td><code>{name}</code></td><td>{}</td></tr>\n", code_markup(about)))
        .collect();
    let details = match members.as_str() {
        "" => String::new(),
        _ => format!("<h2>Members of <code>details</code></h2>\n<table><tbody>\n{members}</tbody></table>\n"),
    };
    let body = format!(
        "<h1><code>{word}</code></h1>\n<p class=\"quiet\">Status {status}</p>\n<p>{about}</p>\n<h2>What to do</h2>\n\
         <p>{fix}</p>\n<p class=\"quiet\">{retry}</p>\n{details}",
        word = kind.as_str(),
        status = kind.status(),
        about = code_markup(kind.about()),
        fix = code_markup(kind.fix()),
    );
    Ok(page(kind.as_str(), &body))
}

/// `GET /docs/style.css`: the style sheet of the pages.
pub async fn style(request: PublicRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(STYLE.as_bytes())));
    Ok(for_browsers(asset_reply(&request, &ASSET, "text/css", CACHED_ONE_HOUR).await?, "text/css", PAGE_POLICY))
}

/// `GET /docs/viewer.js`: the script of the reference.
pub async fn viewer(request: PublicRequest) -> Result<Reply, Refusal> {
    static ASSET: LazyLock<Asset> = LazyLock::new(|| Asset::new(|| Bytes::from_static(VIEWER)));
    Ok(for_browsers(
        asset_reply(&request, &ASSET, "text/javascript", CACHED_ONE_HOUR).await?,
        "text/javascript",
        PAGE_POLICY,
    ))
}

fn page(title: &str, body: &str) -> Reply {
    let text = FRAME.replace("{title}", title).replace("{body}", body);
    browser_reply("text/html", text.into(), PAGE_POLICY)
}

/// A text for browsers, with the security headers.
fn browser_reply(media: &'static str, text: Bytes, policy: &str) -> Reply {
    let payload = Payload::Text(media, text);
    for_browsers(Reply { status: 200, headers: Vec::new(), payload }, media, policy)
}

/// Adds the security headers of a text for browsers.
fn for_browsers(reply: Reply, media: &'static str, policy: &str) -> Reply {
    reply
        .with_header("content-type", format!("{media}; charset=utf-8"))
        .with_header("content-security-policy", policy)
        .with_header("x-content-type-options", "nosniff")
        .with_header("referrer-policy", "no-referrer")
}

/// Escapes a sentence for HTML. Text in backticks becomes `<code>`.
fn code_markup(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    escaped
        .split('`')
        .enumerate()
        .map(|(index, part)| if index % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() })
        .collect()
}
