//! The load generator: connections that send encoded requests one after the other. All run on one thread, because the
//! measured server shares the processors. Must not know the requests.

use std::time::{Duration, Instant};

use hearth_tests::wire::Wire;

/// The result of a load.
pub(crate) struct Load {
    /// Responses per second.
    pub(crate) rate: f64,
    /// Number of responses.
    pub(crate) responses: usize,
    latencies: Vec<Duration>,
}

impl Load {
    /// The latency that this share of the responses did not exceed, in milliseconds.
    pub(crate) fn quantile(&mut self, share: f64) -> f64 {
        quantile(&mut self.latencies, share)
    }
}

/// The quantile of some times, in milliseconds.
pub(crate) fn quantile(times: &mut [Duration], share: f64) -> f64 {
    times.sort_unstable();
    let at = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
    times.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0)
}

/// Runs a future on a runtime with one thread.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime for the load").block_on(work)
}

/// Sends requests for this long over a number of connections. Each connection cycles through the requests from another
/// start. Each response must have this status.
pub(crate) fn run(
    address: &str,
    connections: usize,
    time: Duration,
    requests: &[Vec<u8>],
    status: u16,
) -> anyhow::Result<Load> {
    block_on(async {
        let mut wires = Vec::new();
        for _ in 0..connections {
            wires.push(Wire::connect(address).await?);
        }
        let began = Instant::now();
        let asking = wires.into_iter().enumerate().map(|(number, mut wire)| async move {
            let mut latencies = Vec::new();
            let mut turn = requests.iter().cycle().skip(number * requests.len() / connections);
            while began.elapsed() < time {
                let Some(request) = turn.next() else { break };
                let asked = Instant::now();
                let response = wire.send(request).await?;
                latencies.push(asked.elapsed());
                anyhow::ensure!(response.status == status, "status {}: {:?}", response.status, wire.text(response));
            }
            Ok(latencies)
        });
        let latencies = futures_util::future::try_join_all(asking).await?.concat();
        let rate = latencies.len() as f64 / began.elapsed().as_secs_f64();
        Ok(Load { rate, responses: latencies.len(), latencies })
    })
}
