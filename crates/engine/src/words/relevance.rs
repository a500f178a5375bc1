//! Which files of a folder a request is about, by its text alone.

use trimtab_vocab::sensitive_paths;

/// Names that are not relevant unless the request names them.
const NEVER: [&str; 8] = [".lock", "-lock.json", ".min.js", ".min.css", ".map", ".svg", ".csv", "license"];
/// Files whose text says much about what there is.
const TEXT: [&str; 34] = [
    "py",
    "js",
    "ts",
    "jsx",
    "tsx",
    "rs",
    "go",
    "java",
    "kt",
    "c",
    "h",
    "cpp",
    "hpp",
    "cs",
    "rb",
    "php",
    "sh",
    "lua",
    "swift",
    "html",
    "css",
    "toml",
    "yaml",
    "yml",
    "json",
    "ini",
    "cfg",
    "conf",
    "env",
    "md",
    "txt",
    "sql",
    "xml",
    "properties",
];
/// Heads the list of a folder's files in a prompt.
pub const FILE_LIST: &str = "Files in the folder:";
/// Files that are offered at most.
const MOST: usize = 12;

/// The files that a request may be about, the likeliest first.
pub fn rank_files(names: &[String], words: &str) -> Vec<String> {
    let words = words.to_lowercase();
    let said: Vec<&str> = words.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| w.len() > 2).collect();
    let mut ranked: Vec<(u32, usize, &String)> =
        names.iter().filter_map(|name| Some((rank(name, &words, &said)?, name.matches('/').count(), name))).collect();
    ranked.sort_by(|one, other| (other.0, one.1, one.2).cmp(&(one.0, other.1, other.2)));
    ranked.into_iter().take(MOST).map(|(.., name)| name.clone()).collect()
}

fn rank(name: &str, words: &str, said: &[&str]) -> Option<u32> {
    let lower = name.to_lowercase();
    let file = lower.rsplit('/').next().unwrap_or(&lower);
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    if sensitive_paths::has_secret(name) {
        return None;
    }
    if words.contains(file) && file.len() > 2 {
        return Some(100);
    }
    let is_hidden = lower.split('/').any(|part| part.starts_with('.'));
    if is_hidden || NEVER.iter().any(|end| lower.ends_with(end)) || !TEXT.contains(&extension) {
        return None;
    }
    let parts = stem.split(['_', '-', '.']).chain(lower.split('/'));
    let shared = parts.filter(|part| part.len() > 2 && said.contains(part)).count();
    let is_test = stem.starts_with("test") || stem.ends_with("test");
    Some(10 * u32::try_from(shared).unwrap_or(3).min(3) + if is_test { 1 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_the_words_name_come_first_and_noise_never() {
        let names: Vec<String> = [
            "package-lock.json",
            "src/deep/server.py",
            "config.toml",
            "greet.py",
            "logo.svg",
            ".git/config",
            "test_greet.py",
        ]
        .map(str::to_owned)
        .to_vec();
        let ranked = rank_files(&names, "Add a function farewell to greet.py");
        assert_eq!(ranked[0], "greet.py");
        assert!(!ranked.iter().any(|name| name.contains("lock") || name.contains(".git") || name.ends_with("svg")));
        assert_eq!(rank_files(&names, "Change the port of the server to 9090")[0], "src/deep/server.py");
    }
}
