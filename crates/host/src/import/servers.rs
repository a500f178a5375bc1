//! MCP servers of other programs. Their commands and addresses are taken over, and the names of their variables and
//! headers; values never are.

use std::path::Path;

use serde_json::{Map, Value};

use super::keys::{holds_key, is_key_name, is_reference};
use super::{ImportAction, ImportItem, ImportKind, ImportPlaces, hides_something, read, read_json, shown};
use crate::config::NewServer;
use crate::mcp::is_server_name;

/// Servers of one file.
const MOST: usize = 100;
const KEY_IN_ARGUMENTS: &str = "Its command line or address seems to have a key in it, which is not copied. Add the server with `trimtab mcp add`.";

/// The servers under a key of a JSON file.
pub(super) fn in_json(places: &ImportPlaces<'_>, file: &Path, key: &str) -> Vec<ImportItem> {
    match read_json(file) {
        None => Vec::new(),
        Some(Err(why)) => vec![ImportItem::ignored(ImportKind::Server, "all of them", file, why)],
        Some(Ok(value)) => listed(places, file, value.get(key)),
    }
}

/// The servers of Codex.
pub(super) fn in_toml(places: &ImportPlaces<'_>, file: &Path) -> Vec<ImportItem> {
    let text = match read(file) {
        None => return Vec::new(),
        Some(Err(why)) => return vec![ImportItem::ignored(ImportKind::Server, "all of them", file, why)],
        Some(Ok(text)) => text,
    };
    match toml::from_str::<Value>(&text) {
        Ok(value) => listed(places, file, value.get("mcp_servers")),
        Err(error) => {
            let why = format!("It is not valid TOML: {}.", shown(error.message()));
            vec![ImportItem::ignored(ImportKind::Server, "all of them", file, why)]
        }
    }
}

fn listed(places: &ImportPlaces<'_>, file: &Path, servers: Option<&Value>) -> Vec<ImportItem> {
    let servers = servers.and_then(Value::as_object).into_iter().flatten();
    servers.take(MOST).map(|(name, entry)| item(places, file, name, entry)).collect()
}

fn item(places: &ImportPlaces<'_>, file: &Path, name: &str, entry: &Value) -> ImportItem {
    let own: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    let own = if is_server_name(name) { name.to_owned() } else { own.trim_matches('-').to_owned() };
    if !is_server_name(&own) {
        return ImportItem::ignored(ImportKind::Server, shown(name), file, "Trimtab does not allow this server name.");
    }
    if places.profile.external.servers.iter().any(|known| known.name == own) {
        return ImportItem::present(ImportKind::Server, &own, file, format!("[mcp.{own}] in your settings"));
    }
    let Some(entry) = entry.as_object() else {
        return ImportItem::ignored(ImportKind::Server, own, file, "Its entry is not an object.");
    };
    let mut notes = Vec::new();
    let server = NewServer { name: own.clone(), ..server(entry, &own, &mut notes) };
    if server.command.is_empty() && server.url.is_empty() {
        return ImportItem::ignored(ImportKind::Server, own, file, "It has neither a command nor an address.");
    }
    let headers = server.headers.iter().flat_map(|(name, value)| [name, value]);
    if server.command.iter().chain([&server.url]).chain(headers).any(|text| hides_something(text)) {
        let why = "Its command line, address, or headers have characters that a list cannot show.";
        return ImportItem::ignored(ImportKind::Server, own, file, why);
    }
    if has_key(&server) {
        return ImportItem::ignored(ImportKind::Server, own, file, KEY_IN_ARGUMENTS);
    }
    let what = if server.command.is_empty() { server.url.clone() } else { server.command.join(" ") };
    let becomes = format!("[mcp.{own}] in your settings, off until `trimtab mcp enable {own}`: {}", shown(&what));
    let item = ImportItem::new(ImportKind::Server, own, file, becomes, ImportAction::Server(server));
    ImportItem { reasons: notes, ..item }
}

fn server(entry: &Map<String, Value>, name: &str, notes: &mut Vec<String>) -> NewServer {
    let text = |keys: &[&str]| keys.iter().find_map(|key| entry.get(*key)?.as_str()).map(str::to_owned);
    let texts = |key: &str| -> Vec<String> {
        let listed = entry.get(key).and_then(Value::as_array).into_iter().flatten();
        listed.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    // opencode has the program and its arguments in one list.
    let command = match text(&["command"]) {
        Some(program) => std::iter::once(program).chain(texts("args")).collect(),
        None => texts("command"),
    };
    let url = if command.is_empty() { text(&["url", "httpUrl"]).unwrap_or_default() } else { String::new() };
    let named =
        |key: &str| entry.get(key).and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.clone());
    let is_name = |name: &String| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let mut env: Vec<String> =
        named("env").chain(named("environment")).chain(texts("env_vars")).filter(is_name).collect();
    env.sort();
    env.dedup();
    if !env.is_empty() {
        notes.push(format!("It gets {} from your environment. The values are not copied.", env.join(", ")));
    }
    let headers = headers(entry, name);
    if !headers.is_empty() {
        let names: Vec<&str> = headers.iter().map(|(_, value)| value.as_str()).collect();
        notes.push(format!("Its headers get their values from your environment: {}.", names.join(", ")));
    }
    if entry.contains_key("cwd") {
        notes.push("Its working folder (cwd) is not imported.".to_owned());
    }
    NewServer { name: String::new(), command, url, env, headers, trusts_annotations: false }
}

/// The headers of a server. A value that only names variables is kept, and every other one becomes a variable.
fn headers(entry: &Map<String, Value>, server: &str) -> Vec<(String, String)> {
    let named = ["headers", "http_headers"].iter().filter_map(|key| entry.get(*key)?.as_object());
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, _) in named.flatten() {
        let plain = format!("{server}_{name}").to_ascii_uppercase();
        let plain: String = plain.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
        headers.push((name.clone(), format!("${plain}")));
    }
    let of_variables = entry.get("env_http_headers").and_then(Value::as_object).into_iter().flatten();
    headers.extend(of_variables.filter_map(|(name, value)| Some((name.clone(), format!("${}", value.as_str()?)))));
    if let Some(token) = entry.get("bearer_token_env_var").and_then(Value::as_str) {
        headers.push(("Authorization".to_owned(), format!("Bearer ${token}")));
    }
    headers
}

/// Whether a command line or an address seems to have a secret in it. A server that has none but seems to is added by
/// hand, and a secret that is copied is in a second file.
fn has_key(server: &NewServer) -> bool {
    // A script, such as that of `sh -c`, is one argument of several words.
    let words: Vec<&str> =
        server.command.iter().chain([&server.url]).flat_map(|argument| argument.split_whitespace()).collect();
    let follows_name = |pair: &[&str]| is_key_name(pair[0]) && !pair[1].starts_with('-') && !is_reference(pair[1]);
    words.windows(2).any(follows_name) || words.iter().any(|word| holds_key(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn no_value_of_a_variable_or_a_header_is_kept() {
        let entry =
            json!({"command": "npx", "args": ["-y", "server"], "env": {"B_TOKEN": "hush", "A": "1"}, "cwd": "/x"});
        let mut notes = Vec::new();
        let made = server(entry.as_object().expect("an object"), "github", &mut notes);
        assert_eq!(made.command, ["npx", "-y", "server"]);
        assert_eq!(made.env, ["A", "B_TOKEN"]);
        let entry = json!({"type": "http", "url": "https://x.org/mcp", "headers": {"X-Api-Key": "hush"},
            "bearer_token_env_var": "TOKEN"});
        let made = server(entry.as_object().expect("an object"), "docs", &mut notes);
        let headers = [("X-Api-Key", "$DOCS_X_API_KEY"), ("Authorization", "Bearer $TOKEN")];
        assert_eq!(made.headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert!(!notes.join(" ").contains("hush"), "{notes:?}");
    }

    #[test]
    fn a_key_in_a_command_line_or_an_address_is_seen() {
        let command = |words: &[&str]| NewServer {
            command: words.iter().map(|word| (*word).to_owned()).collect(),
            ..NewServer::default()
        };
        let at = |url: &str| NewServer { url: url.to_owned(), ..NewServer::default() };
        for server in [
            command(&["x", "--api-key", "abc"]),
            command(&["x", "--token=abc"]),
            command(&["x", "API_KEY=abc"]),
            command(&["x", "https://u:p@x.org"]),
            at("https://x.org/mcp?api_key=abc"),
            command(&["npx", "mcp-remote", "https://x.org/sse", "--header", "X-Api-Key: abcdef123456"]),
            command(&["npx", "mcp-remote", "https://x.org/sse", "--header", "Authorization:Basic abcdef"]),
            command(&["sh", "-c", "x https://y.org/ https://user:pw@x.org"]),
            command(&["sh", "-c", "API_TOKEN=abc exec x"]),
            command(&["x", "--pat", "abc"]),
            command(&["x", "github_pat_11AAAAbbbb"]),
            command(&["x", "--pass", "abc"]),
            command(&["x", "--session", "0f8fad5b-d9cb-469f-a165-70867728950e"]),
            at("https://x.org/mcp/sk_live_abcdefghijklmnop"),
            at("https://x.org/s/NzQ5ZjA2YTQtMDRkOS00/mcp"),
        ] {
            assert!(has_key(&server), "{server:?}");
        }
        for server in [
            command(&["npx", "-y", "@x/server"]),
            command(&["x", "--api-key", "$KEY"]),
            command(&["x", "--keyboard", "us"]),
            command(&["x", "--header", "Authorization: $TOKEN", "--token=$TOKEN", "--bypass", "on"]),
            command(&["uvx", "--from", "git+https://github.com/x/y.git@v1.2.3", "mcp-server-2025-06-18"]),
            command(&["docker", "run", "-i", "--rm", "-e", "API_KEY", "ghcr.io/github/github-mcp-server:0.20"]),
            command(&["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ada/work"]),
            at("https://x.org/mcp?level=1"),
        ] {
            assert!(!has_key(&server), "{server:?}");
        }
    }
}
