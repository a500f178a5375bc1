//! What a person reads before an MCP server may start.

use trimtab_host::{LoginState, PlacedServer, ServerSource};
use trimtab_vocab::format;

use super::command_line;

/// What stands behind a server's line about the user's login there.
pub(crate) fn login_mark(state: LoginState) -> &'static str {
    match state {
        LoginState::None => "",
        LoginState::Needed => "  login needed",
        LoginState::LoggedIn => "  logged in",
    }
}

/// The question whether a login may use hosts that are not the server's own.
pub(crate) fn foreign_login(server: &PlacedServer, origins: &[String]) -> String {
    let own = command_line(&server.entry.shown);
    format!("To log in to {} ({own}), Trimtab has to contact {}.", server.entry.name, format::list(origins))
}

/// Shown where the user has to open an address.
pub(crate) fn login_address(name: &str, address: &str) -> String {
    format!("Open this address in your browser to log in to {name}:\n\n  {address}\n")
}

/// The end of a login.
pub(crate) fn logged_in(name: &str, scopes: &[String]) -> String {
    match scopes.is_empty() {
        true => format!("Logged in to {name}."),
        false => format!("Logged in to {name}. Scopes: {}.", scopes.join(", ")),
    }
}

/// The host of an origin: `https://auth.example.org:8443` is `auth.example.org:8443`.
pub(crate) fn host_of(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, host)| host)
}

/// All that a person approves.
pub(crate) fn described(server: &PlacedServer) -> String {
    let entry = &server.entry;
    let of = match entry.source {
        ServerSource::Editor => "from your editor",
        _ => "from .mcp.json",
    };
    let mut lines = vec![format!("Server {} {of}:", entry.name)];
    let is_web = entry.argv.is_empty();
    let what = if is_web { "address:" } else { "command:" };
    lines.push(format!("  {what:<13} {}", command_line(&entry.shown)));
    let mut what = if is_web { "headers:" } else { "environment:" };
    // An editor fills in the values of its settings, secrets among them.
    let names = entry.given_names().into_iter().filter(|_| entry.source == ServerSource::Editor).map(str::to_owned);
    let written = entry.written.iter().map(|(name, value)| match is_web {
        true => format!("{name}: {value}"),
        false => format!("{name}={value}"),
    });
    for given in names.chain(written) {
        lines.push(format!("  {what:<13} {}", command_line(&given)));
        what = "";
    }
    if !entry.reads.is_empty() {
        lines.push(format!("  reads:        ${}", entry.reads.join(", $")));
    }
    if !entry.files.is_empty() {
        let files: Vec<String> = entry.files.iter().map(|file| command_line(&file.path).into()).collect();
        lines.push(format!("  files:        {}", files.join(", ")));
    }
    match entry.argv.is_empty() {
        true => lines.push("It receives what the model sends it, and its tools act outside the sandbox.".to_owned()),
        false => {
            lines.push("It runs as you, outside the sandbox, and can do everything that you can do.".to_owned());
            lines.push(
                "Other files that it loads, such as imported modules and node_modules, are not checked.".to_owned(),
            );
        }
    }
    lines.join("\n") + "\n"
}
