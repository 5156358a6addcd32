//! The index of `search`: scripts add segments, and the sync merges them.

use hearth_contract::search_text;
use unicode_normalization::UnicodeNormalization;

use super::*;

/// The number of segments of the index. A query reads every segment.
fn segments(scene: &Scene) -> u32 {
    scene.one("SELECT count(DISTINCT id >> 37) FROM search_data WHERE id > 10").parse().unwrap()
}

#[test]
fn only_sync_merges_search_index() {
    let mut scene = Scene::new();
    for id in 0..100 {
        scene.does(&format!("INSERT INTO tasks (title) VALUES ('Paint {id}')"));
        scene.does(&format!("UPDATE tasks SET title = 'Sand {id}' WHERE title = 'Paint {id}'"));
    }
    assert_eq!(segments(&scene), 200, "a script merges nothing, whatever its version of SQLite");
    scene.hear(task(5, "Paint", "low"));
    assert!(segments(&scene) < 20);
    let found = "SELECT count(*), (SELECT count(*) FROM search WHERE search MATCH 'paint') FROM search WHERE search MATCH 'sand'";
    scene.shows(found, json!([100, 1]));
    // An edit transaction merges its segments too.
    for id in 0..100 {
        let text = format!("UPDATE tasks SET title = 'Oil {id}' WHERE title = 'Sand {id}'");
        gate::edit_tx(&mut scene.db, Origin::Tui, |tx| tx.execute(&text, [])).unwrap();
    }
    assert!(segments(&scene) < 20);
    // A refilled index keeps the settings of a new one.
    gate::sync_tx(&mut scene.db, schema::search::refill).unwrap();
    let before = segments(&scene);
    for _ in 0..50 {
        scene.does("UPDATE tasks SET notes = coalesce(notes, '') || 'x' WHERE title = 'Oil 7'");
    }
    assert_eq!(segments(&scene), before + 50);
    assert!(schema::search::is_complete(&scene.db).unwrap());
}

#[test]
fn script_merges_index_at_limit() {
    let mut scene = Scene::new();
    // Merged segments count towards the limit as well, and large ones more.
    for round in 0..12 {
        let words: Vec<String> = (0..2_000 >> (round / 4)).map(|word| format!("{round}x{word}")).collect();
        let fields = json!({ "title": "Paint", "priority": "low", "status": "open", "notes": words.join(" ") });
        let id = format!("018f0000-0000-7000-8000-{round:012}");
        scene.hear(event(round + 5, "created", "task", &id, fields));
    }
    scene.does("BEGIN");
    for id in 0..2_100 {
        scene.does(&format!("INSERT INTO tasks (title) VALUES ('Sand {id}')"));
    }
    scene.does("COMMIT");
    assert_eq!(scene.one("SELECT count(*) FROM search WHERE search MATCH 'sand'"), "2100");
    assert!(segments(&scene) < schema::search::CRISIS_SEGMENTS);
    assert!(schema::search::is_complete(&scene.db).unwrap());
}

#[test]
fn title_is_found_in_each_script() {
    let mut scene = Scene::new();
    for name in ["गाड़ी", "বাড়ি", "ଘୋଡ଼ା", "ရေချိုးခန်း", "ⓐⓑ test", "Öltank", "車庫", "e\u{301}tage"]
    {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
        let found = view::search(&scene.db, name, 9).unwrap();
        assert_eq!(found.iter().map(|hit| hit.title.as_str()).collect::<Vec<_>>(), [name]);
    }
}

/// Titles that a search finds, with the snippet.
fn found(scene: &Scene, question: &str) -> Vec<(String, String)> {
    view::search(&scene.db, question, 9).unwrap().into_iter().map(|hit| (hit.title, hit.snippet)).collect()
}

#[test]
fn strokes_signs_and_codes_fold_for_every_writer() {
    let mut scene = Scene::written(
        "INSERT INTO tasks (title, notes) VALUES ('Łódź', 'Ring 036000291452'), ('Plain lodz', '冷蔵庫のフィルター')",
    );
    scene.hear([
        task(5, "Smørrebrød", "low"),
        event(6, "created", "room", "018f0000-0000-7000-8000-0000000000aa", json!({ "name": "ตู้เย็น" })),
    ]);
    for (question, expected) in [
        ("lodz", &[("Łódź", "**Łódź**"), ("Plain lodz", "Plain **lodz**")][..]),
        ("ŁÓD", &[("Łódź", "**Łódź**"), ("Plain lodz", "Plain **lodz**")]),
        ("smorre", &[("Smørrebrød", "**Smørrebrød**")]),
        ("蔵庫", &[("Plain lodz", "冷**蔵庫**のフィルター")]),
        ("庫", &[("Plain lodz", "冷蔵**庫**のフィルター")]),
        ("庫蔵", &[]),
        ("เย็น", &[("ตู้เย็น", "ตู้**เย็น**")]),
        ("0036000291452", &[("Łódź", "Ring **036000291452**")]),
        ("0036000291452 ring", &[("Łódź", "**Ring** **036000291452**")]),
        ("0036000291452 lamp", &[]),
    ] {
        let expected: Vec<(String, String)> =
            expected.iter().map(|(title, snippet)| ((*title).to_owned(), (*snippet).to_owned())).collect();
        let mut found = found(&scene, question);
        found.sort_by_key(|(title, _)| title.starts_with("Plain"));
        assert_eq!(found, expected, "{question}");
    }
    assert!(schema::search::is_complete(&scene.db).unwrap());
    scene.does("UPDATE tasks SET title = 'Gdańsk' WHERE title = 'Łódź'");
    assert_eq!(found(&scene, "lodz").len(), 1);
}

/// Words of scripts that the index folds itself, or by their plain form.
const WORDS: &str = "Καφές ΚΑΦΈΣ ψυγείο Ψυγεία ηλεκτρικός προϊόν ΰφανση ταΐζω Ωμέγα µm-Filter Ёлка йод Холодильник їжа Ќуп ѓавол ўсё Чайник Łódź Smørrebrød Straße Crème İstanbul ＳＯＮＹ１２ ｔｖ ﬁlter CO₂ m² 冷蔵庫 Háček";

/// The ways in which people type a word: as it is, its beginning, and in other cases, accents and compositions.
fn spellings(word: &str) -> Vec<String> {
    let beginning: String = word.chars().take(word.chars().count().div_ceil(2)).collect();
    let accents_apart: String = word.nfd().collect();
    let folded = search_text::fold(word);
    [word.to_owned(), word.to_lowercase(), word.to_uppercase(), beginning, accents_apart, folded].into()
}

#[test]
fn words_that_server_finds_are_found() {
    let mut scene = Scene::new();
    for word in WORDS.split(' ') {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{word}'), ('{}')", word.nfd().collect::<String>()));
    }
    let titles: Vec<String> = WORDS.split(' ').flat_map(|word| [word.to_owned(), word.nfd().collect()]).collect();
    for question in WORDS.split(' ').flat_map(spellings) {
        let terms = search_text::terms(&question);
        let hits = view::search(&scene.db, &question, 100).unwrap();
        for title in &titles {
            let is_found_by_server =
                terms.iter().all(|term| search_text::marked(title, std::slice::from_ref(term), 9).is_some());
            let is_found = hits.iter().any(|hit| hit.title == *title);
            assert!(is_found_by_server || question != *title, "the server does not find {title} by itself");
            assert!(is_found || !is_found_by_server, "{question} does not find {title}");
        }
    }
    assert!(schema::search::is_complete(&scene.db).unwrap());
}
