//! Liveness of the event stream: silence, missing batches, refusals and early cuts. Pure: the time is an argument. Must not
//! know the state of the link or what follows from a bad stream.

use super::clock::Millis;

/// A stream sends bytes every 15 s (contract 9.4); three times 15 s is silence.
const SILENCE_MAX: Millis = 45_000;
/// Limit for the first batch of a stream that follows a mute stream, and of each stream of a single run.
const FIRST_BATCH_MAX: Millis = 10_000;
/// Limit between two batches. The server sends a heartbeat with a cursor every 60 s (contract 9.4); comments do not count.
const BATCH_INTERVAL_MAX: Millis = 150_000;
/// A stream with a batch is stable after 5 s. A stream cut earlier does not reset the retry pauses; otherwise a stream cut
/// each time would be opened again without end.
pub(super) const STABLE_AFTER: Millis = 5000;
/// Longest pause between two attempts to open a stream while polls work.
pub(super) const STREAM_PAUSE_MAX: Millis = 600_000;
/// First pause after a stream that was refused, ended without a batch, or was cut early. The pause doubles up to
/// [`STREAM_PAUSE_MAX`].
const STREAM_PAUSE_FIRST: Millis = 30_000;
/// After more early cuts in a row than 2, polls replace the stream: a line may break twice by chance.
const EARLY_CUTS_MAX: u32 = 2;

/// Milliseconds to poll after a bad stream, given the number of bad streams before.
fn stream_pause(bad_streams_before: u32) -> Millis {
    STREAM_PAUSE_FIRST.saturating_mul(1 << bad_streams_before.min(10)).min(STREAM_PAUSE_MAX)
}

/// Facts about the present stream and the streams before.
#[derive(Debug)]
pub(super) struct StreamHealth {
    /// A person waits for the end of the sync, so a stream without a first batch is given up sooner.
    is_single_run: bool,
    /// When the server accepted the stream.
    opened_at: Millis,
    /// When the last bytes arrived, comments included.
    last_bytes_at: Millis,
    /// When the last batch arrived; before the first batch, since when a batch is awaited.
    last_batch_at: Millis,
    /// The present stream has brought a batch.
    has_batch: bool,
    /// The last stream brought no batch although a poll found events.
    was_mute: bool,
    /// The stream before the present one went silent, and the present stream is not stable yet.
    was_silent: bool,
    /// Streams in a row that were refused, or ended without a batch, while polls worked.
    refusals: u32,
    /// Streams in a row that brought a batch and were cut before they were stable.
    early_cuts: u32,
    /// No stream before this time, because the server said so; with the reason for people.
    retry_after: Option<(Millis, String)>,
}

impl StreamHealth {
    pub(super) fn new(is_single_run: bool) -> StreamHealth {
        StreamHealth {
            is_single_run,
            opened_at: 0,
            last_bytes_at: 0,
            last_batch_at: 0,
            has_batch: false,
            was_mute: false,
            was_silent: false,
            refusals: 0,
            early_cuts: 0,
            retry_after: None,
        }
    }

    /// A stream is requested.
    pub(super) fn on_request(&mut self, now: Millis) {
        (self.last_bytes_at, self.last_batch_at, self.has_batch) = (now, now, false);
    }

    /// The server has accepted the stream. In a single run, the limit for the first batch runs from the request.
    pub(super) fn on_open(&mut self, now: Millis) {
        (self.last_bytes_at, self.opened_at) = (now, now);
        if !self.is_single_run {
            self.last_batch_at = now;
        }
    }

    /// Bytes have arrived. `is_open`: the link uses the stream.
    pub(super) fn on_bytes(&mut self, now: Millis, is_open: bool) {
        self.last_bytes_at = now;
        self.was_silent &= !(is_open && self.is_stable(now));
    }

    /// A batch has arrived.
    pub(super) fn on_batch(&mut self, now: Millis) {
        (self.last_bytes_at, self.last_batch_at, self.has_batch) = (now, now, true);
        (self.was_mute, self.refusals) = (false, 0);
        self.was_silent &= !self.is_stable(now);
    }

    /// A poll has brought what the stream did not.
    pub(super) fn on_poll_proof(&mut self) {
        self.was_mute = true;
    }

    /// The stream went silent.
    pub(super) fn on_silence(&mut self) {
        self.was_silent = true;
    }

    /// A stable stream has ended.
    pub(super) fn on_stable_end(&mut self) {
        self.early_cuts = 0;
    }

    /// A stream was refused or ended without a batch. `retry_after`: the server's pause in milliseconds. Returns the
    /// milliseconds to poll before the next stream.
    pub(super) fn on_refusal(&mut self, now: Millis, why: &str, retry_after: Option<Millis>) -> Millis {
        let pause = stream_pause(self.refusals);
        self.refusals = self.refusals.saturating_add(1);
        // Kept when polls fail too: a new contact must not request a stream earlier.
        self.retry_after = retry_after.map(|retry_after| (now + retry_after, why.to_owned()));
        pause.max(retry_after.unwrap_or(0))
    }

    /// A stream with a batch has ended. Returns the milliseconds to poll instead. None: open the next stream soon.
    pub(super) fn on_cut(&mut self, now: Millis) -> Option<Millis> {
        let cuts_too_many = if self.is_stable(now) { None } else { self.early_cuts.checked_sub(EARLY_CUTS_MAX) };
        self.early_cuts = self.early_cuts.saturating_add(1);
        cuts_too_many.map(stream_pause)
    }

    /// The server's `Retry-After` does not apply to another key.
    pub(super) fn on_key_change(&mut self) {
        self.retry_after = None;
    }

    /// Until when the server wants no stream, and the reason for people. None: a stream may be requested.
    pub(super) fn held_until(&self, now: Millis) -> Option<(Millis, String)> {
        self.retry_after.clone().filter(|(until, _)| *until > now)
    }

    /// Whether the present stream has brought a batch.
    pub(super) fn has_batch(&self) -> bool {
        self.has_batch
    }

    /// Whether the stream before the present one went silent, and the present stream is not stable yet.
    pub(super) fn was_silent(&self) -> bool {
        self.was_silent
    }

    /// Whether the stream has brought a batch and has lasted [`STABLE_AFTER`].
    pub(super) fn is_stable(&self, now: Millis) -> bool {
        self.has_batch && now - self.opened_at >= STABLE_AFTER
    }

    /// Whether a stream that has brought a batch is silent now.
    pub(super) fn is_silent(&self, now: Millis) -> bool {
        self.has_batch && self.last_bytes_at + SILENCE_MAX <= now
    }

    /// When the stream is given up, unless bytes or a batch arrive before.
    pub(super) fn due_at(&self) -> Millis {
        (self.last_bytes_at + SILENCE_MAX).min(self.batch_due_at())
    }

    fn batch_due_at(&self) -> Millis {
        let limit = match self.has_batch {
            true => BATCH_INTERVAL_MAX,
            false if self.was_mute || self.is_single_run => FIRST_BATCH_MAX,
            false => SILENCE_MAX,
        };
        self.last_batch_at + limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_cuts_lead_to_growing_pauses() {
        let mut stream = StreamHealth::new(false);
        let mut pauses = Vec::new();
        for _ in 0..5 {
            stream.on_request(0);
            stream.on_open(0);
            stream.on_batch(1);
            pauses.push(stream.on_cut(2));
        }
        assert_eq!(pauses, [None, None, Some(30_000), Some(60_000), Some(120_000)]);
        assert_eq!(stream.on_cut(STABLE_AFTER), None, "a stable stream");
    }

    #[test]
    fn first_batch_limit_depends_on_goal_and_history() {
        let mut stream = StreamHealth::new(false);
        stream.on_request(0);
        stream.on_open(1_000);
        assert_eq!(stream.due_at(), 46_000);
        stream.on_poll_proof();
        assert_eq!(stream.due_at(), 11_000, "after a mute stream");
        stream.on_batch(2_000);
        stream.on_bytes(120_000, true);
        assert_eq!(stream.due_at(), 152_000, "comments do not replace batches");
        let mut single_run = StreamHealth::new(true);
        single_run.on_request(0);
        single_run.on_open(1_000);
        assert_eq!(single_run.due_at(), 10_000, "from the request");
    }
}
