//! Lists over a real replica: columns, orders, worth, several values in a filter, duplicates, forms one after another.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use hearth_contract::schema::Kind;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::scene::{Scene, fields};
use crate::app::{App, Layer, Setup};
use crate::config::Colors;
use crate::fixtures::now;
use crate::message::Message;
use crate::view::{self, Theme};

fn presses(scene: &mut Scene, letter: char) {
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
}

fn screen(scene: &mut Scene, width: u16, height: u16) -> String {
    scene.takes(Message::Resize(width, height));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| view::draw(&scene.app, scene.now, &Theme::new(Colors::Mono), frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(row).collect::<Vec<_>>().join("\n")
}

/// The inventory in columns that a person has chosen: the room is hidden and the day of purchase shown.
fn with_chosen_columns() -> Scene {
    let mut scene = Scene::new();
    scene.types("3c");
    let Some(Layer::Columns(choice)) = scene.app.layers.last() else { panic!("no choice of columns") };
    let bought = choice.all.iter().position(|name| *name == "purchase_date").unwrap();
    scene.types(" ");
    scene.types(&"j".repeat(bought));
    scene.types(" \n");
    scene
}

#[test]
fn chosen_columns_are_shown_sorted_and_restored() {
    let mut scene = with_chosen_columns();
    let text = screen(&mut scene, 109, 24);
    assert!(text.contains("Purchase date") && !text.contains("Room  "), "{text}");
    // The chosen value is one more order.
    let orders = |scene: &mut Scene| {
        let mut all = Vec::new();
        for _ in 0..15 {
            all.push(scene.app.list(Kind::Inventory).unwrap().order().column);
            scene.types("s");
        }
        all
    };
    let all = orders(&mut scene);
    assert!(all.contains(&"purchase_date"), "{all:?}");
    scene.types("r");
    let session = scene.app.session();
    let (again, _) = App::start(now(), Setup::default(), session.clone(), (80, 24));
    assert_eq!(again.session(), session);
    // A column that is gone cannot sort the list any more.
    while scene.app.list(Kind::Inventory).unwrap().order().column != "purchase_date" {
        scene.types("s");
    }
    scene.types("c");
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE)));
    scene.types("q");
    assert_eq!(scene.app.list(Kind::Inventory).unwrap().order().column, "name");
}

#[test]
fn chosen_column_is_shown_or_said_to_have_no_room() {
    let mut scene = Scene::new();
    let lamp = json!({ "name": "A lamp", "current_value": "130.50", "serial_number": "SN-1", "category": "other" });
    scene.other.create(Kind::Inventory, &fields(lamp)).unwrap();
    scene.takes(Message::DatabaseChanged);
    let toggles = |scene: &mut Scene, name: &str| {
        scene.types("c");
        let Some(Layer::Columns(choice)) = scene.app.layers.last() else { panic!("no choice of columns") };
        let place = choice.all.iter().position(|one| *one == name).unwrap();
        scene.types(&"j".repeat(place));
        scene.types(" ");
    };
    scene.types("3");
    screen(&mut scene, 120, 24);
    toggles(&mut scene, "serial_number");
    scene.types("\n");
    let text = screen(&mut scene, 120, 24);
    for shown in ["Serial number", "SN-1", "Value", "130.50"] {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
    assert!(!text.contains("Make"), "an empty usual column gives way:\n{text}");
    toggles(&mut scene, "purchased_from");
    let text = screen(&mut scene, 50, 40);
    let line = text.lines().find(|line| line.contains("Purchased from")).unwrap_or_else(|| panic!("{text}"));
    assert!(line.contains("no room"), "{text}");
    scene.types("\n");
    let text = screen(&mut scene, 90, 24);
    assert!(text.contains("no room for "), "{text}");
}

#[test]
fn column_that_sorts_the_list_is_shown() {
    let mut scene = Scene::new();
    scene.types("6");
    assert!(!screen(&mut scene, 80, 24).contains("Issued on"));
    scene.other.create(Kind::Document, &fields(json!({ "title": "Deed", "issued_on": "2026-11-01" }))).unwrap();
    scene.takes(Message::DatabaseChanged);
    scene.types("ss");
    let text = screen(&mut scene, 80, 24);
    assert!(text.contains("Issued on ↓") && text.contains("1 Nov"), "{text}");
}

#[test]
fn value_column_and_sums_agree() {
    let mut scene = Scene::new();
    let chairs = json!({ "name": "Chairs", "quantity": 8, "current_value": "130.50" });
    scene.other.create(Kind::Inventory, &fields(chairs)).unwrap();
    scene
        .other
        .create(Kind::Inventory, &fields(json!({ "name": "Cups", "quantity": 6, "purchase_price": "2.50" })))
        .unwrap();
    scene.types("3fC\n");
    let text = screen(&mut scene, 109, 24);
    for shown in ["1,044.00", "15.00", "worth 1,059"] {
        assert!(text.contains(shown), "{shown}:\n{text}");
    }
    scene.types("f");
    scene.types(" value>=1000");
    assert!(screen(&mut scene, 109, 24).contains("1 of 32 items"));
    scene.types("\n");
    assert!(screen(&mut scene, 130, 24).contains("Value, each"));
}

#[test]
fn filter_lists_either_room() {
    let mut scene = Scene::new();
    for room in ["Kitchen", "Attic", "Garage"] {
        let id = scene.other.create(Kind::Room, &fields(json!({ "name": room }))).unwrap();
        let lamp = json!({ "name": format!("Lamp of the {room}"), "room_id": id });
        scene.other.create(Kind::Inventory, &fields(lamp)).unwrap();
    }
    scene.types("3froom:kitch,attic");
    let text = screen(&mut scene, 100, 24);
    assert!(text.contains("Lamp of the Kitchen") && text.contains("Lamp of the Attic"), "{text}");
    assert!(text.contains("2 of 33 items"), "{text}");
}

#[test]
fn save_and_next_keeps_the_room() {
    let mut scene = Scene::new();
    scene.types("3nRug");
    scene.takes(Message::Key(KeyEvent::new(KeyCode::Tab, KeyModifiers::NONE)));
    scene.types("evil\n");
    presses(&mut scene, 'n');
    let Some(Layer::Form(form)) = scene.app.layers.last() else { panic!("no next form") };
    assert!(form.is_new() && !form.is_changed() && form.saving.is_none());
    assert_eq!(scene.app.layers.len(), 1);
    scene.types("Lamp");
    presses(&mut scene, 's');
    assert!(scene.app.layers.is_empty());
    for name in ["Rug", "Lamp"] {
        let hits = scene.replica.search(name, 9).unwrap();
        let row = scene.replica.row(Kind::Inventory, &hits[0].id).unwrap().unwrap();
        assert!(row.names.contains_key("room_id"), "{name}");
    }
}

#[test]
fn duplicate_opens_a_filled_form() {
    let mut scene = Scene::new();
    scene.types("3Y");
    let text = screen(&mut scene, 80, 24);
    assert!(text.contains("New item") && text.contains("Item 0"), "{text}");
    scene.types(" b");
    presses(&mut scene, 's');
    let names: Vec<String> = scene.replica.search("item", 99).unwrap().into_iter().map(|hit| hit.title).collect();
    assert!(names.contains(&"Item 0 b".to_owned()) && names.contains(&"Item 0".to_owned()), "{names:?}");
    // A profile exists once.
    scene.types("pY");
    assert!(!matches!(scene.app.layers.last(), Some(Layer::Form(_))));
}

#[test]
fn metric_home_reads_and_filters_in_its_units() {
    let mut scene = Scene::new();
    let profile = json!({ "address": "1 Way", "currency": "EUR", "unit_system": "metric", "living_area_sq_ft": 1_000 });
    scene.other.update(Kind::Property, "", &fields(profile)).unwrap();
    for (name, area) in [("Hall", 214), ("Loft", 500)] {
        scene.other.create(Kind::Room, &fields(json!({ "name": name, "area_sq_ft": area }))).unwrap();
    }
    scene.takes(Message::DatabaseChanged);
    scene.types("1");
    let text = screen(&mut scene, 130, 40);
    assert!(text.contains("92.9 m²") && text.contains("375 EUR"), "{text}");
    scene.types("3");
    let text = screen(&mut scene, 130, 40);
    assert!(text.contains("Value, EUR") && text.contains("worth 375 EUR"), "{text}");
    scene.types("4");
    let text = screen(&mut scene, 130, 40);
    assert!(text.contains("Area, m²") && text.contains("19.9") && text.contains("46.45"), "{text}");
    scene.types("farea>=20\n");
    assert_eq!(scene.app.list(Kind::Room).unwrap().total, 1);
    scene.types("e");
    let text = screen(&mut scene, 130, 40);
    assert!(text.contains("Area, m²") && text.contains("46.45"), "{text}");
    // Another device changes the units while the form is open.
    scene.other.update(Kind::Property, "", &fields(json!({ "unit_system": "imperial" }))).unwrap();
    scene.takes(Message::DatabaseChanged);
    let text = screen(&mut scene, 130, 40);
    assert!(text.contains("Area, sq ft") && text.contains("500") && !text.contains("46.45"), "{text}");
}
