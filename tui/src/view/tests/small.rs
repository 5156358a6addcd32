//! Texts on small screens: important text is shortened with a mark and never hidden without a mark. Must not use a
//! replica.

use super::*;
use hearth_replica::Method;

/// The words on the screen, separated by single spaces.
fn flat(app: &mut App, width: u16, height: u16) -> String {
    screen(app, width, height).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn narrowest_screen_shows_every_tab_key() {
    for (key, first) in [
        ('1', " 1 Home 2 3 4 5 6"),
        ('2', " 1 2 Tasks 3 4 5 6"),
        ('3', " 1 2 3 Invent… 4 5 6"),
        ('5', " 1 2 3 4 5 Vehicl… 6"),
        ('6', " 1 2 3 4 5 6 Docume…"),
    ] {
        let mut app = household();
        letter(&mut app, key);
        assert_eq!(screen(&mut app, 20, 5).lines().next(), Some(first));
    }
}

#[test]
fn conflict_shows_both_sides_on_small_screens() {
    for (width, height) in [(20, 5), (20, 24), (80, 5), (39, 7), (40, 9)] {
        let mut app = household();
        let mut conflict = ConflictScreen::of(1, Method::Update);
        conflict.set_conflicts(vec![clash("due_on", "2026-12-24")]);
        app.layers.push(Layer::Conflict(conflict));
        let text = screen(&mut app, width, height);
        assert_says(&text, &["Due on", "! choose", "Mine    Tue 1 Dec", "Theirs  Thu 24 D"]);
        letter(&mut app, 'e');
        let text = screen(&mut app, width, height);
        assert_says(&text, &["Due", "2026-12-01"]);
    }
}

#[test]
fn question_shortens_name_before_consequence() {
    let mut row =
        record(Kind::Room, "r", json!({ "name": "Attic above the garage with the old furniture and the skis" }));
    row.rev = Some(1);
    let follows = "Items in it lose their room; tasks about it become general. Undo recreates it, empty.";
    let ask = |width, height| {
        let mut app = household();
        letter(&mut app, '4');
        let effects = letter(&mut app, '4');
        give(&mut app, &effects, vec![row.clone()]);
        letter(&mut app, 'd');
        flat(&mut app, width, height)
    };
    let whole = ask(80, 24).replace('│', "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&whole, &["and the skis”?", "Undo recreates it, empty.", "y yes"]);
    let short = ask(50, 9).replace('│', "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&short, &["Delete the room “Attic", "…”?", follows, "y yes"]);
    let least = ask(20, 5);
    assert_says(&least, &["Delete the room", "…", "y yes"]);
}

#[test]
fn empty_home_text_is_shown_in_full() {
    for width in [80, 50, 24] {
        let (mut app, _) = App::start(now(), Setup::default(), Session::default(), (80, 24));
        let empty = Overview { profile: None, ..Overview::default() };
        app.update(now(), Message::Answer(Answer::Overview(app.home.ticket, Ok(empty))));
        let list = |app: &mut App| {
            let text = screen(app, width, 24);
            let lines = text.lines().map(|line| line.chars().take(48).collect::<String>());
            let words: Vec<String> =
                lines.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect();
            words.join(" ")
        };
        assert_says(
            &list(&mut app),
            &[
                "This home is empty so far.",
                "3 the inventory: rooms are under 4, n adds a record",
                "? all other actions",
            ],
        );
        app.update(now(), Message::Answer(Answer::Counts(vec![(Kind::Task, 1)])));
        assert_says(&list(&mut app), &["Nothing is due this week or the next, and nothing runs out soon."]);
    }
}

#[test]
fn bulk_form_heading_is_shown_in_full() {
    let mut app = household();
    let records = (0..1_234).map(|number| (number.to_string(), String::new())).collect();
    app.layers.push(Layer::Form(Box::new(Form::bulk(Kind::Document, records, 1_200, app.today))));
    let sentence = "Change 1,234 documents (1,200 not visible): each filled field is set in all of them";
    for (width, height) in [(80, 24), (50, 15)] {
        assert_says(&flat(&mut app, width, height), &[sentence]);
    }
}

#[test]
fn search_hit_keeps_stars_of_the_title() {
    let found = |title: &str, snippet: &str, kind| {
        let mut app = household();
        letter(&mut app, '/');
        let Some(Layer::Search(search)) = app.layers.last_mut() else { panic!("{:?}", app.layers) };
        search.set_hits(vec![Hit { kind, id: "a".into(), title: title.into(), snippet: snippet.into() }]);
        app
    };
    let mut house = found("1847 Larkspur Hollow", "**1847** Larkspur Hollow", Kind::Property);
    assert_says(&screen(&mut house, 80, 24), &["home profile  1847 Larkspur Hollow"]);
    let mut stars = found("Rate **** hotels", "Rate **** **hotels**", Kind::Task);
    for width in [120, 80, 50, 40] {
        let text = screen(&mut stars, width, 24);
        assert_eq!(text.matches("Rate **** hotels").count(), 1, "{text}");
    }
    let mut elsewhere = found("Rate **** hotels", "south **side**", Kind::Task);
    assert_says(&screen(&mut elsewhere, 40, 24), &["Rate **** hotels"]);
}
