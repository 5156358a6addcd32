//! Clients of the API: the requests that they send. Must not send the requests, nor know replicas.

use hearth_contract::paths;
use hearth_contract::schema::Kind;
use hearth_replica::sync::{HttpRequest, HttpResponse};
use serde_json::{Value, json};

use super::super::history::History;
use super::super::record::RecordKey;
use super::super::rng::SimRng;
use super::record_picker::title_field;

/// A random write of a client.
pub struct ClientWrite {
    /// The request.
    pub request: HttpRequest,
    /// True when the client sends the request twice with the same idempotency key.
    pub is_repeated: bool,
}

/// A random write: create, update, delete, or a bulk request.
pub fn random_write(history: &History, rng: &mut SimRng, mark: &str) -> ClientWrite {
    let records = history.records_at(history.head);
    let records: Vec<&RecordKey> = records.into_keys().filter(|record| !record.kind.is_singleton()).collect();
    let any = |rng: &mut SimRng| records[rng.index(records.len())];
    let (verb, path, body) = match rng.between(0, 9) {
        4..=6 if !records.is_empty() => {
            let RecordKey { kind, id } = any(rng);
            let member = rng.pick(&[title_field(*kind), "notes"]);
            ("PATCH", format!("{}/{id}", paths::collection(*kind)), Some(json!({ member: mark })))
        }
        7..=8 if !records.is_empty() => {
            let RecordKey { kind, id } = any(rng);
            ("DELETE", format!("{}/{id}", paths::collection(*kind)), None)
        }
        9 => ("PATCH", paths::PROPERTY.to_owned(), Some(json!({ "state": mark }))),
        3 if !records.is_empty() => {
            let RecordKey { kind, id } = any(rng);
            let title = title_field(*kind);
            let operations = json!({ "operations": [
                { "method": "create", "id": rng.uuid(), title: mark },
                { "method": "update", "id": id, "notes": mark },
                { "method": "delete", "id": any(rng).id },
            ] });
            ("POST", format!("{}/bulk", paths::collection(*kind)), Some(operations))
        }
        _ => {
            let rooms = records.iter().filter(|record| record.kind == Kind::Room);
            let rooms: Vec<&str> = rooms.map(|record| record.id.as_str()).collect();
            let (kind, body) = new_record(&rooms, rng, mark);
            ("POST", paths::collection(kind), Some(body))
        }
    };
    let mut headers = vec![("idempotency-key", rng.uuid())];
    if body.is_some() {
        headers.push(("content-type", "application/json".to_owned()));
    }
    let request = HttpRequest { method: verb.to_owned(), path, headers, body: body.map(|body| body.to_string()) };
    ClientWrite { request, is_repeated: rng.chance(200) }
}

fn new_record(rooms: &[&str], rng: &mut SimRng, mark: &str) -> (Kind, Value) {
    let kind = rng.pick(&[Kind::Room, Kind::Task, Kind::Inventory, Kind::Vehicle, Kind::Document]);
    let mut body = json!({ title_field(kind): mark });
    match kind {
        Kind::Task => {
            body["recurrence"] = rng.pick(&[Value::Null.as_str(), Some("weekly")]).into();
            body["due_on"] = "2026-07-01".into();
        }
        Kind::Inventory if !rooms.is_empty() => body["room_id"] = rng.pick(rooms).into(),
        _ => {}
    }
    (kind, body)
}

/// The number of records in one bulk request.
const BULK_SIZE: usize = 40;

/// A bulk request that creates [`BULK_SIZE`] tasks.
pub fn create_tasks(rng: &mut SimRng, mark: &str) -> HttpRequest {
    let title = |row: usize| format!("{mark}-{row}");
    let operations: Vec<Value> =
        (0..BULK_SIZE).map(|row| json!({ "method": "create", "id": rng.uuid(), "title": title(row) })).collect();
    bulk_request(rng, &operations)
}

/// The bulk requests that delete all tasks.
pub fn delete_all_tasks(history: &History, rng: &mut SimRng) -> Vec<HttpRequest> {
    let records = history.records_at(history.head);
    let ids = records.keys().filter(|record| record.kind == Kind::Task).map(|record| &record.id);
    let deletes: Vec<Value> = ids.map(|id| json!({ "method": "delete", "id": id })).collect();
    deletes.chunks(BULK_SIZE).map(|some| bulk_request(rng, some)).collect()
}

fn bulk_request(rng: &mut SimRng, operations: &[Value]) -> HttpRequest {
    HttpRequest {
        method: "POST".to_owned(),
        path: format!("{}/bulk", paths::collection(Kind::Task)),
        headers: vec![("idempotency-key", rng.uuid()), ("content-type", "application/json".to_owned())],
        body: Some(json!({ "operations": operations }).to_string()),
    }
}

/// A request that deletes the record with the highest rev. None: the home has no record.
pub fn delete_newest(history: &History, rng: &mut SimRng) -> Option<HttpRequest> {
    let records = history.records_at(history.head);
    let newest = records.iter().filter(|(record, _)| !record.kind.is_singleton()).max_by_key(|(_, (rev, _))| *rev);
    let RecordKey { kind, id } = newest?.0;
    let headers = vec![("idempotency-key", rng.uuid())];
    let path = format!("{}/{id}", paths::collection(*kind));
    Some(HttpRequest { method: "DELETE".to_owned(), path, headers, body: None })
}

/// The revs that a successful response reports for the written records. Empty for other responses.
pub fn acknowledged_revs(response: &HttpResponse) -> Vec<i64> {
    if !(200..300).contains(&response.status) {
        return Vec::new();
    }
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let rev_of = |record: &Value| record.get("rev").and_then(Value::as_i64);
    match &body["data"] {
        Value::Array(results) => results.iter().filter_map(|result| rev_of(&result["data"])).collect(),
        record => rev_of(record).into_iter().collect(),
    }
}
