//! Authentication: from the Authorization header to a [`Principal`] (contract 11). Must not know which operation the
//! request asks for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::{TokenKind, parse_key, parse_token};
use hearth_contract::problem::{Problem, ProblemType};
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::reply::Refusal;
use crate::app::App;
use crate::app::keyring::Principal;
use crate::app::usage::Counted;
use crate::home::sandbox;
use crate::random::fresh_id;
use crate::store::keys;

/// Precision of the stored last use of a key, in milliseconds.
const LAST_USED_PRECISION_MS: i64 = 60_000;

/// Verifies the key of a request. Errors: no key in the header, or a key that is unknown, revoked or expired.
pub async fn identify(app: &Arc<App>, headers: &HeaderMap) -> Result<Arc<Principal>, Refusal> {
    let principal = find_key(app, bearer_token(headers)?).await?;
    if principal.is_valid_at(app.clock.now()) { Ok(principal) } else { Err(invalid_key().into()) }
}

/// Checks the plan of the team and then the client's address. Errors: `plan_required`, `ip_not_allowed`.
pub fn check_plan_and_address(
    app: &Arc<App>,
    principal: &Principal,
    headers: &HeaderMap,
    peer: SocketAddr,
) -> Result<(), Refusal> {
    if !principal.is_allowed_by_plan() {
        return Err(
            Problem::new(ProblemType::PlanRequired, "Live keys need the paid plan; this team's is free.").into()
        );
    }
    let address = client_address(headers, peer, &app.config.trusted_proxies);
    if !principal.allows_address(address) {
        let message = match address {
            Some(address) => format!("This key may not be used from {address}."),
            None => "This key may not be used from an address that the proxy does not tell.".to_owned(),
        };
        let address = address.map(|address| address.to_string());
        return Err(Problem::new(ProblemType::IpNotAllowed, message).with("address", address).into());
    }
    update_last_used(app, principal, app.clock.now());
    Ok(())
}

/// Fills the sandbox of a key at the first use (contract 11). Concurrent first requests queue, and the later ones find it filled.
pub async fn fill_sandbox(app: &Arc<App>, principal: &Principal) -> Result<(), Refusal> {
    if !principal.key.is_home_unfilled {
        return Ok(());
    }
    let (number, epoch, now) = (principal.key.home, app.db.epoch(), app.clock_guard.now(&app.clock)?);
    app.db.write_for(number, move |tx| sandbox::fill_once(tx, number, epoch, now, &mut || fresh_id(now))).await?;
    app.keyring.forget();
    Ok(())
}

/// Counts a 429 response of a key. Sets `flagged_at` of the key after too many of them (contract 11); a flagged key
/// still works.
pub async fn record_refusal(app: &Arc<App>, key: &str) {
    app.usage.count(key, Counted::Refused, app.clock.now());
    if !app.refusals.record(key, app.clock.elapsed()) {
        return;
    }
    let (id, now) = (key.to_owned(), app.clock.now());
    match app.db.write(move |tx| keys::flag(tx, &id, now)).await {
        Ok(()) => {
            app.keyring.forget();
            tracing::warn!(key, "a key was flagged for repeated refusals");
        }
        Err(error) => tracing::warn!(%error, key, "a key could not be flagged"),
    }
}

/// Whether the key of an open stream is still valid. A stream of a partner goes on while the grant lives, although its
/// token has expired (contract 20). None: the database is too busy to answer.
pub async fn is_still_valid(app: &Arc<App>, principal: &Principal) -> Option<bool> {
    still_valid(app, principal).await.map(|found| found.is_some())
}

/// The key of an open stream as it is stored now; of a partner, the grant. Some(None): it is no longer valid. None: the database is too busy to
/// answer.
pub async fn still_valid(app: &Arc<App>, principal: &Principal) -> Option<Option<Principal>> {
    let id = principal.key.id.clone();
    let found = app.db.read(move |tx| keys::find_by_id(tx, &id)).await.ok()?;
    let principal = found.map(Principal::from_key);
    Some(principal.filter(|principal| principal.is_valid_at(app.clock.now()) && principal.is_allowed_by_plan()))
}

async fn find_key(app: &Arc<App>, text: &str) -> Result<Arc<Principal>, Refusal> {
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    if let Some(principal) = app.keyring.recall(&hash, app.clock.elapsed()) {
        return Ok(principal);
    }
    let is_token = app.serves_partners() && parse_token(TokenKind::Access, text).is_some();
    if !is_token && parse_key(text).is_none() {
        return Err(invalid_key().into());
    }
    // Not an inline read, because an inline read may be a moment late: a key that another process just made is valid at
    // once.
    let find = if is_token { keys::find_by_access_token } else { keys::find_by_hash };
    let found = app.db.read(move |tx| find(tx, &hash)).await?;
    match found {
        Some(key) if bool::from(key.hash.ct_eq(&hash)) => {
            let principal = Arc::new(Principal::from_key(key));
            app.keyring.remember(&principal, app.clock.elapsed());
            Ok(principal)
        }
        _ => Err(invalid_key().into()),
    }
}

fn bearer_token(headers: &HeaderMap) -> Result<&str, Problem> {
    let missing = |message: &str| Problem::new(ProblemType::AuthenticationRequired, message);
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let Some(value) = values.next() else {
        return Err(missing("The request has no Authorization header."));
    };
    if values.next().is_some() {
        return Err(missing("The request has more than one Authorization header."));
    }
    let text = value.to_str().unwrap_or_default();
    match text.split_once(' ') {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case("bearer") && !key.trim().is_empty() => Ok(key.trim()),
        _ => Err(missing("The Authorization header is not `Bearer` and a key.")),
    }
}

/// The same error for unknown, revoked, expired and mistyped keys, because the difference would reveal existing keys.
fn invalid_key() -> Problem {
    Problem::new(ProblemType::InvalidApiKey, "The API key is unknown, revoked or expired.")
}

/// The client's address: the peer's address, or the last address in `X-Forwarded-For` that is no trusted proxy. None: a
/// trusted proxy names a client without a readable address.
pub(super) fn client_address(headers: &HeaderMap, peer: SocketAddr, trusted: &[IpNet]) -> Option<IpAddr> {
    let is_trusted = |address: &IpAddr| trusted.iter().any(|network| network.contains(address));
    let mut address = peer.ip().to_canonical();
    let hops: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .collect();
    for hop in hops.iter().rev() {
        if !is_trusted(&address) {
            break;
        }
        address = hop_address(hop)?;
    }
    Some(address)
}

/// Parses one hop of `X-Forwarded-For`. Some proxies add the port, and put quotes around an IPv6 address.
fn hop_address(hop: &str) -> Option<IpAddr> {
    let hop = hop.trim();
    let hop = hop.strip_prefix('"').and_then(|hop| hop.strip_suffix('"')).unwrap_or(hop);
    let bare = hop.strip_prefix('[').and_then(|hop| hop.strip_suffix(']')).unwrap_or(hop);
    let address = bare.parse::<IpAddr>().or_else(|_| hop.parse::<SocketAddr>().map(|socket| socket.ip()));
    address.ok().map(|address| address.to_canonical())
}

/// Stores the last use of a key, with a precision of one minute. The request does not wait for the write.
fn update_last_used(app: &Arc<App>, principal: &Principal, now: Timestamp) {
    let stale = |last: Timestamp| now.millis() - last.millis() >= LAST_USED_PRECISION_MS;
    if principal.key.last_used_at.is_none_or(stale) {
        app.keyring.touch(principal, now);
        let (app, id) = (app.clone(), principal.key.id.clone());
        tokio::spawn(async move {
            if let Err(error) = app.db.write(move |tx| keys::set_last_used(tx, &id, now)).await {
                tracing::debug!(%error, "the last use of a key was not kept");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_address_needs_trusted_proxy() {
        let peer: SocketAddr = "10.0.0.1:5".parse().unwrap();
        let proxies: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let headers = |text: &str| [("x-forwarded-for".parse().unwrap(), text.parse().unwrap())].into_iter().collect();
        for (forwarded, trusted, expected) in [
            ("1.2.3.4", &[][..], "10.0.0.1"),
            ("1.2.3.4", &proxies, "1.2.3.4"),
            ("6.6.6.6, 1.2.3.4, 10.0.0.9", &proxies, "1.2.3.4"),
            ("1.2.3.4:567", &proxies, "1.2.3.4"),
            ("[2001:db8::1]:443", &proxies, "2001:db8::1"),
            ("[2001:db8::1]", &proxies, "2001:db8::1"),
            ("\"[::ffff:1.2.3.4]:5\"", &proxies, "1.2.3.4"),
            ("", &[], "10.0.0.1"),
        ] {
            let found = client_address(&headers(forwarded), peer, trusted).map(|address| address.to_string());
            assert_eq!(found.as_deref(), Some(expected), "{forwarded}");
        }
        // A client that the proxy hides does not have the address of the proxy.
        for hidden in ["unknown", "_hidden", "", "1.2.3.4, ", "nonsense"] {
            assert_eq!(client_address(&headers(hidden), peer, &proxies), None, "{hidden}");
        }
        assert_eq!(client_address(&HeaderMap::new(), peer, &proxies), Some(peer.ip()));
    }
}
