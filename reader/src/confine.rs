//! Takes rights from this process before it looks at a stranger's file (contract 22): little memory, little processor time, no
//! network, no files but the programs of the system, no writing. Must not know what is read.

use thiserror::Error;

/// Memory of the process, in bytes.
pub const MEMORY_MAX: u64 = 600 << 20;
/// Processor time of the process, in seconds.
pub const CPU_SECONDS_MAX: u64 = 30;
/// Other work of the machine goes first.
const NICE: i32 = 10;

/// Why the process could not be confined. It must not read a file then.
#[derive(Debug, Error)]
pub enum Unconfined {
    /// The system has no Landlock, or it is switched off.
    #[error(
        "files cannot be read on this machine: its system has no Landlock, which keeps a harmful file from doing harm; Linux 5.13 or newer has it"
    )]
    NoLandlock,
    /// A limit could not be set.
    #[error("files cannot be read on this machine: a limit of the reading process cannot be set ({0})")]
    NoLimit(&'static str),
    /// The process has more threads than one, and confinement covers one.
    #[error("files cannot be read: the reading process has several threads before it is confined")]
    Threads,
}

/// Bounds memory and processor time, and lets other work go first. Programs that this process starts inherit it.
///
/// True: the bounds are new. The allocator may have taken more memory before, so the program must be started anew under them.
pub fn limit() -> Result<bool, Unconfined> {
    use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
    let limits = [(Resource::Data, MEMORY_MAX, "memory"), (Resource::Cpu, CPU_SECONDS_MAX, "processor time")];
    let is_bounded =
        |(resource, most, _): &(_, u64, _)| getrlimit(*resource).maximum.is_some_and(|bound| bound <= *most);
    if limits.iter().all(is_bounded) {
        return Ok(false);
    }
    for (resource, most, name) in limits {
        let most = getrlimit(resource).maximum.map_or(most, |bound| bound.min(most));
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, limit).map_err(|_| Unconfined::NoLimit(name))?;
    }
    nice(NICE).map(|_| true).map_err(|_| Unconfined::NoLimit("priority"))
}

/// Gives up the network, and all files but programs and libraries of the system, which may be read and started. For good, and for
/// the programs that this process starts. Call it before the process has a second thread.
#[cfg(target_os = "linux")]
pub fn enclose() -> Result<(), Unconfined> {
    use landlock::{ABI, AccessFs, RulesetCreatedAttr, RulesetStatus, path_beneath_rules};
    /// Where Poppler, its libraries and fonts lie.
    const SYSTEM: [&str; 9] = [
        "/usr",
        "/bin",
        "/lib",
        "/lib64",
        "/nix/store",
        "/etc/fonts",
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/var/cache/fontconfig",
    ];
    let is_alone = std::fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() == 1);
    if !is_alone {
        return Err(Unconfined::Threads);
    }
    let rules = path_beneath_rules(SYSTEM, AccessFs::from_read(ABI::V1));
    // Messages of the programs go there.
    let nowhere = path_beneath_rules(["/dev/null"], AccessFs::ReadFile | AccessFs::WriteFile);
    match ruleset().and_then(|ruleset| ruleset.add_rules(rules)?.add_rules(nowhere)?.restrict_self()) {
        Ok(status) if status.ruleset != RulesetStatus::NotEnforced => without_network(),
        _ => Err(Unconfined::NoLandlock),
    }
}

/// Gives up all files. No program can be started afterwards.
#[cfg(target_os = "linux")]
pub fn give_up_programs() -> Result<(), Unconfined> {
    match ruleset().and_then(|ruleset| ruleset.restrict_self()) {
        Ok(status) if status.ruleset != landlock::RulesetStatus::NotEnforced => Ok(()),
        _ => Err(Unconfined::NoLandlock),
    }
}

/// All rights that the running system can take.
#[cfg(target_os = "linux")]
fn ruleset() -> Result<landlock::RulesetCreated, landlock::RulesetError> {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
    Ruleset::default()
        .handle_access(AccessFs::from_all(ABI::V6))?
        .handle_access(AccessNet::from_all(ABI::V6))?
        .scope(Scope::from_all(ABI::V6))?
        .create()
}

/// Forbids sockets of all kinds. Landlock itself forbids TCP only.
#[cfg(target_os = "linux")]
fn without_network() -> Result<(), Unconfined> {
    use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
    const FORBIDDEN: [i64; 4] = [libc::SYS_socket, libc::SYS_io_uring_setup, libc::SYS_ptrace, libc::SYS_bpf];
    let rules = FORBIDDEN.map(|call| (call, Vec::new())).into_iter().collect();
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let arch = std::env::consts::ARCH.try_into().map_err(|_| Unconfined::NoLimit("network"))?;
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch);
    let program: BpfProgram = filter.and_then(BpfProgram::try_from).map_err(|_| Unconfined::NoLimit("network"))?;
    apply_filter(&program).map_err(|_| Unconfined::NoLimit("network"))
}

/// Other systems than Linux have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn enclose() -> Result<(), Unconfined> {
    Err(Unconfined::NoLandlock)
}

/// Other systems than Linux have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn give_up_programs() -> Result<(), Unconfined> {
    Err(Unconfined::NoLandlock)
}
