//! One catalog of what can be called by `/name`: pills, the commands of other programs, skills, and prompts of MCP servers. The user's own, and
//! those of a trusted folder.

use std::path::{Path, PathBuf};

use trimtab_engine::intake::INLINE_LIMIT;
use trimtab_engine::intake::pill::{self, Definition};
use trimtab_vocab::{Mode, Pill, Problem, ProblemKind};
use trimtab_world::tools::edits;
use trimtab_world::workspace::pills::{PILLS, PillFile, of_folder, of_person};

use crate::config::Profile;
use crate::foreign_commands::{self, COMMAND_FOLDERS, USER_COMMANDS};
use crate::skills::{KnownSkill, SkillRoots, Skills};

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

/// What a pill was written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PillKind {
    Pill,
    /// A command of another program.
    Command,
    /// A skill that the user can call.
    Skill,
    /// A prompt of an MCP server.
    Prompt,
}

impl PillKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pill => "pill",
            Self::Command => "command",
            Self::Skill => "skill",
            Self::Prompt => "prompt",
        }
    }
}

/// A pill that can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPill {
    /// What it says.
    pub definition: Definition,
    pub kind: PillKind,
    /// Whose it is.
    pub source: PillSource,
    /// The file it was read from.
    pub file: PathBuf,
    /// What of its file is not followed.
    pub notes: Vec<String>,
    /// The skill that it loads, by its name in the list of skills.
    skill: Option<String>,
}

impl KnownPill {
    pub(crate) fn new(definition: Definition, kind: PillKind, source: PillSource, file: PathBuf) -> Self {
        Self { definition, kind, source, file, notes: Vec::new(), skill: None }
    }
}

/// A file that is not a valid pill, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongPill {
    pub file: PathBuf,
    pub kind: PillKind,
    pub source: PillSource,
    /// What is wrong with it.
    pub problem: String,
    stem: String,
}

/// Names of the program's own commands. No pill takes the place of one, in any surface.
pub const RESERVED: [&str; 71] = [
    "agents",
    "allowed-tools",
    "approvals",
    "ask",
    "auto",
    "autocontinue",
    "autonomy",
    "branch",
    "changes",
    "chat",
    "checkpoint",
    "checks",
    "clear",
    "commands",
    "compact",
    "config",
    "context",
    "continue",
    "copy",
    "cost",
    "diff",
    "doctor",
    "edit",
    "edit-pending",
    "effort",
    "exit",
    "export",
    "extend",
    "extensions",
    "fork",
    "forward",
    "handoff",
    "help",
    "hooks",
    "implement",
    "init",
    "keys",
    "login",
    "mcp",
    "memory",
    "model",
    "models",
    "new",
    "next",
    "pause",
    "permissions",
    "plan",
    "ps",
    "questions",
    "quit",
    "rename",
    "reset",
    "resume",
    "rewind",
    "rules",
    "sessions",
    "settings",
    "setup",
    "skip",
    "status",
    "steps",
    "stop",
    "subtasks",
    "tasks",
    "theme",
    "thinking",
    "todos",
    "trace",
    "transcript",
    "undo",
    "usage",
];

/// The pills there are: the user's own and the folder's, the commands of other programs, and skills. A folder's pill
/// never takes the place of the user's own: of two with the same name, the folder's is called `project:NAME`.
#[derive(Debug, Clone, Default)]
pub struct Pills {
    known: Vec<KnownPill>,
    /// Skills whose name is taken: they are called by `/skill:NAME` only.
    taken: Vec<KnownPill>,
    /// Prompts of MCP servers: they are called by `/SERVER:NAME` only.
    prompts: Vec<KnownPill>,
    /// Files that are not valid pills.
    pub wrong: Vec<WrongPill>,
    /// Also those that only the model can load.
    pub skills: Skills,
}

impl Pills {
    /// Reads them. `folder` must be one that the user trusts: nothing of another is read.
    pub fn load(profile: &Profile, folder: Option<&str>) -> Self {
        let mut pills = Self { skills: Skills::load(&SkillRoots::of_profile(profile), folder), ..Self::default() };
        let home = Path::new(&profile.hands.machine.home);
        let own = of_person(&profile.file.with_file_name("pills"), pill::LARGEST);
        pills.add(PillSource::User, PillKind::Pill, own);
        let commands = of_person(&profile.file.with_file_name("commands"), pill::LARGEST);
        pills.add(PillSource::User, PillKind::Command, commands);
        for place in USER_COMMANDS.iter().filter(|_| home.is_absolute()) {
            pills.add(PillSource::User, PillKind::Command, of_person(&home.join(place), pill::LARGEST));
        }
        pills.add_skills(PillSource::User);
        if let Some(folder) = folder.map(Path::new) {
            pills.add(PillSource::Project, PillKind::Pill, of_folder(folder, PILLS, pill::LARGEST));
            for place in COMMAND_FOLDERS.iter().filter(|_| !is_home(folder, home)) {
                pills.add(PillSource::Project, PillKind::Command, of_folder(folder, place, pill::LARGEST));
            }
            pills.add_skills(PillSource::Project);
        }
        pills
    }

    fn add(&mut self, source: PillSource, kind: PillKind, files: Vec<PillFile>) {
        for PillFile { path: file, stem, text } in files {
            let read = |text: String| match kind {
                PillKind::Command => foreign_commands::read(&stem, &text, source == PillSource::User),
                PillKind::Pill | PillKind::Skill | PillKind::Prompt => {
                    pill::read(&stem, &text).map(|read| (read, Vec::new()))
                }
            };
            let defined =
                text.and_then(read).and_then(|(definition, notes)| match self.named(&definition.name, source) {
                    Some(other) => Err(format!("{} already uses the name {}.", other.file.display(), definition.name)),
                    None => Ok((definition, notes)),
                });
            match defined {
                Ok((definition, notes)) => {
                    self.known.push(KnownPill { definition, kind, source, file, notes, skill: None });
                }
                Err(problem) => self.wrong.push(WrongPill { file, kind, source, problem, stem }),
            }
        }
    }

    fn add_skills(&mut self, source: PillSource) {
        let is_called = |known: &&KnownSkill| known.source == source && known.callable;
        let called: Vec<KnownSkill> = self.skills.known.iter().filter(is_called).cloned().collect();
        for known in called {
            let KnownSkill { listed, file, arguments, notes, .. } = known;
            let name = listed.name.trim_start_matches("project:").to_owned();
            // A skill whose name is taken is still there for the model, and for `/skill:NAME`.
            if !pill::is_name(&name) {
                continue;
            }
            let is_taken = self.named(&name, source).is_some();
            let definition = Definition {
                name,
                description: listed.description.split_whitespace().collect::<Vec<_>>().join(" "),
                arguments,
                tools: Vec::new(),
                mode: Mode::Auto,
                categories: Vec::new(),
                body: format!("Use the skill {}.", listed.name),
                model: None,
                is_hint: true,
            };
            let skill = Some(listed.name);
            let pill = KnownPill { definition, kind: PillKind::Skill, source, file, notes, skill };
            if is_taken { self.taken.push(pill) } else { self.known.push(pill) }
        }
    }

    pub(crate) fn add_prompts(&mut self, prompts: impl Iterator<Item = KnownPill>) {
        self.prompts.extend(prompts);
    }

    fn named(&self, name: &str, source: PillSource) -> Option<&KnownPill> {
        self.known.iter().find(|known| known.source == source && known.definition.name == name)
    }

    /// All of them, each with the name it is called by.
    pub fn list(&self) -> impl Iterator<Item = (String, &KnownPill)> {
        let pills = self.known.iter().map(|known| {
            let name = &known.definition.name;
            let is_shadowed = match known.source {
                PillSource::Project => self.named(name, PillSource::User).is_some(),
                PillSource::User => false,
            };
            let name = match is_shadowed || is_reserved(known) {
                true => format!("{}:{name}", known.source.name()),
                false => name.clone(),
            };
            (name, known)
        });
        let prompts = self.prompts.iter().map(|known| (known.definition.name.clone(), known));
        pills.chain(prompts)
    }

    fn find(&self, name: &str) -> Option<&KnownPill> {
        match name.split_once(':') {
            Some(("skill", name)) => {
                self.known.iter().chain(&self.taken).find(|known| known.skill.as_deref() == Some(name))
            }
            Some(("project", name)) => self.named(name, PillSource::Project),
            Some((_, name)) => self.named(name, PillSource::User),
            None => {
                let sources = [PillSource::User, PillSource::Project];
                sources.iter().find_map(|source| self.named(name, *source).filter(|known| !is_reserved(known)))
            }
        }
    }

    /// The pill that words call; none if they call none.
    pub fn called(&self, text: &str) -> Result<Option<Pill>, Problem> {
        let Some(call) = pill::call(text) else { return Ok(None) };
        let plain = call.name.rsplit(':').next().unwrap_or(call.name);
        let Some(known) = self.find(call.name) else {
            return match self.wrong.iter().find(|wrong| wrong.stem == plain && !RESERVED.contains(&plain)) {
                Some(wrong) => {
                    let (kind, file) = (wrong.kind.name(), wrong.file.display());
                    let what = format!("The {kind} {plain} cannot be used: {file} {}", wrong.problem);
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
        Ok(Some(Pill { skill: known.skill.clone(), ..pill }))
    }

    /// The model that the called pill asks for.
    pub(crate) fn model_of(&self, text: &str) -> Option<String> {
        self.find(pill::call(text)?.name)?.definition.model.clone()
    }

    /// The pill that words mean by a name that is almost its own.
    pub fn almost(&self, text: &str) -> Option<String> {
        let name = pill::call(text)?.name;
        let near = |(known, _): (String, &KnownPill)| Some((edits(name, &known), known)).filter(|(far, _)| *far <= 2);
        self.list().filter_map(near).min().map(|(_, known)| known)
    }
}

/// Whether a pill has the name of a command of the program. A pill of the user's own folder keeps the name that the user gave it.
fn is_reserved(known: &KnownPill) -> bool {
    let is_own = known.kind == PillKind::Pill && known.source == PillSource::User;
    !is_own && RESERVED.contains(&known.definition.name.as_str())
}

fn is_home(folder: &Path, home: &Path) -> bool {
    folder.canonicalize().is_ok_and(|folder| home.canonicalize().is_ok_and(|home| home == folder))
}

/// Whether words begin as a call of a pill does.
pub fn looks_like_a_pill(text: &str) -> bool {
    pill::call(text).is_some()
}
