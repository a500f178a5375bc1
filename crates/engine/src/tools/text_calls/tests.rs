use serde_json::json;

use super::*;
use crate::tools::{ToolOffer, registry};

fn offered() -> Vec<Arc<ToolSpec>> {
    registry().offered(ToolOffer::Everything).map(|tool| Arc::clone(&tool.spec)).collect()
}

fn calls(text: &str) -> Vec<(String, Value)> {
    read(text, &offered()).into_iter().map(|call| (call.name, call.input)).collect()
}

fn one(name: &str, input: Value) -> Vec<(String, Value)> {
    vec![(name.to_owned(), input)]
}

#[test]
fn a_call_is_read_in_the_dialect_of_every_family() {
    let wanted = one("read_file", json!({"path": "a.txt"}));
    let sep = "\u{ff5c}tool\u{2581}sep\u{ff5c}";
    let tag = |name: &str| format!("<\u{ff5c}tool\u{2581}{name}\u{ff5c}>");
    let deepseek = format!(
        "{}{}function<{sep}>read_file\n```json\n{{\"path\": \"a.txt\"}}\n```{}{}",
        tag("calls\u{2581}begin"),
        tag("call\u{2581}begin"),
        tag("call\u{2581}end"),
        tag("calls\u{2581}end"),
    );
    let deepseek_3_1 = format!(
        "{}{}read_file<{sep}>{{\"path\": \"a.txt\"}}{}{}",
        tag("calls\u{2581}begin"),
        tag("call\u{2581}begin"),
        tag("call\u{2581}end"),
        tag("calls\u{2581}end"),
    );
    let dsml = "<\u{ff5c}DSML\u{ff5c}function_calls>\n<\u{ff5c}DSML\u{ff5c}invoke name=\"read_file\">\n<\u{ff5c}DSML\u{ff5c}parameter \
        name=\"path\" string=\"true\">a.txt</\u{ff5c}DSML\u{ff5c}parameter>\n</\u{ff5c}DSML\u{ff5c}invoke>\n</\u{ff5c}DSML\u{ff5c}function_calls>";
    for text in [
        // Qwen and Hermes.
        "<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>",
        "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}",
        "<tools>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tools>",
        "```xml\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n</tool_call>\n```",
        // Qwen's coder models.
        "<tool_call>\n<function=read_file>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        // GLM.
        "<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
        // Llama.
        "<function=read_file>{\"path\": \"a.txt\"}</function>",
        "<|python_tag|>{\"name\": \"read_file\", \"parameters\": {\"path\": \"a.txt\"}}",
        "<|python_tag|>read_file.call(path=\"a.txt\")",
        "{\"name\": \"read_file\", \"parameters\": {\"path\": \"a.txt\"}}",
        "{\"type\": \"function\", \"name\": \"read_file\", \"parameters\": {\"path\": \"a.txt\"}}",
        // Mistral, before and after the change of its tokenizer, and LM Studio.
        "[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}]",
        "[TOOL_CALLS] [{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}, \"id\": \"x\"}]</s>",
        "[TOOL_CALLS]read_file[ARGS]{\"path\": \"a.txt\"}",
        "[TOOL_CALLS]read_file[CALL_ID]abc123[ARGS]{\"path\": \"a.txt\"}",
        "[TOOL_REQUEST]{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}[END_TOOL_REQUEST]",
        // Granite, Phi, Firefunction.
        "<|tool_call|>[{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}]",
        " functools[{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}]",
        // Command R.
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"read_file\", \"parameters\": {\"path\": \"a.txt\"}}]<|END_ACTION|>",
        // Kimi.
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a.txt\"}\
         <|tool_call_end|><|tool_calls_section_end|>",
        // gpt-oss.
        "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file \
         <|constrain|>json<|message|>{\"path\": \"a.txt\"}<|call|>",
        // Gemma.
        "```tool_code\nread_file(path=\"a.txt\")\n```",
        "```tool_code\nprint(default_api.read_file(path='a.txt'))\n```",
        "<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>",
        // MiniMax, and Anthropic's first form.
        "<minimax:tool_call>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.txt</parameter>\n</invoke>\n</minimax:tool_call>",
        "<function_calls>\n<invoke name=\"read_file\">\n<parameter name=\"path\">a.txt</parameter>\n</invoke>\n</function_calls>",
        // LFM, and Llama 4.
        "<|tool_call_start|>[read_file(path=\"a.txt\")]<|tool_call_end|>",
        // The field's own forms.
        "```json\n{ \"name\": \"read_file\", \"arguments\": { \"path\": \"a.txt\" } }\n```",
        "```\n{ \"name\": \"read_file\", \"input\": { \"path\": \"a.txt\" } }\n```",
        "{\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\": \\\"a.txt\\\"}\"}}",
        "{\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":{\"path\":\"a.txt\"}}}]}",
        "functions.read_file{\"path\": \"a.txt\"}",
        "functions.read_file({\"path\": \"a.txt\"})",
        "read_file(path=\"a.txt\")",
        "{\"read_file\": {\"path\": \"a.txt\"}}",
        "{\"tool\": \"read_file\", \"path\": \"a.txt\"}",
        "Action: read_file\nAction Input: {\"path\": \"a.txt\"}",
        "<read_file>\n<path>a.txt</path>\n</read_file>",
        deepseek.as_str(),
        deepseek_3_1.as_str(),
        dsml,
    ] {
        assert_eq!(calls(text), wanted, "{text}");
    }
}

#[test]
fn several_calls_come_in_their_order_and_leave_the_words() {
    let text = "First I look.\n<tool_call>{\"name\":\"list_files\",\"arguments\":{}}</tool_call>\n\
                <tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}</tool_call>\nThen we see.";
    let found = read(text, &offered());
    assert_eq!(found.iter().map(|call| call.name.as_str()).collect::<Vec<_>>(), ["list_files", "read_file"]);
    let rest = without(text, found.into_iter().map(|call| call.range));
    assert_eq!(rest, "First I look.\n\n\nThen we see.");
    let list = "```json\n[{\"name\":\"list_files\",\"arguments\":{}},{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}]\n```";
    assert_eq!(calls(list).len(), 2);
    let lines = "{\"name\":\"list_files\",\"arguments\":{}}\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}";
    assert_eq!(calls(lines).len(), 2);
}

#[test]
fn line_ends_in_a_text_and_python_texts_are_what_they_say() {
    let text = "```json\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.py\", \"content\": \"x = 1\nprint(x)\n\"}}\n```";
    assert_eq!(calls(text), one("write_file", json!({"path": "a.py", "content": "x = 1\nprint(x)\n"})));
    let text = "```tool_code\nwrite_file(path=\"a.py\", content=\"\"\"x = \"1\"\nprint(x)\\n\"\"\")\n```";
    assert_eq!(calls(text), one("write_file", json!({"path": "a.py", "content": "x = \"1\"\nprint(x)\n"})));
    let text = "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\nx = 1\n</parameter>\n</function>\n</tool_call>";
    assert_eq!(calls(text), one("write_file", json!({"path": "a.py", "content": "x = 1\n"})));
}

#[test]
fn what_is_thought_cut_spoken_of_or_something_else_is_no_call() {
    for text in [
        "<think>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}</think> Done.",
        "```json\n{ \"name\": \"read_file\", \"arguments\": { \"path\": \"a.t",
        "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a",
        "The call is `<tool_call>{\"name\": \"read_file\", \"arguments\": {}}</tool_call>` in this form.",
        "A call would look like this:\n```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a.txt\"}}\n```",
        "```json\n{\"name\": \"my-package\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"jest\"}}\n```",
        "```json\n{\"name\": \"Ada\", \"age\": 36}\n```",
        "```python\nread_file(path=\"a.txt\")\nprint(1)\n```",
        "The function read_file(path=\"a.txt\") reads a file.",
        "{\"path\": \"a.txt\"}",
        "[1, 2, 3]",
        "Plain words.",
    ] {
        assert_eq!(calls(text), [], "{text}");
    }
}

#[test]
fn a_name_that_is_not_offered_is_a_call_only_in_the_plain_form() {
    let farewell = one("farewell", json!({"name": "Ada"}));
    assert_eq!(calls("```json\n{\"name\": \"farewell\", \"arguments\": {\"name\": \"Ada\"}}\n```"), farewell);
    assert_eq!(calls("<tool_call>{\"name\": \"farewell\", \"arguments\": {\"name\": \"Ada\"}}</tool_call>"), farewell);
    assert_eq!(calls("{\"name\": \"red\", \"colour\": 1}"), []);
}

#[test]
fn long_and_hostile_texts_take_no_time() {
    for text in ["{".repeat(200_000), "[".repeat(200_000), "<tool_call>".repeat(20_000), "{\"a\":\n".repeat(20_000)] {
        assert_eq!(calls(&text), []);
    }
}
