//! Git that runs nothing but itself. A repository's own settings name programs for many things: to watch
//! files, to filter and convert them, to show differences. Somebody who has only unpacked a folder has not
//! agreed to any of them, and a command that runs by itself was not looked at by anybody.

use std::path::Path;
use std::process::{Command, Stdio};

/// Settings that are in force whatever the repository says.
const SET: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
];

/// Variables that keep it from fetching what is missing, and from writing while it only looks.
const VARIABLES: &[(&str, &str)] =
    &[("GIT_ALLOW_PROTOCOL", "none"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_OPTIONAL_LOCKS", "0"), ("GIT_PAGER", "cat")];

/// Makes git harmless for a command that is about to be started in `cwd`. The names under which a repository
/// has programs are its own choice, so git is asked for them; that runs none.
pub(super) fn tame(command: &mut Command, cwd: &Path) {
    let names = names(cwd);
    let named = names.iter().filter_map(|name| Some((name.as_str(), neutral(name)?)));
    let all: Vec<(&str, &str)> = SET.iter().copied().chain(named).collect();
    command.env_remove("GIT_EXTERNAL_DIFF").env_remove("GIT_CONFIG_PARAMETERS");
    command.env("GIT_CONFIG_COUNT", all.len().to_string());
    for (number, (name, value)) in all.into_iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), name).env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    command.envs(VARIABLES.iter().copied());
}

/// What to set instead of a program. Differences cannot be shown by nobody: there git gives up instead, unless
/// it is told to show them itself.
fn neutral(name: &str) -> Option<&'static str> {
    let (section, last) = (name.split('.').next()?, name.rsplit('.').next()?);
    match (section, last) {
        ("diff", "textconv") => Some("cat"),
        ("diff", "command" | "external") => Some(""),
        ("filter", "clean" | "smudge" | "process") => Some(""),
        ("filter", "required") => Some("false"),
        _ => None,
    }
}

fn names(cwd: &Path) -> Vec<String> {
    #[expect(clippy::disallowed_methods, reason = "it is asked from behind the fences, and runs nothing else")]
    let mut git = Command::new("git");
    git.args(["config", "--list", "--name-only", "-z"]).current_dir(cwd).stdin(Stdio::null()).stderr(Stdio::null());
    let listed = git.output().map(|done| done.stdout).unwrap_or_default();
    let names = listed.split(|byte| *byte == 0).filter_map(|name| String::from_utf8(name.to_vec()).ok());
    names.filter(|name| neutral(name).is_some()).take(1000).collect()
}
