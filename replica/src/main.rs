//! `hearth-replica`: the daemon that keeps a replica in step, and the command line for scripts and people. It only
//! reads arguments and hands over to [`cli`].

mod cli;

use std::process::ExitCode;

/// What is asked for and let go in thousands at a time, by many threads, goes back to the system soon.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
