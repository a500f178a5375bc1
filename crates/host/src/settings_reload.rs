//! Reloads the lists of commands and instruction files when the settings change. A user who adds a command to the
//! list while a request runs wants it to apply to this request, too.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use trimtab_vocab::{Lists, Problem, Time};

use crate::config::{self, Profile};

/// By what a file is known to be the same as before.
pub(crate) type SettingsStamp = Option<(SystemTime, u64)>;

/// What was last read, and for which folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct LastRead {
    files: [SettingsStamp; 2],
    trusted: bool,
}

/// The lists of the settings for a folder, if they may have changed since a request was made. Only an edit changes
/// them: a process that takes over a request may have other environment variables. Files that cannot be parsed,
/// because they are being written, change nothing.
pub(crate) async fn changed_lists(
    file: PathBuf,
    folder: String,
    trusted: bool,
    since: Time,
    last: &mut Option<LastRead>,
) -> Option<Lists> {
    let own = Path::new(&folder).join(".trimtab/config.toml");
    // What a folder says counts once it is trusted, and is not even looked at before.
    let seen = LastRead { files: [stamp(&file), if trusted { stamp(&own) } else { None }], trusted };
    if last.as_ref() == Some(&seen) {
        return None;
    }
    let is_later = |stamp: &SettingsStamp| stamp.is_some_and(|(time, _)| millis(time) >= since.millis());
    let is_edited = last.is_some() || seen.files.iter().any(is_later);
    *last = Some(seen);
    if !is_edited {
        return None;
    }
    let read = move || -> Result<Lists, Problem> {
        let profile = config::load(&[])?;
        let profile = if trusted { profile.in_project(&folder)? } else { profile };
        Ok(lists(&profile))
    };
    match tokio::task::spawn_blocking(read).await.ok()? {
        Ok(lists) => Some(lists),
        Err(problem) => {
            tracing::warn!(message = problem.message, "the settings cannot be read; they stay as they were");
            None
        }
    }
}

fn lists(profile: &Profile) -> Lists {
    let hands = &profile.hands;
    let (allow, ask, deny) = (hands.lists.allow.clone(), hands.lists.ask.clone(), hands.lists.deny.clone());
    Lists {
        apply: hands.commands,
        allow,
        ask,
        deny,
        files: profile.context.files.clone(),
        apply_files: Some(hands.files),
        sandbox: Some(hands.sandbox),
        timeout_s: Some(hands.times.timeout_s),
        autonomy_limit: hands.autonomy_limit,
        apply_chosen: hands.commands_chosen,
    }
}

fn millis(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn stamp(file: &Path) -> SettingsStamp {
    let found = std::fs::metadata(file).ok()?;
    Some((found.modified().ok()?, found.len()))
}
