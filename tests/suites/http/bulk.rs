//! Bulk calls (contract 7).

use hearth_tests::client::Client;
use hearth_tests::server::Server;
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn operations_see_each_other_and_fail_alone() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let (id, other) = (Uuid::from_u128(1).to_string(), Uuid::from_u128(2).to_string());
    let answer = client
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
    assert_eq!(answer.status, 207, "{}", answer.text);
    let results = answer.data().as_array().unwrap();
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
    assert_eq!(answer.json["meta"]["as_of"], 4);
    assert_eq!(client.walk("/v1/rooms").await.len(), 1);
}

#[tokio::test]
async fn a_body_of_another_form_applies_nothing() {
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
        let answer = client.post("/v1/tasks/bulk", &body).await;
        assert_eq!((answer.status, answer.faults()), (422, vec![fault.to_owned()]), "{body}");
    }
    assert_eq!(client.walk("/v1/tasks").await.len(), 0);
}

#[tokio::test]
async fn one_key_covers_the_call() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let body = json!({ "operations": [{ "method": "create", "title": "a" }, { "method": "create", "title": "" }] });
    let send =
        || client.send(client.request(Method::POST, "/v1/tasks/bulk").header("idempotency-key", "k").json(&body));
    let (first, again) = (send().await, send().await);
    assert_eq!((first.status, again.status, &first.text), (207, 207, &again.text));
    assert_eq!(again.header("idempotency-replayed"), "true");
    assert_eq!(client.walk("/v1/tasks").await.len(), 1);
    assert_eq!(client.get("/v1/events").await.data()[0]["idempotency_key"], "k");
}
