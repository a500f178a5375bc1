//! Access to the server: named tokens, of which only hashes are stored.

use serde_json::json;
use trimtab_vocab::{Problem, ProblemKind, Time};
use trimtab_world::clock;
use trimtab_world::store::{self, StoreError, TokenKind, TokenRow};

use crate::client::store_problem;
use crate::handles::Admin;

/// How long a link for logging in is good for.
const LOGIN_MS: i64 = 15 * 60 * 1000;
/// How long a browser stays logged in.
const BROWSER_MS: i64 = 30 * 24 * 60 * 60 * 1000;
/// Names end up in lists.
const LONGEST_NAME: usize = 64;

/// Marks our secrets, so that scanners for leaked ones can find them.
const PREFIX: &str = "tt_";

fn fresh() -> Result<String, Problem> {
    let none = || {
        Problem::new(ProblemKind::Internal, "Cannot create a token: the system provides no random numbers.")
            .hint("Check that /dev/urandom or getrandom(2) works.")
    };
    Ok(format!("{PREFIX}{}", clock::secret().ok_or_else(none)?))
}

fn hash_of(secret: &str) -> String {
    store::hash(secret.as_bytes())
}

fn later(now: Time, millis: i64) -> Option<Time> {
    Some(Time::from_millis(now.millis().saturating_add(millis)))
}

/// Letters of a code that a person types.
const CODE: usize = 8;

/// A code that a person reads in one place and types in another: `4f2a-91bc`.
pub fn confirmation_code() -> Result<String, Problem> {
    let secret = fresh()?;
    let digits: String = secret.trim_start_matches(PREFIX).chars().take(CODE).collect();
    let (first, second) = digits.split_at(CODE / 2);
    Ok(format!("{first}-{second}"))
}

impl Admin<'_> {
    /// Makes a token for a program. The secret is given once and kept nowhere.
    pub async fn add_token(self, name: &str) -> Result<String, Problem> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
        if name.is_empty() || name.len() > LONGEST_NAME || name.trim() != name || !name.chars().all(is_plain) {
            return Err(Problem::new(ProblemKind::Usage, format!("Invalid token name {name:?}."))
                .hint("Use 1 to 64 letters, digits, spaces, or -_. For example: trimtab token add backup-script"));
        }
        let taken = || {
            Problem::new(ProblemKind::Usage, format!("A token named {name} already exists."))
                .hint("Choose another name, or revoke it first: trimtab token revoke NAME")
        };
        if self.has_token(name).await? {
            return Err(taken());
        }
        self.tell_trail("token_added", json!({"token": name})).await?;
        let (secret, created) = (fresh()?, self.0.clock().now());
        let row = TokenRow { name: name.to_owned(), kind: TokenKind::Program, created, expires: None };
        self.0.store().add_token(&hash_of(&secret), row).await.map_err(|error| match error {
            StoreError::Taken => taken(),
            other => store_problem(other),
        })?;
        Ok(secret)
    }

    /// Makes a secret that one browser can log in with, once and soon.
    pub async fn add_login(self) -> Result<String, Problem> {
        let (secret, created) = (fresh()?, self.0.clock().now());
        let name = format!("login-{}", &hash_of(&secret)[..12]);
        let row = TokenRow { name, kind: TokenKind::Login, created, expires: later(created, LOGIN_MS) };
        self.0.store().add_token(&hash_of(&secret), row).await.map_err(store_problem)?;
        Ok(secret)
    }

    /// Exchanges a login secret: the secret for the browser's cookie, and its lifetime in seconds.
    pub async fn log_in(self, login: &str) -> Result<Option<(String, i64)>, Problem> {
        let (secret, created) = (fresh()?, self.0.clock().now());
        let name = format!("browser-{}", &hash_of(&secret)[..12]);
        let row = TokenRow { name, kind: TokenKind::Browser, created, expires: later(created, BROWSER_MS) };
        let exchanged = self.0.store().exchange_token(&hash_of(login), &hash_of(&secret), row).await;
        Ok(exchanged.map_err(store_problem)?.then_some((secret, BROWSER_MS / 1000)))
    }

    /// The token with this secret, if it grants access.
    pub async fn find_token(self, secret: &str) -> Result<Option<TokenRow>, Problem> {
        if !secret.starts_with(PREFIX) {
            return Ok(None);
        }
        let row = self.0.store().token(&hash_of(secret)).await.map_err(store_problem)?;
        let now = self.0.clock().now();
        Ok(row.filter(|row| row.kind != TokenKind::Login && row.holds(now)))
    }

    /// All tokens, without their secrets; those that have expired are left out.
    pub async fn tokens(self) -> Result<Vec<TokenRow>, Problem> {
        let now = self.0.clock().now();
        let rows = self.0.store().tokens().await.map_err(store_problem)?;
        Ok(rows.into_iter().filter(|row| row.holds(now)).collect())
    }

    /// Revokes a token. The trail has it first, because nothing may happen without a line; so a name that no token has
    /// is refused before that.
    pub async fn revoke_token(self, name: &str) -> Result<(), Problem> {
        let unknown = || {
            Problem::new(ProblemKind::NotFound, format!("Unknown token {name}."))
                .hint("`trimtab token list` lists all tokens.")
        };
        if !self.has_token(name).await? {
            return Err(unknown());
        }
        self.tell_trail("token_revoked", json!({"token": name})).await?;
        match self.0.store().revoke_token(name).await.map_err(store_problem)? {
            true => Ok(()),
            false => Err(unknown()),
        }
    }

    async fn has_token(self, name: &str) -> Result<bool, Problem> {
        Ok(self.tokens().await?.iter().any(|row| row.name == name))
    }
}
