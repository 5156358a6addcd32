//! Durable writes: one by one, many at once, and in bulk. Every answer comes after the write is on disk, here and at the
//! limit. Must not know how the others are measured.

use crate::figures::Target;
use crate::limits::Twin;
use crate::load;
use crate::reads::bare;
use crate::stand::{Stand, task};

/// Connections that write at once.
const MANY: usize = 32;
/// Operations of a bulk call.
const BULK: usize = 50;

/// One connection, against a loop of the same transaction.
pub(crate) fn create_alone(stand: &mut Stand) -> anyhow::Result<()> {
    let create = [stand.post("/v1/tasks", &task(0).to_string())];
    let (twin, time) = (Twin::of(stand, "alone.db")?, stand.scale.time);
    stand.compare(("creates, 1 connection", "loop by rusqlite"), "/s", Target::AtLeast(0.5), |stand| {
        let limit = twin.add(1, time)?;
        Ok((load::run(&stand.address, 1, time, &create, 201)?.rate, limit))
    })
}

/// Many connections, which share the fsync, against bare hyper that reads the same bodies and gives the same answers.
pub(crate) fn create_together(stand: &mut Stand) -> anyhow::Result<()> {
    let create = [stand.post("/v1/tasks", &task(0).to_string())];
    let (limit, bare) = bare(stand, &create[0])?;
    let (time, mut times, mut each, mut bare_each) = (stand.scale.time, Vec::new(), Vec::new(), Vec::new());
    stand.compare(("creates, 32 connections", "bare hyper POST"), "/s", Target::AtLeast(0.3), |stand| {
        let limit = stand.load((&bare, limit.id()), MANY, &create, 201, &mut bare_each)?;
        let alone = load::run(&stand.address, 1, time, &create, 201)?;
        let many = stand.load(stand.service(), MANY, &create, 201, &mut each)?;
        times.push(many.rate / alone.rate);
        Ok((many.rate, limit.rate))
    })?;
    stand.note("processor time for each", "µs", &each, None);
    stand.note("processor time for each of bare hyper", "µs", &bare_each, None);
    stand.note("creates, 32 connections / 1 connection", "", &times, Some(Target::AtLeast(5.0)));
    Ok(())
}

/// Calls of 50 creates, against 50 of the same rows in each transaction.
pub(crate) fn bulk(stand: &mut Stand) -> anyhow::Result<()> {
    let call = [stand.bulk((0..BULK).map(task))];
    let (twin, time) = (Twin::of(stand, "bulk.db")?, stand.scale.time);
    stand.compare(("bulk records", "rows by rusqlite"), "/s", Target::AtLeast(0.5), |stand| {
        let limit = twin.add(BULK, time)?;
        let calls = load::run(&stand.address, 2, time, &call, 207)?;
        Ok((calls.rate * BULK as f64, limit))
    })
}
