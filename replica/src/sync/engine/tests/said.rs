//! What the log and `sync_log` say of a sync: what changes, once, and nothing that is not so.

use std::cell::RefCell;
use std::io::Write;
use std::sync::Once;

use super::*;

thread_local! {
    /// What this thread has said, once it listens to itself.
    static SAID: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Keeps what a thread says for itself.
struct Here;

impl Write for Here {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        SAID.with_borrow_mut(|said| said.as_mut().map_or(Ok(bytes.len()), |said| said.write(bytes)))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The lines of a log, as far as they are shown to everybody; of this thread alone, as tests run beside each other.
struct Lines;

impl Lines {
    fn listen() -> Lines {
        static LISTEN: Once = Once::new();
        LISTEN.call_once(|| {
            // One for all threads: whether a line is wanted is asked where it is said first, once for the whole
            // process. With a listener of its own a thread would miss what another one said before without any.
            let log = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false);
            tracing::subscriber::set_global_default(log.with_writer(|| Here).finish()).unwrap();
            // Somebody may have said something between its making and its place.
            tracing::callsite::rebuild_interest_cache();
        });
        SAID.set(Some(Vec::new()));
        Lines
    }

    /// What was said since this was asked last.
    fn since_then(&self) -> Vec<String> {
        let bytes = SAID.with_borrow_mut(|said| said.as_mut().map(std::mem::take).unwrap());
        String::from_utf8(bytes).unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl Scene {
    /// The next attempt.
    fn again(&mut self) -> Done {
        let steady = self.engine.wake_at().unwrap();
        self.engine.hear(Moment { steady, ..now() }, Heard::Timer).unwrap()
    }

    /// Contact, up to the present.
    fn comes_back(&mut self) {
        let begun = self.again();
        self.greets(begun, 5);
        self.hear(Heard::StreamOpened);
        self.hear(Heard::Frames(Stretch { events: Vec::new(), cursor: Some("c5".into()), ready: Some(5) }));
    }

    fn journal(&self) -> Vec<(String, String)> {
        let lines = self.replica.log(50).unwrap().into_iter().rev();
        lines.map(|line| (line.level, line.text)).collect()
    }
}

#[test]
fn a_line_that_another_thread_says_first_is_heard_here_too() {
    let lines = Lines::listen();
    let say = || tracing::info!("here I am");
    std::thread::spawn(say).join().unwrap();
    say();
    assert_eq!(lines.since_then(), ["INFO here I am"]);
}

#[test]
fn an_absence_is_said_when_it_begins_and_when_it_ends() {
    let lines = Lines::listen();
    let mut scene = Scene::in_step();
    assert!(lines.since_then().iter().any(|line| line == "INFO in step head=5"), "it is said at the beginning");
    scene.hear(Heard::StreamEnded { reason: "the stream was cut".into() });
    let refused = |scene: &mut Scene| {
        let ticket = ticket_of(&scene.again(), "/v1/me");
        scene.hear(Heard::Answer { ticket, answer: Err("Connection refused (os error 111)".into()) });
    };
    for _ in 0..3 {
        refused(&mut scene);
    }
    let offline = |reason: &str| format!("INFO phase phase=\"offline\" reason=\"{reason}\"");
    assert_eq!(lines.since_then(), [offline("the stream was cut"), offline("Connection refused (os error 111)")]);
    scene.comes_back();
    assert_eq!(lines.since_then(), ["INFO phase phase=\"catching_up\"", "INFO in step head=5"]);
}

#[test]
fn a_key_that_is_refused_is_a_warning_once_and_its_end_is_said() {
    let lines = Lines::listen();
    let mut scene = Scene::in_step();
    lines.since_then();
    scene.hear(Heard::StreamEnded { reason: "the stream was cut".into() });
    let unknown = json!({ "error": { "type": "unauthorized", "message": "Unknown key." } });
    let refused = |scene: &mut Scene| {
        let ticket = ticket_of(&scene.again(), "/v1/me");
        scene.answered(ticket, 401, &unknown);
    };
    for _ in 0..3 {
        refused(&mut scene);
    }
    let warnings =
        |lines: &Lines| lines.since_then().iter().filter(|line| line.contains("key")).cloned().collect::<Vec<_>>();
    assert_eq!(warnings(&lines), ["WARN the server wants another key reason=\"Unknown key.\""]);
    let entry = ("warning".to_owned(), "The server wants another key: Unknown key.".to_owned());
    assert_eq!(scene.journal(), std::slice::from_ref(&entry));

    // Another key that is none is told of too.
    let begun = scene.hear(Heard::KeyChanged);
    let refusal = Heard::Answer { ticket: ticket_of(&begun, "/v1/me"), answer: Ok(answer(401, &unknown)) };
    scene.engine.hear(Moment { steady: 1, ..now() }, refusal).unwrap();
    assert_eq!(warnings(&lines).len(), 1);
    scene.comes_back();
    assert_eq!(warnings(&lines), ["INFO the server takes the key again"]);
    let end = ("info".to_owned(), "The server takes the key again.".to_owned());
    assert_eq!(scene.journal(), [entry.clone(), entry, end]);
}

#[test]
fn a_comparison_that_has_begun_is_not_in_step() {
    let lines = Lines::listen();
    let mut scene = Scene::in_step();
    lines.since_then();
    scene.hear(Heard::StreamEnded { reason: "the stream was cut".into() });
    let begun = scene.again();
    scene.greets(begun, 90);
    let details = json!({ "reason": "retention", "resume_cursor": "r80" });
    let expired = json!({ "error": { "type": "cursor_expired", "message": "forgotten", "details": details } });
    let begun = scene.hear(Heard::StreamRefused(answer(410, &expired)));
    scene.greets(begun, 90);
    scene.hear(Heard::StreamOpened);
    scene.hear(Heard::Frames(Stretch { events: Vec::new(), cursor: Some("c90".into()), ready: Some(90) }));
    let said = lines.since_then();
    assert!(said.iter().any(|line| line.contains("reconciling")), "{said:?}");
    assert!(!said.iter().any(|line| line.contains("in step")), "{said:?}");
}

#[test]
fn going_over_to_polls_and_back_is_said() {
    let lines = Lines::listen();
    let mut scene = Scene::in_step();
    scene.hear(Heard::StreamEnded { reason: "the stream was cut".into() });
    let begun = scene.again();
    scene.greets(begun, 5);
    lines.since_then();
    let none =
        json!({ "data": [], "meta": { "page": { "next_cursor": "c5", "has_more": false }, "feed": { "head": 5 } } });
    let polled = scene.hear(Heard::StreamEnded { reason: "the server ended the stream".into() });
    scene.answered(ticket_of(&polled, "/v1/events?"), 200, &none);
    let said = lines.since_then();
    assert_eq!(said[0], "INFO the feed is polled from now on", "{said:?}");
    assert!(said[1].starts_with("INFO phase phase=\"polling\" reason=\"there is no stream to be had"), "{said:?}");
    // One poll like the other is no news.
    let polled = scene.again();
    scene.answered(ticket_of(&polled, "/v1/events?"), 200, &none);
    assert_eq!(lines.since_then(), [""; 0]);
    let begun = scene.engine.hear(Moment { steady: 100_000, ..now() }, Heard::Timer).unwrap();
    scene.greets(begun, 5);
    scene.hear(Heard::StreamOpened);
    scene.hear(Heard::Frames(Stretch { events: Vec::new(), cursor: Some("c5".into()), ready: Some(5) }));
    let said = lines.since_then();
    assert!(said.contains(&"INFO the feed comes by the stream again".to_owned()), "{said:?}");
    assert_eq!(said.last().unwrap(), "INFO in step head=5");
}
