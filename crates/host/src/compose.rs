//! Composes requests: the only place where the user's text meets the settings in force.
//!
//! A [`ComposedRequest`] can be sent but not made outside of this file, because a hand-made one could leave out the
//! stricter settings of a trusted folder.

use serde_json::Value;
use trimtab_engine::may_break_down;
use trimtab_engine::proposal::json_schema::schema_objection;
use trimtab_vocab::{
    Approve, Autonomy, AutonomyChoice, Effort, ImageRef, Ingest, Mode, ModelSettings, PictureWish, Pill, Problem,
    ProblemKind, RefKey, Request, RequestId, RunSettings, SubtaskStart, WhileRunning, WorkerModel,
};
use trimtab_world::store::hash;

use crate::agents::{AgentRoots, Agents};
use crate::call_records;
use crate::checks;
use crate::client::{Client, World};
use crate::config::Profile;
use crate::pills::{Pills, looks_like_a_pill};
use crate::review::review_call;

/// The words of a request and how it is made, before the settings of a folder are known.
#[derive(Debug, Clone)]
pub struct RequestDraft {
    /// What the user wrote.
    pub text: String,
    /// The path that the user chose.
    pub mode: Mode,
    /// Images, each with its media type and its bytes in base64.
    pub images: Vec<(String, String)>,
    /// A request for images; the text is the prompt.
    pub picture: Option<PictureWish>,
    /// What happens if a request of its session is running.
    pub when_busy: WhenBusy,
    /// Treats the text as a message even if it begins like a pill, because the user did not type that beginning.
    pub literal: bool,
    /// How it is made.
    pub manner: Manner,
}

impl RequestDraft {
    /// Words, and nothing else.
    pub fn new(text: impl Into<String>, manner: Manner) -> Self {
        let (text, mode, images, when_busy) = (text.into(), Mode::Auto, Vec::new(), WhenBusy::AsConfigured);
        Self { text, mode, images, picture: None, when_busy, literal: false, manner }
    }
}

/// How a request is made, beside its words.
#[derive(Debug, Clone, Default)]
pub struct Manner {
    /// The user can be asked.
    pub attended: bool,
    /// How approval prompts are handled.
    pub approve: Approve,
    /// The folder is trusted for this request only.
    pub trust: bool,
    /// Another model than the one of the settings.
    pub model: Option<String>,
    /// The level of autonomy from here on; none: that of the session, or of the settings.
    pub autonomy: Option<Autonomy>,
    /// Another effort than the one of the settings.
    pub effort: Option<Effort>,
    /// The JSON Schema that the answer must fit.
    pub schema: Option<Value>,
    /// Whether it is broken down into sub-tasks; none: as configured.
    pub subtasks: Option<SubtaskStart>,
    /// The agent that the user hands the request to.
    pub agent: Option<String>,
    /// The words come from a pipe or another session: nothing in them is remembered as said by the user.
    pub piped: bool,
    /// Bytes at the beginning of the text that the user wrote; none: all of it.
    pub typed: Option<usize>,
}

impl Manner {
    /// The defaults for a request whose user can be asked.
    pub fn attended() -> Self {
        Self { attended: true, ..Self::default() }
    }
}

/// What a new request does if another one of its session is running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WhenBusy {
    /// As the settings say.
    #[default]
    AsConfigured,
    /// Overrides the settings; none: it waits for its turn.
    Exactly(Option<WhileRunning>),
}

/// A composed request: [`Client::compose`] makes it, [`Client::send`] takes it.
#[derive(Debug, Clone)]
pub struct ComposedRequest {
    text: String,
    mode: Mode,
    settings: RunSettings,
    images: Vec<(String, String)>,
    pill: Option<Pill>,
    while_running: Option<WhileRunning>,
    picture: Option<PictureWish>,
    autonomy: Option<AutonomyChoice>,
    pill_miss: Option<PillMiss>,
    model_origin: Option<String>,
}

/// Why words that begin like a pill call none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PillMiss {
    /// There is one with nearly this name.
    Almost(String),
    /// The folder is not trusted, so its pills are not read.
    Untrusted,
}

impl ComposedRequest {
    /// The settings that were in force when it was composed.
    pub fn settings(&self) -> &RunSettings {
        &self.settings
    }

    /// Why it calls no pill, if it begins like one.
    pub fn pill_miss(&self) -> Option<&PillMiss> {
        self.pill_miss.as_ref()
    }

    /// The same with the text and the limits of a workflow of the program itself.
    pub(crate) fn into_workflow(self, pill: Pill) -> Self {
        Self { pill: Some(pill), pill_miss: None, ..self }
    }

    /// Where the name of the model was set, such as `option --model`; none if a surface chose the model.
    pub(crate) fn model_origin(&self) -> Option<&str> {
        self.model_origin.as_deref()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Two requests with the same fingerprint ask for the same.
    pub(crate) fn fingerprint(&self) -> String {
        let said = serde_json::json!([self.text, self.mode, self.images, self.picture]);
        hash(said.to_string().as_bytes())
    }

    /// The request as a session takes it in, and what must be stored with it.
    pub(crate) fn into_request(self, id: RequestId) -> (Request, Vec<(RefKey, String)>) {
        let (mut images, mut keeps) = (Vec::new(), Vec::new());
        for (number, (media_type, base64)) in self.images.into_iter().enumerate() {
            let key = RefKey::image_of(&id, number);
            images.push(ImageRef { key: key.clone(), media_type });
            keeps.push((key, base64));
        }
        let request = Request {
            images,
            mode: self.mode,
            pill: self.pill.map(Box::new),
            while_running: self.while_running,
            picture: self.picture.map(Box::new),
            autonomy: self.autonomy,
            ..Request::new(id, self.text, self.settings)
        };
        (request, keeps)
    }
}

/// The folder of the task assistant, which works in none.
pub const NO_FOLDER: &str = "";

/// The settings in force in a folder.
struct FolderSettings {
    /// Those of the user, made stricter by those of the folder if it is trusted.
    profile: Profile,
    run: RunSettings,
    /// The folder is trusted, so its own settings and pills count.
    trusted: bool,
}

impl Client {
    /// Composes a request for a folder or for [`NO_FOLDER`]. Every way to
    /// start work goes through here, so that a trusted folder's stricter settings hold on all of them.
    pub async fn compose(
        &self,
        profile: &Profile,
        folder: &str,
        draft: RequestDraft,
    ) -> Result<ComposedRequest, Problem> {
        let review = review_call(&draft, folder);
        let RequestDraft { text, mode, images, picture, when_busy, literal, manner } = draft;
        let surface = self.surface.map(str::to_owned);
        let autonomy = manner.autonomy.map(|level| AutonomyChoice { level, surface });
        let own = profile;
        let mut found = self.settings_in(own, folder, manner.clone()).await?;
        let pills = (!literal && looks_like_a_pill(&text))
            .then(|| Pills::load(&found.profile, found.trusted.then_some(folder)));
        // The user may have chosen a model for this once, which comes first.
        if let Some(model) = pills.as_ref().filter(|_| manner.model.is_none()).and_then(|pills| pills.model_of(&text)) {
            found = self.settings_in(own, folder, Manner { model: Some(model), ..manner }).await?;
        }
        let FolderSettings { profile, mut run, trusted } = found;
        if run.subtasks.agent.is_some() {
            check_agent(folder, mode, picture.as_ref())?;
        }
        if folder != NO_FOLDER {
            run.subtasks.agent_models = self.agent_models(own);
        }
        if folder != NO_FOLDER && may_break_down(&text, mode, &run) {
            // Without records, the estimates use typical figures and are marked as such.
            run.subtasks.records = call_records::collect(self.deps().world.store.as_ref()).await.unwrap_or_default();
        }
        let (mut pill, mut pill_miss) = (None, None);
        if let Some(pills) = pills {
            pill = pills.called(&text)?;
            if pill.is_none() {
                let almost = pills.almost(&text).map(PillMiss::Almost);
                pill_miss = almost.or_else(|| (!trusted).then_some(PillMiss::Untrusted));
            }
        }
        if let (None, Some(review)) = (&pill, review) {
            return self.called_review(own, folder, review).await;
        }
        let mut images = images;
        if pill.is_none()
            && !literal
            && folder != NO_FOLDER
            && let Some(prompt) = self.called_prompt(trusted.then_some(folder), &text).await?
        {
            images.extend(prompt.images);
            (pill, pill_miss) = (Some(prompt.pill), None);
        }
        let while_running = match when_busy {
            // Words that join a running request would not reach the agent.
            WhenBusy::AsConfigured if run.subtasks.agent.is_some() => None,
            WhenBusy::AsConfigured => Some(profile.while_running),
            WhenBusy::Exactly(choice) => choice,
        };
        let model_origin = profile.model_origin();
        Ok(ComposedRequest {
            text,
            mode,
            settings: run,
            images,
            pill,
            while_running,
            picture,
            autonomy,
            pill_miss,
            model_origin,
        })
    }

    async fn settings_in(&self, profile: &Profile, folder: &str, manner: Manner) -> Result<FolderSettings, Problem> {
        let Manner { attended, approve, trust, model, autonomy: _, effort, schema, subtasks, agent, piped, typed } =
            manner;
        check_schema(schema.as_ref())?;
        if trust && self.permissions().is_broad(folder) {
            return Err(Problem::new(ProblemKind::Usage, format!("--trust cannot be used for {folder}: {BROAD}."))
                .hint(broad_hint(folder)));
        }
        let is_place = folder != NO_FOLDER;
        let by_settings = is_place && (trust || profile.trusts(folder));
        let trusted = by_settings || (is_place && self.permissions().trusts(profile, folder).await?);
        let mut profile = profile.clone();
        if trusted {
            profile = profile.in_project(folder)?;
        }
        profile.limits.effort = effort.or(profile.limits.effort);
        if model.is_some() {
            profile.model = model;
        } else {
            self.with_local_model(&mut profile).await;
        }
        let mut run = profile.run_settings()?;
        self.inform(&profile, &mut run.models).await;
        if is_place {
            run.commands.checks =
                checks::for_request(profile.external.checks.clone(), folder.to_owned(), trusted).await;
        }
        run.attended = attended;
        run.approve = approve;
        run.trust.trusted = by_settings;
        run.style.answer_schema = schema;
        run.subtasks.start = subtasks;
        run.subtasks.agent = agent;
        // With `--trust`, the instructions that are there are accepted for this request.
        run.trust.instructions_bound = !trust;
        run.typed_bytes = typed.map(|bytes| bytes as u64);
        if piped {
            run.memory.ingest = Ingest::Off;
        }
        Ok(FolderSettings { profile, run, trusted })
    }
}

impl Client {
    /// Puts what servers say about the models of a request, and what their work has shown, in the place of what is
    /// believed. It is recorded with the request, so that a replay has the same facts.
    async fn inform(&self, profile: &Profile, models: &mut ModelSettings) {
        let deps = self.deps();
        let Some(notes) = &deps.notes else { return };
        let (registry, now) = (&*deps.world.models, deps.world.clock.now());
        models.facts = notes.informed_at_once(registry, profile, &models.model, models.facts, now).await;
        let others = [
            (&models.vision_model, &mut models.vision_facts),
            (&models.fast_model, &mut models.fast_facts),
            (&models.fallback_model, &mut models.fallback_facts),
        ];
        for (name, facts) in others {
            if let Some(known) = *facts {
                *facts = Some(notes.informed_at_once(registry, profile, name, known, now).await);
            }
        }
    }
}

impl Client {
    /// The models that the user's own agents name, if their providers are set up. An agent of a folder can use these and
    /// the models of the settings, and no others.
    fn agent_models(&self, own: &Profile) -> Vec<WorkerModel> {
        let roots = AgentRoots::of_profile(own);
        if !roots.exist(None) {
            return Vec::new();
        }
        let agents = Agents::load(&roots, None);
        let mut models: Vec<WorkerModel> = Vec::new();
        for name in agents.own_models() {
            let is_new = !models.iter().any(|known| known.model == name);
            if is_new && self.deps().world.models.find(name).is_ok() {
                models.push(WorkerModel { model: name.to_owned(), facts: own.facts(name) });
            }
        }
        models
    }
}

/// Refuses an agent where there is nothing for it to work on.
fn check_agent(folder: &str, mode: Mode, picture: Option<&PictureWish>) -> Result<(), Problem> {
    let objection = match mode {
        _ if folder == NO_FOLDER || picture.is_some() => "agents work in a folder",
        Mode::Chat | Mode::Plan => "agents do the work, so they cannot be used in chat or plan mode",
        Mode::Auto | Mode::Implement => return Ok(()),
    };
    Err(Problem::new(ProblemKind::Usage, format!("The request cannot be handed to an agent: {objection}."))
        .hint("Leave the agent or the mode out. Nothing was sent."))
}

/// Bytes of a schema at most: it is part of every prompt.
const LARGEST_SCHEMA: usize = 64 * 1024;

/// Refuses a schema that the answer cannot be checked against.
fn check_schema(schema: Option<&Value>) -> Result<(), Problem> {
    let Some(schema) = schema else { return Ok(()) };
    let objection = match schema.to_string().len() > LARGEST_SCHEMA {
        true => Some("it is larger than 64 KB".to_owned()),
        false => schema_objection(schema),
    };
    objection.map_or(Ok(()), |objection| {
        Err(Problem::new(ProblemKind::Usage, format!("The JSON Schema cannot be used: {objection}.")).hint(
            "Supported are type, enum, const, properties, required, additionalProperties, items, anyOf, oneOf, allOf, not, \
             $ref to a part of the schema, and the limits of numbers, texts and lists.",
        ))
    })
}

impl World {
    /// A request with settings that no profile has, for simulations. A surface cannot create a world, so it cannot
    /// create such a request.
    pub fn say(&self, draft: RequestDraft, pill: Option<Pill>, settings: RunSettings) -> ComposedRequest {
        let RequestDraft { text, mode, images, picture, when_busy, manner, .. } = draft;
        let autonomy = manner.autonomy.map(|level| AutonomyChoice { level, surface: None });
        let while_running = match when_busy {
            WhenBusy::AsConfigured => None,
            WhenBusy::Exactly(choice) => choice,
        };
        let (pill_miss, model_origin) = (None, None);
        ComposedRequest {
            text,
            mode,
            settings,
            images,
            pill,
            while_running,
            picture,
            autonomy,
            pill_miss,
            model_origin,
        }
    }
}

/// Why a folder is not trusted like others.
pub const BROAD: &str = "it is or contains your home folder or Trimtab's data";

/// How to work in such a folder anyway.
pub fn broad_hint(folder: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let word = match folder.chars().all(is_plain) {
        true => folder.to_owned(),
        false => format!("'{}'", folder.replace('\'', r"'\''")),
    };
    format!("Use a project folder, or confirm this one: trimtab trust {word} --confirm {word}")
}
