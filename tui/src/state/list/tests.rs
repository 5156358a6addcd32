//! Lists: scrolling, changes from others, groups.

use hearth_contract::schema::Kind;
use hearth_replica::{Group, RowPage, Totals};

use super::{List, ListLine};
use crate::fixtures::room;

/// The answer of a database with these rooms.
fn answer(list: &List, names: &[String]) -> (usize, RowPage) {
    let query = list.page_query();
    let rows = names.iter().skip(query.offset).take(query.limit).map(|name| room(name, name)).collect();
    (query.offset, RowPage { rows, total: names.len() })
}

fn reload(list: &mut List, names: &[String]) {
    for _ in 0..3 {
        let (offset, page) = answer(list, names);
        if !list.set_page(offset, page) {
            return;
        }
    }
    panic!("the list never was content");
}

fn names(numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("room {number:06}")).collect()
}

fn selected(list: &List) -> &str {
    &list.current().unwrap().title
}

#[test]
fn list_loads_three_pages_only() {
    let rooms = names(0..10_000);
    let mut list = List::new(Kind::Room);
    list.resize(20);
    reload(&mut list, &rooms);
    assert_eq!((list.total, list.rows.len(), selected(&list)), (10_000, 60, "room 000000"));
    assert!(list.select(9_999));
    reload(&mut list, &rooms);
    assert_eq!(selected(&list), "room 009999");
    assert_eq!(list.visible().len(), 20);
    assert!(list.visible().iter().all(|line| matches!(line, ListLine::Record(_, Some(_)))));
}

#[test]
fn change_keeps_selection_and_line() {
    let rooms = names(100..200);
    let mut list = List::new(Kind::Room);
    list.resize(10);
    reload(&mut list, &rooms);
    list.select(50);
    reload(&mut list, &rooms);
    let line = list.selected - list.top;
    // Three rooms appear above.
    let more: Vec<String> = names(0..3).into_iter().chain(rooms.clone()).collect();
    reload(&mut list, &more);
    assert_eq!((selected(&list), list.selected, list.selected - list.top), ("room 000150", 53, line));
    // The selected room disappears: the selection stays on its number.
    let fewer: Vec<String> = more.iter().filter(|name| *name != "room 000150").cloned().collect();
    reload(&mut list, &fewer);
    assert_eq!(selected(&list), "room 000151");
    // All rooms disappear.
    reload(&mut list, &[]);
    assert!(list.current().is_none());
}

#[test]
fn released_record_is_not_followed() {
    let mut rooms = names(0..30);
    let mut list = List::new(Kind::Room);
    list.resize(10);
    reload(&mut list, &rooms);
    list.select(3);
    list.release_selection();
    // Sums, a new size and an older page must not anchor the selection.
    list.set_totals(Totals::default());
    list.resize(11);
    reload(&mut list, &rooms);
    let moved = rooms.remove(3);
    rooms.push(moved);
    reload(&mut list, &rooms);
    assert_eq!((list.selected, selected(&list)), (3, "room 000004"));
    // From now on the selection follows the room.
    rooms.insert(0, "another".into());
    reload(&mut list, &rooms);
    assert_eq!(selected(&list), "room 000004");
}

#[test]
fn target_is_selected_or_reported_missing() {
    let mut rooms = names(0..30);
    let mut list = List::new(Kind::Room);
    list.resize(10);
    reload(&mut list, &rooms);
    rooms.insert(12, "new".into());
    list.select_when_loaded("new");
    list.set_totals(Totals::default());
    reload(&mut list, &rooms);
    assert_eq!((list.take_missing_target(), selected(&list)), (None, "new"));
    list.select(0);
    reload(&mut list, &rooms);
    list.select_when_loaded("room 000029");
    reload(&mut list, &rooms);
    assert_eq!((list.take_missing_target().as_deref(), selected(&list)), (Some("room 000029"), "room 000000"));
}

#[test]
fn page_scrolls_only_at_edges() {
    let rooms = names(0..30);
    let mut list = List::new(Kind::Room);
    list.resize(10);
    reload(&mut list, &rooms);
    list.step(9);
    assert_eq!(list.top, 0);
    list.step(1);
    assert_eq!(list.top, 1);
    list.step(-5);
    assert_eq!((list.top, list.selected), (1, 5));
    list.step(-50);
    assert_eq!((list.top, list.selected), (0, 0));
}

#[test]
fn grouped_list_keeps_selection_visible() {
    let rooms = names(0..30);
    let mut list = List::new(Kind::Room);
    list.sort_by("room_type", false);
    list.grouped = true;
    list.resize(8);
    reload(&mut list, &rooms);
    let group = |key: &str, count| Group { key: key.into(), title: String::new(), count, cents: 0 };
    list.set_totals(Totals { cents: None, groups: vec![group("bedroom", 3), group("garage", 20), group("", 7)] });
    let shape = |list: &List| -> String {
        let sign = |line: &ListLine<'_>| match line {
            ListLine::Group(group) => format!("[{}]", group.key),
            ListLine::Record(number, _) if *number == list.selected => "*".to_owned(),
            ListLine::Record(..) => "-".to_owned(),
        };
        list.visible().iter().map(sign).collect()
    };
    assert_eq!(shape(&list), "[bedroom]*--[garage]---");
    list.step(5);
    assert_eq!(shape(&list), "[bedroom]---[garage]--*");
    list.step(1);
    assert_eq!(shape(&list), "[bedroom]--[garage]---*");
    list.step(10);
    assert_eq!(shape(&list), "[garage]------*");
    for number in 0..30 {
        list.select(number);
        assert!(shape(&list).contains('*'), "{number}: {}", shape(&list));
        assert!(list.visible().len() <= 8);
    }
    // Sums of another moment do not group these rows.
    list.set_totals(Totals { cents: None, groups: vec![group("bedroom", 3)] });
    assert_eq!(shape(&list), "-------*");
    // A heading moves to the next page with its first record.
    list.select(0);
    list.set_totals(Totals { cents: None, groups: vec![group("bedroom", 6), group("garage", 24)] });
    assert_eq!(shape(&list), "[bedroom]*-----");
    list.select(6);
    assert_eq!(shape(&list), "[bedroom]-----[garage]*");
}
