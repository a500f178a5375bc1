//! `trimtab stats`: how requests ended, what was allowed, how many model calls they took.

mod router;

use std::collections::BTreeMap;

use clap::Args;
use serde_json::json;
use trimtab_host::{Client, FileSpace, Sent};
use trimtab_vocab::event::{
    CheckpointFact, ModelFact, ReplyFact, RequestFact, Status, ToolFact, ToolStatus, UsageFact,
};
use trimtab_vocab::format;
use trimtab_vocab::{CheckpointId, Event, Fact, Problem, RequestId, Time, Usage};

use self::router::Decisions;
use super::output::{print, print_json};
use super::telemetry::Figure;
use super::{CliOutcome, place};
use crate::subtask_runs::SubtaskRuns;

const EXAMPLES: &str = "\
Examples:
  trimtab stats            show requests, approvals, tools, and cost
  trimtab stats router     show how requests were routed";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StatsArgs {
    /// Statistics to show
    #[arg(value_enum, default_value = "all", hide_default_value = true)]
    what: What,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum What {
    /// Show requests, model calls, tools, permissions, and tokens
    All,
    /// Show routing decisions, their confidence, and their outcomes
    Router,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: BTreeMap<RequestId, Option<Status>>,
    /// Replies, by request.
    steps: u64,
    /// Requests that a person stopped while they ran.
    stopped: u64,
    calls: u64,
    failed_calls: u64,
    /// Answers to permissions, by tool and choice.
    permissions: BTreeMap<(String, String), u64>,
    /// Which tool an open permission is about.
    asked: BTreeMap<CheckpointId, String>,
    /// Uses of tools, by name, and how many of them failed or were refused.
    tools: BTreeMap<String, (u64, u64)>,
    running: BTreeMap<String, String>,
    usage: Usage,
    /// Runs of sub-tasks. Their workers' sessions are not listed, so what they used is counted here.
    runs: SubtaskRuns,
    /// How fast models answered, by name.
    speeds: BTreeMap<String, Speed>,
}

/// How fast a model answered, summed up over its calls.
#[derive(Debug, Default)]
struct Speed {
    first_token_ms: u64,
    first_tokens: u64,
    tokens_per_s: f64,
    measured: u64,
}

impl Speed {
    fn add(&mut self, usage: &Usage) {
        if let Some(wait) = usage.first_token_ms {
            self.first_token_ms += wait;
            self.first_tokens += 1;
        }
        if let Some(speed) = usage.tokens_per_s {
            self.tokens_per_s += speed;
            self.measured += 1;
        }
    }

    fn average_first_token_ms(&self) -> Option<u64> {
        self.first_token_ms.checked_div(self.first_tokens)
    }

    fn average_tokens_per_s(&self) -> Option<f64> {
        (self.measured > 0).then(|| (self.tokens_per_s / self.measured as f64 * 10.0).round() / 10.0)
    }

    fn json(&self) -> serde_json::Value {
        json!({"firstTokenMs": self.average_first_token_ms(), "tokensPerS": self.average_tokens_per_s()})
    }

    fn words(&self) -> Option<String> {
        let (first_token_ms, tokens_per_s) = (self.average_first_token_ms(), self.average_tokens_per_s());
        crate::words::speed(&Usage { first_token_ms, tokens_per_s, ..Usage::default() })
    }
}

impl StatsArgs {
    pub(super) async fn execute(self) -> Result<CliOutcome, Problem> {
        let (_, client) = place::open(&[])?;
        if self.what == What::Router {
            let mut decisions = Decisions::default();
            each(&client, |_, event| decisions.add(event.request.as_ref(), &event.fact)).await?;
            if self.json {
                print_json(&decisions.json())?
            } else {
                print(&decisions.words())?
            }
            return Ok(CliOutcome::Done);
        }
        let counts = Counts::collect(&client).await?;
        let space = client.changes().file_space().await?;
        let sum = |of: fn(&FileSpace) -> u64| space.iter().map(of).sum::<u64>();
        let (contents, bytes, packed) = (sum(|s| s.contents), sum(|s| s.bytes), sum(|s| s.packed));
        if self.json {
            let mut whole = counts.json();
            whole["history"] =
                json!({"sessions": space.len(), "contents": contents, "bytes": bytes, "packedBytes": packed});
            print_json(&whole)?
        } else {
            print(&counts.words())?;
            let files = format::plural(contents, "stored file");
            print(&format!("history    {files}, {}, {} on disk\n", format::size(bytes), format::size(packed)))?
        }
        Ok(CliOutcome::Done)
    }
}

/// Reads every log once. Nothing is counted while work is done, so counting costs nothing then.
async fn each(client: &Client, mut take: impl FnMut(&str, &Event)) -> Result<(), Problem> {
    for session in client.sessions().list(None).await? {
        // What a fork has of its parent is counted there.
        let mut after = session.forked.unwrap_or(0);
        loop {
            let page = client.sessions().events(&session.id, after).await?;
            let Some(last) = page.last().and_then(|event| event.seq) else { break };
            after = last;
            for event in &page {
                take(session.id.as_str(), event);
            }
        }
    }
    Ok(())
}

impl Counts {
    async fn collect(client: &Client) -> Result<Self, Problem> {
        let mut counts = Self::default();
        each(client, |session, event| counts.observe(session, event)).await?;
        Ok(counts)
    }

    /// Those of one request, with its beginning and its end so far.
    pub(super) async fn of_request(client: &Client, sent: &Sent) -> Result<(Self, Time, Time), Problem> {
        let mut counts = Self::default();
        let (mut after, mut began, mut ended) = (0, None, Time::from_millis(0));
        loop {
            let page = client.sessions().events(&sent.session, after).await?;
            let Some(last) = page.last().and_then(|event| event.seq) else { break };
            after = last;
            for event in page.iter().filter(|event| event.request.as_ref() == Some(&sent.request)) {
                began = began.or(Some(event.time));
                ended = event.time;
                counts.observe(sent.session.as_str(), event);
            }
        }
        Ok((counts, began.unwrap_or(ended), ended))
    }

    /// The counters by name, for whoever collects them.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let status = |status: &Option<Status>| match serde_json::to_value(status) {
            Ok(serde_json::Value::String(name)) => name,
            _ => "running".to_owned(),
        };
        let mut figures: Vec<Figure> = Vec::new();
        for ended in self.requests.values() {
            figures.push(("trimtab.requests", vec![("status", status(ended))], 1));
        }
        figures.push(("trimtab.steps", Vec::new(), self.steps));
        figures.push(("trimtab.cancellations", Vec::new(), self.stopped));
        figures.push(("trimtab.model.calls", Vec::new(), self.calls));
        figures.push(("trimtab.model.failures", Vec::new(), self.failed_calls));
        figures.push(("trimtab.tokens", vec![("direction", "input".into())], self.used().input_tokens));
        figures.push(("trimtab.tokens", vec![("direction", "output".into())], self.used().output_tokens));
        for ((tool, choice), times) in &self.permissions {
            let attributes = vec![("tool", tool.clone()), ("choice", choice.clone())];
            figures.push(("trimtab.permissions", attributes, *times));
        }
        for (tool, (uses, bad)) in &self.tools {
            figures.push(("trimtab.tools", vec![("tool", tool.clone())], *uses));
            figures.push(("trimtab.tools.failed", vec![("tool", tool.clone())], *bad));
        }
        figures
    }

    fn observe(&mut self, session: &str, event: &Event) {
        self.runs.observe(event);
        self.add(event.request.as_ref(), session, &event.fact);
    }

    /// What was used, by workers as well.
    fn used(&self) -> Usage {
        let mut used = self.usage;
        used += self.runs.usage();
        used
    }

    fn add(&mut self, request: Option<&RequestId>, session: &str, fact: &Fact) {
        match fact {
            Fact::Request(RequestFact::Received { .. }) => {
                self.requests.extend(request.map(|request| (request.clone(), None)));
            }
            Fact::Request(RequestFact::Finished { status, .. }) => {
                self.requests.extend(request.map(|request| (request.clone(), Some(*status))));
            }
            Fact::Request(RequestFact::Stopping {}) => self.stopped += 1,
            Fact::Model(ModelFact::Called { .. }) => self.calls += 1,
            Fact::Model(ModelFact::Failed { .. }) => self.failed_calls += 1,
            Fact::Reply(ReplyFact::Saved { partial: false, .. }) => self.steps += 1,
            Fact::Usage(UsageFact { usage, model, .. }) => {
                self.usage += *usage;
                if usage.first_token_ms.is_some() || usage.tokens_per_s.is_some() {
                    self.speeds.entry(model.clone()).or_default().add(usage);
                }
            }
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, ask, .. }) => {
                if let Some(asked) = ask.permission() {
                    self.asked.insert(checkpoint.clone(), asked.tool.clone());
                }
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, choice, .. }) => {
                if let Some(tool) = self.asked.remove(checkpoint) {
                    *self.permissions.entry((tool, choice.clone())).or_default() += 1;
                }
            }
            Fact::Tool(ToolFact::Started { call, name, .. }) => {
                self.running.insert(format!("{session} {call}"), name.clone());
            }
            Fact::Tool(ToolFact::Finished { call, status, .. }) => {
                if let Some(name) = self.running.remove(&format!("{session} {call}")) {
                    let (uses, bad) = self.tools.entry(name).or_default();
                    *uses += 1;
                    *bad += u64::from(!matches!(status, ToolStatus::Ok | ToolStatus::Partial));
                }
            }
            _ => {}
        }
    }

    fn ended(&self, status: Status) -> usize {
        self.requests.values().filter(|ended| **ended == Some(status)).count()
    }

    /// Of the requests that came to an end, those that came to the right one.
    fn completion(&self) -> f64 {
        let ended = self.requests.values().flatten().count();
        if ended == 0 { 0.0 } else { self.ended(Status::Completed) as f64 / ended as f64 }
    }

    fn average_steps(&self) -> f64 {
        if self.requests.is_empty() { 0.0 } else { self.steps as f64 / self.requests.len() as f64 }
    }

    fn json(&self) -> serde_json::Value {
        let mut permissions = serde_json::Map::new();
        for ((tool, choice), times) in &self.permissions {
            let of_tool = permissions.entry(tool.clone()).or_insert_with(|| json!({}));
            of_tool[choice] = json!(times);
        }
        let tool = |(name, (uses, bad)): (&String, &(u64, u64))| (name.clone(), json!({"uses": uses, "failed": bad}));
        let tools: serde_json::Map<_, _> = self.tools.iter().map(tool).collect();
        json!({
            "requests": self.requests.len(),
            "completed": self.ended(Status::Completed),
            "notDone": self.ended(Status::NotDone),
            "failed": self.ended(Status::Failed),
            "cancelled": self.ended(Status::Cancelled),
            "needsUser": self.ended(Status::NeedsUser),
            "limit": self.ended(Status::Limit),
            "completionRate": self.completion(),
            "averageSteps": self.average_steps(),
            "stoppedWhileRunning": self.stopped,
            "modelCalls": self.calls,
            "failedModelCalls": self.failed_calls,
            "permissions": permissions,
            "tools": tools,
            "usage": self.used(),
            "cachedPercent": self.used().cached_percent(),
            "subtaskRuns": self.runs.figures(),
            "models": self.speeds.iter().map(|(model, speed)| (model.clone(), speed.json())).collect::<serde_json::Map<_, _>>(),
        })
    }

    fn words(&self) -> String {
        let percent = self.completion() * 100.0;
        let ended = |status| format::number(self.ended(status));
        let mut text = format!(
            "requests   {}: {} completed ({percent:.0}% of finished requests), {} not done, {} failed, {} cancelled, {} waiting for your answer, {} at a limit\n",
            format::number(self.requests.len()),
            ended(Status::Completed),
            ended(Status::NotDone),
            ended(Status::Failed),
            ended(Status::Cancelled),
            ended(Status::NeedsUser),
            ended(Status::Limit),
        );
        text += &format!("stopped    {} by you while running\n", format::number(self.stopped));
        text += &format!("replies    {:.1} per request on average\n", self.average_steps());
        let (calls, failed) = (format::plural(self.calls, "model call"), format::number(self.failed_calls));
        text += &format!("calls      {calls}, {failed} failed\n");
        let used = self.used();
        let cost = used.cost_usd.map(|cost| format!(", {}", format::dollars(cost))).unwrap_or_default();
        let part = if used.estimated { " (partly estimated)" } else { "" };
        let cached = used.cached_percent().filter(|_| used.cached_tokens > 0);
        let cached = cached.map(|percent| format!(" ({percent}% from the cache)")).unwrap_or_default();
        let (input, output) = (format::number(used.input_tokens), format::number(used.output_tokens));
        text += &format!("tokens     {input} in{cached}, {output} out{cost}{part}\n");
        for (model, words) in self.speeds.iter().filter_map(|(model, speed)| Some((model, speed.words()?))) {
            text += &format!("speed      {model}: {words}\n");
        }
        for run in self.runs.figures() {
            text += &format!("sub-tasks  {}\n", crate::words::subtasks::run_figures(&run));
        }
        for (name, (uses, bad)) in &self.tools {
            text += &format!(
                "tool       {name}: {}, {} failed or denied\n",
                format::plural(*uses, "call"),
                format::number(bad)
            );
        }
        for ((tool, choice), times) in &self.permissions {
            text += &format!("permission {tool}: {choice} {}\n", format::plural(*times, "time"));
        }
        text
    }
}
