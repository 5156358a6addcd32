//! The programs themselves, in processes of their own, to be stopped and killed. Must not know what is tried.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a program to say or do what it must.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at something that another process does.
pub const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A program's file: beside this one, or where a test's own directory stands.
///
/// # Panics
/// When it was not built: `cargo test --workspace` builds it.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("this program's own file");
    let found = own.ancestors().skip(1).take(2).map(|near| near.join(name)).find(|file| file.exists());
    found.unwrap_or_else(|| panic!("{name} is not built; run `cargo build --workspace` first"))
}

/// A command of one of the programs.
pub fn command(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program(name));
    command.args(arguments).stdin(Stdio::null()).env_remove("HEARTH_API_KEY").env_remove("HEARTH_DATA");
    command
}

/// Runs a command to its end.
pub fn run(name: &str, arguments: &[&str]) -> Output {
    command(name, arguments).output().expect("the program runs")
}

/// Runs a command that must succeed; gives its stdout.
pub fn stdout(name: &str, arguments: &[&str]) -> String {
    let output = run(name, arguments);
    assert!(output.status.success(), "{name} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

/// Looks until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "waited {PATIENCE:?} until {what}");
        std::thread::sleep(LOOK_EVERY);
    }
}

/// A program that runs until told otherwise; killed when dropped.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a program.
    pub fn start(name: &str, arguments: &[&str]) -> Process {
        Process::spawn(command(name, arguments).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Starts a server whose log goes to a file, and waits for the line that says where it listens.
    pub fn serve_logging(arguments: &[&str], log: &Path) -> (Process, String) {
        Process::serve_logging_to(arguments, std::fs::File::create(log).expect("a file for its log"))
    }

    /// The same with a log that goes anywhere, perhaps to where nobody reads it.
    pub fn serve_logging_to(arguments: &[&str], log: impl Into<Stdio>) -> (Process, String) {
        Process::listening(command("hearth-server", arguments).stdout(Stdio::piped()).stderr(log))
    }

    /// Starts a server and waits for the line that says where it listens.
    pub fn serve(arguments: &[&str]) -> (Process, String) {
        Process::listening(command("hearth-server", arguments).stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Starts a server that lives on when it may not write any further into a file, as on a full disk.
    pub fn serve_within_limits(arguments: &[&str]) -> (Process, String) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(program("hearth-server")).args(arguments);
        shell.stdin(Stdio::null()).env_remove("HEARTH_DATA");
        Process::listening(shell.stdout(Stdio::piped()).stderr(Stdio::piped()))
    }

    /// Lets no file grow past so many bytes by its writes; None: as far as the disk goes.
    pub fn limit_files(&self, bytes: Option<u64>) {
        let soft = bytes.map_or("unlimited".to_owned(), |bytes| bytes.to_string());
        let id = self.child.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &id, &format!("--fsize={soft}:unlimited")]).status();
        assert!(set.expect("prlimit runs (util-linux)").success());
    }

    /// Bytes of memory that it holds.
    pub fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("its status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("its resident memory");
        line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
    }

    /// Starts another program, whatever it says.
    pub fn foreign(command: &mut Command) -> Process {
        Process::spawn(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Starts another program that says where it listens as a server does.
    pub fn announcing(command: &mut Command) -> (Process, String) {
        Process::listening(command.stdout(Stdio::piped()).stderr(Stdio::inherit()))
    }

    fn listening(command: &mut Command) -> (Process, String) {
        let mut process = Process::spawn(command);
        let stdout = process.child.stdout.take().expect("its stdout");
        let mut line = String::new();
        let _ = BufReader::new(stdout).read_line(&mut line);
        let Some(url) = line.trim().strip_prefix("listening on ") else {
            let mut errors = String::new();
            let _ = process.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut errors));
            panic!("the server did not start: {line}{errors}");
        };
        // Nobody reads its log: let it go, so that a full pipe never holds it up.
        if let Some(mut stderr) = process.child.stderr.take() {
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        }
        (process, url.to_owned())
    }

    fn spawn(command: &mut Command) -> Process {
        Process { child: command.spawn().expect("the program starts") }
    }

    /// Its number in the system.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL: no chance to tidy up.
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

    /// SIGTERM, and how it ended.
    pub fn terminate(self) -> ExitStatus {
        self.signal("TERM");
        self.ended()
    }

    /// How it ended, once it has.
    pub fn ended(mut self) -> ExitStatus {
        let mut status = None;
        wait_until("the program has stopped", || {
            status = self.child.try_wait().expect("its status");
            status.is_some()
        });
        status.expect("it has stopped")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
