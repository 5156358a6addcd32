//! The mouse on drawn screens: a click selects, a second click opens, a click outside a list does nothing. Must not use
//! a replica.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

use super::*;
use crate::state::search::Search;
use hearth_replica::Method;

fn mouse(app: &mut App, kind: MouseEventKind, column: u16, row: u16) {
    app.update(now(), Message::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }));
}

fn click(app: &mut App, column: u16, row: u16) {
    mouse(app, MouseEventKind::Down(MouseButton::Left), column, row);
}

/// The terminal line that contains a text.
fn row_of(app: &mut App, text: &str, (width, height): (u16, u16)) -> u16 {
    let drawn = screen(app, width, height);
    let row = drawn.lines().position(|line| line.contains(text));
    u16::try_from(row.unwrap_or_else(|| panic!("{text:?} is not on the screen:\n{drawn}"))).unwrap()
}

#[test]
fn home_click_selects_then_opens() {
    for (width, height) in [(80, 24), (120, 40), (50, 9)] {
        let mut app = household();
        letter(&mut app, '1');
        let row = row_of(&mut app, "Winter tyres", (width, height));
        let mut click = |column| {
            click(&mut app, column, row);
            (app.home.selected, app.layers.len())
        };
        if width > 72 {
            assert_eq!(click(width - 3), (0, 0), "the calendar is no list");
        }
        assert_eq!(click(8), (1, 0), "{width}x{height}");
        assert_eq!(click(8), (1, 1), "{width}x{height}");
    }
}

#[test]
fn search_click_selects_then_opens() {
    for size in [(80, 24), (50, 9)] {
        let mut app = household();
        letter(&mut app, '/');
        let Some(Layer::Search(search)) = app.layers.last_mut() else { panic!("{:?}", app.layers) };
        let hit = |number: usize| {
            let title = format!("Room {number}.");
            Hit { kind: Kind::Room, id: number.to_string(), snippet: title.clone(), title }
        };
        search.set_hits((0..30).map(hit).collect());
        search.selected = 29;
        let row = row_of(&mut app, "Room 27.", size);
        click(&mut app, 20, row);
        let Some(Layer::Search(search)) = app.layers.last() else { panic!("{:?}", app.layers) };
        assert_eq!(search.selected, 27, "{size:?}");
        let row = row_of(&mut app, "Room 27.", size);
        click(&mut app, 20, row);
        let Some(Layer::Detail(detail)) = app.layers.last() else { panic!("{:?}", app.layers) };
        assert_eq!(detail.id, "27");
    }
}

#[test]
fn detail_click_selects_then_opens() {
    for size in [(80, 24), (50, 9)] {
        let mut app = household();
        press(&mut app, KeyCode::Enter);
        let Some(Layer::Detail(detail)) = app.layers.last() else { panic!("{:?}", app.layers) };
        let (ticket, kind) = (detail.ticket, detail.kind);
        app.update(now(), Message::Answer(Answer::Record { ticket, kind, full: Ok(Some(full())) }));
        screen(&mut app, size.0, size.1);
        letter(&mut app, 'G');
        while !screen(&mut app, size.0, size.1).contains("manual") {
            letter(&mut app, 'k');
        }
        letter(&mut app, 'j');
        let row = row_of(&mut app, "manual", size);
        click(&mut app, 20, row);
        assert_eq!(app.layers.len(), 1);
        click(&mut app, 20, row);
        let Some(Layer::Detail(detail)) = app.layers.last() else { panic!("{:?}", app.layers) };
        assert_eq!(detail.id, "d", "{size:?}");
    }
}

#[test]
fn tab_click_opens_tab_with_any_key() {
    let mut app = household();
    app.setup.keys = chosen_keys(&[("tab.home", &["f12"]), ("tab.rooms", &[]), ("tab.vehicles", &["alt-v"])]);
    let text = screen(&mut app, 120, 40);
    let first = text.lines().next().unwrap();
    for (word, kind) in [
        ("f12 Home", Kind::Property),
        ("2 Tasks", Kind::Task),
        (" Rooms", Kind::Room),
        ("alt-v Vehicles", Kind::Vehicle),
        ("6 Documents", Kind::Document),
    ] {
        // The last column of the word.
        let end = first.find(word).unwrap_or_else(|| panic!("{word:?} is not in {first:?}")) + word.len() - 1;
        click(&mut app, u16::try_from(end).unwrap(), 0);
        assert_eq!(app.tab, kind, "{first}");
    }
}

#[test]
fn tab_click_closes_only_read_screens() {
    let mut app = household();
    let tabs = screen(&mut app, 120, 40);
    let rooms = u16::try_from(tabs.lines().next().unwrap().find("Rooms").unwrap()).unwrap();
    letter(&mut app, '/');
    click(&mut app, rooms, 0);
    assert_eq!((app.tab, app.layers.len()), (Kind::Room, 0));
    letter(&mut app, '2');
    press(&mut app, KeyCode::Enter);
    assert_eq!(app.layers.len(), 1);
    click(&mut app, rooms, 0);
    assert_eq!((app.tab, app.layers.len()), (Kind::Room, 0));
    letter(&mut app, '2');
    let mut conflict = ConflictScreen::of(1, Method::Update);
    conflict.set_conflicts(vec![clash("title", "x")]);
    app.layers.push(Layer::Conflict(conflict));
    app.layers.push(Layer::Search(Search::default()));
    click(&mut app, rooms, 0);
    assert_eq!(app.tab, Kind::Task, "an open conflict keeps the tab");
}

#[test]
fn click_beside_tabs_does_nothing() {
    let mut app = household();
    let text = screen(&mut app, 120, 40);
    let end = u16::try_from(text.lines().next().unwrap().chars().count()).unwrap();
    for (column, tab) in [(end, Kind::Task), (119, Kind::Task), (end - 1, Kind::Document)] {
        click(&mut app, column, 0);
        assert_eq!(app.tab, tab, "column {column}");
    }
}

#[test]
fn wheel_keeps_field_while_typing() {
    let mut app = household();
    let mut conflict = ConflictScreen::of(1, Method::Update);
    conflict.set_conflicts(vec![clash("title", "x"), clash("due_on", "2026-12-24")]);
    conflict.type_value();
    app.layers.push(Layer::Conflict(conflict));
    mouse(&mut app, MouseEventKind::ScrollDown, 8, 8);
    let Some(Layer::Conflict(screen)) = app.layers.last() else { panic!("{:?}", app.layers) };
    assert_eq!(screen.selected, 0);
}
