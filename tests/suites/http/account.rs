//! A person's own account (contract 19): the password, sessions across restarts, and the way from a refusal, or from the
//! documentation, to the next step.

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::Config;
use hearth_server::operate::people;
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::{Client, Response};
use hearth_tests::server::{Server, TestClock};

use super::console::{PASSWORD, link, secret, sign_up};
use super::discovery::visit;

const NEW: &str = "another password";

/// The sign-in form with a password.
async fn sign_in(browser: &Browser, password: &str) -> Response {
    browser.submit("/console/sign-in", &[("name", "Anna"), ("password", password)]).await
}

/// Whether a page has an element with this id.
fn has(page: &Response, id: &str) -> bool {
    page.text.contains(&format!("id=\"{id}\""))
}

#[tokio::test]
async fn new_password_ends_all_other_sessions() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let other = Browser::new(&server.url);
    assert_eq!(sign_in(&other, PASSWORD).await.status, 303);
    let change = async |browser: &Browser, old: &str, new: &str| {
        browser.submit("/console/password", &[("old", old), ("new", new)]).await
    };
    for (old, new, status) in [("wrong password", NEW, 403), ("", NEW, 403), (PASSWORD, "brief", 400)] {
        let refused = change(&anna, old, new).await;
        assert_eq!(refused.status, status, "{old} {new}");
        assert!(refused.text.contains("role=\"alert\"") && has(&refused, "old"), "{}", refused.text);
        assert!(!refused.text.contains(new) && !refused.text.contains(PASSWORD), "no page shows a password");
    }
    assert_eq!(other.open("/console").await.status, 200, "a refused change ends nothing");
    let before = anna.cookie("hearth");
    let done = change(&anna, PASSWORD, NEW).await;
    assert_eq!(done.status, 303, "{}", done.text);
    assert!(has(&anna.open(done.header("location")).await, "changed"));
    assert_eq!(anna.open("/console").await.status, 200);
    assert_eq!(other.open("/console").await.status, 303);
    other.set_cookie("hearth", &before);
    assert_eq!(other.open("/console").await.status, 303, "the browser has a new session");
    let fresh = Browser::new(&server.url);
    assert_eq!((sign_in(&fresh, PASSWORD).await.status, sign_in(&fresh, NEW).await.status), (403, 303));
    assert_eq!(change(&Browser::new(&server.url), NEW, PASSWORD).await.status, 303, "nobody is led to the sign-in");
    assert_eq!(sign_in(&fresh, NEW).await.status, 303, "and changes nothing");
}

#[tokio::test]
async fn guesses_of_the_old_password_must_wait() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let fields = [("old", "wrong password"), ("new", NEW)];
    for _ in 0..5 {
        assert_eq!(anna.submit("/console/password", &fields).await.status, 403);
    }
    let right = [("old", PASSWORD), ("new", NEW)];
    let refused = anna.submit("/console/password", &right).await;
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert_eq!(refused.status, 429);
    clock.advance(std::time::Duration::from_secs(wait));
    assert_eq!(anna.submit("/console/password", &right).await.status, 303);
}

#[tokio::test]
async fn sessions_and_people_survive_a_restart() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let unused = link(&server, "My home", Role::Member, Some("Ben")).await;
    let cookie = anna.cookie("hearth");
    let dir = server.stop().await;
    let again = hearth_server::start(Config::new(dir.path().to_owned()), Clock::system()).await.unwrap();
    let anna = Browser::new(&format!("http://{}", again.address));
    anna.set_cookie("hearth", &cookie);
    assert_eq!(anna.open("/console").await.status, 200);
    let stranger = Browser::new(&format!("http://{}", again.address));
    assert_eq!(sign_in(&stranger, PASSWORD).await.status, 303);
    let ben = Browser::new(&format!("http://{}", again.address));
    assert_eq!(ben.submit(&unused, &[("password", PASSWORD)]).await.status, 303, "an unused link too");
    again.stop().await;
}

#[tokio::test]
async fn refusals_lead_to_the_next_step() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let used = link(&server, "My home", Role::Owner, Some("Anna")).await;
    let browser = Browser::new(&server.url);
    assert_eq!(browser.submit(&used, &[("password", PASSWORD)]).await.status, 303);
    let late = link(&server, "My home", Role::Owner, None).await;
    clock.advance(people::LINK_TIME);
    let form = [("name", "Eve"), ("password", PASSWORD)];
    for ended in [&used, &late] {
        for page in [browser.open(ended).await, browser.submit(ended, &form).await] {
            assert_eq!(page.status, 410);
            assert!(page.text.contains("id=\"next\" href=\"/console/sign-in\""), "{}", page.text);
            assert!(page.text.contains("hearth-server console link"), "{}", page.text);
        }
    }
    let wrong = sign_in(&browser, "wrong password").await;
    assert!(wrong.status == 403 && has(&wrong, "password-lost"), "{}", wrong.text);
    assert!(wrong.text.contains("role=\"alert\""));
    let host = browser.request(reqwest::Method::GET, "/console").header("host", "evil.example");
    let host = browser.send(host).await;
    assert!(host.status == 421 && host.text.contains("--base-url"), "{}", host.text);
}

#[tokio::test]
async fn documentation_leads_to_a_test_key() {
    let server = Server::start().await;
    let portal = visit(&server, "/docs", "text/html").await;
    let way = portal.text.split("id=\"create-key\" href=\"").nth(1).expect("the link").split('"').next().unwrap();
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    assert_eq!(anna.open("/docs").await.text, portal.text, "the page is the same for everyone");
    anna.submit("/console/sign-out", &[]).await;
    let asked = anna.open(way).await;
    assert_eq!(asked.status, 303);
    assert!(has(&anna.open(asked.header("location")).await, "password-lost"), "the page says how to get in");
    let next = [("name", "Anna"), ("password", PASSWORD), ("next", way)];
    let back = anna.submit("/console/sign-in", &next).await;
    assert_eq!((back.status, back.header("location")), (303, way));
    let form = anna.open(way).await;
    assert!(form.text.contains("value=\"test\" checked") && !form.text.contains("value=\"live\" checked"));
    let fields = [("name", "trial"), ("environment", "test"), ("scopes", "tasks:read")];
    let made = anna.submit("/console/keys", &fields).await;
    assert!(made.text.contains(&format!("curl -H @header {}/v1/me", server.url)), "{}", made.text);
    assert_eq!(made.text.matches("svc_test_").count(), 1, "the commands do not hold the key");
    let me = Client::new(&server.url, &secret(&made.text)).get("/v1/me").await;
    assert_eq!(me.data()["environment"], Environment::Test.as_str());
    assert_eq!(Client::new(&server.url, &secret(&made.text)).get("/v1/rooms").await.status, 403);

    let without = Server::start_with(|config| config.has_console = false).await;
    let portal = visit(&without, "/docs", "text/html").await;
    assert!(portal.status == 200 && !portal.text.contains("/console"), "no link without a console");
}
