//! The endpoints that programs call with forms: tokens, devices, pushed requests, revocation, introspection. Must not
//! know pages.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::{Environment, TokenKind, parse_token};
use hearth_contract::paths;
use oauth_as::device::normalize_user_code;
use oauth_as::token::{RefreshTokenRecord, RefreshTokenState};
use serde_json::{Value, json};

use super::records::{REPLICA_CLIENT, nanos_of};
use super::sealing::{digest, lookup, open_json};
use super::wire::{self, error, read_fields, show_tokens, to_key, write_form};
use crate::app::App;
use crate::app::address_limits::AddressRule;
use crate::config::PartnerAccess;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::{self, Fields, WebRequest};
use crate::store::keys::{self, Key};
use crate::store::partners::{self, RecordKind};

/// Calls of an address without a key.
const CALLS: AddressRule = AddressRule { name: "partners", calls: 60, window: Duration::from_secs(60) };
/// Longest name of a machine, in characters.
const DEVICE_NAME_MAX: usize = 100;
/// Devices that wait for an owner, at most.
const WAITING_DEVICES_MAX: u32 = 1000;
/// Pushed requests that were not used, at most.
const PUSHED_REQUESTS_MAX: u32 = 1000;
/// The grant of RFC 8628.
const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Refuses a request when this server gives no access to partners, and beyond the limit of the address. `for_replica`: a
/// replica may ask although partners may not.
pub(super) fn admit(request: &WebRequest, for_replica: bool) -> Result<(), Reply> {
    match request.app.partners() {
        None => {
            let fix = "Tokens would travel unprotected: give the server a certificate, or a proxy with TLS in front and \
                       --base-url with its https address.";
            return Err(error(404, "invalid_request", &format!("This server has no https address. {fix}")));
        }
        Some(PartnerAccess::Off) if !for_replica => {
            let fix = "The operator can start the server with --partners known.";
            return Err(error(404, "invalid_request", &format!("This server gives no access to partners. {fix}")));
        }
        Some(_) => (),
    }
    limit(request, CALLS)
}

/// Counts a call of an address. Err: 429.
pub(super) fn limit(request: &WebRequest, rule: AddressRule) -> Result<(), Reply> {
    if request.app.config.rate_limits.is_none() {
        return Ok(());
    }
    let address = request.peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    request.app.address_limits.count(rule, address, request.app.clock.elapsed()).map_err(|seconds| {
        let text = format!("Too many calls from this address; wait {seconds} s.");
        error(429, "temporarily_unavailable", &text).with_header("retry-after", seconds.to_string())
    })
}

/// `POST /oauth/token`.
pub async fn token(request: WebRequest) -> Result<Reply, Refusal> {
    let mut fields = form(&request)?;
    if fields.text("grant_type") == DEVICE_GRANT {
        // The library gives no audience to devices; ours is the only one.
        let is_ours = |value: &str| value == &*request.app.base_url;
        fields.0.retain(|(name, value)| name != "resource" || !is_ours(value));
    }
    let (status, mut answer, reply) =
        wire::call(&request.app, paths::TOKEN, &request.headers, write_form(&fields)).await?;
    if status != 200 {
        return Ok(reply);
    }
    if fields.text("client_id") == REPLICA_CLIENT {
        return key_answer(&request.app, answer).await;
    }
    let token = answer["access_token"].as_str().unwrap_or_default();
    let hash = lookup(RecordKind::Access, token);
    if let Some(key) = request.app.db.read(move |tx| keys::find_by_access_token(tx, &hash)).await? {
        // The owner may have set an end that lies before the end of the token.
        answer["expires_in"] = seconds_left(&key, request.app.clock.now()).into();
    }
    show_tokens(&mut answer);
    Ok(web::json(200, answer.to_string()).with_header("pragma", "no-cache"))
}

/// The answer to a replica: the token of the library has become an ordinary key.
async fn key_answer(app: &App, answer: Value) -> Result<Reply, Refusal> {
    let token = answer["access_token"].as_str().unwrap_or_default();
    for environment in [Environment::Live, Environment::Test] {
        let Some(text) = to_key(token, environment) else { continue };
        let hash = digest(&text);
        if app.db.read(move |tx| keys::find_by_hash(tx, &hash)).await?.is_some() {
            let answer = json!({ "access_token": text, "token_type": "Bearer", "scope": answer["scope"] });
            return Ok(web::json(200, answer.to_string()).with_header("pragma", "no-cache"));
        }
    }
    Ok(error(500, "server_error", "The key of the device is missing; begin again."))
}

fn seconds_left(key: &Key, now: Timestamp) -> i64 {
    key.expires_at.map_or(0, |end| (end.millis() - now.millis()) / 1000).max(0)
}

/// `POST /oauth/device_authorization`.
pub async fn device_authorization(request: WebRequest) -> Result<Reply, Refusal> {
    if !request.app.config.has_console {
        let text = "This server has no console, so no owner can approve a device. Use an API key.";
        return Ok(error(404, "invalid_request", text));
    }
    let mut fields = form(&request)?;
    let is_ours = |value: &str| value == &*request.app.base_url;
    fields.0.retain(|(name, value)| name != "resource" || !is_ours(value));
    if let Some(other) = fields.all("resource").next() {
        return Ok(error(400, "invalid_target", &format!("{} is no resource of this server.", other.escape_debug())));
    }
    let name = device_name(&fields)?;
    has_room(&request.app, RecordKind::Device, WAITING_DEVICES_MAX).await?;
    let (status, answer, reply) =
        wire::call(&request.app, paths::DEVICE_AUTHORIZATION, &request.headers, write_form(&fields)).await?;
    let device_code = answer["device_code"].as_str().filter(|_| status == 200);
    if let (Some(code), Some(name)) = (device_code, name) {
        let code = lookup(RecordKind::Device, code);
        request.app.db.write(move |tx| partners::set_device_name(tx, &code, &name)).await?;
    }
    Ok(reply)
}

/// The name of the machine. A replica must give one, because its key gets the name.
fn device_name(fields: &Fields) -> Result<Option<String>, Reply> {
    let name = fields.text("device_name").trim();
    if name.chars().count() > DEVICE_NAME_MAX || name.chars().any(char::is_control) {
        let text = format!("device_name must be one line of at most {DEVICE_NAME_MAX} characters.");
        return Err(error(400, "invalid_request", &text));
    }
    if name.is_empty() && fields.text("client_id") == REPLICA_CLIENT {
        return Err(error(400, "invalid_request", "The parameter device_name is missing: the name of the machine."));
    }
    Ok((!name.is_empty()).then(|| name.to_owned()))
}

/// The name of the machine that waits with a user code, as typed.
pub(super) async fn name_of_device(app: &App, user_code: &str) -> Result<Option<String>, Refusal> {
    let code = digest(&normalize_user_code(user_code));
    Ok(app.db.read(move |tx| partners::device_name(tx, &code)).await?)
}

/// Refuses a new record that ends by itself while too many of its kind wait: strangers may make them.
async fn has_room(app: &App, kind: RecordKind, most: u32) -> Result<(), Refusal> {
    let now = nanos_of(app.clock.now());
    if app.db.read(move |tx| partners::count_unexpired(tx, kind, now, most)).await? < most {
        return Ok(());
    }
    let text = "Too many requests wait for an owner's consent; wait a minute, and try again.";
    Err(error(429, "temporarily_unavailable", text).with_header("retry-after", "60").into())
}

/// `POST /oauth/par`.
pub async fn push(request: WebRequest) -> Result<Reply, Refusal> {
    let fields = form(&request)?;
    has_room(&request.app, RecordKind::Pushed, PUSHED_REQUESTS_MAX).await?;
    Ok(wire::call(&request.app, paths::PAR, &request.headers, write_form(&fields)).await?.2)
}

/// `POST /oauth/revoke`. The answer is the same whether the token was known or not.
pub async fn revoke(request: WebRequest) -> Result<Reply, Refusal> {
    let fields = form(&request)?;
    Ok(wire::call(&request.app, paths::REVOKE, &request.headers, write_form(&fields)).await?.2)
}

/// `POST /oauth/introspect`, with an access token of the same grant.
pub async fn introspect(request: WebRequest) -> Result<Reply, Refusal> {
    admit(&request, false)?;
    let fields = request.form();
    let bearer = request.header(AUTHORIZATION.as_str()).unwrap_or_default();
    let bearer = bearer.split_once(' ').map_or("", |(_, token)| token.trim()).to_owned();
    let app = &request.app;
    let Some(asker) = grant_of_access(app, &bearer).await? else {
        let challenge = "Bearer error=\"invalid_token\"".to_owned();
        let text = "Send an access token of the same grant as Bearer.";
        return Ok(error(401, "invalid_token", text).with_header("www-authenticate", challenge));
    };
    let token = fields.text("token");
    let described = match grant_of_access(app, token).await? {
        Some(key) => Some((key, "access_token")),
        None => grant_of_refresh(app, token).await?.map(|key| (key, "refresh_token")),
    };
    let answer = match described {
        Some((key, use_of_token)) if key.id == asker.id => describe(app, &key, use_of_token),
        _ => json!({ "active": false }),
    };
    Ok(web::json(200, answer.to_string()))
}

fn describe(app: &App, key: &Key, use_of_token: &str) -> Value {
    json!({
        "active": true,
        "client_id": key.client,
        "sub": key.id,
        "scope": key.scopes.join(" "),
        "token_type": "Bearer",
        "token_use": use_of_token,
        "aud": [&*app.base_url],
        "iss": &*app.base_url,
        "exp": key.expires_at.map(Timestamp::seconds),
    })
}

/// The valid grant of an access token.
async fn grant_of_access(app: &App, token: &str) -> Result<Option<Key>, Refusal> {
    if parse_token(TokenKind::Access, token).is_none() {
        return Ok(None);
    }
    let (hash, now) = (digest(token), app.clock.now());
    let found = app.db.read(move |tx| keys::find_by_access_token(tx, &hash)).await?;
    Ok(found.filter(|key| key.end_reason(now).is_none()))
}

/// The valid grant of a refresh token that was not used.
async fn grant_of_refresh(app: &App, token: &str) -> Result<Option<Key>, Refusal> {
    if parse_token(TokenKind::Refresh, token).is_none() {
        return Ok(None);
    }
    let (hash, secret, now) = (digest(token), wire::from_shown(TokenKind::Refresh, token), app.clock.now());
    let found = app.db.read(move |tx| {
        let Some(record) = partners::get(tx, RecordKind::Refresh, &hash)? else { return Ok(None) };
        // A token that was used stays known, so that its reuse is noticed.
        let is_used = open_json::<RefreshTokenRecord>(&secret, &record.body)?.state != RefreshTokenState::Active;
        let (Some(end), Some(grant), false) = (record.expires_at, record.subject, is_used) else { return Ok(None) };
        let (end, grant) = (Timestamp::from_millis(end / 1_000_000), keys::find_by_id(tx, &grant)?);
        Ok(grant.map(|key| Key { expires_at: Some(key.expires_at.map_or(end, |grant| grant.min(end))), ..key }))
    });
    Ok(found.await?.filter(|key| key.end_reason(now).is_none()))
}

/// The fields of a form that the server admits.
fn form(request: &WebRequest) -> Result<Fields, Reply> {
    let fields = request.form();
    admit(request, fields.text("client_id") == REPLICA_CLIENT)?;
    read_fields(&request.app, fields)
}
