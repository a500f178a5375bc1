//! Pictures: how they are ordered, and how they come.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{Fault, Problem, ProblemKind, Retry};

use super::reader::lenient;
use super::server::{Name, Server};
use crate::models::http::fault;
use crate::models::{DrawOrder, Drawn};

#[derive(Serialize)]
pub(super) struct PictureBody<'a> {
    model: &'a str,
    prompt: &'a str,
    n: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
}

impl<'a> PictureBody<'a> {
    pub(super) fn of(server: Server, model: &'a str, order: &'a DrawOrder) -> Self {
        Self {
            model,
            prompt: &order.prompt,
            n: order.count.max(1),
            // xAI documents that it has no sizes.
            size: order.size.as_deref().filter(|_| server != Server::Xai),
            response_format: (!Name::of(model).sends_nothing_but_pictures()).then_some("b64_json"),
        }
    }
}

#[derive(Deserialize)]
struct PictureAnswer {
    data: Vec<WirePicture>,
}

#[derive(Deserialize)]
struct WirePicture {
    #[serde(default)]
    b64_json: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    revised_prompt: Option<String>,
}

pub(super) fn pictures(answer: Value) -> Result<Vec<Drawn>, Fault> {
    let wrong = |message: &str| fault(ProblemKind::Protocol, message, Retry::Never);
    let answer =
        PictureAnswer::deserialize(answer).map_err(|_| wrong("The provider's answer has no list of pictures."))?;
    if answer.data.is_empty() {
        return Err(wrong("The provider made no picture."));
    }
    let drawn = answer.data.into_iter().map(|picture| {
        let Some(text) = picture.b64_json.filter(|text| !text.is_empty()) else {
            return Err(match picture.url {
                Some(_) => elsewhere(),
                None => wrong("The provider's answer has a picture without its bytes."),
            });
        };
        let bytes = base64(&text).ok_or_else(|| wrong("The provider's picture is not in base64."))?;
        let media_type =
            media_type(&bytes).ok_or_else(|| wrong("The provider's picture is neither PNG, JPEG, GIF nor WebP."))?;
        Ok(Drawn { bytes, media_type, revised_prompt: picture.revised_prompt.filter(|prompt| !prompt.is_empty()) })
    });
    drawn.collect()
}

fn elsewhere() -> Fault {
    let problem = Problem::new(
        ProblemKind::Protocol,
        "The provider answered with the address of the picture instead of the picture; nothing is fetched from there.",
    )
    .hint("Choose a model that sends the picture itself with the setting models.image, for example gpt-image-1.");
    Fault { problem, retry: Retry::Never }
}

/// Strict: the standard alphabet, whole groups, padding only at the end, no stray bits. Some servers
/// put it into a `data:` address, which is taken off.
pub(super) fn base64(text: &str) -> Option<Vec<u8>> {
    let text = match text.strip_prefix("data:") {
        Some(address) => address.split_once(";base64,")?.1,
        None => text,
    };
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text).as_bytes();
    if text.len() % 4 != 0 || digits.is_empty() {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits = 0_u32;
        for digit in group {
            bits = bits << 6 | six_bits(*digit)?;
        }
        // A group of n digits holds n - 1 bytes; what is left over must be zero.
        let count = group.len().checked_sub(1).filter(|count| *count > 0)?;
        let spare = 6 * group.len() - 8 * count;
        if bits & ((1 << spare) - 1) != 0 {
            return None;
        }
        bytes.extend_from_slice(&(bits >> spare).to_be_bytes()[4 - count..]);
    }
    Some(bytes)
}

fn six_bits(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
