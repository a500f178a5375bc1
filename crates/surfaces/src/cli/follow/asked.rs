//! A question, from where it is put until somebody has answered.

use trimtab_host::{Answered, Client, Sent};
use trimtab_vocab::event::CheckpointFact;
use trimtab_vocab::{ChangePart, CheckpointId, Event, Fact, Problem, ProblemKind};

use super::Attendance;
use crate::cli::changes::named_parts;
use crate::cli::output::note;
use crate::cli::question::Answering;

/// A question that somebody is thinking about.
pub(super) struct PromptState {
    pub(super) checkpoint: CheckpointId,
    /// Whoever is there answers it; nobody: what asks is refused.
    answering: Option<Answering>,
    /// The choice that changes nothing.
    last: Option<String>,
    can_be_divided: bool,
}

impl PromptState {
    /// Asks whoever is there.
    pub(super) fn ask(asking: Attendance, event: &Event, by_number: bool) -> Option<Self> {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, ask, .. }) = &event.fact else {
            return None;
        };
        let can_be_divided = ask.permission().is_some_and(|asked| asked.hunks.is_some());
        let answering = match asking {
            Attendance::Nobody => return None,
            Attendance::Refuse => None,
            Attendance::AtTheTerminal => {
                let answering = Answering::begin(choices, ask, by_number);
                if can_be_divided {
                    note("  `allow PATH:HUNK …` applies only these hunks.");
                }
                Some(answering)
            }
        };
        let last = choices.last().map(|choice| choice.id.clone());
        Some(Self { checkpoint: checkpoint.clone(), answering, last, can_be_divided })
    }

    /// Whether nobody is there, and what asks is refused.
    pub(super) fn is_refused(&self) -> bool {
        self.answering.is_none()
    }
}

/// Waits for an answer; for ever, if there is no question or no answer to it: it stays open.
pub(super) async fn answered(question: &mut Option<PromptState>) -> (Answered, Vec<ChangePart>) {
    if let Some(asked) = question {
        let said = match &mut asked.answering {
            Some(answering) => answering.answer().await,
            None => asked.last.clone().map(|choice| (choice, None)),
        };
        let (checkpoint, can_be_divided) = (asked.checkpoint.clone(), asked.can_be_divided);
        *question = None;
        if let Some((choice, text)) = said {
            let words = text.as_deref().filter(|_| can_be_divided && choice == "allow").unwrap_or_default();
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let parts = named_parts(&words).unwrap_or_default();
            return (Answered { checkpoint, choice, text, by: "user".into() }, parts);
        }
    }
    std::future::pending().await
}

/// Allows parts of a proposed change; what is none of it is told, and asked again.
pub(super) async fn part(
    client: &Client,
    sent: &Sent,
    answer: Answered,
    parts: Vec<ChangePart>,
    asking: Attendance,
) -> Result<Option<PromptState>, Problem> {
    match client.requests().apply_parts(&sent.session, &answer.checkpoint, parts, &answer.by).await {
        Err(problem) if problem.kind == ProblemKind::Usage => {
            note(&problem.message);
            let is_it = |event: &&Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if *checkpoint == answer.checkpoint);
            let open = client.requests().checkpoints().await?;
            Ok(open.iter().find(is_it).and_then(|event| PromptState::ask(asking, event, true)))
        }
        done => done.map(|()| None),
    }
}
