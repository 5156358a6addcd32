//! The pages for people (contract 14): documents, errors, and their files.

use hearth_contract::problem::ProblemType;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::json;

use super::discovery::visit;

/// A page of each template.
const PAGES: [&str; 8] = [
    "/docs",
    "/docs/changelog",
    "/docs/reference",
    "/docs/reference/tasks",
    "/docs/reference/refusals",
    "/docs/guides/paging",
    "/docs/guides/testing-sync",
    "/docs/errors/not_found",
];

#[tokio::test]
async fn reference_shows_request_and_answer_of_each_operation() {
    let server = Server::start().await;
    let document = visit(&server, "/openapi/v1", "*/*").await.json;
    let index = visit(&server, "/docs/reference", "text/html").await.text;
    let mut pages = std::collections::BTreeMap::new();
    for link in index.split("href=\"/docs/reference/").skip(1) {
        let section = link.split(['"', '#']).next().unwrap();
        if !pages.contains_key(section) {
            let page = visit(&server, &format!("/docs/reference/{section}"), "text/html").await;
            assert_eq!(page.status, 200, "{section}");
            pages.insert(section.to_owned(), page.text);
        }
    }
    for (section, page) in pages.iter().chain([(&"contents".to_owned(), &index)]) {
        assert!(page.len() < 60_000, "{section} has {} bytes", page.len());
        for link in page.split("href=\"/docs/reference/").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            assert!(anchor.is_empty() || pages[target].contains(&format!(" id=\"{anchor}\"")), "{section}: {link}");
        }
        for link in page.split("href=\"#").skip(1) {
            let anchor = link.split('"').next().unwrap();
            assert!(page.contains(&format!(" id=\"{anchor}\"")), "{section}: {anchor}");
        }
    }
    let page: String = pages.into_values().collect();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for operation in operations.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            let section =
                page.split(&format!("<h3 id=\"{id}\">")).nth(1).expect(id).split("</article>").next().unwrap();
            assert!(section.contains(&format!("</b> {path}</code>")), "{id}");
            let request = section.split(&format!("id=\"{id}-request\"")).nth(1).expect(id);
            assert!(request.contains(&format!("<pre>curl &#34;{}/", server.url)), "{id}: {request}");
            assert!(
                index.contains(&format!(" id=\"{id}\"")) && index.contains(&format!(" id=\"{id}-request\"")),
                "{id}"
            );
            let has_bytes = ["download_export", "get_file", "get_file_thumbnail"].contains(&id);
            assert!(has_bytes || section.contains(&format!("id=\"{id}-answer\"")), "{id}");
            let needs_key = operation["security"] != json!([]);
            assert_eq!(request.contains("-H @header"), needs_key, "{id}");
            assert!(!section.contains("Bearer "), "{id}: a key must come from a file");
        }
    }
    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert_eq!(page.matches(&format!("id=\"schema-{name}\"")).count(), 1, "{name}");
        assert!(index.contains(&format!("id=\"schema-{name}\"")), "an old address of {name} leads on");
    }
    for status in document["components"]["responses"].as_object().unwrap().keys() {
        let anchor = format!("id=\"status-{}\"", status.trim_start_matches("Error"));
        assert!(page.contains(&anchor) && index.contains(&anchor), "{status}");
    }
    let unknown = visit(&server, "/docs/reference/nonsense", "*/*").await;
    assert_eq!((unknown.status, unknown.error()), (404, "not_found"));
}

#[tokio::test]
async fn links_between_guides_have_targets() {
    let server = Server::start().await;
    let portal = visit(&server, "/docs", "text/html").await.text;
    let guides: Vec<&str> =
        portal.split("href=\"/docs/guides/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(guides.len() >= 10, "{guides:?}");
    for guide in guides {
        let text = visit(&server, &format!("/docs/guides/{guide}"), "text/html").await.text;
        for link in text.split("href=\"/").skip(1) {
            let link = format!("/{}", link.split('"').next().unwrap());
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = visit(&server, path, "*/*").await;
            assert_eq!(target.status, 200, "{guide}: {link}");
            assert!(anchor.is_empty() || target.text.contains(&format!(" id=\"{anchor}\"")), "{guide}: {link}");
        }
    }
    let unknown = visit(&server, "/docs/guides/nonsense", "*/*").await;
    assert_eq!((unknown.status, unknown.error()), (404, "not_found"));
}

#[tokio::test]
async fn every_error_has_a_safe_page() {
    let server = Server::start().await;
    for kind in ProblemType::ALL {
        let path = format!("/docs/errors/{}", kind.as_str());
        let page = visit(&server, &path, "text/html,application/xhtml+xml,*/*;q=0.8").await;
        assert_eq!((page.status, page.header("content-type")), (200, "text/html; charset=utf-8"));
        assert!(page.text.contains(kind.as_str()));
        let report = visit(&server, &path, "application/json").await;
        assert_eq!((report.header("content-type"), &report.data()["fix"]), ("application/json", &json!(kind.fix())));
    }
    assert_eq!(visit(&server, "/docs/errors/nonsense", "text/html").await.status, 404);
    let refused = Client::new(&server.url, &server.live_key).get("/v1/rooms/nope").await;
    let doc = refused.json["error"]["doc_url"].as_str().unwrap().strip_prefix(&server.url).unwrap().to_owned();
    assert_eq!(visit(&server, &doc, "*/*").await.status, 200);

    for path in PAGES.into_iter().chain(["/docs/style.css", "/docs/script.js"]) {
        let page = visit(&server, path, "*/*").await;
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy");
        assert_eq!(
            policy,
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
             frame-ancestors 'none'; form-action 'self'",
            "{path}"
        );
        assert!(!page.text.contains(" style=\"") && !page.text.contains("<style"), "{path}");
        assert_eq!((page.header("x-content-type-options"), page.header("referrer-policy")), ("nosniff", "no-referrer"));
    }
    // A page loads nothing from another host.
    for path in PAGES {
        let text = visit(&server, path, "*/*").await.text;
        for source in text.split("src=\"").skip(1).chain(text.split("<link rel=\"stylesheet\" href=\"").skip(1)) {
            assert!(source.starts_with("/docs/"), "{path}: {source}");
        }
    }
    assert!(visit(&server, "/docs/changelog", "*/*").await.text.contains("2026-03-01"));
}

#[tokio::test]
async fn asset_is_compressed_kept_and_revalidated() {
    let server = Server::start().await;
    let client = Client::new(&server.url, "");
    let ask = async |path: &str, coding: &str, known: &str| {
        let request = client.request(Method::GET, path).header("accept-encoding", coding.to_owned());
        client.send(if known.is_empty() { request } else { request.header("if-none-match", known.to_owned()) }).await
    };
    for (path, kept) in [
        ("/docs/script.js", "public, max-age=3600"),
        ("/docs/style.css", "public, max-age=3600"),
        ("/docs", "public, no-cache"),
        ("/docs/reference", "public, no-cache"),
        ("/docs/guides/paging", "public, no-cache"),
        ("/openapi/v1", "public, no-cache"),
        ("/openapi/v1.yaml", "public, no-cache"),
    ] {
        let mut etags = std::collections::HashSet::new();
        for coding in ["br", "gzip", ""] {
            let sent = ask(path, if coding.is_empty() { "zstd" } else { coding }, "").await;
            let etag = sent.header("etag").to_owned();
            assert_eq!((sent.status, sent.header("content-encoding")), (200, coding), "{path}");
            assert_eq!(sent.header("cache-control"), kept);
            assert!(sent.header("vary").starts_with("Accept-Encoding"), "{}", sent.header("vary"));
            let again = ask(path, if coding.is_empty() { "zstd" } else { coding }, &format!("\"x\", W/{etag}")).await;
            assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", &*etag), "{path}");
            assert_eq!(again.header("cache-control"), kept);
            assert!(etags.insert(etag), "each coding has an ETag of its own");
        }
        assert_eq!(ask(path, "br", "nonsense").await.status, 400);
    }
}

#[tokio::test]
async fn page_commands_can_be_pasted_into_shell() {
    let server = Server::start().await;
    let text = visit(&server, "/docs", "*/*").await.text;
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("curl ")).collect();
    assert!(!lines.is_empty());
    assert!(!text.contains("$("), "not every machine has the same programs");
    for line in lines {
        // A shell interprets a `?` or `&` outside quotes.
        let bare: String = line.replace("&quot;", "\"").split('"').step_by(2).collect();
        assert!(!bare.contains('?') && !bare.contains("&amp;"), "{line}");
    }
}

#[tokio::test]
async fn browser_finds_the_pages() {
    let server = Server::start_with(|config| config.base_url = Some("https://nas.example".to_owned())).await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    let http = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let at_root = async |method: Method, accept: &str| {
        let request = http.request(method, format!("{}/", server.url)).header("accept", accept);
        let response = request.send().await.unwrap();
        let location = response.headers().get("location").map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), location)
    };
    let console = Some("/console".to_owned());
    assert_eq!(at_root(Method::GET, browser).await, (303, console.clone()));
    assert_eq!(at_root(Method::HEAD, browser).await, (303, console));
    // Programs are told about a wrong path, as everywhere.
    assert_eq!(at_root(Method::GET, "*/*").await, (404, None));
    assert_eq!(at_root(Method::GET, "application/json").await, (404, None));
    assert_eq!(at_root(Method::POST, browser).await, (404, None));
    for path in PAGES {
        let (page, slashed) = (visit(&server, path, browser).await, visit(&server, &format!("{path}/"), browser).await);
        assert_eq!((slashed.status, &slashed.text), (200, &page.text), "{path}/");
    }
    for path in ["/docs//", "/docs/style.css/", "/v1/", "/healthz/"] {
        assert_eq!(visit(&server, path, "*/*").await.status, 404, "{path}");
    }
}
