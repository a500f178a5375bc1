//! Performs the effects that the engine requests.
//!
//! Each effect is a task. The result of a model call goes into the session's durable inbox before anything acts on
//! it. Results that can be determined again after a crash (a free slot, the end of a wait) are only sent to the
//! actor.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use trimtab_engine::runaway::RunawayDetector;
use trimtab_engine::tokens::{estimate, prompt_tokens};
use trimtab_engine::{Input, Partial};
use trimtab_vocab::event::{PromptProgress, ReplyFact};
use trimtab_vocab::wording::ProblemText;
use trimtab_vocab::{
    CallId, Event, Fault, Message, Part, Prices, Problem, ProblemKind, Prompt, RefKey, Reply, RequestId, Retry, Time,
    TimerId, Usage,
};
use trimtab_world::models::{Assembly, Model, ReplyPiece};
use trimtab_world::store::{Admission, Lease, NewInput, StoreError};
use trimtab_world::tools::edits;

use crate::StreamController;
use crate::actor::ActorError;
use crate::cache;
use crate::client::ActorContext;
use crate::hub::Update;

/// How often a partial reply is saved.
const SAVE_EVERY: Duration = Duration::from_millis(250);
/// A partial reply is also saved once this many bytes are unsaved.
const SAVE_BYTES: usize = 4 * 1024;
/// A shorter time says nothing about the speed of a model.
const SHORTEST_MEASURED_MS: u64 = 100;

/// A task's link to its actor.
#[derive(Clone)]
pub(crate) struct ActorHandle {
    pub(crate) lease: Lease,
    pub(crate) wake: Arc<Notify>,
    pub(crate) mailbox: mpsc::Sender<Input>,
}

/// Waits for room among the running requests, and tells that there is some.
pub(crate) async fn admit(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    request: RequestId,
) -> Result<(), ActorError> {
    find_room(&deps, &reporter, &request).await?;
    let _ = reporter.mailbox.send(Input::Admitted { request }).await;
    Ok(())
}

/// Waits for room; tells once that it has to.
pub(crate) async fn find_room(
    deps: &ActorContext,
    reporter: &ActorHandle,
    request: &RequestId,
) -> Result<(), ActorError> {
    let mut told = false;
    loop {
        match deps.world.store.admit(&reporter.lease, request, deps.job_limit).await? {
            Admission::Granted => return Ok(()),
            Admission::Held { ahead } if !told => {
                told = true;
                let _ = reporter.mailbox.send(Input::Held { request: request.clone(), ahead }).await;
            }
            Admission::Held { .. } => {}
        }
        tokio::time::sleep(deps.world.store.pace()).await;
    }
}

pub(crate) async fn wait(reporter: ActorHandle, timer: TimerId, millis: u64) -> Result<(), ActorError> {
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let _ = reporter.mailbox.send(Input::TimerFired { timer }).await;
    Ok(())
}

/// Seconds that a name may take; it is not worth more.
const TITLE: Duration = Duration::from_secs(20);

/// Finds a title for the session. A failure is ignored.
pub(crate) async fn title(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    request: RequestId,
    prompt: Box<Prompt>,
) -> Result<(), ActorError> {
    let Ok(model) = deps.world.models.find(&prompt.model) else { return Ok(()) };
    let mut assembly = Assembly::new(model.dialect());
    let listen = async {
        let mut pieces = model.stream(&prompt);
        while let Some(piece) = pieces.next().await {
            assembly.push(piece?)?;
        }
        assembly.finish()
    };
    if let Ok(Ok(reply)) = tokio::time::timeout(TITLE, listen).await {
        let (title, model, usage) = (reply.message.text(), prompt.model.clone(), reply.usage);
        let _ = reporter.mailbox.send(Input::Titled { request, title, model, usage }).await;
    }
    Ok(())
}

/// A model call to make.
pub(crate) struct ModelCall {
    pub(crate) request: RequestId,
    pub(crate) call: CallId,
    pub(crate) prompt: Box<Prompt>,
    /// What the model costs, if that is known.
    pub(crate) prices: Option<Prices>,
    /// Whether the request already has room among the running ones.
    pub(crate) has_room: bool,
    /// Seconds for which the reply to the same prompt is used again.
    pub(crate) cache_s: u64,
    /// How often the request wants the same thing said.
    pub(crate) repeats: u32,
}

/// Makes a model call and puts what comes of it into the inbox.
pub(crate) async fn call_model(
    deps: Arc<ActorContext>,
    reporter: ActorHandle,
    order: ModelCall,
    controller: StreamController,
) -> Result<(), ActorError> {
    let mut listener = Listener {
        deps: &deps,
        reporter: &reporter,
        order: &order,
        assembly: Assembly::default(),
        is_sent: false,
        is_answered: false,
        words: RunawayDetector::default().expecting(order.repeats),
        thoughts: RunawayDetector::default(),
        arguments: RunawayDetector::patient().expecting(order.repeats),
        saved: 0,
        save_at: Instant::now() + SAVE_EVERY,
        started: None,
        first_token: None,
    };
    // The abort is raced at every wait; giving up the rest drops the stream, which closes the
    // connection before anything else is done.
    if let Some(input) = cache::find(&deps, &order).await? {
        deps.world.store.enqueue(reporter.lease.session(), input).await?;
        reporter.wake.notify_one();
        return Ok(());
    }
    let end = tokio::select! {
        biased;
        () = controller.aborted() => CallEnd::Aborted,
        end = listener.listen() => end?,
    };
    let input = listener.conclude(end);
    cache::keep(&deps, reporter.lease.session(), &order, &input).await?;
    deps.world.store.enqueue(reporter.lease.session(), input).await?;
    reporter.wake.notify_one();
    Ok(())
}

enum CallEnd {
    Reply,
    Fault(Fault),
    Aborted,
}

struct Listener<'a> {
    deps: &'a ActorContext,
    reporter: &'a ActorHandle,
    order: &'a ModelCall,
    assembly: Assembly,
    /// The prompt was sent.
    is_sent: bool,
    /// The provider has begun to answer.
    is_answered: bool,
    words: RunawayDetector,
    thoughts: RunawayDetector,
    arguments: RunawayDetector,
    saved: usize,
    save_at: Instant,
    /// When the call was made, and when the first token of its reply came.
    started: Option<Time>,
    first_token: Option<Time>,
}

impl Listener<'_> {
    /// Listens until the reply ends, one way or another.
    async fn listen(&mut self) -> Result<CallEnd, ActorError> {
        if !self.order.has_room {
            find_room(self.deps, self.reporter, &self.order.request).await?;
            let admitted = Input::Admitted { request: self.order.request.clone() };
            let _ = self.reporter.mailbox.send(admitted).await;
        }
        let model = self.deps.world.models.find(&self.order.prompt.model).map_err(ActorError::SetUp)?;
        self.assembly = Assembly::new(model.dialect());
        let mut prompt = Prompt::clone(&self.order.prompt);
        self.fetch_images(&mut prompt).await?;
        self.log_roles(&prompt);
        prompt.cache_key = self.reporter.lease.session().to_string();
        self.started = Some(self.deps.world.clock.now());
        let mut pieces = model.stream(&prompt);
        self.is_sent = true;
        loop {
            tokio::select! {
                biased;
                piece = pieces.next() => match piece {
                    None => return Ok(CallEnd::Reply),
                    Some(Err(fault)) => return Ok(CallEnd::Fault(with_nearest(&*model, &prompt.model, fault).await)),
                    Some(Ok(piece)) => {
                        self.is_answered |= !matches!(piece, ReplyPiece::Warning(_));
                        self.observe(&piece);
                        let is_endless = self.repeats_itself(&piece);
                        match self.assembly.push(piece) {
                            Err(fault) => return Ok(CallEnd::Fault(fault)),
                            Ok(Some(words)) if !words.is_empty() => self.show(words, String::new(), None),
                            Ok(_) => {}
                        }
                        if is_endless {
                            return Ok(CallEnd::Fault(endless()));
                        }
                    }
                },
                () = tokio::time::sleep_until(self.save_at), if self.unsaved() > 0 => {}
            }
            if self.unsaved() >= SAVE_BYTES || (self.unsaved() > 0 && Instant::now() >= self.save_at) {
                self.save().await?;
            }
        }
    }

    /// Whether the reply only repeats itself, in its text, its reasoning, or its tool arguments.
    fn repeats_itself(&mut self, piece: &ReplyPiece) -> bool {
        match piece {
            ReplyPiece::Text { text, .. } => self.words.read(text),
            ReplyPiece::Thinking { text, .. } => self.thoughts.read(text),
            ReplyPiece::Tool { arguments, .. } => self.arguments.read(arguments),
            _ => false,
        }
    }

    /// Records when the first token arrived, and shows progress and reasoning, which are not part of the answer.
    fn observe(&mut self, piece: &ReplyPiece) {
        match piece {
            ReplyPiece::Progress(progress) => self.show(String::new(), String::new(), Some(*progress)),
            ReplyPiece::Text { text, .. } | ReplyPiece::Thinking { text, .. } if text.is_empty() => {}
            ReplyPiece::Text { .. } | ReplyPiece::Thinking { .. } | ReplyPiece::Tool { .. } => {
                if self.first_token.is_none() {
                    self.first_token = Some(self.deps.world.clock.now());
                }
                if let ReplyPiece::Thinking { text, .. } = piece {
                    self.show(String::new(), text.clone(), None);
                }
            }
            _ => {}
        }
    }

    /// Records the speed of the reply, if it is known.
    fn time(&self, usage: &mut Usage) {
        let (Some(started), Some(first)) = (self.started, self.first_token) else { return };
        let millis = |from: Time, to: Time| u64::try_from(to.millis() - from.millis()).ok().filter(|wait| *wait > 0);
        usage.first_token_ms = millis(started, first);
        let took = millis(first, self.deps.world.clock.now()).filter(|_| usage.output_tokens > 1 && !usage.estimated);
        // A reply that arrives in one piece would seem to have an absurd speed.
        let measured = took
            .filter(|took| *took >= SHORTEST_MEASURED_MS)
            .map(|took| usage.output_tokens as f64 * 1_000.0 / took as f64);
        // To a tenth: more would only look exact.
        usage.tokens_per_s = usage.tokens_per_s.or(measured).map(|speed| (speed * 10.0).round() / 10.0);
    }

    /// The warnings of the call that this session has not shown yet.
    fn news(&self) -> Vec<String> {
        let mut told = self.deps.told.lock().unwrap_or_else(PoisonError::into_inner);
        let session = self.reporter.lease.session();
        let warnings = self.assembly.warnings().iter();
        warnings.filter(|text| told.insert((session.clone(), (*text).clone()))).cloned().collect()
    }

    /// Logs the roles of a prompt, to debug a conversation that a provider refuses. The texts stay out of the log,
    /// because they may be private.
    fn log_roles(&self, prompt: &Prompt) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            for (number, message) in prompt.messages.iter().enumerate() {
                let (role, parts, bytes) = (message.role, message.parts.len(), message.text().len());
                tracing::debug!(call = %self.order.call, number, ?role, parts, bytes, "message");
            }
        }
    }

    /// Pictures are stored beside the conversation; a call needs their bytes.
    async fn fetch_images(&self, prompt: &mut Prompt) -> Result<(), StoreError> {
        let parts = self.order.prompt.messages.iter().flat_map(|message| &message.parts);
        for part in parts {
            if let Part::Image { image, .. } = part
                && !prompt.images.contains_key(image)
                && let Some(base64) = self.deps.world.store.text(image).await?
            {
                prompt.images.insert(image.clone(), base64.into());
            }
        }
        Ok(())
    }

    /// What the call cost: as the provider says, or as the prices say of its figures, or as both are
    /// guessed from the size of the texts.
    fn bill(&self, mut usage: Usage, message: &Message) -> Usage {
        if usage.input_tokens == 0 && usage.output_tokens == 0 {
            usage.estimated = true;
            let words = |message: &Message| estimate(&message.text());
            let prompt = &self.order.prompt;
            usage.input_tokens = estimate(&prompt.system) + prompt.messages.iter().map(|said| words(said)).sum::<u64>();
            usage.output_tokens = words(message);
        }
        usage.cost_usd = usage.cost_usd.or(self.order.prices.map(|prices| prices.cost(&usage)));
        self.time(&mut usage);
        usage
    }

    /// What a call came to that did not reach its end: what the provider has said by then, and a guess at the rest.
    fn broken_bill(&self, is_billed: bool) -> Usage {
        if !is_billed {
            return Usage::default();
        }
        let told = self.assembly.usage();
        let input_tokens = if told.input_tokens > 0 { told.input_tokens } else { prompt_tokens(&self.order.prompt) };
        let output_tokens = told.output_tokens.max(self.assembly.bytes() as u64 / 4);
        let usage = Usage { input_tokens, output_tokens, estimated: true, ..told };
        Usage { cost_usd: usage.cost_usd.or(self.order.prices.map(|prices| prices.cost(&usage))), ..usage }
    }

    fn unsaved(&self) -> usize {
        self.assembly.words().len() - self.saved
    }

    fn show(&self, text: String, thinking: String, progress: Option<PromptProgress>) {
        let event = Event {
            seq: None,
            time: self.deps.world.clock.now(),
            session: self.reporter.lease.session().clone(),
            request: Some(self.order.request.clone()),
            fact: ReplyFact::Delta { call: self.order.call.clone(), text, thinking, progress }.into(),
        };
        self.deps.hub.publish(self.reporter.lease.session(), Update::Event(Arc::new(event)));
    }

    async fn save(&mut self) -> Result<(), StoreError> {
        let words = self.assembly.words();
        let unsaved = &words[self.saved..];
        self.deps.world.store.append_partial(&self.reporter.lease, &self.order.call, unsaved).await?;
        self.saved = words.len();
        self.save_at = Instant::now() + SAVE_EVERY;
        Ok(())
    }

    fn conclude(mut self, end: CallEnd) -> NewInput {
        let raw = raw_key(&self.reporter.lease, &self.order.call, self.assembly.words());
        let keeps: Vec<_> = raw.iter().map(|key| (key.clone(), self.assembly.words().to_owned())).collect();
        let call = self.order.call.clone();
        let partial = |usage: Usage| Some(Partial { message: self.assembly.partial(), raw: raw.clone(), usage });
        let input = match end {
            CallEnd::Aborted => Input::CallAborted { call, partial: partial(self.broken_bill(self.is_sent)) },
            CallEnd::Fault(fault) => {
                let is_billed = self.is_answered || fault.problem.kind == ProblemKind::Stalled;
                Input::CallFailed { call, fault, partial: partial(self.broken_bill(is_billed)) }
            }
            CallEnd::Reply => {
                let so_far = partial(self.broken_bill(true));
                let warnings = self.news();
                match std::mem::take(&mut self.assembly).finish() {
                    Ok(Reply { message, stop_reason, usage }) => {
                        let usage = self.bill(usage, &message);
                        Input::Replied { call, reply: Reply { message, stop_reason, usage }, raw, warnings }
                    }
                    Err(fault) => Input::CallFailed { call, fault, partial: so_far },
                }
            }
        };
        NewInput { payload: written(&input), keeps, relaxed_durability: true, ..NewInput::default() }
    }
}

/// The model repeats itself without end. The engine decides whether another try may do better.
fn endless() -> Fault {
    let problem = Problem::new(ProblemKind::Repetition, ProblemText::RepeatedItself);
    Fault { problem: problem.hint(ProblemText::RepeatedItselfHint), retry: Retry::Later { after_ms: None } }
}

/// Seconds that a list of models may take; it is only a help.
const LISTING: Duration = Duration::from_secs(5);
/// Models that are suggested for an unknown one.
const NEAREST: usize = 3;

/// A fault about a model that is not there, with those that are served and whose names are nearest.
async fn with_nearest(model: &dyn Model, wanted: &str, fault: Fault) -> Fault {
    if fault.problem.kind != ProblemKind::NotFound {
        return fault;
    }
    let Some((provider, wanted)) = wanted.split_once('/') else { return fault };
    let Ok(Ok(listed)) = tokio::time::timeout(LISTING, model.list()).await else { return fault };
    let mut names: Vec<(usize, &str)> =
        listed.iter().map(|one| (edits(wanted, &one.name), one.name.as_str())).collect();
    names.sort_unstable();
    let names: Vec<String> = names.iter().take(NEAREST).map(|(_, name)| format!("{provider}/{name}")).collect();
    // One that is listed is there: something else was not found.
    if names.is_empty() || listed.iter().any(|one| one.name == wanted) {
        return fault;
    }
    let more = fault.problem.hint.as_deref().map(|hint| format!(" {hint}")).unwrap_or_default();
    let hint = format!("{provider} does not list {wanted}. The closest matches: {}.{more}", names.join(", "));
    let problem = Problem { nearest: names, ..fault.problem.hint(hint) };
    Fault { problem, ..fault }
}

/// Where the words of a reply are stored, if there are any.
pub(crate) fn raw_key(lease: &Lease, call: &CallId, words: &str) -> Option<RefKey> {
    (!words.is_empty()).then(|| RefKey::reply_of(lease.session(), call))
}

/// The stored form of an input.
pub(crate) fn written(input: &Input) -> String {
    serde_json::to_string(input).expect("inputs are plain data with string keys")
}
