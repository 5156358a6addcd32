//! What quick add says of the line: of the name of what a task is about before, while and after it is looked for, and in full.

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

#[test]
fn what_is_said_of_the_line_is_read_to_its_end_and_what_is_wrong_is_seen_first() {
    let line = "Buy a filter for the furnace !high due:31.2. +Ana_Maria_of_the_second_floor cost:20 every:fortnight";
    let (mut app, _) = typing(line);
    let flat = |text: &str| text.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let fault = "31.2. is no day: try tomorrow, fri, +2w, 1 dec or 2026-12-01";
    for (width, height) in [(80, 24), (50, 15), (40, 24)] {
        let text = flat(&screen(&mut app, width, height));
        assert_says(&text, &[fault, "high priority", "for Ana Maria of the second floor", "costs 20"]);
    }
    let tiny = screen(&mut app, 30, 9);
    assert_says(&flat(&tiny), &["✗ 31.2. is no day"]);
    assert!(tiny.contains('…'), "what has no room ends in a mark:\n{tiny}");
}
