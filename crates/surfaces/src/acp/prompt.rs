//! The content of a prompt as the text and the images of a request.

use std::path::{Component, Path};

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource, Error, ResourceLink};

use super::wire::bad_params;
use crate::picture;

/// Images of one prompt at most.
const IMAGES: usize = 8;

/// What a prompt says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PromptText {
    /// What the user wrote, with the names of files in their places, then the contents that came along.
    pub(super) text: String,
    /// Bytes of the text before those contents; none: all of it.
    pub(super) typed: Option<usize>,
    /// Images, each with its media type and its bytes in base64.
    pub(super) images: Vec<(String, String)>,
}

/// Reads the blocks of a prompt for a session in this folder.
pub(super) fn read(blocks: Vec<ContentBlock>, folder: &str) -> Result<PromptText, Error> {
    let mut prompt = PromptText::default();
    let mut contents = String::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => prompt.text.push_str(&text.text),
            ContentBlock::Image(image) => prompt.add_image(&image.data)?,
            ContentBlock::ResourceLink(link) => prompt.add_name(&link_name(&link, folder)),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    let name = name_in(&resource.uri, folder);
                    prompt.add_name(&name);
                    let fence = fence(&resource.text);
                    let end = if resource.text.ends_with('\n') { "" } else { "\n" };
                    contents.push_str(&format!("\n\nContent of {name}:\n{fence}\n{}{end}{fence}", resource.text));
                }
                EmbeddedResourceResource::BlobResourceContents(blob)
                    if blob.mime_type.as_deref().is_some_and(|kind| kind.starts_with("image/")) =>
                {
                    prompt.add_image(&blob.blob)?;
                }
                _ => return Err(bad_params("An attachment is neither text nor an image. Name the file instead.")),
            },
            ContentBlock::Audio(_) => return Err(bad_params("Audio is not supported. Send text, images, or files.")),
            _ => return Err(bad_params("Unknown kind of content. Send text, images, or files.")),
        }
    }
    prompt.typed = (!contents.is_empty()).then_some(prompt.text.len());
    prompt.text.push_str(&contents);
    Ok(prompt)
}

impl PromptText {
    fn add_image(&mut self, data: &str) -> Result<(), Error> {
        if self.images.len() == IMAGES {
            return Err(bad_params(format!("A prompt can have at most {IMAGES} images.")));
        }
        self.images.push(picture::from_base64(data).map_err(|problem| bad_params(problem.message))?);
        Ok(())
    }

    /// Puts the name of a file where the user mentioned it.
    fn add_name(&mut self, name: &str) {
        if !self.text.is_empty() && !self.text.ends_with(char::is_whitespace) {
            self.text.push(' ');
        }
        self.text.push_str(name);
        self.text.push(' ');
    }
}

/// A linked file as requests name files; anything else by its address.
fn link_name(link: &ResourceLink, folder: &str) -> String {
    let name = name_in(&link.uri, folder);
    match name == link.uri {
        true => name,
        false if name.contains(char::is_whitespace) => format!("@\"{name}\""),
        false => format!("@{name}"),
    }
}

/// A file of the folder by its path there; anything else by its address. A fragment, such as lines, is kept.
fn name_in(uri: &str, folder: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_owned() };
    let (path, fragment) = path.split_once('#').unwrap_or((path, ""));
    let Some(path) = percent_decoded(path) else { return uri.to_owned() };
    let climbs = Path::new(&path).components().any(|part| part == Component::ParentDir);
    match Path::new(&path).strip_prefix(folder).ok().and_then(Path::to_str) {
        Some(inside) if !inside.is_empty() && fragment.is_empty() && !climbs => inside.to_owned(),
        _ => uri.to_owned(),
    }
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &rest[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A fence that no line of the text can close.
pub(super) fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read_json(blocks: Value) -> Result<PromptText, Error> {
        read(serde_json::from_value(blocks).expect("blocks"), "/home/me/project")
    }

    #[test]
    fn files_stand_where_they_were_mentioned_and_their_contents_at_the_end() {
        let prompt = read_json(json!([
            {"type": "text", "text": "Fix"},
            {"type": "resource_link", "name": "a b.rs", "uri": "file:///home/me/project/src/a%20b.rs"},
            {"type": "text", "text": "like"},
            {"type": "resource", "resource": {"uri": "file:///home/me/project/x.md", "text": "```\ncode\n```"}},
            {"type": "text", "text": "please"},
        ]))
        .expect("a prompt");
        assert_eq!(prompt.text, "Fix @\"src/a b.rs\" like x.md please\n\nContent of x.md:\n````\n```\ncode\n```\n````");
    }

    #[test]
    fn what_is_outside_of_the_folder_keeps_its_address() {
        let outside = ["https://example.org/a", "file:///home/me/other.rs", "file:///home/me/project/../secret"];
        for uri in outside.into_iter().chain(["file:///home/me/project/a.rs#L3", "file:///%zz"]) {
            assert_eq!(name_in(uri, "/home/me/project"), uri);
        }
    }

    #[test]
    fn sound_and_unknown_attachments_are_refused() {
        assert!(read_json(json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}])).is_err());
        let blob =
            json!([{"type": "resource", "resource": {"uri": "x", "blob": "AAAA", "mimeType": "application/zip"}}]);
        assert!(read_json(blob).is_err());
        assert!(read_json(json!([{"type": "image", "data": "not base64", "mimeType": "image/png"}])).is_err());
        assert!(read_json(json!([{"type": "image", "data": "AAAA", "mimeType": "image/png"}])).is_err(), "no image");
    }
}
