//! What of a request is shown, and how: the words of its answer, a line for what happens meanwhile.

use trimtab_host::{Client, Sent};
use trimtab_vocab::event::{CheckpointFact, ModelFact, RequestFact, SessionFact, StageFact, Status, UsageFact};
use trimtab_vocab::format;
use trimtab_vocab::{CheckpointId, Event, Fact, Problem, Usage};

use super::entries::RunOutput;
use super::object::OutcomeObject;
use super::{Attendance, OutputForm, describe};
use crate::cli::CliOutcome;
use crate::cli::diff::glimpse;
use crate::cli::output::{note, note_ink, print_json, problem};
use crate::conversation::Conversation;
use crate::diff::LoadedDiff;
use crate::words::{reply_label, speed};

/// Prints a request as it is worked on.
pub(super) struct RunPrinter {
    output: RunOutput,
    conversation: Conversation,
    /// What was recorded before this is known already, and not shown.
    since: u64,
    /// The fact that was seen last.
    last: Option<u64>,
    /// The level of autonomy that was set since the last request.
    level: Option<Event>,
    /// What the last call cost, and how fast it was.
    usage: Usage,
    object: OutcomeObject,
}

/// What a script says that ends because somebody at another screen is asked.
pub(in crate::cli) const ASKED_ELSEWHERE: &str =
    "Another window shows the question. Answer it there, or with `trimtab answer`.";
/// Lines of a change that are shown before a question.
const SHOWN_DIFF: usize = 60;

impl RunPrinter {
    pub(super) fn new(form: OutputForm) -> Self {
        Self::since(form, 0)
    }

    /// A screen that shows nothing of what was recorded before `seq`.
    pub(super) fn since(form: OutputForm, seq: u64) -> Self {
        Self {
            output: RunOutput::new(form),
            conversation: Conversation::default(),
            since: seq,
            last: None,
            level: None,
            usage: Usage::default(),
            object: OutcomeObject::default(),
        }
    }

    /// Prints what came of the request as one object, if that is wanted.
    pub(super) fn print_object(
        &mut self,
        sent: &Sent,
        outcome: CliOutcome,
        now: trimtab_vocab::Time,
    ) -> Result<(), Problem> {
        let OutputForm::Object { has_schema } = self.form() else { return Ok(()) };
        self.output.clear_line();
        print_json(&self.object.value(sent, outcome, has_schema, now))
    }

    /// Folds the events of a request up to `last` and prints none of them, because an earlier command showed them.
    /// Without them, the output of a command that began earlier would not be known to belong to a series, and would be
    /// printed twice, and news of a sub-task that was planned earlier could not be told.
    pub(super) async fn catch_up(&mut self, client: &Client, sent: &Sent, last: u64) -> Result<(), Problem> {
        let mut after = 0;
        while after < last {
            let page = client.sessions().events(&sent.session, after).await?;
            let Some(seq) = page.last().and_then(|event| event.seq) else { break };
            after = seq;
            let earlier = page.iter().filter(|event| event.seq.is_some_and(|seq| seq <= last));
            for event in earlier.filter(|event| event.request.as_ref() == Some(&sent.request)) {
                self.conversation.observe(event);
            }
        }
        // A proposal that was shown with an earlier question is not shown again with the next one.
        self.conversation.forget_proposed();
        Ok(())
    }

    pub(super) fn is_json(&self) -> bool {
        self.form() == OutputForm::Json
    }

    fn form(&self) -> OutputForm {
        self.output.form
    }

    /// Says what is asked, with the change it is about.
    pub(super) async fn announce(&mut self, client: &Client, event: &Event, checkpoint: &CheckpointId) {
        if self.form() == OutputForm::Json {
            return;
        }
        self.say("");
        let proposal = match &event.fact {
            Fact::Checkpoint(CheckpointFact::Opened { ask, .. }) => {
                ask.permission().and_then(|asked| asked.proposal.as_ref())
            }
            _ => None,
        };
        let writes = proposal.map(|proposal| self.conversation.take_proposed(proposal)).unwrap_or_default();
        match LoadedDiff::load(client, &event.session, &writes).await {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let rest = format!("`trimtab diff {checkpoint} --all` shows all of it.");
                note_ink(&glimpse(&files, SHOWN_DIFF, &rest));
            }
            // The question is asked all the same; whoever answers knows what they have not seen.
            Err(missing) => problem(&missing),
        }
        describe(event);
    }

    /// The words were passed on to a request that cannot go on without an answer: says which.
    pub(super) async fn still_open(&mut self, client: &Client, sent: &Sent) -> Result<CliOutcome, Problem> {
        let open = client.requests().checkpoints().await?;
        if self.form() != OutputForm::Json {
            self.say("The request needs an answer first:");
            open.iter().filter(|event| event.request.as_ref() == Some(&sent.request)).for_each(describe);
            note("Waiting for your answer. See `trimtab checkpoints`, then reply with `trimtab answer`.");
        }
        Ok(CliOutcome::Finished(Status::NeedsUser))
    }

    /// It cannot go on before somebody answers what is asked at another screen: says so, and whether that is the end of
    /// it. A person at the terminal may wait; a script does not, and its words are not lost.
    pub(super) fn held_up(&mut self, open: &Event, asking: Attendance) -> Result<bool, Problem> {
        let ends = asking != Attendance::AtTheTerminal;
        match self.form() {
            // What is asked of this request itself was printed as it came.
            OutputForm::Json if self.last != open.seq => print_json(open)?,
            OutputForm::Json => {}
            OutputForm::Text | OutputForm::Answer | OutputForm::Quiet | OutputForm::Object { .. } => {
                self.say("The request needs an answer first:");
                describe(open);
                note("Answer it there, or with `trimtab answer`. `trimtab checkpoints` lists pending questions.");
                if ends {
                    note("Your message is saved and runs after the answer.");
                }
            }
        }
        Ok(ends)
    }

    /// It is asked at another screen, where somebody has taken the request up: says so.
    pub(super) fn asked_elsewhere(&mut self, open: &Event) {
        if self.form() != OutputForm::Json {
            self.say("");
            describe(open);
            note(ASKED_ELSEWHERE);
        }
    }

    /// Takes an event of the session that belongs to no request, or to another one. A program is told the level of
    /// autonomy that came with its request, or that somebody sets while it runs.
    pub(super) fn show_session(&mut self, event: &Event) -> Result<(), Problem> {
        match &event.fact {
            Fact::Session(SessionFact::Autonomy { .. }) if self.is_json() && self.last.is_some() => print_json(event),
            Fact::Session(SessionFact::Autonomy { .. }) => {
                self.level = Some(event.clone());
                Ok(())
            }
            _ => {
                self.level.take_if(|_| event.request.is_some());
                Ok(())
            }
        }
    }

    /// What this event says no longer holds: it is recorded, and a person is not shown it.
    pub(super) fn pass_over(&mut self, event: &Event) {
        self.since = self.since.max(event.seq.map_or(0, |seq| seq + 1));
    }

    /// Shows what an event adds; how the request ended, if it did.
    pub(super) fn show(&mut self, event: &Event) -> Result<Option<Status>, Problem> {
        let finished = match &event.fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        };
        self.last = event.seq.or(self.last);
        let updates = self.conversation.observe(event);
        self.object.observe(event);
        self.output.line.elapsed.observe(event);
        if let Fact::Stage(StageFact { label, .. }) = &event.fact {
            self.output.line.label.clone_from(label);
        }
        if let Fact::Usage(UsageFact { usage, .. }) = &event.fact {
            self.usage = *usage;
        }
        if let Fact::Reply(fact) = &event.fact
            && let Some(label) = reply_label(fact)
        {
            self.output.line.label = label;
        }
        match self.form() {
            OutputForm::Json => {
                self.level.take().iter().try_for_each(print_json)?;
                print_json(event)?;
            }
            OutputForm::Text | OutputForm::Answer | OutputForm::Quiet | OutputForm::Object { .. }
                if event.seq.is_some_and(|seq| seq < self.since) =>
            {
                return Ok(finished);
            }
            OutputForm::Text | OutputForm::Answer | OutputForm::Quiet | OutputForm::Object { .. } => {
                // What an earlier call said has been read, and is no part of what this one says.
                if let Fact::Model(ModelFact::Called { purpose, .. }) = &event.fact
                    && purpose.is_turn()
                    && self.conversation.calls().is_structured(event.request.as_ref())
                {
                    self.output.end_shown()?;
                }
                for update in &updates {
                    self.output.show_update(&self.conversation, update)?;
                }
            }
        }
        if let Some(took) = self.output.line.took(event.time).filter(|_| finished.is_some() && self.output.is_moving) {
            let speed = speed(&self.usage).map(|speed| format!(" ({speed})")).unwrap_or_default();
            note(&format!("Took {}{speed}.", format::duration(took)));
        }
        Ok(finished)
    }

    pub(super) fn say(&mut self, line: &str) {
        self.output.say(line);
    }

    /// Redraws the moving line: what is being done, and for how long.
    pub(super) fn tick(&mut self) {
        self.output.tick();
    }

    pub(super) fn clear_line(&mut self) {
        self.output.clear_line();
    }

    /// The program was told to end: whoever could not watch the words gets those that came.
    pub(super) fn leave(&mut self, number: i32) -> CliOutcome {
        self.output.show_rest(&self.conversation);
        self.say("Stopped. Nothing is lost. Continue with `trimtab resume`.");
        CliOutcome::Left(number)
    }
}
