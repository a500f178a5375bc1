//! Whether every provider would accept a conversation.

use std::collections::BTreeSet;

use trimtab_vocab::{Message, Part, Prompt, Role};

/// What is wrong with a prompt, in words.
pub fn invalid(prompt: &Prompt) -> Vec<String> {
    let mut wrong = Vec::new();
    let messages = &prompt.messages;
    if messages.first().is_none_or(|message| message.role != Role::User) {
        wrong.push("the conversation does not begin with the user".to_owned());
    }
    if messages.last().is_none_or(|message| message.role != Role::User) {
        wrong.push("the conversation does not end with the user".to_owned());
    }
    if messages.iter().any(|message| message.parts.is_empty()) {
        wrong.push("a message is empty".to_owned());
    }
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for message in messages {
        if message.role == Role::User {
            let given: Vec<&str> = results(message).collect();
            for id in &given {
                if !open.remove(id) {
                    wrong.push(format!("a result for {id}, which was not asked for just before"));
                }
            }
            if !open.is_empty() {
                wrong.push(format!("no result for {open:?}"));
            }
        } else if !open.is_empty() {
            wrong.push(format!("no result for {open:?} before the model speaks again"));
        }
        open = uses(message).collect();
    }
    if !open.is_empty() {
        wrong.push(format!("no result for {open:?} at the end"));
    }
    wrong
}

fn results(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.tool_use_id.as_str()),
        _ => None,
    })
}

fn uses(message: &Message) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::ToolUse(call) => Some(call.id.as_str()),
        _ => None,
    })
}
