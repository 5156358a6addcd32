//! Bulk calls (contract 7).

use hearth_tests::client::Client;
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn operations_see_earlier_and_fail_alone() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (id, other) = (Uuid::from_u128(1).to_string(), Uuid::from_u128(2).to_string());
    let response = client
        .post(
            "/v1/rooms/bulk",
            &json!({ "operations": [
                { "method": "create", "id": id, "name": "Hall" },
                { "method": "update", "id": id, "data": { "floor": "1" }, "if_match": 1 },
                { "method": "update", "id": id, "floor": "2", "if_match": "\"1\"" },
                { "method": "create", "name": "" },
                { "method": "create", "nmae": "Attic" },
                { "method": "create", "data": { "id": other, "name": "Attic" } },
                { "method": "create", "id": id, "name": "Twice" },
                { "method": "update", "id": "nope", "floor": "2" },
                { "method": "delete", "id": id },
                { "method": "delete", "id": id },
                { "method": "update", "id": id, "floor": "3" }
            ] }),
        )
        .await;
    assert_eq!(response.status, 207, "{}", response.text);
    let results = response.data().as_array().unwrap();
    let summary: Vec<(u64, &str, u64, &str)> = results
        .iter()
        .map(|result| {
            let error = result["error"]["type"].as_str().unwrap_or_default();
            (
                result["index"].as_u64().unwrap(),
                result["method"].as_str().unwrap(),
                result["status"].as_u64().unwrap(),
                error,
            )
        })
        .collect();
    assert_eq!(
        summary,
        [
            (0, "create", 201, ""),
            (1, "update", 200, ""),
            (2, "update", 412, "precondition_failed"),
            (3, "create", 422, "validation_failed"),
            (4, "create", 422, "validation_failed"),
            (5, "create", 201, ""),
            (6, "create", 409, "already_exists"),
            (7, "update", 404, "not_found"),
            (8, "delete", 200, ""),
            (9, "delete", 200, ""),
            (10, "update", 404, "not_found"),
        ]
    );
    assert_eq!((&results[0]["id"], &results[3]["id"], &results[7]["id"]), (&json!(id), &Value::Null, &json!("nope")));
    assert_eq!(
        (&results[1]["data"]["floor"], &results[8]["data"]),
        (&json!("1"), &json!({ "id": id, "deleted": true }))
    );
    assert!(results[4]["error"]["fix"].is_string() && results[4]["error"]["doc_url"].is_string());
    assert_eq!(response.json["meta"]["as_of"], 4);
    assert_eq!(client.list_all("/v1/rooms").await.len(), 1);
}

#[tokio::test]
async fn malformed_body_applies_nothing() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let good = json!({ "method": "create", "title": "a" });
    for (body, fault) in [
        (json!([]), " wrong_type"),
        (json!({}), "operations required"),
        (json!({ "operations": {} }), "operations wrong_type"),
        (json!({ "operations": [] }), "operations too_short"),
        (json!({ "operations": vec![good.clone(); 51] }), "operations too_long"),
        (json!({ "operations": [good], "atomic": true }), "atomic unknown_field"),
        (json!({ "operations": [good, 7] }), "operations[1] wrong_type"),
        (json!({ "operations": [good, { "title": "b", "id": "x" }] }), "operations[1].method required"),
        (json!({ "operations": [good, { "method": "crate" }] }), "operations[1].method not_a_choice"),
        (json!({ "operations": [good, { "method": "update", "title": "b" }] }), "operations[1].id required"),
        (
            json!({ "operations": [{ "method": "create", "title": "a", "if_match": [] }] }),
            "operations[0].if_match wrong_type",
        ),
        (
            json!({ "operations": [{ "method": "create", "title": "a", "data": {} }] }),
            "operations[0].data inconsistent",
        ),
    ] {
        let response = client.post("/v1/tasks/bulk", &body).await;
        assert_eq!((response.status, response.faults()), (422, vec![fault.to_owned()]), "{body}");
    }
    assert_eq!(client.list_all("/v1/tasks").await.len(), 0);
}

#[tokio::test]
async fn one_key_covers_whole_call() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "operations": [{ "method": "create", "title": "a" }, { "method": "create", "title": "" }] });
    let send =
        || client.send(client.request(Method::POST, "/v1/tasks/bulk").header("idempotency-key", "k").json(&body));
    let (first, again) = (send().await, send().await);
    assert_eq!((first.status, again.status, &first.text), (207, 207, &again.text));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
    assert_eq!(client.get("/v1/events").await.data()[0]["idempotency_key"], "k");
}

#[tokio::test]
async fn both_operation_forms_are_equivalent() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let id = "f47ac10b-58cc-4372-a567-0e02b2c3d479";
    let call = |operations: Value| {
        let client = client.clone();
        async move { client.post("/v1/tasks/bulk", &json!({ "operations": operations })).await }
    };
    let upper = id.to_uppercase();
    let response = call(json!([
        { "method": "create", "data": { "id": upper, "title": "Filter", "recurrence": "weekly", "due_on": "2099-06-01" } },
        { "method": "update", "id": upper, "data": { "status": "done" }, "if_match": 1.0 },
        { "method": "update", "id": upper, "title": "Filters", "if_match": "*" },
        { "method": "update", "id": upper, "title": "", "if_match": "\"4\"" },
        { "method": "update", "id": upper, "title": "x", "if_match": 3 },
        { "method": "update", "id": upper },
        { "method": "delete", "id": upper, "if_match": 1 },
        { "method": "delete", "id": upper, "title": "x" },
        { "method": "delete", "id": upper, "data": {} },
    ]))
    .await;
    let results = response.data().as_array().unwrap();
    let statuses: Vec<u64> = results.iter().map(|result| result["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [201, 200, 200, 422, 412, 200, 412, 422, 200], "{}", response.text);
    assert!(results.iter().all(|result| result["id"] == id), "an id is given as ids are written: {}", response.text);
    for (index, result) in results.iter().enumerate() {
        assert_eq!(result["index"], index);
        let failed = result["status"].as_u64() >= Some(400);
        assert_eq!((result.get("error").is_some(), result.get("data").is_some()), (failed, !failed));
    }
    assert_eq!((&results[2]["data"]["rev"], &results[5]["data"]["rev"]), (&json!(4), &json!(4)));
    // The next recurring task is created in the same transaction, directly after the change.
    let events = client.get("/v1/events").await;
    let report: Vec<String> = events
        .data()
        .as_array()
        .unwrap()
        .iter()
        .map(|event| format!("{} {}", event["id"], event["type"].as_str().unwrap()))
        .collect();
    assert_eq!(report, ["1 created", "2 updated", "3 created", "4 updated", "5 deleted"]);
    assert_eq!(response.json["meta"]["as_of"], 5);
    assert_eq!(events.data()[2]["payload"]["due_on"], "2099-06-08");
}

#[tokio::test]
async fn fifty_operations_commit_once_and_51_never() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = |count: usize| json!({ "operations": vec![json!({ "method": "create", "name": "Room" }); count] });
    // The first use of a key makes a commit of its own.
    client.get("/v1/me").await;
    let db = &server.running.app.db;
    while hearth_server::operate::list_keys(db, None).await.unwrap().iter().all(|key| key.last_used_at.is_none()) {}
    let commits = || db.writer_counters().commits.load(std::sync::atomic::Ordering::Relaxed);
    let refused = client.post("/v1/rooms/bulk", &body(51)).await;
    assert_eq!((refused.status, refused.faults()), (422, vec!["operations too_long".to_owned()]));
    assert_eq!(client.get("/v1/events").await.json["meta"]["feed"]["head"], 0);
    let before = commits();
    let response = client.post("/v1/rooms/bulk", &body(50)).await;
    assert_eq!((response.status, response.data().as_array().unwrap().len()), (207, 50));
    assert_eq!((client.list_all("/v1/rooms?limit=100").await.len(), commits() - before), (50, 1));
}

#[tokio::test]
async fn create_takes_one_id_and_no_condition() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (a, b) = (Uuid::from_u128(1).to_string(), Uuid::from_u128(2).to_string());
    let call = |operation: Value| {
        let client = client.clone();
        async move { client.post("/v1/rooms/bulk", &json!({ "operations": [operation] })).await }
    };
    // Two ids are refused, even equal ones.
    for second in [&a, &b] {
        let twice = call(json!({ "method": "create", "id": a, "data": { "id": second, "name": "Hall" } })).await;
        assert_eq!((twice.status, twice.faults()), (422, vec!["operations[0].data.id inconsistent".to_owned()]));
    }
    // The result names the record id, from either place in the operation.
    let refused = call(json!({ "method": "create", "data": { "id": a.to_uppercase(), "name": "" } })).await;
    assert_eq!((&refused.data()[0]["status"], &refused.data()[0]["id"]), (&json!(422), &json!(a)));
    let made = call(json!({ "method": "create", "id": null, "data": { "id": b, "name": "Hall" } })).await;
    assert_eq!((&made.data()[0]["status"], &made.data()[0]["id"]), (&json!(201), &json!(b)));
    // A record to be created has no revision, so no condition holds.
    for condition in [json!(1), json!("*"), json!("\"1\"")] {
        let held = call(json!({ "method": "create", "id": a, "name": "Attic", "if_match": condition })).await;
        assert_eq!(held.data()[0]["error"]["type"], "precondition_failed", "{condition}");
    }
    assert_eq!(
        call(json!({ "method": "create", "id": a, "name": "Attic", "if_match": null })).await.data()[0]["status"],
        201
    );
    assert_eq!(client.list_all("/v1/rooms").await.len(), 2);
}

#[tokio::test]
async fn all_form_faults_are_reported_at_once() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    for (body, faults) in [
        (json!({ "x": 1, "y": 2 }), &["x unknown_field", "y unknown_field", "operations required"][..]),
        (json!({ "x": 1, "operations": 7 }), &["x unknown_field", "operations wrong_type"]),
        (
            json!({ "x": 1, "operations": [{ "method": "crate" }, 7] }),
            &["x unknown_field", "operations[0].method not_a_choice", "operations[1] wrong_type"],
        ),
    ] {
        assert_eq!(client.post("/v1/rooms/bulk", &body).await.faults(), faults, "{body}");
    }
}
