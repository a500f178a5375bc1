//! Pictures from files.

use std::io::{ErrorKind, Read};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use trimtab_vocab::{Problem, ProblemKind};

/// Providers refuse larger ones.
const LARGEST: u64 = 5 * 1024 * 1024;

/// The media type and the bytes of a picture, in base64.
pub(crate) fn read(file: &Path) -> Result<(String, String), Problem> {
    let wrong = |what: String| Problem::new(ProblemKind::Usage, format!("The image {} {what}.", file.display()));
    let mut bytes = Vec::new();
    std::fs::File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(|error| {
        match error.kind() {
            ErrorKind::NotFound => {
                wrong("does not exist".into()).hint("Check the path. Quote it if it contains spaces.")
            }
            _ => wrong(format!("cannot be read: {error}")).hint("Name a readable PNG, JPEG, GIF, or WebP file."),
        }
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong("is larger than 5 MB".into()).hint("Make it smaller. Models do not use more detail."));
    }
    let media_type = kind(&bytes)
        .ok_or_else(|| wrong("is not an image that models can read".into()).hint("Use PNG, JPEG, GIF, or WebP."))?;
    Ok((media_type.to_owned(), base64(&bytes)))
}

/// The media type of an image that came in base64, and its data.
pub(crate) fn from_base64(data: &str) -> Result<(String, String), Problem> {
    let wrong = |what: &str| Problem::new(ProblemKind::Usage, format!("An image {what}."));
    let bytes = BASE64_STANDARD.decode(data).map_err(|_| wrong("is not in base64"))?;
    if bytes.len() as u64 > LARGEST {
        return Err(wrong("is larger than 5 MB").hint("Make it smaller. Models do not use more detail."));
    }
    let media_type = kind(&bytes).ok_or_else(|| wrong("is not a PNG, JPEG, GIF, or WebP file"))?;
    Ok((media_type.to_owned(), data.to_owned()))
}

/// By the first bytes: names lie.
fn kind(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().enumerate().fold(0_u32, |word, (at, byte)| word | u32::from(*byte) << (16 - 8 * at));
        for place in 0..4 {
            let letter = if place <= chunk.len() { LETTERS[(word >> (18 - 6 * place) & 63) as usize] } else { b'=' };
            text.push(char::from(letter));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_usual_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 "), Some("image/webp"));
        assert_eq!(kind(b"<svg>"), None);
        assert_eq!(kind(b""), None);
    }
}
