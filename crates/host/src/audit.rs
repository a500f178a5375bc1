//! Writes and reads the audit trail.

use serde_json::{Value, json};
use trimtab_engine::assistant::TASKS;
use trimtab_vocab::event::{
    BugFact, ChangeFact, CheckpointFact, CommandFact, ContextFact, ProposalFact, RequestFact, RouteFact, RuleFact,
    SessionFact,
};
use trimtab_vocab::{AgentFact, Event, Fact, ListedAgent, MemoryFact, Problem, Rule, Sandbox, SkillFact};
use trimtab_world::store::{AuditCheck, AuditEntry, AuditLine};

use crate::client::store_problem;
use crate::handles::Admin;

/// The audit entry for a fact: decisions, repairs, and actions. It becomes durable together with the fact.
pub(crate) fn entry(event: &Event) -> Option<AuditEntry> {
    let (action, fields) = match &event.fact {
        Fact::Request(RequestFact::Received { text, mode, .. }) => ("request", json!({"text": text, "mode": mode})),
        Fact::Request(RequestFact::Finished { status, error, .. }) => {
            ("request_finished", json!({"status": status, "error": error.as_ref().map(|error| &error.message)}))
        }
        // A request about tasks tells the trail itself, with the door by which it came.
        Fact::Route(RouteFact { categories, .. }) if *categories == [TASKS] => return None,
        Fact::Route(RouteFact { decision, confidence, reason, .. }) => (
            "router_decision",
            json!({"mode": "session", "decision": decision, "confidence": confidence, "question": Value::Null,
                   "reason": reason, "stage": "routing", "router_confidence": confidence}),
        ),
        // What a worker hears of it is the same choice.
        Fact::Session(SessionFact::Autonomy { level, by, surface }) if by == "user" && !event.session.is_worker() => {
            ("autonomy_changed", json!({"level": level, "by": by, "surface": surface}))
        }
        Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, choice, by, surface, .. }) => {
            ("answer", json!({"checkpoint": checkpoint, "choice": choice, "by": by, "surface": surface}))
        }
        Fact::Proposal(ProposalFact::Chosen { proposal, parts, left, .. }) => {
            ("chosen", json!({"proposal": proposal, "parts": parts, "left": left}))
        }
        Fact::Rule(RuleFact::Added { rule }) if event.request.is_some() => {
            (rule_action(rule, true), json!({"rule": rule}))
        }
        Fact::Rule(RuleFact::Removed { rule }) if event.request.is_some() => {
            (rule_action(rule, false), json!({"rule": rule}))
        }
        // Without the text, because the trail is permanent, and a memory that the user deletes must be gone.
        Fact::Memory(MemoryFact::Noted { entries }) => {
            let ids: Vec<_> = entries.iter().map(|entry| &entry.id).collect();
            ("memory_noted", json!({"memory": ids, "result": "ok"}))
        }
        Fact::Change(ChangeFact::Applied(change)) => (
            "apply",
            json!({"op": "files", "result": "ok", "changeSet": change.change_set, "files": change.files,
                   "command": change.by.as_ref().map(|by| &by.command)}),
        ),
        Fact::Change(ChangeFact::Reverted(change)) => {
            ("rewind", json!({"op": "files", "result": "ok", "changeSet": change.change_set, "files": change.files}))
        }
        Fact::Change(ChangeFact::Reapplied(change)) => {
            ("forward", json!({"op": "files", "result": "ok", "changeSet": change.change_set, "files": change.files}))
        }
        Fact::Change(ChangeFact::Refused { reason, .. }) => {
            ("move_refused", json!({"op": "files", "result": "error", "message": reason}))
        }
        Fact::Command(CommandFact::Started { command, argv, cwd, sandbox, automatic, background, .. }) => {
            let sandbox = if *sandbox == Some(Sandbox::Off) { "off" } else { "on" };
            (
                "command_started",
                json!({"op": "command", "command": command, "argv": argv, "cwd": cwd, "sandbox": sandbox,
                       "automatic": automatic, "background": background}),
            )
        }
        Fact::Command(CommandFact::Background { id, command, why, .. }) => {
            ("command_background", json!({"op": "command", "command": command, "background": id, "why": why}))
        }
        Fact::Command(CommandFact::Stopping { id, by, .. }) => {
            ("command_stopping", json!({"op": "command", "background": id, "by": by}))
        }
        Fact::Command(CommandFact::Finished { command, exit_code, signal, timed_out, background, hosts, .. }) => (
            "command_finished",
            json!({"op": "command", "command": command, "exitCode": exit_code, "signal": signal,
                   "timedOut": timed_out, "background": background, "hosts": hosts}),
        ),
        // What the model reads as instructions of a folder, by its hash: the text is in the log.
        Fact::Skill(SkillFact::Loaded { name, path, hash, project, call, .. }) => {
            let by = if call.is_some() { "model" } else { "user" };
            ("skill_loaded", json!({"name": name, "path": path, "hash": hash, "project": project, "by": by}))
        }
        Fact::Agent(AgentFact::Loaded { agent, call, .. }) => {
            let by = if call.is_some() { "model" } else { "user" };
            let ListedAgent { name, path, hash, project, .. } = &**agent;
            ("agent_loaded", json!({"name": name, "path": path, "hash": hash, "project": project, "by": by}))
        }
        Fact::Context(ContextFact::Nested { path, hash, text }) => {
            ("instructions_read", json!({"path": path, "hash": hash, "used": text.is_some()}))
        }
        Fact::Bug(BugFact { kind, by, message }) => ("bug", json!({"kind": kind, "by": by, "message": message})),
        _ => return None,
    };
    Some(AuditEntry::new(action, fields).about(Some(event.session.clone()), event.request.clone()))
}

fn rule_action(rule: &Rule, added: bool) -> &'static str {
    match (rule.tool.as_str(), added) {
        (Rule::TRUST, true) => "trust_given",
        (Rule::TRUST, false) => "trust_removed",
        (_, true) => "rule_added",
        (_, false) => "rule_removed",
    }
}

impl Admin<'_> {
    /// Tells the trail of something that no session records. Where that cannot be, it must not be done.
    pub(crate) async fn tell_trail(self, action: &str, mut fields: Value) -> Result<(), Problem> {
        fields["surface"] = json!(self.0.surface);
        self.0.store().add_audit(AuditEntry::new(action, fields)).await.map_err(store_problem)
    }

    /// Records that the user adds or removes a rule. Call it before the change.
    pub(crate) async fn tell_rule(self, rule: &Rule, added: bool) -> Result<(), Problem> {
        self.tell_trail(rule_action(rule, added), json!({"rule": rule})).await
    }

    /// Records that the user runs a command outside of any request and of the sandbox. Call it before the command
    /// starts; if it fails, the command must not start.
    pub async fn audit_shell(self, folder: &str, command: &str) -> Result<(), Problem> {
        self.tell_trail("shell_command", json!({"op": "command", "command": command, "cwd": folder, "sandbox": "off"}))
            .await
    }

    /// Lines of the trail after the `after`th.
    pub async fn audit_lines(self, after: u64, limit: u32) -> Result<Vec<AuditLine>, Problem> {
        self.0.store().audit_lines(after, limit).await.map_err(store_problem)
    }

    /// Follows the trail from its first line and says what does not fit.
    pub async fn check_audit(self) -> Result<AuditCheck, Problem> {
        const PAGE: u32 = 1000;
        let mut check = AuditCheck::with(self.0.store().audit_key());
        // In this order: lines that are added meanwhile are among those that are read.
        let written = self.0.store().audit_written().await.map_err(store_problem)?;
        loop {
            let page = self.audit_lines(check.lines, PAGE).await?;
            page.iter().for_each(|line| check.observe(line));
            if page.len() < PAGE as usize {
                break;
            }
        }
        check.end(written.max(check.lines));
        Ok(check)
    }

    /// Looks for damage in the store; says what it finds.
    pub async fn check(self) -> Result<Vec<String>, Problem> {
        self.0.store().check().await.map_err(store_problem)
    }
}
