//! `/mcp login` and `/mcp logout`.

use std::future::pending;

use tokio::sync::mpsc;
use trimtab_host::config::Profile;
use trimtab_host::{Client, LoginPrompt, PlacedServer};
use trimtab_vocab::{Problem, ProblemKind};

use super::message::{Cmd, Msg};
use crate::words::servers::{foreign_login, host_of, logged_in, login_address};

/// Shown for words that are none of these.
pub(super) const USAGE: &str = "Use /mcp, /mcp login NAME, or /mcp logout NAME. `trimtab mcp --help` shows the rest.";

/// What the words behind `/mcp` ask for.
pub(super) fn read(words: &str) -> Option<Cmd> {
    if words.trim().is_empty() {
        return Some(Cmd::LoadServers);
    }
    let mut words = words.split_whitespace().map(str::to_owned);
    let (action, server) = (words.next()?, words.next()?);
    let hosts: Vec<String> = words.collect();
    match action.as_str() {
        "login" => Some(Cmd::LogIn { server, hosts }),
        "logout" if hosts.is_empty() => Some(Cmd::LogOut { server }),
        _ => None,
    }
}

/// Where a login happens, and who is told of it.
pub(super) struct LoginPlace {
    pub(super) client: Client,
    pub(super) profile: Profile,
    pub(super) folder: String,
    pub(super) messages: mpsc::Sender<Msg>,
}

impl LoginPlace {
    pub(super) async fn run(self, cmd: Cmd) -> Result<Option<Msg>, Problem> {
        match cmd {
            Cmd::LogIn { server, hosts } => {
                let server = self.find(&server).await?;
                let mut prompt = ScreenPrompt { server: &server, hosts, messages: self.messages.clone() };
                let done = self.client.servers().login(&server, Vec::new(), &mut prompt).await?;
                Ok(Some(Msg::Told(logged_in(&server.entry.name, &done.scopes))))
            }
            Cmd::LogOut { server } => {
                let server = self.find(&server).await?;
                let name = &server.entry.name;
                Ok(Some(match self.client.servers().logout(&server).await? {
                    (true, None) => Msg::Told(format!("Logged out of {name}.")),
                    (true, Some(problem)) => Msg::Warned(format!(
                        "Logged out of {name}. The tokens are removed here, but could not be revoked: {problem}"
                    )),
                    (false, _) => Msg::Told(format!("You are not logged in to {name}.")),
                }))
            }
            _ => Ok(None),
        }
    }

    async fn find(&self, name: &str) -> Result<PlacedServer, Problem> {
        let (servers, _) = self.client.servers().list(&self.profile, &self.folder).await?;
        let unknown =
            || Problem::new(ProblemKind::NotFound, format!("Unknown MCP server {name}.")).hint("/mcp lists them.");
        servers.into_iter().find(|server| server.entry.name == name).ok_or_else(unknown)
    }
}

/// A login on the screen. Hosts that are not the server's own are allowed by naming them.
struct ScreenPrompt<'a> {
    server: &'a PlacedServer,
    hosts: Vec<String>,
    messages: mpsc::Sender<Msg>,
}

impl LoginPrompt for ScreenPrompt<'_> {
    async fn confirm(&mut self, origins: Vec<String>) -> Result<bool, Problem> {
        let is_named = |origin: &&String| self.hosts.iter().any(|host| host == *origin || host == host_of(origin));
        let open: Vec<String> = origins.iter().filter(|origin| !is_named(origin)).cloned().collect();
        if open.is_empty() {
            return Ok(true);
        }
        let named = self.hosts.iter().map(String::as_str).chain(open.iter().map(|origin| host_of(origin)));
        let named = named.collect::<Vec<_>>().join(" ");
        Err(Problem::new(ProblemKind::Usage, foreign_login(self.server, &open))
            .hint(format!("If you trust it, use /mcp login {} {named}", self.server.entry.name)))
    }

    fn show(&mut self, address: &str) -> Result<(), Problem> {
        // The screen takes messages as long as it is there.
        let _ = self.messages.try_send(Msg::Told(login_address(&self.server.entry.name, address)));
        Ok(())
    }

    async fn pasted(&mut self) -> String {
        pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_names_a_server_and_perhaps_hosts() {
        let server = || "docs".to_owned();
        assert_eq!(read("login docs"), Some(Cmd::LogIn { server: server(), hosts: Vec::new() }));
        let hosts = vec!["auth.example.org".to_owned()];
        assert_eq!(read(" login  docs auth.example.org "), Some(Cmd::LogIn { server: server(), hosts }));
        assert_eq!(read(" "), Some(Cmd::LoadServers));
        assert_eq!(read("logout docs"), Some(Cmd::LogOut { server: server() }));
        for other in ["login", "logout", "logout docs now", "enable docs"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
