//! The address of a server of PostgreSQL, as `store.url` has it.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::super::StoreError;
use super::tls::{CertificateCheck, Tls};
use super::trouble::trouble;

/// A server that does not answer by then is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// For how long a connection may be silent before it is probed, and how often it is probed.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long sent bytes may stay without an answer of the other machine.
const UNANSWERED: Duration = Duration::from_secs(10);

/// Where the server is, and how to talk to it.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

impl Address {
    /// Reads `postgres://user:password@host:port/database?sslmode=verify-full`.
    pub(super) fn parse(url: &str) -> Result<Self, StoreError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut mode, mut roots, mut others) = (None, None, Vec::new());
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => roots = Some(decoded(value)?),
                // Here it would be shown wherever addresses are.
                Some(("password", _)) => return Err(invalid("the password belongs before the @")),
                _ => others.push(pair),
            }
        }
        let rest = if others.is_empty() { base.to_owned() } else { format!("{base}?{}", others.join("&")) };
        let mut config: Config = rest.parse().map_err(|error: tokio_postgres::Error| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            invalid(&why)
        })?;
        // The words of libpq. As there, `require` encrypts and checks nothing, unless a certificate is given.
        let (ssl, check) = match (mode.unwrap_or("prefer"), &roots) {
            ("disable", _) => (SslMode::Disable, CertificateCheck::Nothing),
            ("allow" | "prefer", _) => (SslMode::Prefer, CertificateCheck::Nothing),
            ("require", None) => (SslMode::Require, CertificateCheck::Nothing),
            ("require" | "verify-ca", _) => (SslMode::Require, CertificateCheck::Issuer),
            ("verify-full", _) => (SslMode::Require, CertificateCheck::IssuerAndName),
            (other, _) => return Err(invalid(&format!("unknown sslmode {other}"))),
        };
        config.ssl_mode(ssl);
        config.application_name("trimtab");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(KEEPALIVE_IDLE).keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_RETRIES).tcp_user_timeout(UNANSWERED);
        let tls = Tls::new(check, roots.map(PathBuf::from)).map_err(|why| {
            trouble(
                format!("TLS for store.url cannot be prepared: {why}"),
                "CertificateCheck sslmode and sslrootcert in store.url.",
            )
        })?;
        Ok(Self { config, tls })
    }

    /// The server in words, without the password.
    pub(super) fn place(&self) -> String {
        let hosts = self.config.get_hosts().iter().enumerate().map(|(at, host)| {
            let ports = self.config.get_ports();
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                #[cfg(unix)]
                Host::Unix(folder) => format!("{} (port {port})", folder.display()),
            }
        });
        hosts.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn user(&self) -> &str {
        self.config.get_user().unwrap_or("(none)")
    }
}

/// The address must not be shown: it may hold a password.
fn invalid(why: &str) -> StoreError {
    trouble(
        format!("store.url (TRIMTAB_STORE_URL) is not a valid address of PostgreSQL: {why}"),
        "Expected postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full",
    )
}

/// A value with its percent signs resolved.
fn decoded(text: &str) -> Result<String, StoreError> {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = if bytes[at] == b'%' { text.get(at + 1..at + 3) } else { None };
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(plain).map_err(|_| invalid("sslrootcert is not valid UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_libpq_are_understood_and_a_password_is_never_shown() {
        let address = Address::parse("postgres://ann:pa%20ss@db.example:6432/team?sslmode=disable").expect("valid");
        assert_eq!((address.place().as_str(), address.user()), ("db.example:6432", "ann"));
        assert_eq!(address.config.get_password(), Some(&b"pa ss"[..]));
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
        let options = Address::parse("postgres://a@h/d?options=-csearch_path%3Dx&sslmode=require").expect("valid");
        assert_eq!(options.config.get_options(), Some("-csearch_path=x"));
        assert_eq!(options.config.get_ssl_mode(), SslMode::Require);
        for bad in
            ["postgres://a:secret@h/d?sslmode=secure", "postgres://a:secret@h/d?x=1", "postgres://a:secret@h:x/d"]
        {
            let error = Address::parse(bad).err().expect("refused");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_certificate_that_cannot_be_read_is_named() {
        let error = Address::parse("postgres://a@h/d?sslmode=verify-ca&sslrootcert=/none%2Fhere.pem").err();
        assert!(error.expect("refused").to_string().contains("/none/here.pem"));
    }
}
