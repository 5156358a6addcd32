//! Durable writes: one by one, many at once, and in bulk. Every answer comes after the write is on disk, here and at the
//! limit. Must not know how the others are measured.

use crate::baselines::PlainSqlite;
use crate::figures::Target;
use crate::load;
use crate::reads::bare;
use crate::testbed::{Testbed, task};

/// Connections that write at once.
const MANY: usize = 32;
/// Operations of a bulk call.
const BULK: usize = 50;

/// One connection, against a loop of the same transaction.
pub(crate) fn create_alone(testbed: &mut Testbed) -> anyhow::Result<()> {
    let create = [testbed.post("/v1/tasks", &task(0).to_string())];
    let (sqlite, time) = (PlainSqlite::of(testbed, "alone.db")?, testbed.scale.time);
    testbed.compare(("creates, 1 connection", "loop by rusqlite"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = sqlite.add(1, time)?;
        Ok((load::run(&testbed.address, 1, time, &create, 201)?.rate, limit))
    })
}

/// Many connections, which share the fsync, against bare hyper that reads the same bodies and gives the same answers.
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

/// Calls of 50 creates, against 50 of the same rows in each transaction.
pub(crate) fn bulk(testbed: &mut Testbed) -> anyhow::Result<()> {
    let call = [testbed.bulk((0..BULK).map(task))];
    let (sqlite, time) = (PlainSqlite::of(testbed, "bulk.db")?, testbed.scale.time);
    testbed.compare(("bulk records", "rows by rusqlite"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = sqlite.add(BULK, time)?;
        let calls = load::run(&testbed.address, 2, time, &call, 207)?;
        Ok((calls.rate * BULK as f64, limit))
    })
}
