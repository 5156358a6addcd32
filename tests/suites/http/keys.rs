//! Keys, scopes, homes and windows (contract 11).

use hearth_contract::key::Environment;
use hearth_server::clock::Clock;
use hearth_server::config::RateLimits;
use hearth_server::operate::{self, NewKey};
use hearth_server::store::homes::Plan;
use hearth_tests::client::Client;
use hearth_tests::server::Server;
use serde_json::json;

fn wish(team: &str, environment: Environment) -> NewKey {
    NewKey {
        team: team.to_owned(),
        environment,
        scopes: Vec::new(),
        name: None,
        allowlist: Vec::new(),
        pinned: None,
        expires_at: None,
    }
}

#[tokio::test]
async fn a_key_is_needed_and_must_hold() {
    let server = Server::start().await;
    let nobody = reqwest::Client::builder().no_proxy().build().unwrap();
    let answer = nobody.get(format!("{}/v1/rooms", server.url)).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.headers()["www-authenticate"].to_str().unwrap()), (401, "Bearer"));
    let (head, last) = server.test_key.split_at(server.test_key.len() - 1);
    let mistyped = format!("{head}{}", if last == "x" { "y" } else { "x" });
    for key in ["nonsense", &mistyped, &hearth_contract::key::key_text(Environment::Live, [1; 32])] {
        let answer = Client::new(&server.url, key).get("/v1/me").await;
        assert_eq!((answer.status, answer.error()), (401, "invalid_api_key"));
        assert_eq!(answer.header("www-authenticate"), r#"Bearer error="invalid_token""#);
        assert!(!answer.text.contains(key));
    }
    let client = Client::new(&server.url, &server.test_key);
    let two = client.request(reqwest::Method::GET, "/v1/me").header("authorization", "Bearer other");
    assert_eq!(client.send(two).await.error(), "authentication_required");
}

#[tokio::test]
async fn scopes_plans_addresses_and_ends_are_kept() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let make = |wish: NewKey| async move { operate::create_key(db, &Clock::system(), wish).await.unwrap().secret };
    operate::create_team(db, &clock, "Free".to_owned(), Plan::Free).await.unwrap();

    let reader = make(NewKey { scopes: vec!["rooms:read".to_owned()], ..wish("My home", Environment::Test) }).await;
    let client = Client::new(&server.url, &reader);
    assert_eq!(client.get("/v1/rooms").await.status, 200);
    let refused = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    assert_eq!((refused.status, refused.error()), (403, "insufficient_scope"));
    assert_eq!(refused.json["error"]["details"]["required_scope"], "rooms:write");
    assert_eq!(client.get("/v1/me").await.data()["scopes"], json!(["rooms:read"]));

    let live = make(wish("Free", Environment::Live)).await;
    assert_eq!(Client::new(&server.url, &live).get("/v1/me").await.error(), "plan_required");
    let test = make(wish("Free", Environment::Test)).await;
    assert_eq!(Client::new(&server.url, &test).get("/v1/me").await.status, 200);
    let far =
        make(NewKey { allowlist: vec!["203.0.113.0/24".parse().unwrap()], ..wish("Free", Environment::Test) }).await;
    assert_eq!(Client::new(&server.url, &far).get("/v1/me").await.error(), "ip_not_allowed");
    let ended = make(NewKey { expires_at: Some(clock.now()), ..wish("Free", Environment::Test) }).await;
    assert_eq!(Client::new(&server.url, &ended).get("/v1/me").await.error(), "invalid_api_key");
}

#[tokio::test]
async fn windows_refuse_exactly_what_is_too_much() {
    let limits = RateLimits { reads: 5, writes: 2, bulk: 1 };
    let server = Server::start_with(|config| config.rate_limits = Some(limits)).await;
    let client = Client::new(&server.url, &server.live_key);
    let answers = futures_util::future::join_all((0..12).map(|_| client.get("/v1/rooms"))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 5);
    let refused = answers.iter().find(|answer| answer.status == 429).unwrap();
    let wait: u64 = refused.header("retry-after").parse().unwrap();
    assert!((1..=60).contains(&wait));
    assert_eq!((refused.error(), refused.header("x-ratelimit-remaining")), ("rate_limited", "0"));
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.header("x-ratelimit-limit"), "2");
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200);
}

#[tokio::test]
async fn a_hundred_refusals_flag_a_key_and_it_still_works() {
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
    operate::unflag_key(db, id).await.unwrap();
    server.running.app.keyring.forget();
    assert!(client.get("/v1/me").await.data()["key"]["flagged_at"].is_null());
}

#[tokio::test]
async fn a_rotated_key_ends_at_once_and_another_takes_its_place() {
    let server = Server::start().await;
    let (db, clock) = (&server.running.app.db, Clock::system());
    let old = NewKey {
        name: Some("phone".to_owned()),
        scopes: vec!["rooms:read".to_owned()],
        allowlist: vec!["127.0.0.0/8".parse().unwrap()],
        ..wish("My home", Environment::Live)
    };
    let old = operate::create_key(db, &clock, old).await.unwrap();
    let new = operate::rotate_key(db, &clock, "phone".to_owned()).await.unwrap();
    server.running.app.keyring.forget();
    assert_eq!(Client::new(&server.url, &old.secret).get("/v1/me").await.error(), "invalid_api_key");
    let me = Client::new(&server.url, &new.secret).get("/v1/me").await;
    assert_eq!((&me.data()["scopes"], &me.data()["key"]["name"]), (&json!(["rooms:read"]), &json!("phone")));
    assert_eq!(
        (&new.key.allowlist, &new.key.pinned, &new.key.team),
        (&old.key.allowlist, &old.key.pinned, &old.key.team)
    );
    // The name still names one key; the old one is found by its id, and cannot be rotated again.
    assert_eq!(operate::revoke_key(db, &clock, "phone".to_owned()).await.unwrap().id, new.key.id);
    assert!(operate::rotate_key(db, &clock, old.key.id).await.is_err());
}

#[tokio::test]
async fn a_sandbox_is_set_back_by_ordinary_events() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let before = client.walk("/v1/rooms").await;
    let head = client.get("/v1/events?limit=1").await.json["meta"]["feed"]["head"].as_i64().unwrap();
    client.patch("/v1/property", &json!({ "city": "Elsewhere", "notes": "mine" })).await;
    client.post("/v1/rooms", &json!({ "name": "Mine" })).await;
    let clock = Clock::system();
    operate::reset_sandbox(&server.running.app.db, &clock, "My home".to_owned()).await.unwrap();
    let after = client.walk("/v1/rooms").await;
    let names = |rooms: &[serde_json::Value]| -> Vec<_> { rooms.iter().map(|room| room["name"].clone()).collect() };
    assert_eq!(names(&before), names(&after));
    assert!(after.iter().all(|room| before.iter().all(|old| old["id"] != room["id"])), "every id is new");
    let property = client.get("/v1/property").await;
    assert!(property.data()["city"] != "Elsewhere" && property.data()["notes"] != "mine");
    // Folding the whole feed gives what is there now.
    let mut folded = std::collections::BTreeMap::new();
    let events = client.walk("/v1/events?limit=1000").await;
    assert!(events.iter().any(|event| event["id"].as_i64() > Some(head) && event["type"] == "deleted"));
    for event in events {
        match event["type"].as_str() {
            Some("deleted") => folded.remove(&event["resource_id"].to_string()),
            _ => folded.insert(event["resource_id"].to_string(), event["payload"].clone()),
        };
    }
    let mut listed = 1;
    for collection in ["inventory", "vehicles", "documents", "tasks", "rooms"] {
        for record in client.walk(&format!("/v1/{collection}?limit=100")).await {
            assert_eq!(folded[&record["id"].to_string()], record);
            listed += 1;
        }
    }
    assert_eq!(folded.len(), listed);
}

#[tokio::test]
async fn a_revoked_key_stops_working_and_its_streams_end() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut frames = client.stream("", None).await;
    frames.event().await.unwrap();
    let key = client.get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    // Another process revokes it, as the operator's command does.
    let tail = hearth_server::store::tail::Tail::default();
    let outside = hearth_server::store::Db::open(server.data(), tail, 7).unwrap();
    operate::revoke_key(&outside, &Clock::system(), key).await.unwrap();
    while frames.next().await.is_some() {}
    assert_eq!(client.get("/v1/me").await.error(), "invalid_api_key");
}

#[tokio::test]
async fn nothing_crosses_homes() {
    let server = Server::start().await;
    let (live, test) = (Client::new(&server.url, &server.live_key), Client::new(&server.url, &server.test_key));
    let id = test.walk("/v1/rooms").await[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(live.walk("/v1/rooms").await.len(), 0);
    for answer in [
        live.get(&format!("/v1/rooms/{id}")).await,
        live.patch(&format!("/v1/rooms/{id}"), &json!({ "name": "x" })).await,
    ] {
        assert_eq!(answer.error(), "not_found");
    }
    live.delete(&format!("/v1/rooms/{id}")).await;
    assert_eq!(test.get(&format!("/v1/rooms/{id}")).await.status, 200);
    let item = json!({ "name": "Lamp", "room_id": id });
    assert_eq!(live.post("/v1/inventory", &item).await.faults(), ["room_id not_found"]);
    // The same id may be used in each home.
    assert_eq!(live.post("/v1/rooms", &json!({ "id": id, "name": "Mine" })).await.status, 201);
}
