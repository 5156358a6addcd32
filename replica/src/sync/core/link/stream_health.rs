//! Liveness of the event stream: when a silent stream is checked or closed, and when the next stream is requested. Pure: the
//! time is an argument. Must not know the state of the link or what follows from a bad stream.

use super::super::clock::Millis;

/// Time between two polls while no stream is open, and between two checks of a stream that is not known to deliver. A stream
/// begins with a batch at once (contract 9.4), so a stream without a byte for this long is checked too.
pub(super) const POLL_INTERVAL: Millis = 5000;
/// A stream that delivers sends bytes every 15 s (contract 9.4). With 5 s more, each keepalive arrives before the check.
const SILENCE_CHECK: Millis = 20_000;
/// The server sends a heartbeat every 60 s (contract 9.4). Some proxies pass comments and hold events, so comments do not
/// replace a batch for longer than a heartbeat and a keepalive.
const BATCH_CHECK: Millis = 75_000;
/// Three missing keepalives: the connection is dead.
const SILENCE_MAX: Millis = 45_000;
/// A stream with a batch is stable after 5 s. Only a stable stream resets the retry pauses; otherwise a stream that is cut
/// each time would be requested again without end.
const STABLE_AFTER: Millis = 5000;
/// Longest time without a stream and without polls.
const WAIT_WITHOUT_POLLS_MAX: Millis = 10_000;
/// Pauses before the streams that follow the finding that streams are held back.
const TRIAL_PAUSES: [Millis; 5] = [30_000, 60_000, 120_000, 300_000, 600_000];

/// Why polls replace a stream that is held back.
const HELD_BACK: &str = "the stream brings no events, as behind some proxies; polling";

/// Facts about the present stream and the streams before.
#[derive(Debug, Default)]
pub(super) struct StreamHealth {
    /// A person waits for the end of the sync, so polls fill each pause between streams.
    pub(super) is_single_run: bool,
    requested_at: Millis,
    /// When the server accepted the stream.
    opened_at: Millis,
    /// When the last bytes arrived, comments included; before, when the stream was requested.
    pub(super) last_bytes_at: Millis,
    /// When the last batch arrived; before, when the stream was requested.
    last_batch_at: Millis,
    /// The present stream has brought a batch.
    pub(super) has_batch: bool,
    /// The present stream has brought all events up to the present: later bytes come live.
    is_at_present: bool,
    /// Streams in a row that ended before they were stable.
    failures: u32,
    /// When the first stream failed since a stream has brought a batch. None: no stream has failed since.
    failing_since: Option<Millis>,
    /// When the next stream may be requested. None: not in this run.
    pub(super) next_at: Option<Millis>,
    /// The server wants no stream before this time.
    pub(super) held_until: Millis,
    /// Why the next stream waits, for people.
    pub(super) why: String,
    /// Polls have proven that streams are held back on the way. The index of the next pause in [`TRIAL_PAUSES`].
    finding: Option<usize>,
}

impl StreamHealth {
    pub(super) fn new(is_single_run: bool) -> StreamHealth {
        StreamHealth { is_single_run, next_at: Some(Millis::MIN), held_until: Millis::MIN, ..StreamHealth::default() }
    }

    /// The stream is requested.
    pub(super) fn on_request(&mut self, now: Millis) {
        (self.requested_at, self.last_bytes_at, self.last_batch_at) = (now, now, now);
        (self.has_batch, self.is_at_present) = (false, false);
    }

    /// The server has accepted the stream.
    pub(super) fn on_open(&mut self, now: Millis) {
        (self.opened_at, self.last_bytes_at) = (now, now);
    }

    /// Bytes have arrived. True: they end the finding, because the stream carries a keepalive.
    pub(super) fn on_bytes(&mut self, now: Millis) -> bool {
        self.last_bytes_at = now;
        self.is_at_present && self.end_finding()
    }

    /// A batch has arrived. `reaches_present`: up to the present. True: the batch ends the finding, because the stream
    /// carries an event or a heartbeat live. A proxy may pass the beginning of a stream and hold the rest.
    pub(super) fn on_batch(&mut self, now: Millis, reaches_present: bool) -> bool {
        (self.last_bytes_at, self.last_batch_at, self.has_batch) = (now, now, true);
        self.failing_since = None;
        let is_live = self.is_at_present;
        self.is_at_present |= reaches_present;
        is_live && self.end_finding()
    }

    /// The stream was refused or has ended. `pause` and `retry_after`: milliseconds until the next stream, as drawn and as the server
    /// asks. Returns whether polls fill the time until then.
    pub(super) fn on_failure(&mut self, now: Millis, pause: Millis, retry_after: Option<Millis>, why: String) -> bool {
        self.failures = if self.is_stable(now) { 1 } else { self.failures.saturating_add(1) };
        let pause = if self.finding.is_some() { self.trial_pause() } else { Some(pause) };
        let retry_after = retry_after.unwrap_or(0);
        self.held_until = now + retry_after;
        self.next_at = pause.map(|pause| now + pause.max(retry_after));
        if self.finding.is_none() {
            self.why = why;
        }
        let since = *self.failing_since.get_or_insert(now);
        let wait_max = if self.is_single_run { 0 } else { WAIT_WITHOUT_POLLS_MAX };
        self.next_at.is_none_or(|at| at - since > wait_max)
    }

    /// A poll has proven events that the open stream did not deliver: streams are held back on the way.
    pub(super) fn on_finding(&mut self, now: Millis) {
        self.finding = self.finding.or(Some(0));
        self.next_at = self.trial_pause().map(|pause| now + pause);
        self.why = HELD_BACK.to_owned();
    }

    /// A single run uses no stream any more: a person waits, and polls work.
    pub(super) fn give_up(&mut self) {
        self.next_at = None;
        self.why = HELD_BACK.to_owned();
    }

    /// The server's pause does not apply to another key.
    pub(super) fn on_key_change(&mut self) {
        self.held_until = Millis::MIN;
        self.end_pause();
    }

    /// Ends the replica's own pause. A pause of the server stays, and so does a finding.
    pub(super) fn end_pause(&mut self) {
        if self.finding.is_none() && self.next_at.is_some() {
            self.next_at = Some(self.held_until);
        }
    }

    /// The pause before the next trial; the pause after that is longer. None: a single run makes no trial.
    fn trial_pause(&mut self) -> Option<Millis> {
        let index = self.finding?;
        self.finding = Some((index + 1).min(TRIAL_PAUSES.len() - 1));
        TRIAL_PAUSES.get(index).copied().filter(|_| !self.is_single_run)
    }

    fn end_finding(&mut self) -> bool {
        self.finding.take().is_some()
    }

    /// Whether streams are found to be held back on the way.
    pub(super) fn has_finding(&self) -> bool {
        self.finding.is_some()
    }

    /// Streams in a row that failed, if the present stream fails now.
    pub(super) fn failures(&self, now: Millis) -> u32 {
        if self.is_stable(now) { 0 } else { self.failures }
    }

    /// Whether the stream has brought a batch and has lasted [`STABLE_AFTER`].
    fn is_stable(&self, now: Millis) -> bool {
        self.has_batch && now - self.opened_at >= STABLE_AFTER
    }

    /// Milliseconds between two checks of the present stream.
    pub(super) fn check_interval(&self) -> Millis {
        if self.has_batch && self.finding.is_none() { SILENCE_CHECK } else { POLL_INTERVAL }
    }

    /// When the stream is checked by a poll, unless bytes or a batch arrive before.
    pub(super) fn check_at(&self) -> Millis {
        (self.last_bytes_at + self.check_interval()).min(self.last_batch_at + BATCH_CHECK)
    }

    /// When the first batch is due.
    pub(super) fn first_batch_due_at(&self) -> Millis {
        self.requested_at + POLL_INTERVAL
    }

    /// When the stream is closed, unless bytes arrive before.
    pub(super) fn silent_at(&self) -> Millis {
        self.last_bytes_at + SILENCE_MAX
    }
}
