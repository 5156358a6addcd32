//! Plain SQL of scripts on the tables: what is accepted, what is refused, and with which sentence.

use hearth_contract::formats::is_url;

use super::*;
use crate::store::edits::edit_ids;
use crate::store::read::query;

#[test]
fn null_in_insert_means_default() {
    let scene = Scene::written(
        "INSERT INTO tasks (id, title, status, priority, rev, created_at, updated_at, updated_by)
         VALUES (NULL, 'Paint', NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    let made = "SELECT length(id), status, priority, rev, created_at IS NOT NULL, updated_at IS NOT NULL FROM tasks";
    scene.shows(made, json!([36, "open", "medium", null, 1, 1]));
    scene.shows("SELECT record_id = (SELECT id FROM tasks), method FROM edits", json!([1, "create"]));
    scene.shows("SELECT patch ->> 'status', patch ->> 'priority' FROM edits", json!(["open", "medium"]));
    let id = scene.one("INSERT INTO inventory (id, name, quantity) VALUES (NULL, 'Rake', NULL) RETURNING id");
    scene.shows("SELECT id, quantity FROM inventory", json!([id, 1]));
}

/// Sentences, and below each the statements that are refused with it.
const REFUSED: &str = r#"priority must be one of low, medium, high, urgent
    UPDATE tasks SET priority = 'hihg'
due_on must be a calendar date written YYYY-MM-DD
    UPDATE tasks SET due_on = '2026-02-30'
    UPDATE tasks SET due_on = '26-02-03'
completed_at is set by the server; it can be written only by the statement that sets status done
    UPDATE tasks SET completed_at = '2026-02-03'
completed_at must be a timestamp such as 2026-06-01T12:00:00Z
    UPDATE tasks SET status = 'done', completed_at = 'yesterday'
    UPDATE tasks SET status = 'done', completed_at = '2026-02-30T12:00:00Z'
recurrence_anchor is set by the server and cannot be written
    UPDATE tasks SET recurrence_anchor = '2026-02-03'
recurrence_every must be from 1 to 99
    UPDATE tasks SET recurrence_every = 100
time_zone must be a time zone such as Europe/Berlin
    UPDATE property SET time_zone = 'europe/berlin'
rev is set by the server and cannot be written
    UPDATE tasks SET rev = 3
updated_by is set by the server and cannot be written
    UPDATE tasks SET updated_by = 'me'
    INSERT INTO tasks (title, updated_by) VALUES ('a', 'me')
title is required
    UPDATE tasks SET title = NULL
    INSERT OR IGNORE INTO tasks (title) VALUES (NULL)
title must not be blank
    UPDATE tasks SET title = char(8195)
title must be one line without control characters
    UPDATE tasks SET title = 'a' || char(10)
    UPDATE tasks SET title = 'a' || char(0) || 'b'
notes must have no control characters but line breaks and tabs
    UPDATE tasks SET notes = 'a' || char(133)
subject_id is required when subject_type is room
    UPDATE tasks SET subject_type = 'room'
id never changes; insert a new row instead
    UPDATE tasks SET id = 'x'
    UPDATE OR REPLACE tasks SET id = 'x'
created_at is set by the server and cannot be written
    INSERT INTO tasks (title, created_at) VALUES ('a', '2026-01-01')
id must be a UUID with hyphens, in lower case
    INSERT INTO rooms (id, name) VALUES ('ABC', 'a')
    INSERT INTO rooms (id, name) VALUES ('0190a3b0-0000-7000-8000-00000000000a' || char(0) || 'x', 'a')
subject_id must be a UUID with hyphens, in lower case
    UPDATE tasks SET subject_type = 'room', subject_id = '0190a3b0-0000-7000-8000-00000000000a' || char(0)
purchase_price must be a decimal string such as "1299.00", at most 12 digits and 2 decimals
    INSERT INTO inventory (name, purchase_price) VALUES ('a', '1.5' || char(0))
    INSERT INTO inventory (name, purchase_price) VALUES ('a', '1.234')
vin must be 11 to 17 of the letters A-Z and digits, without I, O and Q
    INSERT INTO vehicles (name, vin) VALUES ('a', '1HGCM82633A004350' || char(0))
    INSERT INTO vehicles (name, vin) VALUES ('a', '1HGCM82633A00435O')
url must be an absolute http or https address
    INSERT INTO documents (title, url) VALUES ('a', 'http://x' || char(0))
    INSERT INTO documents (title, url) VALUES ('a', 'ftp://x')
name must have at most 200 characters
    INSERT INTO rooms (name) VALUES (hex(zeroblob(101)))
area_sq_ft must be from 0 to 2147483647
    INSERT INTO rooms (name, area_sq_ft) VALUES ('a', 2147483648)
priority cannot be null
    UPDATE tasks SET priority = NULL
year must be from 1000 to 9999
    INSERT INTO vehicles (name, year) VALUES ('a', 999)
a text is not UTF-8, so nothing can read it; convert it first, as iconv does
    UPDATE tasks SET title = CAST(x'436166e9' AS TEXT)
    INSERT INTO rooms (name, notes) VALUES ('a', CAST(x'3230b0' AS TEXT))
property cannot be deleted; set its columns to null instead
    DELETE FROM property
_gate is kept by the replica itself; write to rooms, inventory, vehicles, documents, tasks or property instead
    UPDATE _gate SET open = 1
    DELETE FROM _gate
edits is kept by the replica itself; write to rooms, inventory, vehicles, documents, tasks or property instead
    UPDATE edits SET state = 'sent'
_migrations is kept by the replica itself; write to rooms, inventory, vehicles, documents, tasks or property instead
    DELETE FROM _migrations
    UPDATE _migrations SET checksum = ''
currency must be a code of ISO 4217 such as EUR
    UPDATE property SET currency = 'DEM'
    UPDATE property SET currency = '€'
    UPDATE property SET currency = 'EURO'
    UPDATE property SET currency = ''
    UPDATE property SET currency = 'EUR' || char(0)
unit_system must be one of metric, imperial
    UPDATE property SET unit_system = 'nautical'
file_sha256 must be 64 hex digits
    INSERT INTO documents (title, file_sha256) VALUES ('Deed', 'ab')
    INSERT INTO documents (title, file_sha256) VALUES ('Deed', printf('%.64c', 'g'))
    INSERT INTO documents (title, file_sha256) VALUES ('Deed', printf('%.64c', 'a') || char(0))"#;

#[test]
fn wrong_values_get_contract_sentences() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    let mut sentence = "";
    for line in REFUSED.lines() {
        match line.strip_prefix("    ") {
            Some(text) => assert_eq!(scene.sql(text), Err(sentence.to_owned()), "{text}"),
            None => sentence = line,
        }
    }
    for text in [
        "INSERT INTO inventory (name, purchase_price, purchase_date) VALUES ('é', 7.5, '2024-02-29')",
        "INSERT INTO vehicles (name, vin) VALUES ('a', '1hgcm82633a004352')",
        "INSERT INTO documents (title, url) VALUES ('a', 'HTTPS://example.com/a?b#c')",
        "UPDATE tasks SET notes = 'a' || char(10, 9) || 'b'",
        "UPDATE property SET currency = 'EUR'",
        "UPDATE property SET currency = 'usd'",
        "UPDATE property SET currency = NULL",
        "INSERT INTO documents (title, file_sha256) VALUES ('Deed', replace(printf('%.32c', 'x'), 'x', 'aB'))",
    ] {
        scene.does(text);
    }
    assert_eq!(scene.one("SELECT open FROM _gate"), "0");
}

#[test]
fn valid_utf8_is_accepted() {
    let mut scene = Scene::new();
    // The last two are noncharacters of Unicode, which SQLite reads as the replacement character.
    for bytes in ["436166c3a9", "f09f9882", "efbfbd", "efbfbe", "efbfbf"] {
        scene.does(&format!("INSERT INTO rooms (name) VALUES (CAST(x'{bytes}' AS TEXT))"));
        assert_eq!(scene.one("SELECT lower(hex(name)) FROM rooms ORDER BY rowid DESC LIMIT 1"), bytes);
    }
}

#[test]
fn invalid_utf8_is_found_at_each_offset() {
    let mut scene = Scene::new();
    // Offsets around the ends of the 64-character blocks. The patch begins with `{"notes":"`, which has ten characters.
    for before in [0, 1, 52, 53, 54, 55, 117, 118, 119, 500] {
        let text = |wrong: &str| {
            let (one, all) = ("e6bca2", "e6bca2".repeat(before));
            format!("INSERT INTO rooms (name, notes) VALUES ('a', CAST(x'{all}{wrong}{one}{one}' AS TEXT))")
        };
        scene.does(&text("efbfbf"));
        for wrong in ["b0", "c328", "eda080", "f5808080"] {
            assert!(scene.sql(&text(wrong)).unwrap_err().starts_with("a text is not UTF-8"), "{wrong} after {before}");
        }
    }
}

#[test]
fn replace_is_refused_upsert_updates() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    let refused = "REPLACE is not supported on tasks; use UPDATE, or INSERT ... ON CONFLICT(id) DO UPDATE";
    let values = format!("INTO tasks (id, title) VALUES ('{TASK}', 'Again')");
    for verb in ["REPLACE", "INSERT OR REPLACE"] {
        assert_eq!(scene.sql(&format!("{verb} {values}")), Err(refused.to_owned()));
        let returning: Result<String, _> =
            scene.db.query_row(&format!("{verb} {values} RETURNING id"), [], |r| r.get(0));
        assert!(returning.unwrap_err().to_string().contains("REPLACE is not supported"));
    }
    scene.does("PRAGMA recursive_triggers = 1");
    assert_eq!(scene.sql(&format!("REPLACE {values}")), Err(refused.to_owned()));
    scene.does("PRAGMA recursive_triggers = 0");

    scene.does(&format!("INSERT OR IGNORE {values}; INSERT {values} ON CONFLICT DO NOTHING"));
    scene.does("INSERT INTO tasks (title) VALUES ('The mark of the one before is gone')");
    let upsert = format!("INSERT {values} ON CONFLICT (id) DO UPDATE SET title = excluded.title RETURNING title");
    assert_eq!(scene.one(&upsert), "Again");
    assert_eq!(
        scene.rows("SELECT method, patch FROM edits WHERE patch LIKE '%Again%'"),
        json!([["update", r#"{"title":"Again"}"#]])
    );
}

#[test]
fn replace_by_rowid_is_refused() {
    let mut scene = Scene::written(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'One')"));
    scene.does("INSERT INTO tasks (title) VALUES ('Two')");
    let refused = "REPLACE is not supported on tasks; use UPDATE, or INSERT ... ON CONFLICT(id) DO UPDATE";
    let constant = "rowid never changes; name the row by its id instead";
    let other = format!("REPLACE INTO tasks (rowid, id, title) VALUES (2, '{TASK}', 'Both')");
    for recursive in [0, 1] {
        scene.does(&format!("PRAGMA recursive_triggers = {recursive}"));
        for (text, sentence) in [
            ("INSERT OR REPLACE INTO tasks (rowid, title) VALUES (1, 'Again')", refused),
            ("REPLACE INTO tasks (_rowid_, title) VALUES (2, 'Again')", refused),
            (&other, refused),
            ("UPDATE OR REPLACE tasks SET rowid = 2 WHERE rowid = 1", constant),
            ("UPDATE tasks SET rowid = 9 WHERE rowid = 1", constant),
        ] {
            assert_eq!(scene.sql(text), Err(sentence.to_owned()), "{text}");
        }
    }
    assert_eq!(scene.column("SELECT title FROM tasks"), json!(["One", "Two"]));

    scene.does("INSERT OR IGNORE INTO tasks (rowid, title) VALUES (1, 'Nothing')");
    scene.does("INSERT INTO tasks (rowid, title) VALUES (7, 'A free number')");
    scene.does("INSERT OR REPLACE INTO tasks (rowid, title) VALUES (-1, 'As SQLite calls a number not drawn yet')");
    scene.does("INSERT INTO tasks (title) VALUES ('Its own number')");
    assert!(scene.sql("REPLACE INTO tasks (rowid, title) VALUES (-1, 'Again')").is_err());
    scene.shows("SELECT count(*), (SELECT count(*) FROM edits WHERE method = 'create') FROM tasks", json!([5, 5]));
}

#[test]
fn stale_search_row_stops_no_insert() {
    let mut scene = Scene::new();
    let stale = format!("INSERT INTO _search_rows (kind, record_id) VALUES ('task', '{TASK}'), ('property', '{HOME}')");
    scene.forces(&stale);
    scene.does(&format!("INSERT INTO tasks (id, title) VALUES ('{TASK}', 'Paint')"));
    scene.does("INSERT INTO property (city) VALUES ('Ghent')");
    assert!(schema::search::is_complete(&scene.db).unwrap());
    assert_eq!(view::search(&scene.db, "paint", 9).unwrap().len(), 1);
}

#[test]
fn public_tables_have_comments() {
    let scene = Scene::new();
    let silent = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND sql NOT LIKE '%-- %' AND sql NOT LIKE '%/* %'
         AND name NOT LIKE 'search!_%' ESCAPE '!' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
         AND substr(name, 1, 1) <> '_'";
    assert_eq!(scene.column(silent), json!([]));
}

#[test]
fn search_follows_scripts_and_feed() {
    let mut scene = Scene::with(event(1, "created", "room", ROOM, json!({ "name": "Café", "notes": "south side" })));
    scene.does("INSERT INTO tasks (title) VALUES ('Clean the cafe')");
    let found = |scene: &Scene, words: &str| view::search(&scene.db, words, 9).unwrap().len();
    assert_eq!(found(&scene, "CAFÉ"), 2);
    assert_eq!(view::search(&scene.db, "sou", 9).unwrap()[0].snippet, "**south** side");
    assert_eq!(found(&scene, "\"* OR a"), 0, "no query syntax");
    scene.does("UPDATE tasks SET title = 'Nothing'").hear(gone(2, "room", ROOM));
    assert_eq!(found(&scene, "cafe"), 0);
    scene.does("VACUUM; UPDATE tasks SET title = 'Something'");
    assert_eq!(found(&scene, "something"), 1);
    assert_eq!(found(&scene, "nothing"), 0);
}

#[test]
fn status_needs_recent_contact() {
    let mut scene = Scene::new();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::New);
    sync_state::set_daemon(&mut scene.db, Some(std::process::id()), at(0)).unwrap();
    scene.is_at_present(3);
    // The last contact is long ago by the clock of this machine.
    let status = status::load_status(&scene.db).unwrap();
    assert_eq!((status.phase.as_str(), status.behind_events), ("offline", None));
    let now = Timestamp::parse(&scene.one("SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")).unwrap();
    // A stopped process saves no contact; the last keepalive came at most 17 s ago.
    for (seconds_ago, phase) in [(21, "offline"), (17, "live")] {
        sync_state::record_contact(&mut scene.db, true, now.plus_millis(-seconds_ago * 1000)).unwrap();
        assert_eq!(status::load_status(&scene.db).unwrap().phase.as_str(), phase, "{seconds_ago} s");
    }
    sync_state::record_contact(&mut scene.db, true, now).unwrap();
    let status = status::load_status(&scene.db).unwrap();
    assert_eq!((status.phase.as_str(), status.behind_events, status.behind_seconds), ("live", Some(0), Some(0)));
    scene.does("INSERT INTO rooms (name) VALUES ('Shed')").accept(1, 5);
    let status = status::load_status(&scene.db).unwrap();
    let shown = (status.phase.as_str(), status.head, status.behind_events);
    assert_eq!(
        shown,
        ("catching_up", Some(5), Some(2)),
        "the server has accepted the edit, and its event has not arrived"
    );
    sync_state::set_daemon(&mut scene.db, None, now).unwrap();
    assert_eq!(status::load_status(&scene.db).unwrap().phase, Phase::Offline);
}

#[test]
fn home_id_is_null_before_the_first_contact() {
    let mut scene = Scene::unconnected();
    assert_eq!(status::load_status(&scene.db).unwrap().home_id, None);
    scene.greets(3, &[]);
    assert_eq!(status::load_status(&scene.db).unwrap().home_id.as_deref(), Some(super::HOME));
}

#[test]
fn reason_of_polls_ends_with_the_process() {
    let mut scene = Scene::new();
    let reason = |scene: &Scene| status::load_status(&scene.db).unwrap().reason;
    let set = |scene: &mut Scene, phase| {
        sync_state::set_phase(&mut scene.db, phase, None, Some("no stream is available"), None, at(0)).unwrap();
        sync_state::set_daemon(&mut scene.db, None, at(0)).unwrap();
    };
    set(&mut scene, Phase::Polling);
    assert_eq!(reason(&scene), None, "the last sync has succeeded");
    set(&mut scene, Phase::Offline);
    assert_eq!(reason(&scene).as_deref(), Some("no stream is available"), "the last sync has failed");
}

/// The events of a backfill are old, which says nothing about an absence of this replica.
#[test]
fn backfill_reports_no_lag() {
    let mut scene = Scene::new();
    let greeting = sync_state::Greeting { retention_seconds: Some(86_400), ..greeting(9, &[]) };
    sync_state::record_greeting(&mut scene.db, &greeting, at(0)).unwrap();
    let batch = FeedBatch { events: vec![task(5, "Paint", "low")], cursor: Some("c5".to_owned()), end: BatchEnd::More };
    let proof = feed::Proof { phase: Phase::Backfilling, is_current: false, ..live(at(0)) };
    feed::apply(&mut scene.db, &batch, None, &proof).unwrap();
    let status = status::load_status(&scene.db).unwrap();
    assert_eq!((status.phase.as_str(), status.position), ("backfilling", 5));
    assert_eq!((status.behind_seconds, status.retention_left_seconds), (None, None));
    scene.is_at_present(9);
    assert!(status::load_status(&scene.db).unwrap().retention_left_seconds.is_some());
}

#[test]
fn clock_ahead_keeps_retention_bounded() {
    let mut scene = Scene::new();
    let greeting = sync_state::Greeting { retention_seconds: Some(86_400), ..greeting(9, &[]) };
    sync_state::record_greeting(&mut scene.db, &greeting, at(0)).unwrap();
    let ahead = Timestamp::from_millis(8_000_000_000_000);
    let batch = FeedBatch { end: BatchEnd::Present { head: Some(9) }, ..FeedBatch::default() };
    scene.apply_at(batch, ahead);
    assert_eq!(status::load_status(&scene.db).unwrap().retention_left_seconds, Some(86_400));
}

#[test]
fn query_is_read_only() {
    let scene = Scene::new();
    let path = scene.db_path();
    let read = |sql| query::read_query(&path, sql, |columns, rows| (columns, rows.map(Result::unwrap).collect()));
    assert!(read("DELETE FROM tasks").is_err());
    let (columns, rows): (Vec<String>, Vec<Vec<Value>>) = read("SELECT 1 AS one, NULL AS none").unwrap();
    assert_eq!((columns, rows), (vec!["one".into(), "none".into()], vec![vec![json!(1), Value::Null]]));
}

/// True when the tables accept a URL, and true when the contract does.
fn judged(scene: &Scene, address: &str) -> (bool, bool) {
    let taken = scene.db.execute("INSERT INTO documents (title, url) VALUES ('a', ?1)", [address]);
    if let Err(error) = &taken {
        assert!(error.to_string().contains("url must be an absolute http or https address"), "{address:?}: {error}");
    }
    (taken.is_ok(), is_url(address))
}

#[test]
fn urls_are_checked_like_the_server() {
    let mut scene = Scene::written("BEGIN");
    let pieces: Vec<String> = [
        "http://", "HtTps://", "http:/", "ftp://", "a", "b.c", "user", "@", "@@", ":", ":80", "/", "?", "#", "é", "%20",
    ]
    .into_iter()
    .map(str::to_owned)
    // Every white space and control character of Unicode, and neighbours of them.
    .chain((0..=0x3100).filter_map(char::from_u32).filter(|c| c.is_whitespace() || c.is_control()).map(String::from))
    .chain(
        ['\u{1f}', '\u{200b}', '\u{feff}', '\u{180e}', '\u{a1}', '\u{200c}', '\u{2027}', '\u{3001}'].map(String::from),
    )
    .collect();
    for piece in &pieces {
        for address in [format!("http://a{piece}b"), format!("http://{piece}"), format!("{piece}http://a")] {
            let (taken, right) = judged(&scene, &address);
            assert_eq!(taken, right, "{address:?}");
        }
    }
    // Pseudo-random numbers that are equal in every run.
    let mut drawn = 7_u64;
    let mut draw = |below: usize| {
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) as usize % below
    };
    let mut good = 0;
    for _ in 0..1000 {
        let mut address = pieces[[0, 0, 0, 1, 1, draw(16)][draw(6)]].clone();
        for _ in 0..draw(7) {
            // Mostly characters of URLs.
            address.push_str(&pieces[if draw(12) == 0 { draw(pieces.len()) } else { 4 + draw(12) }]);
        }
        let (taken, right) = judged(&scene, &address);
        assert_eq!(taken, right, "{address:?}");
        good += usize::from(right);
    }
    assert!((100..900).contains(&good), "{good}");
    scene.does("ROLLBACK");
}

#[test]
fn reset_edit_sequence_is_repaired() {
    let mut scene = Scene::written("INSERT INTO rooms (name) VALUES ('Shed')");
    scene.does("INSERT INTO rooms (name) VALUES ('Loft')");
    for (edit, rev) in [(1, 3), (2, 4)] {
        scene.send(edit);
        let id = scene.one(&format!("SELECT record_id FROM edits WHERE id = {edit}"));
        scene.answer(edit, accepted(rev)).hear(event(rev, "created", "room", &id, json!({ "name": "Shed" })));
    }
    scene.does("UPDATE sqlite_sequence SET seq = 0 WHERE name = 'edits'; INSERT INTO rooms (name) VALUES ('Hall')");
    scene.does("INSERT INTO rooms (name) VALUES ('Yard'); INSERT INTO rooms (name) VALUES ('Den')");
    assert_eq!(scene.column("SELECT id FROM edits"), json!([1, 2, 3]));
    let request = scene.send(1);
    edit_ids::repair(&mut scene.db).unwrap();
    assert_eq!(scene.column("SELECT id FROM edits"), json!([4, 5, 6]));
    assert_eq!(scene.send(4).key, request.key, "the edit keeps its request");
    let id = scene.one("SELECT record_id FROM edits WHERE id = 4");
    scene.hear(with_key(event(5, "created", "room", &id, json!({ "name": "Hall" })), &request.key));
    assert_eq!(scene.outcomes(), "1 confirmed, 2 confirmed, 4 confirmed");
    scene.does("INSERT INTO rooms (name) VALUES ('Attic')");
    assert_eq!(scene.one("SELECT max(id) FROM edits"), "7");
}

#[test]
fn import_ref_is_unique_within_local_rows() {
    let mut scene =
        Scene::written("INSERT INTO rooms (name, import_ref) VALUES ('Hall', 'r1'), ('Attic', NULL), ('Loft', NULL)");
    let sentence = "import_ref is taken by another row of rooms; find it with SELECT id, name FROM rooms WHERE import_ref = \
                    ..., and change that row or write another import_ref";
    for text in [
        "INSERT INTO rooms (name, import_ref) VALUES ('Cellar', 'r1')",
        "INSERT INTO rooms (name, import_ref) VALUES ('Cellar', 'r2'), ('Shed', 'r2')",
        "UPDATE rooms SET import_ref = 'r1' WHERE name = 'Attic'",
        "UPDATE rooms SET import_ref = 'r3' WHERE import_ref IS NULL",
        "INSERT OR IGNORE INTO rooms (name, import_ref) VALUES ('Cellar', 'r1')",
    ] {
        assert_eq!(scene.sql(text), Err(sentence.to_owned()), "{text}");
    }
    // The row's own value, another kind, and the value of a deleted row.
    scene.does("UPDATE rooms SET import_ref = 'r1', floor = '1' WHERE name = 'Hall'");
    scene.does("INSERT INTO inventory (name, import_ref) VALUES ('Lamp', 'r1'); DELETE FROM rooms WHERE name = 'Hall'");
    scene.does("INSERT INTO rooms (name, import_ref) VALUES ('Cellar', 'r1')");
    // The server decides about its own records.
    scene.hear(event(9, "created", "room", ROOM, json!({ "name": "Theirs", "import_ref": "r1" })));
    assert_eq!(scene.one("SELECT count(*) FROM rooms WHERE import_ref = 'r1'"), "2");
    let plan = scene.rows("EXPLAIN QUERY PLAN SELECT 1 FROM rooms WHERE import_ref = 'r1'").to_string();
    assert!(plan.contains("_rooms_by_import_ref"), "{plan}");
}

#[test]
fn taken_import_ref_names_the_other_record() {
    let mut scene =
        Scene::written(&format!("INSERT INTO rooms (id, name, import_ref) VALUES ('{ROOM}', 'Hall', 'r1')"));
    scene.does(&format!("INSERT INTO rooms (id, name) VALUES ('{TASK}', 'Attic')"));
    let sentence = "the room “Hall” has the import_ref r1 already; change that room, or use another import_ref";
    let new = object(json!({ "name": "Cellar", "import_ref": "r1" }));
    let refused = edits::create(&mut scene.db, Origin::Cli, Kind::Room, &new).unwrap_err();
    assert_eq!(refused.to_string(), sentence);
    let change = object(json!({ "import_ref": "r1" }));
    let refused = edits::update(&mut scene.db, Origin::Cli, Kind::Room, TASK, &change).unwrap_err();
    assert_eq!(refused.to_string(), sentence);
    let own = object(json!({ "floor": "1", "import_ref": "r1" }));
    edits::update(&mut scene.db, Origin::Cli, Kind::Room, ROOM, &own).unwrap();
}
