//! The workloads `memory` and `start`: the service's memory after all other workloads, and its start time. Must not know
//! the other workloads.

use crate::figures::Target;
use crate::testbed::Testbed;

/// Records the resident memory of the service process.
pub(crate) fn memory(testbed: &mut Testbed) -> anyhow::Result<()> {
    let megabytes = testbed.memory_kib("VmRSS")? / 1024.0;
    testbed.record("the service after all of the above", "MiB", &[megabytes], Some(Target::AtMost(120.0)));
    Ok(())
}

/// Measures the time from the start of the process to the first response.
pub(crate) fn start(testbed: &mut Testbed) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for _ in 0..testbed.scale.runs.max(3) {
        times.push(testbed.restart()?.as_secs_f64() * 1000.0);
    }
    testbed.record("from start to first answer", "ms", &times, Some(Target::AtMost(20.0)));
    Ok(())
}
