//! Types of the core as types of the store. Must not decide anything.

use hearth_contract::formats::Timestamp;

use super::messages::Moment;
use crate::store::sync_state;
use crate::sync::core::{Identity, Millis};

/// The home of a key, as saved in the database.
pub(crate) fn stored_home(server: &str, identity: &Identity) -> sync_state::Home {
    sync_state::Home {
        server: server.to_owned(),
        id: identity.home_id.clone(),
        name: identity.home_name.clone(),
        environment: identity.environment.clone(),
    }
}

/// A time of the steady clock on the wall clock.
pub(super) fn wall_time(now: Moment, at: Millis) -> Timestamp {
    now.wall.plus_millis(at - now.steady)
}
