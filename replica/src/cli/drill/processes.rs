//! Registers child processes and scratch directories. However a drill ends, by a verdict, a panic or Ctrl-C, the
//! processes are ended and the directories removed. Must not know their purpose.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};

use super::super::output;

/// The time for a program to end after SIGTERM.
const EXIT_TIMEOUT: Duration = Duration::from_secs(15);
/// The time for an inner drill to clean up, and for a directory to stay empty.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(5);
/// Exit codes for signals start here, as in shells.
const SIGNAL_EXIT_BASE: i32 = 128;
/// The interval of polls.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(10);

struct Registry {
    children: Vec<ChildProcess>,
    directories: Vec<ScratchDirectory>,
}

struct ChildProcess {
    child: Child,
    /// An inner drill has children of its own, so it gets SIGTERM before SIGKILL.
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

/// From now on SIGINT, SIGTERM and SIGHUP clean up before this program ends.
pub(super) fn clean_up_on_signal() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The handlers are installed before any process starts.
    let (mut interrupts, mut terminations, mut hangups) = {
        let _within = runtime.enter();
        // Under nohup the program must outlive the terminal.
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
        // The registry stays locked until the exit, so no new process starts.
        std::process::exit(SIGNAL_EXIT_BASE + signal.as_raw());
    })?;
    Ok(())
}

/// True when SIGHUP is ignored, as under nohup; false when unknown.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & 1 == 1)
}

fn send_sigterm(child: &Child) {
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
}

impl ChildProcess {
    /// Ends the process; an inner drill has `timeout` to clean up first.
    fn end(&mut self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        while self.is_drill && Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(POLL_INTERVAL);
        }
        let _ = self.child.kill();
        let ended = self.child.wait();
        // The inner drill was killed before its cleanup; its children are in its process group.
        if self.is_drill && ended.is_ok_and(|ended| ended.code().is_none()) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
    }
}

/// Removes a directory, repeatedly while a process still writes files into it.
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

/// Runs a program to its end and returns its output.
pub(super) fn run_to_end(command: &mut Command) -> io::Result<Output> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let (program, (stdout, stderr)) = Program::start(command, |child| (child.stdout.take(), child.stderr.take()))?;
    let errors = std::thread::spawn(move || read_to_end(stderr));
    let stdout = read_to_end(stdout);
    let stderr = errors.join().unwrap_or_default();
    Ok(Output { status: program.wait(), stdout, stderr })
}

/// Reads a pipe to its end.
pub(super) fn read_to_end(pipe: Option<impl Read>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // On a read error the bytes so far are the result.
        let _ = pipe.read_to_end(&mut bytes);
    }
    bytes
}

/// A running program, killed when dropped.
pub(super) struct Program {
    id: u32,
}

impl Program {
    /// Starts a program; `take` takes the pipes.
    pub(super) fn start<T>(command: &mut Command, take: impl FnOnce(&mut Child) -> T) -> io::Result<(Program, T)> {
        Program::start_as(false, command, take)
    }

    /// The same. `is_drill`: the program is an inner drill, which cleans up by itself on SIGTERM.
    pub(super) fn start_as<T>(
        is_drill: bool,
        command: &mut Command,
        take: impl FnOnce(&mut Child) -> T,
    ) -> io::Result<(Program, T)> {
        let mut registry = registry();
        if is_drill {
            // A process group of its own, by which its children are found if the inner drill cannot clean up.
            std::os::unix::process::CommandExt::process_group(command, 0);
        }
        let mut child = command.spawn()?;
        let taken = take(&mut child);
        let id = child.id();
        registry.children.push(ChildProcess { child, is_drill });
        Ok((Program { id }, taken))
    }

    /// The pid.
    pub(super) fn id(&self) -> u32 {
        self.id
    }

    /// The exit status. None: still running.
    pub(super) fn exit_status(&self) -> Option<ExitStatus> {
        let mut registry = registry();
        let process = registry.children.iter_mut().find(|process| process.child.id() == self.id)?;
        process.child.try_wait().ok().flatten()
    }

    /// Waits for the end. The lock is released between polls, for the cleanup on a signal.
    pub(super) fn wait(self) -> ExitStatus {
        loop {
            if let Some(status) = self.exit_status() {
                return status;
            }
            std::thread::sleep(POLL_INTERVAL / 10);
        }
    }

    /// Sends SIGTERM and waits for the exit status. None: not ended in time, and killed.
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

/// A scratch directory, removed when dropped unless kept.
pub(super) struct Scratch {
    directory: PathBuf,
    keep: bool,
}

impl Scratch {
    /// Creates the directory, named after the drill.
    pub(super) fn make(name: &str, keep: bool) -> io::Result<Scratch> {
        use std::os::unix::fs::DirBuilderExt;
        let unique = format!("hearth-drill-{name}-{}", &uuid::Uuid::new_v4().simple().to_string()[..12]);
        // An empty TMPDIR counts as unset.
        let named = Some(std::env::temp_dir()).filter(|named| !named.as_os_str().is_empty());
        let place = named.unwrap_or_else(|| PathBuf::from("/tmp"));
        let directory = std::path::absolute(&place)?.join(unique);
        fs::DirBuilder::new().mode(0o700).create(&directory).map_err(|error| {
            let text = format!("no scratch directory can be made in {}, set by TMPDIR: {error}", place.display());
            io::Error::new(error.kind(), text)
        })?;
        registry().directories.push(ScratchDirectory { directory: directory.clone(), keep });
        Ok(Scratch { directory, keep })
    }

    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.directory
    }

    /// The path, if the directory is kept.
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
