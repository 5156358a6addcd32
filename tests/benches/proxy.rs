//! What stands between a replica and the service and counts the bytes that come down, apart for what is asked for. Must
//! not change a byte.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// A walk over the ids of a list is known by this.
const IDS: &str = "fields=id,rev";

/// What came down so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traffic {
    /// Requests.
    pub(crate) requests: usize,
    /// Bytes of lists of ids.
    pub(crate) ids: usize,
    /// All other bytes.
    pub(crate) others: usize,
}

/// A listener that passes everything on; it ends when dropped.
pub(crate) struct CountingProxy {
    /// Host and port.
    pub(crate) address: String,
    traffic: Arc<Mutex<Traffic>>,
    _runtime: Runtime,
}

impl CountingProxy {
    /// Begins to listen for whoever wants to reach this address.
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

    /// What came down since the last time.
    pub(crate) fn take(&self) -> Traffic {
        std::mem::take(&mut *self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn pass(client: TcpStream, service: String, traffic: Arc<Mutex<Traffic>>) -> std::io::Result<()> {
    let service = TcpStream::connect(service).await?;
    client.set_nodelay(true)?;
    service.set_nodelay(true)?;
    let ((up, to_client), (down, to_service)) = (client.into_split(), service.into_split());
    // One request at a time is on a connection, so what comes down answers the last that went up.
    let of_ids = Arc::new(Mutex::new(false));
    tokio::try_join!(send(up, to_service, &of_ids, &traffic), receive(down, to_client, &of_ids, &traffic)).map(drop)
}

async fn send(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    of_ids: &Mutex<bool>,
    traffic: &Mutex<Traffic>,
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(64 * 1024);
    while from.read_buf(&mut bytes).await? > 0 {
        let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or_default();
        if line.ends_with(b" HTTP/1.1") {
            let line = String::from_utf8_lossy(line);
            *of_ids.lock().unwrap_or_else(PoisonError::into_inner) = line.contains(IDS);
            traffic.lock().unwrap_or_else(PoisonError::into_inner).requests += 1;
        }
        to.write_all(&bytes).await?;
        bytes.clear();
    }
    to.shutdown().await
}

async fn receive(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    of_ids: &Mutex<bool>,
    traffic: &Mutex<Traffic>,
) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(64 * 1024);
    while from.read_buf(&mut bytes).await? > 0 {
        let of_ids = *of_ids.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let mut traffic = traffic.lock().unwrap_or_else(PoisonError::into_inner);
            if of_ids {
                traffic.ids += bytes.len();
            } else {
                traffic.others += bytes.len();
            }
        }
        to.write_all(&bytes).await?;
        bytes.clear();
    }
    to.shutdown().await
}
