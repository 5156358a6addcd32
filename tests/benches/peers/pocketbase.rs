//! PocketBase as a peer: a public collection of tasks, with batches allowed. Must not know the measurements.

use std::path::Path;
use std::process::Command;

use hearth_contract::resources::resource;
use hearth_contract::schema::Kind;
use hearth_tests::process::Process;
use serde_json::{Value, json};

use super::{Contender, free_address, request, send_all, wait_for};
use crate::reads;
use crate::streams::StreamTarget;
use crate::testbed::{BULK_MAX, Testbed, task};

const RECORDS: &str = "/api/collections/tasks/records";
/// The superuser of a service that only this machine reaches, for the time of the measurement.
const NAME: &str = "bench@example.com";
const PASSWORD: &str = "only for the bench";

/// Starts PocketBase on a new directory and fills the collection.
pub(super) fn begin(program: &Path, testbed: &Testbed) -> anyhow::Result<Contender> {
    let (dir, address) = (testbed.file("pocketbase"), free_address()?);
    let made = Command::new(program).args(["superuser", "upsert", NAME, PASSWORD, "--dir"]).arg(&dir).output()?;
    anyhow::ensure!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let process = Process::start_other(Command::new(program).args(["serve", "--http", &address, "--dir"]).arg(&dir));
    wait_for(&address);
    let post = |target: &str, key: &str, body: Value| request("POST", &address, target, key, &body.to_string());

    let who = json!({ "identity": NAME, "password": PASSWORD });
    let entered = send_all(&address, [post("/api/collections/_superusers/auth-with-password", "", who)])?;
    let key = entered["token"].as_str().unwrap_or_default();
    let batches = json!({ "batch": { "enabled": true, "maxRequests": BULK_MAX, "timeout": 30 } });
    let names = resource(Kind::Task).fields.iter().map(|field| json!({ "name": field.name, "type": "text" }));
    let times = [("created", false), ("updated", true)]
        .map(|(name, often)| json!({ "name": name, "type": "autodate", "onCreate": true, "onUpdate": often }));
    let collection = json!({
        "name": "tasks", "type": "base", "fields": names.chain(times).collect::<Vec<_>>(),
        "listRule": "", "viewRule": "", "createRule": "", "updateRule": "", "deleteRule": "",
    });
    let allow = request("PATCH", &address, "/api/settings", key, &batches.to_string());
    send_all(&address, [allow, post("/api/collections", key, collection)])?;

    let records = testbed.scale.records;
    let create = |body: Value| json!({ "method": "POST", "url": RECORDS, "body": body });
    let batch = |creates: Vec<Value>| post("/api/batch", "", json!({ "requests": creates }));
    send_all(
        &address,
        (0..records).step_by(BULK_MAX).map(|first| {
            let numbers = first..(first + BULK_MAX).min(records);
            batch(
                numbers
                    .map(|number| {
                        let mut record = task(number);
                        record["id"] = id(number).into();
                        create(record)
                    })
                    .collect(),
            )
        }),
    )?;
    let get = |target: &str| request("GET", &address, target, "", "");
    // A page without the count of all records is cheaper; Hearth's pages have no count either.
    let page = |number: usize| get(&format!("{RECORDS}?perPage=50&skipTotal=1&page={number}"));
    Ok(Contender {
        reads: (0..records).step_by(reads::step(records)).map(|n| get(&format!("{RECORDS}/{}", id(n)))).collect(),
        pages: [page(1), page(records * 4 / 5 / 50)],
        create: (post(RECORDS, "", task(0)), 200),
        bulk: (batch((0..BULK_MAX).map(task).map(create).collect()), 200),
        target: StreamTarget {
            open: get("/api/realtime"),
            ready: b"PB_CONNECT",
            tell: Some(subscribe),
            write: post(RECORDS, "", json!({ "title": "~" })),
            address,
        },
        process: Some(process),
    })
}

fn id(number: usize) -> String {
    format!("{number:015}")
}

/// The request that subscribes a stream to all tasks, by the client id in the stream's first bytes.
fn subscribe(sentence: &str) -> Vec<u8> {
    let id = sentence.split("\"clientId\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let body = json!({ "clientId": id, "subscriptions": ["tasks/*"] }).to_string();
    request("POST", "localhost", "/api/realtime", "", &body)
}
