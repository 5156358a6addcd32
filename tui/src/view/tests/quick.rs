//! The texts of quick add under the line: the subject before and after the lookup, faults, the summary. Must not use a
//! replica.

use super::*;

fn typing(text: &str) -> (App, Vec<Effect>) {
    let mut app = household();
    letter(&mut app, 'a');
    app.update(now(), Message::Answer(Answer::Assignees(vec!["Ana Maria of the second floor".to_owned()])));
    let effects = text.chars().flat_map(|sign| letter(&mut app, sign)).collect();
    (app, effects)
}

fn ticket(effects: &[Effect]) -> u64 {
    let ticket = |effect: &Effect| if let Effect::About(ticket, _) = effect { Some(*ticket) } else { None };
    effects.iter().rev().find_map(ticket).expect("a lookup of the name")
}

#[test]
fn unknown_name_shows_after_lookup() {
    let (mut app, effects) = typing("Buy filter @gas");
    let text = screen(&mut app, 100, 24);
    assert!(text.contains("about gas") && !text.contains("no record has this name"), "{text}");
    app.update(now(), Message::Answer(Answer::About(ticket(&effects), None)));
    assert_says(&screen(&mut app, 100, 24), &["about gas: no record has this name"]);
}

#[test]
fn late_lookup_of_removed_name_is_ignored() {
    let (mut app, effects) = typing("Buy filter @g");
    press(&mut app, KeyCode::Backspace);
    press(&mut app, KeyCode::Backspace);
    let dryer = Some((Kind::Inventory, "gas-dryer".to_owned(), "Gas dryer".to_owned()));
    app.update(now(), Message::Answer(Answer::About(ticket(&effects), dryer)));
    let Some(Layer::Quick(line)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(line.about, None);
}

#[test]
fn quick_add_shows_fault_first_and_full_summary() {
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
    assert!(tiny.contains('…'), "a cut text ends in a mark:\n{tiny}");
}

#[test]
fn quick_add_says_how_to_assign_an_unknown_name() {
    let (mut app, _) = typing("Pay invoice +VAT");
    let text = screen(&mut app, 100, 24);
    assert_says(&text, &["“Pay invoice +VAT”", "nobody is called VAT yet. ctrl-y makes VAT"]);
    app.update(now(), Message::Key(KeyEvent::new(KeyCode::Char('y'), KeyModifiers::CONTROL)));
    let text = screen(&mut app, 100, 24);
    assert!(text.contains("for VAT") && text.contains("“Pay invoice”") && !text.contains("nobody"), "{text}");
}
