//! The way into the console (contract 19): one-time links, sign-in, sessions, and what requests are refused.

use std::time::Duration;

use hearth_server::clock::Clock;
use hearth_server::operate::{self, people, sessions};
use hearth_server::store::homes::Plan;
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;

use super::console::{PASSWORD, link, sign_up};

#[tokio::test]
async fn link_works_once_and_reading_it_does_not_use_it() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let (browser, path) = (Browser::new(&server.url), link(&server, "My home", Role::Owner, None).await);
    for _ in 0..2 {
        let page = browser.open(&path).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains("My home") && page.text.contains("method=\"post\""), "{}", page.text);
    }
    for (name, password, status) in
        [("Anna", "too short", 400), (" ", PASSWORD, 409), (&"a".repeat(101), PASSWORD, 409)]
    {
        assert_eq!(browser.submit(&path, &[("name", name), ("password", password)]).await.status, status, "{name}");
    }
    let done = browser.submit(&path, &[("name", "Anna"), ("password", PASSWORD)]).await;
    assert_eq!((done.status, done.header("location")), (303, "/console"));
    assert_eq!(browser.open("/console").await.status, 200);
    for used in [browser.open(&path).await, browser.submit(&path, &[("name", "Eve"), ("password", PASSWORD)]).await] {
        assert_eq!(used.status, 410);
        assert!(used.text.contains("console link"), "the page says how to get another link");
    }
    let late = link(&server, "My home", Role::Owner, None).await;
    clock.advance(people::LINK_TIME);
    assert_eq!(browser.open(&late).await.status, 410);
    assert_eq!(browser.open("/console/link/unknown").await.status, 410);
}

#[tokio::test]
async fn link_of_a_known_person_sets_a_password_and_ends_sessions() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    assert!(
        people::create_link(
            &server.running.app.db,
            &Clock::system(),
            "My home".to_owned(),
            Role::Owner,
            Some("x\ny".to_owned())
        )
        .await
        .is_err()
    );
    let path = link(&server, "My home", Role::Member, Some("ANNA")).await;
    let other = Browser::new(&server.url);
    assert_eq!(other.submit(&path, &[("name", "ignored"), ("password", "another password")]).await.status, 303);
    assert_eq!(other.open("/console").await.status, 200, "the person is still an owner");
    assert_eq!(anna.open("/console").await.status, 303, "the earlier session has ended");
    // A name counts on the whole server, in any case of letters.
    operate::create_team(&server.running.app.db, &Clock::system(), "Other".to_owned(), Plan::Paid).await.unwrap();
    let db = &server.running.app.db;
    let taken =
        people::create_link(db, &Clock::system(), "Other".to_owned(), Role::Owner, Some("aNNa".to_owned())).await;
    assert!(taken.is_err_and(|error| error.to_string().contains("taken")));
    let free = link(&server, "Other", Role::Owner, None).await;
    let refused = other.submit(&free, &[("name", "anna"), ("password", PASSWORD)]).await;
    assert!(refused.status == 409 && refused.text.contains("taken"), "{}", refused.text);
}

#[tokio::test]
async fn sign_in_gives_a_new_session_and_leads_back() {
    let server = Server::start().await;
    sign_up(&server, "My home", Role::Owner, "Anna").await;
    let browser = Browser::new(&server.url);
    // A session id that a stranger planted.
    browser.set_cookie("hearth", "planted");
    let asked = browser.open("/console/keys?a=b").await;
    assert_eq!((asked.status, asked.header("location")), (303, "/console/sign-in?next=%2Fconsole%2Fkeys%3Fa%3Db"));
    let page = browser.open(asked.header("location")).await;
    assert!(page.text.contains("value=\"/console/keys?a=b\""), "{}", page.text);
    let form = |next| vec![("name", "anna "), ("password", PASSWORD), ("next", next)];
    let done = browser.submit("/console/sign-in", &form("/console/keys?a=b")).await;
    assert_eq!((done.status, done.header("location")), (303, "/console/keys?a=b"));
    let cookie = done.header("set-cookie").to_owned();
    for part in ["; HttpOnly", "; SameSite=Lax", "; Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "{cookie}");
    let first = browser.cookie("hearth");
    assert!(first.len() == 43 && first != "planted");
    for foreign in ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", ""] {
        let done = browser.submit("/console/sign-in", &form(foreign)).await;
        assert_eq!((done.status, done.header("location")), (303, "/console"), "{foreign}");
    }
    assert!(browser.cookie("hearth") != first, "each sign-in gives a new session");
    let stale = Browser::new(&server.url);
    stale.set_cookie("hearth", &first);
    assert_eq!(stale.open("/console").await.status, 303, "a sign-in ends the browser's earlier session");
}

#[tokio::test]
async fn sessions_end_by_sign_out_idleness_and_removal() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let second = Browser::new(&server.url);
    let sign_in = [("name", "Anna"), ("password", PASSWORD)];
    assert_eq!(second.submit("/console/sign-in", &sign_in).await.status, 303);
    let page = second.open("/console/session").await.text;
    assert_eq!((page.matches("this browser").count(), page.matches("another browser").count()), (1, 1));
    let cookie = second.cookie("hearth");
    let out = second.submit("/console/sign-out", &[]).await;
    assert_eq!((out.status, out.header("location"), second.cookie("hearth").as_str()), (303, "/console/sign-in", ""));
    second.set_cookie("hearth", &cookie);
    assert_eq!(second.open("/console").await.status, 303, "the server has forgotten the session");
    assert_eq!(anna.open("/console").await.status, 200);

    clock.advance(Duration::from_secs(29 * 24 * 3600));
    assert_eq!(anna.open("/console").await.status, 200);
    let (db, id) = (&server.running.app.db, anna.cookie("hearth"));
    last_use_is_stored(&server, &id).await;
    clock.advance(Duration::from_secs(29 * 24 * 3600));
    assert_eq!(anna.open("/console").await.status, 200, "each use counts");
    last_use_is_stored(&server, &id).await;
    clock.advance(sessions::IDLE_TIME);
    assert_eq!(anna.open("/console").await.status, 303);

    let second = Browser::new(&server.url);
    assert_eq!(anna.submit("/console/sign-in", &sign_in).await.status, 303);
    assert_eq!(second.submit("/console/sign-in", &sign_in).await.status, 303);
    assert_eq!(anna.submit("/console/sign-out-everywhere", &[]).await.status, 303);
    assert_eq!(second.open("/console").await.status, 303);

    let ben = sign_up(&server, "My home", Role::Owner, "Ben").await;
    let everyone = operate::teams(db).await.unwrap();
    let everyone = people::list_people(db, &everyone[0].id).await.unwrap();
    let path = format!("/console/people/{}/remove", everyone[0].id);
    assert_eq!(ben.submit(&path, &[]).await.status, 303);
    assert_eq!(second.submit("/console/sign-in", &sign_in).await.status, 403);
    let last = ben.submit(&format!("/console/people/{}/remove", everyone[1].id), &[]).await;
    assert!(last.status == 409 && last.text.contains("last owner"), "{}", last.text);
}

/// Waits until the last use of a session is stored, which no response waits for.
async fn last_use_is_stored(server: &Server, secret: &str) {
    let app = &server.running.app;
    let stored = async {
        while sessions::find_session(&app.db, &app.clock, secret).await.unwrap().unwrap().last_seen_at
            != app.clock.now()
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), stored).await.expect("the last use is stored");
}

#[tokio::test]
async fn guessed_passwords_must_wait() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server =
        Server::start_at(clock.clock(), |config| config.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]).await;
    sign_up(&server, "My home", Role::Owner, "Anna").await;
    let browser = Browser::new(&server.url);
    let guess = async |from: &str, name: &str, password: &str| {
        let request = browser.form("/console/sign-in", &[("name", name), ("password", password)]);
        let request = request.header("sec-fetch-site", "same-origin").header("x-forwarded-proto", "https");
        browser.send(request.header("x-forwarded-for", from)).await
    };
    let mut sentences = Vec::new();
    for name in ["anna", "nobody", "anna", "ANNA", "anna", "anna"] {
        let refused = guess("203.0.113.7", name, "wrong password").await;
        sentences.push((refused.status, refused.text.replace(&format!("value=\"{name}\""), "")));
        clock.advance(Duration::from_secs(15));
    }
    let (status, page) = &sentences[0];
    assert!(*status == 403 && page.contains("name or the password is wrong"), "{page}");
    assert!(sentences.iter().all(|other| *other == sentences[0]), "unknown names and wrong passwords look the same");
    // The address has six failures and must wait. The name has five, and its wait is over.
    for (from, name) in [("203.0.113.7", "anna"), ("203.0.113.7", "other"), ("203.0.113.8", "Anna")] {
        let refused = guess(from, name, PASSWORD).await;
        assert_eq!(refused.status, if name == "Anna" { 303 } else { 429 }, "{from} {name}");
    }
    let wait: u64 = guess("203.0.113.7", "anna", PASSWORD).await.header("retry-after").parse().unwrap();
    clock.advance(Duration::from_secs(wait));
    assert_eq!(guess("203.0.113.7", "anna", PASSWORD).await.status, 303);
}

#[tokio::test]
async fn forms_of_other_sites_are_refused() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let form = || anna.form("/console/keys", &[("name", "k"), ("environment", "test"), ("scopes", "tasks:read")]);
    let port = server.url.rsplit_once(':').unwrap().1;
    for (header, value, status) in [
        ("x-none", "", 403),
        ("sec-fetch-site", "cross-site", 403),
        ("sec-fetch-site", "same-site", 403),
        ("sec-fetch-site", "none", 403),
        ("origin", "null", 403),
        ("origin", "https://evil.example", 403),
        ("origin", "http://127.0.0.1:1", 403),
        ("origin", &format!("https://127.0.0.1:{port}"), 403),
        ("origin", &server.url, 200),
        ("sec-fetch-site", "same-origin", 200),
    ] {
        let reply = anna.send(form().header(header, value)).await;
        assert_eq!(reply.status, status, "{header}: {value}");
    }
    // Where the browser sends both, its own word decides.
    let both = form().header("origin", &server.url).header("sec-fetch-site", "cross-site");
    assert_eq!(anna.send(both).await.status, 403);
    let team = &operate::teams(&server.running.app.db).await.unwrap()[0].id;
    let keys = operate::list_keys(&server.running.app.db, Some(team.clone())).await.unwrap();
    assert_eq!(keys.iter().filter(|key| key.name == "k").count(), 2, "refused forms change nothing");
    // Forms must be forms, and small.
    let json = anna.request(Method::POST, "/console/keys").header("sec-fetch-site", "same-origin").json(&1);
    assert_eq!(anna.send(json).await.status, 415);
    let large = anna.submit("/console/keys", &[("name", &"x".repeat(70_000))]).await;
    assert!(large.status == 413 && large.text.contains("<h1>"), "{}", large.status);
}

#[tokio::test]
async fn foreign_host_is_refused_on_every_page() {
    let server = Server::start_with(|config| config.base_url = Some("http://nas.example:1".to_owned())).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    for page in hearth_server::console::pages::PAGES.iter() {
        let request = anna.form(page.path, &[]).header("sec-fetch-site", "same-origin");
        let request = if page.method == Method::POST { request } else { anna.request(Method::GET, page.path) };
        let reply = anna.send(request.header("host", "evil.example")).await;
        assert!(reply.status == 421 && reply.text.contains("--base-url"), "{} {}", page.method, page.path);
    }
    for own in ["nas.example", "nas.example:8750", "localhost:1", "[::1]:7"] {
        let reply = anna.send(anna.request(Method::GET, "/console").header("host", own)).await;
        assert_eq!(reply.status, 200, "{own}");
    }
    // The API takes any host.
    let reply = anna.send(anna.request(Method::GET, "/v1").header("host", "evil.example")).await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn passwords_do_not_travel_unencrypted() {
    let proxies = vec!["127.0.0.0/8".parse().unwrap()];
    for (is_plain, is_trusted, headers, status) in [
        (false, false, vec![], 200),
        // A proxy on this machine passes requests of other machines on.
        (false, false, vec![("x-forwarded-for", "203.0.113.7")], 403),
        (false, false, vec![("forwarded", "for=203.0.113.7")], 403),
        (false, false, vec![("x-forwarded-for", "203.0.113.7"), ("x-forwarded-proto", "https")], 403),
        (false, true, vec![("x-forwarded-for", "203.0.113.7")], 403),
        (false, true, vec![("x-forwarded-for", "203.0.113.7"), ("x-forwarded-proto", "https")], 200),
        (true, false, vec![("x-forwarded-for", "203.0.113.7")], 200),
    ] {
        let server = Server::start_with(|config| {
            config.is_console_plain = is_plain;
            config.trusted_proxies = if is_trusted { proxies.clone() } else { Vec::new() };
        })
        .await;
        let browser = Browser::new(&server.url);
        let visit = |request: reqwest::RequestBuilder| {
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value))
        };
        let path = link(&server, "My home", Role::Owner, Some("Anna")).await;
        for page in ["/console/sign-in", &path] {
            let reply = browser.send(visit(browser.request(Method::GET, page))).await;
            assert_eq!(reply.status, status, "{headers:?} {page}");
        }
        let form = browser.form(&path, &[("password", PASSWORD)]).header("sec-fetch-site", "same-origin");
        let reply = browser.send(visit(form)).await;
        assert_eq!(reply.status, if status == 200 { 303 } else { 403 }, "{headers:?}");
        let is_secure = headers.iter().any(|(_, value)| *value == "https") && is_trusted;
        let cookie = reply.header("set-cookie");
        assert_eq!(cookie.starts_with("__Host-hearth=") && cookie.ends_with("; Secure"), is_secure, "{cookie}");
    }
}
