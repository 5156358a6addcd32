//! The inbox: drafts are accepted with typed values, and failed captures are read again.

use super::late::{change, hears};
use super::*;
use crate::state::inbox::KnownRecords;
use hearth_replica::{Capture, CapturePurpose, CaptureState};

fn capture(state: CaptureState) -> Capture {
    let drafts = json!([{ "name": "item", "source": "reader", "type": "inventory", "fields": { "name": "Dril", "model": "X1" } }]);
    Capture {
        id: "c1".to_owned(),
        server_id: Some("s1".to_owned()),
        purpose: CapturePurpose::SmartAdd,
        state,
        is_unsent: false,
        files: vec!["f".to_owned()],
        room_id: None,
        note: None,
        subject: None,
        created_at: String::new(),
        drafts: if state == CaptureState::Failed { Vec::new() } else { serde_json::from_value(drafts).unwrap() },
        problem: None,
        accepted: None,
    }
}

#[test]
fn draft_is_accepted_with_a_typed_value() {
    let mut app = with_tasks(three());
    press(&mut app, "i");
    hears(&mut app, Answer::Captures(Ok((vec![capture(CaptureState::Ready)], KnownRecords::default()))));
    keys(&mut app, &["enter", "e"]);
    assert_eq!(app.context(), Context::DraftValue);
    write(&mut app, "l q");
    hears(&mut app, Answer::Captures(Ok((vec![capture(CaptureState::Ready)], KnownRecords::default()))));
    assert_eq!(
        app.context(),
        Context::DraftValue,
        "a letter is no command, and the line stays while captures are read"
    );
    press(&mut app, "enter");
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Confirm, "leaving would lose it");
    press(&mut app, "n");
    hears(&mut app, Answer::Captures(Ok((vec![capture(CaptureState::Ready)], KnownRecords::default()))));
    keys(&mut app, &["j", "space"]);
    let Write::Accept { capture, title, wish } = change(press(&mut app, "ctrl-s")) else { panic!("no acceptance") };
    assert_eq!((capture.as_str(), json!(wish.taken.set)), ("c1", json!({ "name": "Drill q" })));
    assert_eq!((title.as_str(), wish.taken.only), ("Drill q", Some(vec!["name".to_owned()])));
}

#[test]
fn failed_capture_is_read_again_by_a_key() {
    let mut app = with_tasks(three());
    press(&mut app, "i");
    hears(&mut app, Answer::Captures(Ok((vec![capture(CaptureState::Ready)], KnownRecords::default()))));
    assert_eq!(press(&mut app, "r"), [], "its drafts wait");
    hears(&mut app, Answer::Captures(Ok((vec![capture(CaptureState::Failed)], KnownRecords::default()))));
    let write = change(press(&mut app, "r"));
    assert_eq!(write, Write::RetryCapture { capture: "c1".to_owned(), title: "1 file".to_owned() });
}
