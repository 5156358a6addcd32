//! Log lines and `sync_log` entries of a sync: each change once.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use super::*;
use crate::model::LogLevel;

thread_local! {
    /// Lines logged by this thread since the capture has begun.
    static CAPTURED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Writes log lines to the buffer of the logging thread.
struct ThreadWriter;

impl Write for ThreadWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        CAPTURED.with_borrow_mut(|lines| lines.as_mut().map_or(Ok(bytes.len()), |lines| lines.write(bytes)))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Captures the log lines of the present thread at level info and above; other tests log at the same time.
struct Lines;

impl Lines {
    fn capture() -> Lines {
        static SUBSCRIBE: Once = Once::new();
        SUBSCRIBE.call_once(|| {
            // A global subscriber: `tracing` decides once per process whether a line is logged. With a subscriber per
            // thread, lines first logged by another thread would be missing.
            let log = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false);
            tracing::subscriber::set_global_default(log.with_writer(|| ThreadWriter).finish()).unwrap();
            // Another thread may have logged before the subscriber was set.
            tracing::callsite::rebuild_interest_cache();
        });
        CAPTURED.set(Some(Vec::new()));
        Lines
    }

    /// Takes the lines logged since the last call.
    fn take(&self) -> Vec<String> {
        let bytes = CAPTURED.with_borrow_mut(|lines| lines.as_mut().map(std::mem::take).unwrap());
        String::from_utf8(bytes).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl Scene {
    /// Asks for the identity three times, each time with this end.
    fn greets_in_vain(&mut self, response: impl Fn() -> Result<HttpResponse, String>) {
        for _ in 0..3 {
            let ticket = ticket_of(&self.timer(), "/v1/me");
            self.report(DriverEvent::Response { ticket, response: response() });
        }
    }

    /// Reconnects and reaches the present.
    fn reconnect(&mut self) {
        let begun = self.timer();
        self.reach_present(begun);
    }

    fn journal(&self) -> Vec<(LogLevel, String)> {
        let lines = self.replica.log(50).unwrap().into_iter().rev();
        lines.map(|line| (line.level, line.text)).collect()
    }
}

#[test]
fn offline_is_logged_at_begin_and_end() {
    let lines = Lines::capture();
    let mut scene = Scene::live();
    assert!(lines.take().iter().any(|line| line == "INFO in step head=5"), "at the start");
    scene.report(DriverEvent::StreamEnded { reason: "the stream was cut".into() });
    scene.greets_in_vain(|| Err("Connection refused (os error 111)".into()));
    let offline = |reason: &str| format!("INFO phase phase=\"offline\" reason=\"{reason}\"");
    assert_eq!(lines.take(), [offline("the stream was cut"), offline("Connection refused (os error 111)")]);
    scene.reconnect();
    assert_eq!(lines.take(), ["INFO phase phase=\"catching_up\"", "INFO in step head=5"]);
}

#[test]
fn refused_key_is_logged_once() {
    let lines = Lines::capture();
    let mut scene = Scene::live();
    lines.take();
    scene.report(DriverEvent::StreamEnded { reason: "the stream was cut".into() });
    let unknown = json!({ "error": { "type": "unauthorized", "message": "Unknown key." } });
    scene.greets_in_vain(|| Ok(answer(401, &unknown)));
    let warnings = |lines: &Lines| lines.take().iter().filter(|line| line.contains("key")).cloned().collect::<Vec<_>>();
    assert_eq!(warnings(&lines), ["WARN the server wants another key reason=\"Unknown key.\""]);
    let entry = (LogLevel::Warning, "The server wants another key: Unknown key.".to_owned());
    assert_eq!(scene.journal(), std::slice::from_ref(&entry));

    // Another refused key is logged again.
    let begun = scene.report(DriverEvent::KeyChanged);
    scene.steady += 1;
    scene.respond(ticket_of(&begun, "/v1/me"), 401, &unknown);
    assert_eq!(warnings(&lines).len(), 1);
    scene.reconnect();
    assert_eq!(warnings(&lines), ["INFO the server takes the key again"]);
    let end = (LogLevel::Info, "The server takes the key again.".to_owned());
    assert_eq!(scene.journal(), [entry.clone(), entry, end]);
}

#[test]
fn a_comparison_that_has_begun_is_not_live() {
    let lines = Lines::capture();
    let mut scene = Scene::live();
    lines.take();
    scene.report(DriverEvent::StreamEnded { reason: "the stream was cut".into() });
    let begun = scene.timer();
    scene.answer_greeting(begun, 90);
    let details = json!({ "reason": "retention", "resume_cursor": "r80" });
    let expired = json!({ "error": { "type": "cursor_expired", "message": "forgotten", "details": details } });
    scene.report(DriverEvent::StreamRefused(answer(410, &expired)));
    scene.report(DriverEvent::StreamOpened);
    scene.report(caught_up(Vec::new(), 90));
    let logged = lines.take();
    assert!(logged.iter().any(|line| line.contains("reconciling")), "{logged:?}");
    assert!(!logged.iter().any(|line| line.contains("in step")), "{logged:?}");
}

#[test]
fn transport_changes_are_logged() {
    let lines = Lines::capture();
    let mut scene = Scene::live();
    scene.report(DriverEvent::StreamEnded { reason: "the stream was cut".into() });
    let begun = scene.timer();
    scene.answer_greeting(begun, 5);
    lines.take();
    let none =
        json!({ "data": [], "meta": { "page": { "next_cursor": "c5", "has_more": false }, "feed": { "head": 5 } } });
    let polled = scene.report(DriverEvent::StreamRefused(too_many_streams()));
    scene.respond(ticket_of(&polled, "/v1/events?"), 200, &none);
    let logged = lines.take();
    assert_eq!(logged[0], "INFO the feed is polled from now on", "{logged:?}");
    assert!(logged[1].starts_with("INFO phase phase=\"polling\" reason=\"no stream is available"), "{logged:?}");
    // Further polls log nothing.
    let polled = scene.timer();
    scene.respond(ticket_of(&polled, "/v1/events?"), 200, &none);
    assert_eq!(lines.take(), [""; 0]);
    scene.steady += 100_000;
    let opened = scene.report(DriverEvent::Timer);
    assert!(matches!(opened.commands[..], [Command::OpenStream(_), ..]), "{:?}", opened.commands);
    scene.report(DriverEvent::StreamOpened);
    scene.report(caught_up(Vec::new(), 5));
    let logged = lines.take();
    assert!(logged.contains(&"INFO the feed comes by the stream again".to_owned()), "{logged:?}");
    assert_eq!(logged.last().unwrap(), "INFO in step head=5");
}
