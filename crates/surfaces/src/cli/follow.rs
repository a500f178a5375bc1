//! Follows a request until it ends, and prints it as text or as events.

mod asked;
mod entries;
mod object;
mod recap;
mod screen;
mod since;
mod workers;

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{Interval, MissedTickBehavior};
use trimtab_host::{Client, Sent, SessionWatch};
use trimtab_vocab::checkpoint::Ask;
use trimtab_vocab::event::{BannerFact, CheckpointFact, Choice, Level, RequestFact, Status};
use trimtab_vocab::{CheckpointId, Control, Event, Fact, Problem, ProblemKind, RequestId};

use super::output::note;
use super::run::ApproveArg;
use super::{CliOutcome, telemetry};
use crate::output::StdStream;
use crate::words::{self, details};
use asked::{PromptState, answered, part};
pub(super) use object::OutcomeObject;
pub(super) use recap::Recap;
pub(super) use screen::ASKED_ELSEWHERE;
use screen::RunPrinter;
use since::{asked_of, has_more, held_up_by, is_open, rests_since};
pub(super) use since::{is_parked, is_reopened};
use workers::WorkerFollower;

/// How a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// The answer in words.
    Text,
    /// Every event as a line.
    Json,
    /// The answer alone, once it is there: it is one JSON value.
    Answer,
    /// Nothing: the command prints what came of it.
    Quiet,
    /// One object with the answer and what else came of the request, at the end.
    Object {
        /// The answer is a value that fits a schema.
        has_schema: bool,
    },
}

impl OutputForm {
    pub(super) fn from_json_flag(json: bool) -> Self {
        Self::new(json, false)
    }

    /// Events where they are asked for; else words, or the answer alone where it has a schema.
    pub(super) fn new(json: bool, has_schema: bool) -> Self {
        match (json, has_schema) {
            (true, _) => Self::Json,
            (false, true) => Self::Answer,
            (false, false) => Self::Text,
        }
    }
}

/// Who is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attendance {
    /// A person at the terminal.
    AtTheTerminal,
    /// Nobody: what asks stays open.
    Nobody,
    /// Nobody, and what asks is refused.
    Refuse,
}

impl Attendance {
    /// Without a terminal on both ends, nobody is there.
    pub(super) fn from_approve(approve: ApproveArg, json: bool) -> Self {
        let terminal = !json && io::stdin().is_terminal() && StdStream::Err.is_terminal();
        match approve {
            ApproveArg::Deny => Self::Refuse,
            ApproveArg::Ask if terminal => Self::AtTheTerminal,
            // Whether to spend more is a judgement; nothing that asks so far is not one.
            ApproveArg::Ask | ApproveArg::Auto => Self::Nobody,
        }
    }
}

/// Shows the facts of a request from its beginning until it is finished. The first Ctrl-C cancels
/// it, the second ends the program at once.
pub(super) async fn follow(
    client: &Client,
    sent: &Sent,
    after: u64,
    form: OutputForm,
    asking: Attendance,
) -> Result<CliOutcome, Problem> {
    let mut screen = RunPrinter::new(form);
    screen.catch_up(client, sent, after).await?;
    let ended = watch(client, sent, after, screen, asking).await;
    telemetry::report(client, sent).await;
    ended
}

/// Follows a request that is taken up again. A person is told what lies behind, and shown it from the last step on;
/// a program is given every event.
pub(super) async fn follow_resumed(
    client: &Client,
    sent: &Sent,
    behind: &Recap,
    form: OutputForm,
    asking: Attendance,
) -> Result<CliOutcome, Problem> {
    if form != OutputForm::Json {
        behind.tell();
    }
    let ended = watch(client, sent, 0, RunPrinter::since(form, behind.since()), asking).await;
    telemetry::report(client, sent).await;
    ended
}

/// Whether whoever started the program wants it to outlive the terminal, as `nohup` does. Where the system does not
/// tell, nobody does.
pub(super) fn ignores_hang_up() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

async fn watch(
    client: &Client,
    sent: &Sent,
    after: u64,
    screen: RunPrinter,
    asking: Attendance,
) -> Result<CliOutcome, Problem> {
    let mut signals = Signals::listen()?;
    client.requests().run_for(&sent.session, &sent.request);
    let mut watch = client.watch(&sent.session, after);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut follower = Follower {
        client,
        tick,
        sent: sent.clone(),
        screen,
        asking,
        cancelling: None,
        question: None,
        passed_by: false,
        has_come: false,
        has_joined: false,
        workers: WorkerFollower::new(client.clone()),
    };
    loop {
        let event = match follower.next_event(&mut signals, &mut watch).await? {
            FollowerEvent::Event(event) => event,
            FollowerEvent::Signal(number) => {
                let outcome = follower.screen.leave(number);
                follower.screen.print_object(&follower.sent, outcome, trimtab_host::now())?;
                return Ok(outcome);
            }
        };
        if let Some(outcome) = follower.take(&event).await? {
            follower.screen.print_object(&follower.sent, outcome, event.time)?;
            // Whoever presses Ctrl-C now does not want to wait. The next run removes what is left.
            tokio::select! {
                () = client.requests().end_workers() => {}
                _ = signals.interrupt.recv() => {}
                _ = signals.terminate.recv() => {}
                _ = signals.hang_up.recv(), if !signals.is_detached => {}
            }
            follower.workers.finish().await?;
            return Ok(outcome);
        }
    }
}

/// The signals that end a program, or cancel what it does.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
    is_detached: bool,
}

impl Signals {
    fn listen() -> Result<Self, Problem> {
        let listen = |kind| {
            signal(kind)
                .map_err(|error| Problem::new(ProblemKind::Internal, format!("Cannot handle signals: {error}.")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            is_detached: ignores_hang_up(),
            hang_up: listen(SignalKind::hangup())?,
        })
    }
}

enum FollowerEvent {
    Event(Box<Event>),
    /// A signal that ends the program.
    Signal(i32),
}

/// A request that is followed, and whoever is asked about it.
struct Follower<'a> {
    client: &'a Client,
    /// When the moving line moves.
    tick: Interval,
    /// The request; another one, once its words were passed on to that.
    sent: Sent,
    screen: RunPrinter,
    asking: Attendance,
    cancelling: Option<JoinHandle<Result<(), Problem>>>,
    question: Option<PromptState>,
    /// The last question was answered without this terminal.
    passed_by: bool,
    /// The request waits for its turn.
    has_come: bool,
    /// It has become a part of one that somebody else may be asked about.
    has_joined: bool,
    workers: WorkerFollower,
}

const WAITS: CliOutcome = CliOutcome::Finished(Status::NeedsUser);

impl Follower<'_> {
    /// Waits for the next event of the session; answers, Ctrl-C and the moving line go on meanwhile.
    async fn next_event(&mut self, signals: &mut Signals, watch: &mut SessionWatch) -> Result<FollowerEvent, Problem> {
        // Kept while other things happen: beginning to read a long log anew at every tick would
        // never come to its end.
        let next = watch.next();
        tokio::pin!(next);
        loop {
            tokio::select! {
                biased;
                _ = signals.interrupt.recv() => self.cancel(),
                _ = signals.terminate.recv() => return Ok(FollowerEvent::Signal(15)),
                _ = signals.hang_up.recv(), if !signals.is_detached => return Ok(FollowerEvent::Signal(1)),
                told = sent_cancel(&mut self.cancelling) => told.inspect_err(|_| self.screen.clear_line())?,
                (answer, parts) = answered(&mut self.question) => match parts.is_empty() {
                    true => self.client.requests().answer(&self.sent.session, answer).await?,
                    false => self.question = part(self.client, &self.sent, answer, parts, self.asking).await?,
                },
                event = &mut next => {
                    let event = event.inspect_err(|_| self.screen.clear_line())?;
                    return Ok(FollowerEvent::Event(Box::new(event)));
                }
                event = self.workers.next() => self.workers.print(&event)?,
                _ = self.tick.tick(), if self.question.is_none() => self.screen.tick(),
            }
        }
    }

    fn cancel(&mut self) {
        if self.cancelling.is_some() {
            self.screen.clear_line();
            std::process::exit(130);
        }
        self.screen.say("Cancelling. Press Ctrl-C again to quit.");
        let (client, sent) = (self.client.clone(), self.sent.clone());
        self.cancelling = Some(tokio::spawn(async move {
            client.requests().control(&sent.session, Some(sent.request), Control::Cancel).await
        }));
    }

    /// Shows an event and does what follows from it; how it ended, if it is the last one.
    async fn take(&mut self, event: &Event) -> Result<Option<CliOutcome>, Problem> {
        if event.request.as_ref() != Some(&self.sent.request) {
            self.screen.show_session(event)?;
            let is_asked = matches!(event.fact, Fact::Checkpoint(CheckpointFact::Opened { .. }));
            // What the request before it is asked may take as long as it likes; a script does not wait for that.
            return if is_asked && self.has_come { self.held_up().await } else { Ok(None) };
        }
        if self.screen.is_json() {
            self.workers.observe(event).await?;
        }
        let has_gone_on = match &event.fact {
            // What ended for want of a person may have gone on since.
            Fact::Request(RequestFact::Finished { status: Status::NeedsUser | Status::Limit, .. }) => {
                is_reopened(self.client, &self.sent, event.seq).await?
            }
            _ => false,
        };
        if has_gone_on {
            self.screen.pass_over(event);
        }
        let ended = self.screen.show(event)?;
        let outcome = match &event.fact {
            Fact::Request(RequestFact::Received { while_running: None, .. }) => {
                self.has_come = true;
                self.held_up().await?
            }
            Fact::Request(RequestFact::Joined { into, checkpoint, .. }) => {
                self.joined(event, into.clone(), checkpoint.is_some()).await?
            }
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if is_open(self.client, event).await? => {
                self.asked(event, checkpoint).await?
            }
            // An answer may be turned down; what was asked is still asked.
            Fact::Banner(BannerFact { level: Level::Warning, .. }) if self.question.is_none() => {
                self.asked_again(event).await?
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                let open = self.question.take_if(|question| question.checkpoint == *checkpoint);
                self.passed_by = open.is_some_and(|question| !question.is_refused());
                self.ask_next(event).await?;
                None
            }
            _ => None,
        };
        match ended {
            _ if outcome.is_some() => Ok(outcome),
            Some(status) if !has_gone_on => Ok(Some(CliOutcome::Finished(status))),
            _ => Ok(None),
        }
    }

    /// A request before it is asked something.
    async fn held_up(&mut self) -> Result<Option<CliOutcome>, Problem> {
        let Some(open) = held_up_by(self.client, &self.sent).await? else { return Ok(None) };
        Ok(self.screen.held_up(&open, self.asking)?.then_some(WAITS))
    }

    /// Its words were passed on to another request, or taken as an answer.
    async fn joined(&mut self, event: &Event, into: RequestId, answers: bool) -> Result<Option<CliOutcome>, Problem> {
        (self.sent.request, self.has_joined) = (into, true);
        self.client.requests().run_for(&self.sent.session, &self.sent.request);
        if !answers && rests_since(self.client, &self.sent, event.seq).await? {
            return self.screen.still_open(self.client, &self.sent).await.map(Some);
        }
        if let Some(open) = asked_of(self.client, &self.sent).await?.filter(|open| open.seq < event.seq) {
            if self.screen.held_up(&open, self.asking)? {
                return Ok(Some(WAITS));
            }
            self.question = PromptState::ask(self.asking, &open, true);
        }
        Ok(None)
    }

    async fn asked(&mut self, event: &Event, checkpoint: &CheckpointId) -> Result<Option<CliOutcome>, Problem> {
        // Somebody at another screen has taken the request up meanwhile, and is asked there. Where one sub-task is asked
        // about, the others go on, and the request ends when nothing moves any more.
        if self.asking == Attendance::Nobody
            && !is_about_one_subtask(event)
            && !is_parked(self.client, &self.sent).await?
        {
            match self.has_joined {
                true => drop(self.screen.held_up(event, self.asking)?),
                false => self.screen.asked_elsewhere(event),
            }
            return Ok(Some(WAITS));
        }
        // One question at a time: the keys that somebody presses are for the one that is on the screen.
        if self.question.is_none() {
            self.screen.announce(self.client, event, checkpoint).await;
            self.question = PromptState::ask(self.asking, event, !self.passed_by);
        }
        Ok(None)
    }

    /// Asks what was opened while another question was on the screen.
    async fn ask_next(&mut self, event: &Event) -> Result<(), Problem> {
        if self.asking == Attendance::Nobody || self.question.is_some() {
            return Ok(());
        }
        let Some(open) = asked_of(self.client, &self.sent).await?.filter(|open| open.seq < event.seq) else {
            return Ok(());
        };
        let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) = &open.fact else { return Ok(()) };
        self.screen.announce(self.client, &open, checkpoint).await;
        self.question = PromptState::ask(self.asking, &open, !self.passed_by);
        Ok(())
    }

    async fn asked_again(&mut self, event: &Event) -> Result<Option<CliOutcome>, Problem> {
        let open = self.client.requests().checkpoints().await?;
        let open = open.into_iter().find(|open| open.request.as_ref() == Some(&self.sent.request));
        let is_last = !has_more(self.client, &self.sent, event.seq).await?;
        match open.filter(|_| is_last) {
            Some(open) if self.asking == Attendance::AtTheTerminal => {
                describe(&open);
                self.question = PromptState::ask(self.asking, &open, true);
            }
            // Its request waits elsewhere, and so would a script.
            Some(open) if self.asking == Attendance::Nobody && is_elicitation(&open) => return Ok(Some(WAITS)),
            Some(_) if is_parked(self.client, &self.sent).await? => return Ok(Some(WAITS)),
            _ => {}
        }
        Ok(None)
    }
}

/// Whether an MCP server asks it.
fn is_elicitation(event: &Event) -> bool {
    matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { ask: Ask::Elicitation(_), .. }))
}

/// Whether a question holds one sub-task up, and not the request.
fn is_about_one_subtask(event: &Event) -> bool {
    match &event.fact {
        Fact::Checkpoint(CheckpointFact::Opened { worker, ask, .. }) => {
            worker.is_some() || matches!(ask, Ask::SubtaskFailed { .. })
        }
        _ => false,
    }
}

/// A choice as it is listed.
pub(super) fn choice_line(choice: &Choice) -> String {
    let covers = choice.covers.iter().map(|covers| format!("\n               {covers}"));
    format!("    {:<10} {}{}", choice.id, choice.label, covers.collect::<String>())
}

/// Says what is asked.
pub(super) fn describe(event: &Event) {
    if let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, ask, worker, .. }) = &event.fact {
        worker.iter().for_each(|worker| note(&words::subtasks::asks(worker)));
        note(&words::title(title, ask));
        let lines = details(ask).into_iter().chain(words::shell_hints(checkpoint, ask));
        lines.for_each(|line| note(&line));
    }
}

/// Waits until a cancellation is sent; for ever, once it is, or if there is none.
async fn sent_cancel(cancel: &mut Option<JoinHandle<Result<(), Problem>>>) -> Result<(), Problem> {
    match cancel {
        Some(task) if !task.is_finished() => match task.await {
            Ok(sent) => sent,
            Err(error) => {
                Err(Problem::new(ProblemKind::Internal, format!("The request cannot be cancelled: {error}.")))
            }
        },
        _ => std::future::pending().await,
    }
}
