//! Search (contract 8).

use std::time::{Duration, Instant};

use hearth_tests::client::Client;
use hearth_tests::server::{Server, new_key};
use serde_json::{Value, json};

async fn titles(client: &Client, query: &str) -> Vec<String> {
    let response = client.get(&format!("/v1/search?q={query}")).await;
    assert_eq!(response.status, 200, "{query}: {}", response.text);
    response.data().as_array().unwrap().iter().map(|hit| hit["title"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn prefix_matches_any_case_and_accent() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/inventory", &json!({ "name": "Crème brûlée torch", "serial_number": "OPS-306" })).await;
    let task = client
        .post("/v1/tasks", &json!({ "title": "Buy butane", "notes": "For the torch_lighter in the kitchen" }))
        .await;
    client.post("/v1/vehicles", &json!({ "name": "Van", "vin": "1HGCM82633A004352", "fuel_type": "diesel" })).await;
    for (query, expected) in [
        ("creme", &["Crème brûlée torch"][..]),
        ("CR%C3%88ME%20bru", &["Crème brûlée torch"]),
        ("ops-306", &["Crème brûlée torch"]),
        ("torch", &["Crème brûlée torch", "Buy butane"]),
        ("torch%20kit", &["Buy butane"]),
        ("lighter", &["Buy butane"]),
        ("1hgcm", &["Van"]),
        ("diesel", &[]),
        ("orch", &[]),
        ("torch&types=task,room", &["Buy butane"]),
        ("torch%20OR%20van", &[]),
        ("%22torch%20%2A%20NEAR%28", &[]),
        ("title:torch", &[]),
    ] {
        assert_eq!(titles(&client, query).await, expected, "{query}");
    }
    let hit = &client.get("/v1/search?q=lighter").await.data()[0].clone();
    assert_eq!((&hit["type"], &hit["id"]), (&json!("task"), &json!(task.id())));
    assert_eq!(hit["snippet"], "For the torch_**lighter** in the kitchen");
    assert_eq!(hit["updated_at"], task.data()["updated_at"]);
    assert!(hit["score"].as_f64().unwrap() > 0.0);
    assert_eq!(client.get("/v1/search?q=creme").await.data()[0]["snippet"], "**Crème** brûlée torch");
}

#[tokio::test]
async fn write_found_at_once_and_delete_gone() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Pantry" })).await.id());
    assert_eq!(titles(&client, "pantry").await.len(), 1);
    client.patch(&path, &json!({ "name": "Larder" })).await;
    assert_eq!((titles(&client, "pantry").await.len(), titles(&client, "larder").await.len()), (0, 1));
    assert_eq!(titles(&Client::new(&server.url, &server.test_key), "larder").await.len(), 0);
    client.delete(&path).await;
    assert_eq!(titles(&client, "larder").await.len(), 0);
}

#[tokio::test]
async fn changes_of_one_bulk_call_are_indexed_together() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = "0190a3b0-0000-7000-8000-000000000001";
    let operations = json!([
        { "method": "create", "id": id, "name": "Pantry", "notes": "Jam" },
        { "method": "update", "id": id, "name": "Larder" },
        { "method": "update", "id": id, "notes": "Honey" },
        { "method": "update", "id": id, "name": "Store" },
    ]);
    client.post("/v1/rooms/bulk", &json!({ "operations": operations })).await;
    for (query, found) in [("pantry", 0), ("larder", 0), ("store", 1), ("jam", 0), ("honey", 1)] {
        assert_eq!(titles(&client, query).await.len(), found, "{query}");
    }
}

#[tokio::test]
async fn search_pages_hold_each_hit_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for number in 0..25 {
        client
            .post("/v1/rooms", &json!({ "name": format!("Room {number}"), "notes": "word ".repeat(number + 1) }))
            .await;
    }
    let hits = client.list_all("/v1/search?q=word&limit=4").await;
    let mut ids: Vec<&str> = hits.iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    assert!(hits.is_sorted_by(|a, b| a["score"].as_f64() >= b["score"].as_f64()));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((hits.len(), ids.len()), (25, 25));
    let cursor = client.get("/v1/search?q=word&limit=4").await.next_cursor().unwrap();
    assert_eq!(client.get(&format!("/v1/search?q=other&cursor={cursor}")).await.error(), "invalid_cursor");
}

#[tokio::test]
async fn hit_order_ignores_other_records() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let others = Client::new(&server.url, &server.test_key);
    let names = |words: &str, from: usize| {
        let room = |number| json!({ "method": "create", "name": format!("{words} {number}"), "notes": "A long note. ".repeat(60) });
        json!({ "operations": (from..from + 40).map(room).collect::<Vec<_>>() })
    };
    client.post("/v1/rooms/bulk", &names("Numbat", 0)).await;
    let first = client.get("/v1/search?q=numbat&limit=10").await;
    let mut seen = first.data().as_array().unwrap().clone();
    // Changes to other records, to earlier hits, and to another home with the same word.
    client.post("/v1/rooms/bulk", &names("Other", 0)).await;
    others.post("/v1/rooms/bulk", &names("Numbat", 0)).await;
    let gone: Vec<Value> = seen.iter().map(|hit| json!({ "method": "delete", "id": hit["id"] })).collect();
    client.post("/v1/rooms/bulk", &json!({ "operations": gone })).await;
    let cursor = first.next_cursor().unwrap();
    let second = client.get(&format!("/v1/search?q=numbat&limit=10&cursor={cursor}")).await;
    assert_eq!(second.data()[0]["score"], seen[0]["score"], "nor does another home change what it is worth");
    seen.extend(second.data().as_array().unwrap().clone());
    let mut cursor = second.next_cursor();
    while let Some(next) = cursor {
        let page = client.get(&format!("/v1/search?q=numbat&limit=10&cursor={next}")).await;
        seen.extend(page.data().as_array().unwrap().clone());
        cursor = page.next_cursor();
    }
    let mut ids: Vec<&str> = seen.iter().map(|hit| hit["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((seen.len(), ids.len()), (40, 40));
}

#[tokio::test]
async fn best_hit_comes_first_with_marked_snippet() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (name, notes) in [
        ("Cellar", "The car charger hangs here"),
        ("Carport", "A charger"),
        ("Charger for the car", "It is **new**"),
        ("Carport chargers", ""),
        ("Attic", "Nothing"),
        ("Car, charger, jack", ""),
    ] {
        client.post("/v1/rooms", &json!({ "name": name, "notes": notes })).await;
    }
    let expected = ["Car, charger, jack", "Charger for the car", "Carport chargers", "Carport", "Cellar"];
    assert_eq!(titles(&client, "car+charger").await, expected);
    let hits = client.list_all("/v1/search?q=car+charger&limit=2").await;
    assert_eq!(hits.iter().map(|hit| &hit["title"]).collect::<Vec<_>>(), expected);
    let scores: Vec<f64> = hits.iter().map(|hit| hit["score"].as_f64().unwrap()).collect();
    assert_eq!(scores, [1.0, 1.0, 0.75, 0.5, 0.25]);
    assert_eq!(hits[1]["snippet"], "**Charger** for the **car**", "stars of one's own mark nothing");
}

#[tokio::test]
async fn query_without_word_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for query in [
        "",
        "?q=",
        "?q=a",
        "?q=%20a%20",
        "?q=--",
        "?q=ab&types=property",
        "?q=ab&limit=101",
        &format!("?q={}", "x".repeat(201)),
    ] {
        let response = client.get(&format!("/v1/search{query}")).await;
        assert_eq!((response.status, response.error()), (400, "invalid_request"), "{query}");
    }
}

#[tokio::test]
async fn every_word_of_long_query_narrows() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/rooms", &json!({ "name": "Alpine attic", "notes": "Skis" })).await;
    // A repeated word, or the beginning of another word, adds no condition.
    let again = vec!["a"; 16].join("+");
    assert_eq!(titles(&client, &again).await, ["Alpine attic"]);
    assert_eq!(titles(&client, "s+SK+skis+a+AL+att").await, ["Alpine attic"]);
    let all: Vec<String> = ('一'..).take(17).map(String::from).collect();
    client.post("/v1/rooms", &json!({ "name": "Seventeen", "notes": all.join(" ") })).await;
    assert_eq!(titles(&client, &all[..16].join("+")).await, ["Seventeen"]);
    assert_eq!(titles(&client, &format!("{}+none", all[..15].join("+"))).await.len(), 0);
    for words in [all.join("+"), format!("{again}+a")] {
        let refused = client.get(&format!("/v1/search?q={words}")).await;
        assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "17 words");
    }
}

#[tokio::test]
async fn search_scope_suffices_and_cursor_binds_query() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let operations = vec![json!({ "method": "create", "name": "Common room" }); 50];
    for _ in 0..3 {
        client.post("/v1/rooms/bulk", &json!({ "operations": operations })).await;
    }
    let key = hearth_server::operate::NewKey {
        scopes: vec!["search:read".to_owned()],
        ..new_key("My home", hearth_contract::key::Environment::Live)
    };
    let clock = hearth_server::clock::Clock::system();
    let key = hearth_server::operate::create_key(&server.running.app.db, &clock, key).await.unwrap().secret;
    let searcher = Client::new(&server.url, &key);
    for (query, hits) in [("q=common", 50), ("q=common&limit=100", 100), ("q=%20common%20&types=room", 50)] {
        let page = searcher.get(&format!("/v1/search?{query}")).await;
        assert_eq!(page.data().as_array().unwrap().len(), hits, "{query}");
        assert_eq!((&page.json["meta"]["page"]["has_more"], &page.json["meta"]["as_of"]), (&json!(true), &json!(150)));
    }
    let hit = searcher.get("/v1/search?q=common&limit=1").await.data()[0].clone();
    let members: Vec<&str> = hit.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["type", "id", "title", "snippet", "score", "updated_at"]);
    // A cursor is bound to the query, the kinds in any order, the home, and the search.
    let cursor = searcher.get("/v1/search?q=common&types=room,task&limit=5").await.next_cursor().unwrap();
    let next = |query: &str| format!("/v1/search?{query}&cursor={cursor}");
    assert_eq!(searcher.get(&next("q=common&types=task,room&limit=9")).await.status, 200);
    // The cursor carries the kinds, so a client need not repeat the parameter (contract 5).
    let both = searcher.get(&next("q=common&types=task,room&limit=9")).await;
    assert_eq!(searcher.get(&next("q=Common&limit=9")).await.data(), both.data());
    for query in ["q=common&types=room", "q=commons&types=room,task"] {
        assert_eq!(searcher.get(&next(query)).await.error(), "invalid_cursor", "{query}");
    }
    let other = Client::new(&server.url, &server.test_key);
    assert_eq!(other.get(&next("q=common&types=room,task")).await.error(), "invalid_cursor");
    assert_eq!(client.get(&format!("/v1/rooms?cursor={cursor}")).await.error(), "invalid_cursor");
}

/// Longest wait for a response.
const PATIENCE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn slow_search_times_out_without_blocking() {
    let server = Server::start_with(|config| config.search_time_max = Duration::ZERO).await;
    let client = Client::new(&server.url, &server.live_key);
    let refused = client.get("/v1/search?q=hall").await;
    assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (503, "unavailable", "1"));
    assert!(refused.json["error"]["fix"].as_str().unwrap().contains("longer words"), "{}", refused.text);
    // More searches than threads, all of which block until released.
    let db = server.running.app.db.clone();
    let far = Instant::now() + Duration::from_secs(3600);
    let searches: Vec<_> = (0..10)
        .map(|_| {
            let ((let_go, held), db) = (std::sync::mpsc::channel::<()>(), db.clone());
            let search = tokio::spawn(async move { db.read_until(far, move |_| Ok(held.recv().is_err())).await });
            (let_go, search)
        })
        .collect();
    // Unknown keys are looked up, and all other reads work.
    for key in [&server.test_key, &server.live_key] {
        for path in ["/v1/me", "/v1/events", "/v1/rooms", "/v1/exports"] {
            let client = Client::new(&server.url, key);
            let response = tokio::time::timeout(PATIENCE, client.get(path)).await;
            assert_eq!(response.expect("a response in time").status, 200, "{path}");
        }
    }
    for (let_go, search) in searches {
        drop(let_go);
        assert!(search.await.unwrap().unwrap());
    }
}

#[tokio::test]
async fn title_is_found_in_every_script() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for name in [
        "🧹Staubsauger",
        "₿Geld",
        "\u{2068}Rechnung\u{2069} Nr",
        "\u{f8ff}TV 4K",
        "Καφές ελληνικός",
        "パソコン",
        "गाड़ी",
        "বাড়ি",
        "ଘୋଡ଼ା",
        "ရေချိုးခန်း",
        "ⓐⓑ test",
        "Öltank",
        "車庫",
        "e\u{301}tage",
    ] {
        client.post("/v1/rooms", &json!({ "name": name })).await;
        let question: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(titles(&client, &question).await, [name], "{name}");
    }
    // A word without a match still excludes the record.
    assert_eq!(titles(&client, "test%20garage").await, [""; 0]);
}

/// The text in a query string.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[tokio::test]
async fn letters_with_strokes_fold_both_ways() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (name, plain, questions) in [
        ("Łódź", "lodz", ["łód", "LOD"]),
        ("Smørrebrød", "smorrebrod", ["smør", "smor"]),
        ("Đorđe", "dorde", ["đorđ", "dor"]),
        ("Æbleskiver", "aebleskiver", ["Æb", "aeb"]),
        ("Għaxaq", "ghaxaq", ["Għa", "gha"]),
    ] {
        client.post("/v1/rooms", &json!({ "name": name })).await;
        client.post("/v1/rooms", &json!({ "name": plain })).await;
        for question in questions {
            assert_eq!(titles(&client, &encoded(question)).await, [plain, name], "{question}");
        }
    }
}

#[tokio::test]
async fn part_of_unspaced_text_is_found() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for name in ["冷蔵庫のフィルター", "庫裏", "ตู้เย็นใหญ่", "드럼세탁기", "SONY製テレビ", "Übergroß"]
    {
        client.post("/v1/rooms", &json!({ "name": name })).await;
    }
    for (question, expected) in [
        ("庫", &["庫裏", "冷蔵庫のフィルター"][..]),
        ("蔵庫", &["冷蔵庫のフィルター"]),
        ("庫蔵", &[]),
        ("フィル 冷蔵", &["冷蔵庫のフィルター"]),
        ("ﾌｨﾙﾀｰ", &["冷蔵庫のフィルター"]),
        ("เย็น", &["ตู้เย็นใหญ่"]),
        ("세탁", &["드럼세탁기"]),
        ("テレビ", &["SONY製テレビ"]),
        ("sony", &["SONY製テレビ"]),
        ("製", &["SONY製テレビ"]),
        ("gross", &[]),
    ] {
        assert_eq!(titles(&client, &encoded(question)).await, expected, "{question}");
    }
    let hit = client.get(&format!("/v1/search?q={}", encoded("蔵庫"))).await;
    assert_eq!(hit.data()[0]["snippet"], "冷**蔵庫**のフィルター");
    assert_eq!(client.get("/v1/search?q=%c5%82").await.status, 400, "one letter is too short");
}

#[tokio::test]
async fn product_code_is_found_in_both_spellings() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    client.post("/v1/inventory", &json!({ "name": "Upc", "notes": "036000291452" })).await;
    client.post("/v1/inventory", &json!({ "name": "Ean", "notes": "0036000291452" })).await;
    for question in ["036000291452", "0036000291452"] {
        let mut found = titles(&client, question).await;
        found.sort();
        assert_eq!(found, ["Ean", "Upc"], "{question}");
    }
    assert_eq!(titles(&client, "036000291453").await, [""; 0], "a wrong check digit makes no code");
}

#[tokio::test]
async fn case_and_accents_ignored_in_every_script() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for name in ["Καφές ελληνικός", "Ёлка йога", "Юрий", "ハ\u{309a}ソコン", "Straße", "हिन्दी किताब", "🧹Besen"]
    {
        client.post("/v1/rooms", &json!({ "name": name })).await;
    }
    for (query, expected) in [
        ("καφες", &["Καφές ελληνικός"][..]),
        ("ΕΛΛΗΝΙΚΌΣ", &["Καφές ελληνικός"]),
        ("елка", &["Ёлка йога"]),
        ("Юрии\u{306}", &["Юрий"]),
        ("パソ", &["ハ\u{309a}ソコン"]),
        ("STRASSE", &["Straße"]),
        ("हि", &["हिन्दी किताब"]),
        ("हु", &[]),
        ("besen", &["🧹Besen"]),
    ] {
        let question: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        assert_eq!(titles(&client, &question).await, expected, "{query}");
    }
    let hit = client.get("/v1/search?q=besen").await;
    assert_eq!(hit.data()[0]["snippet"], "🧹**Besen**");
}
