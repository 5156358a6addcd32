//! TrailBase as a peer: a table of tasks with a public API and subscriptions. Must not know the measurements.

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

const RECORDS: &str = "/api/records/v1/tasks";
const CONFIG: &str = r#"
email {}
server { application_name: "bench" }
auth {}
jobs {}
record_apis: [{
  name: "tasks"
  table_name: "tasks"
  acl_world: [CREATE, READ, UPDATE, DELETE]
  enable_subscriptions: true
}]
"#;

/// Starts TrailBase on a new directory and fills the table.
pub(super) fn begin(program: &Path, testbed: &Testbed) -> anyhow::Result<Contender> {
    let (dir, address) = (testbed.file("trailbase"), free_address()?);
    let texts = resource(Kind::Task).fields.iter().map(|field| format!("{} TEXT", field.name));
    let times = ["created_at", "updated_at"].map(|name| format!("{name} TEXT NOT NULL DEFAULT (datetime('now'))"));
    let columns: Vec<String> = texts.chain(times).collect();
    // TrailBase's own migrations have lower numbers.
    std::fs::create_dir_all(dir.join("migrations"))?;
    std::fs::write(dir.join("config.textproto"), CONFIG)?;
    std::fs::write(
        dir.join("migrations/U1000000000__tasks.sql"),
        format!("CREATE TABLE tasks (id INTEGER PRIMARY KEY NOT NULL, {}) STRICT;", columns.join(", ")),
    )?;
    let mut command = Command::new(program);
    let process = Process::start_other(command.arg("--data-dir").arg(&dir).args(["run", "--address", &address]));
    wait_for(&address);

    let records = testbed.scale.records;
    let post = |body: Value| request("POST", &address, RECORDS, "", &body.to_string());
    send_all(
        &address,
        (0..records)
            .step_by(BULK_MAX)
            .map(|first| post((first..(first + BULK_MAX).min(records)).map(task).collect::<Vec<_>>().into())),
    )?;
    let get = |target: &str| request("GET", &address, target, "", "");
    let page = |number: usize, cursor: &str| {
        let and = if cursor.is_empty() { String::new() } else { format!("&cursor={cursor}") };
        get(&format!("{RECORDS}?limit={number}&order=id{and}"))
    };
    let (mut left, mut cursor) = (records * 4 / 5, String::new());
    while left > 0 {
        left = left.saturating_sub(200);
        cursor = send_all(&address, [page(200, &cursor)])?["cursor"].as_str().unwrap_or_default().to_owned();
    }
    Ok(Contender {
        reads: (0..records).step_by(reads::step(records)).map(|n| get(&format!("{RECORDS}/{}", n + 1))).collect(),
        pages: [page(50, ""), page(50, &cursor)],
        create: (post(task(0)), 200),
        bulk: (post((0..BULK_MAX).map(task).collect::<Vec<_>>().into()), 200),
        target: StreamTarget {
            open: get(&format!("{RECORDS}/subscribe/*")),
            ready: b"HTTP/1.1 200",
            tell: None,
            write: post(json!({ "title": "~" })),
            address,
        },
        process: Some(process),
    })
}
