//! Resources and prompts: what servers offer to the user.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rmcp::model::{
    ContentBlock, GetPromptRequestParams, GetPromptResult, PaginatedRequestParams, Prompt, PromptMessage,
    ReadResourceRequestParams, Resource, ResourceContents, ResourceTemplate, Role,
};
use rmcp::service::ServiceError;
use serde_json::{Map, Value};
use tokio::time::timeout;
use trimtab_vocab::{PromptParameter, ServerPrompt, ServerResource};

use super::connection::Connection;
use super::results::{self, LONGEST_TEXT};
use super::{CONNECT, LONGEST_DESCRIPTION, LONGEST_NAME, MOST_PAGES, McpError, ToolAnswer, plain};

/// How long a server may take to send a resource or a prompt.
const READ: Duration = Duration::from_secs(60);
/// Resources and prompts of one server.
const MOST_RESOURCES: usize = 1_000;
const MOST_PROMPTS: usize = 200;
const MOST_ARGUMENTS: usize = 20;
/// Bytes of an address.
const LONGEST_URI: usize = 1_024;

/// What a server offers besides tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferList {
    pub resources: Vec<ServerResource>,
    pub prompts: Vec<ServerPrompt>,
    /// What was left out, and why: a sentence each.
    pub notes: Vec<String>,
}

impl Connection {
    /// The resources and prompts. A list that the server does not send is empty, and there is a note.
    pub async fn offers(&self) -> OfferList {
        let mut list = OfferList::default();
        let (has_resources, has_prompts) = self
            .peer()
            .peer_info()
            .map_or((true, true), |info| (info.capabilities.resources.is_some(), info.capabilities.prompts.is_some()));
        if has_resources {
            let listed = timeout(CONNECT, self.list_resources(&mut list)).await;
            note_failure(&mut list, "resources", listed);
            // Few servers have patterns, and those without them may refuse the request.
            let patterns = timeout(CONNECT, self.list_patterns(&mut list)).await;
            if matches!(patterns, Err(_) | Ok(Err(ServiceError::TransportClosed))) {
                list.notes.push("The server did not list the patterns of its resources.".to_owned());
            }
        }
        if has_prompts {
            let listed = timeout(CONNECT, self.list_prompts(&mut list)).await;
            note_failure(&mut list, "prompts", listed);
        }
        list
    }

    async fn list_resources(&self, list: &mut OfferList) -> Result<(), ServiceError> {
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = self.peer().list_resources(params(cursor)).await?;
            for listed in page.resources {
                if !list.add_resource(resource(listed)) {
                    return Ok(());
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn list_patterns(&self, list: &mut OfferList) -> Result<(), ServiceError> {
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = self.peer().list_resource_templates(params(cursor)).await?;
            for listed in page.resource_templates {
                if !list.add_resource(pattern(listed)) {
                    return Ok(());
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn list_prompts(&self, list: &mut OfferList) -> Result<(), ServiceError> {
        let mut cursor = None;
        for _ in 0..MOST_PAGES {
            let page = self.peer().list_prompts(params(cursor)).await?;
            for listed in page.prompts {
                if !list.add_prompt(listed) {
                    return Ok(());
                }
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a resource.
    pub async fn read_resource(&self, uri: &str) -> Result<ToolAnswer, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        match timeout(READ, self.peer().read_resource(params)).await {
            Ok(read) => read.map(|read| contents(read.contents)).map_err(|error| self.failed(error)),
            Err(_) => Err(slow("resource")),
        }
    }

    /// Gets the text of a prompt.
    pub async fn get_prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<ToolAnswer, McpError> {
        let params = GetPromptRequestParams::new(name);
        let params = if arguments.is_empty() { params } else { params.with_arguments(arguments) };
        match timeout(READ, self.peer().get_prompt(params)).await {
            Ok(got) => got.map(messages).map_err(|error| self.failed(error)),
            Err(_) => Err(slow("prompt")),
        }
    }
}

impl OfferList {
    /// Adds a resource. False: the list is full.
    fn add_resource(&mut self, resource: Option<ServerResource>) -> bool {
        if self.resources.len() == MOST_RESOURCES {
            self.notes.push(format!("Only the first {MOST_RESOURCES} resources are listed."));
            return false;
        }
        self.resources.extend(resource);
        true
    }

    /// Adds a prompt, or notes why it is left out. False: the list is full.
    fn add_prompt(&mut self, listed: Prompt) -> bool {
        if self.prompts.len() == MOST_PROMPTS {
            self.notes.push(format!("Only the first {MOST_PROMPTS} prompts are listed."));
            return false;
        }
        let name = listed.name.clone();
        match prompt(listed) {
            Some(prompt) => self.prompts.push(prompt),
            None if self.notes.len() < MOST_PAGES => {
                self.notes.push(format!("A prompt is left out because of its name: {}.", plain(&name, 60)));
            }
            None => {}
        }
        true
    }
}

fn params(cursor: Option<String>) -> Option<PaginatedRequestParams> {
    cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)))
}

fn slow(what: &str) -> McpError {
    McpError::Refused(format!("The server did not send the {what} within {} s.", READ.as_secs()))
}

fn note_failure(
    list: &mut OfferList,
    what: &str,
    listed: Result<Result<(), ServiceError>, tokio::time::error::Elapsed>,
) {
    let why = match listed {
        Ok(Ok(())) => return,
        Ok(Err(error)) => plain(&error.to_string(), 200),
        Err(_) => format!("no answer within {} s", CONNECT.as_secs()),
    };
    list.notes.push(format!("The server did not list its {what}: {why}."));
}

/// An address that can be typed; nothing if it has spaces, control characters, or characters that hide something, or is long.
fn address(uri: &str) -> Option<String> {
    let is_plain = !uri.is_empty() && uri.len() <= LONGEST_URI && !uri.contains(['"', '\n', '\t']);
    (is_plain && plain(uri, LONGEST_URI) == uri).then(|| uri.to_owned())
}

fn resource(listed: Resource) -> Option<ServerResource> {
    Some(ServerResource {
        uri: address(&listed.uri)?,
        name: line(&listed.title.unwrap_or(listed.name), LONGEST_NAME),
        description: line(&listed.description.unwrap_or_default(), LONGEST_DESCRIPTION / 8),
        is_template: false,
    })
}

fn pattern(listed: ResourceTemplate) -> Option<ServerResource> {
    Some(ServerResource {
        uri: address(&listed.uri_template)?,
        name: line(&listed.title.unwrap_or(listed.name), LONGEST_NAME),
        description: line(&listed.description.unwrap_or_default(), LONGEST_DESCRIPTION / 8),
        is_template: true,
    })
}

/// A prompt, if its name and the names of its arguments can be typed.
fn prompt(listed: Prompt) -> Option<ServerPrompt> {
    let is_part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    let is_name = |name: &str| !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(is_part);
    let arguments = listed.arguments.unwrap_or_default();
    if !is_name(&listed.name) || arguments.len() > MOST_ARGUMENTS {
        return None;
    }
    let parameter = |argument: rmcp::model::PromptArgument| {
        is_name(&argument.name).then(|| PromptParameter {
            name: argument.name.clone(),
            description: line(&argument.description.unwrap_or_default(), LONGEST_DESCRIPTION / 8),
            required: argument.required == Some(true),
        })
    };
    Some(ServerPrompt {
        name: listed.name,
        description: line(&listed.description.or(listed.title).unwrap_or_default(), LONGEST_DESCRIPTION / 8),
        arguments: arguments.into_iter().map(parameter).collect::<Option<_>>()?,
    })
}

/// A text of a server on one line.
fn line(text: &str, most: usize) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" "), most)
}

/// The content of a resource.
fn contents(parts: Vec<ResourceContents>) -> ToolAnswer {
    let several = parts.len() > 1;
    let text = |part: ResourceContents| match part {
        ResourceContents::TextResourceContents { uri, text, .. } if several => format!("[{uri}]\n{text}"),
        ResourceContents::TextResourceContents { text, .. } => text,
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let kind = mime_type.unwrap_or_default();
            let bytes = BASE64.decode(&blob).unwrap_or_default();
            match String::from_utf8(bytes) {
                Ok(text) if !text.is_empty() && !text.contains('\0') => text,
                Ok(_) => format!("[{uri} is empty]"),
                Err(other) => format!("[{uri}: {} bytes that are not text ({kind})]", other.as_bytes().len()),
            }
        }
        _ => "[A resource of an unknown kind]".to_owned(),
    };
    let texts: Vec<String> = parts.into_iter().map(text).collect();
    ToolAnswer { text: plain(&texts.join("\n"), LONGEST_TEXT), ..ToolAnswer::default() }
}

/// The messages of a prompt as one text. Words that it gives to the assistant are marked.
fn messages(got: GetPromptResult) -> ToolAnswer {
    let mut answer = ToolAnswer::default();
    let mut texts = Vec::new();
    for PromptMessage { role, content, .. } in got.messages {
        let (text, images) = match content {
            ContentBlock::Text(text) => (plain(&text.text, LONGEST_TEXT), Vec::new()),
            other => {
                let part = results::answer(rmcp::model::CallToolResult::success(vec![other]));
                (part.text, part.images)
            }
        };
        answer.images.extend(images);
        match role {
            _ if text.is_empty() => {}
            Role::Assistant => texts.push(format!("[Assistant]\n{text}")),
            _ => texts.push(text),
        }
    }
    answer.text = plain(&texts.join("\n\n"), LONGEST_TEXT);
    answer.images.truncate(results::MOST_MEDIA);
    answer
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resources_are_text_or_are_named() {
        let read = |value: Value| contents(serde_json::from_value(value).expect("contents")).text;
        assert_eq!(read(json!([{"uri": "a:1", "text": "one\u{1b}[2J"}])), "one[2J");
        let encoded = BASE64.encode("two");
        let both = json!([{"uri": "a:1", "text": "one"}, {"uri": "a:2", "blob": encoded, "mimeType": "text/plain"}]);
        assert_eq!(read(both), "[a:1]\none\ntwo");
        let bytes = BASE64.encode([0xff, 0xfe, 0x00]);
        assert_eq!(
            read(json!([{"uri": "a:3", "blob": bytes, "mimeType": "image/png"}])),
            "[a:3: 3 bytes that are not text (image/png)]"
        );
    }

    #[test]
    fn what_cannot_be_typed_is_left_out() {
        let listed =
            |uri: &str| resource(serde_json::from_value(json!({"uri": uri, "name": "n"})).expect("a resource"));
        assert_eq!(listed("docs://a b").map(|resource| resource.uri), Some("docs://a b".to_owned()));
        for uri in ["", "a\"b", "a\u{200b}b", &"x".repeat(2_000)] {
            assert_eq!(listed(uri), None, "{uri:?}");
        }
        let named = |name: &str, argument: &str| {
            let listed =
                json!({"name": name, "description": "a\n b", "arguments": [{"name": argument, "required": true}]});
            prompt(serde_json::from_value(listed).expect("a prompt"))
        };
        let kept = named("fix-it", "file").expect("kept");
        assert_eq!((kept.description.as_str(), kept.usage().as_str()), ("a b", "<file>"));
        assert!(named("a b", "x").is_none() && named("a", "x=y").is_none());
    }

    #[test]
    fn lists_are_bounded() {
        let mut list = OfferList::default();
        let one = || Some(ServerResource { uri: "a:b".into(), ..ServerResource::default() });
        while list.add_resource(one()) {}
        assert_eq!((list.resources.len(), list.notes.len()), (MOST_RESOURCES, 1));
    }

    #[test]
    fn messages_of_a_prompt_become_one_text() {
        let got = json!({"messages": [
            {"role": "user", "content": {"type": "text", "text": "Ask"}},
            {"role": "assistant", "content": {"type": "text", "text": "Answer"}},
            {"role": "user", "content": {"type": "resource", "resource": {"uri": "a:b", "text": "inside"}}},
        ]});
        let text = messages(serde_json::from_value(got).expect("a prompt")).text;
        assert_eq!(text, "Ask\n\n[Assistant]\nAnswer\n\n[Resource a:b]\ninside");
    }
}
