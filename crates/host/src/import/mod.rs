//! What other programs of the user have on this machine, and what each part of it becomes here. Nothing is taken over
//! unless the user chooses it, and no secret ever is: variables and headers keep their names and lose their values.

mod files;
mod keys;
mod permissions;
mod servers;
mod sessions;
mod transcripts;

use std::path::{Path, PathBuf};

use trimtab_vocab::sensitive_paths::has_secret;
use trimtab_vocab::visible::is_hidden;
use trimtab_vocab::{Problem, ProblemKind, Rule, SessionId};

use crate::client::{Client, store_problem};
use crate::config::{self, NewServer, Profile};

pub(crate) use sessions::refuse_imported;

/// A program that something can be imported from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportSource {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Vscode,
}

impl ImportSource {
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Opencode, Self::Gemini, Self::Vscode];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Vscode => "vscode",
        }
    }

    /// What people call it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Opencode => "opencode",
            Self::Gemini => "Gemini CLI",
            Self::Vscode => "Visual Studio Code",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

/// What a part is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportKind {
    Rule,
    Server,
    Command,
    Skill,
    Agent,
    Instructions,
    Setting,
    Session,
}

impl ImportKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Rule => "rule",
            Self::Server => "mcp",
            Self::Command => "command",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Instructions => "instructions",
            Self::Setting => "setting",
            Self::Session => "session",
        }
    }
}

/// Whether a part can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportState {
    New,
    /// It is here already.
    Present,
    /// It is not taken over, and the reason says why.
    Ignored,
}

impl ImportState {
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Present => "present",
            Self::Ignored => "ignored",
        }
    }
}

/// A part of what another program has.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportItem {
    pub kind: ImportKind,
    pub name: String,
    /// The file that it is in.
    pub from: PathBuf,
    pub state: ImportState,
    /// Where it goes, or the rule that it is here.
    pub becomes: String,
    /// What is left out, or why nothing is taken over.
    pub reasons: Vec<String>,
    action: Option<ImportAction>,
}

/// How a part is taken over.
#[derive(Debug, Clone, PartialEq)]
enum ImportAction {
    Rule(Rule),
    Server(NewServer),
    /// Files of ours with their texts. None of them is there yet.
    Files(Vec<(PathBuf, String)>),
    /// A text at the end of a file.
    Append {
        file: PathBuf,
        text: String,
    },
    /// An earlier session, which gets this ID.
    Session {
        source: ImportSource,
        file: PathBuf,
        id: SessionId,
    },
}

impl ImportItem {
    fn ignored(kind: ImportKind, name: impl Into<String>, from: &Path, reason: impl Into<String>) -> Self {
        let (name, from, reasons) = (name.into(), from.to_owned(), vec![reason.into()]);
        Self { kind, name, from, state: ImportState::Ignored, becomes: String::new(), reasons, action: None }
    }

    fn present(kind: ImportKind, name: impl Into<String>, from: &Path, becomes: impl Into<String>) -> Self {
        let (name, from, becomes) = (name.into(), from.to_owned(), becomes.into());
        Self { kind, name, from, state: ImportState::Present, becomes, reasons: Vec::new(), action: None }
    }

    fn new(kind: ImportKind, name: impl Into<String>, from: &Path, becomes: String, action: ImportAction) -> Self {
        let (name, from, action) = (name.into(), from.to_owned(), Some(action));
        Self { kind, name, from, state: ImportState::New, becomes, reasons: Vec::new(), action }
    }
}

/// Where the programs and this one keep their files.
struct ImportPlaces<'a> {
    home: PathBuf,
    profile: &'a Profile,
}

impl ImportPlaces<'_> {
    /// A file or folder beside the settings.
    fn own(&self, name: &str) -> PathBuf {
        self.profile.file.with_file_name(name)
    }

    fn at(&self, place: &str) -> PathBuf {
        self.home.join(place)
    }
}

impl Client {
    /// What a program of the user has, in a stable order, without its earlier sessions. Nothing is changed.
    pub async fn importable(&self, profile: &Profile, source: ImportSource) -> Result<Vec<ImportItem>, Problem> {
        let rules = self.permissions().rules().await?;
        in_places(profile, move |places| found(places, source, &rules)).await
    }

    /// The earlier sessions of a program, the latest first. Nothing is changed.
    pub async fn importable_sessions(
        &self,
        profile: &Profile,
        source: ImportSource,
    ) -> Result<Vec<ImportItem>, Problem> {
        let mut items = in_places(profile, move |places| sessions::list_sessions(places, source)).await?;
        for item in &mut items {
            if let Some(ImportAction::Session { id, .. }) = &item.action
                && self.store().session(id).await.map_err(store_problem)?.is_some()
            {
                (item.state, item.action) = (ImportState::Present, None);
            }
        }
        Ok(items)
    }

    /// How many files with earlier sessions a program has.
    pub async fn earlier_sessions(&self, profile: &Profile, source: ImportSource) -> Result<usize, Problem> {
        in_places(profile, move |places| sessions::session_files(places, source).len()).await
    }

    /// Takes one part over.
    pub async fn import(&self, profile: &Profile, item: &ImportItem) -> Result<(), Problem> {
        match &item.action {
            None => Ok(()),
            Some(ImportAction::Rule(rule)) => self.permissions().change_rule(rule, true).await,
            Some(ImportAction::Server(server)) => {
                config::add_server(profile, server)?;
                // It starts nothing before the user has looked at it.
                config::enable_server(profile, &server.name, false)
            }
            Some(ImportAction::Files(files)) => {
                files.iter().try_for_each(|(file, text)| written(file, config::create_beside(file, text)))
            }
            Some(ImportAction::Append { file, text }) => written(file, config::append_beside(file, text)),
            Some(ImportAction::Session { source, file, id }) => {
                sessions::import_session(self.store(), *source, file, id.clone()).await
            }
        }
    }
}

/// Reads files of other programs, which takes its time.
async fn in_places<T: Send + 'static>(
    profile: &Profile,
    read: impl FnOnce(&ImportPlaces<'_>) -> T + Send + 'static,
) -> Result<T, Problem> {
    let profile = profile.clone();
    let read = tokio::task::spawn_blocking(move || {
        let home = PathBuf::from(&profile.hands.machine.home);
        read(&ImportPlaces { home, profile: &profile })
    });
    read.await.map_err(|_| Problem::new(ProblemKind::Internal, "The files cannot be read."))
}

fn written(file: &Path, written: std::io::Result<()>) -> Result<(), Problem> {
    written.map_err(|error| {
        let what = format!("Cannot write {}: {error}.", file.display());
        Problem::new(ProblemKind::Settings, what).hint("Check the owner and the permissions of the folder.")
    })
}

fn found(places: &ImportPlaces<'_>, source: ImportSource, rules: &[Rule]) -> Vec<ImportItem> {
    let mut items = match source {
        ImportSource::Claude => {
            let settings = places.at(".claude/settings.json");
            [
                permissions::of_claude(&settings),
                servers::in_json(places, &places.at(".claude.json"), "mcpServers"),
                files::in_place(places, ImportKind::Command, &places.at(".claude/commands")),
                files::in_place(places, ImportKind::Skill, &places.at(".claude/skills")),
                files::in_place(places, ImportKind::Agent, &places.at(".claude/agents")),
                files::instructions(places, &places.at(".claude/CLAUDE.md")),
                permissions::other_settings(&settings, &["hooks", "env", "model", "outputStyle"]),
            ]
            .concat()
        }
        ImportSource::Codex => {
            let settings = places.at(".codex/config.toml");
            [
                servers::in_toml(places, &settings),
                files::copied(places, ImportKind::Command, &places.at(".codex/prompts")),
                files::skills(places, &places.at(".codex/skills")),
                files::instructions(places, &places.at(".codex/AGENTS.md")),
                permissions::codex_settings(&settings),
            ]
            .concat()
        }
        ImportSource::Opencode => {
            let folder = places.at(".config/opencode");
            let settings = ["opencode.jsonc", "opencode.json"].map(|name| folder.join(name));
            let settings = settings.iter().find(|file| file.is_file()).unwrap_or(&settings[1]);
            [
                permissions::of_opencode(settings),
                servers::in_json(places, settings, "mcp"),
                files::in_place(places, ImportKind::Command, &folder.join("command")),
                files::in_place(places, ImportKind::Command, &folder.join("commands")),
                files::skills(places, &folder.join("skill")),
                files::skills(places, &folder.join("skills")),
                files::copied(places, ImportKind::Agent, &folder.join("agent")),
                files::copied(places, ImportKind::Agent, &folder.join("agents")),
                files::instructions(places, &folder.join("AGENTS.md")),
                permissions::other_settings(settings, &["model", "provider", "agent", "command", "plugin"]),
            ]
            .concat()
        }
        ImportSource::Gemini => {
            let settings = places.at(".gemini/settings.json");
            [
                permissions::of_gemini(&settings),
                servers::in_json(places, &settings, "mcpServers"),
                files::gemini_commands(places, &places.at(".gemini/commands")),
                files::skills(places, &places.at(".gemini/skills")),
                files::copied(places, ImportKind::Agent, &places.at(".gemini/agents")),
                files::instructions(places, &places.at(".gemini/GEMINI.md")),
                permissions::other_settings(&settings, &["hooks", "model"]),
            ]
            .concat()
        }
        ImportSource::Vscode => {
            let user = [".config/Code/User/mcp.json", "Library/Application Support/Code/User/mcp.json"];
            user.iter().flat_map(|file| servers::in_json(places, &places.at(file), "servers")).collect()
        }
    };
    for item in &mut items {
        if let Some(ImportAction::Rule(rule)) = &item.action
            && rules.contains(rule)
        {
            (item.state, item.action) = (ImportState::Present, None);
        }
    }
    items
}

/// Bytes of a file of another program.
const LARGEST: u64 = 1024 * 1024;

/// A file of another program; none if it is not there. The error says why it cannot be read.
fn read(file: &Path) -> Option<Result<String, String>> {
    let data = file.metadata().ok()?;
    Some(match data.len() {
        _ if !data.is_file() => Err("It is not a file.".to_owned()),
        _ if leads_to_secret(file) => Err(LEADS_TO_SECRET.to_owned()),
        0..=LARGEST => std::fs::read_to_string(file).map_err(|error| format!("It cannot be read: {error}.")),
        _ => Err(format!("It is larger than {} KB.", LARGEST / 1024)),
    })
}

const LEADS_TO_SECRET: &str = "It is a link to a file that usually holds keys, which is not copied.";

/// Whether a file is a link to what commands must not read. A copy would be in a place where they may.
fn leads_to_secret(file: &Path) -> bool {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    real != *file && has_secret(&real.to_string_lossy())
}

/// A JSON file, which may have comments and commas too many.
fn read_json(file: &Path) -> Option<Result<serde_json::Value, String>> {
    let text = match read(file)? {
        Ok(text) => text,
        Err(why) => return Some(Err(why)),
    };
    let text = text.trim_start_matches('\u{feff}');
    let parsed = serde_json::from_str(text).or_else(|_| serde_json::from_str(&without_comments(text)));
    Some(parsed.map_err(|error| format!("It is not valid JSON: {error}.")))
}

/// The text of a JSON file without comments, and without commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.char_indices().peekable();
    let mut in_text = false;
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' if in_text => {
                plain.push(c);
                plain.extend(rest.next().map(|(_, escaped)| escaped));
            }
            '"' => {
                in_text = !in_text;
                plain.push(c);
            }
            '/' if !in_text && text[at..].starts_with("//") => while rest.next_if(|(_, c)| *c != '\n').is_some() {},
            '/' if !in_text && text[at..].starts_with("/*") => {
                let end = text[at + 2..].find("*/").map_or(text.len(), |end| at + 4 + end);
                while rest.next_if(|(at, _)| *at < end).is_some() {}
            }
            ']' | '}' if !in_text => {
                let kept = plain.trim_end().trim_end_matches(',').len();
                plain.truncate(kept);
                plain.push(c);
            }
            c => plain.push(c),
        }
    }
    plain
}

/// What is at a place that an import would write to.
enum Existing {
    Nothing,
    Text(String),
    /// Something that is not text, or cannot be read.
    Other,
}

fn existing(file: &Path) -> Existing {
    match std::fs::read_to_string(file) {
        Ok(text) => Existing::Text(text),
        Err(_) if file.symlink_metadata().is_err() => Existing::Nothing,
        Err(_) => Existing::Other,
    }
}

/// Whether a text has characters that a list cannot show. It would become something else than what the user saw.
fn hides_something(text: &str) -> bool {
    text.chars().any(|c| c.is_control() || is_hidden(c))
}

/// A name or a text of another program in one line, without what a terminal could obey.
fn shown(text: &str) -> String {
    const LONGEST: usize = 120;
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_with_comments_and_commas_too_many_is_read() {
        let text = "{ // one\n \"url\": \"http://x//y\", /* two\n */ \"a\": [1, 2,], \"b\": \"q\\\"//\", }";
        let value: serde_json::Value = serde_json::from_str(&without_comments(text)).expect("valid");
        assert_eq!(value, serde_json::json!({"url": "http://x//y", "a": [1, 2], "b": "q\"//"}));
    }
}
