//! A connection to a server: the key is asked about, the database becomes that home's, the profile is written. As
//! `hearth-replica init` does it. Must not know the screen.

use hearth_contract::key::parse_key;
use hearth_replica::profile::Profile;
use hearth_replica::sync::identify;
use hearth_replica::{Origin, Replica};
use secrecy::SecretString;

/// Connects, or says why not.
pub(super) fn connect(profile: &mut Profile, server: &str, key: &str) -> Result<(), String> {
    if parse_key(key.trim()).is_none() {
        return Err(
            "This is no API key: it has a typing error, or it was cut. `hearth-server key create` makes one.".into()
        );
    }
    let key: SecretString = key.trim().to_owned().into();
    let server = server.trim().trim_end_matches('/').to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let identity = runtime.block_on(identify(&server, &key)).map_err(|error| error.to_string())?;
    let replica = Replica::open(&profile.db, Origin::Tui).map_err(|error| error.to_string())?;
    if !replica.adopt(&server, &identity).map_err(|error| error.to_string())? {
        return Err(format!("{} is the replica of another home.", profile.db.display()));
    }
    (profile.server, profile.key) = (Some(server), Some(key));
    profile.save().map_err(|error| error.to_string())
}
