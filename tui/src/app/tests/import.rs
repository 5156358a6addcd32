//! The import of a table over a real replica: path, preview, question, result, undo.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{RowQuery, Sort};

use super::scene::Scene;
use crate::app::Layer;
use crate::config::Colors;
use crate::keys::Context;
use crate::message::Message;
use crate::state::import::{ImportScreen, ImportStage};

fn presses(scene: &mut Scene, code: KeyCode) {
    scene.takes(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
}

fn screen(scene: &Scene) -> &ImportScreen {
    match scene.app.layers.last() {
        Some(Layer::Import(screen)) => screen,
        other => panic!("{other:?}"),
    }
}

fn items(scene: &Scene) -> usize {
    let sort = Sort { column: "name", descending: false };
    scene.replica.rows(&RowQuery::all(Kind::Inventory, sort, 1)).unwrap().total
}

/// The scene with the file at the preview.
fn previews(scene: &mut Scene, file: &str) {
    scene.types(&format!("I{file}\n"));
    assert_eq!(scene.app.context(), Context::Import);
    scene.draws(Colors::Mono);
}

#[test]
fn table_is_previewed_imported_and_undone() {
    let mut scene = Scene::new();
    let before = items(&scene);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/import/homebox.csv");
    previews(&mut scene, file);
    let counts = screen(&scene).counts().unwrap();
    assert!(counts.created > 0 && counts.failed == 0, "{counts:?}");
    assert_eq!(items(&scene), before, "a preview writes nothing");
    scene.types("\n");
    assert_eq!(scene.app.context(), Context::Confirm);
    scene.types("n");
    assert_eq!(items(&scene), before);
    scene.types("\ny");
    assert!(matches!(screen(&scene).stage, ImportStage::Done(_)));
    scene.draws(Colors::Mono);
    assert!(items(&scene) > before);
    scene.types("\n");
    assert_eq!(scene.app.context(), Context::Home);
    previews(&mut scene, file);
    let again = screen(&scene).counts().unwrap();
    assert_eq!((again.created, again.updated), (0, 0), "a second import changes nothing");
    scene.types("\n");
    assert!(screen(&scene).refusal.as_ref().unwrap().contains("changes nothing"));
    presses(&mut scene, KeyCode::Esc);
    presses(&mut scene, KeyCode::Esc);
    scene.types("u");
    let notice = scene.app.notice.as_ref().map(|notice| notice.text.clone());
    assert_eq!(items(&scene), before, "undo takes the whole import back: {notice:?}");
}

#[test]
fn columns_of_a_strange_table_are_stated() {
    let mut scene = Scene::new();
    let before = items(&scene);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("dinge.csv");
    std::fs::write(&path, "Bezeichnung;Farbe\nLampe;rot\n").unwrap();
    previews(&mut scene, &path.display().to_string());
    assert!(matches!(screen(&scene).stage, ImportStage::Unusable));
    scene.types("mBezeichnung\n");
    assert_eq!(scene.app.context(), Context::ImportMapping);
    assert!(screen(&scene).refusal.as_ref().unwrap().contains("COLUMN=FIELD"));
    scene.draws(Colors::Mono);
    scene.types("=nam");
    presses(&mut scene, KeyCode::Tab);
    scene.types("\n");
    let counts = screen(&scene).counts().unwrap();
    assert_eq!((counts.created, counts.failed), (1, 0));
    // The preview has named the columns; tab continues them.
    scene.types("m, F");
    presses(&mut scene, KeyCode::Tab);
    assert_eq!(screen(&scene).mapping_line.text(), "Bezeichnung=name, Farbe=");
    scene.types("nothing\n");
    assert!(screen(&scene).refusal.as_ref().unwrap().contains("nothing"));
    scene.types("m");
    presses(&mut scene, KeyCode::Esc);
    assert!(matches!(screen(&scene).stage, ImportStage::Unusable), "the mapping is as it was");
    scene.types("m");
    (0..7).for_each(|_| presses(&mut scene, KeyCode::Backspace));
    scene.types("notes\n\ny");
    assert!(matches!(screen(&scene).stage, ImportStage::Done(_)));
    assert_eq!(items(&scene), before + 1);
}

#[test]
fn refused_rows_are_listed_and_left_out() {
    let mut scene = Scene::new();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("things.csv");
    let bad: String = (0..40).map(|row| format!("Bad {row};x{row}\n")).collect();
    std::fs::write(&path, format!("name;purchase_price\nLamp;1.234,56 €\n{bad}")).unwrap();
    previews(&mut scene, &path.display().to_string());
    assert_eq!(screen(&scene).counts().unwrap().failed, 40);
    scene.types("G");
    assert!(screen(&scene).scroll > 0);
    scene.draws(Colors::Mono);
    scene.types("\ny");
    let ImportStage::Done(plan) = &screen(&scene).stage else { panic!("not imported") };
    assert_eq!((plan.counts().created, plan.counts().failed), (1, 40));
    assert_eq!(screen(&scene).entries.len(), 40);
}

#[test]
fn path_and_options_can_be_corrected() {
    let mut scene = Scene::new();
    scene.types("I\n");
    assert!(screen(&scene).refusal.as_ref().unwrap().starts_with("Type the path"));
    scene.types("/nowhere/things.csv\n");
    assert_eq!(scene.app.context(), Context::ImportPath);
    assert!(screen(&scene).refusal.as_ref().unwrap().contains("cannot be read"));
    presses(&mut scene, KeyCode::Esc);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("things.csv");
    std::fs::write(&path, "title,due_on\nSweep,10/11/2027\n").unwrap();
    previews(&mut scene, &path.display().to_string());
    assert!(matches!(screen(&scene).stage, ImportStage::Unusable), "items have no title");
    while screen(&scene).kind != Some(Kind::Task) {
        presses(&mut scene, KeyCode::Tab);
    }
    assert_eq!(screen(&scene).counts().unwrap().failed, 1, "the order of day and month is unknown");
    scene.types("f");
    assert_eq!(screen(&scene).counts().unwrap().created, 1);
}
