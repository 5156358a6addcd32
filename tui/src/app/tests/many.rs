//! Marks and bulk changes: questions, counts, progress, results.

use hearth_replica::{Method, RowQuery};

use super::*;

/// The query of the whole task list.
fn whole(app: &App) -> RowQuery {
    app.list(Kind::Task).unwrap().whole_query()
}

#[test]
fn bulk_delete_names_titles_and_invisible() {
    let question = |app: &App| match app.layers.last() {
        Some(Layer::Confirm(question)) => (question.question.clone(), question.consequence.clone()),
        other => panic!("no question but {other:?}"),
    };
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "d"]);
    let (asked, follows) = question(&app);
    assert_eq!(asked, "Delete 2 tasks? “Bleed radiators”, “Clean gutters”");
    assert_eq!(follows, "Undo recreates them.");
    // A filter hides a marked task.
    keys(&mut app, &["n", "f"]);
    let effects = write(&mut app, "clean");
    answer(&mut app, &effects, vec![task("b", "Clean gutters", None)]);
    keys(&mut app, &["enter", "d"]);
    assert_eq!(question(&app).0, "Delete 2 tasks, 1 of them not visible? “Bleed radiators”, “Clean gutters”");
}

#[test]
fn bulk_change_counts_invisible_records() {
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "f"]);
    let effects = write(&mut app, "clean");
    answer(&mut app, &effects, vec![task("b", "Clean gutters", None)]);
    keys(&mut app, &["enter", "e"]);
    let Some(Layer::Form(form)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(form.title, "2 tasks (1 not visible)");
    assert_eq!(keys(&mut app, &["esc", "x"]), []);
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(question.question, "Mark 2 tasks as done, 1 of them not visible? “Bleed radiators”, “Clean gutters”");
    let effects = press(&mut app, "y");
    assert!(matches!(&effects[..], [Effect::Write(Write::Many { records, .. })] if records.len() == 2), "{effects:?}");
}

#[test]
fn failed_record_stays_marked_by_id() {
    let rows = vec![task("a", "Sweep", None), task("b", "Sweep", None), task("c", "Sweep", None)];
    let mut app = with_tasks(rows);
    let effects = keys(&mut app, &["space", "space", "space", "x"]);
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    let each = [Ok(true), Err("it is gone".to_owned()), Ok(true)].map(|result| ("Sweep".to_owned(), result)).into();
    app.update(now(), Message::Answer(Answer::ManyWritten(write, each)));
    let marks: Vec<&String> = app.list(Kind::Task).unwrap().marks.keys().collect();
    assert_eq!(marks, ["b"]);
}

#[test]
fn unchanged_records_are_counted_apart() {
    for (did, expected) in [
        ([true, true], "Done: 2 tasks"),
        ([true, false], "Done: 1 task; 1 needed no change"),
        ([false, false], "Nothing to change in 2 tasks"),
    ] {
        let mut app = with_tasks(three());
        let effects = keys(&mut app, &["space", "space", "x"]);
        let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
        let each = did.map(|did| ("Sweep".to_owned(), Ok(did))).into();
        app.update(now(), Message::Answer(Answer::ManyWritten(write, each)));
        assert_eq!(app.notice.as_ref().map(|notice| notice.text.as_str()), Some(expected));
    }
}

#[test]
fn progress_replaces_notice() {
    let mut app = with_tasks(three());
    let done = Answer::Decided(Write::Undo, Ok("undone: 6,053 tasks".to_owned()));
    let sentence = |app: &App| app.notice.as_ref().map(|notice| notice.text.clone());
    for (answer, expected) in [
        (Answer::Progress("Undoing", 2_500, 6_053), Some("Undoing: 2,500 of 6,053")),
        (done, Some("Undone: 6,053 tasks")),
        (Answer::Progress("Deleting", 1, 2), Some("Deleting: 1 of 2")),
    ] {
        app.update(now(), Message::Answer(answer));
        assert_eq!(sentence(&app).as_deref(), expected);
    }
    let write = Write::Many { kind: Kind::Task, records: vec![("a".into(), "Sweep".into())], change: None };
    let refused = vec![("Sweep".to_owned(), Err("it is gone".to_owned()))];
    app.update(now(), Message::Answer(Answer::ManyWritten(write, refused)));
    assert_eq!(sentence(&app), None, "what became of it is listed");
}

#[test]
fn bulk_form_stays_when_all_fail() {
    let form = |app: &App| {
        app.layers.iter().find_map(|layer| match layer {
            Layer::Form(form) => Some((form.is_changed(), form.saving.is_some(), form.refusal.clone())),
            _ => None,
        })
    };
    for (second, expected) in [
        (Err("the disk is full".to_owned()), Some((true, false, Some("Not saved: the disk is full".to_owned())))),
        (Ok(true), None),
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
fn mark_all_reports_limit() {
    let mut app = with_tasks(three());
    app.list_mut().unwrap().total = 12_345;
    press(&mut app, "*");
    let all = (0..MARKS_MAX).map(|number| (number.to_string(), format!("Task {number}"))).collect();
    let query = whole(&app);
    app.update(now(), Message::Answer(Answer::All(query, Ok(all))));
    let sentence = "Only the first 10,000 tasks are marked; 2,345 more are not.";
    assert_eq!(app.notice.as_ref().unwrap().text, sentence);
    press(&mut app, "d");
    let Some(Layer::Confirm(question)) = app.layers.last() else { panic!("{:?}", app.layers) };
    let [asked, named] = ["Delete 10,000 tasks, none of them visible? ", " and 9,997 more"];
    assert!(question.question.starts_with(asked) && question.question.ends_with(named), "{}", question.question);
}

#[test]
fn mark_all_toggles_only_full_marks() {
    let mut app = with_tasks(three());
    let marks = |app: &App| app.list(Kind::Task).unwrap().marks.len();
    press(&mut app, "space");
    assert_eq!(marks(&app), 1);
    for expected in [3, 0, 3] {
        let effects = press(&mut app, "*");
        assert!(matches!(effects[..], [Effect::All(_)]), "{effects:?}");
        let all = three().into_iter().map(|row| (row.id, row.title)).collect();
        let query = whole(&app);
        app.update(now(), Message::Answer(Answer::All(query, Ok(all))));
        assert_eq!(marks(&app), expected);
    }
}

#[test]
fn mark_all_counts_removed_marks() {
    let marks = |app: &App| app.list(Kind::Task).unwrap().marks.len();
    let marks_all = |app: &mut App, all: Vec<String>| {
        press(app, "*");
        let all = all.into_iter().map(|id| (id.clone(), id)).collect();
        let query = whole(app);
        app.update(now(), Message::Answer(Answer::All(query, Ok(all))));
        app.notice.as_ref().map(|notice| notice.text.clone())
    };
    let tasks = |number: usize| (0..number).map(|number| number.to_string());
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space"]);
    assert_eq!((marks_all(&mut app, Vec::new()), marks(&app)), (None, 2));
    // Records that are marked already need no more room.
    let both = || ["a", "b"].map(str::to_owned).into_iter();
    assert_eq!((marks_all(&mut app, both().chain(tasks(MARKS_MAX - 2)).collect()), marks(&app)), (None, MARKS_MAX));
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space"]);
    let sentence = "2 marks outside this list are removed: at most 10,000 records can be marked.";
    assert_eq!(marks_all(&mut app, tasks(MARKS_MAX - 1).collect()).as_deref(), Some(sentence));
    assert_eq!(marks(&app), MARKS_MAX - 1);
}

#[test]
fn results_wait_until_typing_ends() {
    let refused = || {
        let write = Write::Many { kind: Kind::Task, records: vec![("a".into(), "Sweep".into())], change: None };
        Message::Answer(Answer::ManyWritten(write, vec![("Sweep".to_owned(), Err("it is gone".to_owned()))]))
    };
    for (open, context, leave) in [
        ("n", Context::Form, "esc y"),
        ("a", Context::Quick, "esc y"),
        ("/", Context::Search, "esc"),
        ("f", Context::Filter, "enter"),
        ("?", Context::Palette, "esc"),
        ("d", Context::Confirm, "n"),
    ] {
        let mut app = with_tasks(three());
        press(&mut app, open);
        write(&mut app, "b");
        app.update(now(), refused());
        let sentence = "Deleted 0 tasks; 1 task not deleted; the list opens when you have finished here.";
        assert_eq!((app.context(), app.notice.as_ref().unwrap().text.as_str()), (context, sentence));
        write(&mut app, "b");
        assert_eq!(app.context(), context);
        for key in leave.split(' ') {
            assert_ne!(app.context(), Context::Results, "{context:?}");
            press(&mut app, key);
        }
        assert_eq!(app.context(), Context::Results, "{context:?}");
        press(&mut app, "esc");
        assert_eq!(app.context(), Context::List);
    }
    // A typed value of a conflict.
    let mut app = with_tasks(three());
    let mut screen = ConflictScreen::of(4, Method::Update);
    screen.typing = Some(Line::with_text("Clean"));
    app.layers.push(Layer::Conflict(screen));
    app.update(now(), refused());
    assert_eq!(app.context(), Context::ConflictValue);
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Results);
}

#[test]
fn marks_made_during_bulk_change_stay() {
    let mut app = with_tasks(three());
    let effects = keys(&mut app, &["space", "space", "x"]);
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    let mut later = now();
    later.moment = later.moment.plus_millis(600);
    press(&mut app, "space");
    app.update(later, Message::Tick);
    let each = ["Bleed radiators", "Clean gutters"].map(|title| (title.to_owned(), Ok(true))).into();
    app.update(later, Message::Answer(Answer::ManyWritten(write, each)));
    let marks: Vec<&String> = app.list(Kind::Task).unwrap().marks.keys().collect();
    assert_eq!(marks, ["c"]);
}

#[test]
fn mark_all_of_older_list_is_dropped() {
    let mut app = with_tasks(three());
    let effects = press(&mut app, "*");
    let Some(Effect::All(query)) = effects.into_iter().next() else { panic!("nothing is asked for") };
    let mut later = now();
    later.moment = later.moment.plus_millis(600);
    press(&mut app, "f");
    app.update(later, Message::Tick);
    write(&mut app, "clean");
    let all = three().into_iter().map(|row| (row.id, row.title)).collect();
    app.update(later, Message::Answer(Answer::All(query, Ok(all))));
    assert_eq!(app.list(Kind::Task).unwrap().marks.len(), 0);
}
