//! The measured service: the built program with default settings but without rate limits, and a home filled with tasks.
//! Must not know the workloads.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hearth_tests::process::{self, Process};
use hearth_tests::wire::Wire;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::figures::{Row, Spread, Target};
use crate::load::{self, Load};
use crate::peers::Peer;

/// The extent of the measurements.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// Tasks in the home.
    pub(crate) records: usize,
    /// Number of runs of each figure.
    pub(crate) runs: usize,
    /// Duration of one measurement.
    pub(crate) time: Duration,
    /// Concurrent streams with events.
    pub(crate) streams: usize,
    /// Concurrent idle streams.
    pub(crate) idle: usize,
    /// Number of events for the throughput of all streams, and for their delay.
    pub(crate) events: (usize, usize),
    /// Number of edits to push.
    pub(crate) edits: usize,
    /// Rising numbers of households on one service.
    pub(crate) households: &'static [usize],
    /// Number of large items in the room that an attack deletes.
    pub(crate) dependents: usize,
    /// Number of idle sockets of an attack.
    pub(crate) sockets: usize,
    /// The files that are made to harm the service.
    pub(crate) hostile_files: HostileFiles,
}

/// Files that are made to harm the service.
#[derive(Clone, Copy)]
pub(crate) struct HostileFiles {
    /// Number of bombs, at most.
    pub(crate) bombs: usize,
    /// Number of damaged photos and papers.
    pub(crate) damaged: usize,
    /// Whether text in pixels is recognized.
    pub(crate) recognize: bool,
}

impl Scale {
    pub(crate) const FULL: Scale = Scale {
        records: 100_000,
        runs: 5,
        time: Duration::from_secs(2),
        streams: 1000,
        idle: 10_000,
        events: (1000, 200),
        edits: 10_000,
        households: &[1, 100, 1000, 5000],
        dependents: 4000,
        sockets: 1100,
        hostile_files: HostileFiles { bombs: usize::MAX, damaged: 1000, recognize: false },
    };
    pub(crate) const SHORT: Scale = Scale {
        records: 300,
        runs: 1,
        time: Duration::from_millis(50),
        streams: 20,
        idle: 50,
        events: (20, 5),
        edits: 200,
        households: &[1, 4],
        dependents: 50,
        sockets: 20,
        hostile_files: HostileFiles { bombs: 4, damaged: 4, recognize: false },
    };
}

/// The filled service and the figures so far.
pub(crate) struct Testbed {
    pub(crate) scale: Scale,
    /// Host and port of the service.
    pub(crate) address: String,
    pub(crate) key: String,
    pub(crate) rows: Vec<Row>,
    pub(crate) dir: TempDir,
    /// Peer services to measure.
    pub(crate) peers: Vec<Peer>,
    server: Option<Process>,
}

/// The most operations of a bulk call (contract 7).
pub(crate) const BULK_MAX: usize = 50;

/// A word from a hundred; each is in the title of one task in a hundred.
pub(crate) fn topic(number: usize) -> String {
    const HEADS: [&str; 10] = ["gut", "fil", "cha", "bas", "win", "gar", "dri", "kit", "lau", "por"];
    const TAILS: [&str; 10] = ["ter", "mor", "nel", "dic", "sov", "pax", "run", "kel", "bim", "zet"];
    format!("{}{}", HEADS[number % 10], TAILS[number / 10 % 10])
}

/// The fields of a task in the filled home. A task has about 350 bytes in a response.
pub(crate) fn task(number: usize) -> Value {
    json!({ "title": format!("Check the {} {number}", topic(number)), "priority": "low", "assignee": "Mateo" })
}

/// Builds the measured programs with the profile of this program.
pub(crate) fn build() -> anyhow::Result<()> {
    let here = std::env::current_exe()?;
    let made_by = here.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or("release");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let status = Command::new(cargo)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        // Built without the tests, whose features of shared libraries would apply to the programs, too.
        .args(["build", "--quiet", "--locked", "-p", "hearth-server", "-p", "hearth-replica", "-p", "hearth"])
        .args(["--profile", if made_by == "debug" { "dev" } else { made_by }])
        .status()?;
    anyhow::ensure!(status.success(), "the programs could not be built");
    Ok(())
}

impl Testbed {
    /// Starts the service on a new directory and fills the home.
    pub(crate) fn new(scale: Scale, peers: Vec<Peer>) -> anyhow::Result<Testbed> {
        let dir = tempfile::tempdir()?;
        let (server, address) = serve(&dir.path().join("data"));
        let data = dir.path().join("data").display().to_string();
        let create = ["--data", &data, "key", "create", "--team", "My home", "--env", "live", "--quiet"];
        let key = process::stdout("hearth-server", &create);
        let testbed = Testbed { scale, address, key, rows: Vec::new(), dir, peers, server: Some(server) };
        testbed.fill()?;
        Ok(testbed)
    }

    /// Stops the service.
    pub(crate) fn end(mut self) {
        self.stop();
    }

    fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            server.terminate();
        }
    }

    /// Restarts the service. Returns the time from the start to the first response.
    pub(crate) fn restart(&mut self) -> anyhow::Result<Duration> {
        self.stop();
        let began = Instant::now();
        let (server, address) = serve(&self.data());
        (self.server, self.address) = (Some(server), address);
        let first = self.get("/v1/tasks?limit=1");
        load::block_on(async {
            let response = Wire::connect(&self.address).await?.send(&first).await?;
            anyhow::ensure!(response.status == 200, "status {}", response.status);
            Ok(began.elapsed())
        })
    }

    /// Memory of the service process in KiB, by a line of `/proc/PID/status`, such as `VmRSS`.
    pub(crate) fn memory_kib(&self, line: &str) -> anyhow::Result<f64> {
        memory_kib(self.service().1, line)
    }

    /// Loads a service for the duration of a measurement. Adds the processor time of each response to `each`, in
    /// microseconds.
    pub(crate) fn load(
        &self,
        whom: (&str, u32),
        connections: usize,
        requests: &[Vec<u8>],
        status: u16,
        each: &mut Vec<f64>,
    ) -> anyhow::Result<Load> {
        let before = processor_time(whom.1)?;
        let load = load::run(whom.0, connections, self.scale.time, requests, status)?;
        each.push((processor_time(whom.1)? - before) / load.responses as f64);
        Ok(load)
    }

    /// The service's address and process id.
    pub(crate) fn service(&self) -> (&str, u32) {
        (&self.address, self.server.as_ref().map_or(0, Process::id))
    }

    /// The service's data directory.
    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A file in the temporary directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// An encoded GET.
    pub(crate) fn get(&self, target: &str) -> Vec<u8> {
        format!("{}\r\n", self.head("GET", target)).into_bytes()
    }

    /// An encoded POST with a JSON body.
    pub(crate) fn post(&self, target: &str, body: &str) -> Vec<u8> {
        let head = self.head("POST", target);
        format!("{head}content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    /// An encoded bulk call that creates these tasks.
    pub(crate) fn bulk(&self, tasks: impl Iterator<Item = Value>) -> Vec<u8> {
        self.operations(tasks.map(|mut task| {
            task["method"] = "create".into();
            task
        }))
    }

    /// An encoded bulk call on tasks.
    pub(crate) fn operations(&self, operations: impl Iterator<Item = Value>) -> Vec<u8> {
        self.post("/v1/tasks/bulk", &json!({ "operations": operations.collect::<Vec<_>>() }).to_string())
    }

    /// The first lines of a request, with the key.
    pub(crate) fn head(&self, method: &str, target: &str) -> String {
        let (host, key) = (&self.address, &self.key);
        format!("{method} {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n")
    }

    /// Sends one request. Returns the response with head and body, and the body as JSON.
    pub(crate) fn send(&self, request: &[u8]) -> anyhow::Result<(Vec<u8>, Value)> {
        load::block_on(async {
            let mut wire = Wire::connect(&self.address).await?;
            let response = wire.send(request).await?;
            anyhow::ensure!(response.status < 300, "status {}: {:?}", response.status, wire.text(response));
            Ok((wire.bytes(response).to_vec(), serde_json::from_slice(wire.body(response))?))
        })
    }

    /// Reads the list page by page and passes each body to `see`, until `see` returns false.
    pub(crate) fn for_each_page(&self, mut see: impl FnMut(&Value) -> bool) -> anyhow::Result<()> {
        let mut cursor = String::new();
        loop {
            let and = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
            let (_, page) = self.send(&self.get(&format!("/v1/tasks?limit=100{and}")))?;
            let next = page["meta"]["page"]["next_cursor"].as_str().map(str::to_owned);
            match next {
                Some(next) if see(&page) => cursor = next,
                _ => return Ok(()),
            }
        }
    }

    fn fill(&self) -> anyhow::Result<()> {
        load::block_on(async {
            let mut wire = Wire::connect(&self.address).await?;
            for first in (0..self.scale.records).step_by(BULK_MAX) {
                let last = (first + BULK_MAX).min(self.scale.records);
                let response = wire.send(&self.bulk((first..last).map(task))).await?;
                anyhow::ensure!(response.status == 207, "status {}: {:?}", response.status, wire.text(response));
            }
            Ok(())
        })
    }

    /// Adds a figure to the table.
    pub(crate) fn record(&mut self, what: impl Into<String>, unit: &'static str, runs: &[f64], target: Option<Target>) {
        let records = self.scale.records;
        self.rows.push(Row { workload: "", records, what: what.into(), unit, spread: Spread::of(runs), target });
    }

    /// Measures the service and its baseline in each run. Records both rates and their ratio.
    pub(crate) fn compare(
        &mut self,
        (ours, limit): (&str, &str),
        unit: &'static str,
        target: Target,
        mut measure: impl FnMut(&mut Testbed) -> anyhow::Result<(f64, f64)>,
    ) -> anyhow::Result<()> {
        let (mut rates, mut limits, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.scale.runs {
            let (rate, most) = measure(self)?;
            rates.push(rate);
            limits.push(most);
            ratios.push(rate / most);
        }
        self.record(ours, unit, &rates, None);
        self.record(limit, unit, &limits, None);
        self.record(format!("{ours} / {limit}"), "", &ratios, Some(target));
        Ok(())
    }
}

/// Memory of a process in KiB, by a line of `/proc/PID/status`.
pub(crate) fn memory_kib(process: u32, line: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let value = status.lines().find_map(|text| text.strip_prefix(line)?.strip_prefix(':'));
    Ok(value.unwrap_or_default().trim().trim_end_matches(" kB").parse()?)
}

/// Processor time of a process so far, in microseconds.
pub(crate) fn processor_time(process: u32) -> anyhow::Result<f64> {
    ticks(&process.to_string(), 11)
}

/// Processor time of all ended child processes, in microseconds.
pub(crate) fn ended_children_processor_time() -> anyhow::Result<f64> {
    ticks("self", 13)
}

/// The sum of two neighbouring tick counts in `/proc/PID/stat`, by their index after the name, in microseconds.
fn ticks(process: &str, place: usize) -> anyhow::Result<f64> {
    /// Clock ticks per second in /proc, the same on all Linux systems.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The second field is a name in parentheses, which may contain spaces.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(place).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS * 1e6)
}

/// Starts the service without rate limits.
pub(crate) fn serve(data: &Path) -> (Process, String) {
    let data = data.display().to_string();
    let settings = ["--rate-limits", "off", "--max-streams", "1000000"];
    let log = Path::new(&data).with_extension("log");
    let arguments = [&["--data", &data, "serve", "--listen", "127.0.0.1:0"][..], &settings].concat();
    let (server, url) = Process::serve_logging(&arguments, &log);
    (server, url.trim_start_matches("http://").to_owned())
}
