//! The address of the service: the socket, the URL for clients, and warnings about both. Must not know how requests are
//! answered.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::http::Uri;
use tokio::net::TcpListener;

use crate::config::Config;

/// Binds a socket. Returns the actual address, because port 0 takes a free port.
pub(crate) async fn listen(wanted: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(wanted).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// The URL at which clients reach the service. Without one in the settings, a service on all addresses names this machine.
pub(crate) fn public_url(config: &Config) -> String {
    let scheme = if config.tls.is_some() { "https" } else { "http" };
    config.base_url.clone().unwrap_or_else(|| {
        let mut address = config.listen;
        match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        format!("{scheme}://{address}")
    })
}

/// The host in the public URL. None: no public URL is set.
pub(crate) fn host(config: &Config) -> Option<String> {
    let url: Uri = config.base_url.as_ref()?.parse().ok()?;
    url.host().map(str::to_owned)
}

/// Warns of an address that clients cannot reach, and of one that they reach without encryption.
pub(crate) fn warn_of_address(config: &Config, address: SocketAddr) {
    if config.base_url.is_none() && address.ip().is_unspecified() {
        tracing::warn!(%address, "links lead to this machine alone; set --base-url to the public URL of this service");
    }
    let is_https = config.base_url.as_ref().is_some_and(|url| url.starts_with("https://"));
    match config.tls {
        Some(_) if config.base_url.is_some() && !is_https => {
            tracing::warn!(
                "--base-url begins with http://, but this service speaks HTTPS; links of the service will fail"
            );
        }
        None if !address.ip().is_loopback() && !is_https => {
            tracing::warn!(
                %address,
                "keys and records travel unencrypted, and other machines can reach this address; use --tls-cert and \
                 --tls-key, or listen on 127.0.0.1 behind a proxy with TLS and set --base-url to its https address"
            );
        }
        _ => {}
    }
}
