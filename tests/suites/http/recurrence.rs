//! Recurring tasks (contract 3): which task follows a completed one, when, and under which id.

use std::time::Duration;

use hearth_tests::client::Client;
use hearth_tests::server::{Server, TestClock};
use serde_json::{Value, json};
use uuid::Uuid;

#[tokio::test]
async fn completed_task_makes_next_under_own_id() {
    let server = Server::start_at(TestClock::at("2026-01-20").clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Filter", "recurrence": "monthly", "due_on": "2026-01-31", "assignee": "Ada" });
    let made = client.post("/v1/tasks", &task).await;
    assert_eq!(made.data()["recurrence_anchor"], "2026-01-31");
    let path = format!("/v1/tasks/{}", made.id());
    let done = client.patch(&path, &json!({ "status": "done" })).await;
    assert_eq!(done.data()["completed_at"], "2026-01-20T00:00:00.000Z");
    let tasks = client.list_all("/v1/tasks").await;
    assert_eq!(tasks.len(), 2);
    let expected = Uuid::new_v5(&Uuid::try_parse(&made.id()).unwrap(), b"next");
    assert_eq!(tasks[0]["id"], expected.to_string());
    assert_eq!(
        (&tasks[0]["status"], &tasks[0]["due_on"], &tasks[0]["recurrence_anchor"], &tasks[0]["assignee"]),
        (&json!("open"), &json!("2026-02-28"), &json!("2026-01-31"), &json!("Ada"))
    );
    assert_eq!(tasks[1]["recurrence"], "monthly");
    // One successor for each task, whatever the day: also when the successor is deleted meanwhile.
    for deletes in [false, true] {
        if deletes {
            client.delete(&format!("/v1/tasks/{expected}")).await;
        }
        let reopened = client.patch(&path, &json!({ "status": "open" })).await;
        assert_eq!(reopened.data()["completed_at"], Value::Null);
        client.patch(&path, &json!({ "status": "done", "due_on": "2026-03-15" })).await;
        assert_eq!(client.list_all("/v1/tasks").await.len(), if deletes { 1 } else { 2 });
    }
}

#[tokio::test]
async fn next_id_of_another_record_makes_nothing() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let task = client.post("/v1/tasks", &json!({ "title": "Filter", "recurrence": "daily" })).await.id();
    let next = Uuid::new_v5(&Uuid::try_parse(&task).unwrap(), b"next");
    client.post("/v1/rooms", &json!({ "id": next, "name": "Hall" })).await;
    let done = client.patch(&format!("/v1/tasks/{task}"), &json!({ "status": "done" })).await;
    assert_eq!((done.status, &done.data()["status"]), (200, &json!("done")));
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
}

#[tokio::test]
async fn series_counts_from_its_anchor() {
    let clock = TestClock::at("2026-01-20");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Rent", "recurrence": "monthly", "due_on": "2026-01-31" });
    let mut id = client.post("/v1/tasks", &task).await.id();
    for due in ["2026-02-28", "2026-03-31", "2026-04-30"] {
        // A client that writes a whole record back does not move the anchor.
        let record = client.get(&format!("/v1/tasks/{id}")).await.data().clone();
        let back =
            json!({ "due_on": record["due_on"], "recurrence": "monthly", "recurrence_every": 1, "status": "done" });
        let done = client.patch(&format!("/v1/tasks/{id}"), &back).await;
        assert_eq!(done.data()["recurrence_anchor"], "2026-01-31");
        let next = client.list_all("/v1/tasks?limit=1").await[0].clone();
        assert_eq!((&next["due_on"], &next["recurrence_anchor"]), (&json!(due), &json!("2026-01-31")));
        id = next["id"].as_str().unwrap().to_owned();
    }
    // Completed late: the first date after the day of completion. A changed due date begins the series anew.
    clock.step_to("2026-07-31T09:00:00Z");
    client.patch(&format!("/v1/tasks/{id}"), &json!({ "status": "done" })).await;
    let next = client.list_all("/v1/tasks?limit=1").await[0].clone();
    assert_eq!(next["due_on"], "2026-08-31");
    let path = format!("/v1/tasks/{}", next["id"].as_str().unwrap());
    for (change, anchor) in [
        (json!({ "due_on": "2026-09-15" }), json!("2026-09-15")),
        (json!({ "recurrence_every": 2 }), json!("2026-09-15")),
        (json!({ "due_on": null }), Value::Null),
        (json!({ "due_on": "2026-09-15", "recurrence": null }), Value::Null),
        (json!({ "recurrence": "monthly" }), json!("2026-09-15")),
    ] {
        assert_eq!(client.patch(&path, &change).await.data()["recurrence_anchor"], anchor, "{change}");
    }
    client.patch(&path, &json!({ "status": "done" })).await;
    assert_eq!(client.list_all("/v1/tasks?limit=1").await[0]["due_on"], "2026-11-15", "every two months");
}

#[tokio::test]
async fn series_past_year_9999_ends() {
    let server = Server::start().await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Vow", "recurrence": "yearly", "due_on": "9999-06-01", "status": "done" });
    assert_eq!(client.post("/v1/tasks", &task).await.status, 201);
    assert_eq!(client.list_all("/v1/tasks").await.len(), 1);
}

#[tokio::test]
async fn days_are_those_of_home_time_zone() {
    // Half past midnight in Berlin, on 1 February.
    let server = Server::start_at(TestClock::at("2026-01-31T23:30:00Z").clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Filter", "recurrence": "daily", "status": "done" });
    for (zone, due) in [(Value::Null, "2026-02-01"), (json!("Europe/Berlin"), "2026-02-02")] {
        client.patch("/v1/property", &json!({ "city": "Berlin", "time_zone": zone })).await;
        client.post("/v1/tasks", &task).await;
        assert_eq!(client.list_all("/v1/tasks?limit=1").await[0]["due_on"], due, "{zone}");
    }
    // The day of a sent moment counts, not the day of the write.
    let earlier =
        json!({ "title": "Filter", "recurrence": "daily", "status": "done", "completed_at": "2026-01-10T23:30:00Z" });
    client.post("/v1/tasks", &earlier).await;
    assert_eq!(client.list_all("/v1/tasks?limit=1").await[0]["due_on"], "2026-01-12");
}

#[tokio::test]
async fn completed_at_is_accepted_with_done() {
    let clock = TestClock::at("2026-03-01T12:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let path = format!("/v1/tasks/{}", client.post("/v1/tasks", &json!({ "title": "Filter" })).await.id());
    clock.advance(Duration::from_secs(24 * 3600));
    for (body, fault) in [
        (json!({ "completed_at": "2026-03-02" }), "completed_at read_only"),
        (json!({ "completed_at": null }), "completed_at read_only"),
        (json!({ "status": "open", "completed_at": "2026-03-02" }), "completed_at read_only"),
        (json!({ "status": "done", "completed_at": "2026-03-02T12:05:00.001Z" }), "completed_at out_of_range"),
        (json!({ "status": "done", "completed_at": "soon" }), "completed_at invalid_format"),
        (json!({ "status": "done", "completed_at": 1 }), "completed_at wrong_type"),
    ] {
        assert_eq!(client.patch(&path, &body).await.faults(), [fault], "{body}");
    }
    for (sent, stored) in [
        (json!("2026-03-01T13:00:00.000+01:00"), "2026-03-01T12:00:00.000Z"),
        // Done before the service made the record: the client was offline.
        (json!("2025-11-30T08:00:00Z"), "2025-11-30T08:00:00.000Z"),
        (json!("2026-03-02T12:05:00Z"), "2026-03-02T12:05:00.000Z"),
        // Without the moment, the moment of the completion stays.
        (Value::Null, "2026-03-02T12:05:00.000Z"),
    ] {
        let done = client.patch(&path, &json!({ "status": "done", "completed_at": sent })).await;
        assert_eq!((done.status, &done.data()["completed_at"]), (200, &json!(stored)), "{}", done.text);
    }
    let again = client.patch(&path, &json!({ "status": "done", "completed_at": "2026-03-02T12:05:00Z" })).await;
    assert_eq!(again.data()["rev"], 4, "the same moment changes nothing");
    // A task that was completed before the service knew it.
    let old = json!({ "title": "Old", "status": "done", "completed_at": "2019-05-01" });
    assert_eq!(client.post("/v1/tasks", &old).await.data()["completed_at"], "2019-05-01T00:00:00.000Z");
    let ahead = json!({ "title": "Ahead", "status": "done", "completed_at": "2027-01-01" });
    assert_eq!(client.post("/v1/tasks", &ahead).await.faults(), ["completed_at out_of_range"]);
}

#[tokio::test]
async fn offline_completions_of_series_keep_their_days() {
    // A client was offline in January, completed two tasks of a weekly series, and sends both on 20 January.
    let clock = TestClock::at("2026-01-01T08:00:00Z");
    let server = Server::start_at(clock.clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let task = json!({ "title": "Bins", "recurrence": "weekly", "due_on": "2026-01-05" });
    let mut id = client.post("/v1/tasks", &task).await.id();
    clock.step_to("2026-01-20T08:00:00Z");
    for (completed, due) in [("2026-01-05T18:00:00Z", "2026-01-12"), ("2026-01-11T18:00:00Z", "2026-01-19")] {
        let done = json!({ "status": "done", "completed_at": completed });
        let done = client.patch(&format!("/v1/tasks/{id}"), &done).await;
        assert_eq!(done.status, 200, "{}", done.text);
        let next = client.list_all("/v1/tasks?limit=1").await[0].clone();
        assert_eq!(next["due_on"], due);
        id = next["id"].as_str().unwrap().to_owned();
    }
    // Done long before it was due: before the series began, and before the service made the record.
    let early = json!({ "status": "done", "completed_at": "2026-01-04T18:00:00Z" });
    let done = client.patch(&format!("/v1/tasks/{id}"), &early).await;
    assert_eq!((done.status, &done.data()["completed_at"]), (200, &json!("2026-01-04T18:00:00.000Z")));
    assert_eq!(client.list_all("/v1/tasks?limit=1").await[0]["due_on"], "2026-01-26", "after its own due date");
}

#[tokio::test]
async fn task_created_done_makes_next_in_order() {
    let server = Server::start_at(TestClock::at("2025-12-01").clock(), |_| ()).await;
    let client = Client::new(&server.url, &server.live_key);
    let room = client.post("/v1/rooms", &json!({ "name": "Hall" })).await.id();
    let task = json!({
        "title": "Filter", "status": "done", "recurrence": "quarterly", "due_on": "2025-11-30", "priority": "high",
        "notes": "the big one", "subject_type": "room", "subject_id": room, "estimated_cost": "5",
    });
    let made = client.post("/v1/tasks", &task).await;
    assert_eq!((&made.data()["status"], made.data()["completed_at"].is_string()), (&json!("done"), true));
    assert_eq!(made.data()["recurrence"], "quarterly", "the finished task keeps its recurrence");
    let events = client.list_all("/v1/events?types=task").await;
    let report: Vec<&str> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!((report, &events[0]["resource_id"]), (vec!["created", "created"], &made.data()["id"]));
    let mut next = events[1]["payload"].clone();
    assert_eq!(
        (&next["due_on"], &next["status"], &next["completed_at"]),
        (&json!("2026-02-28"), &json!("open"), &Value::Null)
    );
    // The other members are equal.
    for name in ["id", "rev", "status", "completed_at", "due_on", "created_at", "updated_at"] {
        next[name] = made.data()[name].clone();
    }
    assert_eq!(&next, made.data());
    assert_eq!(events[0]["idempotency_key"], events[1]["idempotency_key"]);
    // A task without recurrence has no successor, and a task that is already done makes no second.
    client.patch(&format!("/v1/tasks/{}", made.id()), &json!({ "status": "done", "notes": "" })).await;
    client.post("/v1/tasks", &json!({ "title": "Once", "status": "done" })).await;
    assert_eq!(client.list_all("/v1/tasks").await.len(), 3);
}
