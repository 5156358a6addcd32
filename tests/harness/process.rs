//! The built programs as child processes, which tests signal and kill. Must not know the tests.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a condition or a program's exit.
const PATIENCE: Duration = Duration::from_secs(120);

/// Time between two checks of another process's state.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The file of a built program: beside this executable, or in the parent directory (tests run from `deps`).
///
/// # Panics
/// When the program was not built: `cargo test --workspace` builds all programs.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("this program's own file");
    let found = own.ancestors().skip(1).take(2).map(|near| near.join(name)).find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{name} is not built; run `cargo build --workspace` first"))
}

/// A command of a built program, without stdin and without Hearth's environment variables.
pub fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program(name));
    command.args(arguments).stdin(Stdio::null()).env_remove("HEARTH_API_KEY").env_remove("HEARTH_DATA");
    command
}

/// Runs a command until the program exits.
pub fn run(name: &str, arguments: &[&str]) -> Output {
    command(name, arguments).output().expect("the program runs")
}

/// Runs a command that must succeed. Returns stdout without surrounding white space.
pub fn stdout(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Waits until a condition holds. Panics with its description after two minutes.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A running program, killed on drop.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a built program without output.
    pub fn start(name: &str, arguments: &[&str]) -> Process {
        Process::spawn(command(name, arguments).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Starts a server with its log in a file. Returns the URL from the line `listening on`.
    pub fn serve_logging(arguments: &[&str], log: &Path) -> (Process, String) {
        Process::serve_logging_to(arguments, std::fs::File::create(log).expect("a file for its log"))
    }

    /// Starts a server with its log in any output, such as a pipe without a reader. Returns the URL.
    pub fn serve_logging_to(arguments: &[&str], log: impl Into<Stdio>) -> (Process, String) {
        Process::spawn_listening(command("hearth-server", arguments).stdout(Stdio::piped()).stderr(log))
    }

    /// Starts a server. Returns the URL from the line `listening on`.
    pub fn serve(arguments: &[&str]) -> (Process, String) {
        Process::spawn_listening(command("hearth-server", arguments).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts a server that ignores SIGXFSZ: a write beyond the file size limit fails with EFBIG, as on a full disk.
    pub fn serve_ignoring_xfsz(arguments: &[&str]) -> (Process, String) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(program("hearth-server")).args(arguments);
        shell.stdin(Stdio::null()).env_remove("HEARTH_DATA");
        Process::spawn_listening(shell.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Limits the size of files that the process writes, in bytes; None: no limit.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let soft = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let id = self.child.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &id, &format!("--fsize={soft}:unlimited")]).status();
        assert!(set.expect("prlimit runs (util-linux)").success());
    }

    /// Resident memory of the process in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its resident memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Starts a prepared command without input and output.
    pub fn start_other(command: &mut Command) -> Process {
        Process::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Starts a prepared command that writes a line `listening on URL`. Returns the URL.
    pub fn start_announcing(command: &mut Command) -> (Process, String) {
        Process::spawn_listening(command.stdout(Stdio::piped()).stderr(Stdio::inherit()))
    }

    fn spawn_listening(command: &mut Command) -> (Process, String) {
        let mut process = Process::spawn(command);
        let stdout = process.child.stdout.take().expect("its stdout");
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            let mut errors = String::new();
            let _ = process.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut errors));
            panic!("the server did not start: {line}{errors}");
        };
        // Drain the log, or a full pipe would block the program.
        if let Some(mut stderr) = process.child.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        (process, url.to_owned())
    }

    fn spawn(command: &mut Command) -> Process {
        Process { child: command.spawn().expect("the program starts") }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process with SIGKILL, so the program cannot clean up.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Sends a signal by its name, such as TERM or INT.
    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([&format!("-{name}"), &id]).status().expect("kill runs");
        assert!(sent.success());
    }

    /// Sends SIGTERM and waits for the exit.
    pub fn terminate(self) -> ExitStatus {
        self.signal("TERM");
        self.wait_for_exit()
    }

    /// Waits for the exit.
    pub fn wait_for_exit(mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the program has stopped", || {
            status = self.child.try_wait().expect("its status");
            status.is_some()
        });
        status.expect("an exit status")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
