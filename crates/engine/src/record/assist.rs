//! The state of a request about the user's tasks, and what is remembered from earlier ones.

use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{ProposalKind, RouteDecision, RouteFact, Stage};
use trimtab_vocab::{
    Annotated, AskFact, AskPurpose, Category, Entities, Message, Mode, Previewed, Prior, ProposalId, Request,
    RequestId, TasksView, Time, Where,
};

use super::{Checkpoint, Phase, RecordedAnswer, RunningRequest, Session, legacy};

/// The state of a request about tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Assist {
    /// Where it stands.
    pub state: AssistState,
    /// The tasks for the model; absent: not read yet.
    pub view: Option<TasksView>,
    /// What it is about: a habit, a goal, a task, an event.
    pub category: Option<Category>,
    /// What its words name.
    pub entities: Entities,
    /// Which tasks it is about.
    pub filter: Where,
    /// Missing information.
    pub missing: Vec<String>,
    /// How sure the router was.
    pub confidence: f64,
    /// The question that was answered last, by this request or within it.
    pub clarify: Option<Prior>,
    /// The original request, if its own text only answers a question.
    pub instruction: Option<String>,
    /// Questions that it has asked.
    pub asked: u32,
    /// The model's words that are being judged.
    pub said: String,
    /// The operations as they are proposed.
    pub proposal: Option<ProposalId>,
    /// Their version; 0: none.
    pub version: u32,
    /// Each with what is wrong about it.
    pub operations: Vec<Annotated>,
    /// They were to be repaired.
    pub repaired: bool,
    /// The stage that the user was last told of.
    pub stage: Option<Stage>,
}

/// The state of a request about tasks: what is done next, or is being done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AssistState {
    /// A path is to be found.
    #[default]
    Routing,
    /// The user is to be asked.
    Asking,
    /// An answer in words is to be given.
    Chatting,
    /// Operations are to be proposed.
    Proposing,
    /// They are to be judged.
    Judging,
    /// They are to be repaired.
    Repairing,
    /// The repair is to be checked.
    Rejudging,
    /// They are to be summarized.
    Summarizing,
}

/// What is kept between requests about tasks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TaskMemory {
    /// The last question, and what had been asked for.
    pub question: Option<(String, String)>,
    /// The tasks that the user has last confirmed to mean, and when.
    pub scope: Option<(Where, Time)>,
    /// Operations that are neither applied nor rejected.
    pub proposal: Option<OpenProposal>,
}

/// Operations that wait for the user.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenProposal {
    pub id: ProposalId,
    pub request: RequestId,
    /// How many there are, and how many of them could be applied.
    pub operations: usize,
    /// How many of them could be applied.
    pub valid: usize,
    /// The tasks that they are about.
    pub filter: Where,
    /// When the tasks were read for them.
    pub seen: Option<Time>,
}

impl Assist {
    /// The beginning of a request that is one about the tasks.
    pub(super) fn for_request(request: &Request) -> Option<Box<Self>> {
        let ask = request.ask.as_ref()?;
        Some(Box::new(Self { clarify: ask.clarify.clone(), ..Self::default() }))
    }

    /// Whether the user has said which tasks are meant, by answering a question.
    fn is_confirmed(&self) -> bool {
        self.clarify.is_some() && !self.filter.is_everything()
    }

    /// Operations that could be applied.
    pub(crate) fn valid(&self) -> usize {
        self.operations.iter().filter(|one| one.valid().is_some()).count()
    }
}

impl Session {
    /// What is remembered from one request about the tasks to the next.
    pub(crate) fn task_memory(&self) -> &TaskMemory {
        &self.task_memory
    }

    pub(super) fn begin_assist(&mut self) {
        let known = self.task_memory.question.clone();
        let Some(active) = &mut self.active else { return };
        let Some(assist) = &mut active.assist else { return };
        let asked = assist.clarify.as_ref().map(|prior| prior.question.as_str());
        // An answer to the last question continues its subject, regardless of what the client remembers.
        if let (Some(asked), Some((question, instruction))) = (asked, known)
            && assist.instruction.is_none()
            && is_same_question(asked, &question)
        {
            assist.instruction = Some(instruction);
        }
    }

    pub(super) fn fold_ask(&mut self, fact: &AskFact) {
        let Some(active) = &mut self.active else { return };
        let Some(assist) = &mut active.assist else { return };
        match fact {
            AskFact::Viewed { view } => {
                if assist.state == AssistState::Proposing && assist.is_confirmed() {
                    self.task_memory.scope = Some((assist.filter.clone(), view.now));
                }
                assist.view = Some(TasksView::clone(view));
            }
            AskFact::Repaired { .. } => {
                assist.repaired = true;
                assist.state = AssistState::Summarizing;
                // A failed repair says nothing about the next call.
                active.calls.failures = 0;
                active.phase = Phase::Replied;
            }
        }
    }

    pub(super) fn fold_task_stage(&mut self, stage: Stage) {
        if let Some(assist) = self.active.as_mut().and_then(|active| active.assist.as_mut()) {
            assist.stage = Some(stage);
        }
    }

    /// It is decided which path a request about the tasks takes.
    pub(super) fn fold_task_route(&mut self, fact: &RouteFact) {
        let Some(active) = &mut self.active else { return };
        let Some(assist) = &mut active.assist else { return };
        assist.category = fact.category;
        assist.entities = read(fact.entities.as_ref());
        assist.filter = read(fact.filter.as_ref());
        assist.missing = fact.analysis.as_ref().map(|analysis| analysis.missing.clone()).unwrap_or_default();
        assist.confidence = fact.confidence;
        assist.state = match fact.decision {
            RouteDecision::Chat => AssistState::Chatting,
            RouteDecision::Clarify => AssistState::Asking,
            _ => {
                // What is shown for a plan depends on what it is about.
                assist.view = None;
                AssistState::Proposing
            }
        };
    }

    /// A model has answered in a request about the tasks. Operations are to be judged.
    pub(super) fn fold_task_reply(&mut self, purpose: AskPurpose, words: String, stopping: bool) {
        let Some(active) = &mut self.active else { return };
        let Some(assist) = &mut active.assist else { return };
        assist.state = match purpose {
            AskPurpose::Propose => AssistState::Judging,
            AskPurpose::Repair => AssistState::Rejudging,
            AskPurpose::Route | AskPurpose::Chat | AskPurpose::Summary => return,
        };
        assist.said = words;
        if !stopping {
            active.phase = Phase::Loading;
        }
    }

    pub(super) fn fold_task_proposal(
        &mut self,
        request: Option<&RequestId>,
        id: &ProposalId,
        kind: ProposalKind,
        operations: &[serde_json::Value],
        version: u32,
    ) {
        if kind != ProposalKind::Tasks {
            return;
        }
        let Some(active) = self.active.as_mut().filter(|active| Some(&active.request.id) == request) else { return };
        let Some(assist) = &mut active.assist else { return };
        let read = |one: &serde_json::Value| serde_json::from_value::<Previewed>(one.clone()).ok();
        let annotated = |one: Previewed| Annotated { op: one.op, errors: one.errors };
        assist.operations = operations.iter().filter_map(read).map(annotated).collect();
        assist.proposal = Some(id.clone());
        assist.version = version;
        assist.said.clear();
        let invalid = assist.operations.len() > assist.valid();
        assist.state = match invalid && version == 1 && active.request.settings.style.recovery.repairs > 0 {
            true => AssistState::Repairing,
            false => AssistState::Summarizing,
        };
        active.phase = Phase::Replied;
        self.task_memory.proposal = Some(OpenProposal {
            id: id.clone(),
            request: active.request.id.clone(),
            operations: assist.operations.len(),
            valid: assist.valid(),
            filter: assist.filter.clone(),
            seen: assist.view.as_ref().map(|view| view.now),
        });
    }

    /// Operations were applied, or left.
    pub(super) fn close_task_proposal(&mut self, id: &ProposalId, applied: bool) {
        let Some(open) = self.task_memory.proposal.take_if(|open| open.id == *id) else { return };
        if let Some(seen) = open.seen.filter(|_| applied && !open.filter.is_everything()) {
            self.task_memory.scope = Some((open.filter, seen));
        }
    }

    /// A question is asked: from here on it is known what its answer is about.
    pub(super) fn fold_task_question(&mut self, request: &RequestId, question: &str) {
        let Some(active) = self.active.as_mut().filter(|active| active.request.id == *request) else { return };
        let text = active.request.text.clone();
        let Some(assist) = &mut active.assist else { return };
        assist.asked += 1;
        let instruction = assist.instruction.clone().unwrap_or(text);
        self.task_memory.question = Some((question.to_owned(), instruction));
        self.push(Message::assistant(question));
    }

    /// A question was answered within the request that asked it.
    pub(super) fn fold_task_answer(&mut self, answered: &Checkpoint, given: RecordedAnswer<'_>) -> bool {
        let Ask::Clarification { questions, .. } = &answered.ask else { return false };
        let Some(active) = self.unfinished_mut(&answered.request) else { return false };
        let request_text = active.request.text.clone();
        let Some(assist) = &mut active.assist else { return false };
        let question = questions.first().cloned().unwrap_or_default();
        let (words, selection) = match given.message {
            Some(words) => (words.to_owned(), given.selection.cloned()),
            None => legacy::task_answer(&question, given.choice, given.text),
        };
        assist.instruction.get_or_insert(request_text);
        assist.clarify = Some(Prior { question: question.text, selection });
        assist.view = None;
        assist.state = AssistState::Routing;
        active.request.text.clone_from(&words);
        self.push(Message::user(words));
        true
    }
}

impl RunningRequest {
    /// Whether it finds its path by asking the router.
    pub(crate) fn is_routed_by_model(&self) -> bool {
        self.request.mode == Mode::Auto && self.request.settings.auto_mode.auto_mode
    }
}

fn read<T: Default + serde::de::DeserializeOwned>(value: Option<&serde_json::Value>) -> T {
    value.and_then(|value| serde_json::from_value(value.clone()).ok()).unwrap_or_default()
}

/// Whether two texts are the same question, with or without the options in its text.
pub(crate) fn is_same_question(one: &str, other: &str) -> bool {
    let plain = |text: &str| {
        let text = text.split(" Options: ").next().unwrap_or_default();
        text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
    };
    !one.trim().is_empty() && plain(one) == plain(other)
}
