//! Where a command works, and with which settings.

use std::path::{Path, PathBuf};

use trimtab_host::Client;
use trimtab_host::config::{self, Flag, Profile};
use trimtab_vocab::{Problem, ProblemKind};

use super::output::{note, show_thinking};

/// The folder, checked and with its one true name.
pub(super) fn folder(given: Option<&Path>) -> Result<String, Problem> {
    let path = given.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let name = path.display();
    let wrong = |what: String| {
        Problem::new(ProblemKind::Usage, format!("{what}.")).hint("Name an existing folder, or change into it first.")
    };
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong(format!("The folder {name} does not exist")),
        std::io::ErrorKind::PermissionDenied => wrong(format!("Cannot enter the folder {name}")),
        _ => wrong(format!("The folder {name} cannot be used: {error}")),
    })?;
    if !real.is_dir() {
        return Err(wrong(format!("{name} is not a folder")));
    }
    real.into_os_string()
        .into_string()
        .map_err(|_| wrong(format!("The folder {name} has a name that is not valid UTF-8")))
}

/// The settings in force and a client that uses them. A variable that was probably meant to be a setting is named.
pub(super) fn open(flags: &[Flag]) -> Result<(Profile, Client), Problem> {
    let profile = config::load(flags)?;
    for (stray, meant) in
        profile.stray_variables().iter().filter_map(|name| Some((name, config::variable_meant(name)?)))
    {
        note(&format!("note: Ignored unknown setting {stray}. Did you mean {meant}?"));
    }
    show_thinking(profile.tui.shows_thinking);
    let client = Client::open(&profile)?;
    Ok((profile, client))
}
