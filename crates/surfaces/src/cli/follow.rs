//! Follows a request to its end, in words or as events.

mod asked;
mod recap;
mod screen;
mod since;

use std::io::{self, IsTerminal};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use trimtab_host::{Client, Sent};
use trimtab_vocab::event::{BannerFact, CheckpointFact, Choice, Level, RequestFact, Status};
use trimtab_vocab::{Control, Event, Fact, Problem, ProblemKind};

use super::output::note;
use super::run::ApproveArg;
use super::{CliOutcome, telemetry};
use crate::output::StdStream;
use crate::words::{self, details};
use asked::{PromptState, answered, part};
pub(super) use recap::Recap;
pub(super) use screen::ASKED_ELSEWHERE;
use screen::RunPrinter;
pub(super) use since::is_parked;
use since::{asked_of, has_more, held_up_by, is_open, is_reopened, rests_since};

/// How a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputForm {
    /// The answer in words.
    Text,
    /// Every event as a line.
    Json,
}

impl OutputForm {
    pub(super) fn from_json_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
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
    let ended = watch(client, sent, after, RunPrinter::new(form), asking).await;
    telemetry::report(client, sent).await;
    ended
}

/// Follows a request that is taken up again. A person is told what lies behind, and shown it from the last step on;
/// a program is given every event.
pub(super) async fn take_up(
    client: &Client,
    sent: &Sent,
    behind: &Recap,
    form: OutputForm,
    asking: Attendance,
) -> Result<CliOutcome, Problem> {
    if form == OutputForm::Text {
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
    mut screen: RunPrinter,
    asking: Attendance,
) -> Result<CliOutcome, Problem> {
    let listen = |kind| {
        signal(kind).map_err(|error| Problem::new(ProblemKind::Internal, format!("Signals cannot be heard: {error}.")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let is_detached = ignores_hang_up();
    let mut hang_up = listen(SignalKind::hangup())?;
    let mut watch = client.watch(&sent.session, after);
    let mut sent = sent.clone();
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cancelling: Option<JoinHandle<Result<(), Problem>>> = None;
    let mut question: Option<PromptState> = None;
    // Whether the last question was answered without this terminal.
    let mut passed_by = false;
    // Whether the request waits for its turn, or has become a part of one that somebody else may be asked about.
    let (mut has_come, mut has_joined) = (false, false);
    loop {
        // Kept while other things happen: beginning to read a long log anew at every tick would
        // never come to its end.
        let next = watch.next();
        tokio::pin!(next);
        let event = loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => {
                    if cancelling.is_some() {
                        screen.clear_line();
                        std::process::exit(130);
                    }
                    screen.say("Cancelling; Ctrl-C again ends the program at once.");
                    let (client, sent) = (client.clone(), sent.clone());
                    cancelling = Some(tokio::spawn(async move {
                        client.control(&sent.session, Some(sent.request), Control::Cancel).await
                    }));
                }
                _ = terminate.recv() => return Ok(screen.leave(15)),
                _ = hang_up.recv(), if !is_detached => return Ok(screen.leave(1)),
                told = told(&mut cancelling) => told.inspect_err(|_| screen.clear_line())?,
                (answer, parts) = answered(&mut question) => match parts.is_empty() {
                    true => client.answer(&sent.session, answer).await?,
                    false => question = part(client, &sent, answer, parts, asking).await?,
                },
                event = &mut next => break event.inspect_err(|_| screen.clear_line())?,
                _ = tick.tick(), if question.is_none() => screen.tick(),
            }
        };
        let is_asked = matches!(event.fact, Fact::Checkpoint(CheckpointFact::Opened { .. }));
        if event.request.as_ref() != Some(&sent.request) {
            // What the request before it is asked may take as long as it likes; a script does not wait for that.
            if is_asked
                && has_come
                && let Some(open) = held_up_by(client, &sent).await?
                && screen.held_up(&open, asking)?
            {
                return Ok(CliOutcome::Finished(Status::NeedsUser));
            }
            continue;
        }
        let ended = screen.show(&event)?;
        match &event.fact {
            Fact::Request(RequestFact::Received { while_running: None, .. }) => {
                has_come = true;
                if let Some(open) = held_up_by(client, &sent).await?
                    && screen.held_up(&open, asking)?
                {
                    return Ok(CliOutcome::Finished(Status::NeedsUser));
                }
            }
            Fact::Request(RequestFact::Joined { into, checkpoint, .. }) => {
                (sent.request, has_joined) = (into.clone(), true);
                if checkpoint.is_none() && rests_since(client, &sent, event.seq).await? {
                    return screen.still_open(client, &sent).await;
                }
                if let Some(open) = asked_of(client, &sent).await?.filter(|open| open.seq < event.seq) {
                    if screen.held_up(&open, asking)? {
                        return Ok(CliOutcome::Finished(Status::NeedsUser));
                    }
                    question = PromptState::ask(asking, &open, true);
                }
            }
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if is_open(client, &event).await? => {
                // Somebody at another screen has taken the request up meanwhile, and is asked there.
                if asking == Attendance::Nobody && !is_parked(client, &sent).await? {
                    match has_joined {
                        true => drop(screen.held_up(&event, asking)?),
                        false => screen.asked_elsewhere(&event),
                    }
                    return Ok(CliOutcome::Finished(Status::NeedsUser));
                }
                screen.announce(client, &event, checkpoint).await;
                question = PromptState::ask(asking, &event, !passed_by);
            }
            // An answer may be turned down; what was asked is still asked.
            Fact::Banner(BannerFact { level: Level::Warning, .. }) if question.is_none() => {
                let open = client.checkpoints().await?;
                let open = open.into_iter().find(|open| open.request.as_ref() == Some(&sent.request));
                let is_last = !has_more(client, &sent, event.seq).await?;
                match open.filter(|_| is_last) {
                    Some(open) if asking == Attendance::AtTheTerminal => {
                        describe(&open);
                        question = PromptState::ask(asking, &open, true);
                    }
                    Some(_) if is_parked(client, &sent).await? => return Ok(CliOutcome::Finished(Status::NeedsUser)),
                    _ => {}
                }
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                let open = question.take_if(|question| question.checkpoint == *checkpoint);
                passed_by = open.is_some_and(|question| !question.is_refused());
            }
            _ => {}
        }
        match ended {
            // What ended for want of a person may have gone on since.
            Some(Status::NeedsUser | Status::Limit) if is_reopened(client, &sent, event.seq).await? => {}
            Some(status) => return Ok(CliOutcome::Finished(status)),
            None => {}
        }
    }
}

/// A choice as it is listed.
pub(super) fn choice_line(choice: &Choice) -> String {
    format!("    {:<10} {}", choice.id, choice.label)
}

/// Says what is asked.
pub(super) fn describe(event: &Event) {
    if let Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, ask, .. }) = &event.fact {
        note(&words::title(title, ask));
        let lines = details(ask).into_iter().chain(words::shell_hints(checkpoint, ask));
        lines.for_each(|line| note(&line));
    }
}

/// Waits until a wish to cancel is passed on; for ever, once it is, or if there is none.
async fn told(wish: &mut Option<JoinHandle<Result<(), Problem>>>) -> Result<(), Problem> {
    match wish {
        Some(task) if !task.is_finished() => match task.await {
            Ok(told) => told,
            Err(error) => {
                Err(Problem::new(ProblemKind::Internal, format!("The request cannot be cancelled: {error}.")))
            }
        },
        _ => std::future::pending().await,
    }
}
