//! Keys, scopes, separation of homes, and rate limits (contract 11).

use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::{Config, RateLimits};
use hearth_server::operate::{self, NewKey};
use hearth_server::store::StoreError;
use hearth_server::store::homes::{self, Plan};
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock, new_key};
use serde_json::json;
use sha2::Digest;

#[tokio::test]
async fn request_needs_valid_key() {
    let server = Server::start().await;
    let nobody = reqwest::Client::builder().no_proxy().build().unwrap();
    let response = nobody.get(format!("{}/v1/rooms", server.url)).send().await.unwrap();
    let resource = format!(r#"resource_metadata="{}/.well-known/oauth-protected-resource/v1""#, server.url);
    let challenge = response.headers()["www-authenticate"].to_str().unwrap();
    assert_eq!((response.status().as_u16(), challenge), (401, &*format!(r#"Bearer scope="rooms:read", {resource}"#)));
    let (head, last) = server.test_key.split_at(server.test_key.len() - 1);
    let mistyped = format!("{head}{}", if last == "x" { "y" } else { "x" });
    for key in ["nonsense", &mistyped, &hearth_contract::key::key_text(Environment::Live, [1; 32])] {
        let response = Client::new(&server.url, key).get("/v1/me").await;
        assert_eq!((response.status, response.error()), (401, "invalid_api_key"));
        assert_eq!(response.header("www-authenticate"), format!(r#"Bearer error="invalid_token", {resource}"#));
        assert!(!response.text.contains(key));
    }
    let client = Client::new(&server.url, &server.test_key);
    let two = client.request(reqwest::Method::GET, "/v1/me").header("authorization", "Bearer other");
    assert_eq!(client.send(two).await.error(), "authentication_required");
}

#[tokio::test]
async fn key_restrictions_are_enforced() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let make = |key: NewKey| async move { operate::create_key(db, &Clock::system(), key).await.unwrap().secret };
    operate::create_team(db, &clock, "Free".to_owned(), Plan::Free).await.unwrap();

    let reader = make(NewKey { scopes: vec!["rooms:read".to_owned()], ..new_key("My home", Environment::Test) }).await;
    let client = Client::new(&server.url, &reader);
    assert_eq!(client.get("/v1/rooms").await.status, 200);
    let refused = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    assert_eq!((refused.status, refused.error()), (403, "insufficient_scope"));
    assert_eq!(refused.json["error"]["details"]["required_scope"], "rooms:write");
    let challenge = r#"Bearer error="insufficient_scope", scope="rooms:write", resource_metadata="http://"#;
    assert!(refused.header("www-authenticate").starts_with(challenge));
    assert_eq!(client.get("/v1/me").await.data()["scopes"], json!(["rooms:read"]));

    let live = make(new_key("Free", Environment::Live)).await;
    assert_eq!(Client::new(&server.url, &live).get("/v1/me").await.error(), "plan_required");
    let test = make(new_key("Free", Environment::Test)).await;
    assert_eq!(Client::new(&server.url, &test).get("/v1/me").await.status, 200);
    let far =
        make(NewKey { allowlist: vec!["203.0.113.0/24".parse().unwrap()], ..new_key("Free", Environment::Test) }).await;
    assert_eq!(Client::new(&server.url, &far).get("/v1/me").await.error(), "ip_not_allowed");
    let ended = make(NewKey { expires_at: Some(clock.now()), ..new_key("Free", Environment::Test) }).await;
    assert_eq!(Client::new(&server.url, &ended).get("/v1/me").await.error(), "invalid_api_key");
}

#[tokio::test]
async fn rate_window_refuses_only_the_excess() {
    let limits = RateLimits { reads: 5, writes: 2, bulk: 1 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let responses = futures_util::future::join_all((0..12).map(|_| client.get("/v1/rooms"))).await;
    assert_eq!(responses.iter().filter(|response| response.status == 200).count(), 5);
    let refused = responses.iter().find(|response| response.status == 429).unwrap();
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!((refused.error(), refused.header("x-ratelimit-remaining")), ("rate_limited", "0"));
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.header("x-ratelimit-limit"), "2");
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200);
}

#[tokio::test]
async fn hundred_refusals_flag_key_that_still_works() {
    let server = Server::start_with(|config| {
        config.rate_limits = Some(RateLimits { writes: 1, ..RateLimits::default() });
    })
    .await;
    let client = Client::new(&server.url, &server.live_key);
    let key = client.get("/v1/me").await.data()["key"].clone();
    assert!(key["flagged_at"].is_null());
    let id = key["id"].as_str().unwrap().to_owned();
    let body = json!({ "city": "Hill" });
    let write = || client.patch("/v1/property", &body);
    assert_eq!(write().await.status, 200);
    for _ in 0..99 {
        assert_eq!(write().await.status, 429);
    }
    assert!(client.get("/v1/me").await.data()["key"]["flagged_at"].is_null());
    assert_eq!(write().await.error(), "rate_limited");
    assert!(
        client.get("/v1/me").await.data()["key"]["flagged_at"].is_string(),
        "it works, and says that it is flagged"
    );
    let db = &server.running.app.db;
    assert!(operate::list_keys(db, None).await.unwrap().iter().any(|key| key.id == id && key.flagged_at.is_some()));
    operate::unflag_key(db, &Clock::system(), id).await.unwrap();
    server.running.app.keyring.forget();
    assert!(client.get("/v1/me").await.data()["key"]["flagged_at"].is_null());
}

#[tokio::test]
async fn rotated_key_is_replaced_at_once() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let old = NewKey {
        name: Some("phone".to_owned()),
        scopes: vec!["rooms:read".to_owned()],
        allowlist: vec!["127.0.0.0/8".parse().unwrap()],
        ..new_key("My home", Environment::Live)
    };
    let old = operate::create_key(db, &clock, old).await.unwrap();
    let new = operate::rotate_key(db, &clock, "phone".to_owned(), None).await.unwrap();
    server.running.app.keyring.forget();
    assert_eq!(Client::new(&server.url, &old.secret).get("/v1/me").await.error(), "invalid_api_key");
    let me = Client::new(&server.url, &new.secret).get("/v1/me").await;
    assert_eq!((&me.data()["scopes"], &me.data()["key"]["name"]), (&json!(["rooms:read"]), &json!("phone")));
    assert_eq!(
        (&new.key.allowlist, &new.key.pinned, &new.key.team),
        (&old.key.allowlist, &old.key.pinned, &old.key.team)
    );
    // The name means the new key. The old key has its id, and cannot be rotated again.
    assert_eq!(operate::revoke_key(db, &clock, "phone".to_owned()).await.unwrap().id, new.key.id);
    assert!(operate::rotate_key(db, &clock, old.key.id, None).await.is_err());
}

#[tokio::test]
async fn sandbox_is_filled_at_first_use() {
    let server = Server::start().await;
    let db = &server.running.app.db;
    let events = || async {
        db.read(|tx| homes::numbers(tx)?.into_iter().map(|number| Ok(homes::load(tx, number)?.head)).sum())
            .await
            .unwrap()
    };
    let nowhere = NewKey { allowlist: vec!["10.0.0.0/8".parse().unwrap()], ..new_key("My home", Environment::Test) };
    let nowhere = operate::create_key(db, &Clock::system(), nowhere).await.unwrap().secret;
    assert_eq!(Client::new(&server.url, &nowhere).get("/v1/rooms").await.error(), "ip_not_allowed");
    Client::new(&server.url, &server.live_key).get("/v1/rooms").await;
    let before: i64 = events().await;
    assert_eq!(before, 0, "a team is born without records, and a refused request adds none");
    let client = Client::new(&server.url, &server.test_key);
    let (one, other) = tokio::join!(client.get("/v1/rooms"), client.get("/v1/inventory"));
    assert!([one, other].iter().all(|list| !list.data().as_array().unwrap().is_empty()));
    let filled: i64 = events().await;
    assert!(filled > 100);
    assert_eq!(client.get("/v1/tasks").await.status, 200);
    assert_eq!(events().await, filled, "the sandbox is filled once");
}

#[tokio::test]
async fn sandbox_reset_uses_ordinary_events() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let before = client.list_all("/v1/rooms").await;
    let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].as_i64().unwrap();
    client.patch("/v1/property", &json!({ "city": "Elsewhere", "notes": "mine" })).await;
    client.post("/v1/rooms", &json!({ "name": "Mine" })).await;
    let clock = Clock::system();
    operate::reset_sandbox(&server.running.app.db, &clock, "My home".to_owned()).await.unwrap();
    let after = client.list_all("/v1/rooms").await;
    let names = |rooms: &[serde_json::Value]| -> Vec<_> { rooms.iter().map(|room| room["name"].clone()).collect() };
    assert_eq!(names(&before), names(&after));
    assert!(after.iter().all(|room| before.iter().all(|old| old["id"] != room["id"])), "every id is new");
    let property = client.get("/v1/property").await;
    assert!(property.data()["city"] != "Elsewhere" && property.data()["notes"] != "mine");
    // The folded feed equals the current records.
    let mut folded = std::collections::BTreeMap::new();
    let events = client.list_all("/v1/events?limit=1000").await;
    assert!(events.iter().any(|event| event["id"].as_i64() > Some(head) && event["type"] == "deleted"));
    for event in events {
        match event["type"].as_str() {
            Some("deleted") => folded.remove(&event["resource_id"].to_string()),
            _ => folded.insert(event["resource_id"].to_string(), event["payload"].clone()),
        };
    }
    let mut listed = 1;
    for collection in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        for record in client.list_all(&format!("/v1/{collection}?limit=100")).await {
            assert_eq!(folded[&record["id"].to_string()], record);
            listed += 1;
        }
    }
    assert_eq!(folded.len(), listed);
}

#[tokio::test]
async fn revoked_key_stops_and_its_streams_end() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut frames = client.stream("", None).await;
    frames.next_event().await.unwrap();
    let key = client.get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    // Another process revokes the key, as the operator's command does.
    let tail = hearth_server::store::notifier::Notifier::default();
    let outside = hearth_server::store::Db::open(server.data(), tail, 7).unwrap();
    operate::revoke_key(&outside, &Clock::system(), key).await.unwrap();
    while frames.next().await.is_some() {}
    assert_eq!(client.get("/v1/me").await.error(), "invalid_api_key");
}

#[tokio::test]
async fn records_never_cross_homes() {
    let server = Server::start().await;
    let (live, test) = (Client::new(&server.url, &server.live_key), Client::new(&server.url, &server.test_key));
    let id = test.list_all("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(live.list_all("/v1/rooms").await.len(), 0);
    for response in [
        live.get(&format!("/v1/rooms/{id}")).await,
        live.patch(&format!("/v1/rooms/{id}"), &json!({ "name": "x" })).await,
    ] {
        assert_eq!(response.error(), "not_found");
    }
    live.delete(&format!("/v1/rooms/{id}")).await;
    assert_eq!(test.get(&format!("/v1/rooms/{id}")).await.status, 200);
    let item = json!({ "name": "Lamp", "room_id": id });
    assert_eq!(live.post("/v1/inventory", &item).await.faults(), ["room_id not_found"]);
    // Each home may use the same id.
    assert_eq!(live.post("/v1/rooms", &json!({ "id": id, "name": "Mine" })).await.status, 201);
}

#[tokio::test]
async fn windows_last_a_minute_and_count_each_call() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let limits = RateLimits { reads: 4, writes: 3, bulk: 1 };
    let server = Server::start_at(test_clock.clock(), |config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let left = |response: &hearth_tests::client::Response| response.header("x-ratelimit-remaining").to_owned();
    // Discovery, and refusals before the check of the address, do not count.
    let nobody = Client::new(&server.url, "nonsense");
    for path in ["/v1", "/v1/_meta", "/openapi/v1", "/docs", "/healthz", "/v1/rooms"] {
        assert_eq!(nobody.get(path).await.header("x-ratelimit-limit"), "", "{path}");
    }
    // Reads: GET and HEAD, failures, a new stream, a download.
    let first = client.get("/v1/rooms").await;
    assert_eq!((first.header("x-ratelimit-limit"), left(&first)), ("4", "3".to_owned()));
    let reset = Timestamp::parse("2026-06-01T12:01:00Z").unwrap().seconds().to_string();
    assert_eq!(first.header("x-ratelimit-reset"), reset);
    assert_eq!(left(&client.get("/v1/rooms/nope").await), "2");
    assert_eq!(left(&client.send(client.request(reqwest::Method::HEAD, "/v1/events/stream")).await), "1");
    test_clock.advance(Duration::from_millis(59_500));
    assert_eq!(left(&client.get("/v1/exports/nope/download").await), "0");
    for _ in 0..3 {
        let refused = client.get("/v1/me").await;
        assert_eq!((refused.status, refused.error(), left(&refused)), (429, "rate_limited", "0".to_owned()));
        assert_eq!((refused.header("x-ratelimit-reset"), refused.header("retry-after")), (reset.as_str(), "1"));
    }
    // After the stated wait the service serves the client again.
    test_clock.advance(Duration::from_secs(1));
    assert_eq!(left(&client.get("/v1/me").await), "3");

    // Writes include replays and failures; bulk calls have their own window.
    let keyed = || {
        let request = client.request(reqwest::Method::POST, "/v1/rooms").header("idempotency-key", "k");
        client.send(request.json(&json!({ "name": "Hall" })))
    };
    assert_eq!(left(&keyed().await), "2");
    let replay = keyed().await;
    assert_eq!((replay.header("idempotency-replayed"), left(&replay)), ("true", "1".to_owned()));
    assert_eq!(left(&client.post("/v1/rooms", &json!({})).await), "0");
    assert_eq!(client.delete("/v1/rooms/nope").await.status, 429);
    let bulk = json!({ "operations": [] });
    let (one, two) = (client.post("/v1/rooms/bulk", &bulk).await, client.post("/v1/rooms/bulk", &bulk).await);
    assert_eq!((one.status, left(&one), two.status), (422, "0".to_owned(), 429));
}

#[tokio::test]
async fn rate_refusal_costs_nothing() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let limits = RateLimits { reads: 3, writes: 1, bulk: 1 };
    let changed = |config: &mut Config| {
        config.rate_limits = Some(limits);
        config.max_streams = 1;
    };
    let server = Server::start_at(test_clock.clock(), changed).await;
    let client = Client::new(&server.url, &server.live_key);
    let left = |response: &hearth_tests::client::Response| response.header("x-ratelimit-remaining").to_owned();
    let _open = client.stream("", None).await;
    for _ in 0..4 {
        let refused = client.get("/v1/events/stream").await;
        assert_eq!((refused.status, refused.error(), left(&refused)), (429, "too_many_streams", "2".to_owned()));
    }
    assert_eq!(left(&client.get("/v1/me").await), "1");
}

#[tokio::test]
async fn rate_refusal_names_its_window() {
    let limits = RateLimits { reads: 1, writes: 2, bulk: 3 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let (room, bulk) = (json!({ "name": "Hall" }), json!({ "operations": [{ "method": "create", "name": "Hall" }] }));
    for (window, limit, words) in [("reads", 1, "1 reads"), ("writes", 2, "2 writes"), ("bulk", 3, "3 bulk calls")] {
        let mut refused = None;
        for _ in 0..=limit {
            refused = Some(match window {
                "reads" => client.get("/v1/rooms").await,
                "writes" => client.post("/v1/rooms", &room).await,
                _ => client.post("/v1/rooms/bulk", &bulk).await,
            });
        }
        let refused = refused.unwrap();
        let error = &refused.json["error"];
        assert_eq!((refused.status, &error["details"]["window"]), (429, &json!(window)), "{}", refused.text);
        assert_eq!(error["details"]["limit"], limit);
        assert!(error["message"].as_str().unwrap().contains(words), "{}", refused.text);
    }
}

#[tokio::test]
async fn windows_are_exact_under_concurrency() {
    let limits = RateLimits { reads: 30, writes: 20, bulk: 10 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let bulk = json!({ "operations": [{ "method": "create", "name": "Room" }] });
    let calls = (0..150).map(|number| {
        let (client, bulk) = (client.clone(), bulk.clone());
        async move {
            let response = match number % 3 {
                0 => client.get("/v1/rooms?limit=1").await,
                1 => client.post("/v1/rooms", &json!({ "name": "Room" })).await,
                _ => client.post("/v1/rooms/bulk", &bulk).await,
            };
            (number % 3, response.status)
        }
    });
    let responses = futures_util::future::join_all(calls).await;
    for (class, status, count) in [(0, 200, 30), (0, 429, 20), (1, 201, 20), (1, 429, 30), (2, 207, 10), (2, 429, 40)] {
        let found = responses.iter().filter(|response| **response == (class, status)).count();
        assert_eq!(found, count, "{class} {status}");
    }
}

#[tokio::test]
async fn disabled_limits_send_no_rate_headers() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for _ in 0..310 {
        assert_eq!(client.get("/v1/property").await.status, 200);
    }
    let me = client.get("/v1/me").await;
    let unlimited = json!({ "reads_per_minute": null, "writes_per_minute": null, "bulk_per_minute": null });
    assert_eq!((&me.data()["rate_limits"], me.header("x-ratelimit-limit")), (&unlimited, ""), "{}", me.text);
}

#[tokio::test]
async fn me_shows_team_home_and_scopes_of_key() {
    let server = Server::start_with(|config| config.rate_limits = Some(RateLimits::default())).await;
    for (key, environment) in [(&server.live_key, "live"), (&server.test_key, "test")] {
        let client = Client::new(&server.url, key);
        let me = client.get("/v1/me").await;
        let data = me.data();
        let names = |value: &serde_json::Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
        assert_eq!(names(data), ["team", "home", "environment", "key", "scopes", "plan", "api_version", "rate_limits"]);
        assert_eq!(names(&data["key"]), ["id", "name", "hint", "created_at", "last_used_at", "flagged_at"]);
        assert_eq!(
            (&data["team"]["name"], &data["team"]["plan"], &data["plan"]),
            (&json!("My home"), &json!("paid"), &json!("paid"))
        );
        assert_eq!((&data["environment"], &data["home"]["environment"]), (&json!(environment), &json!(environment)));
        assert_eq!(data["scopes"].as_array().unwrap().len(), 15);
        assert_eq!(data["api_version"], json!({ "pinned": "2026-06-01", "resolved": "2026-06-01" }));
        let limits = json!({ "reads_per_minute": 300, "writes_per_minute": 60, "bulk_per_minute": 20 });
        assert_eq!(data["rate_limits"], limits);
        let hint = data["key"]["hint"].as_str().unwrap();
        assert!(
            hint.starts_with(&key[..12]) && hint.ends_with(&key[key.len() - 4..]) && !me.text.contains(key.as_str())
        );
    }
}

#[tokio::test]
async fn key_format_follows_contract() {
    let server = Server::start().await;
    for (key, prefix) in [(&server.live_key, "svc_live_"), (&server.test_key, "svc_test_")] {
        let rest = key.strip_prefix(prefix).unwrap();
        assert!(rest.len() == 49 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{rest}");
        let (body, sum) = key.split_at(key.len() - 6);
        // CRC-32 (IEEE) computed bit by bit, in base62 with the most significant digit first.
        let mut crc = u32::MAX;
        for byte in body.bytes() {
            crc ^= u32::from(byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            }
        }
        let (mut number, mut digits) = (!crc, String::new());
        for _ in 0..6 {
            let digits62 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
            digits.insert(0, char::from(digits62[(number % 62) as usize]));
            number /= 62;
        }
        assert_eq!(digits, sum);
    }
}

#[tokio::test]
async fn client_address_comes_from_trusted_proxies() {
    for (proxies, forwarded, allowed) in [
        (&[][..], "203.0.113.7", false),
        (&["127.0.0.0/8"], "203.0.113.7", true),
        (&["127.0.0.0/8"], "198.51.100.1", false),
        (&["127.0.0.0/8"], "203.0.113.7, 198.51.100.1", false),
        (&["127.0.0.0/8", "198.51.100.0/24"], "203.0.113.7, 198.51.100.1", true),
        (&["127.0.0.0/8"], "nonsense", false),
        (&["10.0.0.0/8"], "203.0.113.7", false),
    ] {
        let trusted = proxies.iter().map(|network| network.parse().unwrap()).collect();
        let server = Server::start_with(|config| config.trusted_proxies = trusted).await;
        let far =
            NewKey { allowlist: vec!["203.0.113.0/24".parse().unwrap()], ..new_key("My home", Environment::Test) };
        let key = operate::create_key(&server.running.app.db, &Clock::system(), far).await.unwrap().secret;
        let client = Client::new(&server.url, &key);
        let request = client.request(reqwest::Method::GET, "/v1/me").header("x-forwarded-for", forwarded);
        let response = client.send(request).await;
        let expected = if allowed { (200, "") } else { (403, "ip_not_allowed") };
        assert_eq!((response.status, response.error()), expected, "{proxies:?} {forwarded}");
    }
}

#[tokio::test]
async fn write_before_first_check_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let config = hearth_server::config::Config::new(dir.path().to_owned());
    let mut inside = hearth_server::InProcess::open(config, Clock::system()).unwrap();
    let mut heard = inside.app.outside.subscribe();
    let outside = hearth_server::store::Db::open(dir.path(), Default::default(), 7).unwrap();
    operate::create_team(&outside, &Clock::system(), "Lake".to_owned(), Plan::Paid).await.unwrap();
    for changed in [true, false] {
        inside.maintenance.detect_external_writes().await.unwrap();
        assert_eq!(heard.has_changed().unwrap(), changed);
        heard.mark_unchanged();
    }
    operate::set_plan(&outside, "Lake".to_owned(), Plan::Free).await.unwrap();
    inside.maintenance.detect_external_writes().await.unwrap();
    assert!(heard.has_changed().unwrap());
}

#[tokio::test]
async fn foreign_write_noticed_between_upkeep_steps() {
    const EVENTS: i64 = 2500;
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let bulk = json!({ "operations": vec![json!({ "method": "create", "name": "Room" }); 50] });
    for _ in 0..EVENTS / 50 {
        assert_eq!(client.post("/v1/rooms/bulk", &bulk).await.status, 207);
    }
    let dir = server.stop().await;
    // All events are older than the retention now.
    test_clock.advance(Duration::from_secs(40 * 24 * 3600));
    // The server was off for so long; by itself, a clock that leaps ahead is not believed.
    let config = Config { accept_clock: true, ..Config::new(dir.path().to_owned()) };
    let mut inside = hearth_server::InProcess::open(config, test_clock.clock()).unwrap();
    inside.maintenance.detect_external_writes().await.unwrap();
    let mut heard = inside.app.outside.subscribe();
    heard.mark_unchanged();
    let outside = hearth_server::store::Db::open(dir.path(), Default::default(), 7).unwrap();
    inside.maintenance.begin_cleanup().await.unwrap();
    let mut steps = 0;
    while inside.maintenance.is_cleaning_up() {
        let plan = if steps % 2 == 0 { Plan::Free } else { Plan::Paid };
        operate::set_plan(&outside, "My home".to_owned(), plan).await.unwrap();
        inside.maintenance.cleanup_step().await.unwrap();
        inside.maintenance.detect_external_writes().await.unwrap();
        assert!(heard.has_changed().unwrap());
        heard.mark_unchanged();
        steps += 1;
    }
    // Steps of 1,000 events in the home with events, then receipts, records of partners, exports, imports, captures and files.
    assert_eq!(steps, 3 + 6);
    let aged = inside.app.db.read(|tx| {
        let homes = homes::numbers(tx)?.into_iter().map(|number| Ok(homes::load(tx, number)?.retention_pos));
        homes.collect::<Result<Vec<i64>, StoreError>>()
    });
    assert!(aged.await.unwrap().contains(&EVENTS), "nothing was left out");
}

#[tokio::test]
async fn expand_needs_scope_of_expanded_kind() {
    let server = Server::start().await;
    let db = &server.running.app.db;
    let with = async |scopes: &[&str]| {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let key = NewKey { scopes, ..new_key("My home", Environment::Test) };
        Client::new(&server.url, &operate::create_key(db, &Clock::system(), key).await.unwrap().secret)
    };
    for (collection, relation, scopes, missing) in [
        ("inventory", "room", &["inventory:read"][..], "rooms:read"),
        ("documents", "subject", &["documents:read"], "inventory:read"),
        ("documents", "subject", &["documents:read", "inventory:read"], "vehicles:read"),
        ("tasks", "subject", &["tasks:read", "inventory:read", "vehicles:read"], "rooms:read"),
    ] {
        let client = with(scopes).await;
        let first = client.get(&format!("/v1/{collection}?limit=1")).await;
        let one = format!("{collection}/{}", first.data()[0]["id"].as_str().unwrap());
        for path in [collection, &one] {
            let refused = client.get(&format!("/v1/{path}?expand={relation}")).await;
            assert_eq!((refused.status, refused.error()), (403, "insufficient_scope"), "{path}");
            assert_eq!(refused.json["error"]["details"]["required_scope"], missing, "{path}");
            assert_eq!(client.get(&format!("/v1/{path}")).await.status, 200);
        }
    }
    // The refusal names all missing scopes and the parameter `expand`; the list alone is allowed.
    let refused = with(&["tasks:read"]).await.get("/v1/tasks?expand=subject").await;
    let message = refused.json["error"]["message"].as_str().unwrap();
    assert!(message.contains("subject needs the scopes inventory:read, vehicles:read, rooms:read"), "{message}");
    let documents = with(&["documents:read", "inventory:read", "vehicles:read"]).await;
    let whole = documents.get("/v1/documents?expand=subject&limit=100").await;
    assert!(whole.data().as_array().unwrap().iter().any(|document| document["subject"].is_object()), "{}", whole.text);
    // A tool call has the same check.
    let params = json!({ "name": "svc_list_inventory", "arguments": { "expand": "room" } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let text = with(&["inventory:read"]).await.post("/mcp", &call).await;
    assert_eq!(text.json["result"]["structuredContent"]["error"]["type"], "insufficient_scope", "{}", text.text);
}

#[tokio::test]
async fn stream_opened_while_key_ends_is_closed() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let app = &server.running.app;
    let key = operate::create_key(&app.db, &test_clock.clock(), new_key("My home", Environment::Live)).await.unwrap();
    let client = Client::new(&server.url, &key.secret);
    assert_eq!(client.get("/v1/me").await.status, 200);
    let hash = sha2::Sha256::digest(key.secret.as_bytes()).into();
    let believed = app.keyring.recall(&hash, test_clock.clock().elapsed()).unwrap();
    // The key was valid when the request began. No write follows, so only the stream's own check can find the end.
    operate::revoke_key(&app.db, &test_clock.clock(), key.key.id.clone()).await.unwrap();
    app.keyring.forget();
    assert_eq!(client.get("/v1/me").await.status, 401);
    app.keyring.remember(&believed, test_clock.clock().elapsed());
    let mut frames = client.stream("", None).await;
    let end = async { while frames.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), end).await.expect("the stream ends");
}
