//! Writes MCP servers into the user's settings file, and leaves everything else in it unchanged, including comments.

use std::path::Path;

use toml::{Table, Value};
use trimtab_vocab::{Problem, ProblemKind};

use super::resolve::Profile;
use super::settings_writer::SettingsWriter;
use crate::mcp::{SERVER_NAMES, is_server_name};

/// A server that the user adds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewServer {
    pub name: String,
    /// Program and arguments; empty: it is reached at `url`.
    pub command: Vec<String>,
    pub url: String,
    /// Names of variables that it gets.
    pub env: Vec<String>,
    /// Headers with their values.
    pub headers: Vec<(String, String)>,
    pub trusts_annotations: bool,
}

/// Adds a server to the user's settings.
pub fn add_server(profile: &Profile, server: &NewServer) -> Result<(), Problem> {
    let name = &server.name;
    if !is_server_name(name) {
        return Err(Problem::new(ProblemKind::Usage, format!("Invalid server name \"{name}\".")).hint(SERVER_NAMES));
    }
    if profile.external.servers.iter().any(|known| known.name == *name) {
        return Err(Problem::new(ProblemKind::Usage, format!("There is already an MCP server named {name}."))
            .hint(format!("Remove it first with `trimtab mcp remove {name}`, or choose another name.")));
    }
    change(&profile.file, &format!("Add it by hand under [mcp.{name}]."), |text| with_server(text, server))
}

/// Removes a server from the user's settings.
pub fn remove_server(profile: &Profile, name: &str) -> Result<(), Problem> {
    change(&profile.file, &format!("Remove the section [mcp.{name}] by hand."), |text| without_server(text, name))
}

/// Switches a server of the user's settings on or off.
pub fn enable_server(profile: &Profile, name: &str, enabled: bool) -> Result<(), Problem> {
    change(&profile.file, &format!("Set enabled = {enabled} under [mcp.{name}] by hand."), |text| {
        with_enabled(text, name, enabled)
    })
}

fn change(file: &Path, by_hand: &str, change: impl Fn(&str) -> Option<String>) -> Result<(), Problem> {
    let wrong = |why: String| Problem::new(ProblemKind::Settings, format!("Cannot change {}: {why}.", file.display()));
    let unwritable =
        |error: std::io::Error| wrong(error.to_string()).hint("Check the owner and the permissions of the file.");
    let writer = SettingsWriter::open(file).map_err(unwritable)?;
    let text = writer.read().map_err(unwritable)?;
    let changed = change(&text)
        .ok_or_else(|| wrong("it is written in a form that cannot be changed safely".into()).hint(by_hand))?;
    writer.write(&changed).map_err(unwritable)
}

fn header(name: &str) -> String {
    format!("[mcp.{name}]")
}

fn with_server(text: &str, server: &NewServer) -> Option<String> {
    let mut fields = Table::new();
    let texts = |items: &[String]| Value::Array(items.iter().cloned().map(Value::String).collect());
    match server.command.is_empty() {
        true => fields.insert("url".into(), Value::String(server.url.clone())),
        false => fields.insert("command".into(), texts(&server.command)),
    };
    if !server.env.is_empty() {
        fields.insert("env".into(), texts(&server.env));
    }
    if !server.headers.is_empty() {
        let headers = server.headers.iter().map(|(name, value)| (name.clone(), Value::String(value.clone())));
        fields.insert("headers".into(), Value::Table(headers.collect()));
    }
    if server.trusts_annotations {
        fields.insert("trust_annotations".into(), Value::Boolean(true));
    }
    let mut changed = text.to_owned();
    if !changed.is_empty() && !changed.ends_with('\n') {
        changed.push('\n');
    }
    if !changed.is_empty() {
        changed.push('\n');
    }
    changed.push_str(&header(&server.name));
    changed.push('\n');
    for (name, value) in &fields {
        changed.push_str(&format!("{name} = {value}\n"));
    }
    let mut expected: Table = text.parse().ok()?;
    let servers = expected.entry("mcp").or_insert_with(|| Value::Table(Table::new())).as_table_mut()?;
    servers.insert(server.name.clone(), Value::Table(fields));
    (changed.parse::<Table>().ok()? == expected).then_some(changed)
}

/// The lines of a server's section, without its header: from the first to the one after its last.
fn section(lines: &[&str], name: &str) -> Option<(usize, usize)> {
    let start = lines.iter().position(|line| line.trim() == header(name))? + 1;
    let end = lines[start..].iter().position(|line| line.trim_start().starts_with('['));
    Some((start, end.map_or(lines.len(), |at| start + at)))
}

fn without_server(text: &str, name: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (start, end) = section(&lines, name)?;
    let mut kept: Vec<&str> = lines[..start - 1].iter().chain(&lines[end..]).copied().collect();
    while kept.last().is_some_and(|line| line.trim().is_empty()) {
        kept.pop();
    }
    let changed = if kept.is_empty() { String::new() } else { kept.join("\n") + "\n" };
    let mut expected: Table = text.parse().ok()?;
    let servers = expected.get_mut("mcp")?.as_table_mut()?;
    servers.remove(name)?;
    if servers.is_empty() {
        expected.remove("mcp");
    }
    (changed.parse::<Table>().ok()? == expected).then_some(changed)
}

fn with_enabled(text: &str, name: &str, enabled: bool) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let (start, end) = section(&lines, name)?;
    let is_key = |line: &&str| line.split_once('=').is_some_and(|(key, _)| key.trim() == "enabled");
    let line = format!("enabled = {enabled}");
    let mut changed: Vec<&str> = lines.clone();
    match lines[start..end].iter().position(is_key) {
        Some(at) => changed[start + at] = &line,
        None => changed.insert(start, &line),
    }
    let changed = changed.join("\n") + "\n";
    let mut expected: Table = text.parse().ok()?;
    expected.get_mut("mcp")?.as_table_mut()?.get_mut(name)?.as_table_mut()?.insert("enabled".into(), enabled.into());
    (changed.parse::<Table>().ok()? == expected).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> NewServer {
        NewServer {
            name: "github".into(),
            command: vec!["github-mcp-server".into(), "stdio".into()],
            env: vec!["GITHUB_TOKEN".into()],
            ..NewServer::default()
        }
    }

    #[test]
    fn a_server_is_added_switched_and_removed_and_the_rest_stays() {
        let text = "# mine\nmodel = \"a/b\" # was\n\n[limits]\nsteps = 3\n";
        let added = with_server(text, &server()).expect("added");
        assert_eq!(
            added,
            format!("{text}\n[mcp.github]\ncommand = [\"github-mcp-server\", \"stdio\"]\nenv = [\"GITHUB_TOKEN\"]\n")
        );
        let off = with_enabled(&added, "github", false).expect("off");
        assert!(off.contains("[mcp.github]\nenabled = false\ncommand"), "{off}");
        assert!(with_enabled(&off, "github", true).expect("on").contains("enabled = true"));
        assert_eq!(without_server(&off, "github").as_deref(), Some(text));
        assert_eq!(without_server(text, "github"), None);
    }

    #[test]
    fn an_address_with_headers_is_written_as_a_table() {
        let web = NewServer {
            name: "web".into(),
            url: "https://example.org/mcp".into(),
            headers: vec![("Authorization".into(), "Bearer $TOKEN".into())],
            trusts_annotations: true,
            ..NewServer::default()
        };
        let text = with_server("", &web).expect("added");
        assert!(text.starts_with("[mcp.web]\n") && text.contains("trust_annotations = true"), "{text}");
        assert_eq!(with_server("[mcp]\nweb = { url = \"x\" }\n", &web), None, "lines alone cannot change this");
    }
}
