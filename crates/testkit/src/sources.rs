//! The sources of the project, for tests that hold them to its rules.

use std::fs;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the tests run where they were built")
}

/// The files below a folder of the repository whose names end in one of `endings`, without those that hold tests.
pub fn shipped(folder: &str, endings: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&root().join(folder), endings, &mut files);
    files.sort();
    files
}

fn collect(folder: &Path, endings: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is part of the repository") {
        let path = entry.expect("it is there").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && name != "tests" {
            collect(&path, endings, files);
        } else if name != "tests.rs" && !name.contains(".test.") && endings.iter().any(|ending| name.ends_with(ending))
        {
            files.push(path);
        }
    }
}

/// A Rust file without the tests at its end.
pub fn without_tests(text: &str) -> &str {
    let tests = text.find("#[cfg(test)]\nmod ");
    let tests = tests.filter(|at| text[*at..].lines().nth(1).is_some_and(|line| line.ends_with('{')));
    &text[..tests.unwrap_or(text.len())]
}
