//! What a surface needs to say something in a folder: the settings in force there.

use trimtab_vocab::{Mode, Problem, Rule, RuleVerdict, WhileRunning};

use crate::client::{Client, Say};
use crate::config::Profile;
use crate::pills::{Pills, looks_like_a_pill};

/// Words and how they are meant, before the settings of a folder are known.
#[derive(Debug, Clone, Default)]
pub struct Words {
    /// The words.
    pub text: String,
    /// The path they chose.
    pub mode: Mode,
    /// Pictures, each with its media type and its bytes in base64.
    pub images: Vec<(String, String)>,
    /// Another model than the one of the settings.
    pub model: Option<String>,
    /// What it does to a request that runs; absent: as the settings say.
    pub while_running: Option<WhileRunning>,
    /// They are a message even where they begin like the name of a pill: nobody typed that beginning.
    pub literal: bool,
}

impl Client {
    /// Whether a rule trusts a folder.
    pub async fn trusts(&self, folder: &str) -> Result<bool, Problem> {
        let trusts = |rule: &Rule| rule.verdict == RuleVerdict::Allow && rule.covers(Rule::TRUST, "*", Some(folder));
        Ok(self.rules().await?.iter().any(trusts))
    }

    /// Words with the settings of the folder that they are said in. Somebody is there to be asked.
    pub async fn prepare(&self, profile: &Profile, folder: &str, words: Words) -> Result<Say, Problem> {
        let trusted = profile.trusts(folder);
        let reads = trusted || self.trusts(folder).await?;
        let mut profile = profile.clone();
        if reads {
            profile = profile.in_project(folder)?;
        }
        if words.model.is_some() {
            profile.model = words.model;
        } else if profile.model.is_none() {
            profile.model = crate::local_model(&profile).await;
        }
        let mut settings = profile.run_settings()?;
        settings.attended = true;
        settings.trusted = trusted;
        let pill = match !words.literal && looks_like_a_pill(&words.text) {
            true => Pills::load(&profile, reads.then_some(folder)).called(&words.text)?,
            false => None,
        };
        let while_running = Some(words.while_running.unwrap_or(profile.while_running));
        Ok(Say {
            text: words.text,
            mode: words.mode,
            settings,
            images: words.images,
            pill,
            while_running,
            picture: None,
        })
    }
}
