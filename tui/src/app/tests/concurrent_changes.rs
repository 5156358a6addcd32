//! A form whose record others change: no change of theirs is overwritten unseen, and no typed value is lost.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::Row;
use serde_json::json;

use super::scene::{Scene, fields};
use crate::app::{App, Layer};
use crate::message::Message;
use crate::state::form::Form;

/// A scene with an open form for a task, and the task.
fn editing() -> (Scene, Row) {
    let mut scene = Scene::new();
    scene.types("2");
    let row = scene.app.current_record().expect("a task").clone();
    scene.types("e");
    (scene, row)
}

fn saves(scene: &mut Scene) {
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL)));
}

fn form(app: &App) -> Option<&Form> {
    match app.layers.last() {
        Some(Layer::Form(form)) => Some(form),
        _ => None,
    }
}

fn task(scene: &Scene, id: &str) -> Row {
    scene.replica.row(Kind::Task, id).unwrap().unwrap()
}

#[test]
fn save_over_remote_change_shows_it_first() {
    let (mut scene, row) = editing();
    scene.types("!");
    scene.other.update(Kind::Task, &row.id, &fields(json!({ "title": "Theirs, important" }))).unwrap();
    saves(&mut scene);
    assert_eq!(task(&scene, &row.id).title, "Theirs, important", "nothing is written over unseen");
    let shown = form(&scene.app).expect("the form stays");
    assert_eq!(shown.entries[shown.focus].their_value.as_deref(), Some("Theirs, important"));
    assert_eq!(
        shown.refusal.as_deref(),
        Some("Not saved: title was changed by someone else. Save again to keep your value.")
    );
    let draft = shown.draft().expect("what was typed is kept");
    assert_eq!(
        (&draft.before["title"], &draft.typed["title"]),
        (&json!("Theirs, important"), &json!(format!("{}!", row.title)))
    );
    scene.draws(crate::config::Colors::Mono);
    let mine = format!("{}!", row.title);
    saves(&mut scene);
    assert_eq!(task(&scene, &row.id).title, mine);
    let edits = scene.replica.edits().unwrap();
    assert_eq!(edits.last().unwrap().base["title"], "Theirs, important", "what was seen is what it is based on");
    assert!(form(&scene.app).is_none());
}

#[test]
fn save_keeps_remote_change_of_other_field() {
    let (mut scene, row) = editing();
    scene.types("!");
    scene.other.update(Kind::Task, &row.id, &fields(json!({ "assignee": "Ana" }))).unwrap();
    saves(&mut scene);
    assert!(form(&scene.app).is_none());
    let saved = task(&scene, &row.id);
    assert_eq!((saved.title, &saved.fields["assignee"]), (format!("{}!", row.title), &json!("Ana")));
}

#[test]
fn refused_form_takes_untyped_fields() {
    let (mut scene, row) = editing();
    scene.types("!");
    let theirs = json!({ "title": "Theirs", "assignee": "Ana", "notes": null });
    scene.other.update(Kind::Task, &row.id, &fields(theirs)).unwrap();
    saves(&mut scene);
    saves(&mut scene);
    let saved = task(&scene, &row.id);
    assert_eq!((saved.title, &saved.fields["assignee"]), (format!("{}!", row.title), &json!("Ana")));
    assert!(saved.fields["notes"].is_null(), "what was only shown is not written");
}

#[test]
fn save_equal_to_remote_change_closes_form() {
    let (mut scene, row) = editing();
    scene.types("!");
    let same = json!({ "title": format!("{}!", row.title) });
    scene.other.update(Kind::Task, &row.id, &fields(same)).unwrap();
    saves(&mut scene);
    assert!(form(&scene.app).is_none());
}

#[test]
fn save_of_deleted_record_creates_new_one() {
    let (mut scene, row) = editing();
    scene.types("!");
    scene.other.delete(Kind::Task, &row.id).unwrap();
    saves(&mut scene);
    let shown = form(&scene.app).expect("the form stays");
    let sentence = "Not saved: the task was deleted by someone else. Save again to create it again.";
    assert_eq!(shown.refusal.as_deref(), Some(sentence));
    let draft = shown.draft().expect("what was typed is kept");
    assert_eq!((draft.id, &draft.typed["title"]), (None, &json!(format!("{}!", row.title))));
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE)));
    assert!(matches!(scene.app.layers.last(), Some(Layer::Confirm(_))), "it is not left without a question");
    scene.types("n");
    saves(&mut scene);
    assert!(form(&scene.app).is_none());
    let new = scene.app.current_record().expect("the new one is under the cursor");
    assert_eq!(new.title, format!("{}!", row.title));
    let kept = |row: &Row| (row.fields["due_on"].clone(), row.fields["notes"].clone());
    assert_eq!(kept(new), kept(&row), "it has what was not typed, too");
    assert_ne!(new.id, row.id);
}

#[test]
fn subject_fields_are_saved_together() {
    let mut scene = Scene::new();
    let named = |kind, name: &str| scene.other.create(kind, &fields(json!({ "name": name }))).unwrap();
    let (hall, shed, car) = (named(Kind::Room, "Hall"), named(Kind::Room, "Shed"), named(Kind::Vehicle, "Car"));
    let about = |kind: &str, id: &str| fields(json!({ "subject_type": kind, "subject_id": id }));
    let task_of = fields(json!({ "title": "Sweep", "subject_type": "room", "subject_id": hall }));
    let id = scene.other.create(Kind::Task, &task_of).unwrap();
    let row = task(&scene, &id);
    scene.app.layers.push(Layer::Form(Box::new(Form::edit(&row, scene.app.today))));
    let Some(Layer::Form(open)) = scene.app.layers.last_mut() else { panic!() };
    let subject = open.entries.iter_mut().find(|entry| entry.field.name == "subject_id").unwrap();
    subject.editor = crate::state::editor::Editor::new(subject.field, &json!(shed), Some("Shed"));
    scene.other.update(Kind::Task, &id, &about("vehicle", &car)).unwrap();
    saves(&mut scene);
    assert_eq!(task(&scene, &id).fields["subject_id"], json!(car));
    saves(&mut scene);
    let saved = task(&scene, &id).fields;
    assert_eq!((&saved["subject_type"], &saved["subject_id"]), (&json!("room"), &json!(shed)));
}
