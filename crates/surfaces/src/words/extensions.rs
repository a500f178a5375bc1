//! The extensions of a folder in lines.

use trimtab_host::{Extension, Extensions};

use super::one_line;

/// Shown if there are none.
const NONE: &str =
    "There are no extensions. MCP servers, skills, agents, commands, hooks, and AGENTS.md files are listed here.";
/// Shown for a folder that is not trusted.
const UNTRUSTED: &str = "The folder is not trusted, so Trimtab reads nothing in it (`trimtab trust`).";

/// All of them, a line each, with the reasons below.
pub(crate) fn extensions(found: &Extensions) -> String {
    let mut lines: Vec<String> = found.list.iter().map(line).collect();
    if lines.is_empty() {
        lines.push(NONE.to_owned());
    }
    if !found.trusted {
        lines.push(UNTRUSTED.to_owned());
    }
    lines.extend(found.problems.iter().map(|problem| one_line(problem)));
    lines.join("\n")
}

fn line(extension: &Extension) -> String {
    let Extension { kind, name, description: _, state, source, origin, reasons } = extension;
    let (kind, state) = (kind.name(), state.name());
    let mut text = format!("{kind:<12} {:<24} {state:<8} {source:<8} {}", one_line(name), one_line(origin));
    for reason in reasons {
        text.push_str(&format!("\n             {}", one_line(reason)));
    }
    text
}
