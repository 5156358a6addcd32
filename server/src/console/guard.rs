//! Which requests a page accepts: host, origin of a form, and connection (contract 19). Protects against other web sites that
//! send forms, point their names at this machine, or listen on the way. Must not know sessions or pages.

use std::net::IpAddr;

use axum::http::Method;
use axum::http::uri::Authority;

use super::page::{Frame, notice};
use crate::config::origin;
use crate::http::reply::Refusal;
use crate::http::web::WebRequest;

/// Refuses a request with a foreign host, and a form that another site sent.
pub fn check(request: &WebRequest) -> Result<(), Refusal> {
    check_host(request)?;
    check_origin(request)
}

/// Refuses a host that is neither the base URL's, an IP address, nor localhost, with any port. Another site could point its own
/// name at this machine, and its pages could then read answers.
pub fn check_host(request: &WebRequest) -> Result<(), Refusal> {
    let sent = request.host().unwrap_or_default();
    if is_own_host(&sent, &request.app.base_url) {
        return Ok(());
    }
    let text = "This server does not know the name in the address bar. Open it by its IP address or as localhost. To use \
                this name, start the server with --base-url and the address that you typed, without a path.";
    Err(notice(421, Frame::public("Wrong host"), text, None).into())
}

/// Refuses a form that does not come from a page of this server. `Sec-Fetch-Site` decides where the browser sends it, else
/// `Origin`; a request with neither is refused.
pub fn check_origin(request: &WebRequest) -> Result<(), Refusal> {
    if request.method == Method::GET {
        return Ok(());
    }
    let is_own = match (request.header("sec-fetch-site"), request.header("origin")) {
        (Some(site), _) => site == "same-origin",
        (None, Some(sent)) => {
            let (sent, base_url) = (origin(&sent), origin(&request.app.base_url));
            sent.is_some() && (sent == request.origin() || sent == base_url)
        }
        (None, None) => false,
    };
    if is_own {
        return Ok(());
    }
    let text =
        "The form was not sent by a page of this server. Open the console in this browser, and send the form there.";
    Err(notice(403, Frame::public("Refused"), text, Some(("/console", "To the console"))).into())
}

/// Refuses a password that would travel unencrypted between two machines.
pub fn check_connection(request: &WebRequest) -> Result<(), Refusal> {
    let is_local = request.peer.is_some_and(|peer| peer.is_loopback()) && !request.is_forwarded;
    if request.is_secure || is_local || request.app.config.is_console_plain {
        return Ok(());
    }
    let text = "Your password would travel unencrypted, so sign-in is refused from other machines. The operator can start \
                the server with --tls-cert and --tls-key, name a proxy with TLS by --trusted-proxy, or accept the risk in a \
                trusted network with --console-plain.";
    Err(notice(403, Frame::public("Not encrypted"), text, None).into())
}

fn is_own_host(sent: &str, base_url: &str) -> bool {
    let Ok(sent) = sent.parse::<Authority>() else { return false };
    let host = sent.host().to_ascii_lowercase();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host);
    let own = origin(base_url);
    let own = own.as_deref().and_then(|origin| origin.split_once("://")).and_then(|(_, rest)| rest.rsplit_once(':'));
    host == "localhost" || bare.parse::<IpAddr>().is_ok() || own.is_some_and(|(own, _)| own == host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_hosts_are_base_url_addresses_and_localhost() {
        let base = "https://Hearth.example.org";
        for own in
            ["hearth.example.org", "HEARTH.example.org:8443", "localhost", "localhost:1", "127.0.0.1:8750", "[::1]:5"]
        {
            assert!(is_own_host(own, base), "{own}");
        }
        for foreign in
            ["", "example.org", "evil.hearth.example.org", "nas.local:8750", "127.0.0.1.example", "localhost.evil"]
        {
            assert!(!is_own_host(foreign, base), "{foreign}");
        }
    }
}
