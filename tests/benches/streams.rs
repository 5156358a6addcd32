//! Events on their way to whoever listens: how soon they are there, how many arrive each second, and what a stream
//! costs that nothing happens on. Must not know how the others are measured.

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

use crate::figures::Target;
use crate::limits;
use crate::load::{block_on, quantile};
use crate::stand::{Stand, memory};

/// Stands once in every event that is sent here, and nowhere else on a stream.
const MARK: u8 = b'~';
/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// Events that are committed together where as many as possible are spread.
const TOGETHER: usize = 10;

/// How one listens to a service, and what makes it speak.
pub(crate) struct Ear {
    /// Host and port.
    pub(crate) address: String,
    /// The request that opens a stream.
    pub(crate) open: Vec<u8>,
    /// Stands in what a stream says first, once it is level with the present.
    pub(crate) ready: &'static [u8],
    /// Where a stream has to be told what it is for: the request that tells it, by what it has said so far.
    pub(crate) tell: Option<fn(&str) -> Vec<u8>>,
    /// A write that makes one event.
    pub(crate) write: Vec<u8>,
}

impl Ear {
    /// To the stand's service.
    pub(crate) fn of(stand: &Stand) -> Ear {
        Ear {
            address: stand.address.clone(),
            open: stand.get("/v1/events/stream"),
            ready: b"event: ready",
            tell: None,
            write: stand.post("/v1/tasks", &json!({ "title": "~" }).to_string()),
        }
    }
}

/// From sending a write, which becomes durable on the way, to the event at the one who listens.
pub(crate) fn arrive_at_one(stand: &mut Stand) -> anyhow::Result<()> {
    arrive(stand, 1, (1.0, 3.0))
}

/// The same at each of many.
pub(crate) fn arrive_at_many(stand: &mut Stand) -> anyhow::Result<()> {
    arrive(stand, stand.scale.streams, (7.0, 12.0))
}

fn arrive(stand: &mut Stand, streams: usize, (half, most): (f64, f64)) -> anyhow::Result<()> {
    let (mut halves, mut mosts) = (Vec::new(), Vec::new());
    for _ in 0..stand.scale.runs {
        let mut times = block_on(arrivals(&Ear::of(stand), streams, stand.scale.events.1))?;
        halves.push(quantile(&mut times, 0.5));
        mosts.push(quantile(&mut times, 0.99));
    }
    let what = format!("from a write to {streams} streams, none missing");
    stand.note(format!("{what}: half within"), "ms", &halves, Some(Target::AtMost(half)));
    stand.note(format!("{what}: 99 % within"), "ms", &mosts, Some(Target::AtMost(most)));
    Ok(())
}

/// The time of every arrival; the next write is sent when the last has arrived everywhere.
pub(crate) async fn arrivals(ear: &Ear, streams: usize, events: usize) -> anyhow::Result<Vec<Duration>> {
    let (arrived, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let mut listening = Vec::new();
    for socket in listen(ear, streams).await? {
        let (arrived, all) = (arrived.clone(), all.clone());
        listening.push(count(socket, events, move |_| {
            if (arrived.fetch_add(1, Ordering::Relaxed) + 1) % streams == 0 {
                all.notify_one();
            }
        }));
    }
    let (mut wire, mut sent) = (Wire::connect(&ear.address).await?, Vec::new());
    for _ in 0..events {
        sent.push(Instant::now());
        wire.ask(&ear.write).await?;
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

/// As many events as can be to many streams, against sockets that are written the same frames.
pub(crate) fn fan_out(stand: &mut Stand) -> anyhow::Result<()> {
    let (streams, pieces) = (stand.scale.streams, stand.scale.events.0 / TOGETHER);
    let events = pieces * TOGETHER;
    let call = stand.bulk((0..TOGETHER).map(|_| json!({ "title": "~", "priority": "low" })));
    let file = stand.file("piece");
    std::fs::write(&file, block_on(piece(&Ear::of(stand), &call))?)?;
    let (_limit, bare) = limits::spawn(&["spread", &file.display().to_string(), &pieces.to_string()]);
    let begin = b"POST / HTTP/1.1\r\n\r\n".to_vec();
    let what = (format!("events to {streams} streams, none missing"), "sockets written the same");
    stand.compare((&what.0, what.1), "/s", Target::AtLeast(0.7), |stand| {
        let ours = Ear::of(stand);
        let limit = Ear { address: bare.clone(), ..Ear::of(stand) };
        let limit = block_on(deliveries(&limit, streams, events, &begin, 1))?;
        Ok((block_on(deliveries(&ours, streams, events, &call, pieces))?, limit))
    })
}

/// The frames of one commit as they stand on a stream.
async fn piece(ear: &Ear, call: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut socket = listen(ear, 1).await?.remove(0);
    Wire::connect(&ear.address).await?.ask(call).await?;
    let mut piece = Vec::new();
    while piece.iter().filter(|byte| **byte == MARK).count() < TOGETHER || !piece.ends_with(b"\n\n\r\n") {
        let read = tokio::time::timeout(PATIENCE, socket.read_buf(&mut piece)).await??;
        anyhow::ensure!(read > 0, "the stream ended");
    }
    Ok(piece)
}

/// Events that arrive for each second, all of them at all, from the first call to the last arrival.
async fn deliveries(ear: &Ear, streams: usize, events: usize, call: &[u8], calls: usize) -> anyhow::Result<f64> {
    let sockets = listen(ear, streams).await?;
    let listening: Vec<_> = sockets.into_iter().map(|socket| count(socket, events, |_| ())).collect();
    let mut wire = Wire::connect(&ear.address).await?;
    let began = Instant::now();
    for _ in 0..calls {
        wire.ask(call).await?;
    }
    for one in listening {
        tokio::time::timeout(PATIENCE, one).await.map_err(|_| anyhow::anyhow!("events are missing"))???;
    }
    Ok((events * streams) as f64 / began.elapsed().as_secs_f64())
}

/// Streams on which nothing happens, and the memory of each in the service.
pub(crate) fn idle(stand: &mut Stand) -> anyhow::Result<()> {
    let count = stand.scale.idle;
    // Once is enough: what a second round finds is what the first left.
    let size = block_on(idle_size(&Ear::of(stand), stand.service().1, count))?;
    stand.note(format!("each of {count} idle streams"), "KiB", &[size], Some(Target::AtMost(10.0)));
    Ok(())
}

/// The memory in KiB that each of so many silent streams takes in a process.
pub(crate) async fn idle_size(ear: &Ear, process: u32, count: usize) -> anyhow::Result<f64> {
    let first = listen(ear, 10).await?;
    let before = memory(process, "VmRSS")?;
    let all = listen(ear, count).await?;
    let after = memory(process, "VmRSS")?;
    drop((first, all));
    Ok((after - before) / count as f64)
}

/// Opens so many streams; each has said that it is level with the present.
async fn listen(ear: &Ear, streams: usize) -> anyhow::Result<Vec<TcpStream>> {
    const AT_ONCE: usize = 100;
    let mut sockets = Vec::new();
    while sockets.len() < streams {
        let some = AT_ONCE.min(streams - sockets.len());
        sockets.extend(try_join_all((0..some).map(|_| listen_once(ear))).await?);
    }
    Ok(sockets)
}

async fn listen_once(ear: &Ear) -> anyhow::Result<TcpStream> {
    let mut socket = TcpStream::connect(&ear.address).await?;
    socket.set_nodelay(true)?;
    socket.write_all(&ear.open).await?;
    let mut head = Vec::with_capacity(2048);
    while !head.windows(ear.ready.len()).any(|bytes| bytes == ear.ready) || !has_ended(&head) {
        let read = tokio::time::timeout(PATIENCE, socket.read_buf(&mut head)).await??;
        anyhow::ensure!(read > 0, "a stream was refused: {}", String::from_utf8_lossy(&head));
    }
    if let Some(tell) = ear.tell {
        let answer = Wire::connect(&ear.address).await?.ask(&tell(&String::from_utf8_lossy(&head))).await?;
        anyhow::ensure!(answer.status < 300, "a stream could not be told what it is for: status {}", answer.status);
    }
    Ok(socket)
}

/// Whether a frame, the chunk around it, or a head without any is whole.
fn has_ended(bytes: &[u8]) -> bool {
    [&b"\n\n"[..], b"\n\n\r\n", b"\r\n\r\n"].iter().any(|end| bytes.ends_with(end))
}

/// Listens until so many events were there; tells each, and gives the moments.
fn count(
    mut socket: TcpStream,
    events: usize,
    mut tell: impl FnMut(usize) + Send + 'static,
) -> JoinHandle<anyhow::Result<Vec<Instant>>> {
    thread_local! {
        // All sockets are read on one thread, and what was read is only counted.
        static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; 256 * 1024]);
    }
    tokio::spawn(async move {
        let mut moments = Vec::with_capacity(events);
        while moments.len() < events {
            // A short read tells that nothing is left, so that nobody asks the system again.
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
