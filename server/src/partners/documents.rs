//! Clients whose id is the address of a document that describes them (`--partners open`, contract 20): the only request
//! that the server sends. Must not know who asks for the client.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hearth_contract::paths;
use oauth_as::cimd::{CimdPolicy, ClientIdUrl, ValidatedClientIdDocument};
use oauth_as::store::Storage;
use reqwest::Url;
use reqwest::header::ACCEPT;
use reqwest::redirect::Policy;

use super::registration::check;
use super::service;
use crate::app::App;
use crate::config::PartnerAccess;
use crate::store::StoreError;

/// The whole time for a document.
const FETCH_TIME_MAX: Duration = Duration::from_secs(5);

/// Reads the document of a client id, if it is an address and this server takes such clients, and stores the client. Err: a
/// sentence for the owner.
pub(super) async fn refresh(app: &App, client_id: &str) -> Result<Result<(), String>, StoreError> {
    if app.partners() != Some(PartnerAccess::Open) || !client_id.starts_with("https://") {
        return Ok(Ok(()));
    }
    let policy = service::documents(&format!("{}{}", app.base_url, paths::REGISTER));
    let client = match read(client_id, &policy).await {
        Ok(document) => document.to_client(),
        Err(cause) => return Ok(Err(format!("The description of the program at {client_id} is not usable: {cause}."))),
    };
    let stored = service::storage(app).put_client(client).await;
    stored.map(Ok).map_err(|error| StoreError::Corrupt(error.to_string()))
}

async fn read(client_id: &str, policy: &CimdPolicy) -> Result<ValidatedClientIdDocument, String> {
    let address = ClientIdUrl::parse(client_id, policy).map_err(|error| error.to_string())?;
    let body = tokio::time::timeout(FETCH_TIME_MAX, fetch(&address, policy)).await;
    let body = body.map_err(|_| format!("no answer within {} s", FETCH_TIME_MAX.as_secs()))??;
    let members = serde_json::from_slice(&body).map_err(|_| "it is not a JSON object".to_owned())?;
    check(&members).map_err(|_| "its name or a redirect address is not allowed".to_owned())?;
    ValidatedClientIdDocument::validate(&address, &body, policy).map_err(|error| error.to_string())
}

/// Fetches the document from one public address, without redirects, up to the limit of the policy.
async fn fetch(address: &ClientIdUrl, policy: &CimdPolicy) -> Result<Vec<u8>, String> {
    let url = Url::parse(address.as_str()).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let socket = resolve(&host, url.port_or_known_default().unwrap_or(443), policy).await?;
    // Connects to the address that was checked: a second look-up could give another one.
    let client = reqwest::Client::builder().no_proxy().redirect(Policy::none()).resolve(&host, socket).build();
    let client = client.map_err(|error| error.to_string())?;
    let answer = client.get(url).header(ACCEPT, "application/json").send().await;
    let mut answer = answer.map_err(|_| "the address does not answer".to_owned())?;
    if answer.status() != 200 {
        return Err(format!("the address answers with status {}", answer.status().as_u16()));
    }
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(|_| "the answer broke off".to_owned())? {
        body.extend_from_slice(&piece);
        if body.len() > policy.max_document_bytes {
            return Err(format!("it is longer than {} bytes", policy.max_document_bytes));
        }
    }
    Ok(body)
}

/// The first address of a host. Refused when any address of the host is not public.
async fn resolve(host: &str, port: u16, policy: &CimdPolicy) -> Result<SocketAddr, String> {
    let bare = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((bare, port)).await.map_err(|_| format!("{host} has no address"))?;
    let found: Vec<SocketAddr> = found.collect();
    if !found.iter().all(|socket| is_public(socket.ip(), policy)) {
        return Err(format!("{host} is not a public address"));
    }
    found.first().copied().ok_or_else(|| format!("{host} has no address"))
}

/// Whether an address is public, by the list of the protocol library.
fn is_public(address: IpAddr, policy: &CimdPolicy) -> bool {
    let host = match address {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    };
    ClientIdUrl::parse(&format!("https://{host}/"), policy).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_never_asked() {
        let policy = CimdPolicy::new();
        for public in ["1.1.1.1", "2606:4700::1111"] {
            assert!(is_public(public.parse().unwrap(), &policy), "{public}");
        }
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "::1",
            "fe80::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
        ] {
            assert!(!is_public(private.parse().unwrap(), &policy), "{private}");
        }
    }

    #[tokio::test]
    async fn name_of_this_machine_is_refused() {
        let refused = resolve("localhost", 443, &CimdPolicy::new()).await.unwrap_err();
        assert_eq!(refused, "localhost is not a public address");
    }
}
