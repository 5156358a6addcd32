//! The workloads `create-one`, `create-many` and `bulk`: durable writes. Service and baseline respond after the write is on
//! disk. Must not know the other workloads.

use crate::baselines::PlainSqlite;
use crate::figures::Target;
use crate::load;
use crate::reads::bare;
use crate::testbed::{Testbed, task};

/// Concurrent connections.
const MANY: usize = 32;
/// Operations in a bulk call.
const BULK: usize = 50;

/// Measures creates over one connection, against a loop of the same transaction.
pub(crate) fn create_alone(testbed: &mut Testbed) -> anyhow::Result<()> {
    let create = [testbed.post("/v1/tasks", &task(0).to_string())];
    let (sqlite, time) = (PlainSqlite::of(testbed, "alone.db")?, testbed.scale.time);
    testbed.compare(("creates, 1 connection", "loop by rusqlite"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = sqlite.add(1, time)?;
        Ok((load::run(&testbed.address, 1, time, &create, 201)?.rate, limit))
    })
}

/// Measures creates over many connections, which share an fsync, against bare hyper with the same bodies and responses.
pub(crate) fn create_together(testbed: &mut Testbed) -> anyhow::Result<()> {
    let create = [testbed.post("/v1/tasks", &task(0).to_string())];
    let (limit, bare) = bare(testbed, &create[0])?;
    let (time, mut times, mut each, mut bare_each) = (testbed.scale.time, Vec::new(), Vec::new(), Vec::new());
    testbed.compare(("creates, 32 connections", "bare hyper POST"), "/s", Target::AtLeast(0.3), |testbed| {
        let limit = testbed.load((&bare, limit.id()), MANY, &create, 201, &mut bare_each)?;
        let alone = load::run(&testbed.address, 1, time, &create, 201)?;
        let many = testbed.load(testbed.service(), MANY, &create, 201, &mut each)?;
        times.push(many.rate / alone.rate);
        Ok((many.rate, limit.rate))
    })?;
    testbed.record("processor time for each", "µs", &each, None);
    testbed.record("processor time for each of bare hyper", "µs", &bare_each, None);
    testbed.record("creates, 32 connections / 1 connection", "", &times, Some(Target::AtLeast(5.0)));
    Ok(())
}

/// Measures bulk calls of 50 creates, against transactions with 50 of the same rows.
pub(crate) fn bulk(testbed: &mut Testbed) -> anyhow::Result<()> {
    let call = [testbed.bulk((0..BULK).map(task))];
    let (sqlite, time) = (PlainSqlite::of(testbed, "bulk.db")?, testbed.scale.time);
    testbed.compare(("bulk records", "rows by rusqlite"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = sqlite.add(BULK, time)?;
        let calls = load::run(&testbed.address, 2, time, &call, 207)?;
        Ok((calls.rate * BULK as f64, limit))
    })
}
