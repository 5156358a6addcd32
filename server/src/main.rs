//! The program `hearth-server`. Must not know more than its command line.

mod cli;

/// mimalloc returns memory to the system soon after many threads allocate and free thousands of small blocks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
