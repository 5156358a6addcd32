//! Faults that are planted in the code, one at a time, to see whether the simulation finds them: a simulation that
//! finds nothing proves nothing. Must not plant more than one at once.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Ground;
use super::faults::Fault;
use super::plan::Plan;

/// A fault in the code.
pub struct Planted {
    /// Its name, as the code asks for it.
    pub name: &'static str,
    /// What the machine does all the time while it is looked for.
    pub with: &'static [Fault],
}

/// All faults that can be planted.
pub const PLANTED: [Planted; 42] = [
    // The server.
    one("answer before commit", &[Fault::ServerDiskFull]),
    one("event in a transaction of its own", &[Fault::ServerCrash]),
    one("receipt in a transaction of its own", &[Fault::ServerCrash]),
    one("receipt not kept", &[]),
    one("ids used again after thinning", &[Fault::Retention]),
    one("thinning takes the present", &[Fault::Retention]),
    one("a first read expires", &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one("a gap goes unnoticed", &[Fault::Retention, Fault::Offline]),
    one("graves not shown", &[Fault::Retention, Fault::Offline, Fault::StreamCut]),
    one("another history goes unnoticed", &[Fault::RestoreFiles, Fault::Kill]),
    one("the home's clock steps back", &[Fault::ClockStep]),
    one("condition ignored", &[Fault::Delay, Fault::Offline]),
    one("head not kept", &[Fault::ServerKill]),
    one("used ids are free again", &[Fault::Night, Fault::LostAnswer]),
    // The replica.
    one("position before rows", &[Fault::Crash]),
    one("cursor not kept", &[Fault::Kill]),
    one("an older image wins", &[Fault::Retention, Fault::Offline, Fault::Delay]),
    one("search does not follow", &[]),
    one("triggers of others do not fire", &[]),
    one("deletes not remembered", &[Fault::Retention, Fault::Offline, Fault::Delay]),
    one("overlay removed at the answer", &[]),
    one("image of the edited row", &[Fault::Poison]),
    one("gate left open", &[]),
    one("live before the present is reached", &[Fault::Offline]),
    one("a refused edit is dropped", &[Fault::Poison]),
    one("a refused edit gives way", &[Fault::Poison]),
    one("any change there is a conflict", &[Fault::Delay, Fault::Offline]),
    one("what goes along is left out", &[Fault::Offline]),
    one("an overtaken edit counts as sent", &[Fault::Delay, Fault::Offline]),
    one("a server error counts as sent", &[Fault::ServerError]),
    one("no condition is sent", &[Fault::Night, Fault::LostAnswer]),
    one("a retry has a new key", &[Fault::LostAnswer]),
    one("a start forgets what was being sent", &[Fault::Crash, Fault::Kill]),
    one("dependents do not wait", &[Fault::Offline, Fault::ServerError]),
    one("blocked for ever", &[Fault::Poison]),
    one("nobody is asked about many deletions", &[Fault::Retention, Fault::Offline]),
    one("lists run ahead of the feed", &[Fault::Retention, Fault::Offline, Fault::StreamMute]),
    one("silence goes unnoticed", &[Fault::StreamMute]),
    one("a full disk counts as written", &[Fault::DiskFull]),
    one("what may be in is let go", &[Fault::LostAnswer, Fault::Narrowed]),
    one("a retry waits for the wall clock", &[Fault::ServerError, Fault::ClockStep]),
    one("a stranger's word counts", &[Fault::Stranger]),
];

const fn one(name: &'static str, with: &'static [Fault]) -> Planted {
    Planted { name, with }
}

impl Planted {
    /// The one that is in the code of this program, which `HEARTH_PLANTED` says. Err: there is none of that name.
    pub fn here() -> Result<Option<&'static Planted>, String> {
        let Ok(name) = std::env::var(VARIABLE) else { return Ok(None) };
        let known = PLANTED.iter().find(|planted| planted.name == name);
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
            .env(VARIABLE, self.name)
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
