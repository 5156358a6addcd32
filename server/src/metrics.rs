//! Counters of requests, and the text format of Prometheus for all metrics. The registry belongs to one service, because
//! the usual libraries count for the whole process. Must not know callers, nor more of a response than its error type.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::store::counters::WriterCounters;

/// Upper bounds of the buckets of the duration histogram, in seconds.
const DURATION_BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Counters of requests since the start. All labels come from fixed lists, which limits the memory.
#[derive(Default)]
pub struct Metrics {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: BTreeMap<(&'static str, u16), u64>,
    durations: BTreeMap<&'static str, Durations>,
    refusals: BTreeMap<String, u64>,
}

#[derive(Default)]
struct Durations {
    buckets: [u64; DURATION_BUCKETS.len()],
    count: u64,
    seconds: f64,
}

/// What is in progress.
#[derive(Debug, Clone, Copy)]
pub struct Open {
    /// Event streams.
    pub streams: usize,
    /// Uploads of files.
    pub uploads: usize,
    /// Bytes of answers that clients have not read yet.
    pub answer_bytes: usize,
}

impl Metrics {
    /// Counts a response. `operation`: the name of the operation, "" for an unknown path. `took`: the time from the
    /// request to the head of the response.
    pub fn record_response(&self, operation: &'static str, status: u16, error: Option<&str>, took: Duration) {
        let operation = if operation.is_empty() { "none" } else { operation };
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.requests.entry((operation, status)).or_default() += 1;
        let durations = counts.durations.entry(operation).or_default();
        durations.count += 1;
        durations.seconds += took.as_secs_f64();
        if let Some(bucket) = DURATION_BUCKETS.iter().position(|bound| took.as_secs_f64() <= *bound) {
            durations.buckets[bucket] += 1;
        }
        if let Some(kind) = error {
            *counts.refusals.entry(kind.to_owned()).or_default() += 1;
        }
    }

    /// All metrics in the text format of Prometheus: requests, open streams and uploads, bytes of answers, and the work of the writer.
    pub fn write(&self, open: Open, tally: &WriterCounters) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.write_requests(&mut out);
        let _ = write_work(&mut out, open, tally);
        out
    }

    fn write_requests(&self, out: &mut String) -> std::fmt::Result {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        head(out, "hearth_requests_total", "counter", "Requests by operation and status")?;
        for ((operation, status), count) in &counts.requests {
            writeln!(out, "hearth_requests_total{{operation=\"{operation}\",status=\"{status}\"}} {count}")?;
        }
        let name = "hearth_request_duration_seconds";
        head(out, name, "histogram", "Time from the head of a request to the head of its response")?;
        for (operation, durations) in &counts.durations {
            let label = format!("operation=\"{operation}\"");
            let buckets = DURATION_BUCKETS.iter().zip(durations.buckets);
            histogram(out, name, &label, buckets, durations.count, durations.seconds)?;
        }
        head(out, "hearth_refusals_total", "counter", "Error responses by type")?;
        for (kind, count) in &counts.refusals {
            writeln!(out, "hearth_refusals_total{{type=\"{kind}\"}} {count}")?;
        }
        Ok(())
    }
}

fn write_work(out: &mut String, open: Open, tally: &WriterCounters) -> std::fmt::Result {
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
    for (name, metric_type, help, value) in [
        ("hearth_open_streams", "gauge", "Open event streams", open.streams as u64),
        ("hearth_open_uploads", "gauge", "Uploads of files in progress", open.uploads as u64),
        ("hearth_answer_bytes", "gauge", "Bytes of answers that clients have not read yet", open.answer_bytes as u64),
        ("hearth_writer_queue_depth", "gauge", "Writes in the queue of the writer", load(&tally.waiting)),
        (
            "hearth_writes_refused",
            "gauge",
            "1 while the disk or another process makes the service refuse writes",
            u64::from(tally.is_refusing.load(Ordering::Relaxed)),
        ),
        ("hearth_commits_total", "counter", "Committed transactions", load(&tally.commits)),
        ("hearth_commit_failures_total", "counter", "Transactions whose commit failed", load(&tally.failures)),
        ("hearth_events_appended_total", "counter", "Events appended to the feeds", load(&tally.events)),
    ] {
        head(out, name, metric_type, help)?;
        writeln!(out, "{name} {value}")?;
    }
    let name = "hearth_writer_batch_size";
    head(out, name, "histogram", "Writes that shared one transaction")?;
    let sizes = WriterCounters::BATCHES.iter().zip(tally.batches.iter().map(load));
    histogram(out, name, "", sizes, load(&tally.commits), load(&tally.writes) as f64)
}

fn head(out: &mut String, name: &str, metric_type: &str, help: &str) -> std::fmt::Result {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} {metric_type}")
}

/// Writes a histogram. Each count of `buckets` covers one bucket; Prometheus wants cumulative counts.
fn histogram<'a, B: std::fmt::Display + 'a>(
    out: &mut String,
    name: &str,
    label: &str,
    buckets: impl Iterator<Item = (&'a B, u64)>,
    count: u64,
    sum: f64,
) -> std::fmt::Result {
    let (comma, labels) = if label.is_empty() { ("", String::new()) } else { (",", format!("{{{label}}}")) };
    let mut total = 0;
    for (bound, in_bucket) in buckets {
        total += in_bucket;
        writeln!(out, "{name}_bucket{{{label}{comma}le=\"{bound}\"}} {total}")?;
    }
    writeln!(out, "{name}_bucket{{{label}{comma}le=\"+Inf\"}} {}", count.max(total))?;
    writeln!(out, "{name}_sum{labels} {sum}\n{name}_count{labels} {}", count.max(total))
}
