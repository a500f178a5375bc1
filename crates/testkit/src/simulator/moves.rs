//! What people do.

use std::time::Duration;

use trimtab_host::{Answered, Client, Manner, RequestDraft, SendTo, Sent, WhenBusy};
use trimtab_vocab::checkpoint::ChoiceText;
use trimtab_vocab::event::{CheckpointFact, CheckpointKind, ContextFact, ToolFact};
use trimtab_vocab::{
    Applying, Approve, Autonomy, AutonomyChoice, CallId, CommandSettings, Control, Event, Fact, FileSettings,
    FolderTrust, Mode, ModelFacts, ModelSettings, Prices, Rule, RuleVerdict, RunSettings, SessionId, SnapshotSettings,
    WhileRunning,
};

use super::{History, RETRIES, Said, rewinds};
use crate::memory_store::MemoryStore;

/// How a person changes a plan.
const EDITS: [&str; 4] = [
    "leave one out",
    r#"[{"op":"remove","step":1}]"#,
    r#"[{"op":"add","after":"s1","title":"one more"}]"#,
    r#"[{"op":"reorder","order":["s2","s1"]}]"#,
];

/// Does something through a process, unless that dies in the act.
pub(super) async fn unless_dead<T>(store: &MemoryStore, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        () = store.died.notified() => {
            // The notice must not be lost on the undertaker.
            store.died.notify_one();
            None
        }
        done = work => Some(done),
    }
}

impl History {
    pub(super) async fn act(&mut self) {
        if self.processes.is_empty() || (self.processes.len() < 3 && self.dice.once_in(8)) {
            self.start_process(true);
            // It takes over what the dead have left.
            if self.dice.below(3) > 0 {
                let known: Vec<SessionId> = self.disk.state().sessions.keys().cloned().collect();
                let newest = self.processes.last().map(|process| process.client.clone());
                newest.iter().for_each(|client| known.iter().for_each(|session| client.resume(session)));
            }
        }
        let open: Vec<Event> = self.disk.state().checkpoints.values().cloned().collect();
        self.asked.extend(open.iter().cloned());
        // The worst time to die is when hands are full.
        let busy = self.disk.state().seen.doing.iter().next_back().map(|(owner, _)| *owner);
        if let Some(owner) = busy.filter(|_| self.dice.once_in(5)) {
            self.processes.iter().filter(|process| process.store.owner() == owner).for_each(|it| it.store.kill());
            return;
        }
        match self.dice.below(20) {
            0..4 => self.say().await,
            4..8 => self.answer(&open).await,
            8 => self.cancel().await,
            9 => self.kill(),
            10 => self.resume(),
            11..13 => self.control().await,
            13 => self.rule().await,
            14..20 if self.tasks => self.tend_tasks().await,
            14..18 if self.subtasks => self.tend_subtasks().await,
            14..20 if self.rewinds => {
                let changed = rewinds::changed(&self.disk.state());
                let (Some((client, store)), Some(session)) = (self.any_process(), self.dice.pick(&changed)) else {
                    return;
                };
                let action = self.rewind_or_forward(session);
                unless_dead(&store, client.requests().control(session, None, action)).await;
            }
            _ => {}
        }
        // Some things are done in one breath, others in the middle of what follows from them.
        if !self.dice.once_in(3) {
            let millis = 1 << self.dice.below(12);
            tokio::time::sleep(Duration::from_millis(millis)).await;
        }
    }

    async fn say(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        let known: Vec<SessionId> = self
            .disk
            .state()
            .sessions
            .values()
            .filter(|row| !row.folder.is_empty() && !row.id.is_worker())
            .map(|row| row.id.clone())
            .collect();
        let target = match self.dice.pick(&known) {
            Some(session) if !self.dice.once_in(3) => SendTo::Session(session.clone()),
            _ => SendTo::New { folder: ["/project", "/other"][self.dice.below(2) as usize].into() },
        };
        let name = format!("say-{}-{}", self.said.len(), self.unsure);
        let text = match self.dice.below(6) {
            0 => format!("{name} @shared.txt"),
            1 => format!("{name} please see shared.txt"),
            2 => format!("{name} @https://host0.example/{name}"),
            _ => name,
        };
        let (mode, more, while_running) = match self.flows {
            true => self.manner(),
            false => match self.dice.below(10) {
                0 => (Mode::Plan, "", None),
                1 => (Mode::Chat, "", None),
                _ => (Mode::Auto, "", None),
            },
        };
        let text = format!("{text}{more}{}", self.lasting());
        let text = if self.subtasks { self.with_common_file(text) } else { text };
        // What takes another's place ends that; which one it meets, nobody knows beforehand.
        if let (SendTo::Session(session), Some(WhileRunning::Replace)) = (&target, while_running) {
            self.said.iter_mut().filter(|said| said.sent.session == *session).for_each(|said| said.cancelled = true);
        }
        let when_busy = WhenBusy::Exactly(while_running);
        let draft = RequestDraft { mode, when_busy, ..RequestDraft::new(text.clone(), Manner::default()) };
        let Some(say) = self.composed(draft) else { return };
        match unless_dead(&store, client.send(target, say)).await {
            Some(Ok(sent)) => self.said.push(Said { text, sent, cancelled: false }),
            // Refused, which must mean that it was not taken in; or the process died in the act.
            Some(Err(_)) | None => self.unsure += 1,
        }
    }

    /// Now and then there is little money, little room, little trust, and nobody to be asked.
    pub(super) fn settings(&mut self) -> RunSettings {
        let prices = Some(Prices { input: 3.0, cached: 0.3, cache_write: 3.75, output: 15.0 });
        let (copilot, memory) = (self.copilot(), self.memory());
        let dice = &mut self.dice;
        let small = dice.once_in(3);
        let window = if small { 2_000 + dice.below(3_000) } else { ModelFacts::default().window };
        let applying = |auto: bool| if auto { Applying::Auto } else { Applying::Ask };
        // The order of the throws decides what a seed means.
        let budget_usd = [None, None, None, Some(0.01), Some(0.06)][dice.below(5) as usize];
        let attended = dice.once_in(2) || (self.flows && dice.once_in(2));
        let trusted = dice.below(4) > 0;
        let files = FileSettings { apply: applying(dice.once_in(2)), ..FileSettings::default() };
        let commands = CommandSettings { apply: applying(dice.once_in(2)), ..CommandSettings::default() };
        let approve = [Approve::Ask, Approve::Ask, Approve::Ask, Approve::Auto, Approve::Deny][dice.below(5) as usize];
        let max_steps = [2, 3, 4, 25, 25][dice.below(5) as usize];
        let settings = RunSettings {
            models: ModelSettings {
                model: "sim/model".into(),
                facts: ModelFacts { prices, window, ..ModelFacts::default() },
                max_steps,
                retries: RETRIES,
                budget_usd,
                ..ModelSettings::default()
            },
            files,
            commands,
            trust: FolderTrust { trusted, ..FolderTrust::default() },
            approve,
            attended,
            // Where the history is moved, what commands did is left out of it: the checker could not tell whose
            // change a file of the shared folder is.
            snapshot: SnapshotSettings { files: if self.rewinds { 0 } else { 1_000 }, mb: 1 },
            copilot,
            memory,
            ..RunSettings::default()
        };
        self.with_subtasks(settings)
    }

    /// Answers one of the open questions, or one that was open once, any way that it offers.
    async fn answer(&mut self, open: &[Event]) {
        let stale = self.dice.once_in(12);
        let asked = if stale { self.asked.clone() } else { open.to_vec() };
        let (Some((client, store)), Some(event)) = (self.any_process(), self.dice.pick(&asked)) else { return };
        let Some(answer) = self.choose(event) else { return };
        unless_dead(&store, client.requests().answer(&event.session, answer)).await;
    }

    /// Chooses an answer. What may end the request is marked before it is sent: a process may die after
    /// it has passed it on.
    pub(super) fn choose(&mut self, event: &Event) -> Option<Answered> {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, kind, choices, ask, .. }) = &event.fact else {
            return None;
        };
        let picked = self.dice.pick(choices)?;
        let mut choice = picked.id.clone();
        // A folder in which everything is forbidden soon becomes dull.
        if choice == "never" && self.dice.once_in(2) {
            choice = "allow".into();
        }
        let ends = *kind == CheckpointKind::Plan && choice == "cancel";
        let about_subtasks = self.words_about_subtasks(ask, &choice);
        let text = match choice.as_str() {
            _ if about_subtasks.is_some() => about_subtasks,
            "submit" => Some(["1: this", "that"][self.dice.below(2) as usize].to_owned()),
            // Some edits cannot be made; then the plan stays open.
            "modify" => Some(EDITS[self.dice.below(EDITS.len() as u64) as usize].to_owned()),
            _ if picked.text == ChoiceText::Required => Some("otherwise".to_owned()),
            "replan" | "cancel" if *kind == CheckpointKind::Plan && self.dice.once_in(2) => {
                let rejection = format!(r#"{{"next":"{choice}","text":"otherwise"}}"#);
                choice = "reject".into();
                Some(rejection)
            }
            "wait" | "never" | "continue" | "o1" if self.dice.once_in(2) => Some("so".to_owned()),
            _ => None,
        };
        // After a wait, a new request takes the place of what was to be done instead.
        if ends || matches!(choice.as_str(), "stop" | "wait") {
            let asked = event.request.clone();
            let of = |said: &&mut Said| Some(&said.sent.request) == asked.as_ref();
            self.said.iter_mut().filter(of).for_each(|said| said.cancelled = true);
        }
        Some(Answered { checkpoint: checkpoint.clone(), choice, text, by: "user".into() })
    }

    /// A request that was said, and whoever passes on what is wanted of it.
    fn somebodys(&mut self) -> Option<(usize, Client, std::sync::Arc<MemoryStore>)> {
        let (client, store) = self.any_process()?;
        let count = self.said.len() as u64;
        (count > 0).then(|| (self.dice.below(count) as usize, client, store))
    }

    async fn cancel(&mut self) {
        let Some((at, client, store)) = self.somebodys() else { return };
        let Sent { session, request } = self.said[at].sent.clone();
        self.said[at].cancelled = true;
        let named = (!self.dice.once_in(4)).then_some(request);
        if named.is_none() {
            self.said.iter_mut().filter(|said| said.sent.session == session).for_each(|said| said.cancelled = true);
        }
        unless_dead(&store, client.requests().control(&session, named, Control::Cancel)).await;
    }

    async fn control(&mut self) {
        let Some((mut at, client, store)) = self.somebodys() else { return };
        // Summaries are rare; where there is one, a person takes notice.
        let summed_up = self.said.iter().rposition(|said| self.last_summary(&said.sent.session).is_some());
        if let Some(found) = summed_up.filter(|_| self.dice.once_in(2)) {
            at = found;
        }
        let Sent { session, request } = self.said[at].sent.clone();
        let named = (!self.dice.once_in(4)).then_some(request);
        if self.flows && self.dice.once_in(3) {
            let action = self.going_on();
            unless_dead(&store, client.requests().control(&session, None, action)).await;
            return;
        }
        let summary = self.last_summary(&session);
        let action = match self.dice.below(if summary.is_some() { 20 } else { 10 }) {
            0 | 1 => Control::Pause,
            2 | 3 => Control::Resume,
            4 => Control::Skip,
            5 | 6 => Control::Steer { text: format!("steer-{at}") },
            7 | 8 => match self.some_tool(&session) {
                Some(call) => Control::StopTool { call },
                None => Control::Skip,
            },
            9 => self.adjusting(),
            10..16 => Control::UndoSummary,
            _ => Control::EditSummary { text: format!("{} Edited.", summary.unwrap_or_default()) },
        };
        // Whoever leaves out the call that its workers are at leaves the request.
        if self.subtasks && matches!(action, Control::Skip | Control::StopTool { .. }) {
            self.said.iter_mut().filter(|said| said.sent.session == session).for_each(|said| said.cancelled = true);
        }
        unless_dead(&store, client.requests().control(&session, named, action)).await;
    }

    fn adjusting(&mut self) -> Control {
        let approve = [None, Some(Approve::Ask), Some(Approve::Auto), Some(Approve::Deny)][self.dice.below(4) as usize];
        let attended = [None, Some(true), Some(false)][self.dice.below(3) as usize];
        let max_steps = [None, Some(2), Some(30)][self.dice.below(3) as usize];
        let trusted = [None, Some(true)][self.dice.below(2) as usize];
        // The same throws, so that a seed means what it meant.
        if (approve, attended) == (None, None) {
            let level = max_steps
                .map_or(Autonomy::Standard, |steps| if steps == 2 { Autonomy::Careful } else { Autonomy::Trusting });
            return Control::Autonomy(AutonomyChoice { level, surface: None });
        }
        Control::Adjust { approve, attended, max_steps, trusted }
    }

    /// One of the last tools that were begun in a session; it may have ended.
    fn some_tool(&mut self, session: &SessionId) -> Option<CallId> {
        let state = self.disk.state();
        let begun = state.events.get(session)?.iter().rev().filter_map(|event| match &event.fact {
            Fact::Tool(ToolFact::Started { call, .. }) => Some(call.clone()),
            _ => None,
        });
        let last: Vec<CallId> = begun.take(3).collect();
        drop(state);
        self.dice.pick(&last).cloned()
    }

    /// The last summary, which a person copies and adds a word to.
    fn last_summary(&self, session: &SessionId) -> Option<String> {
        self.disk.state().events.get(session)?.iter().rev().find_map(|event| match &event.fact {
            Fact::Context(ContextFact::Compressed { summary, .. } | ContextFact::Edited { summary, .. }) => {
                Some(summary.clone())
            }
            _ => None,
        })
    }

    /// A person decides something once and for all, or takes it back.
    async fn rule(&mut self) {
        let Some((client, store)) = self.any_process() else { return };
        let dice = &mut self.dice;
        let tools = ["run_command", "edit_file", "delete_file", "fetch_url", Rule::TRUST];
        let tool = tools[dice.below(5) as usize];
        let pattern = match tool {
            "fetch_url" => ["host0.example", "host1.example", "*"][dice.below(3) as usize],
            "run_command" => ["frob say-1*", "*"][dice.below(2) as usize],
            _ => "*",
        };
        let verdict = match dice.below(5) {
            0 => RuleVerdict::Ask,
            1 => RuleVerdict::Deny,
            _ => RuleVerdict::Allow,
        };
        let folder = [None, Some("/project".to_owned())][dice.below(2) as usize].clone();
        let made = Rule { verdict, tool: tool.into(), pattern: pattern.into(), folder };
        let add = dice.below(3) > 0;
        let known: Vec<Rule> =
            self.disk.state().rules.iter().filter_map(|rule| serde_json::from_str(rule).ok()).collect();
        let rule = if add { made } else { self.dice.pick(&known).cloned().unwrap_or(made) };
        unless_dead(&store, client.permissions().change_rule(&rule, add)).await;
    }
}
