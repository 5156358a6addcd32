//! What drills have started and made: whatever way a drill ends, by its verdict, a panic or Ctrl-C, its programs are
//! ended and its directories removed. Must not know what they are for.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::super::output;

/// Time for a program to end when asked to.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// Time for a drill within a drill to end what it has started, and for a directory to stay empty.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// What the number of a signal is added to, for the exit code of a program that it ended.
const SIGNAL_EXIT_BASE: i32 = 128;
/// Between two looks at something that another process does.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(10);

#[derive(Default)]
struct Registry {
    children: Vec<ChildProcess>,
    directories: Vec<ScratchDirectory>,
}

struct ChildProcess {
    child: Child,
    /// It has programs of its own to end, so it is asked to before it is killed.
    is_drill: bool,
}

struct ScratchDirectory {
    directory: PathBuf,
    keep: bool,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { children: Vec::new(), directories: Vec::new() });

fn registry() -> MutexGuard<'static, Registry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on, Ctrl-C, SIGTERM and the end of the terminal end everything before they end this program.
pub(super) fn clean_up_on_signal() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // They are heard from here on, before anything is started.
    let (mut interrupts, mut terminations, mut hangups) = {
        let _within = runtime.enter();
        // Who starts it with nohup wants it to outlive the terminal.
        let hangups = if ignores_hangup() { None } else { Some(signal(SignalKind::hangup())?) };
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hangups)
    };
    let asked_to_end = async move {
        let hangup = async {
            match &mut hangups {
                Some(hangups) => drop(hangups.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupts.recv() => Signal::INT,
            _ = terminations.recv() => Signal::TERM,
            () = hangup => Signal::HUP,
        }
    };
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        let signal = runtime.block_on(asked_to_end);
        let mut registry = registry();
        for process in registry.children.iter().filter(|process| process.is_drill) {
            send_sigterm(&process.child);
        }
        for process in &mut registry.children {
            process.end(CLEANUP_TIMEOUT);
        }
        for scratch in &registry.directories {
            match scratch.keep {
                true => {
                    output::message(&format!("ended; the scratch directory is kept in {}", scratch.directory.display()))
                }
                false => remove(&scratch.directory),
            }
        }
        // The lock is held to the end, so that nothing new is started.
        std::process::exit(SIGNAL_EXIT_BASE + signal.as_raw());
    })?;
    Ok(())
}

/// Whether this program was started so that it does not hear of its terminal's end; unknown counts as no.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & 1 == 1)
}

fn send_sigterm(child: &Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}

impl ChildProcess {
    /// Ends it; a drill has some time to end what it started.
    fn end(&mut self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        while self.is_drill && Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.child.kill();
        let ended = self.child.wait();
        // It was killed before it could end what it started, which is in its group.
        if self.is_drill && ended.is_ok_and(|ended| ended.code().is_none()) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }
}

/// Removes a directory, and again while somebody still puts files into it.
fn remove(directory: &Path) {
    let deadline = Instant::now() + CLEANUP_TIMEOUT;
    loop {
        let removed = fs::remove_dir_all(directory);
        if !directory.exists() {
            return;
        }
        if Instant::now() > deadline {
            let why = removed.err().map(|error| format!(": {error}")).unwrap_or_default();
            return output::message(&format!("{} could not be removed{why}", directory.display()));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Runs a program to its end; gives what it printed.
pub(super) fn run_to_end(command: &mut Command) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (program, (stdout, stderr)) = Program::start(command, |child| (child.stdout.take(), child.stderr.take()))?;
    let errors = std::thread::spawn(move || read_to_end(stderr));
    let stdout = read_to_end(stdout);
    let stderr = errors.join().unwrap_or_default();
    Ok(Output { status: program.wait(), stdout, stderr })
}

/// Everything that comes out of a pipe.
pub(super) fn read_to_end(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before a pipe broke is all there is.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// A program that was started; killed when dropped.
pub(super) struct Program {
    id: u32,
}

impl Program {
    /// Starts a program. What it is asked to take from its pipes is for `take`.
    pub(super) fn start<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> io::Result<(Program, T)> {
        Program::start_as(false, command, take)
    }

    /// The same of a drill within this one, which ends what it has started by itself.
    pub(super) fn start_drill<T>(
        command: &mut Command,
        take: impl FnOnce(&mut Child) -> T,
    ) -> io::Result<(Program, T)> {
        Program::start_as(true, command, take)
    }

    fn start_as<T>(
        is_drill: bool,
        command: &mut Command,
        take: impl FnOnce(&mut Child) -> T,
    ) -> io::Result<(Program, T)> {
        let mut registry = registry();
        if is_drill {
            // A group of its own, by which what it started is found if it cannot end that itself.
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let mut child = command.spawn()?;
        let taken = take(&mut child);
        let id = child.id();
        registry.children.push(ChildProcess { child, is_drill });
        Ok((Program { id }, taken))
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// How it ended, if it has.
    pub(super) fn exit_status(&self) -> Option<ExitStatus> {
        let mut registry = registry();
        let process = registry.children.iter_mut().find(|process| process.child.id() == self.id)?;
        process.child.try_wait().ok().flatten()
    }

    /// Waits for its end. The lock is let go meanwhile, for whoever ends everything.
    pub(super) fn wait(self) -> ExitStatus {
        loop {
            if let Some(status) = self.exit_status() {
                return status;
            }
            std::thread::sleep(POLL_INTERVAL / 10);
        }
    }

    /// SIGKILL: no chance to tidy up.
    pub(super) fn kill(self) {
        drop(self);
    }

    /// SIGTERM, and how it ended; killed if it does not.
    pub(super) fn terminate(self) -> Option<ExitStatus> {
        if let Some(process) = registry().children.iter().find(|process| process.child.id() == self.id) {
            send_sigterm(&process.child);
        }
        let deadline = Instant::now() + EXIT_TIMEOUT;
        while Instant::now() < deadline {
            if let Some(status) = self.exit_status() {
                return Some(status);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        None
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let mut registry = registry();
        let Some(nth) = registry.children.iter().position(|process| process.child.id() == self.id) else { return };
        let mut process = registry.children.swap_remove(nth);
        process.end(Duration::ZERO);
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
        // A variable that is set to nothing says nothing.
        let named = Some(std::env::temp_dir()).filter(|named| !named.as_os_str().is_empty());
        let place = named.unwrap_or_else(|| PathBuf::from("/tmp"));
        let directory = std::path::absolute(&place)?.join(unique);
        fs::DirBuilder::new().mode(0o700).create(&directory).map_err(|error| {
            let text = format!("no scratch directory can be made in {}, which TMPDIR names: {error}", place.display());
            io::Error::new(error.kind(), text)
        })?;
        registry().directories.push(ScratchDirectory { directory: directory.clone(), keep });
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
            remove(&self.directory);
        }
        registry().directories.retain(|scratch| scratch.directory != self.directory);
    }
}
