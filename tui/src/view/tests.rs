//! The screens drawn on a terminal in memory: what they say at each size, and that no size is too small.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{Edit, Hit, Pending, Row, RowPage, Status};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::json;

use super::{Theme, draw};
use crate::app::{App, Layer};
use crate::fixtures::{live, now, record, task};
use crate::message::{Answer, Effect, Message};

/// The screen as text, one line of the terminal each.
fn screen(app: &mut App, width: u16, height: u16) -> String {
    app.update(now(), Message::Resize(width, height));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, now(), &Theme::new(false), frame)).unwrap();
    let buffer = terminal.backend().buffer();
    assert!(
        buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset),
        "no colour asked for"
    );
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

/// A household in step with its server.
fn household() -> App {
    let (mut app, effects) = App::start(Some("demo".into()), false, (80, 24));
    give(&mut app, &effects, rows());
    app.update(now(), Message::Answer(Answer::Status(Ok(live()))));
    let counts = vec![(Kind::Task, 3), (Kind::Inventory, 83), (Kind::Document, 1_240)];
    app.update(now(), Message::Answer(Answer::Counts(counts)));
    app
}

fn rows() -> Vec<Row> {
    let mut boiler = record(
        Kind::Task,
        "a",
        json!({ "title": "Service the boiler", "priority": "urgent", "due_on": "2026-11-18", "assignee": "Ana",
                "estimated_cost": "1299.00", "notes": "Ask for the new valve.\nKey is under the pot." }),
    );
    boiler.pending = Pending::Waiting;
    let mut car = task("b", "Winter tyres", Some("2026-11-22"));
    car.names.insert("subject_id", "Family car".into());
    let mut evil = task("c", "evil", None);
    evil.fields.insert("title".into(), "Evil \u{1b}[2J\u{202e}title".into());
    vec![boiler, car, evil]
}

fn give(app: &mut App, effects: &[Effect], rows: Vec<Row>) {
    for effect in effects {
        if let Effect::Page(ticket, query) = effect {
            let page = Ok(RowPage { total: rows.len(), rows: rows.clone() });
            let answer = Answer::Page { ticket: *ticket, kind: query.kind, offset: query.offset, page };
            app.update(now(), Message::Answer(answer));
        }
    }
}

fn press(app: &mut App, code: KeyCode) -> Vec<Effect> {
    app.update(now(), Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn letter(app: &mut App, letter: char) -> Vec<Effect> {
    press(app, KeyCode::Char(letter))
}

/// Every screen there is, each with something on it.
fn every_screen() -> Vec<(&'static str, App)> {
    let mut all = vec![("list", household())];
    let mut add = |name, keys: &[KeyCode]| {
        let mut app = household();
        for code in keys {
            press(&mut app, *code);
        }
        all.push((name, app));
    };
    add("detail", &[KeyCode::Enter]);
    add("filter", &[KeyCode::Char('f'), KeyCode::Char('x')]);
    add("form", &[KeyCode::Char('n')]);
    add("notes", &[KeyCode::Char('e'), KeyCode::Tab, KeyCode::Tab, KeyCode::Tab]);
    add("choice", &[KeyCode::Char('e'), KeyCode::Tab]);
    add("picker", &[KeyCode::Char('2'), KeyCode::Char('n'), KeyCode::Tab, KeyCode::Char('g')]);
    add("question", &[KeyCode::Char('d')]);
    add("search", &[KeyCode::Char('/'), KeyCode::Char('b')]);
    add("edits", &[KeyCode::Char('w')]);
    add("help", &[KeyCode::Char('?')]);
    add("home", &[KeyCode::Char('6')]);
    for (_, app) in &mut all {
        match app.layers.last_mut() {
            Some(Layer::Search(search)) => search.take(vec![Hit {
                kind: Kind::Task,
                id: "a".into(),
                title: "Service the boiler".into(),
                snippet: "Service the **boiler** before winter".into(),
            }]),
            Some(Layer::Edits(edits)) => edits.take(vec![edit()]),
            Some(Layer::Form(form)) => form.found(vec![("1".into(), "Garage".into())]),
            _ => {}
        }
    }
    all
}

fn edit() -> Edit {
    Edit {
        id: 1,
        kind: Kind::Task,
        record_id: "a".into(),
        method: "update".into(),
        patch: json!({ "due_on": "2026-12-01" }).as_object().cloned().unwrap(),
        base: json!({ "due_on": "2026-11-18" }).as_object().cloned().unwrap(),
        state: "rejected".into(),
        reason: None,
        attempts: 1,
        next_attempt_at: None,
        problem: Some(json!({ "message": "The day lies before the task was made.", "fix": "Choose a later day." })),
        origin: "tui".into(),
        created_at: "2026-11-21T13:48:00.000Z".into(),
        title: "Service the boiler".into(),
    }
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is not on the screen:\n{text}");
    }
}

#[test]
fn a_list_says_what_matters_at_every_size() {
    let mut app = household();
    let wide = screen(&mut app, 120, 40);
    assert_says(&wide, &["Hearth demo", "1 Tasks 3", "5 Documents 1,240", "3 d overdue", "tomorrow", "▲ urgent"]);
    assert_says(&wide, &["● live", "Maple Street", "n new", "? help", "Ask for the new valve.", "1,299.00"]);
    let usual = screen(&mut app, 80, 24);
    assert_says(&usual, &["Tasks", "Service the boiler", "○ open", "3 d overdue", "● live", "? help"]);
    let small = screen(&mut app, 50, 15);
    assert_says(&small, &["Tasks", "Service the boiler", "● live", "? help"]);
    let tiny = screen(&mut app, 20, 5);
    assert_says(&tiny, &["Tasks", "Service the", "● live"]);
    assert_says(&screen(&mut app, 12, 4), &["12x4", "needs 20x5"]);
    screen(&mut app, 1, 1);
}

#[test]
fn a_waiting_edit_is_marked_on_its_row() {
    let text = screen(&mut household(), 80, 24);
    let row = text.lines().find(|line| line.contains("boiler")).unwrap();
    assert!(row.starts_with(" ▲ "), "{row}");
    let row = text.lines().find(|line| line.contains("tyres")).unwrap();
    assert!(row.starts_with("   ○"), "{row}");
}

#[test]
fn the_other_screens_say_what_they_are_for() {
    for (name, mut app) in every_screen() {
        let text = screen(&mut app, 80, 24);
        let words: &[&str] = match name {
            "detail" => {
                &["Service the boiler", "Due on", "Wed 18 Nov 2026, 3 d ago", "Ask for the new valve.", "esc back"]
            }
            "filter" => &["filter x", "enter keep", "esc clear"],
            "form" => &["New task", "Title *", "What is to be done", "ctrl-s save"],
            "choice" => &["Change the task", "‹ urgent ›", "low  medium  high  urgent"],
            "notes" => &["Key is under the pot."],
            "picker" => &["New item", "Garage", "enter take"],
            "question" => &["Delete the task “Service the boiler”?", "y yes, do it", "n no"],
            "search" => &["Search  b", "Service the boiler", "before winter"],
            "edits" => {
                &["! rejected", "update task: Service the boiler", "12 min", "The day lies before", "→ 2026-12-01"]
            }
            "help" => &["In a list", "Make a new record"],
            _ => &["Hearth"],
        };
        assert_says(&text, words);
    }
}

#[test]
fn no_screen_panics_at_any_size() {
    for (name, mut app) in every_screen() {
        for (width, height) in
            [(1, 1), (2, 9), (20, 5), (21, 6), (20, 40), (300, 5), (50, 15), (109, 7), (110, 8), (300, 100)]
        {
            let text = screen(&mut app, width, height);
            assert_eq!(text.split('\n').count(), usize::from(height), "{name}");
        }
    }
}

#[test]
fn nothing_harmful_in_the_data_reaches_the_screen() {
    for (name, mut app) in every_screen() {
        let text = screen(&mut app, 80, 24);
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{name}:\n{text}");
    }
}

#[test]
fn ascii_means_ascii() {
    for (name, mut app) in every_screen() {
        app.ascii = true;
        let text = screen(&mut app, 120, 40);
        // Quotation marks and the mark of a removed control are text; signs and lines are not.
        let foreign: String = text.chars().filter(|c| !c.is_ascii() && !"“”\u{fffd}".contains(*c)).collect();
        assert_eq!(foreign, "", "{name}:\n{text}");
    }
}

#[test]
fn an_empty_list_says_why() {
    let (mut app, effects) = App::start(None, false, (80, 24));
    give(&mut app, &effects, Vec::new());
    assert_says(&screen(&mut app, 80, 24), &["No tasks yet.", "Press n to make the first task."]);
    letter(&mut app, 'f');
    let effects = letter(&mut app, 'z');
    give(&mut app, &effects, Vec::new());
    assert_says(&screen(&mut app, 80, 24), &["No task has all of “z”.", "Press esc"]);
}

#[test]
fn the_status_is_said_in_plain_words() {
    let phase = |phase: &str| Status { phase: phase.into(), ..live() };
    for (status, words) in [
        (live(), "● live"),
        (Status { server: None, ..phase("new") }, "○ not connected"),
        (
            Status { offline_since: Some("2026-11-21T13:02:00.000Z".into()), ..phase("offline") },
            "○ offline since 13:02",
        ),
        (Status { position: 1_200, head: Some(5_000), ..phase("backfilling") }, "◌ first sync 1,200 of 5,000"),
        (Status { behind_events: Some(312), ..phase("catching_up") }, "◌ catching up, 312 behind"),
        (Status { waiting: 4, needs_you: 1, ..live() }, "● live   ! 1 needs you   ▲ 4 waiting"),
        (phase("needs_key"), "! the server refuses the key"),
        (phase("paused"), "‖ paused"),
    ] {
        let mut app = household();
        app.update(now(), Message::Answer(Answer::Status(Ok(status))));
        assert_says(&screen(&mut app, 80, 24), &[words]);
    }
}
