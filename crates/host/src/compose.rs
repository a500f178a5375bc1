//! What a surface needs to say something in a folder: the settings in force there.

use trimtab_vocab::{Approve, Mode, Problem, ProblemKind, RunSettings, WhileRunning};

use crate::client::{Client, Say};
use crate::config::Profile;
use crate::pills::{Pills, looks_like_a_pill};

/// Words and how they are meant, before the settings of a folder are known.
#[derive(Debug, Clone, Default)]
pub struct RequestDraft {
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

/// How a request is made, beside its words.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// Somebody is there to be asked.
    pub attended: bool,
    /// What happens where somebody would be asked.
    pub approve: Approve,
    /// The folder is trusted for this request.
    pub trust: bool,
    /// Another model than the one of the settings.
    pub model: Option<String>,
}

/// The settings in force in a folder.
pub struct Composed {
    /// Those of the person, made stricter by those of the folder if it is trusted.
    pub profile: Profile,
    /// What a request is made with.
    pub settings: RunSettings,
    /// Whether the folder is trusted, so that its own settings and pills count.
    pub reads: bool,
}

impl Client {
    /// Whether a rule trusts a folder.
    pub async fn trusts(&self, folder: &str) -> Result<bool, Problem> {
        Ok(trimtab_engine::trusts(&self.rules().await?, folder, &self.deps().machine))
    }

    /// Whether trusting this folder would trust more than a project.
    pub fn is_broad(&self, folder: &str) -> bool {
        trimtab_engine::is_broad(folder, &self.deps().machine)
    }

    /// The settings that a request in a folder is made with. Every way to start work goes through here, so that a
    /// trusted folder's stricter settings hold on all of them.
    pub async fn compose(&self, profile: &Profile, folder: &str, manner: Manner) -> Result<Composed, Problem> {
        let Manner { attended, approve, trust, model } = manner;
        if trust && self.is_broad(folder) {
            return Err(Problem::new(ProblemKind::Usage, format!("--trust cannot be used for {folder}: {BROAD}."))
                .hint(broad_hint(folder)));
        }
        let trusted = trust || profile.trusts(folder);
        let reads = trusted || self.trusts(folder).await?;
        let mut profile = profile.clone();
        if reads {
            profile = profile.in_project(folder)?;
        }
        if model.is_some() {
            profile.model = model;
        } else if profile.model.is_none() {
            profile.model = crate::local_model(&profile).await;
        }
        let mut settings = profile.run_settings()?;
        settings.attended = attended;
        settings.approve = approve;
        settings.trusted = trusted;
        // With `--trust`, what is there is accepted for this request.
        settings.instructions_bound = !trust;
        Ok(Composed { profile, settings, reads })
    }

    /// Words with the settings of the folder that they are said in. Somebody is there to be asked.
    pub async fn prepare(&self, profile: &Profile, folder: &str, words: RequestDraft) -> Result<Say, Problem> {
        let manner = Manner { attended: true, model: words.model, ..Manner::default() };
        let Composed { profile, settings, reads } = self.compose(profile, folder, manner).await?;
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

/// Why a folder is not trusted like others.
pub const BROAD: &str = "it is your home folder or holds it, or holds Trimtab's own data";

/// How to work in such a folder all the same.
pub fn broad_hint(folder: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let word = match folder.chars().all(is_plain) {
        true => folder.to_owned(),
        false => format!("'{}'", folder.replace('\'', r"'\''")),
    };
    format!("Use a project folder, or confirm this one: trimtab trust {word} --confirm {word}")
}
