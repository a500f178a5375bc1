//! What was found out about models, kept in the data folder: what their servers said a moment ago, and what their work
//! has shown. A request records what counts for it, so nothing here is needed to replay one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trimtab_vocab::{AnswerProtocol, LearnedFacts, ModelFacts, Time};
use trimtab_world::models::{ModelRegistry, ServerFacts, is_nearby};
use trimtab_world::store::LocalFiles;

use crate::config::Profile;

const FILE: &str = "models.json";
/// A server nearby is asked again this soon: it may have been started with another window since.
const NEARBY_MS: i64 = 30_000;
/// One that is far away costs a moment, so what it said holds longer.
const FAR_MS: i64 = 3_600_000;
/// What a refusal taught holds a day: the server may be another by then.
const LEARNED_MS: i64 = 86_400_000;
/// Nobody waits longer for what a server says about itself.
const PATIENCE: Duration = Duration::from_secs(3);
/// Parameters below which a model knows fenced edits better than calls of tools.
const SMALL: u64 = 3_000_000_000;

/// What was found out about one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelNote {
    /// The server that said so; what another server says of the same name is news.
    base_url: String,
    /// When it was asked, in milliseconds since 1970.
    asked: i64,
    server: ServerFacts,
    /// When its work showed something.
    #[serde(skip_serializing_if = "is_never")]
    learned_at: i64,
    #[serde(skip_serializing_if = "LearnedFacts::is_empty")]
    learned: LearnedFacts,
    /// What `trimtab models test` found, by protocol: tasks solved.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tested: BTreeMap<String, TestedProtocol>,
}

/// What a model came to in one protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestedProtocol {
    pub solved: u32,
    pub tasks: u32,
}

fn is_never(millis: &i64) -> bool {
    *millis == 0
}

impl ModelNote {
    /// How the model is to work, as its own work or a test has shown.
    pub fn protocol(&self) -> Option<AnswerProtocol> {
        self.learned.protocol
    }

    fn is_fresh(&self, base_url: &str, now: Time) -> bool {
        let life = if is_nearby(base_url) { NEARBY_MS } else { FAR_MS };
        self.base_url == base_url && (0..life).contains(&(now.millis() - self.asked))
    }

    /// What its work has shown and still counts.
    fn lasting(&self, now: Time) -> LearnedFacts {
        let is_recent = (0..LEARNED_MS).contains(&(now.millis() - self.learned_at));
        let protocol = self.learned.protocol;
        if is_recent { self.learned } else { LearnedFacts { protocol, ..LearnedFacts::default() } }
    }
}

/// The notes of a data folder.
#[derive(Debug, Clone)]
pub struct ModelNotes {
    files: LocalFiles,
}

impl ModelNotes {
    pub fn new(data: &Path) -> Self {
        Self { files: LocalFiles::new(data) }
    }

    fn all(&self) -> BTreeMap<String, ModelNote> {
        self.files.read(FILE).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// What was found out about a model.
    pub fn about(&self, model: &str) -> Option<ModelNote> {
        self.all().remove(model)
    }

    fn change(&self, model: &str, change: impl FnOnce(&mut ModelNote)) {
        let mut notes = self.all();
        change(notes.entry(model.to_owned()).or_default());
        let written = serde_json::to_string(&notes).map(|text| self.files.write(FILE, &text));
        // Without a note the same is found out again.
        if !matches!(written, Ok(Ok(()))) {
            tracing::debug!(model, "what was found out about the model cannot be kept");
        }
    }

    /// Keeps what the work of a model has shown.
    pub fn learn(&self, model: &str, learned: LearnedFacts, now: Time) {
        self.change(model, |note| {
            (note.learned, note.learned_at) = (note.learned.and(learned), now.millis());
        });
    }

    /// Keeps what a test of all protocols found; the winner is how the model works from now on.
    pub fn keep_test(&self, model: &str, tested: BTreeMap<String, TestedProtocol>, winner: Option<AnswerProtocol>) {
        self.change(model, |note| {
            note.tested = tested;
            note.learned.protocol = winner;
        });
    }

    /// What is known about a model, with what its server says and what its work has shown. A person's own entry in
    /// models.toml and their `answer.protocol` have the last word.
    pub(crate) async fn informed(
        &self,
        models: &dyn ModelRegistry,
        profile: &Profile,
        model: &str,
        facts: ModelFacts,
        now: Time,
    ) -> ModelFacts {
        let note = self.about(model).unwrap_or_default();
        let server = self.server_facts(models, profile, model, &note, now).await;
        let own = profile.catalog.own(model);
        let learned = note.lasting(now);
        let mut facts = with_server(facts, &server, &own);
        if own.window.is_none() {
            facts.window = facts.window.min(learned.window.unwrap_or(u64::MAX));
        }
        if let (None, None, Some(images)) = (own.images, server.images, learned.images) {
            (facts.images, facts.blind) = (images, !images);
        }
        facts.max_output = facts.max_output.min(u32::try_from(facts.window).unwrap_or(u32::MAX));
        let is_chosen = profile.chosen_protocol().is_some() || own.protocol.is_some();
        match (learned.protocol, fitting(&server, own.tools, &facts)) {
            _ if is_chosen => facts,
            (Some(protocol), _) | (None, Some(protocol)) => facts.with_protocol(protocol),
            (None, None) => facts,
        }
    }

    async fn server_facts(
        &self,
        models: &dyn ModelRegistry,
        profile: &Profile,
        model: &str,
        note: &ModelNote,
        now: Time,
    ) -> ServerFacts {
        let provider = model.split_once('/').and_then(|(name, _)| profile.providers.get(name));
        let base_url = provider.map(|provider| provider.base_url.clone()).unwrap_or_default();
        if note.is_fresh(&base_url, now) {
            return note.server;
        }
        let Ok(found) = models.find(model) else { return ServerFacts::default() };
        let asked = found.describe(profile.catalog.knows(model));
        let told = tokio::time::timeout(PATIENCE, asked).await.unwrap_or_default();
        if let Some(server) = told {
            self.change(model, |note| (note.base_url, note.asked, note.server) = (base_url, now.millis(), server));
        }
        told.unwrap_or_default()
    }
}

/// What is known, with what the server says where the person's own entry is silent.
fn with_server(facts: ModelFacts, server: &ServerFacts, own: &OwnEntry) -> ModelFacts {
    let mut facts = facts;
    facts.window = own.window.or(server.window).unwrap_or(facts.window);
    facts.max_output = own.max_output.or(server.max_output).unwrap_or(facts.max_output);
    if let Some(images) = own.images.or(server.images) {
        (facts.images, facts.blind) = (images, !images);
    }
    facts
}

/// The protocol that suits a model by its server's own word.
fn fitting(server: &ServerFacts, own_tools: Option<bool>, facts: &ModelFacts) -> Option<AnswerProtocol> {
    let is_small = server.parameters.is_some_and(|parameters| parameters < SMALL);
    let cannot = server.tools == Some(false) || !facts.tools;
    (own_tools.is_none() && (is_small || cannot) && (server.tools.is_some() || is_small))
        .then_some(AnswerProtocol::EditBlocks)
}

/// What a person's own entry in models.toml says of a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OwnEntry {
    pub window: Option<u64>,
    pub max_output: Option<u32>,
    pub tools: Option<bool>,
    pub images: Option<bool>,
    pub protocol: Option<AnswerProtocol>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> ServerFacts {
        ServerFacts { window: Some(2_048), tools: Some(true), images: Some(false), ..ServerFacts::default() }
    }

    #[test]
    fn a_person_knows_better_than_a_server_and_a_server_better_than_the_catalog() {
        let catalog = ModelFacts { window: 131_072, images: true, ..ModelFacts::default() };
        let told = with_server(catalog, &server(), &OwnEntry::default());
        assert_eq!((told.window, told.images, told.blind), (2_048, false, true));
        let own = OwnEntry { window: Some(1_024), images: Some(true), ..OwnEntry::default() };
        let told = with_server(catalog, &server(), &own);
        assert_eq!((told.window, told.images, told.blind), (1_024, true, false));
    }

    #[test]
    fn small_models_and_templates_without_tools_write_edit_blocks() {
        let facts = ModelFacts::default();
        let small = ServerFacts { parameters: Some(1_500_000_000), ..server() };
        let large = ServerFacts { parameters: Some(8_000_000_000), ..server() };
        let toolless = ServerFacts { tools: Some(false), ..large };
        assert_eq!(fitting(&small, None, &facts), Some(AnswerProtocol::EditBlocks));
        assert_eq!(fitting(&large, None, &facts), None);
        assert_eq!(fitting(&toolless, None, &facts), Some(AnswerProtocol::EditBlocks));
        assert_eq!(fitting(&small, Some(true), &facts), None, "the person says that it has tools");
        assert_eq!(fitting(&ServerFacts::default(), None, &facts), None);
    }

    #[test]
    fn what_was_learned_lasts_a_day_and_a_protocol_until_another_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = ModelNotes::new(folder.path());
        let (then, later) = (Time::from_millis(1_000), Time::from_millis(1_000 + LEARNED_MS));
        notes.learn("m/x", LearnedFacts { window: Some(900), ..LearnedFacts::default() }, then);
        let protocol = Some(AnswerProtocol::StructuredJson);
        notes.learn("m/x", LearnedFacts { protocol, ..LearnedFacts::default() }, then);
        let note = notes.about("m/x").expect("a note");
        assert_eq!(note.lasting(then), LearnedFacts { window: Some(900), images: None, protocol });
        assert_eq!(note.lasting(later), LearnedFacts { protocol, ..LearnedFacts::default() });
        notes.keep_test("m/x", BTreeMap::new(), Some(AnswerProtocol::EditBlocks));
        assert_eq!(notes.about("m/x").and_then(|note| note.protocol()), Some(AnswerProtocol::EditBlocks));
        assert_eq!(notes.about("m/y"), None);
    }

    #[test]
    fn what_a_server_nearby_said_is_asked_again_soon() {
        let note = ModelNote { base_url: "http://127.0.0.1:8080/v1".into(), asked: 1_000, ..ModelNote::default() };
        assert!(note.is_fresh("http://127.0.0.1:8080/v1", Time::from_millis(2_000)));
        assert!(!note.is_fresh("http://127.0.0.1:8080/v1", Time::from_millis(1_000 + NEARBY_MS)));
        assert!(!note.is_fresh("http://127.0.0.1:9090/v1", Time::from_millis(2_000)), "another server");
    }
}
