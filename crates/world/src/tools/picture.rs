//! Images: the formats that models accept, and their size.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use trimtab_vocab::ReadResult;
use trimtab_vocab::event::ToolStatus;
use trimtab_vocab::format::size;

use super::{ReadRefusal, on_one_line, seen};

/// Providers refuse larger images.
const LARGEST: u64 = 5 * 1024 * 1024;
/// Providers refuse wider or higher images.
const LONGEST_SIDE: u32 = 8_000;

/// A kind of picture that models understand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageFormat {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageFormat {
    fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// By the first bytes: names lie.
pub(super) fn kind(bytes: &[u8]) -> Option<ImageFormat> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', ..] => Some(ImageFormat::Png),
        [0xff, 0xd8, 0xff, ..] => Some(ImageFormat::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageFormat::Gif),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(ImageFormat::WebP),
        _ => None,
    }
}

/// The picture, if every provider will take it. One that is refused later would spoil each request
/// that has it in its past, so it is better refused here.
pub(super) fn show(path: &str, kind: ImageFormat, bytes: &[u8], length: u64) -> Result<ReadResult, ReadRefusal> {
    let path = on_one_line(path);
    if length > LARGEST {
        let sentence = format!("The image `{path}` has {}. Models accept at most 5 MB. Make it smaller.", size(length));
        return Err(ReadRefusal(sentence));
    }
    let Some((width, height)) = dimensions(kind, bytes).filter(|(width, height)| *width > 0 && *height > 0) else {
        let kind = kind.media_type();
        return Err(ReadRefusal(format!(
            "`{path}` begins like {kind}, but is not a complete image ({}).",
            size(length)
        )));
    };
    if width.max(height) > LONGEST_SIDE {
        let sentence = format!(
            "The image `{path}` is {width}x{height}. Models accept at most {LONGEST_SIDE} pixels per side. Make it smaller."
        );
        return Err(ReadRefusal(sentence));
    }
    let text = format!("Image: {path}, {width}x{height}, {}", size(length));
    let images = vec![(kind.media_type().to_owned(), STANDARD.encode(bytes))];
    Ok(ReadResult { images, ..seen(ToolStatus::Ok, text) })
}

/// Width and height, as far as the head of the file says them.
fn dimensions(kind: ImageFormat, bytes: &[u8]) -> Option<(u32, u32)> {
    match kind {
        ImageFormat::Png if bytes.get(12..16)? == b"IHDR" => Some((big(bytes, 16, 4)?, big(bytes, 20, 4)?)),
        ImageFormat::Png => None,
        ImageFormat::Gif => Some((little(bytes, 6, 2)?, little(bytes, 8, 2)?)),
        ImageFormat::WebP => match bytes.get(12..16)? {
            b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
            b"VP8 " => Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff)),
            b"VP8L" => {
                let packed = little(bytes, 21, 4)?;
                Some(((packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1))
            }
            _ => None,
        },
        ImageFormat::Jpeg => jpeg(bytes),
    }
}

/// Goes from segment to segment up to the one that starts a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Padding, and markers that stand alone.
            0xff => at += 1,
            0x01 | 0xd0..=0xd8 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            _ => at += 2 + (big(bytes, at + 2, 2)? as usize).max(2),
        }
    }
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_measured_by_their_heads() {
        let measured = |bytes: &[u8]| kind(bytes).and_then(|kind| dimensions(kind, bytes));
        assert_eq!(measured(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\0\x10\x08"), Some((256, 16)));
        assert_eq!(measured(b"GIF89a\x20\0\x10\0"), Some((32, 16)));
        assert_eq!(measured(b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x10\0\x20\x03"), Some((32, 16)));
        assert_eq!(measured(b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x1f\0\0\x0f\0\0"), Some((32, 16)));
        assert_eq!(measured(b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x20\0\x10\0"), Some((32, 16)));
        assert_eq!(measured(b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x1f\xc0\x03\0"), Some((32, 16)));
    }

    #[test]
    fn a_head_that_is_cut_or_broken_has_no_measure() {
        for bytes in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff\xe0\0\x04ab", b"\xff\xd8\xff\xe0\0\0zz", b"GIF89a\0"] {
            let kind = kind(bytes).expect("a kind");
            assert_eq!(dimensions(kind, bytes), None, "{bytes:?}");
            assert!(show("x", kind, bytes, bytes.len() as u64).is_err());
        }
        assert_eq!(kind(b"<svg>"), None);
    }

    #[test]
    fn a_picture_that_no_provider_takes_is_refused() {
        let wide = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x20\0\0\0\0\x10\x08";
        let refused = show("wide.png", ImageFormat::Png, wide, 33).expect_err("too wide");
        assert!(refused.0.contains("8192x16"), "{}", refused.0);
        let refused = show("large.png", ImageFormat::Png, wide, 6_000_000).expect_err("too large");
        assert!(refused.0.contains("5.7 MB"), "{}", refused.0);
    }
}
