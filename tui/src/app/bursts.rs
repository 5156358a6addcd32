//! Keys that arrive together, as from a fast typist or over a slow line: each means what it would mean had the one before
//! been answered. Over a real replica whose answers come after the whole burst.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{RowQuery, Sort};
use serde_json::json;

use super::fuzz::{Dice, Scene, fields};
use super::{App, Layer};
use crate::message::{Effect, Message, Write};
use crate::state::editor::Editor;

/// A scene with a few records that are easily mistaken for each other.
fn household() -> Scene {
    let mut scene = Scene::new();
    let make = |kind, of| scene.other.create(kind, &fields(of)).unwrap();
    for name in ["Kitchen", "Garage", "Garden room", "Office"] {
        make(Kind::Room, json!({ "name": name }));
    }
    for title in ["Tune the piano", "Sharpen the chainsaw", "Buy a torch"] {
        make(Kind::Task, json!({ "title": title, "due_on": "2026-12-24" }));
    }
    scene.takes(Message::Stale);
    scene
}

/// Keys by their names; what has none is typed letter by letter.
fn keys(burst: &[&str]) -> Vec<Message> {
    let key = |code, modifiers| Message::Key(KeyEvent::new(code, modifiers));
    let plain = |code| vec![key(code, KeyModifiers::NONE)];
    let of = |word: &&str| match *word {
        "enter" => plain(KeyCode::Enter),
        "tab" => plain(KeyCode::Tab),
        "esc" => plain(KeyCode::Esc),
        "ctrl-o" => vec![key(KeyCode::Char('o'), KeyModifiers::CONTROL)],
        "ctrl-u" => vec![key(KeyCode::Char('u'), KeyModifiers::CONTROL)],
        "ctrl-s" => vec![key(KeyCode::Char('s'), KeyModifiers::CONTROL)],
        text => text.chars().map(|letter| key(KeyCode::Char(letter), KeyModifiers::NONE)).collect(),
    };
    burst.iter().flat_map(of).collect()
}

/// Everything of a burst is there before anything is answered; later each answer comes by itself.
fn burst(scene: &mut Scene, names: &[&str]) {
    let mut effects: VecDeque<Effect> = VecDeque::new();
    for message in keys(names) {
        effects.extend(scene.app.update(scene.now, message));
    }
    scene.carry_out(effects.into());
}

fn titles(scene: &Scene, kind: Kind, with: &str) -> Vec<String> {
    let column = if kind == Kind::Task { "title" } else { "name" };
    let query = RowQuery { words: with.into(), ..RowQuery::all(kind, Sort { column, descending: false }, 99) };
    scene.replica.rows(&query).unwrap().rows.into_iter().map(|row| row.title).collect()
}

fn is_done(scene: &Scene, title: &str) -> bool {
    let query =
        RowQuery { words: title.into(), ..RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 99) };
    scene.replica.rows(&query).unwrap().rows.iter().any(|row| row.title == title && row.fields["status"] == "done")
}

fn picked(app: &App) -> &str {
    let Some(Layer::Form(form)) = app.layers.last() else { panic!("no form but {:?}", app.layers) };
    let mut names = form.entries.iter().filter_map(|entry| match &entry.editor {
        Editor::Reference(reference) => Some(reference.title.as_str()),
        _ => None,
    });
    names.next().unwrap()
}

#[test]
fn a_filter_and_done_in_one_burst_finish_what_was_filtered_for() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    burst(&mut scene, &["f", "piano", "enter", "x"]);
    assert!(is_done(&scene, "Tune the piano"));
    let done = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 99);
    let done = scene.replica.rows(&done).unwrap().rows.into_iter().filter(|row| row.fields["status"] == "done");
    assert_eq!(done.count(), 1);
}

#[test]
fn a_filter_and_delete_in_one_burst_ask_about_what_was_filtered_for() {
    let mut scene = household();
    burst(&mut scene, &["2", "f", "torch", "enter", "d"]);
    let Some(Layer::Confirm(question)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert_eq!(question.question, "Delete the task “Buy a torch”?");
}

#[test]
fn done_twice_in_one_burst_finishes_two_tasks() {
    let mut scene = household();
    burst(&mut scene, &["2", "x", "x"]);
    let all = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 99);
    let rows = scene.replica.rows(&all).unwrap().rows;
    assert_eq!(rows.iter().filter(|row| row.fields["status"] == "done").count(), 2);
}

#[test]
fn all_of_a_list_is_marked_before_the_next_key() {
    let mut scene = household();
    burst(&mut scene, &["4", "f", "gar", "enter", "*", "d"]);
    let Some(Layer::Confirm(question)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert!(question.question.starts_with("Delete 2 rooms"), "{}", question.question);
}

#[test]
fn a_name_in_one_burst_is_the_name_that_was_typed_last() {
    for (typed, expected) in [
        (&["gar", "enter"] as &[&str], "Garage"),
        (&["gar", "ctrl-u", "off", "enter"], "Office"),
        (&["gar", "tab", "x"], "Garage"),
    ] {
        let mut scene = household();
        burst(&mut scene, &["3", "n", "Drill", "tab"]);
        burst(&mut scene, typed);
        assert_eq!(picked(&scene.app), expected, "{typed:?}");
    }
}

#[test]
fn a_name_that_was_typed_and_not_taken_is_saved_too_or_said_to_be_nobodys() {
    let mut scene = household();
    burst(&mut scene, &["3", "n", "Drill", "tab", "kit"]);
    burst(&mut scene, &["ctrl-s"]);
    let drill = scene.replica.edits().unwrap().pop().unwrap();
    let kitchen = scene.replica.row(Kind::Room, drill.patch["room_id"].as_str().unwrap()).unwrap().unwrap();
    assert_eq!(kitchen.title, "Kitchen");

    burst(&mut scene, &["n", "Saw", "tab", "xyz", "ctrl-s"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("the form is gone") };
    assert_eq!(form.entries[form.focus].fault.as_deref(), Some("No room has the letters “xyz” in its name."));
    assert_eq!(titles(&scene, Kind::Inventory, "saw"), [] as [&str; 0]);
    // So it is with enter, which takes suggestions; other letters take the fault away.
    burst(&mut scene, &["enter"]);
    burst(&mut scene, &["ctrl-u", "gar", "ctrl-s"]);
    assert_eq!(titles(&scene, Kind::Inventory, "saw"), ["Saw"]);
}

#[test]
fn a_subject_is_looked_for_among_all_kinds_and_brings_its_type_along() {
    let mut scene = household();
    burst(&mut scene, &["2", "n", "Mop"]);
    let at = |scene: &Scene| match scene.app.layers.last() {
        Some(Layer::Form(form)) => form.entries[form.focus].field.name,
        other => panic!("no form but {other:?}"),
    };
    while at(&scene) != "subject_id" {
        burst(&mut scene, &["tab"]);
    }
    burst(&mut scene, &["kitch", "ctrl-s"]);
    let mop = scene.replica.edits().unwrap().pop().unwrap();
    let kitchen = scene.replica.row(Kind::Room, mop.patch["subject_id"].as_str().unwrap()).unwrap().unwrap();
    assert_eq!((&mop.patch["subject_type"], kitchen.title.as_str()), (&json!("room"), "Kitchen"));
}

#[test]
fn quick_add_in_one_burst_knows_what_it_is_about() {
    let mut scene = household();
    burst(&mut scene, &["2", "a", "Mop @kitch", "enter"]);
    assert!(scene.app.layers.is_empty(), "{:?}", scene.app.layers);
    let edits = scene.replica.edits().unwrap();
    assert_eq!(edits.last().unwrap().patch["subject_type"], "room");
}

#[test]
fn two_tasks_in_one_burst_are_two_tasks() {
    let mut scene = household();
    burst(&mut scene, &["2", "a", "First one", "enter", "a", "Second one", "enter"]);
    assert_eq!(titles(&scene, Kind::Task, "one"), ["First one", "Second one"]);
    assert!(scene.app.layers.is_empty());
}

#[test]
fn a_search_in_one_burst_opens_what_the_last_words_found() {
    let mut scene = household();
    burst(&mut scene, &["/", "piano", "ctrl-u", "chainsaw", "enter"]);
    let Some(Layer::Detail(detail)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert_eq!(detail.row().unwrap().title, "Sharpen the chainsaw");
}

#[test]
fn what_was_typed_ahead_of_a_refusal_is_not_typed_into_it() {
    let mut scene = household();
    burst(&mut scene, &["2", "e", "!"]);
    let id = scene.app.list(Kind::Task).unwrap().current().unwrap().id.clone();
    scene.other.update(Kind::Task, &id, &fields(json!({ "title": "Theirs" }))).unwrap();
    // Saving twice at once must not write over what nobody has seen.
    burst(&mut scene, &["ctrl-s", "ctrl-s"]);
    assert_eq!(scene.replica.row(Kind::Task, &id).unwrap().unwrap().title, "Theirs");
    assert!(matches!(scene.app.layers.last(), Some(Layer::Form(_))));
}

#[test]
fn a_key_waits_for_an_answer_but_not_for_ever() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    let mut now = scene.now;
    let mut effects = Vec::new();
    for message in keys(&["f", "piano", "enter", "x"]) {
        effects.extend(scene.app.update(now, message));
    }
    let writes = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Write(_)));
    assert!(!writes(&effects) && scene.app.is_ahead());
    now.moment = now.moment.plus_millis(400);
    assert!(!writes(&scene.app.update(now, Message::Tick)) && scene.app.is_ahead());
    now.moment = now.moment.plus_millis(200);
    let late = scene.app.update(now, Message::Tick);
    assert!(matches!(&late[..], [Effect::Write(Write::Update { .. }), ..]) && !scene.app.is_ahead(), "{late:?}");
}

#[test]
fn what_is_typed_ahead_without_an_end_is_bounded() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    let burst: Vec<Message> = keys(&["x", &"x".repeat(5_000)]);
    let effects: Vec<Effect> = burst.into_iter().flat_map(|message| scene.app.update(scene.now, message)).collect();
    assert_eq!(effects.len(), 1);
    let mut now = scene.now;
    let mut handled = 0;
    while scene.app.is_ahead() {
        now.moment = now.moment.plus_millis(600);
        // How syncing stands is looked at whatever is typed.
        let effects = scene.app.update(now, Message::Tick);
        handled += effects.iter().filter(|effect| **effect != Effect::Status).count();
    }
    assert!(handled <= 512, "{handled}");
}

/// What a person could tell apart: the tasks, where the keyboard is, and what is under the cursor.
fn seen(scene: &Scene) -> (Vec<(String, String)>, String, Option<String>) {
    let query = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 999);
    let rows = scene.replica.rows(&query).unwrap().rows;
    let tasks = rows.into_iter().map(|row| (row.title, row.fields["status"].to_string())).collect();
    (tasks, format!("{:?}", scene.app.context()), scene.app.shown().map(|row| row.title.clone()))
}

#[test]
fn any_keys_at_once_do_what_they_do_one_after_another() {
    const WORDS: [&str; 26] = [
        "2",
        "2",
        "j",
        "j",
        "k",
        "x",
        "x",
        "d",
        "y",
        "n",
        "enter",
        "enter",
        "esc",
        "f",
        "task 1",
        "torch",
        "a",
        "Mop @kitch",
        "tab",
        "*",
        " ",
        "e",
        "u",
        "s",
        "/",
        "G",
    ];
    for seed in 0..5 {
        let mut dice = Dice(seed);
        let (mut at_once, mut in_turn) = (household(), household());
        for _ in 0..6 {
            let words: Vec<&str> = (0..1 + dice.below(7)).map(|_| dice.of(&WORDS)).collect();
            burst(&mut at_once, &words);
            words.iter().for_each(|word| keys(&[word]).into_iter().for_each(|key| in_turn.takes(key)));
            assert_eq!(seen(&at_once), seen(&in_turn), "seed {seed}: {words:?}");
            assert!(!at_once.app.is_ahead(), "seed {seed}: {words:?} still wait");
        }
    }
}

#[test]
fn what_the_editor_wrote_goes_into_the_field_it_was_opened_for() {
    let mut scene = household();
    burst(&mut scene, &["2", "n", "Mop"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("no form") };
    let notes = form.entries.iter().position(|entry| entry.field.name == "notes").unwrap();
    let away = notes - form.focus;
    burst(&mut scene, &vec!["tab"; away]);
    // The editor is opened once, and what follows is done when it has been left.
    burst(&mut scene, &["quickly", "ctrl-o", "tab"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("no form") };
    assert_eq!(form.draft().unwrap().typed["notes"], json!("quickly\nmore"));
    assert_ne!(form.focus, notes, "the key after it was heard");
}
