//! The rules of fault injection as plain data. Must not know the text format, nor how a fault is injected.

use std::time::Duration;

use hearth_contract::key::Environment;

use crate::app::limits::RateClass;
use crate::store::keys::Key;

/// All faults of a service.
#[derive(Debug, Clone, PartialEq)]
pub struct FaultPlan {
    /// Seed of the randomness of all rules.
    pub seed: u64,
    /// The rules, in the order of the text. An earlier rule wins.
    pub rules: Vec<Rule>,
    /// Whether faults also strike live keys. Otherwise only test keys.
    pub on_live: bool,
}

impl FaultPlan {
    /// Whether faults may strike keys of this environment.
    pub fn reaches(&self, environment: Environment) -> bool {
        environment == Environment::Test || self.on_live
    }

    /// Whether at least one rule may strike this key.
    pub fn reaches_key(&self, key: &Key) -> bool {
        self.reaches(key.environment) && self.rules.iter().any(|rule| rule.is_for(key))
    }
}

/// One fault with its schedule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The failure to inject.
    pub fault: FaultKind,
    /// The schedule.
    pub when: When,
    /// The routes to strike. Empty: all routes that need a key.
    pub routes: Vec<RouteSet>,
    /// The keys to strike, by id or name. Empty: all keys.
    pub keys: Vec<String>,
    /// The text of the rule, for the log and the `X-Hearth-Faults` header.
    pub text: String,
}

impl Rule {
    /// Whether the rule names this key by id or name, or names no key at all.
    pub fn is_for(&self, key: &Key) -> bool {
        self.keys.is_empty() || self.keys.iter().any(|word| *word == key.id || *word == key.name)
    }
}

/// A failure that the injector can produce.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// Delays the request before the service handles the request.
    Latency {
        /// The shortest delay.
        from: Duration,
        /// The longest delay.
        to: Duration,
    },
    /// Closes the connection before the service handles the request.
    LostRequest,
    /// Closes the connection after the service handled the request.
    LostAnswer,
    /// Handles the request twice and sends the second response.
    Duplicate,
    /// Refuses the request with a status. 502 and 504 imitate a proxy: their body is HTML.
    Status {
        /// 429, 500, 502, 503 or 504.
        status: u16,
        /// Seconds in the `Retry-After` header of a 429 or 503.
        retry_after: u64,
    },
    /// Breaks the connection of a stream before a frame.
    Cut,
    /// Keeps a stream open without sending its frames.
    Mute {
        /// Length of the silence. None: until the client closes the stream.
        lasting: Option<Duration>,
        /// Whether comments are still sent during the silence.
        comments: bool,
    },
    /// Sends a frame twice.
    Repeat,
}

impl FaultKind {
    /// Whether the schedule counts frames of streams. Otherwise the schedule counts requests.
    pub fn is_of_frames(&self) -> bool {
        matches!(self, FaultKind::Cut | FaultKind::Mute { .. } | FaultKind::Repeat)
    }
}

/// The schedule of a rule. Counts cover all requests (or frames) that match the rule, from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum When {
    /// Every time.
    Always,
    /// With a probability from 0 to 1.
    Chance(f64),
    /// The first N times.
    First(u64),
    /// Only the Nth time.
    Once(u64),
    /// Every Nth time.
    Every(u64),
    /// The first times of each window. A window begins with its first request (or frame).
    Burst {
        /// How often the rule strikes in a window.
        count: u64,
        /// Length of the window.
        within: Duration,
    },
}

/// Routes that an attribute `route=` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteSet {
    /// One operation, by its name in the OpenAPI description.
    Operation(&'static str),
    /// All routes of a rate limit class, without the event stream.
    Class(RateClass),
    /// The event stream.
    Streams,
}
