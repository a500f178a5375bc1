//! The servers that the user's settings and a project's `.mcp.json` name.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::{Rule, RuleVerdict};
use trimtab_world::store::hash;

/// The file of a project that names servers.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// A larger file is not read.
const LARGEST_FILE: u64 = 256 * 1024;
/// Servers of one file.
const MOST_SERVERS: usize = 64;
/// Letters of a hash that a rule names.
const HASH: usize = 32;

/// Who names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSource {
    /// The user's settings.
    User,
    /// The project's `.mcp.json`.
    Project,
}

impl ServerSource {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A server as it is set up.
#[derive(Debug, Clone)]
pub struct ServerEntry {
    pub name: String,
    pub source: ServerSource,
    /// Its command line or its address as it is written, for people. Values of variables are not in it.
    pub shown: String,
    /// The command line of a server that is a process; empty: it is reached at `url`.
    pub argv: Vec<String>,
    pub url: String,
    /// Variables that it gets.
    pub environment: Vec<(String, SecretString)>,
    pub headers: Vec<(String, SecretString)>,
    /// Variables of the user whose values it gets, in whatever place.
    pub reads: Vec<String>,
    /// Those of them that are not set.
    pub missing: Vec<String>,
    /// The user has switched it on in their settings.
    pub is_enabled: bool,
    /// What it says about its tools counts.
    pub trusts_annotations: bool,
    /// The hash of the whole entry: an approval names it.
    pub hash: String,
}

/// Whether a server may be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStanding {
    On,
    /// The user has not approved it as it is now.
    Pending,
    Off,
}

impl ServerStanding {
    pub fn name(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Pending => "pending",
            Self::Off => "off",
        }
    }
}

impl ServerEntry {
    /// The rule that approves it, or refuses it, in a folder.
    pub(crate) fn rule(&self, folder: &str, verdict: RuleVerdict) -> Rule {
        let pattern = format!("{}@{}", self.name, &self.hash[..self.hash.floor_char_boundary(HASH)]);
        Rule { verdict, tool: APPROVAL.into(), pattern, folder: Some(folder.to_owned()) }
    }

    /// Whether it may be started in a folder, by the user's rules.
    pub(crate) fn standing(&self, folder: &str, rules: &[Rule]) -> ServerStanding {
        match self.source {
            ServerSource::User if self.is_enabled => ServerStanding::On,
            ServerSource::User => ServerStanding::Off,
            ServerSource::Project if rules.contains(&self.rule(folder, RuleVerdict::Deny)) => ServerStanding::Off,
            ServerSource::Project if rules.contains(&self.rule(folder, RuleVerdict::Allow)) => ServerStanding::On,
            ServerSource::Project => ServerStanding::Pending,
        }
    }

    /// Names of the variables and headers that it gets.
    pub fn given_names(&self) -> Vec<&str> {
        self.environment.iter().chain(&self.headers).map(|(name, _)| name.as_str()).collect()
    }
}

/// The name of the approval in rules.
const APPROVAL: &str = "mcp_server";

fn command_line<'a>(words: impl Iterator<Item = &'a String>) -> String {
    words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,${}".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Whether a server can have this name: it is part of the names of its tools and of rules.
pub(crate) fn is_server_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// What the settings say about a server of the user.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserServer {
    pub(crate) command: Vec<String>,
    pub(crate) url: String,
    /// Names of variables that it gets.
    pub(crate) env: Vec<String>,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) is_enabled: bool,
    pub(crate) trusts_annotations: bool,
}

impl UserServer {
    pub(crate) fn entry(self, name: &str, variables: &BTreeMap<String, String>) -> ServerEntry {
        let whole = format!("{name} {:?} {} {:?} {:?}", self.command, self.url, self.env, self.headers);
        let mut expander = Expander::new(variables);
        let shown = match self.command.is_empty() {
            // The user's own address may hold a key in its query.
            true => self.url.split(['?', '#']).next().unwrap_or_default().to_owned(),
            false => command_line(self.command.iter()),
        };
        let environment =
            self.env.iter().filter_map(|name| Some((name.clone(), expander.value(name, None)?.into()))).collect();
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), expander.dollars(value).into())).collect();
        ServerEntry {
            name: name.to_owned(),
            source: ServerSource::User,
            shown,
            argv: self.command,
            url: self.url,
            environment,
            headers,
            reads: expander.reads,
            missing: expander.missing,
            is_enabled: self.is_enabled,
            trusts_annotations: self.trusts_annotations,
            hash: hash(whole.as_bytes()),
        }
    }
}

/// Puts the values of variables where their names stand, and notes which were named.
struct Expander<'a> {
    variables: &'a BTreeMap<String, String>,
    reads: Vec<String>,
    missing: Vec<String>,
}

impl<'a> Expander<'a> {
    fn new(variables: &'a BTreeMap<String, String>) -> Self {
        Self { variables, reads: Vec::new(), missing: Vec::new() }
    }

    fn value(&mut self, name: &str, default: Option<&str>) -> Option<String> {
        if !self.reads.iter().any(|known| known == name) {
            self.reads.push(name.to_owned());
        }
        let value = self.variables.get(name).filter(|value| !value.is_empty()).map(String::as_str).or(default);
        if value.is_none() && !self.missing.iter().any(|known| known == name) {
            self.missing.push(name.to_owned());
        }
        value.map(str::to_owned)
    }

    /// `${NAME}` and `${NAME:-default}`, as `.mcp.json` has them.
    fn braces(&mut self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            whole.push_str(before);
            let Some((inner, behind)) = after.split_once('}') else {
                whole.push_str("${");
                rest = after;
                continue;
            };
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            match is_variable(name) {
                true => whole.push_str(&self.value(name, default).unwrap_or_default()),
                false => whole.push_str(&format!("${{{inner}}}")),
            }
            rest = behind;
        }
        whole + rest
    }

    /// `$NAME` and `${NAME}`, as the user's settings have them elsewhere.
    fn dollars(&mut self, text: &str) -> String {
        let mut whole = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            whole.push_str(before);
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (name, behind) = braced.unwrap_or_else(|| after.split_at(end));
            match is_variable(name) {
                true => whole.push_str(&self.value(name, None).unwrap_or_default()),
                false => whole.push('$'),
            }
            rest = if is_variable(name) { behind } else { after };
        }
        whole + rest
    }
}

fn is_variable(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The servers of a project's file, and what is wrong with it: a sentence each.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProjectServers {
    pub(crate) entries: Vec<ServerEntry>,
    pub(crate) problems: Vec<String>,
}

/// Reads a project's file. Only for a folder that is trusted.
pub(crate) fn read_project(folder: &str, variables: &BTreeMap<String, String>) -> ProjectServers {
    let path = Path::new(folder).join(PROJECT_FILE);
    let wrong = |problem: String| ProjectServers { entries: Vec::new(), problems: vec![problem] };
    // A link could lead anywhere, and a pipe could block.
    let Ok(about) = path.symlink_metadata() else { return ProjectServers::default() };
    if !about.is_file() || about.len() > LARGEST_FILE {
        return wrong(format!(
            "{PROJECT_FILE} is not read: it must be a plain file of at most {} kB.",
            LARGEST_FILE / 1024
        ));
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => parse_project(&text, variables),
        Err(error) => wrong(format!("{PROJECT_FILE} cannot be read: {error}.")),
    }
}

fn parse_project(text: &str, variables: &BTreeMap<String, String>) -> ProjectServers {
    #[derive(Deserialize)]
    struct ProjectFile {
        #[serde(rename = "mcpServers", default)]
        servers: serde_json::Map<String, Value>,
    }
    let mut project = ProjectServers::default();
    let file: ProjectFile = match serde_json::from_str(text) {
        Ok(file) => file,
        Err(error) => {
            project.problems.push(format!("{PROJECT_FILE} is not valid: {error}."));
            return project;
        }
    };
    for (at, (name, value)) in file.servers.into_iter().enumerate() {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
        if at == MOST_SERVERS {
            project.problems.push(format!("{PROJECT_FILE}: only the first {MOST_SERVERS} servers are used."));
            break;
        }
        match project_entry(&name, &value, variables) {
            Ok(entry) => project.entries.push(entry),
            Err(problem) => project.problems.push(format!("{PROJECT_FILE}, server {shown}: {problem}")),
        }
    }
    project
}

fn project_entry(name: &str, value: &Value, variables: &BTreeMap<String, String>) -> Result<ServerEntry, String> {
    #[derive(Deserialize)]
    struct ProjectServer {
        #[serde(rename = "type")]
        kind: Option<String>,
        #[serde(default)]
        command: String,
        #[serde(default)]
        args: Vec<String>,
        #[serde(default)]
        env: BTreeMap<String, String>,
        #[serde(default)]
        url: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    }
    if !is_server_name(name) {
        return Err("a name has at most 32 letters, digits, `-` and `_`.".to_owned());
    }
    let server = ProjectServer::deserialize(value).map_err(|error| format!("{error}."))?;
    let mut expander = Expander::new(variables);
    let is_process = match server.kind.as_deref() {
        Some("stdio") => true,
        // Servers that speak the old protocol with events answer the new one at the same address, or not at all.
        Some("http" | "streamable-http" | "sse") => false,
        None => server.url.is_empty(),
        Some(kind) => return Err(format!("the type {kind:?} is not known. Use stdio, http, or sse.")),
    };
    let mut pairs = |pairs: &BTreeMap<String, String>| -> Vec<(String, SecretString)> {
        pairs.iter().map(|(name, value)| (name.clone(), expander.braces(value).into())).collect()
    };
    let (environment, headers) = (pairs(&server.env), pairs(&server.headers));
    let command = std::iter::once(&server.command).chain(&server.args);
    let shown = if is_process { command_line(command.clone()) } else { server.url.clone() };
    let argv: Vec<String> = command.map(|word| expander.braces(word)).collect();
    let url = expander.braces(&server.url);
    match is_process {
        true if argv[0].trim().is_empty() => return Err("`command` is missing.".to_owned()),
        false if !url.starts_with("https://") && !url.starts_with("http://") => {
            return Err("`url` must begin with https:// or http://.".to_owned());
        }
        _ => {}
    }
    Ok(ServerEntry {
        name: name.to_owned(),
        source: ServerSource::Project,
        shown,
        argv: if is_process { argv } else { Vec::new() },
        url: if is_process { String::new() } else { url },
        environment: if is_process { environment } else { Vec::new() },
        headers: if is_process { Vec::new() } else { headers },
        reads: expander.reads,
        missing: expander.missing,
        is_enabled: true,
        trusts_annotations: false,
        hash: hash(format!("{name} {value}").as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn variables() -> BTreeMap<String, String> {
        BTreeMap::from([("TOKEN".to_owned(), "t0".to_owned()), ("HOST".to_owned(), "h".to_owned())])
    }

    #[test]
    fn every_documented_form_of_a_project_file_is_read() {
        let text = r#"{"mcpServers": {
            "files": {"command": "npx", "args": ["-y", "server", "${HOST}"], "env": {"KEY": "${TOKEN}", "MODE": "${MODE:-fast}"}},
            "plain": {"type": "stdio", "command": "serve"},
            "web": {"url": "https://${HOST}.example.org/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
            "stream": {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp"},
            "old": {"type": "sse", "url": "https://example.org/sse"},
            "lost": {"command": "a", "args": ["${GONE}"]}
        }}"#;
        let project = parse_project(text, &variables());
        assert!(project.problems.is_empty(), "{:?}", project.problems);
        let entry = |name: &str| project.entries.iter().find(|entry| entry.name == name).expect("there");
        let files = entry("files");
        assert_eq!(files.argv, ["npx", "-y", "server", "h"]);
        let env: Vec<(&str, &str)> =
            files.environment.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect();
        assert_eq!(env, [("KEY", "t0"), ("MODE", "fast")]);
        assert_eq!(files.reads, ["TOKEN", "MODE", "HOST"], "all that it learns of the user's variables");
        assert_eq!(
            (entry("web").url.as_str(), entry("web").headers[0].1.expose_secret()),
            ("https://h.example.org/mcp", "Bearer t0")
        );
        assert!(entry("old").argv.is_empty() && entry("stream").argv.is_empty());
        assert_eq!(entry("lost").missing, ["GONE"]);
        assert!(!format!("{project:?}").contains("t0"), "values do not show");
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_is_used() {
        let text = r#"{"mcpServers": {"a b": {"command": "x"}, "none": {}, "odd": {"type": "ws", "url": "x"}, "file": {"url": "file:///etc"}, "ok": {"command": "x"}, "bad": {"command": 3}}}"#;
        let project = parse_project(text, &variables());
        assert_eq!(project.entries.len(), 1);
        assert_eq!(project.problems.len(), 5, "{:?}", project.problems);
        assert_eq!(parse_project("{", &variables()).problems.len(), 1);
        assert!(parse_project("{}", &variables()).entries.is_empty());
    }

    #[test]
    fn an_approval_is_bound_to_the_whole_entry_and_its_folder() {
        let entry = |text: &str| parse_project(text, &variables()).entries.remove(0);
        let one = entry(r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "1"}}}}"#);
        let rules = [one.rule("/p", RuleVerdict::Allow)];
        assert_eq!(one.standing("/p", &[]), ServerStanding::Pending);
        assert_eq!(one.standing("/p", &rules), ServerStanding::On);
        assert_eq!(one.standing("/q", &rules), ServerStanding::Pending);
        let changed = entry(r#"{"mcpServers": {"a": {"command": "x", "env": {"A": "2"}}}}"#);
        assert_eq!(changed.standing("/p", &rules), ServerStanding::Pending, "a changed entry is pending again");
        let renamed = entry(r#"{"mcpServers": {"b": {"command": "x", "env": {"A": "1"}}}}"#);
        assert_eq!(renamed.standing("/p", &rules), ServerStanding::Pending);
        let wide = Rule { pattern: "*".into(), ..rules[0].clone() };
        assert_eq!(one.standing("/p", &[wide]), ServerStanding::Pending, "no rule approves entries unseen");
    }

    #[test]
    fn a_server_of_the_user_gets_the_variables_that_it_names() {
        let server = UserServer {
            command: vec!["serve".into()],
            env: vec!["TOKEN".into(), "GONE".into()],
            is_enabled: true,
            ..UserServer::default()
        };
        let entry = server.entry("github", &variables());
        assert_eq!((entry.given_names(), entry.missing.clone()), (vec!["TOKEN"], vec!["GONE".to_owned()]));
        assert_eq!(entry.standing("/p", &[]), ServerStanding::On);
        let web = UserServer {
            url: "https://example.org/mcp?key=1".into(),
            headers: BTreeMap::from([("Authorization".to_owned(), "Bearer $TOKEN".to_owned())]),
            ..UserServer::default()
        };
        let web = web.entry("web", &variables());
        assert_eq!((web.shown.as_str(), web.headers[0].1.expose_secret()), ("https://example.org/mcp", "Bearer t0"));
    }
}
