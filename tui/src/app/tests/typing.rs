//! Forms, quick add and conflicts: typed text is kept until saved, refused with a reason, and never left without a
//! question.

use super::*;
use crate::message::Decision;
use crate::state::form::FormRequest;
use hearth_replica::Method;

#[test]
fn quit_asks_about_typed_conflict_value() {
    let mut app = with_tasks(three());
    assert_eq!(press(&mut app, "ctrl-c"), [Effect::Quit], "nothing would be lost");
    let mut screen = ConflictScreen::of(4, Method::Update);
    screen.typing = Some(Line::with_text("Clean the gutters"));
    app.layers.push(Layer::Conflict(screen));
    assert_eq!(press(&mut app, "ctrl-c"), []);
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "n");
    assert_eq!(app.context(), Context::ConflictValue);
    assert_eq!(keys(&mut app, &["ctrl-c", "y"]), [Effect::Quit]);
    assert_eq!(keys(&mut app, &["ctrl-c", "ctrl-c"]), [Effect::Quit], "whoever insists is let go");
}

#[test]
fn typed_conflict_value_survives_new_version() {
    let mut app = with_tasks(three());
    let mut screen = ConflictScreen::of(4, Method::Update);
    screen.set_conflicts(vec![conflict("notes", "theirs"), conflict("due_on", "2026-11-25")]);
    app.layers.push(Layer::Conflict(screen));
    press(&mut app, "e");
    write(&mut app, " merged");
    press(&mut app, "enter");
    let of = |app: &App| {
        let Some(Layer::Conflict(screen)) = app.layers.last() else { panic!("{:?}", app.layers) };
        (screen.fields[0].1.clone(), screen.fault.clone(), screen.typing.as_ref().map(|line| line.text().to_owned()))
    };
    let typed = of(&app).0;
    assert!(matches!(&typed, Some(Choice::Value(value)) if value.as_str().unwrap().ends_with(" merged")), "{typed:?}");
    // Typing continues from the draft, also after another choice.
    keys(&mut app, &["k", "m", "k", "e"]);
    assert!(of(&app).2.unwrap().ends_with(" merged"));
    press(&mut app, "enter");
    assert_eq!(of(&app).0, typed);
    let read = Ok((vec![conflict("notes", "theirs again"), conflict("due_on", "2026-11-25")], Default::default()));
    app.update(now(), Message::Answer(Answer::Conflicts(read)));
    let (chosen, sentence, _) = of(&app);
    assert_eq!(chosen, None);
    assert_eq!(
        sentence.as_deref(),
        Some("Notes was changed on the server again: choose again; your typed value is kept.")
    );
    keys(&mut app, &["k", "e"]);
    assert!(of(&app).2.unwrap().ends_with(" merged"));
    press(&mut app, "esc");
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Confirm, "leaving would lose it");
}

#[test]
fn form_of_settled_edit_saves_to_record() {
    let mut app = with_tasks(three());
    app.layers.push(Layer::Form(Box::new(Form::of_edit(&edit(Method::Update), &Default::default(), app.today))));
    write(&mut app, "!");
    let save = |app: &mut App| match &press(app, "ctrl-s")[..] {
        [Effect::Write(write)] => write.clone(),
        other => panic!("{other:?}"),
    };
    let first = save(&mut app);
    assert!(matches!(first, Write::Decide(..)), "{first:?}");
    let row = three().remove(0);
    app.update(now(), Message::Answer(Answer::RecordChanged(first, Box::new(row))));
    assert_eq!(
        form(&app).refusal.as_deref(),
        Some("Not saved: the waiting change was settled in the meantime. Save again to change the task itself.")
    );
    let Write::Update { id, fields, .. } = save(&mut app) else { panic!("it goes to the edit again") };
    assert_eq!((id.as_str(), &fields["title"]), ("a", &json!("Bleed radiators!")));
}

#[test]
fn typing_clears_conflict_fault() {
    let mut app = with_tasks(three());
    let mut screen = ConflictScreen::of(4, Method::Update);
    (screen.typing, screen.fault) = (Some(Line::with_text("some")), Some("some is no day".to_owned()));
    app.layers.push(Layer::Conflict(screen));
    app.update(now(), Message::Paste("day".to_owned()));
    let Some(Layer::Conflict(screen)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!((screen.typing.as_ref().unwrap().text(), &screen.fault), ("someday", &None));
}

#[test]
fn open_form_is_restored_after_exit() {
    // The open form before the end and after the next start.
    let again = |app: &mut App| {
        let Some(Layer::Form(before)) = app.layers.last() else { panic!("{:?}", app.layers) };
        let before = before.draft().unwrap();
        let session = app.session();
        assert_eq!(press(app, "ctrl-c"), [Effect::Quit], "nothing is lost");
        let (next, _) = App::start(now(), Setup::default(), session, (80, 24));
        let Some(Layer::Form(form)) = next.layers.into_iter().next_back() else { panic!("it is gone") };
        assert_eq!(form.draft().unwrap(), before);
        form
    };
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "e"]);
    assert_eq!(app.session().draft, None, "nothing was typed");
    write(&mut app, "Alike");
    let mut many = again(&mut app);
    let FormRequest::Save(Write::Many { records, change: Some(fields), .. }) = many.act(Action::Save) else { panic!() };
    assert_eq!((records.len(), fields["title"].as_str()), (2, Some("Alike")));

    let mut app = with_tasks(three());
    app.layers.push(Layer::Form(Box::new(Form::of_edit(&edit(Method::Update), &Default::default(), app.today))));
    write(&mut app, "!");
    let mut waiting = again(&mut app);
    let wish = waiting.act(Action::Save);
    assert!(matches!(wish, FormRequest::Save(Write::Decide(_, Decision::Change(_)))), "{wish:?}");

    let mut app = with_tasks(three());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    again(&mut app);
}

#[test]
fn unparsed_quick_add_goes_into_form_title() {
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
    // The subject is recognized once its record is found.
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
fn form_shows_faults_on_leave_and_save() {
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
fn create_sends_filled_fields_and_closes() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    keys(&mut app, &["tab", "h"]);
    let effects = press(&mut app, "ctrl-s");
    let [Effect::Write(write)] = &effects[..] else { panic!("{effects:?}") };
    let fields = json!({ "title": "Buy filter", "priority": "high", "status": "open", "recurrence_every": 1 });
    assert_eq!(*write, Write::Create { kind: Kind::Task, fields: fields.as_object().cloned().unwrap() });
    assert_eq!(press(&mut app, "ctrl-s"), [], "saving twice makes one record");
    // From now on a crash loses nothing.
    assert_eq!(app.session().draft.unwrap().typed["title"], "Buy filter");
    let effects = app.update(now(), Message::Answer(Answer::Written(write.clone(), Ok("new".into()))));
    assert_eq!(app.context(), Context::List);
    answer(&mut app, &effects, vec![task("a", "Bleed radiators", None), task("new", "Buy filter", None)]);
    assert_eq!(selected(&app), "Buy filter");
    assert_eq!(app.notice.as_ref().unwrap().text, "New task: Buy filter");
}

#[test]
fn second_ctrl_n_makes_one_record() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    let effects = press(&mut app, "ctrl-n");
    let [Effect::Write(write)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(press(&mut app, "ctrl-n"), [], "the first press is not answered yet");
    let effects = app.update(now(), Message::Answer(Answer::Written(write.clone(), Ok("new".into()))));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Write(_))), "{effects:?}");
    // The next form is open and empty, and has nothing to save.
    assert_eq!((app.context(), form(&app).is_new(), form(&app).is_changed()), (Context::Form, true, false));
    assert_eq!(press(&mut app, "ctrl-n"), []);
    assert_eq!(faults(&app), ["title is required."]);
}

#[test]
fn refused_create_keeps_typed_values() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    write(&mut app, "Buy filter");
    let effects = press(&mut app, "ctrl-s");
    let Some(Effect::Write(write)) = effects.into_iter().next() else { panic!("nothing written") };
    app.update(now(), Message::Answer(Answer::Written(write, Err("title must be shorter".into()))));
    assert_eq!(form(&app).refusal.as_deref(), Some("title must be shorter"));
    assert!(form(&app).is_changed());
    // Leaving asks before the text is lost.
    press(&mut app, "esc");
    assert_eq!(app.context(), Context::Confirm);
    press(&mut app, "y");
    assert_eq!(app.context(), Context::List);
}

#[test]
fn edit_sends_changed_fields_only() {
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
fn subject_is_found_by_type_and_name() {
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
fn new_subject_type_clears_subject() {
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
fn modified_letters_choose_no_word() {
    let mut app = with_tasks(Vec::new());
    press(&mut app, "n");
    let at = |app: &App| form(app).entries[form(app).focus].field.name;
    let chosen = |app: &App| {
        let entry = &form(app).entries[form(app).focus];
        entry.editor.value(entry.field, app.today)
    };
    while at(&app) != "recurrence" {
        press(&mut app, "tab");
    }
    write(&mut app, "m");
    assert_eq!(chosen(&app), json!("monthly"));
    press(&mut app, "ctrl-w");
    app.update(now(), Message::Key(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::ALT)));
    assert_eq!(chosen(&app), json!("monthly"));
    press(&mut app, "ctrl-h");
    assert_eq!(chosen(&app), json!(null));
}

/// Opens the form of a new record of the tab and goes to a field.
fn form_at(tab: &str, field: &str) -> App {
    let mut app = with_tasks(Vec::new());
    let effects = press(&mut app, tab);
    if tab != "2" {
        answer(&mut app, &effects, Vec::new());
    }
    press(&mut app, "n");
    write(&mut app, "Thing");
    while form(&app).entries[form(&app).focus].field.name != field {
        press(&mut app, "tab");
    }
    app
}

fn focused(app: &App) -> (serde_json::Value, Option<&str>) {
    let entry = &form(app).entries[form(app).focus];
    (entry.editor.value(entry.field, app.today), entry.fault.as_deref())
}

#[test]
fn choice_is_spelled_by_its_letters() {
    for (tab, field, typed, chosen) in [
        ("3", "category", "tool", "tool"),
        ("3", "category", "other", "other"),
        ("3", "category", "OUT", "outdoor"),
        ("4", "room_type", "living room", "living_room"),
        ("4", "room_type", "living_r", "living_room"),
        ("4", "room_type", "di", "dining_room"),
        ("5", "fuel_type", "plug-in hybrid", "plug_in_hybrid"),
        ("2", "status", "doing", "in_progress"),
        ("2", "status", "in progress", "in_progress"),
        ("2", "status", "do", "done"),
        ("2", "recurrence", "quarterly", "quarterly"),
        ("6", "category", "medical", "medical"),
    ] {
        let mut app = form_at(tab, field);
        write(&mut app, typed);
        assert_eq!(focused(&app), (json!(chosen), None), "{typed}");
    }
}

#[test]
fn unknown_choice_says_so_and_changes_nothing() {
    let mut app = form_at("3", "category");
    write(&mut app, "furn");
    let mut later = now();
    later.moment = later.moment.plus_millis(1_000);
    for letter in "textile".chars() {
        app.update(later, Message::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)));
    }
    assert_eq!(focused(&app), (json!("furniture"), Some("No choice begins with “textile”.")));
    for _ in 0.."extile".len() {
        app.update(later, Message::Key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE)));
    }
    assert_eq!(focused(&app), (json!("tool"), None), "a backspace takes a letter back");
    app.update(later, Message::Paste("garden\n".to_owned()));
    assert_eq!(focused(&app), (json!("tool"), Some("No choice begins with “garden”.")));
    // The value is good: the field can be left without a fault.
    press(&mut app, "tab");
    assert_eq!(faults(&app), [""; 0]);
    let mut app = form_at("3", "category");
    app.update(now(), Message::Paste("Kitchenware".to_owned()));
    assert_eq!(focused(&app), (json!("kitchenware"), None));
}

#[test]
fn unknown_subject_type_keeps_the_subject() {
    let row = record(Kind::Task, "a", json!({ "title": "a", "subject_type": "room", "subject_id": ROOM }));
    let mut app = with_tasks(vec![row]);
    press(&mut app, "e");
    while form(&app).entries[form(&app).focus].field.name != "subject_type" {
        press(&mut app, "tab");
    }
    write(&mut app, "vx");
    assert_eq!(focused(&app), (json!("room"), Some("No choice begins with “vx”.")));
    assert!(!form(&app).is_changed(), "the subject is the same");
}

#[test]
fn unknown_room_is_offered_and_tab_goes_on() {
    let mut app = form_at("3", "room_id");
    let mut effects = write(&mut app, "Attic");
    let answer = |app: &mut App, effects: &[Effect], titles: &[&str]| {
        let [Effect::Titles(ticket, ..)] = effects else { panic!("{effects:?}") };
        let titles = titles.iter().map(|title| (Kind::Room, ROOM.to_owned(), (*title).to_owned())).collect();
        app.update(now(), Message::Answer(Answer::Titles { ticket: *ticket, titles: Ok(titles) }));
    };
    answer(&mut app, &effects, &[]);
    // Tab leaves the field, and the name stays with its fault.
    press(&mut app, "tab");
    assert_eq!(form(&app).entries[form(&app).focus].field.name, "location");
    assert_eq!(faults(&app), ["No room is called “Attic” yet: enter makes it."]);
    assert_eq!(press(&mut app, "ctrl-s"), [], "the name is not dropped in silence");
    while form(&app).entries[form(&app).focus].field.name != "room_id" {
        press(&mut app, "tab");
    }
    let effects_of_enter = press(&mut app, "enter");
    let [Effect::Write(room @ Write::Create { kind: Kind::Room, fields })] = &effects_of_enter[..] else {
        panic!("{effects_of_enter:?}")
    };
    assert_eq!(fields["name"], "Attic");
    app.update(now(), Message::Answer(Answer::Written(room.clone(), Ok(ROOM.to_owned()))));
    assert_eq!((focused(&app), app.context()), ((json!(ROOM), None), Context::Choice));
    assert_eq!(faults(&app), [""; 0]);
    // A refused room leaves its reason.
    effects = write(&mut app, "Loft");
    answer(&mut app, &effects, &[]);
    let effects = press(&mut app, "enter");
    let [Effect::Write(room)] = &effects[..] else { panic!("{effects:?}") };
    app.update(now(), Message::Answer(Answer::Written(room.clone(), Err("the disk is full".to_owned()))));
    assert_eq!(faults(&app), ["the disk is full"]);
    // Tab takes a suggestion and goes on.
    press(&mut app, "ctrl-u");
    let effects = write(&mut app, "gar");
    answer(&mut app, &effects, &["Garage"]);
    press(&mut app, "tab");
    assert_eq!(form(&app).entries[form(&app).focus].field.name, "location");
    assert_eq!(form(&app).draft().unwrap().names["room_id"], "Garage");
}

#[test]
fn second_enter_makes_one_room() {
    let mut app = form_at("3", "room_id");
    let effects = write(&mut app, "Attic");
    let [Effect::Titles(ticket, ..)] = &effects[..] else { panic!("{effects:?}") };
    app.update(now(), Message::Answer(Answer::Titles { ticket: *ticket, titles: Ok(Vec::new()) }));
    let effects = press(&mut app, "enter");
    let [Effect::Write(room)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!(press(&mut app, "enter"), [], "the room is being made");
    let effects = app.update(now(), Message::Answer(Answer::Written(room.clone(), Ok(ROOM.to_owned()))));
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Write(_))), "{effects:?}");
    // The second press has waited for the room, and goes on.
    assert_eq!(form(&app).entries[form(&app).focus].field.name, "location");
    assert_eq!(form(&app).draft().unwrap().names["room_id"], "Attic");
}

#[test]
fn day_without_year_fits_its_field() {
    for (tab, field, typed, day) in [
        ("3", "purchase_date", "1 dec", "2025-12-01"),
        ("3", "warranty_expires_on", "1 dec", "2026-12-01"),
        ("6", "issued_on", "fri", "2026-11-20"),
        ("6", "expires_on", "fri", "2026-11-27"),
        ("2", "due_on", "1 nov", "2027-11-01"),
        ("5", "purchase_date", "24.12.98", "1998-12-24"),
    ] {
        let mut app = form_at(tab, field);
        write(&mut app, typed);
        assert_eq!(focused(&app), (json!(day), None), "{field} {typed}");
    }
}

#[test]
fn unknown_name_becomes_assignee_when_confirmed() {
    let mut app = with_tasks(three());
    assert!(matches!(press(&mut app, "a")[..], [Effect::Assignees]));
    app.update(now(), Message::Answer(Answer::Assignees(vec!["Ana".to_owned()])));
    write(&mut app, "Pay +49 +Zoe");
    // The key also takes the name back.
    keys(&mut app, &["ctrl-y", "ctrl-y", "ctrl-y"]);
    let effects = press(&mut app, "enter");
    let [Effect::Write(Write::Create { fields, .. })] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((&fields["title"], &fields["assignee"]), (&json!("Pay +49"), &json!("Zoe")));
}

#[test]
fn form_over_midnight_uses_new_day() {
    let mut app = with_tasks(three());
    press(&mut app, "n");
    write(&mut app, "Mop");
    while form(&app).entries[form(&app).focus].field.name != "due_on" {
        press(&mut app, "tab");
    }
    write(&mut app, "tomorrow");
    let mut later = now();
    later.moment = later.moment.plus_millis(12 * 3_600_000);
    app.update(later, Message::Tick);
    assert_eq!(form(&app).draft().unwrap().typed["due_on"], json!("2026-11-22"), "it was typed the day before");
    press(&mut app, "ctrl-u");
    for letter in "tomorrow".chars() {
        app.update(later, Message::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)));
    }
    let effects = app.update(later, Message::Key(KeyEvent::new(KeyCode::Char('s'), KeyModifiers::CONTROL)));
    let fields = effects.iter().find_map(|effect| match effect {
        Effect::Write(Write::Create { fields, .. }) => Some(fields),
        _ => None,
    });
    assert_eq!(fields.expect("it is saved")["due_on"], "2026-11-23");
}

#[test]
fn bulk_choice_can_be_cleared() {
    let mut app = with_tasks(three());
    keys(&mut app, &["space", "space", "e"]);
    while form(&app).entries[form(&app).focus].field.name != "priority" {
        press(&mut app, "tab");
    }
    press(&mut app, "right");
    assert!(form(&app).is_changed());
    press(&mut app, "backspace");
    assert!(!form(&app).is_changed(), "what is not filled in is left as it is");
    let mut app = with_tasks(three());
    press(&mut app, "e");
    while form(&app).entries[form(&app).focus].field.name != "priority" {
        press(&mut app, "tab");
    }
    press(&mut app, "backspace");
    assert!(!form(&app).is_changed(), "of a task it can be changed alone");
}
