//! What the service takes of its machine: memory after all that was asked of it, and time to begin. Must not know what
//! was asked.

use crate::figures::Target;
use crate::testbed::Testbed;

/// The memory of the process that answered everything before.
pub(crate) fn memory(testbed: &mut Testbed) -> anyhow::Result<()> {
    let megabytes = testbed.memory_kib("VmRSS")? / 1024.0;
    testbed.record("the service after all of the above", "MiB", &[megabytes], Some(Target::AtMost(120.0)));
    Ok(())
}

/// From the start of the process to its first answer.
pub(crate) fn start(testbed: &mut Testbed) -> anyhow::Result<()> {
    let mut times = Vec::new();
    for _ in 0..testbed.scale.runs.max(3) {
        times.push(testbed.restart()?.as_secs_f64() * 1000.0);
    }
    testbed.record("from start to first answer", "ms", &times, Some(Target::AtMost(20.0)));
    Ok(())
}
