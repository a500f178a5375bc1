//! A request comes, is steered, and leaves its end in the conversation.

use trimtab_vocab::event::{ModelSwitch, RequestFact, Status};
use trimtab_vocab::{
    AnswerProtocol, INTERRUPT_USER, LearnedFacts, Message, Request, RequestId, RunSettings, WhileRunning,
};

use super::carried;
use super::results::{INTERRUPTED, PASSED_OVER, results};
use crate::record::model_for;
use crate::record::names::AUTO_CONTINUE;
use crate::record::running::TurnState;
use crate::record::{Phase, RunningRequest, Session, legacy};

/// Seconds between requests after which a provider's short cache is gone and its long one is not.
const LONG_PAUSE: std::ops::RangeInclusive<u64> = 300..=3_600;

impl Session {
    /// A request is taken in, and waits for its turn.
    fn fold_received(&mut self, id: &RequestId, fact: &RequestFact) {
        let RequestFact::Received {
            text,
            refs,
            images,
            mode,
            tags,
            pill,
            ask,
            picture,
            while_running,
            pause_s,
            settings,
        } = fact
        else {
            return;
        };
        let mut request = Request {
            id: id.clone(),
            text: text.clone(),
            refs: refs.clone(),
            images: images.clone(),
            mode: *mode,
            tags: tags.clone(),
            pill: pill.clone(),
            ask: ask.clone(),
            picture: picture.clone(),
            while_running: *while_running,
            autonomy: None,
            pause_s: *pause_s,
            settings: RunSettings::clone(settings),
        };
        for (model, protocol) in &self.models.protocols {
            correct(&mut request, model, &LearnedFacts { protocol: Some(*protocol), ..LearnedFacts::default() });
        }
        self.queue.known.insert(id.clone());
        self.note_hooks(id, &request.settings.known.hooks);
        self.note_checks(&request.settings.commands.checks);
        self.models.waits_long |= pause_s.is_some_and(|pause| LONG_PAUSE.contains(&pause));
        self.lineage.prefill = None;
        match while_running {
            // It takes the place of what runs, before whatever waits behind that.
            Some(WhileRunning::Replace) => self.queue.waiting.push_front(RunningRequest::new(request)),
            _ => self.queue.waiting.push_back(RunningRequest::new(request)),
        }
        self.start_next();
    }

    pub(super) fn fold_request(&mut self, id: Option<&RequestId>, fact: &RequestFact) {
        let Some(id) = id else { return };
        match fact {
            RequestFact::Received { .. } => self.fold_received(id, fact),
            RequestFact::Joined { .. } => {
                self.queue.known.insert(id.clone());
            }
            RequestFact::Stopping {} => {
                if let Some(active) = self.active_mut(id) {
                    let call = match &active.phase {
                        Phase::Calling { call, purpose } => Some((call.clone(), purpose.clone())),
                        _ => None,
                    };
                    active.phase = Phase::Stopping { call };
                }
            }
            RequestFact::Steered { text, by } => {
                let done = (by == AUTO_CONTINUE).then(|| crate::record::completed(&self.todos));
                if let Some(active) = self.unfinished_mut(id) {
                    match by.as_str() {
                        "user" => active.hear(Some(text)),
                        _ => active.steering.steers.push(text.clone()),
                    }
                    if let Some(done) = done {
                        active.flow.done_before = done;
                    }
                }
            }
            RequestFact::Pausing {} => {
                if let Some(active) = self.active_mut(id) {
                    active.steering.pausing = true;
                }
            }
            RequestFact::Resumed { wish: true } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.steering.pausing = false;
                }
            }
            RequestFact::Resumed { wish: false } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.phase = if active.batch.is_some() { Phase::Tools } else { Phase::Loading };
                    active.trust.is_uninstructed = false;
                }
            }
            RequestFact::Adjusted { .. } => self.fold_adjustment(id, fact),
            RequestFact::Relisted { lists } => {
                if let Some(active) = self.unfinished_mut(id) {
                    active.request.settings.relist(lists.clone());
                }
            }
            RequestFact::Assessing { message } => {
                if let Some(active) = self.active_mut(id) {
                    active.calls.assessing = true;
                    let limit = active.step_limit();
                    active.calls.assessment = carried(message.as_deref(), || Some(legacy::assessment(limit)));
                    active.steering.steers.extend(active.calls.assessment.clone());
                }
            }
            RequestFact::Reopened {} => {
                if let Some(at) = self.queue.parked.iter().position(|parked| parked.request.id == *id) {
                    let mut active = self.queue.parked.remove(at);
                    active.phase = Phase::Admitting;
                    self.queue.waiting.push_front(active);
                    self.start_next();
                }
            }
            RequestFact::Finished { status, .. } => self.finish(id, *status),
        }
    }

    fn fold_adjustment(&mut self, id: &RequestId, fact: &RequestFact) {
        let RequestFact::Adjusted { approve, attended, max_steps, trusted, tools, learned, model } = fact else {
            return;
        };
        let known = model.as_ref().and_then(|switch| self.models.protocols.get(&switch.model)).copied();
        let Some(active) = self.unfinished_mut(id) else { return };
        let settings = &mut active.request.settings;
        settings.approve = approve.unwrap_or(settings.approve);
        settings.attended = attended.unwrap_or(settings.attended);
        settings.models.max_steps = max_steps.unwrap_or(settings.models.max_steps);
        settings.models.steps_chosen |= max_steps.is_some();
        settings.trust.trusted = trusted.unwrap_or(settings.trust.trusted);
        // Whoever says so now has the folder as it is now in mind.
        settings.trust.instructions_bound &= *trusted != Some(true);
        if let Some(ModelSwitch { model, facts }) = model {
            settings.models.model.clone_from(model);
            settings.models.facts = known.map_or(*facts, |protocol| facts.with_protocol(protocol));
            settings.models.vision_model.clear();
            // Its tries are its own.
            active.calls.failures = 0;
        }
        let toolless = (*tools == Some(false)).then_some(AnswerProtocol::StructuredJson);
        let learned = LearnedFacts { protocol: learned.protocol.or(toolless), ..*learned };
        if !learned.is_empty() {
            let model = model_for(&active.request).0.to_owned();
            correct(&mut active.request, &model, &learned);
            if learned.protocol.is_some_and(|protocol| tools.is_none() && protocol != AnswerProtocol::NativeTools) {
                // It cannot look any more, so it is shown what it needs.
                (active.loaded, active.phase) = (false, Phase::Loading);
            }
            // A window or an eye may be there tomorrow: whoever sends the next request knows better.
            self.models.protocols.extend(learned.protocol.map(|protocol| (model, protocol)));
        }
    }

    /// Whether a request that ends so is kept, because it goes on when somebody answers.
    pub(crate) fn parks(&self, id: &RequestId, status: Status) -> bool {
        let Some(ending) = self.active.as_ref().filter(|active| active.request.id == *id) else { return false };
        // Somebody who answered that it is to stop here will not be asked again.
        matches!(status, Status::NeedsUser | Status::Limit)
            && self.questions_for(id).next().is_some()
            && ending.waits_for_a_person()
    }

    pub(super) fn finish(&mut self, id: &RequestId, status: Status) {
        let parks = self.parks(id, status);
        let Some(ended) = self.active.take_if(|active| active.request.id == *id) else {
            let at = self.queue.waiting.iter().position(|waiting| waiting.request.id == *id);
            let waited = at.and_then(|at| self.queue.waiting.remove(at));
            // One that was answered while the history moved has begun, and ends in its place. Where another one
            // has begun since, it was passed over then.
            if let Some(ended) = waited.filter(|waiting| waiting.turn.begun && self.active.is_none()) {
                self.close(ended, status);
            }
            self.checkpoints.retain(|_, checkpoint| checkpoint.request != *id);
            return self.start_next();
        };
        if parks {
            self.queue.parked.push(ended);
        } else {
            self.checkpoints.retain(|_, checkpoint| checkpoint.request != *id);
            self.close(ended, status);
        }
        self.start_next();
    }

    /// What a request that ends leaves in the conversation.
    pub(super) fn close(&mut self, mut ended: RunningRequest, status: Status) {
        // A tool use without its result would make the conversation invalid for every provider.
        // One that was passed over has results already.
        if let Some(batch) = ended.batch.take().filter(|batch| !batch.passed_over) {
            self.push(results(&batch, INTERRUPTED, None, Vec::new()));
        }
        // What a person said and no model has heard is heard with the next request.
        let untold = Some(ended.steering.untold.join("\n\n")).filter(|words| !words.is_empty());
        let stopped = (status == Status::Cancelled).then(|| INTERRUPT_USER.to_owned());
        let words: Vec<String> = untold.into_iter().chain(stopped).collect();
        // Another one that was answered while the history moved may wait amid its tools.
        if !words.is_empty() {
            self.pass_over_the_parked();
        }
        words.into_iter().for_each(|words| self.push(Message::user(words)));
    }

    pub(super) fn start_next(&mut self) {
        if self.active.is_some() || self.changes.moving.is_some() {
            return;
        }
        let Some(mut active) = self.queue.waiting.pop_front() else { return };
        // What goes on after others have spoken says its words again: a model answers the last ones.
        if !active.turn.begun || active.turn.overtaken {
            self.pass_over_the_parked();
            active.flow.from = self.conversation.messages.len();
            self.push(active.request.message());
            // In the middle of a plan, that is not what is to be done now; nor is it when the steps are used up.
            self.push_words(active.flow.running().and(active.flow.brief.clone()));
            active.ask_again_for_assessment();
        }
        active.turn = TurnState { begun: true, overtaken: false };
        self.active = Some(active);
        self.begin_assist();
    }

    /// Before anybody else speaks, tool uses that still wait for a person get a result that says so. So do
    /// those of a request that was answered and waits until the history has moved.
    pub(super) fn pass_over_the_parked(&mut self) {
        let mut told = Vec::new();
        let answered = self.queue.waiting.iter_mut().filter(|waiting| waiting.turn.begun);
        for parked in self.queue.parked.iter_mut().chain(answered) {
            parked.turn.overtaken = true;
            if let Some(batch) = parked.batch.as_mut().filter(|batch| !batch.passed_over) {
                told.push(results(batch, PASSED_OVER, None, Vec::new()));
                batch.passed_over = true;
            }
        }
        told.into_iter().for_each(|message| self.push(message));
    }
}

impl RunningRequest {
    /// Where the model was asked how far it came and has not said so, it is asked behind the words of the request again.
    fn ask_again_for_assessment(&mut self) {
        let (words, steers) = (self.calls.assessment.as_ref(), &mut self.steering.steers);
        if let Some(words) = words.filter(|words| self.calls.assessing && !steers.contains(words)) {
            steers.push(words.clone());
        }
    }
}

/// What was found out about a model holds for whatever it is asked.
fn correct(request: &mut Request, model: &str, learned: &LearnedFacts) {
    let models = &mut request.settings.models;
    let named = [
        (models.model == model, Some(&mut models.facts)),
        (models.vision_model == model, models.vision_facts.as_mut()),
        (models.fast_model == model, models.fast_facts.as_mut()),
    ];
    for (_, facts) in named.into_iter().filter(|(is_it, _)| *is_it) {
        facts.into_iter().for_each(|facts| learned.correct(facts));
    }
}

/// The fact that a request was taken in.
pub(crate) fn received(request: Request) -> RequestFact {
    // The level of autonomy that came with it is recorded as a fact about the session.
    let Request {
        id: _,
        text,
        refs,
        images,
        mode,
        tags,
        pill,
        ask,
        picture,
        while_running,
        autonomy: _,
        pause_s,
        settings,
    } = request;
    let settings = Box::new(settings);
    RequestFact::Received { text, refs, images, mode, tags, pill, ask, picture, while_running, pause_s, settings }
}
