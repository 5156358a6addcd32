//! A connection to a server: the key is asked about, the database becomes that home's, the profile is written. As
//! `hearth-replica init` does it. Must not know the screen.

use std::net::Ipv4Addr;

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
    let server = address(server);
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

/// The address as it was meant: without a scheme one's own machine is asked in the open, any other one is not.
fn address(typed: &str) -> String {
    let typed = typed.trim().trim_end_matches('/');
    let host = typed.split([':', '/']).next().unwrap_or_default();
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: Ipv4Addr| ip.is_loopback());
    match typed.contains("://") {
        true => typed.to_owned(),
        false if is_here => format!("http://{typed}"),
        false => format!("https://{typed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::address;

    #[test]
    fn an_address_needs_no_scheme() {
        for (typed, expected) in [
            ("127.0.0.1:38750", "http://127.0.0.1:38750"),
            (" localhost:8750/ ", "http://localhost:8750"),
            ("localhost.example.org", "https://localhost.example.org"),
            ("hearth.example.org", "https://hearth.example.org"),
            ("http://10.0.0.2:8750", "http://10.0.0.2:8750"),
        ] {
            assert_eq!(address(typed), expected);
        }
    }
}
