//! A scratch home: its server on a free port, its files, and another client over HTTP. Must not know the drill, nor
//! more of the server than its command line and its API.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::super::failure::{Exit, Failure};
use super::super::output;
use super::outcome::{DrillError, failed};
use super::processes::{self, POLL_INTERVAL, Program, Scratch};

/// The longest wait for the server's start or for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The name of the server program.
const SERVER: &str = "hearth-server";
/// Environment variables of the user that must not reach a scratch home.
const PERSONAL_VARIABLES: [&str; 7] = [
    "HEARTH_API_KEY",
    "HEARTH_API_KEY_FILE",
    "HEARTH_PROFILE",
    "HEARTH_DATA",
    "HEARTH_LOG",
    "NOTIFY_SOCKET",
    "CREDENTIALS_DIRECTORY",
];

/// The options of a run, for every drill.
pub(super) struct Options {
    pub(super) server: PathBuf,
    pub(super) keep: bool,
    pub(super) seed: u64,
    pub(super) small_disk: Option<PathBuf>,
    pub(super) quiet: bool,
}

/// A scratch home with its server.
pub(super) struct DrillHome {
    pub(super) options: Options,
    began: Instant,
    trace: Vec<(Duration, String)>,
    server: Option<Program>,
    /// The server's address; the same after every restart.
    address: Option<String>,
    key: String,
    client: Option<(tokio::runtime::Runtime, reqwest::Client)>,
    scratch: Option<Scratch>,
    /// The directory that a restarted program has kept (`disk-full`).
    inner_directory: Option<PathBuf>,
}

/// One event of the feed.
pub(super) struct Event {
    pub(super) event_type: String,
    pub(super) record: String,
    pub(super) payload: Value,
}

/// The server program: the given one, or the one beside this program.
pub(super) fn find_server(named: Option<&Path>) -> Result<PathBuf, Failure> {
    let file = match named {
        Some(file) => file.to_owned(),
        None => std::env::current_exe()?.with_file_name(SERVER),
    };
    if file.is_file() {
        // An absolute path, because a name without a slash would be searched in PATH.
        return Ok(std::path::absolute(file)?);
    }
    Err(Failure::new(Exit::NotFound, format!("there is no server program at {}", file.display()))
        .hint("hearth-replica drill NAME --server-bin FILE"))
}

/// A command without the personal environment variables.
pub(super) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for name in PERSONAL_VARIABLES {
        command.env_remove(name);
    }
    command
}

impl DrillHome {
    pub(super) fn new(options: Options) -> DrillHome {
        DrillHome {
            options,
            began: Instant::now(),
            trace: Vec::new(),
            server: None,
            address: None,
            key: String::new(),
            client: None,
            scratch: None,
            inner_directory: None,
        }
    }

    /// Creates the scratch directory.
    pub(super) fn make_scratch(&mut self, name: &str) -> Result<(), DrillError> {
        self.scratch = Some(Scratch::make(name, self.options.keep)?);
        Ok(())
    }

    /// Creates the home: a team with a filled sandbox, a key, and a running server.
    pub(super) fn set_up(&mut self) -> Result<(), DrillError> {
        let version = self.run_server_command(&["--version"])?;
        if !version.starts_with(SERVER) {
            let server = self.options.server.display();
            return Err(failed(format!("{server} is not {SERVER}: asked for its version, it says {version:?}")));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // No connection is kept, because the server restarts often.
        let http = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).timeout(RESPONSE_TIMEOUT).build()?;
        self.client = Some((runtime, http));
        self.run_server_command(&["team", "create", "Drill"])?;
        self.key = self.run_server_command(&["key", "create", "--team", "Drill", "--env", "test", "--quiet"])?;
        let mut file = hearth_replica::new_private_file(&self.file("key"))?;
        file.write_all(self.key.as_bytes())?;
        self.serve(None)?;
        let records = self.records()?.len();
        self.log(format!("a scratch home with {records} records is served at {}", self.url()));
        Ok(())
    }

    /// Stops the server; returns the trace and the kept directory.
    pub(super) fn finish(mut self) -> (Vec<(Duration, String)>, Option<PathBuf>) {
        self.server = None;
        let kept = self.inner_directory.or(self.scratch.as_ref().and_then(Scratch::kept));
        self.scratch = None;
        (self.trace, kept)
    }

    /// Stores the directory that a restarted program has kept.
    pub(super) fn set_inner_directory(&mut self, directory: Option<PathBuf>) {
        self.inner_directory = directory;
    }

    /// Adds a line to the trace and prints it.
    pub(super) fn log(&mut self, text: impl Into<String>) {
        let (at, text) = (self.began.elapsed(), text.into());
        if !self.options.quiet {
            output::message(&format!("{:>7.1} s  {text}", at.as_secs_f64()));
        }
        self.trace.push((at, text));
    }

    /// A path in the scratch directory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.scratch.as_ref().map_or_else(|| PathBuf::from(name), |scratch| scratch.path().join(name))
    }

    /// The base URL of the server.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address.as_deref().unwrap_or_default())
    }

    /// Runs a command of the server program and returns its output.
    pub(super) fn run_server_command(&self, arguments: &[&str]) -> Result<String, DrillError> {
        let server = self.options.server.display();
        let output = processes::run_to_end(self.server_command().args(arguments))
            .map_err(|error| failed(format!("{server} cannot be started: {error}")))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(failed(format!("{server} {}: {}", arguments.join(" "), text(&output.stderr))))
    }

    /// Runs `hearth-server lab` on the home.
    pub(super) fn run_lab(&self, arguments: &[&str]) -> Result<Value, DrillError> {
        let text = self.run_server_command(&[&["--json", "lab"], arguments].concat())?;
        Ok(serde_json::from_str(&text)?)
    }

    fn server_command(&self) -> Command {
        let mut command = command(&self.options.server);
        command.arg("--data").arg(self.file("server"));
        command
    }

    /// Starts the server, with faults if given, at the same address as before.
    pub(super) fn serve(&mut self, faults: Option<&str>) -> Result<(), DrillError> {
        let log = File::options().create(true).append(true).open(self.file("server.log"))?;
        let listen = self.address.clone().unwrap_or_else(|| "127.0.0.1:0".to_owned());
        let mut command = self.server_command();
        command.args(["serve", "--listen", &listen, "--rate-limits", "off"]);
        command.args(faults.iter().flat_map(|faults| ["--faults", faults]));
        command.stdout(Stdio::piped()).stderr(log);
        let (server, stdout) = Program::start(&mut command, |child: &mut Child| child.stdout.take())?;
        let Some(line) = stdout.and_then(first_line) else {
            let text = std::fs::read_to_string(self.file("server.log")).unwrap_or_default();
            let why = text.lines().last().unwrap_or("it says nothing").to_owned();
            return Err(failed(format!("{} did not start: {why}", self.options.server.display())));
        };
        self.address = line.strip_prefix("listening on http://").map(str::to_owned);
        self.server = Some(server);
        Ok(())
    }

    /// Stops the server with SIGTERM.
    pub(super) fn stop_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.terminate();
        }
    }

    /// Kills the server with SIGKILL.
    pub(super) fn kill_server(&mut self) {
        self.server = None;
    }

    /// Sends a request as another client of the home.
    pub(super) fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, DrillError> {
        let Some((runtime, http)) = &self.client else { return Err(failed("there is no client yet")) };
        let mut request = http.request(method.clone(), format!("{}{path}", self.url())).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let (status, text) = runtime.block_on(async {
            let response = request.send().await?;
            let status = response.status();
            Ok::<_, reqwest::Error>((status, response.text().await?))
        })?;
        if status.is_success() {
            Ok(serde_json::from_str(&text)?)
        } else {
            Err(failed(format!("{method} {path}: {text}")))
        }
    }

    /// Deletes a record as another client.
    pub(super) fn delete(&self, collection: &str, id: &str) -> Result<(), DrillError> {
        self.request(Method::DELETE, &format!("/v1/{collection}/{id}"), None).map(drop)
    }

    /// The position of the server's newest event.
    pub(super) fn head(&self) -> Result<i64, DrillError> {
        let feed = self.request(Method::GET, "/v1/events?limit=1", None)?;
        Ok(feed["meta"]["feed"]["head"].as_i64().unwrap_or_default())
    }

    /// All records, with the home's profile.
    pub(super) fn records(&self) -> Result<Vec<(&'static str, Value)>, DrillError> {
        let mut found = Vec::new();
        for kind in hearth_contract::schema::Kind::COLLECTIONS {
            let path = format!("/v1/{}?limit=100", kind.collection());
            found.extend(self.read_pages(&path)?.into_iter().map(|record| (kind.as_str(), record)));
        }
        let profile = self.request(Method::GET, "/v1/property", None)?["data"].take();
        found.extend((!profile.is_null()).then_some(("property", profile)));
        Ok(found)
    }

    /// All events in the feed, in order.
    pub(super) fn events(&self) -> Result<Vec<Event>, DrillError> {
        let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let events = self.read_pages("/v1/events?limit=1000")?;
        let event = |mut event: Value| Event {
            event_type: text(&event, "type"),
            record: text(&event, "resource_id"),
            payload: event["payload"].take(),
        };
        Ok(events.into_iter().map(event).collect())
    }

    fn read_pages(&self, path: &str) -> Result<Vec<Value>, DrillError> {
        let (mut found, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut page = self.request(Method::GET, &format!("{path}{cursor}"), None)?;
            if let Value::Array(items) = page["data"].take() {
                found.extend(items);
            }
            let place = &page["meta"]["page"];
            if place["has_more"] != json!(true) {
                return Ok(found);
            }
            cursor = format!("&cursor={}", place["next_cursor"].as_str().unwrap_or_default());
        }
    }

    /// Polls until the condition is true and returns the time taken. Error: not true within `limit`; `what` names the
    /// condition.
    pub(super) fn wait_until(
        &self,
        condition: &str,
        limit: Duration,
        mut is_so: impl FnMut() -> Result<bool, DrillError>,
    ) -> Result<Duration, DrillError> {
        let since = Instant::now();
        while !is_so()? {
            if since.elapsed() > limit {
                return Err(failed(format!("waited {} s until {condition}", limit.as_secs())));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(since.elapsed())
    }
}

/// The first line of a program's output. None: no line in time.
fn first_line(stdout: ChildStdout) -> Option<String> {
    let (sender, line) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        if BufReader::new(stdout).read_line(&mut line).is_ok() {
            let _ = sender.send(line.trim().to_owned());
        }
    });
    line.recv_timeout(RESPONSE_TIMEOUT).ok().filter(|line| !line.is_empty())
}
