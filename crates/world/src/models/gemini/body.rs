//! The request body.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use trimtab_vocab::{Effort, Format, Message, Part, Prompt, Role, ToolResult, ToolSpec};

use super::{DIALECT, schema};
use crate::models::effort::{self, Took};
use crate::models::openai::ModelName;

/// Documented for calls of another model: it replaces the missing signature.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// What the models that take a budget for thinking take.
const LEAST_THINKING: u32 = 512;
const MOST_THINKING: u32 = 24_576;
/// Those that cannot turn it off take no less than this.
const NEARLY_OFF: u32 = 128;
const NEARLY_OFF_TEXT: &str = "128 tokens";
/// Thoughts count as output, and a reply needs some room for its words besides.
const LEAST_WORDS: u32 = 1_024;

/// Where a signature stood when it came, and so where it goes back: it is kept with one of these before it.
pub(super) const ON_CALL: &str = "call:";
pub(super) const ON_TEXT: &str = "text:";
pub(super) const ALONE: &str = "alone:";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiBody<'a> {
    contents: Vec<GeminiContent<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<SystemInstruction<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<GeminiTools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    generation_config: Option<GenerationConfig>,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<Value>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    role: &'static str,
    parts: Vec<GeminiPart<'a>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct GeminiPart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<SentCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct SentCall<'a> {
    id: &'a str,
    name: &'a str,
    args: Value,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    id: &'a str,
    name: &'a str,
    response: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

impl<'a> GeminiBody<'a> {
    pub(super) fn new(model: &str, prompt: &'a Prompt) -> Self {
        let system = Some(prompt.system.as_str()).filter(|system| !system.is_empty());
        let declarations: Vec<_> = prompt.tools.iter().map(|tool| declaration(tool)).collect();
        GeminiBody {
            contents: contents(prompt, GeminiGeneration::for_model(model)),
            system_instruction: system.map(|system| SystemInstruction { parts: [GeminiPart::text(system)] }),
            tools: if declarations.is_empty() {
                Vec::new()
            } else {
                vec![GeminiTools { function_declarations: declarations }]
            },
            generation_config: None,
        }
        .formatted(model, prompt)
    }

    /// Adds the fields that only a call for a reply has.
    pub(super) fn run(self, prompt: &Prompt) -> Self {
        self.configured(|config| {
            config.max_output_tokens = Some(prompt.max_output_tokens).filter(|most| *most > 0);
            config.temperature = prompt.temperature;
        })
    }

    fn formatted(self, model: &str, prompt: &Prompt) -> Self {
        let generation = GeminiGeneration::for_model(model);
        let thinking = generation.thinking(model, prompt);
        // Before the third generation, a form of the reply and tools exclude each other.
        let format =
            prompt.format.as_ref().filter(|_| prompt.tools.is_empty() || generation >= GeminiGeneration::Third);
        if thinking.is_none() && format.is_none() {
            return self;
        }
        self.configured(|config| {
            config.thinking_config = thinking;
            config.response_mime_type = format.map(|_| "application/json");
            config.response_json_schema = match format {
                Some(Format::Schema { schema, .. }) => Some(schema::documented(schema)),
                Some(Format::Json) | None => None,
            };
        })
    }

    fn configured(mut self, change: impl FnOnce(&mut GenerationConfig)) -> Self {
        change(self.generation_config.get_or_insert(GenerationConfig {
            max_output_tokens: None,
            temperature: None,
            thinking_config: None,
            response_mime_type: None,
            response_json_schema: None,
        }));
        self
    }
}

/// What a model's name says about it: the API refuses settings that a model does not support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GeminiGeneration {
    /// Does not think, or is not known to.
    Plain,
    /// Takes a budget of tokens for thinking.
    Second,
    /// Takes a level of thinking, and refuses calls that come back without their signatures.
    Third,
}

impl GeminiGeneration {
    fn for_model(model: &str) -> Self {
        match version(model) {
            (3.., _) => Self::Third,
            (2, 5..) => Self::Second,
            _ => Self::Plain,
        }
    }

    fn thinking(self, model: &str, prompt: &Prompt) -> Option<ThinkingConfig> {
        let level = effort::level(prompt)?;
        let include_thoughts = level != Effort::Off;
        let plain = ThinkingConfig { include_thoughts, thinking_budget: None, thinking_level: None };
        match self {
            Self::Plain => None,
            Self::Second => Some(ThinkingConfig { thinking_budget: Some(budget(model, level, prompt)), ..plain }),
            Self::Third => Some(ThinkingConfig { thinking_level: Some(thinking_word(model, level)), ..plain }),
        }
    }
}

/// `gemini-2.5-pro` is (2, 5). `gemini-flash-latest` and its like are newer than any number here; other names are
/// older.
fn version(model: &str) -> (u32, u32) {
    let name = model.rsplit('/').next().unwrap_or(model);
    let Some(version) = name.strip_prefix("gemini-").and_then(|rest| rest.split('-').next()) else { return (0, 0) };
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    match (major.parse::<u32>(), minor.parse::<u32>()) {
        (Ok(major), minor) => (major, minor.unwrap_or(0)),
        (Err(_), _) if name.ends_with("-latest") => (u32::MAX, 0),
        _ => (0, 0),
    }
}

fn thinking_word(model: &str, level: Effort) -> &'static str {
    effort::gemini_word(ModelName::new(model), version(model), level)
}

/// Of the second generation, only Flash and Flash-Lite can turn thinking off.
fn cannot_stop_thinking(model: &str) -> bool {
    !ModelName::new(model).has("flash")
}

fn budget(model: &str, level: Effort, prompt: &Prompt) -> u32 {
    if level == Effort::Off {
        return if cannot_stop_thinking(model) { NEARLY_OFF } else { 0 };
    }
    let room = prompt.max_output_tokens.saturating_sub(LEAST_WORDS).clamp(LEAST_THINKING, MOST_THINKING);
    effort::tokens(prompt).clamp(LEAST_THINKING, room)
}

/// What the user should know about the effort that they chose, where the model does not have it.
pub(super) fn effort_note(model: &str, prompt: &Prompt) -> Option<String> {
    let level = prompt.effort?;
    let took = match GeminiGeneration::for_model(model) {
        GeminiGeneration::Plain => Took::Nothing,
        GeminiGeneration::Second if level == Effort::Off && cannot_stop_thinking(model) => Took::Least(NEARLY_OFF_TEXT),
        GeminiGeneration::Second => Took::AsItIs,
        GeminiGeneration::Third => Took::from_gemini(level, thinking_word(model, level)),
    };
    effort::note(prompt, model, took)
}

fn declaration(spec: &ToolSpec) -> FunctionDeclaration<'_> {
    let has_fields = spec.input_schema.get("properties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    FunctionDeclaration {
        name: &spec.name,
        description: &spec.description,
        // An object without properties is refused; a function without parameters has no schema.
        parameters_json_schema: has_fields.then(|| schema::documented(&spec.input_schema)),
    }
}

impl<'a> GeminiPart<'a> {
    fn text(text: &'a str) -> Self {
        Self { text: Some(text), ..Self::default() }
    }
}

/// The conversation: roles alternate, and results come directly after the calls that they answer.
fn contents(prompt: &Prompt, generation: GeminiGeneration) -> Vec<GeminiContent<'_>> {
    let names = call_names(&prompt.messages);
    let messages: Vec<&Message> = prompt.messages.iter().map(Arc::as_ref).collect();
    let runs = messages.chunk_by(|one, next| one.role == next.role);
    let contents = runs.map(|run| match run[0].role {
        Role::User => GeminiContent { role: "user", parts: from_user(run, prompt, &names) },
        Role::Assistant => GeminiContent {
            role: "model",
            parts: run.iter().flat_map(|message| from_model(message, generation)).collect(),
        },
    });
    contents.filter(|content| !content.parts.is_empty()).collect()
}

/// The names of the tools by the ids of their calls: a result has to repeat both.
fn call_names(messages: &[Arc<Message>]) -> BTreeMap<&str, &str> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let calls = parts.filter_map(|part| match part {
        Part::ToolUse(call) => Some((call.id.as_str(), call.name.as_str())),
        _ => None,
    });
    calls.collect()
}

fn from_user<'a>(run: &[&'a Message], prompt: &'a Prompt, names: &BTreeMap<&str, &'a str>) -> Vec<GeminiPart<'a>> {
    let parts = || run.iter().flat_map(|message| &message.parts);
    let results = parts().filter_map(|part| match part {
        Part::ToolResult(result) => Some(answered(result, names.get(result.tool_use_id.as_str()).copied())),
        _ => None,
    });
    let said = parts().filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(GeminiPart::text(text)),
        Part::Image { image, media_type } => Some(match prompt.images.get(image) {
            Some(data) => {
                GeminiPart { inline_data: Some(InlineData { mime_type: media_type, data }), ..GeminiPart::default() }
            }
            None => GeminiPart::text("[image missing]"),
        }),
        _ => None,
    });
    results.chain(said).collect()
}

fn answered<'a>(result: &'a ToolResult, name: Option<&'a str>) -> GeminiPart<'a> {
    let key = if result.is_error == Some(true) { "error" } else { "output" };
    let response = json!({key: result.content});
    let answer = FunctionResponse { id: &result.tool_use_id, name: name.unwrap_or("tool"), response };
    GeminiPart { function_response: Some(answer), ..GeminiPart::default() }
}

/// The parts of the model. A signature goes back with the part that it came with.
fn from_model(message: &Message, generation: GeminiGeneration) -> Vec<GeminiPart<'_>> {
    let mut parts: Vec<GeminiPart<'_>> = Vec::new();
    let mut pending: Option<&str> = None;
    let mut signed = false;
    for part in &message.parts {
        let kept = pending.take();
        let signature = |place: &str| kept.and_then(|kept| kept.strip_prefix(place));
        match part {
            Part::RedactedThinking { data, by } if by.as_deref() == Some(DIALECT) => match data.strip_prefix(ALONE) {
                Some(alone) => parts.push(GeminiPart { thought_signature: Some(alone), ..GeminiPart::text("") }),
                None => pending = Some(data),
            },
            Part::Text { text } if !text.trim().is_empty() => {
                parts.push(GeminiPart { thought_signature: signature(ON_TEXT), ..GeminiPart::text(text) });
            }
            Part::ToolUse(call) => {
                let args = if call.broken.is_some() { json!({}) } else { call.input.clone() };
                // Of several calls at once only the first is signed.
                let missing = generation == GeminiGeneration::Third && !signed;
                let thought_signature = signature(ON_CALL).or(missing.then_some(UNSIGNED));
                signed = true;
                parts.push(GeminiPart {
                    function_call: Some(SentCall { id: &call.id, name: &call.name, args }),
                    thought_signature,
                    ..GeminiPart::default()
                });
            }
            // Thought summaries are for people, and an assistant message cannot contain an image.
            _ => {}
        }
    }
    parts
}
