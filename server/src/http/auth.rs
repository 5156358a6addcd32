//! Who asks: from the Authorization header to a principal (contract 11). Must not know what is asked for.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::{Environment, parse_key};
use hearth_contract::problem::{Problem, ProblemType};
use ipnet::IpNet;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use super::reply::Refusal;
use crate::app::App;
use crate::store::homes::Plan;
use crate::store::keys::{self, Key};

/// A key that was presented and holds.
pub struct Principal {
    /// The key, its team and home.
    pub key: Key,
    allowlist: Vec<IpNet>,
}

impl Principal {
    /// Whether it carries a scope.
    pub fn may(&self, scope: &str) -> bool {
        self.key.scopes.iter().any(|held| held == scope)
    }

    /// The id of the home it reaches.
    pub fn home_id(&self) -> Uuid {
        Uuid::try_parse(&self.key.home_id).unwrap_or_default()
    }

    /// Whether the key still holds at a moment.
    fn holds(&self, now: Timestamp) -> bool {
        self.key.revoked_at.is_none() && self.key.expires_at.is_none_or(|end| now < end)
    }
}

/// How long a key that was looked up is believed without looking again: well under the second in which a revoked key
/// must stop working.
const BELIEVED: Duration = Duration::from_millis(500);
/// Keys remembered at once.
const REMEMBERED_MAX: usize = 10_000;
/// How exactly the last use of a key is kept.
const TOUCH_EVERY_MS: i64 = 60_000;

/// The keys that were looked up lately.
#[derive(Default)]
pub struct Keyring {
    known: Mutex<HashMap<[u8; 32], Known>>,
}

struct Known {
    since: Duration,
    principal: Arc<Principal>,
}

impl Keyring {
    /// Believes nothing any more: keys may have changed.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn recall(&self, hash: &[u8; 32], passed: Duration) -> Option<Arc<Principal>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { since, principal } = known.get(hash)?;
        (passed.saturating_sub(*since) < BELIEVED).then(|| principal.clone())
    }

    fn remember(&self, principal: &Arc<Principal>, passed: Duration) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(principal.key.hash, Known { since: passed, principal: principal.clone() });
    }
}

/// Finds out who asks: a key that holds.
pub async fn identify(app: &Arc<App>, headers: &HeaderMap) -> Result<Arc<Principal>, Refusal> {
    let principal = find(app, bearer(headers)?).await?;
    if principal.holds(app.clock.now()) { Ok(principal) } else { Err(invalid_key().into()) }
}

/// Whether who asks may ask from there: plan, then address.
pub fn admit(app: &Arc<App>, principal: &Principal, headers: &HeaderMap, peer: SocketAddr) -> Result<(), Refusal> {
    if principal.key.environment == Environment::Live && principal.key.plan == Plan::Free {
        return Err(
            Problem::new(ProblemType::PlanRequired, "Live keys need the paid plan; this team's is free.").into()
        );
    }
    let address = client_address(headers, peer, &app.config.trusted_proxies);
    if !principal.allowlist.is_empty() && !principal.allowlist.iter().any(|network| network.contains(&address)) {
        let message = format!("This key may not be used from {address}.");
        return Err(Problem::new(ProblemType::IpNotAllowed, message).with("address", address.to_string()).into());
    }
    touch(app, principal, app.clock.now());
    Ok(())
}

/// Notes that a key was refused with 429; flags it on disk when that happened too often (contract 11). A flagged key
/// still works.
pub async fn refused(app: &Arc<App>, key: &str) {
    if !app.refusals.note(key, app.clock.passed()) {
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

/// Whether a key that was good when its stream opened is good still.
pub async fn still_holds(app: &Arc<App>, principal: &Principal) -> bool {
    let hash = principal.key.hash;
    match app.db.read(move |tx| keys::by_hash(tx, &hash)).await {
        Ok(Some(key)) => principal_of(key).holds(app.clock.now()),
        Ok(None) => false,
        // A database that is busy says nothing about the key.
        Err(_) => true,
    }
}

async fn find(app: &Arc<App>, text: &str) -> Result<Arc<Principal>, Refusal> {
    if parse_key(text).is_none() {
        return Err(invalid_key().into());
    }
    let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    if let Some(principal) = app.keyring.recall(&hash, app.clock.passed()) {
        return Ok(principal);
    }
    let found = app.db.read(move |tx| keys::by_hash(tx, &hash)).await?;
    match found {
        Some(key) if bool::from(key.hash.ct_eq(&hash)) => {
            let principal = Arc::new(principal_of(key));
            app.keyring.remember(&principal, app.clock.passed());
            Ok(principal)
        }
        _ => Err(invalid_key().into()),
    }
}

fn principal_of(key: Key) -> Principal {
    // An entry that cannot be read allows nothing: better a key that is refused than one that is open to all.
    let allowlist = key
        .allowlist
        .iter()
        .map(|network| network.parse().unwrap_or(IpNet::from(IpAddr::from([0, 0, 0, 0]))))
        .collect();
    Principal { key, allowlist }
}

fn bearer(headers: &HeaderMap) -> Result<&str, Problem> {
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

/// One answer for unknown, revoked, expired and mistyped keys, so that it tells nothing about which keys exist.
fn invalid_key() -> Problem {
    Problem::new(ProblemType::InvalidApiKey, "The API key is unknown, revoked or expired.")
}

/// The socket's address, or what trusted proxies say of the client: the last address in `X-Forwarded-For` that is not
/// itself a trusted proxy.
fn client_address(headers: &HeaderMap, peer: SocketAddr, trusted: &[IpNet]) -> IpAddr {
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
        match hop.trim().parse::<IpAddr>() {
            Ok(hop) => address = hop.to_canonical(),
            Err(_) => break,
        }
    }
    address
}

/// Keeps the last use, to the minute, without making the request wait.
fn touch(app: &Arc<App>, principal: &Principal, now: Timestamp) {
    let stale = |last: Timestamp| now.millis() - last.millis() >= TOUCH_EVERY_MS;
    if principal.key.last_used_at.is_none_or(stale) {
        let (app, id) = (app.clone(), principal.key.id.clone());
        tokio::spawn(async move {
            if let Err(error) = app.db.write(move |tx| keys::touch(tx, &id, now)).await {
                tracing::debug!(%error, "the last use of a key was not kept");
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwarded_addresses_count_only_from_trusted_proxies() {
        let peer: SocketAddr = "10.0.0.1:5".parse().unwrap();
        let proxies: Vec<IpNet> = vec!["10.0.0.0/8".parse().unwrap()];
        let headers = |text: &str| [("x-forwarded-for".parse().unwrap(), text.parse().unwrap())].into_iter().collect();
        for (forwarded, trusted, expected) in [
            ("1.2.3.4", &[][..], "10.0.0.1"),
            ("1.2.3.4", &proxies, "1.2.3.4"),
            ("6.6.6.6, 1.2.3.4, 10.0.0.9", &proxies, "1.2.3.4"),
            ("nonsense", &proxies, "10.0.0.1"),
        ] {
            assert_eq!(client_address(&headers(forwarded), peer, trusted).to_string(), expected, "{forwarded}");
        }
    }
}
