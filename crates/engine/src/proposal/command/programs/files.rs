//! Programs that create, copy, and move files, as documented. They stay in the folder, and undo can restore what they
//! change.

use super::readers::row;
use super::{KnownProgram, Operands};

pub(super) const ROWS: &[KnownProgram] = &[
    row(&["mkdir"], "pv", "parents verbose version help", Operands::Write),
    row(&["touch"], "acmd:t:r@h", "no-create date= reference=@ time= no-dereference version help", Operands::Write),
    // Not `-f`, `--remove-destination` and `-b`, which take the old file away, nor `-s` and `-l`, which make links.
    row(
        &["cp"],
        "rRvnpuPdaiTxt>",
        "recursive verbose no-clobber preserve? no-preserve= update? archive interactive parents \
            no-target-directory target-directory=> no-dereference one-file-system version help",
        Operands::Into,
    ),
    row(
        &["mv"],
        "vniuTt>",
        "verbose no-clobber interactive update? no-target-directory target-directory=> version help",
        Operands::Into,
    ),
];
