//! Image generation. Images arrive as bytes, or as an address that is fetched at once, because providers delete what
//! they have made.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trimtab_vocab::{Fault, Problem, ProblemKind, Retry, picture_type};

use super::reader::lenient;
use super::server::{ModelName, ServerKind};
use crate::models::http::fault;
use crate::models::{DrawOrder, DrawnImage};
use crate::tools::{PictureAddress, fetch_picture};

/// Bytes of what a provider says it understood.
const LONGEST_PROMPT: usize = 8 * 1024;
/// A picture that is paid for is worth more than one try.
const TRIES: u64 = 3;
/// The pause after the first try; it grows with each.
const PAUSE: Duration = Duration::from_millis(300);

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
    pub(super) fn new(server: ServerKind, model: &'a str, order: &'a DrawOrder) -> Self {
        Self {
            model,
            prompt: &order.prompt,
            n: order.count.max(1),
            // xAI documents that it has no sizes.
            size: order.size.as_deref().filter(|_| server != ServerKind::Xai),
            response_format: match ModelName::new(model) {
                // Always the bytes, and the field is refused.
                name if name.sends_nothing_but_pictures() => None,
                // Addresses are refused.
                name if name.has_no_addresses() => Some("b64_json"),
                _ => Some("url"),
            },
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

/// The pictures of an answer, at most `count`. What is whole is kept: a picture that cannot be read does not make
/// the others worth less.
pub(super) async fn pictures(server: ServerKind, answer: Value, count: u32) -> Result<Vec<DrawnImage>, Fault> {
    let answer =
        PictureAnswer::deserialize(answer).map_err(|_| wrong("The provider's answer has no list of images."))?;
    let wanted = usize::try_from(count.max(1)).unwrap_or(1);
    let (mut drawn, mut first) = (Vec::new(), None);
    for picture in answer.data.into_iter().take(wanted) {
        match read(server, picture).await {
            Ok(picture) => drawn.push(picture),
            Err(fault) => {
                first.get_or_insert(fault);
            }
        }
    }
    match first {
        Some(fault) if drawn.is_empty() => Err(fault),
        None if drawn.is_empty() => Err(wrong("The provider generated no image.")),
        _ => Ok(drawn),
    }
}

async fn read(server: ServerKind, picture: WirePicture) -> Result<DrawnImage, Fault> {
    let bytes = match (picture.b64_json.filter(|text| !text.is_empty()), picture.url.filter(|url| !url.is_empty())) {
        (Some(text), _) => base64(&text).ok_or_else(|| wrong("The provider's image is not valid base64."))?,
        // Some servers put the picture itself where the address belongs.
        (None, Some(url)) if url.starts_with("data:") => {
            base64(&url).ok_or_else(|| wrong("The provider's image is not valid base64."))?
        }
        (None, Some(url)) => fetched(server, &url).await?,
        (None, None) => return Err(wrong("The provider's answer has an image without data.")),
    };
    let media_type =
        picture_type(&bytes).ok_or_else(|| wrong("The provider's image is not PNG, JPEG, GIF, or WebP."))?;
    let revised = picture.revised_prompt.map(|prompt| bounded(prompt.trim()).to_owned());
    Ok(DrawnImage { bytes, media_type, revised_prompt: revised.filter(|prompt| !prompt.is_empty()) })
}

fn bounded(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_PROMPT)]
}

/// Fetches an address, without the provider's key. A local server may name local addresses; other servers only public
/// ones with HTTPS.
async fn fetched(server: ServerKind, url: &str) -> Result<Vec<u8>, Fault> {
    let near = server == ServerKind::Local;
    let mut tried = 1;
    loop {
        match fetch_picture(PictureAddress { url, near }).await {
            Ok(bytes) => return Ok(bytes),
            Err(failed) if failed.may_pass && tried < TRIES => {
                tokio::time::sleep(PAUSE * u32::try_from(tried).unwrap_or(1)).await;
                tried += 1;
            }
            Err(failed) => {
                let message = format!("The image was generated but could not be downloaded. {}", failed.sentence);
                let problem = Problem::new(ProblemKind::Network, message)
                    .hint("Try again, or set models.image to a model that returns the image itself, for example openai/gpt-image-1.");
                return Err(Fault { problem, retry: Retry::Never });
            }
        }
    }
}

fn wrong(message: &str) -> Fault {
    fault(ProblemKind::Protocol, message, Retry::Never)
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
