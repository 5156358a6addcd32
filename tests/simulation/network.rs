//! The network of a simulated world: what is under way, when it arrives, and what the weather does to it. Must not know
//! what messages mean.

use std::collections::BTreeMap;

use axum::body::Body;
use hearth_replica::sync::{HttpRequest, HttpResponse};

use super::dice::Dice;
use super::faults::{Fault, Weather};
use super::tally::Tally;

/// Which process of which machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// The machine.
    pub machine: usize,
    /// Its process; what comes for an earlier one is not heard.
    pub life: u64,
}

/// Something that happens at its time.
#[expect(missing_docs, reason = "each says what its members are")]
pub enum Happening {
    /// What the plan says.
    Act(usize),
    /// A question arrives at the server; its answer is wanted unless nobody waits for it.
    Question { from: Address, ticket: u64, ask: HttpRequest, wanted: bool },
    /// An answer, or word that there is none, arrives at a machine.
    Answer { to: Address, ticket: u64, answer: Result<HttpResponse, String> },
    /// The wish for a stream arrives at the server.
    StreamWish { from: Address, stream: u64, ask: HttpRequest },
    /// The server has accepted a stream.
    StreamOpen { to: Address, stream: u64 },
    /// The server refuses a stream.
    StreamRefused { to: Address, stream: u64, answer: HttpResponse },
    /// Bytes of a stream arrive.
    Bytes { to: Address, stream: u64, bytes: Vec<u8> },
    /// A stream is over for its machine.
    StreamEnd { to: Address, stream: u64, reason: &'static str },
    /// A machine's engine wanted to be woken.
    Wake { to: Address },
    /// A machine hears that somebody wrote to its database.
    Bell { machine: usize },
    /// A machine starts a process.
    Start { machine: usize },
    /// The server starts.
    ServerStart,
    /// The server looks whether others wrote to its database.
    Notice,
    /// The server forgets what is old.
    Tidy,
    /// A person lets the sync go on.
    Resume { machine: usize },
    /// A client of the API asks again what it had no answer to.
    ClientAgain { ask: HttpRequest, until: i64 },
    /// A key is whole again.
    KeyBack { key: usize },
}

impl Happening {
    /// Whether it may change anything on a machine.
    pub fn may_touch(&self, number: usize) -> bool {
        match self {
            Happening::Act(_) => true,
            Happening::Question { from: to, .. }
            | Happening::Answer { to, .. }
            | Happening::StreamWish { from: to, .. }
            | Happening::StreamOpen { to, .. }
            | Happening::StreamRefused { to, .. }
            | Happening::Bytes { to, .. }
            | Happening::StreamEnd { to, .. }
            | Happening::Wake { to } => to.machine == number,
            Happening::Bell { machine } | Happening::Start { machine } | Happening::Resume { machine } => {
                *machine == number
            }
            Happening::ServerStart
            | Happening::Notice
            | Happening::Tidy
            | Happening::ClientAgain { .. }
            | Happening::KeyBack { .. } => false,
        }
    }
}

/// A stream as the server's side has it.
pub struct Flowing {
    /// Whose it is.
    pub to: Address,
    /// Which one.
    pub number: u64,
    /// What it still says.
    pub body: Body,
    /// Bytes until it breaks off.
    pub cut_in: Option<usize>,
    /// Bytes until nothing comes through any more.
    pub mute_in: Option<usize>,
    /// Whether its pieces may take long.
    pub slow: bool,
    /// When the last bytes arrive; later ones do not overtake them.
    pub last_at: i64,
    /// Since when nobody listens: the server does not know at once.
    pub left_at: Option<i64>,
}

/// How a question fares.
pub enum Fate {
    /// It arrives after so long; and again after so long.
    Arrives(i64, Option<i64>),
    /// It does not arrive; the machine learns so after so long.
    Lost(i64),
    /// Somebody answers in the server's place, after so long.
    Refused(i64, HttpResponse),
}

/// What stands in the way of a stream.
pub enum Bar {
    /// Somebody refuses it in the server's place.
    Refuses(HttpResponse),
    /// Its connection ends before the server has said anything.
    Ends,
    /// It breaks off after so many bytes.
    Cut(usize),
}

/// What is under way.
pub struct Network {
    /// What happens, by time and then in the order of being sent.
    queue: BTreeMap<(i64, u64), Happening>,
    sent: u64,
    /// What the weather throws.
    pub dice: Dice,
    /// The same for the young faults.
    apart: Dice,
    /// How often what goes wrong.
    pub weather: Weather,
    /// What it has done to messages.
    pub tally: Tally,
}

/// A client gives up on an answer after this time.
pub const PATIENCE: i64 = 30_000;
/// The server learns after this time that nobody listens to a stream any more.
pub const LEFT: i64 = 45_000;

impl Network {
    /// An empty network.
    pub fn new(dice: Dice, weather: Weather, tally: Tally) -> Network {
        let apart = dice.clone().fork(1);
        Network { queue: BTreeMap::new(), sent: 0, dice, apart, weather, tally }
    }

    /// Whether a fault strikes this message or stream.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        let dice = if Fault::young().contains(&fault) { &mut self.apart } else { &mut self.dice };
        let struck = self.weather.strikes(fault, dice);
        if struck {
            self.tally.struck(fault);
        }
        struck
    }

    /// Lets something happen at a time.
    pub fn at(&mut self, time: i64, what: Happening) {
        self.sent += 1;
        self.queue.insert((time, self.sent), what);
    }

    /// The next thing that happens, and when.
    pub fn pop(&mut self) -> Option<(i64, Happening)> {
        let ((time, _), what) = self.queue.pop_first()?;
        Some((time, what))
    }

    /// All that is under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Happening> {
        self.queue.values()
    }

    /// When the next thing happens.
    pub fn next_at(&self) -> Option<i64> {
        self.queue.first_key_value().map(|((time, _), _)| *time)
    }

    /// Puts everything off for a time.
    pub fn put_off(&mut self, time: i64) {
        self.queue =
            std::mem::take(&mut self.queue).into_iter().map(|((at, sent), what)| ((at + time, sent), what)).collect();
    }

    /// Takes out what is under way and fits.
    pub fn drop_all(&mut self, mut fits: impl FnMut(&Happening) -> bool) {
        self.queue.retain(|_, what| !fits(what));
    }

    /// How long a message takes.
    pub fn latency(&mut self) -> i64 {
        let usual = self.dice.between(1, 60);
        let late = self.dice.between(500, 40_000);
        if self.strikes(Fault::Delay) { late } else { usual }
    }

    /// How long a piece of a stream takes. Each stream has a connection of its own, and only some are slow: so what one
    /// tells may overtake an answer, or the other way round.
    pub fn latency_on(&mut self, slow: bool) -> i64 {
        if slow { self.latency() } else { self.dice.between(1, 60) }
    }

    /// What becomes of a question where a stranger answers them all.
    pub fn strangers_fate(&mut self) -> Fate {
        let there = self.latency();
        Fate::Refused(there, page(&mut self.apart))
    }

    /// An answer with which a stranger may have replaced one of the server's.
    pub fn replaced(&mut self, answer: HttpResponse) -> HttpResponse {
        if self.strikes(Fault::Stranger) { page(&mut self.apart) } else { answer }
    }

    /// What stands in the way of a stream that something does not let pass.
    pub fn bar(&mut self) -> Bar {
        match self.apart.between(0, 3) {
            0 => Bar::Cut(self.apart.between(0, 60) as usize),
            1 => Bar::Ends,
            _ => {
                let status = self.apart.of(&[200, 302, 403, 404, 426, 502]);
                Bar::Refuses(HttpResponse { status, body: PAGE.to_vec(), ..HttpResponse::default() })
            }
        }
    }

    /// What becomes of a question.
    pub fn fate(&mut self) -> Fate {
        let lost = self.strikes(Fault::LostRequest);
        let busy = self.strikes(Fault::TooMany);
        let broken = self.strikes(Fault::ServerError);
        let strange = self.strikes(Fault::Stranger);
        let twice = self.strikes(Fault::Duplicate);
        let there = self.latency();
        let again = self.latency();
        if lost {
            return Fate::Lost(self.dice.of(&[there, PATIENCE]));
        }
        if busy {
            return Fate::Refused(there, too_many(self.dice.between(0, 20)));
        }
        if broken {
            return Fate::Refused(there, broken_answer(&mut self.dice));
        }
        if strange {
            return Fate::Refused(there, page(&mut self.apart));
        }
        Fate::Arrives(there, twice.then_some(there + again))
    }

    /// After how many bytes a stream that opens now breaks off, after how many it falls silent, and whether it is slow.
    pub fn stream_fate(&mut self) -> (Option<usize>, Option<usize>, bool) {
        let after = self.dice.of(&[40, 300, 3000, 20_000]);
        let after = self.dice.between(0, after) as usize;
        let cut = self.strikes(Fault::StreamCut);
        let mute = self.strikes(Fault::StreamMute);
        let slow = self.strikes(Fault::Delay);
        (cut.then_some(after), (mute && !cut).then_some(after), slow)
    }
}

/// Whether somebody else than the server said it: it never speaks like this.
pub fn is_page(answer: &HttpResponse) -> bool {
    answer.body.starts_with(b"<")
}

/// What a stranger says.
const PAGE: &[u8] = b"<!doctype html><title>Sign in</title><p>Sign in to use this network.";

/// What a network's sign-in page or a proxy answers to whatever it is asked.
fn page(dice: &mut Dice) -> HttpResponse {
    let status = dice.of(&[200, 302, 403, 404, 511]);
    // Some have a tag, which may be of digits as the server's are.
    let etag = dice.of(&[None, None, Some("\"7\"")]).map(str::to_owned);
    HttpResponse { status, etag, body: PAGE.to_vec(), ..HttpResponse::default() }
}

fn too_many(seconds: i64) -> HttpResponse {
    let body = r#"{"error":{"type":"rate_limited","message":"Too many calls.","fix":"Wait.","doc_url":"u","details":{}},"meta":{"request_id":"req_0"}}"#;
    HttpResponse { status: 429, retry_after: Some(seconds.to_string()), body: body.into(), ..HttpResponse::default() }
}

fn broken_answer(dice: &mut Dice) -> HttpResponse {
    let status = dice.of(&[500, 502, 503, 504]);
    let retry_after = (status == 503).then(|| "2".to_owned());
    HttpResponse { status, retry_after, body: b"<html>bad gateway</html>".to_vec(), ..HttpResponse::default() }
}
