//! What is counted of requests, and all counts in Prometheus's text form. A small registry of our own: it lives with
//! the service it counts, where the usual libraries count for the whole process. Must not know who asks,
//! nor of an answer more than the type of its error.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::store::tally::Tally;

/// Upper bounds of the times that are counted together, in seconds.
const TIMES: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Counts of requests since the start. Every label is one of a fixed list, so memory has its bound.
#[derive(Default)]
pub struct Metrics {
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: BTreeMap<(&'static str, u16), u64>,
    times: BTreeMap<&'static str, Times>,
    refusals: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Times {
    within: [u64; TIMES.len()],
    count: u64,
    seconds: f64,
}

impl Metrics {
    /// Counts an answer and the time it took, up to its head; `operation` is "" for a path that does not exist.
    pub fn answered(&self, operation: &'static str, status: u16, error: Option<&str>, took: Duration) {
        let operation = if operation.is_empty() { "none" } else { operation };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen.requests.entry((operation, status)).or_default() += 1;
        let times = seen.times.entry(operation).or_default();
        times.count += 1;
        times.seconds += took.as_secs_f64();
        if let Some(place) = TIMES.iter().position(|bound| took.as_secs_f64() <= *bound) {
            times.within[place] += 1;
        }
        if let Some(kind) = error {
            *seen.refusals.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// All counts as text: those of requests, the open streams, and the writer's.
    pub fn write(&self, open_streams: usize, tally: &Tally) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_requests(&mut out);
        let _ = write_work(&mut out, open_streams, tally);
        out
    }

    fn write_requests(&self, out: &mut String) -> std::fmt::Result {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        head(out, "hearth_requests_total", "counter", "Requests by operation and status")?;
        for ((operation, status), count) in &seen.requests {
            writeln!(out, "hearth_requests_total{{operation=\"{operation}\",status=\"{status}\"}} {count}")?;
        }
        let name = "hearth_request_duration_seconds";
        head(out, name, "histogram", "Time from a request's head to its answer's")?;
        for (operation, times) in &seen.times {
            let label = format!("operation=\"{operation}\"");
            histogram(out, name, &label, TIMES.iter().zip(times.within), times.count, times.seconds)?;
        }
        head(out, "hearth_refusals_total", "counter", "Error answers by type")?;
        for (kind, count) in &seen.refusals {
            writeln!(out, "hearth_refusals_total{{type=\"{kind}\"}} {count}")?;
        }
        Ok(())
    }
}

fn write_work(out: &mut String, open_streams: usize, tally: &Tally) -> std::fmt::Result {
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    for (name, sort, about, value) in [
        ("hearth_open_streams", "gauge", "Event streams that are open", open_streams as u64),
        ("hearth_writer_queue_depth", "gauge", "Writes that wait for the writer", load(&tally.waiting)),
        ("hearth_commits_total", "counter", "Transactions that were committed", load(&tally.commits)),
        ("hearth_commit_failures_total", "counter", "Transactions that could not be committed", load(&tally.failures)),
        ("hearth_events_appended_total", "counter", "Events appended to the feeds", load(&tally.events)),
    ] {
        head(out, name, sort, about)?;
        writeln!(out, "{name} {value}")?;
    }
    let name = "hearth_writer_batch_size";
    head(out, name, "histogram", "Writes that shared one transaction")?;
    let sizes = Tally::BATCHES.iter().zip(tally.batches.iter().map(load));
    histogram(out, name, "", sizes, load(&tally.commits), load(&tally.writes) as f64)
}

fn head(out: &mut String, name: &str, sort: &str, about: &str) -> std::fmt::Result {
    writeln!(out, "# HELP {name} {about}\n# TYPE {name} {sort}")
}

/// A histogram out of the counts of each bucket by itself; Prometheus wants each with all below it.
fn histogram<'a, B: std::fmt::Display + 'a>(
    out: &mut String,
    name: &str,
    label: &str,
    buckets: impl Iterator<Item = (&'a B, u64)>,
    count: u64,
    sum: f64,
) -> std::fmt::Result {
    let (comma, own) = if label.is_empty() { ("", String::new()) } else { (",", format!("{{{label}}}")) };
    let mut below = 0;
    for (bound, within) in buckets {
        below += within;
        writeln!(out, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {below}")?;
    }
    writeln!(out, "{name}_bucket{{{label}{comma}le=\"+Inf\"}} {}", count.max(below))?;
    writeln!(out, "{name}_sum{own} {sum}\n{name}_count{own} {}", count.max(below))
}
