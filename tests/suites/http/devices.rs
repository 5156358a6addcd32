//! Devices that an owner approves by a code (contract 20, RFC 8628).

use std::time::Duration;

use hearth_server::config::RateLimits;
use hearth_server::operate;
use hearth_tests::partner::{Partner, Tokens};
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};

use super::partners::{START, start};

#[tokio::test]
async fn device_gets_no_code_without_console() {
    let server = Server::start_with(|config| config.has_console = false).await;
    let form = [("client_id", "hearth-replica"), ("device_name", "Phone")];
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let asked = http.post(format!("{}/oauth/device_authorization", server.url)).form(&form).send().await.unwrap();
    assert_eq!(asked.status(), 404, "nobody could approve it");
}

/// Asks for a device code. Gives the device code and the user code.
async fn ask_for_device(partner: &Partner, form: &[(&str, &str)]) -> (String, String) {
    let answer = partner.post("/oauth/device_authorization", form).await;
    assert_eq!((answer.status, &answer.json["expires_in"], &answer.json["interval"]), (200, &json!(600), &json!(5)));
    let member = |name: &str| answer.json[name].as_str().unwrap().to_owned();
    (member("device_code"), member("user_code"))
}

async fn poll(partner: &Partner, client_id: &str, device_code: &str) -> (u16, Value) {
    let form = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
        ("client_id", client_id),
        ("device_code", device_code),
    ];
    let answer = partner.post("/oauth/token", &form).await;
    (answer.status, answer.json)
}

#[tokio::test]
async fn replica_gets_a_key_named_after_its_machine() {
    let (server, clock, partner) = start().await;
    let nameless = partner.post("/oauth/device_authorization", &[("client_id", "hearth-replica")]).await;
    assert_eq!(nameless.json["error"], "invalid_request");
    let form = [("client_id", "hearth-replica"), ("device_name", "Kitchen <i>PC</i>")];
    let (device_code, user_code) = ask_for_device(&partner, &form).await;
    assert!(user_code.chars().all(|c| "BCDFGHJKLMNPQRSTVWXZ-".contains(c)), "{user_code}");
    assert_eq!(poll(&partner, "hearth-replica", &device_code).await.1["error"], "authorization_pending");
    assert_eq!(poll(&partner, "hearth-replica", &device_code).await.1["error"], "slow_down");

    let typed = user_code.replace('-', " ").to_lowercase();
    let page = partner.send(partner.browse(Method::GET, "/oauth/device").query(&[("user_code", &typed)])).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(
        page.text.contains("Kitchen &#60;i&#62;PC")
            && page.text.contains(&user_code)
            && !page.text.contains("unverified")
    );
    let mut form =
        vec![("user_code", &*typed), ("decision", "allow"), ("environment", "test"), ("days", "until-revoked")];
    form.extend(["rooms:read", "events:read"].map(|scope| ("grant", scope)));
    assert_eq!(partner.submit("/oauth/device", &form).await.status, 200);
    assert_eq!(partner.submit("/oauth/device", &form).await.status, 404, "it was decided");

    clock.advance(Duration::from_secs(11));
    let (status, answer) = poll(&partner, "hearth-replica", &device_code).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["expires_in"].is_null() && answer["refresh_token"].is_null());
    let key = answer["access_token"].as_str().unwrap();
    assert!(key.starts_with("svc_test_"));
    clock.advance(Duration::from_secs(365 * 24 * 3600));
    let me = partner.api(key).get("/v1/me").await.data().clone();
    assert_eq!(
        (&me["key"]["name"], &me["scopes"]),
        (&json!("Kitchen <i>PC</i>"), &json!(["rooms:read", "events:read"]))
    );
    assert_eq!(poll(&partner, "hearth-replica", &device_code).await.1["error"], "invalid_grant");
    let keys = operate::list_keys(&server.running.app.db, None).await.unwrap();
    assert!(
        keys.iter().any(|key| key.name == "Kitchen <i>PC</i>" && key.expires_at.is_none()),
        "it is an ordinary key"
    );
}

#[tokio::test]
async fn device_of_a_partner_gets_tokens_or_a_refusal() {
    let (_server, clock, partner) = start().await;
    let client_id = partner.client_id.clone();
    let (device_code, user_code) =
        ask_for_device(&partner, &[("client_id", &client_id), ("scope", "rooms:read")]).await;
    let page = partner.send(partner.browse(Method::GET, "/oauth/device").query(&[("user_code", &user_code)])).await;
    assert!(page.text.contains("unverified") && page.text.contains("Read rooms"), "{}", page.text);
    let form = [
        ("user_code", &*user_code),
        ("decision", "allow"),
        ("environment", "test"),
        ("days", "until-revoked"),
        ("grant", "rooms:read"),
    ];
    assert_eq!(partner.submit("/oauth/device", &form).await.status, 200);
    let (status, answer) = poll(&partner, &client_id, &device_code).await;
    assert_eq!((status, &answer["expires_in"]), (200, &json!(3600)), "{answer}");
    let refresh = answer["refresh_token"].as_str().unwrap();
    assert!(Tokens::of(&partner.refresh(refresh).await).access.starts_with("svc_oat_"));

    let (device_code, user_code) = ask_for_device(&partner, &[("client_id", &client_id)]).await;
    assert_eq!(partner.submit("/oauth/device", &[("user_code", &user_code), ("decision", "deny")]).await.status, 200);
    assert_eq!(poll(&partner, &client_id, &device_code).await.1["error"], "access_denied");
    let (device_code, user_code) = ask_for_device(&partner, &[("client_id", &client_id)]).await;
    clock.advance(Duration::from_secs(600));
    let late = partner.send(partner.browse(Method::GET, "/oauth/device").query(&[("user_code", &user_code)])).await;
    assert_eq!(late.status, 404);
    assert_eq!(poll(&partner, &client_id, &device_code).await.1["error"], "expired_token");
}

#[tokio::test]
async fn guessed_user_codes_are_limited() {
    let clock = TestClock::at(START);
    let limits = |config: &mut hearth_server::config::Config| config.rate_limits = Some(RateLimits::default());
    let server = Server::start_at(clock.clock(), limits).await;
    let partner = Partner::new(&server.running.app.db, &server.url).await;
    let form = [("client_id", "hearth-replica"), ("device_name", "PC")];
    let (_, user_code) = ask_for_device(&partner, &form).await;
    let open = async |code: &str| {
        partner.send(partner.browse(Method::GET, "/oauth/device").query(&[("user_code", code)])).await.status
    };
    for _ in 0..30 {
        assert_eq!(open("BCDF-BCDF").await, 404);
    }
    assert_eq!(open(&user_code).await, 429, "a right guess comes too late");
    clock.advance(Duration::from_secs(10 * 60));
    assert_eq!(open("BCDF-BCDF").await, 404);
}
