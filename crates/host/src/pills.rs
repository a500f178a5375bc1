//! The available pills: the user's, beside their settings, and those of a trusted folder.

use std::path::{Path, PathBuf};

use trimtab_engine::intake::INLINE_LIMIT;
use trimtab_engine::intake::pill::{self, Definition};
use trimtab_vocab::{Pill, Problem, ProblemKind};
use trimtab_world::tools::edits;
use trimtab_world::workspace::pills::{PillFile, of_folder, of_person};

use crate::config::Profile;

/// Whose a pill is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PillSource {
    /// The user's own.
    User,
    /// The folder's.
    Project,
}

impl PillSource {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A pill that can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPill {
    /// What it says.
    pub definition: Definition,
    /// Whose it is.
    pub source: PillSource,
    /// The file it was read from.
    pub file: PathBuf,
}

/// A file that is not a valid pill, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongPill {
    pub file: PathBuf,
    /// What is wrong with it.
    pub problem: String,
    stem: String,
}

/// The pills there are. A folder's pill never takes the place of the user's own: of two with the same name,
/// the folder's is called `project:NAME`.
#[derive(Debug, Clone, Default)]
pub struct Pills {
    known: Vec<KnownPill>,
    /// Files that are not valid pills.
    pub wrong: Vec<WrongPill>,
}

impl Pills {
    /// Reads them. `folder` must be one that the user trusts: nothing of another is read.
    pub fn load(profile: &Profile, folder: Option<&str>) -> Self {
        let mut pills = Self::default();
        pills.add(PillSource::User, of_person(&profile.file.with_file_name("pills"), pill::LARGEST));
        if let Some(folder) = folder {
            pills.add(PillSource::Project, of_folder(Path::new(folder), pill::LARGEST));
        }
        pills
    }

    fn add(&mut self, source: PillSource, files: Vec<PillFile>) {
        for PillFile { path: file, stem, text } in files {
            let definition = text.and_then(|text| pill::read(&stem, &text)).and_then(|definition| {
                match self.named(&definition.name, source) {
                    Some(other) => Err(format!("{} already uses the name {}.", other.file.display(), definition.name)),
                    None => Ok(definition),
                }
            });
            match definition {
                Ok(definition) => self.known.push(KnownPill { definition, source, file }),
                Err(problem) => self.wrong.push(WrongPill { file, problem, stem }),
            }
        }
    }

    fn named(&self, name: &str, source: PillSource) -> Option<&KnownPill> {
        self.known.iter().find(|known| known.source == source && known.definition.name == name)
    }

    /// All of them, each with the name it is called by.
    pub fn list(&self) -> impl Iterator<Item = (String, &KnownPill)> {
        self.known.iter().map(|known| {
            let name = &known.definition.name;
            let shadowed = known.source == PillSource::Project && self.named(name, PillSource::User).is_some();
            (if shadowed { format!("project:{name}") } else { name.clone() }, known)
        })
    }

    /// The pill that words call; none if they call none.
    pub fn called(&self, text: &str) -> Result<Option<Pill>, Problem> {
        let Some(call) = pill::call(text) else { return Ok(None) };
        let (plain, sources) = match call.name.split_once(':') {
            Some(("project", name)) => (name, &[PillSource::Project][..]),
            Some((_, name)) => (name, &[PillSource::User][..]),
            None => (call.name, &[PillSource::User, PillSource::Project][..]),
        };
        let Some(known) = sources.iter().find_map(|source| self.named(plain, *source)) else {
            return match self.wrong.iter().find(|wrong| wrong.stem == plain) {
                Some(wrong) => {
                    let what = format!("The pill {plain} cannot be used: {} {}", wrong.file.display(), wrong.problem);
                    Err(Problem::new(ProblemKind::Usage, what).hint(
                        "Nothing was sent. Fix the file, or rephrase the request. `trimtab pills` lists valid pills.",
                    ))
                }
                None => Ok(None),
            };
        };
        let pill = pill::expand(&known.definition, call, known.file.display().to_string()).map_err(|why| {
            Problem::new(ProblemKind::Usage, format!("The pill {plain} cannot be run like this. {why}"))
                .hint("Nothing was sent. `trimtab pills` shows what each needs.")
        })?;
        if pill.text.len() > INLINE_LIMIT {
            let what = format!("The text of the pill {plain} is larger than {} KB.", INLINE_LIMIT / 1024);
            return Err(Problem::new(ProblemKind::Usage, what)
                .hint("Put the text into a file of the folder and name the file instead. Nothing was sent."));
        }
        Ok(Some(pill))
    }

    /// The pill that words mean by a name that is almost its own.
    pub fn almost(&self, text: &str) -> Option<String> {
        let name = pill::call(text)?.name;
        let near = |(known, _): (String, &KnownPill)| Some((edits(name, &known), known)).filter(|(far, _)| *far <= 2);
        self.list().filter_map(near).min().map(|(_, known)| known)
    }
}

/// Whether words begin as a call of a pill does.
pub fn looks_like_a_pill(text: &str) -> bool {
    pill::call(text).is_some()
}
