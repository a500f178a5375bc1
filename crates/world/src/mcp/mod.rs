//! MCP servers: connecting, listing what they offer, and calling tools. The protocol's types stay in this folder.
//!
//! Everything that a server sends is bounded and taken as data: a message, a list, a description, and what it writes to
//! its standard error.

mod asking;
mod connection;
mod http;
mod lines;
pub mod oauth;
mod offers;
mod results;
mod stderr;

use std::fmt;
use std::time::Duration;

use oauth::LoginFile;
use secrecy::SecretString;
use trimtab_vocab::ServerTool;
use trimtab_vocab::visible::is_hidden;

pub use asking::{AskedInput, CallAsker};
pub use connection::Connection;
pub use offers::OfferList;

use crate::sandbox::server::ServerProcess;

/// How long a server may take to start and to initialize.
pub const CONNECT: Duration = Duration::from_secs(30);
/// How long a call may go without an answer or a sign of progress.
pub const IDLE: Duration = Duration::from_secs(300);
/// How long it may take with signs of progress.
const LONGEST_CALL: Duration = Duration::from_secs(3_600);

/// Bytes of one message.
const LARGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// Tools of one server.
pub const MOST_TOOLS: usize = 512;
/// Bytes of all tools of one server.
const LARGEST_LIST: usize = 512 * 1024;
/// Pages of a list.
const MOST_PAGES: usize = 32;
/// Bytes of a tool's name, and of a description that is kept.
const LONGEST_NAME: usize = 128;
const LONGEST_DESCRIPTION: usize = 2_048;
/// Bytes of a tool's schema. A schema that is cut means something else, so a tool with a larger one is left out.
const LARGEST_SCHEMA: usize = 16 * 1024;

/// Where a server is.
#[derive(Debug, Clone)]
pub enum McpAddress {
    /// A process that reads standard input and writes standard output.
    Process(ServerProcess),
    /// A server that speaks HTTP.
    Http {
        url: String,
        /// Headers of every request. Their values may be secrets.
        headers: Vec<(String, SecretString)>,
        /// Where the login at the server is kept; absent: a header has the user's credentials.
        login: Option<LoginFile>,
    },
}

/// The tools of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolList {
    pub tools: Vec<ServerTool>,
    /// What was left out, and why: a sentence each.
    pub notes: Vec<String>,
}

/// What a call came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolAnswer {
    /// The server says that it failed.
    pub is_error: bool,
    pub text: String,
    /// Media type and base64 of each.
    pub images: Vec<(String, String)>,
    /// Media type and bytes of each.
    pub audio: Vec<(String, Vec<u8>)>,
}

/// How a server refuses a request for want of a login.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoginRefusal {
    /// The user has logged in, and the server wants more scopes than that.
    pub is_partial: bool,
    /// The scopes that it asks for.
    pub scopes: Vec<String>,
}

/// Why there is no answer. The message is a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpError {
    /// The server is not there, so nothing was done.
    NotConnected(String),
    /// The same, and the server has written something to its standard error.
    NotStarted {
        reason: String,
        /// The last line of it.
        output: String,
    },
    /// The server wants a login. Nothing was done.
    LoginNeeded(LoginRefusal),
    /// The server refused the call.
    Refused(String),
    /// The call was made, and nobody knows what came of it.
    Unknown(String),
}

impl McpError {
    /// The error without what the server wrote to its standard error, which differs from time to time.
    pub fn reason(&self) -> &str {
        match self {
            Self::NotConnected(text) | Self::Refused(text) | Self::Unknown(text) => text,
            Self::NotStarted { reason, .. } => reason,
            Self::LoginNeeded(LoginRefusal { is_partial: false, .. }) => "The server needs a login.",
            Self::LoginNeeded(_) => "The server needs a login with more permissions.",
        }
    }
}

impl fmt::Display for McpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted { reason, output } => write!(f, "{reason} Its last output: {output}"),
            error => f.write_str(error.reason()),
        }
    }
}

impl std::error::Error for McpError {}

/// A text of a server without characters that steer a terminal or hide words from people, cut to `most` bytes.
fn plain(text: &str, most: usize) -> String {
    let is_kept = |c: &char| (!c.is_control() || matches!(c, '\n' | '\t')) && !is_hidden(*c);
    let mut kept: String = text.chars().filter(is_kept).collect();
    if kept.len() > most {
        kept.truncate(kept.floor_char_boundary(most));
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_servers_hide_nothing_and_are_bounded() {
        assert_eq!(plain("a\u{1b}[31mb\u{200b}c\u{e0041}\nd", 100), "a[31mbc\nd");
        assert_eq!(plain("äöü", 3), "ä…");
    }
}
