//! Files of documents over a real replica: attach by a typed path, and open a file that is not here.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use serde_json::json;

use super::scene::{Scene, fields};
use crate::app::Layer;
use crate::keys::Context;
use crate::message::{Answer, Effect, Message};

fn presses(scene: &mut Scene, code: KeyCode) {
    scene.takes(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

#[test]
fn typed_path_is_completed_and_attached() {
    let mut scene = Scene::new();
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("receipt of the lamp.txt"), "a receipt").unwrap();
    scene.types("3A");
    assert_eq!(scene.app.context(), Context::Attach);
    presses(&mut scene, KeyCode::Enter);
    let refusal = |scene: &Scene| match scene.app.layers.last() {
        Some(Layer::Attach(prompt)) => prompt.refusal.clone().unwrap_or_default(),
        _ => String::new(),
    };
    assert!(refusal(&scene).starts_with("Type the path"));
    scene.types(&format!("{}/rec", directory.path().display()));
    presses(&mut scene, KeyCode::Tab);
    scene.types("x\n");
    assert!(refusal(&scene).contains("receipt of the lamp.txtx"), "{}", refusal(&scene));
    presses(&mut scene, KeyCode::Backspace);
    presses(&mut scene, KeyCode::Enter);
    assert_eq!(scene.app.context(), Context::List);
    let files = scene.replica.files(9).unwrap();
    assert_eq!(files[0].documents[0].title, "receipt of the lamp");
    assert!(scene.app.notice.as_ref().unwrap().text.starts_with("Attached to Item"));
    // The document says that its file is here; in a home without a server no file waits.
    scene.types("6");
    assert_eq!(scene.app.current_record().unwrap().file, Some(hearth_replica::FileState::Present));
    scene.types("u");
    assert_eq!(scene.replica.files(9).unwrap()[0].documents.len(), 0, "undo takes the document back");
}

#[test]
fn missing_file_says_why_it_does_not_open() {
    let mut scene = Scene::new();
    let deed = json!({ "title": "Deed", "file_sha256": "ab".repeat(32) });
    scene.other.create(Kind::Document, &fields(deed)).unwrap();
    scene.types("6o");
    let notice = &scene.app.notice.as_ref().unwrap().text;
    assert_eq!(notice, "Its file is not on this device, and the home has no server.");
    // Bytes that are on their way are asked for again after each change of the database.
    let (file, title) = ("ab".repeat(32), "Deed".to_owned());
    let fetching = Answer::FileFetching { file: file.clone(), title: title.clone(), is_new: true };
    scene.app.update(scene.now, Message::Answer(fetching));
    assert_eq!(scene.app.notice.as_ref().unwrap().text, "Fetching Deed; it opens when it is here.");
    let effects = scene.app.update(scene.now, Message::DatabaseChanged);
    assert!(effects.contains(&Effect::OpenFile { file, title, may_ask: false }));
    let effects = scene.app.update(scene.now, Message::DatabaseChanged);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::OpenFile { .. })), "one question at a time");
}
