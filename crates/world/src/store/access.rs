//! Access to the server: what the store has of tokens.
//!
//! A token is 256 random bits, so a plain hash reveals nothing. Only the hash is stored.

use trimtab_vocab::Time;

/// The purpose of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A program shows it with every request.
    Program,
    /// A browser's cookie.
    Browser,
    /// It is exchanged for a cookie, once.
    Login,
}

impl TokenKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Browser => "browser",
            Self::Login => "login",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Program, Self::Browser, Self::Login].into_iter().find(|kind| kind.name() == name)
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// Its name, which is unique.
    pub name: String,
    /// Its purpose.
    pub kind: TokenKind,
    /// When it was made.
    pub created: Time,
    /// From when on it is worth nothing.
    pub expires: Option<Time>,
}

impl TokenRow {
    /// Whether it is still worth something.
    pub fn holds(&self, now: Time) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}
