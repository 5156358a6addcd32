//! The pages of the console that show what clients do (contract 19): feed, requests, usage; and sandbox, versions and check.

use std::time::Duration;

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::RateLimits;
use hearth_server::operate::{self, backup};
use hearth_server::store::homes::Plan;
use hearth_server::store::people::Role;
use hearth_tests::browser::Browser;
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock, new_key};
use serde_json::json;

use super::console::sign_up;
use super::feed::wait_for;

/// The cells of the rows of a page that contain a text, without tags.
fn rows(page: &str, wanted: &str) -> Vec<Vec<String>> {
    let row = |row: &str| {
        let end = row.find("</tr>").unwrap_or(row.len());
        let cells = row[..end]
            .replace("<th scope=\"row\">", "<td>")
            .replace("<td class=\"small\">", "<td>")
            .replace("</th>", "</td>");
        let text =
            |cell: &str| cell.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        cells.split("<td>").skip(1).map(text).collect::<Vec<String>>()
    };
    page.split("<tr>").skip(1).filter(|row| row.contains(wanted)).map(row).collect()
}

/// Opens a page until a condition holds.
async fn open_until(browser: &Browser, path: &str, holds: impl Fn(&str) -> bool) -> String {
    wait_for(|| async { Some(browser.open(path).await.text).filter(|text| holds(text)) }).await
}

/// A key with every scope.
async fn named_key(server: &Server, environment: Environment, name: &str) -> String {
    let app = &server.running.app;
    let team = operate::teams(&app.db).await.unwrap()[0].id.clone();
    let new = operate::NewKey { name: Some(name.to_owned()), ..new_key(&team, environment) };
    operate::create_key(&app.db, &app.clock, new).await.unwrap().secret
}

#[tokio::test]
async fn feed_shows_each_reader_with_its_lag_and_its_end() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let week = Duration::from_secs(7 * 24 * 3600);
    let server = Server::start_at(clock.clock(), |config| config.retention = Some(week)).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let page = anna.open("/console/feed").await.text;
    assert!(page.contains("<dt>Retention</dt><dd>7 days; events up to 0 are older</dd>"), "{page}");
    assert!(page.contains("No key of this home") && page.contains("no events yet"), "{page}");

    let phone = Client::new(&server.url, &named_key(&server, Environment::Live, "phone").await);
    let tablet = Client::new(&server.url, &named_key(&server, Environment::Live, "tablet").await);
    phone.post("/v1/rooms", &json!({ "name": "Attic" })).await;
    assert_eq!(phone.get("/v1/events").await.status, 200);
    let mut stream = tablet.stream("?cursor=start", None).await;
    stream.next().await.expect("the first event");
    clock.advance(Duration::from_secs(60));
    let room = phone.post("/v1/rooms", &json!({ "name": "Cellar" })).await.id();
    let laptop = Client::new(&server.url, &named_key(&server, Environment::Live, "laptop").await);
    laptop.delete(&format!("/v1/rooms/{room}")).await;
    clock.advance(Duration::from_secs(20 * 3600));

    let page =
        open_until(&anna, "/console/feed", |page| rows(page, ">tablet<").first().is_some_and(|row| row[2] == "3"))
            .await;
    let reader = |page: &str, name: &str| rows(page, &format!(">{name}<"))[0].clone();
    assert_eq!(
        reader(&page, "phone"),
        ["phone", "poll", "1", "2", "20 hours", "in 6 days", "2026-06-01 12:00:00"],
        "{page}"
    );
    assert_eq!(reader(&page, "tablet")[..6], ["tablet", "stream", "3", "0", "up to date", "in 7 days"]);
    let events: Vec<Vec<String>> = rows(&page, "<td>room</td>");
    let whats: Vec<&str> = events.iter().map(|row| &*row[1]).collect();
    assert_eq!(whats, ["deleted", "created", "created"]);
    // A delete is by the key that deletes, not by the key that changed the record last.
    assert_eq!((&*events[0][0], &*events[0][4]), (&*room, "laptop"));
    assert_eq!(events[1], ["Cellar", "created", "room", "2026-06-01 12:01:00", "phone", "2"]);
    assert!(page.contains("data-live=\"/console/feed/tail?home=live\""));

    // The part that the script fetches is the same, without the frame of the page.
    let part = anna.open("/console/feed/tail?home=live").await;
    assert!(part.status == 200 && part.text.contains("Cellar") && !part.text.contains("<html"), "{}", part.text);
    assert!(page.contains(&part.text), "the page contains the part as it is");
    assert!(!anna.open("/console/feed?home=test").await.text.contains("phone"));

    drop(stream);
    open_until(&anna, "/console/feed", |page| reader(page, "tablet")[1] == "stream, closed").await;
    clock.advance(Duration::from_secs(24 * 3600));
    let page = anna.open("/console/feed").await.text;
    assert!(rows(&page, ">tablet<").is_empty() && page.contains("No key of this home"), "{page}");
}

#[tokio::test]
async fn feed_says_that_retention_has_left_a_reader_behind() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let kept = Duration::from_secs(1);
    let server = Server::start_at(clock.clock(), |config| config.retention = Some(kept)).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let phone = Client::new(&server.url, &named_key(&server, Environment::Live, "phone").await);
    let room = phone.post("/v1/rooms", &json!({ "name": "Attic" })).await.id();
    phone.get("/v1/events").await;
    phone.patch(&format!("/v1/rooms/{room}"), &json!({ "name": "Loft" })).await;
    phone.patch(&format!("/v1/rooms/{room}"), &json!({ "name": "Roof" })).await;
    clock.advance(2 * kept);
    let end = |page: &str| rows(page, ">phone<")[0][5].clone();
    let page = open_until(&anna, "/console/feed", |page| end(page) != "at any moment").await;
    assert_eq!(end(&page), "already", "{page}");
    phone.get("/v1/events").await;
    assert_eq!(end(&anna.open("/console/feed").await.text), "in 1 second");
}

#[tokio::test]
async fn requests_show_no_query_and_no_secret() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let key = named_key(&server, Environment::Live, "phone").await;
    let phone = Client::new(&server.url, &key);
    let answer = phone.get("/v1/rooms?limit=7&q=private").await;
    phone.get(&format!("/v1/rooms/{key}")).await;
    Client::new(&server.url, "svc_live_wrong").get("/v1/tasks").await;
    let page = anna.open("/console/requests").await.text;
    let first = rows(&page, answer.header("x-request-id"))[0].clone();
    assert_eq!((&*first[1], &*first[2], first[5].chars().count()), ("GET", "/v1/rooms", 17), "{first:?}");
    assert!(!page.contains("private") && !page.contains(&key[12..40]) && page.contains("(holds a key)"), "{page}");
    assert_eq!(rows(&page, "/v1/tasks")[0][5], "\u{2013}", "a request without a valid key");
    assert!(!page.contains("<td>/console"), "pages of the console are left out");

    for _ in 0..70 {
        phone.get("/v1/me").await;
    }
    let page = anna.open("/console/requests").await.text;
    let older = page.split("/console/requests?before=").nth(1).expect("a link").split('"').next().unwrap();
    let next = anna.open(&format!("/console/requests?before={older}")).await.text;
    assert!(!page.contains(answer.header("x-request-id")) && next.contains(answer.header("x-request-id")));
    assert!(page.len() < 30 * 1024, "{} bytes", page.len());

    // With a second team, nobody knows whose client sent a request without a valid key.
    let app = &server.running.app;
    operate::create_team(&app.db, &Clock::system(), "Other".to_owned(), Plan::Paid).await.unwrap();
    let sven = sign_up(&server, "Other", Role::Owner, "Sven").await;
    assert!(sven.open("/console/requests").await.text.contains("There are no requests"));
    let next = anna.open(&format!("/console/requests?before={older}")).await.text;
    assert!(!next.contains("/v1/tasks") && next.contains("/v1/rooms"), "{next}");
}

#[tokio::test]
async fn usage_is_counted_by_key_and_day_and_survives_a_restart() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let limits = Some(RateLimits { reads: 3, writes: 100, bulk: 100 });
    let server = Server::start_at(clock.clock(), |config| config.rate_limits = limits).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    assert!(anna.open("/console/usage").await.text.contains("There were no requests"));
    let key = named_key(&server, Environment::Live, "phone").await;
    let phone = Client::new(&server.url, &key);
    for _ in 0..5 {
        phone.get("/v1/rooms").await;
    }
    phone.post("/v1/rooms", &json!({})).await;
    let create = json!({ "operations": [] });
    phone.post("/v1/rooms/bulk", &create).await;
    clock.advance(Duration::from_secs(24 * 3600));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "list_rooms", "arguments": {} } });
    phone.post("/mcp", &call).await;
    let expected = [["2026-06-02", "1", "0", "0", "0"], ["2026-06-01", "3", "1", "1", "2"]];
    let days = |page: &str| rows(page, "2026-06-0");
    let page = anna.open("/console/usage").await.text;
    assert_eq!(rows(&page, ">phone<")[0], ["phone", "4", "1", "1", "2"], "{page}");
    assert_eq!(days(&page), expected, "{page}");
    let id = page.split("/console/usage?key=").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let of_key = anna.open(&format!("/console/usage?key={id}")).await.text;
    assert!(days(&of_key) == expected && of_key.contains("<h1>Usage of phone</h1>"), "{of_key}");
    assert_eq!(anna.open("/console/usage?key=unknown").await.status, 404);

    let cookie = anna.cookie("hearth");
    let dir = server.stop().await;
    let config = hearth_server::config::Config::new(dir.path().to_owned());
    let running = hearth_server::start(config, clock.clock()).await.unwrap();
    let anna = Browser::new(&format!("http://{}", running.address));
    anna.set_cookie("hearth", &cookie);
    let phone = Client::new(&format!("http://{}", running.address), &key);
    phone.get("/v1/rooms").await;
    let page = anna.open("/console/usage").await.text;
    assert_eq!(days(&page)[0], ["2026-06-02", "2", "0", "0", "0"], "stored and waiting numbers add up: {page}");
    // The days that the console no longer shows are deleted with the next write.
    clock.advance(Duration::from_secs(29 * 24 * 3600));
    assert_eq!(days(&anna.open("/console/usage").await.text).len(), 1);
    phone.get("/v1/rooms").await;
    let app = running.app.clone();
    app.usage.store(&app.db, app.clock.now()).await.unwrap();
    let of_phone = id.clone();
    let stored = app.db.read(move |tx| hearth_server::store::usage::of_key(tx, &of_phone, 0)).await.unwrap();
    assert_eq!(stored.len(), 2, "{stored:?}");

    // Numbers of a key that is deleted, as grants of partners are, go with it and do not hold up the others.
    let delete = format!("PRAGMA foreign_keys = ON; DELETE FROM keys WHERE id = '{id}'");
    let sqlite = std::process::Command::new("sqlite3").arg(dir.path().join("hearth.db")).arg(delete).status();
    assert!(sqlite.expect("sqlite3").success());
    phone.get("/v1/rooms").await;
    app.usage.count(&id, hearth_server::app::usage::Counted::Refused, app.clock.now());
    app.usage.store(&app.db, app.clock.now()).await.unwrap();
    assert!(anna.open("/console/usage").await.text.contains("There were no requests"));
    running.stop().await;
}

#[tokio::test]
async fn sandbox_is_counted_and_reset_after_a_confirmation() {
    let server = Server::start().await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let page = anna.open("/console/sandbox").await.text;
    assert!(page.contains("at the first request") && rows(&page, ">room<")[0] == ["room", "0"], "{page}");
    let api = Client::new(&server.url, &server.test_key);
    let rooms = api.list_all("/v1/rooms").await.len();
    api.post("/v1/rooms", &json!({ "name": "Attic" })).await;
    let count = |page: &str| rows(page, ">room<")[0][1].clone();
    assert_eq!(count(&anna.open("/console/sandbox").await.text), (rooms + 1).to_string());
    assert!(anna.open("/console/sandbox/reset").await.text.contains("cannot be undone"));
    assert_eq!(count(&anna.open("/console/sandbox").await.text), (rooms + 1).to_string(), "reading changes nothing");
    let done = anna.submit("/console/sandbox/reset", &[]).await;
    assert_eq!((done.status, done.header("location")), (303, "/console/sandbox"));
    assert_eq!(count(&anna.open("/console/sandbox").await.text), rooms.to_string());
    assert_eq!(api.list_all("/v1/rooms").await.len(), rooms);
}

#[tokio::test]
async fn versions_show_which_keys_are_pinned_where() {
    let clock = TestClock::at("2026-06-15T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let app = &server.running.app;
    let team = operate::teams(&app.db).await.unwrap()[0].id.clone();
    let (name, pinned) = (Some("old phone".to_owned()), Some("2026-03-01".to_owned()));
    let new = operate::NewKey { name, pinned, ..new_key(&team, Environment::Test) };
    operate::create_key(&app.db, &app.clock, new).await.unwrap();
    let page = anna.open("/console/versions").await.text;
    let versions = rows(&page, "<th scope=\"row\">2026-");
    assert_eq!(versions[1], ["2026-03-01", "deprecated", "2026-03-01", "2026-06-01", "2027-06-01", "1"], "{page}");
    assert_eq!(versions[0][..2], ["2026-06-01", "current"]);
    let of_key = |page: &str| rows(page, "old phone")[0].clone();
    assert_eq!(of_key(&page), ["old phone", "2026-03-01", "2026-03-01", "2027-06-01", "never"]);
    clock.step_to("2027-06-01T00:00:00Z");
    assert_eq!(sign_in_again(&server).await.len(), 5);
    let page = sign_in_again(&server).await;
    assert_eq!(page[1..4], ["2026-03-01", "2026-06-01", "not planned"], "{page:?}");
}

/// The row of the pinned key for a person who signs in a year later.
async fn sign_in_again(server: &Server) -> Vec<String> {
    let browser = Browser::new(&server.url);
    let sign_in = [("name", "Anna"), ("password", super::console::PASSWORD)];
    assert_eq!(browser.submit("/console/sign-in", &sign_in).await.status, 303);
    rows(&browser.open("/console/versions").await.text, "old phone")[0].clone()
}

#[tokio::test]
async fn check_runs_in_the_background_and_the_last_backup_is_known() {
    let clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let anna = sign_up(&server, "My home", Role::Owner, "Anna").await;
    let page = anna.open("/console/backups").await.text;
    assert!(page.contains("Last backup (UTC): never") && page.contains("backup FILE</code>"), "{page}");
    let app = &server.running.app;
    backup::backup(&app.db, &app.clock, &server.data().join("copy.db")).await.unwrap();
    assert!(anna.open("/console/backups").await.text.contains("Last backup (UTC): 2026-06-01 12:00"));

    // Only one check runs on the server.
    assert!(app.checks.begin(app.clock.now()));
    let busy = anna.submit("/console/check", &[]).await;
    assert!(busy.status == 409 && busy.text.contains("one runs at a time"), "{}", busy.text);
    assert!(anna.open("/console/backups").await.text.contains("A check runs since 2026-06-01 12:00:00"));
    app.checks.end("none".to_owned(), hearth_server::app::checks::Finished { at: app.clock.now(), report: None });

    Client::new(&server.url, &server.live_key).post("/v1/rooms", &json!({ "name": "Attic" })).await;
    assert_eq!(anna.submit("/console/check", &[]).await.status, 303);
    let page = open_until(&anna, "/console/backups", |page| page.contains("Result of")).await;
    assert!(page.contains("Sound.</span> 1 records, 1 events"), "{page}");

    // Damage in the homes of another team is not shown.
    operate::create_team(&app.db, &Clock::system(), "Other".to_owned(), Plan::Paid).await.unwrap();
    let sven = sign_up(&server, "Other", Role::Owner, "Sven").await;
    let database = server.data().join("hearth.db");
    let damage = std::process::Command::new("sqlite3").arg(&database).arg("UPDATE records SET rev = 99").status();
    assert!(damage.expect("sqlite3").success());
    for (browser, text) in [(&anna, "record without its image in the log"), (&sven, "Sound.")] {
        assert_eq!(browser.submit("/console/check", &[]).await.status, 303);
        let page = open_until(browser, "/console/backups", |page| {
            page.contains("Check now")
                && (page.contains("Faults were") || page.contains("Sound."))
                && (page.contains(text) || !page.contains("Result of"))
        });
        assert!(page.await.contains(text), "{text}");
    }
}
