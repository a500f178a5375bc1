//! The images endpoint of the OpenAI dialect on the wire: `POST /v1/images/generations`.

use serde_json::{Value, json};

/// The smallest PNG that every browser shows, in base64.
pub const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// An answer with pictures, as xAI writes it.
pub fn body(pictures: &[Value]) -> Value {
    json!({"data": pictures})
}

/// A picture that comes as its bytes.
pub fn bytes(revised_prompt: &str) -> Value {
    json!({"b64_json": PNG, "revised_prompt": revised_prompt})
}

/// A picture that lies at an address.
pub fn address(url: &str, revised_prompt: &str) -> Value {
    json!({"url": url, "revised_prompt": revised_prompt})
}
