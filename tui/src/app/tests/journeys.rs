//! Sequences of keys over a real replica: the cursor goes to a new record and does not follow a finished task.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::scene::Scene;
use crate::app::{App, Layer, Setup};
use crate::keys::Context;
use crate::message::{Effect, Message};
use crate::state::session::Session;

fn saves(scene: &mut Scene) {
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL)));
}

fn under_the_cursor(scene: &Scene) -> &str {
    scene.app.current_record().map_or("", |row| row.title.as_str())
}

#[test]
fn new_record_far_away_is_selected() {
    let mut scene = Scene::new();
    scene.takes(Message::Resize(80, 9));
    scene.types("2nZebra");
    saves(&mut scene);
    assert_eq!(under_the_cursor(&scene), "Zebra");
    // The selection stays after the change notification.
    scene.takes(Message::DatabaseChanged);
    assert_eq!(under_the_cursor(&scene), "Zebra");
}

#[test]
fn new_record_hidden_by_filter_is_announced() {
    let mut scene = Scene::new();
    scene.types("2fTask\nnZebra");
    saves(&mut scene);
    assert!(under_the_cursor(&scene).starts_with("Task"));
    assert_eq!(scene.app.notice.as_ref().unwrap().text, "New task: Zebra; the filter hides it");
}

#[test]
fn done_twice_finishes_two_tasks() {
    let mut scene = Scene::new();
    scene.types("2");
    let first = under_the_cursor(&scene).to_owned();
    scene.types("x");
    let second = under_the_cursor(&scene).to_owned();
    assert_ne!(first, second);
    scene.types("x");
    let done = |title: &str| {
        let query = crate::parse::filter::parse_filter(
            hearth_contract::schema::Kind::Task,
            "is:done",
            scene.app.today,
            Default::default(),
        );
        let list = scene.app.list(hearth_contract::schema::Kind::Task).unwrap();
        let query = hearth_replica::RowQuery { conditions: query.conditions, offset: 0, ..list.whole_query() };
        scene.replica.rows(&query).unwrap().rows.iter().any(|row| row.title == title)
    };
    assert!(done(&first) && done(&second));
}

#[test]
fn quick_add_asks_and_survives_crash() {
    let mut scene = Scene::new();
    let presses = |scene: &mut Scene, code| scene.takes(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    scene.types("2a");
    presses(&mut scene, KeyCode::Esc);
    assert_eq!(scene.app.context(), Context::List, "nothing was typed");
    scene.types("aSweep the chimney due:fri");
    presses(&mut scene, KeyCode::Esc);
    let Some(Layer::Confirm(question)) = scene.app.layers.last() else { panic!("nothing is asked") };
    assert_eq!(question.question, "Leave quick add?");
    scene.types("n");
    assert_eq!(scene.app.context(), Context::Quick);
    let letters = " now".chars().map(|letter| Message::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)));
    let effects: Vec<Effect> = letters.flat_map(|letter| scene.app.update(scene.now, letter)).collect();
    let kept = effects.into_iter().rev().find_map(|effect| match effect {
        Effect::SaveSession(session) => Some(session),
        _ => None,
    });
    let (again, _) = App::start(scene.now, Setup::default(), kept.unwrap(), (80, 24));
    let Some(Layer::Form(form)) = again.layers.last() else { panic!("what was typed is gone") };
    let draft = form.draft().unwrap();
    assert_eq!(
        (&draft.typed["title"], &draft.typed["due_on"]),
        (&"Sweep the chimney now".into(), &"2026-11-27".into())
    );
    presses(&mut scene, KeyCode::Esc);
    scene.types("y");
    assert_eq!(scene.app.context(), Context::List);
    let (again, _) = App::start(scene.now, Setup::default(), Session::default(), (80, 24));
    assert!(again.layers.is_empty());
}

#[test]
fn undo_names_change_and_next_occurrence() {
    let mut scene = Scene::new();
    scene.types("2aSweep the chimney due:2026-11-22 every:week\n");
    scene.types("x");
    let notice = |scene: &Scene| scene.app.notice.as_ref().unwrap().text.clone();
    assert_eq!(notice(&scene), "Done: Sweep the chimney; comes again on Sun 29 Nov 2026");
    scene.types("u");
    assert_eq!(notice(&scene), "Undone: “Sweep the chimney” as done");
    scene.types("u");
    assert_eq!(notice(&scene), "Undone: the new task “Sweep the chimney”");
}
