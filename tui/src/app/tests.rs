//! Evenings with the application, lived through in a millisecond: keys and answers in, state and effects out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use hearth_replica::{Edit, Hit, Pending, Rescue, Row, RowPage};
use serde_json::json;

use crate::app::{App, Edits, Layer, Setup};
use crate::conflict::ConflictScreen;
use crate::detail::Full;
use crate::fixtures::{live, now, record, room, task};
use crate::form::Form;
use crate::input::Line;
use crate::keys::Context;
use crate::list::MARKS_MAX;
use crate::message::{Answer, Effect, Message, Write};
use crate::session::Session;

const ROOM: &str = "0190a3b0-0000-7000-8000-00000000abcd";

/// An application of 80 columns and 24 lines that shows these tasks.
fn with_tasks(rows: Vec<Row>) -> App {
    let (mut app, effects) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    assert!(matches!(effects.as_slice(), [Effect::Overview(..), Effect::Figures(_), Effect::Status, Effect::Counts]));
    let effects = press(&mut app, "2");
    assert!(matches!(effects.as_slice(), [Effect::Page(..), Effect::Totals(..), Effect::Status, Effect::Counts]));
    answer(&mut app, &effects, rows);
    app.update(now(), Message::Answer(Answer::Status(Ok(live()))));
    app
}

/// Answers the newest page that was asked for.
fn answer(app: &mut App, effects: &[Effect], rows: Vec<Row>) -> Vec<Effect> {
    let page = effects.iter().rev().find_map(|effect| match effect {
        Effect::Page(ticket, query) => Some((*ticket, query.clone())),
        _ => None,
    });
    let (ticket, query) = page.expect("a page was asked for");
    let page = Ok(RowPage { total: rows.len(), rows });
    app.update(now(), Message::Answer(Answer::Page { ticket, kind: query.kind, offset: query.offset, page }))
}

/// Presses one key, by the name the table has for it.
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

/// The effects that a test is about; the session is kept beside them.
fn without_keeping(effects: Vec<Effect>) -> Vec<Effect> {
    effects.into_iter().filter(|effect| !matches!(effect, Effect::Keep(_))).collect()
}

/// Presses several keys and gives the effects of the last.
fn keys(app: &mut App, names: &[&str]) -> Vec<Effect> {
    names.iter().fold(Vec::new(), |_, name| press(app, name))
}

/// Types a text and gives the effects of its last letter.
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

/// An edit of the first of three tasks that the server has refused.
fn edit(method: &str) -> Edit {
    Edit {
        id: 1,
        kind: Kind::Task,
        record_id: "a".into(),
        method: method.into(),
        patch: json!({ "title": "Bleed radiators" }).as_object().cloned().unwrap(),
        base: Default::default(),
        state: "rejected".into(),
        reason: None,
        attempts: 1,
        next_attempt_at: None,
        problem: None,
        origin: "tui".into(),
        created_at: "2026-11-21T13:48:00.000Z".into(),
        title: "Bleed radiators".into(),
    }
}

fn three() -> Vec<Row> {
    vec![task("a", "Bleed radiators", None), task("b", "Clean gutters", None), task("c", "Descale kettle", None)]
}

#[test]
fn a_change_that_arrives_keeps_the_selection_on_its_record() {
    let mut app = with_tasks(three());
    press(&mut app, "j");
    assert_eq!(selected(&app), "Clean gutters");
    let effects = app.update(now(), Message::Stale);
    let mut more = vec![task("z", "Air the attic", None)];
    more.extend(three());
    answer(&mut app, &effects, more);
    assert_eq!(selected(&app), "Clean gutters");
}

#[test]
fn what_others_change_is_news_for_a_while_and_ones_own_is_not() {
    let mut app = with_tasks(three());
    let effects = app.update(now(), Message::Stale);
    let mut rows = three();
    rows[1].rev = Some(813);
    answer(&mut app, &effects, rows.clone());
    assert_eq!(app.news.as_ref().unwrap().text, "Clean gutters");
    let list = app.list(Kind::Task).unwrap();
    assert!(list.is_news("b", now().moment) && !list.is_news("a", now().moment));
    assert!(!list.is_news("b", now().moment.plus_millis(60_000)));
    // An edit made here comes back confirmed.
    let mut app = with_tasks(three());
    for (pending, rev, own) in [(Pending::Waiting, 7, false), (Pending::No, 813, true)] {
        (rows[1].pending, rows[1].rev, rows[1].own) = (pending, Some(rev), own);
        let effects = app.update(now(), Message::Stale);
        answer(&mut app, &effects, rows.clone());
    }
    assert_eq!(app.news, None);
}

#[test]
fn an_answer_that_came_too_late_is_dropped() {
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
fn a_task_is_done_with_one_key_and_opened_again_with_it() {
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
    let effects = app.update(now(), Message::Stale);
    answer(&mut app, &effects, vec![finished]);
    assert_eq!(press(&mut app, "x"), [done("open")]);
}

#[test]
fn what_is_done_moves_away_and_the_next_comes_under_the_cursor() {
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
fn deleting_asks_first_and_names_the_thing() {
    let mut app = with_tasks(three());
    press(&mut app, "d");
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("no question") };
    assert_eq!(question.question, "Delete the task “Bleed radiators”?");
    // The key that asked does not confirm.
    assert_eq!(press(&mut app, "d"), []);
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "n");
    assert_eq!(app.context(), Context::List);
    let effects = keys(&mut app, &["d", "y"]);
    assert!(matches!(&effects[..], [Effect::Write(Write::Delete { id, .. })] if id == "a"));
}

#[test]
fn deleting_many_names_some_and_says_how_many_are_not_in_sight() {
    let question = |app: &App| match app.layers.last() {
        Some(Layer::Confirm(question)) => (question.question.clone(), question.consequence.clone()),
        other => panic!("no question but {other:?}"),
    };
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "d"]);
    let (asked, follows) = question(&app);
    assert_eq!(asked, "Delete 2 tasks? “Bleed radiators”, “Clean gutters”");
    assert_eq!(follows, "Undo makes them anew.");
    // A filter hides what was marked.
    keys(&mut app, &["n", "f"]);
    let effects = write(&mut app, "clean");
    answer(&mut app, &effects, vec![task("b", "Clean gutters", None)]);
    keys(&mut app, &["enter", "d"]);
    assert_eq!(question(&app).0, "Delete 2 tasks, 1 of them not in sight? “Bleed radiators”, “Clean gutters”");
}

#[test]
fn what_is_done_or_changed_out_of_sight_is_counted_first() {
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "f"]);
    let effects = write(&mut app, "clean");
    answer(&mut app, &effects, vec![task("b", "Clean gutters", None)]);
    keys(&mut app, &["enter", "e"]);
    let Some(Layer::Form(form)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(form.title, "2 tasks (1 not in sight)");
    assert_eq!(keys(&mut app, &["esc", "x"]), []);
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(question.question, "Mark 2 tasks as done, 1 of them not in sight? “Bleed radiators”, “Clean gutters”");
    let effects = press(&mut app, "y");
    assert!(matches!(&effects[..], [Effect::Write(Write::Many { records, .. })] if records.len() == 2), "{effects:?}");
}

#[test]
fn of_records_with_the_same_title_only_what_was_not_done_stays_marked() {
    let rows = vec![task("a", "Sweep", None), task("b", "Sweep", None), task("c", "Sweep", None)];
    let mut app = with_tasks(rows);
    let effects = keys(&mut app, &["space", "space", "space", "x"]);
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    let each = [Ok(()), Err("it is gone".to_owned()), Ok(())].map(|result| ("Sweep".to_owned(), result)).into();
    app.update(now(), Message::Answer(Answer::ManyWritten(write, each)));
    let marks: Vec<&String> = app.list(Kind::Task).unwrap().marks.keys().collect();
    assert_eq!(marks, ["b"]);
}

#[test]
fn how_far_a_long_change_is_takes_the_place_of_what_was_said_before_it() {
    let mut app = with_tasks(three());
    let done = Answer::Decided(Write::Undo, Ok("undone: 6,053 tasks".to_owned()));
    let said = |app: &App| app.notice.as_ref().map(|notice| notice.text.clone());
    for (answer, expected) in [
        (Answer::UnderWay("Undoing", 2_500, 6_053), Some("Undoing: 2,500 of 6,053")),
        (done, Some("Undone: 6,053 tasks")),
        (Answer::UnderWay("Deleting", 1, 2), Some("Deleting: 1 of 2")),
    ] {
        app.update(now(), Message::Answer(answer));
        assert_eq!(said(&app).as_deref(), expected);
    }
    let write = Write::Many { kind: Kind::Task, records: vec![("a".into(), "Sweep".into())], change: None };
    let refused = vec![("Sweep".to_owned(), Err("it is gone".to_owned()))];
    app.update(now(), Message::Answer(Answer::ManyWritten(write, refused)));
    assert_eq!(said(&app), None, "what became of it is listed");
}

#[test]
fn a_form_for_many_keeps_what_was_typed_where_nothing_could_be_changed() {
    let form = |app: &App| {
        app.layers.iter().find_map(|layer| match layer {
            Layer::Form(form) => Some((form.is_changed(), form.saving, form.refusal.clone())),
            _ => None,
        })
    };
    for (second, expected) in [
        (Err("the disk is full".to_owned()), Some((true, false, Some("Not saved: the disk is full".to_owned())))),
        (Ok(()), None),
    ] {
        let mut app = with_tasks(three());
        keys(&mut app, &["space", "space", "e"]);
        write(&mut app, "Sweep");
        let effects = press(&mut app, "ctrl-s");
        let [Effect::Write(change)] = &effects[..] else { panic!("{effects:?}") };
        let each = [Err("the disk is full".to_owned()), second].map(|result| ("Sweep".to_owned(), result)).into();
        app.update(now(), Message::Answer(Answer::ManyWritten(change.clone(), each)));
        assert!(matches!(app.layers.last(), Some(Layer::Results(_))));
        assert_eq!(form(&app), expected);
    }
}

#[test]
fn undoing_where_no_change_waits_says_where_it_is_done() {
    let mut app = with_tasks(three());
    press(&mut app, "w");
    app.update(now(), Message::Answer(Answer::Edits(Ok(Default::default()))));
    assert_eq!(press(&mut app, "u"), []);
    assert_eq!(app.notice.as_ref().unwrap().text, "No change waits here; u in a list undoes the last one.");
}

#[test]
fn marking_all_says_where_it_stops() {
    let mut app = with_tasks(three());
    app.list_mut().unwrap().total = 12_345;
    press(&mut app, "*");
    let all = (0..MARKS_MAX).map(|number| (number.to_string(), format!("Task {number}"))).collect();
    app.update(now(), Message::Answer(Answer::All(Kind::Task, Ok(all))));
    let said = "Only the first 10,000 tasks are marked; 2,345 more are not.";
    assert_eq!(app.notice.as_ref().unwrap().text, said);
    press(&mut app, "d");
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("{:?}", app.layers) };
    let [asked, named] = ["Delete 10,000 tasks, none of them in sight? ", " and 9,997 more"];
    assert!(question.question.starts_with(asked) && question.question.ends_with(named), "{}", question.question);
}

#[test]
fn marking_all_drops_the_marks_only_where_all_are_marked() {
    let mut app = with_tasks(three());
    let marks = |app: &App| app.list(Kind::Task).unwrap().marks.len();
    press(&mut app, "space");
    assert_eq!(marks(&app), 1);
    for expected in [3, 0, 3] {
        let effects = press(&mut app, "*");
        assert!(matches!(effects[..], [Effect::All(_)]), "{effects:?}");
        let all = three().into_iter().map(|row| (row.id, row.title)).collect();
        app.update(now(), Message::Answer(Answer::All(Kind::Task, Ok(all))));
        assert_eq!(marks(&app), expected);
    }
}

#[test]
fn what_was_typed_in_a_conflict_is_not_left_without_a_question() {
    let mut app = with_tasks(three());
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit], "nothing would be lost");
    let mut screen = ConflictScreen::of(4, "update");
    screen.typing = Some(Line::holding("Clean the gutters"));
    app.layers.push(Layer::Conflict(screen));
    assert_eq!(press(&mut app, "ctrl-c"), []);
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "n");
    assert_eq!(app.context(), Context::ConflictValue);
    assert_eq!(keys(&mut app, &["ctrl-c", "y"]), [Effect::Quit]);
    assert_eq!(keys(&mut app, &["ctrl-c", "ctrl-c"]), [Effect::Quit], "whoever insists is let go");
}

#[test]
fn a_form_that_no_draft_keeps_is_not_left_without_a_question() {
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "e"]);
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit], "nothing was typed");
    write(&mut app, "Alike");
    assert_eq!(press(&mut app, "ctrl-c"), []);
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("nothing is asked") };
    assert_eq!(question.question, "Leave Hearth in the middle of a form?");
    assert_eq!(press(&mut app, "y"), [Effect::Quit]);

    let mut app = with_tasks(three());
    app.layers.push(Layer::Form(Box::new(Form::of_edit(&edit("update"), &Default::default(), app.today))));
    write(&mut app, "!");
    assert_eq!(press(&mut app, "ctrl-c"), []);
    assert_eq!(app.context(), Context::Confirm);
    // A form that is there again next time is left at once.
    let mut app = with_tasks(three());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit]);
}

#[test]
fn giving_up_what_was_made_here_says_that_it_goes() {
    for (method, asked, follows) in [
        ("create", "Give the new task “Bleed radiators” up?", "The record goes from here"),
        ("update", "Give the change of “Bleed radiators” up?", "as the server has it"),
        ("delete", "Give the deletion of “Bleed radiators” up?", "as the server has it"),
    ] {
        let mut app = with_tasks(three());
        let mut edits = Edits::default();
        edits.take(vec![edit(method)]);
        app.layers.push(Layer::Edits(edits));
        press(&mut app, "d");
        let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("nothing is asked") };
        assert_eq!(question.question, asked);
        assert!(question.consequence.contains(follows), "{}", question.consequence);
    }
}

#[test]
fn what_quick_add_did_not_understand_is_in_the_form_as_it_was_typed() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    write(&mut app, "Fix tap due:31.2. !high @nosuchplac");
    let effects = write(&mut app, "e");
    let [Effect::About(ticket, _)] = &effects[..] else { panic!("{effects:?}") };
    app.update(now(), Message::Answer(Answer::About(*ticket, None)));
    write(&mut app, " every:fortnight");
    press(&mut app, "tab");
    let draft = form(&app).draft().unwrap();
    assert_eq!(draft.typed["title"], "Fix tap due:31.2. every:fortnight @nosuchplace");
    assert_eq!(draft.typed["priority"], "high");
    // What it is about is understood once it is found.
    let mut app = with_tasks(three());
    press(&mut app, "a");
    let effects = write(&mut app, "Fix tap @gar");
    let [Effect::About(ticket, _)] = &effects[..] else { panic!("{effects:?}") };
    let garage = Some((Kind::Room, ROOM.to_owned(), "Garage".to_owned()));
    app.update(now(), Message::Answer(Answer::About(*ticket, garage)));
    press(&mut app, "tab");
    assert_eq!(form(&app).draft().unwrap().typed["title"], "Fix tap");
}

#[test]
fn a_form_shows_faults_on_leaving_a_field_and_all_on_saving() {
    let mut app = with_tasks(three());
    press(&mut app, "n");
    press(&mut app, "tab");
    assert_eq!(faults(&app), ["title is required."]);
    press(&mut app, "tab");
    press(&mut app, "tab");
    press(&mut app, "tab");
    write(&mut app, "someday");
    assert_eq!(press(&mut app, "ctrl-s"), []);
    assert_eq!(faults(&app), ["title is required.", "someday is no day: try tomorrow, fri, +2w, 1 dec or 2026-12-01"]);
    assert_eq!(form(&app).focus, 0, "the first faulty field has the keyboard");
    write(&mut app, "Buy filter");
    assert_eq!(faults(&app), ["someday is no day: try tomorrow, fri, +2w, 1 dec or 2026-12-01"]);
}

#[test]
fn a_new_record_is_sent_with_what_was_filled_in_and_closes_when_it_is_kept() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    keys(&mut app, &["tab", "h"]);
    let effects = press(&mut app, "ctrl-s");
    let [Effect::Write(write)] = &effects[..] else { panic!("{effects:?}") };
    let fields = json!({ "title": "Buy filter", "priority": "high", "status": "open" });
    assert_eq!(*write, Write::Create { kind: Kind::Task, fields: fields.as_object().cloned().unwrap() });
    assert_eq!(press(&mut app, "ctrl-s"), [], "saving twice makes one record");
    let effects = app.update(now(), Message::Answer(Answer::Written(write.clone(), Ok("new".into()))));
    assert_eq!(app.context(), Context::List);
    answer(&mut app, &effects, vec![task("a", "Bleed radiators", None), task("new", "Buy filter", None)]);
    assert_eq!(selected(&app), "Buy filter");
    assert_eq!(app.notice.as_ref().unwrap().text, "New task: Buy filter");
}

#[test]
fn a_refusal_stays_on_the_form_with_everything_typed() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    let effects = press(&mut app, "ctrl-s");
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    app.update(now(), Message::Answer(Answer::Written(write, Err("title must be shorter".into()))));
    assert_eq!(form(&app).refusal.as_deref(), Some("title must be shorter"));
    assert!(form(&app).is_changed());
    // Leaving asks, because something would be lost.
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "y");
    assert_eq!(app.context(), Context::List);
}

#[test]
fn an_edit_sends_only_what_differs() {
    let mut app = with_tasks(three());
    press(&mut app, "e");
    write(&mut app, "!");
    let effects = press(&mut app, "ctrl-s");
    let [Effect::Write(Write::Update { fields, .. })] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(serde_json::Value::Object(fields.clone()), json!({ "title": "Bleed radiators!" }));
    let mut app = with_tasks(three());
    keys(&mut app, &["e", "ctrl-s"]);
    assert_eq!(app.context(), Context::List, "nothing changed: nothing to save");
}

#[test]
fn a_subject_is_chosen_by_type_and_part_of_its_name() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Change filter");
    let place = |app: &App, name: &str| form(app).entries.iter().position(|e| e.field.name == name).unwrap();
    let subject_type = place(&app, "subject_type");
    while form(&app).focus != subject_type {
        press(&mut app, "tab");
    }
    write(&mut app, "r");
    press(&mut app, "tab");
    let effects = write(&mut app, "ga");
    let [Effect::Titles(ticket, kinds, words)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((kinds.as_slice(), words.as_str(), app.context()), (&[Kind::Room] as &[Kind], "ga", Context::Options));
    let named = |id: &str, name: &str| (Kind::Room, id.to_owned(), name.to_owned());
    let titles = Ok(vec![named("1", "Garage"), named(ROOM, "Garden room")]);
    app.update(now(), Message::Answer(Answer::Titles { ticket: *ticket, titles }));
    keys(&mut app, &["down", "enter"]);
    let effects = press(&mut app, "ctrl-s");
    let [Effect::Write(Write::Create { fields, .. })] = &effects[..] else { panic!("{effects:?} {:?}", faults(&app)) };
    assert_eq!((&fields["subject_type"], &fields["subject_id"]), (&json!("room"), &json!(ROOM)));
}

#[test]
fn another_type_of_subject_forgets_the_subject_and_says_what_is_missing() {
    let row = record(Kind::Task, "a", json!({ "title": "a", "subject_type": "room", "subject_id": ROOM }));
    let mut app = with_tasks(vec![row]);
    press(&mut app, "e");
    while form(&app).entries[form(&app).focus].field.name != "subject_type" {
        press(&mut app, "tab");
    }
    write(&mut app, "v");
    press(&mut app, "ctrl-s");
    assert_eq!(faults(&app), ["Choose what it is about."]);
}

#[test]
fn search_opens_what_it_found_and_comes_back_to_it() {
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
    let full = Ok(Some(Full {
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
fn quitting_is_a_key_in_lists_and_a_letter_in_lines() {
    let mut app = with_tasks(three());
    keys(&mut app, &["f"]);
    assert!(!write(&mut app, "q").contains(&Effect::Quit));
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit]);
    press(&mut app, "esc");
    assert_eq!(press(&mut app, "q"), [Effect::Quit]);
}

#[test]
fn a_notice_goes_away_by_itself() {
    let mut app = with_tasks(three());
    app.update(now(), Message::SyncEnded { reason: "the disk is full".into(), again: true });
    assert!(app.notice.is_some());
    let mut later = now();
    later.moment = later.moment.plus_millis(60_000);
    app.update(later, Message::Tick);
    assert!(app.notice.is_none());
}

#[test]
fn a_database_that_was_made_anew_is_opened_again_before_it_is_read() {
    let mut app = with_tasks(three());
    let rescue = Rescue { edits: 2, ..Rescue::default() };
    let effects = app.update(now(), Message::Rebuilt(rescue));
    assert!(matches!(&effects[..], [Effect::Reopen, Effect::Page(..), ..]), "{effects:?}");
    let said = "The database was damaged and is read anew from the server: the 2 changes that waited go on.";
    assert_eq!(app.notice.as_ref().unwrap().text, said);
}

#[test]
fn no_sequence_of_keys_panics() {
    let names: Vec<String> = crate::keys::BINDINGS.iter().flat_map(|b| b.keys).map(|key| (*key).to_owned()).collect();
    let actions: Vec<_> = crate::keys::BINDINGS.iter().map(|binding| binding.action).collect();
    let mut app = with_tasks(three());
    // Going to the shell and leaving is no end here: the loop outside would do both.
    // A plain linear congruence is chance enough, and the same one every time.
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
            // What has no key is run as the list of actions runs it, where it would be offered.
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
        // Other answers never come here, and what waits for them is handled without.
        let mut later = now();
        later.moment = later.moment.plus_millis(600);
        app.update(later, Message::Tick);
    }
}
