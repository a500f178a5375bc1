//! What a server says about its login (RFC 9728), and what its authorization server says about itself (RFC 8414, OpenID
//! Connect Discovery).

use reqwest::{StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde_json::json;

use super::challenge::AuthChallenge;
use super::{checked, document, origin, scopes_in, server_address, shown};
use crate::models::{http_client, is_loopback};

/// Authorization servers that are looked at.
const MOST_ISSUERS: usize = 8;

/// A server that wants a login, and who gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedServer {
    /// The address of the server.
    pub(super) url: Url,
    /// What tokens are issued for: the server's own name for itself.
    pub(super) resource: String,
    issuer: Url,
    /// The server names no authorization server, so that it is its own, by an older revision.
    is_own_issuer: bool,
    pub(super) scopes: Vec<String>,
}

/// What an authorization server says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationServer {
    pub(super) issuer: String,
    pub(super) authorization: Url,
    pub(super) token: Url,
    pub(super) registration: Option<Url>,
    pub(super) revocation: Option<Url>,
    pub(super) client_auth: Option<Vec<String>>,
    pub(super) names_itself: bool,
    pub(super) has_offline_access: bool,
}

#[derive(Debug, Default, Deserialize)]
struct ResourceDocument {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct IssuerDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    revocation_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl ProtectedServer {
    /// Asks a server where its login is. Only the server itself is contacted. `headers` go with the first request.
    pub async fn find(url: &str, headers: &[(String, SecretString)]) -> Result<Self, String> {
        let url = server_address(url)?;
        let (status, challenge) = probe(&url, headers).await?;
        let (described, is_named) = match &challenge.metadata {
            Some(named) => {
                let at = checked(named, is_loopback(&url))?;
                if at.origin() != url.origin() {
                    return Err(format!("The server describes its login at {}, which is not the server.", origin(&at)));
                }
                (document::<ResourceDocument>(&at).await?, true)
            }
            None => (first_document(&resource_documents(&url)).await?, false),
        };
        match described {
            Some(described) => Self::described(url, &challenge, described),
            None if is_named => Err("The server describes its login at an address where nothing is.".to_owned()),
            None if status != StatusCode::UNAUTHORIZED => {
                Err(format!("The server does not ask for a login (HTTP {}).", status.as_u16()))
            }
            None => {
                let issuer = checked(&origin(&url), is_loopback(&url))?;
                let resource = url.to_string();
                Ok(Self { url, resource, issuer, is_own_issuer: true, scopes: challenge.scopes })
            }
        }
    }

    fn described(url: Url, challenge: &AuthChallenge, described: ResourceDocument) -> Result<Self, String> {
        let resource = checked(&described.resource, is_loopback(&url))?;
        if !is_part(&url, &resource) {
            return Err(format!("The server describes the login of {}, which is another server.", shown(&resource)));
        }
        let named = described.authorization_servers.iter().take(MOST_ISSUERS);
        let issuer = match named.map(|text| checked(text, is_loopback(&url))).reduce(Result::or) {
            Some(issuer) => issuer?,
            None => checked(&origin(&url), is_loopback(&url))?,
        };
        let scopes = match challenge.scopes.is_empty() {
            true => scopes_in(&described.scopes_supported.join(" ")),
            false => challenge.scopes.clone(),
        };
        Ok(Self { url, resource: described.resource, issuer, is_own_issuer: false, scopes })
    }

    /// The origin of the authorization server, unless it is the server's own.
    pub fn foreign_issuer(&self) -> Option<String> {
        (self.issuer.origin() != self.url.origin()).then(|| origin(&self.issuer))
    }

    /// Reads what the authorization server says about itself.
    pub async fn authorization_server(&self) -> Result<AuthorizationServer, String> {
        match first_document::<IssuerDocument>(&issuer_documents(&self.issuer)).await? {
            Some(described) => self.checked_issuer(&described),
            None if self.is_own_issuer => self.usual_addresses(),
            None => Err(format!("{} does not describe a login.", shown(&self.issuer))),
        }
    }

    fn checked_issuer(&self, described: &IssuerDocument) -> Result<AuthorizationServer, String> {
        let is_local = is_loopback(&self.url);
        let named = checked(&described.issuer, is_local)?;
        let is_same = match self.is_own_issuer {
            // The older revision knows the origin only, and the issuer can be a part of it.
            true => named.origin() == self.issuer.origin(),
            false => named.as_str().trim_end_matches('/') == self.issuer.as_str().trim_end_matches('/'),
        };
        if !is_same {
            return Err(format!("{} calls itself {}.", shown(&self.issuer), shown(&named)));
        }
        if !described.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(format!("{} does not support PKCE with S256, so that a code could be stolen.", shown(&named)));
        }
        let optional = |text: &Option<String>| text.as_deref().map(|text| checked(text, is_local)).transpose();
        Ok(AuthorizationServer {
            issuer: described.issuer.clone(),
            authorization: checked(&described.authorization_endpoint, is_local)?,
            token: checked(&described.token_endpoint, is_local)?,
            registration: optional(&described.registration_endpoint)?,
            revocation: optional(&described.revocation_endpoint)?,
            client_auth: described.token_endpoint_auth_methods_supported.clone(),
            names_itself: described.authorization_response_iss_parameter_supported,
            has_offline_access: described.scopes_supported.iter().any(|scope| scope == "offline_access"),
        })
    }

    /// The addresses of a server of the revision 2025-03-26 that describes nothing.
    fn usual_addresses(&self) -> Result<AuthorizationServer, String> {
        let at = |path: &str| self.issuer.join(path).map_err(|_| "The address of the server is not valid.".to_owned());
        Ok(AuthorizationServer {
            issuer: origin(&self.issuer),
            authorization: at("/authorize")?,
            token: at("/token")?,
            registration: Some(at("/register")?),
            revocation: None,
            client_auth: None,
            names_itself: false,
            has_offline_access: false,
        })
    }
}

impl AuthorizationServer {
    /// The origins that the login uses besides the server's and its issuer's.
    pub fn foreign_addresses(&self, server: &ProtectedServer) -> Vec<String> {
        let known = [server.url.origin(), server.issuer.origin()];
        let all = [Some(&self.authorization), Some(&self.token), self.registration.as_ref(), self.revocation.as_ref()];
        let mut foreign: Vec<String> =
            all.into_iter().flatten().filter(|url| !known.contains(&url.origin())).map(origin).collect();
        foreign.sort();
        foreign.dedup();
        foreign
    }

    /// Where the user gives their consent.
    pub fn shown(&self) -> String {
        origin(&self.authorization)
    }
}

/// Sends a first message without a token, and reads the refusal.
async fn probe(url: &Url, headers: &[(String, SecretString)]) -> Result<(StatusCode, AuthChallenge), String> {
    let client = http_client(url.as_str()).map_err(|fault| fault.problem.message)?;
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "trimtab", "version": env!("CARGO_PKG_VERSION")},
    }});
    let mut request = client.post(url.clone()).header("Accept", "text/event-stream, application/json");
    for (name, value) in headers {
        request = request.header(name, value.expose_secret());
    }
    let request = request.header("Content-Type", "application/json").body(message.to_string());
    let sent = tokio::time::timeout(super::PATIENCE, request.send()).await;
    match sent {
        Ok(Ok(response)) => Ok((response.status(), AuthChallenge::of(&response))),
        Ok(Err(_)) => Err(format!("{} cannot be reached.", origin(url))),
        Err(_) => Err(format!("{} did not answer within {} s.", origin(url), super::PATIENCE.as_secs())),
    }
}

async fn first_document<T: serde::de::DeserializeOwned>(urls: &[Url]) -> Result<Option<T>, String> {
    for url in urls {
        if let Some(found) = document(url).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn resource_documents(url: &Url) -> Vec<Url> {
    well_known(url, "oauth-protected-resource")
}

/// Where an authorization server may describe itself, in the order of the protocol.
fn issuer_documents(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/').to_owned();
    let named = |name: &str| format!("/.well-known/{name}{path}");
    let mut paths = vec![named("oauth-authorization-server"), named("openid-configuration")];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    paths.iter().map(|path| with_path(issuer, path)).collect()
}

/// With the path of an address behind the well-known one, and then without it.
fn well_known(url: &Url, name: &str) -> Vec<Url> {
    let path = url.path().trim_end_matches('/');
    let mut urls = vec![with_path(url, &format!("/.well-known/{name}{path}"))];
    if !path.is_empty() {
        urls.push(with_path(url, &format!("/.well-known/{name}")));
    }
    urls
}

fn with_path(url: &Url, path: &str) -> Url {
    let mut other = url.clone();
    other.set_path(path);
    other.set_query(None);
    other
}

/// Whether an address is a resource, or below it.
fn is_part(url: &Url, resource: &Url) -> bool {
    let (path, whole) = (url.path(), resource.path().trim_end_matches('/'));
    let is_below = path.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    url.origin() == resource.origin() && is_below
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("an address")
    }

    fn texts(urls: &[Url]) -> Vec<&str> {
        urls.iter().map(Url::as_str).collect()
    }

    #[test]
    fn documents_are_looked_for_where_the_protocol_says() {
        assert_eq!(
            texts(&resource_documents(&url("https://a.example/public/mcp?x=1"))),
            [
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource"
            ]
        );
        assert_eq!(
            texts(&issuer_documents(&url("https://a.example/tenant1"))),
            [
                "https://a.example/.well-known/oauth-authorization-server/tenant1",
                "https://a.example/.well-known/openid-configuration/tenant1",
                "https://a.example/tenant1/.well-known/openid-configuration"
            ]
        );
        assert_eq!(
            texts(&issuer_documents(&url("https://a.example"))),
            [
                "https://a.example/.well-known/oauth-authorization-server",
                "https://a.example/.well-known/openid-configuration"
            ]
        );
    }

    #[test]
    fn a_server_speaks_only_for_itself() {
        let server = url("https://a.example/team/mcp");
        for own in
            ["https://a.example/team/mcp", "https://a.example/team/", "https://a.example/team", "https://a.example"]
        {
            assert!(is_part(&server, &url(own)), "{own}");
        }
        for other in [
            "https://a.example/team/mcp2",
            "https://a.example/te",
            "https://b.example/",
            "http://a.example/",
            "https://a.example:8443/",
        ] {
            assert!(!is_part(&server, &url(other)), "{other}");
        }
    }
}
