//! Logins of the user at MCP servers that speak HTTP.

use std::time::Duration;

use secrecy::ExposeSecret as _;
use serde_json::json;
use tokio::time::timeout;
use trimtab_vocab::{Problem, ProblemKind};
use trimtab_world::mcp::LoginRefusal;
use trimtab_world::mcp::oauth::{LoginCode, LoginFile, OAuthClient, PendingLogin, ProtectedServer};
use trimtab_world::store::LocalFiles;

use super::servers::{McpServers, PlacedServer};
use super::{ServerStanding, unusable};
use crate::handles::Servers;

/// How long a person may take in the browser.
const LONGEST_CONSENT: Duration = Duration::from_secs(600);

/// Whether the user is logged in to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginState {
    /// As far as is known, the server needs no login.
    None,
    /// The server refused a request for want of a login, or of one with more scopes.
    Needed,
    LoggedIn,
}

impl LoginState {
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Needed => "needed",
            Self::LoggedIn => "logged_in",
        }
    }
}

/// What a surface does during a login.
pub trait LoginPrompt: Send {
    /// Whether the login may go on at these origins, which are not the server's own. Nothing was sent to them.
    fn confirm(&mut self, origins: Vec<String>) -> impl Future<Output = Result<bool, Problem>> + Send;
    /// Shows the address that the user has to open.
    fn show(&mut self, address: &str) -> Result<(), Problem>;
    /// The next line that the user pastes; pending where nothing can be pasted.
    fn pasted(&mut self) -> impl Future<Output = String> + Send;
}

/// A login that has succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedIn {
    pub scopes: Vec<String>,
}

impl McpServers {
    /// Where the login at a server is kept, if the user can log in to it.
    pub(super) fn login_file(&self, server: &PlacedServer) -> Option<LoginFile> {
        server.entry.can_log_in().then(|| LoginFile::of(&self.files, &server.entry.url)).flatten()
    }

    pub(super) fn login_state(&self, server: &PlacedServer) -> LoginState {
        let is_needed = self.files.read(&wanted_file(server)).is_some();
        match self.login_file(server) {
            None => LoginState::None,
            Some(_) if is_needed => LoginState::Needed,
            Some(file) if file.read().is_some() => LoginState::LoggedIn,
            Some(_) => LoginState::None,
        }
    }

    /// Notes that a server refused a request for want of a login, or that it takes requests again.
    pub(super) fn note_login(&self, server: &PlacedServer, refused: Option<&LoginRefusal>) {
        let name = wanted_file(server);
        let noted = match refused {
            Some(refused) => self.files.write(&name, &refused.scopes.join(" ")),
            None if self.files.read(&name).is_some() => self.files.remove(&name),
            None => return,
        };
        if let Err(error) = noted {
            tracing::warn!(%error, "the state of a login cannot be kept");
        }
    }

    /// The scopes that a server asked for when it refused the login that there was.
    fn wanted_scopes(&self, server: &PlacedServer) -> Vec<String> {
        let wanted = self.files.read(&wanted_file(server)).unwrap_or_default();
        wanted.split_whitespace().map(str::to_owned).collect()
    }
}

/// Where it is noted that a server wants a login.
fn wanted_file(server: &PlacedServer) -> String {
    LocalFiles::name("mcp-login-wanted", &server.entry.url)
}

impl Servers<'_> {
    pub fn login_state(self, server: &PlacedServer) -> LoginState {
        self.all().map_or(LoginState::None, |servers| servers.login_state(server))
    }

    /// Logs the user in to a server: finds its authorization server, waits for the user's consent in a browser, and keeps
    /// the tokens. `scopes`: those of the settings or of the server if there are none.
    pub async fn login(
        self,
        server: &PlacedServer,
        scopes: Vec<String>,
        prompt: &mut impl LoginPrompt,
    ) -> Result<LoggedIn, Problem> {
        let servers = self.all()?;
        let entry = &server.entry;
        if server.standing != ServerStanding::On {
            let off = super::McpError::NotConnected("It is not approved, or is switched off.".to_owned());
            return Err(unusable(server, &off));
        }
        let Some(file) = servers.login_file(server) else { return Err(no_login(server)) };
        let wrong = |why: String| Problem::new(ProblemKind::Network, format!("Cannot log in to {}: {why}", entry.name));
        let protected = ProtectedServer::find(&entry.url, &entry.headers).await.map_err(wrong)?;
        if let Some(origin) = protected.foreign_issuer() {
            confirmed(prompt, vec![origin]).await?;
        }
        let issuer = protected.authorization_server().await.map_err(wrong)?;
        let others = issuer.foreign_addresses(&protected);
        if !others.is_empty() {
            confirmed(prompt, others).await?;
        }
        let settings = &entry.login;
        let client = (!settings.client_id.is_empty()).then(|| OAuthClient {
            id: settings.client_id.clone(),
            secret: settings.client_secret.as_ref().map(|secret| secret.expose_secret().to_owned()),
        });
        let scopes = match scopes.is_empty() {
            false => scopes,
            true if !settings.scopes.is_empty() => settings.scopes.clone(),
            // What the server asked for last. A login with more scopes keeps those that were granted before.
            true => match servers.wanted_scopes(server) {
                wanted if wanted.is_empty() => Vec::new(),
                wanted => {
                    let known = file.read().map(|login| login.scopes().to_vec()).unwrap_or_default();
                    known.into_iter().filter(|scope| !wanted.contains(scope)).chain(wanted.clone()).collect()
                }
            },
        };
        let shown = issuer.shown();
        let is_registered = client.is_some();
        let begun = PendingLogin::begin(protected, issuer, client, scopes, settings.callback_port).await;
        let pending = begun.map_err(|why| match is_registered {
            true => wrong(why),
            false => wrong(why).hint(format!(
                "If it takes no new clients, create one there and set mcp.{}.client_id and mcp.{}.callback_port.",
                entry.name, entry.name
            )),
        })?;
        prompt.show(pending.address())?;
        let code = match timeout(LONGEST_CONSENT, consent(&pending, prompt)).await {
            Ok(code) => code.map_err(wrong)?,
            Err(_) => {
                return Err(wrong(format!(
                    "the browser did not return within {} min.",
                    LONGEST_CONSENT.as_secs() / 60
                )));
            }
        };
        let login = pending.finish(code).await.map_err(wrong)?;
        let logged_in = LoggedIn { scopes: login.scopes().to_vec() };
        // The trail has it first: what it cannot record must not be done.
        let about = json!({"server": entry.name, "at": shown, "scopes": logged_in.scopes});
        self.0.admin().tell_trail("mcp_login", about).await?;
        file.keep(login).await.map_err(|error| {
            Problem::new(ProblemKind::Settings, format!("Cannot save the login at {}: {error}.", entry.name))
                .hint("Check the permissions of the data folder.")
        })?;
        servers.note_login(server, None);
        servers.retry(server).await;
        Ok(logged_in)
    }

    /// Forgets the login at a server. `false`: there was none. The sentence says why the authorization server did not end it.
    pub async fn logout(self, server: &PlacedServer) -> Result<(bool, Option<String>), Problem> {
        let servers = self.all()?;
        let Some(file) = servers.login_file(server) else { return Err(no_login(server)) };
        let name = &server.entry.name;
        self.0.admin().tell_trail("mcp_logout", json!({"server": name})).await?;
        let forgotten = file.forget().await.map_err(|error| {
            Problem::new(ProblemKind::Settings, format!("Cannot remove the login at {name}: {error}."))
                .hint("Check the permissions of the data folder.")
        })?;
        if forgotten.0 {
            servers.note_login(server, Some(&LoginRefusal::default()));
        }
        Ok(forgotten)
    }
}

async fn confirmed(prompt: &mut impl LoginPrompt, origins: Vec<String>) -> Result<(), Problem> {
    match prompt.confirm(origins).await? {
        true => Ok(()),
        false => Err(Problem::new(ProblemKind::Usage, "The login was cancelled.").hint("Nothing was stored.")),
    }
}

/// The code, by way of the browser or of the user's clipboard.
async fn consent(pending: &PendingLogin, prompt: &mut impl LoginPrompt) -> Result<LoginCode, String> {
    let mut browser = std::pin::pin!(pending.wait());
    loop {
        tokio::select! {
            code = &mut browser => return code,
            line = prompt.pasted() => {
                if let Some(code) = pending.pasted(&line) {
                    return code;
                }
            }
        }
    }
}

fn no_login(server: &PlacedServer) -> Problem {
    let name = &server.entry.name;
    let problem = Problem::new(ProblemKind::Usage, format!("{name} takes no login."));
    match server.entry.argv.is_empty() {
        true => problem.hint("A login needs an https address, and no Authorization header in the entry."),
        false => problem.hint("It runs on this machine. Only servers at an address take a login."),
    }
}
