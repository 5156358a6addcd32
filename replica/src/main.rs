//! `hearth-replica`: the daemon that keeps a replica in step, and the command line for scripts and people. It only
//! reads arguments and hands over to [`cli`].

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
