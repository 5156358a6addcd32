//! Partner authorization (contract 20): consent, codes, tokens, devices, and the attacks on them.

use std::time::{Duration, Instant};

use hearth_server::clock::Clock;
use hearth_server::config::{PartnerAccess, RateLimits};
use hearth_server::operate;
use hearth_server::store::Db;
use hearth_server::store::notifier::Notifier;
use hearth_tests::client::Client;
use hearth_tests::partner::{Partner, REDIRECT, Tokens, query, sign_in};
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::json;

pub(super) const START: &str = "2026-07-01T00:00:00Z";

/// A service with a clock of the test, and a registered program with an owner.
pub(super) async fn start() -> (Server, TestClock, Partner) {
    let clock = TestClock::at(START);
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let partner = Partner::new(&server.running.app.db, &server.url).await;
    (server, clock, partner)
}

async fn status(partner: &Partner, token: &str) -> u16 {
    partner.api(token).get("/v1/rooms").await.status
}

#[tokio::test]
async fn owner_narrows_what_a_program_gets() {
    let (server, clock, partner) = start().await;
    let page = partner.open(&[("scope", "rooms:read rooms:write events:read")], true).await;
    assert_eq!(page.status, 200, "{}", page.text);
    let policy = page.header("content-security-policy");
    assert!(policy.contains("form-action 'self' http://127.0.0.1:7777;"), "{policy}");
    for part in ["Shelf &#60;b&#62;App", "unverified", "127.0.0.1:7777", "Create, change and delete rooms"] {
        assert!(page.text.contains(part), "{part}: {}", page.text);
    }
    assert!(!page.text.contains("tasks:read"), "it was not asked for");
    let signed_out = partner.open(&[], false).await;
    assert_eq!(signed_out.status, 303);
    assert!(signed_out.header("location").starts_with("/console/sign-in?next=%2Foauth%2Fauthorize%3F"));

    let nothing = partner.agree(&[("grant", "vehicles:read"), ("scope", "rooms:read")]).await;
    assert_eq!(nothing.status, 422, "{}", nothing.text);
    assert!(nothing.text.contains("Choose at least one"));
    let agreed = partner
        .agree(&[("scope", "rooms:read rooms:write"), ("grant", "rooms:read"), ("days", "1"), ("environment", "live")])
        .await;
    let code = query(agreed.header("location"), "code");
    let answer = partner.redeem(&code, &[]).await;
    let tokens = Tokens::of(&answer);
    assert!(tokens.access.starts_with("svc_oat_") && tokens.refresh.starts_with("svc_ort_"));
    assert_eq!((&answer.json["scope"], &answer.json["token_type"]), (&json!("rooms:read"), &json!("Bearer")));
    assert_eq!((&answer.json["expires_in"], answer.header("cache-control")), (&json!(3600), "no-store"));
    let api = partner.api(&tokens.access);
    let me = api.get("/v1/me").await.data().clone();
    assert_eq!((&me["environment"], &me["scopes"]), (&json!("live"), &json!(["rooms:read"])));
    assert_eq!(me["key"]["name"], "Shelf <b>App</b>");
    assert!(me["key"]["hint"].as_str().unwrap().starts_with("svc_oat_"));
    let refused = api.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    assert_eq!((refused.status, refused.error()), (403, "insufficient_scope"));

    clock.advance(Duration::from_secs(3600));
    assert_eq!(status(&partner, &tokens.access).await, 401, "an access token lives one hour");
    let next = Tokens::of(&partner.refresh(&tokens.refresh).await);
    assert_eq!(status(&partner, &next.access).await, 200);
    clock.advance(Duration::from_secs(22 * 3600 + 1800));
    let last = partner.refresh(&next.refresh).await;
    assert_eq!(last.json["expires_in"], 1800, "the grant ends after a day");
    clock.advance(Duration::from_secs(1800));
    assert_eq!(status(&partner, &Tokens::of(&last).access).await, 401);
    assert_eq!(partner.refresh(&Tokens::of(&last).refresh).await.json["error"], "invalid_grant");

    let denied = partner.agree(&[("decision", "deny")]).await;
    let answer = denied.header("location");
    assert_eq!((query(answer, "error"), query(answer, "iss")), ("access_denied".to_owned(), server.url.clone()));
    server.stop().await;
}

#[tokio::test]
async fn owner_ends_grant_on_page() {
    let (server, _, partner) = start().await;
    let tokens = Tokens::of(&partner.redeem(&partner.code().await, &[]).await);
    let open = async || partner.send(partner.browse(Method::GET, "/console/partners")).await.text;
    let page = open().await;
    assert!(page.contains("Shelf &#60;b&#62;App&#60;/b&#62;"), "{page}");
    let (_, rest) = page.split_once("/console/partners/").unwrap();
    let path = format!("/console/partners/{}", rest.split('"').next().unwrap());
    let stranger = Partner::of_owner(String::new(), &server.url).await;
    assert_eq!(stranger.submit(&path, &[]).await.status, 303, "signed out");
    assert_eq!(status(&partner, &tokens.access).await, 200);
    assert_eq!(partner.submit(&path, &[]).await.status, 303);
    assert_eq!(status(&partner, &tokens.access).await, 401);
    assert_eq!(partner.refresh(&tokens.refresh).await.json["error"], "invalid_grant");
    assert!(!open().await.contains(&path), "the grant has ended");
}

#[tokio::test]
async fn replayed_code_ends_its_tokens() {
    let (_server, _, partner) = start().await;
    let code = partner.code().await;
    let tokens = Tokens::of(&partner.redeem(&code, &[]).await);
    assert_eq!(status(&partner, &tokens.access).await, 200);
    assert_eq!(partner.redeem(&code, &[]).await.json["error"], "invalid_grant");
    assert_eq!(status(&partner, &tokens.access).await, 401);
    assert_eq!(partner.refresh(&tokens.refresh).await.json["error"], "invalid_grant");
}

#[tokio::test]
async fn code_lives_a_minute_and_needs_its_verifier() {
    let (_server, clock, partner) = start().await;
    for (name, value) in [
        ("code_verifier", "another-verifier-with-more-than-43-characters-in-it"),
        ("code_verifier", ""),
        ("redirect_uri", "http://127.0.0.1:7777/other"),
        ("client_id", "somebody"),
    ] {
        let refused = partner.redeem(&partner.code().await, &[(name, value)]).await;
        assert!(refused.status >= 400 && refused.json["error"].is_string(), "{name}={value}: {}", refused.text);
    }
    let code = partner.code().await;
    clock.advance(Duration::from_secs(60));
    assert_eq!(partner.redeem(&code, &[]).await.json["error"], "invalid_grant");
}

#[tokio::test]
async fn answer_names_its_issuer_against_mix_up() {
    let (server, _, partner) = start().await;
    let agreed = partner.agree(&[]).await;
    let answer = agreed.header("location");
    assert!(answer.starts_with(REDIRECT));
    assert_eq!((query(answer, "iss"), query(answer, "state")), (server.url.clone(), "a state".to_owned()));
    let about = partner.api("").get("/.well-known/oauth-authorization-server").await.json;
    assert_eq!(
        (&about["issuer"], &about["authorization_response_iss_parameter_supported"]),
        (&json!(server.url), &json!(true))
    );
}

#[tokio::test]
async fn weaker_pkce_is_refused() {
    let (_server, _, partner) = start().await;
    for changed in [
        [("code_challenge", ""), ("code_challenge_method", "")],
        [("code_challenge_method", "plain"), ("state", "s")],
        [("code_challenge_method", ""), ("state", "s")],
        [("response_type", "token"), ("state", "s")],
        [("code_challenge", "short"), ("state", "s")],
    ] {
        // Without a sign-in, the browser is sent nowhere.
        assert_eq!(partner.open(&changed, false).await.status, 400, "{changed:?}");
        for answer in [partner.open(&changed, true).await, partner.agree(&changed).await] {
            assert_eq!(answer.status, 303, "{changed:?} {}", answer.text);
            assert_eq!(query(answer.header("location"), "code"), "");
            assert_ne!(query(answer.header("location"), "error"), "");
        }
    }
}

#[tokio::test]
async fn redirect_must_be_the_registered_one() {
    let (_server, _, partner) = start().await;
    for foreign in [
        "http://127.0.0.1:7777/callback/more",
        "http://127.0.0.1:7777/callback?more=1",
        "http://127.0.0.1:7777/call",
        "http://127.0.0.1:7777@evil.example/callback",
        "http://127.0.0.1.evil.example:7777/callback",
        "https://evil.example/callback",
        "http://localhost:7777/callback",
    ] {
        for answer in
            [partner.open(&[("redirect_uri", foreign)], true).await, partner.agree(&[("redirect_uri", foreign)]).await]
        {
            assert_eq!((answer.status, answer.header("location")), (400, ""), "{foreign}");
        }
    }
    // The port of a program on the same machine is not known before (RFC 8252).
    let other_port = partner.agree(&[("redirect_uri", "http://127.0.0.1:9999/callback")]).await;
    assert!(other_port.header("location").starts_with("http://127.0.0.1:9999/callback?code="));
    for client_id in ["", "unknown"] {
        assert_eq!(partner.open(&[("client_id", client_id)], true).await.status, 400);
    }
}

#[tokio::test]
async fn tokens_are_for_this_server_only() {
    let (server, _, partner) = start().await;
    let foreign = ("resource", "https://other.example/mcp");
    let refused = partner.open(&[foreign], true).await;
    assert_eq!(query(refused.header("location"), "error"), "invalid_target");
    let code = partner.code().await;
    assert_eq!(partner.redeem(&code, &[foreign]).await.json["error"], "invalid_target");
    // The three addresses of this server are one audience.
    let mcp = format!("{}/mcp", server.url);
    let agreed = partner.agree(&[("resource", &*mcp)]).await;
    let code = query(agreed.header("location"), "code");
    let rest = format!("{}/v1", server.url);
    let tokens = Tokens::of(&partner.redeem(&code, &[("resource", &*rest)]).await);
    assert_eq!(status(&partner, &tokens.access).await, 200);
    for appended in ["", "/v1", "/mcp"] {
        let path = format!("/.well-known/oauth-protected-resource{appended}");
        let about = partner.api("").get(&path).await.json;
        assert_eq!(about["resource"], format!("{}{appended}", server.url));
        assert_eq!(about["authorization_servers"], json!([server.url]));
    }
}

#[tokio::test]
async fn exact_retry_of_a_refresh_gets_the_same_answer() {
    let (server, clock, partner) = start().await;
    let first = partner.tokens().await;
    let second = Tokens::of(&partner.refresh(&first.refresh).await);
    assert_ne!(first, second);
    // The answer was lost, and the server was started again.
    let url = server.url.clone();
    let address = url.trim_start_matches("http://").parse().unwrap();
    let dir = server.stop().await;
    let mut config = hearth_server::config::Config::new(dir.path().to_owned());
    (config.listen, config.rate_limits) = (address, None);
    let running = hearth_server::start(config, clock.clock()).await.unwrap();
    clock.advance(Duration::from_secs(29));
    assert_eq!(Tokens::of(&partner.refresh(&first.refresh).await), second);
    assert_eq!(status(&partner, &second.access).await, 200);
    clock.advance(Duration::from_secs(1));
    let reused = partner.refresh(&first.refresh).await;
    assert_eq!(reused.json["error"], "invalid_grant", "{}", reused.text);
    assert_eq!(status(&partner, &second.access).await, 401, "reuse ends the grant");
    assert_eq!(partner.refresh(&second.refresh).await.json["error"], "invalid_grant");
    running.stop().await;
}

#[tokio::test]
async fn token_stolen_by_another_process_is_noticed() {
    let (_server, clock, partner) = start().await;
    let first = partner.tokens().await;
    // Two processes of the program refresh at the same time, as after a start of both: no harm.
    let (one, other) = tokio::join!(partner.refresh(&first.refresh), partner.refresh(&first.refresh));
    let second = Tokens::of(&one);
    assert_eq!(Tokens::of(&other), second);
    clock.advance(Duration::from_secs(31));
    let third = Tokens::of(&partner.refresh(&second.refresh).await);
    let mut frames = partner.api(&third.access).stream("", None).await;
    frames.next_event().await.unwrap();
    // A process that still has the first token is a thief, or the victim.
    assert_eq!(partner.refresh(&first.refresh).await.json["error"], "invalid_grant");
    let since = Instant::now();
    while frames.next().await.is_some() {}
    assert!(since.elapsed() < Duration::from_secs(1), "its stream ends: {:?}", since.elapsed());
    assert_eq!(status(&partner, &third.access).await, 401);
    assert_eq!(partner.refresh(&third.refresh).await.json["error"], "invalid_grant");
}

#[tokio::test]
async fn refresh_token_ends_after_sixty_idle_days() {
    let (server, clock, partner) = start().await;
    let days = |days: u64| Duration::from_secs(days * 24 * 3600);
    let mut tokens = partner.tokens().await;
    for _ in 0..2 {
        clock.advance(days(59));
        tokens = Tokens::of(&partner.refresh(&tokens.refresh).await);
    }
    clock.advance(days(60));
    assert_eq!(partner.refresh(&tokens.refresh).await.json["error"], "invalid_grant");
    drop(server);
}

#[tokio::test]
async fn consent_from_another_site_is_refused() {
    let (_server, _, partner) = start().await;
    let form = [("decision", "allow")];
    for (header, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("x-nothing", "neither"),
    ] {
        for path in ["/oauth/authorize", "/oauth/device"] {
            let answer = partner.send(partner.browse(Method::POST, path).header(header, value).form(&form)).await;
            assert_eq!((answer.status, answer.header("location")), (403, ""), "{path} {header}: {value}");
        }
    }
    let elsewhere = partner.browse(Method::GET, "/oauth/authorize?client_id=x").header("host", "evil.example");
    assert_eq!(partner.send(elsewhere).await.status, 421);
    for framed in [partner.open(&[], true).await, partner.open(&[], false).await] {
        assert_eq!(framed.header("x-frame-options"), "DENY");
        assert_eq!(framed.header("access-control-allow-origin"), "");
    }
}

#[tokio::test]
async fn revoked_grant_ends_its_stream_within_a_second() {
    let server = Server::start().await;
    let partner = Partner::new(&server.running.app.db, &server.url).await;
    let tokens = partner.tokens().await;
    let mut frames = partner.api(&tokens.access).stream("", None).await;
    frames.next_event().await.unwrap();
    let grant = partner.api(&tokens.access).get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    // Another process revokes the grant, as the operator's command does.
    let outside = Db::open(server.data(), Notifier::default(), 7).unwrap();
    operate::revoke_key(&outside, &Clock::system(), grant).await.unwrap();
    let since = Instant::now();
    while frames.next().await.is_some() {}
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
    assert_eq!(status(&partner, &tokens.access).await, 401);
    assert_eq!(partner.refresh(&tokens.refresh).await.json["error"], "invalid_grant");
}

#[tokio::test]
async fn stream_outlives_its_token_while_the_grant_lives() {
    let (server, clock, partner) = start().await;
    let tokens = partner.tokens().await;
    let mut frames = partner.api(&tokens.access).stream("", None).await;
    frames.next_event().await.unwrap();
    clock.advance(Duration::from_secs(3601));
    assert_eq!(status(&partner, &tokens.access).await, 401);
    let owner = Client::new(&server.url, &server.test_key);
    assert_eq!(owner.post("/v1/rooms", &json!({ "name": "After the token" })).await.status, 201);
    let next = frames.next_event().await.unwrap();
    assert!(format!("{next:?}").contains("After the token"));
}

#[tokio::test]
async fn program_ends_its_own_tokens() {
    let (_server, _, partner) = start().await;
    let tokens = partner.tokens().await;
    let other = partner.tokens().await;
    for (token, active) in [(&tokens.access, true), (&tokens.refresh, true), (&other.access, false)] {
        let request = partner.api(&tokens.access).request(Method::POST, "/oauth/introspect").form(&[("token", token)]);
        let about = partner.send(request).await;
        assert_eq!((about.status, &about.json["active"]), (200, &json!(active)), "{}", about.text);
    }
    let third = partner.tokens().await;
    let next = Tokens::of(&partner.refresh(&third.refresh).await);
    for (token, active) in [(&third.refresh, false), (&next.refresh, true)] {
        let request = partner.api(&next.access).request(Method::POST, "/oauth/introspect").form(&[("token", token)]);
        let about = partner.send(request).await;
        assert_eq!(about.json["active"], json!(active), "a used refresh token gives nothing: {}", about.text);
    }
    let stranger = partner.post("/oauth/introspect", &[("token", &tokens.access)]).await;
    assert_eq!(stranger.status, 401);
    let foreign = partner.post("/oauth/revoke", &[("client_id", "somebody"), ("token", &tokens.refresh)]).await;
    assert_ne!(foreign.status, 200);
    assert_eq!(status(&partner, &tokens.access).await, 200);
    let client_id = partner.client_id.clone();
    for token in ["svc_ort_nonsense", &tokens.refresh, &tokens.refresh] {
        let form = [("client_id", &*client_id), ("token", token)];
        assert_eq!(partner.post("/oauth/revoke", &form).await.status, 200);
    }
    assert_eq!(status(&partner, &tokens.access).await, 401);
    assert_eq!(status(&partner, &other.access).await, 200);
}

#[tokio::test]
async fn pushed_request_serves_one_decision() {
    let (_server, clock, partner) = start().await;
    let challenge = hearth_tests::partner::challenge();
    let push = || async {
        let pushed = partner.post("/oauth/par", &partner.request(&challenge, &[("scope", "rooms:read")])).await;
        assert_eq!((pushed.status, &pushed.json["expires_in"]), (201, &json!(90)), "{}", pushed.text);
        pushed.json["request_uri"].as_str().unwrap().to_owned()
    };
    let uri = push().await;
    let open = async |uri: &str| {
        let request = partner.browse(Method::GET, "/oauth/authorize");
        partner.send(request.query(&[("client_id", &*partner.client_id), ("request_uri", uri)])).await
    };
    for _ in 0..2 {
        let page = open(&uri).await;
        assert_eq!(page.status, 200, "{}", page.text);
        assert!(page.text.contains(&format!("value=\"{uri}\"")), "the form names the request");
    }
    let agreed = partner.agree(&[("request_uri", &*uri), ("scope", "rooms:read")]).await;
    assert_ne!(query(agreed.header("location"), "code"), "");
    assert_eq!(open(&uri).await.status, 400, "it was used");
    let uri = push().await;
    clock.advance(Duration::from_secs(90));
    assert_eq!(open(&uri).await.status, 400, "it has ended");
}

#[tokio::test]
async fn unauthenticated_calls_of_an_address_are_limited() {
    let limits = |config: &mut hearth_server::config::Config| config.rate_limits = Some(RateLimits::default());
    let server = Server::start_with(limits).await;
    let partner = Partner::new(&server.running.app.db, &server.url).await;
    let about = json!({ "redirect_uris": [REDIRECT] });
    for _ in 0..9 {
        assert_eq!(partner.register(&about).await.status, 201);
    }
    assert_eq!(partner.register(&about).await.status, 429, "10 registrations an hour");
    let mut refused = None;
    for _ in 0..60 {
        let answer = partner.post("/oauth/token", &[("grant_type", "refresh_token")]).await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
    }
    let refused = refused.expect("a refusal within 60 calls");
    assert_eq!(refused.json["error"], "temporarily_unavailable");
    assert_ne!(refused.header("retry-after"), "");
}

#[tokio::test]
async fn grant_counts_calls_and_not_its_tokens() {
    let clock = TestClock::at(START);
    let limits = |config: &mut hearth_server::config::Config| {
        config.rate_limits = Some(RateLimits { reads: 3, ..RateLimits::default() });
    };
    let server = Server::start_at(clock.clock(), limits).await;
    let partner = Partner::new(&server.running.app.db, &server.url).await;
    let first = partner.tokens().await;
    assert_eq!(status(&partner, &first.access).await, 200);
    assert_eq!(status(&partner, &first.access).await, 200);
    let second = Tokens::of(&partner.refresh(&first.refresh).await);
    assert_eq!(status(&partner, &second.access).await, 200);
    assert_eq!(status(&partner, &second.access).await, 429, "a fresh token has no fresh window");
}

#[tokio::test]
async fn registration_takes_safe_public_clients() {
    let (server, clock, partner) = start().await;
    let hidden = json!({
        "redirect_uris": ["https://app.example/cb"],
        "token_endpoint_auth_method": "client_secret_basic",
        "grant_types": ["authorization_code", "client_credentials"],
    });
    let registered = partner.register(&hidden).await.json;
    assert_eq!(registered["token_endpoint_auth_method"], "none");
    assert_eq!(registered["grant_types"], json!(["authorization_code"]));
    assert!(registered["client_secret"].is_null() && registered["registration_access_token"].is_null());
    for (about, error) in [
        (json!({ "redirect_uris": ["http://app.example/cb"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": ["com.example.app:/cb"] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [7] }), "invalid_redirect_uri"),
        (json!({ "redirect_uris": [REDIRECT], "scope": "everything" }), "invalid_client_metadata"),
        (json!({ "redirect_uris": [REDIRECT], "client_name": "a\nb" }), "invalid_client_metadata"),
        (json!({ "redirect_uris": [], "grant_types": ["authorization_code"] }), "invalid_redirect_uri"),
        (json!([]), "invalid_client_metadata"),
    ] {
        let refused = partner.register(&about).await;
        assert_eq!((refused.status, &refused.json["error"]), (400, &json!(error)), "{about}");
    }
    // A client that no owner agrees to is dropped after a day; one with a grant stays.
    partner.tokens().await;
    clock.advance(Duration::from_secs(24 * 3600));
    server.running.app.db.write(|tx| hearth_server::store::partners::sweep(tx, i64::MAX / 4, 1000)).await.unwrap();
    assert_eq!(partner.open(&[], true).await.status, 200);
    let unused = registered["client_id"].as_str().unwrap();
    assert_eq!(partner.open(&[("client_id", unused)], true).await.status, 400);
}

#[tokio::test]
async fn partners_need_https_and_the_operator() {
    for (base_url, access, replica) in [
        (Some("http://nas.local:8750"), PartnerAccess::Known, 404),
        (Some("https://home.example"), PartnerAccess::Off, 200),
        (None, PartnerAccess::Off, 200),
    ] {
        let server = Server::start_with(|config| {
            config.base_url = base_url.map(str::to_owned);
            config.partners = access;
        })
        .await;
        let client = Client::new(&server.url, "");
        for path in ["", "/v1", "/mcp"] {
            let path = format!("/.well-known/oauth-protected-resource{path}");
            assert_eq!(client.get(&path).await.status, 404);
        }
        assert_eq!(client.get("/.well-known/oauth-authorization-server").await.status, 404);
        let challenge = client.get("/v1/rooms").await;
        assert!(!challenge.header("www-authenticate").contains("resource_metadata"));
        let device = client.request(Method::POST, "/oauth/device_authorization");
        let device = client.send(device.form(&[("client_id", "hearth-replica"), ("device_name", "PC")])).await;
        assert_eq!(device.status, replica, "{}", device.text);
        let registered = client.post("/oauth/register", &json!({ "redirect_uris": [REDIRECT] })).await;
        assert_eq!(registered.status, 404);
        let sentence = registered.json["error_description"].as_str().unwrap();
        assert!(sentence.contains("--base-url") || sentence.contains("--partners known"), "{sentence}");
        let cookie = sign_in(&server.running.app.db, "My home", "Somebody").await;
        let page = client.request(Method::GET, "/oauth/authorize").header("cookie", cookie);
        assert_eq!(client.send(page).await.status, 404);
    }
}
