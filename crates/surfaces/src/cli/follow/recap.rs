//! What lies behind a request that is taken up again: enough to know where it stands, and where the rest is.

use trimtab_host::{Client, Sent};
use trimtab_vocab::event::{ChangeFact, ModelFact, PlanFact, ReplyFact, RequestFact};
use trimtab_vocab::{CallId, Event, Fact, Problem, SessionId, StepStatus};

use crate::cli::output::note;

/// So much of the person's words reminds them of the rest.
const SHOWN_LINES: usize = 4;
const SHOWN_CHARACTERS: usize = 400;

/// What has happened to a request so far. A step is what a model was asked once, and all that followed from it.
#[derive(Debug)]
pub(in crate::cli) struct Recap {
    session: SessionId,
    /// The last words of the person.
    said: String,
    /// Where each step began.
    steps: Vec<u64>,
    /// Where each change was made.
    changes: Vec<u64>,
    /// The step of the plan that was begun last, and where.
    place: Option<(u64, String)>,
    /// The model has not answered the last step yet.
    is_open: bool,
    /// A call whose words are not for the person.
    aside: Option<CallId>,
}

impl Recap {
    pub(in crate::cli) async fn load(client: &Client, sent: &Sent) -> Result<Self, Problem> {
        let mut behind = Self::nothing(sent.session.clone());
        let mut last = 0;
        loop {
            let page = client.sessions().events(&sent.session, last).await?;
            let Some(seq) = page.last().and_then(|event| event.seq) else { return Ok(behind) };
            last = seq;
            page.iter().filter(|event| event.request.as_ref() == Some(&sent.request)).for_each(|event| {
                behind.observe(event);
            });
        }
    }

    fn nothing(session: SessionId) -> Self {
        let (said, steps, changes) = (String::new(), Vec::new(), Vec::new());
        Self { session, said, steps, changes, place: None, is_open: false, aside: None }
    }

    fn observe(&mut self, event: &Event) {
        let Some(seq) = event.seq else { return };
        match &event.fact {
            Fact::Request(RequestFact::Received { text, .. }) => self.said.clone_from(text),
            Fact::Request(RequestFact::Steered { text, by }) if by == "user" => self.said.clone_from(text),
            Fact::Model(ModelFact::Called { call, purpose, .. }) if !purpose.is_turn() => {
                self.aside = Some(call.clone())
            }
            // A call that came to nothing and is made again is the same step.
            Fact::Model(ModelFact::Called { .. }) if !self.is_open => {
                self.steps.push(seq);
                self.is_open = true;
            }
            Fact::Reply(ReplyFact::Saved { call, partial: false, .. }) if self.aside.as_ref() != Some(call) => {
                self.is_open = false;
            }
            Fact::Change(ChangeFact::Applied(_)) => self.changes.push(seq),
            Fact::Plan(PlanFact::Step { number, of, title, status: StepStatus::Running, .. }) => {
                self.place = Some((seq, format!("Step {number} of {of}: {title}")));
            }
            _ => {}
        }
    }

    /// Where the last step began: from here on, a person is shown again what has happened.
    pub(super) fn since(&self) -> u64 {
        self.steps.last().copied().unwrap_or(0)
    }

    /// Says what lies before the last step, which is shown again.
    pub(in crate::cli) fn tell(&self) {
        self.lines(self.since()).iter().for_each(|line| note(line));
    }

    /// Says what lies behind, where none of it is shown again.
    pub(in crate::cli) fn tell_all(&self) {
        self.lines(u64::MAX).iter().for_each(|line| note(line));
    }

    fn lines(&self, before: u64) -> Vec<String> {
        let count = |places: &[u64]| places.iter().filter(|seq| **seq < before).count();
        let of = |number: usize, one: &str, many: &str| match number {
            1 => format!("1 {one}"),
            _ => format!("{number} {many}"),
        };
        let session = &self.session;
        let mut lines = shortened(&self.said);
        let steps = count(&self.steps);
        if steps > 0 {
            let steps = of(steps, "earlier step", "earlier steps");
            lines.push(format!("… {steps}: `trimtab sessions export {session}` has all of it."));
        }
        let changes = count(&self.changes);
        if changes > 0 {
            let (changes, them) = (of(changes, "change", "changes"), if changes == 1 { "it" } else { "them" });
            lines.push(format!("… {changes} of files: `trimtab changes --session {session}` shows {them}."));
        }
        lines.extend(self.place.iter().filter(|(seq, _)| *seq < before).map(|(_, title)| title.clone()));
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
        let mut behind = Recap::nothing("s1".parse().expect("an id"));
        for (seq, fact) in (1..).zip(facts) {
            let mut whole = json!({"seq": seq, "time": "2026-01-01T00:00:00.000Z", "session": "s1", "request": "r1"});
            whole.as_object_mut().expect("an object").extend(fact.as_object().expect("an object").clone());
            behind.observe(&serde_json::from_value(whole).expect("an event"));
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
        assert_eq!((behind.steps.as_slice(), behind.since()), ([2, 4].as_slice(), 4));
        insta::assert_snapshot!(behind.lines(behind.since()).join("\n"), @"
        > Mend it
        … 1 earlier step: `trimtab sessions export s1` has all of it.
        ");
    }

    #[test]
    fn what_a_model_is_asked_on_the_side_is_no_step() {
        let aside = json!({"type": "model.called", "call": "c2", "model": "a/b", "attempt": 1, "purpose": "summary"});
        let behind = behind(&[called("c1"), aside, saved("c2", false), called("c3")]);
        assert_eq!(behind.steps, [1]);
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
        … 2 earlier steps: `trimtab sessions export s1` has all of it.
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
