//! Logins that are kept, in a private file each, and their tokens.

use std::fmt;
use std::io;

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::checked;
use super::documents::{AuthorizationServer, ProtectedServer};
use super::tokens::{self, ClientAuth, IssuedTokens, KnownClient, TokenError};
use crate::clock::{Clock as _, SystemClock};
use crate::models::is_loopback;
use crate::store::LocalFiles;

/// A token that ends so soon is refreshed before it is used.
const SOON_MS: i64 = 30_000;

/// A login at one server.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredLogin {
    /// The address that the tokens are sent to, and no other.
    url: String,
    resource: String,
    issuer: String,
    token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revocation_endpoint: Option<String>,
    client_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    #[serde(default)]
    client_auth: ClientAuth,
    pub(super) access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    #[serde(default)]
    scopes: Vec<String>,
}

impl fmt::Debug for StoredLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredLogin").field("url", &self.url).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl StoredLogin {
    pub(super) fn new(
        server: &ProtectedServer,
        issuer: &AuthorizationServer,
        client: KnownClient,
        asked: Vec<String>,
        issued: IssuedTokens,
    ) -> Self {
        let KnownClient { id, secret, auth } = client;
        Self {
            url: server.url.to_string(),
            resource: server.resource.clone(),
            issuer: issuer.issuer.clone(),
            token_endpoint: issuer.token.to_string(),
            revocation_endpoint: issuer.revocation.as_ref().map(Url::to_string),
            client_id: id,
            client_secret: secret,
            client_auth: auth,
            access_token: issued.access,
            refresh_token: issued.refresh,
            expires_at: issued.expires_at,
            // By the protocol, a server that names none has granted what was asked for.
            scopes: issued.scopes.unwrap_or(asked),
        }
    }

    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    pub(super) fn client(&self) -> KnownClient {
        KnownClient { id: self.client_id.clone(), secret: self.client_secret.clone(), auth: self.client_auth }
    }

    pub(super) fn revocation(&self) -> Result<Option<Url>, String> {
        self.revocation_endpoint.as_deref().map(|text| checked(text, self.is_local())).transpose()
    }

    fn is_local(&self) -> bool {
        Url::parse(&self.url).is_ok_and(|url| is_loopback(&url))
    }

    fn is_stale(&self) -> bool {
        self.expires_at.is_some_and(|time| time - SOON_MS <= SystemClock.now().millis())
    }

    /// The same login with new tokens.
    async fn refreshed(&self) -> Result<Self, TokenError> {
        let Some(refresh) = &self.refresh_token else {
            return Err(TokenError::Ended("It cannot be refreshed.".to_owned()));
        };
        let url = checked(&self.token_endpoint, self.is_local()).map_err(TokenError::Failed)?;
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh), ("resource", &self.resource)];
        let issued = tokens::request_tokens(&url, &self.client(), &fields).await?;
        Ok(Self {
            access_token: issued.access,
            refresh_token: issued.refresh.or_else(|| self.refresh_token.clone()),
            expires_at: issued.expires_at,
            scopes: issued.scopes.unwrap_or_else(|| self.scopes.clone()),
            ..self.clone()
        })
    }
}

/// Why there is no token to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::mcp) enum NoToken {
    /// Nobody has logged in, or the login has ended.
    LoggedOut,
    /// The authorization server cannot be asked now: a sentence.
    Failed(String),
}

/// Where the login at one server is kept. Processes on one data folder share it.
#[derive(Debug, Clone)]
pub struct LoginFile {
    files: LocalFiles,
    url: String,
    name: String,
}

impl LoginFile {
    /// The file for a server's address; none for an address that tokens are never sent to.
    pub fn of(files: &LocalFiles, url: &str) -> Option<Self> {
        let url = super::server_address(url).ok()?.to_string();
        Some(Self { name: LocalFiles::name("mcp-login", &url), files: files.clone(), url })
    }

    pub fn read(&self) -> Option<StoredLogin> {
        let login: StoredLogin = serde_json::from_str(&self.files.read(&self.name)?).ok()?;
        (login.url == self.url).then_some(login)
    }

    /// Keeps a login in the place of the one before.
    pub async fn keep(&self, login: StoredLogin) -> io::Result<()> {
        let (lock, file) = (self.lock().await?, self.clone());
        tokio::task::spawn_blocking(move || {
            let kept = file.write(&login);
            drop(lock);
            kept
        })
        .await?
    }

    /// Forgets the login, after the authorization server was asked to end it. What went wrong there is a sentence.
    pub async fn forget(&self) -> io::Result<(bool, Option<String>)> {
        let _lock = self.lock().await?;
        let Some(login) = self.read() else {
            self.files.remove(&self.name)?;
            return Ok((false, None));
        };
        self.files.remove(&self.name)?;
        Ok((true, tokens::revoke(&login).await.err()))
    }

    /// A token to send. `refused`: one that the server did not take.
    pub(in crate::mcp) async fn token(&self, refused: Option<&str>) -> Result<SecretString, NoToken> {
        let is_good = |login: &StoredLogin| !login.is_stale() && refused != Some(login.access_token.as_str());
        let known = self.read().ok_or(NoToken::LoggedOut)?;
        if is_good(&known) {
            return Ok(known.access_token.into());
        }
        let _lock = self.lock().await.map_err(|error| NoToken::Failed(format!("Cannot lock the login: {error}.")))?;
        // Another process may have refreshed it meanwhile, and a refresh token is good for one time only.
        let known = self.read().ok_or(NoToken::LoggedOut)?;
        if is_good(&known) {
            return Ok(known.access_token.into());
        }
        match known.refreshed().await {
            Ok(login) => {
                self.write(&login).map_err(|error| NoToken::Failed(format!("Cannot save the login: {error}.")))?;
                Ok(login.access_token.into())
            }
            Err(TokenError::Ended(_)) => {
                // It would be refused each time. A token that cannot be refreshed may be refused for another reason.
                if known.refresh_token.is_some() {
                    let _ = self.files.remove(&self.name);
                }
                Err(NoToken::LoggedOut)
            }
            Err(TokenError::Failed(why)) => Err(NoToken::Failed(why)),
        }
    }

    fn write(&self, login: &StoredLogin) -> io::Result<()> {
        self.files.write(&self.name, &serde_json::to_string(login).map_err(io::Error::other)?)
    }

    async fn lock(&self) -> io::Result<std::fs::File> {
        let (files, name) = (self.files.clone(), self.name.clone());
        tokio::task::spawn_blocking(move || files.lock(&name)).await?
    }
}
