//! Requests to an authorization server: a client of our own (RFC 7591), tokens, and their end (RFC 7009).

use base64::Engine as _;
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::documents::AuthorizationServer;
use super::login::OAuthClient;
use super::stored::StoredLogin;
use super::{LONGEST_ID, LONGEST_TOKEN, answered, foreign, origin, scopes_in};
use crate::clock::{Clock as _, SystemClock};
use crate::models::http_client;

/// How a client shows at the token endpoint that it is the one it says it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientAuth {
    #[default]
    None,
    ClientSecretPost,
    ClientSecretBasic,
}

/// A client that an authorization server knows.
#[derive(Clone)]
pub(super) struct KnownClient {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    pub(super) auth: ClientAuth,
}

/// Why there are no tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenError {
    /// The authorization server says that the grant or the client is not valid, or no longer: a sentence.
    Ended(String),
    /// Anything else: a sentence.
    Failed(String),
}

/// Tokens as they were issued.
pub(super) struct IssuedTokens {
    pub(super) access: String,
    pub(super) refresh: Option<String>,
    /// In milliseconds since 1970.
    pub(super) expires_at: Option<i64>,
    pub(super) scopes: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TokenAnswer {
    access_token: Option<String>,
    token_type: Option<String>,
    refresh_token: Option<String>,
    expires_in: Option<serde_json::Value>,
    scope: Option<String>,
    error: Option<String>,
    error_description: Option<String>,
}

#[derive(Deserialize)]
struct RegistrationAnswer {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<ClientAuth>,
}

impl OAuthClient {
    /// The client of the settings, as the authorization server wants to see it.
    pub(super) fn known_at(self, server: &AuthorizationServer) -> Result<KnownClient, String> {
        let auth = if self.secret.is_some() { with_secret(server) } else { ClientAuth::None };
        if self.id.is_empty() || self.id.len() > LONGEST_ID || self.id.contains(char::is_control) {
            return Err("The client ID of the settings is not valid.".to_owned());
        }
        Ok(KnownClient { id: self.id, secret: self.secret, auth })
    }
}

/// Registers a client for one address of this machine.
pub(super) async fn register(
    server: &AuthorizationServer,
    callback: &str,
    scopes: &[String],
) -> Result<KnownClient, String> {
    let Some(url) = &server.registration else {
        return Err(format!("{} does not register clients automatically.", server.issuer_shown()));
    };
    let takes = |method: &str| server.client_auth.as_ref().is_none_or(|all| all.iter().any(|one| one == method));
    let wanted = if takes("none") { ClientAuth::None } else { with_secret(server) };
    let mut request = json!({
        "client_name": "Trimtab",
        "redirect_uris": [callback],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": wanted,
    });
    if !scopes.is_empty() {
        request["scope"] = json!(scopes.join(" "));
    }
    let client = http_client(url.as_str()).map_err(|fault| fault.problem.message)?;
    let sent = client.post(url.clone()).header("Content-Type", "application/json").body(request.to_string());
    let (status, body) = answered(sent, url).await?;
    if !status.is_success() {
        return Err(format!("{} refused to register a client: {}.", origin(url), refusal(status, &body)));
    }
    let wrong = || format!("The client that {} registered is not valid.", origin(url));
    let answer: RegistrationAnswer = serde_json::from_slice(&body).map_err(|_| wrong())?;
    let RegistrationAnswer { client_id: id, client_secret, token_endpoint_auth_method } = answer;
    let secret = client_secret.filter(|secret| !secret.is_empty());
    let is_fit = |text: &str, most: usize| !text.is_empty() && text.len() <= most && !text.contains(char::is_control);
    if !is_fit(&id, LONGEST_ID) || secret.as_ref().is_some_and(|secret| !is_fit(secret, LONGEST_TOKEN)) {
        return Err(wrong());
    }
    let auth = match (&secret, token_endpoint_auth_method) {
        (None, _) => ClientAuth::None,
        (Some(_), Some(auth)) => auth,
        (Some(_), None) => with_secret(server),
    };
    Ok(KnownClient { id, secret, auth })
}

/// How a secret is sent: as the authorization server likes it.
fn with_secret(server: &AuthorizationServer) -> ClientAuth {
    let takes = |method: &str| server.client_auth.as_ref().is_some_and(|all| all.iter().any(|one| one == method));
    match takes("client_secret_post") {
        // In the form where both are taken: servers of the official Python library revoke no token otherwise.
        true => ClientAuth::ClientSecretPost,
        // By RFC 8414, this holds where nothing is said.
        false => ClientAuth::ClientSecretBasic,
    }
}

/// Asks for tokens.
pub(super) async fn request_tokens(
    url: &Url,
    client: &KnownClient,
    fields: &[(&str, &str)],
) -> Result<IssuedTokens, TokenError> {
    let (status, body) = post_form(url, client, fields).await.map_err(TokenError::Failed)?;
    let answer = serde_json::from_slice::<TokenAnswer>(&body).ok();
    if let Some(error) = answer.as_ref().and_then(|answer| answer.error.as_deref()) {
        let about = answer.as_ref().and_then(|answer| answer.error_description.as_deref()).unwrap_or_default();
        let about = if about.is_empty() { String::new() } else { format!(": {}", foreign(about)) };
        let told = format!("{} refused: {}{about}.", origin(url), foreign(error));
        return Err(match error {
            "invalid_grant" | "invalid_client" | "unauthorized_client" => TokenError::Ended(told),
            _ => TokenError::Failed(told),
        });
    }
    if !status.is_success() {
        return Err(TokenError::Failed(format!("{} answered with HTTP {}.", origin(url), status.as_u16())));
    }
    let wrong = || TokenError::Failed(format!("The tokens of {} are not valid.", origin(url)));
    let answer = answer.ok_or_else(wrong)?;
    let is_bearer = answer.token_type.as_deref().is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    let is_token = |token: &String| {
        !token.is_empty() && token.len() <= LONGEST_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic())
    };
    let access = answer.access_token.filter(is_token).filter(|_| is_bearer).ok_or_else(wrong)?;
    let seconds = answer.expires_in.as_ref().and_then(|given| match given {
        serde_json::Value::String(text) => text.parse::<i64>().ok(),
        given => given.as_f64().map(|seconds| seconds as i64),
    });
    let expires_at =
        seconds.map(|seconds| SystemClock.now().millis().saturating_add(seconds.clamp(0, 1 << 40) * 1_000));
    Ok(IssuedTokens {
        access,
        refresh: answer.refresh_token.filter(is_token),
        expires_at,
        scopes: answer.scope.map(|scope| scopes_in(&scope)),
    })
}

/// Ends tokens at the authorization server, if it takes that.
pub(super) async fn revoke(login: &StoredLogin) -> Result<(), String> {
    let (Some(url), client) = (login.revocation()?, login.client()) else { return Ok(()) };
    let token = login.refresh_token.as_ref().unwrap_or(&login.access_token);
    let (status, _) = post_form(&url, &client, &[("token", token)]).await?;
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("{} answered with HTTP {}.", origin(&url), status.as_u16())),
    }
}

async fn post_form(
    url: &Url,
    client: &KnownClient,
    fields: &[(&str, &str)],
) -> Result<(reqwest::StatusCode, Vec<u8>), String> {
    let mut form = Url::parse("http://127.0.0.1/").map_err(|error| error.to_string())?;
    form.query_pairs_mut().extend_pairs(fields);
    let http = http_client(url.as_str()).map_err(|fault| fault.problem.message)?;
    let mut request = http
        .post(url.clone())
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Accept", "application/json");
    match (client.auth, &client.secret) {
        (ClientAuth::ClientSecretBasic, Some(secret)) => {
            // Some look for the ID in the form nevertheless.
            form.query_pairs_mut().append_pair("client_id", &client.id);
            let pair = format!("{}:{}", form_encoded(&client.id), form_encoded(secret));
            let coded = base64::engine::general_purpose::STANDARD.encode(pair);
            let mut value =
                http::HeaderValue::from_str(&format!("Basic {coded}")).map_err(|error| error.to_string())?;
            value.set_sensitive(true);
            request = request.header(http::header::AUTHORIZATION, value);
        }
        (ClientAuth::ClientSecretPost, Some(secret)) => {
            form.query_pairs_mut().append_pair("client_id", &client.id).append_pair("client_secret", secret);
        }
        _ => drop(form.query_pairs_mut().append_pair("client_id", &client.id)),
    }
    answered(request.body(form.query().unwrap_or_default().to_owned()), url).await
}

fn form_encoded(text: &str) -> String {
    let mut url = Url::parse("http://127.0.0.1/").expect("a constant address is valid");
    url.query_pairs_mut().append_key_only(text);
    url.query().unwrap_or_default().to_owned()
}

/// Why an authorization server refused, as far as it says so.
fn refusal(status: reqwest::StatusCode, body: &[u8]) -> String {
    let answer: Option<TokenAnswer> = serde_json::from_slice(body).ok();
    let words = answer.and_then(|answer| answer.error_description.or(answer.error));
    match words {
        Some(words) => foreign(&words),
        None => format!("HTTP {}", status.as_u16()),
    }
}
