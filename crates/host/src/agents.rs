//! The agents there are: the user's own, and those of a trusted folder.

use std::path::{Path, PathBuf};

use trimtab_vocab::{AGENT_FOLDERS, AgentLimits, AgentText, Effort, FileMark, ListedAgent};
use trimtab_world::store::hash;
use trimtab_world::workspace::pills::{PillFile, of_folder, of_person};
use trimtab_world::workspace::skills::read_skill;

use crate::config::Profile;
use crate::front_matter::{FrontMatter, tools_named};
use crate::pills::PillSource;
use crate::skills::{DESCRIPTION, LARGEST, is_same, is_skill_name, plain};

/// Keys that other programs know and this one does not follow.
const UNUSED: [&str; 12] = [
    "permissionMode",
    "permission",
    "mcpServers",
    "hooks",
    "skills",
    "memory",
    "background",
    "isolation",
    "initialPrompt",
    "temperature",
    "top_p",
    "mode",
];
/// What the number of model calls is called in the files of several programs.
const MAX_TURNS: [&str; 5] = ["maxTurns", "max_turns", "max-turns", "maxSteps", "steps"];
/// Model calls that a file can ask for.
const MOST_TURNS: u32 = 10_000;

/// Where the user keeps agents.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRoots(Vec<PathBuf>);

impl AgentRoots {
    /// Beside the settings, and where other programs have them.
    pub(crate) fn new(settings: Option<&Path>, home: &str) -> Self {
        let own = settings.map(|file| file.with_file_name("agents"));
        let home = (!home.is_empty()).then(|| Path::new(home).join(".claude/agents"));
        Self(own.into_iter().chain(home).collect())
    }

    /// Whether there is a folder with agents, here or in `folder`.
    pub(crate) fn exist(&self, folder: Option<&str>) -> bool {
        let of_folder = folder.into_iter().flat_map(|folder| AGENT_FOLDERS.map(|root| Path::new(folder).join(root)));
        self.0.iter().cloned().chain(of_folder).any(|root| root.is_dir())
    }

    pub(crate) fn of_profile(profile: &Profile) -> Self {
        Self::new(Some(&profile.file), &profile.hands.machine.home)
    }
}

/// An agent that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAgent {
    pub listed: ListedAgent,
    pub source: PillSource,
    pub file: PathBuf,
    /// What of its file is not followed.
    pub notes: Vec<String>,
}

/// A file that is not used as an agent, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredAgent {
    pub file: PathBuf,
    pub source: PillSource,
    pub problem: String,
}

/// The agents there are, by name. A folder's agent never takes the place of the user's own: of two with the same name,
/// the folder's is `project:NAME`.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    pub known: Vec<KnownAgent>,
    pub ignored: Vec<IgnoredAgent>,
}

impl Agents {
    /// The agents of the user, and of a folder that the user trusts: nothing of another is read.
    pub fn of_profile(profile: &Profile, folder: Option<&str>) -> Self {
        Self::load(&AgentRoots::of_profile(profile), folder)
    }

    pub(crate) fn load(roots: &AgentRoots, folder: Option<&str>) -> Self {
        let mut agents = Self::default();
        for root in &roots.0 {
            agents.add(PillSource::User, None, of_person(root, LARGEST));
        }
        for root in folder.iter().flat_map(|_| AGENT_FOLDERS) {
            let folder = Path::new(folder.unwrap_or_default());
            agents.add(PillSource::Project, Some(folder), of_folder(folder, root, LARGEST));
        }
        agents.known.sort_by(|one, other| one.listed.name.cmp(&other.listed.name));
        agents
    }

    fn add(&mut self, source: PillSource, folder: Option<&Path>, files: Vec<PillFile>) {
        for PillFile { path: file, stem, text } in files {
            // The home folder can be the trusted folder as well.
            if self.known.iter().any(|known| is_same(&known.file, &file)) {
                continue;
            }
            let agent = text.and_then(|text| define(&file, &stem, &text, source, folder)).and_then(|agent| {
                let name = &agent.listed.name;
                match self.known.iter().find(|known| known.source == source && known.listed.name == *name) {
                    Some(other) => Err(format!("{} already uses the name {name}.", other.file.display())),
                    None => Ok(agent),
                }
            });
            match agent {
                Ok(mut agent) => {
                    let name = &agent.listed.name;
                    if self.known.iter().any(|known| known.listed.name == *name) {
                        agent.listed.name = format!("project:{name}");
                    }
                    self.known.push(agent);
                }
                Err(problem) => self.ignored.push(IgnoredAgent { file, source, problem }),
            }
        }
    }

    pub(crate) fn named(&self, name: &str) -> Option<&KnownAgent> {
        self.known.iter().find(|known| known.listed.name == name)
    }

    pub(crate) fn listing(&self) -> Vec<ListedAgent> {
        self.known.iter().map(|known| known.listed.clone()).collect()
    }

    /// Those of the folder, by their hashes.
    pub(crate) fn marks(&self) -> Vec<FileMark> {
        let of_project = self.known.iter().filter(|known| known.source == PillSource::Project);
        of_project.map(|known| FileMark { path: known.listed.path.clone(), hash: known.listed.hash.clone() }).collect()
    }

    /// The models that the user's own agents name.
    pub(crate) fn own_models(&self) -> impl Iterator<Item = &str> {
        let own = self.known.iter().filter(|known| known.source == PillSource::User);
        own.filter_map(|known| known.listed.limits.model.as_deref())
    }
}

/// What a file says of its agent. The error is a sentence.
fn define(
    file: &Path,
    stem: &str,
    text: &str,
    source: PillSource,
    folder: Option<&Path>,
) -> Result<KnownAgent, String> {
    let front = FrontMatter::read(text)?;
    let body = text.get(front.body_from..).unwrap_or_default().trim();
    if body.is_empty() {
        return Err("It has no instructions below its header.".to_owned());
    }
    if front.switch("disable") == Some(true) {
        return Err("Its key disable turns it off.".to_owned());
    }
    let mut notes = front.notes.clone();
    let named = front.text("name").map(|name| name.to_ascii_lowercase().replace(' ', "-"));
    let of_file = stem.to_ascii_lowercase().replace([' ', '.'], "-");
    let name = match named {
        Some(name) if is_skill_name(&name) => name,
        named => {
            if !is_skill_name(&of_file) {
                let shown = plain(named.as_deref().unwrap_or(stem));
                return Err(format!(
                    "Invalid name `{shown}`: a name has only lower-case letters, digits, `-`, and `_`."
                ));
            }
            notes.extend(named.map(|_| "Its name is not valid, so the name of its file is used.".to_owned()));
            of_file
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
    let limits = limits(&front, &mut notes);
    let unused: Vec<&str> = UNUSED.into_iter().filter(|key| front.has(key)).collect();
    if !unused.is_empty() {
        notes.push(format!("These keys are not used: {}.", unused.join(", ")));
    }
    let path = match folder {
        Some(folder) => file.strip_prefix(folder).unwrap_or(file).to_string_lossy().into_owned(),
        None => file.display().to_string(),
    };
    let (project, hash) = (source == PillSource::Project, hash(text.as_bytes()));
    let listed = ListedAgent { name, description, path, hash, project, pending: false, limits };
    Ok(KnownAgent { listed, source, file: file.to_owned(), notes })
}

fn limits(front: &FrontMatter, notes: &mut Vec<String>) -> AgentLimits {
    let mut named = |key: &str, names: Vec<String>| {
        let (tools, unknown) = tools_named(&names);
        if !unknown.is_empty() {
            notes.push(format!("{key} names unknown tools: {}.", unknown.join(", ")));
        }
        tools
    };
    // opencode has a table of tools that are switched on or off.
    let (mut tools, mut without_tools) = match front.switches("tools") {
        Some(switches) => {
            let off = switches.into_iter().filter(|(_, on)| !on).map(|(name, _)| name).collect();
            (None, named("tools", off))
        }
        // `*` stands for all of them.
        None => match front.list("tools") {
            Some(names) if names.iter().any(|name| name == "*") => (None, Vec::new()),
            names => (names.map(|names| named("tools", names)), Vec::new()),
        },
    };
    for key in ["disallowedTools", "disallowed-tools"] {
        without_tools.extend(front.list(key).map(|names| named(key, names)).unwrap_or_default());
    }
    // A worker cannot delegate.
    tools.iter_mut().for_each(|tools| tools.retain(|tool| tool != "delegate"));
    let model = front.text("model").filter(|model| model != "inherit");
    let known = model.clone().filter(|model| model.contains('/') && !model.contains(char::is_whitespace));
    if model.is_some() && known.is_none() {
        notes.push("The key model is not used: expected PROVIDER/NAME.".to_owned());
    }
    let effort = front.text("effort").or_else(|| front.text("reasoningEffort"));
    let level = effort.as_deref().map(str::to_ascii_lowercase).and_then(|name| match name.as_str() {
        "xhigh" => Some(Effort::Max),
        name => Effort::named(name),
    });
    if effort.is_some() && level.is_none() {
        let names: Vec<&str> = Effort::ALL.iter().map(|level| level.name()).collect();
        notes.push(format!("The key effort is not used: expected one of {}.", names.join(", ")));
    }
    let turns = MAX_TURNS.iter().find_map(|key| front.text(key).map(|turns| (*key, turns)));
    let max_turns = turns.as_ref().and_then(|(_, turns)| turns.parse().ok()).filter(|turns| *turns >= 1);
    if let (Some((key, _)), None) = (&turns, max_turns) {
        notes.push(format!("The key {key} is not used: expected a whole number from 1 to {MOST_TURNS}."));
    }
    let max_turns = max_turns.map(|turns: u32| turns.min(MOST_TURNS));
    AgentLimits { tools, without_tools, model: known, effort: level, max_turns }
}

/// The file of an agent as it is now. `folder` is the one that has it.
pub(crate) fn text_of(agent: &ListedAgent, folder: &str) -> Result<AgentText, String> {
    let folder = agent.project.then(|| Path::new(folder));
    let file = folder.map_or_else(|| PathBuf::from(&agent.path), |folder| folder.join(&agent.path));
    let problem = |why: String| format!("The agent {} cannot be used. {why}", agent.name);
    let text = read_skill(&file, folder, LARGEST).map_err(problem)?;
    let stem = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let source = if agent.project { PillSource::Project } else { PillSource::User };
    let now = define(&file, &stem, &text, source, folder).map_err(problem)?;
    let body_from = FrontMatter::read(&text)?.body_from;
    let agent = ListedAgent { hash: now.listed.hash, limits: now.listed.limits, ..agent.clone() };
    Ok(AgentText { agent, text, body_from })
}
