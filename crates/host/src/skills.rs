//! The skills there are: the user's own, and those of a trusted folder.

use std::path::{Path, PathBuf};

use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::{FileMark, ListedSkill, ReadResult, SKILL_FOLDERS, SkillText};
use trimtab_world::store::hash;
use trimtab_world::workspace::skills::{
    SkillFile, files_beside, read_beside, read_skill, skills_of_folder, skills_of_person,
};

use crate::config::Profile;
use crate::front_matter::{FrontMatter, tools_named};
use crate::pills::PillSource;

/// Bytes of the file of a skill or an agent.
pub(crate) const LARGEST: usize = 64 * 1024;
/// Bytes of another file of a skill.
const LARGEST_FILE: usize = 256 * 1024;
/// Letters of a description.
pub(crate) const DESCRIPTION: usize = 1_024;
/// Keys that other programs know and this one does not follow.
const UNUSED: [&str; 5] = ["model", "context", "agent", "hooks", "effort"];

/// Where the user keeps skills.
#[derive(Debug, Clone, Default)]
pub(crate) struct SkillRoots(Vec<PathBuf>);

impl SkillRoots {
    /// Beside the settings, and where other programs have them.
    pub(crate) fn new(settings: Option<&Path>, home: &str) -> Self {
        let own = settings.map(|file| file.with_file_name("skills"));
        let home = (!home.is_empty()).then(|| PathBuf::from(home));
        let others = home.iter().flat_map(|home| [".agents/skills", ".claude/skills"].map(|place| home.join(place)));
        Self(own.into_iter().chain(others).collect())
    }

    /// Whether there is a folder with skills, here or in `folder`. Most people have none, and need no thread to read them.
    pub(crate) fn exist(&self, folder: Option<&str>) -> bool {
        let of_folder = folder.into_iter().flat_map(|folder| SKILL_FOLDERS.map(|root| Path::new(folder).join(root)));
        self.0.iter().cloned().chain(of_folder).any(|root| root.is_dir())
    }

    pub(crate) fn of_profile(profile: &Profile) -> Self {
        Self::new(Some(&profile.file), &profile.hands.machine.home)
    }
}

/// A skill that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSkill {
    pub listed: ListedSkill,
    pub source: PillSource,
    pub file: PathBuf,
    /// Whether the user can call it by `/name`.
    pub callable: bool,
    /// The arguments after the name.
    pub arguments: String,
    /// What of its file is not followed.
    pub notes: Vec<String>,
}

/// A file that is not used as a skill, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredSkill {
    pub file: PathBuf,
    pub source: PillSource,
    pub problem: String,
}

/// The skills there are, by name. A folder's skill never takes the place of the user's own: of two with the same
/// name, the folder's is `project:NAME`.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    pub known: Vec<KnownSkill>,
    pub ignored: Vec<IgnoredSkill>,
}

impl Skills {
    /// Reads them. `folder` must be one that the user trusts: nothing of another is read.
    pub(crate) fn load(roots: &SkillRoots, folder: Option<&str>) -> Self {
        let mut skills = Self::default();
        for root in &roots.0 {
            skills.add(PillSource::User, None, skills_of_person(root, LARGEST));
        }
        for root in folder.iter().flat_map(|_| SKILL_FOLDERS) {
            let folder = Path::new(folder.unwrap_or_default());
            skills.add(PillSource::Project, Some(folder), skills_of_folder(folder, root, LARGEST));
        }
        skills.known.sort_by(|one, other| one.listed.name.cmp(&other.listed.name));
        skills
    }

    fn add(&mut self, source: PillSource, folder: Option<&Path>, files: Vec<SkillFile>) {
        let mut read = Vec::new();
        for SkillFile { path: file, folder: stem, text } in files {
            // The home folder can be the trusted folder as well.
            if self.known.iter().any(|known| is_same(&known.file, &file)) {
                continue;
            }
            let skill = text.and_then(|text| define(&file, &stem, &text, source, folder));
            let is_elsewhere = skill.as_ref().is_ok_and(|skill| skill.listed.name != stem);
            read.push((is_elsewhere, file, skill));
        }
        // A skill in the folder of its name comes before one that takes the name from elsewhere.
        read.sort_by_key(|(is_elsewhere, ..)| *is_elsewhere);
        for (_, file, skill) in read {
            let skill = skill.and_then(|skill| {
                let name = &skill.listed.name;
                match self.known.iter().find(|known| known.source == source && known.listed.name == *name) {
                    Some(other) => Err(format!("{} already uses the name {name}.", other.file.display())),
                    None => Ok(skill),
                }
            });
            match skill {
                Ok(mut skill) => {
                    let name = &skill.listed.name;
                    if self.known.iter().any(|known| known.listed.name == *name) {
                        skill.listed.name = format!("project:{name}");
                    }
                    self.known.push(skill);
                }
                Err(problem) => self.ignored.push(IgnoredSkill { file, source, problem }),
            }
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<&KnownSkill> {
        self.known.iter().find(|known| known.listed.name == name)
    }

    pub(crate) fn listing(&self) -> Vec<ListedSkill> {
        self.known.iter().map(|known| known.listed.clone()).collect()
    }

    /// Those of the folder, by their hashes.
    pub(crate) fn marks(&self) -> Vec<FileMark> {
        let of_project = self.known.iter().filter(|known| known.source == PillSource::Project);
        of_project.map(|known| FileMark { path: known.listed.path.clone(), hash: known.listed.hash.clone() }).collect()
    }
}

pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one == other || one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Whether a name can be said to a tool and typed after a slash.
pub(crate) fn is_skill_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    name.len() <= 64 && name.chars().all(is_plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// What a file says of its skill. The error is a sentence.
fn define(
    file: &Path,
    stem: &str,
    text: &str,
    source: PillSource,
    folder: Option<&Path>,
) -> Result<KnownSkill, String> {
    let front = FrontMatter::read(text)?;
    let body = text.get(front.body_from..).unwrap_or_default().trim();
    if body.is_empty() {
        return Err("It has no text for the model below its header.".to_owned());
    }
    let mut notes = front.notes.clone();
    let named = front.text("name");
    let name = match named.as_deref() {
        Some(name) if is_skill_name(name) => {
            if name != stem {
                notes.push(format!("Its name differs from its folder, {}.", plain(stem)));
            }
            name.to_owned()
        }
        _ if is_skill_name(stem) => {
            notes.push("It has no valid name, so the name of its folder is used.".to_owned());
            stem.to_owned()
        }
        other => {
            let name = plain(other.unwrap_or(stem));
            return Err(format!("Invalid name `{name}`: a name has only lower-case letters, digits, `-`, and `_`."));
        }
    };
    let mut description = front.text("description").unwrap_or_else(|| {
        notes.push("It has no description. Its first line is used.".to_owned());
        body.lines().next().unwrap_or_default().trim_start_matches('#').trim().to_owned()
    });
    if description.chars().count() > DESCRIPTION {
        notes.push(format!("Its description is cut at {DESCRIPTION} characters."));
        description = description.chars().take(DESCRIPTION).collect();
    }
    let tools = front.list("allowed-tools").map(|names| {
        let (tools, unknown) = tools_named(&names);
        if !unknown.is_empty() {
            notes.push(format!("allowed-tools names unknown tools: {}.", unknown.join(", ")));
        }
        tools
    });
    let unused: Vec<&str> = UNUSED.into_iter().filter(|key| front.has(key)).collect();
    if !unused.is_empty() {
        notes.push(format!("These keys are not used: {}.", unused.join(", ")));
    }
    let path = match folder {
        Some(folder) => file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned(),
        None => file.display().to_string(),
    };
    let listed = ListedSkill {
        name,
        description,
        path,
        hash: hash(text.as_bytes()),
        project: source == PillSource::Project,
        pending: false,
        manual: front.switch("disable-model-invocation") == Some(true),
        tools,
    };
    let callable = front.switch("user-invocable") != Some(false);
    let arguments = front.text("argument-hint").unwrap_or_default();
    Ok(KnownSkill { listed, source, file: file.to_owned(), callable, arguments, notes })
}

/// A part of a name that was refused, as a message can show it.
pub(crate) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

/// The file of a skill as it is now. `folder` is the session's.
pub(crate) fn text_of(skill: &ListedSkill, folder: &str) -> Result<SkillText, String> {
    let folder = skill.project.then(|| Path::new(folder));
    let file = folder.map_or_else(|| PathBuf::from(&skill.path), |folder| folder.join(&skill.path));
    let text =
        read_skill(&file, folder, LARGEST).map_err(|why| format!("The skill {} cannot be used. {why}", skill.name))?;
    let stem =
        file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let source = if skill.project { PillSource::Project } else { PillSource::User };
    let now = define(&file, &stem, &text, source, folder)
        .map_err(|why| format!("The skill {} cannot be used. {why}", skill.name))?;
    let body_from = FrontMatter::read(&text)?.body_from;
    let listed = ListedSkill { hash: now.listed.hash, tools: now.listed.tools, ..skill.clone() };
    Ok(SkillText { skill: listed, body_from, files: files_beside(&file), text })
}

/// Another file of a skill.
pub(crate) fn file_of(skill: &ListedSkill, folder: &str, file: &str) -> ReadResult {
    let path = if skill.project { Path::new(folder).join(&skill.path) } else { PathBuf::from(&skill.path) };
    let read = read_beside(&path, skill.project.then(|| Path::new(folder)), file, LARGEST_FILE);
    let (status, text) = match read {
        Ok(text) => (ToolStatus::Ok, text),
        Err(why) => (ToolStatus::Error, format!("{file} of the skill {} cannot be read. {why}", skill.name)),
    };
    ReadResult { status, text, images: Vec::new(), files: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        std::fs::write(path, text).expect("writes");
    }

    #[test]
    fn skills_in_the_public_format_load_and_what_is_ignored_says_why() {
        let home = tempfile::tempdir().expect("folder");
        let (user, project) = (home.path().join("home"), home.path().join("project"));
        let own = user.join(".claude/skills");
        put(
            &own.join("pdf/SKILL.md"),
            "---\nname: pdf\ndescription: Read PDF files\nlicense: MIT\n---\n# PDF\nUse it.",
        );
        put(&own.join("no-front/SKILL.md"), "# Deploy\nRun it.");
        put(&own.join("Bad Name/SKILL.md"), "---\ndescription: x\n---\nbody");
        put(&own.join("empty/SKILL.md"), "---\nname: empty\ndescription: x\n---\n\n");
        put(&own.join("open/SKILL.md"), "---\nname: open\n");
        put(&own.join("long/SKILL.md"), &format!("---\nname: long\ndescription: {}\n---\nbody", "é".repeat(2_000)));
        put(&own.join("other-name/SKILL.md"), "---\nname: pdf\ndescription: again\n---\nbody");
        put(
            &own.join("by-hand/SKILL.md"),
            "---\nname: by-hand\ndescription: x\ndisable-model-invocation: true\nmodel: opus\nhooks:\n  a: b\n---\nbody",
        );
        put(
            &project.join(".agents/skills/pdf/SKILL.md"),
            "---\nname: pdf\ndescription: theirs\nallowed-tools: Read\n---\nbody",
        );
        put(
            &project.join(".trimtab/skills/lint/SKILL.md"),
            "---\r\nname: lint\r\ndescription: Lint\r\nuser-invocable: false\r\n---\r\nbody\r\n",
        );
        let roots = SkillRoots::new(None, &user.display().to_string());
        let skills = Skills::load(&roots, Some(&project.display().to_string()));
        let names: Vec<&str> = skills.known.iter().map(|known| known.listed.name.as_str()).collect();
        assert_eq!(names, ["by-hand", "lint", "long", "no-front", "pdf", "project:pdf"]);
        let of = |name: &str| skills.named(name).expect(name);
        assert_eq!(of("pdf").listed.description, "Read PDF files");
        assert_eq!(of("no-front").listed.description, "Deploy");
        assert_eq!(of("long").listed.description.chars().count(), DESCRIPTION);
        assert!(of("by-hand").listed.manual && of("by-hand").notes.iter().any(|note| note.contains("model, hooks")));
        assert_eq!(of("project:pdf").listed.path, ".agents/skills/pdf/SKILL.md");
        assert_eq!(
            of("project:pdf").listed.tools.as_deref(),
            Some(&["read_file".to_owned(), "list_files".to_owned()][..])
        );
        assert!(!of("lint").callable);
        let why: Vec<&str> = skills.ignored.iter().map(|ignored| ignored.problem.as_str()).collect();
        for reason in ["Invalid name `Bad Name`", "no text for the model", "does not end", "already uses the name pdf"]
        {
            assert!(why.iter().any(|why| why.contains(reason)), "{reason}: {why:?}");
        }
        assert_eq!(why.len(), 4, "{why:?}");
        assert!(Skills::load(&roots, None).known.iter().all(|known| known.source == PillSource::User));
        let text = text_of(&of("lint").listed, &project.display().to_string()).expect("read");
        assert_eq!((text.body(), text.skill.hash.as_str()), ("body", of("lint").listed.hash.as_str()));
    }
}
