//! How stores write contents, facts and states of requests. All of them write the same.

use trimtab_vocab::Event;
use trimtab_vocab::event::Status;

use super::{Result, StoreError};

/// The newest sets of files about to be written that are kept. They count while a command runs, and in that time no
/// more are written.
pub(super) const KEPT_WRITINGS: i64 = 1_000;

/// Bytes as they are stored.
pub(super) fn pack(bytes: &[u8]) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, 3).map_err(|error| StoreError::Io(error.to_string()))
}

/// Stored bytes, compared with their hash.
pub(super) fn unpack(hash: &[u8], size: usize, packed: &[u8]) -> Result<Vec<u8>> {
    let damaged = || StoreError::Corrupt("a stored text does not match its hash".into());
    let bytes = zstd::bulk::decompress(packed, size).map_err(|_| damaged())?;
    if blake3::hash(&bytes).as_bytes() != hash {
        return Err(damaged());
    }
    Ok(bytes)
}

/// Anything of ours as JSON.
pub(super) fn written<T: serde::Serialize>(thing: &T) -> Result<String> {
    serde_json::to_string(thing).map_err(|error| StoreError::Io(error.to_string()))
}

pub(super) fn status_text(status: Status) -> String {
    match serde_json::to_value(status) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

pub(super) fn read_status(text: String) -> Status {
    serde_json::from_value(text.into()).unwrap_or(Status::Failed)
}

pub(super) fn read_event(text: &str) -> Result<Event> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt(format!("an event cannot be read: {error}")))
}
