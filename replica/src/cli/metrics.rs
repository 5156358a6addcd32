//! Metrics for Prometheus, read from the database for each request. Must not block the sync.

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

/// Time limit of a request. Requests are served one after another, so they cannot pile up.
const REQUEST_TIME_MAX: Duration = Duration::from_secs(5);

/// Binds the address, and returns the real address with the port.
pub(super) async fn listen(address: SocketAddr) -> std::io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(address).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Serves requests until dropped.
pub(super) async fn serve(listener: TcpListener, db: PathBuf) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            // An error here is temporary, such as no free file descriptor.
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        let respond = hyper::service::service_fn(|request| respond(request, db.clone()));
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .keep_alive(false)
            .serve_connection(TokioIo::new(socket), respond);
        let _ = tokio::time::timeout(REQUEST_TIME_MAX, connection).await;
    }
}

async fn respond(request: Request<Incoming>, db: PathBuf) -> Result<Response<Full<Bytes>>, hyper::http::Error> {
    let plain = |status: StatusCode, text: String| {
        Response::builder()
            .status(status)
            .header("content-type", "text/plain; version=0.0.4; charset=utf-8")
            .body(Full::new(Bytes::from(text)))
    };
    if request.uri().path() != "/metrics" {
        return plain(StatusCode::NOT_FOUND, "the metrics are at /metrics\n".to_owned());
    }
    match tokio::task::spawn_blocking(move || render(&db)).await {
        Ok(Ok(text)) => plain(StatusCode::OK, text),
        Ok(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn render(db: &Path) -> Result<String, StoreError> {
    // Opened read-only: only the syncing process creates or migrates a database.
    let replica = Replica::open_read_only(db, Origin::Cli)?;
    let (status, counts) = (replica.status()?, replica.counts()?);
    let mut text = String::new();
    let mut gauge = |name: &str, help: &str, samples: &[(String, i64)]| {
        if !samples.is_empty() {
            let _ = writeln!(text, "# HELP hearth_replica_{name} {help}\n# TYPE hearth_replica_{name} gauge");
        }
        for (labels, value) in samples {
            let _ = writeln!(text, "hearth_replica_{name}{labels} {value}");
        }
    };
    let label = |name: &str, value: &str| format!("{{{name}=\"{value}\"}}");
    let one = |value: Option<i64>| value.map(|value| (String::new(), value)).into_iter().collect::<Vec<_>>();
    let by_label = |name: &str, all: &[(String, i64)]| {
        all.iter().map(|(word, count)| (label(name, word), *count)).collect::<Vec<_>>()
    };
    let phases = Phase::ALL
        .iter()
        .map(|phase| (label("phase", phase.as_str()), i64::from(status.phase == *phase)))
        .collect::<Vec<_>>();
    gauge("phase", "1 for the phase the replica is in.", &phases);
    gauge("position", "Position up to which the server's changes are applied.", &one(Some(status.position)));
    gauge("head", "Newest known position of the server.", &one(status.head));
    gauge("behind_events", "Events still to apply; absent without contact.", &one(status.behind_events));
    gauge("behind_seconds", "Seconds since the replica was proven current.", &one(status.behind_seconds));
    gauge(
        "retention_left_seconds",
        "Seconds until a sync has to compare all records.",
        &one(status.retention_left_seconds),
    );
    gauge("edits_waiting", "Edits that wait to be sent or confirmed.", &one(Some(status.waiting)));
    gauge("edits_need_you", "Edits that wait for a person.", &one(Some(status.needs_you)));
    gauge("edits", "Edits that are not settled, by state.", &by_label("state", &counts.edits));
    gauge("edits_settled", "Edits settled within 30 days, by outcome.", &by_label("outcome", &counts.settled));
    let records: Vec<_> = counts.records.iter().map(|(kind, n)| (label("kind", kind.as_str()), *n)).collect();
    gauge("records", "Records, by kind.", &records);
    gauge("database_bytes", "Size of the database.", &one(i64::try_from(counts.database_bytes).ok()));
    gauge("log_bytes", "Size of its write-ahead log.", &one(i64::try_from(counts.wal_bytes).ok()));
    Ok(text)
}
