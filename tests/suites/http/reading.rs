//! Lists, single reads, cursors and parameters (contract 5).

use std::collections::HashSet;

use hearth_server::app::answer_bytes::KEY_BYTES_MAX;
use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn list_pages_show_each_record_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let newest_first = client.list_all("/v1/inventory?limit=7").await;
    let ids: HashSet<&str> = newest_first.iter().filter_map(|record| record["id"].as_str()).collect();
    assert_eq!(ids.len(), newest_first.len());
    assert!(newest_first.len() >= 80);
    assert!(newest_first.is_sorted_by_key(|record| -record["rev"].as_i64().unwrap()));
    let mut oldest_first = client.list_all("/v1/inventory?limit=100&order=asc").await;
    oldest_first.reverse();
    assert_eq!(newest_first, oldest_first);
}

/// Creates inventory items of about 80 KB each.
async fn add_long_items(client: &Client, count: usize) {
    /// A bulk body has at most 1 MiB.
    const OPERATIONS: usize = 12;
    let long = "🏠".repeat(10_000);
    for first in (0..count).step_by(OPERATIONS) {
        let item =
            |number| json!({ "method": "create", "name": format!("{number}"), "notes": long, "description": long });
        let operations: Vec<Value> = (first..(first + OPERATIONS).min(count)).map(item).collect();
        assert_eq!(client.post("/v1/inventory/bulk", &json!({ "operations": operations })).await.status, 207);
    }
}

#[tokio::test]
async fn page_of_long_records_ends_early() {
    const PAGE_BYTES: usize = 4 * 1024 * 1024;
    const RECORD_BYTES_MAX: usize = 100 * 1024;
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    add_long_items(&client, 60).await;
    for query in ["", "&sort=updated_at&order=asc", "&expand=room", "&created_since=2020-01-01"] {
        let page = client.get(&format!("/v1/inventory?limit=100{query}")).await;
        assert_eq!(page.json["meta"]["page"]["has_more"], true, "{query}");
        assert!((PAGE_BYTES..PAGE_BYTES + RECORD_BYTES_MAX).contains(&page.text.len()), "{query} {}", page.text.len());
        let all = client.list_all(&format!("/v1/inventory?limit=100{query}")).await;
        let names: HashSet<&str> = all.iter().filter_map(|record| record["name"].as_str()).collect();
        assert_eq!((all.len(), names.len()), (60, 60), "{query}");
    }
    // What counts is what the page shows.
    assert_eq!(client.get("/v1/inventory?limit=100&fields=name").await.data().as_array().unwrap().len(), 60);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "svc_list_inventory", "arguments": { "limit": 100 } } });
    let called = client.post("/mcp", &call).await;
    let result = &called.json["result"]["structuredContent"];
    assert_eq!(result["page"]["has_more"], true);
    assert!(result["data"].as_array().is_some_and(|data| (50..60).contains(&data.len())));
}

#[tokio::test]
async fn reads_beyond_bytes_in_flight_are_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let key = client.get("/v1/me").await.data()["key"]["id"].as_str().unwrap().to_owned();
    let unread = server.running.app.answer_bytes.count(&key, vec![b' '; KEY_BYTES_MAX].into());
    let refused = client.get("/v1/rooms").await;
    assert_eq!((refused.status, refused.error(), refused.header("retry-after")), (503, "unavailable", "1"));
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "svc_list_rooms" } });
    let called = client.post("/mcp", &call).await;
    assert_eq!(called.json["result"]["structuredContent"]["error"]["type"], "unavailable", "{}", called.text);
    assert_eq!(client.post("/v1/rooms", &json!({ "name": "Hall" })).await.status, 201, "the write is done");
    assert_eq!(Client::new(&server.url, &server.test_key).get("/v1/rooms").await.status, 200, "another key");
    drop(unread);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
    let counted = || server.running.app.answer_bytes.all();
    hearth_tests::process::wait_until("all answers are written", || counted() == 0);
}

#[tokio::test]
async fn updated_at_order_misses_no_change() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut ids = Vec::new();
    for number in 0..5 {
        ids.push(client.post("/v1/rooms", &json!({ "name": format!("Room {number}") })).await.id());
    }
    client.patch(&format!("/v1/rooms/{}", ids[1]), &json!({ "floor": "2" })).await;
    let page = client.get("/v1/rooms?sort=updated_at&order=asc&limit=2").await;
    // A record that changes during paging appears again on a later page.
    client.patch(&format!("/v1/rooms/{}", ids[0]), &json!({ "floor": "3" })).await;
    let rest = client.list_all(&format!("/v1/rooms?cursor={}", page.next_cursor().unwrap())).await;
    let seen = |records: &[Value]| -> Vec<usize> {
        records.iter().map(|record| ids.iter().position(|id| record["id"] == **id).unwrap()).collect()
    };
    assert_eq!(seen(page.data().as_array().unwrap()), [0, 2]);
    assert_eq!(seen(&rest), [3, 4, 1, 0]);
}

#[tokio::test]
async fn unknown_parameter_suggests_nearest_name() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    for (query, parameter, nearest) in [
        ("limit=0", "limit", None),
        ("limit=101", "limit", None),
        ("limit=", "limit", None),
        ("limit=1&limit=1", "limit", None),
        ("sort=name", "sort", None),
        ("order=dsc", "order", Some("desc")),
        ("fields=nam", "fields", Some("name")),
        ("flieds=name", "flieds", Some("fields")),
    ] {
        let response = client.get(&format!("/v1/rooms?{query}")).await;
        assert_eq!((response.status, response.error()), (400, "invalid_request"), "{query}");
        let details = &response.json["error"]["details"];
        assert_eq!((&details["parameter"], details["nearest"].as_str()), (&json!(parameter), nearest), "{query}");
    }
}

#[tokio::test]
async fn updated_since_finds_same_in_every_order() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let mut rooms = Vec::new();
    for minute in 0..24 {
        test_clock.step_to(&format!("2026-06-01T12:{minute:02}:00Z"));
        let make = |n: i32| json!({ "method": "create", "data": { "name": format!("Room {minute}/{n}") } });
        let made = client.post("/v1/rooms/bulk", &json!({ "operations": (0..50).map(make).collect::<Vec<_>>() })).await;
        assert_eq!(made.status, 207, "{}", made.text);
        rooms
            .extend(made.data().as_array().unwrap().iter().map(|made| made["data"]["id"].as_str().unwrap().to_owned()));
    }
    test_clock.step_to("2026-06-01T13:00:00Z");
    for room in rooms.iter().step_by(97) {
        client.patch(&format!("/v1/rooms/{room}"), &json!({ "floor": "1" })).await;
    }
    let ids = |records: Vec<Value>| records.iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    for (since, number) in [("2026-06-01T13:00:00Z", 13), ("2026-06-01T12:02:00Z", 1102), ("2026-06-02", 0)] {
        for order in ["asc", "desc"] {
            let filter = format!("limit=100&order={order}&updated_since={since}");
            let created = ids(client.list_all(&format!("/v1/rooms?{filter}")).await);
            let mut wanted = ids(client.list_all(&format!("/v1/rooms?{filter}&sort=updated_at")).await);
            let place = |id: &String| rooms.iter().position(|room| room == id);
            wanted.sort_by_key(place);
            if order == "desc" {
                wanted.reverse();
            }
            assert_eq!((created.len(), created == wanted), (number, true), "{filter}");
        }
    }
    let both =
        "/v1/rooms?limit=100&sort=updated_at&created_since=2026-06-01T12:20:00Z&updated_since=2026-06-01T12:00:00Z";
    assert_eq!(client.list_all(both).await.len(), 200);
}

#[tokio::test]
async fn cursor_works_only_for_its_query() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.test_key);
    let cursor = client.get("/v1/rooms?limit=2&order=asc").await.next_cursor().unwrap();
    assert_eq!(client.get(&format!("/v1/rooms?cursor={cursor}&limit=9&fields=name")).await.status, 200);
    assert_eq!(client.get(&format!("/v1/rooms?cursor={cursor}&order=asc&sort=created_at")).await.status, 200);
    let (head, last) = cursor.split_at(cursor.len() - 1);
    let altered = format!("{head}{}", if last == "w" { "g" } else { "w" });
    for query in [
        format!("/v1/tasks?cursor={cursor}"),
        format!("/v1/rooms?cursor={cursor}&order=desc"),
        format!("/v1/rooms?cursor={cursor}&sort=updated_at"),
        format!("/v1/rooms?cursor={altered}"),
        format!("/v1/events?cursor={cursor}"),
        "/v1/rooms?cursor=start".to_owned(),
    ] {
        let response = client.get(&query).await;
        assert_eq!((response.status, response.error()), (400, "invalid_cursor"), "{query}");
    }
    let other = client.get(&format!("/v1/rooms?cursor={cursor}&order=desc")).await;
    let fix = "Leave order out, or send it as for the first page; or start again without cursor.";
    assert_eq!(other.json["error"]["fix"], fix);
    let other_home = Client::new(&server.url, &server.live_key);
    assert_eq!(other_home.get(&format!("/v1/rooms?cursor={cursor}")).await.error(), "invalid_cursor");
}

#[tokio::test]
async fn record_get_returns_etag() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let made = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let path = format!("/v1/rooms/{}", made.id());
    let read = client.get(&path).await;
    assert_eq!((read.data(), read.header("etag")), (made.data(), "\"1\""));
    assert_eq!(read.json["meta"]["as_of"], 1);
    assert_eq!(client.get(&path.to_uppercase().replace("/V1/ROOMS", "/v1/rooms")).await.status, 200);
    let again = |tag: &str| client.send(client.request(Method::GET, &path).header("if-none-match", tag.to_owned()));
    let unchanged = again("W/\"7\", \"1\"").await;
    assert_eq!((unchanged.status, unchanged.text.as_str(), unchanged.header("etag")), (304, "", "\"1\""));
    assert_eq!(again("\"2\"").await.status, 200);
    let trimmed = client.get(&format!("{path}?fields=name,rev")).await;
    assert_eq!(*trimmed.data(), json!({ "id": made.id(), "rev": 1, "name": "Hall" }));
    assert_eq!(trimmed.header("etag"), "");
    for id in ["nope", "{0190a3b0-0000-7000-8000-00000000abcd}", "0190a3b0-0000-7000-8000-00000000abcd"] {
        assert_eq!(client.get(&format!("/v1/rooms/{id}")).await.error(), "not_found", "{id}");
    }
    assert_eq!(client.get(&format!("/v1/tasks/{}", made.id())).await.error(), "not_found");
    let other_home = Client::new(&server.url, &server.test_key);
    assert_eq!(other_home.get(&path).await.error(), "not_found");
}

#[tokio::test]
async fn since_filters_apply_in_both_orders() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let mut made = Vec::new();
    for number in 0..6 {
        made.push(client.post("/v1/rooms", &json!({ "name": format!("Room {number}") })).await.data().clone());
        // Wait for the next millisecond, so each record has its own timestamp.
        while hearth_server::clock::Clock::system().now().to_string().as_str()
            <= made[number]["created_at"].as_str().unwrap()
        {}
    }
    let changed =
        client.patch(&format!("/v1/rooms/{}", made[1]["id"].as_str().unwrap()), &json!({ "floor": "2" })).await;
    let names = |records: Vec<Value>| -> Vec<String> {
        records.iter().map(|record| record["name"].as_str().unwrap().replace("Room ", "")).collect()
    };
    let moment = |record: &Value, member: &str| record[member].as_str().unwrap().to_owned();
    let third = moment(&made[3], "created_at");
    for (query, expected) in [
        (format!("created_since={third}"), &["5", "4", "3"][..]),
        (format!("created_since={}", third.replace('Z', "001Z")), &["5", "4"]),
        (format!("created_since={third}&order=asc&limit=2"), &["3", "4", "5"]),
        (format!("updated_since={third}&sort=updated_at&order=asc&limit=1"), &["3", "4", "5", "1"]),
        (format!("updated_since={third}&order=asc"), &["1", "3", "4", "5"]),
        (format!("created_since={third}&updated_since={}&order=asc", moment(&made[4], "updated_at")), &["4", "5"]),
        (format!("updated_since={}", moment(changed.data(), "updated_at")), &["1"]),
        ("created_since=2999-01-01".to_owned(), &[]),
        (format!("created_since={}", third.to_lowercase()), &["5", "4", "3"]),
        ("created_since=2020-01-01T00:00:00%2B02:00&order=asc&limit=6".to_owned(), &["0", "1", "2", "3", "4", "5"]),
    ] {
        assert_eq!(names(client.list_all(&format!("/v1/rooms?{query}")).await), expected, "{query}");
    }
    let cursor = client.get(&format!("/v1/rooms?created_since={third}&limit=1")).await.next_cursor().unwrap();
    assert_eq!(names(client.list_all(&format!("/v1/rooms?cursor={cursor}")).await), ["4", "3"]);
    let other = client.get(&format!("/v1/rooms?cursor={cursor}&created_since=2020-01-01")).await;
    assert_eq!(other.error(), "invalid_cursor");
    for bad in ["created_since=yesterday", "updated_since=2026-02-30", "created_since=2026-01-01T00:00:00"] {
        assert_eq!(client.get(&format!("/v1/rooms?{bad}")).await.error(), "invalid_request", "{bad}");
    }
}

#[tokio::test]
async fn fields_name_relation_only_with_expand() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let lamp = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room.id() })).await.id();
    let expected = json!({ "id": lamp, "name": "Lamp", "room": room.data() });
    for query in ["fields=name,room&expand=room", "fields=name&expand=room", "fields=room,name,room&expand=room"] {
        assert_eq!(client.get(&format!("/v1/inventory?{query}")).await.data()[0], expected, "{query}");
        assert_eq!(*client.get(&format!("/v1/inventory/{lamp}?{query}")).await.data(), expected, "{query}");
    }
    for (path, value, nearest) in [
        ("/v1/inventory?fields=name,room", "room", json!("room_id")),
        ("/v1/tasks?fields=subject", "subject", json!("subject_id")),
        ("/v1/inventory?fields=room.name&expand=room", "room.name", Value::Null),
        ("/v1/rooms?fields=room", "room", Value::Null),
    ] {
        let refused = client.get(path).await;
        let details = &refused.json["error"]["details"];
        assert_eq!((refused.status, &details["parameter"], &details["value"]), (400, &json!("fields"), &json!(value)));
        assert!(nearest.is_null() || details["nearest"] == nearest, "{path}: {details}");
    }
}

#[tokio::test]
async fn expand_shows_relation_beside_id() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let lamp = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room.id() })).await.id();
    client.post("/v1/inventory", &json!({ "name": "Bulb" })).await;
    let listed = client.get("/v1/inventory?expand=room&order=asc&fields=name").await;
    let expected = json!({ "id": lamp, "name": "Lamp", "room": room.data() });
    assert_eq!((&listed.data()[0], &listed.data()[1]["room"]), (&expected, &Value::Null));
    let task = json!({ "title": "Dust", "subject_type": "inventory", "subject_id": lamp });
    let task = client.post("/v1/tasks", &task).await.id();
    let read = client.get(&format!("/v1/tasks/{task}?expand=subject")).await;
    assert_eq!((&read.data()["subject"]["name"], &read.data()["subject_id"]), (&json!("Lamp"), &json!(lamp)));
    assert_eq!(read.header("etag"), "");
    let unknown = client.get("/v1/inventory?expand=rooms").await;
    assert_eq!((unknown.status, &unknown.json["error"]["details"]["nearest"]), (400, &json!("room")));
    assert_eq!(client.get("/v1/rooms?expand=room").await.status, 400);
}
