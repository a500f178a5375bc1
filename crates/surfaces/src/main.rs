//! The `trimtab` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    trimtab_surfaces::cli::main()
}
