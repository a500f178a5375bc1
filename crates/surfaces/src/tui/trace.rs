//! How long each call took: every call of a model, every tool and every question of the session, with its beginning and
//! its end.

use std::collections::VecDeque;

use trimtab_vocab::event::{CheckpointFact, ModelFact, ReplyFact, RequestFact, Status, ToolFact, ToolStatus};
use trimtab_vocab::format;
use trimtab_vocab::{CallId, CheckpointId, Event, Fact, RequestId, Time};

use super::transcript;
use crate::words::sanitize_cells;

/// Spans that are kept; a session that has more shows its latest.
const MOST: usize = 5_000;

/// What a span is of.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Of {
    Request(RequestId),
    Call(CallId),
    Tool(CallId),
    Question(CheckpointId),
}

/// Something that took its time.
#[derive(Debug, Clone)]
pub(super) struct TraceSpan {
    of: Of,
    request: Option<RequestId>,
    /// What it is, in a word.
    pub(super) kind: &'static str,
    pub(super) label: String,
    pub(super) began: Time,
    /// Absent: it is still under way.
    pub(super) ended: Option<Time>,
    pub(super) is_bad: bool,
    /// What it came to.
    pub(super) note: String,
}

impl TraceSpan {
    /// Whether it is a request, which the others belong to.
    pub(super) fn is_request(&self) -> bool {
        matches!(self.of, Of::Request(_))
    }

    pub(super) fn millis(&self, now: Time) -> i64 {
        (self.ended.unwrap_or(now).millis() - self.began.millis()).max(0)
    }
}

/// All spans of a session, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct TraceSpans {
    spans: VecDeque<TraceSpan>,
}

impl TraceSpans {
    pub(super) fn spans(&self) -> impl Iterator<Item = &TraceSpan> {
        self.spans.iter()
    }

    /// The request that a span belongs to: when it began, and how long it took.
    pub(super) fn whole(&self, span: &TraceSpan, now: Time) -> (Time, i64) {
        let of = span.request.clone().map(Of::Request);
        let request = self.spans.iter().find(|other| Some(&other.of) == of.as_ref());
        request.map_or((span.began, span.millis(now)), |request| (request.began, request.millis(now)))
    }

    pub(super) fn observe(&mut self, event: &Event) {
        match &event.fact {
            Fact::Request(RequestFact::Received { text, .. }) => {
                if let Some(request) = &event.request {
                    self.begin(event, Of::Request(request.clone()), "request", text.clone());
                }
            }
            Fact::Request(RequestFact::Finished { status, .. }) => {
                if let Some(request) = &event.request {
                    let note = match status {
                        Status::Completed => "",
                        Status::NotDone => "not done",
                        Status::Failed => "failed",
                        Status::Cancelled => "stopped",
                        Status::NeedsUser => "waiting for you",
                        Status::Limit => "at a limit",
                    };
                    // What never came to its own end, as after a kill, ended with its request at the latest.
                    for span in self.spans.iter_mut().filter(|span| span.request.as_ref() == Some(request)) {
                        span.ended.get_or_insert(event.time);
                    }
                    self.end(
                        event,
                        &Of::Request(request.clone()),
                        matches!(status, Status::Failed | Status::NotDone),
                        note.to_owned(),
                    );
                }
            }
            Fact::Model(ModelFact::Called { call, model, attempt, purpose, .. }) => {
                let purpose = purpose.name().map(|purpose| format!(" ({purpose})")).unwrap_or_default();
                let again = if *attempt > 1 { format!(", try {attempt}") } else { String::new() };
                self.begin(event, Of::Call(call.clone()), "model", format!("{model}{purpose}{again}"));
            }
            Fact::Model(ModelFact::Failed { call, error, .. }) => {
                self.end(event, &Of::Call(call.clone()), true, error.message.clone());
            }
            Fact::Reply(ReplyFact::Saved { call, usage, partial, .. }) => {
                let tokens = usage.input_tokens + usage.output_tokens;
                let cut = if *partial { ", cut off" } else { "" };
                let note = format!("{}{cut}", format::plural(tokens, "token"));
                self.end(event, &Of::Call(call.clone()), *partial, note);
            }
            Fact::Tool(ToolFact::Started { call, name, input, title }) => {
                let (verb, what) = transcript::tool_words(title.as_ref().unwrap_or(name), input);
                self.begin(event, Of::Tool(call.clone()), "tool", format!("{verb} {what}"));
            }
            Fact::Tool(ToolFact::Finished { call, status, .. }) => {
                let (is_bad, note) = match status {
                    ToolStatus::Ok => (false, ""),
                    ToolStatus::Partial => (false, "in part"),
                    ToolStatus::Error => (true, "failed"),
                    ToolStatus::Blocked => (true, "not allowed"),
                    ToolStatus::Interrupted => (true, "stopped"),
                };
                self.end(event, &Of::Tool(call.clone()), is_bad, note.to_owned());
            }
            Fact::Checkpoint(CheckpointFact::Opened { checkpoint, title, .. }) => {
                self.begin(event, Of::Question(checkpoint.clone()), "asked", title.clone());
            }
            Fact::Checkpoint(CheckpointFact::Resolved { checkpoint, choice, .. }) => {
                self.end(event, &Of::Question(checkpoint.clone()), false, choice.clone());
                // A tool that waited for the answer begins with it: the wait is that of the question.
                for span in self.spans.iter_mut().filter(|span| span.request == event.request && span.ended.is_none()) {
                    if let Of::Tool(_) = span.of {
                        span.began = event.time;
                    }
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, event: &Event, of: Of, kind: &'static str, label: String) {
        let label = sanitize_cells(label.lines().next().unwrap_or_default());
        let request = event.request.clone();
        self.spans.push_back(TraceSpan {
            of,
            request,
            kind,
            label,
            began: event.time,
            ended: None,
            is_bad: false,
            note: String::new(),
        });
        if self.spans.len() > MOST {
            self.spans.pop_front();
        }
    }

    fn end(&mut self, event: &Event, of: &Of, is_bad: bool, note: String) {
        // The latest of that name: a call that is tried again keeps it.
        if let Some(span) = self.spans.iter_mut().rev().find(|span| span.of == *of) {
            span.ended = Some(event.time);
            (span.is_bad, span.note) = (is_bad, sanitize_cells(note.lines().next().unwrap_or_default()));
        }
    }
}
