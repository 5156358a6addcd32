//! A replica that was away for longer than the service remembers: what it costs to be in step again. Must not know how
//! the others are measured.

use std::time::Instant;

use hearth_tests::process;
use serde_json::{Value, json};

use crate::counting::Counting;
use crate::figures::Target;
use crate::replicas::{init, sync};
use crate::stand::{BULK_MAX, Stand};

/// One record of so many is changed meanwhile.
const CHANGED: usize = 100;

/// A record in a hundred is changed, and the log thinned out: catching up against a first sync, by time and by bytes.
pub(crate) fn catch_up(stand: &mut Stand) -> anyhow::Result<()> {
    let counting = Counting::before(&stand.address)?;
    let away = init(stand, "away.db", &counting.address)?;
    sync(&away)?;
    let first = counting.take();
    change(stand)?;

    let back = init(stand, "back.db", &counting.address)?;
    std::fs::copy(&away, &back)?;
    sync(&back)?;
    let caught_up = counting.take();
    stand.note("requests", "", &[caught_up.requests as f64], None);
    stand.note("bytes of the first sync", "KiB", &[first.others as f64 / 1024.0], None);
    stand.note("bytes of the ids", "KiB", &[caught_up.ids as f64 / 1024.0], None);
    let share = [caught_up.others as f64 / first.others as f64];
    stand.note("all other bytes / first sync", "", &share, Some(Target::AtMost(0.05)));

    let (mut times, mut firsts, mut shares, mut each) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..stand.scale.runs {
        let new = init(stand, "new.db", &stand.address)?;
        let began = Instant::now();
        sync(&new)?;
        let first = began.elapsed().as_secs_f64() * 1000.0;
        std::fs::remove_file(new)?;

        let back = init(stand, "again.db", &stand.address)?;
        std::fs::copy(&away, &back)?;
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
    stand.note("until in step", "ms", &times, None);
    stand.note("first sync", "ms", &firsts, None);
    stand.note("until in step / first sync", "", &shares, Some(Target::AtMost(0.2)));
    stand.note("processor time of the replica", "ms", &each, None);
    Ok(())
}

/// Changes one record in a hundred twice, so that there is something to forget, and has the service forget it.
fn change(stand: &Stand) -> anyhow::Result<()> {
    let (mut ids, mut seen) = (Vec::new(), 0);
    stand.walk(|page| {
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
            stand.ask(&stand.operations(ids.iter().map(update)))?;
        }
    }
    let data = stand.data().display().to_string();
    process::stdout("hearth-server", &["--data", &data, "lab", "--env", "live", "--live", "trim"]);
    Ok(())
}
