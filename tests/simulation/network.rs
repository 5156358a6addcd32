//! The network of a simulated world: the queue of events, the latency of messages, and the faults of messages and streams.
//! Must not know what messages mean.

use std::collections::BTreeMap;

use axum::body::Body;
use hearth_replica::sync::HttpResponse;

use super::counters::Counters;
use super::environment_fault::{EnvironmentFault, FaultRates};
use super::rng::SimRng;
use super::sim_event::{Address, SimEvent};

/// A stream on the server's side.
pub struct ServerStream {
    /// The process that opened the stream.
    pub to: Address,
    /// The number of the stream.
    pub number: u64,
    /// The source of the remaining bytes.
    pub body: Body,
    /// The number of bytes until the connection breaks; None for a stream that does not break.
    pub cut_in: Option<usize>,
    /// The number of bytes until the stream falls silent; None for a stream that does not.
    pub silent_in: Option<usize>,
    /// True when the bytes of the stream can be delayed.
    pub is_slow: bool,
    /// When the last bytes arrive. Later bytes never arrive earlier.
    pub last_arrival: i64,
    /// When the machine closed the stream; the server notices the close later. None while the machine reads.
    pub closed_at: Option<i64>,
}

/// What happens to a request. Times are milliseconds from now.
pub enum RequestFate {
    /// The request arrives after this time, and a duplicate after the second time.
    Arrives(i64, Option<i64>),
    /// The request is lost, and the machine gets a transport error after this time.
    Lost(i64),
    /// A proxy answers in place of the server after this time.
    Refused(i64, HttpResponse),
}

/// What happens to a stream that a proxy blocks.
pub enum StreamBlock {
    /// The proxy refuses the stream.
    Refuses(HttpResponse),
    /// The connection ends before the response of the server.
    Ends,
    /// The connection breaks after this number of bytes.
    Cut(usize),
}

/// The faults of a stream that opens now.
pub struct StreamFate {
    /// As [`ServerStream::cut_in`].
    pub cut_in: Option<usize>,
    /// As [`ServerStream::silent_in`].
    pub silent_in: Option<usize>,
    /// As [`ServerStream::is_slow`].
    pub is_slow: bool,
}

/// The network and the queue of all future events.
pub struct Network {
    /// The future events by time, then in the order in which they were scheduled.
    queue: BTreeMap<(i64, u64), SimEvent>,
    scheduled: u64,
    /// Draws the faults and latencies of messages.
    pub rng: SimRng,
    /// Draws the faults that were added later.
    added_rng: SimRng,
    /// How often each fault occurs.
    pub fault_rates: FaultRates,
    counters: Counters,
}

/// How long a client waits for a response, in milliseconds.
pub const RESPONSE_TIMEOUT_MILLIS: i64 = 30_000;
/// How long the server does not notice that a machine has closed a stream, in milliseconds.
pub const CLOSE_DELAY_MILLIS: i64 = 45_000;

impl Network {
    /// A network without events.
    pub fn new(rng: SimRng, fault_rates: FaultRates, counters: Counters) -> Network {
        let added_rng = rng.clone().fork(1);
        Network { queue: BTreeMap::new(), scheduled: 0, rng, added_rng, fault_rates, counters }
    }

    /// Draws whether a fault affects the current message or stream.
    pub fn occurs(&mut self, fault: EnvironmentFault) -> bool {
        let is_added = EnvironmentFault::added_later().contains(&fault);
        let rng = if is_added { &mut self.added_rng } else { &mut self.rng };
        let occurs = self.fault_rates.occurs(fault, rng);
        if occurs {
            self.counters.count_network_fault(fault);
        }
        occurs
    }

    /// Schedules an event at a time of the world, in milliseconds.
    pub fn schedule(&mut self, time: i64, event: SimEvent) {
        self.scheduled += 1;
        self.queue.insert((time, self.scheduled), event);
    }

    /// Removes the next event from the queue and returns the event with its time. None: the queue is empty.
    pub fn pop_event(&mut self) -> Option<(i64, SimEvent)> {
        let ((time, _), event) = self.queue.pop_first()?;
        Some((time, event))
    }

    /// All future events.
    pub fn future_events(&self) -> impl Iterator<Item = &SimEvent> {
        self.queue.values()
    }

    /// Moves every event into the future by this number of milliseconds.
    pub fn postpone_all(&mut self, time: i64) {
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().map(|((at, number), event)| ((at + time, number), event)).collect();
    }

    /// Removes the events for which the condition is true.
    pub fn remove_events(&mut self, mut condition: impl FnMut(&SimEvent) -> bool) {
        self.queue.retain(|_, event| !condition(event));
    }

    /// Draws how long a message takes, in milliseconds.
    pub fn latency(&mut self) -> i64 {
        let usual = self.rng.between(1, 60);
        let late = self.rng.between(500, 40_000);
        if self.occurs(EnvironmentFault::Delay) { late } else { usual }
    }

    /// Draws how long bytes of a stream take, in milliseconds. A slow stream can be slower or faster than responses,
    /// because each stream has a connection of its own.
    pub fn stream_latency(&mut self, is_slow: bool) -> i64 {
        if is_slow { self.latency() } else { self.rng.between(1, 60) }
    }

    /// Draws what happens to a request of a machine in a network with a sign-in page.
    pub fn foreign_network_fate(&mut self) -> RequestFate {
        let after = self.latency();
        RequestFate::Refused(after, foreign_page(&mut self.added_rng))
    }

    /// The response, or the page of a proxy that replaces the response.
    pub fn pass_response(&mut self, response: HttpResponse) -> HttpResponse {
        if self.occurs(EnvironmentFault::ForeignResponse) { foreign_page(&mut self.added_rng) } else { response }
    }

    /// Draws what happens to a blocked stream.
    pub fn draw_stream_block(&mut self) -> StreamBlock {
        match self.added_rng.between(0, 3) {
            0 => StreamBlock::Cut(self.added_rng.between(0, 60) as usize),
            1 => StreamBlock::Ends,
            _ => {
                let status = self.added_rng.pick(&[200, 302, 403, 404, 426, 502]);
                StreamBlock::Refuses(HttpResponse { status, body: SIGN_IN_PAGE.to_vec(), ..HttpResponse::default() })
            }
        }
    }

    /// Draws what happens to a request.
    pub fn draw_request_fate(&mut self) -> RequestFate {
        let is_lost = self.occurs(EnvironmentFault::LostRequest);
        let is_limited = self.occurs(EnvironmentFault::RateLimited);
        let has_failed = self.occurs(EnvironmentFault::ServerError);
        let is_foreign = self.occurs(EnvironmentFault::ForeignResponse);
        let is_doubled = self.occurs(EnvironmentFault::Duplicate);
        let first = self.latency();
        let second = self.latency();
        if is_lost {
            return RequestFate::Lost(self.rng.pick(&[first, RESPONSE_TIMEOUT_MILLIS]));
        }
        if is_limited {
            return RequestFate::Refused(first, rate_limited(self.rng.between(0, 20)));
        }
        if has_failed {
            return RequestFate::Refused(first, gateway_error(&mut self.rng));
        }
        if is_foreign {
            return RequestFate::Refused(first, foreign_page(&mut self.added_rng));
        }
        RequestFate::Arrives(first, is_doubled.then_some(first + second))
    }

    /// Draws the faults of a stream that opens now. A stream is cut or falls silent, never both.
    pub fn draw_stream_fate(&mut self) -> StreamFate {
        let most = self.rng.pick(&[40, 300, 3000, 20_000]);
        let after = self.rng.between(0, most) as usize;
        let is_cut = self.occurs(EnvironmentFault::StreamCut);
        let is_silent = self.occurs(EnvironmentFault::StreamSilent);
        let is_slow = self.occurs(EnvironmentFault::Delay);
        StreamFate { cut_in: is_cut.then_some(after), silent_in: (is_silent && !is_cut).then_some(after), is_slow }
    }
}

/// True for a response that is not from the server: only proxies answer with HTML.
pub fn is_foreign_page(response: &HttpResponse) -> bool {
    response.body.starts_with(b"<")
}

/// The body of a sign-in page.
const SIGN_IN_PAGE: &[u8] = b"<!doctype html><title>Sign in</title><p>Sign in to use this network.";

/// The response of a sign-in page or a proxy to any request.
fn foreign_page(rng: &mut SimRng) -> HttpResponse {
    let status = rng.pick(&[200, 302, 403, 404, 511]);
    // Some pages have an ETag of digits, as the server's records have.
    let etag = rng.pick(&[None, None, Some("\"7\"")]).map(str::to_owned);
    HttpResponse { status, etag, body: SIGN_IN_PAGE.to_vec(), ..HttpResponse::default() }
}

/// The response of a server that does not have the path.
pub fn route_not_found() -> HttpResponse {
    let body = r#"{"error":{"type":"route_not_found","message":"No such path.","fix":"Look.","doc_url":"u","details":{}},"meta":{"request_id":"req_0"}}"#;
    HttpResponse { status: 404, body: body.into(), ..HttpResponse::default() }
}

fn rate_limited(seconds: i64) -> HttpResponse {
    let body = r#"{"error":{"type":"rate_limited","message":"Too many calls.","fix":"Wait.","doc_url":"u","details":{}},"meta":{"request_id":"req_0"}}"#;
    HttpResponse { status: 429, retry_after: Some(seconds.to_string()), body: body.into(), ..HttpResponse::default() }
}

fn gateway_error(rng: &mut SimRng) -> HttpResponse {
    let status = rng.pick(&[500, 502, 503, 504]);
    let retry_after = (status == 503).then(|| "2".to_owned());
    HttpResponse { status, retry_after, body: b"<html>bad gateway</html>".to_vec(), ..HttpResponse::default() }
}
