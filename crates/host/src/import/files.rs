//! Commands, skills, agents, and instructions of other programs.

use std::path::{Path, PathBuf};

use trimtab_world::workspace::pills::of_person;
use trimtab_world::workspace::skills::{files_beside, skills_of_person};

use super::{
    Existing, ImportAction, ImportItem, ImportKind, ImportPlaces, LEADS_TO_SECRET, existing, leads_to_secret, read,
    shown,
};

/// Bytes of a command, a skill, or an agent.
const LARGEST: usize = 64 * 1024;
/// Bytes of all files of a skill.
const LARGEST_SKILL: usize = 1024 * 1024;

/// The folder beside the settings for files of a kind.
fn own_folder(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Skill => "skills",
        ImportKind::Agent => "agents",
        _ => "commands",
    }
}

/// Files that are read where they are.
pub(super) fn in_place(_: &ImportPlaces<'_>, kind: ImportKind, folder: &Path) -> Vec<ImportItem> {
    let files: Vec<(PathBuf, String)> = match kind {
        ImportKind::Skill => {
            skills_of_person(folder, LARGEST).into_iter().map(|skill| (skill.path, skill.folder)).collect()
        }
        _ => of_person(folder, LARGEST).into_iter().map(|file| (file.path, file.stem)).collect(),
    };
    let item = |(path, name): (PathBuf, String)| {
        ImportItem::present(kind, shown(&name), &path, "used in place (`trimtab extensions`)")
    };
    files.into_iter().map(item).collect()
}

/// Markdown files that are copied to where they are read from.
pub(super) fn copied(places: &ImportPlaces<'_>, kind: ImportKind, folder: &Path) -> Vec<ImportItem> {
    let files = of_person(folder, LARGEST).into_iter();
    files.map(|file| copy(places, kind, &file.path, &file.stem, file.text)).collect()
}

fn copy(
    places: &ImportPlaces<'_>,
    kind: ImportKind,
    from: &Path,
    stem: &str,
    text: Result<String, String>,
) -> ImportItem {
    let name = shown(stem);
    let text = match text {
        Ok(_) if leads_to_secret(from) => return ImportItem::ignored(kind, name, from, LEADS_TO_SECRET),
        Ok(text) => text,
        Err(why) => return ImportItem::ignored(kind, name, from, why),
    };
    let target = places.own(own_folder(kind)).join(format!("{stem}.md"));
    match existing(&target) {
        Existing::Text(there) if there == text => ImportItem::present(kind, name, from, target.display().to_string()),
        Existing::Text(_) | Existing::Other => ImportItem::ignored(kind, name, from, other_text(&target)),
        Existing::Nothing => {
            let becomes = target.display().to_string();
            ImportItem::new(kind, name, from, becomes, ImportAction::Files(vec![(target, text)]))
        }
    }
}

fn other_text(target: &Path) -> String {
    format!("{} already exists with different content.", target.display())
}

/// Skills with their other files.
pub(super) fn skills(places: &ImportPlaces<'_>, folder: &Path) -> Vec<ImportItem> {
    let found = skills_of_person(folder, LARGEST).into_iter();
    found.map(|skill| copy_skill(places, &skill.path, &skill.folder, skill.text)).collect()
}

fn copy_skill(places: &ImportPlaces<'_>, from: &Path, name: &str, text: Result<String, String>) -> ImportItem {
    let (kind, shown_name) = (ImportKind::Skill, shown(name));
    let text = match text {
        Ok(_) if leads_to_secret(from) => return ImportItem::ignored(kind, shown_name, from, LEADS_TO_SECRET),
        Ok(text) => text,
        Err(why) => return ImportItem::ignored(kind, shown_name, from, why),
    };
    let target = places.own("skills").join(name);
    match existing(&target.join("SKILL.md")) {
        Existing::Text(there) if there == text => {
            return ImportItem::present(kind, shown_name, from, target.display().to_string());
        }
        Existing::Nothing => {}
        Existing::Text(_) | Existing::Other => {
            return ImportItem::ignored(kind, shown_name, from, other_text(&target));
        }
    }
    let (mut files, mut left_out, mut size) = (vec![(target.join("SKILL.md"), text)], Vec::new(), 0);
    for file in files_beside(from) {
        let beside = from.parent().unwrap_or(from).join(&file);
        match read(&beside) {
            Some(Ok(text)) if size + text.len() <= LARGEST_SKILL => {
                size += text.len();
                files.push((target.join(&file), text));
            }
            _ => left_out.push(file),
        }
    }
    let is_free = |(file, text): &&(PathBuf, String)| match existing(file) {
        Existing::Nothing => true,
        Existing::Text(there) => there == *text,
        Existing::Other => false,
    };
    if let Some((taken, _)) = files.iter().find(|file| !is_free(file)) {
        return ImportItem::ignored(kind, shown_name, from, other_text(taken));
    }
    let becomes = target.display().to_string();
    let item = ImportItem::new(kind, shown_name, from, becomes, ImportAction::Files(files));
    let note = format!("Left out, because they are not text or too large: {}.", shown(&left_out.join(", ")));
    ImportItem { reasons: if left_out.is_empty() { Vec::new() } else { vec![note] }, ..item }
}

/// Instructions for all folders, which become a part of the user's own.
pub(super) fn instructions(places: &ImportPlaces<'_>, from: &Path) -> Vec<ImportItem> {
    let name = from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = ImportKind::Instructions;
    let text = match read(from) {
        None => return Vec::new(),
        Some(Err(why)) => return vec![ImportItem::ignored(kind, name, from, why)],
        Some(Ok(text)) if text.trim().is_empty() => return Vec::new(),
        Some(Ok(text)) => text.trim().to_owned(),
    };
    let file = places.own("AGENTS.md");
    match existing(&file) {
        Existing::Text(there) if there.contains(&text) => {
            return vec![ImportItem::present(kind, name, from, file.display().to_string())];
        }
        Existing::Text(_) | Existing::Nothing => {}
        Existing::Other => {
            let why = format!("{} is not text in UTF-8, so nothing can be added to it.", file.display());
            return vec![ImportItem::ignored(kind, name, from, why)];
        }
    }
    let becomes = format!("a part of {}", file.display());
    let text = format!("<!-- From {} -->\n{text}\n", from.display());
    vec![ImportItem::new(kind, name, from, becomes, ImportAction::Append { file, text })]
}

/// Commands of Gemini CLI, which are TOML files with a prompt.
pub(super) fn gemini_commands(places: &ImportPlaces<'_>, folder: &Path) -> Vec<ImportItem> {
    const MOST: usize = 200;
    let entries = folder.read_dir().into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    files.truncate(MOST);
    let item = |file: &PathBuf| {
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = read(file).unwrap_or_else(|| Err("It is gone.".to_owned())).and_then(|text| converted(&text));
        copy(places, ImportKind::Command, file, &stem, text)
    };
    files.iter().map(item).collect()
}

/// A command of Gemini CLI as a Markdown file.
fn converted(text: &str) -> Result<String, String> {
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| format!("It is not valid TOML: {}.", shown(error.message())))?;
    let of = |key: &str| table.get(key).and_then(toml::Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let prompt = of("prompt").ok_or("It has no prompt.")?;
    if prompt.contains("!{") {
        return Err("Its prompt runs commands (!{…}), which is not supported.".to_owned());
    }
    let prompt = prompt.replace("{{args}}", "$ARGUMENTS");
    let described =
        of("description").map(|text| format!("---\ndescription: {}\n---\n", serde_json::json!(shown(text))));
    Ok(format!("{}{prompt}\n", described.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_gemini_become_markdown() {
        let text = "description = \"Fix: it\"\nprompt = \"\"\"\nFix {{args}} now.\n\"\"\"\n";
        assert_eq!(converted(text).as_deref(), Ok("---\ndescription: \"Fix: it\"\n---\nFix $ARGUMENTS now.\n"));
        assert!(converted("prompt = \"Look at !{git diff}\"").is_err_and(|why| why.contains("runs commands")));
        assert!(converted("x = 1").is_err());
    }
}
