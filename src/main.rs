//! The binary: parse the arguments, run the command, turn its outcome into an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    stackflux::cli::main()
}
