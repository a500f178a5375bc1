//! The request body.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use trimtab_vocab::{Effort, Format, Message, Part, Prompt, Role, ToolCall, ToolSpec};

use super::server::{ModelName, SentBack, ServerKind};
use super::strict;
use crate::models::effort::{self, Took};

#[derive(Serialize)]
pub(super) struct OpenAiBody<'a> {
    model: &'a str,
    messages: Vec<OpenAiMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OpenAiTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(flatten)]
    penalty: Option<RepeatPenalty>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<OpenRouterReasoning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    /// DeepSeek's switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<DeepSeekThinking>,
    /// How llama.cpp and vLLM pass a switch on to the model's own template.
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<TemplateSwitches>,
    /// llama.cpp's bound for thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_progress: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

/// How repetition is held against the model, in the field that the server documents. Strict servers refuse others.
#[derive(Serialize)]
#[serde(untagged)]
enum RepeatPenalty {
    /// llama.cpp and LM Studio know the first, vLLM and SGLang the second; they ignore the other.
    Local {
        repeat_penalty: f64,
        repetition_penalty: f64,
    },
    Factor {
        repetition_penalty: f64,
    },
    /// From -2 to 2, where 0 is none.
    Frequency {
        frequency_penalty: f64,
    },
}

impl RepeatPenalty {
    fn new(server: ServerKind, name: ModelName<'_>, penalty: f64) -> Option<Self> {
        match server {
            ServerKind::Local => Some(Self::Local { repeat_penalty: penalty, repetition_penalty: penalty }),
            ServerKind::OpenRouter => Some(Self::Factor { repetition_penalty: penalty }),
            ServerKind::OpenAi | ServerKind::Mistral if !name.reasons() => {
                Some(Self::Frequency { frequency_penalty: (2.0 * (penalty - 1.0)).clamp(0.0, 2.0) })
            }
            _ => None,
        }
    }
}

/// OpenRouter's own way to say how much to think, which it translates for the model.
#[derive(Serialize)]
struct OpenRouterReasoning {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
}

#[derive(Serialize)]
struct DeepSeekThinking {
    r#type: &'static str,
}

#[derive(Serialize)]
struct TemplateSwitches {
    enable_thinking: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum OpenAiMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: OpenAiContent<'a>,
    },
    Assistant {
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<OpenAiCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum OpenAiContent<'a> {
    /// What every server takes, some nothing else.
    Text(String),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

#[derive(Serialize)]
struct OpenAiCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: OpenAiFunction<'a>,
}

#[derive(Serialize)]
struct OpenAiFunction<'a> {
    name: &'a str,
    arguments: String,
}

#[derive(Serialize)]
struct OpenAiTool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    parameters: Parameters<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Parameters<'a> {
    AsTheyAre(&'a Value),
    Completed(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResponseFormat<'a> {
    JsonObject,
    JsonSchema { json_schema: JsonSchema<'a> },
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: String,
    schema: &'a Value,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
}

fn openrouter_reasoning(server: ServerKind, prompt: &Prompt) -> Option<OpenRouterReasoning> {
    let effort = effort::openrouter_word(prompt);
    let max_tokens = Some(prompt.thinking_tokens).filter(|tokens| effort.is_none() && *tokens > 0);
    let told = server == ServerKind::OpenRouter && (effort.is_some() || max_tokens.is_some());
    told.then_some(OpenRouterReasoning { effort, max_tokens })
}

fn deepseek_thinking(server: ServerKind, prompt: &Prompt) -> Option<DeepSeekThinking> {
    let level = prompt.effort.filter(|_| server == ServerKind::DeepSeek)?;
    Some(DeepSeekThinking { r#type: if level == Effort::Off { "disabled" } else { "enabled" } })
}

/// What the user should know about the effort that they chose, where the model takes none.
pub(super) fn effort_note(server: ServerKind, model: &str, prompt: &Prompt) -> Option<String> {
    let name = ModelName::new(model);
    let took = match server {
        ServerKind::OpenRouter | ServerKind::DeepSeek | ServerKind::Local => Took::AsItIs,
        _ => Took::from_word(prompt, effort::chat_word(server, name, prompt)),
    };
    effort::note(prompt, model, took)
}

impl<'a> OpenAiBody<'a> {
    pub(super) fn new(server: ServerKind, model: &'a str, prompt: &'a Prompt) -> Self {
        let name = ModelName::new(model);
        let longest = Some(prompt.max_output_tokens).filter(|longest| *longest > 0);
        let newer = server == ServerKind::OpenAi || (server != ServerKind::OpenRouter && name.counts_thinking());
        let local = prompt.effort.filter(|_| server == ServerKind::Local);
        OpenAiBody {
            model,
            messages: wire_messages(server, prompt),
            tools: prompt.tools.iter().map(|tool| wire_tool(tool)).collect(),
            max_tokens: longest.filter(|_| !newer),
            max_completion_tokens: longest.filter(|_| newer),
            temperature: prompt.temperature.filter(|_| !name.reasons()),
            penalty: prompt.repeat_penalty.and_then(|penalty| RepeatPenalty::new(server, name, penalty)),
            reasoning_effort: effort::chat_word(server, name, prompt),
            reasoning: openrouter_reasoning(server, prompt),
            response_format: prompt.format.as_ref().map(|format| response_format(server, format)),
            thinking: deepseek_thinking(server, prompt),
            chat_template_kwargs: local.map(|level| TemplateSwitches {
                enable_thinking: level != Effort::Off,
                reasoning_effort: name.is_one_of(&["gpt-oss"]).then(|| effort::open_word(level)),
            }),
            thinking_budget_tokens: local.filter(|level| *level != Effort::Max).map(Effort::tokens),
            prompt_cache_key: Some(prompt.cache_key.as_str())
                .filter(|key| server.takes_cache_keys() && !key.is_empty()),
            return_progress: server.tells_progress(),
            stream: true,
            stream_options: server.takes_stream_options().then_some(StreamOptions { include_usage: true }),
        }
    }
}

fn wire_messages(server: ServerKind, prompt: &Prompt) -> Vec<OpenAiMessage<'_>> {
    let mut wire = Vec::new();
    if !prompt.system.is_empty() {
        wire.push(OpenAiMessage::System { content: &prompt.system });
    }
    // A model that says nothing does not stand between two messages of the user.
    let used_tools = tool_turns(&prompt.messages);
    let messages = prompt.messages.iter().map(Arc::as_ref).zip(used_tools);
    let told: Vec<(&Message, bool)> =
        messages.filter(|(message, _)| message.role == Role::User || speaks(message)).collect();
    for run in told.chunk_by(|(one, _), (next, _)| one.role == next.role) {
        match run[0].0.role {
            Role::User => wire.extend(from_user(run.iter().map(|(message, _)| *message).collect(), prompt)),
            Role::Assistant => {
                wire.extend(run.iter().map(|(message, used)| from_model(message, server.reasoning(), *used)));
            }
        }
    }
    wire
}

/// Whether an assistant message has anything that the API accepts.
fn speaks(message: &Message) -> bool {
    message.parts.iter().any(|part| match part {
        Part::Text { text } => !text.trim().is_empty(),
        part => matches!(part, Part::ToolUse(_)),
    })
}

/// For each message, whether the model used tools between the user's words before and after it.
fn tool_turns(messages: &[Arc<Message>]) -> Vec<bool> {
    let is_from_person = |message: &Message| {
        message.role == Role::User && message.parts.iter().any(|part| !matches!(part, Part::ToolResult(_)))
    };
    let mut turns = Vec::with_capacity(messages.len());
    let mut with_tools = vec![false];
    for message in messages {
        if is_from_person(message) {
            with_tools.push(false);
        }
        let turn = with_tools.len() - 1;
        with_tools[turn] |= message.parts.iter().any(|part| matches!(part, Part::ToolUse(_)));
        turns.push(turn);
    }
    turns.into_iter().map(|turn| with_tools[turn]).collect()
}

/// Everything between two assistant messages: the tool results, which the API expects directly after the calls, then
/// the user's text as one message, because the templates of many local models require alternating roles.
fn from_user<'a>(run: Vec<&'a Message>, prompt: &'a Prompt) -> Vec<OpenAiMessage<'a>> {
    let parts = || run.iter().flat_map(|message| &message.parts);
    let results = parts().filter_map(|part| match part {
        Part::ToolResult(result) => {
            Some(OpenAiMessage::Tool { tool_call_id: &result.tool_use_id, content: &result.content })
        }
        _ => None,
    });
    let mut wire: Vec<_> = results.collect();
    let said: Vec<ContentPart<'_>> = parts().filter_map(|part| content_part(part, prompt)).collect();
    if said.iter().any(|part| matches!(part, ContentPart::ImageUrl { .. })) {
        wire.push(OpenAiMessage::User { content: OpenAiContent::Parts(said) });
    } else if let Some(text) = joined(parts()) {
        wire.push(OpenAiMessage::User { content: OpenAiContent::Text(text) });
    }
    wire
}

fn content_part<'a>(part: &'a Part, prompt: &Prompt) -> Option<ContentPart<'a>> {
    match part {
        Part::Text { text } if !text.trim().is_empty() => Some(ContentPart::Text { text }),
        Part::Image { image, media_type } => {
            let data = prompt.images.get(image)?;
            Some(ContentPart::ImageUrl { image_url: ImageUrl { url: format!("data:{media_type};base64,{data}") } })
        }
        _ => None,
    }
}

fn from_model(message: &Message, sent_back: SentBack, used_tools: bool) -> OpenAiMessage<'_> {
    let content = joined(message.parts.iter());
    let calls = message.parts.iter().filter_map(|part| match part {
        Part::ToolUse(call) => Some(wire_call(call)),
        _ => None,
    });
    let thoughts = || {
        message.parts.iter().filter_map(|part| match part {
            Part::Thinking { text, signature, by } if by.as_deref().is_none_or(|by| by == "openai") => {
                Some((text, signature))
            }
            _ => None,
        })
    };
    let reasoning_content = match sent_back {
        SentBack::InToolTurns { always } if used_tools => {
            Some(thoughts().map(|(text, _)| text.as_str()).collect::<String>())
                .filter(|text| always || !text.is_empty())
        }
        _ => None,
    };
    let reasoning_details = match sent_back {
        SentBack::Details => {
            let proofs = thoughts().filter_map(|(_, signature)| signature.as_deref());
            proofs.filter_map(|proof| serde_json::from_str::<Vec<Value>>(proof).ok()).flatten().collect()
        }
        _ => Vec::new(),
    };
    OpenAiMessage::Assistant { content, reasoning_content, reasoning_details, tool_calls: calls.collect() }
}

/// The words in one string, part by part; blank parts say nothing, and some servers refuse them.
fn joined<'a>(parts: impl Iterator<Item = &'a Part>) -> Option<String> {
    let texts = parts.filter_map(|part| match part {
        Part::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let texts: Vec<&str> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// Arguments are sent back as text. A text that is not a JSON object is wrapped in one, because vLLM, llama.cpp, and
/// others parse the arguments of the whole conversation, and would refuse every later call.
fn wire_call(call: &ToolCall) -> OpenAiCall<'_> {
    let arguments = match &call.broken {
        Some(broken) => json!({"INVALID_JSON": broken}).to_string(),
        None => call.input.to_string(),
    };
    OpenAiCall { id: &call.id, r#type: "function", function: OpenAiFunction { name: &call.name, arguments } }
}

/// OpenAI refuses an object without a list of its properties, even where it has none.
fn wire_tool(tool: &ToolSpec) -> OpenAiTool<'_> {
    let schema = &tool.input_schema;
    let parameters = match schema.as_object() {
        Some(object)
            if object.get("type").is_some_and(|kind| kind == "object") && !object.contains_key("properties") =>
        {
            let mut object = object.clone();
            object.insert("properties".into(), json!({}));
            Parameters::Completed(Value::Object(object))
        }
        _ => Parameters::AsTheyAre(schema),
    };
    OpenAiTool {
        r#type: "function",
        function: ToolFunction { name: &tool.name, description: &tool.description, parameters },
    }
}

fn response_format(server: ServerKind, format: &Format) -> ResponseFormat<'_> {
    match format {
        Format::Schema { name, schema } if server.takes_schemas() => ResponseFormat::JsonSchema {
            json_schema: JsonSchema { name: schema_name(name), schema, strict: strict::allows(schema) },
        },
        Format::Json | Format::Schema { .. } => ResponseFormat::JsonObject,
    }
}

/// At most 64 letters, digits, `_` and `-`.
fn schema_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "reply".into() } else { name }
}
