//! The pages of the console (contract 19): roles, keys, people, and what stands in no page.

use std::time::Duration;

use hearth_contract::key::Environment;
use hearth_server::app::recent::Request;
use hearth_server::clock::Clock;
use hearth_server::console::pages::PAGES;
use hearth_server::operate::calendars::{self, Viewer};
use hearth_server::operate::{self, people};
use hearth_server::store::homes::Plan;
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock, new_key};
use reqwest::Method;
use serde_json::json;

/// The password of every person in these tests.
pub(super) const PASSWORD: &str = "correct horse battery";

/// The path of a new one-time link.
pub(super) async fn link(server: &Server, team: &str, role: Role, name: Option<&str>) -> String {
    let app = &server.running.app;
    let created =
        people::create_link(&app.db, &app.clock, team.to_owned(), role, name.map(str::to_owned)).await.unwrap();
    format!("/console/link/{}", created.token)
}

/// The browser of a new person, who is signed in.
pub(super) async fn sign_up(server: &Server, team: &str, role: Role, name: &str) -> Browser {
    let browser = Browser::new(&server.url);
    let path = link(server, team, role, Some(name)).await;
    assert_eq!(browser.submit(&path, &[("password", PASSWORD)]).await.status, 303);
    browser
}

/// The secret of a key in a page; empty without one.
pub(super) fn secret(page: &str) -> String {
    let start = page.find("svc_").filter(|_| page.contains("id=\"secret\""));
    start.map(|start| page[start..].split('<').next().unwrap().to_owned()).unwrap_or_default()
}

/// The id of the only key with this name.
async fn key_id(server: &Server, name: &str) -> String {
    let keys = operate::list_keys(&server.running.app.db, None).await.unwrap();
    let mut named = keys.into_iter().filter(|key| key.name == name && key.revoked_at.is_none());
    named.next().expect("a key").id
}

#[tokio::test]
async fn every_page_keeps_its_role() {
    let server = Server::start().await;
    let app = &server.running.app;
    operate::create_team(&app.db, &Clock::system(), "Other".to_owned(), Plan::Paid).await.unwrap();
    let owner = sign_up(&server, "My home", Role::Owner, "Olga").await;
    let member = sign_up(&server, "My home", Role::Member, "Mia").await;
    let stranger = sign_up(&server, "Other", Role::Owner, "Sven").await;
    let nobody = Browser::new(&server.url);
    let team = operate::teams(&app.db).await.unwrap()[0].id.clone();
    let mia = people::list_people(&app.db, &team).await.unwrap()[1].id.clone();
    for page in PAGES {
        // Forms that end the sessions of a browser have a test of their own.
        if page.path.contains("sign-out") {
            continue;
        }
        let created = operate::create_key(&app.db, &Clock::system(), new_key(&team, Environment::Test)).await.unwrap();
        owner.submit("/console/calendars", &[("name", "Spare")]).await;
        let calendars = calendars::list(&app.db, Viewer::Owner(team.clone())).await.unwrap();
        let id = match page.path {
            path if path.contains("calendars") => &calendars[0].id,
            path if path.ends_with("/remove") => {
                sign_up(&server, "My home", Role::Member, "Spare").await;
                let people = people::list_people(&app.db, &team).await.unwrap();
                &people.iter().find(|person| person.name == "Spare").unwrap().id.clone()
            }
            path if path.contains("people") => &mia,
            _ => &created.key.id,
        };
        let path = page.path.replace("{id}", id).replace("{token}", "none");
        let fields = [
            ("old", "now"),
            ("new", "a new password"),
            ("role", "member"),
            ("name", "new"),
            ("environment", "test"),
            ("scopes", "tasks:read"),
        ];
        let visit = async |browser: &Browser| match page.method == Method::POST {
            true if page.takes_files() => browser.submit_files(&path, &fields, &[]).await,
            true => browser.submit(&path, &fields).await,
            false => browser.open(&path).await,
        };
        let about = format!("{} {}", page.method, page.path);
        let replies = [visit(&nobody).await, visit(&member).await, visit(&stranger).await, visit(&owner).await];
        for reply in &replies {
            assert!(
                reply.headers.get("service-api-version").is_none() && !reply.header("x-request-id").is_empty(),
                "{about}"
            );
            assert!(
                reply.header("content-security-policy").starts_with("default-src 'none'; style-src 'self';"),
                "{about}"
            );
            assert_eq!((reply.header("x-frame-options"), reply.header("x-content-type-options")), ("DENY", "nosniff"));
            assert_eq!(reply.header("referrer-policy"), "same-origin", "{about}");
            let is_asset = page.path.ends_with(".css") || page.path.ends_with(".js");
            assert_eq!(reply.header("cache-control") == "no-store", !is_asset, "{about}");
            assert!(reply.text.len() < 30 * 1024, "{about}: {} bytes", reply.text.len());
        }
        let [signed_out, of_member, of_stranger, of_owner] =
            replies.map(|reply| (reply.status, reply.header("location").to_owned()));
        let is_sign_in =
            |(status, location): &(u16, String)| *status == 303 && location.starts_with("/console/sign-in");
        assert_eq!(is_sign_in(&signed_out), page.role().is_some(), "{about}: {signed_out:?}");
        let is_wrong_password = matches!(page.operation, "console_sign_in" | "console_change_password");
        assert_eq!(of_member.0 == 403, page.role() == Some(Role::Owner) || is_wrong_password, "{about}: {of_member:?}");
        let is_foreign = page.path.contains("{id}");
        assert_eq!(of_stranger.0 == 404, is_foreign, "{about}: {of_stranger:?}");
        let is_link = page.path.contains("{token}");
        let expected: &[u16] = if is_link {
            &[410]
        } else if is_wrong_password {
            &[403]
        } else if page.path.starts_with("/console/partners/") || (page.path.starts_with("/home/") && is_foreign) {
            // An ordinary key is no grant, and no record.
            &[404]
        } else if page.operation == "home_read" {
            // The form has no photo.
            &[422]
        } else if page.path == "/console/check" {
            // The check of the stranger may still run.
            &[303, 409]
        } else {
            &[200, 303]
        };
        assert!(
            expected.contains(&of_owner.0) && (page.role().is_none() || !is_sign_in(&of_owner)),
            "{about}: {of_owner:?}"
        );
    }
    for path in ["/console/nothing", "/console/keys/a/b/c", "/home/nothing/here"] {
        let reply = owner.open(path).await;
        assert_eq!((reply.status, reply.header("x-frame-options")), (404, "DENY"), "{path}");
        assert!(reply.text.starts_with("<!doctype html>") && reply.text.contains("There is no path"), "{}", reply.text);
    }
    assert!(owner.open("/v1/nothing").await.text.starts_with("{"));
}

#[tokio::test]
async fn removed_person_cannot_use_an_open_link() {
    let server = Server::start().await;
    let db = &server.running.app.db;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let ben = sign_up(&server, "My home", Role::Owner, "Ben").await;
    let team = operate::teams(db).await.unwrap()[0].id.clone();
    let id = people::find_person(db, "Ben").await.unwrap().unwrap().id;
    let own = link(&server, "My home", Role::Owner, Some("Ben")).await;
    let invitation = link(&server, "My home", Role::Owner, None).await;
    assert_eq!(anna.submit(&format!("/console/people/{id}/remove"), &[]).await.status, 303);
    for path in [own, invitation] {
        assert_eq!(ben.submit(&path, &[("name", "Ben again"), ("password", PASSWORD)]).await.status, 410);
    }
    assert_eq!(people::list_people(db, &team).await.unwrap().len(), 1);
}

#[tokio::test]
async fn key_is_made_seen_once_rotated_and_revoked() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let fields = [
        ("name", "phone"),
        ("environment", "live"),
        ("scopes", "tasks:read"),
        ("scopes", "rooms:read"),
        ("expires", ""),
        ("networks", "127.0.0.0/8"),
    ];
    let made = anna.submit("/console/keys", &fields).await;
    let first = secret(&made.text);
    assert!(made.status == 200 && first.len() == 58, "{}", made.text);
    let me = |key: String| async { Client::new(&server.url, Box::leak(key.into_boxed_str())).get("/v1/me").await };
    let shown = me(first.clone()).await;
    assert_eq!(shown.data()["scopes"], json!(["tasks:read", "rooms:read"]));
    let id = key_id(&server, "phone").await;
    let path = format!("/console/keys/{id}");
    for page in ["/console", "/console/keys", &path, "/console/keys/new", "/console/people", "/console/session"] {
        let page = anna.open(page).await;
        assert!(page.status == 200 && !page.text.contains(&first[12..40]), "the secret is in no other page");
    }
    assert_eq!(anna.submit(&format!("{path}/rotate"), &[("old", "")]).await.status, 400);
    let second = secret(&anna.submit(&format!("{path}/rotate"), &[("old", "later")]).await.text);
    assert_eq!((me(first.clone()).await.status, me(second.clone()).await.status), (200, 200));
    let old = anna.open(&path).await.text;
    assert!(!old.contains("<dt>Expires (UTC)</dt><dd>never</dd>"), "the old key has an end");
    assert_eq!(anna.submit(&format!("{path}/revoke"), &[]).await.status, 303);
    assert_eq!((me(first).await.status, me(second.clone()).await.status), (401, 200));
    let newer = format!("/console/keys/{}", key_id(&server, "phone").await);
    let third = secret(&anna.submit(&format!("{newer}/rotate"), &[("old", "now")]).await.text);
    assert_eq!((me(second).await.status, me(third).await.status), (401, 200));
    let again = anna.submit(&format!("{newer}/rotate"), &[("old", "now")]).await;
    assert!(again.status == 409 && again.text.contains("revoked"), "{}", again.text);
}

#[tokio::test]
async fn stream_ends_with_its_key() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |config| config.keepalive = Duration::from_millis(50)).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let fields = [("name", "phone"), ("environment", "live"), ("scopes", "events:read")];
    let secret = secret(&anna.submit("/console/keys", &fields).await.text);
    let api = Client::new(&server.url, &secret);
    let open = async || api.request(Method::GET, "/v1/events/stream").send().await.unwrap();
    let ends = async |stream: reqwest::Response| {
        tokio::time::timeout(Duration::from_secs(10), stream.bytes()).await.expect("the stream ends").unwrap()
    };
    let path = format!("/console/keys/{}", key_id(&server, "phone").await);
    let early = open().await;
    assert_eq!(anna.submit(&format!("{path}/rotate"), &[("old", "later")]).await.status, 200);
    let late = open().await;
    assert_eq!(late.status(), 200, "the old key opens streams for a day");
    clock.advance(Duration::from_secs(24 * 3600));
    ends(early).await;
    ends(late).await;

    let new = new_key("My home", Environment::Live);
    let created = operate::create_key(&server.running.app.db, &clock.clock(), new).await.unwrap();
    let api = Client::new(&server.url, &created.secret);
    let stream = api.request(Method::GET, "/v1/events/stream").send().await.unwrap();
    assert_eq!(anna.submit(&format!("/console/keys/{}/revoke", created.key.id), &[]).await.status, 303);
    ends(stream).await;
}

#[tokio::test]
async fn faulty_key_form_keeps_what_was_typed() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let page =
        anna.submit("/console/keys", &[("name", "my \"phone\""), ("environment", "test"), ("networks", "home")]).await;
    assert_eq!(page.status, 400);
    for part in ["at least one scope", "my &#34;phone&#34;", "value=\"test\" checked", ">home</textarea>"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
}

#[tokio::test]
async fn people_are_invited_promoted_and_removed() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let page = anna.submit("/console/people", &[("name", "Ben"), ("role", "member")]).await;
    assert!(page.status == 200 && page.text.contains("data:image/svg+xml;base64,"), "{}", page.text);
    let start = page.text.find(&format!("{}/console/link/", server.url)).expect("the link");
    let url = page.text[start..].split('<').next().unwrap().to_owned();
    let ben = Browser::new(&server.url);
    assert!(ben.open(&url).await.text.contains("value=\"Ben\""));
    let done = ben.submit(&url, &[("name", "Eve"), ("password", PASSWORD)]).await;
    assert_eq!((done.status, done.header("location")), (303, "/home"));
    assert!(!anna.open("/console/people").await.text.contains(&url), "the link is shown once");
    let id = {
        let db = &server.running.app.db;
        let team = operate::teams(db).await.unwrap()[0].id.clone();
        people::list_people(db, &team).await.unwrap().into_iter().find(|person| person.name == "Ben").unwrap().id
    };
    assert_eq!(ben.open("/console").await.status, 403);
    assert_eq!(anna.submit(&format!("/console/people/{id}/role"), &[("role", "owner")]).await.status, 303);
    assert_eq!(ben.open("/console").await.status, 200);
    for (path, fields) in [("role", [("role", "king")]), ("role", [("role", "")])] {
        assert_eq!(anna.submit(&format!("/console/people/{id}/{path}"), &fields).await.status, 400);
    }
    let taken = anna.submit("/console/people", &[("name", "ben"), ("role", "member")]).await;
    assert!(taken.status == 409 && taken.text.contains("with this name"), "{}", taken.text);
    assert_eq!(anna.submit(&format!("/console/people/{id}/remove"), &[]).await.status, 303);
    assert_eq!(ben.open("/console").await.status, 303);
    let free = anna.submit("/console/people", &[("name", "ben"), ("role", "member")]).await;
    assert_eq!(free.status, 200, "the name of a removed person is free");
}

#[tokio::test]
async fn keys_come_in_pages_with_the_revoked_ones_last() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let owner = sign_up(&server, "My home", Role::Owner, "Olga").await;
    for number in 0..60 {
        let key = operate::NewKey { name: Some(format!("key {number}")), ..new_key("My home", Environment::Test) };
        let key = operate::create_key(db, &clock, key).await.unwrap().key;
        if number >= 55 {
            operate::revoke_key(db, &clock, key.id).await.unwrap();
        }
    }
    let (mut path, mut names) = ("/console/keys".to_owned(), Vec::new());
    loop {
        let page = owner.open(&path).await.text;
        let rows = page.split("<th scope=\"row\">").skip(1);
        let found: Vec<String> = rows.map(|row| row.split(['<', '>']).nth(2).unwrap().to_owned()).collect();
        assert!(!found.is_empty() && found.len() <= 50, "{path}: {}", found.len());
        names.extend(found);
        let Some(next) = page.split("/console/keys?after=").nth(1) else { break };
        path = format!("/console/keys?after={}", next.split('"').next().unwrap());
    }
    // The two keys of the harness are the oldest.
    // Keys of one millisecond have no order.
    let sorted = |found: &[String]| {
        let mut numbers: Vec<u32> = found.iter().filter_map(|name| name.strip_prefix("key ")?.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(sorted(&names[..55]), (0..55).collect::<Vec<_>>(), "{names:?}");
    assert_eq!(sorted(&names[57..]), (55..60).collect::<Vec<_>>(), "{names:?}");
    let foreign = owner.open("/console/keys?after=nonsense").await;
    assert_eq!(foreign.status, 200);
}

#[tokio::test]
async fn names_are_text_on_every_page() {
    let server = Server::start().await;
    let app = &server.running.app;
    let corpus = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' autofocus onfocus='alert(1)",
        "{{7*7}}",
        "</title><svg/onload=alert(1)>",
    ];
    for (nth, hostile) in corpus.into_iter().enumerate() {
        let team = format!("{hostile}{nth}");
        operate::create_team(&app.db, &Clock::system(), team.clone(), Plan::Paid).await.unwrap();
        let owner = sign_up(&server, &team, Role::Owner, hostile).await;
        let key = operate::NewKey { name: Some(hostile.to_owned()), ..new_key(&team, Environment::Live) };
        let operate::CreatedKey { key, secret } = operate::create_key(&app.db, &Clock::system(), key).await.unwrap();
        let api = Client::new(&server.url, &secret);
        assert_eq!(api.post("/v1/rooms", &json!({ "name": hostile })).await.status, 201);
        assert_eq!(api.get("/v1/events").await.status, 200);
        let (method, path) = (hostile.into(), hostile.into());
        let (at, key_id) = (app.clock.now(), Some((&*key.id).into()));
        let (status, took, request_id) = (200, Duration::ZERO, hostile.into());
        let request = Request { at, method, path, status, took, key: key_id, request_id };
        app.recent.record(Some(&key.team), request);
        let escaped = hostile
            .replace('&', "&#38;")
            .replace('<', "&#60;")
            .replace('>', "&#62;")
            .replace('"', "&#34;")
            .replace('\'', "&#39;");
        for page in PAGES.iter().filter(|page| page.method == Method::GET && !page.path.contains('.')) {
            let reply = owner.open(&page.path.replace("{id}", &key.id).replace("{token}", "none")).await;
            assert!(!reply.text.contains(hostile) || hostile == escaped, "{}: {}", page.path, reply.text);
            let is_shown = page.role().is_some();
            assert!(!is_shown || reply.text.contains(&escaped), "{}: {}", page.path, reply.text);
        }
        let fields = [
            ("name", hostile),
            ("environment", hostile),
            ("scopes", hostile),
            ("expires", hostile),
            ("networks", hostile),
            ("role", hostile),
            ("next", hostile),
            ("password", hostile),
        ];
        for path in ["/console/keys", "/console/people", "/console/sign-in"] {
            let reply = owner.submit(path, &fields).await;
            assert!(
                reply.status >= 400 && (!reply.text.contains(hostile) || hostile == escaped),
                "{path}: {}",
                reply.text
            );
        }
        let reply =
            Browser::new(&server.url).open(&format!("/console/sign-in?next={}", hostile.replace('#', "%23"))).await;
        assert!(!reply.text.contains(hostile) || hostile == escaped, "{}", reply.text);
    }
}

#[tokio::test]
async fn console_can_be_switched_off() {
    let server = Server::start_with(|config| config.has_console = false).await;
    let browser = Browser::new(&server.url);
    let root = browser.send(browser.request(Method::GET, "/").header("accept", "text/html")).await;
    assert_eq!((root.status, root.header("location")), (303, "/docs"));
    for page in PAGES {
        assert_eq!(browser.open(page.path).await.status, 404, "{}", page.path);
    }
}
