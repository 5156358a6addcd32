//! Late answers: each changes the screen of its request alone.

use hearth_replica::{Method, Resolution, Totals};

use super::*;
use crate::fixtures::conflict;
use crate::message::{Decision, RowPosition};
use crate::state::detail::Detail;
use crate::state::editor::Editor;
use crate::state::palette::Palette;
use crate::state::picker::Reference;

/// The requested write.
pub(super) fn change(effects: Vec<Effect>) -> Write {
    let write = |effect: Effect| if let Effect::Write(write) = effect { Some(write) } else { None };
    effects.into_iter().find_map(write).expect("a change is asked for")
}

/// A tick after the longest wait for an answer.
fn later(app: &mut App) -> Vec<Effect> {
    let mut later = now();
    later.moment = later.moment.plus_millis(600);
    without_keeping(app.update(later, Message::Tick))
}

pub(super) fn hears(app: &mut App, answer: Answer) -> Vec<Effect> {
    without_keeping(app.update(now(), Message::Answer(answer)))
}

fn notice(app: &App) -> &str {
    app.notice.as_ref().map_or("", |notice| notice.text.as_str())
}

/// The line of quick add.
fn line(app: &App) -> &crate::app::QuickLine {
    let found = app.layers.iter().find_map(|layer| if let Layer::Quick(line) = layer { Some(line) } else { None });
    found.expect("a line of quick add")
}

fn garage() -> Option<(Kind, String, String)> {
    Some((Kind::Room, ROOM.to_owned(), "Garage".to_owned()))
}

/// The ticket of the requested name.
fn sought(effects: &[Effect]) -> u64 {
    let [Effect::About(ticket, _)] = effects else { panic!("{effects:?}") };
    *ticket
}

#[test]
fn refusal_of_other_write_keeps_quick_add() {
    let mut app = with_tasks(three());
    let done = change(press(&mut app, "x"));
    press(&mut app, "a");
    write(&mut app, "Buy filter");
    let added = change(press(&mut app, "enter"));
    hears(&mut app, Answer::Written(done, Err("another program is writing".to_owned())));
    assert_eq!(notice(&app), "Another program is writing");
    assert_eq!((line(&app).saving.as_deref(), &line(&app).refusal), (Some(&added), &None));
    // A second save would create a second task.
    for key in ["enter", "tab"] {
        assert_eq!(press(&mut app, key), []);
        assert_eq!((later(&mut app), app.context()), (Vec::new(), Context::Quick));
        assert_eq!(notice(&app), "Saving; please wait.");
    }
    hears(&mut app, Answer::Written(added, Ok("new".to_owned())));
    assert_eq!(app.context(), Context::List);
}

#[test]
fn refusal_reaches_quick_add_below_palette() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    write(&mut app, "Buy filter");
    let added = change(press(&mut app, "enter"));
    app.layers.push(Layer::Palette(Palette::new(Context::Quick, "", |_| true)));
    hears(&mut app, Answer::Written(added, Err("it is held".to_owned())));
    assert_eq!((&line(&app).saving, line(&app).refusal.as_deref()), (&None, Some("it is held")));
}

#[test]
fn form_waits_for_answer_to_own_write() {
    let many = Write::Many { kind: Kind::Room, records: vec![("r".into(), "Hall".into())], change: None };
    let delete = Write::Delete { kind: Kind::Task, id: "c".into(), title: "Descale kettle".into() };
    for other in [
        Answer::ManyWritten(many, vec![("Hall".to_owned(), Ok(true))]),
        Answer::Decided(Write::Undo, Ok("Undone: 1 room".to_owned())),
        Answer::Decided(Write::Undo, Err("There is nothing to undo.".to_owned())),
        Answer::Written(delete.clone(), Ok("c".to_owned())),
        Answer::Written(delete.clone(), Err("it is held".to_owned())),
        Answer::RecordDeleted(delete.clone()),
        Answer::RecordChanged(delete, Box::new(task("c", "Theirs", None))),
    ] {
        let mut app = with_tasks(three());
        press(&mut app, "e");
        write(&mut app, "!");
        let saved = change(press(&mut app, "ctrl-s"));
        hears(&mut app, other);
        assert_eq!((&form(&app).saving, &form(&app).refusal), (&Some(saved.clone()), &None), "{}", notice(&app));
        assert_ne!(notice(&app), "", "a notice says so");
        assert_eq!(app.session().draft.unwrap().typed["title"], "Bleed radiators!");
        hears(&mut app, Answer::RecordChanged(saved, Box::new(task("a", "Theirs", None))));
        let sentence = "Not saved: title was changed by someone else. Save again to keep your value.";
        assert_eq!((&form(&app).saving, form(&app).refusal.as_deref()), (&None, Some(sentence)));
    }
}

#[test]
fn resolution_closes_only_its_conflict() {
    let mut app = with_tasks(three());
    let mut screen = ConflictScreen::of(2, Method::Update);
    screen.typing = Some(Line::with_text("Clean the"));
    app.layers.push(Layer::Conflict(screen));
    let settled = |edit| {
        let write = Write::Decide(edit, Decision::Resolve(Resolution::mine()));
        Answer::Decided(write, Ok("it is sent again".to_owned()))
    };
    hears(&mut app, settled(1));
    assert_eq!(app.context(), Context::ConflictValue);
    hears(&mut app, settled(2));
    assert_eq!(app.context(), Context::List);
}

#[test]
fn quick_add_waits_for_newest_subject() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    let effects = write(&mut app, "Mop @gar");
    hears(&mut app, Answer::About(sought(&effects), garage()));
    let effects = write(&mut app, "d");
    assert_eq!(press(&mut app, "enter"), [], "it waits for the answer");
    assert_eq!(later(&mut app), [], "but not for ever");
    assert_eq!(notice(&app), "Still looking up “gard”; save again.");
    let garden = Some((Kind::Room, ROOM.replace("abcd", "abce"), "Garden room".to_owned()));
    hears(&mut app, Answer::About(sought(&effects), garden));
    let Write::Create { fields, .. } = change(press(&mut app, "enter")) else { panic!("no task") };
    assert_eq!(fields["subject_id"], json!(ROOM.replace("abcd", "abce")));
}

#[test]
fn unresolved_name_goes_into_form_title() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    let effects = write(&mut app, "Mop @gar");
    hears(&mut app, Answer::About(sought(&effects), garage()));
    write(&mut app, "d");
    press(&mut app, "tab");
    later(&mut app);
    let typed = form(&app).draft().unwrap().typed;
    assert_eq!((&typed["title"], typed.get("subject_id")), (&json!("Mop @gard"), None));
}

#[test]
fn typed_name_replaces_preset_subject() {
    let mut app = with_tasks(three());
    app.layers.push(Layer::Detail(Detail::with_row(room("r", "Attic"))));
    press(&mut app, "a");
    write(&mut app, "Mop ");
    let preset = line(&app).about.clone();
    assert_eq!(preset.as_ref().map(|(_, _, title)| title.as_str()), Some("Attic"));
    write(&mut app, "@g");
    assert_eq!(line(&app).about, None);
    keys(&mut app, &["backspace", "backspace"]);
    assert_eq!(line(&app).about, preset);
}

#[test]
fn subject_arrives_below_palette() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    let effects = write(&mut app, "Mop @gar");
    app.layers.push(Layer::Palette(Palette::new(Context::Quick, "", |_| true)));
    hears(&mut app, Answer::About(sought(&effects), garage()));
    assert_eq!((line(&app).is_looking_up, &line(&app).about), (false, &garage()));
}

#[test]
fn outdated_suggestion_is_not_taken() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Mop");
    while form(&app).entries[form(&app).focus].field.name != "subject_id" {
        press(&mut app, "tab");
    }
    let ticket = |effects: &[Effect]| match effects {
        [Effect::Titles(ticket, ..)] => *ticket,
        other => panic!("{other:?}"),
    };
    let effects = write(&mut app, "gar");
    let first = ticket(&effects);
    hears(&mut app, Answer::Titles { ticket: first, titles: Ok(garage().into_iter().collect()) });
    let effects = write(&mut app, "d");
    for key in ["enter", "ctrl-s"] {
        press(&mut app, key);
        assert_eq!(later(&mut app), []);
        assert_eq!((app.context(), faults(&app)), (Context::Options, Vec::new()), "{key}");
    }
    // Suggestions arrive also while the list of actions is open.
    app.layers.push(Layer::Palette(Palette::new(Context::Options, "", |_| true)));
    let garden = (Kind::Room, ROOM.to_owned(), "Garden room".to_owned());
    hears(&mut app, Answer::Titles { ticket: ticket(&effects), titles: Ok(vec![garden]) });
    app.layers.pop();
    press(&mut app, "enter");
    let taken = match &form(&app).entries[form(&app).focus].editor {
        Editor::Reference(Reference { title, picker: None, .. }) => title,
        other => panic!("{other:?}"),
    };
    assert_eq!(taken, "Garden room");
}

#[test]
fn sums_survive_scrolling_but_not_new_filter() {
    let mut app = with_tasks(three());
    let totals = |effects: &[Effect], cents| {
        let ticket = |effect: &Effect| if let Effect::Totals(ticket, ..) = effect { Some(*ticket) } else { None };
        let ticket = effects.iter().find_map(ticket).expect("sums are asked for");
        let totals = Ok(Totals { cents: Some(cents), groups: Vec::new() });
        Answer::Totals { ticket, kind: Kind::Task, totals }
    };
    let sum = |app: &App| app.list(Kind::Task).unwrap().totals.cents;
    press(&mut app, "f");
    let older = write(&mut app, "k");
    let newer = write(&mut app, "e");
    let page = app.ask_page();
    answer(&mut app, &page, three());
    hears(&mut app, totals(&newer, 4_200));
    hears(&mut app, totals(&older, 1));
    assert_eq!(sum(&app), Some(4_200));
}

#[test]
fn unmoved_task_stays_selected_after_done() {
    for result in [Err("it is held".to_owned()), Ok("a".to_owned())] {
        let mut app = with_tasks(three());
        let done = change(press(&mut app, "x"));
        let effects = hears(&mut app, Answer::Written(done, result));
        answer(&mut app, &effects, three());
        let effects = app.update(now(), Message::DatabaseChanged);
        let more = [task("z", "Air the attic", None)].into_iter().chain(three()).collect();
        answer(&mut app, &effects, more);
        assert_eq!(selected(&app), "Bleed radiators");
    }
}

#[test]
fn done_key_on_room_keeps_selection() {
    let mut app = with_tasks(three());
    let effects = press(&mut app, "4");
    answer(&mut app, &effects, vec![room("h", "Hall"), room("s", "Shed")]);
    assert_eq!(press(&mut app, "x"), []);
    let effects = app.update(now(), Message::DatabaseChanged);
    answer(&mut app, &effects, vec![room("a", "Attic"), room("h", "Hall"), room("s", "Shed")]);
    assert_eq!(selected(&app), "Hall");
}

/// Opens the list of actions on a task, narrows it to these words, deletes the task and runs the action.
fn chosen_late(before: &[&str], words: &str) -> (App, Vec<Effect>) {
    let mut app = with_tasks(three());
    keys(&mut app, before);
    let under = selected(&app).to_owned();
    press(&mut app, "?");
    write(&mut app, words);
    let effects = app.update(now(), Message::DatabaseChanged);
    answer(&mut app, &effects, three().into_iter().filter(|row| row.title != under).collect());
    let effects = press(&mut app, "enter");
    (app, effects)
}

#[test]
fn palette_action_needs_unchanged_cursor() {
    let asks_for_change = |effects: &[Effect]| effects.iter().any(|effect| matches!(effect, Effect::Write(_)));
    let (app, effects) = chosen_late(&[], "mark a task as done");
    assert!(!asks_for_change(&effects), "{effects:?}");
    assert_eq!(app.context(), Context::List);
    assert_eq!(notice(&app), "The cursor has moved to another record; nothing was done.");
    // Marked records are changed wherever the cursor is, and some actions need no record.
    let (_, effects) = chosen_late(&["space"], "mark a task as done");
    assert!(matches!(&effects[..], [Effect::Write(Write::Many { records, .. })] if records[0].0 == "a"), "{effects:?}");
    let (app, _) = chosen_late(&[], "sync: status");
    assert_eq!(app.context(), Context::Sync);
}

#[test]
fn letters_during_write_are_no_commands() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    write(&mut app, "Buy filter");
    let added = change(press(&mut app, "enter"));
    assert_eq!(write(&mut app, "aMop due"), []);
    assert_eq!(later(&mut app), [], "it waits for as long as it takes");
    assert_eq!(line(&app).line.text(), "Buy filter", "and does not go into what is about to close");
    let effects = hears(&mut app, Answer::Written(added.clone(), Ok("new".to_owned())));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Write(_))), "{effects:?}");
    assert_eq!(line(&app).line.text(), "Mop due", "it is the next one");
}

#[test]
fn leaving_during_write_drops_queued_letters() {
    let mut app = with_tasks(three());
    press(&mut app, "a");
    write(&mut app, "Buy filter");
    let added = change(press(&mut app, "enter"));
    write(&mut app, "dy");
    press(&mut app, "esc");
    assert_eq!((later(&mut app), notice(&app)), (Vec::new(), "Saving; please wait."));
    write(&mut app, "dy");
    press(&mut app, "ctrl-c");
    assert_eq!(later(&mut app), [Effect::Quit]);
    let effects = hears(&mut app, Answer::Written(added, Ok("new".to_owned())));
    assert_eq!(app.context(), Context::List, "an earlier key acted on the later screen: {effects:?}");
}

#[test]
fn record_beyond_search_limit_is_not_hidden() {
    for (position, sentence) in
        [(RowPosition::Absent, "New task: Zebra; the filter hides it"), (RowPosition::Beyond, "New task: Zebra")]
    {
        let mut app = with_tasks(three());
        press(&mut app, "f");
        let effects = write(&mut app, "e");
        answer(&mut app, &effects, three());
        press(&mut app, "enter");
        let fields = json!({ "title": "Zebra" }).as_object().cloned().unwrap();
        let effects = hears(&mut app, Answer::Written(Write::Create { kind: Kind::Task, fields }, Ok("z".to_owned())));
        let effects = answer(&mut app, &effects, three());
        let [Effect::RowPosition(ticket, query, id)] = &effects[..] else { panic!("{effects:?}") };
        hears(
            &mut app,
            Answer::RowPosition { ticket: *ticket, kind: query.kind, id: id.clone(), position: Ok(position) },
        );
        assert_eq!(notice(&app), sentence);
    }
}

#[test]
fn leaving_conflict_in_write_asks_nothing() {
    let mut app = with_tasks(three());
    let mut screen = ConflictScreen::of(4, Method::Update);
    screen.set_conflicts(vec![conflict("due_on", "2026-11-25")]);
    app.layers.push(Layer::Conflict(screen));
    let settled = change(keys(&mut app, &["m", "ctrl-s"]));
    for key in ["esc", "ctrl-s"] {
        assert_eq!((press(&mut app, key), later(&mut app)), (Vec::new(), Vec::new()), "{key}");
        assert_eq!((app.context(), notice(&app)), (Context::Conflict, "Saving; please wait."), "{key}");
    }
    hears(&mut app, Answer::Decided(settled.clone(), Err("it is held".to_owned())));
    let Some(Layer::Conflict(screen)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!((screen.fault.as_deref(), &screen.saving), (Some("it is held"), &None));
    hears(&mut app, Answer::Conflicts(Ok((vec![conflict("due_on", "2026-11-25")], Default::default()))));
    assert_eq!(change(press(&mut app, "ctrl-s")), settled);
    hears(&mut app, Answer::Decided(settled, Ok("it is sent again".to_owned())));
    assert_eq!(app.context(), Context::List);
}
