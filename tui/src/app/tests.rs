//! Tests of the application without a database: keys and answers in, state and effects out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{
    Choice, Edit, EditState, Hit, Method, Origin, Pending, Phase, RebuildReport, Row, RowPage, Status,
};
use serde_json::json;

use crate::app::{App, Edits, Layer, Setup};
use crate::fixtures::{conflict, live, now, record, room, task};
use crate::keys::{Action, BINDINGS, Context};
use crate::message::{Answer, Effect, Message, Write};
use crate::state::conflict::ConflictScreen;
use crate::state::detail::FullRecord;
use crate::state::form::Form;
use crate::state::input::Line;
use crate::state::list::MARKS_MAX;
use crate::state::session::Session;

mod concurrent_changes;
mod ended;
mod files;
mod import;
mod inbox;
mod journeys;
mod late;
mod lists;
mod many;
mod random_keys;
mod scene;
mod typed_ahead;
mod typing;

const ROOM: &str = "0190a3b0-0000-7000-8000-00000000abcd";

/// An application of 80 columns and 24 lines with these tasks.
fn with_tasks(rows: Vec<Row>) -> App {
    let (mut app, effects) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    assert!(matches!(effects.as_slice(), [Effect::Overview(..), Effect::Figures(_), Effect::Status, Effect::Counts]));
    let effects = press(&mut app, "2");
    assert!(matches!(effects.as_slice(), [Effect::Page(..), Effect::Totals(..), Effect::Status, Effect::Counts]));
    answer(&mut app, &effects, rows);
    app.update(now(), Message::Answer(Answer::Status(Ok(live()))));
    app
}

/// Answers the newest request for a page.
fn answer(app: &mut App, effects: &[Effect], rows: Vec<Row>) -> Vec<Effect> {
    let page = effects.iter().rev().find_map(|effect| match effect {
        Effect::Page(ticket, query) => Some((*ticket, query.clone())),
        _ => None,
    });
    let (ticket, query) = page.expect("a page was asked for");
    let page = Ok(RowPage { total: rows.len(), rows });
    app.update(now(), Message::Answer(Answer::Page { ticket, kind: query.kind, offset: query.offset, page }))
}

/// Presses a key, by its name in the table.
fn press(app: &mut App, name: &str) -> Vec<Effect> {
    let (modifiers, base) = match name.strip_prefix("ctrl-") {
        Some(base) => (KeyModifiers::CONTROL, base),
        None => (KeyModifiers::NONE, name),
    };
    let code = match base {
        "enter" => KeyCode::Enter,
        "esc" => KeyCode::Esc,
        "tab" => KeyCode::Tab,
        "down" => KeyCode::Down,
        "right" => KeyCode::Right,
        "space" => KeyCode::Char(' '),
        "backspace" => KeyCode::Backspace,
        letter => KeyCode::Char(letter.chars().next().unwrap()),
    };
    without_keeping(app.update(now(), Message::Key(KeyEvent::new(code, modifiers))))
}

/// The effects without the save of the session.
fn without_keeping(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::SaveSession(_))).collect()
}

/// Presses several keys and gives the effects of the last.
fn keys(app: &mut App, names: &[&str]) -> Vec<Effect> {
    names.iter().fold(Vec::new(), |_, name| press(app, name))
}

/// Types a text and gives the effects of the last letter.
fn write(app: &mut App, text: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for letter in text.chars() {
        let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
        effects = without_keeping(app.update(now(), Message::Key(key)));
    }
    effects
}

fn form(app: &App) -> &Form {
    match app.layers.last() {
        Some(Layer::Form(form)) => form,
        other => panic!("no form but {other:?}"),
    }
}

fn faults(app: &App) -> Vec<&str> {
    form(app).entries.iter().filter_map(|entry| entry.fault.as_deref()).collect()
}

fn selected(app: &App) -> &str {
    &app.list(app.tab).unwrap().current().unwrap().title
}

/// A rejected edit of the first of three tasks.
fn edit(method: Method) -> Edit {
    Edit {
        id: 1,
        kind: Kind::Task,
        record_id: "a".into(),
        method,
        patch: json!({ "title": "Bleed radiators" }).as_object().cloned().unwrap(),
        base: Default::default(),
        state: EditState::Rejected,
        reason: None,
        reason_code: None,
        attempts: 1,
        next_attempt_at: None,
        problem: None,
        origin: Origin::Tui,
        created_at: "2026-11-21T13:48:00.000Z".into(),
        title: "Bleed radiators".into(),
    }
}

fn three() -> Vec<Row> {
    vec![task("a", "Bleed radiators", None), task("b", "Clean gutters", None), task("c", "Descale kettle", None)]
}

#[test]
fn remote_change_keeps_selection() {
    let mut app = with_tasks(three());
    press(&mut app, "j");
    assert_eq!(selected(&app), "Clean gutters");
    let effects = app.update(now(), Message::DatabaseChanged);
    let mut more = vec![task("z", "Air the attic", None)];
    more.extend(three());
    answer(&mut app, &effects, more);
    assert_eq!(selected(&app), "Clean gutters");
}

#[test]
fn only_changes_by_others_are_news() {
    let mut app = with_tasks(three());
    let effects = app.update(now(), Message::DatabaseChanged);
    let mut rows = three();
    rows[1].rev = Some(813);
    answer(&mut app, &effects, rows.clone());
    assert_eq!(app.news.as_ref().unwrap().text, "Clean gutters");
    let list = app.list(Kind::Task).unwrap();
    assert!(list.is_news("b", now().moment) && !list.is_news("a", now().moment));
    assert!(!list.is_news("b", now().moment.plus_millis(60_000)));
    // An edit made on this device comes back confirmed.
    let mut app = with_tasks(three());
    for (pending, rev, own) in [(Pending::Waiting, 7, false), (Pending::No, 813, true)] {
        (rows[1].pending, rows[1].rev, rows[1].own) = (pending, Some(rev), own);
        let effects = app.update(now(), Message::DatabaseChanged);
        answer(&mut app, &effects, rows.clone());
    }
    assert_eq!(app.news, None);
}

#[test]
fn outdated_page_is_dropped() {
    let mut app = with_tasks(three());
    press(&mut app, "f");
    let old = write(&mut app, "k");
    let new = write(&mut app, "e");
    answer(&mut app, &new, vec![task("c", "Descale kettle", None)]);
    answer(&mut app, &old, three());
    assert_eq!(app.list(Kind::Task).unwrap().total, 1);
    let cleared = press(&mut app, "esc");
    assert!(matches!(&cleared[..], [Effect::Page(_, query), Effect::Totals(..)] if query.words.is_empty()));
    assert_eq!(app.context(), Context::List);
}

#[test]
fn done_key_toggles_status() {
    let mut app = with_tasks(three());
    let done = |status: &str| {
        let fields = json!({ "status": status }).as_object().cloned().unwrap();
        let (id, title) = ("a".to_owned(), "Bleed radiators".to_owned());
        Effect::Write(Write::Update { kind: Kind::Task, id, fields, seen: Default::default(), title, again: None })
    };
    let effects = press(&mut app, "x");
    assert_eq!(effects, [done("done")]);
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    app.update(now(), Message::Answer(Answer::Written(write, Ok("a".into()))));
    let finished = record(Kind::Task, "a", json!({ "title": "Bleed radiators", "status": "done" }));
    let effects = app.update(now(), Message::DatabaseChanged);
    answer(&mut app, &effects, vec![finished]);
    assert_eq!(press(&mut app, "x"), [done("open")]);
}

#[test]
fn done_task_leaves_cursor_on_next() {
    let mut app = with_tasks(three());
    let effects = press(&mut app, "x");
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    let effects = app.update(now(), Message::Answer(Answer::Written(write, Ok("a".into()))));
    let mut rows = three();
    rows.rotate_left(1);
    answer(&mut app, &effects, rows);
    assert_eq!(selected(&app), "Clean gutters");
}

#[test]
fn delete_asks_with_title() {
    let mut app = with_tasks(three());
    press(&mut app, "d");
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("no question") };
    assert_eq!(question.question, "Delete the task “Bleed radiators”?");
    // The key that opened the question does not confirm.
    assert_eq!(press(&mut app, "d"), []);
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "n");
    assert_eq!(app.context(), Context::List);
    let effects = keys(&mut app, &["d", "y"]);
    assert!(matches!(&effects[..], [Effect::Write(Write::Delete { id, .. })] if id == "a"));
}

#[test]
fn undo_without_edits_names_the_list_key() {
    let mut app = with_tasks(three());
    press(&mut app, "w");
    app.update(now(), Message::Answer(Answer::Edits(Ok(Default::default()))));
    assert_eq!(press(&mut app, "u"), []);
    assert_eq!(app.notice.as_ref().unwrap().text, "No change is waiting; u in a list undoes the last change.");
}

#[test]
fn discard_question_depends_on_method() {
    for (method, asked, follows) in [
        (Method::Create, "Discard the new task “Bleed radiators”?", "The record is removed"),
        (Method::Update, "Discard the change of “Bleed radiators”?", "the server's values"),
        (Method::Delete, "Discard the deletion of “Bleed radiators”?", "the server's values"),
    ] {
        let mut app = with_tasks(three());
        let mut edits = Edits::default();
        edits.set_edits(vec![edit(method)]);
        app.layers.push(Layer::Edits(edits));
        press(&mut app, "d");
        let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("nothing is asked") };
        assert_eq!(question.question, asked);
        assert!(question.consequence.contains(follows), "{}", question.consequence);
    }
}

#[test]
fn edit_in_conflict_opens_conflict_screen() {
    let mut app = with_tasks(three());
    let mut edits = Edits::default();
    edits.set_edits(vec![Edit { state: EditState::Conflict, ..edit(Method::Update) }]);
    app.layers.push(Layer::Edits(edits));
    assert!(!app.applies(Context::Edits, Action::Edit));
    press(&mut app, "e");
    assert_eq!(app.context(), Context::Conflict);
}

#[test]
fn copy_list_omits_itself() {
    let mut app = with_tasks(three());
    let listed = |app: &App| match app.layers.last() {
        Some(Layer::Palette(palette)) => palette.found.iter().any(|at| BINDINGS[*at].action == Action::PaletteCopy),
        other => panic!("no list but {other:?}"),
    };
    press(&mut app, "y");
    assert!(!listed(&app));
    let effects = press(&mut app, "enter");
    assert!(matches!(effects[..], [Effect::Copy(_)]), "{effects:?}");
    keys(&mut app, &["?"]);
    assert!(listed(&app));
}

#[test]
fn sync_now_while_paused_names_resume_key() {
    let mut app = with_tasks(three());
    let paused = Status { phase: Phase::Paused, ..live() };
    app.update(now(), Message::Answer(Answer::Status(Ok(paused))));
    assert_eq!(keys(&mut app, &["S", "r"]), []);
    assert_eq!(app.notice.as_ref().unwrap().text, "Syncing is paused; p resumes it.");
}

#[test]
fn search_opens_hit_and_returns() {
    let mut app = with_tasks(three());
    press(&mut app, "/");
    let effects = write(&mut app, "q");
    let [Effect::Search(ticket, words)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(words, "q", "q is a letter here");
    let hit = Hit { kind: Kind::Room, id: "r".into(), title: "Quiet room".into(), snippet: "**Quiet** room".into() };
    app.update(now(), Message::Answer(Answer::Hits { ticket: *ticket, hits: Ok(vec![hit]) }));
    let effects = press(&mut app, "enter");
    let Effect::Record(ticket, Kind::Room, id) = &effects[0] else { panic!("{effects:?}") };
    assert_eq!(id, "r");
    let full = Ok(Some(FullRecord {
        row: room("r", "Quiet room"),
        related: Vec::new(),
        changes: Vec::new(),
        names: Default::default(),
    }));
    app.update(now(), Message::Answer(Answer::Record { ticket: *ticket, kind: Kind::Room, full }));
    assert_eq!(app.shown_kind(), Some(Kind::Room));
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Search);
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::List);
}

#[test]
fn q_quits_in_list_and_types_in_filter() {
    let mut app = with_tasks(three());
    keys(&mut app, &["f"]);
    assert!(!write(&mut app, "q").contains(&Effect::Quit));
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit]);
    press(&mut app, "esc");
    assert_eq!(press(&mut app, "q"), [Effect::Quit]);
}

#[test]
fn status_is_requested_every_five_seconds() {
    let mut app = with_tasks(three());
    let asked = |app: &mut App, millis: i64| {
        let mut later = now();
        later.moment = later.moment.plus_millis(millis);
        app.update(later, Message::Tick).contains(&Effect::Status)
    };
    let looks = (1..=60).filter(|second| asked(&mut app, second * 1_000)).count();
    assert_eq!(looks, 12);
}

#[test]
fn notice_expires() {
    let mut app = with_tasks(three());
    app.update(now(), Message::SyncEnded { reason: "the disk is full".into(), will_retry: true });
    assert!(app.notice.is_some());
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    assert!(app.notice.is_none());
}

#[test]
fn rebuilt_database_is_reopened_before_reads() {
    let mut app = with_tasks(three());
    let rescue = RebuildReport { edits: 2, ..RebuildReport::default() };
    let effects = app.update(now(), Message::Rebuilt(rescue));
    assert!(matches!(&effects[..], [Effect::Reopen, Effect::Page(..), ..]), "{effects:?}");
    let sentence = "The database was damaged and is downloaded again from the server: the 2 waiting edits are kept.";
    assert_eq!(app.notice.as_ref().unwrap().text, sentence);
}

#[test]
fn random_keys_without_replica_never_panic() {
    let names: Vec<String> = crate::keys::BINDINGS.iter().flat_map(|b| b.keys).map(|key| (*key).to_owned()).collect();
    let actions: Vec<_> = crate::keys::BINDINGS.iter().map(|binding| binding.action).collect();
    let mut app = with_tasks(three());
    // Suspending and quitting have no effect here: the main loop carries them out. A linear congruence gives the same
    // keys each time.
    let mut seed: u32 = 7;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let name = &names[seed as usize / 7 % names.len()];
        let effects = match name.as_str() {
            "pagedown" | "pageup" | "home" | "end" | "left" | "up" | "delete" | "f1" | "shift-tab" => {
                let code = match name.as_str() {
                    "pagedown" => KeyCode::PageDown,
                    "pageup" => KeyCode::PageUp,
                    "home" => KeyCode::Home,
                    "end" => KeyCode::End,
                    "left" => KeyCode::Left,
                    "up" => KeyCode::Up,
                    "delete" => KeyCode::Delete,
                    "f1" => KeyCode::F(1),
                    _ => KeyCode::BackTab,
                };
                app.update(now(), Message::Key(KeyEvent::new(code, KeyModifiers::NONE)))
            }
            // Actions without a key run as in the list of actions, where offered.
            "ctrl-z" => {
                let action = actions[seed as usize / 11 % actions.len()];
                let context = app.context();
                let offered = crate::keys::in_context(context).any(|(_, b)| b.action == action);
                if offered && app.applies(context, action) { app.act(now(), context, action) } else { Vec::new() }
            }
            name => press(&mut app, name),
        };
        if effects.iter().any(|effect| matches!(effect, Effect::Page(..))) {
            answer(&mut app, &effects, three());
        }
        // This test sends no other answers: waiting keys are handled after the wait.
        let mut later = now();
        later.moment = later.moment.plus_millis(600);
        app.update(later, Message::Tick);
    }
}
