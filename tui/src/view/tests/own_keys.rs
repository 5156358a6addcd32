//! Screens with other keys from the settings: texts name the set keys and mention no action without a key. Must not use
//! a replica.

use super::*;

/// The words on the screen, separated by single spaces.
fn flat(app: &mut App, width: u16, height: u16) -> String {
    screen(app, width, height).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn tabs_show_their_keys() {
    let mut app = household();
    app.setup.keys = chosen_keys(&[("tab.home", &["f2"]), ("tab.inventory", &["alt-i"]), ("tab.rooms", &[])]);
    let first = |app: &mut App, width: u16| screen(app, width, 9).lines().next().unwrap_or_default().to_owned();
    let wide = " Hearth demo   f2 Home  2 Tasks 3  alt-i Inventory 83  Rooms  5 Vehicles  6 Documents 1,240";
    assert_eq!(first(&mut app, 120), wide);
    assert_eq!(first(&mut app, 20), " f2 2 Tas… alt-i 5 6");
    let long = ["home", "tasks", "inventory", "rooms", "vehicles", "documents"].map(|tab| format!("tab.{tab}"));
    let keys = ["alt-1", "alt-2", "alt-3", "alt-4", "alt-5", "alt-6"];
    let long: Vec<(&str, &[&str])> = long.iter().map(String::as_str).zip(keys.chunks(1)).collect();
    app.setup.keys = chosen_keys(&long);
    assert_eq!(first(&mut app, 20), " Tasks");
}

#[test]
fn empty_home_offers_actions_with_keys() {
    let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
    app.update(now(), Message::Answer(Answer::Overview(app.home.ticket, Ok(Overview::default()))));
    app.setup.keys = chosen_keys(&[("tab.inventory", &["f3"]), ("tab.rooms", &["f4"]), ("new", &["N"])]);
    let text = flat(&mut app, 60, 24);
    assert_says(&text, &["f3 the inventory: rooms are under f4, N adds a record", "a add a task in one line"]);
    app.setup.keys = chosen_keys(&[("add", &[]), ("tab.rooms", &[]), ("new", &[])]);
    let text = flat(&mut app, 60, 24);
    assert_says(&text, &["This home is empty so far. 3 the inventory ? all other actions"]);
}

#[test]
fn home_without_profile_names_the_key() {
    let without = "The home has no profile yet.";
    for (keys, sentence) in [(vec!["E"], format!("{without} Press E to write it.")), (vec![], without.to_owned())] {
        let mut app = household();
        app.setup.keys = chosen_keys(&[("edit", keys.as_slice())]);
        letter(&mut app, 'p');
        let Some(Layer::Detail(detail)) = app.layers.last() else { panic!("{:?}", app.layers) };
        let (ticket, kind) = (detail.ticket, detail.kind);
        app.update(now(), Message::Answer(Answer::Record { ticket, kind, full: Ok(None) }));
        let text = flat(&mut app, 80, 24);
        assert_says(&text, &[&sentence]);
        assert_eq!(text.contains("Press"), !keys.is_empty(), "{text}");
    }
}
