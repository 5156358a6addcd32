//! Connects a home to a server like `hearth-replica init`: checks the key, binds the database to the home, writes the
//! profile. Must not know the screen.

use std::io;
use std::net::Ipv4Addr;
use std::thread;

use hearth_contract::key::parse_key;
use hearth_replica::profile::Profile;
use hearth_replica::sync::{Begun, DeviceCode, DeviceFlow, Identity, fetch_identity, machine_name};
use hearth_replica::{Origin, Replica, qr_lines};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A server that accepted a key, and the home of the key.
#[derive(Debug)]
pub(super) struct ServerIdentity {
    server: String,
    key: SecretString,
    identity: Identity,
}

/// What a person must do in a browser to approve this device.
#[derive(Debug, Clone)]
pub(super) struct Approval {
    /// The page in the browser.
    pub(super) address: String,
    /// The code to type there.
    pub(super) code: String,
    /// The same as a QR code; empty if the address is too long.
    pub(super) qr: Vec<String>,
}

/// News from the thread that connects.
#[derive(Debug)]
pub(super) enum News {
    /// A person must approve this device.
    Approval(Approval),
    /// The end: the identity, or a sentence for the person.
    Done(Result<ServerIdentity, String>),
}

impl Approval {
    fn new(code: &DeviceCode) -> Approval {
        Approval {
            address: code.verification_uri.clone(),
            code: code.user_code.clone(),
            qr: qr_lines(code.address_to_scan()).unwrap_or_default(),
        }
    }
}

/// Asks the server for the home of a key, or for a key if `key` is empty. The requests run on their own thread, because the
/// server may answer late or never. Dropping the receiver ends the thread.
pub(super) fn request_identity(server: &str, key: &str) -> io::Result<UnboundedReceiver<News>> {
    let (sender, news) = unbounded_channel();
    let (server, key) = (with_scheme(server), key.trim().to_owned());
    thread::Builder::new().name("connect".into()).spawn(move || {
        let done = connect(server, key, &sender);
        let _ = sender.send(News::Done(done));
    })?;
    Ok(news)
}

/// What is shown when the server gives no reason.
const NOT_OFFERED: &str =
    "This server approves no devices in a browser, or is no Hearth server: check the address, or type an API key.";

/// Gets a key from a person in a browser.
async fn key_by_approval(server: &str, news: &UnboundedSender<News>) -> Result<SecretString, String> {
    let flow = DeviceFlow::begin(server, &machine_name()).await.map_err(|error| error.to_string())?;
    let mut flow = match flow {
        Begun::Waiting(flow) => flow,
        Begun::NotOffered(reason) => return Err(reason.unwrap_or_else(|| NOT_OFFERED.to_owned())),
    };
    let _ = news.send(News::Approval(Approval::new(&flow.code)));
    tokio::select! {
        key = flow.wait() => key.map_err(|error| error.to_string()),
        () = news.closed() => Err("The person went back.".to_owned()),
    }
}

fn connect(server: String, key: String, news: &UnboundedSender<News>) -> Result<ServerIdentity, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let key: SecretString = match key.is_empty() {
        true => runtime.block_on(key_by_approval(&server, news))?,
        false => key.into(),
    };
    if parse_key(key.expose_secret()).is_none() {
        return Err(
            "This is no API key: it has a typing error or is incomplete. `hearth-server key create` creates a key."
                .into(),
        );
    }
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
