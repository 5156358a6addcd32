//! The command line of `hearth-server` (contract 17). Data goes to stdout, everything else to stderr. Must not know
//! how anything is done.
#![expect(clippy::print_stdout, reason = "a command line's answer is what it prints")]

mod data;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use directories::ProjectDirs;
use hearth_contract::formats::Timestamp;
use hearth_contract::key::Environment;
use hearth_server::app::random;
use hearth_server::clock::Clock;
use hearth_server::config::{Config, RateLimits, parse_duration, parse_origin, parse_rate_limits, parse_retention};
use hearth_server::openapi::Document;
use hearth_server::operate::{self, MadeKey, NewKey};
use hearth_server::store::Db;
use hearth_server::store::homes::{Plan, Team};
use hearth_server::store::keys::Key;
use hearth_server::store::tail::Tail;
use ipnet::IpNet;
use serde_json::{Value, json};

/// The Hearth service: what a household knows about its home, over a REST API and a change feed.
#[derive(Parser)]
#[command(name = "hearth-server", version)]
struct Cli {
    /// Directory of the database
    #[arg(long, global = true, env = "HEARTH_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the API
    Serve(Box<Serve>),
    /// Make and list teams
    #[command(subcommand)]
    Team(TeamCommand),
    /// Make, list and end API keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Print the API's description
    Openapi {
        /// As YAML
        #[arg(long)]
        yaml: bool,
        /// How clients reach the service
        #[arg(long, default_value = "http://127.0.0.1:8750", value_name = "URL")]
        base_url: String,
    },
    /// Set a sandbox back
    #[command(subcommand)]
    Sandbox(data::SandboxCommand),
    /// Save everything into one new file, while a server runs or not
    Backup {
        /// The file to make
        file: PathBuf,
    },
    /// Put everything back to what a backup holds; no server may run
    Restore {
        /// The backup
        file: PathBuf,
    },
    /// Look whether the database is sound and agrees with itself
    Check,
}

#[derive(Args)]
struct Serve {
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
    #[arg(long, default_value = "60s", value_parser = parse_duration, value_name = "TIME")]
    heartbeat: Duration,
    /// Silence after which a stream carries a comment
    #[arg(long, default_value = "15s", value_parser = parse_duration, value_name = "TIME")]
    keepalive: Duration,
    /// How long an Idempotency-Key is remembered
    #[arg(long, default_value = "24h", value_parser = parse_duration, value_name = "TIME")]
    idempotency_ttl: Duration,
    /// Calls for each key and minute, or off
    #[arg(long, default_value = "reads=300,writes=60,bulk=20", value_parser = parse_limits_arg, value_name = "LIMITS")]
    rate_limits: Rules,
    /// Open streams for each key
    #[arg(long, default_value_t = 10, value_name = "N")]
    max_streams: usize,
    /// Network whose X-Forwarded-For is believed; may be given several times
    #[arg(long, value_name = "CIDR")]
    trusted_proxy: Vec<IpNet>,
    /// Origin of a web page that may speak to /mcp; may be given several times
    #[arg(long, value_parser = parse_origin, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// How clients reach the service, when not by the address it listens on
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Form of the log on stderr
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

#[derive(Clone, Copy, ValueEnum)]
enum LogForm {
    Text,
    Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum PlanWord {
    Free,
    Paid,
}

impl PlanWord {
    fn plan(self) -> Plan {
        match self {
            PlanWord::Free => Plan::Free,
            PlanWord::Paid => Plan::Paid,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum EnvironmentWord {
    Live,
    Test,
}

#[derive(Subcommand)]
enum TeamCommand {
    /// Make a team with its live home and its filled sandbox
    Create {
        /// Its name, unique on this server
        #[arg(value_parser = parse_team_name)]
        name: String,
        /// What it pays for; live keys need paid
        #[arg(long, value_enum, default_value_t = PlanWord::Paid)]
        plan: PlanWord,
    },
    /// List the teams
    List,
    /// Change what a team pays for
    Plan {
        /// Its id or name
        team: String,
        /// What it pays for
        #[arg(value_enum)]
        plan: PlanWord,
    },
}

#[derive(Subcommand)]
enum KeyCommand {
    /// Make a key and print it, this once
    Create {
        /// Id or name of the team
        #[arg(long)]
        team: String,
        /// Which of its homes the key reaches
        #[arg(long, value_enum)]
        env: EnvironmentWord,
        /// Scopes, separated by commas, or all
        #[arg(long, value_delimiter = ',', default_value = "all", value_parser = parse_scope)]
        scopes: Vec<String>,
        /// What to call the key
        #[arg(long)]
        name: Option<String>,
        /// Network it may be used from; may be given several times
        #[arg(long, value_name = "CIDR")]
        allow: Vec<IpNet>,
        /// Version of the API that holds for it without a header, such as 2026-06-01
        #[arg(long, value_parser = parse_version, value_name = "VERSION")]
        pin: Option<String>,
        /// Day or moment from which it is refused
        #[arg(long, value_parser = parse_moment, value_name = "DATE")]
        expires: Option<Timestamp>,
        /// Print the key alone
        #[arg(long)]
        quiet: bool,
    },
    /// List keys; their texts are never shown again
    List {
        /// Only of this team
        #[arg(long)]
        team: Option<String>,
    },
    /// End a key
    Revoke {
        /// Its id or unique name
        key: String,
    },
    /// End a key and print another like it, this once
    Rotate {
        /// Its id or unique name
        key: String,
        /// Print the key alone
        #[arg(long)]
        quiet: bool,
    },
    /// Take the mark of repeated refusals from a key
    Unflag {
        /// Its id or unique name
        key: String,
    },
}

fn parse_team_name(text: &str) -> Result<String, String> {
    if operate::is_team_name(text) { Ok(text.to_owned()) } else { Err(operate::TEAM_NAME_RULE.to_owned()) }
}

fn parse_scope(text: &str) -> Result<String, String> {
    operate::scopes(&[text.to_owned()]).map(|_| text.to_owned())
}

fn parse_moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text).ok_or_else(|| format!("`{text}` is not a date such as 2027-01-01"))
}

fn parse_version(text: &str) -> Result<String, String> {
    let date = hearth_contract::formats::parse_date(text);
    date.map(|_| text.to_owned()).ok_or_else(|| format!("`{text}` is not a date such as 2026-06-01"))
}

/// Runs the program: 0 done, 1 refused or failed, 2 used wrongly.
pub(crate) fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> anyhow::Result<()> {
    if let Command::Openapi { yaml, base_url } = cli.command {
        return openapi(yaml, &base_url);
    }
    let data = match cli.data {
        Some(data) => data,
        None => ProjectDirs::from("", "", "hearth")
            .map(|dirs| dirs.data_dir().join("server"))
            .ok_or_else(|| anyhow::anyhow!("there is no home directory; say where the data is with --data"))?,
    };
    let runtime = tokio::runtime::Runtime::new()?;
    match cli.command {
        Command::Serve(serve) => runtime.block_on(self::serve(*serve, data)),
        Command::Team(command) => runtime.block_on(team(command, &open(data)?, cli.json)),
        Command::Key(command) => runtime.block_on(key(command, &open(data)?, cli.json)),
        Command::Openapi { .. } => Ok(()),
        Command::Sandbox(command) => runtime.block_on(data::sandbox(command, &open(data)?, cli.json)),
        Command::Backup { file } => runtime.block_on(data::backup(&open(data)?, &file, cli.json)),
        Command::Restore { file } => data::restore(&data, &file, cli.json),
        Command::Check => runtime.block_on(data::check(&open(data)?, cli.json)),
    }
}

fn openapi(yaml: bool, base_url: &str) -> anyhow::Result<()> {
    let document = Document::new(base_url.trim_end_matches('/'));
    let text = if yaml { document.yaml } else { document.json };
    println!("{}", std::str::from_utf8(&text)?.trim_end());
    Ok(())
}

fn open(data: PathBuf) -> anyhow::Result<Db> {
    let run = i64::from_be_bytes(random());
    Db::open(&data, Tail::default(), run).map_err(|error| anyhow::anyhow!("{}: {error}", data.display()))
}

async fn serve(args: Serve, data: PathBuf) -> anyhow::Result<()> {
    log(args.log);
    let config = Config {
        data,
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
    };
    // What a panic says may quote what it was working on: only its place goes to the log.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panicked");
    }));
    let running = hearth_server::start(config, Clock::system()).await?;
    println!("listening on http://{}", running.address);
    stop_signal().await?;
    tracing::info!("stopping");
    running.stop().await;
    Ok(())
}

async fn stop_signal() -> std::io::Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt,
        _ = terminate.recv() => Ok(()),
    }
}

fn log(form: LogForm) {
    use tracing_subscriber::EnvFilter;
    let filter = EnvFilter::try_from_env("HEARTH_LOG").unwrap_or_else(|_| EnvFilter::new("info,rmcp=warn"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    match form {
        LogForm::Text => builder.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).init(),
        LogForm::Json => builder.json().flatten_event(true).init(),
    }
}

async fn team(command: TeamCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        TeamCommand::Create { name, plan } => {
            let team = operate::create_team(db, &Clock::system(), name, plan.plan()).await?;
            if as_json {
                println!("{}", team_json(&team));
            } else {
                println!("{}", team.id);
                eprintln!("made team {} ({}) with a live home and a filled sandbox", team.name, team.plan.word());
            }
        }
        TeamCommand::List => {
            let teams = operate::teams(db).await?;
            if as_json {
                println!("{}", Value::Array(teams.iter().map(team_json).collect()));
            } else {
                for team in teams {
                    println!("{}  {:4}  {}  {}", team.id, team.plan.word(), team.created_at, team.name);
                }
            }
        }
        TeamCommand::Plan { team, plan } => {
            let team = operate::set_plan(db, team, plan.plan()).await?;
            if as_json {
                println!("{}", team_json(&team));
            } else {
                eprintln!("team {} is on the {} plan", team.name, team.plan.word());
            }
        }
    }
    Ok(())
}

async fn key(command: KeyCommand, db: &Db, as_json: bool) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create { team, env, scopes, name, allow, pin, expires, quiet } => {
            let environment = match env {
                EnvironmentWord::Live => Environment::Live,
                EnvironmentWord::Test => Environment::Test,
            };
            let wish = NewKey { team, environment, scopes, name, allowlist: allow, pinned: pin, expires_at: expires };
            let made = operate::create_key(db, &Clock::system(), wish).await?;
            show_made(made, quiet, as_json);
        }
        KeyCommand::List { team } => {
            let keys = operate::list_keys(db, team).await?;
            if as_json {
                println!("{}", Value::Array(keys.iter().map(key_json).collect()));
            } else {
                for key in keys {
                    let state = match (key.revoked_at, key.flagged_at) {
                        (Some(_), _) => "revoked",
                        (None, Some(_)) => "flagged",
                        (None, None) => "good",
                    };
                    println!("{}  {}  {state:7}  {}  {}", key.id, key.hint, key.team_name, key.name);
                }
            }
        }
        KeyCommand::Revoke { key } => {
            let key = operate::revoke_key(db, &Clock::system(), key).await?;
            if as_json {
                println!("{}", key_json(&key));
            } else {
                eprintln!("revoked key {} ({})", key.id, key.name);
            }
        }
        KeyCommand::Rotate { key, quiet } => {
            show_made(operate::rotate_key(db, &Clock::system(), key).await?, quiet, as_json);
        }
        KeyCommand::Unflag { key } => {
            let key = operate::unflag_key(db, key).await?;
            if as_json {
                println!("{}", key_json(&key));
            } else {
                eprintln!("key {} ({}) is not flagged", key.id, key.name);
            }
        }
    }
    Ok(())
}

/// Shows a key that was just made: its text alone on stdout, the rest beside it.
fn show_made(made: MadeKey, quiet: bool, as_json: bool) {
    let key = &made.key;
    if as_json {
        let mut value = key_json(key);
        value["secret"] = made.secret.into();
        println!("{value}");
        return;
    }
    println!("{}", made.secret);
    if !quiet {
        eprintln!("key {} ({}) of team {}; it is shown this once", key.id, key.name, key.team_name);
    }
    if key.environment == Environment::Live && key.plan == Plan::Free {
        eprintln!("warning: live keys need the paid plan; this one is refused while the team's plan is free");
    }
}

fn team_json(team: &Team) -> Value {
    json!({ "id": team.id, "name": team.name, "plan": team.plan.word(), "created_at": team.created_at })
}

fn key_json(key: &Key) -> Value {
    json!({
        "id": key.id,
        "team": { "id": key.team, "name": key.team_name },
        "environment": key.environment.word(),
        "name": key.name,
        "hint": key.hint,
        "scopes": key.scopes,
        "allowlist": key.allowlist,
        "api_version": key.pinned,
        "created_at": key.created_at,
        "last_used_at": key.last_used_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "flagged_at": key.flagged_at,
    })
}
