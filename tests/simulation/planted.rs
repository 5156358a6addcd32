//! Faults that are planted in the code, one at a time, to see whether the simulation finds them: a simulation that
//! finds nothing proves nothing. Must not plant more than one at once.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::faults::Fault;
use super::plan::Plan;
use hearth_simulated::PlantedFault as Bug;

/// A fault in the code.
pub struct Planted {
    /// The fault in the code.
    pub bug: Bug,
    /// What the machine does all the time while it is looked for.
    pub with: &'static [Fault],
}

/// All faults that can be planted.
pub const PLANTED: [Planted; 42] = [
    // The server.
    one(Bug::AckBeforeCommit, &[Fault::ServerDiskFull]),
    one(Bug::EventInOwnTransaction, &[Fault::ServerCrash]),
    one(Bug::ReceiptInOwnTransaction, &[Fault::ServerCrash]),
    one(Bug::ReceiptNotStored, &[]),
    one(Bug::EventIdsReused, &[Fault::Retention]),
    one(Bug::CompactionDropsLatest, &[Fault::Retention]),
    one(Bug::BackfillExpires, &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one(Bug::RetentionGapIgnored, &[Fault::Retention, Fault::Offline]),
    one(Bug::TombstonesOmitted, &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one(Bug::RestoreIgnored, &[Fault::RestoreFiles, Fault::Kill]),
    one(Bug::HomeClockStepsBack, &[Fault::ClockStep]),
    one(Bug::IfMatchIgnored, &[Fault::Delay, Fault::Offline]),
    one(Bug::HeadNotStored, &[Fault::ServerKill]),
    one(Bug::DeletedIdsReusable, &[Fault::Night, Fault::LostAnswer]),
    // The replica.
    one(Bug::PositionBeforeRows, &[Fault::Crash]),
    one(Bug::CursorNotStored, &[Fault::Kill]),
    one(Bug::OlderImageWins, &[Fault::Retention, Fault::Offline, Fault::Delay]),
    one(Bug::SearchNotUpdated, &[]),
    one(Bug::UserTriggersOff, &[]),
    one(Bug::TombstonesNotStored, &[Fault::Retention, Fault::Offline, Fault::Delay]),
    one(Bug::OverlayDroppedAtAck, &[]),
    one(Bug::BaseFromEditedRow, &[Fault::Poison]),
    one(Bug::GateLeftOpen, &[]),
    one(Bug::LiveBeforeCaughtUp, &[Fault::Offline]),
    one(Bug::RejectedEditDropped, &[Fault::Poison]),
    one(Bug::RejectedEditSuperseded, &[Fault::Poison]),
    one(Bug::AnyRemoteChangeConflicts, &[Fault::Delay, Fault::Offline]),
    one(Bug::CoalescedEditLost, &[Fault::Offline]),
    one(Bug::PreconditionFailureIsSuccess, &[Fault::Delay, Fault::Offline]),
    one(Bug::ServerErrorIsSuccess, &[Fault::ServerError]),
    one(Bug::IfMatchNotSent, &[Fault::Night, Fault::LostAnswer]),
    one(Bug::RetryWithNewKey, &[Fault::LostAnswer]),
    one(Bug::InFlightForgotten, &[Fault::Crash, Fault::Kill]),
    one(Bug::DependentsDoNotWait, &[Fault::Offline, Fault::ServerError]),
    one(Bug::BlockedForever, &[Fault::Poison]),
    one(Bug::MassDeleteUnguarded, &[Fault::Retention, Fault::Offline]),
    one(Bug::ListsAheadOfFeed, &[Fault::Retention, Fault::Offline, Fault::StreamMute]),
    one(Bug::SilentStreamIgnored, &[Fault::StreamMute]),
    one(Bug::DiskFullIsSuccess, &[Fault::DiskFull]),
    one(Bug::MaybeAppliedForgotten, &[Fault::LostAnswer, Fault::Narrowed]),
    one(Bug::RetryUsesWallClock, &[Fault::ServerError, Fault::ClockStep]),
    one(Bug::ForeignAnswerAccepted, &[Fault::Stranger]),
];

const fn one(bug: Bug, with: &'static [Fault]) -> Planted {
    Planted { bug, with }
}

impl Planted {
    /// The one that is in the code of this program, which `HEARTH_PLANTED` says. Err: there is none of that name.
    pub fn here() -> Result<Option<&'static Planted>, String> {
        let Ok(name) = std::env::var(VARIABLE) else { return Ok(None) };
        let known = PLANTED.iter().find(|planted| planted.bug.as_str() == name);
        known.map(Some).ok_or_else(|| format!("{VARIABLE}: `{name}` is no fault that can be planted; see `--planted`"))
    }

    /// A plan in which it should show.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan::with(seed, self.with)
    }

    /// Plants it and runs seeds until one fails that holds without it. In a process of its own, which may take so long
    /// for each: a fault may make it go round for ever, or take all memory.
    pub fn look_for(&self, seeds: u64, patience: Duration) -> Result<Search, String> {
        let (begun, ground) = (Instant::now(), Ground::new()?);
        let mut from = 1;
        while from <= seeds {
            let Some((seed, why)) = self.first_failure(from, seeds, patience)? else { break };
            if ground.run(self.plan(seed), false).result.is_ok() {
                return Ok(Search { found: Some((seed, why)), time: begun.elapsed() });
            }
            from = seed + 1;
        }
        Ok(Search { found: None, time: begun.elapsed() })
    }

    fn first_failure(&self, from: u64, to: u64, patience: Duration) -> Result<Option<(u64, String)>, String> {
        let failed = |error: std::io::Error| format!("another process cannot be run: {error}");
        let mut child = Command::new(std::env::current_exe().map_err(failed)?)
            .args(["--jobs=1", "--shrink=0", &format!("--from={from}"), &format!("--seeds={}", to + 1 - from)])
            .env(VARIABLE, self.bug.as_str())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let begun = Instant::now();
        // Nobody needs to read meanwhile: what it says of one failure fits into a pipe.
        while child.try_wait().map_err(failed)?.is_none() {
            if begun.elapsed() > patience {
                child.kill().map_err(failed)?;
                child.wait().map_err(failed)?;
                return Err(format!("its process does not end within {} s", patience.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let output = child.wait_with_output().map_err(failed)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let told = text.lines().find_map(|line| line.strip_prefix("seed ")?.split_once(": "));
        match told.and_then(|(seed, why)| Some((seed.parse().ok()?, why.to_owned()))) {
            None if !output.status.success() => Err(format!("its process ended with {}: {text}", output.status)),
            found => Ok(found),
        }
    }
}

/// What came of looking for a planted fault.
pub struct Search {
    /// The seed that showed it, and what was not as it must be.
    pub found: Option<(u64, String)>,
    /// How long it took.
    pub time: Duration,
}

/// Says which fault is in the code of a program that is built with the feature `simulation`.
const VARIABLE: &str = "HEARTH_PLANTED";
