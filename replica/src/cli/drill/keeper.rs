//! What drills have started and made: whatever way a drill ends, by its verdict, a panic or Ctrl-C, its programs are
//! ended and its directories removed. Must not know what they are for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for a program to end when asked to.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two looks at something that another process does.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(10);

#[derive(Default)]
struct Kept {
    children: Vec<Child>,
    directories: Vec<PathBuf>,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { children: Vec::new(), directories: Vec::new() });

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, Ctrl-C and SIGTERM end everything before they end this program.
pub(super) fn end_all_on_signal() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(super::super::sync::asked_to_stop());
        let mut kept = kept();
        for child in &mut kept.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        for directory in &kept.directories {
            let _ = fs::remove_dir_all(directory);
        }
        // The lock is held to the end, so that nothing new is started.
        std::process::exit(130);
    })?;
    Ok(())
}

/// A program that was started; killed when dropped.
pub(super) struct Program {
    id: u32,
}

impl Program {
    /// Starts a program. What it is asked to take from its pipes is for `take`.
    pub(super) fn start<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> io::Result<(Program, T)> {
        let mut kept = kept();
        let mut child = command.spawn()?;
        let taken = take(&mut child);
        let id = child.id();
        kept.children.push(child);
        Ok((Program { id }, taken))
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// How it ended, if it has.
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        kept().children.iter_mut().find(|child| child.id() == self.id).and_then(|child| child.try_wait().ok().flatten())
    }

    /// SIGKILL: no chance to tidy up.
    pub(super) fn kill(self) {
        drop(self);
    }

    /// SIGTERM, and how it ended; killed if it does not.
    pub(super) fn terminate(self) -> Option<ExitStatus> {
        let _ = Command::new("kill").args(["-TERM", &self.id.to_string()]).status();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            std::thread::sleep(LOOK_EVERY);
        }
        None
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut kept = kept();
        let Some(nth) = kept.children.iter().position(|child| child.id() == self.id) else { return };
        let mut child = kept.children.swap_remove(nth);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A directory of a drill's own; removed when dropped, unless it is to be kept.
pub(super) struct Scratch {
    directory: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Makes one.
    pub(super) fn make(name: &str, keep: bool) -> io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt;
        let unique = format!("hearth-drill-{name}-{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
        let directory = std::env::temp_dir().join(unique);
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
        if !keep {
            kept().directories.push(directory.clone());
        }
        Ok(Scratch { directory, keep })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// Where it stays, if it does.
    pub(super) fn kept(&self) -> Option<PathBuf> {
        self.keep.then(|| self.directory.clone())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            let _ = fs::remove_dir_all(&self.directory);
            kept().directories.retain(|directory| *directory != self.directory);
        }
    }
}
