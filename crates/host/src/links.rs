//! Whether a command that nobody was asked about is led out of the folder by a link.
//!
//! What runs by itself is judged by the text of its words, which a link belies: `cat docs/notes` stays in the folder,
//! and shows a file of another one where `docs` leads there. A folder brings its links along, so whoever made it has
//! chosen them. The sandbox keeps such a command from writing there, not from reading.

use std::path::{Component, Path, PathBuf};

use trimtab_engine::proposal::command::{Policy, judge};
use trimtab_vocab::{Approval, CommandPlan};

/// Names that are looked at for links, at most.
const MOST: usize = 100_000;

/// Why a planned command is not started, if nobody has seen it and it is led out.
pub(crate) fn refusal(plan: &CommandPlan) -> Option<String> {
    let run = plan.run();
    match plan.by() {
        Approval::Answer => return None,
        // A rule about this very command was made for what it does.
        Approval::Rule { rule } if rule.contains(run.command.trim()) => return None,
        Approval::Rule { .. } | Approval::Setting => {}
    }
    leads_out(&run.command, &run.folder)
}

/// Why a line does not stay in the folder though its words say so.
pub(crate) fn leads_out(line: &str, folder: &str) -> Option<String> {
    let root = Path::new(folder).canonicalize().ok()?;
    let verdict = judge(line, &Policy::new(folder, ""));
    let led_out = |place: &Path, named: &str| {
        let path = place.join(named);
        let real = path.canonicalize().ok().filter(|real| !real.starts_with(&root) && is_within(&path, folder))?;
        Some(format!("`{named}` leads out of the folder through a link, to {}", real.display()))
    };
    let mut place = PathBuf::from(folder);
    for (words, read) in verdict.argv?.into_iter().zip(verdict.reads) {
        for word in words.iter().skip(1).chain(&read) {
            // A path may be glued to the name of an option; whatever is no path of anything is none here either.
            let mut pieces = word.split(['=', ':', ',']).chain([word.as_str()]).filter(|piece| !piece.is_empty());
            if let Some(why) = pieces.find_map(|piece| led_out(&place, piece)) {
                return Some(why);
            }
        }
        if follows(&words)
            && let Some(why) = links_below(&place, &words).iter().find_map(|link| led_out(&place, link))
        {
            return Some(why);
        }
        if let [cd, to] = words.as_slice()
            && cd == "cd"
        {
            place = place.join(to);
        }
    }
    None
}

/// Whether a command follows the links that it comes across below a folder.
fn follows(words: &[String]) -> bool {
    let flagged = |letter: char, name: &str| {
        let is_short = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains(letter);
        words.iter().any(|word| is_short(word) || word == name)
    };
    match words.first().map(String::as_str) {
        Some("grep" | "egrep" | "fgrep") => flagged('R', "--dereference-recursive"),
        Some("diff") => flagged('r', "--recursive"),
        Some("ls") => flagged('R', "--recursive") && flagged('L', "--dereference"),
        _ => false,
    }
}

/// Links below what a command names, or below where it runs. Not more than [`MOST`] names are looked at.
fn links_below(place: &Path, words: &[String]) -> Vec<String> {
    let operands = words.iter().skip(1).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = operands.filter(|path| place.join(path).exists()).collect();
    if folders.is_empty() {
        folders.push(PathBuf::new());
    }
    let (mut links, mut left) = (Vec::new(), MOST);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(place.join(&folder)).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => links.extend(path.into_os_string().into_string().ok()),
                Ok(kind) if kind.is_dir() => folders.push(path),
                _ => {}
            }
        }
    }
    links
}

/// Whether a path is said to be in the folder: what is said to be outside of it was judged as that.
fn is_within(path: &Path, folder: &str) -> bool {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain.starts_with(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_to_the_outside_is_followed_before_a_command_runs_by_itself() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("project");
        std::fs::create_dir_all(folder.join("src")).expect("made");
        std::fs::create_dir_all(place.path().join("other")).expect("made");
        for file in ["other/secret", "project/src/a.rs"] {
            std::fs::write(place.path().join(file), "x").expect("written");
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, folder.join(name)).expect("linked");
        link("../other", "docs");
        link("../../other/secret", "src/notes");
        link("src", "inside");
        link("nowhere", "broken");
        let folder = folder.display().to_string();
        for line in [
            "cat docs/secret",
            "ls docs",
            "cat src/../docs/secret",
            "cat ./src/notes | head -3",
            "cd src && cat notes",
            "grep -n --file=docs/secret x src/a.rs",
            "cat < docs/secret",
            "cat <'src/notes'",
            "cat < src/no\\tes",
            "cd src && cat <notes && cd ..",
            "ls -RL src",
            "ls --recursive --dereference",
            "grep -R x",
            "grep -Rn x src",
            "diff -r src inside",
            &format!("cat {folder}/docs/secret"),
        ] {
            assert!(leads_out(line, &folder).is_some_and(|why| why.contains("/other")), "{line}");
        }
        for line in [
            "cat src/a.rs",
            "cat inside/a.rs",
            "ls",
            "ls -R src",
            "ls -L src/a.rs",
            "cat <src/a.rs",
            "echo 'a < docs/secret'",
            "cat broken",
            "cat missing",
            "ls ..",
            "cat /etc/passwd",
            "echo docs.txt",
            "grep -rn x .",
            "grep -R x src/a.rs",
        ] {
            assert_eq!(leads_out(line, &folder), None, "{line}");
        }
    }
}
