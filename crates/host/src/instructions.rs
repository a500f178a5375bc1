//! The instruction files of a folder, and which versions of them the user accepts by trusting the folder.
//!
//! There are the user's own, those of the repository above the folder, those of the folder, and those further down,
//! which count once something below them is touched. A file can import others of the folder by `@path`.

use std::path::{Path, PathBuf};

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{BoundFile, FileMark, InstructionFile, Problem, ReadOp, Rule, sensitive_paths};
use trimtab_world::store::hash;
use trimtab_world::workspace::instructions::{instructions_above, own_instructions};

use crate::agents::{AgentRoots, Agents};
use crate::client::ActorContext;
use crate::config::Profile;
use crate::handles::Permissions;
use crate::skills::{SkillRoots, Skills};
use crate::workspace::{FileNow, LocalWorkspace, Workspace};

/// Bytes of a file above the folder, or of the user's own.
const LARGEST: usize = 256 * 1024;
/// Files that one file imports, with those that they import.
const IMPORTS: usize = 20;
/// How deep imports go.
const IMPORT_DEPTH: usize = 3;
/// Bytes of all imports of a file.
const IMPORTED: usize = 64 * 1024;
/// Files further down that are accepted together with the folder.
const NESTED: usize = 100;
/// Levels below the folder at which files count.
const LEVELS: usize = 12;

/// Reads an instruction file, with what it imports. A link may lead to a file that is never sent automatically.
pub(crate) async fn read(hands: &dyn Workspace, folder: &str, path: &str) -> Option<InstructionFile> {
    let (text, own_hash) = read_plain(hands, folder, path).await?;
    let imported = imports(hands, folder, path, &text).await;
    if imported.is_empty() {
        return Some(InstructionFile { path: path.to_owned(), hash: own_hash, text, own: false });
    }
    // Whoever accepts the file accepts what it imports, so a change of either is asked about.
    let parts = imported.into_iter().map(|(path, text)| format!("\n\nImported {path}:\n{text}"));
    let text = std::iter::once(text).chain(parts).collect::<String>();
    Some(InstructionFile { path: path.to_owned(), hash: hash(text.as_bytes()), text, own: false })
}

async fn read_plain(hands: &dyn Workspace, folder: &str, path: &str) -> Option<(String, String)> {
    match hands.read_saved(folder, path).await {
        Ok(FileNow { content: Some((bytes, state)), real, .. }) if !sensitive_paths::has_secret(&real) => {
            Some((String::from_utf8_lossy(&bytes).into_owned(), state.hash))
        }
        _ => None,
    }
}

/// The files of the folder that a text imports, each once.
async fn imports(hands: &dyn Workspace, folder: &str, path: &str, text: &str) -> Vec<(String, String)> {
    let mut waiting: Vec<(String, usize)> = imported_in(path, text).into_iter().map(|path| (path, 1)).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    let (mut tried, mut left) = (0, IMPORTED);
    waiting.reverse();
    while let Some((next, depth)) = waiting.pop() {
        tried += 1;
        if tried > IMPORTS || next == path || found.iter().any(|(known, _)| *known == next) {
            continue;
        }
        let Some((text, _)) = read_plain(hands, folder, &next).await.filter(|(text, _)| text.len() <= left) else {
            continue;
        };
        left -= text.len();
        if depth < IMPORT_DEPTH {
            waiting.extend(imported_in(&next, &text).into_iter().rev().map(|path| (path, depth + 1)));
        }
        found.push((next, text));
    }
    found
}

/// The paths that a text imports by `@path`, relative to the folder. Code is not looked at.
fn imported_in(path: &str, text: &str) -> Vec<String> {
    let base = path.rsplit_once('/').map_or("", |(base, _)| base);
    let (mut paths, mut in_code) = (Vec::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            continue;
        }
        for word in line.split_whitespace().filter(|_| !in_code) {
            let Some(name) = word.strip_prefix('@') else { continue };
            let name = name.trim_end_matches(['.', ',', ';', ':', ')']);
            let is_path = name.contains(['.', '/']) && !name.starts_with(['/', '~', '@']) && !name.contains(':');
            if let Some(path) = Some(name).filter(|_| is_path).and_then(|name| joined(base, name)) {
                paths.push(path);
            }
        }
    }
    paths
}

/// A path from a folder's own folder, without `.` and `..`; none if it leads out of it.
fn joined(base: &str, name: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in base.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Those that are there, by their hashes.
pub(crate) async fn marks(hands: &dyn Workspace, folder: &str, paths: Vec<String>) -> Vec<FileMark> {
    let mut marks = Vec::new();
    for path in paths {
        let file = read(hands, folder, &path).await;
        marks.extend(file.map(mark));
    }
    marks
}

fn mark(file: InstructionFile) -> FileMark {
    FileMark { path: file.path, hash: file.hash }
}

/// Everything that is accepted together with a folder: the instructions above it, in it, and below it, its skills,
/// and its agents.
pub(crate) async fn marks_to_accept(
    hands: &dyn Workspace,
    folder: &str,
    home: &str,
    named: Vec<String>,
) -> Vec<FileMark> {
    let mut found = above(folder, home).await.into_iter().map(mark).collect::<Vec<_>>();
    found.extend(marks(hands, folder, named).await);
    let below: Vec<String> = files_below(hands, folder).await;
    let is_new = |path: &String| !found.iter().any(|known| known.path == *path);
    let below: Vec<String> = below.into_iter().filter(is_new).collect();
    found.extend(marks(hands, folder, below).await);
    if SkillRoots::default().exist(Some(folder)) {
        let place = folder.to_owned();
        let skills = move || Skills::load(&SkillRoots::default(), Some(&place)).marks();
        found.extend(tokio::task::spawn_blocking(skills).await.unwrap_or_default());
    }
    if AgentRoots::default().exist(Some(folder)) {
        let place = folder.to_owned();
        let agents = move || Agents::load(&AgentRoots::default(), Some(&place)).marks();
        found.extend(tokio::task::spawn_blocking(agents).await.unwrap_or_default());
    }
    found
}

/// The instructions of the repository above a folder.
async fn above(folder: &str, home: &str) -> Vec<InstructionFile> {
    let (folder, home) = (PathBuf::from(folder), PathBuf::from(home));
    if !folder.is_dir() {
        return Vec::new();
    }
    let read = tokio::task::spawn_blocking(move || instructions_above(&folder, &home, LARGEST));
    read.await.unwrap_or_default()
}

/// The user's own instructions, and those above the folder.
pub(crate) async fn outer(deps: &ActorContext, folder: &str) -> Vec<InstructionFile> {
    let file = deps.settings.as_deref().map(own_file);
    let own = match file {
        Some(file) => tokio::task::spawn_blocking(move || own_instructions(&file, LARGEST)).await.unwrap_or_default(),
        None => None,
    };
    // Without settings there is no machine to look around in.
    let above = if deps.settings.is_some() { above(folder, &deps.machine.home).await } else { Vec::new() };
    own.into_iter().chain(above).collect()
}

/// Where the user's own instructions are, beside the settings.
pub(crate) fn own_file(settings: &Path) -> PathBuf {
    settings.with_file_name(sensitive_paths::INSTRUCTIONS[0])
}

/// Instruction files below the folder, sorted.
async fn files_below(hands: &dyn Workspace, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in sensitive_paths::INSTRUCTIONS {
        let op = ReadOp::Glob { pattern: format!("**/{name}"), path: ".".into() };
        let seen = hands.perform_read(folder, &op).await;
        if !matches!(seen.status, ToolStatus::Ok | ToolStatus::Partial) {
            continue;
        }
        let is_file = |line: &&str| line.ends_with(&format!("/{name}"));
        found.extend(seen.text.lines().map(str::trim).filter(is_file).map(str::to_owned));
    }
    found.sort();
    found.truncate(NESTED);
    found
}

/// The instruction files between the folder and a path below it that a tool touches, from the top down.
pub(crate) async fn beside(hands: &dyn Workspace, folder: &str, path: &str) -> Vec<InstructionFile> {
    let inside = Path::new(path).strip_prefix(folder).map_or(path, |inside| inside.to_str().unwrap_or_default());
    let Some(inside) = joined("", inside).filter(|_| !Path::new(inside).is_absolute()) else { return Vec::new() };
    let parts: Vec<&str> = inside.split('/').collect();
    let mut found = Vec::new();
    // The last part can be a folder as well: what is not there is not found.
    for level in 1..=parts.len().min(LEVELS) {
        let above = parts[..level].join("/");
        for name in sensitive_paths::INSTRUCTIONS {
            found.extend(read(hands, folder, &format!("{above}/{name}")).await);
        }
    }
    found
}

impl Permissions<'_> {
    /// Trusts a folder, and accepts its instructions as they are now. Says which files those are.
    pub async fn trust(self, profile: &Profile, folder: &str) -> Result<Vec<String>, Problem> {
        // Settings of the folder that cannot be read are reported when they are used; they name no instructions here.
        let context = profile.clone().in_project(folder).unwrap_or_else(|_| profile.clone()).context;
        // No session asks: what is trusted are the files on this machine.
        let local = LocalWorkspace::new([], &[]);
        let named = sensitive_paths::instruction_files(&context.files);
        let found = marks_to_accept(&local, folder, &profile.hands.machine.home, named).await;
        let accepted = accepting(folder, &found);
        let rules = self.rules().await?;
        for rule in rules.iter().filter(|rule| is_of(rule, folder) && !accepted.contains(rule)) {
            self.change_rule(rule, false).await?;
        }
        // Before the folder is trusted, so that a request which waits for that finds them accepted.
        for rule in accepted.iter().filter(|rule| !rules.contains(rule)) {
            self.change_rule(rule, true).await?;
        }
        let rule = if self.is_broad(folder) { Rule::trust_broad(folder) } else { Rule::trust(folder) };
        self.change_rule(&rule, true).await?;
        Ok(found.into_iter().map(|file| file.path).collect())
    }

    /// Trusts a folder no longer. What was accepted together with it is asked about again, should it be trusted again.
    pub async fn distrust(self, folder: &str) -> Result<(), Problem> {
        let is_here = |rule: &&Rule| rule.tool == Rule::TRUST && rule.folder.as_deref() == Some(folder);
        for rule in self.rules().await?.iter().filter(|rule| is_here(rule) || is_of(rule, folder)) {
            self.change_rule(rule, false).await?;
        }
        Ok(())
    }
}

/// The rules that accept these files: one for all instructions, and one for each skill and agent.
fn accepting(folder: &str, found: &[FileMark]) -> Vec<Rule> {
    let bound = |file: &FileMark| Some(Rule::bound(BoundFile::at(&file.path)?, folder, &file.path, &file.hash));
    let files = found.iter().filter(|file| BoundFile::at(&file.path).is_none());
    let rule = Rule::instructions(folder, files.map(|file| (file.path.as_str(), file.hash.as_str())));
    rule.into_iter().chain(found.iter().filter_map(bound)).collect()
}

fn is_of(rule: &Rule, folder: &str) -> bool {
    let is_accepting = rule.tool == Rule::INSTRUCTIONS || BoundFile::is_rule_tool(&rule.tool);
    is_accepting && rule.folder.as_deref() == Some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_stay_in_the_folder_and_out_of_code() {
        let text = "See @docs/style.md, and (not) me@example.org or @someone.\n```\n@code.md\n```\n`@quoted.md` @../up.md @/etc/x.md @~/x.md";
        assert_eq!(imported_in("AGENTS.md", text), ["docs/style.md"]);
        assert_eq!(imported_in("sub/AGENTS.md", "@../up.md @./a.md"), ["up.md", "sub/a.md"]);
    }
}
