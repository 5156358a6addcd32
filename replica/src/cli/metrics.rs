//! Counts for Prometheus, read from the database when they are asked for. Must not know who asks, and must not hold up
//! the sync.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hearth_replica::{Origin, Phase, Replica, StoreError};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

/// Longest time that one asker is given. They are served one after another, so none can pile up.
const ASKER_MAX: Duration = Duration::from_secs(5);

/// Listens at an address; gives the one that it got.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Answers until dropped.
pub(super) async fn serve(listener: TcpListener, db: PathBuf) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // No descriptor left, or the like; it passes.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        let answer = hyper::service::service_fn(|request| answer(request, db.clone()));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .serve_connection(TokioIo::new(socket), answer);
        let _ = tokio::time::timeout(ASKER_MAX, connection).await;
    }
}

async fn answer(request: Request<Incoming>, db: PathBuf) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
    let plain = |status: StatusCode, text: String| {
        Response::builder()
            .status(status)
            .header("content-type", "text/plain; version=0.0.4; charset=utf-8")
            .body(Full::new(Bytes::from(text)))
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n".to_owned());
    }
    match tokio::task::spawn_blocking(move || write(&db)).await {
        Ok(Ok(text)) => plain(StatusCode::OK, text),
        Ok(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn write(db: &Path) -> Result<String, StoreError> {
    // Only who syncs makes or renews a database.
    let replica = Replica::open_to_read(db, Origin::Cli)?;
    let (status, tally) = (replica.status()?, replica.tally()?);
    let mut text = String::new();
    let mut tell = |name: &str, about: &str, samples: &[(String, f64)]| {
        if !samples.is_empty() {
            let _ = writeln!(text, "# HELP hearth_replica_{name} {about}\n# TYPE hearth_replica_{name} gauge");
        }
        for (labels, value) in samples {
            let _ = writeln!(text, "hearth_replica_{name}{labels} {value}");
        }
    };
    let label = |name: &str, value: &str| format!("{{{name}=\"{value}\"}}");
    let one = |value: Option<f64>| value.map(|value| (String::new(), value)).into_iter().collect::<Vec<_>>();
    let counted = |name: &str, all: &[(String, i64)]| {
        all.iter().map(|(word, count)| (label(name, word), *count as f64)).collect::<Vec<_>>()
    };
    let phases = Phase::ALL
        .iter()
        .map(|phase| (label("phase", phase.as_str()), f64::from(u8::from(status.phase == *phase))))
        .collect::<Vec<_>>();
    tell("phase", "1 for the phase the replica is in.", &phases);
    tell("position", "Up to where the server's changes are applied.", &one(Some(status.position as f64)));
    tell("head", "Newest position the server was heard to have.", &one(status.head.map(|n| n as f64)));
    tell(
        "behind_events",
        "Events still to apply; absent without contact.",
        &one(status.behind_events.map(|n| n as f64)),
    );
    tell(
        "behind_seconds",
        "Seconds since the replica was proven current.",
        &one(status.behind_seconds.map(|n| n as f64)),
    );
    tell(
        "retention_left_seconds",
        "Seconds until everything would have to be compared again.",
        &one(status.retention_left_seconds.map(|n| n as f64)),
    );
    tell("edits_waiting", "Edits on their way.", &one(Some(status.waiting as f64)));
    tell("edits_need_you", "Edits that wait for a person.", &one(Some(status.needs_you as f64)));
    tell("edits", "Edits that are not settled, by state.", &counted("state", &tally.edits));
    tell("edits_settled", "Edits settled within 30 days, by outcome.", &counted("outcome", &tally.settled));
    let records: Vec<_> = tally.records.iter().map(|(kind, n)| (label("kind", kind.as_str()), *n as f64)).collect();
    tell("records", "Records, by kind.", &records);
    tell("database_bytes", "Size of the database.", &one(Some(tally.database_bytes as f64)));
    tell("log_bytes", "Size of its write-ahead log.", &one(Some(tally.wal_bytes as f64)));
    Ok(text)
}
