//! One login, from the consent of the user to the tokens.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};

use super::callback::{CallbackListener, Expected, read_code};
use super::documents::{AuthorizationServer, ProtectedServer};
use super::stored::StoredLogin;
use super::tokens::{self, KnownClient, TokenError};

/// A client that the user has registered with an authorization server.
#[derive(Debug, Clone, Default)]
pub struct OAuthClient {
    pub id: String,
    pub secret: Option<String>,
}

/// A code that can be exchanged for tokens, once.
#[derive(Debug)]
pub struct LoginCode(pub(super) SecretString);

/// A login that waits for the user.
pub struct PendingLogin {
    server: ProtectedServer,
    issuer: AuthorizationServer,
    client: KnownClient,
    listener: CallbackListener,
    expected: Expected,
    verifier: SecretString,
    scopes: Vec<String>,
    address: String,
}

impl PendingLogin {
    /// Makes everything ready: `client` is the user's own, or one is registered. `scopes`: empty for those that the server
    /// asks for. `port` 0: any that is free.
    pub async fn begin(
        server: ProtectedServer,
        issuer: AuthorizationServer,
        client: Option<OAuthClient>,
        scopes: Vec<String>,
        port: u16,
    ) -> Result<Self, String> {
        let mut scopes = if scopes.is_empty() { server.scopes.clone() } else { scopes };
        if issuer.has_offline_access && !scopes.iter().any(|scope| scope == "offline_access") && !scopes.is_empty() {
            scopes.push("offline_access".to_owned());
        }
        let listener = CallbackListener::open(port).await?;
        let client = match client {
            Some(client) => client.known_at(&issuer)?,
            None => tokens::register(&issuer, &listener.address, &scopes).await?,
        };
        let (verifier, state) = (random()?, random()?);
        let challenge = URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()));
        let mut address = issuer.authorization.clone();
        address
            .query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", &client.id)
            .append_pair("redirect_uri", &listener.address)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("state", &state)
            .append_pair("resource", &server.resource);
        if !scopes.is_empty() {
            address.query_pairs_mut().append_pair("scope", &scopes.join(" "));
        }
        let expected = Expected { state, issuer: issuer.issuer.clone(), names_itself: issuer.names_itself };
        let (verifier, address) = (verifier.into(), address.to_string());
        Ok(Self { server, issuer, client, listener, expected, verifier, scopes, address })
    }

    /// Where the user gives their consent, in a browser. It has no character outside of ASCII.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Waits until the browser comes back.
    pub async fn wait(&self) -> Result<LoginCode, String> {
        self.listener.wait(&self.expected).await
    }

    /// The same from an address that the user copied from a browser on another machine; nothing if it is not about this
    /// login.
    pub fn pasted(&self, address: &str) -> Option<Result<LoginCode, String>> {
        let (_, query) = address.trim().split_once('?')?;
        read_code(query, &self.expected)
    }

    /// Exchanges the code.
    pub async fn finish(self, code: LoginCode) -> Result<StoredLogin, String> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.0.expose_secret()),
            ("redirect_uri", self.listener.address.as_str()),
            ("code_verifier", self.verifier.expose_secret()),
            ("resource", self.server.resource.as_str()),
        ];
        let issued = tokens::request_tokens(&self.issuer.token, &self.client, &fields).await;
        let issued = issued.map_err(|error| match error {
            TokenError::Ended(why) | TokenError::Failed(why) => why,
        })?;
        Ok(StoredLogin::new(&self.server, &self.issuer, self.client, self.scopes, issued))
    }
}

impl AuthorizationServer {
    pub(super) fn issuer_shown(&self) -> String {
        super::origin(&self.token)
    }
}

/// 256 random bits in letters.
fn random() -> Result<String, String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|_| "This machine has no random numbers for the login.".to_owned())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
