//! Captures: what is sent when, what the server's list changes, and where the text of a file is found.

use std::fs;

use super::*;
use crate::store::captures::accept::{Acceptance, Taken, accept, discard, retry};
use crate::store::captures::exchange::{self, News};
use crate::store::captures::listed::{self, Listed};
use crate::store::captures::make::{NewCapture, capture};
use crate::store::captures::table;
use crate::store::file_store::table::to_upload;
use crate::store::file_store::texts::{self, TextAnswer};
use crate::store::file_store::upload::{refused, uploaded};

impl Scene {
    /// A capture of one file; its id.
    fn captures(&mut self, content: &[u8]) -> String {
        let file = self.directory.path().join("photo.txt");
        fs::write(&file, content).unwrap();
        let db = self.db_path();
        capture(&mut self.db, &db, &NewCapture { files: vec![file], ..NewCapture::default() }, at(0)).unwrap()
    }

    fn news(&self) -> Option<News> {
        exchange::unsent(&self.db).unwrap().map(|unsent| unsent.news)
    }

    fn hears(&mut self, jobs: serde_json::Value) -> bool {
        let listed =
            Listed { purpose: CapturePurpose::SmartAdd, jobs: jobs.as_array().unwrap().clone(), is_whole: true };
        listed::take(&mut self.db, &listed, at(0)).unwrap()
    }

    fn capture_state(&self, id: &str) -> CaptureState {
        table::one(&self.db, id).unwrap().unwrap().state
    }
}

/// A replica with one capture: its id, and the hash of its file.
fn captured() -> (Scene, String, String) {
    let mut scene = Scene::with_task_at_present();
    let id = scene.captures(b"a plate");
    let hash = scene.one("SELECT sha256 FROM files");
    (scene, id, hash)
}

/// A job as the server lists it.
fn job(status: &str, file: &str) -> serde_json::Value {
    let drafts = json!([{ "name": "item", "source": "reader", "type": "inventory", "fields": { "name": "Drill" } }]);
    json!({ "id": "s1", "status": status, "files": [file], "created_at": "2026-01-01T00:00:00.000Z", "drafts": drafts })
}

#[test]
fn capture_is_sent_after_its_file_and_with_one_key() {
    let (mut scene, id, hash) = captured();
    assert_eq!(to_upload(&scene.db).unwrap().len(), 1);
    assert!(scene.news().is_none(), "the file comes first");
    uploaded(&mut scene.db, &hash).unwrap();
    let first = scene.news();
    exchange::begin_attempt(&mut scene.db, &id).unwrap();
    assert_eq!(scene.news(), first, "a retry sends the same key and body");
    exchange::made(&mut scene.db, &id, "s1").unwrap();
    assert!(scene.news().is_none());
    assert!(listed::is_reading(&scene.db).unwrap());
    assert!(scene.hears(json!([job("ready", &hash)])));
    assert_eq!(scene.capture_state(&id), CaptureState::Ready);
    assert!(!scene.hears(json!([job("ready", &hash)])), "the same list is no news");
    assert!(scene.hears(json!([])));
    assert_eq!(scene.capture_state(&id), CaptureState::Expired);
}

#[test]
fn acceptance_is_told_when_the_server_has_the_record() {
    let (mut scene, id, hash) = captured();
    uploaded(&mut scene.db, &hash).unwrap();
    exchange::made(&mut scene.db, &id, "s1").unwrap();
    scene.hears(json!([job("ready", &hash)]));
    let (_, item) = accept(&mut scene.db, Origin::Cli, &id, &Acceptance::default()).unwrap();
    assert_eq!(
        scene.one("SELECT i.name || d.title FROM inventory i JOIN documents d ON d.subject_id = i.id"),
        "DrillDrill"
    );
    assert!(scene.news().is_none(), "the server does not have the item");
    scene.hears(json!([job("ready", &hash)]));
    assert_eq!(scene.capture_state(&id), CaptureState::Accepted, "a decision that the server does not know stays");
    scene.forces(&format!("DELETE FROM edits WHERE record_id = '{item}'"));
    let body = json!({ "type": "inventory", "id": item }).to_string();
    assert_eq!(scene.news(), Some(News::Accepted { server_id: "s1".to_owned(), body }));
    exchange::known(&mut scene.db, &id).unwrap();
    assert!(scene.news().is_none());
}

#[test]
fn discarded_capture_that_may_be_on_the_server_is_discarded_there() {
    let mut scene = Scene::with_task_at_present();
    let (never, once) = (scene.captures(b"a plate"), scene.captures(b"another"));
    exchange::begin_attempt(&mut scene.db, &once).unwrap();
    for hash in to_upload(&scene.db).unwrap() {
        uploaded(&mut scene.db, &hash).unwrap();
    }
    for id in [&never, &once] {
        discard(&mut scene.db, id).unwrap();
    }
    assert!(matches!(scene.news(), Some(News::New { .. })), "the same key gives the id of the job, if there is one");
    exchange::made(&mut scene.db, &once, "s2").unwrap();
    assert_eq!(scene.news(), Some(News::Discarded { server_id: "s2".to_owned() }));
}

#[test]
fn capture_that_the_server_refuses_after_a_decision_is_sent_no_more() {
    for decision in [CaptureState::Accepted, CaptureState::Discarded, CaptureState::Failed] {
        let (mut scene, id, hash) = captured();
        uploaded(&mut scene.db, &hash).unwrap();
        exchange::begin_attempt(&mut scene.db, &id).unwrap();
        let named = Taken { set: [("name".to_owned(), "Drill".into())].into_iter().collect(), ..Taken::default() };
        match decision {
            CaptureState::Accepted => {
                let wish = Acceptance { taken: named, ..Acceptance::default() };
                drop(accept(&mut scene.db, Origin::Cli, &id, &wish).unwrap());
            }
            CaptureState::Discarded => discard(&mut scene.db, &id).unwrap(),
            _ => (),
        }
        exchange::refused(&mut scene.db, &id, &json!({ "message": "No." })).unwrap();
        assert_eq!((scene.capture_state(&id), scene.news()), (decision, None));
        if decision == CaptureState::Failed {
            discard(&mut scene.db, &id).unwrap();
            assert!(scene.news().is_none(), "the server has refused it: there is nothing to discard");
        }
    }
}

#[test]
fn failed_capture_is_read_again_as_a_copy() {
    let (mut scene, id, hash) = captured();
    uploaded(&mut scene.db, &hash).unwrap();
    let first = scene.news();
    assert!(retry(&mut scene.db, &id).is_err(), "it has not failed");
    exchange::made(&mut scene.db, &id, "s1").unwrap();
    let mut failed = job("failed", &hash);
    failed["error"] = json!({ "code": "unreadable", "message": "It is dark." });
    scene.hears(json!([failed]));
    let copy = retry(&mut scene.db, &id).unwrap();
    let Some(News::New { key, body }) = &first else { panic!("{first:?}") };
    assert_eq!(
        (scene.capture_state(&id), scene.capture_state(&copy)),
        (CaptureState::Discarded, CaptureState::Waiting)
    );
    for _ in 0..2 {
        let unsent = exchange::unsent(&scene.db).unwrap().unwrap();
        match &unsent.news {
            News::New { key: k, body: b } => assert!(k != key && b == body, "an old key would repeat the old answer"),
            news => assert_eq!(*news, News::Discarded { server_id: "s1".to_owned() }, "other devices need not see it"),
        }
        exchange::known(&mut scene.db, &unsent.id).unwrap();
    }
    assert_eq!(scene.news(), None);
}

#[test]
fn failed_capture_is_accepted_with_typed_values() {
    let (mut scene, id, _) = captured();
    exchange::refused(&mut scene.db, &id, &json!({ "message": "No." })).unwrap();
    assert!(accept(&mut scene.db, Origin::Cli, &id, &Acceptance::default()).is_err(), "it has no name");
    let set = [("name".to_owned(), "Drill".into())].into_iter().collect();
    let wish = Acceptance { taken: Taken { set, ..Taken::default() }, ..Acceptance::default() };
    let (_, item) = accept(&mut scene.db, Origin::Cli, &id, &wish).unwrap();
    assert_eq!(scene.one("SELECT subject_id FROM documents"), item);
}

#[test]
fn typed_values_of_a_document_are_taken_with_its_item() {
    let (mut scene, id, hash) = captured();
    exchange::made(&mut scene.db, &id, "s1").unwrap();
    let mut ready = job("ready", &hash);
    let document = json!({ "name": "document", "source": "reader", "type": "document",
        "fields": { "title": "Paper", "file_sha256": hash, "issued_on": "2026-01-02" } });
    ready["drafts"].as_array_mut().unwrap().push(document);
    scene.hears(json!([ready]));
    let taken = Taken { only: Some(Vec::new()), set: [("title".to_owned(), "Receipt".into())].into_iter().collect() };
    let documents = [("document".to_owned(), taken)].into_iter().collect();
    accept(&mut scene.db, Origin::Cli, &id, &Acceptance { documents, ..Acceptance::default() }).unwrap();
    assert_eq!(
        scene.one(
            "SELECT i.name || d.title || (d.issued_on IS NULL) FROM inventory i JOIN documents d ON d.subject_id = i.id"
        ),
        "DrillReceipt1"
    );
}

#[test]
fn capture_fails_with_its_file() {
    let (mut scene, id, hash) = captured();
    let problem = json!({ "type": "payload_too_large", "message": "It is too large." });
    refused(&mut scene.db, &hash, crate::model::ReasonCode::Refused, "too large", &problem, None).unwrap();
    let failed = table::one(&scene.db, &id).unwrap().unwrap();
    assert_eq!((failed.state, failed.why()), (CaptureState::Failed, Some("It is too large.")));
}

#[test]
fn text_of_a_file_is_found_below_the_title_of_its_document() {
    let mut scene = Scene::with_task_at_present();
    let hash = "a".repeat(64);
    let id = "0190a3b0-0000-7000-8000-0000000000d1";
    let payload = json!({ "title": "Receipt", "file_sha256": hash, "size_bytes": 9, "content_type": "image/jpeg" });
    scene.hear(event(9, "created", "document", id, payload));
    assert_eq!(texts::due(&scene.db, at(0)).unwrap(), std::slice::from_ref(&hash));
    texts::answered(&mut scene.db, &hash, &TextAnswer::Waiting, at(0)).unwrap();
    assert!(texts::due(&scene.db, at(0)).unwrap().is_empty());
    assert_eq!(texts::due(&scene.db, at(60_000)).unwrap(), std::slice::from_ref(&hash));
    texts::answered(&mut scene.db, &hash, &TextAnswer::Read("ein Klavier".to_owned()), at(0)).unwrap();
    assert!(texts::due(&scene.db, at(i64::from(i32::MAX))).unwrap().is_empty());
    assert_eq!(scene.one("SELECT record_id FROM search WHERE search MATCH 'klavier'"), id);
    assert!(crate::store::schema::search::is_complete(&scene.db).unwrap());
}
