//! Waiting for a person to approve this device in a browser (RFC 8628): when to ask the server, and what its answers mean.
//! Pure: the time is an argument. Must not know how requests travel.

use std::time::Duration;

use hearth_contract::key::parse_key;
use secrecy::SecretString;
use serde::Deserialize;

/// The pause between two questions if the server names none (RFC 8628 3.2).
const INTERVAL_DEFAULT: u64 = 5;
/// Seconds by which `slow_down` lengthens the pause (RFC 8628 3.5).
const SLOW_DOWN: Duration = Duration::from_secs(5);
/// The longest pause, for a server that names a longer one or does not answer.
const INTERVAL_MAX: Duration = Duration::from_secs(60);
/// The longest time to wait for a person, whatever the server names.
const WAIT_MAX: u64 = 3600;

/// A code that a person types or scans to approve this device.
#[derive(Debug, Clone, Deserialize)]
pub struct DeviceCode {
    /// The secret with which this device asks for its key.
    pub(super) device_code: SecretString,
    /// The code for the person, as in `BCDF-GHJK`.
    pub user_code: String,
    /// The page on which the person types the code.
    pub verification_uri: String,
    /// The same page with the code already typed. None: the server has no such address.
    pub verification_uri_complete: Option<String>,
    /// Seconds for which the code is valid.
    expires_in: u64,
    interval: Option<u64>,
}

impl DeviceCode {
    /// The address for a QR code.
    pub fn address_to_scan(&self) -> &str {
        self.verification_uri_complete.as_deref().unwrap_or(&self.verification_uri)
    }

    /// The longest time to wait for the person, from the arrival of the code.
    pub fn longest_wait(&self) -> Duration {
        Duration::from_secs(self.expires_in.min(WAIT_MAX))
    }

    /// The page for the person is a web address without control characters, because it is shown and opened.
    pub(super) fn is_sound(&self) -> bool {
        let is_shown =
            |text: &str| !text.is_empty() && text.len() <= SHOWN_MAX && text.chars().all(|c| c.is_ascii_graphic());
        let is_address = |text: &str| is_shown(text) && (text.starts_with("https://") || text.starts_with("http://"));
        is_shown(&self.user_code)
            && is_address(&self.verification_uri)
            && self.verification_uri_complete.as_deref().is_none_or(is_address)
    }
}

/// Characters of a code or an address that are shown.
const SHOWN_MAX: usize = 300;

/// An answer of the server to the question for the key.
#[derive(Debug)]
pub(super) enum Answer {
    /// The person has approved the device.
    Approved(String),
    /// The person has not decided yet.
    Pending,
    /// The device asks too often.
    SlowDown,
    /// The person has refused the device.
    Denied,
    /// The code is too old.
    Expired,
    /// The server cannot answer now, or cannot be reached.
    Unavailable,
    /// The server refuses the question: its sentence.
    Refused(String),
}

/// Why the device has no key. The texts are sentences for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotApproved {
    /// The person has refused the device.
    #[error("the request of this device was refused in the browser")]
    Denied,
    /// Nobody approved the device in time.
    #[error("nobody approved this device in time; begin again to get another code")]
    Expired,
    /// The server ended the attempt: its sentence.
    #[error("the server does not approve this device: {0}")]
    Refused(String),
}

/// The state of waiting. All times are durations since one fixed moment.
#[derive(Debug)]
pub(super) struct Waiting {
    interval: Duration,
    /// The pause before the next question. It doubles while the server has trouble.
    pause: Duration,
    ask_at: Duration,
    ends_at: Duration,
}

impl Waiting {
    /// Begins to wait for a code that has just arrived.
    pub(super) fn new(code: &DeviceCode, now: Duration) -> Waiting {
        let interval = Duration::from_secs(code.interval.unwrap_or(INTERVAL_DEFAULT)).clamp(MIN_PAUSE, INTERVAL_MAX);
        let ends_at = now + code.longest_wait();
        Waiting { interval, pause: interval, ask_at: now + interval, ends_at }
    }

    /// How long to wait until the server is asked or the code is too old. Zero: the server is asked now. Err: the code is too old.
    pub(super) fn next(&self, now: Duration) -> Result<Duration, NotApproved> {
        match now >= self.ends_at {
            true => Err(NotApproved::Expired),
            false => Ok(self.ask_at.min(self.ends_at).saturating_sub(now)),
        }
    }

    /// Takes an answer. Some: the key of this device.
    pub(super) fn take(&mut self, answer: Answer, now: Duration) -> Result<Option<SecretString>, NotApproved> {
        self.pause = match answer {
            Answer::Approved(key) if parse_key(&key).is_some() => return Ok(Some(key.into())),
            Answer::Approved(_) => return Err(NotApproved::Refused("its answer holds no API key".to_owned())),
            Answer::Denied => return Err(NotApproved::Denied),
            Answer::Expired => return Err(NotApproved::Expired),
            Answer::Refused(why) => return Err(NotApproved::Refused(why)),
            Answer::Pending => self.interval,
            Answer::SlowDown => {
                self.interval = (self.interval + SLOW_DOWN).min(INTERVAL_MAX);
                self.interval
            }
            Answer::Unavailable => (self.pause * 2).min(INTERVAL_MAX),
        };
        self.ask_at = now + self.pause;
        Ok(None)
    }
}

/// The shortest pause, for a server that names none at all.
const MIN_PAUSE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "svc_test_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA0RehpB";

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn code(interval: Option<u64>) -> DeviceCode {
        DeviceCode {
            device_code: "secret".to_owned().into(),
            user_code: "BCDF-GHJK".to_owned(),
            verification_uri: "https://home.example/oauth/device".to_owned(),
            verification_uri_complete: None,
            expires_in: 600,
            interval,
        }
    }

    #[test]
    fn server_is_asked_at_its_interval() {
        let mut waiting = Waiting::new(&code(Some(7)), seconds(100));
        assert_eq!(waiting.next(seconds(100)), Ok(seconds(7)));
        assert_eq!(waiting.next(seconds(107)), Ok(Duration::ZERO));
        assert!(waiting.take(Answer::Pending, seconds(108)).unwrap().is_none());
        assert_eq!(waiting.next(seconds(108)), Ok(seconds(7)));
        assert!(waiting.take(Answer::SlowDown, seconds(115)).unwrap().is_none());
        assert_eq!(waiting.next(seconds(115)), Ok(seconds(12)));
        assert!(waiting.take(Answer::Pending, seconds(127)).unwrap().is_none());
        assert_eq!(waiting.next(seconds(127)), Ok(seconds(12)), "slower for good");
        assert_eq!(Waiting::new(&code(None), seconds(0)).next(seconds(0)), Ok(seconds(5)));
        assert_eq!(Waiting::new(&code(Some(0)), seconds(0)).next(seconds(0)), Ok(MIN_PAUSE));
    }

    #[test]
    fn trouble_of_the_server_lengthens_the_pause() {
        let mut waiting = Waiting::new(&code(Some(5)), seconds(0));
        let mut pauses = Vec::new();
        for answer in [Answer::Unavailable, Answer::Unavailable, Answer::Pending] {
            assert!(waiting.take(answer, seconds(10)).unwrap().is_none());
            pauses.push(waiting.next(seconds(10)).unwrap());
        }
        assert_eq!(pauses, [10, 20, 5].map(seconds));
    }

    #[test]
    fn waiting_ends_with_key_or_reason() {
        let end = |answer| Waiting::new(&code(None), seconds(0)).take(answer, seconds(5));
        assert!(end(Answer::Approved(KEY.to_owned())).unwrap().is_some());
        assert!(matches!(end(Answer::Approved("svc_live_typo".to_owned())), Err(NotApproved::Refused(_))));
        assert_eq!(end(Answer::Denied).unwrap_err(), NotApproved::Denied);
        assert_eq!(end(Answer::Expired).unwrap_err(), NotApproved::Expired);
        let waiting = Waiting::new(&code(None), seconds(0));
        assert_eq!(waiting.next(seconds(600)), Err(NotApproved::Expired));
        let long = DeviceCode { expires_in: 7200, ..code(None) };
        assert_eq!(long.longest_wait(), seconds(WAIT_MAX));
        assert_eq!(Waiting::new(&long, seconds(0)).next(long.longest_wait()), Err(NotApproved::Expired));
    }

    #[test]
    fn only_plain_web_addresses_are_shown() {
        assert!(code(None).is_sound());
        for address in ["javascript:alert(1)", "https://a\u{1b}[2J", "", "https://a b"] {
            assert!(!DeviceCode { verification_uri: address.to_owned(), ..code(None) }.is_sound(), "{address}");
        }
    }
}
