//! Draws every screen on a terminal in memory: texts at each size, snapshots, no panic at any size. Must not use a
//! replica.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{
    Change, Choice, Conflict, Edit, EditProgress, EditState, Expiring, Figures, Group, Hit, Method, Origin, Overview,
    Pending, Related, Row, RowPage, Status, Totals,
};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::json;

use super::{Theme, draw};
use crate::app::{App, Layer, Results, Setup};
use crate::config::Colors;
use crate::fixtures::{live, now, record, task};
use crate::keys::Keymap;
use crate::message::{Answer, Effect, Message};
use crate::state::conflict::ConflictScreen;
use crate::state::detail::FullRecord;
use crate::state::form::Form;
use crate::state::session::Session;

mod mouse;
mod own_keys;
mod quick;
mod small;
mod sync_status;

/// The screen as text, one line for each line of the terminal.
fn screen(app: &mut App, width: u16, height: u16) -> String {
    app.update(now(), Message::Resize(width, height));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(app, now(), &Theme::new(Colors::Mono), frame)).unwrap();
    let buffer = terminal.backend().buffer();
    assert!(
        buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset),
        "no colour asked for"
    );
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

/// An application with three tasks and a connected replica.
fn household() -> App {
    let setup = Setup { title: Some("demo".into()), ..Setup::default() };
    let (mut app, _) = App::start(now(), setup, Session::default(), (80, 24));
    app.update(now(), Message::Answer(Answer::Overview(app.home.ticket, Ok(overview()))));
    app.update(now(), Message::Answer(Answer::Figures(Ok(figures()))));
    let effects = letter(&mut app, '2');
    give(&mut app, &effects, rows());
    app.update(now(), Message::Answer(Answer::Status(Ok(live()))));
    let counts = vec![(Kind::Task, 3), (Kind::Inventory, 83), (Kind::Document, 1_240)];
    app.update(now(), Message::Answer(Answer::Counts(counts)));
    app
}

/// The default keys with other keys for some actions.
fn chosen_keys(changes: &[(&str, &[&str])]) -> Keymap {
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
    Keymap::with(&changes.iter().map(|(id, names)| ((*id).to_owned(), keys(names))).collect()).unwrap()
}

fn overview() -> Overview {
    let expiring = |on: &str, what: &str, kind, title: &str| Expiring {
        on: on.into(),
        what: what.into(),
        kind,
        id: title.to_lowercase(),
        title: title.into(),
    };
    let house = json!({ "address": "12 Maple Street", "city": "Alder Falls", "year_built": 1968, "bedrooms": 4 });
    Overview {
        ready_captures: 0,
        overdue: 1,
        today: 0,
        week: 1,
        next_week: 0,
        urgent: 0,
        open: 3,
        due: rows().into_iter().take(2).collect(),
        urgent_tasks: Vec::new(),
        expiring: vec![
            expiring("2026-11-25", "registration", Kind::Vehicle, "Family car"),
            expiring("2026-12-20", "warranty", Kind::Inventory, "Dishwasher"),
        ],
        due_days: vec!["2026-11-18".into(), "2026-11-22".into()],
        warranty_days: vec!["2026-12-20".into()],
        end_days: vec!["2026-11-25".into()],
        is_cut: false,
        profile: Some(record(Kind::Property, "p", house)),
        latest: None,
    }
}

fn figures() -> Figures {
    Figures {
        rooms: vec![("Kitchen".into(), 1_250_000), ("Garage".into(), 430_000), (String::new(), 20_000)],
        categories: vec![("appliance".into(), 900_000), ("tool".into(), 800_000)],
        activity: vec![("2026-11-02".into(), 3), ("2026-11-20".into(), 9), ("2026-11-21".into(), 1)],
    }
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
            if query.kind == Kind::Task && rows.len() == 3 {
                let group = |key: &str, count, cents| Group { key: key.into(), title: String::new(), count, cents };
                let groups = vec![group("overdue", 1, 129_900), group("week", 1, 0), group("none", 1, 0)];
                let totals = Ok(Totals { cents: Some(129_900), groups });
                app.update(now(), Message::Answer(Answer::Totals { ticket: *ticket, kind: query.kind, totals }));
            }
        }
    }
}

fn press(app: &mut App, code: KeyCode) -> Vec<Effect> {
    app.update(now(), Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

fn letter(app: &mut App, letter: char) -> Vec<Effect> {
    press(app, KeyCode::Char(letter))
}

/// Every screen with content.
fn every_screen() -> Vec<(&'static str, App)> {
    let mut all = vec![("list", household())];
    let mut add = |name, keys: &[KeyCode]| {
        let mut app = household();
        for code in keys {
            press(&mut app, *code);
        }
        all.push((name, app));
    };
    add("home", &[KeyCode::Char('1')]);
    add("detail", &[KeyCode::Enter]);
    add("filter", &[KeyCode::Char('f'), KeyCode::Char('x')]);
    add("form", &[KeyCode::Char('n')]);
    add("notes", &[KeyCode::Char('e'), KeyCode::Tab, KeyCode::Tab, KeyCode::Tab]);
    add("choice", &[KeyCode::Char('e'), KeyCode::Tab]);
    add("picker", &[KeyCode::Char('3'), KeyCode::Char('n'), KeyCode::Tab, KeyCode::Char('g')]);
    add("quick", &[KeyCode::Char('a'), KeyCode::Char('B'), KeyCode::Char(' '), KeyCode::Char('!'), KeyCode::Char('h')]);
    add("question", &[KeyCode::Char('d')]);
    add("search", &[KeyCode::Char('/'), KeyCode::Char('b')]);
    add("edits", &[KeyCode::Char('w')]);
    add("sync", &[KeyCode::Char('S')]);
    add("palette", &[KeyCode::Char('?')]);
    add("columns", &[KeyCode::Char('c')]);
    add("marks", &[KeyCode::Char(' '), KeyCode::Char(' ')]);
    add("bulk", &[KeyCode::Char(' '), KeyCode::Char(' '), KeyCode::Char('e')]);
    all.extend(conflict_screens());
    all.push(("results", results_screen()));
    all.iter_mut().for_each(|(_, app)| fill_top_layer(app));
    all
}

fn conflict_screens() -> [(&'static str, App); 2] {
    [false, true].map(|typing| {
        let mut app = household();
        let mut conflict = ConflictScreen::of(1, Method::Update);
        conflict.set_conflicts(vec![clash("title", "Evil \u{1b}[2J"), clash("due_on", "2026-12-24")]);
        conflict.choose(Choice::Mine);
        if typing {
            conflict.type_value();
        }
        app.layers.push(Layer::Conflict(conflict));
        (if typing { "conflict value" } else { "conflict" }, app)
    })
}

fn results_screen() -> App {
    let mut app = household();
    let each = vec![("Evil \u{1b}[2J".into(), Err("title must be shorter".into())), ("Winter tyres".into(), Ok(()))];
    app.layers.push(Layer::Results(Results {
        done: "Changed 1 task; 1 task not changed".into(),
        did: "changed",
        each,
        scroll: 0,
    }));
    app
}

/// Gives the top layer the data that a replica would give.
fn fill_top_layer(app: &mut App) {
    let page = app.page();
    match app.layers.last_mut() {
        Some(Layer::Search(search)) => search.set_hits(vec![Hit {
            kind: Kind::Task,
            id: "a".into(),
            title: "Service the boiler".into(),
            snippet: "Service the **boiler** before winter".into(),
        }]),
        Some(Layer::Edits(edits)) => edits.set_edits(vec![edit()]),
        Some(Layer::Detail(detail)) => detail.set_record(Some(full()), page),
        Some(Layer::Form(form)) => form.set_options(vec![(Kind::Room, "1".into(), "Garage".into())]),
        _ => {}
    }
}

fn clash(field: &str, theirs: &str) -> Conflict {
    Conflict {
        edit_id: 1,
        kind: Kind::Task,
        record_id: "a".into(),
        field: field.into(),
        base: json!("2026-11-18"),
        mine: json!("2026-12-01"),
        theirs: json!(theirs),
        theirs_at: Some("2026-11-21T13:02:00.000Z".into()),
        theirs_by: Some("Ana's phone".into()),
        title: "Service the boiler".into(),
    }
}

fn full() -> FullRecord {
    let fields = |value: serde_json::Value| value.as_object().cloned().unwrap();
    let mut manual = record(Kind::Document, "d", json!({ "title": "Manual" }));
    manual.title = "Boiler \u{1b}]0;manual".into();
    FullRecord {
        row: rows().remove(0),
        related: vec![Related { kind: Kind::Document, total: 9, first: vec![manual] }],
        changes: vec![Change {
            edit: 4,
            at: "2026-11-21T12:48:00.000Z".into(),
            method: Method::Update,
            patch: fields(json!({ "due_on": "2026-11-18" })),
            base: fields(json!({ "due_on": null })),
            origin: Origin::Tui,
            state: EditProgress::Open(EditState::Waiting),
            reason: None,
        }],
        names: Default::default(),
    }
}

fn edit() -> Edit {
    Edit {
        id: 1,
        kind: Kind::Task,
        record_id: "a".into(),
        method: Method::Update,
        patch: json!({ "due_on": "2026-12-01" }).as_object().cloned().unwrap(),
        base: json!({ "due_on": "2026-11-18" }).as_object().cloned().unwrap(),
        state: EditState::Rejected,
        reason: None,
        reason_code: None,
        attempts: 1,
        next_attempt_at: None,
        problem: Some(json!({ "message": "The day lies before the task was made.", "fix": "Choose a later day." })),
        origin: Origin::Tui,
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
fn list_shows_essentials_at_every_size() {
    let mut app = household();
    let wide = screen(&mut app, 120, 40);
    assert_says(&wide, &["Hearth demo", "2 Tasks 3", "6 Documents 1,240", "3 d overdue", "tomorrow", "█ urgent"]);
    assert_says(&wide, &["● live", "Maple Street", "n new", "? all actions", "Ask for the new valve.", "1,299.00"]);
    let usual = screen(&mut app, 80, 24);
    assert_says(&usual, &["Tasks", "Service the boiler", "○ open", "3 d overdue", "● live", "? all actions"]);
    let small = screen(&mut app, 50, 15);
    assert_says(&small, &["Tasks", "Service the boiler", "● live", "? all actions"]);
    let tiny = screen(&mut app, 20, 5);
    assert_says(&tiny, &["Tasks", "Service the", "● live"]);
    assert_says(&screen(&mut app, 12, 4), &["12x4", "needs 20x5"]);
    screen(&mut app, 1, 1);
}

#[test]
fn row_with_waiting_edit_has_a_mark() {
    let text = screen(&mut household(), 80, 24);
    let row = text.lines().find(|line| line.contains("boiler")).unwrap();
    assert!(row.starts_with(" ▲ "), "{row}");
    let row = text.lines().find(|line| line.contains("tyres")).unwrap();
    assert!(row.starts_with("   ○"), "{row}");
}

#[test]
fn screens_show_their_content() {
    for (name, mut app) in every_screen() {
        let text = screen(&mut app, 80, 24);
        let words: &[&str] = match name {
            "detail" => &[
                "Service the boiler",
                "Due on",
                "Wed 18 Nov 2026, 3 d ago",
                "Ask for the new valve.",
                "esc back",
                "▲ waiting",
            ],
            "filter" => &["filter x", "enter keep", "esc clear"],
            "form" => &["New task", "Title *", "What is to be done", "ctrl-s save"],
            "choice" => &["Change the task", "‹ urgent ›", "low  medium  high  urgent"],
            "notes" => &["Key is under the pot."],
            "picker" => &["New item", "Garage", "enter take"],
            "question" => &["Delete the task “Service the boiler”?", "y yes, do it", "n no"],
            "search" => &["Search  b", "Service the boiler", "before winter"],
            "edits" => {
                &["! rejected", "changed task: Service the boiler", "12 min", "The day lies before", "→ Tue 1 Dec 2026"]
            }
            "home" => {
                &["! Overdue  1", "Service the boiler", "Runs out soon", "November 2026", "Worth by room", "17,000"]
            }
            "quick" => &["New task  B !h", "“B”", "high priority", "enter add"],
            "sync" => &["Contact", "● live", "Server", "http://127.0.0.1:8750"],
            "palette" => &["What to do in a list", "Fill in a form for a new record", "enter do it"],
            "conflict" => &[
                "“Service the boiler” was changed here and by Ana's phone (13:02)",
                "Thu 24 Dec 2026",
                "✓ mine",
                "! choose",
                "t theirs",
            ],
            "conflict value" => &["Due on  2026-12-01", "enter take"],
            "columns" => &["Columns of this list", "◆ Status", "Recurrence"],
            "marks" => &["◆ 2 marked", "x done"],
            "bulk" => &["Change 2 tasks: each filled field is set in all of them"],
            "results" => &["1 task not changed", "✗ Evil", "title must be shorter"],
            _ => &["Hearth"],
        };
        assert_says(&text, words);
    }
}

#[test]
fn long_conflict_text_uses_free_lines() {
    let long = |name: &str| json!((1..=9).map(|line| format!("{name} line {line}")).collect::<Vec<_>>().join("\n"));
    let conflict = |height: u16| {
        let mut app = household();
        let mut conflict = ConflictScreen::of(1, Method::Update);
        let notes = Conflict { mine: long("my"), theirs: long("their"), base: json!("short"), ..clash("notes", "") };
        conflict.set_conflicts(vec![notes]);
        app.layers.push(Layer::Conflict(conflict));
        screen(&mut app, 80, height)
    };
    let tall = conflict(40);
    assert_says(&tall, &["my line 9", "their line 9", "my line 1…", "their line 1…"]);
    let usual = conflict(24);
    assert_says(&usual, &["Mine    my line 1", "Theirs  their line 1", "my line 5", "their line 5"]);
    let cut = usual.lines().filter(|line| line.starts_with("         ") && line.trim_end().ends_with('…')).count();
    assert_eq!(cut, 2, "{usual}");
}

#[test]
fn conflict_shows_deleted_on_the_deleting_side() {
    let deleted_there = Conflict { theirs: json!(null), theirs_at: None, ..clash("due_on", "") };
    for (method, field, mine, theirs) in [
        (Method::Delete, Conflict { mine: json!(null), ..clash("due_on", "2026-12-24") }, "deleted", "Thu 24 Dec 2026"),
        (Method::Update, deleted_there, "Tue 1 Dec 2026", "deleted"),
    ] {
        let mut app = household();
        let mut conflict = ConflictScreen::of(1, method);
        conflict.set_conflicts(vec![field]);
        app.layers.push(Layer::Conflict(conflict));
        let text = screen(&mut app, 80, 24);
        assert_says(&text, &[&format!("Mine    {mine}"), &format!("Theirs  {theirs}")]);
        let row = text.lines().find(|line| line.starts_with(" Due on")).unwrap();
        let at = |text: &str| row.find(text).unwrap_or_else(|| panic!("{text:?} is not in {row:?}"));
        assert!(at(mine) < at(theirs), "{row:?}");
    }
}

#[test]
fn cut_notes_end_in_a_mark() {
    let mut app = household();
    for (lines, is_cut) in [(3, false), (4, true)] {
        let notes = (1..=lines).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
        let row = record(Kind::Task, "a", json!({ "title": "Sweep", "notes": notes }));
        app.layers = vec![Layer::Form(Box::new(Form::edit(&row, app.today)))];
        let text = screen(&mut app, 80, 30);
        assert_eq!(text.contains("line 3…"), is_cut, "{text}");
        assert_says(&text, &["line 3"]);
    }
}

#[test]
fn form_shows_refusal_in_full() {
    let mut app = household();
    letter(&mut app, 'e');
    let Some(Layer::Form(form)) = app.layers.last_mut() else { panic!("no form") };
    let why = "Not saved: the disk that holds /home/ada/replica.db is full; next: df -h /home/ada, make room, \
               then: hearth-replica doctor";
    form.refuse(why.into());
    let flat = screen(&mut app, 80, 24).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&flat, &[why, "Title *"]);
    assert_says(&screen(&mut app, 50, 9), &["Not saved: the disk", "…", "Title *"]);
}

#[test]
fn home_cuts_no_title_beside_unused_space() {
    let mut app = household();
    letter(&mut app, '1');
    let title = "Book the embassy appointment soon";
    let due = vec![task("a", title, Some("2026-11-18")), task("b", "Mow", Some("2026-11-19"))];
    let overview = Overview { overdue: 2, due, expiring: Vec::new(), ..overview() };
    app.update(now(), Message::Answer(Answer::Overview(app.home.ticket, Ok(overview))));
    assert_says(&screen(&mut app, 80, 24), &[title]);
}

#[test]
fn home_counts_more_tasks_and_marks_days() {
    let mut app = household();
    letter(&mut app, '1');
    let mut many = overview();
    many.overdue = 1_301;
    many.due_days.push("2026-11-30".into());
    app.update(now(), Message::Answer(Answer::Overview(app.home.ticket, Ok(many))));
    let text = screen(&mut app, 120, 40);
    assert_says(&text, &["Overdue  1,301", "and 1,300 more", "30•"]);
}

#[test]
fn screens_draw_at_any_size() {
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
fn screens_contain_no_control_characters() {
    for (name, mut app) in every_screen() {
        let text = screen(&mut app, 80, 24);
        let bad = text.chars().find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
        assert_eq!(bad, None, "{name}:\n{text}");
    }
}

#[test]
fn ascii_setting_leaves_ascii_only() {
    for (name, mut app) in every_screen() {
        app.setup.ascii = true;
        let text = screen(&mut app, 120, 40);
        // U+FFFD stands for a removed control character and belongs to the data.
        let foreign: String = text.chars().filter(|c| !c.is_ascii() && *c != '\u{fffd}').collect();
        assert_eq!(foreign, "", "{name}:\n{text}");
    }
}

#[test]
fn empty_list_explains_itself() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    let effects = letter(&mut app, '2');
    give(&mut app, &effects, Vec::new());
    assert_says(&screen(&mut app, 80, 24), &["No tasks yet.", "Press n to make the first task."]);
    letter(&mut app, 'f');
    let effects = letter(&mut app, 'z');
    give(&mut app, &effects, Vec::new());
    assert_says(&screen(&mut app, 80, 24), &["No task matches “z”.", "Press esc"]);
}

#[test]
fn filter_has_priority_in_the_info_line() {
    let first = |app: &mut App, width: u16, height: u16| {
        let text = screen(app, width, height);
        text.lines().find(|line| line.contains("tasks") || line.contains("filter")).unwrap_or_default().to_owned()
    };
    let mut app = household();
    assert_eq!(first(&mut app, 40, 12), "   3 tasks  ·  by due day ↑");
    letter(&mut app, 'f');
    let mut typed = Vec::new();
    "status:open due<+9m long".chars().for_each(|sign| typed = letter(&mut app, sign));
    give(&mut app, &typed, rows());
    press(&mut app, KeyCode::Enter);
    letter(&mut app, ' ');
    for (width, shown) in [
        (200, "   ◆ 1 marked  ·  3 tasks  ·  cost 1,299  ·  by due day ↑  ·  filter status:open due<+9m long"),
        (80, "   ◆ 1 marked  ·  3 tasks  ·  by due day ↑  ·  filter status:open due<+9m long"),
        (70, "   ◆ 1 marked  ·  3 tasks  ·  filter status:open due<+9m long"),
        (60, "   ◆ 1 marked  ·  3 tasks  ·  filter status:open due<+9m l…"),
        (40, "   filter status:open due<+9m long"),
        (30, "   filter status:open due<+9…"),
    ] {
        assert!(first(&mut app, width, 20).starts_with(shown), "{:?}", first(&mut app, width, 20));
    }
}

#[test]
fn invalid_filter_shows_its_fault_in_full() {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (width, height) in [(80, 24), (50, 15), (120, 40)] {
        let mut app = household();
        "fstaus:done".chars().for_each(|sign| drop(letter(&mut app, sign)));
        press(&mut app, KeyCode::Enter);
        assert!(app.is_filtering, "enter would show everything");
        let text = flat(&screen(&mut app, width, height));
        assert_says(&text, &["there is no field staus; the nearest is status"]);
        press(&mut app, KeyCode::Esc);
        "fdue:someday".chars().for_each(|sign| drop(letter(&mut app, sign)));
        let text = flat(&screen(&mut app, width, height));
        assert_says(&text, &["someday is no day: try", "2026-12-01"]);
        press(&mut app, KeyCode::Esc);
        assert!(!app.is_filtering);
    }
}

#[test]
fn screens_match_snapshots() {
    let with_snapshot = [
        "home", "list", "detail", "form", "picker", "quick", "search", "edits", "conflict", "sync", "palette", "marks",
    ];
    for (name, mut app) in every_screen().into_iter().filter(|(name, _)| with_snapshot.contains(name)) {
        for (width, height) in [(80, 24), (120, 40), (50, 15)] {
            let text = screen(&mut app, width, height);
            insta::with_settings!({
                snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/screens"),
                prepend_module_to_snapshot => false,
                omit_expression => true,
            }, {
                insta::assert_snapshot!(format!("{name}-{width}x{height}"), text);
            });
        }
    }
}
