//! Pictures that are made for a person: what they want, what happened, and what lies in the gallery.

use serde::{Deserialize, Serialize};

use crate::{CallId, ImageId, Problem, RefKey, Time};

/// How images are generated. `model` is `models.image`. The others are settings under `image`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ImageSettings {
    /// `provider/name`. Empty: no images are generated.
    pub model: String,
    /// Price of one image in US dollars.
    pub price_usd: f64,
    /// How several of them are made.
    pub batch: ImageBatch,
    /// Words that ask for an image start image generation.
    pub detect: bool,
}

impl Default for ImageSettings {
    fn default() -> Self {
        Self { model: String::new(), price_usd: 0.07, batch: ImageBatch::Distinct, detect: true }
    }
}

impl ImageSettings {
    /// Whether nothing of it was set.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// How several images of one request are generated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ImageBatch {
    /// Each with its own prompt and its own call.
    #[default]
    Distinct,
    /// All from one prompt, by one call.
    SamePrompt,
}

/// An action on the image gallery. A request with one is not routed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "wish", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum PictureWish {
    /// Generate the images that the request describes.
    Make {
        /// Number of images. Absent: the number in the request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        count: Option<u32>,
    },
    /// Regenerate an image in the place of the present one.
    Regenerate { image: ImageId, prompt: String },
    /// Write images to the session's folder.
    Save {
        images: Vec<ImageId>,
        /// Where, relative to the session's folder; empty: there.
        folder: String,
    },
}

/// An image of the gallery. Field names are the documented ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GeneratedImage {
    /// `img-<epoch ms>-<suffix>`: its place in the gallery, which a regenerated image keeps.
    pub id: ImageId,
    /// What it was made from.
    pub original_prompt: String,
    /// The prompt that the provider used, if it reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
    /// Where its bytes are, as `ref:KEY`; empty: it could not be made.
    pub url: String,
    /// When it was made, in milliseconds since 1970.
    pub timestamp: i64,
    /// A person has chosen it.
    pub selected: bool,
    /// `image/png` and the like, by its first bytes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub media_type: String,
    /// Its size in bytes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// Why it could not be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

impl GeneratedImage {
    /// The name under which its bytes are stored.
    pub fn key(&self) -> Option<RefKey> {
        self.url.strip_prefix("ref:")?.parse().ok()
    }

    /// The ending that fits what it really is.
    pub fn extension(&self) -> &'static str {
        extension(&self.media_type)
    }
}

/// What a picture is, by its first bytes: names and headers lie. Only such as every browser shows and none runs.
pub fn picture_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// The ending of a file's name that fits a picture of this type.
pub fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/png" => "png",
        "image/webp" => "webp",
        "image/gif" => "gif",
        _ => "jpg",
    }
}

/// One call that generates images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct PicturePlan {
    pub prompt: String,
    pub count: u32,
    /// The image to replace. Absent: add new images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<ImageId>,
}

/// Images were requested, generated, selected, or will be saved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all_fields = "camelCase")]
pub enum ImageFact {
    /// The images to generate are chosen. Each call starts with its own `tool.started`.
    #[serde(rename = "image.planned")]
    Planned {
        /// Who makes them.
        model: String,
        /// The calls.
        pictures: Vec<PicturePlan>,
        /// Price of each image in US dollars.
        price_usd: f64,
    },
    /// One is there, and stored.
    #[serde(rename = "image.made")]
    Made {
        /// Its place in the gallery.
        image: ImageId,
        call: CallId,
        /// What it was made from.
        original_prompt: String,
        /// How the provider understood that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revised_prompt: Option<String>,
        /// Where its bytes are.
        #[serde(rename = "ref")]
        key: RefKey,
        /// What it is, by its first bytes.
        media_type: String,
        /// Its size.
        bytes: u64,
        /// When it was received.
        made: Time,
        cost_usd: f64,
    },
    /// One could not be made, or not yet.
    #[serde(rename = "image.failed")]
    Failed {
        call: CallId,
        /// Its place in the gallery, once it is not tried again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image: Option<ImageId>,
        /// What it was to be made from.
        original_prompt: String,
        error: Problem,
        failed: Time,
        /// Milliseconds until the retry. Absent: there is no retry.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    },
    /// A person selected or deselected images.
    #[serde(rename = "image.selected")]
    Selected {
        images: Vec<ImageId>,
        /// Whether they are chosen now.
        selected: bool,
    },
    /// Images will be written to the folder.
    #[serde(rename = "image.saving")]
    Saving {
        images: Vec<ImageId>,
        /// Where, relative to the session's folder.
        folder: String,
    },
}

/// A picture as the world hands it over: its bytes are stored already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct MadePicture {
    #[serde(rename = "ref")]
    pub key: RefKey,
    /// What it is, by its first bytes.
    pub media_type: String,
    /// Its size.
    pub bytes: u64,
    /// How the provider understood the order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revised_prompt: Option<String>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_told_by_the_documented_names() {
        let image = GeneratedImage {
            id: "img-1703123456789-abc123".parse().expect("an id"),
            original_prompt: "An icon".into(),
            revised_prompt: Some("A 3D icon".into()),
            url: "ref:picture-r1-c1t1-0".into(),
            timestamp: 1_703_123_456_789,
            selected: false,
            media_type: "image/webp".into(),
            bytes: 12,
            problem: None,
        };
        let json = serde_json::to_value(&image).expect("writes");
        let names = ["id", "originalPrompt", "revisedPrompt", "url", "timestamp", "selected"];
        assert!(names.iter().all(|name| json.get(*name).is_some()), "{json}");
        assert_eq!((image.extension(), image.key().map(String::from)), ("webp", Some("picture-r1-c1t1-0".into())));
    }
}
