//! The stream stays open and sends nothing, as behind some proxies. The replica must notice, catch up, and not claim
//! for long to be current.

use std::time::Duration;

use super::checks::check_equal;
use super::device::{Device, phases};
use super::home::DrillHome;
use super::outcome::{Outcome, failed};

/// The limit for noticing the silence (25 s by design, plus time for a slow machine).
const NOTICED_WITHIN: Duration = Duration::from_secs(40);
/// A poll after the silence brings the rest at once.
const LIMIT: Duration = Duration::from_secs(100);
/// The number of frames after the backfill that still arrive.
const STILL_COME: usize = 10;

pub(super) fn run(home: &mut DrillHome) -> Outcome {
    // The backfill sends one frame per record, and one that marks the end.
    let mute_at = home.records()?.len() + 1 + STILL_COME;
    home.stop_server();
    home.serve(Some(&format!("mute=once:{mute_at}frames")))?;
    let mut device = Device::create(home, &home.file("device"))?;
    device.start()?;
    device.wait_until_settled(home, LIMIT)?;
    let seed = home.options.seed.to_string();
    home.run_lab(&["churn", "--count", "40", "--rate", "10000", "--seed", &seed])?;
    let head = home.head()?;
    let took_first = home.wait_until("the first of the changes come", LIMIT, || {
        Ok(device.replica.status()?.position + 40 > head - STILL_COME as i64)
    })?;
    home.log(format!(
        "in step, then 40 changes: the stream goes mute in the middle of them ({:.1} s), the server is at {head}",
        took_first.as_secs_f64()
    ));
    let watch = device.watch();
    let since = std::time::Instant::now();
    let took = device.wait_until_settled(home, LIMIT);
    let samples = watch.end();
    let took = took?;
    home.log(format!("the replica is in step after {:.1} s; its status said {}", took.as_secs_f64(), phases(&samples)));
    let false_claims = samples.iter().filter(|sample| sample.current && sample.position < head);
    let longest = false_claims.map(|sample| sample.at.duration_since(since)).max().unwrap_or_default();
    if longest > NOTICED_WITHIN {
        return Err(failed(format!(
            "for {:.0} s the status claimed to be in step when it was not",
            longest.as_secs_f64()
        )));
    }
    if took < Duration::from_secs(1) {
        return Err(failed("the stream was not mute, so the drill tested nothing"));
    }
    let records = check_equal(home, &device)?;
    device.stop()?;
    Ok(format!("silence was noticed after {:.0} s; {records} records are equal on both sides", took.as_secs_f64()))
}
