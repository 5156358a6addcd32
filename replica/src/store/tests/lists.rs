//! Lists as screens read them: pages in every order, in both directions, with conditions.

use hearth_contract::schema::Kind;
use serde_json::json;

use super::Scene;
use crate::store::read::filter::{Condition, Test, WAITING};
use crate::store::read::totals::Weeks;
use crate::store::read::view::{Near, Pending, RowQuery, Sort};
use crate::store::read::{overview, page, related, totals, view};
use crate::store::schema::worth::WORTH;
use crate::store::{Connection, sync_state};

/// A home of items in rooms and tasks on days, with many equal values.
fn home() -> Scene {
    let mut scene = Scene::unconnected();
    sync_state::leave_local(&mut scene.db).unwrap();
    scene.does(
        "INSERT INTO rooms (id, name) VALUES ('00000000-0000-4000-8000-000000000001', 'Kitchen'),
                                                 ('00000000-0000-4000-8000-000000000002', 'Attic');
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199)
             INSERT INTO inventory (name, room_id, category, current_value, quantity, warranty_expires_on)
             SELECT 'Thing ' || (i % 40), CASE i % 3 WHEN 0 THEN '00000000-0000-4000-8000-000000000001'
                                                     WHEN 1 THEN '00000000-0000-4000-8000-000000000002' END,
                    CASE i % 4 WHEN 0 THEN 'tool' WHEN 1 THEN 'other' WHEN 2 THEN 'appliance' END,
                    CASE WHEN i % 5 > 0 THEN printf('%d.25', i * 37 % 1000) END, 1 + i % 2,
                    CASE WHEN i % 2 THEN date('2026-11-21', (i - 100) || ' days') END FROM n;
             WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
             INSERT INTO tasks (title, status, priority, due_on)
             SELECT 'Task ' || (i % 30), CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'in_progress' ELSE 'done' END,
                    CASE i % 4 WHEN 0 THEN 'low' WHEN 1 THEN 'medium' WHEN 2 THEN 'high' ELSE 'urgent' END,
                    CASE WHEN i % 7 THEN date('2026-11-21', (i - 30) || ' days') END FROM n;",
    );
    scene
}

/// Saturday, the Sunday after, and the Sunday of the next week.
fn weeks() -> Weeks {
    Weeks { today: "2026-11-21".into(), this: "2026-11-22".into(), next: "2026-11-29".into() }
}

/// Whether the first task has pending edits and was changed here, from the list and from the single row.
fn of_first_task(connection: &Connection) -> [(Pending, bool); 2] {
    let listed = page::page(connection, &RowQuery::all(Kind::Task, Sort { column: "title", descending: false }, 1));
    let listed = listed.unwrap().rows.remove(0);
    let alone = view::row(connection, Kind::Task, &listed.id).unwrap().unwrap();
    [(listed.pending, listed.own), (alone.pending, alone.own)]
}

#[test]
fn foreign_columns_do_not_mark_rows() {
    let Scene { db: connection, .. } = &home();
    assert_eq!(of_first_task(connection), [(Pending::Waiting, false); 2]);
    for name in ["pending", "own"] {
        connection.execute_batch(&format!("ALTER TABLE tasks ADD COLUMN {name} TEXT")).unwrap();
        assert_eq!(of_first_task(connection), [(Pending::Waiting, false); 2], "{name}");
        connection.execute_batch(&format!("UPDATE tasks SET {name} = 'mine'")).unwrap();
        assert_eq!(of_first_task(connection), [(Pending::Waiting, false); 2], "{name}");
    }
}

fn ids(connection: &Connection, query: &RowQuery) -> Vec<String> {
    page::page(connection, query).unwrap().rows.into_iter().map(|row| row.id).collect()
}

#[test]
fn pages_cover_list_in_every_order() {
    let Scene { db: connection, .. } = &home();
    for (kind, column) in [
        (Kind::Inventory, "name"),
        (Kind::Inventory, "room_id"),
        (Kind::Inventory, "category"),
        (Kind::Inventory, "current_value"),
        (Kind::Inventory, WORTH),
        (Kind::Inventory, "warranty_expires_on"),
        (Kind::Inventory, "serial_number"),
        (Kind::Task, "status"),
        (Kind::Task, "due_on"),
        (Kind::Task, "priority"),
        (Kind::Task, "updated_at"),
        (Kind::Task, "id"),
        (Kind::Task, "rev"),
    ] {
        for descending in [false, true] {
            let all = RowQuery::all(kind, Sort { column, descending }, 1_000);
            let whole = ids(connection, &all);
            let mut seen = whole.clone();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), if kind == Kind::Task { 100 } else { 200 }, "{column}");
            for (number, id) in whole.iter().enumerate().step_by(17) {
                for offset in (0..whole.len()).step_by(23) {
                    let near = Some(Near { id: id.clone(), number });
                    let expected = &whole[offset..whole.len().min(offset + 9)];
                    for near in [None, near] {
                        let part = RowQuery { offset, limit: 9, near, ..all.clone() };
                        assert_eq!(ids(connection, &part), expected, "{column} {descending} {offset} {number}");
                    }
                }
            }
        }
    }
}

#[test]
fn search_finds_common_and_rare_words() {
    let Scene { db: connection, .. } = &home();
    for (column, descending) in [("name", false), ("current_value", true), ("room_id", false), ("quantity", false)] {
        let all = RowQuery::all(Kind::Inventory, Sort { column, descending }, 1_000);
        let whole = page::page(connection, &all).unwrap().rows;
        for (words, many) in [("thing", 200), ("1", 55), ("12", 5), ("nothing", 0)] {
            let has = |title: &str| title.to_lowercase().split(' ').any(|word| word.starts_with(words));
            let found = RowQuery { words: words.to_owned(), ..all.clone() };
            let expected: Vec<_> = whole.iter().filter(|row| has(&row.title)).map(|row| row.id.clone()).collect();
            assert_eq!((expected.len(), ids(connection, &found)), (many, expected.clone()), "{words} by {column}");
            let tools = vec![Condition::field("category", Test::Is("tool".into()))];
            let found = RowQuery { conditions: tools, ..found };
            let tools: Vec<_> =
                whole.iter().filter(|row| has(&row.title) && row.fields["category"] == "tool").collect();
            let page = page::page(connection, &RowQuery { offset: 2, limit: 7, ..found.clone() }).unwrap();
            assert_eq!(page.total, tools.len());
            let expected: Vec<&str> = tools.iter().skip(2).take(7).map(|row| row.id.as_str()).collect();
            let seen: Vec<&str> = page.rows.iter().map(|row| row.id.as_str()).collect();
            assert_eq!(seen, expected, "tools with {words} by {column}");
            let cents = |row: &&&crate::store::read::view::Row| {
                let quantity = row.fields["quantity"].as_i64().unwrap();
                let each =
                    row.fields["current_value"].as_str().map(|text| text.replace('.', "").parse::<i64>().unwrap());
                each.map_or(0, |each| each * quantity)
            };
            let totals = totals::totals(connection, &found, &weeks()).unwrap();
            assert_eq!(totals.cents.unwrap_or_default(), tools.iter().map(|row| cents(&row)).sum::<i64>());
        }
    }
}

#[test]
fn orders_sort_by_their_field() {
    let Scene { db: connection, .. } = &home();
    let rows = |kind, column, descending| {
        page::page(connection, &RowQuery::all(kind, Sort { column, descending }, 1_000)).unwrap().rows
    };
    let values: Vec<f64> = rows(Kind::Inventory, "current_value", true)
        .iter()
        .map(|row| row.fields["current_value"].as_str().map_or(-1.0, |text| text.parse().unwrap()))
        .collect();
    assert!(values.is_sorted_by(|a, b| a >= b), "the greatest first, those without a value last");
    let days: Vec<String> = rows(Kind::Task, "due_on", false)
        .iter()
        .map(|row| match (row.fields["status"].as_str(), row.fields["due_on"].as_str()) {
            (Some("done"), day) => format!("~~{}", day.unwrap_or("~")),
            (_, day) => day.unwrap_or("~").to_owned(),
        })
        .collect();
    assert!(days.is_sorted(), "what is to be done by its day, without a day after that, done at the end");
    let first = &rows(Kind::Task, "priority", true)[0];
    assert_eq!((&first.fields["priority"], &first.fields["due_on"]), (&"urgent".into(), &"2026-10-25".into()));
    let rooms: Vec<String> = rows(Kind::Inventory, "room_id", false)
        .iter()
        .map(|row| row.names.get("room_id").cloned().unwrap_or("~".into()))
        .collect();
    assert!(rooms.is_sorted() && rooms[0] == "Attic", "rooms by name, no room last");
    assert!(rows(Kind::Task, "id", false).is_sorted_by_key(|row| row.id.clone()));
    let revs: Vec<Option<i64>> = rows(Kind::Task, "rev", true).iter().map(|row| row.rev).collect();
    assert!(revs.len() > 9 && revs.is_sorted_by(|a, b| a >= b), "{revs:?}");
}

#[test]
fn totals_match_conditions() {
    let Scene { db: connection, .. } = &home();
    let tasks = RowQuery::all(Kind::Task, Sort { column: "due_on", descending: false }, 1_000);
    let totals = totals::totals(connection, &tasks, &weeks()).unwrap();
    let count = |key: &str| totals.groups.iter().find(|group| group.key == key).map_or(0, |group| group.count);
    let with = |conditions: Vec<(&'static str, Test)>| {
        let conditions = conditions.into_iter().map(|(field, test)| Condition::field(field, test)).collect();
        page::page(connection, &RowQuery { conditions, ..tasks.clone() }).unwrap().total
    };
    let open = || ("status", Test::IsNot("done".into()));
    assert_eq!(count("overdue"), with(vec![open(), ("due_on", Test::Below("2026-11-21".into()))]));
    assert_eq!(count("none"), with(vec![open(), ("due_on", Test::Unset)]));
    assert_eq!(count("done"), with(vec![("status", Test::Is("DONE".into()))]));
    assert_eq!(with(vec![(WAITING, Test::Set)]), 100, "all were made here");
    assert_eq!(with(vec![("title", Test::Has("k 1_".into()))]), 0, "a wildcard is a letter");
    let things = RowQuery::all(Kind::Inventory, Sort { column: "room_id", descending: false }, 1_000);
    let in_attic = vec![Condition::field("room_id", Test::Has("attic".into()))];
    let attic = page::page(connection, &RowQuery { conditions: in_attic, ..things.clone() }).unwrap();
    let groups = totals::totals(connection, &things, &weeks()).unwrap();
    assert_eq!(groups.groups[0].title, "Attic");
    assert_eq!(groups.groups[0].count, attic.total);
    assert_eq!(groups.cents, Some(groups.groups.iter().map(|group| group.cents).sum()));
    let figures = overview::figures(connection, "2020-01-01").unwrap();
    assert_eq!(figures.rooms.iter().map(|(_, cents)| cents).sum::<i64>(), groups.cents.unwrap());
    let days = crate::Days { weeks: weeks(), from: "2026-11-01".into(), until: "2026-12-31".into() };
    let overview = overview::load_overview(connection, &days).unwrap();
    assert_eq!((overview.overdue, overview.today), (count("overdue"), count("today")));
    assert_eq!((overview.week, overview.next_week), (count("week"), count("next_week")));
    assert!(overview.due.iter().all(|row| row.fields["due_on"].as_str().unwrap() <= "2026-11-29"));
    assert!(overview.expiring.is_sorted_by_key(|it| it.on.clone()) && overview.expiring[0].on.as_str() >= "2026-11-01");
    let room = related::related(connection, Kind::Room, "00000000-0000-4000-8000-000000000002", 3).unwrap();
    assert_eq!((room.len(), room[0].total, room[0].first.len()), (1, attic.total, 3));
    let changes = related::changes(connection, Kind::Inventory, &attic.rows[0].id, 9).unwrap();
    assert_eq!((changes.len(), changes[0].method.as_str(), changes[0].state.as_str()), (1, "create", "waiting"));
}

#[test]
fn groups_follow_row_order() {
    let Scene { db: connection, .. } = &home();
    for (kind, column) in
        [(Kind::Inventory, "category"), (Kind::Inventory, "room_id"), (Kind::Task, "status"), (Kind::Task, "priority")]
    {
        for descending in [false, true] {
            let query = RowQuery::all(kind, Sort { column, descending }, 1_000);
            let mut keys: Vec<String> = page::page(connection, &query)
                .unwrap()
                .rows
                .iter()
                .map(|row| match row.fields.get("status").filter(|_| column == "priority") {
                    Some(status) if status == "done" => "done".to_owned(),
                    _ => row.fields[column].as_str().unwrap_or_default().to_owned(),
                })
                .collect();
            keys.dedup();
            let groups = totals::totals(connection, &query, &weeks()).unwrap().groups;
            let named: Vec<String> = groups.into_iter().map(|group| group.key).collect();
            assert_eq!(named, keys, "{column} {descending}");
        }
    }
}

#[test]
fn page_is_read_from_index() {
    let Scene { db: connection, .. } = &home();
    for (kind, column) in
        [(Kind::Task, "due_on"), (Kind::Inventory, WORTH), (Kind::Inventory, "name"), (Kind::Document, "expires_on")]
    {
        let key = crate::store::schema::order::sort_key(kind, column);
        let text = format!("EXPLAIN QUERY PLAN SELECT * FROM {} t ORDER BY {key}, t.rowid LIMIT 9", kind.collection());
        let plan: String = connection.query_row(&text, [], |row| row.get("detail")).unwrap();
        assert!(plan.contains(&format!("_by_{column}")), "{plan}");
    }
}

#[test]
fn changes_by_others_read_newest_rows() {
    let mut scene = Scene::new();
    scene.hear(super::event(5, "created", "room", super::ROOM, serde_json::json!({ "name": "Theirs" })));
    scene.forces("UPDATE rooms SET updated_at = '2020-01-01T00:00:00.000Z'");
    let latest = |scene: &Scene| {
        let day = || "2026-11-21".to_owned();
        let days = crate::Days { weeks: Weeks { today: day(), this: day(), next: day() }, from: day(), until: day() };
        overview::load_overview(&scene.db, &days).unwrap().latest.map(|latest| latest.title)
    };
    let newer = overview::LATEST_MAX - 1;
    let text = format!(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {newer})
         INSERT INTO rooms (name) SELECT 'Mine ' || i FROM n"
    );
    scene.does(&text);
    assert_eq!(latest(&scene).as_deref(), Some("Theirs"));
    scene.does("INSERT INTO rooms (name) VALUES ('One more of mine')");
    assert_eq!(latest(&scene), None);
}

#[test]
fn expiring_reads_each_record_once() {
    let mut scene = Scene::new();
    let day = |n: i64| if n % 3 == 0 { "NULL".to_owned() } else { format!("'20{}-02-03'", 20 + n * 7 % 60) };
    for n in 0..12 {
        scene.does(&format!("INSERT INTO inventory (name, warranty_expires_on) VALUES ('item {n}', {})", day(n)));
        let category = ["NULL", "'manual'"][(n % 2) as usize];
        scene.does(&format!(
            "INSERT INTO documents (title, category, expires_on) VALUES ('paper {n}', {category}, {})",
            day(n + 1)
        ));
        scene.does(&format!(
            "INSERT INTO vehicles (name, insurance_expires_on, registration_expires_on) VALUES ('car {n}', {}, {})",
            day(n + 1),
            day(n + 2)
        ));
    }
    let plain = "SELECT * FROM (
        SELECT warranty_expires_on AS expires_on, 'warranty' AS what, 'inventory' AS kind, id, name FROM inventory
        UNION ALL SELECT insurance_expires_on, 'insurance', 'vehicle', id, name FROM vehicles
        UNION ALL SELECT registration_expires_on, 'registration', 'vehicle', id, name FROM vehicles
        UNION ALL SELECT expires_on, coalesce(category, 'document'), 'document', id, title FROM documents)
        WHERE expires_on IS NOT NULL ORDER BY expires_on, name";
    let of =
        |scene: &Scene, query: &str| scene.rows(&format!("SELECT expires_on, what, kind, id, name FROM ({query})"));
    let records = "SELECT expires_on, what, kind, record_id AS id, name FROM expiring";
    for tables in ["", "inventory", "vehicles", "documents"] {
        if !tables.is_empty() {
            scene.does(&format!("DELETE FROM {tables}"));
        }
        assert_eq!(of(&scene, records), of(&scene, plain), "{tables}");
    }
    let mut plan = scene.db.prepare("EXPLAIN QUERY PLAN SELECT * FROM expiring").unwrap();
    let steps: Vec<String> = plan.query_map([], |row| row.get(3)).unwrap().collect::<Result<_, _>>().unwrap();
    let through: Vec<&String> = steps.iter().filter(|step| step.starts_with("SCAN")).collect();
    assert!(matches!(&through[..], [words] if words.starts_with("SCAN s ")), "{steps:?}");
}

#[test]
fn home_value_keeps_rooms_of_equal_name() {
    let mut scene = Scene::new();
    for n in 1..=2 {
        let room = format!("0190a3b0-0000-7000-8000-0000000000a{n}");
        scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{room}', 'Bedroom')"));
        scene.does(&format!(
            "INSERT INTO inventory (name, room_id, category, quantity, current_value) VALUES ('Bed', '{room}', 'furniture', {n}, '{n}.50')"
        ));
    }
    let nowhere = "'0190a3b0-0000-7000-8000-0000000000a9'";
    scene.does(&format!("INSERT INTO inventory (name, room_id) VALUES ('In a room that is not known', {nowhere})"));
    scene.does("INSERT INTO inventory (name) VALUES ('In no room')");
    assert_eq!(
        scene.rows("SELECT room, category, items, pieces, value_cents FROM home_value"),
        json!([["Bedroom", "furniture", 1, 1, 150], ["Bedroom", "furniture", 1, 2, 500], [null, null, 2, 2, null]])
    );
}

#[test]
fn numbers_in_names_sort_by_value() {
    let mut scene = Scene::new();
    let sorted = "2 chairs|4|9x30|10 chairs|16x9|16x20|Bike|Bike 2|bike 2 red|Bike 10|bike 10 red|E2|E10|Shelf 2 box 9|Shelf 2 box 10|Shelf 10 box 1|v1.9|v1.10|Велосипед 2|Велосипед 10";
    let sorted: Vec<&str> = sorted.split('|').collect();
    for name in sorted.iter().rev() {
        scene.does(&format!("INSERT INTO rooms (name) VALUES ('{name}')"));
        scene.does(&format!("INSERT INTO inventory (name, category) VALUES ('{name}', 'tool')"));
        scene.does(&format!("INSERT INTO tasks (title) VALUES ('{name}')"));
        scene.does("UPDATE inventory SET room_id = (SELECT id FROM rooms WHERE rooms.name = inventory.name)");
    }
    for (kind, column) in [
        (Kind::Room, "name"),
        (Kind::Inventory, "name"),
        (Kind::Inventory, "category"),
        (Kind::Inventory, "room_id"),
        (Kind::Task, "title"),
    ] {
        for descending in [false, true] {
            let rows = page::page(&scene.db, &RowQuery::all(kind, Sort { column, descending }, 99)).unwrap().rows;
            let mut titles: Vec<&str> = rows.iter().map(|row| row.title.as_str()).collect();
            if descending {
                titles.reverse();
            }
            assert_eq!(titles, sorted, "{kind} by {column} {descending}");
        }
    }
    let titles: Vec<String> =
        page::titles(&scene.db, Kind::Room, 99).unwrap().into_iter().map(|(_, name)| name).collect();
    assert_eq!(titles, sorted);
}

#[test]
fn worth_is_equal_in_rows_sums_and_views() {
    let mut scene = Scene::new();
    scene.does("INSERT INTO rooms (id, name) VALUES ('00000000-0000-4000-8000-000000000001', 'Kitchen')");
    scene.does(
        "INSERT INTO inventory (name, room_id, quantity, current_value, purchase_price) VALUES
             ('Chairs', '00000000-0000-4000-8000-000000000001', 8, '130.50', '900.00'), ('Glasses', NULL, 12, NULL, '3.10'),
             ('Used up', NULL, 0, '40.00', NULL), ('Heirloom', NULL, 1, NULL, NULL), ('Cable', NULL, 3, '0.29', NULL),
             ('Bricks', NULL, 1000000, '900000000.00', NULL)",
    );
    let query = RowQuery::all(Kind::Inventory, Sort { column: WORTH, descending: true }, 99);
    let rows = page::page(&scene.db, &query).unwrap().rows;
    let worth: Vec<_> = rows.iter().map(|row| (row.title.as_str(), row.worth_cents())).collect();
    let bricks = 90_000_000_000_000_000;
    assert_eq!(
        worth,
        [
            ("Bricks", Some(bricks)),
            ("Chairs", Some(104_400)),
            ("Glasses", Some(3_720)),
            ("Cable", Some(87)),
            ("Used up", Some(0)),
            ("Heirloom", None)
        ]
    );
    scene.does("DELETE FROM inventory WHERE name = 'Bricks'");
    let sum = Some(104_400 + 3_720 + 87);
    assert_eq!(totals::totals(&scene.db, &query, &weeks()).unwrap().cents, sum);
    let figures = overview::figures(&scene.db, "2020-01-01").unwrap();
    assert_eq!(figures.rooms, [("Kitchen".to_owned(), 104_400), (String::new(), 3_807)]);
    for view in ["home_value", "inventory_overview"] {
        assert_eq!(scene.one(&format!("SELECT sum(value_cents) FROM {view}")), "108207", "{view}");
    }
    assert_eq!(scene.one("SELECT value_cents FROM inventory_overview WHERE name = 'Chairs'"), "104400");
}

#[test]
fn tasks_of_item_come_open_first_by_day() {
    let mut scene = Scene::new();
    let saw = "00000000-0000-4000-8000-000000000009";
    scene.does(&format!("INSERT INTO inventory (id, name) VALUES ('{saw}', 'Saw')"));
    scene.does(&format!(
        "INSERT INTO tasks (title, status, due_on, subject_type, subject_id) VALUES
             ('Oil', 'done', '2026-01-01', 'inventory', '{saw}'), ('Clean', 'open', NULL, 'inventory', '{saw}'),
             ('Sharpen', 'in_progress', '2026-12-01', 'inventory', '{saw}')"
    ));
    let tasks = related::related(&scene.db, Kind::Inventory, saw, 9).unwrap().remove(0);
    let titles: Vec<&str> = tasks.first.iter().map(|row| row.title.as_str()).collect();
    assert_eq!((tasks.total, titles), (3, vec!["Sharpen", "Clean", "Oil"]));
    assert_eq!(tasks.first[0].fields["due_on"], "2026-12-01");
}
