//! What can go wrong with a server of PostgreSQL, and what it means for a transaction and for the user.

use deadpool_postgres::{HookError, PoolError};
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::super::{ServerTrouble, StoreError};
use super::address::Address;

/// What an error means for the transaction in which it came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Another transaction was quicker. The same transaction may succeed at once.
    Conflict,
    /// The connection is gone, or the server is not there for the moment.
    Lost,
    /// It would fail again.
    Final,
}

pub(super) fn meaning(error: &Error) -> Meaning {
    let Some(code) = error.code() else {
        // Parameters and columns that do not fit are mistakes of ours; everything else is about the connection.
        let text = error.to_string();
        let is_ours = ["error serializing", "error deserializing", "invalid co", "expected ", "query returned"];
        return if is_ours.iter().any(|start| text.starts_with(start)) { Meaning::Final } else { Meaning::Lost };
    };
    match code {
        code if *code == SqlState::T_R_SERIALIZATION_FAILURE || *code == SqlState::T_R_DEADLOCK_DETECTED => {
            Meaning::Conflict
        }
        code if *code == SqlState::TOO_MANY_CONNECTIONS || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT => {
            Meaning::Lost
        }
        // 57P01, 57P02 and 57P03: it is shutting down, has crashed, or is starting up.
        code if code.code().starts_with("08") || code.code().starts_with("57P") => Meaning::Lost,
        _ => Meaning::Final,
    }
}

/// The error of an operation on a connection that was fine.
pub(super) fn store_error(error: &Error) -> StoreError {
    let text = sentence(error);
    match error.code() {
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full,
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::ReadOnly(text),
        Some(code) if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED => {
            StoreError::Corrupt(text)
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => trouble(
            format!("PostgreSQL does not allow this: {text}"),
            "Give the user of store.url the rights to create and use tables in its schema.",
        ),
        _ if meaning(error) == Meaning::Lost => trouble(
            format!("The connection to PostgreSQL was lost: {text}"),
            "Check the server, and run the command again. `trimtab doctor` tests the connection.",
        ),
        _ => trouble(format!("PostgreSQL reports an error: {text}"), "Run `trimtab doctor`."),
    }
}

/// Why no connection could be made, in words for the user.
pub(super) fn connect_error(error: &Error, address: &Address) -> StoreError {
    let (place, text) = (address.place(), sentence(error));
    let Some(code) = error.code() else {
        let kind = error.to_string();
        if kind.starts_with("error performing TLS") {
            return trouble(
                format!("The TLS connection to PostgreSQL at {place} failed: {text}"),
                "Check sslmode and sslrootcert in store.url. `sslmode=verify-full` needs a certificate for this host name.",
            );
        }
        if kind.starts_with("authentication error") || kind.starts_with("invalid conf") {
            return trouble(
                format!("Cannot sign in to PostgreSQL at {place}: {text}"),
                "Check the user and the password in store.url.",
            );
        }
        return trouble(
            format!("Cannot reach PostgreSQL at {place}: {text}"),
            "Start the server, or check the host and the port in store.url (TRIMTAB_STORE_URL).",
        );
    };
    let user = address.user();
    match code {
        code if *code == SqlState::INVALID_PASSWORD => trouble(
            format!("PostgreSQL at {place} rejected the password of user {user}"),
            "Check the user and the password in store.url.",
        ),
        code if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => trouble(
            format!("PostgreSQL at {place} does not let user {user} in: {text}"),
            "Check the user in store.url and the file pg_hba.conf of the server.",
        ),
        code if *code == SqlState::INVALID_CATALOG_NAME => trouble(
            format!("PostgreSQL at {place} has no such database: {text}"),
            "Create the database with `createdb`, or check its name in store.url.",
        ),
        code if *code == SqlState::TOO_MANY_CONNECTIONS => trouble(
            format!("PostgreSQL at {place} has no free connection: {text}"),
            "Raise max_connections of the server, or stop some processes. Each Trimtab process uses up to 9.",
        ),
        _ => trouble(format!("PostgreSQL at {place} refuses the connection: {text}"), "Check the server's log."),
    }
}

/// Why the pool has no connection to give, and what it means.
pub(super) fn pool_error(error: &PoolError, address: &Address) -> (Meaning, StoreError) {
    match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            (meaning(error), connect_error(error, address))
        }
        error => (
            Meaning::Lost,
            trouble(format!("PostgreSQL at {} gives no connection: {error}", address.place()), "Check the server."),
        ),
    }
}

pub(super) fn trouble(message: impl Into<String>, hint: &str) -> StoreError {
    StoreError::Server(ServerTrouble { message: message.into(), hint: hint.to_owned() })
}

/// The words of an error: the server's own if there are any, or the innermost cause.
fn sentence(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut inner: &dyn std::error::Error = error;
    while let Some(cause) = inner.source() {
        inner = cause;
    }
    inner.to_string()
}
