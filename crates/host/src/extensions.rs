//! Everything that extends Trimtab in a folder, in one list: what is loaded, what waits for the user, and what is
//! ignored, each with its source and the reason.

use trimtab_vocab::{BoundFile, FileMark, Problem, Rule, sensitive_paths};

use crate::agents::Agents;
use crate::client::Client;
use crate::config::Profile;
use crate::hooks::{HookStanding, Hooks};
use crate::instructions;
use crate::mcp::{LoginState, ServerStanding};
use crate::pills::{PillKind, PillSource, Pills};
use crate::workspace::LocalWorkspace;

/// What an extension is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionKind {
    Server,
    Skill,
    Agent,
    Command,
    Pill,
    /// A prompt of an MCP server.
    Prompt,
    Instructions,
    Hook,
}

impl ExtensionKind {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "mcp",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Command => "command",
            Self::Pill => "pill",
            Self::Prompt => "prompt",
            Self::Instructions => "instructions",
            Self::Hook => "hook",
        }
    }
}

/// Whether an extension is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionState {
    Loaded,
    /// A server that the user has to log in to.
    LoginNeeded,
    /// The user has not accepted it as it is now.
    Pending,
    /// It is not used, and the reason says why.
    Ignored,
}

impl ExtensionState {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::LoginNeeded => "login",
            Self::Pending => "pending",
            Self::Ignored => "ignored",
        }
    }
}

/// Something that extends Trimtab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    pub kind: ExtensionKind,
    /// What it is called by.
    pub name: String,
    /// What it is for; empty if it does not say so.
    pub description: String,
    pub state: ExtensionState,
    /// `user`, `project`, or `editor`.
    pub source: &'static str,
    /// The file that it comes from, or the command line of a server.
    pub origin: String,
    /// Why it is not in use, or what of it is not followed.
    pub reasons: Vec<String>,
}

/// The extensions of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions {
    pub list: Vec<Extension>,
    /// Whether the folder is trusted. Trimtab reads nothing from an untrusted folder.
    pub trusted: bool,
    /// Problems with whole files.
    pub problems: Vec<String>,
}

impl Client {
    /// Lists the extensions that requests in a folder have.
    pub async fn extensions(&self, profile: &Profile, folder: &str) -> Result<Extensions, Problem> {
        let trusted = self.permissions().trusts(profile, folder).await?;
        let rules = self.permissions().rules().await?;
        let mut list = Vec::new();
        let (servers, problems) = self.servers().list(profile, folder).await?;
        list.extend(servers.into_iter().map(|server| {
            let (state, reason) = match server.standing {
                ServerStanding::On if self.servers().login_state(&server) == LoginState::Needed => (
                    ExtensionState::LoginNeeded,
                    Some(format!("It needs a login. `trimtab mcp login {}` logs you in.", server.entry.name)),
                ),
                ServerStanding::On => (ExtensionState::Loaded, None),
                ServerStanding::Pending => (
                    ExtensionState::Pending,
                    Some(format!("`trimtab mcp enable {}` shows and approves it.", server.entry.name)),
                ),
                ServerStanding::Off => (ExtensionState::Ignored, Some("It is off.".to_owned())),
            };
            Extension {
                kind: ExtensionKind::Server,
                name: server.entry.name.clone(),
                description: String::new(),
                state,
                source: server.entry.source.name(),
                origin: server.entry.shown.clone(),
                reasons: reason.into_iter().collect(),
            }
        }));
        let pills = self.pills(profile, folder).await?;
        let (of_profile, place) = (profile.clone(), trusted.then(|| folder.to_owned()));
        let agents = tokio::task::spawn_blocking(move || Agents::of_profile(&of_profile, place.as_deref())).await;
        let agents =
            agents.map_err(|_| Problem::new(trimtab_vocab::ProblemKind::Internal, "The agents cannot be read."))?;
        list.extend(skills_in(&pills, folder, &rules));
        list.extend(agents_in(&agents, folder, &rules));
        list.extend(pills_in(&pills));
        list.extend(hooks_in(&self.hooks(profile, folder).await?, folder, &rules));
        list.extend(self.instructions_in(profile, folder, trusted, &rules).await);
        Ok(Extensions { list, trusted, problems })
    }

    /// The files with instructions, as far as they are there.
    async fn instructions_in(&self, profile: &Profile, folder: &str, trusted: bool, rules: &[Rule]) -> Vec<Extension> {
        if !trusted {
            return Vec::new();
        }
        let context = profile.clone().in_project(folder).unwrap_or_else(|_| profile.clone()).context;
        let names = sensitive_paths::instruction_files(&context.files);
        let local = LocalWorkspace::new([], &[]);
        let found = instructions::marks(&local, folder, names).await;
        let is_accepted = |file: &FileMark| {
            let entry = Rule::instruction(&file.path, &file.hash);
            let is_here = |rule: &&Rule| rule.tool == Rule::INSTRUCTIONS && rule.folder.as_deref() == Some(folder);
            rules.iter().filter(is_here).any(|rule| rule.pattern.split(", ").any(|accepted| accepted == entry))
        };
        let extension = |file: FileMark| {
            let is_accepted = is_accepted(&file);
            let reason = "You have not accepted this version. `trimtab trust` accepts it.".to_owned();
            Extension {
                kind: ExtensionKind::Instructions,
                state: if is_accepted { ExtensionState::Loaded } else { ExtensionState::Pending },
                source: PillSource::Project.name(),
                origin: format!("{folder}/{}", file.path),
                name: file.path,
                description: String::new(),
                reasons: if is_accepted { Vec::new() } else { vec![reason] },
            }
        };
        found.into_iter().map(extension).collect()
    }
}

fn skills_in(pills: &Pills, folder: &str, rules: &[Rule]) -> Vec<Extension> {
    let known = pills.skills.known.iter().map(|known| {
        let rule = Rule::bound(BoundFile::Skill, folder, &known.listed.path, &known.listed.hash);
        let is_pending = known.listed.project && !rules.contains(&rule);
        let pending = format!("You have not accepted this version. `/{}` shows it and asks.", known.listed.name);
        let reasons = is_pending.then_some(pending).into_iter().chain(known.notes.iter().cloned());
        Extension {
            kind: ExtensionKind::Skill,
            name: known.listed.name.clone(),
            description: known.listed.description.clone(),
            state: if is_pending { ExtensionState::Pending } else { ExtensionState::Loaded },
            source: known.source.name(),
            origin: known.file.display().to_string(),
            reasons: reasons.collect(),
        }
    });
    let ignored = pills.skills.ignored.iter().map(|ignored| {
        let folder = ignored.file.parent().and_then(std::path::Path::file_name);
        Extension {
            kind: ExtensionKind::Skill,
            name: folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            description: String::new(),
            state: ExtensionState::Ignored,
            source: ignored.source.name(),
            origin: ignored.file.display().to_string(),
            reasons: vec![ignored.problem.clone()],
        }
    });
    known.chain(ignored).collect()
}

fn agents_in(agents: &Agents, folder: &str, rules: &[Rule]) -> Vec<Extension> {
    let known = agents.known.iter().map(|known| {
        let rule = Rule::bound(BoundFile::Agent, folder, &known.listed.path, &known.listed.hash);
        let is_pending = known.listed.project && !rules.contains(&rule);
        let name = &known.listed.name;
        let pending = format!("You have not accepted this version. `@agent-{name}` shows it and asks.");
        let reasons = is_pending.then_some(pending).into_iter().chain(known.notes.iter().cloned());
        Extension {
            kind: ExtensionKind::Agent,
            name: name.clone(),
            description: known.listed.description.clone(),
            state: if is_pending { ExtensionState::Pending } else { ExtensionState::Loaded },
            source: known.source.name(),
            origin: known.file.display().to_string(),
            reasons: reasons.collect(),
        }
    });
    let ignored = agents.ignored.iter().map(|ignored| Extension {
        kind: ExtensionKind::Agent,
        name: ignored.file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        description: String::new(),
        state: ExtensionState::Ignored,
        source: ignored.source.name(),
        origin: ignored.file.display().to_string(),
        reasons: vec![ignored.problem.clone()],
    });
    known.chain(ignored).collect()
}

fn hooks_in(hooks: &Hooks, folder: &str, rules: &[Rule]) -> Vec<Extension> {
    let known = hooks.known.iter().map(|hook| {
        let (state, reason) = match hook.standing(folder, rules) {
            HookStanding::On => (ExtensionState::Loaded, None),
            HookStanding::Pending => {
                (ExtensionState::Pending, Some(format!("`trimtab hooks enable {}` shows and approves it.", hook.name)))
            }
            HookStanding::Off => (ExtensionState::Ignored, Some("It is off.".to_owned())),
        };
        let problem =
            hook.listed.problem.as_ref().map(|why| format!("It cannot be run, so it counts as failed: {why}."));
        Extension {
            kind: ExtensionKind::Hook,
            name: hook.name.clone(),
            description: String::new(),
            state,
            source: hook.source(),
            origin: hook.listed.command.clone(),
            reasons: reason.into_iter().chain(problem).collect(),
        }
    });
    let ignored = hooks.ignored.iter().map(|ignored| Extension {
        kind: ExtensionKind::Hook,
        name: ignored.file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        description: String::new(),
        state: ExtensionState::Ignored,
        source: if ignored.project { "project" } else { "user" },
        origin: ignored.file.display().to_string(),
        reasons: vec![ignored.problem.clone()],
    });
    known.chain(ignored).collect()
}

fn pills_in(pills: &Pills) -> Vec<Extension> {
    let kind = |kind: PillKind| match kind {
        PillKind::Command => ExtensionKind::Command,
        PillKind::Pill | PillKind::Skill => ExtensionKind::Pill,
        PillKind::Prompt => ExtensionKind::Prompt,
    };
    // Skills have lines of their own.
    let known = pills.list().filter(|(_, known)| known.kind != PillKind::Skill).map(|(name, known)| Extension {
        kind: kind(known.kind),
        name,
        description: known.definition.description.clone(),
        state: ExtensionState::Loaded,
        source: known.source.name(),
        origin: known.file.display().to_string(),
        reasons: known.notes.clone(),
    });
    let wrong = pills.wrong.iter().map(|wrong| Extension {
        kind: kind(wrong.kind),
        name: wrong.file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default(),
        description: String::new(),
        state: ExtensionState::Ignored,
        source: wrong.source.name(),
        origin: wrong.file.display().to_string(),
        reasons: vec![wrong.problem.clone()],
    });
    known.chain(wrong).collect()
}
