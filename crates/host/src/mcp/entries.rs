//! The servers that the user's settings and a project's `.mcp.json` name.

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::Value;
use trimtab_vocab::{Rule, RuleVerdict};
use trimtab_world::store::hash;
use trimtab_world::workspace::{hash_file, read_small};

/// The file of a project that names servers.
pub(crate) const PROJECT_FILE: &str = ".mcp.json";
/// Servers of one file.
pub(super) const MOST_SERVERS: usize = 64;
/// Letters of a hash that a rule names.
const HASH: usize = 32;
/// Bytes of a file that an approval covers. What is larger cannot be checked each time, so it cannot be approved.
const LARGEST_SERVER_FILE: u64 = 64 * 1024 * 1024;
/// Words of an entry that may name files.
const MOST_WORDS: usize = 1_000;
/// Folders that words are looked up in.
const MOST_PLACES: usize = 8;

/// Who names a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerSource {
    /// The user's settings.
    User,
    /// The project's `.mcp.json`.
    Project,
    /// The editor that has the session open.
    Editor,
}

impl ServerSource {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Editor => "editor",
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
    /// The variables, or the headers, as the project's entry has them: variables of the user are not replaced in it.
    pub written: Vec<(String, String)>,
    /// Variables of the user whose values it gets, in whatever place.
    pub reads: Vec<String>,
    /// Those of them that are not set.
    pub missing: Vec<String>,
    /// The user has switched it on in their settings.
    pub is_enabled: bool,
    /// What it says about its tools counts.
    pub trusts_annotations: bool,
    /// How the user logs in to it, as far as the settings say so.
    pub login: LoginSettings,
    /// Files of the folder that it names: the server runs or reads them.
    pub files: Vec<ServerFile>,
    /// The hash of the whole entry, and of those files unless it is in the user's settings: an approval names it.
    pub hash: String,
}

/// What the user sets for logins at a server. All of it is found out or chosen otherwise.
#[derive(Debug, Clone, Default)]
pub struct LoginSettings {
    /// A client that the user has registered; empty: one is registered for each login.
    pub client_id: String,
    pub(crate) client_secret: Option<SecretString>,
    pub scopes: Vec<String>,
    /// The port of the address that the browser comes back to; 0: any that is free.
    pub callback_port: u16,
}

/// A file of a folder that a server runs or reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// Relative to the folder.
    pub path: String,
    /// The hash of its content.
    pub(crate) hash: String,
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
            // An editor also reads settings of a repository, so that nobody knows whose entry it passes.
            ServerSource::Project | ServerSource::Editor => match rules {
                rules if rules.contains(&self.rule(folder, RuleVerdict::Deny)) => ServerStanding::Off,
                rules if rules.contains(&self.rule(folder, RuleVerdict::Allow)) => ServerStanding::On,
                _ => ServerStanding::Pending,
            },
        }
    }

    /// The files of a folder that it names, as they are now; or why that cannot be told.
    pub(crate) fn named_files(&self, cwd: &Path, folder: &Path) -> Result<Vec<ServerFile>, String> {
        hashed(named_files(&self.argv, &self.environment, cwd, folder)?)
    }

    /// Binds a server of an editor to the files of a folder that it names, which an approval then covers.
    pub(crate) fn bind_files(&mut self, folder: &Path) -> Result<(), String> {
        self.files = self.named_files(folder, folder)?;
        let contents: String = self.files.iter().map(|file| format!("\n{} {}", file.path, file.hash)).collect();
        self.hash = hash(format!("{}{contents}", self.hash).as_bytes());
        Ok(())
    }

    /// Notes which files of a folder a server of the user names. Their contents do not count: the user has not approved them
    /// in this folder.
    pub(crate) fn name_files(&mut self, cwd: &Path, folder: &Path) {
        let named = named_files(&self.argv, &self.environment, cwd, folder).unwrap_or_default();
        self.files = named.into_iter().map(|(path, _)| ServerFile { path, hash: String::new() }).collect();
    }

    /// Whether it is at an address, and gets no credentials by a header.
    pub(crate) fn can_log_in(&self) -> bool {
        let has_credentials = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        self.argv.is_empty() && !has_credentials
    }

    /// Names of the variables and headers that it gets.
    pub fn given_names(&self) -> Vec<&str> {
        self.environment.iter().chain(&self.headers).map(|(name, _)| name.as_str()).collect()
    }
}

/// The name of the approval in rules.
const APPROVAL: &str = "mcp_server";

/// The files of a folder that the words of an entry name: their paths in the folder, and where they are. The words are
/// taken apart, because `--config=server.json` and `sh -c "node server.js"` name files as well.
fn named_files(
    argv: &[String],
    environment: &[(String, SecretString)],
    cwd: &Path,
    folder: &Path,
) -> Result<Vec<(String, PathBuf)>, String> {
    let Ok(top) = folder.canonicalize() else { return Ok(Vec::new()) };
    let values = environment.iter().map(|(_, value)| value.expose_secret());
    let words: Vec<String> = argv.iter().map(String::as_str).chain(values).flat_map(pieces).collect();
    if words.len() > MOST_WORDS {
        return Err("it has too many arguments.".to_owned());
    }
    // `cd tools && ./run` names tools/run.
    let mut places = vec![cwd.to_owned()];
    for word in &words {
        let place = cwd.join(word);
        let is_inside = || place.canonicalize().is_ok_and(|real| real.is_dir() && real.starts_with(&top));
        if places.len() < MOST_PLACES && !places.contains(&place) && is_inside() {
            places.push(place);
        }
    }
    let mut files: Vec<(String, PathBuf)> = Vec::new();
    for (place, word) in places.iter().flat_map(|place| words.iter().map(move |word| (place, word))) {
        let named = place.join(word);
        let Some(real) = named.canonicalize().ok().filter(|real| real.is_file()) else { continue };
        // A link of the folder can be replaced like a file, wherever it leads.
        let is_plain = !named.components().any(|part| part == Component::ParentDir);
        let link = named.strip_prefix(&top).or_else(|_| named.strip_prefix(folder)).ok().filter(|_| is_plain);
        let inside = real.strip_prefix(&top).ok();
        for path in [inside, link].into_iter().flatten() {
            let path = path.components().collect::<PathBuf>().to_string_lossy().into_owned();
            if !files.iter().any(|(known, _)| *known == path) {
                files.push((path, real.clone()));
            }
        }
    }
    Ok(files)
}

/// The files of a folder that a command line names, with the hashes of their contents if those count.
pub(crate) fn files_named_in(argv: &[String], folder: &Path, is_bound: bool) -> Result<Vec<(String, String)>, String> {
    let named = named_files(argv, &[], folder, folder)?;
    Ok(match is_bound {
        true => hashed(named)?.into_iter().map(|file| (file.path, file.hash)).collect(),
        false => named.into_iter().map(|(path, _)| (path, String::new())).collect(),
    })
}

/// Why a file of a folder cannot be kept from being replaced, if it cannot: a link on the way to it can lead elsewhere, and
/// another name of it can be written.
pub(crate) fn is_replaceable(folder: &Path, file: &str) -> Option<String> {
    let mut at = folder.to_owned();
    for part in Path::new(file).components() {
        at.push(part);
        if at.is_symlink() {
            return Some(format!("its file {file} is a link, or is behind one"));
        }
    }
    #[cfg(unix)]
    if at.metadata().is_ok_and(|known| std::os::unix::fs::MetadataExt::nlink(&known) > 1) {
        return Some(format!("its file {file} has another name (a hard link)"));
    }
    None
}

/// The same files with the hashes of their contents.
fn hashed(files: Vec<(String, PathBuf)>) -> Result<Vec<ServerFile>, String> {
    let file = |(path, real): (String, PathBuf)| match hash_file(&real, LARGEST_SERVER_FILE) {
        Ok(hash) => Ok(ServerFile { path, hash }),
        Err(error) => Err(format!("its file {path} cannot be checked: {error}.")),
    };
    files.into_iter().map(file).collect()
}

/// A word, and its parts that may name a file: as a shell takes it apart, and as it puts it together from quoted pieces. What
/// follows a variable or another command's output, as in `$PWD/run` and `$(pwd)/run`, is taken as below the folder.
fn pieces(word: &str) -> Vec<String> {
    const BETWEEN_WORDS: &str = "();<>|&`{}";
    let is_between = |c: char| c.is_whitespace() || BETWEEN_WORDS.contains(c);
    let mut variables = word.split('$');
    let first = variables.next().unwrap_or_default();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let parts = std::iter::once(first).chain(variables.map(|rest| rest.trim_start_matches(is_name)));
    let mut pieces = vec![word.to_owned()];
    for part in parts.flat_map(|part| part.split(is_between)) {
        let plain = part.replace(['\'', '"', '\\'], "");
        pieces.push(plain.trim_start_matches('/').to_owned());
        pieces.push(plain);
        pieces.extend(part.split(|c: char| "=:,'\"".contains(c)).map(str::to_owned));
    }
    let mut seen = HashSet::new();
    pieces.retain(|piece| !piece.is_empty() && seen.insert(piece.clone()));
    pieces
}

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

/// Whether a server can have this name: it is part of the names of its tools and of rules. `__` stands between the names
/// of a server and its tool, so that `a__b` would be two of them.
pub(crate) fn is_server_name(name: &str) -> bool {
    (1..=LONGEST_SERVER_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_')
}

const LONGEST_SERVER_NAME: usize = 32;

/// Which names there can be, for people.
pub(crate) const SERVER_NAMES: &str =
    "Use at most 32 letters, digits, `-`, and `_`, without `__`, and without `_` at the beginning or the end.";

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
    pub(crate) login: LoginSettings,
    /// The secret of the user's client, with `$NAME` for variables.
    pub(crate) client_secret: String,
}

impl UserServer {
    pub(crate) fn entry(self, name: &str, variables: &BTreeMap<String, String>) -> ServerEntry {
        let whole = format!("{name} {:?} {} {:?} {:?}", self.command, self.url, self.env, self.headers);
        let mut expander = VariableExpander::new(variables);
        let shown = match self.command.is_empty() {
            true => without_query(&self.url),
            false => command_line(self.command.iter()),
        };
        let environment =
            self.env.iter().filter_map(|name| Some((name.clone(), expander.value(name, None)?.into()))).collect();
        let headers = self.headers.iter().map(|(name, value)| (name.clone(), expander.dollars(value).into())).collect();
        let secret = Some(expander.dollars(&self.client_secret)).filter(|secret| !secret.is_empty());
        let login = LoginSettings { client_secret: secret.map(Into::into), ..self.login };
        ServerEntry {
            name: name.to_owned(),
            source: ServerSource::User,
            shown,
            argv: self.command,
            url: self.url,
            environment,
            headers,
            written: Vec::new(),
            reads: expander.reads,
            missing: expander.missing,
            is_enabled: self.is_enabled,
            trusts_annotations: self.trusts_annotations,
            login,
            files: Vec::new(),
            hash: hash(whole.as_bytes()),
        }
    }
}

/// A server that an editor wants used in a session.
#[derive(Clone, Default)]
pub struct EditorServer {
    /// As the editor calls it.
    pub name: String,
    /// The program and its arguments; empty: the server is at `url`.
    pub command: Vec<String>,
    /// Variables that it gets, with their values.
    pub environment: Vec<(String, String)>,
    pub url: String,
    pub headers: Vec<(String, String)>,
}

impl EditorServer {
    /// The server, or why it cannot be used.
    pub(crate) fn entry(self) -> Result<ServerEntry, String> {
        let Self { name, command, environment, url, headers } = self;
        let name = fitting_name(&name).ok_or_else(|| format!("Invalid server name. {SERVER_NAMES}"))?;
        if command.is_empty() && !is_address(&url) {
            return Err(NO_ADDRESS.to_owned());
        }
        // The values, too: a server with another token is another server.
        let whole = format!("{name} {command:?} {environment:?} {url} {headers:?}");
        let shown = match command.is_empty() {
            true => without_query(&url),
            false => command_line(command.iter()),
        };
        let secret = |pairs: Vec<(String, String)>| -> Vec<(String, SecretString)> {
            pairs.into_iter().map(|(name, value)| (name, value.into())).collect()
        };
        Ok(ServerEntry {
            name,
            source: ServerSource::Editor,
            shown,
            argv: command,
            url,
            environment: secret(environment),
            headers: secret(headers),
            written: Vec::new(),
            reads: Vec::new(),
            missing: Vec::new(),
            is_enabled: true,
            trusts_annotations: false,
            login: LoginSettings::default(),
            files: Vec::new(),
            hash: hash(whole.as_bytes()),
        })
    }
}

/// A name that a server can have, near to the one that an editor gives it.
fn fitting_name(name: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = name.split(|c| !is_part(c)).filter(|word| !word.is_empty());
    let name: String = words.collect::<Vec<_>>().join("_").chars().take(LONGEST_SERVER_NAME).collect();
    let name = name.trim_matches('_');
    is_server_name(name).then(|| name.to_owned())
}

/// Whether a server can be at this address.
fn is_address(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}

const NO_ADDRESS: &str = "`url` must begin with https:// or http://.";

/// An address of the user, which may hold a key in its query.
fn without_query(url: &str) -> String {
    url.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// Puts the values of variables where their names stand, and notes which were named.
struct VariableExpander<'a> {
    variables: &'a BTreeMap<String, String>,
    reads: Vec<String>,
    missing: Vec<String>,
}

impl<'a> VariableExpander<'a> {
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

/// What the entries of a project's file are read with.
#[derive(Clone, Copy)]
pub(crate) struct ProjectContext<'a> {
    pub(crate) folder: &'a Path,
    /// The user's variables.
    pub(crate) variables: &'a BTreeMap<String, String>,
    /// Names of variables that hold keys of providers.
    pub(crate) private: &'a [String],
}

impl ProjectContext<'_> {
    /// Whether a variable belongs to this program. An approval shows only its name, and the value would leave with the
    /// server.
    fn is_private(&self, name: &str) -> bool {
        let is_own = name.get(..OWN.len()).is_some_and(|beginning| beginning.eq_ignore_ascii_case(OWN));
        is_own || self.private.iter().any(|key| key.eq_ignore_ascii_case(name))
    }
}

/// How the names of this program's variables begin.
const OWN: &str = "TRIMTAB_";

/// Reads a project's file. Only for a folder that is trusted.
pub(crate) fn read_project(context: ProjectContext<'_>) -> ProjectServers {
    let path = context.folder.join(PROJECT_FILE);
    let wrong = |problem: String| ProjectServers { entries: Vec::new(), problems: vec![problem] };
    // A link could lead anywhere, and a pipe could block.
    match read_small(&path).map(String::from_utf8) {
        Ok(Ok(text)) => parse_project(&text, context),
        Ok(Err(_)) => wrong(format!("{PROJECT_FILE} is not valid: it is not UTF-8.")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            ProjectServers::default()
        }
        Err(error) => wrong(format!("Cannot read {PROJECT_FILE}: {error}. Expected a regular file of at most 256 KB.")),
    }
}

fn parse_project(text: &str, context: ProjectContext<'_>) -> ProjectServers {
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
        let shown = excerpt(&name);
        if at == MOST_SERVERS {
            project.problems.push(format!("{PROJECT_FILE}: only the first {MOST_SERVERS} servers are used."));
            break;
        }
        match project_entry(&name, &value, context) {
            Ok(entry) => project.entries.push(entry),
            Err(problem) => project.problems.push(format!("{PROJECT_FILE}, server {shown}: {problem}")),
        }
    }
    project
}

/// The beginning of a text of the file, fit for a message.
pub(super) fn excerpt(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

fn project_entry(name: &str, value: &Value, context: ProjectContext<'_>) -> Result<ServerEntry, String> {
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
        return Err(format!("Invalid server name \"{}\". {SERVER_NAMES}", excerpt(name)));
    }
    let server = ProjectServer::deserialize(value).map_err(|error| format!("{error}."))?;
    let mut expander = VariableExpander::new(context.variables);
    let is_process = match server.kind.as_deref() {
        Some("stdio") => true,
        // Servers that speak the old protocol with events answer the new one at the same address, or not at all.
        Some("http" | "streamable-http" | "sse") => false,
        None => server.url.is_empty(),
        Some(kind) => {
            let kind = excerpt(kind);
            return Err(format!("Invalid value \"{kind}\" for type. Expected stdio, http, streamable-http, or sse."));
        }
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
        false if !is_address(&url) => return Err(NO_ADDRESS.to_owned()),
        _ => {}
    }
    if let Some(name) = expander.reads.iter().find(|name| context.is_private(name)) {
        return Err(format!("it reads ${name}, a key or a setting of Trimtab. Remove ${name} from the entry."));
    }
    let (argv, environment) = if is_process { (argv, environment) } else { (Vec::new(), Vec::new()) };
    // The server starts in the folder.
    let files = hashed(named_files(&argv, &environment, context.folder, context.folder)?)?;
    let written = if is_process { server.env } else { server.headers };
    let contents: String = files.iter().map(|file| format!("\n{} {}", file.path, file.hash)).collect();
    Ok(ServerEntry {
        name: name.to_owned(),
        source: ServerSource::Project,
        shown,
        argv,
        url: if is_process { String::new() } else { url },
        environment,
        headers: if is_process { Vec::new() } else { headers },
        written: written.into_iter().collect(),
        reads: expander.reads,
        missing: expander.missing,
        is_enabled: true,
        trusts_annotations: false,
        login: LoginSettings::default(),
        files,
        hash: hash(format!("{name} {value}{contents}").as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> BTreeMap<String, String> {
        BTreeMap::from([("TOKEN".to_owned(), "t0".to_owned()), ("HOST".to_owned(), "h".to_owned())])
    }

    /// The entries of a project in a folder with nothing else in it.
    fn parsed(text: &str) -> ProjectServers {
        let (variables, private) = (variables(), ["MODEL_KEY".to_owned()]);
        let folder = Path::new("/no/such/folder");
        parse_project(text, ProjectContext { folder, variables: &variables, private: &private })
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
        let project = parsed(text);
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
        let project = parsed(text);
        assert_eq!(project.entries.len(), 1);
        assert_eq!(project.problems.len(), 5, "{:?}", project.problems);
        for part in [r#"Invalid server name "a b""#, r#"Invalid value "ws" for type. Expected stdio"#] {
            assert!(project.problems.iter().any(|problem| problem.contains(part)), "{part}: {:?}", project.problems);
        }
        assert_eq!(parsed("{").problems.len(), 1);
        assert!(parsed("{}").entries.is_empty());
    }

    #[test]
    fn an_approval_is_bound_to_the_whole_entry_and_its_folder() {
        let entry = |text: &str| parsed(text).entries.remove(0);
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

    #[test]
    fn an_approval_is_bound_to_the_files_that_the_entry_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let other = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("writes");
        std::fs::write(other.path().join("lib.js"), "0").expect("writes");
        std::os::unix::fs::symlink(other.path().join("lib.js"), folder.path().join("linked.js")).expect("a link");
        write("server.js", "1");
        write("server.json", "{}");
        write("hook.js", "1");
        write("other.js", "1");
        let text = r#"{"mcpServers": {"a": {"command": "node", "args": ["./server.js", "--config=server.json", "linked.js"],
            "env": {"NODE_OPTIONS": "--require ./hook.js"}}}}"#;
        let variables = variables();
        let context = ProjectContext { folder: folder.path(), variables: &variables, private: &[] };
        let entry = || parse_project(text, context).entries.remove(0);
        let one = entry();
        let names: Vec<&str> = one.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(names, ["server.js", "server.json", "linked.js", "hook.js"]);
        let rules = [one.rule("/p", RuleVerdict::Allow)];
        write("other.js", "2");
        assert_eq!(entry().standing("/p", &rules), ServerStanding::On, "a file that it does not name");
        for name in ["server.js", "server.json", "hook.js"] {
            let before = std::fs::read_to_string(folder.path().join(name)).expect("reads");
            write(name, "changed");
            assert_eq!(entry().standing("/p", &rules), ServerStanding::Pending, "{name}");
            write(name, &before);
            assert_eq!(entry().standing("/p", &rules), ServerStanding::On, "{name}");
        }
        std::fs::remove_file(folder.path().join("linked.js")).expect("gone");
        write("linked.js", "mine");
        assert_eq!(entry().standing("/p", &rules), ServerStanding::Pending, "a link that became a file");
    }

    #[test]
    fn files_of_a_folder_are_found_in_the_command_of_a_users_server() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("server.js"), "1").expect("writes");
        let script = folder.path().join("server.js").display().to_string();
        let server = UserServer { command: vec!["node".into(), script], ..UserServer::default() };
        let mut entry = server.entry("mine", &variables());
        entry.name_files(Path::new("/"), folder.path());
        assert_eq!(entry.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["server.js"]);
    }

    #[test]
    fn a_project_reads_neither_keys_of_providers_nor_our_own_variables() {
        for text in [
            r#"{"command": "x", "env": {"A": "${MODEL_KEY}"}}"#,
            r#"{"command": "x", "args": ["--key=${model_key:-none}"]}"#,
            r#"{"command": "x", "env": {"A": "${Trimtab_Anything}"}}"#,
            r#"{"url": "https://example.org/${MODEL_KEY}"}"#,
            r#"{"url": "https://example.org", "headers": {"A": "Bearer ${MODEL_KEY}"}}"#,
        ] {
            let project = parsed(&format!(r#"{{"mcpServers": {{"a": {text}}}}}"#));
            assert_eq!((project.entries.len(), project.problems.len()), (0, 1), "{text}");
        }
    }

    #[test]
    fn the_parts_of_a_tools_name_cannot_be_mistaken_for_each_other() {
        for name in ["github", "my-server_2", "A"] {
            assert!(is_server_name(name), "{name}");
        }
        for name in ["", "a b", "a__b", "_a", "a_", "a:b", "ä", &"a".repeat(33)] {
            assert!(!is_server_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_an_editor_are_made_to_fit() {
        for (given, fitting) in
            [("github", "github"), ("My Server (2)", "My_Server_2"), ("a__b_", "a_b"), ("io.x/y-z", "io_x_y-z")]
        {
            assert_eq!(fitting_name(given).as_deref(), Some(fitting));
        }
        assert_eq!(fitting_name(&"a ".repeat(40)).map(|name| name.len()), Some(31));
        assert_eq!((fitting_name(""), fitting_name("_ _"), fitting_name("ä")), (None, None, None));
    }

    #[test]
    fn a_server_of_an_editor_is_a_command_or_an_address() {
        let token = |value: &str| vec![("TOKEN".to_owned(), value.to_owned())];
        let process = EditorServer {
            name: "a".into(),
            command: vec!["/bin/a".into()],
            environment: token("t0"),
            ..EditorServer::default()
        };
        let entry = process.clone().entry().expect("a server");
        assert_eq!((entry.shown.as_str(), entry.standing("/p", &[])), ("/bin/a", ServerStanding::Pending));
        let other = EditorServer { environment: token("t1"), ..process }.entry().expect("a server");
        assert_ne!(entry.hash, other.hash, "another token is another server");
        let web = EditorServer {
            name: "w".into(),
            url: "https://example.org/mcp?key=1".into(),
            headers: token("t0"),
            ..EditorServer::default()
        };
        let entry = web.clone().entry().expect("a server");
        assert_eq!((entry.shown.as_str(), entry.headers.len(), entry.argv.len()), ("https://example.org/mcp", 1, 0));
        assert!(EditorServer { url: "file:///etc/passwd".into(), ..web }.entry().is_err());
    }

    #[test]
    fn only_a_small_regular_file_is_read_as_a_project_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let variables = variables();
        let read = || read_project(ProjectContext { folder: folder.path(), variables: &variables, private: &[] });
        assert!(read().problems.is_empty(), "there is none");
        let path = folder.path().join(PROJECT_FILE);
        std::os::unix::fs::symlink("/etc/hostname", &path).expect("a link");
        assert_eq!(read().problems.len(), 1);
        std::fs::remove_file(&path).expect("gone");
        std::fs::write(&path, " ".repeat(300 * 1024) + "{}").expect("writes");
        assert_eq!(read().problems.len(), 1);
        std::fs::write(&path, r#"{"mcpServers": {"ok": {"command": "x"}}}"#).expect("writes");
        assert_eq!(read().entries.len(), 1);
    }
}
