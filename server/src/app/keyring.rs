//! A verified key with its rights, and a short-lived cache of verified keys. Must not know requests, nor how a key is
//! looked up in the database.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_contract::problem::{Problem, ProblemType};
use ipnet::IpNet;
use uuid::Uuid;

use crate::store::homes::Plan;
use crate::store::keys::Key;

/// A verified key: the caller of a request.
pub struct Principal {
    /// The stored key with its team and home.
    pub key: Key,
    allowlist: Vec<IpNet>,
}

impl Principal {
    /// Prepares a stored key for checks.
    pub fn from_key(key: Key) -> Principal {
        // An unreadable entry matches no real address: the key is refused rather than open to all.
        let nowhere = IpNet::from(IpAddr::from([0, 0, 0, 0]));
        let allowlist = key.allowlist.iter().map(|network| network.parse().unwrap_or(nowhere)).collect();
        Principal { key, allowlist }
    }

    /// Whether the key has a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.key.scopes.iter().any(|held| held == scope)
    }

    /// Refuses a key without a scope. Error: `insufficient_scope`.
    pub fn require_scope(&self, scope: &str) -> Result<(), Problem> {
        if self.has_scope(scope) {
            return Ok(());
        }
        let message = format!("This operation needs the scope {scope}.");
        Err(Problem::new(ProblemType::InsufficientScope, message).with("required_scope", scope))
    }

    /// The id of the home that the key belongs to.
    pub fn home_id(&self) -> Uuid {
        self.key.home_id
    }

    /// Whether the allowlist of the key admits an address. None: the address is unknown, and only an empty allowlist
    /// admits it.
    pub fn allows_address(&self, address: Option<IpAddr>) -> bool {
        let is_allowed = |address| self.allowlist.iter().any(|network| network.contains(&address));
        self.allowlist.is_empty() || address.is_some_and(is_allowed)
    }

    /// Whether the plan of the team allows the key: live keys need the paid plan.
    pub fn is_allowed_by_plan(&self) -> bool {
        self.key.environment == Environment::Test || self.key.plan == Plan::Paid
    }

    /// Whether a stream of the key may go on at a time, as far as the cached key tells: a token that has expired ends no
    /// stream.
    pub fn may_stream_at(&self, now: Timestamp) -> bool {
        self.key.client.is_some() || self.is_valid_at(now)
    }

    /// Whether the key is neither revoked nor expired at a time.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.key.revoked_at.is_none() && self.key.expires_at.is_none_or(|end| now < end)
    }
}

/// Lifetime of a cache entry. A revoked key must stop working within a second.
const TRUST_TIME: Duration = Duration::from_millis(500);
/// Cache entries, at most. The cache is cleared when full.
const CACHED_KEYS_MAX: usize = 10_000;

/// Recently verified keys, by the hash of the key.
#[derive(Default)]
pub struct Keyring {
    known: Mutex<HashMap<[u8; 32], CachedKey>>,
}

struct CachedKey {
    since: Duration,
    principal: Arc<Principal>,
}

impl Keyring {
    /// Clears the cache, because keys may have changed.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A cached key. `passed` is the monotonic time. None: not cached, or older than `TRUST_TIME`.
    pub fn recall(&self, hash: &[u8; 32], passed: Duration) -> Option<Arc<Principal>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedKey { since, principal } = known.get(hash)?;
        (passed.saturating_sub(*since) < TRUST_TIME).then(|| principal.clone())
    }

    /// Sets the last use of a cached key, so the next requests do not store the use again. The lifetime of the entry
    /// does not change.
    pub fn touch(&self, principal: &Principal, now: Timestamp) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(&principal.key.hash) {
            let key = Key { last_used_at: Some(now), ..principal.key.clone() };
            known.principal = Arc::new(Principal { key, allowlist: principal.allowlist.clone() });
        }
    }

    /// Caches a verified key. `passed` is the monotonic time.
    pub fn remember(&self, principal: &Arc<Principal>, passed: Duration) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CACHED_KEYS_MAX {
            known.clear();
        }
        known.insert(principal.key.hash, CachedKey { since: passed, principal: principal.clone() });
    }
}
