//! A TCP proxy between a replica and the service, which counts the bytes of responses by the kind of request. Must not
//! change a byte.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// Query text of requests for lists of ids.
const IDS: &str = "fields=id,rev";

/// Counted traffic from the service.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// Number of requests.
    pub(crate) requests: usize,
    /// Response bytes of lists of ids.
    pub(crate) ids: usize,
    /// Response bytes of all other requests.
    pub(crate) others: usize,
}

/// The running proxy, which ends on drop.
pub(crate) struct CountingProxy {
    /// Host and port where the proxy listens.
    pub(crate) address: String,
    traffic: Arc<Mutex<Traffic>>,
    _runtime: Runtime,
}

impl CountingProxy {
    /// Starts a proxy in front of a service at `host:port`.
    pub(crate) fn before(service: &str) -> anyhow::Result<CountingProxy> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let (address, service) = (listener.local_addr()?.to_string(), service.to_owned());
        let traffic = Arc::new(Mutex::new(Traffic::default()));
        let all = traffic.clone();
        runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, service.clone(), all.clone()));
            }
        });
        Ok(CountingProxy { address, traffic, _runtime: runtime })
    }

    /// The traffic since the last call.
    pub(crate) fn take(&self) -> Traffic {
        std::mem::take(&mut *lock(&self.traffic))
    }
}

async fn pass(client: TcpStream, service: String, traffic: Arc<Mutex<Traffic>>) -> std::io::Result<()> {
    let service = TcpStream::connect(service).await?;
    client.set_nodelay(true)?;
    service.set_nodelay(true)?;
    let ((up, to_client), (down, to_service)) = (client.into_split(), service.into_split());
    // A connection has one request at a time, so each response belongs to the last request.
    let of_ids = Mutex::new(false);
    let requests = forward(up, to_service, |bytes| {
        let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        if line.ends_with(b" HTTP/1.1") {
            *lock(&of_ids) = String::from_utf8_lossy(line).contains(IDS);
            lock(&traffic).requests += 1;
        }
    });
    let responses = forward(down, to_client, |bytes| {
        let mut traffic = lock(&traffic);
        if *lock(&of_ids) {
            traffic.ids += bytes.len();
        } else {
            traffic.others += bytes.len();
        }
    });
    tokio::try_join!(requests, responses).map(drop)
}

/// Copies bytes until the sender closes, and shows each piece to `count` first.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut count: impl FnMut(&[u8])) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(64 * 1024);
    while from.read_buf(&mut bytes).await? > 0 {
        count(&bytes);
        to.write_all(&bytes).await?;
        bytes.clear();
    }
    to.shutdown().await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
