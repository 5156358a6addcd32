//! `serve`: its settings, and its end by a signal. Must not know how anything is served.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hearth_server::clock::Clock;
use hearth_server::config::{
    Config, RateLimits, parse_base_url, parse_duration, parse_interval, parse_keepalive, parse_network, parse_number,
    parse_origin, parse_rate_limits, parse_retention,
};
use ipnet::IpNet;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::command;
use hearth_server::faults::{Faults, announce};

use super::faults::FaultArguments;
use super::log::{self, LogForm};
use super::output;

#[derive(Args)]
pub(super) struct Serve {
    /// Address for GET /metrics, /healthz and /readyz, apart from the API
    #[arg(long, value_name = "ADDR")]
    metrics_listen: Option<SocketAddr>,
    /// Address to listen on; port 0 takes a free one
    #[arg(long, default_value = "127.0.0.1:8750", value_name = "ADDR")]
    listen: SocketAddr,
    /// How long events are kept one by one: 30s, 12h, 30d or forever
    #[arg(long, default_value = "30d", value_parser = parse_retention_arg, value_name = "TIME")]
    retention: Retention,
    /// Time between two heartbeats of a stream
    #[arg(long, default_value = "60s", value_parser = parse_interval, value_name = "TIME")]
    heartbeat: Duration,
    /// Silence after which a stream carries a comment, 30s at most: clients take 45s of it for a dead stream
    #[arg(long, default_value = "15s", value_parser = parse_keepalive, value_name = "TIME")]
    keepalive: Duration,
    /// How long an Idempotency-Key is remembered
    #[arg(long, default_value = "24h", value_parser = parse_duration, value_name = "TIME")]
    idempotency_ttl: Duration,
    /// Calls for each key and minute, or off
    #[arg(long, default_value = "reads=300,writes=60,bulk=20", value_parser = parse_limits_arg, value_name = "LIMITS")]
    rate_limits: Rules,
    /// Open streams for each key
    #[arg(long, default_value = "10", value_parser = parse_number, value_name = "N")]
    max_streams: usize,
    /// Network whose X-Forwarded-For is believed; may be given several times
    #[arg(long, value_parser = parse_network, value_name = "CIDR")]
    trusted_proxy: Vec<IpNet>,
    /// Origin of a web page that may speak to /mcp; may be given several times
    #[arg(long, value_parser = parse_origin, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// How clients reach the service, when not by the address it listens on
    #[arg(long, value_parser = parse_base_url, value_name = "URL")]
    base_url: Option<String>,
    #[command(flatten)]
    faults: FaultArguments,
    /// Form of the log on stderr; HEARTH_LOG says how much, as in `warn` or `info,hearth_server=debug`
    #[arg(long, value_enum, default_value_t = LogForm::Text)]
    log: LogForm,
}

#[derive(Clone, Copy)]
struct Retention(Option<Duration>);

#[derive(Clone, Copy)]
struct Rules(Option<RateLimits>);

fn parse_retention_arg(text: &str) -> Result<Retention, String> {
    parse_retention(text).map(Retention)
}

fn parse_limits_arg(text: &str) -> Result<Rules, String> {
    parse_rate_limits(text).map(Rules)
}

/// Serves until told to stop.
pub(super) async fn serve(args: Serve, data: PathBuf, as_json: bool) -> anyhow::Result<()> {
    let _log = log::begin(args.log)?;
    let config = Config {
        listen: args.listen,
        metrics_listen: args.metrics_listen,
        retention: args.retention.0,
        heartbeat: args.heartbeat,
        keepalive: args.keepalive,
        idempotency_ttl: args.idempotency_ttl,
        rate_limits: args.rate_limits.0,
        max_streams: args.max_streams,
        trusted_proxies: args.trusted_proxy,
        allow_origins: args.allow_origin,
        base_url: args.base_url,
        ..Config::new(data)
    };
    // What a panic says may quote what it was working on: only its place goes to the log.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panicked");
    }));
    let data = config.data.clone();
    let plan = args.faults.plan();
    let announced = plan.clone();
    let running = hearth_server::start_with(config, Clock::system(), |app| {
        if let Some(plan) = plan {
            Faults::new(plan).install(app);
        }
    })
    .await?;
    if let Some(plan) = announced {
        announce(&Faults::new(plan), &running.app).await;
    };
    if let Some(team) = &running.first_team {
        let next = command(&data, &["key", "create", "--team", &team.name, "--env", "live"]);
        tracing::info!(team = team.name, "made the first team; make a key for it with `{next}`");
    }
    // Whoever reads the address may say stop at once.
    let stop = Stop::listen()?;
    // That nobody reads this line is no reason not to serve.
    let address = format!("http://{}", running.address);
    let told = if as_json { json!({ "listening": address }).to_string() } else { format!("listening on {address}") };
    if let Err(error) = output::try_line(told) {
        tracing::warn!(%error, address = %running.address, "the address could not be told on stdout");
    }
    stop.heard().await;
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
}

/// The signals that end a command in order, from the moment they are listened for.
pub(super) struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    pub(super) fn listen() -> std::io::Result<Stop> {
        Ok(Stop { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    pub(super) async fn heard(mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}
