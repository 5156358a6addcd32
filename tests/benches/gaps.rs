//! The workload `catch-up`: a replica reconciles after a retention gap. Must not know the other workloads.

use std::time::Instant;

use hearth_tests::process;
use serde_json::{Value, json};

use crate::figures::Target;
use crate::proxy::CountingProxy;
use crate::replicas::{init, sync};
use crate::testbed::{BULK_MAX, Testbed};

/// One record in this many changes during the gap.
const CHANGED: usize = 100;

/// Changes one record in a hundred, compacts the log, and compares the reconcile with a first sync, by time and bytes. Before
/// the changes, the replica whose time counts syncs a second time, because a new database notes no look at its pages.
pub(crate) fn catch_up(testbed: &mut Testbed) -> anyhow::Result<()> {
    let proxy = CountingProxy::before(&testbed.address)?;
    let replica = init(testbed, "counted.db", &proxy.address)?;
    sync(&replica)?;
    let first = proxy.take();
    change(testbed)?;
    sync(&replica)?;
    let caught_up = proxy.take();
    std::fs::remove_file(replica)?;
    testbed.record("requests", "", &[caught_up.requests as f64], None);
    testbed.record("bytes of the first sync", "KiB", &[first.others as f64 / 1024.0], None);
    testbed.record("bytes of the ids", "KiB", &[caught_up.ids as f64 / 1024.0], None);
    let share = [caught_up.others as f64 / first.others as f64];
    testbed.record("all other bytes / first sync", "", &share, Some(Target::AtMost(0.05)));

    let (mut times, mut firsts, mut shares, mut each) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in 0..testbed.scale.runs {
        let replica = init(testbed, &format!("away-{run}.db"), &testbed.address)?;
        let began = Instant::now();
        sync(&replica)?;
        let first = began.elapsed().as_secs_f64() * 1000.0;
        sync(&replica)?;
        change(testbed)?;
        let began = Instant::now();
        each.push(sync(&replica)?.processor / 1000.0);
        let took = began.elapsed().as_secs_f64() * 1000.0;
        std::fs::remove_file(replica)?;
        times.push(took);
        firsts.push(first);
        shares.push(took / first);
    }
    testbed.record("until in step", "ms", &times, None);
    testbed.record("first sync", "ms", &firsts, None);
    testbed.record("until in step / first sync", "", &shares, Some(Target::AtMost(0.2)));
    testbed.record("processor time of the replica", "ms", &each, None);
    Ok(())
}

/// Changes one record in a hundred twice, so the log has old images, and has the service compact them.
fn change(testbed: &Testbed) -> anyhow::Result<()> {
    let (mut ids, mut seen) = (Vec::new(), 0);
    testbed.for_each_page(|page| {
        for record in page["data"].as_array().into_iter().flatten() {
            if seen % CHANGED == 0 {
                ids.push(record["id"].clone());
            }
            seen += 1;
        }
        true
    })?;
    for notes in ["changed", "changed again"] {
        let update = |id: &Value| json!({ "method": "update", "id": id, "notes": notes });
        for ids in ids.chunks(BULK_MAX) {
            testbed.send(&testbed.operations(ids.iter().map(update)))?;
        }
    }
    let data = testbed.data().display().to_string();
    process::stdout("hearth-server", &["--data", &data, "lab", "--env", "live", "--live", "trim"]);
    Ok(())
}
