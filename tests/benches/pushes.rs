//! The workload `push`: edits made offline, pushed in one sync. Must not know the other workloads.

use std::path::Path;
use std::time::Instant;

use futures_util::future::try_join_all;
use hearth_tests::wire::Wire;
use rusqlite::Connection;

use crate::figures::Target;
use crate::load::block_on;
use crate::replicas::{init, sync};
use crate::testbed::{BULK_MAX, Testbed, task};

/// Connections that send bulk calls in the baseline.
const CONNECTIONS: usize = 2;

/// Measures a sync until all edits are confirmed, against bare bulk calls with the same number of records.
pub(crate) fn push(testbed: &mut Testbed) -> anyhow::Result<()> {
    let edits = testbed.scale.edits;
    let db = init(testbed, "push.db", &testbed.address)?;
    let mut each = Vec::new();
    testbed.compare(("edits pushed until confirmed", "bulk calls"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = bulk(testbed, edits)?;
        // Download foreign changes first, outside the measured time.
        sync(&db)?;
        edit(&db, edits)?;
        let began = Instant::now();
        let synced = sync(&db)?;
        let rate = edits as f64 / began.elapsed().as_secs_f64();
        each.push(synced.processor / edits as f64);
        let left: i64 = Connection::open(&db)?.query_row("SELECT count(*) FROM edits", [], |row| row.get(0))?;
        anyhow::ensure!(left == 0, "{left} edits were not confirmed");
        Ok((rate, limit))
    })?;
    testbed.record("processor time of the replica for an edit", "µs", &each, None);
    Ok(std::fs::remove_file(db)?)
}

/// Inserts tasks by plain SQL, as a script does.
fn edit(db: &Path, edits: usize) -> anyhow::Result<()> {
    let db = Connection::open(db)?;
    db.execute_batch("BEGIN IMMEDIATE")?;
    for number in 0..edits {
        let task = task(number);
        db.prepare_cached("INSERT INTO tasks (title, priority, assignee) VALUES (?, ?, ?)")?.execute([
            task["title"].as_str(),
            task["priority"].as_str(),
            task["assignee"].as_str(),
        ])?;
    }
    Ok(db.execute_batch("COMMIT")?)
}

/// Records per second of bare bulk calls with this number of creates.
fn bulk(testbed: &Testbed, records: usize) -> anyhow::Result<f64> {
    let calls: Vec<Vec<u8>> = (0..records)
        .step_by(BULK_MAX)
        .map(|first| testbed.bulk((first..(first + BULK_MAX).min(records)).map(task)))
        .collect();
    block_on(async {
        let mut wires = Vec::new();
        for _ in 0..CONNECTIONS {
            wires.push(Wire::connect(&testbed.address).await?);
        }
        let began = Instant::now();
        let calls = &calls;
        try_join_all(wires.into_iter().enumerate().map(|(number, mut wire)| async move {
            for call in calls.iter().skip(number).step_by(CONNECTIONS) {
                let response = wire.send(call).await?;
                anyhow::ensure!(response.status == 207, "status {}: {:?}", response.status, wire.text(response));
            }
            Ok(())
        }))
        .await?;
        Ok(records as f64 / began.elapsed().as_secs_f64())
    })
}
