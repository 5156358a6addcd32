//! The request and the key that a fault strikes, for the log. Must not know what the fault does.

use std::sync::Arc;

use super::injector::FaultInjector;
use crate::app::keyring::Principal;
use crate::http::connection::RequestId;

/// The request that faults strike.
pub(super) struct Subject {
    pub(super) request_id: RequestId,
    /// The owner of the key. None: the key is not valid.
    pub(super) principal: Option<Arc<Principal>>,
}

impl Subject {
    /// Counts an injected fault and logs the fault with the new count.
    pub(super) fn log_injection(&self, faults: &FaultInjector, rule: usize, operation: &str) {
        let times = faults.count_injection(rule);
        let (request_id, key) = (&*self.request_id.0, self.principal.as_ref().map_or("-", |who| &*who.key.id));
        let rule = &*faults.plan().rules[rule].text;
        tracing::warn!(request_id, rule, times, operation, key, "a fault was injected");
    }
}
