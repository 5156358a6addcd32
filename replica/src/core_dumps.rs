//! Core dumps off: a dump holds API keys and records. Must not know what the process does. The server has the same few lines:
//! the two crates share only what both sides of the API agree on.

/// Forbids core dumps of this process. An error is ignored: the process then runs as the system allows.
pub fn disable() {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Core);
    let none = rustix::process::Rlimit { current: Some(0), maximum: limit.maximum };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, none);
    // A system that gives dumps to a program, such as systemd-coredump, ignores the limit.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
