//! The homes of the workload `hostile`: a small one of the normal team, and one with long records of the attacking team. Must
//! not know the attacks.

use std::path::Path;

use hearth_tests::process;
use hearth_tests::wire::Wire;
use serde_json::{Value, json};

use super::WRITE_EVERY;
use crate::load::block_on;
use crate::testbed::{self, Scale};

/// Keys of the normal client. The default rate limits admit its requests by turns.
const NORMAL_KEYS: usize = 16;
/// Records of the normal client.
const NORMAL_RECORDS: usize = 50;
/// Long records that fill several pages.
const LONG_RECORDS: usize = 100;
/// Bytes of bulk bodies: less than 1 MiB with any last operation.
const BULK_BYTES: usize = 800_000;
/// Operations of a bulk call, at most.
const BULK_MAX: usize = 50;

/// Both homes.
pub(super) struct Seed {
    /// The attacking team.
    pub(super) attackers: String,
    /// A room of the attacking team that is renamed.
    pub(super) renamed: String,
    /// A room of the attacking team with many large items.
    pub(super) full_room: String,
    normal_keys: Vec<String>,
    normal_ids: Vec<String>,
}

impl Seed {
    /// Fills the homes on a new data directory, without rate limits.
    pub(super) fn fill(data: &Path, scale: Scale) -> anyhow::Result<Seed> {
        let (server, address) = testbed::serve(data);
        let team = |name: &str| drop(stdout(data, &["team", "create", name]));
        let (normal, attackers) = ("Neighbours".to_owned(), "Attackers".to_owned());
        team(&normal);
        team(&attackers);
        let normal_keys: Vec<String> = (0..NORMAL_KEYS).map(|_| create_key(data, &normal)).collect();
        let key = create_key(data, &attackers);
        let seed = block_on(async {
            let mut wire = Wire::connect(&address).await?;
            let mut normal_ids = Vec::new();
            for number in 0..NORMAL_RECORDS {
                normal_ids
                    .push(create(&mut wire, &normal_keys[0], "tasks", json!({ "title": format!("{number}") })).await?);
            }
            let renamed = create(&mut wire, &key, "rooms", json!({ "name": "Hall" })).await?;
            let full_room = create(&mut wire, &key, "rooms", json!({ "name": "Store" })).await?;
            let words = "a b c d e f g h i j k l m n o p q r s t u v w x y z ".repeat(190);
            let item = |room: Option<&str>, text: &str| json!({ "method": "create", "name": "Box", "room_id": room, "notes": text });
            let dependents = (0..scale.dependents).map(|_| item(Some(&full_room), &words));
            create_all(&mut wire, &key, dependents).await?;
            let long = "🏠".repeat(10_000);
            let long = (0..LONG_RECORDS).map(|_| {
                let mut item = item(None, &long);
                item["description"] = long.as_str().into();
                item
            });
            create_all(&mut wire, &key, long).await?;
            anyhow::Ok(Seed { attackers, renamed, full_room, normal_keys, normal_ids })
        })?;
        server.terminate();
        Ok(seed)
    }

    /// The requests of the normal client: reads of single records and of a page, and writes.
    pub(super) fn normal_requests(&self) -> Vec<Vec<u8>> {
        let request = |number: usize| {
            let (key, id) = (&self.normal_keys[number % NORMAL_KEYS], &self.normal_ids[number % NORMAL_RECORDS]);
            match number / NORMAL_KEYS % WRITE_EVERY {
                0 => {
                    let body = json!({ "notes": format!("{number}") }).to_string();
                    encode("PATCH", &format!("/v1/tasks/{id}"), key, "", &body)
                }
                1 => encode("GET", "/v1/tasks?limit=20", key, "", ""),
                _ => encode("GET", &format!("/v1/tasks/{id}"), key, "", ""),
            }
        };
        (0..NORMAL_KEYS * WRITE_EVERY * NORMAL_RECORDS).map(request).collect()
    }
}

/// Makes a key of a team to its live home.
pub(super) fn create_key(data: &Path, team: &str) -> String {
    stdout(data, &["key", "create", "--team", team, "--env", "live", "--scopes", "all", "--quiet"])
}

/// An encoded request. `key` may be "", `headers` are whole lines, and `body` is JSON or "".
pub(super) fn encode(method: &str, target: &str, key: &str, headers: &str, body: &str) -> Vec<u8> {
    let mut head = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\n{headers}");
    if !key.is_empty() {
        head += &format!("authorization: Bearer {key}\r\n");
    }
    if !body.is_empty() {
        head += &format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    }
    format!("{head}\r\n{body}").into_bytes()
}

/// Runs a command of the service that must succeed. Returns stdout.
fn stdout(data: &Path, arguments: &[&str]) -> String {
    process::stdout("hearth-server", &[&["--data", &data.display().to_string()], arguments].concat())
}

/// Creates a record. Returns its id.
async fn create(wire: &mut Wire, key: &str, collection: &str, record: Value) -> anyhow::Result<String> {
    let made = send(wire, &encode("POST", &format!("/v1/{collection}"), key, "", &record.to_string())).await?;
    Ok(made["data"]["id"].as_str().unwrap_or_default().to_owned())
}

/// Creates inventory items by bulk calls.
async fn create_all(wire: &mut Wire, key: &str, items: impl Iterator<Item = Value>) -> anyhow::Result<()> {
    let mut items = items.peekable();
    while items.peek().is_some() {
        let (mut operations, mut bytes) = (Vec::new(), 0);
        while bytes < BULK_BYTES && operations.len() < BULK_MAX {
            let Some(item) = items.next() else { break };
            bytes += item.to_string().len();
            operations.push(item);
        }
        let body = json!({ "operations": operations }).to_string();
        send(wire, &encode("POST", "/v1/inventory/bulk", key, "", &body)).await?;
    }
    Ok(())
}

/// Sends a request that must succeed. Returns the body.
async fn send(wire: &mut Wire, request: &[u8]) -> anyhow::Result<Value> {
    let response = wire.send(request).await?;
    anyhow::ensure!(response.status < 300, "status {}: {:?}", response.status, wire.text(response));
    Ok(serde_json::from_slice(wire.body(response))?)
}
