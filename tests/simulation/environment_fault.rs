//! What can go wrong around the programs (network, processes, disks, clocks, people), and how often in one run. Must
//! not know how the world recovers.

use super::rng::SimRng;

/// A kind of fault in the environment. Each run has its own rate for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EnvironmentFault {
    /// A request never arrives.
    LostRequest,
    /// A request arrives and its response does not.
    LostResponse,
    /// The head of a response arrives and its body does not.
    CutResponse,
    /// A message takes seconds.
    Delay,
    /// A request arrives twice.
    Duplicate,
    /// A proxy or the server answers 429 with Retry-After.
    RateLimited,
    /// A proxy answers 500, 502, 503 or 504.
    ServerError,
    /// The connection of a stream breaks after any byte.
    StreamCut,
    /// A stream stays open and transmits no more bytes.
    StreamSilent,
    /// The server process is killed and started again.
    ServerKill,
    /// The server process crashes at an interruption point.
    ServerCrash,
    /// One write of the server fails because the disk is full.
    ServerDiskFull,
    /// An operator restores a backup of the server with the restore command.
    Restore,
    /// An operator restores a backup of the server by copying the file.
    RestoreFiles,
    /// The server compacts events soon after they were written.
    Retention,
    /// A key is revoked and later restored.
    KeyRevoked,
    /// A key loses scopes and later gets them back.
    ScopesRemoved,
    /// A wall clock is set to another time.
    ClockStep,
    /// The process of a replica is killed and started again.
    Kill,
    /// The process of a replica crashes at an interruption point.
    Crash,
    /// One write of a replica fails because the disk is full.
    DiskFull,
    /// A machine has no network for some time.
    Offline,
    /// All machines sleep for about one or two days.
    LongSleep,
    /// A script writes edits that the server refuses.
    InvalidEdit,
    /// A second process tries to sync the same database.
    SecondProcess,
    /// A proxy or the sign-in page of a network answers in place of the server.
    ForeignResponse,
    /// A proxy refuses or cuts every stream and lets polls pass.
    StreamBlocked,
}

impl EnvironmentFault {
    /// All faults. The order decides which random number belongs to which fault.
    pub const ALL: [EnvironmentFault; 27] = [
        EnvironmentFault::LostRequest,
        EnvironmentFault::LostResponse,
        EnvironmentFault::CutResponse,
        EnvironmentFault::Delay,
        EnvironmentFault::Duplicate,
        EnvironmentFault::RateLimited,
        EnvironmentFault::ServerError,
        EnvironmentFault::StreamCut,
        EnvironmentFault::StreamSilent,
        EnvironmentFault::ServerKill,
        EnvironmentFault::ServerCrash,
        EnvironmentFault::ServerDiskFull,
        EnvironmentFault::Restore,
        EnvironmentFault::RestoreFiles,
        EnvironmentFault::Retention,
        EnvironmentFault::KeyRevoked,
        EnvironmentFault::ScopesRemoved,
        EnvironmentFault::ClockStep,
        EnvironmentFault::Kill,
        EnvironmentFault::Crash,
        EnvironmentFault::DiskFull,
        EnvironmentFault::Offline,
        EnvironmentFault::LongSleep,
        EnvironmentFault::InvalidEdit,
        EnvironmentFault::SecondProcess,
        EnvironmentFault::ForeignResponse,
        EnvironmentFault::StreamBlocked,
    ];

    /// The number of original faults. Later faults use a random generator of their own. A world without the later
    /// faults therefore runs as it did before they existed, and known seeds keep their meaning.
    const ORIGINAL_COUNT: usize = 25;

    /// The faults that the simulation had when the first seeds were recorded.
    pub fn original() -> &'static [EnvironmentFault] {
        &EnvironmentFault::ALL[..EnvironmentFault::ORIGINAL_COUNT]
    }

    /// The faults that were added later.
    pub fn added_later() -> &'static [EnvironmentFault] {
        &EnvironmentFault::ALL[EnvironmentFault::ORIGINAL_COUNT..]
    }
}

/// How often a fault occurs in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rate {
    /// Never.
    None,
    /// For a message: 25 in 1000.
    Rare,
    /// For a message: 200 in 1000.
    Heavy,
}

/// The rate of each fault in one run. Faults that are not listed never occur.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultRates(Vec<(EnvironmentFault, Rate)>);

impl FaultRates {
    /// No fault ever occurs.
    pub fn none() -> FaultRates {
        FaultRates(Vec::new())
    }

    /// These faults at the rate [`Rate::Heavy`], and no others.
    pub fn heavy(faults: &[EnvironmentFault]) -> FaultRates {
        FaultRates(faults.iter().map(|fault| (*fault, Rate::Heavy)).collect())
    }

    /// Random rates: some runs have one fault, some have many. `added_rng` draws the rates of the faults added later.
    pub fn draw(rng: &mut SimRng, added_rng: &mut SimRng) -> FaultRates {
        let odds = rng.pick(&[(150, 50), (350, 100), (500, 200)]);
        let rate = |rng: &mut SimRng| match (rng.chance(odds.1), rng.chance(odds.0)) {
            (true, _) => Rate::Heavy,
            (_, true) => Rate::Rare,
            _ => Rate::None,
        };
        let original = EnvironmentFault::original().iter().map(|fault| (*fault, rate(rng)));
        let added = EnvironmentFault::added_later().iter().map(|fault| (*fault, rate(added_rng)));
        FaultRates(original.chain(added).filter(|(_, rate)| *rate != Rate::None).collect())
    }

    /// The same rates without this fault.
    pub fn without(&self, fault: EnvironmentFault) -> FaultRates {
        FaultRates(self.0.iter().filter(|(kind, _)| *kind != fault).copied().collect())
    }

    /// The faults that can occur.
    pub fn faults(&self) -> impl Iterator<Item = EnvironmentFault> {
        self.0.iter().map(|(fault, _)| *fault)
    }

    /// The rate of a fault.
    pub fn rate(&self, fault: EnvironmentFault) -> Rate {
        self.0.iter().find(|(kind, _)| *kind == fault).map_or(Rate::None, |(_, rate)| *rate)
    }

    /// Draws whether the fault affects the current message or stream.
    pub fn occurs(&self, fault: EnvironmentFault, rng: &mut SimRng) -> bool {
        // The number is drawn at every rate. A run without the fault then draws the same later numbers.
        let drawn = rng.next_u64() % 1000;
        drawn
            < match self.rate(fault) {
                Rate::None => 0,
                Rate::Rare => 25,
                Rate::Heavy => 200,
            }
    }
}

/// A list of faults; `!` marks the rate [`Rate::Heavy`].
impl std::fmt::Display for FaultRates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (number, (fault, rate)) in self.0.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            let heavy = if *rate == Rate::Heavy { "!" } else { "" };
            write!(f, "{comma}{fault:?}{heavy}")?;
        }
        Ok(())
    }
}
