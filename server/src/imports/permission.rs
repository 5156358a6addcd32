//! What the key that asked for an import may do now: it may have ended, or have lost scopes, since the request. Must not know
//! the rows of the file.

use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_contract::schema::Kind;

use crate::store::homes::Plan;
use crate::store::imports::{Failure, FailureCause, Job};
use crate::store::{StoreError, Tx, keys};

/// The scopes that the key had at the request and has now. The inner error, with one sentence: the key may do nothing
/// any more.
pub(super) fn scopes(tx: &Tx<'_>, job: &Job, now: Timestamp) -> Result<Result<Vec<String>, Failure>, StoreError> {
    let ended = |sentence: String| Ok(Err(Failure::new(FailureCause::Key, sentence)));
    let Some(key) = keys::find_by_id(tx, &job.key)? else {
        return ended("The key of this import has ended.".to_owned());
    };
    if let Some(end) = key.end_reason(now) {
        return ended(format!("The key of this import is {end}."));
    }
    if key.environment == Environment::Live && key.plan != Plan::Paid {
        let sentence = "The team of this import has no plan for live homes any more.";
        return Ok(Err(Failure::new(FailureCause::Plan, sentence)));
    }
    Ok(Ok(job.scopes.iter().filter(|scope| key.scopes.contains(scope)).cloned().collect()))
}

/// The scope that a row of a kind needs.
pub(super) fn needed(kind: Kind) -> String {
    format!("{}:write", kind.collection())
}
