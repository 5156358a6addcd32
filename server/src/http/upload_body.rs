//! The body of an upload, read in pieces with limits of time: a client that sends nothing, or almost nothing, must not hold a
//! connection for ever. Must not know what the bytes are for.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use hearth_contract::problem::{Problem, ProblemType};
use http_body::Body as _;
use http_body_util::BodyExt;
use tokio::time::Instant;

/// Time limit for the next byte (contract 21).
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The time over which the speed is measured.
const SPEED_TIME: Duration = Duration::from_secs(60);
/// Bytes that must arrive within [`SPEED_TIME`]: 1 KiB a second.
const SPEED_BYTES_MIN: u64 = 60 * 1024;
/// Time between two entries of the measurement.
const SPEED_STEP: Duration = Duration::from_secs(1);

/// The body of an upload.
pub struct UploadBody {
    /// Never locked: the mutex only lets other threads hold a reference to the request.
    body: Mutex<Body>,
    announced: Option<u64>,
    speed: Speed,
}

impl UploadBody {
    /// Wraps the body of a request.
    pub fn new(body: Body) -> UploadBody {
        let announced = body.size_hint().exact();
        UploadBody { body: Mutex::new(body), announced, speed: Speed::default() }
    }

    /// The length that the client has announced. None: the client sends pieces until it ends.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    /// The next bytes. None: the body is complete. Errors: `request_timeout`, or `invalid_request` for a body that breaks off.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let began = Instant::now();
            let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
            let frame = tokio::time::timeout(PAUSE_MAX, body.frame()).await;
            let waited = began.elapsed();
            match frame {
                Err(_) => return Err(too_slow(format!("No byte arrived for {} s.", PAUSE_MAX.as_secs()))),
                Ok(None) => return Ok(None),
                Ok(Some(Err(_))) => return Err(Problem::parameter("body", "", None, "The body broke off.")),
                Ok(Some(Ok(frame))) => {
                    let Ok(bytes) = frame.into_data() else { continue };
                    if self.speed.is_too_slow(waited, bytes.len() as u64) {
                        let seconds = SPEED_TIME.as_secs();
                        return Err(too_slow(format!("Fewer than 1 KiB a second arrived over {seconds} s.")));
                    }
                    return Ok(Some(bytes));
                }
            }
        }
    }
}

/// How fast the bytes arrive. The time is the time spent waiting for the client: time in which the server writes does not count.
struct Speed {
    waited: Duration,
    arrived: u64,
    /// Waited time and arrived bytes, one entry for each step of the last [`SPEED_TIME`] and one before it.
    earlier: VecDeque<(Duration, u64)>,
}

impl Default for Speed {
    fn default() -> Speed {
        Speed { waited: Duration::ZERO, arrived: 0, earlier: VecDeque::from([(Duration::ZERO, 0)]) }
    }
}

impl Speed {
    /// Adds bytes that arrived after a wait. Whether too few bytes arrived over [`SPEED_TIME`].
    fn is_too_slow(&mut self, waited: Duration, bytes: u64) -> bool {
        self.waited += waited;
        self.arrived += bytes;
        if self.earlier.back().is_none_or(|(at, _)| self.waited - *at >= SPEED_STEP) {
            self.earlier.push_back((self.waited, self.arrived));
        }
        // The second entry is old enough to be the begin of the measurement too.
        while self.earlier.get(1).is_some_and(|(at, _)| self.waited - *at >= SPEED_TIME) {
            self.earlier.pop_front();
        }
        let first = self.earlier.front();
        first.is_some_and(|(at, bytes)| self.waited - *at >= SPEED_TIME && self.arrived - bytes < SPEED_BYTES_MIN)
    }
}

fn too_slow(message: String) -> Problem {
    Problem::new(ProblemType::RequestTimeout, message).with_fix("Send the file again over a faster connection.")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seconds after which a client is too slow that sends `bytes` after each wait of `seconds`. None: not within an hour.
    fn seconds_until_refused(bytes: u64, seconds: u64) -> Option<u64> {
        let mut speed = Speed::default();
        let rounds = 3600 / seconds;
        (1..=rounds).find(|_| speed.is_too_slow(Duration::from_secs(seconds), bytes)).map(|round| round * seconds)
    }

    #[test]
    fn slow_clients_are_refused_after_a_minute() {
        assert_eq!(seconds_until_refused(1, 9), Some(63));
        assert_eq!(seconds_until_refused(1000, 1), Some(60));
        assert_eq!(seconds_until_refused(1024, 1), None);
        assert_eq!(seconds_until_refused(10 * 1024, 9), None);
        let mut speed = Speed::default();
        assert!(!speed.is_too_slow(Duration::from_secs(1), 30 << 20), "a fast begin");
        let refused = (1..100).find(|_| speed.is_too_slow(Duration::from_secs(1), 1));
        assert_eq!(refused, Some(60), "counts for one minute only");
    }
}
