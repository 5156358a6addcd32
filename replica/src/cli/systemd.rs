//! Messages to systemd: ready, status, watchdog, stopping. Without systemd nothing is sent. Must not know how syncing
//! works.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use hearth_replica::{Origin, Replica};
use sd_notify::NotifyState;

use super::{status, text};

/// The interval between two status messages without a watchdog.
const STATUS_INTERVAL: Duration = Duration::from_secs(5);
/// The number of watchdog messages per watchdog period.
const SIGNS_PER_WATCHDOG_PERIOD: u32 = 3;

/// Tells systemd that the daemon is ready.
pub(super) fn notify_ready() {
    send(&[NotifyState::Ready]);
}

/// Tells systemd that the daemon stops.
pub(super) fn notify_stopping() {
    send(&[NotifyState::Stopping]);
}

/// Sends status and watchdog messages until dropped. The future is polled by the task of the sync and reads the
/// database for each message: a blocked sync or a dead disk sends none.
pub(super) async fn report_status(db: &Path) -> Infallible {
    if std::env::var_os("NOTIFY_SOCKET").is_none() {
        return std::future::pending().await;
    }
    let watched = sd_notify::watchdog_enabled();
    let interval = watched.map_or(STATUS_INTERVAL, |limit| limit / SIGNS_PER_WATCHDOG_PERIOD);
    let mut sent = String::new();
    loop {
        let db = db.to_owned();
        let read = tokio::task::spawn_blocking(move || Replica::open_read_only(&db, Origin::Cli)?.status()).await;
        // Before the sync creates or migrates the database there is no status; later an error replaces the old status.
        let text = match read {
            Ok(Ok(now)) => status::summary(&now),
            _ if sent.is_empty() => String::new(),
            Ok(Err(error)) => text::one_line(&error.to_string()),
            Err(error) => text::one_line(&error.to_string()),
        };
        if text != sent {
            send(&[NotifyState::Status(&text)]);
            sent = text;
        }
        if watched.is_some() {
            send(&[NotifyState::Watchdog]);
        }
        tokio::time::sleep(interval).await;
    }
}

fn send(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "cannot notify systemd");
    }
}
