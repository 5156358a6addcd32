//! The workload `hostile`: what a normal client of one team notices while another team, or a stranger, attacks the service.
//! The service has its default settings and 1,024 open files. Must not know how the service defends itself.
//!
//! - [`attacks`]: the attacks, as encoded requests. [`seed`]: the homes of both teams.

mod attacks;
mod seed;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hearth_tests::process::{self, Process};
use hearth_tests::wire::Wire;

use self::attacks::Attack;
use self::seed::Seed;
use crate::figures::Target;
use crate::load::{block_on, quantile};
use crate::testbed::{Testbed, memory_kib};

/// Open files of the service, as many systems set them.
const OPEN_FILES: &str = "1024";
/// Concurrent connections of an attack.
const ATTACKERS: usize = 4;
/// Time between two requests of the normal client.
const PACE: Duration = Duration::from_millis(10);
/// Of so many requests of the normal client, one is a write.
const WRITE_EVERY: usize = 4;
/// The most that the 99 % quantile may grow, and its limit in milliseconds.
const GROWTH_MAX: f64 = 5.0;
const DELAY_MAX: f64 = 250.0;
/// The most memory of the service, in MiB.
const MEMORY_MAX: f64 = 512.0;
/// The most that an attack may add to the log, in kB. Rate limits and the log count by the minute, so an attack of seconds
/// writes as much as an attack of a minute.
const LOG_MAX: f64 = 1000.0;

/// Measures each attack beside the normal client.
pub(crate) fn hostile(testbed: &mut Testbed) -> anyhow::Result<()> {
    // The sockets of an attack need as many files here.
    hearth_server::open_files::connections_max(usize::MAX);
    let (data, log) = (testbed.file("hostile"), testbed.file("attacked.log"));
    let seed = Seed::fill(&data, testbed.scale)?;
    let (server, address) = serve(&data, &log);
    let normal = seed.normal_requests();
    let time = testbed.scale.time;
    let (mut quiet, quiet_log) = measure(&address, &normal, time, &log)?;
    let quiet = quantile(&mut quiet, 0.99);
    testbed.record("quiet, 99 % of the answers within", "ms", &[quiet], None);
    for (name, attack) in attacks::all(&seed, &data, testbed.scale)? {
        reset_peak(server.id())?;
        let (mut delays, logged) = beside(&attack, &address, || measure(&address, &normal, time, &log))?;
        let slow = quantile(&mut delays, 0.99);
        let peak = memory_kib(server.id(), "VmHWM")? / 1024.0;
        let figures = [
            ("99 % of the answers within", "ms", slow, DELAY_MAX),
            ("99 % / quiet", "", slow / quiet, GROWTH_MAX),
            ("memory of the service at its peak", "MiB", peak, MEMORY_MAX),
            ("log beyond quiet", "kB", (logged - quiet_log).max(0.0), LOG_MAX),
        ];
        for (what, unit, figure, most) in figures {
            testbed.record(format!("{name}: {what}"), unit, &[figure], Some(Target::AtMost(most)));
        }
    }
    server.terminate();
    Ok(())
}

/// Runs a measurement while an attack goes on.
fn beside<T>(attack: &Attack, address: &str, measure: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let attacking = scope.spawn(|| block_on(attack.run(address, &is_over)));
        let measured = measure();
        is_over.store(true, Ordering::Relaxed);
        attacking.join().map_err(|_| anyhow::anyhow!("an attack panicked"))?;
        measured
    })
}

/// The delays of the normal client's requests, each on a new connection, and the growth of the log in kB.
fn measure(address: &str, requests: &[Vec<u8>], time: Duration, log: &Path) -> anyhow::Result<(Vec<Duration>, f64)> {
    let (began, before) = (Instant::now(), std::fs::metadata(log)?.len());
    let delays = delays(address, requests, || began.elapsed() >= time)?;
    let grown = std::fs::metadata(log)?.len() - before;
    Ok((delays, grown as f64 / 1000.0))
}

/// The delays of requests, each on a new connection, until the measurement is over.
pub(crate) fn delays(address: &str, requests: &[Vec<u8>], is_over: impl Fn() -> bool) -> anyhow::Result<Vec<Duration>> {
    block_on(async {
        let mut delays = Vec::new();
        for request in requests.iter().cycle() {
            let asked = Instant::now();
            let mut wire = Wire::connect(address).await?;
            let response = wire.send(request).await?;
            delays.push(asked.elapsed());
            anyhow::ensure!(response.status < 300, "status {}: {:?}", response.status, wire.text(response));
            if is_over() {
                break;
            }
            tokio::time::sleep(PACE).await;
        }
        Ok(delays)
    })
}

/// Starts the service with its default settings, its log in a file, and few open files.
fn serve(data: &Path, log: &Path) -> (Process, String) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n \"$1\"; log=$2; shift 2; exec \"$@\" 2>\"$log\"", "sh", OPEN_FILES]);
    shell.arg(log).arg(process::program("hearth-server")).arg("--data").arg(data);
    let (server, url) = Process::start_announcing(shell.args(["serve", "--listen", "127.0.0.1:0"]));
    (server, url.trim_start_matches("http://").to_owned())
}

/// Makes the peak of a process's memory begin at its present memory (proc(5)).
pub(crate) fn reset_peak(process: u32) -> anyhow::Result<()> {
    Ok(std::fs::write(format!("/proc/{process}/clear_refs"), "5")?)
}
