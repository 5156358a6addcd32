//! The pages of the developer portal under `/docs`: texts in HTML, which work without script and with the files of the
//! service alone. Pure: everything is made from tables, from the OpenAPI description and from Markdown files. Must not
//! know requests, nor headers.
//!
//! - [`guides`]: the guides of `docs/guides`, from Markdown.
//! - [`reference`]: every operation and schema of the OpenAPI description, one page for each group.
//! - [`markup`]: the HTML of a template, and text that is HTML already, so that templates do not escape it again.
//!
//! The templates are in `server/templates/docs`.

mod guides;
mod markup;
mod reference;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use askama::Template;
use bytes::Bytes;
use hearth_contract::headers::CURRENT_VERSION;
use hearth_contract::paths;
use hearth_contract::problem::ProblemType;

use self::guides::{GUIDES, Guide};
use self::markup::{Markup, html};
use crate::app::asset::Asset;
use crate::http::route::Route;
use crate::openapi;
use crate::versions::{VERSIONS, Version};

/// The pages that are the same for every client, by path. A page is made at its first use. `base_url` is the public URL of
/// the service, without a slash at the end. `has_console`: the service has the page that makes a key.
pub fn pages(base_url: &Arc<str>, has_console: bool, routes: &'static [Route]) -> BTreeMap<String, Asset> {
    let (shown, described) = (base_url.clone(), base_url.clone());
    // All pages of the reference are made from one description.
    let document = Arc::new(LazyLock::new(move || openapi::describe(&described, routes)));
    let sections = reference::sections().into_iter().map(|section| {
        let document = document.clone();
        let path = paths::REFERENCE_SECTION.replace("{section}", &section);
        (path, Asset::new(move || Bytes::from(reference::section_page(&section, &document, routes))))
    });
    let sections: Vec<(String, Asset)> = sections.collect();
    let reference = Asset::new(move || Bytes::from(reference::index_page(&document, routes)));
    let own = [
        (paths::DOCS.to_owned(), Asset::new(move || Bytes::from(portal(&shown, has_console)))),
        (paths::CHANGELOG.to_owned(), Asset::new(|| Bytes::from(changelog()))),
        (paths::REFERENCE.to_owned(), reference),
    ];
    let guides = GUIDES.iter().map(|guide| (guide.path(), Asset::new(|| Bytes::from(guide_page(guide)))));
    own.into_iter().chain(sections).chain(guides).collect()
}

/// The page of an error type.
pub fn error_page(kind: ProblemType) -> String {
    let page = ErrorPage {
        here: "",
        title: kind.as_str(),
        status: kind.status(),
        about: Markup::sentence(kind.about()),
        fix: Markup::sentence(kind.fix()),
        is_retryable: kind.retryable(),
        details: kind.details().iter().map(|(name, about)| (*name, Markup::sentence(about))).collect(),
    };
    html(&page)
}

#[derive(Template)]
#[template(path = "docs/portal.html")]
struct Portal<'p> {
    here: &'p str,
    title: &'p str,
    base_url: &'p str,
    version: &'p str,
    has_console: bool,
    guides: &'p [Guide],
    errors: Vec<ErrorRow>,
}

/// A row of the table of error types.
struct ErrorRow {
    status: u16,
    name: &'static str,
    about: Markup,
}

fn portal(base_url: &str, has_console: bool) -> String {
    let row = |kind: ProblemType| ErrorRow {
        status: kind.status(),
        name: kind.as_str(),
        about: Markup::sentence(kind.about()),
    };
    html(&Portal {
        here: paths::DOCS,
        title: "Hearth API",
        base_url,
        version: CURRENT_VERSION,
        has_console,
        guides: &GUIDES,
        errors: ProblemType::ALL.map(row).into(),
    })
}

#[derive(Template)]
#[template(path = "docs/changelog.html")]
struct Changelog<'p> {
    here: &'p str,
    title: &'p str,
    versions: Vec<VersionSection>,
}

/// A version with its news.
struct VersionSection {
    name: &'static str,
    status: String,
    news: Vec<Markup>,
}

/// The news of each version, newest first.
fn changelog() -> String {
    let section = |version: &Version| VersionSection {
        name: version.name,
        status: match &version.past {
            None => "The current version.".to_owned(),
            Some(past) => format!("Deprecated on {}; refused from {}.", past.deprecated_on, past.sunset_on),
        },
        news: version.news.iter().map(|news| Markup::sentence(news)).collect(),
    };
    let versions = VERSIONS.iter().rev().map(section).collect();
    html(&Changelog { here: paths::CHANGELOG, title: "Changelog", versions })
}

#[derive(Template)]
#[template(path = "docs/guide.html")]
struct GuidePage<'p> {
    here: &'p str,
    title: &'p str,
    guides: &'p [Guide],
    body: Markup,
}

fn guide_page(guide: &Guide) -> String {
    let (here, body) = (guide.path(), guide.to_html());
    html(&GuidePage { here: &here, title: guide.title(), guides: &GUIDES, body })
}

#[derive(Template)]
#[template(path = "docs/error.html")]
struct ErrorPage<'p> {
    here: &'p str,
    title: &'p str,
    status: u16,
    about: Markup,
    fix: Markup,
    is_retryable: bool,
    details: Vec<(&'static str, Markup)>,
}
