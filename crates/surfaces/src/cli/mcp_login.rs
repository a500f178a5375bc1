//! `trimtab mcp login` and `trimtab mcp logout`.

use std::future::pending;
use std::io::IsTerminal as _;

use serde_json::json;
use trimtab_host::{Client, LoginPrompt, PlacedServer};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, print, print_json};
use super::{CliOutcome, browser, keyboard};
use crate::words::servers::{foreign_login, host_of, logged_in, login_address};

/// What the user wants of a login.
pub(super) struct LoginWishes {
    /// Hosts that it may use.
    pub(super) at: Vec<String>,
    pub(super) scope: Vec<String>,
    pub(super) open: bool,
    pub(super) json: bool,
}

pub(super) async fn login(client: &Client, server: &PlacedServer, wishes: LoginWishes) -> Result<CliOutcome, Problem> {
    let (name, json) = (server.entry.name.clone(), wishes.json);
    let scopes = wishes.scope.clone();
    let mut prompt = TerminalPrompt { server, wishes, is_shown: false };
    let done = client.servers().login(server, scopes, &mut prompt).await?;
    match json {
        true => print_json(&json!({"server": name, "login": "logged_in", "scopes": done.scopes}))?,
        false => print(&format!("{}\n", logged_in(&name, &done.scopes)))?,
    }
    Ok(CliOutcome::Done)
}

pub(super) async fn logout(client: &Client, server: &PlacedServer) -> Result<CliOutcome, Problem> {
    let name = &server.entry.name;
    let (was_there, problem) = client.servers().logout(server).await?;
    if let Some(problem) = problem {
        note(&format!("note: The tokens are removed here, but could not be revoked: {problem}"));
    }
    print(&match was_there {
        true => format!("Logged out of {name}.\n"),
        false => format!("You are not logged in to {name}.\n"),
    })?;
    Ok(CliOutcome::Done)
}

/// A login at the command line.
struct TerminalPrompt<'a> {
    server: &'a PlacedServer,
    wishes: LoginWishes,
    is_shown: bool,
}

impl LoginPrompt for TerminalPrompt<'_> {
    async fn confirm(&mut self, origins: Vec<String>) -> Result<bool, Problem> {
        let is_named = |origin: &&String| self.wishes.at.iter().any(|host| host == *origin || host == host_of(origin));
        let open: Vec<String> = origins.iter().filter(|origin| !is_named(origin)).cloned().collect();
        if open.is_empty() {
            return Ok(true);
        }
        let question = foreign_login(self.server, &open);
        if !std::io::stdin().is_terminal() || self.wishes.json {
            let hosts: Vec<String> = open.iter().map(|origin| format!("--at {}", host_of(origin))).collect();
            let name = &self.server.entry.name;
            return Err(Problem::new(ProblemKind::Usage, question)
                .hint(format!("If you trust it, run `trimtab mcp login {name} {}`.", hosts.join(" "))));
        }
        keyboard::discard();
        note(&format!("{question}\nContinue? [y/N]"));
        let answer = keyboard::line().await.unwrap_or_default();
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn show(&mut self, address: &str) -> Result<(), Problem> {
        self.is_shown = true;
        let name = &self.server.entry.name;
        match self.wishes.json {
            true => print_json(&json!({"server": name, "login": "open", "address": address}))?,
            false => print(&format!("{}\n", login_address(name, address)))?,
        }
        if self.wishes.open {
            browser::open(address);
        }
        if !self.wishes.json && std::io::stdin().is_terminal() {
            note("Waiting for the browser. If it runs on another machine, paste the address of the last page here.");
        }
        Ok(())
    }

    async fn pasted(&mut self) -> String {
        if !self.is_shown || !std::io::stdin().is_terminal() {
            return pending().await;
        }
        match keyboard::line().await {
            Some(line) => line,
            None => pending().await,
        }
    }
}
