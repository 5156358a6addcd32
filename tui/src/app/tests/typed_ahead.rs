//! Typing ahead over a real replica: a burst of keys has the same result as the same keys with an answer after each.

use std::collections::VecDeque;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{RowQuery, Sort};
use serde_json::json;

use super::scene::{Dice, Scene, fields};
use crate::app::{App, Layer};
use crate::message::{Effect, Message, Write};
use crate::state::editor::Editor;

/// A scene with records of similar names.
fn household() -> Scene {
    let mut scene = Scene::new();
    let make = |kind, of| scene.other.create(kind, &fields(of)).unwrap();
    for name in ["Kitchen", "Garage", "Garden room", "Office"] {
        make(Kind::Room, json!({ "name": name }));
    }
    for title in ["Tune the piano", "Sharpen the chainsaw", "Buy a torch"] {
        make(Kind::Task, json!({ "title": title, "due_on": "2026-12-24" }));
    }
    scene.takes(Message::DatabaseChanged);
    scene
}

/// Keys by name; any other word is typed letter by letter.
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

/// Presses all keys of the burst before the first answer, then answers one request after the other.
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
fn burst_filter_and_done_hits_filtered_task() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    burst(&mut scene, &["f", "piano", "enter", "x"]);
    assert!(is_done(&scene, "Tune the piano"));
    let done = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 99);
    let done = scene.replica.rows(&done).unwrap().rows.into_iter().filter(|row| row.fields["status"] == "done");
    assert_eq!(done.count(), 1);
}

#[test]
fn burst_filter_and_delete_asks_about_match() {
    let mut scene = household();
    burst(&mut scene, &["2", "f", "torch", "enter", "d"]);
    let Some(Layer::Confirm(question)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert_eq!(question.question, "Delete the task “Buy a torch”?");
}

#[test]
fn burst_of_two_done_finishes_two_tasks() {
    let mut scene = household();
    burst(&mut scene, &["2", "x", "x"]);
    let all = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 99);
    let rows = scene.replica.rows(&all).unwrap().rows;
    assert_eq!(rows.iter().filter(|row| row.fields["status"] == "done").count(), 2);
}

#[test]
fn burst_mark_all_completes_before_next_key() {
    let mut scene = household();
    burst(&mut scene, &["4", "f", "gar", "enter", "*", "d"]);
    let Some(Layer::Confirm(question)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert!(question.question.starts_with("Delete 2 rooms"), "{}", question.question);
}

#[test]
fn burst_reference_takes_last_typed_name() {
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
fn save_takes_typed_name_or_shows_fault() {
    let mut scene = household();
    burst(&mut scene, &["3", "n", "Drill", "tab", "kit"]);
    burst(&mut scene, &["ctrl-s"]);
    let drill = scene.replica.edits().unwrap().pop().unwrap();
    let kitchen = scene.replica.row(Kind::Room, drill.patch["room_id"].as_str().unwrap()).unwrap().unwrap();
    assert_eq!(kitchen.title, "Kitchen");

    burst(&mut scene, &["n", "Saw", "tab", "xyz", "ctrl-s"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("the form is gone") };
    assert_eq!(form.entries[form.focus].fault.as_deref(), Some("No room is called “xyz” yet: enter makes it."));
    assert_eq!(titles(&scene, Kind::Inventory, "saw"), [] as [&str; 0]);
    // Other letters remove the fault.
    burst(&mut scene, &["ctrl-u", "gar", "ctrl-s"]);
    assert_eq!(titles(&scene, Kind::Inventory, "saw"), ["Saw"]);
    assert_eq!(titles(&scene, Kind::Room, "xyz"), [] as [&str; 0]);
}

#[test]
fn burst_makes_unknown_room_and_goes_on() {
    let mut scene = household();
    burst(&mut scene, &["3", "n", "Drill", "tab", "Attic", "enter", "tab", "tab", "tool", "ctrl-s"]);
    assert_eq!(titles(&scene, Kind::Room, "attic"), ["Attic"]);
    let drill = scene.replica.edits().unwrap().pop().unwrap();
    let attic = scene.replica.row(Kind::Room, drill.patch["room_id"].as_str().unwrap()).unwrap().unwrap();
    assert_eq!((attic.title.as_str(), &drill.patch["category"]), ("Attic", &json!("tool")));
}

#[test]
fn burst_assignee_waits_for_known_names() {
    let mut scene = household();
    scene.other.create(Kind::Task, &fields(json!({ "title": "Weed", "assignee": "Ana" }))).unwrap();
    burst(&mut scene, &["a", "Mop +ana", "enter"]);
    let mop = scene.replica.edits().unwrap().pop().unwrap();
    assert_eq!((&mop.patch["title"], &mop.patch["assignee"]), (&json!("Mop"), &json!("Ana")));
}

#[test]
fn quick_add_subject_home_is_the_home_itself() {
    let mut scene = household();
    burst(&mut scene, &["a", "Paint @home", "enter"]);
    let paint = scene.replica.edits().unwrap().pop().unwrap();
    assert_eq!((&paint.patch["subject_type"], paint.patch.get("subject_id")), (&json!("home"), None));
    burst(&mut scene, &["a", "Paint again @home", "tab", "ctrl-s"]);
    let again = scene.replica.edits().unwrap().pop().unwrap();
    assert_eq!((&again.patch["title"], &again.patch["subject_type"]), (&json!("Paint again"), &json!("home")));
    // A record with exactly this name is meant first.
    let home = scene.other.create(Kind::Room, &fields(json!({ "name": "Home" }))).unwrap();
    burst(&mut scene, &["a", "Sweep @home", "enter"]);
    assert_eq!(scene.replica.edits().unwrap().pop().unwrap().patch["subject_id"], json!(home));
}

#[test]
fn quick_add_subject_needs_letters_side_by_side() {
    let mut scene = household();
    scene.other.create(Kind::Room, &fields(json!({ "name": "Cellar" }))).unwrap();
    burst(&mut scene, &["a", "Wash @car", "enter"]);
    let Some(Layer::Quick(line)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert_eq!(line.refusal.as_deref(), Some("nothing here is called car"));
    scene.other.create(Kind::Vehicle, &fields(json!({ "name": "Family car" }))).unwrap();
    burst(&mut scene, &[" ", "esc", "y", "a", "Wash @car", "enter"]);
    assert_eq!(scene.replica.edits().unwrap().pop().unwrap().patch["subject_type"], json!("vehicle"));
}

#[test]
fn subject_of_any_kind_sets_its_type() {
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
fn burst_quick_add_finds_subject() {
    let mut scene = household();
    burst(&mut scene, &["2", "a", "Mop @kitch", "enter"]);
    assert!(scene.app.layers.is_empty(), "{:?}", scene.app.layers);
    let edits = scene.replica.edits().unwrap();
    assert_eq!(edits.last().unwrap().patch["subject_type"], "room");
}

#[test]
fn burst_of_two_quick_adds_creates_two() {
    let mut scene = household();
    burst(&mut scene, &["2", "a", "First one", "enter", "a", "Second one", "enter"]);
    assert_eq!(titles(&scene, Kind::Task, "one"), ["First one", "Second one"]);
    assert!(scene.app.layers.is_empty());
}

#[test]
fn burst_search_opens_last_hit() {
    let mut scene = household();
    burst(&mut scene, &["/", "piano", "ctrl-u", "chainsaw", "enter"]);
    let Some(Layer::Detail(detail)) = scene.app.layers.last() else { panic!("{:?}", scene.app.layers) };
    assert_eq!(detail.row().unwrap().title, "Sharpen the chainsaw");
}

#[test]
fn refusal_drops_queued_keys() {
    let mut scene = household();
    burst(&mut scene, &["2", "e", "!"]);
    let id = scene.app.list(Kind::Task).unwrap().current().unwrap().id.clone();
    scene.other.update(Kind::Task, &id, &fields(json!({ "title": "Theirs" }))).unwrap();
    // A second save in the burst must not overwrite the unseen change.
    burst(&mut scene, &["ctrl-s", "ctrl-s"]);
    assert_eq!(scene.replica.row(Kind::Task, &id).unwrap().unwrap().title, "Theirs");
    assert!(matches!(scene.app.layers.last(), Some(Layer::Form(_))));
}

#[test]
fn key_waits_half_a_second_at_most() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    let mut now = scene.now;
    let mut effects = Vec::new();
    for message in keys(&["f", "piano", "enter", "x"]) {
        effects.extend(scene.app.update(now, message));
    }
    let writes = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Write(_)));
    assert!(!writes(&effects) && scene.app.has_typed_ahead());
    now.moment = now.moment.plus_millis(400);
    assert!(!writes(&scene.app.update(now, Message::Tick)) && scene.app.has_typed_ahead());
    now.moment = now.moment.plus_millis(200);
    let late = scene.app.update(now, Message::Tick);
    assert!(matches!(&late[..], [Effect::Write(Write::Update { .. }), ..]) && !scene.app.has_typed_ahead(), "{late:?}");
}

#[test]
fn queued_keys_are_limited() {
    let mut scene = household();
    burst(&mut scene, &["2"]);
    let burst: Vec<Message> = keys(&["x", &"x".repeat(5_000)]);
    let effects: Vec<Effect> = burst.into_iter().flat_map(|message| scene.app.update(scene.now, message)).collect();
    assert_eq!(effects.len(), 1);
    let mut now = scene.now;
    let mut handled = 0;
    while scene.app.has_typed_ahead() {
        now.moment = now.moment.plus_millis(600);
        // The status is requested on a timer.
        let effects = scene.app.update(now, Message::Tick);
        handled += effects.iter().filter(|effect| **effect != Effect::Status).count();
    }
    assert!(handled <= 512, "{handled}");
}

/// The visible result: the tasks, the context and the record under the cursor.
fn seen(scene: &Scene) -> (Vec<(String, String)>, String, Option<String>) {
    let query = RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 999);
    let rows = scene.replica.rows(&query).unwrap().rows;
    let tasks = rows.into_iter().map(|row| (row.title, row.fields["status"].to_string())).collect();
    (tasks, format!("{:?}", scene.app.context()), scene.app.current_record().map(|row| row.title.clone()))
}

#[test]
fn burst_equals_keys_one_by_one() {
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
            assert!(!at_once.app.has_typed_ahead(), "seed {seed}: {words:?} still wait");
        }
    }
}

#[test]
fn keys_wait_for_external_editor() {
    let mut scene = household();
    burst(&mut scene, &["2", "n", "Mop"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("no form") };
    let notes = form.entries.iter().position(|entry| entry.field.name == "notes").unwrap();
    let away = notes - form.focus;
    burst(&mut scene, &vec!["tab"; away]);
    // The editor opens once; the next key is handled after the editor has closed.
    burst(&mut scene, &["quickly", "ctrl-o", "tab"]);
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("no form") };
    assert_eq!(form.draft().unwrap().typed["notes"], json!("quickly\nmore"));
    assert_ne!(form.focus, notes, "the next key acted");
}
