//! Files of documents: rows and bytes, the order of upload and edit, and what is removed when.

use std::fs;

use super::*;
use crate::store::file_store::attach::{AttachError, Attached, attach, copy_in};
use crate::store::file_store::retry::retry_refused_by_key;
use crate::store::file_store::table::{FileChoice, request, to_download, to_upload};
use crate::store::file_store::upload::{downloaded, note_limit, refused, uploaded};
use crate::store::file_store::{bytes, list, upkeep};

const DAY: i64 = 86_400_000;
const DOCUMENT: &str = "0190a3b0-0000-7000-8000-0000000000d0";

impl Scene {
    fn attaches(&mut self, content: &[u8]) -> Result<Attached, AttachError> {
        let file = self.directory.path().join("receipt.txt");
        fs::write(&file, content).unwrap();
        let (db, fields) = (self.db_path(), Fields::new());
        let mut attached = attach(&mut self.db, &db, Origin::Cli, &[file], &fields, None)?;
        Ok(attached.remove(0))
    }

    fn file_state(&self, hash: &str) -> Option<FileState> {
        list::one(&self.db, hash).unwrap().map(|file| file.state)
    }

    fn looks_after(&mut self, millis: i64) -> upkeep::FileUpkeep {
        let db = self.db_path();
        upkeep::look_after(&mut self.db, &db, true, at(millis)).unwrap()
    }
}

/// A replica with one attached file, and its hash.
fn with_receipt() -> (Scene, String) {
    let mut scene = Scene::with_task_at_present();
    let hash = scene.attaches(b"a receipt").unwrap().facts.sha256;
    (scene, hash)
}

/// An event of a document that names a file.
fn document(rev: i64, hash: &str) -> Event {
    let payload = json!({ "title": "Receipt", "file_sha256": hash, "size_bytes": 9, "content_type": "image/jpeg" });
    event(rev, "updated", "document", DOCUMENT, payload)
}

#[test]
fn attached_file_goes_before_its_document() {
    let mut scene = Scene::with_task_at_present();
    let Attached { document, facts } = scene.attaches(b"a receipt").unwrap();
    let hash = facts.sha256;
    assert_eq!(
        scene.one("SELECT title || ' ' || file_name || ' ' || size_bytes FROM documents"),
        "receipt receipt.txt 9"
    );
    assert_eq!(scene.one(&format!("SELECT file_sha256 FROM documents WHERE id = '{document}'")), hash);
    assert_eq!(scene.file_state(&hash), Some(FileState::Waiting));
    assert_eq!(to_upload(&scene.db).unwrap().len(), 1);
    assert!(scene.plan().is_empty(), "the document waits for its file");
    scene.does("UPDATE documents SET notes = 'from the shop'");
    assert!(scene.plan().is_empty(), "and later edits wait with it");
    uploaded(&mut scene.db, &hash).unwrap();
    assert_eq!(scene.file_state(&hash), Some(FileState::Present));
    assert_eq!(scene.ready_groups(), [vec![1, 2]]);
    // The same photo a second time is one file.
    scene.attaches(b"a receipt").unwrap();
    assert_eq!(scene.one("SELECT count(*) FROM files"), "1");
    assert_eq!(scene.file_state(&hash), Some(FileState::Present), "the server has it");
}

#[test]
fn replaced_file_is_still_sent_for_its_edit() {
    let mut scene = Scene::with_task_at_present();
    let Attached { document, facts: first } = scene.attaches(b"a receipt").unwrap();
    let second = scene.attaches(b"another").unwrap().facts;
    scene.does(&format!(
        "UPDATE documents SET file_sha256 = '{}', size_bytes = 7 WHERE id = '{document}'",
        second.sha256
    ));
    let mut sent: Vec<String> = to_upload(&scene.db).unwrap();
    let mut expected = vec![first.sha256, second.sha256];
    sent.sort();
    expected.sort();
    assert_eq!(sent, expected, "the create of the document is held until the first file is sent");
}

#[test]
fn missing_file_is_uploaded_again_a_few_times() {
    let (mut scene, hash) = with_receipt();
    let problem = json!({ "type": "validation_failed",
        "details": { "fields": [{ "field": "file_sha256", "code": "not_found", "message": "no such file" }] } });
    for attempt in 1..=4 {
        uploaded(&mut scene.db, &hash).unwrap();
        assert_eq!(scene.ready_groups(), [vec![1]], "attempt {attempt}");
        scene.attempt(1, WriteOutcome::Rejected { reason: "no file".to_owned(), problem: problem.clone() });
        let is_last = attempt == 4;
        assert_eq!(scene.file_state(&hash), Some(if is_last { FileState::Present } else { FileState::Waiting }));
        assert_eq!(scene.one("SELECT state FROM edits"), if is_last { "rejected" } else { "waiting" });
    }
}

#[test]
fn refused_file_leaves_its_document_to_a_person() {
    let (mut scene, hash) = with_receipt();
    let problem = json!({ "type": "payload_too_large" });
    refused(&mut scene.db, &hash, ReasonCode::TooLarge, "over 8 bytes", &problem, Some(8)).unwrap();
    assert_eq!(scene.file_state(&hash), Some(FileState::Refused));
    assert_eq!(
        scene.one("SELECT state || ' ' || reason_code || ' ' || reason FROM edits"),
        "rejected too_large over 8 bytes"
    );
    assert!(to_upload(&scene.db).unwrap().is_empty(), "it is not sent again by itself");
    scene.retry(1).unwrap();
    assert_eq!((scene.plan().len(), to_upload(&scene.db).unwrap().len()), (0, 1), "a retry sends the file first");
    refused(&mut scene.db, &hash, ReasonCode::TooLarge, "over 8 bytes", &problem, Some(8)).unwrap();
    assert_eq!((scene.one("SELECT state FROM edits").as_str(), to_upload(&scene.db).unwrap().len()), ("rejected", 0));
    let error = scene.attaches(b"a receipt").unwrap_err();
    assert!(matches!(error, AttachError::TooLarge { limit: 8, .. }), "the server's limit is known: {error}");
    assert_eq!(scene.attaches(b"receipt").unwrap().facts.size_bytes, 7);
    note_limit(&mut scene.db, 1 << 30).unwrap();
    assert!(scene.attaches(b"a receipt").is_ok());
}

#[test]
fn file_refused_for_the_key_waits_for_another_key() {
    let (mut scene, hash) = with_receipt();
    let of_the_key = json!({ "type": "insufficient_scope", "message": "The API key lacks the scope." });
    let of_the_file = json!({ "type": "unsupported_media_type", "message": "No." });
    for (problem, expected) in
        [(of_the_key, (FileState::Waiting, "waiting")), (of_the_file, (FileState::Refused, "rejected"))]
    {
        let sentence = problem["message"].as_str().unwrap();
        refused(&mut scene.db, &hash, ReasonCode::Refused, sentence, &problem, None).unwrap();
        assert_eq!((scene.file_state(&hash), to_upload(&scene.db).unwrap().len()), (Some(FileState::Refused), 0));
        assert_eq!(scene.one("SELECT state || ' ' || reason FROM edits"), format!("rejected {sentence}"));
        retry_refused_by_key(&mut scene.db).unwrap();
        assert_eq!(
            (scene.file_state(&hash), scene.one("SELECT state FROM edits").as_str()),
            (Some(expected.0), expected.1)
        );
    }
}

#[test]
fn bytes_that_an_upload_finds_lost_are_noted() {
    let (mut scene, hash) = with_receipt();
    let db = scene.db_path();
    for state in [FileState::Missing, FileState::Damaged] {
        upkeep::note_lost(&mut scene.db, &db, &hash, state).unwrap();
        assert_eq!((scene.file_state(&hash), to_upload(&scene.db).unwrap().len()), (Some(state), 0));
    }
    assert!(!bytes::is_here(&db, &hash), "damaged bytes are removed");
    assert_eq!(scene.ready_groups(), [vec![1]], "the server says to the document that it has no such file");
}

#[test]
fn file_attached_again_sends_its_rejected_document() {
    let (mut scene, hash) = with_receipt();
    let db = scene.db_path();
    upkeep::note_lost(&mut scene.db, &db, &hash, FileState::Damaged).unwrap();
    let rejected = "UPDATE edits SET state = 'rejected', reason_code = 'missing_reference', reason = 'no such file',
        problem = '{\"details\":{\"fields\":[{\"field\":\"file_sha256\",\"code\":\"not_found\"}]}}'";
    scene.forces(rejected);
    let document = scene.one("SELECT record_id FROM edits");
    let again = scene.directory.path().join("receipt.txt");
    attach(&mut scene.db, &db, Origin::Cli, &[again], &Fields::new(), Some(&document)).unwrap();
    assert_eq!(scene.file_state(&hash), Some(FileState::Waiting));
    assert_eq!(scene.one("SELECT group_concat(state) FROM edits"), "waiting");
    assert_eq!(scene.plan().len(), 0, "the file goes first");
}

#[test]
fn document_of_the_feed_names_a_wanted_file() {
    let mut scene = Scene::with_task_at_present();
    let hash = "ab".repeat(32);
    scene.hear(document(6, &hash));
    assert_eq!(scene.file_state(&hash), Some(FileState::Wanted));
    assert!(to_download(&scene.db).unwrap().is_empty(), "nobody has asked for it");
    let asks = |scene: &mut Scene, choice| gate::sync_tx(&mut scene.db, |tx| request(tx, choice, at(0))).unwrap();
    assert_eq!(asks(&mut scene, FileChoice::Images), 1);
    assert_eq!(to_download(&scene.db).unwrap(), std::slice::from_ref(&hash));
    assert_eq!(list::one(&scene.db, &hash).unwrap().unwrap().size_bytes, Some(9));
    let problem = json!({ "type": "not_found" });
    downloaded(&mut scene.db, &hash, Some(FileState::Missing), Some(&problem)).unwrap();
    assert_eq!(scene.file_state(&hash), Some(FileState::Missing));
    assert!(to_download(&scene.db).unwrap().is_empty(), "a person must ask again");
    assert_eq!(asks(&mut scene, FileChoice::One(&hash)), 1);
    downloaded(&mut scene.db, &hash, Some(FileState::Present), None).unwrap();
    assert_eq!(scene.file_state(&hash), Some(FileState::Present));
    // A text that is no hash would be a path.
    scene.hear(document(7, "../../etc/passwd"));
    assert_eq!(scene.one("SELECT count(*) FROM files"), "1");
}

#[test]
fn scripts_name_files_but_do_not_write_them() {
    let mut scene = Scene::new();
    let hash = "cd".repeat(32);
    scene.does(&format!("INSERT INTO documents (title, file_sha256) VALUES ('Deed', '{hash}')"));
    assert_eq!(scene.file_state(&hash), Some(FileState::Wanted));
    let other = "ef".repeat(32);
    scene.does(&format!("UPDATE documents SET file_sha256 = '{other}'"));
    assert_eq!(scene.file_state(&other), Some(FileState::Wanted));
    for text in
        ["DELETE FROM files", "UPDATE files SET state = 'present'", "INSERT INTO files VALUES ('a',1,'b','c',0,0,0)"]
    {
        assert!(scene.sql(text).unwrap_err().starts_with("files is kept by the replica itself"), "{text}");
    }
}

#[test]
fn file_without_document_is_removed_after_a_week() {
    let mut scene = Scene::new();
    let Attached { document, facts } = scene.attaches(b"a receipt").unwrap();
    let path = bytes::path(&scene.db_path(), &facts.sha256).unwrap();
    scene.does(&format!("DELETE FROM documents WHERE id = '{document}'"));
    // The create and the delete are edits until they are coalesced.
    scene.forces("DELETE FROM edits");
    assert!(to_upload(&scene.db).unwrap().is_empty(), "a file without a document is not sent");
    assert_eq!(scene.looks_after(0).removed, 0);
    assert_eq!((scene.looks_after(7 * DAY - 1).removed, path.exists()), (0, true));
    assert_eq!((scene.looks_after(7 * DAY).removed, path.exists()), (1, false));
    assert_eq!(scene.one("SELECT count(*) FROM files"), "0");
}

#[test]
fn upkeep_finds_lost_damaged_and_left_bytes() {
    let mut scene = Scene::new();
    let hash = scene.attaches(b"a receipt").unwrap().facts.sha256;
    uploaded(&mut scene.db, &hash).unwrap();
    let path = bytes::path(&scene.db_path(), &hash).unwrap();
    fs::write(&path, b"A receipt").unwrap();
    assert_eq!(scene.looks_after(0).damaged, std::slice::from_ref(&hash));
    assert_eq!((scene.file_state(&hash), path.exists()), (Some(FileState::Damaged), false));
    fs::write(&path, b"a receipt").unwrap();
    assert_eq!(
        (scene.looks_after(0).found, scene.file_state(&hash)),
        (1, Some(FileState::Waiting)),
        "its edit is not sent"
    );
    fs::remove_dir_all(bytes::folder(&scene.db_path())).unwrap();
    assert_eq!((scene.looks_after(0).lost, scene.file_state(&hash)), (vec![hash.clone()], Some(FileState::Missing)));
    // A crash between the bytes and the row: young bytes may belong to a command that still runs.
    let source = scene.directory.path().join("stray.txt");
    fs::write(&source, "stray").unwrap();
    let stray = copy_in(&scene.db_path(), &source, 9).unwrap().sha256;
    let stray = bytes::path(&scene.db_path(), &stray).unwrap();
    let written = i64::try_from(
        fs::metadata(&stray).unwrap().modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis(),
    )
    .unwrap();
    let at_written = written - at(0).millis();
    scene.looks_after(at_written + 6 * DAY);
    assert!(stray.exists());
    scene.looks_after(at_written + 8 * DAY);
    assert!(!stray.exists());
}

#[test]
fn attach_names_what_is_wrong() {
    let mut scene = Scene::new();
    let db = scene.db_path();
    let fields = Fields::new();
    let mut fails = |path: &str, document: Option<&str>| {
        attach(&mut scene.db, &db, Origin::Cli, &[scene.directory.path().join(path)], &fields, document).unwrap_err()
    };
    assert!(matches!(fails("nothing.pdf", None), AttachError::Source(..)));
    assert!(matches!(fails(".", None), AttachError::NotAFile(_)));
    assert!(matches!(fails("replica.db", Some(DOCUMENT)), AttachError::Edit(_)), "no such document");
    let [good, missing] = ["good.txt", "nothing.pdf"].map(|name| scene.directory.path().join(name));
    fs::write(&good, "good").unwrap();
    let both = attach(&mut scene.db, &db, Origin::Cli, &[good, missing], &fields, None);
    assert!(matches!(both, Err(AttachError::Source(..))));
    assert_eq!(scene.one("SELECT count(*) FROM files"), "0", "nothing is half done");
}
