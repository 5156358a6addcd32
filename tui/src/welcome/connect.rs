//! A connection to a server: the key is asked about, the database becomes that home's, the profile is written. As
//! `hearth-replica init` does it. Must not know the screen.

use std::io;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use hearth_contract::key::parse_key;
use hearth_replica::profile::Profile;
use hearth_replica::sync::{Identity, fetch_identity};
use hearth_replica::{Origin, Replica};
use secrecy::SecretString;

/// A server that knows a key, and whose it is.
#[derive(Debug)]
pub(super) struct Met {
    server: String,
    key: SecretString,
    identity: Identity,
}

/// Asks a server whose a key is, on a thread of its own: it may take long to answer, or never do so.
pub(super) fn ask(server: &str, key: &str) -> io::Result<Receiver<Result<Met, String>>> {
    let (sender, answer) = channel();
    let (server, key) = (address(server), key.trim().to_owned());
    thread::Builder::new().name("connect".into()).spawn(move || drop(sender.send(meet(server, key))))?;
    Ok(answer)
}

fn meet(server: String, key: String) -> Result<Met, String> {
    if parse_key(&key).is_none() {
        return Err(
            "This is no API key: it has a typing error, or it was cut. `hearth-server key create` makes one.".into()
        );
    }
    let key: SecretString = key.into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let identity = runtime.block_on(fetch_identity(&server, &key)).map_err(|error| error.to_string())?;
    Ok(Met { server, key, identity })
}

/// Makes this machine's database that home's and keeps server and key, or says why not.
pub(super) fn adopt(profile: &mut Profile, met: Met) -> Result<(), String> {
    let Met { server, key, identity } = met;
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
