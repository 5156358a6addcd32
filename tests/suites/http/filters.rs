//! Equality filters of lists (contract 5): what they find, what they refuse, and how they bind a cursor.

use std::time::Duration;

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};

/// The value of a field as a parameter names it.
fn shown(record: &Value, field: &str) -> String {
    record[field].as_str().unwrap_or("null").to_owned()
}

/// Asserts that a filtered list has exactly the records whose field has one of the values, in the order of the list.
async fn assert_finds(client: &Client, kind: Kind, all: &[Value], order: &str, filters: &[(&str, Vec<String>)]) {
    let parameters: Vec<String> =
        filters.iter().map(|(field, values)| format!("{field}={}", values.join(","))).collect();
    let found = client.list_all(&format!("/v1/{}?limit=7&{order}&{}", kind.collection(), parameters.join("&"))).await;
    let matches = |record: &&Value| filters.iter().all(|(field, values)| values.contains(&shown(record, field)));
    let expected: Vec<&Value> = all.iter().filter(matches).collect();
    assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{kind} {order} {parameters:?}");
}

#[tokio::test]
async fn each_filter_finds_exactly_its_records() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for kind in Kind::COLLECTIONS {
        let sorts = ["created_at", "updated_at"];
        for (sort, order) in sorts.into_iter().flat_map(|sort| ["asc", "desc"].map(|order| (sort, order))) {
            let order = format!("sort={sort}&order={order}");
            let all = client.list_all(&format!("/v1/{}?limit=100&{order}", kind.collection())).await;
            let mut two = Vec::new();
            for field in resource(kind).filters() {
                let mut values: Vec<String> = all.iter().map(|record| shown(record, field.name)).collect();
                values.sort();
                values.dedup();
                for value in &values {
                    assert_finds(&client, kind, &all, &order, &[(field.name, vec![value.clone()])]).await;
                }
                let several: Vec<String> = values.into_iter().take(9).collect();
                assert_finds(&client, kind, &all, &order, &[(field.name, several.clone())]).await;
                two.push((field.name, several.into_iter().take(2).collect()));
            }
            for pair in two.windows(2) {
                assert_finds(&client, kind, &all, &order, pair).await;
            }
        }
    }
}

/// `updated_since` beside a filter: a list has exactly the matching records that changed at or after the moment.
#[tokio::test]
async fn filters_join_with_updated_since() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.test_key);
    for kind in Kind::COLLECTIONS {
        // All records of the sandbox are of one moment.
        for record in client.list_all(&format!("/v1/{}", kind.collection())).await.iter().step_by(3) {
            test_clock.advance(Duration::from_secs(60));
            let path = format!("/v1/{}/{}", kind.collection(), record["id"].as_str().unwrap());
            assert_eq!(client.patch(&path, &json!({ "notes": "changed later" })).await.status, 200);
        }
        for order in ["sort=updated_at&order=asc", "sort=updated_at&order=desc", "sort=created_at&order=asc"] {
            let all = client.list_all(&format!("/v1/{}?limit=100&{order}", kind.collection())).await;
            let mut moments: Vec<&str> = all.iter().map(|record| record["updated_at"].as_str().unwrap()).collect();
            moments.sort_unstable();
            for since in [moments[0], moments[moments.len() * 5 / 6], moments[moments.len() - 1]] {
                let changed = |record: &&Value| record["updated_at"].as_str().unwrap() >= since;
                let recent: Vec<Value> = all.iter().filter(changed).cloned().collect();
                assert_eq!(recent.len() < all.len(), since != moments[0]);
                let order = format!("{order}&updated_since={since}");
                let mut pair = Vec::new();
                for field in resource(kind).filters() {
                    let mut values: Vec<String> = all.iter().map(|record| shown(record, field.name)).collect();
                    values.sort();
                    values.dedup();
                    values.truncate(5);
                    assert_finds(&client, kind, &recent, &order, &[(field.name, values.clone())]).await;
                    pair.push((field.name, values));
                }
                for two in pair.windows(2) {
                    assert_finds(&client, kind, &recent, &order, two).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn filters_follow_every_write() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let titles = async |query: &str| -> Vec<String> {
        let found = client.list_all(&format!("/v1/tasks?order=asc&fields=title&{query}")).await;
        found.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect()
    };
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let in_room = format!("subject_id={}", room.to_uppercase());
    let task =
        |title: &str| json!({ "title": title, "subject_type": "room", "subject_id": room, "due_on": "2026-06-01" });
    let a = client.post("/v1/tasks", &task("a")).await.id();
    let b = client.post("/v1/tasks", &task("b")).await.id();
    assert_eq!(titles(&in_room).await, ["a", "b"]);
    assert_eq!(titles("status=open&due_on=2026-06-01").await, ["a", "b"]);
    client.patch(&format!("/v1/tasks/{a}"), &json!({ "status": "done", "due_on": null })).await;
    assert_eq!(titles("status=open").await, ["b"]);
    assert_eq!(titles("status=done&due_on=null").await, ["a"]);
    // A patch of another field changes no filter.
    client.patch(&format!("/v1/tasks/{a}"), &json!({ "notes": "x" })).await;
    assert_eq!(titles("status=done").await, ["a"]);
    let update = json!({ "method": "update", "id": b, "status": "in_progress" });
    client.post("/v1/tasks/bulk", &json!({ "operations": [update] })).await;
    assert_eq!(titles("status=in_progress").await, ["b"]);
    client.delete(&format!("/v1/rooms/{room}")).await;
    assert_eq!(titles(&in_room).await, Vec::<String>::new());
    assert_eq!(titles("subject_id=null&subject_type=null").await, ["a", "b"]);
    client.delete(&format!("/v1/tasks/{b}")).await;
    assert_eq!(titles("status=in_progress").await, Vec::<String>::new());
    let report = hearth_server::operate::check::check(&server.running.app.db, &server.running.app.clock).await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    // A key of another home finds nothing here.
    let other = Client::new(&server.url, &server.test_key).get(&format!("/v1/tasks?{in_room}")).await;
    assert_eq!((other.status, other.data()), (200, &json!([])));
}

#[tokio::test]
async fn wrong_filter_value_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let ids: Vec<String> = (0..51).map(|number| uuid::Uuid::from_u128(number).to_string()).collect();
    for (query, parameter, value, nearest) in [
        ("tasks?status=opne", "status", "opne", Some("open")),
        ("tasks?status=open,,done", "status", "", None),
        ("tasks?status=,open", "status", "", None),
        ("tasks?status=", "status", "", None),
        ("tasks?status=open&status=done", "status", "done", None),
        ("tasks?status=null", "status", "null", None),
        ("tasks?status=Open", "status", "Open", Some("open")),
        ("tasks?due_on=2026-02-30", "due_on", "2026-02-30", None),
        ("tasks?due_on=2026-06-01T00:00:00Z", "due_on", "2026-06-01T00:00:00Z", None),
        ("inventory?room_id=hall", "room_id", "hall", None),
        (
            "inventory?room_id=%7B0190a3b0-0000-7000-8000-00000000abcd%7D",
            "room_id",
            "{0190a3b0-0000-7000-8000-00000000abcd}",
            None,
        ),
        ("documents?subject_type=room", "subject_type", "room", None),
        ("tasks?title=x", "title", "x", None),
        ("tasks?completed_at=2026-06-01", "completed_at", "2026-06-01", None),
        ("tasks?stauts=open", "stauts", "open", Some("status")),
        ("rooms?category=tool", "category", "tool", None),
        (&format!("tasks?subject_id={}", ids.join(",")), "subject_id", &ids.join(","), None),
    ] {
        let refused = client.get(&format!("/v1/{query}")).await;
        assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "{query}");
        let details = &refused.json["error"]["details"];
        let expected = json!({ "parameter": parameter, "value": value, "nearest": details["nearest"] });
        assert_eq!(*details, expected, "{query}");
        assert!(nearest.is_none() || details["nearest"].as_str() == nearest, "{query}: {details}");
    }
    // An id that nobody has, fifty values, and repeated values are good.
    for query in [format!("subject_id={}", ids[..50].join(",")), format!("subject_id={0},{0}", ids[1])] {
        let empty = client.get(&format!("/v1/tasks?{query}")).await;
        assert_eq!((empty.status, empty.data()), (200, &json!([])), "{query}");
    }
    // A single read has no filters.
    let id = client.get("/v1/tasks?limit=1").await.data()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&format!("/v1/tasks/{id}?status=open")).await.status, 400);
}

#[tokio::test]
async fn filters_bind_the_cursor() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let first = client.get("/v1/tasks?limit=2&status=done,open,open&subject_type=null,home").await;
    let cursor = first.next_cursor().unwrap();
    let whole = client.get("/v1/tasks?limit=100&status=open,done&subject_type=home,null").await;
    let rest = client.get(&format!("/v1/tasks?limit=100&cursor={cursor}")).await;
    assert_eq!(rest.data().as_array().unwrap()[..], whole.data().as_array().unwrap()[2..]);
    for (more, status) in [
        ("status=open,done", 200),
        ("status=done,open,done&subject_type=home,null", 200),
        ("status=open", 400),
        ("status=open,done,in_progress", 400),
        ("subject_type=home", 400),
        ("due_on=null", 400),
    ] {
        let page = client.get(&format!("/v1/tasks?cursor={cursor}&{more}")).await;
        assert_eq!(page.status, status, "{more}: {}", page.text);
        assert!(status == 200 || page.error() == "invalid_cursor", "{more}");
    }
    let unfiltered = client.get("/v1/tasks?limit=2").await.next_cursor().unwrap();
    assert_eq!(client.get(&format!("/v1/tasks?cursor={unfiltered}&status=open")).await.error(), "invalid_cursor");
}

/// Creates items with bulk calls: the first is the only `art` and the only one in a poor condition.
async fn create_items(client: &Client, count: usize) {
    let item = |number: usize| match number {
        0 => json!({ "method": "create", "name": "first", "category": "art", "condition": "poor" }),
        _ => json!({ "method": "create", "name": format!("{number}"), "category": "tool", "condition": "good" }),
    };
    let numbers: Vec<usize> = (0..count).collect();
    for part in numbers.chunks(50) {
        let operations: Vec<Value> = part.iter().map(|number| item(*number)).collect();
        assert_eq!(client.post("/v1/inventory/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

#[tokio::test]
async fn rare_value_ends_page_after_5000_records() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    create_items(&client, 5101).await;
    let pages = async |query: &str| {
        let (mut pages, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/v1/inventory?fields=name&{query}{cursor}")).await;
            pages.push(page.data().as_array().unwrap().len());
            match page.next_cursor() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return pages,
            }
        }
    };
    // Not indexed: the newest 5,000 records do not match.
    assert_eq!(pages("condition=poor").await, [0, 1]);
    assert_eq!(pages("condition=poor&sort=updated_at").await, [0, 1]);
    assert_eq!(pages("condition=poor&order=asc").await, [1, 0]);
    // Indexed: found at once in both orders.
    assert_eq!(pages("category=art").await, [1]);
    assert_eq!(pages("category=art&sort=updated_at").await, [1]);
    assert_eq!(pages("category=art&condition=poor").await, [1]);
    assert_eq!(pages("category=furniture").await, [0]);
    // Many records of an indexed value, of which the other filter admits none.
    assert_eq!(pages("category=tool&condition=poor").await, [0, 0]);
    assert_eq!(pages("category=tool&condition=poor&sort=updated_at").await, [0, 0]);
    assert_eq!(pages("category=tool&condition=poor&sort=updated_at&order=asc").await, [0, 0]);
    // Few changed records are sorted, however many match.
    let since = "2999-01-01T00:00:00Z";
    assert_eq!(pages(&format!("category=tool&updated_since={since}")).await, [0]);
}

#[tokio::test]
async fn indexed_filter_pages_are_full() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    create_items(&client, 350).await;
    for query in ["category=tool,art", "category=tool&order=asc", "category=tool,art,other,null&order=asc"] {
        let (mut counts, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = client.get(&format!("/v1/inventory?limit=100&{query}{cursor}")).await;
            counts.push(page.data().as_array().unwrap().len());
            assert_eq!(page.json["meta"]["page"]["has_more"], page.next_cursor().is_some());
            let Some(next) = page.next_cursor() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(counts[..3], [100, 100, 100], "{query}");
        assert_eq!(counts.len(), 4, "{query}");
    }
}

#[tokio::test]
async fn old_version_filters_by_plural_words() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let get = |query: &str| {
        let request = client.request(Method::GET, &format!("/v1/tasks?{query}"));
        client.send(request.header("service-api-version", "2026-03-01"))
    };
    let found = get("subject_type=vehicles,home").await;
    let words: Vec<&str> =
        found.data().as_array().unwrap().iter().map(|task| task["subject_type"].as_str().unwrap()).collect();
    assert!(words.contains(&"vehicles") && words.iter().all(|word| ["vehicles", "home"].contains(word)), "{words:?}");
    let refused = get("subject_type=vehicle").await;
    let details = &refused.json["error"]["details"];
    let expected = json!({ "parameter": "subject_type", "value": "vehicle", "nearest": "vehicles" });
    assert_eq!((refused.status, details), (400, &expected));
}
