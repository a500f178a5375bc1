//! What the trail is told, and how it is read.

use serde_json::{Value, json};
use trimtab_engine::assistant::TASKS;
use trimtab_vocab::event::{
    BugFact, ChangeFact, CheckpointFact, CommandFact, ProposalFact, RequestFact, RouteFact, RuleFact,
};
use trimtab_vocab::{Event, Fact, MemoryFact, Problem};
use trimtab_world::store::{AuditCheck, AuditEntry, AuditLine};

use crate::client::{Client, store_problem};

/// What the trail keeps of a fact: decisions, repairs, and whatever was done. It becomes durable together with
/// the fact.
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
        Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, choice, by, .. }) => {
            ("answer", json!({"checkpoint": checkpoint, "choice": choice, "by": by}))
        }
        Fact::Proposal(ProposalFact::Chosen { proposal, parts, left, .. }) => {
            ("chosen", json!({"proposal": proposal, "parts": parts, "left": left}))
        }
        Fact::Rule(RuleFact::Added { rule }) if event.request.is_some() => ("rule_added", json!({"rule": rule})),
        // Not the words: the trail keeps for ever, and what a person deletes is to be gone.
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
        Fact::Command(CommandFact::Started { command, argv, cwd, .. }) => {
            ("command_started", json!({"op": "command", "command": command, "argv": argv, "cwd": cwd}))
        }
        Fact::Command(CommandFact::Finished { command, exit_code, signal, timed_out, .. }) => (
            "command_finished",
            json!({"op": "command", "command": command, "exitCode": exit_code, "signal": signal,
                   "timedOut": timed_out}),
        ),
        Fact::Bug(BugFact { kind, by, message }) => ("bug", json!({"kind": kind, "by": by, "message": message})),
        _ => return None,
    };
    Some(AuditEntry::new(action, fields).of(Some(event.session.clone()), event.request.clone()))
}

impl Client {
    /// Lines of the trail after the `after`th.
    pub async fn audit_lines(&self, after: u64, limit: u32) -> Result<Vec<AuditLine>, Problem> {
        self.store().audit_lines(after, limit).await.map_err(store_problem)
    }

    /// Follows the trail from its first line and says what does not fit.
    pub async fn check_audit(&self) -> Result<AuditCheck, Problem> {
        const PAGE: u32 = 1000;
        let mut check = AuditCheck::default();
        // In this order: lines that are added meanwhile are among those that are read.
        let written = self.store().audit_written().await.map_err(store_problem)?;
        loop {
            let page = self.audit_lines(check.lines, PAGE).await?;
            page.iter().for_each(|line| check.see(line));
            if page.len() < PAGE as usize {
                break;
            }
        }
        check.end(written.max(check.lines));
        Ok(check)
    }
}
