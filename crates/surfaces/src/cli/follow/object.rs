//! The outcome of a request as one JSON object, for scripts that want no events.

use serde_json::{Value, json};
use trimtab_host::Sent;
use trimtab_vocab::event::{AnswerFact, ChangeFact, ChangedFile, CheckpointFact, RequestFact, Status};
use trimtab_vocab::{Answer, ChangeSetId, CheckpointId, Event, Fact, Problem, Usage};

use crate::cli::CliOutcome;
use crate::conversation::Elapsed;

/// What is known of a request so far.
#[derive(Debug, Default)]
pub(in crate::cli) struct OutcomeObject {
    answer: Option<Answer>,
    changes: Vec<(ChangeSetId, Vec<ChangedFile>)>,
    question: Option<(CheckpointId, String)>,
    status: Option<Status>,
    error: Option<Problem>,
    usage: Usage,
    elapsed: Elapsed,
}

impl OutcomeObject {
    pub(in crate::cli) fn observe(&mut self, event: &Event) {
        self.elapsed.observe(event);
        match &event.fact {
            Fact::Answer(AnswerFact { answer }) => self.answer = Some(answer.clone()),
            Fact::Change(ChangeFact::Applied(change)) => {
                self.changes.push((change.change_set.clone(), change.files.clone()));
            }
            Fact::Change(ChangeFact::Reverted(change)) => self.changes.retain(|(set, _)| *set != change.change_set),
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, .. }) => {
                self.question = Some((checkpoint.clone(), title.clone()));
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                self.question.take_if(|(open, _)| open == checkpoint);
            }
            Fact::Request(RequestFact::Finished { status, error, usage, .. }) => {
                (self.status, self.usage) = (Some(*status), *usage);
                self.error.clone_from(error);
            }
            _ => {}
        }
    }

    /// The text of the answer, if there is one.
    pub(in crate::cli) fn summary(&self) -> Option<&str> {
        self.answer.as_ref().map(|answer| answer.summary.as_str())
    }

    /// The object. With a schema, the answer is the value that fits it.
    pub(in crate::cli) fn value(
        &self,
        sent: &Sent,
        outcome: CliOutcome,
        has_schema: bool,
        now: trimtab_vocab::Time,
    ) -> Value {
        let status = match (self.status, outcome) {
            (Some(status), CliOutcome::Finished(_) | CliOutcome::Done | CliOutcome::Found) => json!(status),
            (None, CliOutcome::Finished(status)) => json!(status),
            (None, CliOutcome::Done | CliOutcome::Found) => json!(Status::Completed),
            (_, CliOutcome::Left(_)) => json!("interrupted"),
        };
        let summary = self.answer.as_ref().map(|answer| answer.summary.as_str());
        let parsed = summary.filter(|_| has_schema).and_then(|text| serde_json::from_str::<Value>(text).ok());
        let answer = parsed.unwrap_or_else(|| json!(summary));
        let file = |file: &ChangedFile| {
            let kind = match (file.is_new, file.is_deleted) {
                (true, _) => "created",
                (_, true) => "deleted",
                _ => "changed",
            };
            json!({"path": file.path, "kind": kind, "added": file.added, "removed": file.removed})
        };
        let set = |(set, files): &(ChangeSetId, Vec<ChangedFile>)| json!({"changeSet": set, "files": files.iter().map(file).collect::<Vec<_>>()});
        // Sums of prices such as 0.1 + 0.2 have digits that mean nothing.
        let cost_usd = self.usage.cost_usd.map(|cost| (cost * 1e9).round() / 1e9);
        let mut object = json!({
            "status": status,
            "answer": answer,
            "changes": self.changes.iter().map(set).collect::<Vec<_>>(),
            "costUsd": cost_usd,
            "usage": Usage { cost_usd, ..self.usage },
            "durationMs": u64::try_from(self.elapsed.at(now).as_millis()).unwrap_or(u64::MAX),
            "session": sent.session,
            "request": sent.request,
        });
        if let Some(error) = &self.error {
            object["error"] = json!({"message": error.message, "hint": error.hint});
        }
        if let Some((checkpoint, title)) = &self.question {
            object["question"] = json!({"checkpoint": checkpoint, "title": title});
        }
        object
    }
}
