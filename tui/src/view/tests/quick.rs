//! What quick add says of the name of what a task is about: before, while and after it is looked for.

use super::*;

fn typing(text: &str) -> (App, Vec<Effect>) {
    let mut app = household();
    letter(&mut app, 'a');
    let effects = text.chars().flat_map(|sign| letter(&mut app, sign)).collect();
    (app, effects)
}

fn ticket(effects: &[Effect]) -> u64 {
    let ticket = |effect: &Effect| if let Effect::About(ticket, _) = effect { Some(*ticket) } else { None };
    effects.iter().rev().find_map(ticket).expect("it is looked for")
}

#[test]
fn a_name_is_not_said_to_be_nobodys_before_it_was_looked_for() {
    let (mut app, effects) = typing("Buy filter @gas");
    let text = screen(&mut app, 100, 24);
    assert!(text.contains("about gas") && !text.contains("nothing here is called so"), "{text}");
    app.update(now(), Message::Answer(Answer::About(ticket(&effects), None)));
    assert_says(&screen(&mut app, 100, 24), &["about gas: nothing here is called so"]);
}

#[test]
fn what_a_name_stood_for_is_not_taken_once_the_name_is_gone() {
    let (mut app, effects) = typing("Buy filter @g");
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Backspace);
    let dryer = Some((Kind::Inventory, "gas-dryer".to_owned(), "Gas dryer".to_owned()));
    app.update(now(), Message::Answer(Answer::About(ticket(&effects), dryer)));
    let Some(Layer::Quick(line)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(line.about, None);
}
