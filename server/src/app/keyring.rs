//! What is known of a key that was presented, and the keys that were looked up lately. Must not know requests, nor how a
//! key is looked up.

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

/// A key that was presented and holds.
pub struct Principal {
    /// The key, its team and home.
    pub key: Key,
    allowlist: Vec<IpNet>,
}

impl Principal {
    /// The principal of a stored key.
    pub fn from_key(key: Key) -> Principal {
        // An entry that cannot be read allows nothing: better a key that is refused than one that is open to all.
        let nowhere = IpNet::from(IpAddr::from([0, 0, 0, 0]));
        let allowlist = key.allowlist.iter().map(|network| network.parse().unwrap_or(nowhere)).collect();
        Principal { key, allowlist }
    }

    /// Whether it carries a scope.
    pub fn has_scope(&self, scope: &str) -> bool {
        self.key.scopes.iter().any(|held| held == scope)
    }

    /// Refuses what needs a scope that it does not carry.
    pub fn require_scope(&self, scope: &str) -> Result<(), Problem> {
        if self.has_scope(scope) {
            return Ok(());
        }
        let message = format!("This operation needs the scope {scope}.");
        Err(Problem::new(ProblemType::InsufficientScope, message).with("required_scope", scope))
    }

    /// The id of the home it reaches.
    pub fn home_id(&self) -> Uuid {
        Uuid::try_parse(&self.key.home_id).unwrap_or_default()
    }

    /// Whether it may be used from an address.
    pub fn allows_address(&self, address: Option<IpAddr>) -> bool {
        let is_allowed = |address| self.allowlist.iter().any(|network| network.contains(&address));
        self.allowlist.is_empty() || address.is_some_and(is_allowed)
    }

    /// Whether its team's plan allows it: live keys need the paid one.
    pub fn is_allowed_by_plan(&self) -> bool {
        self.key.environment == Environment::Test || self.key.plan == Plan::Paid
    }

    /// Whether the key still holds at a moment.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.key.revoked_at.is_none() && self.key.expires_at.is_none_or(|end| now < end)
    }
}

/// How long a key that was looked up is believed without looking again: well under the second in which a revoked key
/// must stop working.
const TRUST_TIME: Duration = Duration::from_millis(500);
/// Keys remembered at once.
const CACHED_KEYS_MAX: usize = 10_000;

/// The keys that were looked up lately.
#[derive(Default)]
pub struct Keyring {
    known: Mutex<HashMap<[u8; 32], CachedKey>>,
}

struct CachedKey {
    since: Duration,
    principal: Arc<Principal>,
}

impl Keyring {
    /// Believes nothing any more: keys may have changed.
    pub fn forget(&self) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// A key that was looked up a moment ago.
    pub fn recall(&self, hash: &[u8; 32], passed: Duration) -> Option<Arc<Principal>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let CachedKey { since, principal } = known.get(hash)?;
        (passed.saturating_sub(*since) < TRUST_TIME).then(|| principal.clone())
    }

    /// Notes that a believed key was used, so that the calls that follow need not; it is believed no longer for that.
    pub fn touch(&self, principal: &Principal, now: Timestamp) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(&principal.key.hash) {
            let key = Key { last_used_at: Some(now), ..principal.key.clone() };
            known.principal = Arc::new(Principal { key, allowlist: principal.allowlist.clone() });
        }
    }

    /// Believes a key for a moment.
    pub fn remember(&self, principal: &Arc<Principal>, passed: Duration) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= CACHED_KEYS_MAX {
            known.clear();
        }
        known.insert(principal.key.hash, CachedKey { since: passed, principal: principal.clone() });
    }
}
