//! Connects a home to a server like `hearth-replica init`: checks the key, binds the database to the home, writes the
//! profile. Must not know the screen.

use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use hearth_contract::key::parse_key;
use hearth_replica::profile::Profile;
use hearth_replica::sync::{Identity, fetch_identity};
use hearth_replica::{Origin, Replica};
use secrecy::SecretString;

/// A server that accepted a key, and the home of the key.
#[derive(Debug)]
pub(super) struct ServerIdentity {
    server: String,
    key: SecretString,
    identity: Identity,
}

/// Asks the server for the home of a key. The request runs on its own thread, because the server may answer late or
/// never. The receiver gives the identity, or a sentence for the person.
pub(super) fn request_identity(server: &str, key: &str) -> io::Result<Receiver<Result<ServerIdentity, String>>> {
    let (sender, answer) = channel();
    let (server, key) = (with_scheme(server), key.trim().to_owned());
    thread::Builder::new().name("connect".into()).spawn(move || drop(sender.send(check_key(server, key))))?;
    Ok(answer)
}

fn check_key(server: String, key: String) -> Result<ServerIdentity, String> {
    if parse_key(&key).is_none() {
        return Err(
            "This is no API key: it has a typing error or is incomplete. `hearth-server key create` creates a key."
                .into(),
        );
    }
    let key: SecretString = key.into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let identity = runtime.block_on(fetch_identity(&server, &key)).map_err(|error| error.to_string())?;
    Ok(ServerIdentity { server, key, identity })
}

/// Binds the database to the home, and saves server and key in the profile. Returns the name of the home. Err: a sentence
/// for the person.
pub(super) fn adopt(profile: &mut Profile, identity: ServerIdentity) -> Result<String, String> {
    let ServerIdentity { server, key, identity } = identity;
    let replica = Replica::open(&profile.db, Origin::Tui).map_err(|error| error.to_string())?;
    if !replica.adopt(&server, &identity).map_err(|error| error.to_string())? {
        return Err(format!("{} belongs to another home.", profile.db.display()));
    }
    (profile.server, profile.key) = (Some(server), Some(key));
    profile.save().map_err(|error| error.to_string())?;
    Ok(identity.home_name)
}

/// The address with a scheme. Without a typed scheme: `http` for this machine, `https` for any other.
fn with_scheme(typed: &str) -> String {
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
    use super::with_scheme;

    #[test]
    fn address_needs_no_scheme() {
        for (typed, expected) in [
            ("127.0.0.1:38750", "http://127.0.0.1:38750"),
            (" localhost:8750/ ", "http://localhost:8750"),
            ("localhost.example.org", "https://localhost.example.org"),
            ("hearth.example.org", "https://hearth.example.org"),
            ("http://10.0.0.2:8750", "http://10.0.0.2:8750"),
        ] {
            assert_eq!(with_scheme(typed), expected);
        }
    }
}
