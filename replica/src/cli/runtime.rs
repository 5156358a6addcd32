//! The async runtime of a command. Must not know the work.

use super::failure::Failure;

/// Runs a future to its end. Remaining tasks, such as a slow name lookup, are abandoned; writes must therefore be
/// awaited.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let done = runtime.block_on(work);
    runtime.shutdown_background();
    done
}

pub(super) fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn block_on_abandons_blocked_tasks() {
        let (release, never) = channel::<()>();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            let done = block_on(async {
                // Stands for a name lookup that never ends.
                drop(tokio::task::spawn_blocking(move || never.recv()));
                Ok(())
            });
            sender.send(done.is_ok())
        });
        assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(true));
        drop(release);
    }
}
