//! Progress bars, only on a terminal: of a count, and of a backfill, drawn from the status in the database. Must not slow the
//! sync.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use hearth_replica::{Origin, Phase, Replica, Status};
use indicatif::{ProgressBar, ProgressStyle};

/// The interval between two updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// A bar up to a total, such as `sending`. Draws nothing where stderr is no terminal.
pub(super) fn bar(total: usize, verb: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    styled_bar(total as u64, &format!("{verb} {{wide_bar}} {{pos}}/{{len}}  {{eta}} left"))
}

fn styled_bar(total: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    // The templates are valid, so the default is never used.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

/// A progress bar on a thread of its own. Dropping the value removes the bar.
pub(super) struct Progress {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts a bar for the backfill of a database, or for catching up.
    pub(super) fn start(db: &Path) -> Progress {
        if !io::stderr().is_terminal() {
            return Progress { stop: None, thread: None };
        }
        let (stop, stopped) = channel();
        let db = db.to_owned();
        let thread = std::thread::spawn(move || {
            let Ok(replica) = Replica::open(&db, Origin::Cli) else { return };
            let mut bar = None;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let Ok(status) = replica.status() else { continue };
                draw(&mut bar, &status);
            }
            bar.inspect(ProgressBar::finish_and_clear);
        });
        Progress { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn draw(bar: &mut Option<ProgressBar>, status: &Status) {
    if !matches!(status.phase, Phase::Backfilling | Phase::CatchingUp) {
        if let Some(bar) = bar.take() {
            bar.finish_and_clear();
        }
        return;
    }
    let bar = bar.get_or_insert_with(|| styled_bar(0, "{msg:12} {wide_bar} {pos}/{len}  {eta} left"));
    bar.set_message(status.phase.as_str().replace('_', " "));
    bar.set_length(status.head.unwrap_or(status.position).unsigned_abs());
    bar.set_position(status.position.unsigned_abs());
}
