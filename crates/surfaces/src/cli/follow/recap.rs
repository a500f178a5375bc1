//! The recap on resume: the last message, the progress, and where to find the rest.

use trimtab_host::{Client, Sent};
use trimtab_vocab::format;
use trimtab_vocab::{Problem, SessionId, StepStatus};

use crate::cli::output::note;
use crate::conversation::{Conversation, Entry, PlacedEntry};
use crate::words::conversation::step_began;

/// So much of the person's words reminds them of the rest.
const SHOWN_LINES: usize = 4;
const SHOWN_CHARACTERS: usize = 400;

/// What has happened to a request so far.
#[derive(Debug)]
pub(in crate::cli) struct Recap {
    session: SessionId,
    conversation: Conversation,
}

impl Recap {
    pub(in crate::cli) async fn load(client: &Client, sent: &Sent) -> Result<Self, Problem> {
        let mut recap = Self { session: sent.session.clone(), conversation: Conversation::default() };
        let mut last = 0;
        loop {
            let page = client.sessions().events(&sent.session, last).await?;
            let Some(seq) = page.last().and_then(|event| event.seq) else { return Ok(recap) };
            last = seq;
            page.iter().filter(|event| event.request.as_ref() == Some(&sent.request)).for_each(|event| {
                recap.conversation.observe(event);
            });
        }
    }

    /// Where the last round began: from here on, a person is shown again what has happened.
    pub(super) fn since(&self) -> u64 {
        self.conversation.calls().rounds().last().copied().unwrap_or(0)
    }

    /// Says what lies before the last round, which is shown again.
    pub(in crate::cli) fn tell(&self) {
        self.lines(self.since()).iter().for_each(|line| note(line));
    }

    /// Says what lies behind, where none of it is shown again.
    pub(in crate::cli) fn tell_all(&self) {
        self.lines(u64::MAX).iter().for_each(|line| note(line));
    }

    /// The last words of the person.
    fn said(&self) -> &str {
        let said = self.conversation.entries().iter().rev().find_map(|placed| match &placed.entry {
            Entry::UserMessage(message) if message.by == "user" => Some(message.text.as_str()),
            _ => None,
        });
        said.unwrap_or_default()
    }

    /// The step of the plan that was begun last, and where.
    fn place(&self) -> Option<(u64, String)> {
        self.conversation.entries().iter().rev().find_map(|placed| match &placed.entry {
            Entry::PlanStep(step) if step.status == StepStatus::Running => Some((placed.seq?, step_began(step))),
            _ => None,
        })
    }

    fn lines(&self, before: u64) -> Vec<String> {
        let session = &self.session;
        let mut lines = shortened(self.said());
        let steps = self.conversation.calls().rounds().iter().filter(|seq| **seq < before).count();
        if steps > 0 {
            let steps = format::plural(steps, "earlier step");
            lines.push(format!("… {steps}: `trimtab sessions export {session}` shows everything."));
        }
        let is_change = |placed: &&PlacedEntry| matches!(placed.entry, Entry::Change(_));
        let changes = self.conversation.entries().iter().filter(is_change);
        let changes = changes.filter(|placed| placed.seq.is_some_and(|seq| seq < before)).count();
        if changes > 0 {
            let changes = format::plural(changes, "file change");
            lines.push(format!("… {changes}: `trimtab changes --session {session}` lists all."));
        }
        lines.extend(self.place().filter(|(seq, _)| *seq < before).map(|(_, title)| title));
        lines
    }
}

/// The words as a quotation, without what is too long to remind of anything.
fn shortened(words: &str) -> Vec<String> {
    let words = words.trim();
    let short: String = words.chars().take(SHOWN_CHARACTERS).collect();
    let mut lines: Vec<String> = short.lines().take(SHOWN_LINES).map(|line| format!("> {line}")).collect();
    let is_cut = short.len() < words.len() || words.lines().nth(SHOWN_LINES).is_some();
    if let Some(last) = lines.last_mut().filter(|_| is_cut) {
        last.push_str(" …");
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn behind(facts: &[Value]) -> Recap {
        let mut behind = Recap { session: "s1".parse().expect("an id"), conversation: Conversation::default() };
        for (seq, fact) in (1..).zip(facts) {
            let mut whole = json!({"seq": seq, "time": "2026-01-01T00:00:00.000Z", "session": "s1", "request": "r1"});
            whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
            behind.conversation.observe(&serde_json::from_value(whole).expect("an event"));
        }
        behind
    }

    fn called(call: &str) -> Value {
        json!({"type": "model.called", "call": call, "model": "a/b", "attempt": 1})
    }

    fn saved(call: &str, partial: bool) -> Value {
        json!({"type": "reply.saved", "call": call, "partial": partial, "message": {"role": "assistant", "parts": []}})
    }

    #[test]
    fn a_step_that_was_broken_off_and_made_again_is_one() {
        let behind = behind(&[
            json!({"type": "request.received", "text": "Mend it"}),
            called("c1"),
            saved("c1", false),
            called("c2"),
            saved("c2", true),
            called("c3"),
        ]);
        assert_eq!((behind.conversation.calls().rounds(), behind.since()), ([2, 4].as_slice(), 4));
        insta::assert_snapshot!(behind.lines(behind.since()).join("\n"), @"
        > Mend it
        … 1 earlier step: `trimtab sessions export s1` shows everything.
        ");
    }

    #[test]
    fn what_a_model_is_asked_on_the_side_is_no_step() {
        let aside = json!({"type": "model.called", "call": "c2", "model": "a/b", "attempt": 1, "purpose": "summary"});
        let behind = behind(&[called("c1"), aside, saved("c2", false), called("c3")]);
        assert_eq!(behind.conversation.calls().rounds(), [1]);
    }

    #[test]
    fn the_last_words_and_the_place_in_a_plan_remind_of_the_rest() {
        let step = |number: u32| {
            json!({"type": "plan.step", "step": "s", "number": number, "of": 3, "title": "Write it",
                "status": "running"})
        };
        let steered = |by: &str, text: &str| json!({"type": "request.steered", "text": text, "by": by});
        let behind = behind(&[
            json!({"type": "request.received", "text": "Mend it"}),
            steered("user", "one\ntwo\nthree\nfour\nfive"),
            steered("engine", "go on"),
            step(1),
            called("c1"),
            saved("c1", false),
            step(2),
            called("c2"),
            saved("c2", false),
            called("c3"),
        ]);
        insta::assert_snapshot!(behind.lines(behind.since()).join("\n"), @"
        > one
        > two
        > three
        > four …
        … 2 earlier steps: `trimtab sessions export s1` shows everything.
        Step 2 of 3: Write it
        ");
    }

    #[test]
    fn long_words_are_cut_at_a_character() {
        assert_eq!(shortened("\n  hm \n"), ["> hm"]);
        assert_eq!(shortened(&"é".repeat(500)), [format!("> {} …", "é".repeat(400))]);
        assert!(shortened(" ").is_empty());
    }
}
