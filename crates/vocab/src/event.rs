//! What happened: one type for the log, the wire and the screen.
//!
//! An [`Event`] is an envelope around a [`Fact`]. Facts are nested by lifecycle step, and the
//! wire's `type` says both: `checkpoint.opened` is [`Fact::Checkpoint`]`(`[`CheckpointFact::Opened`]`)`.
//! A reader that cares for one step matches one arm.

/// Declares the facts of a step whose only event has the step's own name.
macro_rules! single {
    ($(#[$doc:meta])* $name:ident = $tag:literal { $($body:tt)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(feature = "schema", schemars(transform = crate::event::OfType($tag)))]
        #[serde(tag = "type", rename = $tag, rename_all = "camelCase")]
        pub struct $name { $($body)* }
    };
}

mod change;
mod flow;
mod model;
mod request;
mod session;
mod tool;

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Error as _, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    AgentFact, AskFact, HookFact, ImageFact, MemoryFact, RequestId, SessionId, SkillFact, SubtasksFact, TasksFact, Time,
};

pub use crate::checkpoint::Choice;
pub use change::{ByCommand, Change, ChangeFact, ChangedFile, Conflict, Inherited, ProposalFact, ProposalKind, Undo};
pub use flow::{
    CheckpointFact, CheckpointKind, IntentFact, PlanFact, RequirementsFact, RouteDecision, RouteFact, RuleFact,
    StepsFact, SubtaskFact,
};
pub use model::{
    AbsentFile, AnswerFact, BannerFact, BugFact, ContextFact, ContextLimit, Level, LoadedFile, ModelFact, OfferedTools,
    PromptNote, PromptProgress, ReplyFact, UnreadResource, UsageFact,
};
pub use request::{CommandDone, DoneFacts, ModelSwitch, RequestFact, Stage, StageFact, Status};
pub use session::SessionFact;
pub use tool::{ChecksFact, CommandFact, CommandsFact, McpFact, ReflectionEntry, ReflectionFact, ToolFact, ToolStatus};

/// A fact in its envelope.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Its place in the session's log, counted from 1 without gaps. Live-only events have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it was recorded.
    pub time: Time,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The request it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<RequestId>,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Declares [`Fact`] from one line for each lifecycle step: how its facts are read and lifted into it follows.
macro_rules! facts {
    ($($(#[$doc:meta])* $variant:ident($inner:ident) = $step:literal,)*) => {
        /// What happened, by lifecycle step.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(untagged)]
        pub enum Fact {
            $($(#[$doc])* $variant($inner),)*
            /// A type that this version does not know, kept unchanged.
            #[cfg_attr(feature = "schema", schemars(skip))]
            Other(Map<String, Value>),
        }

        impl Fact {
            /// The fact of a step that these fields tell.
            fn of_step<'de, D: Deserializer<'de>>(step: &str, fields: D) -> Result<Self, D::Error> {
                match step {
                    $($step => $inner::deserialize(fields).map(Self::$variant),)*
                    _ => Map::deserialize(fields).map(Self::Other),
                }
            }
        }

        // So that `banner.into()` reads well where one is made.
        $(impl From<$inner> for Fact {
            fn from(fact: $inner) -> Self {
                Self::$variant(fact)
            }
        })*
    };
}

facts! {
    Session(SessionFact) = "session",
    /// A request came or ended.
    Request(RequestFact) = "request",
    /// The current stage of a request.
    Stage(StageFact) = "stage",
    /// Which path it takes.
    Route(RouteFact) = "route",
    /// A person wants the work to start.
    Intent(IntentFact) = "intent",
    /// The summary of a discussion.
    Requirements(RequirementsFact) = "requirements",
    /// The plan or the to-dos of a request, with the progress.
    Plan(PlanFact) = "plan",
    /// A question, an approval prompt, or a plan waits for an answer.
    Checkpoint(CheckpointFact) = "checkpoint",
    /// The user added or removed a rule.
    Rule(RuleFact) = "rule",
    /// A memory was stored or recalled.
    Memory(MemoryFact) = "memory",
    /// A model was called.
    Model(ModelFact) = "model",
    /// The model's reply.
    Reply(ReplyFact) = "reply",
    /// A tool was used.
    Tool(ToolFact) = "tool",
    /// Tools of MCP servers are known, or called.
    Mcp(McpFact) = "mcp",
    /// Skills are known, or one was loaded.
    Skill(SkillFact) = "skill",
    /// Agents are known, or one is put to work.
    Agent(AgentFact) = "agent",
    /// A hook runs, or has ended.
    Hook(HookFact) = "hook",
    /// A command ran.
    Command(CommandFact) = "command",
    /// Several commands run one after the other.
    Commands(CommandsFact) = "commands",
    /// Checks run after edits.
    Checks(ChecksFact) = "checks",
    /// A change was proposed.
    Proposal(ProposalFact) = "proposal",
    /// Files changed.
    Change(ChangeFact) = "change",
    /// The list of steps changed.
    Steps(StepsFact) = "steps",
    /// A part of the work moved on.
    Subtask(SubtaskFact) = "subtask",
    /// A request was broken down, or its parts were merged.
    Subtasks(SubtasksFact) = "subtasks",
    /// The results of a batch of tool calls.
    Reflection(ReflectionFact) = "reflection",
    /// The conversation was made to fit.
    Context(ContextFact) = "context",
    /// What a call cost.
    Usage(UsageFact) = "usage",
    /// The result of the request.
    Answer(AnswerFact) = "answer",
    /// A model misbehaved.
    Bug(BugFact) = "bug",
    /// A notice for the user.
    Banner(BannerFact) = "banner",
    /// A person's own tasks changed.
    Tasks(TasksFact) = "tasks",
    /// A request about them moved on.
    Ask(AskFact) = "ask",
    /// Images were requested, generated, or selected.
    Image(ImageFact) = "image",
}

// Written by hand, because serde's own way with flattened fields copies each of them twice more: logs are read whole.
impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EventVisitor;

        impl<'de> Visitor<'de> for EventVisitor {
            type Value = Event;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an event")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Event, A::Error> {
                let mut envelope = Envelope::default();
                // Fields before the type, of which a log has none.
                let mut early = Map::new();
                let fact = loop {
                    let Some(FieldText(name)) = map.next_key()? else { break Fact::from_fields(early)? };
                    if envelope.take(&name, &mut map)? {
                        continue;
                    }
                    if name == "type" && early.is_empty() {
                        let FieldText(kind) = map.next_value()?;
                        break Fact::of_type(kind, &mut envelope, &mut map)?;
                    }
                    early.insert(name.into_owned(), map.next_value()?);
                };
                let Envelope { seq, time, session, request } = envelope;
                let time = time.ok_or_else(|| A::Error::missing_field("time"))?;
                let session = session.ok_or_else(|| A::Error::missing_field("session"))?;
                Ok(Event { seq, time, session, request, fact })
            }
        }
        deserializer.deserialize_map(EventVisitor)
    }
}

/// A name or a type, borrowed from the text of the event where it can be.
#[derive(Deserialize)]
#[serde(transparent)]
struct FieldText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The fields of the envelope, as they are read.
#[derive(Default)]
struct Envelope {
    seq: Option<u64>,
    time: Option<Time>,
    session: Option<SessionId>,
    request: Option<RequestId>,
}

impl Envelope {
    /// Reads the value of a field if it belongs here.
    fn take<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<bool, A::Error> {
        match name {
            "seq" => self.seq = map.next_value()?,
            "time" => self.time = Some(map.next_value()?),
            "session" => self.session = Some(map.next_value()?),
            "request" => self.request = map.next_value()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The fields of a fact from its type on, without a copy of them all. Those of the envelope go there.
struct FactFields<'a, 'de, A> {
    /// The type, until it is read.
    kind: Option<Cow<'de, str>>,
    envelope: &'a mut Envelope,
    map: &'a mut A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for FactFields<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        if self.kind.is_some() {
            return seed.deserialize(BorrowedStrDeserializer::new("type")).map(Some);
        }
        while let Some(FieldText(name)) = self.map.next_key()? {
            if !self.envelope.take(&name, self.map)? {
                return read_text(name, seed).map(Some);
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.kind.take() {
            Some(kind) => read_text(kind, seed),
            None => self.map.next_value_seed(seed),
        }
    }
}

fn read_text<'de, S: DeserializeSeed<'de>, E: serde::de::Error>(text: Cow<'de, str>, seed: S) -> Result<S::Value, E> {
    match text {
        Cow::Borrowed(text) => seed.deserialize(BorrowedStrDeserializer::new(text)),
        Cow::Owned(text) => seed.deserialize(text.into_deserializer()),
    }
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_fields(Map::deserialize(deserializer)?)
    }
}

impl Fact {
    /// The fact that these fields tell.
    fn from_fields<E: serde::de::Error>(fields: Map<String, Value>) -> Result<Self, E> {
        let Some(name) = fields.get("type").and_then(Value::as_str) else {
            return Err(E::missing_field("type"));
        };
        match step_of(name) {
            Some(step) => Self::of_step(step, Value::Object(fields)).map_err(E::custom),
            None => Ok(Self::Other(fields)),
        }
    }

    /// The fact of a type that the rest of an event's fields tell.
    fn of_type<'de, A: MapAccess<'de>>(
        kind: Cow<'de, str>,
        envelope: &mut Envelope,
        map: &mut A,
    ) -> Result<Self, A::Error> {
        let step = step_of(&kind);
        let fields = MapAccessDeserializer::new(FactFields { kind: Some(kind), envelope, map });
        match step {
            Some(step) => Self::of_step(step, fields),
            None => Map::deserialize(fields).map(Self::Other),
        }
    }
}

/// The lifecycle step of a type that this version knows.
fn step_of(name: &str) -> Option<&'static str> {
    let known = KNOWN_TYPES.iter().find(|known| **known == name)?;
    known.split('.').next()
}

/// Every `type` of the wire, in the order of a request's life.
pub const KNOWN_TYPES: &[&str] = &[
    "session.opened",
    "session.worker",
    "session.dismissed",
    "session.titled",
    "session.autonomy",
    "session.forked",
    "session.inherited",
    "session.handoff",
    "session.reclaimed",
    "session.extended",
    "session.refused",
    "request.received",
    "request.joined",
    "request.stopping",
    "request.steered",
    "request.pausing",
    "request.resumed",
    "request.adjusted",
    "request.relisted",
    "request.assessing",
    "request.reopened",
    "stage",
    "route",
    "intent",
    "requirements",
    "plan.proposed",
    "plan.started",
    "plan.step",
    "checkpoint.opened",
    "checkpoint.resolved",
    "rule.known",
    "rule.added",
    "rule.removed",
    "memory.recalled",
    "mcp.listed",
    "skill.listed",
    "skill.loaded",
    "agent.listed",
    "agent.loaded",
    "hook.started",
    "hook.finished",
    "model.called",
    "model.failed",
    "reply.delta",
    "reply.saved",
    "tool.started",
    "mcp.called",
    "tool.stopping",
    "tool.finished",
    "command.started",
    "command.background",
    "command.ready",
    "command.port",
    "command.stopping",
    "command.output",
    "command.finished",
    "commands",
    "checks",
    "proposal.opened",
    "proposal.chosen",
    "proposal.resolved",
    "change.applied",
    "change.reverted",
    "change.reapplied",
    "change.moving",
    "change.refused",
    "change.inherited",
    "change.expired",
    "steps",
    "subtasks.planned",
    "subtasks.unplanned",
    "subtasks.started",
    "subtask",
    "subtasks.shared",
    "subtasks.resized",
    "subtasks.cancelled",
    "subtasks.merging",
    "subtasks.resolved",
    "reflection",
    "context.loaded",
    "context.nested",
    "context.compressing",
    "context.compressed",
    "context.edited",
    "context.restored",
    "context.full",
    "usage",
    "answer",
    "bug",
    "banner",
    "memory.noted",
    "request.finished",
    "tasks.applied",
    "tasks.reverted",
    "tasks.reapplied",
    "ask.viewed",
    "ask.repaired",
    "image.planned",
    "image.made",
    "image.failed",
    "image.selected",
    "image.saving",
];

impl Fact {
    /// The wire's `type`.
    pub fn kind(&self) -> String {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut fields)) => match fields.remove("type") {
                Some(Value::String(kind)) => kind,
                _ => String::new(),
            },
            _ => String::new(),
        }
    }

    /// Whether the fact is only for those who watch now; such facts are never recorded.
    pub fn is_live_only(&self) -> bool {
        matches!(self, Self::Reply(ReplyFact::Delta { .. }) | Self::Command(CommandFact::Output { .. }))
    }
}

/// Says what the `type` of such a fact is: schemars knows of tags only where there is more than one.
#[cfg(feature = "schema")]
struct OfType(&'static str);

#[cfg(feature = "schema")]
impl schemars::transform::Transform for OfType {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        let fields = schema.ensure_object();
        let properties = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(properties) = properties {
            properties.insert("type".into(), serde_json::json!({"type": "string", "const": self.0}));
        }
        let required = fields.entry("required").or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(required) = required {
            required.push("type".into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(line: &str) -> Event {
        let event: Event = serde_json::from_str(line).expect("parses");
        assert_eq!(serde_json::to_string(&event).expect("writes"), line, "the wire form changed");
        event
    }

    #[test]
    fn the_envelope_comes_first_and_the_fact_is_flat() {
        let event = round_trip(
            r#"{"seq":3,"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"stage","stage":"running","label":"Working"}"#,
        );
        assert!(matches!(event.fact, Fact::Stage(StageFact { stage: Stage::Running, .. })));
    }

    #[test]
    fn a_live_event_has_no_seq() {
        let event = round_trip(
            r#"{"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"reply.delta","call":"c1","text":"Hi"}"#,
        );
        assert!(event.fact.is_live_only());
    }

    #[test]
    fn a_type_of_a_newer_version_is_kept_as_it_came() {
        let event = round_trip(
            r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"moon.phase","phase":"full","deep":{"a":[1]}}"#,
        );
        assert!(matches!(event.fact, Fact::Other(_)));
        round_trip(r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"reply.sung","tune":"la"}"#);
    }

    #[test]
    fn an_event_is_the_same_in_any_order_of_its_fields_and_from_any_source() {
        let expected = round_trip(
            r#"{"seq":3,"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"tool.started","call":"c1t1","name":"search","input":{"pattern":"a\"b","deep":[1,2.5,-3,null]}}"#,
        );
        let unknown = round_trip(
            r#"{"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"moon.phase","phase":"full","deep":{"a":[1]}}"#,
        );
        for (line, event) in [
            (
                r#"{"type":"tool.started","seq":3,"call":"c1t1","time":"2026-11-15T08:30:00.000Z","name":"search","session":"s1","input":{"pattern":"a\"b","deep":[1,2.5,-3,null]},"request":"r1"}"#,
                &expected,
            ),
            (
                r#"{"call":"c1t1","name":"search","seq":3,"input":{"pattern":"a\"b","deep":[1,2.5,-3,null]},"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1","type":"tool.started"}"#,
                &expected,
            ),
            (
                r#"{"t\u0079pe":"tool.started","c\u0061ll":"c1t1","name":"search","s\u0065q":3,"input":{"pattern":"a\"b","deep":[1,2.5,-3,null]},"time":"2026-11-15T08:30:00.000Z","session":"s1","request":"r1"}"#,
                &expected,
            ),
            (
                r#"{"type":"moon.phase","phase":"full","session":"s1","deep":{"a":[1]},"time":"2026-11-15T08:30:00.000Z"}"#,
                &unknown,
            ),
        ] {
            assert_eq!(serde_json::from_str::<Event>(line).expect("parses"), *event, "{line}");
            assert_eq!(serde_json::from_reader::<_, Event>(line.as_bytes()).expect("parses"), *event, "{line}");
            let value: Value = serde_json::from_str(line).expect("JSON");
            assert_eq!(serde_json::from_value::<Event>(value).expect("parses"), *event, "{line}");
        }
        for broken in [
            r#"{"time":"2026-11-15T08:30:00.000Z","session":"s1"}"#,
            r#"{"time":"2026-11-15T08:30:00.000Z","session":"s1","type":7}"#,
            r#"{"session":"s1","type":"stage","stage":"running","label":"Working"}"#,
            r#"{"time":"2026-11-15T08:30:00.000Z","type":"stage","stage":"running","label":"Working"}"#,
        ] {
            assert!(serde_json::from_str::<Event>(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn a_known_type_with_broken_fields_is_an_error_not_a_guess() {
        let line = r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"stage","stage":7}"#;
        assert!(serde_json::from_str::<Event>(line).is_err());
    }

    #[test]
    fn fields_of_a_newer_version_do_not_stop_an_older_one() {
        let line = r#"{"seq":1,"time":"2026-11-15T08:30:00.000Z","session":"s1","type":"banner","level":"loud","text":"x","colour":"red"}"#;
        let event: Event = serde_json::from_str(line).expect("parses");
        assert_eq!(event.fact, BannerFact { level: Level::Unknown, text: "x".into() }.into());
    }
}
