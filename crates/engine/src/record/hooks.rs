//! The hooks that run or have run in a session, and what they have decided.

use std::collections::{BTreeMap, BTreeSet};

use trimtab_vocab::checkpoint::WithheldResult;
use trimtab_vocab::{CallId, HookEvent, HookFact, HookOutcome, ImageRef, ListedHook, RequestId};

use super::{BatchItem, RunningRequest, Session};

/// The hooks of a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionHooks {
    /// Runs so far, which gives the next one its ID.
    pub(crate) runs: u64,
    /// Those that run.
    pub(crate) open: BTreeMap<CallId, OpenHook>,
    /// What the hooks at the beginning of the session have decided.
    pub(crate) start: HookGate,
    /// The hooks of the latest request,
    latest: Vec<ListedHook>,
    pub(crate) last_request: Option<RequestId>,
    /// and the hashes of those before it: their approval was asked for already.
    pub(crate) earlier: BTreeSet<String>,
}

/// A hook that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenHook {
    pub(crate) event: HookEvent,
    /// Its hash.
    pub(crate) hook: String,
    pub(crate) command: String,
    pub(crate) project: bool,
    /// The tool call that it is about.
    pub(crate) call: Option<CallId>,
    /// The request that it runs for, which it may outlast.
    pub(crate) request: Option<RequestId>,
}

/// What the hooks for one moment have decided. They run one after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HookGate {
    /// Hashes of those that have run.
    pub(crate) ran: Vec<String>,
    pub(crate) running: Option<CallId>,
    /// One of them refuses. The reason.
    pub(crate) blocked: Option<String>,
    /// One of them wants the user to be asked.
    pub(crate) asks: Option<HookObjection>,
    /// One of the user's own allows it.
    pub(crate) allows: bool,
    /// What the model reads because of them.
    pub(crate) messages: Vec<String>,
}

/// Why the user is to be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookObjection {
    pub(crate) command: String,
    pub(crate) kind: ObjectionKind,
}

/// What a hook objects to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ObjectionKind {
    /// It wants the user to be asked. The reason.
    Asks(String),
    /// It failed, and how.
    Failed(String),
    /// It is a project's, and has changed the call.
    Changed,
}

/// The hooks about one tool call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ItemHooks {
    pub(crate) before: HookGate,
    pub(crate) permission: HookGate,
    pub(crate) after: HookGate,
    /// The result, which waits for the hooks after the call.
    pub(crate) held: Option<HeldOutcome>,
}

/// The result of a call that waits for hooks.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOutcome {
    pub(crate) result: WithheldResult,
    pub(crate) images: Vec<ImageRef>,
}

/// The hooks about a request as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestHooks {
    pub(crate) prompt: HookGate,
    pub(crate) compact: HookGate,
    pub(crate) stop: HookGate,
    /// How often hooks wanted it to continue.
    pub(crate) continued: u32,
}

impl RequestHooks {
    fn gate(&self, event: HookEvent) -> Option<&HookGate> {
        match event {
            HookEvent::UserPromptSubmit => Some(&self.prompt),
            HookEvent::PreCompact => Some(&self.compact),
            HookEvent::Stop => Some(&self.stop),
            _ => None,
        }
    }

    fn gate_mut(&mut self, event: HookEvent) -> Option<&mut HookGate> {
        match event {
            HookEvent::UserPromptSubmit => Some(&mut self.prompt),
            HookEvent::PreCompact => Some(&mut self.compact),
            HookEvent::Stop => Some(&mut self.stop),
            _ => None,
        }
    }
}

impl ItemHooks {
    fn gate(&self, event: HookEvent) -> Option<&HookGate> {
        match event {
            HookEvent::PreToolUse => Some(&self.before),
            HookEvent::PermissionRequest => Some(&self.permission),
            HookEvent::PostToolUse => Some(&self.after),
            _ => None,
        }
    }

    fn gate_mut(&mut self, event: HookEvent) -> Option<&mut HookGate> {
        match event {
            HookEvent::PreToolUse => Some(&mut self.before),
            HookEvent::PermissionRequest => Some(&mut self.permission),
            HookEvent::PostToolUse => Some(&mut self.after),
            _ => None,
        }
    }
}

impl Session {
    pub(crate) fn hooks(&self) -> &SessionHooks {
        &self.extensions.hooks
    }

    /// Whether the request continues, or ends, only after a hook that runs now.
    pub fn waits_for_hook(&self) -> bool {
        let Some(active) = &self.active else { return false };
        let RequestHooks { prompt, compact, stop, .. } = &active.tools.hooks;
        let running = [prompt, compact, stop].into_iter().filter_map(|gate| gate.running.as_ref());
        running.into_iter().any(|run| self.extensions.hooks.open.contains_key(run))
    }

    /// Whether a hook runs for the request that is running. One that outlasted its request decides nothing about the next.
    pub(crate) fn is_current(&self, open: &OpenHook) -> bool {
        self.active.as_ref().is_some_and(|active| Some(&active.request.id) == open.request.as_ref())
    }

    /// The hooks of the running request, or else of the latest one.
    pub(crate) fn listed_hooks(&self) -> &[ListedHook] {
        match &self.active {
            Some(active) => &active.request.settings.known.hooks,
            None => &self.extensions.hooks.latest,
        }
    }

    /// Whether a hook runs or reads a file of the folder. A pending hook counts, because it may be approved.
    pub(crate) fn hooks_run(&self, path: &str) -> bool {
        self.listed_hooks().iter().any(|hook| hook.files.iter().any(|file| file == path))
    }

    /// Files of the folder that the user's own hooks run, which is outside of the sandbox. No command may write them: what is
    /// checked before a hook runs could otherwise be replaced between the check and the start.
    pub(crate) fn files_of_own_hooks(&self) -> Vec<String> {
        let folder = self.folder().unwrap_or_default();
        let files = self.listed_hooks().iter().filter(|hook| !hook.project).flat_map(|hook| &hook.files);
        files.map(|file| format!("{folder}/{file}")).collect()
    }

    /// What the hooks of a moment have decided so far.
    pub(crate) fn hook_gate(&self, event: HookEvent, call: Option<&CallId>) -> Option<&HookGate> {
        let active = self.active.as_ref();
        match call {
            Some(call) => active?.batch.as_ref()?.item(call)?.hooks.gate(event),
            None if event == HookEvent::SessionStart => Some(&self.extensions.hooks.start),
            None => active?.tools.hooks.gate(event),
        }
    }

    fn hook_gate_mut(&mut self, event: HookEvent, call: Option<&CallId>) -> Option<&mut HookGate> {
        match call {
            Some(call) => self.item_mut(call)?.hooks.gate_mut(event),
            None if event == HookEvent::SessionStart => Some(&mut self.extensions.hooks.start),
            None => self.active.as_mut()?.tools.hooks.gate_mut(event),
        }
    }

    /// A request came with these hooks.
    pub(super) fn note_hooks(&mut self, request: &RequestId, hooks: &[ListedHook]) {
        let before = std::mem::replace(&mut self.extensions.hooks.latest, hooks.to_vec());
        self.extensions.hooks.earlier.extend(before.into_iter().map(|hook| hook.hash));
        self.extensions.hooks.last_request = Some(request.clone());
    }

    pub(super) fn fold_hook(&mut self, request: Option<&RequestId>, fact: &HookFact) {
        match fact {
            HookFact::Started { run, event, hook, command, project, call, result, images } => {
                self.extensions.hooks.runs += 1;
                let open = OpenHook {
                    event: *event,
                    hook: hook.clone(),
                    command: command.clone(),
                    project: *project,
                    call: call.clone(),
                    request: request.cloned(),
                };
                self.extensions.hooks.open.insert(run.clone(), open);
                if let Some(gate) = self.hook_gate_mut(*event, call.as_ref()) {
                    gate.running = Some(run.clone());
                }
                let held =
                    result.as_deref().map(|result| HeldOutcome { result: result.clone(), images: images.clone() });
                if let (Some(call), Some(held)) = (call, held)
                    && let Some(item) = self.item_mut(call)
                {
                    item.hooks.held = Some(held);
                }
            }
            HookFact::Finished { run, .. } => {
                if let Some(open) = self.extensions.hooks.open.remove(run) {
                    self.fold_hook_end(&open, fact);
                }
            }
        }
    }

    fn fold_hook_end(&mut self, open: &OpenHook, fact: &HookFact) {
        let HookFact::Finished { outcome, reason, input, message, result, .. } = fact else { return };
        if !self.is_current(open) {
            return;
        }
        let is_lenient = self.listed_hooks().iter().any(|hook| hook.hash == open.hook && hook.allows_on_failure);
        let why = reason.clone().unwrap_or_default();
        let is_changed = input.is_some();
        if let (Some(call), Some(input)) = (&open.call, input) {
            self.replace_input(call, input);
        }
        if open.event == HookEvent::Stop
            && *outcome == HookOutcome::Blocked
            && let Some(active) = &mut self.active
        {
            active.tools.hooks.continued += 1;
        }
        if let (Some(call), Some(result)) = (&open.call, result)
            && let Some(held) = self.item_mut(call).and_then(|item| item.hooks.held.as_mut())
        {
            held.result = WithheldResult::clone(result);
        }
        // What hooks say about a result is part of it.
        if !matches!(open.event, HookEvent::PostToolUse | HookEvent::PermissionRequest)
            && let Some(active) = &mut self.active
        {
            active.steering.steers.extend(message.clone());
        }
        let Some(gate) = self.hook_gate_mut(open.event, open.call.as_ref()) else { return };
        gate.running = None;
        gate.ran.push(open.hook.clone());
        gate.messages.extend(message.clone());
        let objection = |kind| Some(HookObjection { command: open.command.clone(), kind });
        let asks = match outcome {
            HookOutcome::Blocked => {
                gate.blocked = Some(why);
                None
            }
            HookOutcome::Asked => objection(ObjectionKind::Asks(why)),
            HookOutcome::Failed if !is_lenient => objection(ObjectionKind::Failed(why)),
            HookOutcome::Allowed if !open.project => {
                gate.allows = true;
                None
            }
            _ if is_changed && open.project => objection(ObjectionKind::Changed),
            _ => None,
        };
        gate.asks = gate.asks.take().or(asks);
    }

    /// A hook puts other arguments in the place of those of a call. They are read like the first ones.
    fn replace_input(&mut self, call: &CallId, input: &serde_json::Value) {
        let registry = self.extensions.servers.registry();
        let Some(item) = self.item_mut(call) else { return };
        item.replace_input(input, registry.as_deref());
    }

    /// The hooks before a summary run again before the next one.
    pub(super) fn forget_compact_hooks(&mut self) {
        if let Some(active) = &mut self.active {
            active.tools.hooks.compact = HookGate::default();
        }
    }
}

impl RunningRequest {
    /// The hooks before the end run again, because the request continues.
    pub(super) fn forget_stop_hooks(&mut self) {
        self.tools.hooks.stop = HookGate::default();
    }
}

impl BatchItem {
    /// The hooks before the call run again, because it has become another one.
    pub(super) fn forget_hooks(&mut self) {
        (self.hooks.before, self.hooks.permission) = (HookGate::default(), HookGate::default());
    }
}
