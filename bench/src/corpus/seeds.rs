//! The cases as files, for libFuzzer to begin with.

use std::path::Path;

use trimtab_engine::proposal::edit::Edit;

use super::{answers, commands, edits};

/// Writes the cases of each target into a folder of its name.
pub fn write(folder: &Path) -> std::io::Result<()> {
    put(folder, "recover", answers::all().into_iter().map(|case| case.bytes))?;
    put(folder, "command", commands::lines().map(|(_, line)| line.as_bytes().to_vec()))?;
    let diffs = edits::all().into_iter().filter_map(|case| match case.edit {
        Edit::UnifiedDiff { diff, .. } => Some([case.file?, b"\0".to_vec(), diff.into_bytes()].concat()),
        _ => None,
    });
    put(folder, "edit", diffs)
}

fn put(folder: &Path, target: &str, seeds: impl Iterator<Item = Vec<u8>>) -> std::io::Result<()> {
    let folder = folder.join(target);
    std::fs::create_dir_all(&folder)?;
    for (number, seed) in seeds.enumerate() {
        std::fs::write(folder.join(format!("seed-{number}")), seed)?;
    }
    Ok(())
}
