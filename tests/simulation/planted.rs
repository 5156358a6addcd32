//! The planted faults: faults in the code of server and replica that the simulation must find. A simulation that finds
//! none of them proves nothing. Must not plant two faults at the same time.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hearth_simulated::PlantedFault;

use super::environment_fault::EnvironmentFault;
use super::plan::Plan;
use super::simulator::Simulator;

/// The variable that names the planted fault of a program built with the feature `simulation`.
const VARIABLE: &str = "HEARTH_PLANTED";
/// How often the search looks whether its process has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A planted fault and the environment of its worlds.
pub struct PlantedCase {
    /// The fault in the code.
    pub fault: PlantedFault,
    /// The faults of the environment that occur in each world. Without them, the planted fault has no effect.
    pub environment: &'static [EnvironmentFault],
}

/// The result of a search.
pub struct Search {
    /// The first seed that fails only with the planted fault, and the failure. None: no seed found the fault.
    pub found: Option<(u64, String)>,
    /// How long the search took.
    pub time: Duration,
}

/// All planted faults, each with the environment in which the fault has an effect.
pub const PLANTED: [PlantedCase; 42] = [
    // Faults in the server.
    case(PlantedFault::AckBeforeCommit, &[EnvironmentFault::ServerDiskFull]),
    case(PlantedFault::EventInOwnTransaction, &[EnvironmentFault::ServerCrash]),
    case(PlantedFault::ReceiptInOwnTransaction, &[EnvironmentFault::ServerCrash]),
    case(PlantedFault::ReceiptNotStored, &[]),
    case(PlantedFault::EventIdsReused, &[EnvironmentFault::Retention]),
    case(PlantedFault::CompactionDropsLatest, &[EnvironmentFault::Retention]),
    case(
        PlantedFault::BackfillExpires,
        &[EnvironmentFault::Retention, EnvironmentFault::Offline, EnvironmentFault::StreamCut],
    ),
    case(PlantedFault::RetentionGapIgnored, &[EnvironmentFault::Retention, EnvironmentFault::Offline]),
    case(
        PlantedFault::TombstonesOmitted,
        &[EnvironmentFault::Retention, EnvironmentFault::Offline, EnvironmentFault::StreamCut],
    ),
    case(PlantedFault::RestoreIgnored, &[EnvironmentFault::RestoreFiles, EnvironmentFault::Kill]),
    case(PlantedFault::HomeClockStepsBack, &[EnvironmentFault::ClockStep]),
    case(PlantedFault::IfMatchIgnored, &[EnvironmentFault::Delay, EnvironmentFault::Offline]),
    case(PlantedFault::HeadNotStored, &[EnvironmentFault::ServerKill]),
    case(PlantedFault::DeletedIdsReusable, &[EnvironmentFault::LongSleep, EnvironmentFault::LostResponse]),
    // Faults in the replica.
    case(PlantedFault::PositionBeforeRows, &[EnvironmentFault::Crash]),
    case(PlantedFault::CursorNotStored, &[EnvironmentFault::Kill]),
    case(
        PlantedFault::OlderImageWins,
        &[EnvironmentFault::Retention, EnvironmentFault::Offline, EnvironmentFault::Delay],
    ),
    case(PlantedFault::SearchNotUpdated, &[]),
    case(PlantedFault::UserTriggersOff, &[]),
    case(
        PlantedFault::TombstonesNotStored,
        &[EnvironmentFault::Retention, EnvironmentFault::Offline, EnvironmentFault::Delay],
    ),
    case(PlantedFault::OverlayDroppedAtAck, &[]),
    case(PlantedFault::GateLeftOpen, &[]),
    case(PlantedFault::LiveBeforeCaughtUp, &[EnvironmentFault::Offline]),
    case(PlantedFault::RejectedEditDropped, &[EnvironmentFault::InvalidEdit]),
    case(PlantedFault::RejectedEditSuperseded, &[EnvironmentFault::InvalidEdit]),
    case(PlantedFault::AnyRemoteChangeConflicts, &[EnvironmentFault::Delay, EnvironmentFault::Offline]),
    case(PlantedFault::CoalescedEditLost, &[EnvironmentFault::Offline]),
    case(PlantedFault::PreconditionFailureIsSuccess, &[EnvironmentFault::Delay, EnvironmentFault::Offline]),
    case(PlantedFault::ServerErrorIsSuccess, &[EnvironmentFault::ServerError]),
    case(PlantedFault::IfMatchNotSent, &[EnvironmentFault::LongSleep, EnvironmentFault::LostResponse]),
    case(PlantedFault::RetryWithNewKey, &[EnvironmentFault::LostResponse]),
    case(PlantedFault::InFlightForgotten, &[EnvironmentFault::Crash, EnvironmentFault::Kill]),
    case(PlantedFault::DependentsDoNotWait, &[EnvironmentFault::Offline, EnvironmentFault::ServerError]),
    case(PlantedFault::BlockedForever, &[EnvironmentFault::InvalidEdit]),
    case(PlantedFault::NextTaskSent, &[EnvironmentFault::Offline]),
    case(PlantedFault::MassDeleteUnguarded, &[EnvironmentFault::Retention, EnvironmentFault::Offline]),
    case(
        PlantedFault::ListsAheadOfFeed,
        &[EnvironmentFault::Retention, EnvironmentFault::Offline, EnvironmentFault::StreamSilent],
    ),
    case(PlantedFault::SilentStreamIgnored, &[EnvironmentFault::StreamSilent]),
    case(PlantedFault::DiskFullIsSuccess, &[EnvironmentFault::DiskFull]),
    case(PlantedFault::MaybeAppliedForgotten, &[EnvironmentFault::LostResponse, EnvironmentFault::ScopesRemoved]),
    case(PlantedFault::RetryUsesWallClock, &[EnvironmentFault::ServerError, EnvironmentFault::ClockStep]),
    case(PlantedFault::ForeignAnswerAccepted, &[EnvironmentFault::ForeignResponse]),
];

const fn case(fault: PlantedFault, environment: &'static [EnvironmentFault]) -> PlantedCase {
    PlantedCase { fault, environment }
}

impl PlantedCase {
    /// The case of the fault that `HEARTH_PLANTED` names; None without the variable. Err: no fault has the name.
    pub fn from_environment() -> Result<Option<&'static PlantedCase>, String> {
        let Ok(name) = std::env::var(VARIABLE) else { return Ok(None) };
        let case = PLANTED.iter().find(|case| case.fault.as_str() == name);
        case.map(Some)
            .ok_or_else(|| format!("{VARIABLE}: `{name}` is not a planted fault; `--planted` lists the names"))
    }

    /// The plan of a seed with the environment of this case.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::with_faults(seed, self.environment)
    }

    /// Runs the seeds from 1 to `seeds` with the planted fault until a seed fails that passes without the fault. The
    /// seeds run in another process, which is killed after `patience`: a fault can cause an endless loop.
    pub fn search(&self, seeds: u64, patience: Duration) -> Result<Search, String> {
        let (started, simulator) = (Instant::now(), Simulator::new()?);
        let mut from = 1;
        while from <= seeds {
            let Some((seed, why)) = self.first_failure(from, seeds, patience)? else { break };
            if simulator.run(self.plan(seed), false).result.is_ok() {
                return Ok(Search { found: Some((seed, why)), time: started.elapsed() });
            }
            from = seed + 1;
        }
        Ok(Search { found: None, time: started.elapsed() })
    }

    /// The first failing seed from `from` to `to` with the planted fault, and the failure.
    fn first_failure(&self, from: u64, to: u64, patience: Duration) -> Result<Option<(u64, String)>, String> {
        let failed = |error: std::io::Error| format!("another process cannot be run: {error}");
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["--jobs=1", "--shrink=0", &format!("--from={from}"), &format!("--seeds={}", to + 1 - from)])
            .env(VARIABLE, self.fault.as_str())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let started = Instant::now();
        // The output is read at the end: the report of one failure fits into the buffer of a pipe.
        while child.try_wait().map_err(failed)?.is_none() {
            if started.elapsed() > patience {
                child.kill().map_err(failed)?;
                child.wait().map_err(failed)?;
                return Err(format!("the process does not end within {} s", patience.as_secs()));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let output = child.wait_with_output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        match first_failure_in(&text) {
            None if !output.status.success() => Err(format!("the process ended with {}: {text}", output.status)),
            found => Ok(found),
        }
    }
}

/// The seed and the failure in the output of `simulate`: the first line `seed NUMBER: FAILURE`.
fn first_failure_in(output: &str) -> Option<(u64, String)> {
    let (seed, why) = output.lines().find_map(|line| line.strip_prefix("seed ")?.split_once(": "))?;
    Some((seed.parse().ok()?, why.to_owned()))
}
