//! The operations that describe the service: the key, the lists for programs, and the pages of the developer portal. Must not
//! know how a handler works.

use hearth_contract::paths;

use super::build::{get, open, page};
use crate::api;
use crate::http::bodies::ResponseBody;
use crate::http::route::{Access, Route};

/// The key of the request, and descriptions for programs.
pub(super) fn discovery() -> Vec<Route> {
    vec![
        Route {
            response_body: ResponseBody::KeyProfile,
            ..get(paths::ME, "get_me", "Show the key with its home, scopes and limits", Access::Key, |call| {
                Box::pin(api::me::show(call))
            })
        },
        Route {
            response_body: ResponseBody::Index,
            ..open(paths::ROOT, "get_index", "List resources, conventions, formats and links", |request| {
                Box::pin(api::discovery::index(request))
            })
        },
        Route {
            response_body: ResponseBody::Meta,
            ..open(paths::META, "get_meta", "List versions, scopes, errors and limits", |request| {
                Box::pin(api::discovery::meta(request))
            })
        },
        described(
            paths::OPENAPI,
            "get_openapi",
            "The OpenAPI description in the accepted media type",
            ResponseBody::Document,
        ),
        described(
            paths::OPENAPI_JSON,
            "get_openapi_json",
            "The OpenAPI description as JSON",
            ResponseBody::DocumentJson,
        ),
        described(
            paths::OPENAPI_YAML,
            "get_openapi_yaml",
            "The OpenAPI description as YAML",
            ResponseBody::DocumentYaml,
        ),
    ]
}

/// Pages for people, with their style and script.
pub(super) fn pages() -> Vec<Route> {
    vec![
        page(paths::DOCS, "get_docs", "The developer portal", ResponseBody::Page, |request| {
            Box::pin(api::docs::portal(request))
        }),
        page(paths::CHANGELOG, "get_changelog", "The changes of each version", ResponseBody::Page, |request| {
            Box::pin(api::docs::changelog(request))
        }),
        page(paths::REFERENCE, "get_reference", "The API reference", ResponseBody::Page, |request| {
            Box::pin(api::docs::reference(request))
        }),
        page(
            paths::REFERENCE_SECTION,
            "get_reference_section",
            "A page of the API reference",
            ResponseBody::Page,
            |request| Box::pin(api::docs::reference_section(request)),
        ),
        page(paths::GUIDE, "get_guide", "A guide", ResponseBody::Page, |request| Box::pin(api::docs::guide(request))),
        page(paths::ERROR_PAGE, "get_error_page", "The meaning of an error type", ResponseBody::ErrorPage, |request| {
            Box::pin(api::docs::error(request))
        }),
        page(paths::STYLE, "get_style", "The style of the pages", ResponseBody::Style, |request| {
            Box::pin(api::docs::style(request))
        }),
        page(paths::SCRIPT, "get_script", "The script of the pages", ResponseBody::Script, |request| {
            Box::pin(api::docs::script(request))
        }),
    ]
}

fn described(path: &str, operation: &str, summary: &str, response_body: ResponseBody) -> Route {
    page(path, operation, summary, response_body, |request| Box::pin(api::discovery::document(request)))
}
