//! Commands that delete files, which ask each time.

/// Programs and subcommands that take files away, and the names by which programs in other languages do.
const NAMES: &[&str] = &[
    "rm",
    "rmdir",
    "unlink",
    "shred",
    "srm",
    "del",
    "erase",
    "rimraf",
    "trash",
    "wipe",
    "truncate",
    "-delete",
    "--delete",
    "rmtree",
    "removedirs",
    "rmsync",
    "unlinksync",
    "remove_file",
    "remove_dir_all",
    "remove-item",
    "rmdirsync",
];
/// Pairs of words that do.
const PAIRS: &[(&str, &str)] = &[("git", "clean"), ("os", "remove"), ("docker", "prune"), ("dd", "of")];

/// Whether a line names a deleting program anywhere. It goes by words alone, so that quotes, wrappers, and other
/// languages hide nothing; a file called `rm` only costs a question.
pub fn deletes(line: &str) -> bool {
    // Quotes and backslashes inside of a word vanish before the word means anything.
    let bare: String = line.to_lowercase().chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let ends = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'));
    let words: Vec<&str> = bare.split(ends).filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| NAMES.contains(word))
        || words.windows(2).any(|pair| PAIRS.contains(&(pair[0], pair[1])))
        || (words.first() == Some(&"git") && words.contains(&"clean"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_files_away_is_told_by_its_words() {
        for line in [
            "rm x",
            "/bin/rm -rf build",
            "ls && rm x",
            "r'm' x",
            "\\rm x",
            "find . -name '*.o' -delete",
            "git rm a",
            "git -C . clean -fd",
            "find . | xargs rm",
            "sudo rmdir a",
            "python3 -c 'import os; os.remove(\"a\")'",
            "npx rimraf dist",
            "sh -c \"rm x\"",
            "rsync -a --delete a b",
        ] {
            assert!(deletes(line), "{line}");
        }
        for line in
            ["ls -la", "cargo test", "npm run clean", "git status", "echo form", "cat rm.txt.md5 alarm", "format x"]
        {
            assert_eq!(deletes(line), line.contains("rm.txt"), "{line}");
        }
    }
}
