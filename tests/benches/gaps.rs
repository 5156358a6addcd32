//! The workload `catch-up`: a replica reconciles after a retention gap. Must not know the other workloads.

use std::path::{Path, PathBuf};
use std::time::Instant;

use hearth_tests::process;
use serde_json::{Value, json};

use crate::figures::Target;
use crate::proxy::CountingProxy;
use crate::replicas::{init, sync};
use crate::testbed::{BULK_MAX, Testbed};

/// One record in this many changes during the gap.
const CHANGED: usize = 100;

/// Changes one record in a hundred, compacts the log, and compares the reconcile with a first sync, by time and bytes.
pub(crate) fn catch_up(testbed: &mut Testbed) -> anyhow::Result<()> {
    let proxy = CountingProxy::before(&testbed.address)?;
    let away = init(testbed, "away.db", &proxy.address)?;
    sync(&away)?;
    let first = proxy.take();
    change(testbed)?;

    let back = init(testbed, "back.db", &proxy.address)?;
    copy_as_left(&away, &back)?;
    sync(&back)?;
    let caught_up = proxy.take();
    testbed.record("requests", "", &[caught_up.requests as f64], None);
    testbed.record("bytes of the first sync", "KiB", &[first.others as f64 / 1024.0], None);
    testbed.record("bytes of the ids", "KiB", &[caught_up.ids as f64 / 1024.0], None);
    let share = [caught_up.others as f64 / first.others as f64];
    testbed.record("all other bytes / first sync", "", &share, Some(Target::AtMost(0.05)));

    let (mut times, mut firsts, mut shares, mut each) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..testbed.scale.runs {
        let new = init(testbed, "new.db", &testbed.address)?;
        let began = Instant::now();
        sync(&new)?;
        let first = began.elapsed().as_secs_f64() * 1000.0;
        std::fs::remove_file(new)?;

        let back = init(testbed, "again.db", &testbed.address)?;
        copy_as_left(&away, &back)?;
        let began = Instant::now();
        each.push(sync(&back)?.processor / 1000.0);
        let took = began.elapsed().as_secs_f64() * 1000.0;
        std::fs::remove_file(back)?;
        times.push(took);
        firsts.push(first);
        shares.push(took / first);
    }
    std::fs::remove_file(away)?;
    std::fs::remove_file(back)?;
    testbed.record("until in step", "ms", &times, None);
    testbed.record("first sync", "ms", &firsts, None);
    testbed.record("until in step / first sync", "", &shares, Some(Target::AtMost(0.2)));
    testbed.record("processor time of the replica", "ms", &each, None);
    Ok(())
}

/// Copies a database with the note of its last sync. The copy has the time of the original, as a file that nothing has written
/// to.
fn copy_as_left(from: &Path, to: &Path) -> anyhow::Result<()> {
    let marks = |db: &Path| PathBuf::from(format!("{}.marks", db.display()));
    std::fs::copy(from, to)?;
    std::fs::copy(marks(from), marks(to))?;
    let copy = std::fs::File::options().write(true).open(to)?;
    copy.set_modified(std::fs::metadata(from)?.modified()?)?;
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
