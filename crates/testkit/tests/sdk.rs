//! The fake provider speaks as the real ones do: the providers' own client libraries understand it.
//!
//! The libraries come from npm (`sdk/package.json`); `scripts/test` installs them.

#![allow(clippy::disallowed_methods, reason = "the client libraries run in a process of their own")]

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use trimtab_testkit::provider::{Answer, FakeProvider, Reply};
use trimtab_vocab::Usage;

fn heard(dialect: &str, answer: Answer) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk");
    assert!(folder.join("node_modules").exists(), "run scripts/test, which installs the client libraries");
    let provider = FakeProvider::start();
    provider.push(answer);
    let output = Command::new("node")
        .arg("check.mjs")
        .args([dialect, provider.url()])
        .current_dir(folder)
        .output()
        .expect("node is installed");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{dialect}: {stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn hello() -> Reply {
    let usage = Usage { input_tokens: 25, output_tokens: 15, ..Usage::default() };
    Reply::new().text(["Hel", "lo, ", "wörld 🦀."]).usage(usage)
}

fn with_tool() -> Reply {
    hello().tool("call_1", "read", ["{\"pa", "th\":\"a.rs\"}"])
}

#[test]
fn anthropics_library_understands_it() {
    let said = heard("anthropic", Answer::anthropic(with_tool()));
    let tools = json!([{"name": "read", "input": {"path": "a.rs"}}]);
    assert_eq!(said, json!({"text": "Hello, wörld 🦀.", "tools": tools, "stop": "tool_use", "tokens": [25, 15]}));
}

#[test]
fn openais_library_understands_chat_completions() {
    let said = heard("openai", Answer::openai(with_tool()));
    let tools = json!([{"name": "read", "input": {"path": "a.rs"}}]);
    assert_eq!(said, json!({"text": "Hello, wörld 🦀.", "tools": tools, "stop": "tool_calls", "tokens": [25, 15]}));
}

#[test]
fn openais_library_understands_responses() {
    let said = heard("responses", Answer::responses(with_tool()));
    let tools = json!([{"name": "read", "input": {"path": "a.rs"}}]);
    assert_eq!(said, json!({"text": "Hello, wörld 🦀.", "tools": tools, "stop": "completed", "tokens": [25, 15]}));
}

#[test]
fn googles_library_understands_it() {
    let said = heard("gemini", Answer::gemini(with_tool()));
    let tools = json!([{"name": "read", "input": {"path": "a.rs"}}]);
    assert_eq!(said, json!({"text": "Hello, wörld 🦀.", "tools": tools, "stop": "STOP", "tokens": [25, 15]}));
}

#[test]
fn ollamas_library_understands_it() {
    let said = heard("ollama", Answer::ollama(with_tool()));
    let tools = json!([{"name": "read", "input": {"path": "a.rs"}}]);
    assert_eq!(said, json!({"text": "Hello, wörld 🦀.", "tools": tools, "stop": "stop", "tokens": [25, 15]}));
}
