//! Facts about models that were found out, stored in the data folder: what their servers reported recently, and what
//! their work has shown. A request records the facts that it uses, so a replay needs nothing from here.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trimtab_vocab::{AnswerProtocol, LearnedFacts, ModelFacts, Time};
use trimtab_world::clock::{Clock, SystemClock};
use trimtab_world::models::{Model, ModelRegistry, ServerFacts, is_nearby};
use trimtab_world::store::LocalFiles;

use crate::config::Profile;

const FILE: &str = "models.json";
/// A server nearby is asked again this soon: it may have been started with another window since.
const NEARBY_MS: i64 = 30_000;
/// One that is far away costs a moment, so what it said holds longer.
const FAR_MS: i64 = 3_600_000;
/// One that is far away and said nothing may have been out of reach, so it is asked again sooner.
const SILENT_MS: i64 = 300_000;
/// A request uses what a server nearby said in the last hour, and another one on the last day, and asks it again beside
/// its own work. What was said before that is likely to be wrong, so the request waits for the answer.
const NEARBY_USABLE_MS: i64 = 3_600_000;
const FAR_USABLE_MS: i64 = 86_400_000;
/// How long the first call has the machine to itself before a server is asked beside it.
const BESIDE: Duration = Duration::from_millis(200);
/// What a request has shown holds a day: the server may be another by then.
const LEARNED_MS: i64 = 86_400_000;
/// The timeout for a server's report about its models.
const PATIENCE: Duration = Duration::from_secs(3);
/// Parameters below which a model knows fenced edits better than calls of tools.
const SMALL: u64 = 3_000_000_000;

/// The learned facts about one model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelNote {
    /// The server that reported it; another server may report something else for the same name.
    base_url: String,
    /// When it was asked, in milliseconds since 1970.
    asked: i64,
    server: ServerFacts,
    #[serde(skip_serializing_if = "LearnedFacts::is_empty")]
    learned: LearnedFacts,
    learned_times: LearnedTimes,
    /// The protocol that won a test. It holds until the next test.
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<AnswerProtocol>,
    /// What `trimtab models test` found, by protocol: tasks solved.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tested: BTreeMap<String, TestedProtocol>,
}

/// When a model's work showed each fact, in milliseconds since 1970; 0: never, or unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct LearnedTimes {
    window: i64,
    images: i64,
    protocol: i64,
}

/// A model's test result in one protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TestedProtocol {
    pub solved: u32,
    pub tasks: u32,
}

impl ModelNote {
    /// The protocol that won a test. Earlier versions kept it with what was learned, but without a time.
    fn winner(&self) -> Option<AnswerProtocol> {
        let is_from_test = self.learned_times.protocol == 0 && !self.tested.is_empty();
        self.winner.or(self.learned.protocol.filter(|_| is_from_test))
    }

    fn is_fresh(&self, base_url: &str, now: Time) -> bool {
        let life = match is_nearby(base_url) {
            true => NEARBY_MS,
            false if self.server == ServerFacts::default() => SILENT_MS,
            false => FAR_MS,
        };
        self.was_asked(base_url, life, now)
    }

    /// Whether a request can begin with what the server said.
    fn is_usable(&self, base_url: &str, now: Time) -> bool {
        let life = if is_nearby(base_url) { NEARBY_USABLE_MS } else { FAR_USABLE_MS };
        self.server != ServerFacts::default() && self.was_asked(base_url, life, now)
    }

    /// What the server at an address said.
    fn server_at(&self, base_url: &str) -> ServerFacts {
        if self.base_url == base_url { self.server } else { ServerFacts::default() }
    }

    fn was_asked(&self, base_url: &str, within: i64, now: Time) -> bool {
        self.base_url == base_url && (0..within).contains(&(now.millis() - self.asked))
    }

    /// What its work has shown and still counts.
    fn lasting(&self, now: Time) -> LearnedFacts {
        let is_recent = |millis: i64| (0..LEARNED_MS).contains(&(now.millis() - millis));
        let times = self.learned_times;
        LearnedFacts {
            window: self.learned.window.filter(|_| is_recent(times.window)),
            images: self.learned.images.filter(|_| is_recent(times.images)),
            protocol: self.learned.protocol.filter(|_| is_recent(times.protocol)),
        }
    }

    fn learn(&mut self, learned: LearnedFacts, now: Time) {
        self.learned = self.learned.and(learned);
        let times = &mut self.learned_times;
        let facts = [
            (learned.window.is_some(), &mut times.window),
            (learned.images.is_some(), &mut times.images),
            (learned.protocol.is_some(), &mut times.protocol),
        ];
        for (is_new, time) in facts {
            if is_new {
                *time = now.millis();
            }
        }
    }

    /// The protocol that a test or the model's work has shown to be best. For a hosted model that the catalog knows,
    /// its work does not count, because one bad reply is no reason to take its tools away.
    fn protocol(&self, profile: &Profile, model: &str, now: Time) -> Option<AnswerProtocol> {
        if profile.chosen_protocol().is_some() || profile.catalog.own(model).protocol.is_some() {
            return None;
        }
        let counts = is_nearby(base_url(profile, model)) || !profile.catalog.knows(model);
        self.winner().or(self.lasting(now).protocol.filter(|_| counts))
    }
}

fn base_url<'a>(profile: &'a Profile, model: &str) -> &'a str {
    let provider = model.split_once('/').and_then(|(name, _)| profile.providers.get(name));
    provider.map_or("", |provider| provider.base_url.as_str())
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

    fn all(&self) -> io::Result<BTreeMap<String, ModelNote>> {
        match self.files.try_read(FILE)?.filter(|text| !text.trim().is_empty()) {
            Some(text) => Ok(serde_json::from_str(&text)?),
            None => Ok(BTreeMap::new()),
        }
    }

    /// The learned facts about a model.
    pub fn about(&self, model: &str) -> Option<ModelNote> {
        self.all().ok()?.remove(model)
    }

    /// How a model is to work, as a test or its own work has shown.
    pub fn protocol(&self, profile: &Profile, model: &str) -> Option<AnswerProtocol> {
        self.about(model)?.protocol(profile, model, SystemClock.now())
    }

    fn change(&self, model: &str, change: impl FnOnce(&mut ModelNote)) {
        // Without a note the same is found out again.
        if let Err(error) = self.try_change(model, change) {
            tracing::debug!(model, %error, "what was found out about the model cannot be kept");
        }
    }

    /// Reads, changes, and writes the file under a lock. A file that cannot be read is not changed, because a later
    /// version may have written it.
    fn try_change(&self, model: &str, change: impl FnOnce(&mut ModelNote)) -> io::Result<()> {
        static CHANGES: Mutex<()> = Mutex::new(());
        let _in_this_process = CHANGES.lock().unwrap_or_else(PoisonError::into_inner);
        let _in_all_processes = self.files.lock(FILE)?;
        let mut notes = self.all()?;
        change(notes.entry(model.to_owned()).or_default());
        self.files.write(FILE, &serde_json::to_string(&notes)?)
    }

    /// Keeps what the work of a model has shown.
    pub fn learn(&self, model: &str, learned: LearnedFacts, now: Time) {
        self.change(model, |note| note.learn(learned, now));
    }

    /// Keeps what a test of all protocols found; the winner is how the model works from now on.
    pub fn keep_test(&self, model: &str, tested: BTreeMap<String, TestedProtocol>, winner: Option<AnswerProtocol>) {
        self.change(model, |note| {
            note.tested = tested;
            note.winner = winner;
            (note.learned.protocol, note.learned_times.protocol) = (None, 0);
        });
    }

    /// What is known about a model, with what its server says now and what its work has shown. The user's own entry in
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
        let server = match FactsQuestion::new(models, profile, model, &note, now) {
            Some(question) => self.ask(question, now).await,
            None => note.server_at(base_url(profile, model)),
        };
        with_note(profile, model, facts, &note, &server, now)
    }

    /// The same for a request, which waits for a server only if nothing usable is known about the model. Where
    /// something is, the answer is for the next request; a refusal corrects this one.
    pub(crate) async fn informed_at_once(
        &self,
        models: &dyn ModelRegistry,
        profile: &Profile,
        model: &str,
        facts: ModelFacts,
        now: Time,
    ) -> ModelFacts {
        let note = self.about(model).unwrap_or_default();
        let known = note.server_at(base_url(profile, model));
        let server = match FactsQuestion::new(models, profile, model, &note, now) {
            None => known,
            Some(question) if question.is_hosted || note.is_usable(&question.base_url, now) => {
                let notes = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(BESIDE).await;
                    notes.ask(question, now).await;
                });
                known
            }
            Some(question) => self.ask(question, now).await,
        };
        with_note(profile, model, facts, &note, &server, now)
    }

    /// Asks a server, and keeps what it says.
    async fn ask(&self, question: FactsQuestion, now: Time) -> ServerFacts {
        let FactsQuestion { model, found, base_url, is_known, is_hosted } = question;
        let asked = found.describe(is_known);
        let told = tokio::time::timeout(PATIENCE, asked).await.unwrap_or(Some(ServerFacts::default()));
        let Some(server) = told else { return ServerFacts::default() };
        // A server nearby that says nothing may be loading its model, so it is asked again with the next request.
        if server != ServerFacts::default() || !is_nearby(&base_url) || is_hosted {
            self.change(&model, |note| (note.base_url, note.asked, note.server) = (base_url, now.millis(), server));
        }
        server
    }
}

/// What a server can be asked about a model.
struct FactsQuestion {
    model: String,
    found: Arc<dyn Model>,
    base_url: String,
    /// The catalog or the user says something about it.
    is_known: bool,
    /// The catalog has this very model, so it is a hosted one even if a server nearby passes it on.
    is_hosted: bool,
}

impl FactsQuestion {
    /// None where there is nobody to ask, or the answer is known.
    fn new(models: &dyn ModelRegistry, profile: &Profile, model: &str, note: &ModelNote, now: Time) -> Option<Self> {
        let base_url = base_url(profile, model);
        let is_hosted = profile.catalog.is_hosted(model);
        if note.is_fresh(base_url, now) || (is_hosted && !is_nearby(base_url)) {
            return None;
        }
        let found = models.find(model).ok()?;
        let (model, base_url, is_known) = (model.to_owned(), base_url.to_owned(), profile.catalog.knows(model));
        Some(Self { model, found, base_url, is_known, is_hosted })
    }
}

/// What is known about a model, with everything that was found out about it.
fn with_note(
    profile: &Profile,
    model: &str,
    facts: ModelFacts,
    note: &ModelNote,
    server: &ServerFacts,
    now: Time,
) -> ModelFacts {
    let own = profile.catalog.own(model);
    let learned = note.lasting(now);
    let mut facts = with_server(facts, server, &own);
    if own.window.is_none() {
        facts.window = facts.window.min(learned.window.unwrap_or(u64::MAX));
    }
    if let (None, None, Some(images)) = (own.images, server.images, learned.images) {
        (facts.images, facts.blind) = (images, !images);
    }
    facts.max_output = facts.max_output.min(u32::try_from(facts.window).unwrap_or(u32::MAX));
    let is_chosen = profile.chosen_protocol().is_some() || own.protocol.is_some();
    let protocol = note.protocol(profile, model, now).or_else(|| fitting(server, own.tools, &facts));
    match protocol.filter(|_| !is_chosen) {
        Some(protocol) => facts.with_protocol(protocol),
        None => facts,
    }
}

/// What is known, with what the server says where the user's own entry is silent.
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

/// The user's entry for a model in models.toml.
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
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use futures_util::StreamExt;
    use trimtab_vocab::{Problem, Prompt};
    use trimtab_world::models::{Model, PieceStream};

    use super::*;

    const KNOWN: &str = "anthropic/claude-opus-4-8";

    /// Settings with a provider that is far away and one that is near.
    fn profile(home: &Path) -> Profile {
        let settings = "[providers.far]\nkind = \"openai\"\nbase_url = \"https://models.example.com/v1\"\n";
        std::fs::write(home.join("config.toml"), settings).expect("written");
        let variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.display().to_string())]);
        crate::config::load_from(&variables, &[]).expect("loads")
    }

    /// Settings whose usual provider is a server nearby.
    fn local_profile(home: &Path) -> Profile {
        let settings = "[providers.anthropic]\nbase_url = \"http://127.0.0.1:8080\"\n";
        std::fs::write(home.join("config.toml"), settings).expect("written");
        let variables = BTreeMap::from([("TRIMTAB_HOME".to_owned(), home.display().to_string())]);
        crate::config::load_from(&variables, &[]).expect("loads")
    }

    /// A server that counts how often it is asked about a model.
    struct AskedServer {
        asked: AtomicU32,
        is_near: bool,
        told: ServerFacts,
    }

    #[async_trait]
    impl Model for AskedServer {
        fn dialect(&self) -> &'static str {
            "openai"
        }

        fn stream(&self, _: &Prompt) -> PieceStream {
            futures_util::stream::empty().boxed()
        }

        async fn describe(&self, is_known: bool) -> Option<ServerFacts> {
            if is_known && !self.is_near {
                return None;
            }
            self.asked.fetch_add(1, Ordering::Relaxed);
            Some(self.told)
        }
    }

    struct OneModel(Arc<AskedServer>);

    impl ModelRegistry for OneModel {
        fn find(&self, _: &str) -> Result<Arc<dyn Model>, Problem> {
            Ok(Arc::<AskedServer>::clone(&self.0))
        }
    }

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
    fn each_fact_lasts_a_day_from_when_it_was_learned() {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = ModelNotes::new(folder.path());
        let at = |hours: i64| Time::from_millis(1_000 + hours * 3_600_000);
        let protocol = Some(AnswerProtocol::StructuredJson);
        notes.learn("m/x", LearnedFacts { window: Some(900), ..LearnedFacts::default() }, at(0));
        notes.learn("m/x", LearnedFacts { protocol, ..LearnedFacts::default() }, at(12));
        let note = notes.about("m/x").expect("a note");
        assert_eq!(note.lasting(at(12)), LearnedFacts { window: Some(900), images: None, protocol });
        assert_eq!(note.lasting(at(24)), LearnedFacts { protocol, ..LearnedFacts::default() });
        assert_eq!(note.lasting(at(36)), LearnedFacts::default());
        assert_eq!(notes.about("m/y"), None);
    }

    #[test]
    fn a_learned_protocol_counts_nearby_and_for_models_that_nobody_knows_and_a_winner_always() {
        let home = tempfile::tempdir().expect("a folder");
        let (profile, notes) = (profile(home.path()), ModelNotes::new(home.path()));
        let (then, later) = (Time::from_millis(1_000), Time::from_millis(1_000 + LEARNED_MS));
        assert!(profile.catalog.knows(KNOWN));
        let protocol = |model: &str, now| notes.about(model).and_then(|note| note.protocol(&profile, model, now));
        let learned = Some(AnswerProtocol::StructuredJson);
        for (model, counts) in [(KNOWN, false), ("far/unheard-of", true), ("llamacpp/any", true)] {
            notes.learn(model, LearnedFacts { protocol: learned, ..LearnedFacts::default() }, then);
            assert_eq!(protocol(model, then), learned.filter(|_| counts), "{model}");
            assert_eq!(protocol(model, later), None, "{model}");
            notes.keep_test(model, BTreeMap::new(), Some(AnswerProtocol::EditBlocks));
            assert_eq!(protocol(model, later), Some(AnswerProtocol::EditBlocks), "{model}");
        }
    }

    #[test]
    fn the_winner_of_a_test_is_read_from_an_older_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = ModelNotes::new(folder.path());
        let old = r#"{
            "m/x": {"baseUrl": "", "asked": 0, "server": {}, "learned": {"protocol": "edit_blocks"},
                    "tested": {"edit_blocks": {"solved": 3, "tasks": 5}}},
            "m/y": {"learnedAt": 7, "learned": {"protocol": "edit_blocks", "window": 900}}
        }"#;
        notes.files.write(FILE, old).expect("written");
        assert_eq!(notes.about("m/x").and_then(|note| note.winner()), Some(AnswerProtocol::EditBlocks));
        let learned = notes.about("m/y").expect("a note");
        assert_eq!(
            (learned.winner(), learned.lasting(Time::from_millis(LEARNED_MS + 7))),
            (None, LearnedFacts::default())
        );
    }

    #[test]
    fn notes_of_many_writers_are_all_kept_and_an_unreadable_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let notes = ModelNotes::new(folder.path());
        let window = |window| LearnedFacts { window: Some(window), ..LearnedFacts::default() };
        std::thread::scope(|scope| {
            for number in 0..8_u64 {
                let notes = ModelNotes::new(folder.path());
                scope.spawn(move || notes.learn(&format!("m/{number}"), window(number + 1), Time::from_millis(1)));
            }
        });
        assert_eq!(notes.all().expect("readable").len(), 8);
        notes.files.write(FILE, "{\"m/x\": 7}").expect("written");
        notes.learn("m/y", window(1), Time::from_millis(1));
        assert_eq!(notes.files.read(FILE).as_deref(), Some("{\"m/x\": 7}"));
    }

    #[tokio::test]
    async fn a_distant_server_that_says_nothing_is_not_asked_before_every_request() {
        let home = tempfile::tempdir().expect("a folder");
        let (profile, notes) = (profile(home.path()), ModelNotes::new(home.path()));
        let place = |is_near, told| Arc::new(AskedServer { asked: AtomicU32::new(0), is_near, told });
        let asked = async |model: &str, server: &Arc<AskedServer>, millis: i64| {
            let registry = OneModel(Arc::clone(server));
            notes.informed(&registry, &profile, model, ModelFacts::default(), Time::from_millis(millis)).await;
            server.asked.load(Ordering::Relaxed)
        };
        let far = place(false, ServerFacts::default());
        assert_eq!(asked("far/unheard-of", &far, 1_000).await, 1);
        assert_eq!(asked("far/unheard-of", &far, 2_000).await, 1);
        assert_eq!(asked("far/unheard-of", &far, 1_000 + SILENT_MS).await, 2);
        let near = place(true, ServerFacts::default());
        assert_eq!(asked("llamacpp/any", &near, 1_000).await, 1);
        assert_eq!(asked("llamacpp/any", &near, 2_000).await, 2, "it may have been loading");
        assert_eq!(notes.about("llamacpp/any"), None);
        let hosted = place(false, server());
        assert_eq!(asked(KNOWN, &hosted, 1_000).await, 0);
        assert_eq!(notes.about(KNOWN), None, "nobody was asked");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_waits_only_for_a_server_of_which_nothing_is_known() {
        let home = tempfile::tempdir().expect("a folder");
        let profile = local_profile(home.path());
        let notes = ModelNotes::new(home.path());
        let asked = async |model: &str, server: &Arc<AskedServer>, millis: i64| {
            let registry = OneModel(Arc::clone(server));
            let now = Time::from_millis(millis);
            let facts = notes.informed_at_once(&registry, &profile, model, ModelFacts::default(), now).await;
            let waited = server.asked.load(Ordering::Relaxed);
            tokio::time::sleep(2 * BESIDE).await;
            (facts.window, waited, server.asked.load(Ordering::Relaxed))
        };
        let place = |window| {
            let told = ServerFacts { window: Some(window), ..ServerFacts::default() };
            Arc::new(AskedServer { asked: AtomicU32::new(0), is_near: true, told })
        };
        let (first, second) = (place(2_048), place(4_096));
        let (unknown, later) = ("llamacpp/any", 1_000 + NEARBY_MS);
        assert_eq!(asked(unknown, &first, 1_000).await, (2_048, 1, 1), "nothing was known");
        assert_eq!(asked(unknown, &first, 2_000).await, (2_048, 1, 1), "it has just said it");
        assert_eq!(asked(unknown, &second, later).await, (2_048, 0, 1), "asked beside the request");
        assert_eq!(asked(unknown, &second, later + 1).await, (4_096, 1, 1), "and learned");
        assert_eq!(asked(unknown, &first, later + NEARBY_USABLE_MS).await, (2_048, 2, 2), "too old");
        let window = ModelFacts::default().window;
        assert_eq!(asked(KNOWN, &second, 1_000).await, (window, 1, 2), "the catalog knows it");
        assert_eq!(asked(KNOWN, &second, 2_000).await, (4_096, 2, 2));
    }

    #[test]
    fn what_a_server_nearby_said_is_asked_again_soon() {
        let note = ModelNote { base_url: "http://127.0.0.1:8080/v1".into(), asked: 1_000, ..ModelNote::default() };
        assert!(note.is_fresh("http://127.0.0.1:8080/v1", Time::from_millis(2_000)));
        assert!(!note.is_fresh("http://127.0.0.1:8080/v1", Time::from_millis(1_000 + NEARBY_MS)));
        assert!(!note.is_fresh("http://127.0.0.1:9090/v1", Time::from_millis(2_000)), "another server");
    }
}
