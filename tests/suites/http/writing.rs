//! Create, patch and delete, and the rules of single kinds (contract 3, 6, 10).

use std::time::Duration;

use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn create_returns_record_and_id_stays_used() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = Uuid::from_u128(0xabc).to_string();
    let made = client.post("/v1/tasks", &json!({ "id": id.to_uppercase(), "title": "Buy filter" })).await;
    assert_eq!((made.status, made.header("etag")), (201, "\"1\""));
    assert_eq!(made.header("location"), format!("/v1/tasks/{id}"));
    let data = made.data();
    assert_eq!(
        (&data["id"], &data["priority"], &data["status"], &data["due_on"]),
        (&json!(id), &json!("medium"), &json!("open"), &Value::Null)
    );
    assert_eq!(data["created_at"], data["updated_at"]);

    let again = client.post("/v1/tasks", &json!({ "id": id, "title": "Other" })).await;
    assert_eq!((again.status, again.error()), (409, "already_exists"));
    assert_eq!(again.json["error"]["details"], json!({ "id": id, "deleted": false }));
    // An id is unique in the home, not in the collection, and stays used after a delete.
    assert_eq!(client.post("/v1/rooms", &json!({ "id": id, "name": "Hall" })).await.status, 409);
    client.delete(&format!("/v1/tasks/{id}")).await;
    let deleted = client.post("/v1/tasks", &json!({ "id": id, "title": "Other" })).await;
    assert_eq!((deleted.status, &deleted.json["error"]["details"]["deleted"]), (409, &json!(true)));
}

#[tokio::test]
async fn patch_merges_and_no_op_makes_no_event() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall", "floor": "1" })).await.id());
    let patched = client.patch(&path, &json!({ "floor": null, "flooring": "oak" })).await;
    assert_eq!((patched.status, patched.header("etag")), (200, "\"2\""));
    assert_eq!((&patched.data()["name"], &patched.data()["floor"]), (&json!("Hall"), &Value::Null));
    for body in [json!({}), json!({ "flooring": "oak", "floor": null })] {
        let same = client.patch(&path, &body).await;
        assert_eq!((same.data(), same.header("etag")), (patched.data(), "\"2\""));
    }
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], 2);
    let merge = client.request(Method::PATCH, &path).header("content-type", "application/merge-patch+json");
    assert_eq!(client.send(merge.body(r#"{"floor":"2"}"#)).await.status, 200);
    assert_eq!(
        client.patch(&path, &json!({ "name": null, "id": "x", "rev": 1, "flor": 1 })).await.faults(),
        ["name not_nullable", "id read_only", "rev read_only", "flor unknown_field"]
    );
}

#[tokio::test]
async fn condition_checked_after_404_and_before_422() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    let patch = |path: &str, tag: &str, body: Value| {
        client.send(client.request(Method::PATCH, path).header("if-match", tag.to_owned()).json(&body))
    };
    assert_eq!(patch(&path, "\"9\"", json!({ "name": "" })).await.error(), "precondition_failed");
    assert_eq!(patch(&path, "W/\"1\"", json!({ "floor": "1" })).await.error(), "precondition_failed");
    assert_eq!(patch(&path, "\"1\"", json!({ "name": "" })).await.error(), "validation_failed");
    assert_eq!(patch(&path, "\"7\", \"1\"", json!({ "floor": "1" })).await.status, 200);
    assert_eq!(patch(&path, "*", json!({ "floor": "2" })).await.status, 200);
    let unknown = format!("/v1/rooms/{}", Uuid::from_u128(5));
    assert_eq!(patch(&unknown, "*", json!({ "name": "" })).await.error(), "not_found");
    let delete =
        |path: &str, tag: &str| client.send(client.request(Method::DELETE, path).header("if-match", tag.to_owned()));
    assert_eq!(delete(&path, "\"1\"").await.error(), "precondition_failed");
    assert_eq!(delete(&unknown, "*").await.status, 200);
    assert_eq!(delete(&path, "\"3\"").await.status, 200);
}

#[tokio::test]
async fn malformed_condition_gives_400_not_412() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    let send = |header: &'static str, tag: &'static str| {
        client.send(client.request(Method::PATCH, &path).header(header, tag).json(&json!({})))
    };
    for header in ["If-Match", "If-None-Match"] {
        for tag in
            ["1", "", ",", "\"1", "1\"", "\"1\" \"2\"", "\"1\", x", "w/\"1\"", "W/W/\"1\"", "*, \"1\"", "\"a b\""]
        {
            let refused = send(header, tag).await;
            assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "{header}: {tag}");
            assert_eq!(refused.json["error"]["details"]["parameter"], header);
        }
    }
    // Empty list elements are ignored (RFC 9110 5.6.1.2).
    for (tag, status) in [
        ("\"1\"", 200),
        ("\"a,b\" , \"1\"", 200),
        ("\"1\",", 200),
        (", ,\"7\",,\"1\"", 200),
        ("W/\"1\"", 412),
        ("\"x\"", 412),
        (" * ", 200),
    ] {
        assert_eq!(send("If-Match", tag).await.status, status, "{tag}");
    }
}

#[tokio::test]
async fn repeated_delete_gives_same_response() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let path = format!("/v1/rooms/{id}");
    for _ in 0..2 {
        let gone = client.delete(&path).await;
        assert_eq!((gone.status, gone.data()), (200, &json!({ "id": id, "deleted": true })));
    }
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], 2);
    assert_eq!(client.patch(&path, &json!({})).await.error(), "not_found");
    assert_eq!(client.delete(&format!("/v1/rooms/{}", Uuid::from_u128(1))).await.status, 200);
    assert_eq!(client.delete("/v1/rooms/nope").await.error(), "not_found");
}

#[tokio::test]
async fn references_must_exist_and_clear_on_delete() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let nowhere = Uuid::from_u128(5).to_string();
    assert_eq!(
        client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": nowhere })).await.faults(),
        ["room_id not_found"]
    );
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    // An id of another kind is refused as a room.
    let lamp = client.post("/v1/inventory", &json!({ "name": "Lamp", "room_id": room })).await.id();
    assert_eq!(
        client.post("/v1/inventory", &json!({ "name": "Bulb", "room_id": lamp })).await.faults(),
        ["room_id not_found"]
    );
    let about = |kind: &str, id: &str| json!({ "title": "x", "subject_type": kind, "subject_id": id });
    let task = client.post("/v1/tasks", &about("room", &room)).await.id();
    let paper = client.post("/v1/documents", &about("inventory", &lamp)).await.id();
    let other = client.post("/v1/tasks", &about("inventory", &lamp)).await.id();
    client.patch(&format!("/v1/tasks/{other}"), &json!({ "subject_type": "room", "subject_id": room })).await;

    let before = client.get("/v1/events?limit=1000").await.next_cursor().unwrap();
    client.delete(&format!("/v1/rooms/{room}")).await;
    client.delete(&format!("/v1/inventory/{lamp}")).await;
    let events = client.get(&format!("/v1/events?cursor={before}")).await;
    let mut tasks = [task.clone(), other.clone()];
    tasks.sort();
    let happened: Vec<(String, String)> = events
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|event| {
            let word = |name: &str| event[name].as_str().unwrap().to_owned();
            (format!("{} {}", word("resource_type"), word("type")), word("resource_id"))
        })
        .collect();
    let expected = [
        ("inventory updated", &lamp),
        ("task updated", &tasks[0]),
        ("task updated", &tasks[1]),
        ("room deleted", &room),
        ("document updated", &paper),
        ("inventory deleted", &lamp),
    ];
    assert_eq!(happened, expected.map(|(what, id)| (what.to_owned(), id.clone())));
    for (path, fields) in [(format!("/v1/tasks/{task}"), true), (format!("/v1/documents/{paper}"), true)] {
        let record = client.get(&path).await;
        assert_eq!((record.data()["subject_type"].is_null(), record.data()["subject_id"].is_null()), (fields, fields));
    }
}

#[tokio::test]
async fn subject_id_follows_subject_type() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = Uuid::from_u128(1).to_string();
    let client = &client;
    let faults = |body: Value| async move { client.post("/v1/tasks", &body).await.faults() };
    assert_eq!(faults(json!({ "title": "x", "subject_type": "room" })).await, ["subject_id required"]);
    assert_eq!(
        faults(json!({ "title": "x", "subject_type": "home", "subject_id": id })).await,
        ["subject_id inconsistent"]
    );
    assert_eq!(faults(json!({ "title": "x", "subject_id": id })).await, ["subject_id inconsistent"]);
    assert_eq!(faults(json!({ "title": "x", "subject_type": "home" })).await, [""; 0]);
}

#[tokio::test]
async fn faulty_half_of_subject_reported_alone() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let item = client.post("/v1/inventory", &json!({ "name": "Boiler" })).await.id();
    let car = client.post("/v1/vehicles", &json!({ "name": "Van" })).await.id();
    let task = json!({ "title": "Service", "subject_type": "inventory", "subject_id": item });
    let path = format!("/v1/tasks/{}", client.post("/v1/tasks", &task).await.id());
    for (body, fault) in [
        (json!({ "subject_type": "vehicle", "subject_id": "nope" }), "subject_id invalid_format"),
        (json!({ "subject_type": "vehicl", "subject_id": car }), "subject_type not_a_choice"),
        (json!({ "subject_type": "vehicle", "subject_id": item }), "subject_id not_found"),
    ] {
        assert_eq!(client.patch(&path, &body).await.faults(), [fault], "{body}");
    }
}

#[tokio::test]
async fn home_id_belongs_to_profile_only() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let home = client.get("/v1/me").await.data()["home"]["id"].as_str().unwrap().to_owned();
    for collection in ["rooms", "vehicles"] {
        let taken = client.post(&format!("/v1/{collection}"), &json!({ "id": home, "name": "Hall" })).await;
        assert_eq!((taken.status, taken.error()), (409, "already_exists"), "{}", taken.text);
    }
    let set = client.patch("/v1/property", &json!({ "city": "Ghent" })).await;
    assert_eq!((set.status, &set.data()["city"]), (200, &json!("Ghent")));
}

#[tokio::test]
async fn empty_patch_creates_no_profile() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let patched = client.patch("/v1/property", &json!({ "city": null })).await;
    assert_eq!((patched.status, patched.data()), (200, &Value::Null), "{}", patched.text);
    assert_eq!(*client.get("/v1/events").await.data(), json!([]));
}

#[tokio::test]
async fn first_patch_creates_profile() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    assert_eq!(*client.get("/v1/property").await.data(), Value::Null);
    assert_eq!(*client.patch("/v1/property", &json!({})).await.data(), Value::Null);
    assert_eq!(client.patch("/v1/property", &json!({ "year_built": 12 })).await.faults(), ["year_built out_of_range"]);
    let set = client.patch("/v1/property", &json!({ "city": "Utrecht" })).await;
    assert_eq!((set.status, set.header("etag"), &set.data()["city"]), (200, "\"1\"", &json!("Utrecht")));
    assert_eq!(client.get("/v1/property").await.data(), set.data());
    let cleared = client.patch("/v1/property", &json!({ "city": null })).await;
    assert_eq!((&cleared.data()["city"], &cleared.data()["rev"]), (&Value::Null, &json!(2)));
    let events = client.get("/v1/events?types=property").await;
    let types: Vec<&str> =
        events.data().as_array().unwrap().iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(types, ["created", "updated"]);
}

#[tokio::test]
async fn timestamps_never_go_back() {
    let test_clock = TestClock::at("2026-06-01T12:00:00Z");
    let server = Server::start_at(test_clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let made = client.post("/v1/rooms", &json!({ "name": "Hall" })).await;
    let path = format!("/v1/rooms/{}", made.id());
    assert_eq!(made.data()["created_at"], "2026-06-01T12:00:00.000Z");
    test_clock.step_to("2026-06-01T11:00:00Z");
    let patched = client.patch(&path, &json!({ "floor": "1" })).await;
    assert_eq!(patched.data()["updated_at"], "2026-06-01T12:00:00.000Z");
    let other = client.post("/v1/rooms", &json!({ "name": "Attic" })).await;
    assert_eq!(other.data()["created_at"], "2026-06-01T12:00:00.000Z");
    test_clock.step_to("2026-06-01T13:00:00.001Z");
    let patched = client.patch(&path, &json!({ "floor": "2" })).await;
    assert_eq!(
        (&patched.data()["created_at"], &patched.data()["updated_at"]),
        (&made.data()["created_at"], &json!("2026-06-01T13:00:00.001Z"))
    );
    // A patch without a change keeps `updated_at`.
    test_clock.advance(Duration::from_secs(1));
    let same = client.patch(&path, &json!({ "floor": "2" })).await;
    assert_eq!(same.data(), patched.data());
    let moments: Vec<Value> =
        client.list_all("/v1/events").await.iter().map(|event| event["created_at"].clone()).collect();
    assert!(moments.is_sorted_by(|a, b| a.as_str() <= b.as_str()), "{moments:?}");
}

#[tokio::test]
async fn delete_with_many_references_ends_in_steps() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let path = format!("/v1/rooms/{room}");
    let items = vec![json!({ "method": "create", "name": "Lamp", "room_id": room }); 50];
    for _ in 0..5 {
        client.post("/v1/inventory/bulk", &json!({ "operations": items })).await;
    }
    let start = client.get("/v1/events?limit=1000").await.next_cursor().unwrap();
    let stale = client.request(Method::DELETE, &path).header("if-match", "\"999\"");
    assert_eq!(client.send(stale).await.error(), "precondition_failed");
    let in_bulk = json!({ "operations": [{ "method": "delete", "id": room }] });
    let refused = client.post("/v1/rooms/bulk", &in_bulk).await.data()[0].clone();
    assert_eq!((&refused["status"], &refused["error"]["type"]), (&json!(413), &json!("payload_too_large")));
    assert_eq!(client.get(&format!("/v1/events?cursor={start}")).await.data(), &json!([]), "nothing is cleared yet");

    let delete = || client.request(Method::DELETE, &path).header("idempotency-key", "once");
    assert_eq!(client.send(delete()).await.status, 200);
    assert_eq!(client.send(delete()).await.header("idempotency-replayed"), "true");
    let events = client.list_all(&format!("/v1/events?limit=1000&cursor={start}")).await;
    let ids: Vec<&str> = events.iter().map(|event| event["resource_id"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), ids[250]), (251, &*room));
    assert!(ids[..250].is_sorted(), "in the order of ids");
    assert!(events[..250].iter().all(|event| event["payload"]["room_id"].is_null()));
    assert_eq!(events[250]["type"], "deleted");
}

#[tokio::test]
async fn deleted_vehicle_is_cleared_as_subject() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let car = client.post("/v1/vehicles", &json!({ "name": "Van" })).await.id();
    let about = json!({ "title": "x", "subject_type": "vehicle", "subject_id": car });
    let (paper, task) = (client.post("/v1/documents", &about).await, client.post("/v1/tasks", &about).await);
    client.delete(&format!("/v1/vehicles/{car}")).await;
    let events = client.list_all("/v1/events").await;
    let report: Vec<String> = events[3..]
        .iter()
        .map(|event| format!("{} {}", event["resource_type"].as_str().unwrap(), event["type"].as_str().unwrap()))
        .collect();
    assert_eq!(report, ["document updated", "task updated", "vehicle deleted"]);
    for (path, before) in [("/v1/documents", paper), ("/v1/tasks", task)] {
        let after = client.get(&format!("{path}/{}", before.id())).await;
        let (kind, id) = (&after.data()["subject_type"], &after.data()["subject_id"]);
        assert!(kind.is_null() && id.is_null(), "{}", after.text);
    }
    // A task may have a room as subject; a document may not.
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let about = json!({ "title": "x", "subject_type": "room", "subject_id": room });
    assert_eq!(client.post("/v1/tasks", &about).await.status, 201);
    assert_eq!(client.post("/v1/documents", &about).await.faults(), ["subject_type not_a_choice"]);
}

#[tokio::test]
async fn profile_honours_conditions_like_a_record() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let patch = |tag: &'static str, body: Value| {
        client.send(client.request(Method::PATCH, "/v1/property").header("if-match", tag).json(&body))
    };
    assert_eq!(patch("*", json!({ "city": "Ulm" })).await.error(), "precondition_failed");
    assert_eq!(client.patch("/v1/property", &json!({ "city": "Ulm", "stories": 2 })).await.status, 200);
    let read = client.get("/v1/property").await;
    let head = client.get("/v1/events").await.json["meta"]["feed"]["head"].clone();
    assert_eq!((read.header("etag"), &read.json["meta"]["as_of"]), ("\"1\"", &head));
    let unchanged = client.request(Method::GET, "/v1/property").header("if-none-match", "\"1\"");
    assert_eq!(client.send(unchanged).await.status, 304);
    let part = client.get("/v1/property?fields=city").await;
    assert_eq!((part.data(), part.header("etag")), (&json!({ "id": read.id(), "city": "Ulm" }), ""));
    assert_eq!(patch("\"2\"", json!({ "city": "" })).await.status, 412);
    assert_eq!(patch("\"1\"", json!({ "city": "Bern" })).await.header("etag"), "\"2\"");
    assert_eq!(patch("*", json!({})).await.header("etag"), "\"2\"");
    let merge = client.request(Method::PATCH, "/v1/property").header("content-type", "application/merge-patch+json");
    let merged = client.send(merge.body(r#"{"stories":null}"#)).await;
    assert_eq!((&merged.data()["city"], &merged.data()["stories"]), (&json!("Bern"), &Value::Null));
    let events = client.get("/v1/events?types=property").await;
    assert!(events.data().as_array().unwrap().iter().all(|event| event["resource_id"] == read.id()));
    for (method, allow) in [(Method::POST, "GET, PATCH, HEAD"), (Method::DELETE, "GET, PATCH, HEAD")] {
        let response = client.send(client.request(method, "/v1/property")).await;
        assert_eq!((response.status, response.header("allow")), (405, allow));
    }
}

#[tokio::test]
async fn if_none_match_write_requires_absence() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let send = |method: Method, path: &str, tag: &str, body: Value| {
        let request = client.request(method, path).header("if-none-match", tag).json(&body);
        let client = client.clone();
        async move { client.send(request).await }
    };
    // The profile is created if absent, and not overwritten.
    assert_eq!(send(Method::PATCH, "/v1/property", "*", json!({ "city": "Ulm" })).await.status, 200);
    let refused = send(Method::PATCH, "/v1/property", "*", json!({ "city": "Bern" })).await;
    assert_eq!((refused.status, refused.error()), (412, "precondition_failed"));
    assert_eq!(refused.json["error"]["details"]["rev"], 1);
    assert_eq!(client.get("/v1/property").await.data()["city"], "Ulm");
    // A record matches by any of its tags, weak tags included.
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    for tag in ["*", "\"2\"", "W/\"2\"", "\"7\", \"2\""] {
        for (method, body) in [(Method::PATCH, json!({ "floor": "1" })), (Method::DELETE, json!({}))] {
            let refused = send(method.clone(), &path, tag, body).await;
            assert_eq!((refused.status, &refused.json["error"]["details"]["rev"]), (412, &json!(2)), "{method} {tag}");
        }
    }
    assert_eq!(client.get(&path).await.header("etag"), "\"2\"");
    assert_eq!(send(Method::PATCH, &path, "\"1\"", json!({ "floor": "1" })).await.header("etag"), "\"3\"");
    // Both conditions must hold together.
    let both = client.request(Method::PATCH, &path).header("if-match", "\"3\"").header("if-none-match", "\"3\"");
    assert_eq!(client.send(both.json(&json!({ "floor": "2" }))).await.status, 412);
    // Existence is checked first.
    let nowhere = format!("/v1/rooms/{}", uuid::Uuid::from_u128(7));
    assert_eq!(send(Method::PATCH, &nowhere, "*", json!({})).await.status, 404);
    assert_eq!(send(Method::DELETE, &nowhere, "*", json!({})).await.status, 200);
    // A refusal by If-Match contains the revision, too.
    let stale = client.request(Method::PATCH, &path).header("if-match", "\"2\"").json(&json!({ "floor": "2" }));
    assert_eq!(client.send(stale).await.json["error"]["details"]["rev"], 3);
}

#[tokio::test]
async fn condition_without_revision_is_refused() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let operations = json!({ "operations": [{ "method": "create", "name": "Hall" }] });
    let job = format!("/v1/exports/{}", uuid::Uuid::from_u128(7));
    for (method, path, body) in [
        (Method::POST, "/v1/rooms", json!({ "name": "Hall" })),
        (Method::POST, "/v1/rooms/bulk", operations),
        (Method::POST, "/v1/exports", json!({ "format": "json" })),
        (Method::DELETE, &job, json!({})),
    ] {
        for (header, value) in [("If-Match", "*"), ("If-Match", "\"1\""), ("If-None-Match", "*")] {
            let request = client.request(method.clone(), path).header(header, value).json(&body);
            let refused = client.send(request).await;
            assert_eq!((refused.status, refused.error()), (400, "invalid_request"), "{method} {path} {header}");
            let details = &refused.json["error"]["details"];
            assert_eq!((&details["parameter"], &details["value"]), (&json!(header), &json!(value)));
        }
    }
    assert_eq!(client.list_all("/v1/rooms").await.len(), 0);
    assert_eq!(client.get("/v1/exports").await.data(), &json!([]));
}

#[tokio::test]
async fn delete_takes_no_fields() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (json_type, text_type) = (Some("application/json"), Some("text/plain"));
    for path in ["/v1/rooms/0190a3b0-0000-7000-8000-00000000abcd", "/v1/exports/0190a3b0-0000-7000-8000-00000000abcd"] {
        let send = |media: Option<&'static str>, body: reqwest::Body| {
            let request = client.request(Method::DELETE, path).body(body);
            client.send(match media {
                Some(media) => request.header("content-type", media),
                None => request,
            })
        };
        // A body of unknown length comes in chunks.
        let chunks =
            |text: &'static str| reqwest::Body::wrap_stream(futures_util::stream::iter([Ok::<_, String>(text)]));
        let large = "x".repeat((1 << 20) + 1);
        for (media, body, status, error) in [
            (None, reqwest::Body::from(""), 200, ""),
            (text_type, "".into(), 200, ""),
            (text_type, chunks(""), 200, ""),
            (json_type, "{}".into(), 200, ""),
            (json_type, chunks(" { } "), 200, ""),
            (None, "{}".into(), 415, "unsupported_media_type"),
            (text_type, "{}".into(), 415, "unsupported_media_type"),
            (text_type, chunks("{}"), 415, "unsupported_media_type"),
            (None, large.clone().into(), 415, "unsupported_media_type"),
            (json_type, large.into(), 413, "payload_too_large"),
            (json_type, "{".into(), 400, "invalid_json"),
            (json_type, " ".into(), 400, "invalid_json"),
            (json_type, r#"{"id":1}"#.into(), 400, "invalid_request"),
            (json_type, "[]".into(), 400, "invalid_request"),
            (json_type, "null".into(), 400, "invalid_request"),
        ] {
            let what = format!("{path} {media:?} {:?}", body.as_bytes());
            let response = send(media, body).await;
            assert_eq!((response.status, response.error()), (status, error), "{what}: {}", response.text);
            if error == "invalid_request" {
                assert_eq!(response.json["error"]["details"]["parameter"], "body");
            }
        }
        let coded = client.request(Method::DELETE, path).header("content-type", "application/json");
        assert_eq!(client.send(coded.header("content-encoding", "gzip").body("{}")).await.status, 415);
    }
    // An empty object is as no body, also for a retry.
    let path = format!("/v1/rooms/{}", client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id());
    let delete = || client.request(Method::DELETE, &path).header("idempotency-key", "k");
    assert_eq!(client.send(delete()).await.status, 200);
    let again = client.send(delete().header("content-type", "application/json").body("{}")).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, "true"));
}

#[tokio::test]
async fn deleted_id_conflict_fix_asks_for_other_id() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let room = json!({ "id": id, "name": "Hall" });
    let again = || client.post("/v1/rooms", &room);
    let fix = again().await.json["error"]["fix"].as_str().unwrap().to_owned();
    assert!(fix.starts_with("Read the record") && fix.contains("patch the record"), "{fix}");
    client.delete(&format!("/v1/rooms/{id}")).await;
    let fix = again().await.json["error"]["fix"].as_str().unwrap().to_owned();
    assert!(fix.contains("another id") && !fix.contains("patch the record"), "{fix}");
}
