//! Follows a request to its end, in words or as events.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior};
use trimtab_host::{Answered, Client, JobRow, JobState, Sent};
use trimtab_vocab::event::{
    AnswerFact, BannerFact, ChangeFact, CheckpointFact, Choice, CommandFact, CommandsFact, IntentFact, Level,
    ModelFact, PlanFact, ProposalFact, ReplyFact, RequestFact, SessionFact, StageFact, Status, StepsFact, ToolFact,
    ToolStatus,
};
use trimtab_vocab::{
    CallId, ChangePart, CheckpointId, Control, Event, Fact, FileWrite, Message, Part, Problem, ProblemKind,
    SeriesState, StepStatus,
};

use super::changes::named_parts;
use super::diff::{Loaded, glimpse, written};
use super::effects;
use super::elapsed::{Elapsed, in_words};
use super::output::{calm, no_colour, note, print, print_json, problem};
use super::question::{self, Wanted};
use super::run::Approve;
use super::telemetry;
use super::{Outcome, handoff, images, keyboard, memory};

/// How a request is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The answer in words.
    Text,
    /// Every event as a line.
    Json,
}

impl Form {
    pub(super) fn of(json: bool) -> Self {
        if json { Self::Json } else { Self::Text }
    }
}

/// Who is there to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    /// A person at the terminal.
    AtTheTerminal,
    /// Nobody: what asks stays open.
    Nobody,
    /// Nobody, and what asks is refused.
    Refuse,
}

impl Asking {
    /// Without a terminal on both ends, nobody is there.
    pub(super) fn of(approve: Approve, json: bool) -> Self {
        let terminal = !json && io::stdin().is_terminal() && io::stderr().is_terminal();
        match approve {
            Approve::Deny => Self::Refuse,
            Approve::Ask if terminal => Self::AtTheTerminal,
            // Whether to spend more is a judgement; nothing that asks so far is not one.
            Approve::Ask | Approve::Auto => Self::Nobody,
        }
    }
}

/// Shows the facts of a request from its beginning until it is finished. The first Ctrl-C cancels
/// it, the second ends the program at once.
pub(super) async fn follow(
    client: &Client,
    sent: &Sent,
    after: u64,
    form: Form,
    asking: Asking,
) -> Result<Outcome, Problem> {
    let ended = watch(client, sent, after, form, asking).await;
    telemetry::report(client, sent).await;
    ended
}

async fn watch(client: &Client, sent: &Sent, after: u64, form: Form, asking: Asking) -> Result<Outcome, Problem> {
    let listen = |kind| {
        signal(kind).map_err(|error| Problem::new(ProblemKind::Internal, format!("Signals cannot be heard: {error}.")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hang_up = listen(SignalKind::hangup())?;
    let mut watch = client.watch(&sent.session, after);
    let mut sent = sent.clone();
    let mut screen = Screen::new(form);
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cancelling: Option<JoinHandle<Result<(), Problem>>> = None;
    let mut question: Option<Question> = None;
    // Whether the last question was answered without this terminal.
    let mut passed_by = false;
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
                _ = hang_up.recv() => return Ok(screen.leave(1)),
                told = told(&mut cancelling) => told.inspect_err(|_| screen.clear_line())?,
                (answer, parts) = answered(&mut question) => match parts.is_empty() {
                    true => client.answer(&sent.session, answer).await?,
                    false => question = part(client, &sent, answer, parts, asking).await?,
                },
                event = &mut next => break event.inspect_err(|_| screen.clear_line())?,
                _ = tick.tick(), if question.is_none() => screen.tick(),
            }
        };
        if event.request.as_ref() != Some(&sent.request) {
            continue;
        }
        let ended = screen.show(&event)?;
        match &event.fact {
            Fact::Request(RequestFact::Joined { into, checkpoint, .. }) => {
                sent.request = into.clone();
                if checkpoint.is_none() && rests_since(client, &sent, event.seq).await? {
                    return screen.still_open(client, &sent).await;
                }
            }
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if is_open(client, &event).await? => {
                screen.announce(client, &event, checkpoint).await;
                question = Question::ask(asking, &event, !passed_by);
            }
            // An answer may be turned down; what was asked is still asked.
            Fact::Banner(BannerFact { level: Level::Warning, .. }) if question.is_none() => {
                let open = client.checkpoints().await?;
                let open = open.into_iter().find(|open| open.request.as_ref() == Some(&sent.request));
                let is_last = !has_more(client, &sent, event.seq).await?;
                match open.filter(|_| is_last) {
                    Some(open) if asking == Asking::AtTheTerminal => {
                        describe(&open);
                        question = Question::ask(asking, &open, true);
                    }
                    Some(_) if is_parked(client, &sent).await? => return Ok(Outcome::Finished(Status::NeedsUser)),
                    _ => {}
                }
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, .. }) => {
                let open = question.take_if(|question| question.checkpoint == *checkpoint);
                passed_by = open.is_some_and(|question| !question.refuse);
            }
            _ => {}
        }
        match ended {
            // What ended for want of a person may have gone on since.
            Some(Status::NeedsUser | Status::Limit) if is_reopened(client, &sent, event.seq).await? => {}
            Some(status) => return Ok(Outcome::Finished(status)),
            None => {}
        }
    }
}

/// What a person should know before they answer, a line each.
pub(crate) fn details(event: &Event) -> Vec<String> {
    let Fact::Checkpoint(CheckpointFact::Opened { body, .. }) = &event.fact else { return Vec::new() };
    let text = |name: &str| body.get(name).and_then(|value| value.as_str());
    let mut lines = Vec::new();
    if let Some(old) = text("editedFrom") {
        lines.push(format!("You have edited it. The model had asked for: {old}"));
    }
    lines.extend(text("sign").map(|sign| format!("It said: {sign}")));
    if let Some(plan) = body.get("plan") {
        let field = |name: &str| plan.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let terminal = if plan.get("terminal").is_some() { ", with a terminal at which nobody types" } else { "" };
        lines.push(format!("It would run in {}, sandbox: {}{terminal}.", field("cwd"), field("sandbox")));
    }
    for listed in body.get("commands").and_then(|list| list.as_array()).into_iter().flatten() {
        let field = |name: &str| listed.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let note = match field("decision") {
            "auto" => String::new(),
            "deny" => format!("  (will be refused: {})", field("reason")),
            _ => format!("  (will be asked about: {})", field("reason")),
        };
        lines.push(format!("  {}{note}", field("shown")));
    }
    let remaining = body.get("remaining").and_then(|list| list.as_array()).into_iter().flatten();
    let remaining: Vec<String> = remaining.filter_map(|one| Some(format!("`{}`", one.as_str()?))).collect();
    match text("reason") {
        Some(reason) if !remaining.is_empty() => {
            lines.push(format!("The model says: {reason}"));
            lines.push(format!("Next: {}", remaining.join(", ")));
        }
        Some(reason) => lines.push(format!("Asked because {reason}.")),
        None => {}
    }
    let limit = body.get("timeoutS").and_then(|value| value.as_u64()).filter(|_| text("reason").is_some());
    lines.extend(limit.map(|seconds| format!("The model asks for {seconds} s, more than it would have by itself.")));
    lines.extend(text("ruleText").map(|rule| format!("`always` would make this rule: {rule}")));
    if let (Some(hunks), Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. })) =
        (body.get("hunks").and_then(|hunks| hunks.as_u64()), &event.fact)
    {
        lines.push(format!("It has {hunks} hunks; `trimtab diff {checkpoint}` shows them with their numbers."));
        lines.push(format!("Only some of them: trimtab answer {checkpoint} allow --only PATH:HUNK"));
    }
    if body.contains_key("fingerprint") && text("about") == Some("tool") {
        lines.push("`allow` with other words runs those instead, once they are judged anew.".to_owned());
    }
    lines.extend(question::lines(body));
    lines
}

/// A choice as it is listed.
pub(super) fn choice_line(choice: &Choice) -> String {
    format!("    {:<10} {}", choice.id, choice.label)
}

/// Says what is asked.
pub(super) fn describe(event: &Event) {
    if let Fact::Checkpoint(CheckpointFact::Opened { title, .. }) = &event.fact {
        note(&calm(title));
        details(event).iter().for_each(|line| note(&calm(line)));
    }
}

/// Whether anything like that was recorded of the request after `seq`.
async fn has_since(
    client: &Client,
    sent: &Sent,
    seq: Option<u64>,
    is_meant: impl Fn(&RequestFact) -> bool,
    others: bool,
) -> Result<bool, Problem> {
    let mut after = seq.unwrap_or(0);
    loop {
        let page = client.events(&sent.session, after).await?;
        let counts = |event: &Event| match &event.fact {
            _ if event.request.as_ref() != Some(&sent.request) => false,
            Fact::Request(fact) => is_meant(fact),
            _ => others,
        };
        if page.iter().any(counts) {
            return Ok(true);
        }
        match page.last().and_then(|event| event.seq) {
            Some(last) => after = last,
            None => return Ok(false),
        }
    }
}

/// Whether the request went on after `seq`. That it goes on under other terms does not mean that it goes on.
async fn has_more(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    has_since(
        client,
        sent,
        seq,
        |fact| !matches!(fact, RequestFact::Adjusted { .. } | RequestFact::Relisted { .. }),
        true,
    )
    .await
}

/// Whether a request that had ended for want of a person was taken up again after `seq`.
async fn is_reopened(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    has_since(client, sent, seq, |fact| matches!(fact, RequestFact::Reopened {}), false).await
}

/// Whether the request has ended for want of a person.
async fn is_parked(client: &Client, sent: &Sent) -> Result<bool, Problem> {
    let job = client.jobs(true).await?.into_iter().find(|job| job.request == sent.request);
    Ok(job.is_some_and(|job| matches!(job.state, JobState::Finished(Status::NeedsUser | Status::Limit))))
}

/// Whether a request had ended for want of a person before `seq`, and nothing of that has changed.
async fn rests_since(client: &Client, sent: &Sent, seq: Option<u64>) -> Result<bool, Problem> {
    let still = |fact: &RequestFact| matches!(fact, RequestFact::Steered { .. } | RequestFact::Joined { .. });
    let moved = |fact: &RequestFact| !still(fact) && !matches!(fact, RequestFact::Relisted { .. });
    if has_since(client, sent, seq, moved, true).await? {
        return Ok(false);
    }
    let ended = |job: &JobRow| job.request == sent.request && matches!(job.state, JobState::Finished(_));
    Ok(client.jobs(true).await?.iter().any(ended))
}

/// Whether nobody has answered since.
async fn is_open(client: &Client, asked: &Event) -> Result<bool, Problem> {
    let open = client.checkpoints().await?;
    Ok(open.iter().any(|open| open.session == asked.session && open.seq == asked.seq))
}

/// A question that somebody is thinking about.
struct Question {
    checkpoint: CheckpointId,
    choices: Vec<Choice>,
    body: Map<String, Value>,
    /// Nobody is there, and what asks is refused.
    refuse: bool,
    /// A number means one of the choices.
    by_number: bool,
    /// A choice is made, and the words that it needs are still to be said.
    wanted: Option<Wanted>,
}

impl Question {
    /// Asks whoever is there. After a question that was answered elsewhere, or by itself, a number on its way
    /// to it must not be taken for an answer to this one; a name can hardly be.
    fn ask(asking: Asking, event: &Event, by_number: bool) -> Option<Self> {
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
async fn answered(question: &mut Option<Question>) -> (Answered, Vec<ChangePart>) {
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
                            note("Say the name of one of these:");
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
async fn part(
    client: &Client,
    sent: &Sent,
    answer: Answered,
    parts: Vec<ChangePart>,
    asking: Asking,
) -> Result<Option<Question>, Problem> {
    match client.apply_parts(&sent.session, &answer.checkpoint, parts, &answer.by).await {
        Err(problem) if problem.kind == ProblemKind::Usage => {
            note(&calm(&problem.message));
            let is_it = |event: &&Event| matches!(&event.fact, Fact::Checkpoint(CheckpointFact::Opened { checkpoint, .. }) if *checkpoint == answer.checkpoint);
            let open = client.checkpoints().await?;
            Ok(open.iter().find(is_it).and_then(|event| Question::ask(asking, event, true)))
        }
        done => done.map(|()| None),
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

struct Screen {
    form: Form,
    /// Standard output is a terminal: words appear as they come.
    live: bool,
    /// Standard error is a terminal: a line there can move.
    moving: bool,
    /// What was shown of the reply that is coming.
    shown: String,
    /// What had been shown of the reply that broke off before it; it is not shown again.
    shown_before: String,
    /// When a failed call is made again.
    again_at: Option<Instant>,
    /// It was said that what commands do to files is not seen.
    unobserved: bool,
    /// The last line on standard output has no end yet.
    line_is_open: bool,
    label: String,
    line_is_drawn: bool,
    began: Instant,
    elapsed: Elapsed,
    answered: bool,
    /// The choices of what was asked and not answered.
    asked: Option<Vec<Choice>>,
    /// A call whose words are not for the person.
    aside: Option<CallId>,
    /// The change that was proposed last.
    proposed: Vec<FileWrite>,
    /// Tools that run, by call.
    tools: BTreeMap<CallId, String>,
    /// The step of a plan that is carried out; 0: none yet.
    step: u32,
}

/// Lines of a change that are shown before a question.
const SHOWN_DIFF: usize = 60;

fn wants_tools(message: &Message) -> bool {
    message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)))
}

fn status_word(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Blocked => "refused:",
        ToolStatus::Interrupted => "stopped:",
        _ => "failed:",
    }
}

/// A tool call in one line.
pub(crate) fn tool_line(name: &str, input: &serde_json::Value) -> String {
    let main = ["command", "path", "pattern", "url", "from", "question", "key"];
    let what = main.iter().find_map(|field| input.get(*field)?.as_str());
    let what = what.map(|what| what.lines().next().unwrap_or_default().to_owned()).unwrap_or_default();
    let mut line = format!("{name} {what}");
    if line.chars().count() > 160 {
        line = line.chars().take(159).collect();
        line.push('…');
    }
    line.trim_end().to_owned()
}

impl Screen {
    fn new(form: Form) -> Self {
        let terminal = |is: bool| is && form == Form::Text;
        Self {
            form,
            live: terminal(io::stdout().is_terminal()),
            moving: terminal(io::stderr().is_terminal()),
            shown: String::new(),
            shown_before: String::new(),
            again_at: None,
            unobserved: false,
            line_is_open: false,
            label: String::new(),
            line_is_drawn: false,
            began: Instant::now(),
            elapsed: Elapsed::default(),
            answered: false,
            asked: None,
            aside: None,
            proposed: Vec::new(),
            tools: BTreeMap::new(),
            step: 0,
        }
    }

    /// Says what is asked, with the change it is about.
    async fn announce(&mut self, client: &Client, event: &Event, checkpoint: &CheckpointId) {
        if self.form != Form::Text {
            return;
        }
        self.say("");
        let writes = std::mem::take(&mut self.proposed);
        match Loaded::of(client, &event.session, &writes).await {
            Ok(files) if files.is_empty() => {}
            Ok(files) => {
                let rest = format!("`trimtab diff {checkpoint} --all` shows all of it.");
                note(glimpse(&files, SHOWN_DIFF, &rest).trim_end_matches('\n'));
            }
            // The question is asked all the same; whoever answers knows what they have not seen.
            Err(missing) => problem(&missing),
        }
        describe(event);
    }

    fn show_plan(&mut self, fact: &PlanFact) -> Result<(), Problem> {
        let PlanFact::Step { number, of, title, status, note: words, .. } = fact else { return Ok(()) };
        let live = !self.shown.is_empty();
        self.end_shown()?;
        self.step = *number;
        match status {
            StepStatus::Running => self.say(&calm(&format!("Step {number} of {of}: {title}"))),
            StepStatus::Skipped => self.say(&calm(&format!("Step {number} of {of} is left out: {title}"))),
            // The model's words are on the screen where they appear as they come.
            StepStatus::Done | StepStatus::Failed if live || words.is_empty() => {}
            // Those of the last step are the answer, which follows.
            StepStatus::Done if number == of => {}
            StepStatus::Done => self.say(&calm(&format!("  done: {words}"))),
            StepStatus::Failed => self.say(&calm(&format!("  not done: {words}"))),
        }
        Ok(())
    }

    /// The words were passed on to a request that cannot go on without an answer: says which.
    async fn still_open(&mut self, client: &Client, sent: &Sent) -> Result<Outcome, Problem> {
        let open = client.checkpoints().await?;
        if self.form == Form::Text {
            self.say("It waits for an answer first:");
            open.iter().filter(|event| event.request.as_ref() == Some(&sent.request)).for_each(describe);
            note("It stays open, whatever happens: see `trimtab checkpoints`, and go on with `trimtab answer`.");
        }
        Ok(Outcome::Finished(Status::NeedsUser))
    }

    fn show_tool(&mut self, fact: &ToolFact) {
        match fact {
            ToolFact::Started { call, name, input } => {
                let line = tool_line(name, input);
                self.say(&calm(&format!("· {line}")));
                self.label.clone_from(&line);
                self.tools.insert(call.clone(), line);
            }
            ToolFact::Finished { call, status, preview, .. } => {
                let line = self.tools.remove(call).unwrap_or_default();
                if !matches!(status, ToolStatus::Ok | ToolStatus::Partial) {
                    let why = preview.lines().next().unwrap_or_default();
                    let why: String = why.chars().take(200).collect();
                    // A call that began before this process did has no line here.
                    let line = if line.is_empty() { line } else { format!("{line}: ") };
                    self.say(&calm(&format!("  {} {line}{why}", status_word(*status))));
                }
            }
            ToolFact::Stopping { .. } => {}
        }
    }

    /// The block of lines after each of several commands, and the tally at their end.
    fn show_commands(&mut self, fact: &CommandsFact) {
        let CommandsFact { series, progress, .. } = fact;
        if !progress.is_empty() && series.total > 1 {
            progress.lines().for_each(|line| self.say(&calm(line)));
        }
        if series.state == SeriesState::Done && series.total > 1 {
            let (ok, failed, done, total) = (series.ok, series.failed, series.done, series.total);
            self.say(&format!("🖥 CLI Execution  ✓ {ok}  ✗ {failed}  {done}/{total} ({}%)", series.percent));
        }
    }

    fn show(&mut self, event: &Event) -> Result<Option<Status>, Problem> {
        let finished = match &event.fact {
            Fact::Request(RequestFact::Finished { status, .. }) => Some(*status),
            _ => None,
        };
        self.elapsed.see(event);
        match self.form {
            Form::Json => print_json(event)?,
            Form::Text => self.show_in_words(&event.fact)?,
        }
        if finished.is_some() && self.moving && self.elapsed.is_known() {
            note(&format!("Took {}.", in_words(self.elapsed.at(event.time))));
        }
        Ok(finished)
    }

    fn show_in_words(&mut self, fact: &Fact) -> Result<(), Problem> {
        match fact {
            Fact::Stage(StageFact { label, .. }) => self.label.clone_from(label),
            Fact::Request(RequestFact::Joined { checkpoint: Some(checkpoint), .. }) => {
                self.say(&format!("Taken as the answer to what is asked ({checkpoint})."));
            }
            Fact::Request(RequestFact::Joined { .. }) => {
                self.say("Passed on to the request that runs: the model reads it at its next step (--queue and --replace do otherwise).");
            }
            // A summary of the conversation is not said to the person.
            Fact::Reply(ReplyFact::Delta { call, .. }) if self.aside.as_ref() == Some(call) => {}
            Fact::Reply(ReplyFact::Delta { text, .. }) if self.live => {
                self.clear_line();
                self.shown.push_str(text);
                let news = self.news(text);
                if !news.is_empty() {
                    print(&calm(&news))?;
                    self.line_is_open = !news.ends_with('\n');
                }
            }
            Fact::Model(ModelFact::Called { call, purpose, .. }) => {
                self.again_at = None;
                self.aside = purpose.as_ref().map(|_| call.clone());
            }
            Fact::Reply(ReplyFact::Saved { call, .. }) if self.aside.as_ref() == Some(call) => {}
            Fact::Reply(ReplyFact::Saved { partial: false, message, .. }) if wants_tools(message) => {
                // Words before tools are on the way to an answer, not the answer.
                if self.shown.is_empty() && !message.text().trim().is_empty() {
                    self.say(&calm(message.text().trim()));
                } else {
                    self.end_shown()?;
                }
            }
            Fact::Tool(fact) => self.show_tool(fact),
            Fact::Image(fact) => {
                if let Some(line) = images::told(fact) {
                    self.say(&calm(&line));
                }
            }
            Fact::Command(CommandFact::Output { text, .. }) if self.moving => {
                self.clear_line();
                eprint!("{}", calm(text));
            }
            Fact::Command(CommandFact::Finished { preview, unobserved, .. }) => {
                // Whoever could not watch it sees what it came to.
                let unseen = if self.moving { "" } else { preview.as_str() };
                for line in unseen.lines() {
                    self.say(&format!("  | {}", calm(line)));
                }
                if let Some(why) = unobserved.filter(|_| !self.unobserved) {
                    self.unobserved = true;
                    self.say(&format!("  what commands do to files is not recorded here: {}", why.words()));
                }
            }
            Fact::Change(ChangeFact::Applied(change)) if let Some(by) = &change.by => {
                effects::after(change, by).iter().for_each(|line| self.say(line));
            }
            Fact::Change(ChangeFact::Applied(change)) => {
                self.proposed.clear();
                for file in &change.files {
                    let what = match (file.is_new, file.is_deleted) {
                        (true, _) => "created",
                        (_, true) => "deleted",
                        _ => "changed",
                    };
                    self.say(&calm(&format!("  {what} {} (+{} -{})", file.path, file.added, file.removed)));
                }
            }
            Fact::Proposal(ProposalFact::Opened { operations, .. }) => {
                self.proposed = written(operations);
            }
            Fact::Commands(fact) => self.show_commands(fact),
            Fact::Memory(fact) => {
                if let Some(words) = memory::in_words(fact) {
                    self.say(&calm(&words));
                }
            }
            // A plan is listed once, and then each step is told as it begins and ends.
            Fact::Steps(_) if self.step > 0 => {}
            Fact::Plan(fact) => self.show_plan(fact)?,
            Fact::Intent(IntentFact { phrase, accepted: true, .. }) if !phrase.is_empty() => {
                self.say(&calm(&format!("Heard “{phrase}”: going over from talk to work.")));
            }
            Fact::Steps(StepsFact { todos }) => {
                for todo in todos {
                    self.say(&calm(&format!("  [{}] {}", if todo.completed { "x" } else { " " }, todo.text)));
                }
            }
            Fact::Reply(ReplyFact::Saved { partial: true, message, .. }) => {
                let words = message.text();
                if self.shown.is_empty() {
                    self.quote(&words);
                } else {
                    self.end_line()?;
                }
            }
            Fact::Model(ModelFact::Failed { error, retry_in_ms, .. }) => {
                self.shown_before = std::mem::take(&mut self.shown);
                self.end_line()?;
                self.again_at = retry_in_ms.map(|millis| Instant::now() + Duration::from_millis(millis));
                if let Some(millis) = retry_in_ms {
                    let when = match millis {
                        0 => "now".to_owned(),
                        millis => format!("in {:.1} s", *millis as f64 / 1_000.0),
                    };
                    self.say(&format!("{} Trying again {when}.", calm(&error.message)));
                }
            }
            Fact::Checkpoint(fact) => {
                self.asked = match fact {
                    CheckpointFact::Opened { choices, .. } => Some(choices.clone()),
                    CheckpointFact::Resolved { .. } => None,
                };
            }
            Fact::Session(SessionFact::Handoff { child, change_sets, prefill }) => {
                self.answered = true;
                let told = handoff::in_words(child, change_sets.len(), prefill.as_deref());
                self.say(&calm(told.trim_end()));
            }
            Fact::Session(SessionFact::Extended { .. }) => self.say(handoff::EXTENDED),
            Fact::Session(SessionFact::Refused { reason }) => self.say(&calm(reason)),
            Fact::Banner(BannerFact { level, text }) => {
                let mark = if *level == Level::Info { "note" } else { "warning" };
                self.say(&format!("{mark}: {}", calm(text)));
            }
            Fact::Answer(AnswerFact { answer }) => {
                self.clear_line();
                self.answered = true;
                if self.live && self.shown == answer.summary && self.shown_before.is_empty() {
                    self.end_shown()?;
                } else {
                    self.end_shown()?;
                    let words = if self.live { calm(&answer.summary).into_owned() } else { answer.summary.clone() };
                    print(&with_line_end(words))?;
                }
                for next in &answer.next_steps {
                    let command = format!("trimtab run --continue {:?}", next.input_text);
                    let label = next.label();
                    let name = if label == next.input_text { String::new() } else { format!("{label}: ") };
                    self.say(&calm(&format!("next: {name}{command}")));
                }
            }
            Fact::Request(RequestFact::Finished { status, error, .. }) => {
                self.end_shown()?;
                self.clear_line();
                match (status, error) {
                    (_, Some(error)) => problem(error),
                    (Status::Cancelled, None) => note("Cancelled. What was said is kept in the session."),
                    (Status::NeedsUser | Status::Limit, None) if let Some(choices) = &self.asked => {
                        note("It stays open, whatever happens. Go on with `trimtab answer CHOICE`:");
                        choices.iter().for_each(|choice| note(&calm(&choice_line(choice))));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What of a piece is not on the screen yet. A reply that is asked for again often begins as the one
    /// that broke off; as long as it does, there is nothing new.
    fn news(&mut self, text: &str) -> String {
        if self.shown_before.is_empty() {
            return text.to_owned();
        }
        if self.shown_before.len() > self.shown.len() && self.shown_before.starts_with(&self.shown) {
            return String::new();
        }
        let before = std::mem::take(&mut self.shown_before);
        match self.shown.strip_prefix(&before) {
            Some(rest) => rest.to_owned(),
            None => self.shown.clone(),
        }
    }

    /// Ends a line of words that were shown as they came.
    fn end_shown(&mut self) -> Result<(), Problem> {
        self.shown.clear();
        self.end_line()
    }

    fn end_line(&mut self) -> Result<(), Problem> {
        if std::mem::take(&mut self.line_is_open) {
            print("\n")?;
        }
        Ok(())
    }

    /// Shows words that had come before an interruption; they are not the answer.
    fn quote(&mut self, words: &str) {
        self.say("Before the interruption, the model had said:");
        for line in calm(words).lines() {
            note(&format!("  | {line}"));
        }
    }

    fn say(&mut self, line: &str) {
        if self.form == Form::Text {
            self.clear_line();
            // Should nobody read our output any more, the next word of it will tell.
            let _ = self.end_line();
            note(line);
        }
    }

    /// Redraws the moving line: what is being done, and for how long.
    fn tick(&mut self) {
        if !self.moving || !self.shown.is_empty() || self.answered || self.label.is_empty() {
            return;
        }
        let elapsed = if self.elapsed.is_known() { self.elapsed.at(trimtab_host::now()) } else { self.began.elapsed() };
        let seconds = elapsed.as_secs_f64();
        let label = match self.again_at.map(|at| at.saturating_duration_since(Instant::now())) {
            Some(left) => format!("Trying again in {:.1} s...", left.as_secs_f64()),
            None => self.label.clone(),
        };
        let (dim, plain) = if no_colour() { ("", "") } else { ("\x1b[2m", "\x1b[0m") };
        let _ = write!(io::stderr().lock(), "\r\x1b[K{dim}{label} {seconds:.1}s{plain}");
        let _ = io::stderr().flush();
        self.line_is_drawn = true;
    }

    fn clear_line(&mut self) {
        if std::mem::take(&mut self.line_is_drawn) {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }

    fn leave(&mut self, number: i32) -> Outcome {
        self.say("Stopped; nothing is lost. `trimtab resume` goes on from here.");
        Outcome::Left(number)
    }
}

fn with_line_end(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}
