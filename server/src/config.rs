//! The settings of `serve` (contract 17), and the parsers that validate them. Must not know how the service uses a setting.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use axum::http::Uri;
use hearth_contract::formats::Timestamp;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// How far the wall clock may leap ahead of the time that has passed, before writes are refused.
const CLOCK_LEAP_MAX: Duration = Duration::from_secs(24 * 3600);

/// Settings of a serving process.
#[derive(Debug, Clone)]
pub struct Config {
    /// Directory of the database.
    pub data: PathBuf,
    /// Address of the API. Port 0: a free port.
    pub listen: SocketAddr,
    /// Address of `/metrics`, `/healthz` and `/readyz`, separate from the API. None: the server does not offer them there.
    pub metrics_listen: Option<SocketAddr>,
    /// How long the feed keeps each event. None: forever.
    pub retention: Option<Duration>,
    /// Time between two heartbeats of a stream.
    pub heartbeat: Duration,
    /// Silence after which a stream sends a comment.
    pub keepalive: Duration,
    /// How long the server remembers an `Idempotency-Key`.
    pub idempotency_ttl: Duration,
    /// Calls per key and minute. None: no limits.
    pub rate_limits: Option<RateLimits>,
    /// Open streams per key, at most.
    pub max_streams: usize,
    /// Networks of proxies whose `X-Forwarded-For` header the server trusts.
    pub trusted_proxies: Vec<IpNet>,
    /// Origins of web pages that may call the API (contract 19).
    pub allow_origins: Vec<AllowedOrigin>,
    /// Public URL of the service, for links. None: the address in `listen`.
    pub base_url: Option<String>,
    /// Certificate and key for TLS. None: plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Serve the console at `/console` (contract 19).
    pub has_console: bool,
    /// Accept sign-ins from other machines without TLS.
    pub is_console_plain: bool,
    /// Which programs of partners may ask an owner for access (contract 20).
    pub partners: PartnerAccess,
    /// Open connections, at most; fewer where the limit of open files is lower. When all are taken, a new connection
    /// replaces the one that has been idle longest.
    pub connections_max: usize,
    /// Time limit for a TLS handshake.
    pub handshake_time_max: Duration,
    /// Time limit for the headers of a request (contract 12), also between two requests on one connection.
    pub headers_time_max: Duration,
    /// Time limit for the body of a request (contract 12).
    pub body_time_max: Duration,
    /// Time limit for a client to accept some bytes of a response. Streams have no such limit.
    pub write_time_max: Duration,
    /// Time limit for a search, including its time in the queue.
    pub search_time_max: Duration,
    /// Bytes that the records, events, stored responses, files and export files of a home may take together.
    pub home_bytes_max: i64,
    /// Bytes of one file, at most (contract 21).
    pub file_bytes_max: i64,
    /// The program that reads files (contract 22), called as `PROGRAM read-file --models DIR`. None: files are not read.
    pub reader: Option<PathBuf>,
    /// The longest time for the reading of one file.
    pub reader_time_max: Duration,
    /// Bytes that the files of a home may take together.
    pub files_bytes_max: i64,
    /// Bytes of the stored responses to writes with an `Idempotency-Key`, per home, at which such writes are refused.
    pub receipt_bytes_max: i64,
    /// How far the clock may leap ahead before writes are refused.
    pub clock_leap_max: Duration,
    /// Accept the clock as it is at the start.
    pub accept_clock: bool,
}

impl Config {
    /// The defaults of the contract, with a free port on the loopback address.
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
            tls: None,
            has_console: true,
            is_console_plain: false,
            partners: PartnerAccess::Known,
            connections_max: 16_384,
            handshake_time_max: Duration::from_secs(10),
            headers_time_max: Duration::from_secs(10),
            body_time_max: Duration::from_secs(30),
            write_time_max: Duration::from_secs(30),
            search_time_max: Duration::from_secs(5),
            home_bytes_max: 10 << 30,
            file_bytes_max: 32 << 20,
            reader: None,
            reader_time_max: Duration::from_secs(60),
            files_bytes_max: 10 << 30,
            receipt_bytes_max: 1 << 30,
            clock_leap_max: CLOCK_LEAP_MAX,
            accept_clock: false,
        }
    }

    /// The moment before which stored responses count no longer.
    pub fn receipts_since(&self, now: Timestamp) -> Timestamp {
        now.plus_millis(-(self.idempotency_ttl.as_millis() as i64))
    }
}

/// The two files of TLS, both in PEM form.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate of the server, then those of its issuers.
    pub cert: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
}

/// Calls that a key may make in a window of one minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimits {
    /// Limit of GET and HEAD requests.
    pub reads: u32,
    /// Limit of POST, PATCH and DELETE requests.
    pub writes: u32,
    /// Limit of bulk requests.
    pub bulk: u32,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { reads: 300, writes: 60, bulk: 20 }
    }
}

/// Which programs of partners may ask an owner for access (contract 20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartnerAccess {
    /// None: only Hearth's own replicas ask for a key.
    Off,
    /// Programs that register themselves.
    Known,
    /// Also programs whose client id is the address of a document that describes them.
    Open,
}

impl PartnerAccess {
    /// The word on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            PartnerAccess::Off => "off",
            PartnerAccess::Known => "known",
            PartnerAccess::Open => "open",
        }
    }
}

impl FromStr for PartnerAccess {
    type Err = String;

    /// Parses `off`, `known` or `open`.
    fn from_str(text: &str) -> Result<PartnerAccess, String> {
        match text {
            "off" => Ok(PartnerAccess::Off),
            "known" => Ok(PartnerAccess::Known),
            "open" => Ok(PartnerAccess::Open),
            _ => Err(format!("`{text}` is not off, known or open")),
        }
    }
}

/// Parses `off` (None) or `reads=300,writes=60,bulk=20`. Each of the three names is optional and has a default.
pub fn parse_rate_limits(text: &str) -> Result<Option<RateLimits>, String> {
    if text == "off" {
        return Ok(None);
    }
    let mut limits = RateLimits::default();
    for part in text.split(',') {
        let (name, number) = part.split_once('=').ok_or_else(|| format!("`{part}` is not NAME=NUMBER"))?;
        let number: u32 = number.parse().map_err(|_| format!("`{number}` is not a number of calls"))?;
        if number == 0 {
            return Err(format!("{name} must be at least 1; `off` switches all limits off"));
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

/// Parses a duration such as `500ms`, `30s`, `15m`, `12h` or `30d`. Limit: 100 years.
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
            return Err(format!("`{text}` is not a whole number; use a smaller unit, as in 500ms"));
        }
        _ => return Err(format!("`{text}` needs a unit: ms, s, m, h or d")),
    };
    let whole = number.checked_mul(millis).filter(|millis| *millis <= MAX_MILLIS);
    whole.map(Duration::from_millis).ok_or_else(|| format!("`{text}` is longer than 100 years"))
}

/// Parses the duration between two repeated actions. Zero is an error, because the action would never pause.
pub fn parse_interval(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text)?;
    if time.is_zero() { Err(format!("`{text}` must be longer than 0, such as 15s")) } else { Ok(time) }
}

/// The longest silence of a stream. Clients treat a stream as dead after 45 s; the rest is reserve for the network.
const KEEPALIVE_MAX: Duration = Duration::from_secs(30);

/// Parses the silence after which a stream sends a comment: more than 0, at most 30 s.
pub fn parse_keepalive(text: &str) -> Result<Duration, String> {
    let time = parse_interval(text)?;
    if time <= KEEPALIVE_MAX {
        return Ok(time);
    }
    Err(format!("`{text}` is too long: use 30s at most, because clients close a stream after 45s of silence"))
}

/// Parses a whole number from 1.
pub fn parse_number(text: &str) -> Result<usize, String> {
    let number = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    if number == 0 { Err("the number must be at least 1".to_owned()) } else { Ok(number) }
}

/// Parses a size in bytes with a binary unit, such as `500MiB` or `10GiB`.
pub fn parse_size(text: &str) -> Result<i64, String> {
    let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let number: i64 = number.parse().map_err(|_| format!("`{text}` is not a size such as 500MiB or 10GiB"))?;
    let bytes = match unit {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(format!("`{text}` needs a unit: KiB, MiB, GiB or TiB")),
    };
    let size = number.checked_mul(bytes).filter(|size| *size > 0);
    size.ok_or_else(|| format!("`{text}` is no size that a home can have"))
}

/// The most bytes that one file may have: `size_bytes` of a document holds no more (contract 2).
const FILE_BYTES_MAX: i64 = i32::MAX as i64;

/// Parses the most bytes of one file, such as `100MiB`.
pub fn parse_file_size(text: &str) -> Result<i64, String> {
    match parse_size(text)? {
        size if size <= FILE_BYTES_MAX => Ok(size),
        _ => Err(format!("`{text}` is more than a file can have; give 2047MiB or less")),
    }
}

/// Parses the address to listen on: an IP address or the name of this machine, and a port. Of several addresses of a name,
/// the first IPv4 address counts, which every local client reaches.
pub fn parse_listen(text: &str) -> Result<SocketAddr, String> {
    let example = "give a name or address and a port, such as localhost:8750 or 0.0.0.0:8750";
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        return Err(format!("`{text}` has no host or no port: {example}"));
    }
    let addresses: Vec<SocketAddr> =
        text.to_socket_addrs().map_err(|error| format!("`{text}` is no address: {error}; {example}"))?.collect();
    let first = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first()).copied();
    first.ok_or_else(|| format!("`{text}` has no address; {example}"))
}

/// Parses a base URL: http or https, with a host and without a path. Some addresses of the service have a fixed place at the
/// root of a host (RFC 8414, 9728).
pub fn parse_base_url(text: &str) -> Result<String, String> {
    let uri = text.parse::<Uri>().ok().filter(|uri| uri.query().is_none() && !text.contains(['@', '#']));
    let Some(uri) = uri.filter(|_| origin(text).is_some()) else {
        return Err(format!("`{text}` is not a URL such as https://hearth.example.org"));
    };
    if !matches!(uri.path(), "" | "/") {
        return Err(format!(
            "`{text}` has a path; give the service a name or port of its own, such as https://hearth.example.org"
        ));
    }
    Ok(text.trim_end_matches('/').to_owned())
}

/// Whether secrets may travel to a base URL: https, or a loopback address.
pub fn is_private_url(base_url: &str) -> bool {
    let Ok(uri) = base_url.parse::<Uri>() else { return false };
    let host = uri.host().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_loopback = host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback());
    uri.scheme_str() == Some("https") || is_loopback
}

/// Parses a retention: a duration, or `forever` (None).
pub fn parse_retention(text: &str) -> Result<Option<Duration>, String> {
    if text == "forever" { Ok(None) } else { parse_duration(text).map(Some) }
}

/// Parses a network, such as `10.0.0.0/8`. A single address is a network of one address.
pub fn parse_network(text: &str) -> Result<IpNet, String> {
    let network = text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    network.map(canonical).ok_or_else(|| format!("`{text}` is neither a network such as 192.168.1.0/24 nor an address"))
}

/// Converts a network of IPv4-mapped IPv6 addresses (RFC 4291 2.5.5.2) to the IPv4 network, because the server converts
/// the addresses of peers in the same way.
fn canonical(network: IpNet) -> IpNet {
    let mapped = |v6: Ipv6Net| Ipv4Net::new(v6.addr().to_ipv4_mapped()?, v6.prefix_len().checked_sub(96)?).ok();
    match network {
        IpNet::V6(v6) => mapped(v6).map_or(network, IpNet::V4),
        IpNet::V4(_) => network,
    }
}

/// The origin of an http or https URL, always with its port (RFC 6454): `https://example.org:443`. None: another scheme,
/// or not a URL.
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

/// The web pages that may call the API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllowedOrigin {
    /// The pages of every origin: `*`.
    Any,
    /// The pages of this origin, in the form that [`origin`] returns.
    Exact(String),
}

impl FromStr for AllowedOrigin {
    type Err = String;

    /// Parses `*`, or an origin: scheme, host and an optional port, without a path.
    fn from_str(text: &str) -> Result<AllowedOrigin, String> {
        if text == "*" {
            return Ok(AllowedOrigin::Any);
        }
        let is_bare = |uri: Uri| uri.path() == "/" && uri.query().is_none() && !text.ends_with('/');
        let origin = origin(text).filter(|_| text.parse().is_ok_and(is_bare) && !text.contains(['@', '*']));
        origin.map(AllowedOrigin::Exact).ok_or_else(|| {
            format!("`{text}` is neither an origin such as https://example.org or http://localhost:3000 nor `*`")
        })
    }
}

/// The longest duration in milliseconds: 100 years.
const MAX_MILLIS: u64 = 100 * 366 * 86_400 * 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_limits_parse_or_fail() {
        assert_eq!(parse_duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(parse_duration("12h"), Ok(Duration::from_secs(43_200)));
        assert_eq!(parse_retention("forever"), Ok(None));
        for bad in ["", "s", "10", "10y", "-1s", "99999999999d", "18446744073709551615ms", "3162240000001ms"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert!(parse_duration("0.5s").is_err_and(|why| why.contains("not a whole number")));
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
    fn listen_takes_name_or_address_with_port() {
        for (text, address) in [
            ("localhost:8750", "127.0.0.1:8750"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:8750", "[::1]:8750"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(parse_listen(text).map(|address| address.to_string()).as_deref(), Ok(address), "{text}");
        }
        for bad in ["", "8750", ":8750", "localhost", "127.0.0.1", "::1", "localhost:http", "localhost:99999", "a b:1"]
        {
            assert!(parse_listen(bad).is_err_and(|why| why.contains("localhost:8750")), "{bad}");
        }
    }

    #[test]
    fn base_url_is_http_without_path_and_query() {
        for good in ["https://hearth.example.org", "http://127.0.0.1:8750/"] {
            assert_eq!(parse_base_url(good).as_deref(), Ok(good.trim_end_matches('/')));
        }
        for path in ["https://example.org/hearth", "https://example.org//", "http://[::1]:8750/a/"] {
            assert!(parse_base_url(path).is_err_and(|why| why.contains("has a path")), "{path}");
        }
        for bad in
            ["foo", "", "ftp://example.org", "https://a@example.org", "https://example.org/?a", "http://e.org/#a"]
        {
            assert!(parse_base_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn secrets_travel_by_https_or_inside_the_machine() {
        for private in ["https://e.org", "http://127.0.0.1:8750", "http://[::1]:1", "http://localhost:8750/"] {
            assert!(is_private_url(private), "{private}");
        }
        for open in ["http://nas.local", "http://192.168.0.2:8750", "http://127.0.0.1.e.org"] {
            assert!(!is_private_url(open), "{open}");
        }
    }

    #[test]
    fn origin_has_scheme_host_and_port() {
        let exact = |origin: &str| Ok(AllowedOrigin::Exact(origin.to_owned()));
        assert_eq!("https://Example.org".parse(), exact("https://example.org:443"));
        assert_eq!("http://[::1]:3000".parse(), exact("http://[::1]:3000"));
        assert_eq!("*".parse(), Ok(AllowedOrigin::Any));
        for bad in [
            "example.org",
            "https://example.org/",
            "https://example.org/app",
            "https://*.example.org",
            "ftp://example.org",
            "null",
            "",
        ] {
            assert!(bad.parse::<AllowedOrigin>().is_err(), "{bad}");
        }
    }
}
