//! Where a command works, and with which settings.

use std::path::{Path, PathBuf};

use trimtab_host::Client;
use trimtab_host::config::{self, Flag, Profile};
use trimtab_vocab::{Problem, ProblemKind};

/// The folder, checked and with its one true name.
pub(super) fn folder(given: Option<&Path>) -> Result<String, Problem> {
    let path = given.map_or_else(|| PathBuf::from("."), Path::to_owned);
    let wrong = |what: &str| {
        Problem::new(ProblemKind::Usage, format!("The folder {} {what}.", path.display()))
            .hint("Name an existing folder with --dir, or change into it.")
    };
    let real = path.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => wrong("does not exist"),
        std::io::ErrorKind::PermissionDenied => wrong("may not be entered"),
        _ => wrong(&format!("cannot be used: {error}")),
    })?;
    if !real.is_dir() {
        return Err(wrong("is not a folder"));
    }
    real.into_os_string().into_string().map_err(|_| wrong("has a name that is not valid UTF-8"))
}

/// The settings in force and a client that uses them.
pub(super) fn open(flags: &[Flag]) -> Result<(Profile, Client), Problem> {
    let profile = config::load(flags)?;
    let client = Client::open(&profile)?;
    Ok((profile, client))
}
