//! The instruction files of a folder, and which versions of them the user accepts by trusting the folder.

use trimtab_vocab::{FileMark, InstructionFile, Problem, Rule, sensitive_paths};

use crate::config::Profile;
use crate::handles::Permissions;
use crate::workspace::{FileNow, LocalWorkspace, Workspace};

/// Reads an instruction file. A link may lead to a file that is never sent automatically.
pub(crate) async fn read(hands: &dyn Workspace, folder: &str, path: &str) -> Option<InstructionFile> {
    match hands.read(folder, path).await {
        Ok(FileNow { content: Some((bytes, state)), real, .. }) if !sensitive_paths::has_secret(&real) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            Some(InstructionFile { path: path.to_owned(), hash: state.hash, text })
        }
        _ => None,
    }
}

/// Those that are there, by their hashes.
pub(crate) async fn marks(hands: &dyn Workspace, folder: &str, paths: Vec<String>) -> Vec<FileMark> {
    let mut marks = Vec::new();
    for path in paths {
        let file = read(hands, folder, &path).await;
        marks.extend(file.map(|InstructionFile { path, hash, .. }| FileMark { path, hash }));
    }
    marks
}

impl Permissions<'_> {
    /// Trusts a folder, and accepts its instructions as they are now. Says which files those are.
    pub async fn trust(self, profile: &Profile, folder: &str) -> Result<Vec<String>, Problem> {
        // Settings of the folder that cannot be read are reported when they are used; they name no instructions here.
        let context = profile.clone().in_project(folder).unwrap_or_else(|_| profile.clone()).context;
        // No session asks: what is trusted are the files on this machine.
        let local = LocalWorkspace::new([], &[]);
        let found = marks(&local, folder, sensitive_paths::instruction_files(&context.files)).await;
        let accepted = Rule::instructions(folder, found.iter().map(|file| (file.path.as_str(), file.hash.as_str())));
        let rules = self.rules().await?;
        let is_outdated = |rule: &&Rule| is_of(rule, folder) && Some(*rule) != accepted.as_ref();
        for rule in rules.iter().filter(is_outdated) {
            self.change_rule(rule, false).await?;
        }
        // Before the folder is trusted, so that a request which waits for that finds them accepted.
        if let Some(rule) = accepted.filter(|rule| !rules.contains(rule)) {
            self.change_rule(&rule, true).await?;
        }
        let rule = if self.is_broad(folder) { Rule::trust_broad(folder) } else { Rule::trust(folder) };
        self.change_rule(&rule, true).await?;
        Ok(found.into_iter().map(|file| file.path).collect())
    }

    /// Trusts a folder no longer. What was accepted together with it is asked about again, should it be trusted again.
    pub async fn distrust(self, folder: &str) -> Result<(), Problem> {
        let is_here = |rule: &&Rule| rule.tool == Rule::TRUST && rule.folder.as_deref() == Some(folder);
        for rule in self.rules().await?.iter().filter(|rule| is_here(rule) || is_of(rule, folder)) {
            self.change_rule(rule, false).await?;
        }
        Ok(())
    }
}

fn is_of(rule: &Rule, folder: &str) -> bool {
    rule.tool == Rule::INSTRUCTIONS && rule.folder.as_deref() == Some(folder)
}
