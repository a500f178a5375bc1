//! The MCP servers that the client has set up for a session.

use agent_client_protocol_schema::v1::Error;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use trimtab_host::EditorServer;

use super::wire::{bad_params, params};
use crate::words;

/// The servers of a session, and what is said about those that cannot be used.
#[derive(Default)]
pub(super) struct GivenServers {
    pub(super) servers: Vec<EditorServer>,
    pub(super) notes: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionExtras {
    mcp_servers: Option<Vec<GivenServer>>,
    additional_directories: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct GivenServer {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: String,
    #[serde(default)]
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: Vec<GivenPair>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: Vec<GivenPair>,
}

#[derive(Deserialize)]
struct GivenPair {
    name: String,
    value: String,
}

impl GivenServers {
    /// Reads the parameters of a request that opens a session. Further folders are refused. The protocol's own types drop
    /// entries that they cannot read, so this reads the message itself.
    pub(super) fn read(raw: Option<&RawValue>) -> Result<Self, Error> {
        let SessionExtras { mcp_servers, additional_directories } = params(raw.map(ToOwned::to_owned))?;
        if additional_directories.is_some_and(|more| !more.is_empty()) {
            return Err(bad_params("A session has one folder: additional directories are not supported."));
        }
        let mut given = Self::default();
        for server in mcp_servers.unwrap_or_default() {
            let name = words::sanitize(&server.name);
            let kind = server.kind.as_deref().unwrap_or("stdio");
            match kind {
                "stdio" if server.command.is_empty() => {
                    given
                        .notes
                        .push(format!("The editor's MCP server {} is not used: it has no command.", excerpt(&name)));
                }
                "stdio" => given.servers.push(EditorServer {
                    name: server.name,
                    command: std::iter::once(server.command).chain(server.args).collect(),
                    environment: pairs(server.env),
                    ..EditorServer::default()
                }),
                "http" => given.servers.push(EditorServer {
                    name: server.name,
                    url: server.url,
                    headers: pairs(server.headers),
                    ..EditorServer::default()
                }),
                _ => {
                    let (name, kind) = (excerpt(&name), excerpt(&words::sanitize(kind)));
                    given.notes.push(format!(
                        "The editor's MCP server {name} is not used: Invalid value \"{kind}\" for type. Expected stdio or http."
                    ));
                }
            }
        }
        given.notes.truncate(MOST_NOTES);
        Ok(given)
    }
}

/// Servers that are named at most, and characters of each name.
const MOST_NOTES: usize = 20;
const LONGEST_NAME: usize = 60;

fn excerpt(text: &str) -> String {
    text.chars().take(LONGEST_NAME).collect()
}

fn pairs(pairs: Vec<GivenPair>) -> Vec<(String, String)> {
    pairs.into_iter().map(|pair| (pair.name, pair.value)).collect()
}
