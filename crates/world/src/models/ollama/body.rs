//! The request body.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use trimtab_vocab::format;
use trimtab_vocab::{Effort, Message, Part, Prompt, Role, ToolCall, ToolSpec};

use super::super::effort;

/// The smallest window that Ollama itself gives a model.
const SMALLEST: u64 = 4_096;
/// The window if the model's own is unknown, because memory is reserved for all of it.
const CAREFUL: u64 = 8_192;
/// Tokens of a picture; models differ, few take more.
const PICTURE: u64 = 2_048;
/// Tokens around each message: its role, its beginning and its end.
const AROUND: u64 = 16;
/// What Granite's own template tells the model when it is to think. The template leaves it out where
/// there are other instructions, and always where there are tools, with which Granite does not think.
const GRANITE_THINKS: &str = "Write your thoughts between <think></think> and write your response between <response></response> for each user query.";

/// How a prompt fits into a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PromptFit {
    /// Tokens of the prompt: rather too many than too few.
    pub(super) prompt: u64,
    /// Those, and the tokens of the reply.
    pub(super) needed: u64,
    /// What the model can hold, if it is known.
    pub(super) window: Option<u64>,
    /// The window that Ollama reserves. Every change reloads the model, so it is a power of two, which a growing
    /// conversation seldom exceeds.
    pub(super) num_ctx: u64,
}

impl PromptFit {
    pub(super) fn new(model: &str, prompt: &Prompt, window: Option<u64>) -> Self {
        Self::within(tokens(model, prompt), prompt.max_output_tokens, window)
    }

    fn within(prompt: u64, reply: u32, window: Option<u64>) -> Self {
        let needed = prompt.saturating_add(reply.into());
        let step = needed.max(SMALLEST).checked_next_power_of_two().unwrap_or(u64::MAX);
        Self { prompt, needed, window, num_ctx: step.min(window.unwrap_or(CAREFUL)) }
    }

    /// What the user should know before the call.
    pub(super) fn warning(&self, model: &str) -> Option<String> {
        let (prompt, num_ctx) = (format::plural(self.prompt, "token"), format::number(self.num_ctx));
        (self.prompt > self.num_ctx).then(|| match self.window.map(format::number) {
            Some(window) => format!(
                "The conversation has about {prompt}, but the context window of {model} has only {window}. Ollama drops the oldest part. Start a new session, or choose a model with a larger context window."
            ),
            None => format!(
                "The conversation has about {prompt}. The context window of {model} is not known, so Trimtab set it to {num_ctx}. Ollama drops the oldest part. Start a new session, or choose another model."
            ),
        })
    }

    /// What the user should know once Ollama has said how many tokens it read.
    pub(super) fn shortfall(&self, read: u64) -> Option<String> {
        // Some servers count differently. A prompt far below the window was not cut, even if they report it.
        let may_be_cut = self.num_ctx < self.needed && self.prompt.saturating_mul(2) >= self.num_ctx;
        let cut = may_be_cut && read > 0 && read.saturating_mul(2) < self.prompt;
        cut.then(|| {
            format!(
                "Ollama read only {} of about {} and dropped the oldest part of the conversation. Start a new session, or choose a model with a larger context window.",
                format::number(read),
                format::plural(self.prompt, "token")
            )
        })
    }
}

#[derive(Serialize)]
pub(super) struct OllamaBody<'a> {
    model: &'a str,
    messages: Vec<OllamaMessage<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OllamaTool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<Think>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<WireFormat<'a>>,
    options: Options,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Think {
    Switch(bool),
    Level(&'static str),
}

/// The form that the words must have.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum WireFormat<'a> {
    Json,
    #[serde(untagged)]
    Schema(&'a Value),
}

#[derive(Serialize)]
struct Options {
    num_ctx: u64,
    #[serde(skip_serializing_if = "is_zero")]
    num_predict: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat_penalty: Option<f64>,
}

#[derive(Serialize, Default)]
struct OllamaMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    thinking: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<OllamaCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
}

#[derive(Serialize)]
struct OllamaCall<'a> {
    function: OllamaFunction<'a>,
}

#[derive(Serialize)]
struct OllamaFunction<'a> {
    name: &'a str,
    arguments: &'a Value,
}

#[derive(Serialize)]
struct OllamaTool<'a> {
    r#type: &'static str,
    function: Described<'a>,
}

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

impl<'a> OllamaBody<'a> {
    pub(super) fn new(model: &'a str, prompt: &'a Prompt, fit: &PromptFit, format: Option<WireFormat<'a>>) -> Self {
        OllamaBody {
            model,
            messages: wire_messages(model, prompt),
            tools: prompt.tools.iter().map(|tool| OllamaTool::new(tool)).collect(),
            stream: true,
            think: think(model, prompt),
            format,
            options: Options {
                num_ctx: fit.num_ctx,
                num_predict: prompt.max_output_tokens,
                temperature: prompt.temperature,
                repeat_penalty: prompt.repeat_penalty,
            },
        }
    }
}

impl<'a> OllamaTool<'a> {
    fn new(tool: &'a ToolSpec) -> Self {
        let ToolSpec { name, description, input_schema } = tool;
        OllamaTool { r#type: "function", function: Described { name, description, parameters: input_schema } }
    }
}

/// Granite gets a message, because it would refuse the switch. Without either, a model uses its default.
fn think(model: &str, prompt: &Prompt) -> Option<Think> {
    match effort::level(prompt)? {
        _ if is_granite(model) => None,
        level if is_family(model, "gpt-oss") => Some(Think::Level(effort::open_word(level))),
        level => Some(Think::Switch(level != Effort::Off)),
    }
}

/// Whether a model that does not think would refuse the prompt.
pub(super) fn asks_to_think(model: &str, prompt: &Prompt) -> bool {
    matches!(think(model, prompt), Some(Think::Level(_) | Think::Switch(true)))
}

/// What the user should know about the effort that they chose.
pub(super) fn effort_note(model: &str, prompt: &Prompt) -> Option<String> {
    let took = match think(model, prompt) {
        Some(Think::Level(word)) => effort::Took::from_word(prompt, Some(word)),
        _ => effort::Took::AsItIs,
    };
    effort::note(prompt, model, took)
}

/// Granite has its own way to think, in every size and version.
pub(super) fn is_granite(model: &str) -> bool {
    is_family(model, "granite")
}

fn is_family(model: &str, family: &str) -> bool {
    model.to_ascii_lowercase().contains(family)
}

fn wire_messages<'a>(model: &str, prompt: &'a Prompt) -> Vec<OllamaMessage<'a>> {
    let granite_thinks = is_granite(model) && effort::level(prompt).is_some_and(|level| level != Effort::Off);
    let mut wire = Vec::new();
    // The instructions stand first: before anything else, Ollama would put the model's own.
    if !prompt.system.is_empty() {
        let told = granite_thinks && prompt.tools.is_empty();
        let content = match told {
            true => Cow::Owned(format!("{}\n\n{GRANITE_THINKS}", prompt.system)),
            false => Cow::Borrowed(prompt.system.as_str()),
        };
        wire.push(OllamaMessage { role: "system", content, ..OllamaMessage::default() });
    }
    if granite_thinks {
        wire.push(OllamaMessage { role: "control", content: "thinking".into(), ..OllamaMessage::default() });
    }
    let mut tools = BTreeMap::new();
    for message in &prompt.messages {
        match message.role {
            Role::Assistant => wire.extend(assistant(message, &mut tools)),
            Role::User => user(message, prompt, &tools, &mut wire),
        }
    }
    wire
}

fn assistant<'a>(message: &'a Message, tools: &mut BTreeMap<&'a str, &'a str>) -> Option<OllamaMessage<'a>> {
    static NOTHING: LazyLock<Value> = LazyLock::new(|| Value::Object(serde_json::Map::new()));
    let mut wire = OllamaMessage { role: "assistant", ..OllamaMessage::default() };
    for part in &message.parts {
        match part {
            Part::Text { text } => append(&mut wire.content, text),
            Part::Thinking { text, by, .. } if by.as_deref().is_none_or(|by| by == "ollama") => {
                append(&mut wire.thinking, text);
            }
            Part::ToolUse(ToolCall { id, name, input, broken }) => {
                tools.insert(id, name);
                // Arguments that were not JSON cannot be sent back as they were: the API wants an object.
                let arguments = if broken.is_some() { &NOTHING } else { input };
                wire.tool_calls.push(OllamaCall { function: OllamaFunction { name, arguments } });
            }
            Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::Image { .. } | Part::ToolResult(_) => {}
        }
    }
    // Reasoning is sent back where it led to a tool call. After an answer it is not needed.
    if wire.tool_calls.is_empty() {
        wire.thinking = Cow::default();
    }
    (!wire.content.trim().is_empty() || !wire.tool_calls.is_empty()).then_some(wire)
}

/// The user's text is one message, and each tool result is another.
fn user<'a>(
    message: &'a Message,
    prompt: &'a Prompt,
    tools: &BTreeMap<&'a str, &'a str>,
    wire: &mut Vec<OllamaMessage<'a>>,
) {
    let empty = || OllamaMessage { role: "user", ..OllamaMessage::default() };
    let mut said = empty();
    let flush = |said: &mut OllamaMessage<'a>, wire: &mut Vec<OllamaMessage<'a>>| {
        let said = std::mem::replace(said, empty());
        if !said.content.trim().is_empty() || !said.images.is_empty() {
            wire.push(said);
        }
    };
    for part in &message.parts {
        match part {
            Part::Text { text } => append(&mut said.content, text),
            Part::Image { image, .. } => said.images.extend(prompt.images.get(image).map(AsRef::as_ref)),
            Part::ToolResult(result) => {
                flush(&mut said, wire);
                wire.push(OllamaMessage {
                    role: "tool",
                    content: result.content.as_str().into(),
                    tool_name: tools.get(result.tool_use_id.as_str()).copied(),
                    ..OllamaMessage::default()
                });
            }
            Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::ToolUse(_) => {}
        }
    }
    flush(&mut said, wire);
}

/// Parts become paragraphs: a message has one text here.
fn append<'a>(whole: &mut Cow<'a, str>, text: &'a str) {
    if text.trim().is_empty() {
        return;
    }
    if whole.is_empty() {
        *whole = text.into();
        return;
    }
    let whole = whole.to_mut();
    whole.push_str("\n\n");
    whole.push_str(text);
}

/// About how many tokens a prompt has: three bytes each, which is too many for most texts.
fn tokens(model: &str, prompt: &Prompt) -> u64 {
    let length = |text: &str| text.len() as u64;
    let json = |value: &Value| length(&value.to_string());
    let tools = prompt
        .tools
        .iter()
        .map(|tool| (length(&tool.name) + length(&tool.description) + json(&tool.input_schema)).div_ceil(3) + AROUND);
    let messages = wire_messages(model, prompt);
    let messages = messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|call| length(call.function.name) + json(call.function.arguments));
        let bytes = length(&message.content) + length(&message.thinking) + calls.sum::<u64>();
        bytes.div_ceil(3) + AROUND + PICTURE * message.images.len() as u64
    });
    tools.chain(messages).fold(0, u64::saturating_add)
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_grows_in_powers_of_two_up_to_what_the_model_holds() {
        for (prompt, reply, window, num_ctx) in [
            (0, 0, Some(131_072), 4_096),
            (3_000, 1_000, Some(131_072), 4_096),
            (3_097, 1_000, Some(131_072), 8_192),
            (30_000, 16_384, Some(131_072), 65_536),
            (30_000, 16_384, Some(40_960), 40_960),
            (90_000, 16_384, Some(40_960), 40_960),
            (10, 100, Some(2_048), 2_048),
            (10, 100, None, 4_096),
            (5_000, 100, None, 8_192),
            (90_000, 100, None, 8_192),
            (u64::MAX, u32::MAX, Some(u64::MAX), u64::MAX),
        ] {
            assert_eq!(PromptFit::within(prompt, reply, window).num_ctx, num_ctx, "{prompt} + {reply} in {window:?}");
        }
    }

    #[test]
    fn a_warning_comes_when_the_prompt_alone_is_too_large_and_not_before() {
        let warning = |prompt, window| PromptFit::within(prompt, 1_000, window).warning("m");
        assert_eq!(warning(8_192, Some(8_192)), None);
        assert!(warning(8_193, Some(8_192)).is_some_and(|text| text.contains("8,193") && text.contains("only 8,192")));
        assert_eq!(warning(8_192, None), None);
        assert!(warning(8_193, None).is_some_and(|text| text.contains("is not known")));
    }

    #[test]
    fn a_shortfall_is_seen_only_where_the_window_was_too_small() {
        let tight = PromptFit::within(8_000, 1_000, Some(8_192));
        assert!(tight.shortfall(3_999).is_some_and(|text| text.contains("only 3,999 of about 8,000")));
        assert_eq!(tight.shortfall(4_000), None);
        // Servers of old did not count what they had in their cache, and told nothing for nothing.
        assert_eq!(tight.shortfall(0), None);
        let roomy = PromptFit::within(8_000, 1_000, Some(131_072));
        assert_eq!(roomy.shortfall(10), None);
    }

    #[test]
    fn a_prompt_is_counted_with_everything_in_it() {
        let mut prompt = Prompt { system: "x".repeat(300), ..Prompt::default() };
        assert_eq!(tokens("m", &prompt), 100 + AROUND);
        prompt.messages.push(Message::user("y".repeat(31)).into());
        assert_eq!(tokens("m", &prompt), 100 + 11 + 2 * AROUND);
        let tool = ToolSpec { name: "abc".into(), description: "def".into(), input_schema: serde_json::json!({}) };
        prompt.tools.push(tool.into());
        assert_eq!(tokens("m", &prompt), 100 + 11 + 3 + 3 * AROUND);
    }
}
