//! Reloads settings while a program runs: all of them for the next request of a server, and the lists of commands and
//! instruction files for the requests that run. A user who adds a command to the list while a request runs wants it to
//! apply to this request, too.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::SystemTime;

use trimtab_vocab::{Lists, Problem, Time};

use crate::client::Client;
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

/// The settings of a program that runs for a long time. They are read again when their file changes.
#[derive(Debug)]
pub struct LiveProfile(RwLock<LiveState>);

#[derive(Debug)]
struct LiveState {
    profile: Arc<Profile>,
    stamp: SettingsStamp,
    /// Why the file that is there now could not be read.
    problem: Option<Problem>,
}

impl LiveProfile {
    pub fn new(profile: Profile) -> Self {
        let stamp = stamp(&profile.file);
        Self(RwLock::new(LiveState { profile: Arc::new(profile), stamp, problem: None }))
    }

    /// The settings that were read last.
    pub fn get(&self) -> Arc<Profile> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).profile)
    }

    /// Why the settings in force are not those of the file.
    pub fn problem(&self) -> Option<Problem> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).problem.clone()
    }

    /// Reads the settings again if their file is another one than last time.
    pub async fn refresh(&self, client: &Client) {
        let seen = {
            let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
            (state.profile.file.clone(), state.stamp)
        };
        if stamp(&seen.0) != seen.1 {
            self.reload(client).await;
        }
    }

    /// Reads the settings again. A file that cannot be read changes nothing, and the problem is kept.
    pub async fn reload(&self, client: &Client) {
        let file = self.get().file.clone();
        let read = move || (stamp(&file), config::load(&[]));
        let Ok((stamp, loaded)) = tokio::task::spawn_blocking(read).await else { return };
        let mut state = self.0.write().unwrap_or_else(PoisonError::into_inner);
        state.stamp = stamp;
        state.problem = match loaded {
            Ok(profile) => {
                let mut reachable = profile.clone();
                if let Some(found) = client.chosen_model() {
                    reachable.use_found(&found);
                }
                client.renew(&reachable);
                state.profile = Arc::new(profile);
                None
            }
            Err(problem) => Some(problem),
        };
    }
}
