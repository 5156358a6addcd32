//! What the daemon says to systemd: that it is ready, how it stands, that it lives, that it stops. Without systemd all of
//! it is silent. Must not know how syncing works.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use hearth_replica::{Origin, Replica};
use sd_notify::NotifyState;

use super::{status, text};

/// Between two looks at the status when nobody watches whether this lives.
const STATUS_INTERVAL: Duration = Duration::from_secs(5);
/// Signs of life in the time after which their absence counts as death.
const SIGNS_PER_WATCHDOG_PERIOD: u32 = 3;

/// Says that it is ready.
pub(super) fn notify_ready() {
    send(&[NotifyState::Ready]);
}

/// Says that it stops.
pub(super) fn notify_stopping() {
    send(&[NotifyState::Stopping]);
}

/// Says how it stands and that it lives, until dropped. It is polled by whoever runs the sync, and reads the database
/// for each sign: a sync that blocks its thread, or a disk that does not answer, gives none.
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
        // Only who syncs makes or renews a database. Until it has, there is nothing to say; later, what was said holds no more.
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
        tracing::debug!(%error, "systemd does not listen");
    }
}
