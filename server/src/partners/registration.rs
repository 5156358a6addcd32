//! `POST /oauth/register` (RFC 7591): public clients that redirect to https or to their own machine. Must not know how a
//! client is stored.

use std::net::IpAddr;
use std::time::Duration;

use axum::http::Uri;
use hearth_contract::paths;
use hearth_contract::printed_text::is_harmless;
use serde_json::{Map, Value, json};

use super::endpoints::{admit, limit};
use super::wire::{self, error};
use crate::app::address_limits::AddressRule;
use crate::http::reply::{Refusal, Reply};
use crate::http::web::WebRequest;
use crate::store::partners;

/// Registrations of an address.
const REGISTRATIONS: AddressRule = AddressRule { name: "registrations", calls: 10, window: Duration::from_secs(3600) };
/// Clients that no owner has agreed to, at most.
const UNUSED_CLIENTS_MAX: u32 = 100;
/// Longest name of a client, in characters.
const NAME_MAX: usize = 100;
/// Longest redirect address, in bytes.
const REDIRECT_MAX: usize = 2000;
/// The grants that a client may register. Others are left out of its registration (RFC 7591 3.2.1).
const GRANTS: [&str; 3] = ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"];

/// Registers a client.
pub async fn register(request: WebRequest) -> Result<Reply, Refusal> {
    admit(&request, false)?;
    limit(&request, REGISTRATIONS)?;
    let Ok(Value::Object(mut client)) = serde_json::from_slice(&request.body) else {
        return Ok(error(400, "invalid_client_metadata", "The body is not a JSON object."));
    };
    check(&client)?;
    adapt(&mut client);
    if request.app.db.read(partners::count_unused_clients).await? >= UNUSED_CLIENTS_MAX {
        let text = "Too many clients wait for an owner's consent; they are dropped after a day.";
        return Ok(error(429, "temporarily_unavailable", text).with_header("retry-after", "3600"));
    }
    let body = Value::Object(client).to_string().into_bytes();
    Ok(wire::call(&request.app, paths::REGISTER, &request.headers, body).await?.2)
}

/// Refuses redirects and names that could deceive an owner.
pub(super) fn check(client: &Map<String, Value>) -> Result<(), Reply> {
    let redirects = client.get("redirect_uris").and_then(Value::as_array).cloned().unwrap_or_default();
    if let Some(refused) = redirects.iter().find(|uri| !uri.as_str().is_some_and(is_safe_redirect)) {
        let text = format!("{refused} is neither https nor http at this machine (127.0.0.1, [::1], localhost).");
        return Err(error(400, "invalid_redirect_uri", &text));
    }
    let name = client.get("client_name").map_or(Some(""), Value::as_str);
    if name.is_none_or(|name| name.chars().count() > NAME_MAX || !name.chars().all(is_harmless)) {
        let text = format!("client_name must be one line of at most {NAME_MAX} visible characters, without flags.");
        return Err(error(400, "invalid_client_metadata", &text));
    }
    Ok(())
}

/// Makes the client public, and leaves out what this server does not offer. The answer shows what was registered.
fn adapt(client: &mut Map<String, Value>) {
    client.insert("token_endpoint_auth_method".to_owned(), "none".into());
    if let Some(Value::Array(grants)) = client.get_mut("grant_types") {
        grants.retain(|grant| grant.as_str().is_some_and(|grant| GRANTS.contains(&grant)));
    }
    let redirects = client.get("redirect_uris").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    client.entry("grant_types").or_insert_with(|| match redirects {
        true => json!(["authorization_code", "refresh_token"]),
        false => json!([GRANTS[2], "refresh_token"]),
    });
}

/// Whether codes may travel to an address: https, or http at the same machine. Without fragment and without a user. The host is
/// a plain name or address, because the Content-Security-Policy of the consent page names it.
fn is_safe_redirect(text: &str) -> bool {
    let Ok(uri) = text.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let is_plain = |host: &str| {
        host.parse::<IpAddr>().is_ok()
            || host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    let length = host.len() + uri.port_u16().map_or(0, |port| 1 + port.to_string().len());
    // Anything that is neither host nor port, such as a user or a port above 65535, makes the authority longer.
    let has_only_host_and_port = uri.authority().is_some_and(|authority| authority.as_str().len() == length);
    if !has_only_host_and_port
        || !is_plain(host.trim_matches(['[', ']']))
        || text.contains(['#', '\\'])
        || host.is_empty()
        || text.len() > REDIRECT_MAX
    {
        return false;
    }
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => {
            let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
            host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_reorder_text() {
        let named = |name: &str| check(json!({ "client_name": name }).as_object().expect("an object"));
        assert!(named("Café 🏠 Ltd").is_ok());
        for bad in ["Bank\u{202e}knaB", "two\nlines", "\u{2066}inner"] {
            assert!(named(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn redirects_are_https_or_loopback() {
        for good in ["https://app.example/cb?x=1", "http://127.0.0.1:5/cb", "http://[::1]/cb", "http://localhost:3000/"]
        {
            assert!(is_safe_redirect(good), "{good}");
        }
        for bad in [
            "http://app.example/cb",
            "https://app.example/cb#part",
            "https://user@app.example/cb",
            "https://a.example;sandbox/cb",
            "https://a.example,b/cb",
            "https://*/cb",
            "https://*.example/cb",
            "https://a.example:99999/cb",
            "https://a.example:/cb",
            "https://a'b/cb",
            "http://127.0.0.1.evil.example/cb",
            "http://localhost.evil.example/cb",
            "app:/cb",
            "javascript:alert(1)",
            "/cb",
            "https://",
            "",
        ] {
            assert!(!is_safe_redirect(bad), "{bad}");
        }
    }
}
