//! What a confined process can no longer do. A program of its own, because confinement covers one thread and is for good.

use std::fs::{File, read_dir};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, ExitCode, Stdio};

use hearth_reader::confine::{MEMORY_MAX, enclose, give_up_programs, limit};

fn main() -> ExitCode {
    // Test runners ask for the names of the tests first.
    if std::env::args().any(|argument| argument == "--list") {
        let is_listed = !std::env::args().any(|argument| argument == "--ignored");
        if is_listed {
            println_to_stdout("confined: test");
        }
        return ExitCode::SUCCESS;
    }
    if !cfg!(target_os = "linux") {
        return ExitCode::SUCCESS;
    }
    confined();
    ExitCode::SUCCESS
}

fn println_to_stdout(line: &str) {
    use std::io::Write;
    writeln!(std::io::stdout(), "{line}").expect("stdout is open");
}

fn confined() {
    assert!(limit().expect("limits can be set"), "the limits are new");
    assert!(!limit().expect("limits can be set"), "the limits are in force");
    let memory = rustix::process::getrlimit(rustix::process::Resource::Data);
    assert_eq!(memory.maximum, Some(MEMORY_MAX));
    assert!(File::open("/etc/passwd").is_ok());

    enclose().expect("this machine has Landlock");
    assert!(File::open("/etc/passwd").is_err(), "files of the machine");
    assert!(read_dir("/tmp").is_err() && read_dir("/proc/self").is_err(), "directories");
    let own = std::env::temp_dir().join(format!("hearth-confined-{}", std::process::id()));
    assert!(File::create(&own).is_err(), "writing");
    assert!(TcpListener::bind("127.0.0.1:0").is_err(), "TCP");
    assert!(UdpSocket::bind("127.0.0.1:0").is_err(), "UDP");
    assert!(UnixDatagram::unbound().is_err(), "sockets of this machine");
    let program = || Command::new("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(program().is_ok_and(|status| status.success()), "programs of the system start");

    give_up_programs().expect("this machine has Landlock");
    assert!(program().is_err(), "programs do not start");
    assert!(File::open("/usr/bin/true").is_err(), "files of the system");
}
