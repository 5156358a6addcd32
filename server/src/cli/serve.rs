//! The command `serve`: its options, and the end by a signal. Must not know how requests are answered.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use hearth_server::app::App;
use hearth_server::bench::faults::FaultInjector;
use hearth_server::clock::Clock;
use hearth_server::config::{
    AllowedOrigin, Config, PartnerAccess, RateLimits, TlsFiles, parse_base_url, parse_duration, parse_file_size,
    parse_interval, parse_keepalive, parse_listen, parse_network, parse_number, parse_rate_limits, parse_retention,
    parse_size,
};
use hearth_server::operate::people;
use hearth_server::store::homes::Team;
use hearth_server::store::people::Role;
use ipnet::IpNet;
use serde_json::json;

use super::faults::FaultArguments;
use super::log::{self, LogFormat};
use super::output;
use super::signals::StopSignals;
use hearth_server::operate::shell_command;

#[derive(Args)]
pub(super) struct Serve {
    /// Serve /metrics for Prometheus, /healthz and /readyz at this address, separate from the API
    #[arg(long, value_parser = parse_listen, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// Address of the API, such as localhost:8750 or 0.0.0.0:8750; port 0 takes a free port
    #[arg(long, default_value = "127.0.0.1:8750", value_parser = parse_listen, value_name = "ADDR")]
    listen: SocketAddr,
    /// How long the feed keeps each event: 30s, 12h, 30d or forever
    #[arg(long, default_value = "30d", value_parser = parse_retention_arg, value_name = "TIME")]
    retention: Retention,
    /// Time between two heartbeats of a stream
    #[arg(long, default_value = "60s", value_parser = parse_interval, value_name = "TIME")]
    heartbeat: Duration,
    /// Silence after which a stream sends a comment, at most 30s: clients close a stream after 45s of silence
    #[arg(long, default_value = "15s", value_parser = parse_keepalive, value_name = "TIME")]
    keepalive: Duration,
    /// How long the server remembers an Idempotency-Key
    #[arg(long, default_value = "24h", value_parser = parse_duration, value_name = "TIME")]
    idempotency_ttl: Duration,
    /// Requests per key and minute, or off
    #[arg(long, default_value = "reads=300,writes=60,bulk=20", value_parser = parse_limits_arg, value_name = "LIMITS")]
    rate_limits: Limits,
    /// Open streams per key, at most
    #[arg(long, default_value = "10", value_parser = parse_number, value_name = "N")]
    max_streams: usize,
    /// Bytes of one file, at most, such as 100MiB
    #[arg(long, default_value = "32MiB", value_parser = parse_file_size, value_name = "SIZE")]
    max_file: i64,
    /// Bytes that the files of a home may take together
    #[arg(long, default_value = "10GiB", value_parser = parse_size, value_name = "SIZE")]
    max_files: i64,
    /// Bytes that the records, events, stored responses, files and exports of a home may take together, such as 500MiB
    #[arg(long, default_value = "10GiB", value_parser = parse_size, value_name = "SIZE")]
    max_home: i64,
    /// Network of a proxy whose X-Forwarded-For header the server trusts; repeat the option for several networks
    #[arg(long, value_parser = parse_network, value_name = "CIDR")]
    trusted_proxy: Vec<IpNet>,
    /// Origin of web pages that may call the API, such as https://example.org; `*` allows every page. Repeat the option
    /// for several origins
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<AllowedOrigin>,
    /// Public URL of the service, when clients do not use the listen address
    #[arg(long, value_parser = parse_base_url, value_name = "URL")]
    base_url: Option<String>,
    /// Encrypt all connections: file with the server's certificate, then those of its issuers, in PEM form
    #[arg(long, requires = "tls_key", value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// File with the private key of the certificate, in PEM form; both files are read again when they change
    #[arg(long, requires = "tls_cert", value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// Programs of partners that may ask an owner for access: off, known (programs that register themselves), or open (also
    /// programs whose client id is a web address)
    #[arg(long, default_value = "known", value_name = "off|known|open")]
    partners: PartnerAccess,
    /// Serve the console, where people manage keys in a browser
    #[arg(long, value_enum, default_value_t = Switch::On)]
    console: Switch,
    /// Let people sign in to the console from other machines without TLS: their passwords travel unencrypted
    #[arg(long)]
    console_plain: bool,
    /// Accept the clock of the machine, although it is more than a day ahead of the time at which the server last ran
    #[arg(long)]
    accept_clock: bool,
    #[command(flatten)]
    faults: FaultArguments,
    /// Format of the log on stderr; set HEARTH_LOG to filter, as in `warn` or `info,hearth_server=debug`
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log: LogFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy)]
struct Retention(Option<Duration>);

#[derive(Clone, Copy)]
struct Limits(Option<RateLimits>);

fn parse_retention_arg(text: &str) -> Result<Retention, String> {
    parse_retention(text).map(Retention)
}

fn parse_limits_arg(text: &str) -> Result<Limits, String> {
    parse_rate_limits(text).map(Limits)
}

/// Says how the first owner gets into the console. Only a terminal gets the link itself: a log would keep its secret.
async fn invite_first_owner(app: &App, team: &Team, data: &Path) {
    let link = match std::io::stderr().is_terminal() {
        true => people::create_link(&app.db, &app.clock, team.id.clone(), Role::Owner, None).await.ok(),
        false => None,
    };
    match link {
        Some(link) => {
            let url = link.url(&app.base_url);
            output::print_note(format_args!(
                "open this link within 10 minutes to set a password for the console: {url}"
            ));
        }
        None => {
            let next = shell_command(data, &["console", "link", "--team", &team.name]);
            tracing::info!("for the console, print a one-time link with `{next}`");
        }
    }
}

/// Serves until a signal ends the process.
pub(super) async fn serve(args: Serve, data: PathBuf, as_json: bool) -> anyhow::Result<()> {
    let _log = log::start(args.log)?;
    let config = Config {
        listen: args.listen,
        metrics_listen: args.metrics_listen,
        retention: args.retention.0,
        heartbeat: args.heartbeat,
        keepalive: args.keepalive,
        idempotency_ttl: args.idempotency_ttl,
        rate_limits: args.rate_limits.0,
        max_streams: args.max_streams,
        home_bytes_max: args.max_home,
        file_bytes_max: args.max_file,
        files_bytes_max: args.max_files,
        reader: std::env::current_exe().ok(),
        trusted_proxies: args.trusted_proxy,
        allow_origins: args.allow_origin,
        base_url: args.base_url,
        tls: args.tls_cert.zip(args.tls_key).map(|(cert, key)| TlsFiles { cert, key }),
        partners: args.partners,
        has_console: args.console == Switch::On,
        is_console_plain: args.console_plain,
        accept_clock: args.accept_clock,
        ..Config::new(data)
    };
    // Logs only the place of a panic, because the message may quote user data.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panicked");
    }));
    let data = config.data.clone();
    let faults = args.faults.plan().map(FaultInjector::new);
    let install = |app: &_| faults.iter().for_each(|faults| faults.clone().install(app));
    let running = hearth_server::start_with(config, Clock::system(), install).await?;
    if let Some(faults) = &faults {
        faults.log_plan(&running.app.db).await;
    }
    if let Some(team) = &running.first_team {
        let next = shell_command(&data, &["key", "create", "--team", &team.name, "--env", "live", "--to", "key"]);
        tracing::info!(team = team.name, "created the first team; create a key for the team with `{next}`");
        if running.app.config.has_console {
            invite_first_owner(&running.app, team, &data).await;
        }
    }
    // Before the address is printed: a reader of the address may send a signal immediately.
    let stop = StopSignals::listen()?;
    // Without a reader of this line the service runs all the same.
    let address = running.url();
    let text = if as_json { json!({ "listening": address }).to_string() } else { format!("listening on {address}") };
    if let Err(error) = output::try_print_line(text) {
        tracing::warn!(%error, address = %running.address, "cannot write the address to stdout");
    }
    stop.received().await;
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
}
