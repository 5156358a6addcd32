//! The program `hearth-server`.

mod cli;

/// What is asked for and let go in thousands at a time, by many threads, goes back to the system soon.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
