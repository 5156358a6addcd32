//! What the simulation can do to a running process at an interruption point. Must not know how a process reacts.

/// What happens to a process at an interruption point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// The simulated process crashes at this point. Its later output is ignored.
    Crash,
    /// The write at this point fails because the disk is full.
    DiskFull,
}
