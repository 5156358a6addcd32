//! `hearth-replica`: the daemon that syncs a replica, and the command line for scripts and people. Only hands over to
//! [`cli`].

mod cli;

use std::process::ExitCode;

/// Many threads allocate and free thousands of objects at a time. mimalloc returns the memory to the system soon.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
