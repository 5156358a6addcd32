//! What `serve` can be told (contract 17), validated once. Must not know how it is used.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::Uri;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Settings of a serving process.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the database lies.
    pub data: PathBuf,
    /// Where to accept connections; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Where metrics are told, apart from the API; None: nowhere.
    pub metrics_listen: Option<SocketAddr>,
    /// How long events are kept whole; None: for ever.
    pub retention: Option<Duration>,
    /// Between two heartbeats of a stream.
    pub heartbeat: Duration,
    /// Silence after which a stream carries a comment.
    pub keepalive: Duration,
    /// How long idempotency keys are remembered.
    pub idempotency_ttl: Duration,
    /// Calls for each key and minute; None: no limits.
    pub rate_limits: Option<RateLimits>,
    /// Open streams for each key.
    pub max_streams: usize,
    /// Networks whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins of web pages that may speak to `/mcp`, each as [`origin`] writes it.
    pub allow_origins: Vec<String>,
    /// How clients reach the service; None: by the address it listens on.
    pub base_url: Option<String>,
    /// Connections at once; further ones wait in the system's queue until one closes.
    pub connections_max: usize,
    /// Time for a request's headers to arrive (contract 12), also between two requests on one connection.
    pub headers_time_max: Duration,
    /// Time for a body to arrive (contract 12).
    pub body_time_max: Duration,
    /// Time in which a client must take some of its answer, streams aside: those are read as slowly as their reader will.
    pub write_time_max: Duration,
    /// Time for a search, from when it is asked.
    pub search_time_max: Duration,
}

impl Config {
    /// The defaults of the contract, on a free port of the loopback address.
    pub fn new(data: PathBuf) -> Config {
        Config {
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            metrics_listen: None,
            retention: Some(Duration::from_secs(30 * 24 * 3600)),
            heartbeat: Duration::from_secs(60),
            keepalive: Duration::from_secs(15),
            idempotency_ttl: Duration::from_secs(24 * 3600),
            rate_limits: Some(RateLimits::default()),
            max_streams: 10,
            trusted_proxies: Vec::new(),
            allow_origins: Vec::new(),
            base_url: None,
            connections_max: 16_384,
            headers_time_max: Duration::from_secs(10),
            body_time_max: Duration::from_secs(30),
            write_time_max: Duration::from_secs(30),
            search_time_max: Duration::from_secs(5),
        }
    }
}

/// Calls that a key has in each window of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// GET and HEAD.
    pub reads: u32,
    /// POST, PATCH and DELETE.
    pub writes: u32,
    /// Bulk calls.
    pub bulk: u32,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { reads: 300, writes: 60, bulk: 20 }
    }
}

/// Reads `off`, or `reads=300,writes=60,bulk=20` with any of the three left at its default.
pub fn parse_rate_limits(text: &str) -> Result<Option<RateLimits>, String> {
    if text == "off" {
        return Ok(None);
    }
    let mut limits = RateLimits::default();
    for part in text.split(',') {
        let (name, number) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=NUMBER"))?;
        let number: u32 = number.parse().map_err(|_| format!("`{number}` is not a number of calls"))?;
        if number == 0 {
            return Err(format!("{name} must be at least 1; leave limits out altogether with `off`"));
        }
        match name {
            "reads" => limits.reads = number,
            "writes" => limits.writes = number,
            "bulk" => limits.bulk = number,
            _ => return Err(format!("`{name}` is not reads, writes or bulk")),
        }
    }
    Ok(Some(limits))
}

/// Reads a time such as `500ms`, `30s`, `15m`, `12h` or `30d`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| format!("`{text}` is not a time such as 30s, 12h or 30d"))?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 3600 * 1000,
        "d" => 86_400 * 1000,
        _ if unit.starts_with(['.', ',']) => {
            return Err(format!("`{text}` is no whole number; write it in a smaller unit, as 500ms"));
        }
        _ => return Err(format!("`{text}` needs a unit: ms, s, m, h or d")),
    };
    let whole = number.checked_mul(millis).filter(|millis| *millis <= MAX_MILLIS);
    whole.map(Duration::from_millis).ok_or_else(|| format!("`{text}` is longer than 100 years"))
}

/// Reads a time between two things that happen again and again: not nothing, or they would happen all the time.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time.is_zero() { Err(format!("`{text}` must be longer than nothing, such as 15s")) } else { Ok(time) }
}

/// The longest silence of a stream. Clients take 45 s of it for a dead one, and what is on its way takes time too.
const KEEPALIVE_MAX: Duration = Duration::from_secs(30);

/// Reads the silence after which a stream carries a comment.
pub fn parse_keepalive(text: &str) -> Result<Duration, String> {
    let time = parse_interval(text)?;
    if time <= KEEPALIVE_MAX {
        return Ok(time);
    }
    Err(format!("`{text}` is too long: clients take 45s of silence for a dead stream; 30s at most"))
}

/// Reads a number of things of which there must be one at least.
pub fn parse_number(text: &str) -> Result<usize, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if number == 0 { Err("it must be at least 1".to_owned()) } else { Ok(number) }
}

/// Reads what links begin with: an http or https address, perhaps with a path.
pub fn parse_base_url(text: &str) -> Result<String, String> {
    let whole = text.parse::<Uri>().is_ok_and(|uri| uri.query().is_none()) && !text.contains(['@', '#']);
    match origin(text).filter(|_| whole) {
        Some(_) => Ok(text.to_owned()),
        None => Err(format!("`{text}` is not an address such as https://hearth.example.org")),
    }
}

/// Reads a retention: a time, or `forever`.
pub fn parse_retention(text: &str) -> Result<Option<Duration>, String> {
    if text == "forever" { Ok(None) } else { parse_duration(text).map(Some) }
}

/// Reads a network, such as `10.0.0.0/8`; an address is a network of its own.
pub fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.map(canonical).ok_or_else(|| format!("`{text}` is neither a network such as 192.168.1.0/24 nor an address"))
}

/// A network of IPv4 addresses in their IPv6 form (RFC 4291 2.5.5.2) as the network of IPv4 addresses that it is: so are those
/// written that come from it.
fn canonical(network: IpNet) -> IpNet {
    let mapped = |v6: Ipv6Net| Ipv4Net::new(v6.addr().to_ipv4_mapped()?, v6.prefix_len().checked_sub(96)?).ok();
    match network {
        IpNet::V6(v6) => mapped(v6).map_or(network, IpNet::V4),
        IpNet::V4(_) => network,
    }
}

/// The origin of an http or https address, its port said (RFC 6454): `https://example.org:443`.
pub fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let scheme = uri.scheme_str()?;
    let usual = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    Some(format!("{scheme}://{}:{}", uri.host()?.to_ascii_lowercase(), uri.port_u16().unwrap_or(usual)))
}

/// What stands in an address after the host, before every path of the service; "" where it is nothing.
pub fn base_path(url: &str) -> &str {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.find('/').map_or("", |at| rest[at..].trim_end_matches('/'))
}

/// Reads an origin: scheme, host and perhaps port, and nothing else.
pub fn parse_origin(text: &str) -> Result<String, String> {
    let bare = text.parse::<Uri>().is_ok_and(|uri| uri.path() == "/" && uri.query().is_none() && !text.ends_with('/'));
    let origin = origin(text).filter(|_| bare && !text.contains('@'));
    origin.ok_or_else(|| format!("`{text}` is not an origin such as https://example.org or http://localhost:3000"))
}

const MAX_MILLIS: u64 = 100 * 366 * 86_400 * 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_limits_are_read_or_refused() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(parse_retention("forever"), Ok(None));
        for bad in ["", "s", "10", "10y", "-1s", "99999999999d", "18446744073709551615ms", "3162240000001ms"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert!(parse_duration("0.5s").is_err_and(|why| why.contains("no whole number")));
        assert_eq!(parse_network("::ffff:127.0.0.0/104"), parse_network("127.0.0.0/8"));
        assert_eq!(parse_network("fd00::/8").unwrap().to_string(), "fd00::/8");
        assert_eq!(parse_rate_limits("off"), Ok(None));
        assert_eq!(parse_rate_limits("writes=5"), Ok(Some(RateLimits { writes: 5, ..RateLimits::default() })));
        assert!(parse_rate_limits("wirtes=5").is_err());
        assert_eq!(parse_keepalive("30s"), Ok(Duration::from_secs(30)));
        assert!(parse_keepalive("31s").is_err_and(|why| why.contains("30s at most")) && parse_keepalive("0s").is_err());
        assert!(parse_rate_limits("bulk=0").is_err() && parse_interval("0s").is_err() && parse_number("0").is_err());
    }

    #[test]
    fn a_base_url_is_an_address_that_paths_can_follow() {
        for good in ["https://hearth.example.org", "http://127.0.0.1:8750/", "https://example.org/hearth"] {
            assert_eq!(parse_base_url(good), Ok(good.to_owned()));
        }
        for bad in
            ["foo", "", "ftp://example.org", "https://a@example.org", "https://example.org/?a", "http://e.org/#a"]
        {
            assert!(parse_base_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn origins_have_a_scheme_a_host_and_a_port() {
        assert_eq!(parse_origin("https://Example.org"), Ok("https://example.org:443".to_owned()));
        assert_eq!(parse_origin("http://[::1]:3000"), Ok("http://[::1]:3000".to_owned()));
        for bad in ["example.org", "https://example.org/", "https://example.org/app", "ftp://example.org", "*", ""] {
            assert!(parse_origin(bad).is_err(), "{bad}");
        }
    }
}
