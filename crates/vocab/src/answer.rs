//! The structured answer: what a turn comes to.

use serde::{Deserialize, Serialize};

/// The answer to a request. A plain reply has only a summary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// The text of the reply.
    pub summary: String,
    /// Further parts under headings.
    pub sections: Vec<Section>,
    /// Steps of the work.
    pub todos: Vec<Todo>,
    /// Changes the model would like to make to files.
    pub file_changes: Vec<FileChange>,
    /// Commands the model would like to run.
    pub commands: Vec<CommandProposal>,
    /// What the person could say next.
    pub next_steps: Vec<NextStep>,
    /// What the tools came to, when tools were used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synthesis: Option<Synthesis>,
    /// Every image that the request generated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub generated_images: Vec<crate::GeneratedImage>,
    /// The reply ended before the model was done.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// None of its changes can be applied, because one of them could not be recovered with certainty.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// The repairs that were needed to read the reply. Absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered: Option<Vec<String>>,
    /// A model repaired it, or the rules that read it had to guess: its changes are asked about.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub mended: bool,
    /// A part of the reply could not be read and is left out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// What the tools of a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Synthesis {
    /// `synthesis_<message id>`, or `agent_<n>_<message id>` for agent number n.
    pub id: String,
    pub text: String,
}

/// A part of an answer under a heading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Section {
    pub heading: String,
    /// Its text.
    pub content: String,
    /// Code that belongs to it.
    pub code_blocks: Vec<CodeBlock>,
}

/// Code in an answer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CodeBlock {
    /// What it is written in.
    pub language: String,
    pub code: String,
}

/// A step of the work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Todo {
    /// The text of the to-do.
    pub text: String,
    /// Whether it is.
    pub completed: bool,
}

/// A change a model would like to make to a file: exactly one of the four is set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileChange {
    /// The file.
    pub path: String,
    /// Its whole new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// A unified diff to apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<bool>,
    /// Lines to find and what takes their place, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<TextReplacement>>,
}

/// Lines of a file, and what takes their place.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TextReplacement {
    pub search: String,
    pub replace: String,
}

/// A command a model would like to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CommandProposal {
    /// The command line.
    pub command: String,
    /// What it is for.
    pub description: String,
}

/// A suggested next message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct NextStep {
    /// How it is shown.
    pub html: String,
    /// What it puts into the input.
    pub input_text: String,
}

impl NextStep {
    /// How it is shown where there is no HTML: without tags, and with the characters that entities stand for.
    pub fn label(&self) -> String {
        let mut text = String::with_capacity(self.html.len());
        let mut rest = self.html.as_str();
        while let Some(at) = rest.find(['<', '&']) {
            let (before, mark) = rest.split_at(at);
            text.push_str(before);
            let is_tag = mark[1..].starts_with(|next: char| next.is_ascii_alphabetic() || next == '/');
            rest = match mark.find('>').filter(|_| is_tag) {
                Some(end) => &mark[end + 1..],
                None => {
                    let entity = ENTITIES.iter().find(|(entity, _)| mark.starts_with(entity));
                    let (taken, letter) = entity.copied().unwrap_or((&mark[..1], &mark[..1]));
                    text.push_str(letter);
                    &mark[taken.len()..]
                }
            };
        }
        text.push_str(rest);
        text
    }
}

/// What HTML writes in other letters.
const ENTITIES: [(&str, &str); 6] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " "), ("&amp;", "&")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_next_step_reads_the_same_without_html() {
        for (html, text) in [
            ("Add a test", "Add a test"),
            ("<b>Add</b> a &lt;test&gt; &amp; run", "Add a <test> & run"),
            ("a < b & c", "a < b & c"),
            ("&amp;lt;", "&lt;"),
            ("<i", "<i"),
            ("é<br/>&nbsp;ü", "é ü"),
        ] {
            assert_eq!(NextStep { html: html.into(), input_text: String::new() }.label(), text);
        }
    }
}
