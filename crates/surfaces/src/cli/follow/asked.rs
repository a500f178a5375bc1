//! A question, from where it is put until somebody has answered.

use serde_json::{Map, Value};
use trimtab_host::{Answered, Client, Sent};
use trimtab_vocab::event::{CheckpointFact, Choice};
use trimtab_vocab::{ChangePart, CheckpointId, Event, Fact, Problem, ProblemKind};

use super::Asking;
use crate::cli::changes::named_parts;
use crate::cli::keyboard;
use crate::cli::output::note;
use crate::cli::question::{self, Wanted};

/// A question that somebody is thinking about.
pub(super) struct Question {
    pub(super) checkpoint: CheckpointId,
    choices: Vec<Choice>,
    body: Map<String, Value>,
    /// Nobody is there, and what asks is refused.
    pub(super) refuse: bool,
    /// A number means one of the choices.
    by_number: bool,
    /// A choice is made, and the words that it needs are still to be said.
    wanted: Option<Wanted>,
}

impl Question {
    /// Asks whoever is there. After a question that was answered elsewhere, or by itself, a number on its way
    /// to it must not be taken for an answer to this one; a name can hardly be.
    pub(super) fn ask(asking: Asking, event: &Event, by_number: bool) -> Option<Self> {
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, choices, body, .. }) = &event.fact else {
            return None;
        };
        if asking == Asking::Nobody {
            return None;
        }
        if asking == Asking::AtTheTerminal {
            question::list(choices, by_number);
            if body.contains_key("hunks") {
                note("  `allow PATH:HUNK …` makes only these hunks, and leaves out the rest.");
            }
        }
        let (checkpoint, choices, body) = (checkpoint.clone(), choices.clone(), body.clone());
        Some(Self { checkpoint, choices, body, refuse: asking == Asking::Refuse, by_number, wanted: None })
    }
}

/// Waits for an answer; for ever, if there is no question or no answer to it: it stays open.
pub(super) async fn answered(question: &mut Option<Question>) -> (Answered, Vec<ChangePart>) {
    while let Some(asked) = question {
        let said = match asked.refuse {
            // The last choice is the one that changes nothing.
            true => asked.choices.last().map(|choice| (choice.id.clone(), None)),
            false => match keyboard::line().await {
                Some(line) => {
                    let said = match &mut asked.wanted {
                        Some(wanted) => wanted.hear(&line),
                        None => question::chosen(&asked.choices, &line, asked.by_number).and_then(|(choice, words)| {
                            asked.wanted = Wanted::by(&choice, words.as_deref(), &asked.body);
                            asked.wanted.is_none().then_some((choice, words))
                        }),
                    };
                    match (&asked.wanted, &said) {
                        (Some(wanted), None) => wanted.ask(),
                        (None, None) => {
                            note("That is none of these:");
                            question::list(&asked.choices, asked.by_number);
                        }
                        _ => {}
                    }
                    if said.is_none() {
                        continue;
                    }
                    said
                }
                None => None,
            },
        };
        let checkpoint = asked.checkpoint.clone();
        let can_be_divided = asked.body.contains_key("hunks");
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
    asking: Asking,
) -> Result<Option<Question>, Problem> {
    match client.apply_parts(&sent.session, &answer.checkpoint, parts, &answer.by).await {
        Err(problem) if problem.kind == ProblemKind::Usage => {
            note(&problem.message);
            let is_it = |event: &&Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if *checkpoint == answer.checkpoint);
            let open = client.checkpoints().await?;
            Ok(open.iter().find(is_it).and_then(|event| Question::ask(asking, event, true)))
        }
        done => done.map(|()| None),
    }
}
