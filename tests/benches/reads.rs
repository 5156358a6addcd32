//! The workloads `read`, `page` and `search`. Must not know the other workloads.

use hearth_tests::process::Process;
use rusqlite::Connection;
use std::time::Instant;

use crate::baselines;
use crate::figures::Target;
use crate::load;
use crate::testbed::{Testbed, topic};

/// Concurrent connections.
const MANY: usize = 32;
/// Number of distinct requested records.
const SAMPLE: usize = 20_000;

/// The step from one requested record to the next in a home of this size.
pub(crate) fn step(records: usize) -> usize {
    (records / SAMPLE).max(1)
}

/// Requests for single records, spread over the whole home.
pub(crate) fn sample(testbed: &Testbed) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut requests = Vec::new();
    let step = step(testbed.scale.records);
    let mut seen = 0;
    testbed.for_each_page(|page| {
        let here = page["data"].as_array().cloned().unwrap_or_default();
        requests.extend(here.iter().filter_map(|task| {
            seen += 1;
            let id = task["id"].as_str().unwrap_or_default();
            (seen % step == 0).then(|| testbed.get(&format!("/v1/tasks/{id}")))
        }));
        true
    })?;
    Ok(requests)
}

/// The request for a page of 50 at 80 % depth.
pub(crate) fn deep(testbed: &Testbed) -> anyhow::Result<Vec<u8>> {
    let (mut left, mut cursor) = (testbed.scale.records * 4 / 5, String::new());
    testbed.for_each_page(|page| {
        left = left.saturating_sub(100);
        cursor = page["meta"]["page"]["next_cursor"].as_str().unwrap_or_default().to_owned();
        left > 0
    })?;
    Ok(testbed.get(&format!("/v1/tasks?limit=50&cursor={cursor}")))
}

/// Measures reads by id, against bare hyper with the same bytes.
pub(crate) fn by_id(testbed: &mut Testbed) -> anyhow::Result<()> {
    let requests = sample(testbed)?;
    let (limit, bare) = bare(testbed, &requests[0])?;
    let (mut slow, mut each, mut bare_each) = (Vec::new(), Vec::new(), Vec::new());
    testbed.compare(("reads", "bare hyper"), "/s", Target::AtLeast(0.75), |testbed| {
        let limit = testbed.load((&bare, limit.id()), MANY, &requests, 200, &mut bare_each)?;
        let mut ours = testbed.load(testbed.service(), MANY, &requests, 200, &mut each)?;
        slow.push(ours.quantile(0.99));
        Ok((ours.rate, limit.rate))
    })?;
    testbed.record("processor time for each", "µs", &each, None);
    testbed.record("processor time for each of bare hyper", "µs", &bare_each, None);
    testbed.record("99 % of the answers within", "ms", &slow, Some(Target::AtMost(2.0)));
    Ok(())
}

/// Measures pages of 50, the first and at 80 % depth, against bare hyper with the same bytes.
pub(crate) fn pages(testbed: &mut Testbed) -> anyhow::Result<()> {
    let (first, deep) = ([testbed.get("/v1/tasks?limit=50")], [deep(testbed)?]);
    let (limit, bare) = bare(testbed, &first[0])?;
    let (mut depths, mut deeper, mut each, mut bare_each) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    testbed.compare(("pages", "bare hyper"), "/s", Target::AtLeast(0.5), |testbed| {
        let limit = testbed.load((&bare, limit.id()), MANY, &first, 200, &mut bare_each)?;
        let ours = testbed.load(testbed.service(), MANY, &first, 200, &mut each)?;
        let far = testbed.load(testbed.service(), MANY, &deep, 200, &mut Vec::new())?;
        depths.push(far.rate);
        deeper.push(far.rate / ours.rate);
        Ok((ours.rate, limit.rate))
    })?;
    testbed.record("processor time for each", "µs", &each, None);
    testbed.record("processor time for each of bare hyper", "µs", &bare_each, None);
    testbed.record("pages at 80 % depth", "/s", &depths, None);
    testbed.record("pages at 80 % depth / pages", "", &deeper, Some(Target::AtLeast(0.95)));
    Ok(())
}

/// Measures the search for a word of one record in a hundred, against the same FTS5 query on the same number of threads.
pub(crate) fn search(testbed: &mut Testbed) -> anyhow::Result<()> {
    const THREADS: usize = 2;
    let copy = baselines::copy(testbed, "search.db")?;
    let requests: Vec<Vec<u8>> = (0..100).map(|n| testbed.get(&format!("/v1/search?q={}", topic(n)))).collect();
    let time = testbed.scale.time;
    testbed.compare(("searches", "FTS5 by rusqlite"), "/s", Target::AtLeast(0.8), |testbed| {
        let began = Instant::now();
        let asking: Vec<_> = (0..THREADS)
            .map(|thread| {
                let copy = copy.clone();
                std::thread::spawn(move || {
                    let (db, mut count) = (Connection::open(copy)?, 0u32);
                    while began.elapsed() < time {
                        baselines::search(&db, &topic(thread * 50 + count as usize))?;
                        count += 1;
                    }
                    anyhow::Ok(count)
                })
            })
            .collect();
        let mut count = 0;
        for one in asking {
            count += one.join().map_err(|_| anyhow::anyhow!("a thread panicked"))??;
        }
        let limit = f64::from(count) / began.elapsed().as_secs_f64();
        let ours = load::run(&testbed.address, THREADS, time, &requests, 200)?;
        Ok((ours.rate, limit))
    })
}

/// Starts bare hyper, which repeats the service's response to this request. Returns the process and its address.
pub(crate) fn bare(testbed: &Testbed, request: &[u8]) -> anyhow::Result<(Process, String)> {
    let (response, _) = testbed.send(request)?;
    let file = testbed.file("answer");
    std::fs::write(&file, response)?;
    Ok(baselines::spawn(&["bare-hyper", &file.display().to_string()]))
}
