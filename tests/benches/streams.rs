//! The workloads `idle`, `arrive-one`, `arrive-many` and `fan-out`: delay and throughput of events on streams, and the
//! memory of an idle stream. Must not know the other workloads.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use hearth_tests::wire::Wire;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::baselines;
use crate::figures::Target;
use crate::load::{block_on, quantile};
use crate::testbed::{Testbed, memory_kib};

/// Occurs once in each event of these workloads, and nowhere else on a stream.
const MARK: u8 = b'~';
/// Longest wait for an event.
const PATIENCE: Duration = Duration::from_secs(60);
/// Events in one commit of the workload `fan-out`.
const TOGETHER: usize = 10;

/// How to open a stream of a service, and how to cause an event.
pub(crate) struct StreamTarget {
    /// Host and port of the service.
    pub(crate) address: String,
    /// The request that opens a stream.
    pub(crate) open: Vec<u8>,
    /// Bytes on a new stream that show that the stream is live.
    pub(crate) ready: &'static [u8],
    /// Builds a subscribe request from the stream's first bytes, for services that need one.
    pub(crate) tell: Option<fn(&str) -> Vec<u8>>,
    /// A write that makes one event.
    pub(crate) write: Vec<u8>,
}

impl StreamTarget {
    /// Streams of the testbed's service.
    pub(crate) fn of(testbed: &Testbed) -> StreamTarget {
        StreamTarget {
            address: testbed.address.clone(),
            open: testbed.get("/v1/events/stream"),
            ready: b"event: ready",
            tell: None,
            write: testbed.post("/v1/tasks", &json!({ "title": "~" }).to_string()),
        }
    }
}

/// Measures the time from sending a durable write to the event on one stream.
pub(crate) fn arrive_at_one(testbed: &mut Testbed) -> anyhow::Result<()> {
    arrive(testbed, 1, (1.0, 3.0))
}

/// Measures the time from sending a durable write to the event on each of many streams.
pub(crate) fn arrive_at_many(testbed: &mut Testbed) -> anyhow::Result<()> {
    arrive(testbed, testbed.scale.streams, (7.0, 12.0))
}

fn arrive(testbed: &mut Testbed, streams: usize, (half, most): (f64, f64)) -> anyhow::Result<()> {
    let (mut halves, mut mosts) = (Vec::new(), Vec::new());
    for _ in 0..testbed.scale.runs {
        let mut times = block_on(arrivals(&StreamTarget::of(testbed), streams, testbed.scale.events.1))?;
        halves.push(quantile(&mut times, 0.5));
        mosts.push(quantile(&mut times, 0.99));
    }
    let what = format!("from a write to {streams} streams, none missing");
    testbed.record(format!("{what}: half within"), "ms", &halves, Some(Target::AtMost(half)));
    testbed.record(format!("{what}: 99 % within"), "ms", &mosts, Some(Target::AtMost(most)));
    Ok(())
}

/// The delay of each arrival. Each write is sent after the previous event has arrived on all streams.
pub(crate) async fn arrivals(target: &StreamTarget, streams: usize, events: usize) -> anyhow::Result<Vec<Duration>> {
    let (arrived, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let mut listening = Vec::new();
    for socket in listen(target, streams).await? {
        let (arrived, all) = (arrived.clone(), all.clone());
        listening.push(count(socket, events, move |_| {
            if (arrived.fetch_add(1, Ordering::Relaxed) + 1) % streams == 0 {
                all.notify_one();
            }
        }));
    }
    let (mut wire, mut sent) = (Wire::connect(&target.address).await?, Vec::new());
    for _ in 0..events {
        sent.push(Instant::now());
        wire.send(&target.write).await?;
        let waited = tokio::time::timeout(PATIENCE, all.notified()).await;
        anyhow::ensure!(
            waited.is_ok(),
            "{} of {} events arrived",
            arrived.load(Ordering::Relaxed),
            sent.len() * streams
        );
    }
    let mut times = Vec::new();
    for one in listening {
        times.extend(one.await??.iter().zip(&sent).map(|(there, sent)| there.duration_since(*sent)));
    }
    Ok(times)
}

/// Measures the throughput of events to many streams, against bare sockets with the same frames.
pub(crate) fn fan_out(testbed: &mut Testbed) -> anyhow::Result<()> {
    let (streams, pieces) = (testbed.scale.streams, testbed.scale.events.0 / TOGETHER);
    let events = pieces * TOGETHER;
    let call = testbed.bulk((0..TOGETHER).map(|_| json!({ "title": "~", "priority": "low" })));
    let file = testbed.file("piece");
    std::fs::write(&file, block_on(piece(&StreamTarget::of(testbed), &call))?)?;
    let (_limit, bare) = baselines::spawn(&["bare-sockets", &file.display().to_string(), &pieces.to_string()]);
    let begin = b"POST / HTTP/1.1\r\n\r\n".to_vec();
    let what = (format!("events to {streams} streams, none missing"), "sockets written the same");
    testbed.compare((&what.0, what.1), "/s", Target::AtLeast(0.7), |testbed| {
        let ours = StreamTarget::of(testbed);
        let limit = StreamTarget { address: bare.clone(), ..StreamTarget::of(testbed) };
        let limit = block_on(deliveries(&limit, streams, events, &begin, 1))?;
        Ok((block_on(deliveries(&ours, streams, events, &call, pieces))?, limit))
    })
}

/// The bytes of one commit's frames on a stream.
async fn piece(target: &StreamTarget, call: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut socket = listen(target, 1).await?.remove(0);
    Wire::connect(&target.address).await?.send(call).await?;
    let mut piece = Vec::new();
    while piece.iter().filter(|byte| **byte == MARK).count() < TOGETHER || !piece.ends_with(b"\n\n\r\n") {
        let read = tokio::time::timeout(PATIENCE, socket.read_buf(&mut piece)).await??;
        anyhow::ensure!(read > 0, "the stream ended");
    }
    Ok(piece)
}

/// Events per second on all streams together, from the first call to the last arrival.
async fn deliveries(
    target: &StreamTarget,
    streams: usize,
    events: usize,
    call: &[u8],
    calls: usize,
) -> anyhow::Result<f64> {
    let sockets = listen(target, streams).await?;
    let listening: Vec<_> = sockets.into_iter().map(|socket| count(socket, events, |_| ())).collect();
    let mut wire = Wire::connect(&target.address).await?;
    let began = Instant::now();
    for _ in 0..calls {
        wire.send(call).await?;
    }
    for one in listening {
        tokio::time::timeout(PATIENCE, one).await.map_err(|_| anyhow::anyhow!("events are missing"))???;
    }
    Ok((events * streams) as f64 / began.elapsed().as_secs_f64())
}

/// Measures the service's memory of each idle stream.
pub(crate) fn idle(testbed: &mut Testbed) -> anyhow::Result<()> {
    let count = testbed.scale.idle;
    // One run only, because a second run would reuse the memory of the first.
    let size = block_on(idle_size(&StreamTarget::of(testbed), testbed.service().1, count))?;
    testbed.record(format!("each of {count} idle streams"), "KiB", &[size], Some(Target::AtMost(10.0)));
    Ok(())
}

/// Memory in KiB that each idle stream takes in the process.
pub(crate) async fn idle_size(target: &StreamTarget, process: u32, count: usize) -> anyhow::Result<f64> {
    let first = listen(target, 10).await?;
    let before = memory_kib(process, "VmRSS")?;
    let all = listen(target, count).await?;
    let after = memory_kib(process, "VmRSS")?;
    drop((first, all));
    Ok((after - before) / count as f64)
}

/// Opens this number of streams and waits until each is live.
async fn listen(target: &StreamTarget, streams: usize) -> anyhow::Result<Vec<TcpStream>> {
    const AT_ONCE: usize = 100;
    let mut sockets = Vec::new();
    while sockets.len() < streams {
        let some = AT_ONCE.min(streams - sockets.len());
        sockets.extend(try_join_all((0..some).map(|_| listen_once(target))).await?);
    }
    Ok(sockets)
}

async fn listen_once(target: &StreamTarget) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(&target.address).await?;
    socket.set_nodelay(true)?;
    socket.write_all(&target.open).await?;
    let mut head = Vec::with_capacity(2048);
    while !head.windows(target.ready.len()).any(|bytes| bytes == target.ready) || !has_ended(&head) {
        let read = tokio::time::timeout(PATIENCE, socket.read_buf(&mut head)).await??;
        anyhow::ensure!(read > 0, "a stream was refused: {}", String::from_utf8_lossy(&head));
    }
    if let Some(tell) = target.tell {
        let response = Wire::connect(&target.address).await?.send(&tell(&String::from_utf8_lossy(&head))).await?;
        anyhow::ensure!(response.status < 300, "a stream could not be told what it is for: status {}", response.status);
    }
    Ok(socket)
}

/// True after a complete frame, chunk, or head without a body.
fn has_ended(bytes: &[u8]) -> bool {
    [&b"\n\n"[..], b"\n\n\r\n", b"\r\n\r\n"].iter().any(|end| bytes.ends_with(end))
}

/// Reads a stream until this number of events has arrived. Calls `tell` for each, and returns the arrival times.
fn count(
    mut socket: TcpStream,
    events: usize,
    mut tell: impl FnMut(usize) + Send + 'static,
) -> JoinHandle<anyhow::Result<Vec<Instant>>> {
    thread_local! {
        // All sockets are read on one thread, and the bytes are only counted, so one buffer suffices.
        static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; 256 * 1024]);
    }
    tokio::spawn(async move {
        let mut moments = Vec::with_capacity(events);
        while moments.len() < events {
            // A short read means an empty socket, so no second read follows.
            let found = poll_fn(|cx| {
                READ.with_borrow_mut(|buffer| {
                    let mut read = ReadBuf::new(buffer);
                    std::task::ready!(Pin::new(&mut socket).poll_read(cx, &mut read))?;
                    Poll::Ready(match read.filled() {
                        [] => Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof)),
                        filled => Ok(filled.iter().filter(|byte| **byte == MARK).count()),
                    })
                })
            })
            .await?;
            let now = Instant::now();
            for _ in 0..found {
                moments.push(now);
                tell(moments.len());
            }
        }
        anyhow::ensure!(moments.len() == events, "{} events arrived instead of {events}", moments.len());
        Ok(moments)
    })
}
