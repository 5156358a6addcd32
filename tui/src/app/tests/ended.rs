//! The end of the program during a write: a failed write is reported, and the typed text is restored.

use hearth_contract::schema::Kind;

use super::*;
use crate::message::{Answer, Write};

/// An application with a form or quick add in a write, and the write.
fn saving(typed: &[&str]) -> (App, Write) {
    let mut app = with_tasks(three());
    press(&mut app, typed[0]);
    write(&mut app, "Buy filter");
    let effects = press(&mut app, typed[1]);
    let written = effects.into_iter().find_map(|effect| match effect {
        Effect::Write(write) => Some(write),
        _ => None,
    });
    (app, written.unwrap())
}

#[test]
fn failed_write_at_exit_is_told_and_drafted() {
    for typed in [["n", "ctrl-s"], ["a", "enter"]] {
        let (mut app, write) = saving(&typed);
        let failed = Message::Answer(Answer::Written(write.clone(), Err("another program is writing".into())));
        let (undone, _) = app.end(now(), [failed].into_iter());
        assert_eq!(undone, ["the new task “Buy filter”: another program is writing"]);
        assert_eq!(app.session().draft.unwrap().typed["title"], "Buy filter");

        let (mut app, write) = saving(&typed);
        let (undone, session) = app.end(now(), [Message::Answer(Answer::Written(write, Ok("new".into())))].into_iter());
        assert!(undone.is_empty());
        assert_eq!(session.unwrap().draft, None, "what was saved is not found again as a draft");
    }
}

#[test]
fn each_failed_write_at_exit_is_told() {
    let (kind, id, title) = (Kind::Task, "a".to_owned(), "Bleed radiators".to_owned());
    let delete = Write::Delete { kind, id: id.clone(), title: title.clone() };
    let many = Write::Many { kind, records: vec![(id, title.clone()), ("b".into(), "Oil".into())], change: None };
    let held = || "it is held".to_owned();
    for (answer, beginning) in [
        (Answer::RecordDeleted(delete.clone()), "the deletion of “Bleed radiators”: "),
        (Answer::Written(delete, Err(held())), "the deletion of “Bleed radiators”: it is held"),
        (Answer::ManyWritten(many, vec![(title, Ok(true)), ("Oil".into(), Err(held()))]), "“Oil”: it is held"),
    ] {
        let mut app = with_tasks(three());
        let (undone, _) = app.end(now(), [Message::DatabaseChanged, Message::Answer(answer)].into_iter());
        assert!(undone.len() == 1 && undone[0].starts_with(beginning), "{undone:?}");
    }
}

#[test]
fn leaving_form_in_write_asks_nothing() {
    for typed in [["n", "ctrl-s"], ["a", "enter"]] {
        let (mut app, _) = saving(&typed);
        let before = app.context();
        press(&mut app, "esc");
        // The answer is late, and the key does not wait longer.
        let mut later = now();
        later.moment = later.moment.plus_millis(5_000);
        app.update(later, Message::Tick);
        assert_eq!((app.context(), &*app.notice.as_ref().unwrap().text), (before, "Saving; please wait."));
    }
}
