//! The workload `hostile-files`: what a home notices while the service reads files that were made to harm it: bombs, and damaged
//! photos and papers. Every job must end, the memory of the service must hardly move, and requests of others must stay quick. Must not know
//! how a file is read.
//!
//! - [`bombs`]: small files that ask for much. [`packed`]: their parts. [`mutants`]: damaged copies of ordinary files.

mod bombs;
mod mutants;
mod packed;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use hearth_tests::wire::{Response, Wire};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::figures::Target;
use crate::hostile::{delays, reset_peak};
use crate::load::{block_on, quantile};
use crate::testbed::{BULK_MAX, Testbed, memory_kib, task};

/// Jobs that wait at the same time: as many as a home may have (contract 22).
const JOBS_AT_ONCE: usize = 10;
/// Time between two looks at a job.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The longest time of a job from the moment at which it is the next: eight files of 60 seconds, and the drafts.
const JOB_TIME_MAX: Duration = Duration::from_secs(8 * 60 + 30);
/// A measurement without hostile files takes so long. Both sorts take turns.
const QUIET_TURN: Duration = Duration::from_millis(500);
/// The most that the memory of the service may move, in MiB.
const MEMORY_MAX: f64 = 20.0;
/// The most that the 99 % quantile of others may grow.
const GROWTH_MAX: f64 = 2.0;
/// Tasks of 8 kB that are more than the caches of the database hold.
const CACHED_TASKS: usize = 4000;
/// Of so many requests of others, one is a write.
const WRITE_EVERY: usize = 8;

/// A job of a person who means harm.
pub(super) struct Attack {
    /// What is wrong with the files.
    name: String,
    /// The bytes of the files of the job.
    files: Vec<Vec<u8>>,
}

impl Attack {
    fn of(name: impl Into<String>, file: Vec<u8>) -> Attack {
        Attack { name: name.into(), files: vec![file] }
    }
}

/// How a job ended: `ready`, or the code of its error. None: it did not end.
type End = Option<String>;

/// Sends all files, and measures others by turns with and without them.
pub(crate) fn hostile_files(testbed: &mut Testbed) -> anyhow::Result<()> {
    let attacks = attacks(testbed)?;
    if testbed.scale.hostile_files.recognize {
        let models = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../target/models"));
        let models = models.canonicalize().context("packaging/models.sh target/models fetches the models")?;
        std::os::unix::fs::symlink(models, testbed.data().join("models"))?;
    }
    let (others, address) = (requests(testbed)?, testbed.service().0.to_owned());
    // What the first jobs and requests cost once is no harm, and neither are the caches of the database, which every use fills.
    fill_caches(testbed)?;
    send_all(testbed, &mutants::ordinary()?)?;
    measure_for(testbed, &address, &others)?;

    let service = testbed.service().1;
    let before = testbed.memory_kib("VmRSS")?;
    reset_peak(service)?;
    let (mut quiet, mut beside) = (Vec::new(), Vec::new());
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    let mut unended = 0;
    let began = Instant::now();
    for batch in attacks.chunks(JOBS_AT_ONCE) {
        quiet.extend(measure_for(testbed, &address, &others)?);
        let peak = memory_kib(service, "VmHWM")?;
        let ended = std::thread::scope(|scope| {
            let sending = scope.spawn(|| send_all(testbed, batch));
            beside.extend(delays(&address, &others, || sending.is_finished())?);
            sending.join().map_err(|_| anyhow::anyhow!("the sender of files panicked"))?
        })?;
        let grown = (memory_kib(service, "VmHWM")? - peak) / 1024.0;
        if grown > MEMORY_MAX / 4.0 {
            let names: Vec<&str> = batch.iter().map(|attack| &*attack.name).collect();
            eprintln!("the peak of the memory has grown by {grown:.0} MiB beside: {}", names.join("; "));
        }
        for (attack, end) in batch.iter().zip(ended) {
            match end.as_deref() {
                None => eprintln!("no end: {}", attack.name),
                Some("internal" | "interrupted") => {
                    eprintln!("{}: {}", end.as_deref().unwrap_or_default(), attack.name)
                }
                Some(_) => (),
            }
            unended += usize::from(end.is_none());
            *ends.entry(end.unwrap_or_else(|| "none".to_owned())).or_default() += 1;
        }
    }
    let each = began.elapsed().as_secs_f64() / attacks.len() as f64;
    let at_most = |most: f64| Some(Target::AtMost(most));
    let memory = |line: &str| anyhow::Ok((memory_kib(service, line)? - before).max(0.0) / 1024.0);
    testbed.record("jobs without an end", "", &[unended as f64], at_most(0.0));
    let faults = ends.get("internal").copied().unwrap_or_default() as f64;
    testbed.record("jobs that failed by a fault of the service", "", &[faults], at_most(0.0));
    for (end, count) in &ends {
        testbed.record(format!("jobs with the end {end}"), "", &[*count as f64], None);
    }
    testbed.record("time of a job", "s", &[each], None);
    testbed.record("growth of the memory at its peak", "MiB", &[memory("VmHWM")?], at_most(MEMORY_MAX));
    testbed.record("growth of the memory afterwards", "MiB", &[memory("VmRSS")?], at_most(MEMORY_MAX));
    let (quiet, beside) = (quantile(&mut quiet, 0.99), quantile(&mut beside, 0.99));
    testbed.record("quiet, 99 % of the answers within", "ms", &[quiet], None);
    testbed.record("beside the files, 99 % of the answers within", "ms", &[beside], None);
    testbed.record("beside the files / quiet", "", &[beside / quiet], at_most(GROWTH_MAX));
    Ok(())
}

/// The bombs and the damaged files, as many as the scale says.
fn attacks(testbed: &Testbed) -> anyhow::Result<Vec<Attack>> {
    let files = testbed.scale.hostile_files;
    let mut attacks = bombs::all();
    attacks.truncate(files.bombs);
    attacks.extend(mutants::all(files.damaged)?);
    Ok(attacks)
}

/// What others do: reads of single records, a page and a search, and writes.
fn requests(testbed: &Testbed) -> anyhow::Result<Vec<Vec<u8>>> {
    let (_, page) = testbed.send(&testbed.get("/v1/tasks?limit=50"))?;
    let records: Vec<&Value> = page["data"].as_array().into_iter().flatten().collect();
    let request = |(number, record): (usize, &&Value)| match number % WRITE_EVERY {
        0 => testbed.post("/v1/tasks", &task(number).to_string()),
        1 => testbed.get("/v1/tasks?limit=20"),
        2 => testbed.get("/v1/search?q=fil"),
        _ => testbed.get(&format!("/v1/tasks/{}", record["id"].as_str().unwrap_or_default())),
    };
    Ok(records.iter().enumerate().map(request).collect())
}

/// Writes long tasks, and reads all of them.
fn fill_caches(testbed: &Testbed) -> anyhow::Result<()> {
    let long = |number: usize| json!({ "title": format!("Long {number}"), "notes": "window and door ".repeat(500) });
    for first in (0..CACHED_TASKS).step_by(BULK_MAX) {
        testbed.send(&testbed.bulk((first..first + BULK_MAX).map(long)))?;
    }
    testbed.for_each_page(|_| true)
}

fn measure_for(testbed: &Testbed, address: &str, others: &[Vec<u8>]) -> anyhow::Result<Vec<Duration>> {
    let (began, time) = (Instant::now(), testbed.scale.time.min(QUIET_TURN));
    delays(address, others, || began.elapsed() >= time)
}

/// Sends some jobs at once, and waits until they have ended.
fn send_all(testbed: &Testbed, attacks: &[Attack]) -> anyhow::Result<Vec<End>> {
    block_on(async {
        let mut wire = Wire::connect(testbed.service().0).await?;
        let mut jobs = Vec::new();
        for attack in attacks {
            jobs.push(begin(testbed, &mut wire, attack).await.with_context(|| attack.name.clone())?);
        }
        let mut ends = Vec::new();
        for job in jobs {
            ends.push(end(testbed, &mut wire, &job).await?);
        }
        Ok(ends)
    })
}

/// Uploads the files of a job and makes the job. Returns its id.
async fn begin(testbed: &Testbed, wire: &mut Wire, attack: &Attack) -> anyhow::Result<String> {
    let mut hashes = Vec::new();
    for file in &attack.files {
        let hash: String = Sha256::digest(file).iter().map(|byte| format!("{byte:02x}")).collect();
        let head = testbed.head("PUT", &format!("/v1/files/{hash}"));
        let head = format!("{head}content-type: application/octet-stream\r\ncontent-length: {}\r\n\r\n", file.len());
        let response = wire.send(&[head.as_bytes(), file].concat()).await?;
        anyhow::ensure!(matches!(response.status, 200 | 201), "status {}: {}", response.status, wire.text(response));
        hashes.push(hash);
    }
    let response = wire.send(&testbed.post("/v1/smart-add", &json!({ "files": hashes }).to_string())).await?;
    anyhow::ensure!(response.status == 202, "status {}: {}", response.status, wire.text(response));
    Ok(body(wire, response)?["data"]["id"].as_str().unwrap_or_default().to_owned())
}

/// Waits for the end of a job. Jobs before it have ended.
async fn end(testbed: &Testbed, wire: &mut Wire, job: &str) -> anyhow::Result<End> {
    let since = Instant::now();
    while since.elapsed() < JOB_TIME_MAX {
        let response = wire.send(&testbed.get(&format!("/v1/smart-add/{job}"))).await?;
        let job = &body(wire, response)?["data"];
        match job["status"].as_str() {
            Some("queued" | "running") => tokio::time::sleep(LOOK_EVERY).await,
            Some("failed") => return Ok(job["error"]["code"].as_str().map(str::to_owned)),
            status => return Ok(status.map(str::to_owned)),
        }
    }
    Ok(None)
}

fn body(wire: &Wire, response: Response) -> anyhow::Result<Value> {
    Ok(serde_json::from_slice(wire.body(response))?)
}
