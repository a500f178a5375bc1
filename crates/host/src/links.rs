//! Detects commands that leave the folder through a symbolic link.
//!
//! Commands that run without approval are checked by their text, and a link can make that text wrong: `cat
//! docs/notes` stays in the folder, unless `docs` is a link to another one. The author of a folder chooses its links.
//! The sandbox keeps such a command from writing there, but not from reading.

use std::path::{Component, Path, PathBuf};

use trimtab_engine::proposal::command::{Policy, judge};
use trimtab_vocab::{Approval, CommandPlan};

/// Names that are looked at for links, at most.
const MOST: usize = 100_000;

/// Why a planned command is not started: it was not shown to the user, and a link leads it out of the folder.
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

/// Why a command does not stay in the folder although its text does.
pub(crate) fn leads_out(line: &str, folder: &str) -> Option<String> {
    let root = Path::new(folder).canonicalize().ok()?;
    let verdict = judge(line, &Policy::new(folder, ""));
    let led_out = |place: &Path, named: &str| {
        let path = place.join(named);
        let real = path.canonicalize().ok().filter(|real| !real.starts_with(&root) && is_within(&path, folder))?;
        Some(format!("`{named}` is outside the folder through a link, to {}", real.display()))
    };
    for (place, glob) in &verdict.globs {
        let place = Path::new(place);
        if let Some(why) = matched(place, glob).iter().find_map(|path| led_out(place, path)) {
            return Some(why);
        }
    }
    let mut place = PathBuf::from(folder);
    for (words, read) in verdict.words.into_iter().zip(verdict.reads) {
        for word in words.iter().skip(1).chain(&read) {
            // A path may be attached to an option. A piece that is not a path leads nowhere.
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
        // What is found by name is then opened by another program.
        Some("xargs") => true,
        Some("find") => words.iter().any(|word| matches!(word.as_str(), "-exec" | "-execdir")),
        Some("ls") => flagged('R', "--recursive") && flagged('L', "--dereference"),
        _ => false,
    }
}

/// The paths that a glob matches, and every folder on the way to them: each could be a link. Names that begin with a dot
/// need a dot in the glob, and a `[…]` counts as any character.
fn matched(place: &Path, glob: &str) -> Vec<String> {
    let mut left = MOST;
    let mut found = vec![PathBuf::from(if glob.starts_with('/') { "/" } else { "" })];
    let mut all = Vec::new();
    for piece in glob.split('/').filter(|piece| !piece.is_empty() && *piece != ".") {
        let mut next = Vec::new();
        for folder in &found {
            if !piece.contains(['*', '?', '[']) {
                next.push(folder.join(piece));
                continue;
            }
            for entry in std::fs::read_dir(place.join(folder)).into_iter().flatten().flatten().take(left) {
                left -= 1;
                let name = entry.file_name();
                if name.to_str().is_none_or(|name| fits(piece, name)) {
                    next.push(folder.join(name));
                }
            }
            // Where it is recursive, it may match any number of folders, none included.
            if piece == "**" {
                next.push(folder.clone());
                let words = [String::new(), folder.to_string_lossy().into_owned()];
                all.extend(links_below(place, &words).into_iter().map(PathBuf::from));
            }
        }
        all.extend(next.iter().cloned());
        found = next;
    }
    all.into_iter().filter_map(|path| path.into_os_string().into_string().ok()).collect()
}

fn fits(piece: &str, name: &str) -> bool {
    let (piece, name): (Vec<char>, Vec<char>) = (plain(piece), name.chars().collect());
    if name.first() == Some(&'.') && piece.first() != Some(&'.') {
        return false;
    }
    // Where the last `*` stood, and how much of the name it had taken: one step back is enough.
    let (mut at, mut of, mut star) = (0, 0, None);
    while of < name.len() {
        match piece.get(at) {
            Some('*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[of] => {
                at += 1;
                of += 1;
            }
            _ => match star {
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    (at, of) = (back + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    piece[at..].iter().all(|c| *c == '*')
}

/// A piece of a glob with one `?` for each `[…]`.
fn plain(piece: &str) -> Vec<char> {
    let mut in_brackets = false;
    let keep = |c: char| {
        let was = in_brackets;
        in_brackets = (in_brackets || c == '[') && c != ']';
        match c {
            '[' => Some('?'),
            _ if was => None,
            c => Some(c),
        }
    };
    piece.chars().filter_map(keep).collect()
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

/// Whether a path is in the folder by its text. Others were already checked as outside.
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
            "cat src/*",
            "cat src/no*",
            "cat src/n?t[e]s",
            "ls *",
            "cat */secret",
            "cd src && cat *",
            "cat src/**/*",
            "find src | xargs cat",
            "find src -exec cat {} +",
            "wc -l docs/secret $(git ls-files)",
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
            "cat src/*.rs",
            "cat inside/a*",
            "ls s*",
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
